/** Components that every document has: problem documents, metadata, headers, parameters, error answers (docs/reference/objects.md, api.md, lists.md and errors.md). */
import type { ErrorCode } from '../../errors.ts';
import { errorCodes, listedViolations } from '../../errors.ts';
import { metadataSchema, namespacedMetadataSchema } from '../../model/metadata.ts';
import { nameLimit, nameSyntax } from '../../model/names.ts';
import type { Scheme } from '../../model/scheme.ts';
import type { JsonSchema } from './schema.ts';
import { componentRef } from './schema.ts';

const ref = (kind: string, name: string) => ({ $ref: `#/components/${kind}/${name}` });

/** Headers by name, as an answer declares them; `Name.optional` is one that is not always there. */
export function headersOf(...names: readonly string[]): Record<string, object> {
  return Object.fromEntries(
    ['X-Request-Id', 'X-Content-Type-Options', ...names].map((name) => [
      name.replace('.optional', ''),
      ref('headers', name),
    ]),
  );
}

export const parameter = (name: string) => ref('parameters', name);

/** No answer of the routes that are described here has these. */
const elsewhere: readonly ErrorCode[] = ['InvalidModel', 'InvalidPlugin', 'NotAcceptable'];

const codes = (Object.keys(errorCodes) as ErrorCode[]).filter((code) => !elsewhere.includes(code));

/** These end a watch: they are in its stream, no answer has them. */
const inStreams: readonly ErrorCode[] = ['SlowConsumer', 'ShuttingDown'];

/** Codes of one status, for the texts of the error answers. */
function codesOf(status: number): ErrorCode[] {
  return codes.filter((code) => errorCodes[code].status === status && !inStreams.includes(code));
}

const errorHeaders: Readonly<Record<number, readonly string[]>> = {
  401: ['WWW-Authenticate'],
  404: ['Kindred-Revision.optional'],
  405: ['Allow'],
  408: ['Connection'],
  415: ['Accept-Patch', 'Accept', 'Accept-Encoding'],
  429: ['Retry-After'],
  503: ['Retry-After', 'Connection'],
};

const problemContent = { 'application/problem+json': { schema: componentRef('Problem') } };

function errorResponse(status: number): object {
  const description = codesOf(status).join(', ');
  return {
    description,
    headers: headersOf('Content-Language', ...(errorHeaders[status] ?? [])),
    content: problemContent,
  };
}

const errorStatuses = [...new Set(codes.map((code) => errorCodes[code].status))].sort((a, b) => a - b);

/** References to error answers, for an operation's `responses`. */
export function errors(...statuses: readonly number[]): Record<string, object> {
  return Object.fromEntries(statuses.map((status) => [status, ref('responses', `Error${status}`)]));
}

/** What every request can meet, whatever the route. */
export const anywhere = [400, 401, 403, 404, 408, 414, 429, 431, 500, 503] as const;

const timestamp = { type: 'string', format: 'date-time', description: 'RFC 3339 UTC with milliseconds' };

function nullable(schema: object): object {
  return { anyOf: [schema, { type: 'null' }] };
}

interface MetadataSchemas {
  /** Of stored objects. */
  readonly stored: JsonSchema;
  /** Of what is sent. */
  readonly input: JsonSchema;
}

/** @param namePattern of names */
function metadataSchemas(
  { properties }: { readonly properties: Readonly<Record<string, object>> },
  namePattern: string,
  required: readonly string[],
): MetadataSchemas {
  const generateName = { ...properties.generateName, maxLength: nameLimit };
  const sent = { ...properties, generateName };
  return {
    stored: {
      type: 'object',
      // Of what is sent, an empty name beside generateName counts as absent.
      properties: { ...sent, name: { ...properties.name, pattern: namePattern } },
      required,
      additionalProperties: false,
    },
    input: {
      type: 'object',
      description: 'What the service sets itself may be left out; null counts as absent',
      // Pages that try an API out send it as it stands.
      example: { name: 'my-object' },
      properties: Object.fromEntries(Object.entries(sent).map(([name, schema]) => [name, nullable(schema)])),
      additionalProperties: false,
    },
  };
}

const usual = metadataSchemas(metadataSchema, nameSyntax.source, ['name', 'creationTimestamp', 'version']);

/** The names of the schemas of a model's metadata, and those of them that not every document has. */
export function metadataOf({ isNamespaced, naming }: Pick<Scheme, 'isNamespaced' | 'naming'>): {
  readonly stored: string;
  readonly input: string;
  readonly schemas: ReadonlyMap<string, JsonSchema>;
} {
  const prefix = `${isNamespaced ? 'Namespaced' : ''}${naming === 'kubernetes' ? 'Kubernetes' : ''}`;
  const [stored, input] = [`${prefix}Metadata`, `${prefix}MetadataInput`];
  if (prefix === '') return { stored, input, schemas: new Map() };
  const own = metadataSchemas(
    isNamespaced ? namespacedMetadataSchema : metadataSchema,
    naming === 'kubernetes' ? subdomainPattern : nameSyntax.source,
    ['name', ...(isNamespaced ? ['namespace'] : []), 'creationTimestamp', 'version'],
  );
  return {
    stored,
    input,
    schemas: new Map([
      [stored, own.stored],
      [input, own.input],
    ]),
  };
}

const label = nameSyntax.source.slice(1, -1);
const subdomainPattern = `^${label}(?:\\.${label})*$`;

const problemSchema: JsonSchema = {
  type: 'object',
  description: 'RFC 9457. Texts are in the language of Accept-Language; code, keyword and pointer are not translated',
  properties: {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    instance: { type: 'string' },
    code: { type: 'string', enum: codes },
    requestId: { type: 'string' },
    timestamp,
    errors: { type: 'array', items: componentRef('Violation'), maxItems: listedViolations },
    omitted: {
      type: 'integer',
      description: 'Further violations or conflicts, which are not listed; 900 violations mean 900 or more',
    },
    parameter: { type: 'string', description: 'The parameter that does not hold' },
    term: { type: 'string', description: 'The malformed term of a selector' },
    column: { type: 'integer', description: 'Where in the selector or in the line, from 1' },
    expected: { type: 'string' },
    index: { type: 'string', description: 'The index whose unique value is taken' },
    value: { description: 'The value that is taken' },
    currentVersion: { type: 'integer' },
    allowed: { type: 'array', items: { type: 'string' } },
    operation: { type: 'integer', description: 'Index of the failing JSON Patch operation' },
    conflicts: {
      type: 'array',
      description: 'Fields of an apply that other managers own with other values',
      items: componentRef('FieldConflict'),
      maxItems: listedViolations,
    },
    position: { type: 'integer', description: 'Byte offset in the body, from 0' },
    line: { type: 'integer' },
    unread: { type: 'boolean', description: 'Of a bulk request: this line and those behind it were not read' },
    progress: { type: 'number', minimum: 0, maximum: 1, description: 'Of the indexes being built' },
    models: { type: 'array', items: { type: 'object', additionalProperties: true } },
    plugins: { type: 'array', items: { type: 'object', additionalProperties: true } },
  },
  required: ['type', 'title', 'status', 'detail', 'instance', 'code', 'requestId', 'timestamp'],
  additionalProperties: false,
};

const schemas: Record<string, JsonSchema> = {
  Metadata: usual.stored,
  MetadataInput: usual.input,
  Problem: problemSchema,
  Violation: {
    type: 'object',
    properties: {
      pointer: { type: 'string', description: 'RFC 6901 pointer into the body' },
      field: { type: 'string', description: 'The pointer as a dotted path' },
      keyword: { type: 'string' },
      message: { type: 'string' },
      params: { type: 'object', additionalProperties: true },
    },
    required: ['pointer', 'field', 'keyword', 'message'],
    additionalProperties: false,
  },
  FieldConflict: {
    type: 'object',
    properties: {
      manager: { type: 'string' },
      operation: { type: 'string', enum: ['Apply', 'Update'] },
      apiVersion: { type: 'string' },
      subresource: { type: 'string' },
      field: { type: 'string', description: 'Such as .spec.ports[name="http"].port' },
      message: { type: 'string' },
    },
    required: ['manager', 'operation', 'apiVersion', 'field', 'message'],
    additionalProperties: false,
  },
  JsonPatch: {
    type: 'array',
    description: 'RFC 6902',
    items: {
      type: 'object',
      properties: {
        op: { type: 'string', enum: ['add', 'remove', 'replace', 'move', 'copy', 'test'] },
        path: { type: 'string' },
        from: { type: 'string' },
        value: {},
      },
      required: ['op', 'path'],
    },
  },
  MergePatch: { type: 'object', description: 'RFC 7396', additionalProperties: true },
  ApplyPatch: {
    type: 'object',
    description: 'The fields that are to be so, in YAML or JSON; apiVersion and kind must be there',
    additionalProperties: true,
  },
  Plan: {
    type: 'object',
    description: 'How a list is found, the answer to explain=true',
    properties: {
      strategy: { type: 'string', enum: ['none', 'index', 'walk', 'rank', 'sort'] },
      indexes: {
        type: 'array',
        items: {
          type: 'object',
          properties: {
            name: { type: 'string' },
            use: { type: 'string', enum: ['filter', 'sort'] },
            estimatedRows: { type: 'number' },
          },
          required: ['name', 'use', 'estimatedRows'],
          additionalProperties: false,
        },
      },
      estimatedRows: { type: 'number' },
      touchedRows: { type: 'integer' },
      total: { type: 'integer' },
      time: { type: 'number', description: 'Milliseconds' },
    },
    required: ['strategy', 'indexes', 'estimatedRows', 'touchedRows', 'total', 'time'],
    additionalProperties: false,
  },
  BulkResult: {
    description: 'Of one line: what was created, or why it was not',
    anyOf: [
      {
        type: 'object',
        properties: { status: { type: 'integer' }, name: { type: 'string' }, version: { type: 'integer' } },
        required: ['status', 'name', 'version'],
        additionalProperties: false,
      },
      componentRef('Problem'),
    ],
  },
};

const text = { type: 'string' };
const count = { type: 'integer', minimum: 0 };

const revision = {
  description: 'Revision of the store that the answer reflects, for a write that of the change',
  schema: count,
};

const headers: Record<string, object> = {
  'Kindred-Revision': { ...revision, required: true },
  'Kindred-Revision.optional': revision,
  'Kindred-Total': { description: 'Of an NDJSON export: the number of its lines', schema: count },
  'Kindred-Warning': {
    description: 'Of an update: how many violations of the model the stored object had already and keeps, and where',
    schema: text,
  },
  Warning: {
    description: 'For each member that was left out because the model does not know it: `299 - "unknown field …"`',
    schema: text,
  },
  'X-Request-Id': { description: 'As sent, or made by the service', schema: text, required: true },
  'Content-Language': { description: 'Of the texts', schema: { type: 'string', enum: ['en', 'zh'] } },
  'X-Accel-Buffering': { description: 'Tells proxies not to hold a stream back', schema: text },
  'Set-Cookie.optional': { description: 'The session of the browser, or that it has ended', schema: text },
  'Kindred-Dry-Run': { description: 'With dryRun=true: nothing was stored', schema: { type: 'string', const: 'true' } },
  ETag: { description: 'Entity tag of this state of the object', schema: text },
  Location: { description: 'Path of the created object', schema: text },
  'Location.optional': { description: 'Where the browser goes on', schema: text },
  'Retry-After': { description: 'Seconds', schema: count },
  'WWW-Authenticate': { schema: text },
  Allow: { description: 'The methods there are', schema: text },
  Accept: { description: 'The media types that are taken', schema: text },
  'Accept-Patch': { description: 'The kinds of patches there are', schema: text },
  'Accept-Encoding': { description: 'The content codings that are taken', schema: text },
  Connection: { schema: text },
  'Cache-Control': { schema: text },
  'Content-Security-Policy': { schema: text },
  'Referrer-Policy': { schema: text },
  'X-Content-Type-Options': { schema: { type: 'string', const: 'nosniff' }, required: true },
};

export const query = (name: string, schema: object, description: string): object => ({
  name,
  in: 'query',
  description,
  schema,
});
const sent = (name: string, description: string): object => ({ name, in: 'header', description, schema: text });

function parameters(maxSize: number): Record<string, object> {
  const selector = { type: 'array', items: text };
  const flag = { type: 'boolean' };
  return {
    name: { name: 'name', in: 'path', required: true, description: 'metadata.name', schema: text },
    page: query('page', { type: 'integer', minimum: 1, default: 1 }, 'Number of the page, from 1'),
    size: query(
      'size',
      { type: 'integer', minimum: 1, maximum: maxSize, default: Math.min(20, maxSize) },
      'Objects on a page',
    ),
    labelSelector: query(
      'labelSelector',
      selector,
      'Terms on metadata.labels joined by commas: k=v, k!=v, k=(a,b), k!=(a,b), k in (a,b), k notin (a,b), k, !k. All given must hold',
    ),
    fieldSelector: query(
      'fieldSelector',
      selector,
      'Terms on indexed fields, as of a label selector, and f>v, f>=v, f<v, f<=v, f^=v (starts with), f$=v (ends with), f*=v (contains). All given must hold',
    ),
    explain: query('explain', flag, 'Answers how the list would be found instead of the page'),
    watch: query('watch', flag, 'Answers a stream of changes: server-sent events when they are accepted, else NDJSON'),
    since: query('since', { type: 'integer', minimum: 0 }, 'With watch: only changes after this revision'),
    sendInitial: query('sendInitial', flag, 'With watch: the list first, then the changes'),
    lastEventId: sent('Last-Event-ID', 'With watch: wins over since'),
    dryRun: query('dryRun', flag, 'Everything but the commit: answers what would be stored, and stores nothing'),
    fieldManager: query(
      'fieldManager',
      { type: 'string', minLength: 1, maxLength: 128 },
      'Of an apply, which needs it: who owns the fields afterwards',
    ),
    force: query('force', flag, 'Of an apply: take fields from other managers that own them with other values'),
    ifMatch: sent('If-Match', 'Entity tags of which the current state must have one, or *'),
    ifNoneMatch: sent('If-None-Match', 'Entity tags; 304 when the current state has one of them'),
    acceptLanguage: sent('Accept-Language', 'Language of messages: en, zh'),
    requestId: sent('X-Request-Id', 'Sent back, and written to the log'),
  };
}

/** On every operation. */
export const commonParameters = [parameter('acceptLanguage'), parameter('requestId')];

/** `components` by kind and name, without the models. @param maxSize largest `size` of a list */
export function sharedComponents(maxSize: number): Record<string, Record<string, object>> {
  return {
    schemas,
    headers,
    parameters: parameters(maxSize),
    responses: {
      Error: {
        description: 'Another error of the route',
        headers: headersOf('Content-Language'),
        content: problemContent,
      },
      ...Object.fromEntries(errorStatuses.map((status) => [`Error${status}`, errorResponse(status)])),
    },
    securitySchemes: {
      bearer: {
        type: 'http',
        scheme: 'bearer',
        description: 'A personal access token, or a token of an accepted issuer',
      },
    },
  };
}
