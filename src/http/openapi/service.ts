/** The service's own routes: discovery, the API description, health (docs/reference/api-description.md and command-line.md). */
import { mostEntries } from '../api/audit.ts';
import type { Fragment } from './model.ts';
import { closed } from './model.ts';
import type { JsonSchema } from './schema.ts';
import { componentRef } from './schema.ts';
import {
  about,
  accessAnswer,
  accessReview,
  actions,
  apiGroup,
  apiResources,
  auditEntry,
  auditEvent,
  describedMembers,
  documentIndex,
  flag,
  listOf,
  modelSummary,
  plugin,
  readiness,
  sample,
  sessionState,
  severalReviews,
  source,
  text,
  whole,
} from './service-schemas.ts';
import { anywhere, commonParameters, errors, headersOf, query } from './shared.ts';
import { isSwaggerPath } from './swagger.ts';

const path = (name: string, description: string) => ({ name, in: 'path', required: true, description, schema: text });
const cookieHeader = 'Set-Cookie.optional';

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
    content: json(modelSummary({ ...describedMembers, actions })),
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
