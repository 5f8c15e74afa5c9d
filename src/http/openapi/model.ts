/** The description of one model's generated API (docs/reference/api.md, lists.md, errors.md, objects.md and api-description.md). */
import type { Scheme } from '../../model/scheme.ts';
import type { Access } from '../../resource/access.ts';
import { someNamespace } from '../../resource/access.ts';
import type { Place, RouteName } from '../api/routes.ts';
import { collectionPath, operationId, operationIdOfAll, places, routesOf } from '../api/routes.ts';
import type { ComponentOptions, JsonSchema } from './schema.ts';
import { componentRef, componentsOf } from './schema.ts';
import { anywhere, commonParameters, errors, headersOf, metadataOf, parameter } from './shared.ts';

/** One operation of a document, as the text that stands there. */
export interface DescribedOperation {
  readonly path: string;
  /** In lower case. */
  readonly method: string;
  /** Undefined: for everybody. */
  readonly access: Access | undefined;
  readonly operationId: string;
  readonly json: string;
}

/** What one model or one custom route adds to a document. */
export interface Fragment {
  readonly operations: readonly DescribedOperation[];
  /** Schemas by name, as the texts that stand there. */
  readonly schemas: ReadonlyMap<string, string>;
  readonly tags: readonly string[];
}

/** How a model is called in a document. */
export interface ModelName {
  /** Of its schemas: the kind, with `suffix` where another model has the same kind. */
  readonly component: string;
  /** Ends every operationId: '' or `<Version><GroupInCamelCase>`. */
  readonly suffix: string;
}

const ndjson = 'application/x-ndjson';
const sse = 'text/event-stream';
const count = { type: 'integer', minimum: 0 };

/** `v1alpha1` as `V1alpha1`, `demo.example.com` as `DemoExampleCom`. */
export function camelCase(text: string): string {
  return text
    .split(/[^A-Za-z0-9]+/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');
}

function optionsFor({ jsonSchema }: Scheme): ComponentOptions {
  // A model without `spec` whose own schema cannot be merged with the members of every object stands beside them.
  return { parts: ['/properties/spec', '/properties/status'], closed: true, openRoot: 'allOf' in jsonSchema };
}

/** The schemas of a model's objects: `<name>`, `<name>.spec`, `<name>.status` and what these refer to. */
export function modelSchemas(scheme: Scheme, name: string): Map<string, JsonSchema> {
  const schemas = componentsOf(scheme.jsonSchema, name, optionsFor(scheme));
  const metadata = metadataOf(scheme);
  schemas.set(name, withMetadata(schemas.get(name)!, metadata.stored));
  for (const [key, schema] of metadata.schemas) schemas.set(key, schema);
  return schemas;
}

/** Of what clients send: `<name>.new` for POST, `<name>.input` for PUT, and their parts where these have defaults. */
function inputSchemas(scheme: Scheme, name: string, stored: JsonSchema): Map<string, JsonSchema> {
  const own = `${name}.input`;
  const hasDefaults = JSON.stringify(scheme.jsonSchema).includes('"default":');
  const schemas = hasDefaults
    ? componentsOf(scheme.jsonSchema, own, { ...optionsFor(scheme), sent: true })
    : new Map([[own, stored]]);
  const whole = withMetadata(schemas.get(own)!, metadataOf(scheme).input);
  const required = (whole.required as string[]).filter(
    (member) => !['apiVersion', 'kind', 'metadata'].includes(member),
  );
  const description = 'What is sent: apiVersion, kind and what the service sets in metadata may be left out';
  schemas.set(own, { ...whole, description, required });
  schemas.set(`${name}.new`, { ...whole, description, required: ['metadata', ...required] });
  return schemas;
}

function withMetadata(whole: JsonSchema, component: string): JsonSchema {
  return { ...whole, properties: { ...(whole.properties as JsonSchema), metadata: componentRef(component) } };
}

/**
 * @param scheme as it is declared
 * @param shown as clients see it, by the contract that is active
 */
export function describeModel(scheme: Scheme, name: ModelName, shown = scheme): Fragment {
  const { group, version, kind } = scheme.groupVersionKind;
  const { isNamespaced } = scheme;
  const all = collectionPath(group, version, scheme.plural);
  const base = isNamespaced ? collectionPath(group, version, scheme.plural, '{namespace}') : all;
  const schemas = modelSchemas(shown, name.component);
  for (const [key, schema] of inputSchemas(shown, name.component, schemas.get(name.component)!))
    schemas.set(key, schema);
  for (const [key, schema] of answerSchemas(name.component)) schemas.set(key, schema);
  const tag = name.suffix === '' ? `${kind}${camelCase(version)}` : `${kind}${name.suffix}`;

  const described = describe(scheme, name.component, shown);
  const routes = routesOf(shown);
  const operations = (Object.keys(places) as Place[]).flatMap((place) =>
    routes
      .filter(({ at }) => at === place)
      .map((route) => {
        const { path, resource } = places[place];
        const id = operationId(route, scheme, name.suffix);
        return {
          path: `${base}${path}`,
          method: route.method.toLowerCase(),
          access: {
            verb: route.verb,
            group,
            resource: `${scheme.plural}${resource}`,
            ...(isNamespaced && { namespace: someNamespace }),
          },
          operationId: id,
          json: JSON.stringify({ operationId: id, tags: [tag], ...described[`${place} ${route.verb}` as RouteName] }),
        };
      }),
  );
  if (isNamespaced) {
    const id = operationIdOfAll(scheme, name.suffix);
    const list = describe(scheme, name.component, shown, false)['collection list'];
    operations.push({
      path: all,
      method: 'get',
      access: { verb: 'list', group, resource: scheme.plural },
      operationId: id,
      json: JSON.stringify({ operationId: id, tags: [tag], ...list }),
    });
  }
  const texts = new Map([...schemas].map(([key, schema]) => [key, JSON.stringify(schema)]));
  return { operations, schemas: texts, tags: [tag] };
}

/** The list envelope. @param name of the objects' schema */
export function listSchema(name: string): JsonSchema {
  const flag = { type: 'boolean' };
  return closed({
    page: { type: 'integer', minimum: 1 },
    size: { type: 'integer', minimum: 1 },
    total: { ...count, description: 'All matches, of the same revision as the items' },
    items: { type: 'array', items: componentRef(name) },
    first: flag,
    last: flag,
    hasNext: flag,
    hasPrevious: flag,
    totalPages: { ...count, description: '0 when total is 0' },
  });
}

/** The list envelope, events of a watch. */
function answerSchemas(name: string): Map<string, JsonSchema> {
  const object = componentRef(name);
  const objects = { type: 'array', items: object };
  const inserted = {
    type: 'object',
    properties: { index: count, object },
    required: ['index', 'object'],
    additionalProperties: false,
  };
  const window = {
    total: count,
    removed: { type: 'array', items: { type: 'string' } },
    inserted: { type: 'array', items: inserted },
    updated: objects,
  };
  const event = {
    type: { type: 'string', enum: ['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'SNAPSHOT', 'WINDOW', 'ERROR'] },
    revision: count,
    initial: { type: 'boolean', const: true },
    object: { anyOf: [object, componentRef(`${name}.list`), closed(window)] },
    error: componentRef('Problem'),
  };
  return new Map([
    [`${name}.list`, listSchema(name)],
    [`${name}.event`, closed(event, ['type', 'revision'])],
  ]);
}

/** An object schema without further members. @param required all by default */
export function closed(properties: object, required: readonly string[] = Object.keys(properties)): JsonSchema {
  return { type: 'object', properties, required, additionalProperties: false };
}

const namespaceParameter = {
  name: 'namespace',
  in: 'path',
  required: true,
  description: 'metadata.namespace',
  schema: { type: 'string' },
};

/**
 * The operations without operationId and tag. Streams stand in `x-streams` (media type → reference to the schema of one item, or of one
 * event of a watch) rather than in `content`, and bulk creation in `x-bulk`: there they would be texts, and a generated client
 * would take and give "an object or a text" everywhere.
 */
function describe(
  scheme: Scheme,
  name: string,
  shown: Scheme,
  inNamespace = scheme.isNamespaced,
): Record<RouteName, object> {
  const common = inNamespace ? [namespaceParameter, ...commonParameters] : commonParameters;
  const object = { 'application/json': { schema: componentRef(name) } };
  const input = componentRef(`${name}.input`);
  const revised = (...names: readonly string[]): object => headersOf('Kindred-Revision', ...names);
  const ok = { description: 'The object as it is stored', headers: revised('ETag', 'Cache-Control'), content: object };
  const warned = scheme.naming === 'kubernetes' ? ['Warning'] : [];
  const updated = { ...ok, headers: revised('ETag', 'Cache-Control', 'Kindred-Warning', 'Kindred-Dry-Run', ...warned) };
  const summary = (text: string): string => `${text} of the model ${scheme.groupVersionKind.kind}`;
  const written = errors(...anywhere, 409, 412, 413, 415, 422, 504, 507);
  const named = [parameter('name'), ...common];
  const { status } = shown.subresources;
  const get = (text: string) => ({
    summary: summary(text),
    parameters: [...named, parameter('ifNoneMatch')],
    responses: {
      200: ok,
      304: { description: 'The state that the client has is the current one', headers: revised('ETag') },
      ...errors(...anywhere),
    },
  });
  const update = (text: string) => ({
    summary: summary(text),
    description: 'With metadata.version the current version must be that one. What changes nothing writes nothing.',
    parameters: [...named, parameter('dryRun'), parameter('ifMatch')],
    requestBody: { required: true, content: { 'application/json': { schema: input } } },
    responses: { 200: updated, ...written },
  });
  const canApply = scheme === scheme.hub;
  const patch = (text: string) => ({
    summary: summary(text),
    ...(canApply && { description: 'With application/apply-patch+yaml a server-side apply' }),
    parameters: [...named, ...['dryRun', ...(canApply ? ['fieldManager', 'force'] : []), 'ifMatch'].map(parameter)],
    requestBody: {
      required: true,
      content: {
        'application/merge-patch+json': { schema: componentRef('MergePatch') },
        'application/json-patch+json': { schema: componentRef('JsonPatch') },
        ...(canApply && { 'application/apply-patch+yaml': { schema: componentRef('ApplyPatch') } }),
      },
    },
    responses: {
      200: updated,
      ...written,
    },
  });
  const creating = ({ responses, ...operation }: ReturnType<typeof patch>) => ({
    ...operation,
    responses: {
      ...responses,
      ...(canApply && { 201: { ...updated, description: 'The object, which the apply made' } }),
    },
  });
  return {
    'collection list': {
      summary: summary('Lists the objects'),
      description:
        'One page with an exact total. With Accept: application/x-ndjson every match, one object a line, without page and size. With watch=true a stream of changes.',
      parameters: [
        parameter('page'),
        parameter('size'),
        sortParameter(scheme),
        ...['labelSelector', 'fieldSelector', 'explain', 'watch', 'since', 'sendInitial', 'lastEventId'].map(parameter),
        ...common,
      ],
      responses: {
        200: {
          description: 'A page; or all matches; or, with watch=true, changes as they happen',
          headers: revised('Kindred-Total', 'Cache-Control', 'X-Accel-Buffering'),
          content: {
            'application/json': { schema: componentRef(`${name}.list`), 'x-explain-schema': componentRef('Plan').$ref },
          },
          'x-streams': {
            [ndjson]: { item: componentRef(name).$ref, event: componentRef(`${name}.event`).$ref },
            [sse]: { event: componentRef(`${name}.event`).$ref },
          },
        },
        ...errors(...anywhere, 410),
      },
    },
    'collection create': {
      summary: summary('Creates an object'),
      description: `With application/x-ndjson many, one a line, answered line by line in order; each succeeds or fails by itself.${status ? ' A status is dropped.' : ''}`,
      parameters: [parameter('dryRun'), ...common],
      requestBody: {
        required: true,
        content: {
          'application/json': { schema: componentRef(`${name}.new`) },
        },
      },
      responses: {
        201: {
          description: 'The created object',
          headers: revised('ETag', 'Location', 'Cache-Control', 'Kindred-Dry-Run', ...warned),
          content: object,
        },
        ...errors(...anywhere, 409, 413, 415, 422, 504, 507),
      },
      'x-bulk': {
        requestBody: { required: true, content: { [ndjson]: { item: componentRef(`${name}.new`).$ref } } },
        responses: {
          200: {
            description: 'One line for each line of the body',
            headers: revised('Kindred-Dry-Run'),
            'x-streams': { [ndjson]: { item: componentRef('BulkResult').$ref } },
          },
        },
      },
    },
    'object get': get('Reads one object'),
    'object update': update('Replaces one object'),
    'object patch': creating(patch('Changes parts of one object')),
    'status get': get('Reads one object by its status sub-resource'),
    'status update': update('Replaces the status of one object, and nothing else'),
    'status patch': patch('Changes parts of the status of one object, and nothing else'),
    'object delete': {
      summary: summary('Deletes one object'),
      description:
        'The answer shows it with deletionTimestamp. With finalizers it stays until the last of them is removed.',
      parameters: [...named, parameter('dryRun'), parameter('ifMatch')],
      responses: {
        200: { ...ok, headers: revised('ETag', 'Cache-Control', 'Kindred-Dry-Run') },
        ...errors(...anywhere, 409, 412, 504, 507),
      },
    },
  };
}

const sortable = ['metadata.name', 'metadata.creationTimestamp', 'metadata.deletionTimestamp'];

function sortParameter(scheme: Scheme): object {
  const fields = new Set([...sortable, ...scheme.indexes.map((index) => index.name)]);
  const terms = [...fields].flatMap((field) => [field, `${field},asc`, `${field},desc`]);
  return {
    name: 'sort',
    in: 'query',
    description:
      'An index, with its own order or `,asc` or `,desc`; may be given several times. Default: metadata.creationTimestamp,desc',
    schema: { type: 'array', items: { type: 'string', enum: terms } },
  };
}
