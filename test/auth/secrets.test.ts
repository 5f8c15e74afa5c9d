/** Values and digests come out nowhere but where a single Secret is read (docs/reference/permissions.md). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { digestOf } from '../../src/auth/authentication/tokens.ts';
import type { Live } from './live.ts';
import { expect, live } from './live.ts';
import { Book, books } from './models.ts';

const core = '/api/v1alpha1';
const secrets = `${core}/secrets`;
const tokens = `${core}/personalaccesstokens`;
const value = 'a value that nobody must see';
const encoded = Buffer.from(value).toString('base64');
const ndjson = { accept: 'application/x-ndjson' };
const events = { accept: 'text/event-stream' };

/** What a stream sends until it has sent this text. */
async function firstOf(world: Live, path: string, headers: Record<string, string>, until: string): Promise<string> {
  const abort = new AbortController();
  const authorization = `Bearer ${world.token}`;
  const response = await fetch(world.url + path, { headers: { ...headers, authorization }, signal: abort.signal });
  assert.equal(response.status, 200);
  let text = '';
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    if (text.includes(until)) break;
  }
  abort.abort();
  return text;
}

/** Ways to see Secrets without reading a single one; each shows the name and the key. */
const views: readonly { name: string; look(world: Live): Promise<string> }[] = [
  { name: 'a list', look: async ({ admin }) => (await expect(200, admin('GET', secrets))).text },
  {
    name: 'a page of a sorted list',
    look: async ({ admin }) => (await expect(200, admin('GET', `${secrets}?page=1&size=1&sort=name,asc`))).text,
  },
  {
    name: 'a list by name',
    look: async ({ admin }) => (await expect(200, admin('GET', `${secrets}?fieldSelector=name%3Dhidden`))).text,
  },
  { name: 'an export', look: async ({ admin }) => (await expect(200, admin('GET', secrets, undefined, ndjson))).text },
  {
    name: 'a watch that began with the list',
    look: (world) => firstOf(world, `${secrets}?watch=true&sendInitial=true`, ndjson, 'hidden'),
  },
  {
    name: 'a watch of older changes',
    look: (world) => firstOf(world, `${secrets}?watch=true&since=0`, ndjson, 'hidden'),
  },
  {
    name: 'server-sent events',
    look: (world) => firstOf(world, `${secrets}?watch=true&sendInitial=true`, events, 'hidden'),
  },
  { name: 'a live page', look: (world) => firstOf(world, `${secrets}?watch=true&page=1&size=5`, ndjson, 'hidden') },
];

test('permissions: the value of a Secret is shown where it is read alone', async (t) => {
  await using world = await live();
  const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': `{"stringData":{"inner":"${value}"}}` };
  const secret = { metadata: { name: 'hidden', annotations }, stringData: { inner: value } };
  await expect(201, world.admin('POST', secrets, secret));
  assert.ok((await expect(200, world.admin('GET', `${secrets}/hidden`))).text.includes(encoded));
  for (const { name, look } of views) {
    await t.test(`${name} shows its keys`, async () => {
      const text = await look(world);
      assert.ok(text.includes('"hidden"') && text.includes('"inner"'), text);
      assert.ok(!text.includes(encoded) && !text.includes(value), text);
    });
  }
  for (const selector of [`data.inner=${encoded}`, 'data.inner', `data=${encoded}`, 'stringData.inner=x']) {
    await t.test(`it cannot be selected or sorted by: ${selector}`, async () => {
      const refused = await expect(400, world.admin('GET', `${secrets}?fieldSelector=${encodeURIComponent(selector)}`));
      assert.equal(refused.body.code, 'InvalidSelector');
    });
  }
  await expect(400, world.admin('GET', `${secrets}?sort=data.inner,asc`));
  const plan = await expect(200, world.admin('GET', `${secrets}?explain=true`));
  assert.ok(!plan.text.includes(encoded));
});

test('permissions: the digest of a token comes out by no request, not even for who may do everything', async (t) => {
  await using world = await live();
  const digest = digestOf(world.token!);
  const path = `${tokens}/administrator`;
  const json = { 'content-type': 'application/json-patch+json' };
  const copies = [
    [{ op: 'copy', from: '/status/hash', path: '/metadata/annotations/a.example~1b' }],
    [{ op: 'move', from: '/status/hash', path: '/metadata/annotations/a.example~1b' }],
    [{ op: 'copy', from: '/status', path: '/spec/x' }],
    [{ op: 'test', path: '/status/hash', value: digest }],
    [{ op: 'test', path: '/status', value: { hash: digest } }],
  ];
  for (const patch of copies) {
    await t.test(`${patch[0]!.op} of ${JSON.stringify(patch[0])}`, async () => {
      const answer = await world.admin('PATCH', path, patch, json);
      assert.ok(answer.status >= 400 && answer.status < 500, `${answer.status} ${answer.text}`);
      assert.ok(!answer.text.replace(JSON.stringify(digest), '').includes(digest));
    });
  }
  const looks: [string, string, unknown?, Record<string, string>?][] = [
    ['GET', path],
    ['GET', tokens],
    ['GET', tokens, undefined, ndjson],
    ['PATCH', path, { metadata: { labels: { a: 'b' } } }, { 'content-type': 'application/merge-patch+json' }],
    ['PUT', path, { metadata: { name: 'administrator' }, spec: { user: 'admin' }, status: { hash: 'x' } }],
  ];
  for (const [method, to, body, headers] of looks) {
    const { text } = await expect(200, world.admin(method, to, body, headers));
    assert.ok(!text.includes(digest) && !text.includes('hash'), text);
  }
  for (const selector of [`status.hash=${digest}`, 'status.hash']) {
    await expect(400, world.admin('GET', `${tokens}?fieldSelector=${encodeURIComponent(selector)}`));
  }
  for (const method of ['GET', 'PUT', 'PATCH'])
    await expect(404, world.admin(method, `${path}/status`, method === 'GET' ? undefined : {}));
  const stream = await firstOf(world, `${tokens}?watch=true&since=0`, ndjson, 'administrator');
  assert.ok(!stream.includes(digest));
  // Nothing of this harmed the token.
  await expect(200, world.admin('GET', path));
});

test('permissions: rights to named objects narrow every way to see more than one', async () => {
  await using world = await live({}, (service) => service.schemeManager.register(Book));
  for (const name of ['a', 'b', 'c', 'd']) {
    await expect(
      201,
      world.admin('POST', books, { metadata: { name }, spec: { title: name.toUpperCase(), tags: ['x'] } }),
    );
  }
  const rules = [
    { apiGroups: ['library.example'], resources: ['books'], resourceNames: ['a', 'c', 'z'], verbs: ['*'] },
  ];
  await expect(201, world.admin('POST', `${core}/roles`, { metadata: { name: 'two' }, rules }));
  const { send, token } = await world.person('ada', ['two']);
  const names = (items: { metadata: { name: string } }[]) => items.map(({ metadata }) => metadata.name);
  for (const [query, expected, total] of [
    ['?sort=name,asc', ['a', 'c'], 2],
    ['?sort=spec.title,desc&page=2&size=1', ['a'], 2],
    ['?fieldSelector=spec.tags%3Dx&sort=name,asc', ['a', 'c'], 2],
    ['?fieldSelector=spec.title%21%3DA', ['c'], 1],
    ['?fieldSelector=name%20in%20(a,b)', ['a'], 1],
    ['?fieldSelector=spec.title%3DB', [], 0],
  ] as const) {
    const { body } = await expect(200, send('GET', books + query));
    assert.deepEqual([names(body.items), body.total], [expected, total], query);
  }
  const lines = (await expect(200, send('GET', books, undefined, ndjson))).text.trim().split('\n');
  assert.deepEqual(names(lines.map((line) => JSON.parse(line))).sort(), ['a', 'c']);
  assert.equal((await expect(200, send('GET', `${books}?explain=true&fieldSelector=spec.tags%3Dx`))).body.total, 2);
  const own = { ...world, token };
  const page = JSON.parse(
    (await firstOf(own, `${books}?watch=true&page=1&size=1&sort=name,asc`, ndjson, '\n')).split('\n')[0]!,
  );
  assert.deepEqual([names(page.object.items), page.object.total], [['a'], 2]);
  const initial = await firstOf(own, `${books}?watch=true&sendInitial=true`, ndjson, 'BOOKMARK');
  assert.ok(initial.includes('"a"') && initial.includes('"c"') && !initial.includes('"b"') && !initial.includes('"d"'));
});
