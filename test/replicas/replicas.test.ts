import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { createService } from 'kindred';
import { until } from 'kindred/testing';
import pino from 'pino';
import { openStore } from '../../src/store/open.ts';
import type { TestDatabase } from '../servers.ts';
import { databaseAdapters } from '../servers.ts';
import { atEnd, call, cleanUp, create, NextNote, Note, notes, replica, watch } from './notes.ts';
import { startProxy } from './proxy.ts';

afterEach(cleanUp);

/** A read of a replica that cannot reach its database: longer than the promised 2 s by what a busy machine adds. */
const readLimit = 2_000 + 1_500;

for (const adapter of databaseAdapters().filter(({ kind }) => kind !== 'sqlite')) {
  describe(`replicas over ${adapter.name}`, () => {
    async function database(): Promise<TestDatabase> {
      const made = await adapter.create();
      atEnd(() => made.drop());
      return made;
    }

    it('api: a read at any replica reflects every write acknowledged anywhere before it was sent', async () => {
      const { url } = await database();
      const all = await Promise.all([replica(url), replica(url), replica(url)]);
      for (let i = 0; i < 60; i++) {
        const made = await create(all[i % 3]!, `n${i}`, { text: `t${i}` });
        assert.equal(made.status, 201);
        const reads = await Promise.all([
          call(all[(i + 1) % 3]!, `${notes}/n${i}`),
          call(all[(i + 2) % 3]!, `${notes}?fieldSelector=name=n${i}`),
        ]);
        assert.deepEqual([reads[0].status, reads[1].body.total], [200, 1]);
        for (const read of reads) assert.ok(read.revision >= made.revision);
      }
    });

    it('api: a replica that the database does not answer says 503 within 2 s, /readyz too, and goes on by itself', async () => {
      const { url } = await database();
      const proxy = await startProxy(url);
      atEnd(() => proxy.close());
      const [near, far] = [await replica(url), await replica(proxy.url)];
      assert.equal((await create(far, 'a', { text: 'one' })).status, 201);
      for (const harm of ['cut', 'freeze'] as const) {
        proxy[harm]();
        const reads = await Promise.all(
          [`${notes}/a`, notes, `${notes}/nothing`].map(async (path) => {
            const first = await call(far, path);
            return [first, await call(far, path)];
          }),
        );
        for (const read of reads.flat()) {
          assert.deepEqual([read.status, read.body.code], [503, 'NotReady'], harm);
          assert.ok(read.ms < readLimit, `${harm}: ${read.ms} ms`);
        }
        const health = await until(
          async () => {
            const answer = await call(far, '/readyz');
            return answer.status === 503 ? answer : undefined;
          },
          { what: `${harm}: /readyz says 503` },
        );
        assert.equal(health.body.code, 'NotReady');
        assert.equal(far.service.readiness().status, 'unavailable');
        assert.equal((await call(far, '/livez')).status, 200);
        assert.equal((await call(near, '/readyz')).status, 200);
        const during = await create(near, `during-${harm}`, { text: 'two' });
        assert.equal(during.status, 201);
        proxy.heal();
        await until(async () => (await call(far, '/readyz')).status === 200, { timeout: 15_000, what: 'ready again' });
        assert.equal((await call(far, `${notes}/during-${harm}`)).status, 200);
        const written = await until(
          async () => {
            const answer = await create(far, `after-${harm}`, { text: 'three' });
            return answer.status !== 503 ? answer : undefined;
          },
          { timeout: 15_000 },
        );
        assert.equal(written.status, 201);
      }
    });

    it('command-line: a database that is away while the service starts delays the start; /readyz says 503 meanwhile', async () => {
      const { url } = await database();
      const proxy = await startProxy(url);
      atEnd(() => proxy.close());
      const logger = pino({ level: 'silent' });
      const service = await createService({ database: proxy.url, port: 0, auth: false, logger });
      atEnd(() => service.stop());
      service.schemeManager.register(Note);
      proxy.cut();
      let isStarted = false;
      const starting = service.start().then((started) => {
        isStarted = true;
        return started;
      });
      await until(() => service.readiness().models.some(({ state }) => state === 'building'));
      const tried = proxy.refused;
      await until(() => proxy.refused >= tried + 5, { what: 'the start goes on trying' });
      assert.deepEqual([isStarted, service.readiness().status], [false, 'starting']);
      proxy.heal();
      const started = { service, url: (await starting).url };
      assert.equal((await create(started, 'a', { text: 'x' })).status, 201);
    });

    it('watch: a watch hears of writes at another replica when the notices of the database are lost', async () => {
      const { url } = await database();
      const proxy = await startProxy(url);
      atEnd(() => proxy.close());
      const [near, far] = [await replica(url), await replica(proxy.url)];
      const response = await fetch(`${far.url}${notes}?watch=true`);
      const reader = response.body!.getReader();
      await create(near, 'first', { text: 'x' });
      assert.match(Buffer.from((await reader.read()).value!).toString(), /"ADDED".*"first"/);
      proxy.cut();
      await create(near, 'second', { text: 'x' });
      proxy.heal();
      assert.match(Buffer.from((await reader.read()).value!).toString(), /"ADDED".*"second"/);
      await reader.cancel();
    });

    it('watch: a replica behind the compacted log reads all again: no read of an empty index, watches end with Expired', async () => {
      const { url } = await database();
      const proxy = await startProxy(url);
      atEnd(() => proxy.close());
      const changeLog = { maxCount: 5, maxAge: 0 };
      const [near, far] = [await replica(url), await replica(proxy.url)];
      const first = await create(near, 'kept', { text: 'x' });
      await until(() => call(far, `${notes}/kept`).then(({ status }) => status === 200));
      const told = await watch(far);
      // It has joined: what is written from here on comes live.
      await create(far, 'joined', { text: 'x' });
      await until(() => call(near, `${notes}/joined`).then(({ status }) => status === 200));
      // Frozen, not cut: the watch must hear nothing of the writes before the log is gone.
      proxy.freeze();
      for (let i = 0; i < 20; i++) assert.equal((await create(near, `n${i}`, { text: `${i}` })).status, 201);
      const store = await openStore(url);
      try {
        while ((await store.compact(changeLog.maxCount, Date.now() + 60_000)) > 0);
        assert.ok((await store.oldest()) > first.revision);
      } finally {
        await store.close();
      }
      let reading = true;
      const statuses = new Set<string>();
      const readers = Array.from({ length: 4 }, async () => {
        while (reading) {
          const one = await call(far, `${notes}/kept`);
          const list = await call(far, notes);
          statuses
            .add(String(one.status))
            .add(list.status === 200 ? `total ${list.body.total}` : `list ${list.status}`);
        }
      });
      proxy.heal();
      await until(async () => (await call(far, `${notes}/n19`)).status === 200, { timeout: 20_000 });
      reading = false;
      await Promise.all(readers);
      for (const status of statuses) assert.ok(['200', '503', 'total 22', 'list 503'].includes(status), status);
      const expired = await call(far, `${notes}?watch=true&since=${first.revision}`);
      assert.deepEqual([expired.status, expired.body.code], [410, 'Expired']);
      assert.equal((await told()).at(-1)?.error?.code, 'Expired');
    });

    it('watch: the service compacts the log to the newest changes and the young ones', async () => {
      const { url } = await database();
      const one = await replica(url, { changeLog: { maxCount: 10, maxAge: 0 } });
      const first = await create(one, 'n0', { text: 'x' });
      for (let i = 1; i < 40; i++) await create(one, `n${i}`, { text: 'x' });
      const store = await openStore(url);
      try {
        await until(async () => (await store.oldest()) === (await store.revision()) - 10, { timeout: 30_000 });
      } finally {
        await store.close();
      }
      const expired = await call(one, `${notes}?watch=true&since=${first.revision}`);
      assert.deepEqual([expired.status, expired.body.code], [410, 'Expired']);
    });

    it('queries: a replica that starts while others write takes no unique value from what they write', async () => {
      const { url } = await database();
      const one = await replica(url);
      let going = true;
      let made = 0;
      const writing = Array.from({ length: 4 }, async (_, client) => {
        for (let i = 0; going; i++) {
          const name = `c${client}-${i}`;
          assert.equal((await create(one, name, { text: name, code: name })).status, 201);
          await call(one, `${notes}/${name}`, { method: 'PUT', json: { spec: { text: name, code: `${name}-new` } } });
          made++;
        }
      });
      for (let i = 0; i < 4; i++) {
        const late = await replica(url);
        await late.service.stop();
      }
      going = false;
      await Promise.all(writing);
      const store = await openStore(url);
      try {
        const model = (await store.models()).find(({ kind }) => kind === 'Note')!.number;
        const keys = new Set<string>();
        for (let after: Uint8Array | undefined; ; ) {
          const page = await store.claims!(model, after, 500);
          if (page.length === 0) break;
          for (const { key } of page) keys.add(key);
          after = page.at(-1)!.hash;
        }
        assert.equal(keys.size, made);
        assert.ok([...keys].every((key) => key.endsWith('-new')));
      } finally {
        await store.close();
      }
    });

    it('queries: another version of the model with another unique index: its claims are made and the old ones go', async () => {
      const { url } = await database();
      const one = await replica(url);
      await create(one, 'a', { text: 'same', code: '1' });
      await create(one, 'b', { text: 'other', code: '2' });
      await one.service.stop();
      const next = await replica(url, {}, NextNote);
      const taken = await create(next, 'c', { text: 'same', code: '9' });
      assert.deepEqual([taken.status, taken.body.code], [409, 'UniqueViolation']);
      assert.equal((await create(next, 'd', { text: 'new', code: '1' })).status, 201);
    });

    it('command-line: revisions and identities beyond 2^32 after a restore, replicas and old watches go on from there', async () => {
      const { url } = await database();
      const [one, two] = [await replica(url), await replica(url)];
      const before = await create(one, 'a', { text: 'x', code: '1' });
      const store = await openStore(url);
      try {
        assert.ok((await store.jump()) > 2 ** 40);
      } finally {
        await store.close();
      }
      const made = await until(async () => {
        const answer = await create(two, 'b', { text: 'y', code: '2' });
        return answer.status === 201 ? answer : undefined;
      });
      assert.ok(made.revision > 2 ** 40);
      const read = await until(async () => {
        const answer = await call(one, `${notes}/b`);
        return answer.status === 200 ? answer : undefined;
      });
      assert.ok(read.revision >= made.revision);
      for (const at of [one, two]) {
        // A replica answers 503 while it reads everything anew.
        const list = await until(async () => {
          const answer = await call(at, `${notes}?fieldSelector=spec.code=2`);
          return answer.status === 503 ? undefined : answer;
        });
        assert.deepEqual([list.status, list.body.total], [200, 1]);
        const old = await call(at, `${notes}?watch=true&since=${before.revision}`);
        assert.deepEqual([old.status, old.body.code], [410, 'Expired']);
      }
      const changed = await call(one, `${notes}/b`, { method: 'PUT', json: { spec: { text: 'z' } } });
      assert.equal(changed.status, 200);
      assert.deepEqual((await call(two, `${notes}/b`)).body.spec, { text: 'z' });
      assert.equal((await call(two, `${notes}/b`, { method: 'DELETE' })).status, 200);
      assert.equal((await call(one, `${notes}/b`)).status, 404);
    });

    it('api: exports that nobody reads do not hold the reads of a replica up; one too many is 503', async () => {
      const { url } = await database();
      const one = await replica(url);
      // More than the sockets take, so that the exports stay open.
      const text = 'x'.repeat(900_000);
      for (let i = 0; i < 10; i++) assert.equal((await create(one, `n${i}`, { text })).status, 201);
      const headers = { accept: 'application/x-ndjson' };
      const exporting = await Promise.all(Array.from({ length: 14 }, () => fetch(one.url + notes, { headers })));
      assert.equal((await call(one, `${notes}/n0`)).status, 200);
      assert.equal((await create(one, 'next', { text: 'y' })).status, 201);
      const statuses = exporting.map(({ status }) => status).sort();
      assert.deepEqual([statuses[0], statuses.at(-1)], [200, 503]);
      const refused = exporting.find(({ status }) => status === 503)!;
      assert.equal(((await refused.json()) as { code: string }).code, 'NotReady');
      const [whole, ...others] = exporting.filter(({ status }) => status === 200);
      assert.equal((await whole!.text()).trimEnd().split('\n').length, 10);
      for (const response of others) await response.body!.cancel();
      const again = await until(async () => {
        const response = await fetch(one.url + notes, { headers });
        return response.status === 200 ? response : void (await response.body!.cancel());
      });
      assert.equal((await again.text()).trimEnd().split('\n').length, 11);
    });

    it('permissions: three replicas that start at once on an empty database give one administrator token', async () => {
      const { url } = await database();
      const logger = pino({ level: 'silent' });
      const services = await Promise.all([0, 1, 2].map(() => createService({ database: url, port: 0, logger })));
      for (const service of services) atEnd(() => service.stop());
      const started = await Promise.all(services.map((service) => service.start()));
      const tokens = started.flatMap(({ administratorToken }) => administratorToken ?? []);
      assert.equal(tokens.length, 1);
      for (const { url: address } of started) {
        const headers = { authorization: `Bearer ${tokens[0]}` };
        assert.equal((await fetch(`${address}/api/v1alpha1/users`, { headers })).status, 200);
      }
    });
  });
}
