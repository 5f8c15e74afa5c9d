/** Models whose objects belong to namespaces: routes, lists, watches, clients, controllers, descriptions. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { defineModel, definePlugin, ListOptions, PageRequest, Type } from 'kindred';
import { createClient } from 'kindred/client';
import type { Harness } from 'kindred/testing';
import { startHarness } from 'kindred/testing';

const Widget = defineModel({
  gvk: { group: 'bar.example.com', version: 'v1', kind: 'Widget', singular: 'widget', plural: 'widgets' },
  scope: 'Namespaced',
  shortNames: ['wd'],
  spec: Type.Object({ size: Type.Integer(), code: Type.Optional(Type.String()) }),
  status: Type.Object({ ready: Type.Boolean() }),
  subresources: { status: true },
  indexes: (index) => [
    index.single('spec.size', Number, (widget) => widget.spec.size),
    index.single('spec.code', String, (widget) => widget.spec.code, { unique: true }),
  ],
});
const base = '/apis/bar.example.com/v1';
const all = `${base}/widgets`;
const inside = (namespace: string) => `${base}/namespaces/${namespace}/widgets`;

let harness: Harness;
const reconciled = new Set<string>();

before(async () => {
  const plugin = definePlugin({
    start({ schemeManager, registerController }) {
      schemeManager.register(Widget);
      registerController({
        setupWith: (builder) => builder.extension(Widget).minDelay(1).build(),
        async reconcile({ name }) {
          reconciled.add(name);
          return undefined;
        },
      });
    },
  });
  harness = await startHarness({ plugins: [{ name: 'bar', plugin }] });
});
after(() => harness.stop());

async function send(method: string, path: string, json?: unknown, headers: Record<string, string> = {}) {
  const response = await harness.fetch(path, { method, ...(json !== undefined && { json }), headers });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    text,
    get json() {
      return JSON.parse(text);
    },
  };
}
const namesOf = (page: any) => page.items.map(({ metadata }: any) => `${metadata.namespace}/${metadata.name}`);

test('an object is created in a namespace, and is another one in each', async () => {
  for (const [namespace, size] of [
    ['team', 1],
    ['other', 2],
    ['team-b', 3],
  ] as const) {
    const { status, headers, json } = await send('POST', inside(namespace), {
      metadata: { name: 'a' },
      spec: { size },
    });
    assert.deepEqual([status, headers.get('location')], [201, `${inside(namespace)}/a`]);
    assert.deepEqual(Object.keys(json.metadata), ['name', 'namespace', 'creationTimestamp', 'version']);
    assert.equal(json.metadata.namespace, namespace);
  }
  for (const [namespace, size] of [
    ['team', 1],
    ['other', 2],
  ] as const)
    assert.equal((await send('GET', `${inside(namespace)}/a`)).json.spec.size, size);
  const again = await send('POST', inside('team'), { metadata: { name: 'a', namespace: 'team' }, spec: { size: 1 } });
  assert.deepEqual([again.status, again.json.code], [409, 'AlreadyExists']);
  const generated = await send('POST', inside('team'), { metadata: { generateName: 'g-' }, spec: { size: 9 } });
  assert.match(generated.json.metadata.name, /^g-[a-z0-9]{8}$/);
  assert.equal((await send('DELETE', `${inside('team')}/${generated.json.metadata.name}`)).status, 200);
});

test('the namespace of the body is that of the path, and a DNS label', async () => {
  const differs = await send('POST', inside('team'), {
    metadata: { name: 'x', namespace: 'other' },
    spec: { size: 1 },
  });
  assert.deepEqual([differs.status, differs.json.errors[0].pointer], [422, '/metadata/namespace']);
  const malformed = await send('POST', inside('Team'), { metadata: { name: 'x' }, spec: { size: 1 } });
  assert.deepEqual([malformed.status, malformed.json.errors[0].pointer], [422, '/metadata/namespace']);
  const long = await send('POST', inside('n'.repeat(64)), { metadata: { name: 'x' }, spec: { size: 1 } });
  assert.equal(long.json.errors[0].keyword, 'maxLength');
  for (const change of [{ namespace: 'other' }, { name: 'b' }]) {
    const moved = await send('PUT', `${inside('team')}/a`, { metadata: { name: 'a', ...change }, spec: { size: 1 } });
    assert.deepEqual([moved.status, moved.json.errors[0].keyword], [422, 'const']);
    const type = { 'content-type': 'application/merge-patch+json' };
    assert.equal((await send('PATCH', `${inside('team')}/a`, { metadata: change }, type)).status, 422);
  }
});

test('one object is written and read by its namespaced path alone', async () => {
  const path = `${inside('team')}/a`;
  const put = await send('PUT', path, { metadata: { name: 'a' }, spec: { size: 10 } });
  assert.deepEqual([put.status, put.json.metadata.namespace, put.json.metadata.generation], [200, 'team', 2]);
  const type = { 'content-type': 'application/merge-patch+json' };
  assert.equal((await send('PATCH', `${path}/status`, { status: { ready: true } }, type)).json.status.ready, true);
  assert.equal((await send('GET', `${inside('other')}/a`)).json.status, undefined);
  for (const path of [
    `${all}/a`,
    `${all}/team%2Fa`,
    `${inside('team')}/team%2Fa`,
    `${inside('nowhere')}/a`,
    `${inside('')}/a`,
    `${inside('*')}`,
    `${inside('team')}/a/scale`,
    `${base}/namespaces/team`,
    `${base}/namespaces/team/gadgets`,
  ])
    assert.equal((await send('GET', path)).status, 404, path);
  assert.equal((await send('GET', `${inside('te%61m')}/a`)).status, 200);
  const created = await send('POST', all, { metadata: { name: 'x', namespace: 'team' }, spec: { size: 1 } });
  assert.deepEqual([created.status, created.headers.get('allow')], [405, 'GET, HEAD']);
  const clusters = await send('POST', '/api/v1alpha1/namespaces/team/configmaps', { metadata: { name: 'x' } });
  assert.equal(clusters.status, 404);
});

test('lists are of one namespace, or of all', async () => {
  await send('POST', inside('team'), { metadata: { name: 'b' }, spec: { size: 5 } });
  const team = await send('GET', `${inside('team')}?sort=metadata.name`);
  assert.deepEqual([namesOf(team.json), team.json.total], [['team/a', 'team/b'], 2]);
  const every = await send('GET', `${all}?sort=spec.size,desc&size=2`);
  assert.deepEqual([namesOf(every.json), every.json.total], [['team/a', 'team/b'], 4]);
  const ofNamespace = await send('GET', `${all}?fieldSelector=metadata.namespace=other`);
  assert.deepEqual(namesOf(ofNamespace.json), ['other/a']);
  const ofName = await send('GET', `${all}?fieldSelector=metadata.name=a&sort=metadata.namespace`);
  assert.deepEqual(namesOf(ofName.json), ['other/a', 'team/a', 'team-b/a']);
  assert.deepEqual(namesOf((await send('GET', `${all}?fieldSelector=name=b`)).json), ['team/b']);
  const none = await send('GET', `${inside('nowhere')}`);
  assert.deepEqual([none.status, none.json.total], [200, 0]);
  const selected = await send('GET', `${inside('team')}?fieldSelector=spec.size>5,metadata.name^=a`);
  assert.deepEqual(namesOf(selected.json), ['team/a']);
  const refused = await send('GET', `${all}?sort=metadata.nam`);
  assert.deepEqual([refused.status, refused.text.includes('namespace/name')], [400, false]);
  const lines = await send('GET', inside('team'), undefined, { accept: 'application/x-ndjson' });
  assert.equal(lines.text.trim().split('\n').length, 2);
  // The same query in another namespace is another list, though pages are kept.
  for (let i = 0; i < 4; i++) {
    assert.equal((await send('GET', `${inside('team')}?sort=spec.size`)).json.total, 2);
    assert.equal((await send('GET', `${inside('other')}?sort=spec.size`)).json.total, 1);
  }
});

test('unique values are unique in all namespaces', async () => {
  assert.equal(
    (await send('POST', inside('u1'), { metadata: { name: 'a' }, spec: { size: 1, code: 'x' } })).status,
    201,
  );
  const taken = await send('POST', inside('u2'), { metadata: { name: 'a' }, spec: { size: 1, code: 'x' } });
  assert.deepEqual([taken.status, taken.json.code], [409, 'UniqueViolation']);
  assert.equal((await send('DELETE', `${inside('u1')}/a`)).status, 200);
});

test('bulk creation is in one namespace', async () => {
  const lines = [
    { metadata: { name: 'm' } },
    { metadata: { name: 'n', namespace: 'bulk' } },
    { metadata: { name: 'o', namespace: 'team' } },
  ];
  const body = lines.map((line) => JSON.stringify({ ...line, spec: { size: 1 } })).join('\n');
  const headers = { 'content-type': 'application/x-ndjson' };
  const response = await harness.fetch(inside('bulk'), { method: 'POST', body, headers });
  const answers = (await response.text())
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.deepEqual(
    answers.map(({ status, name }) => [status, name]),
    [
      [201, 'm'],
      [201, 'n'],
      [422, undefined],
    ],
  );
});

test('a watch is of one namespace, or of all', async () => {
  const client = createClient({ url: harness.url });
  const seen: string[] = [];
  const follow = async (namespace: string | undefined) => {
    const abort = new AbortController();
    const select = namespace === undefined ? {} : { namespace };
    const started = Promise.withResolvers<void>();
    const done = (async () => {
      for await (const event of client.for(Widget).watch({ select, sendInitial: true, signal: abort.signal })) {
        if (event.type === 'BOOKMARK') started.resolve();
        else if (!event.initial)
          seen.push(`${namespace}: ${event.type} ${event.object.metadata.namespace}/${event.object.metadata.name}`);
      }
    })();
    await started.promise;
    return () => {
      abort.abort();
      return done.catch(() => {});
    };
  };
  const stops = [await follow('w1'), await follow(undefined)];
  for (const namespace of ['w1', 'w2'])
    await send('POST', inside(namespace), { metadata: { name: 'a' }, spec: { size: 1 } });
  await send('DELETE', `${inside('w1')}/a`);
  await harness.until(() => seen.length === 5);
  for (const stop of stops) await stop();
  assert.deepEqual(
    seen.filter((one) => one.startsWith('w1')),
    ['w1: ADDED w1/a', 'w1: DELETED w1/a'],
  );
  assert.deepEqual(
    seen.filter((one) => one.startsWith('undefined')),
    ['undefined: ADDED w1/a', 'undefined: ADDED w2/a', 'undefined: DELETED w1/a'],
  );
});

for (const where of ['inside the service', 'over HTTP'] as const) {
  test(`clients ${where} know an object by its full name`, async () => {
    const client = where === 'over HTTP' ? createClient({ url: harness.url }) : harness.client;
    const namespace = where === 'over HTTP' ? 'remote' : 'local';
    const made = await client.create(Widget, { metadata: { namespace, name: 'a' }, spec: { size: 1 } });
    assert.equal(made.metadata.namespace, namespace);
    assert.equal((await client.get(Widget, `${namespace}/a`)).spec.size, 1);
    assert.equal(await client.fetch(Widget, `${namespace}/b`), undefined);
    assert.equal((await client.update(Widget, { ...made, spec: { size: 2 } })).spec.size, 2);
    assert.equal(
      (
        await client.updateStatus(Widget, {
          ...made,
          metadata: { ...made.metadata, version: 1 },
          status: { ready: true },
        })
      ).status?.ready,
      true,
    );
    assert.equal((await client.patch(Widget, `${namespace}/a`, { spec: { size: 3 } })).spec.size, 3);
    const options = ListOptions.builder().namespace(namespace).build();
    assert.equal((await client.list(Widget, options, PageRequest.of(1, 10, 'metadata.name'))).total, 1);
    assert.deepEqual(await client.listNames(Widget, options), [`${namespace}/a`]);
    assert.equal(await client.count(Widget, options), 1);
    for await (const one of client.listAll(Widget, options)) assert.equal(one.metadata.namespace, namespace);
    assert.ok((await client.count(Widget)) > 1);
    await assert.rejects(client.delete(Widget, `${namespace}/a`, { version: 1 }), { code: 'VersionConflict' });
    await client.delete(Widget, `${namespace}/a`);
    assert.equal(await client.count(Widget, options), 0);
  });
}

test('an import names its namespace', async () => {
  const client = createClient({ url: harness.url });
  const objects = [{ metadata: { name: 'a' }, spec: { size: 1 } }];
  const results = await Array.fromAsync(client.for(Widget).import(objects, { namespace: 'imported' }));
  assert.deepEqual(
    results.map((one) => one.ok && one.name),
    ['a'],
  );
  assert.equal((await send('GET', `${inside('imported')}/a`)).status, 200);
});

test('a controller is called with full names', async () => {
  await send('POST', inside('controlled'), { metadata: { name: 'a' }, spec: { size: 1 } });
  await harness.until(() => reconciled.has('controlled/a'));
  assert.ok([...reconciled].every((name) => name.includes('/')));
});

test('discovery, the models and the API description tell the scope', async () => {
  const { json } = await send('GET', base);
  assert.deepEqual(
    json.resources.map(({ name, namespaced, shortNames }: any) => [name, namespaced, shortNames]),
    [
      ['widgets', true, ['wd']],
      ['widgets/status', true, undefined],
    ],
  );
  const model = (await send('GET', '/v3/models/widgets.bar.example.com')).json;
  assert.deepEqual([model.scope, model.shortNames], ['Namespaced', ['wd']]);
  assert.deepEqual(
    model.indexes.filter((one: any) => one.builtIn).map((one: any) => one.name),
    [
      'metadata.creationTimestamp',
      'metadata.deletionTimestamp',
      'metadata.namespace',
      'metadata.name',
      'metadata.labels',
    ],
  );
  const { paths, components } = (await send('GET', '/v3/api-docs/apis_aggregated.api_v1alpha1')).json;
  const own = Object.keys(paths).filter((path) => path.startsWith(base) && path.includes('widgets'));
  assert.deepEqual(own.sort(), [
    `${base}/namespaces/{namespace}/widgets`,
    `${base}/namespaces/{namespace}/widgets/{name}`,
    `${base}/namespaces/{namespace}/widgets/{name}/status`,
    all,
  ]);
  assert.deepEqual(Object.keys(paths[all]), ['get']);
  assert.ok(components.schemas.NamespacedMetadata.required.includes('namespace'));
  const ids = Object.values(paths).flatMap((path: any) => Object.values(path).map((one: any) => one.operationId));
  assert.equal(new Set(ids).size, ids.length);
});

test('an owner is looked for in the namespace of the object', async () => {
  const owner = { apiVersion: 'bar.example.com/v1', kind: 'Widget', name: 'a' };
  const owned = (namespace: string) =>
    send('POST', inside(namespace), { metadata: { name: 'owned', ownerReferences: [owner] }, spec: { size: 1 } });
  assert.equal((await owned('nobody')).status, 422);
  assert.match((await owned('team')).json.metadata.ownerReferences[0].uid, /^[0-9a-f-]{36}$/);
});
