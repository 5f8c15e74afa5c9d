/** Requests as people would write them: curl, TypeScript, command. */
import type { ModelSummary } from '../api/models.ts';
import { typeOf } from '../api/models.ts';

export interface Sample {
  readonly name: string;
  readonly code: string;
}

const shell = (text: string) => (/^[\w./:@=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
const token = '-H "Authorization: Bearer $KINDRED_TOKEN"';

export function curl(
  method: string,
  path: string,
  query = new URLSearchParams(),
  body?: object,
  type?: string,
): string {
  const parameters = query.toString();
  const url = `${location.origin}${path}${parameters ? `?${parameters}` : ''}`;
  const sent =
    body === undefined
      ? ''
      : ` \\\n  -H 'Content-Type: ${type ?? 'application/json'}' \\\n  -d ${shell(JSON.stringify(body))}`;
  return `curl ${method === 'GET' ? '' : `-X ${method} `}${token} \\\n  ${shell(url)}${sent}`;
}

/** `kindred/client` with the model known by its names. */
export function typescript({ group, version, kind, singular, plural }: ModelSummary, call: string): string {
  const names = JSON.stringify({ group, version, kind, singular, plural })
    .replaceAll(/"(\w+)":/g, ' $1: ')
    .replaceAll('"', "'");
  return [
    "import { createClient, modelOf } from 'kindred/client';",
    '',
    `const client = createClient({ url: '${location.origin}', token: process.env.KINDRED_TOKEN });`,
    `const ${kind} = modelOf(${names.replace(/}$/, ' }')});`,
    call,
  ].join('\n');
}

export function listRequests(model: ModelSummary, path: string, query: URLSearchParams): Sample[] {
  const options = {
    ...(query.get('fieldSelector') && { fieldSelector: query.get('fieldSelector') }),
    ...(query.get('labelSelector') && { labelSelector: query.get('labelSelector') }),
    ...(query.has('sort') && { sort: query.getAll('sort') }),
    page: Number(query.get('page') ?? 1),
    size: Number(query.get('size') ?? 20),
  };
  const flags = [
    ...(options.fieldSelector ? [`--field-selector ${shell(options.fieldSelector)}`] : []),
    ...(options.labelSelector ? [`--label-selector ${shell(options.labelSelector)}`] : []),
    ...query.getAll('sort').map((key) => `--sort ${shell(key)}`),
    `--page ${options.page}`,
    `--size ${options.size}`,
  ];
  const call = `const { items, total } = await client.list(${model.kind}, ${JSON.stringify(options, undefined, 2)});`;
  return [
    { name: 'curl', code: curl('GET', path, query) },
    { name: 'TypeScript', code: typescript(model, call) },
    { name: 'kindred', code: `kindred get ${typeOf(model)} ${flags.join(' ')}` },
  ];
}
