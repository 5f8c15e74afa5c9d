/** Requests as people would write them: curl, TypeScript, command. */
import type { ModelSummary } from '../api/models.ts';
import { objectPathOf, pathOf, typeOf } from '../api/models.ts';

export interface Sample {
  readonly name: string;
  readonly code: string;
}

const shell = (text: string) => (/^[\w./:@=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
const token = '-H "Authorization: Bearer $KINDRED_TOKEN"';

function curl(method: string, path: string, query = new URLSearchParams(), body?: unknown, type?: string): string {
  const parameters = query.toString();
  const url = `${location.origin}${path}${parameters ? `?${parameters}` : ''}`;
  const sent =
    body === undefined
      ? ''
      : ` \\\n  -H 'Content-Type: ${type ?? 'application/json'}' \\\n  -d ${shell(JSON.stringify(body))}`;
  return `curl ${method === 'GET' ? '' : `-X ${method} `}${token} \\\n  ${shell(url)}${sent}`;
}

/** `kindred/client` with the model known by its names. */
function typescript({ group, version, kind, singular, plural, scope }: ModelSummary, call: string): string {
  const names = JSON.stringify({ group, version, kind, singular, plural, scope })
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

export function listRequests(model: ModelSummary, query = new URLSearchParams()): Sample[] {
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
    { name: 'curl', code: curl('GET', pathOf(model), query) },
    { name: 'TypeScript', code: typescript(model, call) },
    { name: 'kindred', code: `kindred get ${typeOf(model)} ${flags.join(' ')}` },
  ];
}

/** The changes of a model's objects. */
export function watchRequests(model: ModelSummary, query: URLSearchParams): Sample[] {
  const parameters = new URLSearchParams({ watch: 'true', ...Object.fromEntries(query) });
  const { since, ...select } = Object.fromEntries(query);
  const options = { ...(query.size > (since ? 1 : 0) && { select }), ...(since && { since }) };
  const given = Object.keys(options).length > 0 ? `, ${JSON.stringify(options)}` : '';
  const flags = [
    ...(select.fieldSelector ? [`--field-selector ${shell(select.fieldSelector)}`] : []),
    ...(select.labelSelector ? [`--label-selector ${shell(select.labelSelector)}`] : []),
    ...(since ? [`--since ${shell(since)}`] : []),
  ];
  return [
    { name: 'curl', code: curl('GET', pathOf(model), parameters) },
    {
      name: 'TypeScript',
      code: typescript(model, `for await (const event of client.watch(${model.kind}${given})) console.log(event);`),
    },
    { name: 'kindred', code: ['kindred watch', typeOf(model), ...flags].join(' ') },
  ];
}

/** One object, read. */
export function objectRequests(model: ModelSummary, name: string): Sample[] {
  return [
    { name: 'curl', code: curl('GET', objectPathOf(model, name)) },
    { name: 'TypeScript', code: typescript(model, `const object = await client.get(${model.kind}, '${name}');`) },
    { name: 'kindred', code: `kindred get ${typeOf(model)} ${name} -o yaml` },
  ];
}

/** An object, created as it is. */
export function createRequests(model: ModelSummary, object: unknown): Sample[] {
  const { namespace } = (object as { metadata?: { namespace?: string } }).metadata ?? {};
  return [
    { name: 'curl', code: curl('POST', pathOf(model, namespace || undefined), undefined, object) },
    { name: 'TypeScript', code: typescript(model, `await client.create(${model.kind}, ${JSON.stringify(object)});`) },
    { name: 'kindred', code: 'kindred apply -f object.yaml' },
  ];
}

/** A read of the service's own. */
export function serviceRequests(path: string, query = new URLSearchParams()): Sample[] {
  const options = query.size > 0 ? `, { query: ${JSON.stringify(Object.fromEntries(query))} }` : '';
  const lines = [
    "import { createClient } from 'kindred/client';",
    '',
    `const client = createClient({ url: '${location.origin}', token: process.env.KINDRED_TOKEN });`,
    `const answer = await client.request('GET', '${path}'${options});`,
  ];
  return [
    { name: 'curl', code: curl('GET', path, query) },
    { name: 'TypeScript', code: lines.join('\n') },
  ];
}

export interface OperationSamples {
  readonly operation: 'list' | 'get' | 'watch' | 'create' | 'update' | 'patch' | 'delete';
  readonly verb: string;
  /** Of a read: what to ask for. */
  readonly run?: string;
  readonly samples: readonly Sample[];
}

/** Every operation of a model. */
export function modelRequests(model: ModelSummary): OperationSamples[] {
  const path = pathOf(model);
  const type = typeOf(model);
  const full = model.scope === 'Namespaced' ? 'NAMESPACE/NAME' : 'NAME';
  const one = objectPathOf(model, full);
  const labels = { metadata: { labels: { tier: 'gold' } } };
  const object = {
    apiVersion: [model.group, model.version].filter(Boolean).join('/'),
    kind: model.kind,
    metadata: { name: 'NAME' },
  };
  const all = (curlText: string, call: string, command: string): Sample[] => [
    { name: 'curl', code: curlText },
    { name: 'TypeScript', code: typescript(model, call) },
    { name: 'kindred', code: command },
  ];
  const first = new URLSearchParams({ size: '10' });
  return [
    {
      operation: 'list',
      verb: 'list',
      run: `${path}?size=10`,
      samples: all(
        curl('GET', path, first),
        `const { items, total } = await client.list(${model.kind}, { size: 10 });`,
        `kindred get ${type} --size 10`,
      ),
    },
    {
      operation: 'get',
      verb: 'get',
      samples: objectRequests(model, full),
    },
    {
      operation: 'watch',
      verb: 'watch',
      samples: watchRequests(model, new URLSearchParams()),
    },
    {
      operation: 'create',
      verb: 'create',
      samples: createRequests(model, object),
    },
    {
      operation: 'update',
      verb: 'update',
      samples: all(
        curl('PUT', one, undefined, object),
        `await client.update(${model.kind}, { ...object });`,
        'kindred replace -f object.yaml',
      ),
    },
    {
      operation: 'patch',
      verb: 'patch',
      samples: all(
        curl('PATCH', one, undefined, labels, 'application/merge-patch+json'),
        `await client.patch(${model.kind}, '${full}', ${JSON.stringify(labels)});`,
        `kindred patch ${type} NAME --patch '${JSON.stringify(labels)}'`,
      ),
    },
    {
      operation: 'delete',
      verb: 'delete',
      samples: all(
        curl('DELETE', one),
        `await client.delete(${model.kind}, '${full}');`,
        `kindred delete ${type} NAME`,
      ),
    },
  ];
}
