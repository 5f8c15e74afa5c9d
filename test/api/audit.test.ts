/** `/v3/audit`: the newest entries of the audit log, and those to come. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { expect, live } from '../auth/live.ts';
import { Stream } from '../watch/stream.ts';
import { Person, persons, withApi } from './harness.ts';

const path = '/v3/audit';
const bob = { metadata: { name: 'bob' }, spec: { name: 'Bob' } };

/** A service in which several have done something. */
async function busy(options: Parameters<typeof live>[0] = {}) {
  const at = await live(options, ({ schemeManager }) => schemeManager.register(Person));
  const ada = await at.person('ada', []);
  await expect(201, at.admin('POST', persons, bob, { 'x-request-id': 'made-bob' }));
  await expect(403, ada.send('DELETE', `${persons}/bob`));
  await expect(401, at.as('wrong')('GET', persons));
  await expect(200, at.admin('DELETE', `${persons}/bob`));
  return { at, ada };
}

function verbsOf(stream: Stream): string[] {
  return (stream.events as any[]).filter(({ type }) => type === 'ENTRY').map(({ entry }) => entry.verb);
}

describe('the entries', () => {
  test('newest first, of changes and refusals, without a file', async () => {
    const { at } = await busy();
    await using _ = at;
    const { entries, keep } = (await expect(200, at.admin('GET', `${path}?limit=4`))).body;
    assert.equal(keep, 10_000);
    const shown = entries.map((one: any) => [one.identity, one.verb, one.resource, one.name, one.outcome, one.status]);
    assert.deepEqual(shown, [
      ['admin', 'delete', 'persons', 'bob', 'done', undefined],
      ['system:anonymous', 'list', 'persons', undefined, 'refused', 401],
      ['ada', 'delete', 'persons', 'bob', 'refused', 403],
      ['admin', 'create', 'persons', 'bob', 'done', undefined],
    ]);
    assert.equal(entries[3].requestId, 'made-bob');
    assert.equal(entries[3].after, 0);
    assert.equal(entries[1].code, 'Unauthenticated');
    assert.ok(entries[0].revision > entries[3].revision);
    const numbers = entries.map((one: any) => Number(one.id.split('-')[1]));
    assert.deepEqual(
      numbers,
      numbers.map((_: number, i: number) => numbers[0] - i),
    );
  });

  test('filters hold together', async () => {
    const { at } = await busy();
    await using _ = at;
    const count = async (query: string) => (await expect(200, at.admin('GET', `${path}?${query}`))).body.entries.length;
    assert.equal(await count('name=bob'), 3);
    assert.equal(await count('name=bob&outcome=refused'), 1);
    assert.equal(await count('name=bob&identity=admin&verb=delete'), 1);
    assert.equal(await count('type=persons.demo.example.com&outcome=refused'), 2);
    assert.equal(await count('type=persons'), 0);
    assert.equal(await count('outcome=failed'), 0);
    await expect(201, at.admin('POST', '/v3/session/codes'));
    assert.equal(await count('type=/v3/session/codes'), 1);
  });

  test('only `auth.audit.keep` of them are kept', async () => {
    const { at } = await busy({ auth: { audit: { keep: 2 } } });
    await using _ = at;
    const { entries, keep } = (await at.admin('GET', path)).body;
    assert.equal(keep, 2);
    assert.deepEqual(
      entries.map((one: any) => one.verb),
      ['delete', 'list'],
    );
  });

  test('none are kept with 0', async () => {
    const { at } = await busy({ auth: { audit: { keep: 0 } } });
    await using _ = at;
    assert.deepEqual((await at.admin('GET', path)).body, { entries: [], keep: 0 });
  });

  test('a long path is kept in part', async () => {
    await using at = await live();
    await expect(401, at.as('wrong')('GET', `/${'x'.repeat(4_000)}`));
    const [entry] = (await at.admin('GET', path)).body.entries;
    assert.equal(entry.path, `/${'x'.repeat(511)}…`);
  });
});

describe('permissions', () => {
  test('permissions: only who may get the path sees the audit log', async () => {
    const { at, ada } = await busy();
    await using _ = at;
    await expect(401, at.anonymous('GET', path));
    await expect(403, ada.send('GET', path));
    await expect(403, ada.send('GET', `${path}?watch=true`));
    const rules = [{ nonResourceURLs: [path], verbs: ['get'] }];
    await expect(201, at.admin('POST', '/api/v1alpha1/roles', { metadata: { name: 'auditor' }, rules }));
    const eve = await at.person('eve', ['auditor']);
    await expect(200, eve.send('GET', path));
    await expect(405, at.admin('POST', path));
  });

  test('permissions: a stream ends when the right goes', async () => {
    await using at = await live();
    const rules = [{ nonResourceURLs: [path], verbs: ['get'] }];
    await expect(201, at.admin('POST', '/api/v1alpha1/roles', { metadata: { name: 'auditor' }, rules }));
    const eve = await at.person('eve', ['auditor']);
    const headers = { authorization: `Bearer ${eve.token}` };
    const stream = await Stream.open(`${at.url}${path}?watch=true&name=auditor`, { headers });
    await expect(200, at.admin('PUT', '/api/v1alpha1/roles/auditor', { metadata: { name: 'auditor' }, rules: [] }));
    assert.equal((await stream.last()).error.code, 'Forbidden');
    assert.deepEqual(verbsOf(stream), ['create', 'update']);
  });
});

describe('watching', () => {
  for (const sse of [false, true]) {
    test(`first those that are kept, oldest first, then those to come, as ${sse ? 'server-sent events' : 'NDJSON'}`, async () => {
      const { at } = await busy();
      await using _ = at;
      const headers = { authorization: `Bearer ${at.token}` };
      const open = (more: Record<string, string> = {}) =>
        Stream.open(`${at.url}${path}?watch=true&name=bob&limit=2`, { sse, headers: { ...headers, ...more } });
      const stream = await open();
      await expect(201, at.admin('POST', persons, bob));
      await expect(201, at.admin('POST', persons, { metadata: { name: 'eve' }, spec: { name: 'Eve' } }));
      const events = (await stream.changes(3)) as any[];
      assert.deepEqual(verbsOf(stream), ['delete', 'delete', 'create']);
      assert.equal(events[0].entry.identity, 'ada');
      if (sse) assert.equal(events[0].id, events[0].entry.id);
      stream.close();
      await expect(200, at.admin('DELETE', `${persons}/bob`));
      const resumed = await open({ 'last-event-id': events[0].entry.id });
      await resumed.changes(3);
      assert.deepEqual(verbsOf(resumed), ['delete', 'create', 'delete']);
      resumed.close();
      const elsewhere = await open({ 'last-event-id': '00000000-1' });
      await elsewhere.changes(2);
      assert.deepEqual(verbsOf(elsewhere), ['create', 'delete']);
      elsewhere.close();
    });
  }

  test('a quiet stream has bookmarks, and ends when the service stops', async () => {
    const at = await live({ auth: false, watch: { bookmarkInterval: 20 } });
    const stream = await Stream.open(`${at.url}${path}?watch=true&name=nobody`);
    await stream.bookmark();
    await at.service.stop();
    assert.equal((await stream.last()).error.code, 'ShuttingDown');
  });
});

describe('as described', () => {
  const api = withApi();

  test('the entries, their stream, and what is refused', async () => {
    await api.send({ path: persons, body: { metadata: { name: 'ada' }, spec: { name: 'Ada' } } });
    const { json } = await api.send({ path: `${path}?name=ada&type=persons.demo.example.com` });
    assert.equal(json.entries[0].verb, 'create');
    const refusals: [string, string][] = [
      ['limit=0', 'limit'],
      ['limit=1001', 'limit'],
      ['limit=1&limit=2', 'limit'],
      ['outcome=allowed', 'outcome'],
      ['watch=yes', 'watch'],
      ['user=ada', 'user'],
    ];
    for (const [query, parameter] of refusals) {
      const refused = await api.send({ path: `${path}?${query}` });
      assert.equal(refused.status, 400, query);
      assert.equal(refused.json.parameter, parameter);
    }
    assert.deepEqual((await api.send({ path: `${path}?outcome=allowed` })).json.allowed, ['done', 'refused', 'failed']);
    const head = await api.send({ method: 'HEAD', path: `${path}?watch=true` });
    assert.equal(head.headers.get('content-type'), 'application/x-ndjson');
  });
});
