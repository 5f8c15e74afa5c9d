/** Starts from snapshots on a database that other processes write to. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { Model } from 'kindred';
import { defineModel } from 'kindred';
import { until } from 'kindred/testing';
import { system } from '../../src/resource/access.ts';
import { databaseAdapters } from '../servers.ts';
import type { Process } from './process.ts';
import { anything, assertTrue, gvk, openProcess } from './process.ts';

/** As it was before its index was unique. */
const OlderThing = defineModel({
  gvk,
  spec: anything,
  indexes: (index) => [index.single('spec.slug', String, (thing: any) => thing.spec.slug)],
}) as unknown as Model<any>;

const claims = async ({ store, resource }: Process): Promise<number> =>
  (await store.claims!(resource.memory.number, undefined, 10_000)).length;

for (const adapter of databaseAdapters().filter(({ kind }) => kind !== 'sqlite')) {
  describe(`snapshots on ${adapter.name}`, () => {
    it('a replica goes on from a snapshot and what all of them wrote since, and keeps unique values unique', async () => {
      const { url, drop } = await adapter.create();
      const folder = mkdtempSync(join(tmpdir(), 'kindred-snapshots-'));
      const [path, none] = [join(folder, 'a'), join(folder, 'b')];
      try {
        const first = await openProcess({ url, path });
        for (let number = 0; number < 40; number++) await first.put(number);
        await first.save();
        const beside = await openProcess({ url, path: none });
        for (let number = 30; number < 60; number++) await beside.put(number, 2).catch(() => {});
        for (let number = 1; number < 60; number += 11) await beside.remove(number);
        await first.end();

        const second = await openProcess({ url, path });
        assert.deepEqual([second.start.from, second.start.replayed > 0], ['snapshot', true]);
        await assertTrue(second);
        const taken = { metadata: { name: 'again' }, spec: { slug: 'slug-2' } };
        await assert.rejects(second.resource.create(taken, { caller: system }), { code: 'UniqueViolation' });
        for (let number = 100; number < 120; number++) await (number % 2 ? second : beside).put(number);
        await assertTrue(second);
        await assertTrue(beside);
        for (const process of [second, beside]) await process.end();
      } finally {
        await drop();
        rmSync(folder, { recursive: true, force: true });
      }
    });

    it('claims that a replica with another declaration took away are made again', async () => {
      const { url, drop } = await adapter.create();
      const folder = mkdtempSync(join(tmpdir(), 'kindred-snapshots-'));
      const [path, none] = [join(folder, 'a'), join(folder, 'b')];
      try {
        const first = await openProcess({ url, path });
        for (let number = 0; number < 20; number++) await first.put(number);
        await first.save();
        await first.end();
        const older = await openProcess({ url, path: none, model: OlderThing });
        assert.equal(await claims(older), 0);
        await older.put(50);
        await older.end();
        const second = await openProcess({ url, path });
        assert.equal(second.start.from, 'snapshot');
        await until(async () => (await claims(second)) === 21, { what: 'every unique value is claimed' });
        const taken = { metadata: { name: 'again' }, spec: { slug: 'slug-50' } };
        await assert.rejects(second.resource.create(taken, { caller: system }), { code: 'UniqueViolation' });
        await second.end();
      } finally {
        await drop();
        rmSync(folder, { recursive: true, force: true });
      }
    });
  });
}
