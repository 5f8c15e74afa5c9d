import assert from 'node:assert/strict';
import { test } from 'node:test';
import { templateName } from '../../src/auth/templates.ts';
import { createService } from '../../src/service.ts';
import type { Live } from './live.ts';
import { bindingOf, expect, live, sender, until } from './live.ts';
import { Book, books, Shelf, shelves } from './models.ts';

const core = '/api/v1alpha1';

const library = (options = {}): Promise<Live> =>
  live(options, (service) => {
    service.schemeManager.register(Book);
    service.schemeManager.register(Shelf);
  });

const role = (name: string, rules: object[], metadata: object = {}) => ({ metadata: { name, ...metadata }, rules });
const readBooks = { apiGroups: ['library.example'], resources: ['books'], verbs: ['get', 'list', 'watch'] };

test('permissions: the first start gives an administrator token once, and stores only its hash', async () => {
  const service = await createService({ database: 'sqlite::memory:', port: 0 });
  const { url, administratorToken } = await service.start();
  try {
    assert.match(administratorToken!, /^knd_[A-Za-z0-9_-]{43}$/);
    const admin = sender(url, administratorToken);
    const list = await expect(200, admin('GET', `${core}/personalaccesstokens`));
    assert.equal(list.body.total, 1);
    assert.ok(!list.text.includes(administratorToken!.slice(4)));
    await expect(200, admin('GET', `${core}/rolebindings/administrator`));
  } finally {
    await service.stop();
  }
});

test('permissions: without a credential everything is 401 with WWW-Authenticate: Bearer, whether it exists or not', async () => {
  await using world = await library();
  for (const [method, path] of [
    ['GET', books],
    ['GET', `${books}/a`],
    ['POST', books],
    ['DELETE', `${books}/a`],
    ['GET', `${books}?watch=true`],
    ['GET', '/apis'],
    ['GET', '/v3/api-docs'],
    ['GET', '/metrics'],
    ['GET', '/nowhere'],
    ['GET', '/apis/no.such/v1/things'],
    ['GET', '/swagger-ui'],
    ['GET', '/swagger-ui/'],
    ['GET', '/swagger-ui/no.js'],
    ['GET', '/swagger-ui.html/x'],
    ['GET', '/swagger-ui.htmlx'],
  ] as const) {
    const answer = await world.anonymous(method, path);
    assert.equal(answer.status, 401, `${method} ${path}`);
    assert.equal(answer.headers.get('www-authenticate'), 'Bearer');
    assert.equal(answer.body.code, 'Unauthenticated');
  }
  await expect(200, world.anonymous('GET', '/livez'));
  assert.deepEqual((await expect(200, world.anonymous('GET', '/readyz'))).body, { status: 'ready' });
  await expect(200, world.anonymous('GET', '/swagger-ui.html'));
});

test('permissions: a credential that nobody knows is 401 everywhere; another scheme too', async () => {
  await using world = await library();
  const stranger = world.as(`knd_${'A'.repeat(43)}`);
  const answer = await expect(401, stranger('GET', books));
  assert.equal(answer.headers.get('www-authenticate'), 'Bearer error="invalid_token"');
  for (const authorization of ['Basic YTpi', 'Bearer', 'Bearer a b', 'Bearer ü'.replace('ü', '%'), 'Bearer a.b.c']) {
    await expect(401, world.anonymous('GET', books, undefined, { authorization }));
  }
});

test('permissions: an unknown route is 403 before it is 404', async () => {
  await using world = await library();
  const { send } = await world.person('ada', []);
  await expect(403, send('GET', '/apis/no.such/v1/things'));
  await expect(403, send('GET', '/nowhere'));
  await expect(403, send('GET', '/swagger-ui/no.js'));
  await expect(404, world.admin('GET', '/apis/no.such/v1/things'));
  await expect(404, world.admin('GET', '/nowhere'));
});

test('permissions: every model gets the role templates view and manage, the built-in ones too', async () => {
  await using world = await library();
  const view = (await expect(200, world.admin('GET', `${core}/roles/books-library-example-view`))).body;
  const manage = (await expect(200, world.admin('GET', `${core}/roles/books-library-example-manage`))).body;
  assert.equal(view.metadata.labels['rbac.platform.run/role-template'], 'true');
  assert.equal(manage.metadata.labels['rbac.platform.run/role-template'], 'true');
  assert.deepEqual(view.rules[0].verbs, ['get', 'list', 'watch']);
  assert.deepEqual(view.rules[0].apiGroups, ['library.example']);
  assert.deepEqual(manage.rules[0].verbs, ['*']);
  await expect(200, world.admin('GET', `${core}/roles/users-view`));
  const reader = (await world.person('reader', ['books-library-example-view'])).send;
  await expect(200, reader('GET', books));
  await expect(403, reader('POST', books, { metadata: { name: 'a' }, spec: { title: 'A' } }));
  await expect(403, reader('GET', shelves));
  const writer = (await world.person('writer', ['books-library-example-manage'])).send;
  await expect(201, writer('POST', books, { metadata: { name: 'a' }, spec: { title: 'A' } }));
  await expect(
    200,
    writer('PUT', `${books}/a/status`, { metadata: { name: 'a' }, spec: { title: 'A' }, status: { phase: 'x' } }),
  );
});

test('permissions: the templates go when the model is unregistered, and stay when the process stops', async () => {
  await using world = await library();
  const scheme = world.service.schemeManager.schemes().find((one) => one.plural === 'shelves')!;
  world.service.schemeManager.unregister(scheme);
  await until(
    async () => (await world.admin('GET', `${core}/roles/shelves-library-example-view`)).status === 404,
    'template gone',
  );
  await expect(200, world.admin('GET', `${core}/roles/books-library-example-view`));
});

test('permissions: a template name that is too long or taken is cut and ended by 8 hex digits of SHA-256', () => {
  assert.equal(templateName('persons', 'demo.example.com', 'view'), 'persons-demo-example-com-view');
  assert.equal(templateName('users', '', 'manage'), 'users-manage');
  const taken = templateName('persons', 'demo.example.com', 'view', true);
  assert.match(taken, /^persons-demo-example-com-view-[0-9a-f]{8}$/);
  const group = `${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(63)}.example`;
  const names = (['view', 'manage'] as const).map((kind) => templateName('p'.repeat(63), group, kind));
  for (const name of names) assert.ok(name.length === 253 && /-[0-9a-f]{8}$/.test(name), name);
  assert.equal(new Set(names).size, 2);
});

test('permissions: two models whose template names are the same get one each', async () => {
  const spec = Book.schema;
  assert.ok(spec);
  const { defineModel } = await import('../../src/model/define.ts');
  const { Type } = await import('typebox');
  const clashing = (group: string, plural: string, kind: string) =>
    defineModel({
      gvk: { group, version: 'v1', kind, singular: plural, plural },
      spec: Type.Object({ title: Type.String() }),
    });
  await using world = await live({}, (service) => {
    service.schemeManager.register(clashing('b.c.example', 'a', 'A'));
    service.schemeManager.register(clashing('c.example', 'a-b', 'AB'));
  });
  const list = await expect(
    200,
    world.admin('GET', `${core}/roles?size=100&fieldSelector=${encodeURIComponent('name^=a-b-c-example-view')}`),
  );
  const groups = list.body.items.map((one: any) => [one.rules[0].apiGroups[0], one.rules[0].resources[0]]);
  assert.deepEqual(groups.sort(), [
    ['b.c.example', 'a'],
    ['c.example', 'a-b'],
  ]);
});

test('permissions: dependencies and aggregation reach the holder of a role', async () => {
  await using world = await library();
  const dependencies = {
    annotations: { 'rbac.platform.run/dependencies': '["books-library-example-view", "editor"]' },
  };
  await expect(201, world.admin('POST', `${core}/roles`, role('editor', [], dependencies)));
  const { send } = await world.person('ada', ['editor']);
  await expect(200, send('GET', books));
  await expect(403, send('GET', shelves));
  const aggregated = { labels: { 'rbac.platform.run/aggregate-to-editor': 'true' } };
  await expect(
    201,
    world.admin('POST', `${core}/roles`, role('more', [{ ...readBooks, resources: ['shelves'] }], aggregated)),
  );
  await expect(200, send('GET', shelves));
  await expect(200, world.admin('DELETE', `${core}/roles/more`));
  await expect(403, send('GET', shelves));
});

test('permissions: with resourceNames only, a list, its total and its export hold the named objects alone', async () => {
  await using world = await library();
  for (const name of ['a', 'b', 'c'])
    await expect(201, world.admin('POST', books, { metadata: { name }, spec: { title: name } }));
  await expect(
    201,
    world.admin('POST', `${core}/roles`, role('two', [{ ...readBooks, resourceNames: ['a', 'c', 'not-there'] }])),
  );
  const { send } = await world.person('ada', ['two']);
  const list = await expect(200, send('GET', `${books}?sort=metadata.name,asc`));
  assert.deepEqual(
    list.body.items.map((one: any) => one.metadata.name),
    ['a', 'c'],
  );
  assert.equal(list.body.total, 2);
  assert.equal((await expect(200, send('GET', `${books}?fieldSelector=spec.title%3Db`))).body.total, 0);
  const lines = (await expect(200, send('GET', books, undefined, { accept: 'application/x-ndjson' }))).text
    .trim()
    .split('\n');
  assert.equal(lines.length, 2);
  await expect(200, send('GET', `${books}/a`));
  await expect(403, send('GET', `${books}/b`));
  await expect(403, send('HEAD', `${books}/b`));
  await expect(403, send('GET', `${books}/never`));
});

test('permissions: what somebody may not do is 403 with the verb in question, on every route of a model', async () => {
  await using world = await library();
  await expect(201, world.admin('POST', books, { metadata: { name: 'a' }, spec: { title: 'A' } }));
  const rule = { apiGroups: ['library.example'], resources: ['books'] };
  await expect(201, world.admin('POST', `${core}/roles`, role('lister', [{ ...rule, verbs: ['list'] }])));
  const { send } = await world.person('ada', ['lister']);
  await expect(200, send('GET', books));
  await expect(200, send('HEAD', books));
  await expect(403, send('GET', `${books}?watch=true`));
  await expect(403, send('GET', `${books}?explain=true`));
  await expect(403, send('GET', `${books}/a`));
  await expect(
    403,
    send('POST', books, '{"metadata":{"name":"x"},"spec":{"title":"X"}}\n', { 'content-type': 'application/x-ndjson' }),
  );
  for (const [method, path] of [
    ['PUT', '/a'],
    ['PATCH', '/a'],
    ['DELETE', '/a'],
    ['PUT', '/a/status'],
    ['PATCH', '/a/status'],
  ] as const) {
    const answer = await expect(403, send(method, books + path, {}));
    assert.equal(answer.body.code, 'Forbidden');
  }
});

test('permissions: the plan of a query limited to named objects tells nothing of the others', async () => {
  await using world = await library();
  for (const name of ['mine', 'hidden-1', 'hidden-2']) {
    await expect(201, world.admin('POST', books, { metadata: { name }, spec: { title: name } }));
  }
  const rule = { apiGroups: ['library.example'], resources: ['books'], verbs: ['explain'], resourceNames: ['mine'] };
  await expect(201, world.admin('POST', `${core}/roles`, role('planner', [rule])));
  const { send } = await world.person('ada', ['planner']);
  const plan = async (selector: string) => {
    const path = `${books}?explain=true&fieldSelector=${encodeURIComponent(selector)}`;
    const { time, ...others } = (await expect(200, send('GET', path))).body;
    assert.equal(typeof time, 'number');
    return others;
  };
  assert.deepEqual(await plan('spec.title=hidden-1'), await plan('spec.title=nothing'));
  assert.deepEqual(await plan('spec.title^=hidden'), await plan('spec.title^=nothing'));
  const own = await plan('spec.title=mine');
  assert.deepEqual([own.total, own.estimatedRows, own.touchedRows], [1, 1, 1]);
});

test('permissions: a role, binding or user that is changed counts with the next request', async () => {
  await using world = await library();
  await expect(201, world.admin('POST', `${core}/roles`, role('reader', [readBooks])));
  const { send } = await world.person('ada', ['reader']);
  await expect(200, send('GET', books));
  await expect(
    200,
    world.admin('PUT', `${core}/roles/reader`, role('reader', [{ ...readBooks, resources: ['shelves'] }])),
  );
  await expect(403, send('GET', books));
  await expect(200, world.admin('PUT', `${core}/roles/reader`, role('reader', [readBooks])));
  await expect(200, send('GET', books));
  await expect(
    200,
    world.admin(
      'PATCH',
      `${core}/users/ada`,
      { spec: { disabled: true } },
      { 'content-type': 'application/merge-patch+json' },
    ),
  );
  await expect(401, send('GET', books));
  await expect(
    200,
    world.admin(
      'PATCH',
      `${core}/users/ada`,
      { spec: { disabled: false } },
      { 'content-type': 'application/merge-patch+json' },
    ),
  );
  await expect(200, send('GET', books));
  const bindings = await expect(
    200,
    world.admin('GET', `${core}/rolebindings?fieldSelector=${encodeURIComponent('subjects.name=ada')}`),
  );
  await expect(200, world.admin('DELETE', `${core}/rolebindings/${bindings.body.items[0].metadata.name}`));
  await expect(403, send('GET', books));
});

test('permissions: a token is revoked with its deletion, and a token of the same name is another one', async () => {
  await using world = await library();
  await world.admin('POST', `${core}/users`, { metadata: { name: 'ada' } });
  const path = `${core}/personalaccesstokens`;
  const make = async () =>
    (await expect(201, world.admin('POST', path, { metadata: { name: 't' }, spec: { user: 'ada' } }))).body.status
      .token;
  const first = world.as(await make());
  await expect(200, first('GET', '/apis'));
  await expect(200, world.admin('DELETE', `${path}/t`));
  await expect(401, first('GET', '/apis'));
  const second = world.as(await make());
  await expect(200, second('GET', '/apis'));
  await expect(401, first('GET', '/apis'));
});

test('permissions: a token cannot be chosen, seen again, or changed by an update', async () => {
  await using world = await library();
  await world.admin('POST', `${core}/users`, { metadata: { name: 'ada' } });
  const path = `${core}/personalaccesstokens`;
  const wanted = `knd_${'B'.repeat(43)}`;
  const made = await expect(
    201,
    world.admin('POST', path, { metadata: { name: 't' }, spec: { user: 'ada' }, status: { token: wanted, hash: 'x' } }),
  );
  assert.notEqual(made.body.status.token, wanted);
  assert.deepEqual(Object.keys(made.body.status), ['token']);
  await expect(
    200,
    world.admin('PUT', `${path}/t`, {
      metadata: { name: 't', labels: { a: 'b' } },
      spec: { user: 'ada' },
      status: { hash: 'x' },
    }),
  );
  await expect(200, world.as(made.body.status.token)('GET', '/apis'));
  for (const answer of [await world.admin('GET', `${path}/t`), await world.admin('GET', path)]) {
    assert.ok(!/hash|userCreated|knd_/.test(answer.text), answer.text);
  }
  const watch = await world.admin('GET', `${path}/t`, undefined, {});
  assert.equal(watch.body.status, undefined);
});

test('permissions: a token expires', async () => {
  await using world = await library();
  const { send } = await world.person('ada', [], { expiresAt: new Date(Date.now() + 300).toISOString() });
  await expect(200, send('GET', '/apis'));
  await until(async () => (await send('GET', '/apis')).status === 401, 'expired');
});

test('permissions: the roles of a token narrow what its user may do, and give nothing beside', async () => {
  await using world = await library();
  await world.person('ada', ['books-library-example-manage']);
  const narrow = (await world.person('ada', [], { roles: ['books-library-example-view'] })).send;
  await expect(200, narrow('GET', books));
  await expect(403, narrow('POST', books, { metadata: { name: 'a' }, spec: { title: 'A' } }));
  const beside = (await world.person('ada', [], { roles: ['shelves-library-example-view'] })).send;
  await expect(403, beside('GET', shelves));
  await expect(403, beside('GET', books));
});

test('permissions: the tokens and bindings of a deleted user do not come back to life with a new user of the name', async () => {
  await using world = await library();
  const { send } = await world.person('ada', ['books-library-example-view']);
  await expect(200, send('GET', books));
  await expect(200, world.admin('DELETE', `${core}/users/ada`));
  await expect(401, send('GET', books));
  const fresh = (await world.person('ada', [])).send;
  await expect(401, send('GET', books));
  await expect(403, fresh('GET', books));
  await until(async () => {
    const left = await world.admin(
      'GET',
      `${core}/rolebindings?fieldSelector=${encodeURIComponent('subjects.name=ada')}`,
    );
    const tokens = await world.admin(
      'GET',
      `${core}/personalaccesstokens?fieldSelector=${encodeURIComponent('spec.user=ada')}`,
    );
    return left.body.total === 0 && tokens.body.total === 1;
  }, 'old grants removed');
  await expect(403, fresh('GET', books));
  await expect(201, world.admin('POST', `${core}/rolebindings`, bindingOf('books-library-example-view', 'ada')));
  await expect(200, fresh('GET', books));
  await expect(401, send('GET', books));
});

test('permissions: a token made for a name before its user existed belongs to that user and dies with it', async () => {
  await using world = await library();
  const path = `${core}/personalaccesstokens`;
  const made = await expect(201, world.admin('POST', path, { metadata: { name: 't' }, spec: { user: 'later' } }));
  const send = world.as(made.body.status.token);
  await expect(200, send('GET', '/apis'));
  await expect(201, world.admin('POST', `${core}/users`, { metadata: { name: 'later' } }));
  await expect(200, send('GET', '/apis'));
  await expect(200, world.admin('DELETE', `${core}/users/later`));
  await expect(401, send('GET', '/apis'));
  await expect(201, world.admin('POST', `${core}/users`, { metadata: { name: 'later' } }));
  await expect(401, send('GET', '/apis'));
});

test('permissions: a user that waits for its finalizers may do nothing any more', async () => {
  await using world = await library();
  const { send } = await world.person('ada', ['books-library-example-view']);
  await expect(
    200,
    world.admin(
      'PATCH',
      `${core}/users/ada`,
      { metadata: { finalizers: ['example.com/x'] } },
      { 'content-type': 'application/merge-patch+json' },
    ),
  );
  await expect(200, send('GET', books));
  await expect(200, world.admin('DELETE', `${core}/users/ada`));
  await expect(200, world.admin('GET', `${core}/users/ada`));
  await expect(401, send('GET', books));
});

test('permissions: nobody grants what they lack, over HTTP: role, binding, token, user', async () => {
  await using world = await library();
  const rules = [
    { apiGroups: [''], resources: ['roles', 'rolebindings', 'personalaccesstokens'], verbs: ['*'] },
    { apiGroups: [''], resources: ['users'], verbs: ['get', 'list', 'create', 'update', 'patch', 'delete'] },
  ];
  await expect(201, world.admin('POST', `${core}/roles`, role('keeper', rules)));
  const { send } = await world.person('keeper', ['keeper', 'books-library-example-view']);
  await expect(201, send('POST', `${core}/roles`, role('mine', [readBooks])));
  const refused = await expect(
    403,
    send('POST', `${core}/roles`, role('theirs', [{ ...readBooks, verbs: ['delete'] }])),
  );
  assert.match(refused.body.detail, /it would allow "delete books\.library\.example"/);
  await expect(403, send('PUT', `${core}/roles/mine`, role('mine', [{ ...readBooks, verbs: ['*'] }])));
  await expect(
    403,
    send('PATCH', `${core}/roles/mine`, [{ op: 'add', path: '/rules/0/verbs/-', value: '*' }], {
      'content-type': 'application/json-patch+json',
    }),
  );
  await expect(403, send('POST', `${core}/rolebindings`, bindingOf('super-role', 'keeper')));
  await expect(201, send('POST', `${core}/rolebindings`, bindingOf('books-library-example-view', 'bob')));
  await expect(403, send('POST', `${core}/personalaccesstokens`, { metadata: { name: 'a' }, spec: { user: 'admin' } }));
  await expect(
    201,
    send('POST', `${core}/personalaccesstokens`, { metadata: { name: 'b' }, spec: { user: 'keeper' } }),
  );
  await expect(201, send('POST', `${core}/users`, { metadata: { name: 'bob' } }));
  const bulk = `${JSON.stringify(role('bulk-1', [readBooks]))}\n${JSON.stringify(role('bulk-2', [{ ...readBooks, verbs: ['*'] }]))}\n`;
  const lines = (
    await expect(200, send('POST', `${core}/roles`, bulk, { 'content-type': 'application/x-ndjson' }))
  ).text
    .trim()
    .split('\n');
  assert.deepEqual(
    lines.map((line) => JSON.parse(line).status),
    [201, 403],
  );
});

test('permissions: a secret keeps its values from lists, exports and watches; stringData is merged and never read back', async () => {
  await using world = await library();
  const path = `${core}/secrets`;
  const made = await expect(
    201,
    world.admin('POST', path, { metadata: { name: 's' }, data: { a: 'YWFh' }, stringData: { b: 'bbb' } }),
  );
  assert.deepEqual(made.body.data, { a: 'YWFh', b: 'YmJi' });
  assert.equal(made.body.stringData, undefined);
  assert.deepEqual((await world.admin('GET', `${path}/s`)).body.data, { a: 'YWFh', b: 'YmJi' });
  assert.deepEqual((await world.admin('GET', path)).body.items[0].data, { a: '', b: '' });
  const line = (await world.admin('GET', path, undefined, { accept: 'application/x-ndjson' })).text;
  assert.deepEqual(JSON.parse(line).data, { a: '', b: '' });
  await expect(
    200,
    world.admin('PATCH', `${path}/s`, { stringData: { a: 'ccc' } }, { 'content-type': 'application/merge-patch+json' }),
  );
  assert.deepEqual((await world.admin('GET', `${path}/s`)).body.data, { a: 'Y2Nj', b: 'YmJi' });
  await expect(422, world.admin('POST', path, { metadata: { name: 'bad' }, data: { a: 'not base64!' } }));
  const events = await watchLines(world, `${path}?watch=true&sendInitial=true`, 1);
  assert.deepEqual(events[0].object.data, { a: '', b: '' });
});

test('permissions: a watch ends with Forbidden when the right to it is taken away, and with a revoked token', async () => {
  await using world = await library();
  const first = await world.person('ada', ['books-library-example-view']);
  const second = await world.person('bob', ['books-library-example-view']);
  const streams = await Promise.all([first.token, second.token].map((token) => openWatch(world, token)));
  await expect(200, world.admin('DELETE', `${core}/users/bob`));
  assert.equal((await streams[1]!.last()).error.code, 'Forbidden');
  const bindings = await world.admin(
    'GET',
    `${core}/rolebindings?fieldSelector=${encodeURIComponent('subjects.name=ada')}`,
  );
  await expect(200, world.admin('DELETE', `${core}/rolebindings/${bindings.body.items[0].metadata.name}`));
  assert.equal((await streams[0]!.last()).error.code, 'Forbidden');
});

test('permissions: a watch ends when its token expires', async () => {
  await using world = await library();
  const { token } = await world.person('ada', ['books-library-example-view'], {
    expiresAt: new Date(Date.now() + 400).toISOString(),
  });
  const stream = await openWatch(world, token);
  assert.equal((await stream.last()).error.code, 'Forbidden');
});

test('permissions: discovery shows a caller what the caller may use', async () => {
  await using world = await library();
  const { send } = await world.person('ada', ['books-library-example-view']);
  const groups = (await expect(200, send('GET', '/apis'))).body.groups.map((one: any) => one.name);
  assert.deepEqual(groups, ['library.example']);
  const { resources } = (await expect(200, send('GET', '/apis/library.example/v1alpha1'))).body;
  assert.deepEqual(
    resources.map((one: any) => one.name),
    ['books', 'books/status'],
  );
  const document = (await expect(200, send('GET', '/v3/api-docs/apis_extension.api_v1alpha1'))).body;
  assert.ok(
    Object.keys(document.paths).every((path) => path.startsWith(books)),
    Object.keys(document.paths).join(),
  );
});

test('permissions: the role anonymous gives what it is given to everybody without credentials', async () => {
  await using world = await library();
  await expect(401, world.anonymous('GET', books));
  await expect(200, world.admin('PUT', `${core}/roles/anonymous`, role('anonymous', [readBooks])));
  await expect(200, world.anonymous('GET', books));
  await expect(401, world.anonymous('POST', books, { metadata: { name: 'a' }, spec: { title: 'A' } }));
});

async function openWatch(world: Live, token: string): Promise<{ last(): Promise<any> }> {
  const response = await fetch(`${world.url}${books}?watch=true`, { headers: { authorization: `Bearer ${token}` } });
  assert.equal(response.status, 200);
  const text = response.text();
  return { last: async () => JSON.parse((await text).trim().split('\n').at(-1)!) };
}

async function watchLines(world: Live, path: string, count: number): Promise<any[]> {
  const abort = new AbortController();
  const made = await expect(
    201,
    world.admin('POST', `${core}/personalaccesstokens`, { metadata: { generateName: 'w-' }, spec: { user: 'admin' } }),
  );
  const response = await fetch(world.url + path, {
    headers: { authorization: `Bearer ${made.body.status.token}` },
    signal: abort.signal,
  });
  const lines: any[] = [];
  let rest = '';
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    rest += chunk;
    const parts = rest.split('\n');
    rest = parts.pop()!;
    lines.push(...parts.map((part) => JSON.parse(part)));
    if (lines.length >= count) break;
  }
  abort.abort();
  return lines;
}
