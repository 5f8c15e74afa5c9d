import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Row } from 'kindred';
import { createService, defineModel, ListOptions, PageRequest, Type } from 'kindred';
import { MapMedium } from '../spec/map-store.ts';

const Note = defineModel({
  gvk: { group: 'late.example.com', version: 'v1', kind: 'Note', singular: 'note', plural: 'notes' },
  spec: Type.Object({ text: Type.String() }),
});
const note = (name: string, text: string) => ({ metadata: { name }, spec: { text } });

/** Two notes in a store, and a service with nothing in its byte cache, whose first read of rows waits. */
async function coldService() {
  const medium = new MapMedium();
  const first = await createService({ database: () => medium.open(), port: 0, auth: false });
  first.schemeManager.register(Note);
  for (const name of ['one', 'two']) await first.client.create(Note, note(name, 'before'));
  await first.stop();

  const asked = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  let isNext = false;
  const open = async () => {
    const store = await medium.open();
    const get = store.get.bind(store);
    store.get = (model, ids) => {
      const rows = get(model, ids);
      if (!isNext) return rows;
      isNext = false;
      asked.resolve();
      return held.promise.then(() => rows as readonly Row[]);
    };
    return store;
  };
  const service = await createService({ database: open, port: 0, auth: false });
  service.schemeManager.register(Note);
  assert.equal(await service.client.count(Note), 2);
  isNext = true;
  return { service, asked: asked.promise, release: held.resolve };
}

describe('rows that come from the store after their object has changed', () => {
  for (const [title, read] of [
    ['read one', (client) => client.get(Note, 'one')],
    ['list', (client) => client.list(Note, ListOptions.parse({}))],
  ] as const satisfies [string, (client: Awaited<ReturnType<typeof coldService>>['service']['client']) => unknown][]) {
    it(`api: ${title}: the object is answered as it is from then on`, async () => {
      const { service, asked, release } = await coldService();
      try {
        const { client } = service;
        const early = read(client);
        await asked;
        await client.patch(Note, 'one', { spec: { text: 'after' } });
        release();
        await early;
        assert.equal((await client.get(Note, 'one')).spec.text, 'after');
      } finally {
        await service.stop();
      }
    });

    it(`api: ${title}: another object that has its place by then is answered as itself`, async () => {
      const { service, asked, release } = await coldService();
      try {
        const { client } = service;
        const early = read(client);
        await asked;
        await client.delete(Note, 'one');
        await client.create(Note, note('three', 'third'));
        release();
        await early;
        assert.equal((await client.get(Note, 'three')).metadata.name, 'three');
        const { items } = await client.list(Note, ListOptions.parse({}), PageRequest.of(1, 20, ['name']));
        assert.deepEqual(
          items.map(({ metadata }) => metadata.name),
          ['three', 'two'],
        );
      } finally {
        await service.stop();
      }
    });
  }
});
