import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Type } from 'typebox';
import { z } from 'zod';
import type { Locale } from '../../src/errors.ts';
import { KindredError } from '../../src/errors.ts';
import type { CustomEndpoint, CustomRequest, RouteBuilder } from '../../src/http/custom/declaration.ts';
import { GroupVersion, route } from '../../src/http/custom/declaration.ts';
import type { CustomAnswer, CustomHandlerOptions } from '../../src/http/custom/handler.ts';
import { handleCustom, isJson } from '../../src/http/custom/handler.ts';
import {
  ApiVersion,
  DeleteMapping,
  GetMapping,
  PatchMapping,
  PostMapping,
  PutMapping,
} from '../../src/http/custom/mapping.ts';
import type { CustomMatch } from '../../src/http/custom/routes.ts';
import { CustomRoutes } from '../../src/http/custom/routes.ts';
import { defineModel } from '../../src/model/define.ts';
import { SchemeRegistry } from '../../src/model/registry.ts';

const Person = defineModel({
  gvk: { group: 'demo.example.com', version: 'v1alpha1', kind: 'Person', singular: 'person', plural: 'persons' },
  spec: Type.Object({ name: Type.String() }),
});

const base = '/apis/api.demo.example.com/v1alpha1';

function build() {
  const warnings: string[] = [];
  const warn = (message: string) => void warnings.push(message);
  const registry = new SchemeRegistry({ reservedDomain: 'platform.run', warn });
  const routes = new CustomRoutes({ registry, reservedDomain: 'platform.run', warn });
  return { registry, routes, warnings };
}

function endpoint(
  describe: (r: RouteBuilder) => RouteBuilder,
  groupVersion = 'api.demo.example.com/v1alpha1',
): CustomEndpoint {
  return { groupVersion: () => GroupVersion.parse(groupVersion), endpoint: () => describe(route()).build() };
}

interface Sent {
  method?: string;
  headers?: Record<string, string>;
  body?: unknown;
  locale?: Locale;
  signal?: AbortSignal;
}

async function send(
  routes: CustomRoutes,
  path: string,
  sent: Sent = {},
  options?: CustomHandlerOptions,
): Promise<CustomAnswer> {
  const { method = 'GET', headers = {}, body, locale = 'en' } = sent;
  const [plain] = path.split('?');
  const match = routes.find(method, plain!);
  assert.ok(match && 'route' in match, `no route for ${method} ${path}`);
  const rawBody = body === undefined ? undefined : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  const typed = rawBody && !headers['content-type'] ? { 'content-type': 'application/json', ...headers } : headers;
  const call = {
    method,
    url: path,
    headers: { host: 'localhost', ...typed },
    rawBody: isJson(typed['content-type']) ? rawBody : undefined,
    identity: { name: 'ada', roles: [] },
    locale,
    signal: sent.signal ?? new AbortController().signal,
    client: {} as CustomRequest['client'],
    web: () => new Request(`http://localhost${path}`, { method, headers: typed, ...(rawBody && { body: rawBody }) }),
  };
  return handleCustom(routes, match, call, options);
}

async function json(answer: Promise<CustomAnswer>): Promise<unknown> {
  const { status, headers, body } = await answer;
  assert.equal(status, 200);
  assert.equal(headers['content-type'], 'application/json');
  return JSON.parse(String(body));
}

async function textOf({ body }: CustomAnswer): Promise<string> {
  if (body === null || typeof body === 'string' || Buffer.isBuffer(body)) return String(body ?? '');
  const chunks: Buffer[] = [];
  for await (const chunk of body as AsyncIterable<Uint8Array>) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString();
}

function failure(work: () => unknown): KindredError {
  try {
    work();
  } catch (error) {
    assert.ok(error instanceof KindredError, String(error));
    return error;
  }
  assert.fail('nothing was thrown');
}

async function rejection(work: Promise<unknown>): Promise<KindredError> {
  const error = await work.then(
    () => assert.fail('nothing was thrown'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof KindredError, String(error));
  return error;
}

function access(routes: CustomRoutes, method: string, path: string): unknown {
  const match = routes.find(method, path);
  return match && 'access' in match ? match.access : undefined;
}

// ── registration ─────────────────────────────────────────────────────────────────────────────────────────

test('spec: Custom API - 3, 4: functional route functions; group and version of a CustomEndpoint are the prefix of every route', async () => {
  const { routes } = build();
  routes.register(
    'demo',
    endpoint((r) => r.GET('/persons/{name}/friends', ({ params }) => params).POST('/persons/-/import', () => 'done')),
  );
  assert.deepEqual(
    routes.all().map(({ method, path, owner }) => [owner, method, path]),
    [
      ['demo', 'POST', `${base}/persons/-/import`],
      ['demo', 'GET', `${base}/persons/{name}/friends`],
    ],
  );
  assert.deepEqual(await json(send(routes, `${base}/persons/a%20b/friends`)), { name: 'a b' });
});

test('custom-routes: a group of another form is served, and a warning says which forms have an audience', () => {
  const { routes, warnings } = build();
  const register = (group: string, owner: string) =>
    routes.register(
      owner,
      endpoint((r) => r.GET('/persons', () => 1), `${group}/v1`),
    );
  for (const audience of ['console.api', 'uc.api', 'api']) register(`${audience}.demo.example.com`, 'demo');
  assert.deepEqual(warnings, []);
  register('demo.example.com', 'demo');
  assert.ok(routes.find('GET', '/apis/demo.example.com/v1/persons'));
  assert.equal(warnings.length, 1);
  assert.match(
    warnings[0]!,
    /"demo\.example\.com" of the plugin demo.*console\.api\.<group>, uc\.api\.<group> and api\.<group>/,
  );
});

test('api-description: an operationId that is a generated one but for case is told, whichever is registered first', () => {
  for (const modelFirst of [true, false]) {
    const { routes, registry, warnings } = build();
    const Moment = defineModel({
      gvk: { group: 'demo.example.com', version: 'v1alpha1', kind: 'Moment', singular: 'moment', plural: 'moments' },
      spec: Type.Object({}),
    });
    if (modelFirst) registry.register(Moment, undefined, 'demo');
    routes.register(
      'demo',
      endpoint((r) =>
        r
          .POST(
            '/moments',
            () => 1,
            (d) => d.operationId('CreateMoment'),
          )
          .GET(
            '/moments',
            () => 1,
            (d) => d.operationId('FindMoments'),
          ),
      ),
    );
    if (!modelFirst) registry.register(Moment, undefined, 'demo');
    assert.equal(warnings.length, 1, String(modelFirst));
    assert.match(
      warnings[0]!,
      /POST .*\/moments of the plugin demo: its operationId "CreateMoment".*"createMoment" of Moment/,
    );
  }
});

test('spec: Custom API - 2: groups by audience: console, personal centre, public', () => {
  const { routes } = build();
  for (const group of ['console.api.demo.example.com', 'uc.api.demo.example.com', 'api.demo.example.com']) {
    routes.register(
      'demo',
      endpoint((r) => r.GET('/persons', () => []), `${group}/v1alpha1`),
    );
    assert.deepEqual(access(routes, 'GET', `/apis/${group}/v1alpha1/persons`), {
      verb: 'list',
      group,
      resource: 'persons',
    });
  }
});

test('spec: Limits - number of path segments of a custom API path: at most 7', () => {
  const { routes } = build();
  routes.register(
    'demo',
    endpoint((r) => r.GET('/persons/{name}/friends/{friend}', () => 1)),
  );
  const error = failure(() =>
    routes.register(
      'demo',
      endpoint((r) => r.GET('/persons/{name}/friends/{friend}/name', () => 1)),
    ),
  );
  assert.equal(error.code, 'InvalidPlugin');
  assert.ok(error.message.includes(`${base}/persons/{name}/friends/{friend}/name`), error.message);
  assert.ok(error.message.includes('8 segments') && error.message.includes('at most 7'), error.message);
});

test('spec: Custom API - 3: annotated controllers with ApiVersion, as class or instance', async () => {
  @ApiVersion('api.demo.example.com/v1alpha1')
  class PersonController {
    readonly greeting = 'Hello';
    @GetMapping('/persons/-/random') random() {
      return { name: 'ada' };
    }
    @PostMapping('/persons/{name}/greetings', { body: Type.Object({ mood: Type.String() }) })
    greet(request: CustomRequest, body: { mood: string }) {
      return `${this.greeting} ${body.mood} ${request.params.name}`;
    }
    @PutMapping('/persons/{name}/friends') put() {}
    @PatchMapping('/persons/{name}/friends') patch() {}
    @DeleteMapping('/persons/{name}/friends') delete() {}
  }
  for (const controller of [PersonController, new PersonController()]) {
    const { routes } = build();
    routes.register('demo', controller);
    assert.deepEqual(await json(send(routes, `${base}/persons/-/random`)), { name: 'ada' });
    const answer = await send(routes, `${base}/persons/bob/greetings`, { method: 'POST', body: { mood: 'happy' } });
    assert.equal(answer.headers['content-type'], 'text/plain; charset=utf-8');
    assert.equal(answer.body, 'Hello happy bob');
    for (const method of ['PUT', 'PATCH', 'DELETE']) {
      assert.equal((await send(routes, `${base}/persons/bob/friends`, { method })).status, 204);
    }
  }
});

test('spec: Errors - a controller class without API-version annotation is not registered, a warning says so', () => {
  class Lost {
    @GetMapping('/persons/-/random') random() {}
  }
  const { routes, warnings } = build();
  routes.register('demo', Lost);
  assert.deepEqual(routes.all(), []);
  assert.equal(warnings.length, 1);
  assert.match(warnings[0]!, /Lost.*demo.*ApiVersion.*not registered/);
});

test('spec: Custom API - 5: the older form, a version alone, is below /apis/plugin.api.platform.run/<version>/plugins/<plugin>', () => {
  @ApiVersion('v1alpha1')
  class Older {
    @GetMapping('/x/y') get() {}
  }
  const { routes } = build();
  routes.register('my-plugin', Older);
  const path = '/apis/plugin.api.platform.run/v1alpha1/plugins/my-plugin/x/y';
  assert.equal(routes.all()[0]!.path, path);
  assert.deepEqual(access(routes, 'GET', path), {
    verb: 'get',
    group: 'plugin.api.platform.run',
    resource: 'plugins/x/y',
    name: 'my-plugin',
  });
});

test('spec: Versioning - 2.12: controllers with a version only count the prefix among their at most 7 segments', () => {
  @ApiVersion('v1alpha1')
  class TooLong {
    @GetMapping('/x/y/z') get() {}
  }
  const { routes } = build();
  const error = failure(() => routes.register('my-plugin', TooLong));
  assert.match(error.message, /\/apis\/plugin\.api\.platform\.run\/v1alpha1\/plugins\/my-plugin\/x\/y\/z .*8 segments/);
});

test('spec: Custom API - 1: a path of 7 segments can be asked for, at most 7 are possible', async () => {
  const { routes } = build();
  const seven = endpoint((r) => r.GET('/persons/{name}/friends/{friend}', ({ params }) => params));
  routes.register('demo', seven);
  assert.deepEqual(await json(send(routes, `${base}/persons/a/friends/b`)), { name: 'a', friend: 'b' });
  assert.equal(routes.find('GET', `${base}/persons/a/friends/b/c`), undefined);
});

const refused: { name: string; register: (routes: CustomRoutes) => void; says: RegExp }[] = [
  {
    name: 'two routes of one path, whatever their parameters are called, name both',
    register: (routes) =>
      routes.register(
        'demo',
        endpoint((r) => r.GET('/persons/{name}/friends', () => 1).GET('/persons/{id}/friends', () => 1)),
      ),
    says: /GET .*\/persons\/\{id\}\/friends of the plugin demo clashes with GET .*\/persons\/\{name\}\/friends of the plugin demo/,
  },
  {
    name: 'a route of another plugin',
    register: (routes) => {
      routes.register(
        'first',
        endpoint((r) => r.GET('/persons', () => 1)),
      );
      routes.register(
        'second',
        endpoint((r) => r.GET('/persons', () => 1)),
      );
    },
    says: /of the plugin second clashes with .* of the plugin first/,
  },
  {
    name: 'a generated route',
    register: (routes) =>
      routes.register(
        'demo',
        endpoint((r) => r.GET('/persons/{name}', () => 1), 'demo.example.com/v1alpha1'),
      ),
    says: /GET \/apis\/demo.example.com\/v1alpha1\/persons\/\{name\} .* clashes with the generated API of Person/,
  },
  {
    name: 'a reserved group',
    register: (routes) =>
      routes.register(
        'demo',
        endpoint((r) => r.GET('/x', () => 1), 'api.iam.platform.run/v1alpha1'),
      ),
    says: /api\.iam\.platform\.run.* reserved/,
  },
  {
    name: 'a path that is none',
    register: (routes) =>
      routes.register(
        'demo',
        endpoint((r) => r.GET('persons', () => 1)),
      ),
    says: /a path begins with "\/"/,
  },
  {
    name: 'an empty segment',
    register: (routes) =>
      routes.register(
        'demo',
        endpoint((r) => r.GET('/persons//friends', () => 1)),
      ),
    says: /segments are texts/,
  },
  {
    name: 'a described path parameter that is not in the path',
    register: (routes) =>
      routes.register(
        'demo',
        endpoint((r) =>
          r.GET(
            '/persons',
            () => 1,
            (d) => d.parameter({ name: 'id', in: 'path', schema: {} }),
          ),
        ),
      ),
    says: /path parameter id is described/,
  },
  {
    name: 'a schema that cannot be checked',
    register: (routes) =>
      routes.register(
        'demo',
        endpoint((r) =>
          r.POST(
            '/persons',
            () => 1,
            (d) => d.requestBody({ type: 'text' }),
          ),
        ),
      ),
    says: /POST .*\/persons.*text/,
  },
  {
    name: 'a response schema that cannot be described',
    register: (routes) =>
      routes.register(
        'demo',
        endpoint((r) =>
          r.GET(
            '/persons',
            () => 1,
            (d) => d.response({ type: 'text' }),
          ),
        ),
      ),
    says: /GET .*\/persons.*text/,
  },
  {
    name: 'what is neither endpoint nor controller',
    register: (routes) => routes.register('demo', { start() {} }),
    says: /registerEndpoint takes/,
  },
  {
    name: 'no group version',
    register: (routes) =>
      routes.register(
        'demo',
        endpoint((r) => r, 'v1alpha1'),
      ),
    says: /"v1alpha1" is not a group version/,
  },
];

for (const none of [undefined, null, 7, {}]) {
  test(`plugins: registerEndpoint takes a CustomEndpoint or an annotated controller, not ${JSON.stringify(none)}`, () => {
    const error = failure(() => build().routes.register('demo', none as never));
    assert.equal(error.code, 'InvalidPlugin');
    assert.match(error.message, /registerEndpoint takes/);
  });
}

for (const { name, register, says } of refused) {
  test(`custom-routes: an error at registration - ${name}`, () => {
    const { registry, routes } = build();
    registry.register(Person, undefined, 'demo');
    const before = routes.all().length;
    const error = failure(() => register(routes));
    assert.equal(error.code, 'InvalidPlugin');
    assert.match(error.message, says);
    assert.ok(routes.all().every((one) => one.owner !== 'second' && one.owner !== 'demo') && before === 0);
  });
}

test('custom-routes: a model that comes later has its generated paths, the custom route is hidden until it goes', () => {
  const { registry, routes, warnings } = build();
  routes.register(
    'demo',
    endpoint((r) => r.GET('/persons/{name}', () => 1).GET('/persons/-/random', () => 1), 'demo.example.com/v1alpha1'),
  );
  const path = '/apis/demo.example.com/v1alpha1/persons/bob';
  assert.ok(routes.find('GET', path));
  const scheme = registry.register(Person, undefined, 'other');
  assert.equal(routes.find('GET', path), undefined);
  assert.ok(routes.find('GET', '/apis/demo.example.com/v1alpha1/persons/-/random'));
  assert.match(warnings.at(-1)!, /hidden.*Person/);
  registry.unregister(scheme, 'other');
  assert.ok(routes.find('GET', path));
});

test('plugins: routes go at once when their plugin stops', () => {
  const { routes } = build();
  routes.register(
    'demo',
    endpoint((r) => r.GET('/persons', () => 1)),
  );
  routes.register(
    'other',
    endpoint((r) => r.GET('/cats', () => 1)),
  );
  let changes = 0;
  const stop = routes.onChange(() => changes++);
  routes.remove('demo');
  assert.equal(routes.find('GET', `${base}/persons`), undefined);
  assert.ok(routes.find('GET', `${base}/cats`));
  stop();
  routes.remove('other');
  assert.equal(changes, 1);
});

test('plugins: while a plugin starts its routes answer 503 with Retry-After and the progress', async () => {
  const { routes, registry } = build();
  let progress = 0.25;
  registry.starting.begin('demo', () => progress);
  routes.register(
    'demo',
    endpoint((r) => r.GET('/persons', () => [])),
  );
  progress = 0.5;
  const error = await rejection(send(routes, `${base}/persons`));
  assert.deepEqual(
    [error.code, error.status, error.progress, error.headers],
    ['NotReady', 503, 0.5, { 'Retry-After': '1' }],
  );
  registry.starting.end('demo');
  assert.deepEqual(await json(send(routes, `${base}/persons`)), []);
});

// ── finding ──────────────────────────────────────────────────────────────────────────────────────────────

test('permissions: a custom route is mapped to group, version, resource, name and sub-resource by the path', () => {
  const { routes } = build();
  routes.register(
    'demo',
    endpoint((r) =>
      r
        .GET('/persons', () => 1)
        .POST('/persons', () => 1)
        .GET('/persons/{name}', () => 1)
        .PUT('/persons/{name}', () => 1)
        .PATCH('/persons/{name}', () => 1)
        .DELETE('/persons/{name}', () => 1)
        .GET('/persons/{name}/friends', () => 1)
        .GET('/persons/{name}/friends/{friend}', () => 1)
        .GET('/persons/-/random', () => 1),
    ),
  );
  const group = 'api.demo.example.com';
  const cases: [string, string, object][] = [
    ['GET', '/persons', { verb: 'list', resource: 'persons' }],
    ['HEAD', '/persons', { verb: 'list', resource: 'persons' }],
    ['POST', '/persons', { verb: 'create', resource: 'persons' }],
    ['GET', '/persons/bob', { verb: 'get', resource: 'persons', name: 'bob' }],
    ['PUT', '/persons/bob', { verb: 'update', resource: 'persons', name: 'bob' }],
    ['PATCH', '/persons/bob', { verb: 'patch', resource: 'persons', name: 'bob' }],
    ['DELETE', '/persons/bob', { verb: 'delete', resource: 'persons', name: 'bob' }],
    ['GET', '/persons/-', { verb: 'list', resource: 'persons' }],
    ['GET', '/persons/%2D/friends', { verb: 'list', resource: 'persons/friends' }],
    ['GET', '/persons/bob/friends', { verb: 'get', resource: 'persons/friends', name: 'bob' }],
    ['GET', '/persons/-/random', { verb: 'list', resource: 'persons/random' }],
    ['GET', '/persons/bob/friends/eve', { verb: 'get', resource: 'persons/friends/eve', name: 'bob' }],
    ['GET', '/persons/bob/friends/a%2Fb', { verb: 'get', resource: 'persons/friends/a%2Fb', name: 'bob' }],
  ];
  for (const [method, path, expected] of cases) {
    assert.deepEqual(access(routes, method, base + path), { group, ...expected }, `${method} ${path}`);
  }
});

test('custom-routes: what is no route: other case, trailing or double slash, empty or over-long parameter, bad escape, fragment', () => {
  const { routes } = build();
  routes.register(
    'demo',
    endpoint((r) => r.GET('/persons/{name}', () => 1)),
  );
  for (const path of [
    '/Persons/bob',
    '/persons/bob/',
    '/persons//bob',
    '/persons/',
    '/persons/%zz',
    '/persons/bob#/friends',
    '/persons/bob?x',
  ]) {
    assert.equal(routes.find('GET', base + path), undefined, path);
  }
  assert.equal(routes.find('GET', `${base}/persons/${'a'.repeat(1025)}`), undefined);
  assert.ok(routes.find('GET', `${base}/persons/${'a'.repeat(1024)}`));
});

test('errors: a method that is not offered there: the methods that are', () => {
  const { routes } = build();
  routes.register(
    'demo',
    endpoint((r) =>
      r
        .GET('/persons', () => 1)
        .POST('/persons', () => 1)
        .DELETE('/cats', () => 1),
    ),
  );
  assert.deepEqual(routes.find('PUT', `${base}/persons`), { allow: ['GET', 'HEAD', 'POST'] });
  assert.deepEqual(routes.find('GET', `${base}/cats`), { allow: ['DELETE'] });
  assert.deepEqual(routes.find('PROPFIND', `${base}/cats`), { allow: ['DELETE'] });
});

test('custom-routes: a text in the path wins over a parameter', async () => {
  const { routes } = build();
  routes.register(
    'demo',
    endpoint((r) => r.GET('/persons/{name}/x', () => 'parameter').GET('/persons/-/x', () => 'text')),
  );
  assert.equal((await send(routes, `${base}/persons/-/x`)).body, 'text');
  assert.equal((await send(routes, `${base}/persons/bob/x`)).body, 'parameter');
});

// ── requests ─────────────────────────────────────────────────────────────────────────────────────────────

test('custom-routes: a handler sees method, url, headers, params, query, identity, locale, signal, body and the web request', async () => {
  const { routes } = build();
  routes.register(
    'demo',
    endpoint((r) =>
      r.POST('/persons/{name}/echo', async (request) => ({
        method: request.method,
        path: request.url.pathname,
        header: request.headers.get('x-own'),
        params: request.params,
        q: request.query.getAll('q'),
        identity: request.identity,
        locale: request.locale,
        aborted: request.signal.aborted,
        body: request.body,
        web: await request.web.text(),
      })),
    ),
  );
  const sent = { method: 'POST', headers: { 'x-own': 'yes' }, body: { a: 1 }, locale: 'zh' } as const;
  assert.deepEqual(await json(send(routes, `${base}/persons/bob/echo?q=1&q=2`, sent)), {
    method: 'POST',
    path: `${base}/persons/bob/echo`,
    header: 'yes',
    params: { name: 'bob' },
    q: ['1', '2'],
    identity: { name: 'ada', roles: [] },
    locale: 'zh',
    aborted: false,
    body: { a: 1 },
    web: '{"a":1}',
  });
});

test('custom-routes: body is parsed when there is a JSON body, else undefined', async () => {
  const { routes } = build();
  routes.register(
    'demo',
    endpoint((r) => r.POST('/persons', ({ body }) => ({ type: typeof body }))),
  );
  const path = `${base}/persons`;
  const type = async (sent: Sent) =>
    ((await json(send(routes, path, { method: 'POST', ...sent }))) as { type: string }).type;
  assert.equal(await type({}), 'undefined');
  assert.equal(await type({ body: '' }), 'undefined');
  assert.equal(await type({ body: '"text"' }), 'string');
  assert.equal(
    await type({ body: '{}', headers: { 'content-type': 'application/vnd.x+json; charset=utf-8' } }),
    'object',
  );
  assert.equal(
    await type({ body: 'a=1', headers: { 'content-type': 'application/x-www-form-urlencoded' } }),
    'undefined',
  );
  assert.equal((await rejection(send(routes, path, { method: 'POST', body: '{"a":1,"a":2}' }))).code, 'BadRequest');
});

test('custom-routes: a route that declares a body refuses none with 400 and another type with 415', async () => {
  const { routes } = build();
  const Greeting = Type.Object({ text: Type.String() });
  routes.register(
    'demo',
    endpoint((r) =>
      r
        .POST(
          '/persons',
          () => 1,
          (d) => d.requestBody(Greeting),
        )
        .PUT(
          '/persons',
          ({ body }) => ({ body: body ?? null }),
          (d) => d.requestBody(Greeting, { required: false }),
        ),
    ),
  );
  const path = `${base}/persons`;
  assert.equal((await rejection(send(routes, path, { method: 'POST' }))).code, 'BadRequest');
  const text = { method: 'POST', body: 'x', headers: { 'content-type': 'text/plain' } };
  assert.equal((await rejection(send(routes, path, text))).code, 'UnsupportedMediaType');
  const untyped = { method: 'POST', headers: { 'content-length': '5' } };
  assert.equal((await rejection(send(routes, path, untyped))).code, 'UnsupportedMediaType');
  assert.deepEqual(await json(send(routes, path, { method: 'PUT' })), { body: null });
});

test('spec: Errors - a custom route body fails validation: a request-body validation error, not one of a model', async () => {
  const { routes } = build();
  routes.register(
    'demo',
    endpoint((r) =>
      r.POST(
        '/persons',
        () => 1,
        (d) => d.requestBody(Type.Object({ text: Type.String() })),
      ),
    ),
  );
  const error = await rejection(send(routes, `${base}/persons`, { method: 'POST', body: {} }));
  assert.deepEqual([error.status, error.code], [422, 'Invalid']);
  assert.match(error.message, /^The request body /);
  assert.match(String(error.problem('zh').detail), /^请求体/);
});

const bodies: { name: string; schema: object }[] = [
  {
    name: 'JSON Schema',
    schema: {
      type: 'object',
      properties: { name: { type: 'string', minLength: 2 }, ages: { type: 'array', items: { type: 'integer' } } },
      required: ['name'],
    },
  },
  {
    name: 'TypeBox',
    schema: Type.Object({ name: Type.String({ minLength: 2 }), ages: Type.Optional(Type.Array(Type.Integer())) }),
  },
  {
    name: 'Zod, a Standard Schema',
    schema: z.strictObject({ name: z.string().min(2), ages: z.array(z.int()).optional() }),
  },
];

for (const { name, schema } of bodies) {
  test(`spec: Custom API - 7: a body is validated (${name}): 422 with every violation, in the language of the request`, async () => {
    const { routes } = build();
    routes.register(
      'demo',
      endpoint((r) =>
        r.POST(
          '/persons',
          ({ body }) => body,
          (d) => d.requestBody(schema),
        ),
      ),
    );
    const path = `${base}/persons`;
    const valid = { name: 'Ada', ages: [1, 2] };
    assert.deepEqual(await json(send(routes, path, { method: 'POST', body: valid })), valid);
    const error = await rejection(
      send(routes, path, { method: 'POST', body: { name: 'A', ages: [1, 'x'], extra: 1 } }),
    );
    assert.deepEqual([error.code, error.status], ['Invalid', 422]);
    const [en, zh] = (['en', 'zh'] as const).map(
      (locale) => error.problem(locale).errors as { pointer: string; keyword: string; message: string }[],
    );
    assert.deepEqual(en!.map(({ pointer, keyword }) => [pointer, keyword]).sort(), [
      ['/ages/1', 'type'],
      ['/extra', 'additionalProperties'],
      ['/name', 'minLength'],
    ]);
    for (const { message } of en!) assert.doesNotMatch(message, /\p{Script=Han}/u);
    for (const { message } of zh!) assert.match(message, /\p{Script=Han}/u);
    const missing = await rejection(send(routes, path, { method: 'POST', body: {} }));
    assert.deepEqual(
      missing.errors!.map(({ pointer, keyword }) => [pointer, keyword]),
      [['/name', 'required']],
    );
  });
}

test('custom-routes: what a Standard Schema makes of a body is what the handler gets; its own checks count', async () => {
  const { routes } = build();
  const schema = z
    .object({
      from: z.iso.date().transform((text) => new Date(text)),
      to: z.string(),
      kind: z.string().default('trip'),
    })
    .refine((trip) => trip.to !== 'home', { message: 'must go somewhere', path: ['to'] });
  routes.register(
    'demo',
    endpoint((r) =>
      r.POST(
        '/trips',
        ({ body }) => ({ year: body.from.getUTCFullYear(), kind: body.kind }),
        (d) => d.requestBody(schema),
      ),
    ),
  );
  const path = `${base}/trips`;
  assert.deepEqual(await json(send(routes, path, { method: 'POST', body: { from: '2026-01-02', to: 'Rome' } })), {
    year: 2026,
    kind: 'trip',
  });
  const error = await rejection(send(routes, path, { method: 'POST', body: { from: '2026-01-02', to: 'home' } }));
  assert.deepEqual(
    error.errors!.map(({ pointer, keyword, message }) => ({ pointer, keyword, message })),
    [{ pointer: '/to', keyword: 'custom', message: 'must go somewhere' }],
  );
});

test('custom-routes: what Zod finds by its own patterns and formats has keyword and translation too', async () => {
  const { routes } = build();
  const schema = z.object({
    mail: z.email(),
    page: z.url(),
    at: z.iso.datetime(),
    id: z.uuid(),
    lasts: z.iso.duration(),
    made: z.date().optional(),
    n: z.number().max(3),
    kind: z.enum(['a', 'b']),
  });
  routes.register(
    'demo',
    endpoint((r) =>
      r.POST(
        '/x',
        () => 'ok',
        (d) => d.requestBody(schema),
      ),
    ),
  );
  const body = { mail: 'x', page: 'x', at: 'x', id: 'x', lasts: 'x', n: 4, kind: 'c' };
  const error = await rejection(send(routes, `${base}/x`, { method: 'POST', body }));
  const found = error.problem('zh').errors as { pointer: string; keyword: string; message: string }[];
  assert.deepEqual(
    found.map(({ pointer, keyword }) => [pointer, keyword]),
    [
      ['/mail', 'format'],
      ['/page', 'format'],
      ['/at', 'format'],
      ['/id', 'format'],
      ['/lasts', 'format'],
      ['/n', 'maximum'],
      ['/kind', 'enum'],
    ],
  );
  for (const { message } of found) assert.match(message, /\p{Script=Han}/u);
});

test('custom-routes: defaults of a JSON Schema are applied before validation', async () => {
  const { routes } = build();
  const schema = Type.Object({ size: Type.Integer({ default: 3 }) });
  routes.register(
    'demo',
    endpoint((r) =>
      r.POST(
        '/persons',
        ({ body }) => body,
        (d) => d.requestBody(schema),
      ),
    ),
  );
  assert.deepEqual(await json(send(routes, `${base}/persons`, { method: 'POST', body: {} })), { size: 3 });
});

test('errors: a declared path, query or header parameter that does not hold is 400 InvalidParameter', async () => {
  const { routes } = build();
  routes.register(
    'demo',
    endpoint((r) =>
      r.GET(
        '/persons/{id}',
        ({ query }) => query.getAll('n'),
        (d) =>
          d
            .parameter({ name: 'id', in: 'path', schema: Type.Integer({ minimum: 1 }) })
            .parameter({ name: 'n', in: 'query', schema: Type.Number(), required: true })
            .parameter({ name: 'flag', in: 'query', schema: Type.Boolean() })
            .parameter({ name: 'tag', in: 'query', schema: Type.Array(Type.String({ maxLength: 2 }), { maxItems: 2 }) })
            .parameter({ name: 'either', in: 'query', schema: { enum: [1, 'two', true] } })
            .parameter({ name: 'x-day', in: 'header', schema: { type: 'string', format: 'date' } }),
      ),
    ),
  );
  assert.deepEqual(await json(send(routes, `${base}/persons/7?n=1.5&flag=true&tag=a&tag=b&either=1&other=x`)), ['1.5']);
  const cases: [string, string, Record<string, string>?][] = [
    ['/persons/x?n=1', 'id'],
    ['/persons/0?n=1', 'id'],
    ['/persons/1', 'n'],
    ['/persons/1?n=x', 'n'],
    ['/persons/1?n=0x10', 'n'],
    ['/persons/1?n=1&n=2', 'n'],
    ['/persons/1?n=1&flag=yes', 'flag'],
    ['/persons/1?n=1&tag=abc', 'tag'],
    ['/persons/1?n=1&tag=a&tag=b&tag=c', 'tag'],
    ['/persons/1?n=1&either=3', 'either'],
    ['/persons/1?n=1', 'x-day', { 'x-day': 'today' }],
  ];
  for (const [path, parameter, headers = {}] of cases) {
    const error = await rejection(send(routes, base + path, { headers }));
    assert.deepEqual([error.code, error.status, error.parameter], ['InvalidParameter', 400, parameter], path);
    assert.ok(error.message.includes(parameter), error.message);
    assert.match(String(error.problem('zh').detail), /\p{Script=Han}/u);
  }
});

test('custom-routes: declared parameters are there as values: converted, with defaults, the path before all others', async () => {
  const { routes } = build();
  routes.register(
    'demo',
    endpoint((r) =>
      r.GET(
        '/persons/{id}',
        ({ parameters }) => parameters,
        (d) =>
          d
            .parameter({ name: 'id', in: 'path', schema: Type.Integer() })
            .parameter({ name: 'id', in: 'query', schema: Type.String() })
            .parameter({ name: 'limit', in: 'query', schema: Type.Integer({ default: 10 }) })
            .parameter({ name: 'flag', in: 'query', schema: Type.Boolean() })
            .parameter({ name: 'tag', in: 'query', schema: Type.Array(Type.String(), { default: ['a'] }) })
            .parameter({ name: 'n', in: 'query', schema: { type: 'array', items: { enum: [1, 2] } } })
            .parameter({ name: 'code', in: 'query', schema: { pattern: '^\\d+$' } })
            .parameter({ name: 'either', in: 'query', schema: { enum: [1, 'two', true] } })
            .parameter({ name: '__proto__', in: 'query', schema: Type.Integer() })
            .parameter({ name: 'zod', in: 'query', schema: z.int().max(9).default(1) })
            .parameter({ name: 'x-limit', in: 'header', schema: { type: ['integer', 'string'] } }),
      ),
    ),
  );
  assert.deepEqual(await json(send(routes, `${base}/persons/7?id=8`)), { id: 7, limit: 10, tag: ['a'], zod: 1 });
  const query = 'zod=3&limit=2&flag=false&tag=b&tag=1&n=2&n=1&code=42&either=1&__proto__=5&other=x';
  const values = await json(send(routes, `${base}/persons/7?${query}`, { headers: { 'x-limit': '3' } }));
  assert.deepEqual(
    Object.entries(values as object),
    Object.entries({
      limit: 2,
      flag: false,
      tag: ['b', '1'],
      n: [2, 1],
      code: '42',
      either: 1,
      ['__proto__']: 5,
      zod: 3,
      'x-limit': 3,
      id: 7,
    }),
  );
});

test('custom-routes: a default of a parameter is a new value for every request', async () => {
  const { routes } = build();
  routes.register(
    'demo',
    endpoint((r) =>
      r.GET(
        '/persons',
        ({ parameters }) => [...parameters.tag, parameters.tag.push('b')],
        (d) => d.parameter({ name: 'tag', in: 'query', schema: Type.Array(Type.String(), { default: ['a'] }) }),
      ),
    ),
  );
  for (let i = 0; i < 2; i++) assert.deepEqual(await json(send(routes, `${base}/persons`)), ['a', 2]);
});

// ── answers ──────────────────────────────────────────────────────────────────────────────────────────────

const answers: { name: string; result: () => unknown; status: number; type: string | undefined; text: string }[] = [
  {
    name: 'a value is JSON',
    result: () => ({ a: [1, null] }),
    status: 200,
    type: 'application/json',
    text: '{"a":[1,null]}',
  },
  { name: 'null is JSON', result: () => null, status: 200, type: 'application/json', text: 'null' },
  { name: 'undefined is 204', result: () => undefined, status: 204, type: undefined, text: '' },
  { name: 'a string is text', result: () => 'héllo', status: 200, type: 'text/plain; charset=utf-8', text: 'héllo' },
  {
    name: 'bytes',
    result: () => new Uint8Array([104, 105]),
    status: 200,
    type: 'application/octet-stream',
    text: 'hi',
  },
  { name: 'a promise', result: () => Promise.resolve(7), status: 200, type: 'application/json', text: '7' },
  {
    name: 'a Response goes as it is',
    result: () => new Response('<p>', { status: 418, headers: { 'content-type': 'text/html' } }),
    status: 418,
    type: 'text/html',
    text: '<p>',
  },
  {
    name: 'a ReadableStream',
    result: () => new Response('streamed').body,
    status: 200,
    type: 'application/octet-stream',
    text: 'streamed',
  },
  {
    name: 'an async iterable of texts',
    async *result() {
      yield 'a';
      yield 'b';
    },
    status: 200,
    type: 'text/plain; charset=utf-8',
    text: 'ab',
  },
  {
    name: 'an async iterable of objects is NDJSON',
    async *result() {
      yield { n: 1 };
      yield { n: 2 };
    },
    status: 200,
    type: 'application/x-ndjson',
    text: '{"n":1}\n{"n":2}\n',
  },
  { name: 'an empty async iterable', async *result() {}, status: 200, type: 'application/octet-stream', text: '' },
];

for (const { name, result, status, type, text } of answers) {
  test(`custom-routes: what a handler returns - ${name}`, async () => {
    const { routes } = build();
    routes.register(
      'demo',
      endpoint((r) => r.GET('/x', result)),
    );
    const answer = await send(routes, `${base}/x`);
    assert.equal(answer.status, status);
    assert.equal(answer.headers['content-type'], type);
    assert.equal(await textOf(answer), text);
  });
}

test('custom-routes: cookies of a Response stay apart', async () => {
  const { routes } = build();
  const headers = new Headers([
    ['set-cookie', 'a=1'],
    ['set-cookie', 'b=2'],
  ]);
  routes.register(
    'demo',
    endpoint((r) => r.GET('/x', () => new Response(null, { headers }))),
  );
  assert.deepEqual((await send(routes, `${base}/x`)).headers['set-cookie'], ['a=1', 'b=2']);
});

test('custom-routes: an error thrown anywhere: KindredError as it is, before the first chunk of a stream too', async () => {
  const { routes } = build();
  const boom = (): never => {
    throw new KindredError('NotFound', { en: 'no cat', zh: '没有猫' });
  };
  routes.register(
    'demo',
    endpoint((r) =>
      r
        .GET('/a', boom)
        .GET('/b', async () => boom())
        .GET('/c', async function* () {
          boom();
          yield 'never';
        })
        .GET('/d', () => () => 'a function'),
    ),
  );
  for (const path of ['/a', '/b', '/c']) assert.equal((await rejection(send(routes, base + path))).code, 'NotFound');
  await assert.rejects(send(routes, `${base}/d`), /returned a function/);
});

test('custom-routes: the signal is aborted when the client goes away', async () => {
  const { routes } = build();
  const { promise: started, resolve } = Promise.withResolvers<AbortSignal>();
  routes.register(
    'demo',
    endpoint((r) => r.GET('/x', ({ signal }) => new Promise(() => resolve(signal)))),
  );
  const gone = new AbortController();
  const answer = send(routes, `${base}/x`, { signal: gone.signal });
  const signal = await started;
  assert.equal(signal.aborted, false);
  gone.abort(new Error('gone'));
  assert.equal(signal.aborted, true);
  await assert.rejects(answer, /gone/);
});

test('errors: over the time limit a GET is QueryLimit, another method UnknownOutcome; the signal is aborted', async () => {
  const { routes } = build();
  const signals: AbortSignal[] = [];
  const never = ({ signal }: CustomRequest) => new Promise(() => void signals.push(signal));
  routes.register(
    'demo',
    endpoint((r) => r.GET('/x', never).POST('/x', never)),
  );
  assert.equal((await rejection(send(routes, `${base}/x`, {}, { timeLimit: 5 }))).code, 'QueryLimit');
  assert.equal(
    (await rejection(send(routes, `${base}/x`, { method: 'POST' }, { timeLimit: 5 }))).code,
    'UnknownOutcome',
  );
  assert.ok(signals.every((one) => one.aborted));
});

test('custom-routes: a match is of the routes as they were when it was found', async () => {
  const { routes } = build();
  routes.register(
    'demo',
    endpoint((r) => r.GET('/x', () => 'old')),
  );
  const match = routes.find('GET', `${base}/x`) as CustomMatch;
  routes.remove('demo');
  routes.register(
    'demo',
    endpoint((r) => r.GET('/x', () => 'new')),
  );
  assert.equal(match.route.handler({} as CustomRequest), 'old');
  assert.equal((await send(routes, `${base}/x`)).body, 'new');
});
