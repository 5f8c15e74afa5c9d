import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createService, defineModel, Type } from 'kindred';
import pino from 'pino';
import { checkStore } from '../../src/resource/check.ts';
import { MapMedium } from '../spec/map-store.ts';

const gvk = { group: 'checks.example.com', version: 'v1', kind: 'Thing', singular: 'thing', plural: 'things' } as const;
const Thing = defineModel({
  gvk,
  spec: Type.Object({ slug: Type.String() }),
  indexes: (index) => [index.single('slug', String, (thing) => thing.spec.slug, { unique: true })],
});

test('command-line: check compares the claims of a store that keeps them with the objects', async () => {
  const medium = new MapMedium();
  const logger = pino({ level: 'silent' });
  const service = await createService({ database: () => medium.open(), port: 0, auth: false, logger });
  try {
    service.schemeManager.register(Thing);
    for (const name of ['a', 'b']) await service.client.create(Thing, { metadata: { name }, spec: { slug: name } });
    const schemes = [service.schemeManager.get(gvk)];
    const store = await medium.open();
    assert.deepEqual((await checkStore(store, schemes)).problems, []);
    const model = await store.modelNumber(gvk.group, gvk.kind);
    const [claim] = (await store.claims!(model, undefined, 10)).filter(({ key }) => key === 'a');
    await store.mendClaims!(model, [{ ...claim!, hash: Buffer.from('other'), key: 'c', revision: claim!.id }], []);
    await store.mendClaims!(model, [], [{ ...claim!, revision: claim!.id }]);
    const { problems } = await checkStore(store, schemes);
    assert.deepEqual(
      problems.map(({ name, reason }) => `${name} ${reason}`),
      [
        `id ${claim!.id} takes the value "c" of the unique index "slug" and does not have it`,
        'a has the value "a" of the unique index "slug" and has not taken it',
      ],
    );
  } finally {
    await service.stop();
  }
});
