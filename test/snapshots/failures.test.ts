/** A snapshot is used when it is certainly true, and otherwise the indexes are built: every way in which it can be wrong. */
import assert from 'node:assert/strict';
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, mock, test } from 'node:test';
import type { Model } from 'kindred';
import { defineModel } from 'kindred';
import { ModelIndex } from '../../src/indexes/model-index.ts';
import { system } from '../../src/resource/access.ts';
import type { SnapshotContent } from '../../src/resource/restore.ts';
import { decode, encode } from '../../src/snapshots/format.ts';
import { openStore } from '../../src/store/open.ts';
import { afterRestore } from '../../src/store/sqlite/backup.ts';
import type { Process, ProcessOptions } from './process.ts';
import { anything, assertTrue, file, gvk, openProcess } from './process.ts';

const folders: string[] = [];
after(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

interface World extends ProcessOptions {
  readonly folder: string;
  readonly database: string;
  /** The file of the snapshot. */
  readonly snapshot: string;
}

function emptyWorld(): World {
  const folder = mkdtempSync(join(tmpdir(), 'kindred-snapshots-'));
  folders.push(folder);
  const database = join(folder, 'things.db');
  const path = join(folder, 'index');
  return { folder, database, path, url: `sqlite:${database}`, snapshot: join(path, file) };
}

const objects = 120;
/** Numbers of objects that are there and not being deleted. */
const free = [1, 2, 3, 5, 6, 7, 8, 10, 11, 12, 13, 14];

/** A database with objects, some of them changed and deleted, and a snapshot of them. */
async function world(): Promise<World> {
  const made = emptyWorld();
  const first = await openProcess(made);
  for (let number = 0; number < objects; number++) await first.put(number);
  for (let number = 0; number < objects; number += 7) await first.put(number, 1);
  for (let number = 0; number < objects; number += 9) await first.remove(number);
  for (let number = 4; number < objects; number += 11) await first.remove(number).catch(() => {});
  assert.equal(first.start.from, 'build');
  await first.save();
  await first.end();
  return made;
}

/** Starts, compares with a build from scratch, and ends. */
async function startOf(options: ProcessOptions, inside: (process: Process) => Promise<void> = async () => {}) {
  const process = await openProcess(options);
  try {
    await assertTrue(process, `from ${process.start.from}`);
    await inside(process);
    return { ...process.start, log: process.log };
  } finally {
    await process.end();
  }
}

async function assertBuilt(options: ProcessOptions, reason: string | undefined, about = ''): Promise<void> {
  const start = await startOf(options);
  assert.equal(start.from, 'build', about);
  assert.equal(start.reason, reason, about);
  if (reason !== undefined) assert(start.log.some((line) => line.reason === reason && line.detail));
}

function rewritten(snapshot: string, change: (content: SnapshotContent) => unknown): void {
  const { content, sections } = decode<SnapshotContent>(readFileSync(snapshot));
  writeFileSync(snapshot, Buffer.concat(encode({ ...content, ...(change(content) as object) }, sections)));
}

test('a start goes on from the snapshot and the changes since', async () => {
  const made = await world();
  const start = await startOf(made);
  assert.deepEqual([start.from, start.replayed], ['snapshot', 0]);
  const second = await openProcess(made);
  await second.put(1, 5);
  await second.put(500);
  await second.remove(2);
  await second.put(501);
  await second.remove(501);
  await second.put(3, 1);
  await second.remove(3);
  await second.put(3, 9);
  await assertTrue(second);
  await second.end();
  const third = await startOf(made, async (process) => {
    assert.equal(process.start.replayed, 5);
    for (let number = 0; number < objects; number++) await process.put(number + 300, 2);
    await assertTrue(process, 'written to after a start from a snapshot');
  });
  assert.equal(third.from, 'snapshot');
});

test('a snapshot that was copied while objects changed is completed by the log', async () => {
  const made = emptyWorld();
  const first = await openProcess({ ...made, options: { interval: 2 } });
  for (let number = 0; number < objects; number++) await first.put(number);
  // Each piece takes a slice of its own, and writes come between any two.
  let time = 0;
  mock.method(performance, 'now', () => (time += 10));
  try {
    first.snapshots.start(first.resources.feed, () => first.resources.all());
    for (let round = 0; !existsSync(made.snapshot) || round < 30; round++) {
      // Fewer than a quarter of all: where more change while they are copied, the snapshot is given up.
      const number = objects - 15 + ((round * 17) % 25);
      if (round % 5 === 4) await first.remove(number).catch(() => {});
      else await first.put(number, round);
    }
  } finally {
    mock.restoreAll();
  }
  await first.end();
  const { content } = decode<SnapshotContent & { size: number }>(readFileSync(made.snapshot));
  assert(content.anchor.revision > content.revision, 'nothing changed while it was copied');
  await startOf(made, async ({ start }) => {
    assert.equal(start.from, 'snapshot');
    assert(start.replayed > 0);
  });
});

test('files are for their owner alone, and the folder may be deleted at any time', async () => {
  const made = await world();
  assert.equal(statSync(made.snapshot).mode & 0o777, 0o600);
  assert.equal(statSync(made.path).mode & 0o777, 0o700);
  const running = await openProcess(made);
  rmSync(made.path, { recursive: true });
  await running.put(1, 8);
  await running.save();
  assert(existsSync(made.snapshot));
  await running.end();
  rmSync(made.path, { recursive: true });
  await assertBuilt(made, undefined);
});

test('a folder that cannot be written to costs a warning and nothing else', async () => {
  const made = emptyWorld();
  writeFileSync(made.path, 'no folder');
  const process = await openProcess(made);
  await process.put(1);
  await process.save();
  assert.equal(process.log.filter(({ level }) => level === 'warn').length, 1);
  await process.put(2);
  await assertTrue(process);
  await process.end();
  await assertBuilt(made, undefined);
});

test('what a process that was killed left half written is removed', async () => {
  const made = await world();
  const [old, fresh] = [join(made.path, `${file}.1.tmp`), join(made.path, `${file}.2.tmp`)];
  for (const left of [old, fresh]) writeFileSync(left, 'half');
  utimesSync(old, 0, 0);
  await startOf(made, async (process) => {
    await process.put(1, 3);
    await process.save();
  });
  assert.deepEqual(readdirSync(made.path).sort(), [file, `${file}.2.tmp`]);
});

test('any bit that is not what was written is found', async () => {
  const made = await world();
  const bytes = readFileSync(made.snapshot);
  let state = 4711;
  const random = (limit: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
  const flipped = (at: number): Buffer => {
    const copy = Buffer.from(bytes);
    copy[at >>> 3]! ^= 1 << (at & 7);
    return copy;
  };
  for (let i = 0; i < 2_000; i++) {
    const at = random(bytes.length * 8);
    assert.throws(() => decode(flipped(at)), { message: /damaged|no snapshot|bytes instead of/ }, `bit ${at}`);
  }
  for (let at = 0; at < 64 * 8; at++) assert.throws(() => decode(flipped(at)), `bit ${at} of the head`);
  for (let i = 0; i < 10; i++) {
    writeFileSync(made.snapshot, flipped(random(bytes.length * 8)));
    await assertBuilt(made, 'damaged');
  }
});

test('a file that is cut, longer, empty or put together from sections of others is found', async () => {
  const made = await world();
  const bytes = readFileSync(made.snapshot);
  for (const length of [0, 1, 63, 64, 65, 1_000, bytes.length / 2, bytes.length - 64, bytes.length - 1]) {
    assert.throws(() => decode(bytes.subarray(0, length)), `${length} bytes`);
  }
  assert.throws(() => decode(Buffer.concat([bytes, Buffer.alloc(64)])));
  const tail = bytes.length - 64;
  const swapped = Buffer.concat([bytes.subarray(0, tail - 64), bytes.subarray(tail), bytes.subarray(tail - 64, tail)]);
  assert.throws(() => decode(swapped));
  writeFileSync(made.snapshot, bytes.subarray(0, bytes.length - 64));
  await assertBuilt(made, 'damaged');
  writeFileSync(made.snapshot, '');
  await assertBuilt(made, 'damaged');
});

test('sections that are missing are found', async () => {
  const made = await world();
  const process = await openProcess(made);
  const { definitions } = process.resource.memory.index;
  await process.end();
  const { content, sections } = decode<SnapshotContent>(readFileSync(made.snapshot));
  for (const name of sections.keys()) {
    const fewer = new Map(decode(readFileSync(made.snapshot)).sections);
    fewer.delete(name);
    await assert.rejects(new ModelIndex(definitions).restore(fewer), name);
  }
  sections.delete('ids');
  writeFileSync(made.snapshot, Buffer.concat(encode(content, sections)));
  await assertBuilt(made, 'damaged');
});

test('a snapshot of another version of the service, of another model or of a format to come is not used', async () => {
  const made = await world();
  rewritten(made.snapshot, () => ({ format: 3 }));
  await assertBuilt(made, 'format');
  const other = await world();
  rewritten(other.snapshot, ({ identity }) => ({ identity: { ...identity, runtime: 'another' } }));
  await assertBuilt(other, 'format');
  const third = await world();
  rewritten(third.snapshot, ({ model }) => ({ model: { ...model, number: model.number + 1 } }));
  await assertBuilt(third, 'store');
});

test('a snapshot from before the objects moved is not used, one from after it is', async () => {
  const made = await world();
  await assertBuilt({ ...made, place: 7 }, 'store');
  const moved = await openProcess({ ...made, place: 7 });
  await moved.save();
  await moved.end();
  assert.equal((await startOf({ ...made, place: 7 })).from, 'snapshot');
  await assertBuilt({ ...made, place: 9 }, 'store');
});

test('a snapshot of other code, of another declaration or with the indexes in another order is not used', async () => {
  const made = await world();
  await assertBuilt({ ...made, code: 'code 2' }, 'function');
  const declared = (indexes: (index: any) => any[]): Model<any> =>
    defineModel({ gvk, spec: anything, indexes }) as unknown as Model<any>;
  const sorted = (index: any) => [
    index.single('spec.text', String, (thing: any) => thing.spec.text ?? undefined),
    index.single('spec.slug', String, (thing: any) => thing.spec.slug, { unique: true }),
  ];
  await assertBuilt({ ...made, model: declared(sorted) }, 'definition');
  const first = await openProcess({ ...made, model: declared(sorted) });
  await first.save();
  await first.end();
  assert.equal((await startOf({ ...made, model: declared(sorted) })).from, 'snapshot');
  await assertBuilt({ ...made, model: declared((index) => sorted(index).reverse()) }, 'definition');
  const upper = (index: any) => [
    sorted(index)[0],
    index.single('spec.slug', String, (thing: any) => thing.spec.slug.toUpperCase(), { unique: true }),
  ];
  await assertBuilt({ ...made, model: declared(upper) }, 'definition');
});

test('functions of which nobody knows the code have no snapshots', async () => {
  const made = emptyWorld();
  const process = await openProcess({ ...made, code: undefined });
  await process.put(1);
  await process.save();
  await process.end();
  assert(!existsSync(made.path));
});

test('a snapshot of another database is not used', async () => {
  const [made, other] = [await world(), await world()];
  copyFileSync(other.snapshot, made.snapshot);
  await assertBuilt(made, 'store');
});

test('a snapshot that is newer than a database that was put back is not used, also when that was written to since', async () => {
  const made = await world();
  const copy = join(made.folder, 'copy.db');
  copyFileSync(made.database, copy);
  const newer = await openProcess(made);
  for (const number of free) await newer.put(number, 6);
  await newer.save();
  await newer.end();
  const putBack = () => {
    for (const suffix of ['', '-wal', '-shm']) rmSync(made.database + suffix, { force: true });
    copyFileSync(copy, made.database);
  };
  putBack();
  await assertBuilt(made, 'revision');
  const written = await openProcess(made);
  for (const number of [...free, ...free]) await written.put(number, 7);
  await written.end();
  await assertBuilt(made, 'store');
});

test('a database put back to a revision at which the snapshot was being copied is found', async () => {
  const made = emptyWorld();
  const first = await openProcess({ ...made, options: { interval: 2 } });
  for (let number = 0; number < objects; number++) await first.put(number);
  let time = 0;
  mock.method(performance, 'now', () => (time += 10));
  const copies: number[] = [];
  const copyOf = (revision: number) => join(made.folder, `${revision}.db`);
  first.snapshots.start(first.resources.feed, () => first.resources.all());
  while (!existsSync(made.snapshot)) {
    await first.put(free[copies.length % free.length]!, copies.length + 1);
    copies.push(await first.store.revision());
    await first.store.backup!(copyOf(copies.at(-1)!));
  }
  mock.restoreAll();
  await first.end();
  const { content } = decode<SnapshotContent>(readFileSync(made.snapshot));
  const within = copies.find((revision) => revision >= content.revision && revision < content.anchor.revision);
  assert(within !== undefined, 'nothing changed while it was copied');
  for (const suffix of ['', '-wal', '-shm']) rmSync(made.database + suffix, { force: true });
  copyFileSync(copyOf(within), made.database);
  await assertBuilt(made, 'revision');
});

test('after kindred restore the snapshot is not used', async () => {
  const made = await world();
  await afterRestore(made.url);
  await assertBuilt(made, 'expired');
});

test('a log that no longer reaches back to the snapshot is found', async () => {
  const made = await world();
  const store = await openStore(made.url);
  assert((await store.compact(3, Date.now() + 1_000)) > 0);
  await store.close();
  const within = await startOf(made);
  assert.equal(within.from, 'snapshot');
  const second = await openProcess(made);
  for (let number = 0; number < 20; number++) await second.put(number + 200);
  await second.store.compact(3, Date.now() + 1_000);
  await second.end();
  await assertBuilt(made, 'expired');
});

test('a log that reaches back to the end of the copying, and not to its beginning, is found', async () => {
  const made = emptyWorld();
  const first = await openProcess({ ...made, options: { interval: 2 } });
  for (let number = 0; number < objects; number++) await first.put(number);
  let time = 0;
  mock.method(performance, 'now', () => (time += 10));
  first.snapshots.start(first.resources.feed, () => first.resources.all());
  for (let round = 0; !existsSync(made.snapshot); round++) await first.put(free[round % free.length]!, round + 1);
  mock.restoreAll();
  const file = readFileSync(made.snapshot);
  const { content } = decode<SnapshotContent>(file);
  assert(content.anchor.revision > content.revision + 1, 'too little changed while it was copied');
  const { store } = first;
  await store.compact((await store.revision()) - content.anchor.revision + 1, Date.now() + 1_000);
  assert.equal(await store.oldest(), content.anchor.revision - 1);
  await first.end();
  // The process may have written another one meanwhile.
  writeFileSync(made.snapshot, file);
  await assertBuilt(made, 'expired');
});

test('a log with an object in a version that the model lacks, as after a rollback, is found', async () => {
  const made = await world();
  const store = await openStore(made.url);
  const model = await store.modelNumber(gvk.group, gvk.kind);
  const object = (version: string, spec: object) =>
    Buffer.from(
      JSON.stringify({ apiVersion: `${gvk.group}/${version}`, kind: gvk.kind, metadata: { name: 'late' }, spec }),
    );
  const later = object('v2', { name: 'late' });
  await store.commit([{ type: 'create', model, name: 'late', bytes: later }], 1);
  const revision = await store.revision();
  await store.rewrite(model, [{ id: revision, revision, bytes: object('v1', { slug: 'late' }) }]);
  await store.close();
  await assertBuilt(made, 'expired');
});

test('more changes than half of the objects are not replayed', async () => {
  const made = await world();
  const store = await openStore(made.url);
  const model = await store.modelNumber(gvk.group, gvk.kind);
  const bytes = (name: string) =>
    Buffer.from(
      JSON.stringify({ apiVersion: `${gvk.group}/v1`, kind: gvk.kind, metadata: { name }, spec: { slug: name } }),
    );
  for (let at = 0; at < 11_000; at += 1_000) {
    const writes = Array.from({ length: 1_000 }, (_, i) => `many-${at + i}`);
    await store.commit(
      writes.map((name) => ({ type: 'create' as const, model, name, bytes: bytes(name) })),
      1,
    );
  }
  await store.close();
  await assertBuilt(made, 'behind');
});

test('an index function that depends on more than the object is found', async () => {
  const made = emptyWorld();
  const Moody = defineModel({
    gvk,
    spec: anything,
    indexes: (index: any) => [index.single('spec.mood', Number, () => Math.random())],
  }) as unknown as Model<any>;
  const first = await openProcess({ ...made, model: Moody });
  for (let number = 0; number < 20; number++) await first.put(number);
  await first.save();
  await first.end();
  const second = await openProcess({ ...made, model: Moody });
  assert.deepEqual([second.start.from, second.start.reason], ['build', 'sample']);
  const line = second.log.find(({ reason }) => reason === 'sample')!;
  assert.equal(line.level, 'warn');
  assert.match(line.detail!, /^of thing-\d+, the index "spec\.mood" differs/);
  await second.end();
});

test('a key type whose texts do not give its keys back has its indexes built', async () => {
  const made = emptyWorld();
  const Length = {
    compare: (a: string, b: string) => a.length - b.length,
    parse: (text: string) => text,
    format: (key: string) => String(key.length),
  };
  const Odd = defineModel({
    gvk,
    spec: anything,
    indexes: (index: any) => [index.single('spec.slug', Length, (thing: any) => thing.spec.slug)],
  }) as unknown as Model<any>;
  const first = await openProcess({ ...made, model: Odd });
  for (let number = 0; number < 20; number++) await first.put(number);
  await first.save();
  await first.end();
  await assertBuilt({ ...made, model: Odd }, 'damaged');
});

test('stored objects that need repair are known from the snapshot, until they are repaired', async () => {
  const made = await world();
  const store = await openStore(made.url);
  const model = await store.modelNumber(gvk.group, gvk.kind);
  const object = (name: string, spec: object, apiVersion = `${gvk.group}/v1`) =>
    Buffer.from(JSON.stringify({ apiVersion, kind: gvk.kind, metadata: { name, version: 1 }, spec }));
  const write = { type: 'create' as const, model };
  await store.commit(
    [
      { ...write, name: 'a-old', bytes: object('a-old', { slug: 'old' }, `${gvk.group}/v0`) },
      { ...write, name: 'b-slug', bytes: object('b-slug', { slug: 7 }) },
      { ...write, name: 'c-json', bytes: Buffer.from('{') },
      { ...write, name: 'd-same', bytes: object('d-same', { slug: 'slug-1' }) },
    ],
    1,
  );
  await store.close();
  rmSync(made.snapshot);
  const first = await openProcess(made);
  assert.equal(first.resource.memory.problems.size, 3);
  assert.equal(first.resource.memory.state().problems.length, 5);
  await first.save();
  await first.end();
  await startOf(made, async (process) => {
    assert.equal(process.start.from, 'snapshot');
    assert.equal(process.resource.memory.state().problems.length, 5);
    await process.resource.update(
      'b-slug',
      { metadata: { name: 'b-slug' }, spec: { slug: 'eight' } },
      { caller: system },
    );
  });
  await startOf(made, async (process) => {
    assert.equal(process.start.from, 'snapshot');
    assert(!process.resource.memory.problems.has('b-slug'));
  });
});

test('small models have no snapshots', async () => {
  const made = emptyWorld();
  const process = await openProcess({ ...made, options: { minObjects: 5 } });
  for (let number = 0; number < 4; number++) await process.put(number);
  await process.save();
  assert(!existsSync(made.snapshot));
  await process.end();
});
