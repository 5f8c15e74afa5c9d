/**
 * The tools that agents have (Model Context Protocol): the models there are, their objects, and changes, which can be tried
 * before they are made. Each is a request to the service, so a tool can do what the caller's token can.
 */
import type { KindredClient } from '../client/client.ts';
import { KindredError } from '../errors.ts';
import type { ExtensionObject } from '../model/object.ts';

/** JSON Schema of the arguments, and what the tool does with them. */
export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: { readonly type: 'object'; readonly [member: string]: unknown };
  /** The tool changes nothing. */
  readonly readOnly: boolean;
  /** The tool may overwrite or delete. */
  readonly destructive: boolean;
  run(client: KindredClient, input: Readonly<Record<string, unknown>>): Promise<unknown>;
}

interface TypeSummary {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly scope?: 'Namespaced';
  readonly verbs: readonly string[];
  readonly objects?: number;
  readonly presentation?: { readonly description?: unknown };
}

interface TypeDescription extends TypeSummary {
  readonly schema: object;
  readonly indexes: readonly object[];
}

type Input = Readonly<Record<string, unknown>>;

/** Objects of one answer, so that it does not fill the context of a model. */
const largestPage = 100;

const type = {
  type: 'string',
  description: 'plural.group of a model, as list_types gives it: "cities.atlas.example.com"',
};
const name = { type: 'string', description: 'metadata.name of the object' };
const namespace = { type: 'string', description: 'Namespace of the object; for types with "namespaced": true alone' };

const actions = ['create', 'replace', 'patch', 'delete'];

const change = {
  type: 'object',
  properties: {
    type,
    action: { enum: actions },
    name: { ...name, description: 'metadata.name of the object; not for "create"' },
    namespace,
    object: { type: 'object', description: 'The whole object, for "create" and "replace"' },
    patch: {
      type: 'object',
      description: 'A JSON Merge Patch (RFC 7396), for "patch": members to set, null removes one',
    },
    version: {
      type: 'integer',
      description:
        'metadata.version that the object must still have; the change is refused when somebody else was quicker',
    },
  },
  required: ['type', 'action'],
  additionalProperties: false,
} as const;

export const tools: readonly Tool[] = [
  {
    name: 'list_types',
    title: 'List types',
    description: 'Lists the types of objects that you may read: names, allowed verbs, number of objects.',
    inputSchema: { type: 'object', properties: {}, additionalProperties: false },
    readOnly: true,
    destructive: false,
    run: async (client) => ({ types: (await typesOf(client)).map(shownType) }),
  },
  {
    name: 'describe_type',
    title: 'Describe a type',
    description: 'Gives the JSON Schema of a type, and its indexes: only indexed fields can be selected and sorted by.',
    inputSchema: { type: 'object', properties: { type }, required: ['type'], additionalProperties: false },
    readOnly: true,
    destructive: false,
    run: async (client, input) => {
      const { schema, indexes, ...summary } = await client.request<TypeDescription>(
        'GET',
        `/v3/models/${typeName(input)}`,
      );
      return { ...shownType(summary), schema, indexes };
    },
  },
  {
    name: 'query_objects',
    title: 'Query objects',
    description:
      'Gives one page of objects with the exact total. fieldSelector and labelSelector are terms joined by commas, all of which must hold: a=b, a!=b, a in (b,c), a>1, a>=1, a^=prefix, a*=contains, a (has a value), !a (has none).',
    inputSchema: {
      type: 'object',
      properties: {
        type,
        namespace: {
          ...namespace,
          description: 'Only objects of this namespace; for types with "namespaced": true alone',
        },
        fieldSelector: { type: 'string', description: 'For example: spec.country=FR,spec.population>100000' },
        labelSelector: { type: 'string' },
        sort: { type: 'array', items: { type: 'string' }, description: 'For example: ["spec.population,desc"]' },
        page: { type: 'integer', minimum: 1 },
        size: { type: 'integer', minimum: 1, maximum: largestPage, description: 'Default 20' },
        explain: { type: 'boolean', description: 'The plan of the query instead of the objects' },
      },
      required: ['type'],
      additionalProperties: false,
    },
    readOnly: true,
    destructive: false,
    run: async (client, input) => {
      const { fieldSelector, labelSelector, sort, page, size, explain } = input;
      const query = new URLSearchParams();
      for (const [parameter, value] of Object.entries({ fieldSelector, labelSelector, page, size })) {
        if (value !== undefined) query.append(parameter, String(value));
      }
      for (const key of Array.isArray(sort) ? sort : []) query.append('sort', String(key));
      if (explain === true) query.append('explain', 'true');
      return client.request('GET', await pathOf(client, input), { query });
    },
  },
  {
    name: 'get_object',
    title: 'Get an object',
    description: 'Gives one object.',
    inputSchema: {
      type: 'object',
      properties: { type, name, namespace },
      required: ['type', 'name'],
      additionalProperties: false,
    },
    readOnly: true,
    destructive: false,
    run: async (client, input) => client.request('GET', await objectPath(client, input)),
  },
  {
    name: 'propose_change',
    title: 'Propose a change',
    description:
      'Tries a change without making it: the service validates it and checks permissions and unique values. Gives the object before and after, and every member that differs. Show it to the user before write_object.',
    inputSchema: change,
    readOnly: true,
    destructive: false,
    run: async (client, input) => {
      const before =
        input.action === 'create' ? undefined : await client.request('GET', await objectPath(client, input));
      const after = await write(client, input, true);
      const next = input.action === 'delete' ? undefined : after;
      return { before, after: next, changes: differences(before, next) };
    },
  },
  {
    name: 'write_object',
    title: 'Change an object',
    description:
      'Makes a change: creates, replaces, patches or deletes one object. Takes the same arguments as propose_change.',
    inputSchema: change,
    readOnly: false,
    destructive: true,
    run: (client, input) => write(client, input, false),
  },
];

async function write(client: KindredClient, input: Input, dryRun: boolean): Promise<unknown> {
  const { action, version } = input;
  // A client may send what the schema of the arguments does not allow.
  if (!actions.includes(action as string)) {
    throw new Error(`"action" must be one of ${actions.join(', ')}; got ${JSON.stringify(action)}`);
  }
  const query: Record<string, string> = dryRun ? { dryRun: 'true' } : {};
  if (action === 'create') {
    return client.request('POST', await pathOf(client, input), { query, body: input.object });
  }
  const path = await objectPath(client, input);
  if (action === 'replace') {
    const object = input.object as ExtensionObject;
    const metadata = { ...object?.metadata, ...(version !== undefined && { version: version as number }) };
    return client.request('PUT', path, { query, body: { ...object, metadata } });
  }
  if (action === 'patch') {
    const patch = input.patch as { metadata?: object };
    const body = version === undefined ? patch : { ...patch, metadata: { ...patch?.metadata, version } };
    return client.request('PATCH', path, { query, body, headers: { 'content-type': 'application/merge-patch+json' } });
  }
  return client.request('DELETE', path, {
    query: { ...query, ...(version !== undefined && { version: String(version) }) },
  });
}

async function typesOf(client: KindredClient): Promise<readonly TypeSummary[]> {
  return (await client.request<{ models: readonly TypeSummary[] }>('GET', '/v3/models')).models;
}

function shownType({ group, version, kind, plural, scope, verbs, objects, presentation }: TypeSummary): object {
  return {
    type: group === '' ? plural : `${plural}.${group}`,
    kind,
    version,
    ...(scope === 'Namespaced' && { namespaced: true }),
    verbs,
    ...(objects !== undefined && { objects }),
    ...(presentation?.description !== undefined && { description: presentation.description }),
  };
}

function typeName({ type: text }: Input): string {
  return encodeURIComponent(String(text));
}

/** Where the objects of a type are. */
async function pathOf(client: KindredClient, input: Input): Promise<string> {
  const { group, version, plural, scope } = await client.request<TypeSummary>('GET', `/v3/models/${typeName(input)}`);
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  const isInNamespace = scope === 'Namespaced' && input.namespace !== undefined;
  return `${root}${isInNamespace ? `/namespaces/${encodeURIComponent(String(input.namespace))}` : ''}/${plural}`;
}

async function objectPath(client: KindredClient, input: Input): Promise<string> {
  if (typeof input.name !== 'string' || input.name === '') throw new Error('"name" must be the name of an object');
  return `${await pathOf(client, input)}/${encodeURIComponent(String(input.name))}`;
}

interface Difference {
  /** RFC 6901. */
  readonly pointer: string;
  readonly before?: unknown;
  readonly after?: unknown;
}

/** Members that two values have not in common; a list that differs is told as a whole. */
export function differences(before: unknown, after: unknown, pointer = ''): Difference[] {
  if (isRecord(before) && isRecord(after)) {
    return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((member) =>
      differences(before[member], after[member], `${pointer}/${member.replaceAll('~', '~0').replaceAll('/', '~1')}`),
    );
  }
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  return [{ pointer, ...(before !== undefined && { before }), ...(after !== undefined && { after }) }];
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What an agent is told of a failure: the problem, with every violation and its place. */
export function failureText(error: unknown): string {
  if (error instanceof KindredError) return JSON.stringify(error.problem());
  return error instanceof Error ? error.message : String(error);
}
