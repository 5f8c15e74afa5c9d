import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { allWidgets, Facade, gadgets, widgets } from './harness.ts';

const facade = new Facade();
before(() => facade.start());
after(() => facade.stop());

const names = (list: any): string[] => list.items.map((one: any) => one.metadata.name);
const put = (name: string, spec: object, labels: object = {}) =>
  facade.kube(gadgets, { body: { metadata: { name, labels }, spec } });
const merge = { 'content-type': 'application/merge-patch+json' };
const patch = (name: string, body: object) =>
  facade.kube(`${gadgets}/${name}`, { method: 'PATCH', headers: merge, body });

/** Every page of a list, with what happens between two of them. */
async function pages(query: string, limit: number, between: () => Promise<unknown> = async () => {}): Promise<any[]> {
  const found: any[] = [];
  for (let token: string | undefined; ; ) {
    const going = token === undefined ? '' : `&continue=${encodeURIComponent(token)}`;
    const { status, json } = await facade.kube(`${gadgets}?limit=${limit}${query}${going}`);
    assert.equal(status, 200, JSON.stringify(json));
    found.push(json);
    token = json.metadata.continue;
    if (token === undefined) return found;
    await between();
  }
}

test('a list has the kind of its items, the order of names and the newest revision', async () => {
  for (const name of ['b', 'a', 'c']) await put(name, { size: 1 });
  const { json } = await facade.kube(gadgets);
  assert.equal(json.kind, 'GadgetList');
  assert.equal(json.apiVersion, 'shop.example.com/v1');
  assert.deepEqual(names(json), ['a', 'b', 'c']);
  const native = await facade.send(gadgets);
  assert.deepEqual(json.metadata, { resourceVersion: native.headers.get('kindred-revision') });
  assert.deepEqual(json.items[0], (await facade.kube(`${gadgets}/a`)).json);
});

test('a list without matches has no null', async () => {
  const { json } = await facade.kube(`${gadgets}?labelSelector=none=here`);
  assert.deepEqual(json.items, []);
});

test('label selectors', async () => {
  await put('l1', {}, { tier: 'gold', zone: 'x' });
  await put('l2', {}, { tier: 'iron' });
  const cases: [string, string[]][] = [
    ['tier=gold', ['l1']],
    ['tier==iron', ['l2']],
    ['tier in (gold, iron)', ['l1', 'l2']],
    ['tier,tier notin (gold)', ['l2']],
    ['zone', ['l1']],
    ['tier,!zone', ['l2']],
    ['tier!=gold,tier', ['l2']],
  ];
  for (const [selector, expected] of cases) {
    const { json } = await facade.kube(`${gadgets}?labelSelector=${encodeURIComponent(selector)}`);
    assert.deepEqual(names(json), expected, selector);
  }
  const wrong = await facade.kube(`${gadgets}?labelSelector=${encodeURIComponent('a in (')}`);
  assert.equal(wrong.status, 400);
  assert.match(wrong.json.message, /^unable to parse requirement: /);
});

test('field selectors: names, every index, and the empty text for no value', async () => {
  await put('f1', { color: 'mauve', size: 5 });
  await put('f2', { size: 5 });
  const cases: [string, string[]][] = [
    ['metadata.name=f1', ['f1']],
    ['spec.color=mauve', ['f1']],
    ['spec.size=5,spec.color!=mauve', ['f2']],
    ['spec.size==5,spec.color=', ['f2']],
    ['spec.size=5,metadata.name!=f2', ['f1']],
    ['metadata.name=none', []],
  ];
  for (const [selector, expected] of cases) {
    const { json } = await facade.kube(`${gadgets}?fieldSelector=${encodeURIComponent(selector)}`);
    assert.deepEqual(names(json), expected, selector);
  }
  const unknown = await facade.kube(`${gadgets}?fieldSelector=spec.note=x`);
  assert.equal(unknown.status, 400);
  assert.equal(unknown.json.message, 'field label not supported: spec.note');
  assert.equal((await facade.kube(`${gadgets}?fieldSelector=spec.size=many`)).status, 400);
  assert.equal((await facade.kube(`${gadgets}?fieldSelector=spec.color`)).status, 400);
});

test('values of field selectors with commas, signs and backslashes', async () => {
  await put('e1', { serial: 'a,b=c\\d' });
  const selector = encodeURIComponent('spec.serial=a\\,b\\=c\\\\d');
  assert.deepEqual(names((await facade.kube(`${gadgets}?fieldSelector=${selector}`)).json), ['e1']);
  const wrong = encodeURIComponent('spec.serial=a\\x');
  assert.equal((await facade.kube(`${gadgets}?fieldSelector=${wrong}`)).status, 400);
});

test('a list within a namespace, and over all of them', async () => {
  const other = widgets.replace('default', 'other');
  await facade.kube('/api/v1/namespaces', { body: { metadata: { name: 'other' } } });
  for (const path of [widgets, other]) {
    await facade.kube(path, { body: { metadata: { name: 'same' }, spec: { color: 'c' } } });
  }
  await facade.kube(other, { body: { metadata: { name: 'w.dotted' }, spec: {} } });
  const where = async (path: string) =>
    (await facade.kube(path)).json.items.map(({ metadata }: any) => `${metadata.namespace}/${metadata.name}`);
  assert.deepEqual(await where(widgets), ['default/same']);
  assert.deepEqual(await where(allWidgets), ['default/same', 'other/same', 'other/w.dotted']);
  assert.deepEqual(await where(`${allWidgets}?fieldSelector=metadata.namespace=other`), [
    'other/same',
    'other/w.dotted',
  ]);
  assert.deepEqual(await where(`${allWidgets}?fieldSelector=metadata.name=same`), ['default/same', 'other/same']);
  assert.deepEqual(await where(`${other}?fieldSelector=metadata.name=same`), ['other/same']);
  assert.deepEqual(await where(`${allWidgets}?limit=2&continue=`), ['default/same', 'other/same']);
});

test('what a resource version asks of a list', async () => {
  const newest = Number((await facade.kube(gadgets)).json.metadata.resourceVersion);
  await put('rv-later', {});
  const list = (query: string) => facade.kube(`${gadgets}?${query}`);
  for (const query of ['resourceVersion=0', `resourceVersion=${newest}&resourceVersionMatch=NotOlderThan`]) {
    assert.equal(names((await list(query)).json).includes('rv-later'), true, query);
  }
  const exact = await list(`resourceVersion=${newest}&resourceVersionMatch=Exact`);
  assert.equal(exact.json.metadata.resourceVersion, String(newest));
  assert.equal(names(exact.json).includes('rv-later'), false);
  const future = await list(`resourceVersion=${newest + 1_000}`);
  assert.equal(future.status, 504);
  assert.equal(future.json.details.causes[0].reason, 'ResourceVersionTooLarge');
  assert.equal(future.json.details.retryAfterSeconds, 1);
  assert.equal((await list('resourceVersionMatch=Exact')).status, 422);
  assert.equal((await list('resourceVersion=0&resourceVersionMatch=Exact')).status, 422);
  assert.equal((await list('resourceVersion=new')).status, 400);
});

test('tokens that are none, and limits', async () => {
  for (const token of ['x', 'WzEsMl0', Buffer.from('[1,1,"",0]').toString('base64url'), 'a'.repeat(3_000)]) {
    const { status } = await facade.kube(`${gadgets}?continue=${token}`);
    assert.equal(status, 400, token.slice(0, 20));
  }
  assert.equal((await facade.kube(`${gadgets}?limit=many`)).status, 400);
  assert.equal((await facade.kube(`${gadgets}?limit=0`)).json.metadata.continue, undefined);
});

test('the law of continue: pages under writes are the list of the first page', async () => {
  const action = fc.record({
    kind: fc.constantFrom('create', 'change', 'label', 'delete'),
    at: fc.integer({ min: 0, max: 39 }),
    size: fc.integer({ min: 0, max: 3 }),
  });
  const name = (at: number) => `p${String(at).padStart(2, '0')}`;
  const act = async ({ kind, at, size }: { kind: string; at: number; size: number }) => {
    if (kind === 'create') await put(name(at), { size });
    else if (kind === 'delete') await facade.kube(`${gadgets}/${name(at)}`, { method: 'DELETE' });
    else await patch(name(at), kind === 'change' ? { spec: { size } } : { metadata: { labels: { size: `${size}` } } });
  };
  await fc.assert(
    fc.asyncProperty(
      fc.array(action, { minLength: 5, maxLength: 20, size: 'max' }),
      fc.array(fc.array(action, { maxLength: 6, size: 'max' }), { minLength: 1, maxLength: 12 }),
      fc.integer({ min: 1, max: 7 }),
      fc.constantFrom('', '&fieldSelector=spec.size=1', '&labelSelector=size=2', '&fieldSelector=spec.size!=3'),
      async (before, between, limit, query) => {
        for (const one of before) await act(one);
        const whole = (await facade.kube(`${gadgets}?${query.slice(1)}`)).json;
        let turn = 0;
        const found = await pages(query, limit, async () => {
          for (const one of between[turn++ % between.length]!) await act(one);
        });
        assert.deepEqual(
          new Set(found.map(({ metadata }) => metadata.resourceVersion)),
          new Set([whole.metadata.resourceVersion]),
        );
        assert.deepEqual(
          found.flatMap(({ items }) => items),
          whole.items,
        );
        let left = whole.items.length;
        for (const { items, metadata } of found) {
          left -= items.length;
          assert.equal(metadata.remainingItemCount, left === 0 ? undefined : left);
        }
        const exact = await facade.kube(
          `${gadgets}?resourceVersionMatch=Exact&resourceVersion=${whole.metadata.resourceVersion}${query}`,
        );
        assert.deepEqual(exact.json.items, whole.items);
      },
    ),
    { numRuns: 40 },
  );
});

test('a large list is streamed, and is of one moment too', async () => {
  const note = 'n'.repeat(10_000);
  await Promise.all(
    Array.from({ length: 150 }, (_, i) => put(`big-${String(i).padStart(3, '0')}`, { color: 'big', note })),
  );
  const reading = facade.kube(`${gadgets}?fieldSelector=spec.color=big`);
  await facade.kube(`${gadgets}/big-149`, { method: 'DELETE' });
  const { json, headers } = await reading;
  assert.equal(headers.get('transfer-encoding'), 'chunked');
  assert.ok(json.items.length >= 149);
  assert.ok(json.metadata.resourceVersion);
  const page = await facade.kube(`${gadgets}?fieldSelector=spec.color=big&limit=50`);
  assert.equal(page.json.items.length, 50);
  assert.equal(page.json.metadata.remainingItemCount, 99);
});

test('tables: the columns of the model, or of its indexes', async () => {
  await facade.kube(widgets, { body: { metadata: { name: 'tab' }, spec: { replicas: 3, color: 'red' } } });
  const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';
  const table = (path: string) => facade.kube(path, { headers: { accept } });
  const { json } = await table(`${widgets}?fieldSelector=metadata.name=tab`);
  assert.equal(json.kind, 'Table');
  assert.deepEqual(
    json.columnDefinitions.map(({ name, type, priority }: any) => [name, type, priority]),
    [
      ['Name', 'string', 0],
      ['Replicas', 'integer', 0],
      ['Ready', 'string', 0],
      ['Color', 'string', 1],
      ['Age', 'date', 0],
    ],
  );
  const [{ cells, object }] = json.rows;
  assert.deepEqual(cells.slice(0, 4), ['tab', 3, null, 'red']);
  assert.match(cells[4], /^\d+s$/);
  assert.equal(object.kind, 'PartialObjectMetadata');
  const whole = await table(`${widgets}?fieldSelector=metadata.name=tab&includeObject=Object`);
  assert.equal(whole.json.rows[0].object.kind, 'Widget');
  const none = await table(`${widgets}?fieldSelector=metadata.name=tab&includeObject=None`);
  assert.equal(none.json.rows[0].object, undefined);
  const ofIndexes = await table(gadgets);
  assert.deepEqual(
    ofIndexes.json.columnDefinitions.map(({ name, type }: any) => [name, type]),
    [
      ['Name', 'string'],
      ['Color', 'string'],
      ['Size', 'integer'],
      ['Serial', 'string'],
      ['Age', 'date'],
    ],
  );
});

test('a token that is too old tells how to go on', async () => {
  const short = new Facade({ kube: { continueTtl: 1 } });
  await short.start();
  try {
    for (const name of ['a', 'b', 'c']) await short.kube(gadgets, { body: { metadata: { name }, spec: {} } });
    const { json } = await short.kube(`${gadgets}?limit=1`);
    await short.kube(`${gadgets}/c`, { method: 'DELETE' });
    await new Promise((resolve) => setTimeout(resolve, 10));
    const expired = await short.kube(`${gadgets}?limit=1&continue=${json.metadata.continue}`);
    assert.equal(expired.status, 410);
    assert.equal(expired.json.reason, 'Expired');
    assert.match(expired.json.message, /^The provided continue parameter is too old/);
    const rest = await short.kube(`${gadgets}?continue=${expired.json.metadata.continue}`);
    assert.deepEqual(names(rest.json), ['b']);
  } finally {
    await short.stop();
  }
});
