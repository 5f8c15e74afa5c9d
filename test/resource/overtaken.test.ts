/** What others do between two steps of one request, on a store whose answers the test holds back. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { describe, it } from 'node:test';
import type { Service, ServiceOptions } from 'kindred';
import { createService, defineModel, ListOptions, Type } from 'kindred';
import { until } from 'kindred/testing';
import pino from 'pino';
import { openStore } from '../../src/store/open.ts';
import { MapMedium } from '../spec/map-store.ts';
import { Stream } from '../watch/stream.ts';
import type { HeldStore } from './held-store.ts';
import { holdBack } from './held-store.ts';

const Item = defineModel({
  gvk: { group: 'demo.example.com', version: 'v1', kind: 'Item', singular: 'item', plural: 'items' },
  spec: Type.Object({ color: Type.String() }),
  indexes: (index) => [index.single('spec.color', String, (item) => item.spec.color)],
});
const items = '/apis/demo.example.com/v1/items';

interface Replica {
  readonly held: HeldStore;
  readonly service: Service;
  readonly url: string;
}

/** A service on a store whose answers can be held back. */
async function serve(
  t: TestContext,
  held: HeldStore,
  options: ServiceOptions = { auth: false },
): Promise<Replica & { token: string | undefined }> {
  const logger = pino({ level: 'silent' });
  const service = await createService({ database: async () => held.store, port: 0, logger, ...options });
  t.after(() => service.stop());
  service.schemeManager.register(Item);
  const { url, administratorToken } = await service.start();
  return { held, service, url, token: administratorToken };
}

async function replica(t: TestContext, medium: MapMedium): Promise<Replica> {
  return serve(t, holdBack(await medium.open()));
}

const item = (name: string, color: string) => ({ metadata: { name }, spec: { color } });

describe('while the indexes are built', () => {
  it('declaration: objects that are changed or deleted after the scan has passed them are shown as they are', async (t) => {
    const medium = new MapMedium();
    const first = await replica(t, medium);
    for (const name of ['kept', 'changed', 'deleted']) await first.service.client.create(Item, item(name, 'red'));
    const held = holdBack(await medium.open());
    // What it gives is what was there when it was asked.
    const model = await held.store.modelNumber(Item.gvk.group, Item.gvk.kind);
    const scan = held.hold('scan', { only: (of, after) => of === model && after === 0 });
    const starting = serve(t, held);
    await until(() => scan.waiting === 1);
    await first.service.client.update(Item, item('changed', 'blue') as never);
    await first.service.client.delete(Item, 'deleted');
    await first.service.client.create(Item, item('made', 'blue'));
    scan.release();
    const second = await starting;
    // What the indexes say comes first: the bytes of an object that they do not know as it is cannot be read.
    const blue = ListOptions.parse({ fieldSelector: 'spec.color=blue' });
    assert.deepEqual(await second.service.client.listNames(Item, blue, ['metadata.name']), ['changed', 'made']);
    assert.equal(await second.service.client.count(Item), 3);
    const page = (await (await fetch(`${second.url}${items}?sort=metadata.name`)).json()) as {
      items: { metadata: { name: string }; spec: { color: string } }[];
    };
    assert.deepEqual(
      page.items.map(({ metadata, spec }) => `${metadata.name} ${spec.color}`),
      ['changed blue', 'kept red', 'made blue'],
    );
    const status = async (name: string) => (await fetch(`${second.url}${items}/${name}`)).status;
    assert.deepEqual(await Promise.all(['changed', 'deleted', 'made'].map(status)), [200, 404, 200]);
  });
});

describe('a conditional write', () => {
  for (const [method, type, body] of [
    ['PUT', 'application/json', item('a', 'mine')],
    ['PATCH', 'application/merge-patch+json', { spec: { color: 'mine' } }],
    ['DELETE', undefined, undefined],
  ] as const) {
    it(`api: ${method} with If-Match that another replica overtakes is 412, and the other's write stays`, async (t) => {
      const medium = new MapMedium();
      const [first, second] = [await replica(t, medium), await replica(t, medium)];
      await first.service.client.create(Item, item('a', 'red'));
      const read = await fetch(`${first.url}${items}/a`);
      const headers = { 'if-match': read.headers.get('etag')!, ...(type && { 'content-type': type }) };
      // The commit reaches the database after that of the other.
      const commit = first.held.hold('commit', { before: true });
      const writing = fetch(`${first.url}${items}/a`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
      await until(() => commit.waiting === 1);
      await second.service.client.update(Item, item('a', 'theirs') as never);
      commit.release();
      const answer = await writing;
      assert.equal(answer.status, 412, await answer.text());
      assert.equal(((await (await fetch(`${first.url}${items}/a`)).json()) as any).spec.color, 'theirs');
    });
  }
});

describe('a watch', () => {
  it('watch: rights that are taken away before it is opened end it with Forbidden', async (t) => {
    const held = holdBack(await openStore('sqlite::memory:'));
    const { url, token } = await serve(t, held, {});
    const administrator = { authorization: `Bearer ${token}` };
    const send = async (method: string, path: string, body: object, type = 'application/json'): Promise<any> => {
      const headers = { ...administrator, 'content-type': type };
      const answer = await fetch(url + path, { method, headers, body: JSON.stringify(body) });
      assert.ok(answer.ok, await answer.clone().text());
      return answer.json();
    };
    const rules = [{ apiGroups: ['demo.example.com'], resources: ['items'], verbs: ['list', 'watch'] }];
    await send('POST', '/api/v1alpha1/users', { metadata: { name: 'ada' } });
    await send('POST', '/api/v1alpha1/roles', { metadata: { name: 'reader' }, rules });
    await send('POST', '/api/v1alpha1/rolebindings', {
      metadata: { name: 'ada' },
      roleRef: { kind: 'Role', name: 'reader' },
      subjects: [{ kind: 'User', name: 'ada' }],
    });
    const made = await send('POST', '/api/v1alpha1/personalaccesstokens', {
      metadata: { name: 'ada' },
      spec: { user: 'ada' },
    });
    const { revision } = await send('POST', items, item('a', 'red')).then(async () => ({
      revision: Number((await fetch(url + items, { headers: administrator })).headers.get('kindred-revision')),
    }));
    // The request is authorised; whether its revision is kept is being asked.
    const log = held.hold('changes');
    const headers = { authorization: `Bearer ${made.status.token}` };
    const opening = Stream.open(`${url}${items}?watch=true&since=${revision - 1}`, { headers });
    await until(() => log.waiting === 1);
    await send('PATCH', '/api/v1alpha1/roles/reader', { rules: [] }, 'application/merge-patch+json');
    log.release();
    const stream = await opening;
    const last = await stream.last();
    assert.deepEqual([stream.status, last.type, last.error?.code], [200, 'ERROR', 'Forbidden'], stream.text);
    assert.equal(stream.events.length, 1, 'nothing was shown');
  });
});
