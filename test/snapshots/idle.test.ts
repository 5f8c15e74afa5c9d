/** Models that nobody asks for leave memory, and what is told of them, asked of them and written to them stays right. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { Queries } from 'kindred';
import { system } from '../../src/resource/access.ts';
import type { Sink } from '../../src/resource/watch/events.ts';
import { until } from '../../src/testing/until.ts';
import type { Process, ProcessOptions } from './process.ts';
import { assertTrue, file, openProcess, thing } from './process.ts';

const folders: string[] = [];
after(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

const objects = 120;

interface IdleProcess extends Process {
  readonly snapshot: string;
  /** Nobody asks for the model any more. */
  leaves(): Promise<void>;
}

/** A process whose model has left memory. Time goes on only while a model is to leave. */
async function idle(options: Partial<ProcessOptions> = {}): Promise<IdleProcess> {
  const folder = mkdtempSync(join(tmpdir(), 'kindred-idle-'));
  folders.push(folder);
  const path = join(folder, 'index');
  let time = Date.now();
  const process = await openProcess({
    url: `sqlite:${join(folder, 'things.db')}`,
    path,
    now: () => time,
    ...options,
    options: { interval: 10, idleAfter: 1_000, minChanges: 100, ...options.options },
  });
  await Promise.all(Array.from({ length: objects }, (_, number) => process.put(number)));
  process.snapshots.start(process.resources.feed, () => process.resources.all());
  const leaves = () =>
    until(() => {
      time += 1_000;
      return process.resource.memory.isIdle;
    }).then(() => {});
  await leaves();
  return { ...process, snapshot: join(path, file), leaves };
}

/** As a client does: asks again when the indexes take longer than a request waits, on a machine that is busy. */
async function asked<T>(ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'NotReady') throw error;
      await setImmediate();
    }
  }
}

const ended = async (process: Process) => {
  await process.save();
  await process.end();
};

test('a model that nobody asks for leaves memory, and is there again for whoever asks', async () => {
  const process = await idle();
  const { resource } = process;
  assert.equal(resource.memory.index.limit, 0);
  assert.deepEqual([resource.size, resource.memory.state().state], [objects, 'idle']);
  // Many at the same time are one reading.
  const [one, list, count, names] = await Promise.all([
    asked(async () => resource.get('thing-7')),
    asked(async () => resource.list({ where: Queries.equal('spec.slug', 'slug-9'), sort: [], page: 1, size: 10 })),
    asked(() => resource.count({ where: Queries.all() })),
    asked(() => resource.names({ where: Queries.equal('spec.slug', 'slug-11'), sort: [] })),
  ]);
  assert.equal(one.stored.name, 'thing-7');
  assert.deepEqual([list.total, count, names], [1, objects, ['thing-11']]);
  assert.equal(resource.memory.state().start!.from, 'snapshot');
  assert.equal(process.log.filter(({ message }) => message === 'Indexes read from a snapshot').length, 1);
  await assertTrue(process);
  await ended(process);
});

for (const [what, ask] of [
  ['an update', (p: Process) => p.resource.update('thing-1', { ...thing(1, 3) }, { caller: system })],
  ['a patch', (p: Process) => p.resource.patch('thing-1', { spec: { size: 5 } }, { caller: system, kind: 'merge' })],
  ['a deletion', (p: Process) => p.resource.delete('thing-1', { caller: system })],
  ['a creation', (p: Process) => p.resource.create(thing(700), { caller: system })],
  ['an export', async (p: Process) => (await p.resource.export({ where: Queries.all(), sort: [] })).close()],
  ['values', async (p: Process) => p.resource.values({ index: 'spec.slug', limit: 5 })],
  ['an explanation', async (p: Process) => p.resource.explain({ where: Queries.all(), sort: [], page: 1, size: 1 })],
  ['a window', (p: Process) => p.resource.window({ where: Queries.all(), sort: [], page: 1, size: 5 }, () => [0])],
] as const) {
  test(`${what} reads an idle model again`, async () => {
    const process = await idle();
    await asked(async () => ask(process));
    await assertTrue(process);
    await ended(process);
  });
}

test('a unique value that an idle model has stays taken', async () => {
  const process = await idle();
  const { resource } = process;
  const twin = { ...thing(900), spec: { ...thing(900).spec, slug: 'slug-5' } };
  await assert.rejects(
    asked(() => resource.create(twin, { caller: system })),
    { code: 'UniqueViolation' },
  );
  await ended(process);
});

test('a watch of an idle model goes on, and one that begins reads nothing', async () => {
  const process = await idle();
  const { resource, resources } = process;
  const events: string[] = [];
  const sink: Sink = {
    isBehind: false,
    isFull: false,
    drained: async () => {},
    event: (event) => {
      if (event.type !== 'BOOKMARK') events.push(`${event.type} ${event.change!.name}`);
    },
    end: (error) => void events.push(error.code),
  };
  const watch = await resources.watches.open(
    resource,
    { where: Queries.equal('spec.slug', 'slug-new'), sort: [], since: resources.feed.applied, identity: 'test' },
    sink,
  );
  watch.start();
  assert(resource.memory.isIdle, 'a watch alone needs no index');
  await asked(() =>
    resource.create({ ...thing(800), spec: { ...thing(800).spec, slug: 'slug-new' } }, { caller: system }),
  );
  await until(() => events.length === 1);
  assert.equal(events[0], 'ADDED thing-800');
  watch.close();
  await ended(process);
});

test('what changes while a model is idle is counted, and its owners are known', async () => {
  const process = await idle();
  const { resource, resources, store } = process;
  // Another process writes: here the store itself, of which the feed learns.
  const time = Date.now();
  const model = resource.memory.number;
  const row = (number: number) =>
    Buffer.from(JSON.stringify({ apiVersion: 'snap.example.com/v1', kind: 'Thing', ...thing(number) }));
  await store.commit([{ type: 'create', model, name: 'thing-605', bytes: row(605) }], time);
  await store.commit([{ type: 'create', model, name: 'thing-606', bytes: row(606) }], time);
  const known = (await asked(async () => resource.get('thing-2'))).stored;
  await process.leaves();
  await store.commit(
    [
      {
        type: 'delete',
        model,
        name: 'thing-2',
        bytes: known.bytes,
        expected: { id: known.id, revision: known.revision },
      },
    ],
    time,
  );
  await store.commit([{ type: 'create', model, name: 'thing-611', bytes: row(611) }], time);
  await resources.feed.newest();
  assert(resource.memory.isIdle);
  assert.equal(resource.size, objects + 2);
  const owner = thing(611).metadata.ownerReferences![0]!.uid;
  assert([...resource.memory.index.dependents.of(owner)].includes('thing-611'));
  await asked(async () => resource.get('thing-611'));
  await assert.rejects(async () => resource.get('thing-2'), { code: 'NotFound' });
  await assertTrue(process);
  await ended(process);
});

test('an idle model without its snapshot is built', async () => {
  const process = await idle();
  rmSync(process.snapshot);
  await asked(async () => process.resource.get('thing-7'));
  assert.equal(process.resource.memory.state().start!.from, 'build');
  await assertTrue(process);
  await ended(process);
});

test('a snapshot is written again before the log no longer reaches back to it', async () => {
  const process = await idle({ keptChanges: 400 });
  const { store, resources, resource, snapshot } = process;
  const before = statSync(snapshot).mtimeMs;
  const other = await store.modelNumber('snap.example.com', 'Other');
  for (let i = 0; i < 300; i++)
    await store.commit([{ type: 'create', model: other, name: `other-${i}`, bytes: Buffer.from('{}') }], Date.now());
  await resources.feed.newest();
  await until(() => existsSync(snapshot) && statSync(snapshot).mtimeMs > before);
  await process.leaves();
  await store.compact(250, Date.now() + 1_000);
  await asked(async () => resource.get('thing-7'));
  assert.equal(resource.memory.state().start!.from, 'snapshot');
  await assertTrue(process);
  await ended(process);
});

test('a model in use, a small one, and any without the option stay', async () => {
  for (const options of [{ idleAfter: 0 }, { minObjects: 20 }]) {
    const folder = mkdtempSync(join(tmpdir(), 'kindred-idle-'));
    folders.push(folder);
    const process = await openProcess({
      url: `sqlite:${join(folder, 'things.db')}`,
      path: join(folder, 'index'),
      options: { interval: 5, idleAfter: 1, ...options },
    });
    for (let number = 0; number < objects; number++) await process.put(number);
    process.snapshots.start(process.resources.feed, () => process.resources.all());
    await until(() => existsSync(join(folder, 'index', file)));
    await new Promise((resolve) => setTimeout(resolve, 100));
    assert(process.resource.isReady);
    await ended(process);
  }
});
