/** Schemas of what the service's own routes answer and take. */
import { closed } from './model.ts';
import { componentRef } from './schema.ts';

export const text = { type: 'string' };
export const listOf = (schema: object) => ({ type: 'array', items: schema });

export const apiGroup = closed({ name: text, versions: listOf(closed({ groupVersion: text, version: text })) });
export const apiResources = closed({
  groupVersion: text,
  resources: listOf(
    closed(
      {
        name: text,
        singularName: text,
        kind: text,
        namespaced: { const: true },
        shortNames: listOf(text),
        verbs: listOf(text),
      },
      ['name', 'singularName', 'kind', 'verbs'],
    ),
  ),
});
export const documentIndex = closed({ groups: listOf(closed({ name: text, displayName: text, url: text })) });
export const readiness = {
  type: 'object',
  properties: {
    status: text,
    models: listOf({ type: 'object', additionalProperties: true }),
    plugins: listOf({ type: 'object', additionalProperties: true }),
    stores: listOf(closed({ name: text, state: { enum: ['ready', 'unavailable'] } })),
  },
  required: ['status'],
  additionalProperties: true,
};

/** One of `type`, `resource` and `path` says what it is about. */
export const accessReview = {
  type: 'object',
  properties: {
    verb: {
      type: 'string',
      description:
        'get, list, watch, create, update, patch, delete, on users impersonate; for a path an HTTP method in lower case',
    },
    type: {
      type: 'string',
      description: 'plural, plural.group or plural.version.group, each with /status or another sub-resource behind it',
    },
    group: { type: 'string', description: 'Group of `resource`; default the empty one' },
    resource: { type: 'string', description: 'Plural, with /status or another sub-resource behind it' },
    namespace: { type: 'string', description: 'Of a namespaced model: where; none: in all namespaces' },
    name: { type: 'string', description: 'One object' },
    path: { type: 'string', description: 'A path of no resource' },
    user: { type: 'string', description: 'Somebody else; needs the right to list roles and role bindings' },
  },
  required: ['verb'],
  additionalProperties: false,
};
export const severalReviews = closed({ reviews: { type: 'array', items: accessReview, maxItems: 100 } });
export const accessAnswer = {
  type: 'object',
  properties: {
    allowed: { type: 'boolean' },
    reason: text,
    names: listOf(text),
    because: listOf({
      type: 'object',
      properties: {
        rule: { type: 'object', additionalProperties: true },
        roles: listOf(text),
        binding: text,
        namespaces: listOf(text),
      },
      required: ['rule', 'roles'],
      additionalProperties: false,
    }),
  },
  required: ['allowed', 'reason', 'because'],
  additionalProperties: false,
};

export const sessionState = {
  type: 'object',
  properties: {
    authentication: { type: 'boolean', description: 'False: everybody may do everything' },
    identity: closed(
      {
        name: text,
        kind: { enum: ['User', 'Plugin'] },
        roles: listOf(text),
        expiresAt: { type: 'string', format: 'date-time' },
      },
      ['name', 'kind', 'roles'],
    ),
    signIn: closed({
      token: { type: 'boolean', description: 'Whether a token can be shown' },
      issuers: listOf(closed({ name: text, displayName: text, url: text })),
    }),
  },
  required: ['authentication', 'signIn'],
  additionalProperties: false,
};

export const whole = { type: 'integer', minimum: 0 };
const auditMembers = {
  id: { type: 'string', description: 'In order for one process: `<process>-<number>`' },
  time: { type: 'string', format: 'date-time' },
  requestId: text,
  identity: { type: 'string', description: 'Whose rights were used' },
  origin: text,
  plugin: { type: 'string', description: 'With origin plugin' },
  credential: { type: 'string', description: 'Which token: the start of its digest' },
  address: text,
  manager: text,
  verb: text,
  path: { type: 'string', description: 'Of no resource' },
  group: text,
  resource: text,
  namespace: { type: 'string', description: 'Of an object, or of a list of one namespace' },
  name: text,
  outcome: { enum: ['done', 'refused', 'failed'] },
  status: { type: 'integer', description: 'Of the response; none for a committed change' },
  code: { type: 'string', description: 'Of the error' },
  before: { ...whole, description: 'metadata.version before the change' },
  after: { ...whole, description: 'metadata.version after the change' },
  revision: whole,
};
export const auditEntry = closed(auditMembers, ['id', 'time', 'identity', 'origin', 'verb', 'outcome']);
export const auditEvent = closed(
  {
    type: { enum: ['ENTRY', 'BOOKMARK', 'ERROR'] },
    entry: componentRef('Service.auditEntry'),
    error: componentRef('Problem'),
  },
  ['type'],
);

export const flag = { type: 'boolean' };
const modelMembers = {
  group: text,
  version: text,
  kind: text,
  singular: text,
  plural: text,
  plugin: { type: 'string', description: 'Absent for models of the service itself' },
  state: { enum: ['building', 'ready', 'degraded', 'outdated', 'idle', 'elsewhere'] },
  progress: { type: 'number', minimum: 0, maximum: 1 },
  problems: listOf(closed({ name: text, reason: text })),
  objects: { type: 'integer', minimum: 0, description: 'For callers who may list all of them' },
  verbs: listOf(text),
  subresources: closed(
    {
      status: flag,
      scale: closed({ specReplicasPath: text, statusReplicasPath: text, labelSelectorPath: text }, [
        'specReplicasPath',
        'statusReplicasPath',
      ]),
    },
    ['status'],
  ),
  scope: { const: 'Namespaced', description: 'Absent: its objects belong to no namespace' },
  naming: { const: 'kubernetes', description: 'Absent: the strict rules' },
  shortNames: listOf(text),
  categories: listOf(text),
  columns: listOf(
    closed(
      {
        name: text,
        type: { enum: ['string', 'integer', 'number', 'boolean', 'date'] },
        path: text,
        priority: { type: 'integer', minimum: 0 },
        description: text,
        format: text,
      },
      ['name', 'type', 'path'],
    ),
  ),
  presentation: { type: 'object', additionalProperties: true },
};
/** What the description of a model has beside its summary. */
export const describedMembers = {
  schema: { type: 'object', additionalProperties: true, description: 'The whole object as JSON Schema 2020-12' },
  indexes: listOf(
    closed({
      name: text,
      keyType: { enum: ['string', 'number', 'boolean', 'bigint', 'date', 'own'] },
      multi: flag,
      unique: flag,
      nullable: flag,
      order: { enum: ['ASC', 'DESC'] },
      operators: listOf(text),
      builtIn: flag,
    }),
  ),
};
export const source = { enum: ['default', 'code', 'flag', 'environment', 'file'] };
export const about = closed({
  version: text,
  node: text,
  platform: text,
  replica: { type: 'string', description: 'Names the process among the replicas' },
  uptime: { ...whole, description: 'Seconds' },
  authentication: flag,
  database: { type: 'object', additionalProperties: { type: ['string', 'number'] } },
  shared: { type: 'boolean', description: 'Several processes may serve the database' },
  revision: whole,
  readiness,
});
const time = { type: 'string', format: 'date-time' };
const controller = closed(
  {
    id: text,
    models: { ...listOf(text), description: 'plural.group of the model that it reconciles, then of those it watches' },
    leading: { type: 'boolean', description: 'It runs in this process' },
    queueDepth: { ...whole, description: 'Names that wait for a worker' },
    delayed: { ...whole, description: 'Names that wait for their time' },
    running: whole,
    calls: { type: 'object', additionalProperties: whole },
    retries: whole,
    lastError: closed({ name: text, message: text, time }),
  },
  ['id', 'models', 'leading', 'queueDepth', 'delayed', 'running', 'calls', 'retries'],
);
export const plugin = closed(
  {
    name: text,
    displayName: text,
    version: text,
    place: { type: 'string', description: 'Where it was loaded from; `code` for one that the program has handed in' },
    enabled: flag,
    state: text,
    reason: text,
    message: text,
    dependencies: listOf(closed({ name: text, range: text, state: text }, ['name', 'range'])),
    dependents: listOf(text),
    models: listOf(text),
    routes: listOf(closed({ method: text, path: text, description: text }, ['method', 'path'])),
    objects: listOf(
      closed(
        {
          apiVersion: text,
          kind: text,
          name: text,
          type: text,
          file: text,
          line: whole,
          version: { ...whole, description: 'As this process wrote it; absent where another one did' },
          generation: whole,
        },
        ['apiVersion', 'kind', 'name', 'file', 'line'],
      ),
    ),
    controllers: listOf(controller),
    config: { description: 'Without secrets' },
    log: listOf(
      closed({ time, level: { enum: ['debug', 'info', 'warn', 'error'] }, message: text, error: text }, [
        'time',
        'level',
        'message',
      ]),
    ),
  },
  [
    'name',
    'place',
    'enabled',
    'state',
    'dependencies',
    'dependents',
    'models',
    'routes',
    'objects',
    'controllers',
    'log',
  ],
);
const quantiles = { ...closed({ p50: { type: 'number' }, p99: { type: 'number' } }), description: 'Milliseconds' };
const sampleMembers = {
  time,
  revision: whole,
  writes: { ...whole, description: 'Objects that this process wrote since the sample before' },
  requests: closed({ '2xx': whole, '3xx': whole, '4xx': whole, '5xx': whole }),
  commit: quantiles,
  eventLoop: quantiles,
  heap: whole,
  rss: whole,
  watches: whole,
  cacheBytes: whole,
  cache: {
    ...closed({ hits: whole, misses: whole }),
    description: 'Objects found in memory, and read from the store, since the sample before',
  },
};
export const sample = closed(
  sampleMembers,
  Object.keys(sampleMembers).filter((name) => name !== 'commit'),
);
const displayText = { anyOf: [text, { type: 'object', additionalProperties: text }] };
export const actions = listOf(
  closed(
    {
      title: displayText,
      on: { enum: ['object', 'list'] },
      confirm: displayText,
      method: text,
      path: text,
      body: { type: 'object', additionalProperties: true, description: 'JSON Schema of the body' },
    },
    ['title', 'on', 'method', 'path'],
  ),
);
const optionalMembers = ['plugin', 'objects', 'scope', 'naming', 'shortNames', 'categories', 'columns', 'presentation'];

export function modelSummary(more: object = {}): object {
  const members = { ...modelMembers, ...more };
  return closed(
    members,
    Object.keys(members).filter((name) => !optionalMembers.includes(name)),
  );
}
