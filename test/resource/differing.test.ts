import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createService, defineModel, Type } from 'kindred';
import pino from 'pino';
import { openStore } from '../../src/store/open.ts';

const Item = defineModel({
  gvk: { group: 'demo.example.com', version: 'v1', kind: 'Item', singular: 'item', plural: 'items' },
  spec: Type.Object({ color: Type.String() }),
  indexes: (index) => [index.single('spec.color', String, (item) => item.spec.color)],
});

test('plugins: a read ends when what is stored never is what the indexes have, and others are answered meanwhile', async (t) => {
  const store = await openStore('sqlite::memory:');
  const { get } = store;
  let isBroken = false;
  // As when a change never reached the indexes.
  store.get = (model, ids) => {
    const rows = get.call(store, model, ids) as readonly { revision: number }[];
    return (isBroken ? rows.map((row) => ({ ...row, revision: row.revision - 1 })) : rows) as never;
  };
  const logged: string[] = [];
  const logger = pino({ level: 'error' }, { write: (line: string) => void logged.push(line) });
  const service = await createService({
    database: async () => store,
    port: 0,
    auth: false,
    logger,
    cache: { maxBytes: 0 },
    query: { timeout: 200 },
  });
  t.after(() => service.stop());
  service.schemeManager.register(Item);
  const { url } = await service.start();
  const items = `${url}/apis/demo.example.com/v1/items`;
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ metadata: { name: 'a' }, spec: { color: 'red' } });
  assert.equal((await fetch(items, { method: 'POST', headers, body })).status, 201);
  isBroken = true;
  for (const path of [`${items}/a`, items, `${items}?watch=true&page=1&size=10`]) {
    const reading = fetch(path, { signal: AbortSignal.timeout(20_000) });
    assert.equal((await fetch(`${url}/livez`)).status, 200);
    const answer = await reading;
    const text = await answer.text();
    assert.match(text, /differs from the indexes/, path);
  }
  assert.match(logged.join(''), /What is stored differs from the indexes/);
  isBroken = false;
  assert.equal((await fetch(`${items}/a`)).status, 200);
});
