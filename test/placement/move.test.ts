/** Objects that move to another store (src/resource/move.ts). */
import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { definePlugin } from 'kindred';
import { until } from 'kindred/testing';
import pino from 'pino';
import { move } from '../../src/maintenance.ts';
import type { TestDatabase } from '../servers.ts';
import { databaseAdapters } from '../servers.ts';
import type { Databases, Running } from './kit.ts';
import {
  atEnd,
  call,
  cleanUp,
  databases,
  makeReading,
  moving,
  placed,
  Reading,
  readings,
  rule,
  running,
  stopMove,
  unplaced,
} from './kit.ts';

afterEach(cleanUp);

const { model } = rule;

/** The name of the store in which a service takes the readings to be. */
async function storeOf(service: Running): Promise<string> {
  const { models } = (await call(service, '/readyz')).body as { models: { kind: string; store: string }[] };
  return models.find(({ kind }) => kind === 'Reading')!.store;
}

/** Names and values in one database, with how many unique values are taken; undefined where the store keeps none. */
async function content(database: TestDatabase): Promise<{ objects: Record<string, unknown>; claims?: number }> {
  const store = await database.open();
  try {
    const number = await store.modelNumber('telemetry.example.com', 'Reading');
    const rows = await store.scan(number, 0, 1_000);
    const objects = Object.fromEntries(
      rows.map(({ name, bytes }) => [name, JSON.parse(Buffer.from(bytes).toString()).spec.value]),
    );
    const claims = (await store.claims?.(number, undefined, 1_000))?.length;
    return { objects, ...(claims !== undefined && { claims }) };
  } finally {
    await store.close();
  }
}

async function withReadings(both: Databases, count: number): Promise<Running> {
  const service = await running(unplaced(both));
  for (let i = 0; i < count; i++) {
    const body = { metadata: { name: `r${i}` }, spec: { sensor: `s${i}`, value: i } };
    assert.equal((await call(service, readings, 'POST', body)).status, 201);
  }
  return service;
}

for (const adapter of databaseAdapters()) {
  const hasClaims = adapter.kind !== 'sqlite';

  describe(`objects that move to another store, each ${adapter.name}`, () => {
    it('a plugin takes over a model that had no contract when it was moved', async () => {
      const both = await databases(adapter);
      await (await withReadings(both, 3)).stop();
      await move({ ...moving(both), to: 'telemetry' });
      const plugin = definePlugin({ start: ({ schemeManager }) => void schemeManager.register(Reading) });
      const service = await running({ ...placed(both), plugins: [{ name: 'telemetry', plugin }] }, []);
      assert.equal((await call(service, readings)).body.total, 3);
      assert.equal((await makeReading(service, 'new')).status, 201);
    });

    it('they are there with their unique values, and nowhere else; and back again', async () => {
      const both = await databases(adapter);
      const before = await withReadings(both, 30);
      await before.stop();
      const there = { ...(await content(both.main)) };
      const result = await move({ ...moving(both), to: 'telemetry' });
      assert.deepEqual(
        [result.from, result.objects, result.claims, result.wasThere],
        ['default', 30, hasClaims ? 30 : 0, false],
      );
      assert.deepEqual(await content(both.telemetry), there);
      assert.deepEqual(await content(both.main), { objects: {}, ...(hasClaims && { claims: 0 }) });
      let service = await running(placed(both));
      assert.equal((await call(service, readings)).body.total, 30);
      assert.equal((await makeReading(service, 'other', 's3')).body.code, 'UniqueViolation');
      assert.equal((await makeReading(service, 'new')).status, 201);
      await service.stop();
      await assert.rejects(running({ ...placed(both), placement: [{ model, store: 'default' }] }), {
        message: `Reading is placed in "default", its objects are in the store "telemetry": kindred model move ${model} --to default`,
      });
      assert.equal((await move({ ...moving(both), to: 'telemetry' })).wasThere, true);
      assert.equal((await move({ ...moving(both), to: 'default' })).objects, 31);
      service = await running(unplaced(both));
      assert.equal((await call(service, readings)).body.total, 31);
      assert.equal((await makeReading(service, 'newer')).status, 201);
    });

    it('a move that stopped anywhere goes on, or is given up', async () => {
      const both = await databases(adapter);
      await (await withReadings(both, 40)).stop();
      const whole = await content(both.main);
      await stopMove(both, 'copy');
      await stopMove(both, 'follow');
      await assert.rejects(
        move({ ...moving(both), model: 'sites.plants.example.com', to: 'nowhere' }),
        /no store "nowhere"/,
      );
      await stopMove(both, 'sealed');
      // It is read, and not changed.
      let service = await running(placed(both));
      assert.equal((await call(service, readings)).body.total, 40);
      const refused = await makeReading(service, 'late');
      assert.deepEqual([refused.status, refused.body.code], [503, 'NotReady'], JSON.stringify(refused.body));
      await service.stop();
      assert.equal((await move({ ...moving(both), to: 'default' })).objects, 40);
      assert.deepEqual(await content(both.main), whole);
      assert.deepEqual(await content(both.telemetry), { objects: {}, ...(hasClaims && { claims: 0 }) });
      service = await running(unplaced(both));
      assert.equal((await call(service, `${readings}/r0`, 'DELETE')).status, 200);
      await service.stop();
      await stopMove(both, 'sealed');
      await stopMove(both, 'remove');
      service = await running(placed(both));
      assert.equal((await call(service, readings)).body.total, 39);
      assert.equal((await makeReading(service, 'during')).status, 201);
      await service.stop();
      assert.equal((await move({ ...moving(both), to: 'telemetry' })).objects, 40);
      assert.deepEqual((await content(both.main)).objects, {});
      assert.equal(Object.keys((await content(both.telemetry)).objects).length, 40);
    });

    it('a model that nobody knows, or with objects of no move in the target, is refused', async () => {
      const both = await databases(adapter);
      await (await withReadings(both, 1)).stop();
      const store = await both.telemetry.open();
      const number = await store.modelNumber('telemetry.example.com', 'Reading');
      await store.commit([{ type: 'create', model: number, name: 'stray', bytes: Buffer.from('{}') }], 1);
      await store.close();
      await assert.rejects(move({ ...moving(both), to: 'telemetry' }), /has objects of the model that are of no move/);
      await assert.rejects(
        move({ ...moving(both), model: 'x.unknown.example.com', to: 'telemetry' }),
        /no store has a model/,
      );
    });

    if (adapter.kind === 'sqlite') return;

    it('replicas serve meanwhile: reads go on, every acknowledged write is there, watches list again, and nobody else can move them', async () => {
      const both = await databases(adapter);
      await (await withReadings(both, 200)).stop();
      const said: string[][] = [[], []];
      const loggerOf = (lines: string[]) =>
        pino({ base: null }, { write: (line: string) => void lines.push(JSON.parse(line).msg) });
      const [first, second] = (await Promise.all(
        said.map((lines) => running({ ...unplaced(both), logger: loggerOf(lines) })),
      )) as [Running, Running];
      const abort = new AbortController();
      atEnd(async () => abort.abort());
      const watch = await fetch(`${second.url}${readings}?watch=true`, { signal: abort.signal });
      const told = watch.text();
      const values = new Map<string, number>();
      let isMoving = true;
      const write = async (service: Running, number: number): Promise<void> => {
        for (let i = 0; isMoving; i++) {
          const name = `r${(i * 7 + number) % 100}`;
          if (number !== Number(name.slice(1)) % 4) continue;
          const value = number * 1_000_000 + i;
          const answer = await call(service, `${readings}/${name}`, 'PUT', {
            metadata: { name },
            spec: { sensor: `s${name.slice(1)}`, value },
          });
          if (answer.status === 200) values.set(name, value);
          else assert.equal(answer.status, 503, JSON.stringify(answer.body));
        }
      };
      const writing = [0, 1, 2, 3].map((number) => write(number % 2 === 0 ? first : second, number));
      /** Every one finds everything. @returns how many there were */
      const read = async (service: Running): Promise<number> => {
        for (let count = 0; ; count++) {
          if (!isMoving) return count;
          const list = await call(service, readings);
          assert.deepEqual([list.status, list.body.total], [200, 200], JSON.stringify(list.body));
          const one = await call(service, `${readings}/r${count % 200}`);
          assert.equal(one.status, 200, JSON.stringify(one.body));
        }
      };
      const reading = [first, second].map(read);
      await until(() => values.size > 20);
      let refusal: Promise<void> | undefined;
      const { objects, claims } = await move({
        ...moving(both),
        to: 'telemetry',
        onProgress: ({ step }) => {
          if (step !== 'copy') return;
          refusal ??= assert.rejects(move({ ...moving(both), to: 'telemetry' }), /another process is moving/);
        },
        attempt: async (call) => {
          await refusal;
          return call();
        },
      });
      assert.ok(refusal);
      const count = values.size;
      await until(() => values.size >= count);
      isMoving = false;
      await Promise.all(writing);
      for (const reads of await Promise.all(reading)) assert.ok(reads > 5);
      for (const lines of said)
        assert.ok(lines.includes('Indexes were built while the objects moved'), lines.join('\n'));
      assert.deepEqual([objects, claims], [200, 200]);
      const { objects: stored } = await content(both.telemetry);
      for (const [name, value] of values) assert.equal(stored[name], value, name);
      assert.deepEqual(await content(both.main), { objects: {}, claims: 0 });
      for (const service of [first, second]) {
        assert.equal((await call(service, readings)).body.total, 200);
        assert.equal(await storeOf(service), 'telemetry');
      }
      const last = (await told).trimEnd().split('\n').at(-1)!;
      assert.deepEqual([JSON.parse(last).type, JSON.parse(last).error.code], ['ERROR', 'Expired']);
    });

    it('a replica that has not heard of the move yet shows what was written after it, and compares with that', async () => {
      const both = await databases(adapter);
      await (await withReadings(both, 20)).stop();
      await move({ ...moving(both), to: 'telemetry' });
      const first = await running(placed(both));
      // It gets no notifications: it learns the newest revision from a read, or twice a second.
      const withoutNotifications = async () => {
        const store = await both.main.open();
        return new Proxy(store, {
          get(target, name: keyof typeof store) {
            if (name === 'onCommit') return () => () => undefined;
            const value = target[name] as unknown;
            return typeof value === 'function' ? value.bind(target) : value;
          },
        });
      };
      const [second, third] = await Promise.all([
        running({ ...placed(both), database: withoutNotifications }),
        running({ ...placed(both), database: withoutNotifications }),
      ]);
      const whole = move({ ...moving(both), to: 'default', settling: 2_000 });
      await until(async () => (await storeOf(first)) === 'default', { interval: 2 });
      const body = { metadata: { name: 'r7' }, spec: { sensor: 's7', value: 777 } };
      await until(async () => (await call(first, `${readings}/r7`, 'PUT', body)).status === 200, { interval: 2 });
      const [read, { status, body: written }] = await Promise.all([
        call(second, `${readings}/r7`),
        call(third, `${readings}/r7`, 'PUT', { ...body, metadata: { name: 'r7', version: 1 } }),
      ]);
      assert.equal(read.body.spec.value, 777);
      // What it has itself is version 0.
      assert.ok(status === 200 || status === 503, JSON.stringify(written));
      await whole;
    });
  });
}
