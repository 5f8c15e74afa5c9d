import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Type } from 'typebox';
import { KindredError } from '../errors.ts';
import { defineModel } from '../model/define.ts';
import { SchemeRegistry } from '../model/registry.ts';
import type { ExtensionClient } from '../resource/extension-client.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { roleKeys } from './authorization/keys.ts';
import { Templates } from './templates.ts';

const modelOf = (kind: string) => {
  const plural = `${kind.toLowerCase()}s`;
  return defineModel({
    gvk: { group: 'demo.example.com', version: 'v1', kind, singular: kind.toLowerCase(), plural },
    spec: Type.Object({}),
  });
};

test('a database that is unavailable for role templates is logged once, and once when they are stored', async () => {
  const registry = new SchemeRegistry({ reservedDomain: 'platform.run', warn: () => undefined });
  registry.register(modelOf('Book'), undefined, 'library');
  const clock = new FakeClock();
  const told: string[] = [];
  const stored = new Set<string>();
  let isAway = true;
  let attempts = 0;
  const client = {
    async fetch() {
      attempts++;
      if (isAway) throw new KindredError('NotReady', { en: 'away', zh: 'away' });
      return undefined;
    },
    async create(_: unknown, { metadata }: { metadata: { name: string } }) {
      stored.add(metadata.name);
    },
  } as unknown as ExtensionClient;
  const templates = new Templates({
    keys: roleKeys('platform.run'),
    registry,
    client,
    timers: clock,
    logger: { warn: (_, message) => told.push(message) },
  });
  registry.register(modelOf('Shelf'), undefined, 'library');
  for (let second = 0; second < 5; second++) await clock.advance(1_000);
  assert.ok(attempts >= 10, `${attempts} attempts`);
  assert.deepEqual(told, ['The role templates cannot be stored at the moment; trying until they can']);
  isAway = false;
  await clock.advance(1_000);
  await templates.tried();
  assert.equal(stored.size, 4);
  assert.deepEqual(told.slice(1), ['The role templates are stored']);
  await templates.stop();
});
