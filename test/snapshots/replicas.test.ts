/** Starts from snapshots on a database that other processes write to. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { Model } from 'kindred';
import { defineModel } from 'kindred';
import { until } from 'kindred/testing';
import { system } from '../../src/resource/access.ts';
import { databaseAdapters } from '../servers.ts';
import type { Process, ProcessOptions } from './process.ts';
import { anything, assertTrue, file, gvk, openProcess } from './process.ts';

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

    it('a process with an empty disk goes on from what another one left in the database', async () => {
      const { url, drop } = await adapter.create();
      const folder = mkdtempSync(join(tmpdir(), 'kindred-snapshots-'));
      const processes: Process[] = [];
      let ahead = 0;
      const start = async (name: string, options: Partial<ProcessOptions> = {}) => {
        const path = join(folder, name);
        const now = () => Date.now() + ahead;
        const process = await openProcess({
          url,
          path,
          now,
          ...options,
          options: { interval: 10, shared: true, ...options.options },
        });
        processes.push(process);
        return process;
      };
      const run = ({ snapshots, resources }: Process) => snapshots.start(resources.feed, () => resources.all());
      const editionOf = async ({ store }: Process) => (await store.sharedFile!(file))?.edition;
      try {
        const first = await start('a');
        for (let number = 0; number < 40; number++) await first.put(number);
        run(first);
        const edition = await until(() => editionOf(first), { what: 'the snapshot is in the database' });
        for (let number = 30; number < 50; number++) await first.put(number, 2);
        const empty = await start('b');
        assert.deepEqual([empty.start.from, empty.start.via, empty.start.replayed], ['snapshot', 'database', 20]);
        await assertTrue(empty);
        // From here on it has a file of its own.
        const again = await start('b');
        assert.deepEqual([again.start.from, again.start.via], ['snapshot', undefined]);
        assert.equal((await start('c', { code: 'code 2' })).start.from, 'build');
        assert.equal((await start('d', { options: { shared: false } })).start.from, 'build');
        // Not more often than once an hour, by whichever process.
        run(empty);
        const savedAt = () => statSync(join(folder, 'a', file)).mtimeMs;
        const before = savedAt();
        for (const number of [3, 4, 5]) await first.put(number, 7);
        await until(() => savedAt() > before, { what: 'another file' });
        await new Promise((resolve) => setTimeout(resolve, 100));
        assert.equal(await editionOf(first), edition);
        ahead = 3_600_000;
        for (const number of [3, 4, 5]) await first.put(number, 8);
        await until(async () => (await editionOf(first))! >= edition + ahead, { what: 'another one an hour later' });
        // A part that is missing or damaged.
        const { parts } = (await first.store.sharedFile!(file))!;
        const newest = (await editionOf(first))!;
        await first.store.sharePart!(file, newest, parts - 1, Buffer.from('rubbish'));
        const damaged = await start('e');
        assert.equal(damaged.start.from, 'build');
        assert(damaged.log.some(({ level, message }) => level === 'warn' && /could not be read$/.test(message)));
        await assertTrue(damaged);
        for (const { snapshots, resources } of [first, empty]) await snapshots.stop(resources.feed, []);
      } finally {
        for (const process of processes) await process.end();
        await drop();
        rmSync(folder, { recursive: true, force: true });
      }
    });

    it('a snapshot that takes long to write keeps its lease, and is left to the process that has taken it', async () => {
      const { url, drop } = await adapter.create();
      const folder = mkdtempSync(join(tmpdir(), 'kindred-snapshots-'));
      const taken: boolean[] = [];
      let ahead = 0;
      let attempts = 0;
      const process = await openProcess({
        url,
        path: join(folder, 'a'),
        now: () => Date.now() + ahead,
        options: { interval: 10, shared: true },
        onStore: (store) => {
          const { sharePart, shareFile, acquireLease } = store;
          const take = async () => {
            const lease = await acquireLease.call(store, `snapshot/${file}`, 'another', 120_000, Date.now() + ahead);
            taken.push(lease !== undefined);
          };
          store.acquireLease = (...parameters) => {
            attempts++;
            return acquireLease.apply(store, parameters);
          };
          store.sharePart = async (...parameters) => {
            await sharePart!.apply(store, parameters);
            ahead += 100_000;
            if (taken.length === 0) return;
            ahead += 100_000;
            await take();
          };
          store.shareFile = async (...parameters) => {
            ahead += 100_000;
            await take();
            await shareFile!.apply(store, parameters);
          };
        },
      });
      const { store, snapshots, resources } = process;
      const edition = async () => (await store.sharedFile!(file))?.edition;
      try {
        for (let number = 0; number < 40; number++) await process.put(number);
        snapshots.start(resources.feed, () => resources.all());
        const first = await until(edition, { what: 'the snapshot is in the database' });
        assert.deepEqual(taken, [false]);
        ahead += 3_600_000;
        for (const number of [3, 4, 5]) await process.put(number, 8);
        await until(() => taken.length > 1, { what: 'another process has taken the lease' });
        const before = attempts;
        // It looks at the lease after the part, and at the model again once it has ended.
        await until(() => attempts > before + 1, { what: 'another attempt' });
        assert.deepEqual([await edition(), taken], [first, [false, true]]);
        await snapshots.stop(resources.feed, []);
      } finally {
        await process.end();
        await drop();
        rmSync(folder, { recursive: true, force: true });
      }
    });

    it('claims are compared before a model serves only once for a declaration and its code', async () => {
      const { url, drop } = await adapter.create();
      const folder = mkdtempSync(join(tmpdir(), 'kindred-snapshots-'));
      const processes = new Set<Process>();
      const end = async (process: Process) => {
        processes.delete(process);
        await process.end();
      };
      try {
        let read: 'before' | 'while it serves' | undefined;
        let isReady = false;
        let made = 0;
        const next = async (options: Partial<ProcessOptions> = {}) => {
          read = undefined;
          isReady = false;
          const process = await openProcess({
            url,
            path: join(folder, String(made++)),
            ...options,
            onStore: (store) => {
              const { claims: inner } = store;
              store.claims = (...args) => {
                read ??= isReady ? 'while it serves' : 'before';
                return inner!.apply(store, args);
              };
            },
          });
          isReady = true;
          processes.add(process);
          assert.equal(process.start.from, 'build');
          return process;
        };
        const first = await next();
        assert.equal(read, 'before');
        for (let number = 0; number < 20; number++) await first.put(number);
        await end(first);
        const second = await next();
        await until(() => read !== undefined, { what: 'they are compared' });
        assert.equal(read, 'while it serves');
        await end(second);
        await end(await next({ code: 'code 2' }));
        assert.equal(read, 'before');
        await end(await next({ model: OlderThing }));
        const last = await next({ code: 'code 2' });
        assert.equal(read, 'before', 'another declaration has served since');
        assert.equal(await claims(last), 20);
      } finally {
        for (const process of processes) await process.end();
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
