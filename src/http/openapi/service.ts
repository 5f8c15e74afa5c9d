/** The service's own routes: discovery, the API description, health (docs/reference/api-description.md and command-line.md). */
import { mostEntries } from '../api/audit.ts';
import type { Fragment } from './model.ts';
import { closed } from './model.ts';
import type { JsonSchema } from './schema.ts';
import { componentRef } from './schema.ts';
import { anywhere, commonParameters, errors, headersOf, query } from './shared.ts';
import { isSwaggerPath } from './swagger.ts';

const text = { type: 'string' };
const path = (name: string, description: string) => ({ name, in: 'path', required: true, description, schema: text });
const listOf = (schema: object) => ({ type: 'array', items: schema });

const apiGroup = closed({ name: text, versions: listOf(closed({ groupVersion: text, version: text })) });
const apiResources = closed({
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
const documentIndex = closed({ groups: listOf(closed({ name: text, displayName: text, url: text })) });
const readiness = {
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
const accessReview = {
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
const severalReviews = closed({ reviews: { type: 'array', items: accessReview, maxItems: 100 } });
const accessAnswer = {
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

const sessionState = {
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
const cookieHeader = 'Set-Cookie.optional';

const whole = { type: 'integer', minimum: 0 };
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
const auditEntry = closed(auditMembers, ['id', 'time', 'identity', 'origin', 'verb', 'outcome']);
const auditEvent = closed(
  {
    type: { enum: ['ENTRY', 'BOOKMARK', 'ERROR'] },
    entry: componentRef('Service.auditEntry'),
    error: componentRef('Problem'),
  },
  ['type'],
);

const flag = { type: 'boolean' };
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
const description = {
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
const source = { enum: ['default', 'code', 'flag', 'environment', 'file'] };
const about = closed({
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
const plugin = closed(
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
const sample = closed(
  sampleMembers,
  Object.keys(sampleMembers).filter((name) => name !== 'commit'),
);
const displayText = { anyOf: [text, { type: 'object', additionalProperties: text }] };
const actions = listOf(
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

function modelSummary(more: object = {}): object {
  const members = { ...modelMembers, ...more };
  return closed(
    members,
    Object.keys(members).filter((name) => !optionalMembers.includes(name)),
  );
}

const ifNoneMatch = { $ref: '#/components/parameters/ifNoneMatch' };
const unchanged = { 304: { description: 'What the client has is the current state', headers: headersOf('ETag') } };

interface ServiceRoute {
  readonly path: string;
  /** Default `get`. */
  readonly method?: 'post' | 'delete';
  /** Schema of the JSON body. */
  readonly body?: object;
  readonly summary: string;
  readonly parameters?: readonly object[];
  /** Of the answer that is a success; default 200. */
  readonly status?: 201 | 204 | 303;
  /** Media type and schema of that answer; none with 204. */
  readonly content?: Readonly<Record<string, { readonly schema: object }>>;
  /** For everybody. */
  readonly open?: true;
  /** However many requests wait; `always` while the service stops too. */
  readonly begun?: 'unqueued' | 'always';
  /** Further headers of that answer. */
  readonly headers?: readonly string[];
  /** Schema of the events with `watch=true`. */
  readonly streamed?: { readonly $ref: string };
  /** Further answers. */
  readonly responses?: Readonly<Record<string, object>>;
}

const json = (schema: object) => ({ 'application/json': { schema } });
const group = path('group', 'Group, for example demo.example.com');
const version = path('version', 'Version, for example v1alpha1');

/** By operationId, whose verb begins no generated operation. `app.ts` has a function for each that serves it. */
const serviceRoutes = {
  discoverApiGroups: {
    path: '/apis',
    summary: 'Lists the groups of resources',
    content: json(closed({ groups: listOf(apiGroup) })),
  },
  discoverApiGroup: {
    path: '/apis/{group}',
    summary: 'Reads one group of resources',
    parameters: [group],
    content: json(apiGroup),
  },
  discoverApiResources: {
    path: '/apis/{group}/{version}',
    summary: 'Lists the resources of a group in one version',
    parameters: [group, version],
    content: json(apiResources),
  },
  discoverCoreApiResources: {
    path: '/api/{version}',
    summary: 'Lists the resources of the empty group in one version',
    parameters: [version],
    content: json(apiResources),
  },
  showApiDocuments: {
    path: '/v3/api-docs',
    summary: 'Lists the API descriptions',
    content: json(documentIndex),
  },
  showApiDocument: {
    path: '/v3/api-docs/{group}',
    summary: 'Reads one API description (OpenAPI 3.1)',
    parameters: [path('group', 'Name of the description'), ifNoneMatch],
    content: json({ type: 'object', additionalProperties: true }),
    responses: unchanged,
  },
  showApiPage: {
    path: '/swagger-ui.html',
    summary: 'The page that shows the API descriptions',
    content: { 'text/html': { schema: text } },
    open: true,
    headers: ['Content-Security-Policy', 'Referrer-Policy'],
  },
  showConsole: {
    path: '/console/index.html',
    summary: 'The console: a page to see and change objects; any path below /console/ that is no file is the page too',
    content: { 'text/html': { schema: text } },
    open: true,
    headers: ['Content-Security-Policy', 'Referrer-Policy'],
  },
  checkLiveness: {
    path: '/livez',
    summary: 'Whether the process is alive',
    content: json(readiness),
    open: true,
    begun: 'always',
  },
  checkReadiness: {
    path: '/readyz',
    summary: 'Whether the service is ready, with its models and plugins for those who may see them',
    content: json(readiness),
    open: true,
    begun: 'always',
  },
  explainAccess: {
    path: '/v3/can-i',
    method: 'post',
    summary: 'Whether the caller may do something, and which rules say so',
    body: { anyOf: [accessReview, severalReviews] },
    content: json({ anyOf: [accessAnswer, closed({ answers: listOf(accessAnswer) })] }),
  },
  showSession: {
    path: '/v3/session',
    summary: 'Who the caller is, and how one signs in',
    content: json(sessionState),
    open: true,
  },
  beginSession: {
    path: '/v3/session',
    method: 'post',
    summary: 'Signs a browser in: trades a token or a one-time code for a cookie',
    body: {
      type: 'object',
      properties: {
        token: { type: 'string', description: 'A personal access token, or the JWT of an issuer' },
        code: { type: 'string', description: 'A one-time code' },
      },
      additionalProperties: false,
      minProperties: 1,
      maxProperties: 1,
    },
    status: 201,
    content: json(sessionState),
    open: true,
    headers: [cookieHeader],
  },
  endSession: {
    path: '/v3/session',
    method: 'delete',
    summary: 'Signs the browser out',
    status: 204,
    open: true,
    headers: [cookieHeader],
  },
  visitIssuer: {
    path: '/v3/session/login',
    summary: 'Sends the browser to an OpenID Connect issuer, where the person signs in',
    parameters: [
      { name: 'issuer', in: 'query', required: true, schema: text, description: 'One of `signIn.issuers`' },
      { name: 'return', in: 'query', schema: text, description: 'The path below `/console` to come back to' },
    ],
    status: 303,
    open: true,
    headers: ['Location.optional', cookieHeader],
  },
  finishIssuerLogin: {
    path: '/v3/session/callback',
    summary:
      'Signs in the browser that the issuer sends back, and goes on to the console, which says so when nobody was signed in',
    parameters: [
      { name: 'code', in: 'query', schema: text },
      { name: 'state', in: 'query', schema: text },
    ],
    status: 303,
    open: true,
    headers: ['Location.optional', cookieHeader],
  },
  makeSessionCode: {
    path: '/v3/session/codes',
    method: 'post',
    summary: 'Makes a one-time code with which a browser signs in as the caller',
    status: 201,
    content: json(closed({ code: text, url: text, expiresAt: { type: 'string', format: 'date-time' } })),
  },
  showModels: {
    path: '/v3/models',
    summary: 'The models whose objects the caller may read',
    parameters: [ifNoneMatch],
    content: json(closed({ models: listOf(modelSummary()) })),
    responses: unchanged,
  },
  showModel: {
    path: '/v3/models/{type}',
    summary: 'One model with its schema and indexes',
    parameters: [path('type', 'The plural in the empty group, else plural.group'), ifNoneMatch],
    content: json(modelSummary({ ...description, actions })),
    responses: unchanged,
  },
  showAudit: {
    path: '/v3/audit',
    summary: 'The newest entries of the audit log of this process, newest first',
    parameters: [
      query('limit', { type: 'integer', minimum: 1, maximum: mostEntries, default: 100 }, 'Entries at most'),
      query('identity', text, 'Only of this caller'),
      query('type', text, 'Only about this type (plural or plural.group), or this path of no resource'),
      query('name', text, 'Only about objects of this name'),
      query('verb', text, 'Only with this verb'),
      query('outcome', { enum: ['done', 'refused', 'failed'] }, 'Only with this outcome'),
      query('watch', flag, 'These entries, oldest first, then those to come: server-sent events or NDJSON'),
      { name: 'Last-Event-ID', in: 'header', description: 'With watch: only entries after this id', schema: text },
    ],
    content: json(closed({ entries: listOf(componentRef('Service.auditEntry')), keep: whole })),
    headers: ['X-Accel-Buffering'],
    streamed: componentRef('Service.auditEvent'),
  },
  showValues: {
    path: '/v3/models/{type}/values',
    summary: 'The values of an index, in order, each with the number of objects that have it',
    parameters: [
      path('type', 'The plural in the empty group, else plural.group'),
      { ...query('index', text, 'Name of the index'), required: true },
      query('prefix', text, 'Of an index of texts: only values that begin so'),
      query('limit', { type: 'integer', minimum: 1, maximum: 1_000, default: 100 }, 'Values at most'),
    ],
    content: json(
      closed({
        values: listOf(closed({ value: { type: 'string', description: 'As a selector takes it' }, count: whole })),
        more: { type: 'boolean', description: 'There are further ones' },
      }),
    ),
  },
  showOptions: {
    path: '/v3/options',
    summary: 'Every option of this process: its value without secrets, where it comes from, its default',
    content: json(
      closed({ options: listOf(closed({ name: text, value: {}, source, default: {} }, ['name', 'source'])) }),
    ),
  },
  showAbout: {
    path: '/v3/about',
    summary: 'The version, the process, the database and what runs',
    content: json(about),
  },
  showPlugin: {
    path: '/v3/plugins/{name}',
    summary: 'One plugin as this process knows it, with its configuration without secrets and its newest log lines',
    parameters: [path('name', 'Name of the plugin')],
    content: json(plugin),
  },
  showSamples: {
    path: '/v3/metrics',
    summary: 'Figures of this process in the last six hours, oldest first',
    parameters: [query('range', text, 'How far back: 30s, 15m, 1h, 6h; default 15m')],
    content: json(
      closed({ interval: { ...whole, description: 'Milliseconds between samples' }, samples: listOf(sample) }),
    ),
  },
  showMetrics: {
    path: '/metrics',
    summary: 'Measurements in the format of Prometheus',
    content: { 'text/plain': { schema: text } },
    begun: 'unqueued',
  },
} satisfies Record<string, ServiceRoute>;

export type ServiceOperation = keyof typeof serviceRoutes;

/** The routes of the service at one path. */
export interface OwnRoutes {
  readonly path: string;
  readonly methods: readonly string[];
  readonly operations: ReadonlyMap<string, ServiceOperation>;
  readonly open: boolean;
  readonly begun: ServiceRoute['begun'];
}

const all = Object.entries(serviceRoutes) as [ServiceOperation, ServiceRoute][];
const byPath = new Map(
  [...Map.groupBy(all, ([, { path }]) => path)].map(([path, routes]) => {
    const operations = new Map(routes.flatMap(([operation, route]) => methodsOf(route).map((one) => [one, operation])));
    const [, first] = routes[0]!;
    const at: OwnRoutes = {
      path,
      methods: [...operations.keys()],
      operations,
      open: first.open === true,
      begun: first.begun,
    };
    return [path, at];
  }),
);
const templates = [...byPath.values()]
  .filter(({ path }) => path.includes('{'))
  .map((route) => ({ route, syntax: new RegExp(`^${route.path.replaceAll(/\{\w+\}/g, '[^/]*')}$`) }));

function methodsOf({ method }: ServiceRoute): string[] {
  return method === undefined ? ['GET', 'HEAD'] : [method.toUpperCase()];
}

/** The routes of the service at a path. The API page's own are those of its assets too. */
export function ownRoutesAt(path: string): OwnRoutes | undefined {
  if (isSwaggerPath(path)) return byPath.get('/swagger-ui.html');
  return byPath.get(path) ?? templates.find(({ syntax }) => syntax.test(path))?.route;
}

const headers = ['ETag', 'Cache-Control', 'Kindred-Revision.optional'];

/** All of them, with the tag `Service`. */
export function describeService(): Fragment {
  const operations = all.map(([operation, route]) => ({
    path: route.path,
    method: route.method ?? 'get',
    access: route.open ? undefined : { verb: route.method ?? 'get', path: route.path },
    operationId: operation,
    json: JSON.stringify({
      operationId: operation,
      tags: ['Service'],
      summary: route.summary,
      ...(route.open && { security: [] }),
      parameters: [...(route.parameters ?? []), ...commonParameters],
      ...(route.body && { requestBody: { required: true, content: json(route.body) } }),
      responses: {
        [route.status ?? 200]: {
          description: 'Success',
          headers: headersOf(...headers, ...(route.headers ?? [])),
          ...(route.content && { content: route.content }),
          ...(route.streamed && { 'x-streams': streamsOf(route.streamed) }),
        },
        ...errors(...anywhere, ...(route.body ? [413, 415, 422] : [])),
        ...route.responses,
      },
    }),
  }));
  const schemas = new Map(Object.entries(components).map(([name, schema]) => [name, JSON.stringify(schema)]));
  return { operations, schemas, tags: ['Service'] };
}

/** No kind has a name with a dot. */
const components: Readonly<Record<string, JsonSchema>> = {
  'Service.auditEntry': auditEntry,
  'Service.auditEvent': auditEvent,
};

function streamsOf({ $ref }: { readonly $ref: string }): object {
  return { 'application/x-ndjson': { event: $ref }, 'text/event-stream': { event: $ref } };
}
