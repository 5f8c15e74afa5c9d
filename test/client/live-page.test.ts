/** Live pages, plans, revisions and sessions through the client. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { defineModel, definePlugin, Type } from 'kindred';
import type { KindredClient, ListResult, PageEvent } from 'kindred/client';
import { apply, createClient, KindredError } from 'kindred/client';
import type { Harness } from 'kindred/testing';
import { startHarness, until } from 'kindred/testing';
import { live } from '../auth/live.ts';

const Row = defineModel({
  gvk: { group: 'rows.example.com', version: 'v1', kind: 'Row', singular: 'row', plural: 'rows' },
  spec: Type.Object({ rank: Type.Integer(), team: Type.String() }),
  indexes: (index) => [
    index.single('spec.rank', Number, (row) => row.spec.rank),
    index.single('spec.team', String, (row) => row.spec.team),
  ],
});
type Page = ListResult<any>;

const rows = definePlugin({ name: 'rows', start: ({ schemeManager }) => void schemeManager.register(Row) });
let harness: Harness;
let client: KindredClient;

before(async () => {
  harness = await startHarness({ plugins: [rows] });
  client = createClient({ url: harness.url });
});
after(() => harness.stop());

let seed = 7;
const random = (below: number): number => {
  seed = (seed * 48_271) % 2_147_483_647;
  return seed % below;
};

/** One random write. */
async function change(): Promise<void> {
  const name = `row-${random(40)}`;
  const spec = { rank: random(30), team: 'ab'[random(2)]! };
  const before = await client.fetch(Row, name);
  if (!before) await client.create(Row, { metadata: { name }, spec });
  else if (random(4) === 0) await client.delete(Row, name);
  else await client.patch(Row, name, { spec });
}

test('live pages: a page to which the events are applied is the page that a list has', async () => {
  const query = { fields: { 'spec.team': 'a' }, sort: ['spec.rank,desc', 'metadata.name'] } as const;
  for (let i = 0; i < 40; i++) await change();
  const stop = new AbortController();
  const pages = new Map<number, Page>();
  const following = [1, 2].map(async (number) => {
    const events = client
      .for(Row)
      .watchPage(query, { page: number, size: 5, sort: [...query.sort] }, { signal: stop.signal });
    for await (const event of events) pages.set(number, apply(pages.get(number), event)!);
  });
  await until(() => pages.size === 2);
  for (let i = 0; i < 150; i++) await change();
  const shown = (page: Page) => ({ ...page, revision: undefined });
  for (const number of [1, 2]) {
    const wanted = shown(await client.for(Row).list(query, { page: number, size: 5, sort: [...query.sort] }));
    await until(() => isDeepStrictEqual(shown(pages.get(number)!), wanted), { what: `page ${number}` });
  }
  stop.abort();
  await Promise.all(following);
});

test('live pages: it begins again with a SNAPSHOT after a break, and ends for what stays wrong', async () => {
  const { fetch } = globalThis;
  const cut: AbortController[] = [];
  const breaking = createClient({
    url: harness.url,
    fetch: (input, init) => {
      const broken = new AbortController();
      cut.push(broken);
      return fetch(input, { ...init, signal: AbortSignal.any([broken.signal, init!.signal!]) });
    },
  });
  const types: string[] = [];
  for await (const event of breaking.watchPage(Row, {}, undefined, { minDelay: 1, maxDelay: 2 })) {
    types.push(event.type);
    if (types.length === 2) break;
    cut[0]!.abort(new TypeError('terminated'));
  }
  assert.deepEqual(types, ['SNAPSHOT', 'SNAPSHOT']);
  const failing = async (query: object) => {
    for await (const _ of client.watchPage(Row, query)) return undefined;
    return undefined;
  };
  await assert.rejects(failing({ sort: ['spec.nothing'] }), { code: 'InvalidParameter' });
  await assert.rejects(failing({ fields: { 'spec.nothing': 'x' } }), { code: 'InvalidSelector' });
});

test('live pages: applying an event changes no page that was given', () => {
  const object = (name: string, spec = {}) => ({ metadata: { name }, spec });
  const page: Page = {
    ...{ page: 1, size: 2, total: 3, first: true, last: false, hasNext: true, hasPrevious: false, totalPages: 2 },
    items: [object('a'), object('b')],
    revision: '5',
  };
  const before = structuredClone(page);
  const window: PageEvent<any> = {
    type: 'WINDOW',
    revision: '6',
    object: {
      total: 2,
      removed: ['a'],
      inserted: [{ index: 1, object: object('c') }],
      updated: [object('b', { x: 1 })],
    },
  };
  const next = apply(page, window)!;
  assert.deepEqual(page, before);
  assert.deepEqual(next.items, [object('b', { x: 1 }), object('c')]);
  assert.deepEqual([next.total, next.totalPages, next.last, next.hasNext, next.revision], [2, 1, true, false, '6']);
  assert.equal(apply(page, { type: 'BOOKMARK', revision: '9' }), page);
  assert.equal(apply(undefined, window), undefined);
});

test('lists tell their revision, over HTTP and inside the service, and the plan of a list', async () => {
  const there = await client.list(Row);
  const here = await harness.client.list(Row);
  assert.match(there.revision!, /^\d+$/);
  assert.deepEqual(there, here);
  const plan = await client.for(Row).explain({ fields: { 'spec.team': 'a' } });
  assert.equal(plan.total, await client.count(Row, { fields: { 'spec.team': 'a' } } as never));
  assert.ok(plan.indexes.some(({ name, use }) => name === 'spec.team' && use === 'filter'));
});

test('sessions: a page of the service signs in with a code and out, by the calls of the client', async () => {
  await using at = await live();
  const administrator = createClient({ url: at.url, token: at.token! });
  const { code, url } = await administrator.session.makeCode();
  assert.ok(url.endsWith(`/console/#code=${code}`));
  let cookie = '';
  const browser = createClient({
    url: at.url,
    retry: false,
    fetch: async (input, init) => {
      const headers = new Headers(init?.headers);
      if (cookie) headers.set('cookie', cookie);
      const response = await fetch(input, { ...init, headers });
      const set = response.headers.get('set-cookie');
      if (set !== null) cookie = set.split(';')[0]!;
      return response;
    },
  });
  assert.equal((await browser.session.get()).identity, undefined);
  const begun = await browser.session.begin({ code });
  assert.equal(begun.identity!.name, 'admin');
  assert.equal((await browser.session.get()).identity!.name, 'admin');
  await assert.rejects(browser.session.begin({ code }), (error) => {
    return error instanceof KindredError && error.code === 'Unauthenticated';
  });
  await browser.session.end();
  assert.equal((await browser.session.get()).identity, undefined);
});
