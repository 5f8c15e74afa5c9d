/** Rights that are taken away while something goes on: streams end, bulk lines are refused, and nothing is told after. */
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { test } from 'node:test';
import type { Live, Send } from './live.ts';
import { bindingOf, expect, live, until } from './live.ts';
import { Book, books } from './models.ts';

const core = '/api/v1alpha1';
const merge = { 'content-type': 'application/merge-patch+json' };
const library = (): Promise<Live> => live({}, (service) => service.schemeManager.register(Book));
const all = { apiGroups: ['library.example'], resources: ['books'], verbs: ['get', 'list', 'watch', 'create'] };

interface Way {
  readonly name: string;
  take(world: Live): Promise<unknown>;
}

const ways: readonly Way[] = [
  {
    name: 'the binding is deleted',
    async take({ admin }) {
      const selector = encodeURIComponent('subjects.name=ada');
      const { items } = (await expect(200, admin('GET', `${core}/rolebindings?fieldSelector=${selector}`))).body;
      for (const { metadata } of items) await expect(200, admin('DELETE', `${core}/rolebindings/${metadata.name}`));
    },
  },
  {
    name: 'the binding names somebody else',
    async take({ admin }) {
      const selector = encodeURIComponent('subjects.name=ada');
      const { items } = (await expect(200, admin('GET', `${core}/rolebindings?fieldSelector=${selector}`))).body;
      const subjects = [{ kind: 'User', name: 'bob' }];
      for (const one of items) {
        await expect(200, admin('PUT', `${core}/rolebindings/${one.metadata.name}`, { ...one, subjects }));
      }
    },
  },
  {
    name: 'the role gives nothing any more',
    take: ({ admin }) => expect(200, admin('PATCH', `${core}/roles/reader`, { rules: [] }, merge)),
  },
  {
    name: 'the role gives one object alone',
    take: ({ admin }) =>
      expect(200, admin('PATCH', `${core}/roles/reader`, { rules: [{ ...all, resourceNames: ['first'] }] }, merge)),
  },
  { name: 'the role is deleted', take: ({ admin }) => expect(200, admin('DELETE', `${core}/roles/reader`)) },
  {
    name: 'the user is disabled',
    take: ({ admin }) => expect(200, admin('PATCH', `${core}/users/ada`, { spec: { disabled: true } }, merge)),
  },
  { name: 'the user is deleted', take: ({ admin }) => expect(200, admin('DELETE', `${core}/users/ada`)) },
  {
    name: 'the token is revoked',
    take: (world) => forTokens(world, (path) => world.admin('DELETE', path)),
  },
  {
    name: 'the token is narrowed',
    take: (world) =>
      forTokens(world, (path) => world.admin('PATCH', path, { spec: { roles: ['configmaps-view'] } }, merge)),
  },
  {
    name: 'the token is made to end now',
    take: (world) =>
      forTokens(world, (path) => {
        return world.admin('PATCH', path, { spec: { expiresAt: new Date().toISOString() } }, merge);
      }),
  },
];

async function forTokens({ admin }: Live, send: (path: string) => ReturnType<Send>): Promise<void> {
  const selector = encodeURIComponent('spec.user=ada');
  const { items } = (await expect(200, admin('GET', `${core}/personalaccesstokens?fieldSelector=${selector}`))).body;
  for (const { metadata } of items) await expect(200, send(`${core}/personalaccesstokens/${metadata.name}`));
}

async function withReader(world: Live): Promise<string> {
  await expect(201, world.admin('POST', `${core}/roles`, { metadata: { name: 'reader' }, rules: [all] }));
  await expect(201, world.admin('POST', books, { metadata: { name: 'first' }, spec: { title: 'First' } }));
  return (await world.person('ada', ['reader'])).token;
}

const streams = [
  { name: 'a watch', query: '?watch=true', accept: 'application/x-ndjson' },
  { name: 'a watch that began with the list', query: '?watch=true&sendInitial=true', accept: 'text/event-stream' },
  { name: 'a live page', query: '?watch=true&page=1&size=5', accept: 'application/x-ndjson' },
];

/** Everything that a stream tells, up to its end. */
async function follow(world: Live, token: string, query: string, accept: string): Promise<{ text: Promise<string> }> {
  const headers = { authorization: `Bearer ${token}`, accept };
  const response = await fetch(world.url + books + query, { headers });
  assert.equal(response.status, 200);
  return { text: response.text() };
}

const lastOf = (text: string) =>
  JSON.parse(
    text
      .trim()
      .split('\n')
      .at(-1)!
      .replace(/^data: /, ''),
  );

for (const way of ways) {
  test(`permissions: open streams end with Forbidden, and tell nothing more, when ${way.name}`, async () => {
    await using world = await library();
    const token = await withReader(world);
    const open = await Promise.all(streams.map(({ query, accept }) => follow(world, token, query, accept)));
    await way.take(world);
    await expect(201, world.admin('POST', books, { metadata: { name: 'hidden' }, spec: { title: 'Hidden' } }));
    for (const [i, { text }] of open.entries()) {
      const told = await text;
      const { type, error } = lastOf(told);
      assert.deepEqual([type, error.code], ['ERROR', 'Forbidden'], streams[i]!.name);
      assert.ok(!told.includes('Hidden'), streams[i]!.name);
    }
  });

  test(`permissions: lines of a bulk request that has begun are refused when ${way.name}`, async () => {
    await using world = await library();
    const token = await withReader(world);
    const { hostname, port } = new URL(world.url);
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/x-ndjson' };
    const sent = request({ hostname, port, method: 'POST', path: books, headers });
    let told = '';
    const ended = new Promise<void>((resolve, reject) => {
      sent.on('error', reject);
      sent.on('response', (response) => {
        response.setEncoding('utf8').on('data', (text: string) => {
          told += text;
        });
        response.on('end', resolve);
      });
    });
    const statuses = () =>
      told
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line).status);
    const line = (name: string) => `${JSON.stringify({ metadata: { name }, spec: { title: name } })}\n`;
    sent.write(line('before'));
    await until(() => statuses().length === 1, 'the first line is answered');
    await way.take(world);
    sent.end(line('after'));
    await ended;
    assert.deepEqual(statuses(), [201, 403]);
    await expect(404, world.admin('GET', `${books}/after`));
  });
}

test('permissions: each open stream ends at the expiry of its own token, also when a later one was expected first', async () => {
  await using world = await library();
  await withReader(world);
  const late = await world.person('ada', [], { expiresAt: new Date(Date.now() + 60_000).toISOString() });
  const first = await follow(world, late.token, '?watch=true', 'application/x-ndjson');
  let isOpen = true;
  void first.text.finally(() => {
    isOpen = false;
  });
  const soon = await world.person('ada', [], { expiresAt: new Date(Date.now() + 700).toISOString() });
  const second = await follow(world, soon.token, '?watch=true', 'application/x-ndjson');
  assert.equal(lastOf(await second.text).error.code, 'Forbidden');
  assert.ok(isOpen);
  await expect(200, world.admin('DELETE', `${core}/users/ada`));
  assert.equal(lastOf(await first.text).error.code, 'Forbidden');
});

test('permissions: rights that others get or lose end no stream', async () => {
  await using world = await library();
  const token = await withReader(world);
  const { text } = await follow(world, token, '?watch=true', 'application/x-ndjson');
  await world.person('bob', ['reader']);
  await expect(200, world.admin('DELETE', `${core}/users/bob`));
  await expect(201, world.admin('POST', `${core}/rolebindings`, bindingOf('configmaps-view', 'ada')));
  await expect(201, world.admin('POST', books, { metadata: { name: 'seen' }, spec: { title: 'Seen' } }));
  await expect(200, world.admin('DELETE', `${core}/roles/reader`));
  assert.ok((await text).includes('Seen'));
});
