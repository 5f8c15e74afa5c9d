/** The contract of `Store` as test cases: every adapter, also one from elsewhere, passes all of them. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { CommitQueue } from '../store/commit-queue.ts';
import { openStore } from '../store/open.ts';
import { restore } from '../store/sqlite/backup.ts';
import type {
  Activation,
  Change,
  Claim,
  Claims,
  Replicas,
  Row,
  SharedFiles,
  Store,
  Successor,
  Write,
  WriteResult,
} from '../store/store.ts';

/** One empty database, made for one test case. */
export interface StoreDatabase {
  /** Opens the database; a second time too, after the first store was closed, and at once when the stores are `shared`. */
  open(): Promise<Store>;
  /** Makes the next transactions of every open store fail once each as a serialisation failure does. */
  failTransactions?(count: number): Promise<void>;
  /** Removes the database; every store is closed by then. */
  drop(): Promise<void>;
}

/** A kind of store under test. */
export interface StoreAdapter {
  readonly name: string;
  /** False for a database that is gone when its store is closed. Default true. */
  readonly durable?: boolean;
  /** Makes an empty database. */
  create(): Promise<StoreDatabase>;
}

interface Context<S = Store> {
  store: S;
  database: StoreDatabase;
  model: number;
  open: () => Promise<S>;
}

type Case<S = Store> = (context: Context<S>) => Promise<void>;

/** What several processes write to at the same time. */
type SharedStore = Store & Claims & Replicas;

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
const hashOf = (text: string): Uint8Array => createHash('sha256').update(text).digest();
const claimOf = (key: string, index = 'spec.slug'): Claim => ({ hash: hashOf(`${index}\0${key}`), index, key });
const releaseOf = (key: string, successor?: Successor): { hash: Uint8Array; successor?: Successor } => ({
  hash: claimOf(key).hash,
  ...(successor && { successor }),
});

const time = 1_700_000_000_000;

export interface StoreContractOptions {
  /** Where the random batches begin; a failure names it. Default: another one each time. */
  readonly seed?: number;
}

/**
 * Registers the cases with `node:test`, in one suite named after the adapter.
 *
 * @example
 * ```ts
 * declare function openMyStore(): Promise<Store>;
 * storeContract({ name: 'my store', create: async () => ({ open: openMyStore, drop: async () => {} }) });
 * ```
 */
export function storeContract(adapter: StoreAdapter, options: StoreContractOptions = {}): void {
  const seed = options.seed ?? Date.now() % 1_000_000;
  describe(`store contract on ${adapter.name}`, () => {
    for (const [title, run] of Object.entries(cases)) it(title, () => inDatabase(adapter, run));
    const durable = adapter.durable ?? true;
    for (const [title, run] of Object.entries(durableCases)) {
      it(title, { skip: !durable && 'this database is gone when it is closed' }, () => inDatabase(adapter, run));
    }
    for (const [title, run] of Object.entries({ ...claimCases, ...sharedCases })) {
      it(title, async (t) => {
        await inDatabase(adapter, async (context) => {
          if (context.store.shared) await run(context as Context<SharedStore>);
          else t.skip('one process uses this store at a time');
        });
      });
    }
    it(`random batches do what a plain model of the contract does (seed ${seed})`, () =>
      inDatabase(adapter, ({ store, model }) => randomBatches([store], model, seed)));
    it('serialisation failures are tried again, and nothing is applied twice', async (t) => {
      await inDatabase(adapter, async (context) => {
        if (context.database.failTransactions) await serialisationFailures(context);
        else t.skip('this database has no serialisation failures, or the adapter cannot provoke them');
      });
    });
    it('a backup made while writes go on is one state, and restoring it never gives a revision twice', async (t) => {
      await inDatabase(adapter, async (context) => {
        if (context.store.backup) await backupAndRestore(context);
        else t.skip('this database has backups of its own');
      });
    });
  });
}

async function inDatabase(adapter: StoreAdapter, run: Case): Promise<void> {
  const database = await adapter.create();
  const stores: Store[] = [];
  const open = async (): Promise<Store> => {
    const store = await database.open();
    stores.push(store);
    return store;
  };
  try {
    const store = await open();
    const model = await store.modelNumber('demo.example.com', 'Article');
    await run({ store, database, model, open });
  } finally {
    for (const store of stores) await store.close();
    await database.drop();
  }
}

async function commit(store: Store, writes: readonly Write[]): Promise<readonly WriteResult[]> {
  return store.commit(writes, time);
}

async function committed(store: Store, write: Write): Promise<{ id: number; revision: number }> {
  const [result] = await commit(store, [write]);
  assert.ok(result?.ok, `the write of ${write.name} was refused: ${JSON.stringify(result)}`);
  return { id: result.id, revision: result.revision };
}

function creation(model: number, name: string, text = `content of ${name}`, ...claim: Claim[]): Write {
  return { type: 'create', model, name, bytes: bytesOf(text), claim };
}

async function allChanges(store: Store, since = 0): Promise<Change[]> {
  const all: Change[] = [];
  for (;;) {
    const part = await store.changes(all.at(-1)?.revision ?? since, 1000);
    if (part.length === 0) return all;
    all.push(...part);
  }
}

async function allRows(store: Store, model: number): Promise<Row[]> {
  const all: Row[] = [];
  for (;;) {
    const part = await store.scan(model, all.at(-1)?.id ?? 0, 100);
    if (part.length === 0) return all;
    all.push(...part);
  }
}

const plainRow = ({ id, revision, name, bytes }: Row): object => ({ id, revision, name, text: textOf(bytes) });

function withCode(code: string): (error: unknown) => boolean {
  return (error) => {
    assert.equal((error as { code?: unknown }).code, code, String(error));
    return true;
  };
}

async function serialisationFailures({ store, database, model }: Parameters<Case>[0]): Promise<void> {
  await database.failTransactions!(3);
  const first = await committed(store, creation(model, 'a', 'one', claimOf('x')));
  await database.failTransactions!(1);
  const second = await committed(store, creation(model, 'b'));
  assert.equal(second.revision, first.revision + 1);
  assert.deepEqual(
    (await allChanges(store)).map((change) => change.name),
    ['a', 'b'],
  );
}

async function backupAndRestore({ store, model }: Parameters<Case>[0]): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'kindred-backup-'));
  try {
    for (let i = 0; i < 20; i++) {
      await commit(
        store,
        Array.from({ length: 50 }, (_, k) => creation(model, `n${i * 50 + k}`, 'x'.repeat(1000))),
      );
    }
    let going = true;
    const writer = (async () => {
      for (let i = 0; going; i++) {
        await committed(store, creation(model, `during-${i}`));
        await new Promise((resolve) => setImmediate(resolve));
      }
    })();
    const saved = await store.acquireLease('saved', 'me', 1000, time);
    const file = join(folder, 'copy.db');
    const steps: [number, number][] = [];
    await store.backup!(file, (done, total) => steps.push([done, total]));
    going = false;
    await writer;
    const last = steps.at(-1)!;
    assert.equal(last[0], last[1], 'the progress ends with everything done');
    const lease = await store.acquireLease('job', 'me', 1000, time);
    assert.ok(lease && saved);
    await store.releaseLease(saved);
    const takenAgain = await store.acquireLease('saved', 'you', 1000, time);
    assert.ok(takenAgain && takenAgain.token > saved.token);
    const newest = await store.revision();

    const target = `sqlite:${join(folder, 'restored.db')}`;
    const result = await restore(file, target);
    const restored = await openStore(target);
    try {
      const revision = await restored.revision();
      assert.equal(revision, result.revision);
      assert.ok(revision > newest, 'the revision is beyond everything the old store gave out');
      const rows = await allRows(restored, await restored.modelNumber('demo.example.com', 'Article'));
      assert.ok(rows.length >= 1000);
      assert.equal(Math.max(...rows.map((row) => row.revision)), rows.length, 'the copy is one state');
      await assert.rejects(async () => restored.changes(newest, 10), withCode('Expired'));
      await assert.rejects(async () => restored.changes(0, 10), withCode('Expired'));
      assert.deepEqual(await restored.changes(revision, 10), []);
      assert.equal((await committed(restored, creation(model, 'after'))).revision, revision + 1);
      const again = await restored.acquireLease('job', 'you', 1000, time + 5000);
      assert.ok(again && again.token > lease.token, 'a fencing token is never given twice');
      const next = await restored.acquireLease('saved', 'somebody', 1000, time + 5000);
      assert.ok(next && next.token > takenAgain.token, 'nor one of a lease that the backup has');
    } finally {
      await restored.close();
    }
    await assert.rejects(restore(file, target), /holds data already/);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const cases: Readonly<Record<string, Case>> = {
  'a new store is empty, at revision 0': async ({ store, model }) => {
    assert.equal(await store.revision(), 0);
    assert.equal(await store.oldest(), 0);
    assert.deepEqual(await store.changes(0, 10), []);
    assert.deepEqual(await store.scan(model, 0, 10), []);
    assert.equal(await store.count(model), 0);
  },

  'a model keeps its number, and no two have the same': async ({ store, model }) => {
    const kinds = ['Article', 'article', 'Author', 'Tag'];
    const numbers = await Promise.all([...kinds, ...kinds].map((kind) => store.modelNumber('demo.example.com', kind)));
    assert.equal(numbers[0], model);
    assert.deepEqual(numbers.slice(0, 4), numbers.slice(4));
    assert.equal(new Set(numbers).size, 4);
    assert.notEqual(await store.modelNumber('', 'Article'), model);
    const models = await store.models();
    assert.equal(models.length, 5);
    assert.deepEqual(
      models.find((row) => row.number === model),
      { number: model, group: 'demo.example.com', kind: 'Article', generation: 0 },
    );
  },

  'a created row has the revision of its creation as id, and is read back as it was written': async ({
    store,
    model,
  }) => {
    const first = await committed(store, creation(model, 'a'));
    const second = await committed(store, creation(model, 'b'));
    assert.deepEqual(first, { id: 1, revision: 1 });
    assert.deepEqual(second, { id: 2, revision: 2 });
    assert.equal(await store.revision(), 2);
    assert.deepEqual((await store.get(model, [1])).map(plainRow), [
      { id: 1, revision: 1, name: 'a', text: 'content of a' },
    ]);
    assert.equal(await store.count(model), 2);
  },

  'rows come in the order of the ids asked for, missing ones left out': async ({ store, model }) => {
    await commit(
      store,
      ['a', 'b', 'c', 'd'].map((name) => creation(model, name)),
    );
    const rows = await store.get(model, [4, 99, 1, 3]);
    assert.deepEqual(
      rows.map((row) => row.name),
      ['d', 'a', 'c'],
    );
    assert.deepEqual(await store.get(model, []), []);
  },

  'a row belongs to its model alone': async ({ store, model }) => {
    const other = await store.modelNumber('demo.example.com', 'Author');
    await commit(store, [creation(model, 'same'), creation(other, 'same')]);
    assert.deepEqual(await store.get(other, [1]), []);
    assert.deepEqual(
      (await store.scan(other, 0, 10)).map((row) => row.id),
      [2],
    );
    assert.equal(await store.count(model), 1);
  },

  'scan gives the rows after an id, by id, at most the limit; scanText the same as texts': async ({ store, model }) => {
    const other = await store.modelNumber('demo.example.com', 'Author');
    await commit(
      store,
      Array.from({ length: 30 }, (_, i) => creation(i % 3 === 0 ? other : model, `z${99 - i}`, `${i} é 界 😀`)),
    );
    const ids: number[] = [];
    for (let after = 0; ; ) {
      const rows = await store.scan(model, after, 7);
      assert.ok(rows.length <= 7);
      const texts = rows.map(({ bytes, ...row }) => ({ ...row, text: Buffer.from(bytes).toString() }));
      assert.deepEqual(store.scanText?.(model, after, 7).map((row) => ({ ...row })) ?? texts, texts);
      if (rows.length === 0) break;
      ids.push(...rows.map((row) => row.id));
      after = ids.at(-1)!;
    }
    assert.equal(ids.length, 20);
    assert.deepEqual(
      ids,
      ids.toSorted((a, b) => a - b),
    );
  },

  'an update replaces the content and keeps the id; a delete removes the row': async ({ store, model }) => {
    const { id } = await committed(store, creation(model, 'a', 'one'));
    const update = { type: 'update', model, name: 'a', expected: { id, revision: 1 }, bytes: bytesOf('two') } as const;
    assert.deepEqual(await committed(store, update), { id, revision: 2 });
    assert.deepEqual((await store.get(model, [id])).map(plainRow), [{ id, revision: 2, name: 'a', text: 'two' }]);
    const removal = { type: 'delete', model, name: 'a', expected: { id, revision: 2 }, bytes: bytesOf('end') } as const;
    assert.deepEqual(await committed(store, removal), { id, revision: 3 });
    assert.deepEqual(await store.get(model, [id]), []);
    assert.equal(await store.count(model), 0);
  },

  'a member that fails fails alone; the others have consecutive revisions': async ({ store, model }) => {
    await committed(store, creation(model, 'taken'));
    const results = await commit(store, [
      creation(model, 'a'),
      creation(model, 'taken'),
      { type: 'update', model, name: 'nobody', expected: { id: 1, revision: 1 }, bytes: bytesOf('') },
      { type: 'delete', model, name: 'taken', expected: { id: 1, revision: 7 }, bytes: bytesOf('') },
      { type: 'update', model, name: 'taken', expected: { id: 9, revision: 1 }, bytes: bytesOf('') },
      { ...creation(model, 'c'), fence: { lease: 'job', token: 1 } },
      creation(model, 'd'),
    ]);
    assert.deepEqual(results, [
      { ok: true, id: 2, revision: 2 },
      { ok: false, reason: 'exists' },
      { ok: false, reason: 'missing' },
      { ok: false, reason: 'changed' },
      { ok: false, reason: 'changed' },
      { ok: false, reason: 'fenced' },
      { ok: true, id: 3, revision: 3 },
    ]);
    assert.deepEqual(
      (await allRows(store, model)).map((row) => row.name),
      ['taken', 'a', 'd'],
    );
    assert.equal((await allChanges(store)).length, 3);
  },

  'a batch in which every member fails takes no revision': async ({ store, model }) => {
    await committed(store, creation(model, 'a'));
    assert.deepEqual(await commit(store, [creation(model, 'a'), creation(model, 'a')]), [
      { ok: false, reason: 'exists' },
      { ok: false, reason: 'exists' },
    ]);
    assert.equal(await store.revision(), 1);
    assert.deepEqual(await commit(store, []), []);
    assert.deepEqual(await committed(store, creation(model, 'b')), { id: 2, revision: 2 });
  },

  'members see the effects of those before them': async ({ store, model }) => {
    const { id } = await committed(store, creation(model, 'a', 'one'));
    const results = await commit(store, [
      { type: 'delete', model, name: 'a', expected: { id, revision: 1 }, bytes: bytesOf('gone') },
      creation(model, 'a', 'new'),
      creation(model, 'a'),
      { type: 'update', model, name: 'a', expected: { id: 3, revision: 3 }, bytes: bytesOf('newer') },
      { type: 'delete', model, name: 'a', bytes: bytesOf('gone again') },
      creation(model, 'b', 'last'),
    ]);
    assert.deepEqual(results, [
      { ok: true, id: 1, revision: 2 },
      { ok: true, id: 3, revision: 3 },
      { ok: false, reason: 'exists' },
      { ok: true, id: 3, revision: 4 },
      { ok: true, id: 3, revision: 5 },
      { ok: true, id: 6, revision: 6 },
    ]);
    assert.deepEqual((await allRows(store, model)).map(plainRow), [{ id: 6, revision: 6, name: 'b', text: 'last' }]);
    assert.deepEqual(
      (await allChanges(store)).map((change) => [
        change.type,
        change.name,
        change.id,
        textOf(change.bytes),
        change.before && textOf(change.before),
      ]),
      [
        ['create', 'a', 1, 'one', undefined],
        ['delete', 'a', 1, 'gone', 'one'],
        ['create', 'a', 3, 'new', undefined],
        ['update', 'a', 3, 'newer', 'new'],
        ['delete', 'a', 3, 'gone again', 'newer'],
        ['create', 'b', 6, 'last', undefined],
      ],
    );
  },

  'two updates that saw the same row: the first wins, in one batch and in two': async ({ store, model }) => {
    const expected = await committed(store, creation(model, 'a'));
    const update = { type: 'update', model, name: 'a', expected, bytes: bytesOf('new') } as const;
    const [first, second] = await commit(store, [update, update]);
    assert.ok(first?.ok);
    assert.deepEqual(second, { ok: false, reason: 'changed' });
    assert.deepEqual(await commit(store, [update]), [{ ok: false, reason: 'changed' }]);
  },

  'a row made again under the same name is another row': async ({ store, model }) => {
    const old = await committed(store, creation(model, 'a'));
    await committed(store, { type: 'delete', model, name: 'a', expected: old, bytes: bytesOf('') });
    const renewed = await committed(store, creation(model, 'a'));
    assert.notEqual(renewed.id, old.id);
    assert.deepEqual(await commit(store, [{ type: 'delete', model, name: 'a', expected: old, bytes: bytesOf('') }]), [
      { ok: false, reason: 'changed' },
    ]);
  },

  'the change log has every change in order, with the content before and after and the time': async ({
    store,
    model,
  }) => {
    const expected = await committed(store, creation(model, 'a', 'one'));
    await store.commit([{ type: 'update', model, name: 'a', expected, bytes: bytesOf('two') }], time + 5);
    await store.commit([{ type: 'delete', model, name: 'a', bytes: bytesOf('three') }], time + 4);
    const changes = await store.changes(0, 10);
    assert.deepEqual(
      changes.map(({ bytes, before, ...rest }) => ({
        ...rest,
        bytes: textOf(bytes),
        before: before && textOf(before),
      })),
      [
        { revision: 1, type: 'create', model, id: 1, name: 'a', time, bytes: 'one', before: undefined },
        { revision: 2, type: 'update', model, id: 1, name: 'a', time: time + 5, bytes: 'two', before: 'one' },
        { revision: 3, type: 'delete', model, id: 1, name: 'a', time: time + 4, bytes: 'three', before: 'two' },
      ],
    );
    assert.deepEqual(
      (await store.changes(1, 1)).map((change) => change.revision),
      [2],
    );
    assert.deepEqual(await store.changes(3, 10), []);
    assert.deepEqual(await store.changes(99, 10), []);
  },

  'changes of one model are those of the log, without the others; changesText the same as texts': async ({
    store,
    model,
  }) => {
    const other = await store.modelNumber('demo.example.com', 'Other');
    const empty = await store.modelNumber('demo.example.com', 'Empty');
    for (let i = 0; i < 9; i++) {
      await committed(store, creation(i % 3 === 0 ? model : other, `n${i}`));
    }
    await committed(store, {
      type: 'delete',
      model,
      name: 'n3',
      expected: { id: 4, revision: 4 },
      bytes: bytesOf('gone…'),
    });
    const named = async (since: number, limit: number, of: number) => {
      const changes = await store.changes(since, limit, { model: of });
      const texts = changes.map(({ revision, type, id, name, bytes }) => {
        return { revision, type, id, name, text: textOf(bytes), length: bytes.byteLength };
      });
      assert.deepEqual(store.changesText?.(since, limit, of) ?? texts, texts);
      return changes.map(({ revision, name }) => `${revision} ${name}`);
    };
    assert.deepEqual(await named(0, 10, model), ['1 n0', '4 n3', '7 n6', '10 n3']);
    assert.deepEqual(await named(1, 2, model), ['4 n3', '7 n6']);
    assert.deepEqual(await named(7, 10, model), ['10 n3']);
    assert.deepEqual(await named(10, 10, model), []);
    assert.deepEqual(await named(5, 2, other), ['6 n5', '8 n7']);
    assert.deepEqual(await named(0, 10, empty), []);
    const [first] = await store.changes(6, 1, { model });
    assert.deepEqual(first, (await store.changes(6, 1))[0]);
    await compactAll(store, 5, time + 100);
    await assert.rejects(async () => store.changes(4, 10, { model: empty }), withCode('Expired'));
    if (store.changesText) assert.throws(() => store.changesText!(4, 10, empty), withCode('Expired'));
    assert.deepEqual(await named(5, 10, model), ['7 n6', '10 n3']);
  },

  'a call of changes returns no more bytes than it is asked for, and at least one change': async ({ store, model }) => {
    for (let i = 0; i < 6; i++) await committed(store, creation(model, `n${i}`, 'x'.repeat(1_000)));
    const count = async (bytes: number, of?: number) =>
      (await store.changes(1, 10, { bytes, ...(of !== undefined && { model: of }) })).length;
    assert.deepEqual(await Promise.all([1, 999, 1_999, 2_000, 3_500].map((bytes) => count(bytes))), [1, 1, 1, 2, 3]);
    assert.equal(await count(2_000, model), 2);
    await committed(store, {
      type: 'update',
      model,
      name: 'n1',
      expected: { id: 2, revision: 2 },
      bytes: bytesOf('new'),
    });
    assert.equal((await store.changes(5, 10, { bytes: 2_000 })).length, 1, 'the content before counts too');
  },

  'a call of changes returns about 4 MiB, and at least one change': async ({ store, model }) => {
    const megabyte = 'm'.repeat(2 ** 20);
    for (let i = 0; i < 6; i++) await committed(store, creation(model, `n${i}`, megabyte));
    const first = await store.changes(0, 100);
    assert.ok(first.length >= 3 && first.length <= 5, `${first.length} changes at once`);
    assert.equal((await allChanges(store)).length, 6);
    assert.equal(store.changesText?.(0, 100, model).length ?? first.length, first.length);
    const huge = 'h'.repeat(5 * 2 ** 20);
    await committed(store, creation(model, 'huge', huge));
    assert.deepEqual(
      (await store.changes(6, 100)).map((change) => change.bytes.byteLength),
      [huge.length],
    );
  },

  'compaction removes the oldest changes, keeps the newest and the recent ones, and says what is gone': async ({
    store,
    model,
  }) => {
    for (let i = 1; i <= 30; i++) await store.commit([creation(model, `n${i}`)], time + i);
    assert.equal(await compactAll(store, 40, time + 100), 0);
    assert.equal(await compactAll(store, 25, time + 100), 5);
    assert.equal(await store.oldest(), 5);
    assert.equal(await compactAll(store, 0, time + 12), 7);
    assert.equal(await store.oldest(), 12);
    assert.deepEqual(
      (await allChanges(store, 12)).map((change) => change.revision),
      Array.from({ length: 18 }, (_, i) => i + 13),
    );
    await assert.rejects(async () => store.changes(11, 10), withCode('Expired'));
    assert.equal(await compactAll(store, 0, time + 100), 18);
    assert.equal(await store.oldest(), 30);
    assert.deepEqual(await store.changes(30, 10), []);
    await assert.rejects(async () => store.changes(29, 10), withCode('Expired'));
    assert.equal(await store.count(model), 30);
    assert.equal((await committed(store, creation(model, 'next'))).revision, 31);
  },

  'a change that was committed by a clock that was ahead goes with the next one that was not': async ({
    store,
    model,
  }) => {
    const ahead = time + 1_000;
    const times = [time, ahead, time + 2, ahead, time + 50, ahead];
    for (const [i, at] of times.entries()) await store.commit([creation(model, `n${i}`)], at);
    assert.equal(await compactAll(store, 0, time + 10, time + 100), 3);
    assert.equal(await store.oldest(), 3);
    assert.equal(await compactAll(store, 2, time + 60, time + 110), 0, 'the next one is among the newest');
    assert.equal(await compactAll(store, 0, time + 60, time + 110), 2);
    assert.equal(await compactAll(store, 0, time + 500, time + 600), 0, 'how old the last one is cannot be told');
    await store.commit(
      Array.from({ length: 1500 }, (_, i) => creation(model, `late${i}`)),
      ahead,
    );
    await store.commit([creation(model, 'next')], time + 500);
    const first = await store.compact(0, time + 500, time + 600);
    assert.ok(first > 0 && first < 1502, `${first} at once`);
    assert.equal(first + (await compactAll(store, 0, time + 500, time + 600)), 1502);
    assert.equal(await store.oldest(), await store.revision());
  },

  'one call of compact removes a bounded number': async ({ store, model }) => {
    await commit(
      store,
      Array.from({ length: 1500 }, (_, i) => creation(model, `n${i}`)),
    );
    const first = await store.compact(0, time);
    assert.ok(first > 0 && first < 1500, `${first} at once`);
    assert.equal(first + (await compactAll(store, 0, time)), 1500);
  },

  'a snapshot keeps its state while writes go on': async ({ store, model }) => {
    await commit(
      store,
      ['a', 'b', 'c'].map((name) => creation(model, name, 'old')),
    );
    const snapshot = await store.snapshot();
    try {
      assert.equal(snapshot.revision, 3);
      await commit(store, [
        { type: 'update', model, name: 'a', bytes: bytesOf('new') },
        { type: 'delete', model, name: 'b', bytes: bytesOf('gone') },
        creation(model, 'd'),
        creation(model, 'b', 'again'),
      ]);
      await commit(store, [{ type: 'delete', model, name: 'a', bytes: bytesOf('gone') }]);
      const later = await store.snapshot();
      assert.deepEqual((await snapshot.get(model, [6, 3, 2, 1, 7])).map(plainRow), [
        { id: 3, revision: 3, name: 'c', text: 'old' },
        { id: 2, revision: 2, name: 'b', text: 'old' },
        { id: 1, revision: 1, name: 'a', text: 'old' },
      ]);
      assert.equal(later.revision, 8);
      assert.deepEqual(
        (await later.get(model, [1, 2, 3, 6, 7])).map((row) => row.name),
        ['c', 'd', 'b'],
      );
      await later.close();
    } finally {
      await snapshot.close();
    }
    await snapshot.close();
    assert.deepEqual(await store.get(model, [1]), []);
  },

  'a snapshot gives rows as lines, in the order of the ids, where it can': async ({ store, model }) => {
    const other = await store.modelNumber('demo.example.com', 'Author');
    await commit(store, [
      ...['a', 'b', 'c'].map((name) => creation(model, name, `${name} é 界 😀`)),
      creation(other, 'd', 'of another model'),
    ]);
    const snapshot = await store.snapshot();
    try {
      await commit(store, [{ type: 'update', model, name: 'a', bytes: bytesOf('new') }]);
      const text = 'c é 界 😀\na é 界 😀\n';
      for (const [ids, expected] of [
        [[3, 9, 4, 1], { rows: 2, text, length: Buffer.byteLength(text) }],
        [[4], { rows: 0, text: '', length: 0 }],
      ] as const)
        assert.deepEqual(snapshot.lines?.(model, ids) ?? expected, expected);
    } finally {
      await snapshot.close();
    }
  },

  'closing the store ends while a snapshot is open': async ({ store, model }) => {
    await committed(store, creation(model, 'a'));
    const snapshot = await store.snapshot();
    await store.close();
    await snapshot.close();
  },

  'a lease has one holder; its token stays while it is renewed and grows when it is taken': async ({ store }) => {
    const first = await store.acquireLease('job', 'me', 1000, time);
    assert.ok(first);
    assert.deepEqual({ ...first }, { name: 'job', holder: 'me', token: first.token });
    assert.equal(await store.acquireLease('job', 'you', 1000, time + 999), undefined);
    const renewed = await store.acquireLease('job', 'me', 1000, time + 900);
    assert.equal(renewed?.token, first.token);
    assert.equal(await store.acquireLease('job', 'you', 1000, time + 1800), undefined);
    const taken = await store.acquireLease('job', 'you', 1000, time + 1901);
    assert.ok(taken && taken.token > first.token);
    assert.equal(await store.acquireLease('job', 'me', 1000, time + 2000), undefined);
    await store.releaseLease(first);
    assert.equal(await store.acquireLease('job', 'me', 1000, time + 2000), undefined, 'an old holder releases nothing');
    await store.releaseLease(taken);
    const again = await store.acquireLease('job', 'me', 1000, time + 2000);
    assert.ok(again && again.token > taken.token);
    assert.ok(await store.acquireLease('another', 'you', 1000, time + 2000));
  },

  'a write with a fence goes through while the lease is held, and not after': async ({ store, model }) => {
    const lease = await store.acquireLease('job', 'me', 1000, time);
    assert.ok(lease);
    const fenced = (name: string, token: number): Write => ({
      ...creation(model, name),
      fence: { lease: 'job', token },
    });
    assert.ok((await commit(store, [fenced('a', lease.token)]))[0]?.ok);
    assert.deepEqual(await commit(store, [fenced('b', lease.token + 1)]), [{ ok: false, reason: 'fenced' }]);
    assert.deepEqual(await store.commit([fenced('b', lease.token)], time + 1000), [{ ok: false, reason: 'fenced' }]);
    const taken = await store.acquireLease('job', 'you', 1000, time + 1000);
    assert.ok(taken);
    const results = await store.commit([fenced('b', lease.token), fenced('b', taken.token)], time + 1001);
    assert.deepEqual(results[0], { ok: false, reason: 'fenced' });
    assert.ok(results[1]?.ok);
    await store.releaseLease(taken);
    assert.deepEqual(await store.commit([fenced('c', taken.token)], time + 1002), [{ ok: false, reason: 'fenced' }]);
  },

  'a write that was computed for another generation of its model is refused': async ({ store, model }) => {
    const other = await store.modelNumber('demo.example.com', 'Other');
    const of = (name: string, generation: number, on = model): Write => ({ ...creation(on, name), generation });
    const activate: Activation = { model, from: 0, to: 1, contract: '{"a":"é"}', storageVersion: 'v1' };
    const results = await commit(store, [of('a', 0), of('b', 1), { ...creation(other, 's'), activate }, of('c', 0)]);
    assert.deepEqual(
      results.map((result) => result.ok || result.reason),
      [true, 'outdated', true, 'outdated'],
    );
    const refused = await commit(store, [{ ...creation(other, 't'), activate }]);
    assert.deepEqual(refused, [{ ok: false, reason: 'outdated' }], 'a contract takes the place of the active one');
    const again = await commit(store, [of('d', 1), of('e', 0, other), creation(model, 'f')]);
    assert.ok(again.every((result) => result.ok));
    const [first, second] = await store.models();
    assert.deepEqual(first, {
      number: model,
      group: 'demo.example.com',
      kind: 'Article',
      generation: 1,
      contract: '{"a":"é"}',
      storageVersion: 'v1',
    });
    assert.deepEqual(await store.models(other), [second]);
    assert.deepEqual(second, { number: other, group: 'demo.example.com', kind: 'Other', generation: 0 });
  },

  'a contract becomes active only while the objects are as they were looked at': async ({ store, model }) => {
    const other = await store.modelNumber('demo.example.com', 'Other');
    const { revision } = await committed(store, creation(model, 'a'));
    const activation = (checked: number): Write => ({
      ...creation(other, `s${checked}`),
      activate: { model, from: 0, to: 1, contract: '{}', storageVersion: 'v1', checked },
    });
    assert.deepEqual(await commit(store, [creation(model, 'b'), activation(revision)]), [
      { ok: true, id: revision + 1, revision: revision + 1 },
      { ok: false, reason: 'unchecked' },
    ]);
    assert.deepEqual(await commit(store, [activation(revision)]), [{ ok: false, reason: 'unchecked' }]);
    await committed(store, creation(other, 'elsewhere'));
    await committed(store, activation(revision + 1));
    assert.equal((await store.models())[0]?.generation, 1);
  },

  'rows are rewritten as long as they are as they were read, and nothing else tells of it': async ({
    store,
    model,
  }) => {
    const other = await store.modelNumber('demo.example.com', 'Other');
    for (const name of ['a', 'b', 'c']) await committed(store, creation(model, name, 'old', claimOf(name)));
    const updated = await committed(store, { type: 'update', model, name: 'b', bytes: bytesOf('newer') });
    await committed(store, creation(other, 'a', 'other'));
    const everything = async () => ({
      changes: (await allChanges(store)).map(({ bytes, before, ...change }) => ({
        ...change,
        text: textOf(bytes),
        before: before && textOf(before),
      })),
      revision: await store.revision(),
      oldest: await store.oldest(),
      claims: store.shared && (await (store as SharedStore).claims(model, undefined, 10)),
    });
    const before = await everything();
    const long = 'rewritten'.repeat(70_000);
    const rewritten = await store.rewrite(model, [
      { id: 1, revision: 1, bytes: bytesOf(long) },
      { id: 2, revision: 2, bytes: bytesOf('older than the update') },
      { id: 3, revision: 3, bytes: bytesOf(`${long}é`) },
      { id: 5, revision: 5, bytes: bytesOf('of another model') },
      { id: 99, revision: 99, bytes: bytesOf('of nothing') },
    ]);
    assert.equal(rewritten, 2);
    assert.deepEqual(await everything(), before);
    assert.deepEqual((await allRows(store, model)).map(plainRow), [
      { id: 1, revision: 1, name: 'a', text: long },
      { id: 2, revision: updated.revision, name: 'b', text: 'newer' },
      { id: 3, revision: 3, name: 'c', text: `${long}é` },
    ]);
    assert.deepEqual((await allRows(store, other)).map(plainRow), [{ id: 5, revision: 5, name: 'a', text: 'other' }]);
    assert.equal(await store.rewrite(model, []), 0);
    const expected = { id: 1, revision: 1 };
    await committed(store, { type: 'update', model, name: 'a', bytes: bytesOf('next'), expected });
    const last = (await allChanges(store)).at(-1);
    assert.deepEqual([last?.before && textOf(last.before), last?.revision], [long, 6]);
  },

  'rows are rewritten by the generation of their model alone': async ({ store, model }) => {
    const other = await store.modelNumber('demo.example.com', 'Other');
    const row = await committed(store, creation(model, 'a', 'old'));
    const rewrite = (generation: number) =>
      store.rewrite(model, [{ ...row, bytes: bytesOf(`by ${generation}`) }], generation);
    assert.equal(await rewrite(1), undefined);
    const activate: Activation = { model, from: 0, to: 1, contract: '{}', storageVersion: 'v1' };
    await committed(store, { ...creation(other, 's'), activate });
    assert.equal(await rewrite(0), undefined);
    assert.equal(textOf((await allRows(store, model))[0]!.bytes), 'old');
    assert.equal(await rewrite(1), 1);
    assert.equal(textOf((await allRows(store, model))[0]!.bytes), 'by 1');
  },

  'a snapshot shows rows as they were before they were rewritten': async ({ store, model }) => {
    const row = await committed(store, creation(model, 'a', 'old'));
    const snapshot = await store.snapshot();
    try {
      assert.equal(await store.rewrite(model, [{ ...row, bytes: bytesOf('new') }]), 1);
      assert.deepEqual((await snapshot.get(model, [row.id])).map(plainRow), [{ ...row, name: 'a', text: 'old' }]);
      assert.deepEqual((await store.get(model, [row.id])).map(plainRow), [{ ...row, name: 'a', text: 'new' }]);
    } finally {
      await snapshot.close();
    }
  },

  'no commit is lost to rows that are rewritten beside it': async ({ store, model }) => {
    const names = Array.from({ length: 20 }, (_, i) => `n${i}`);
    await commit(
      store,
      names.map((name) => creation(model, name, `${name} 0`)),
    );
    let isWriting = true;
    const rewriting = (async () => {
      for (let count = 0; isWriting; count++) {
        const rows = await allRows(store, model);
        const again = rows.map(({ id, revision, bytes }) => ({
          id,
          revision,
          bytes: bytesOf(`${textOf(bytes).split('|')[0]}|${count}`),
        }));
        await store.rewrite(model, again);
      }
    })();
    const rounds = 30;
    for (let round = 1; round <= rounds; round++) {
      const turn = round % 2 === 0 ? names : names.toReversed();
      const updates = turn.map((name): Write => ({ type: 'update', model, name, bytes: bytesOf(`${name} ${round}`) }));
      assert.ok((await commit(store, updates)).every(({ ok }) => ok));
    }
    isWriting = false;
    await rewriting;
    const rows = await allRows(store, model);
    assert.deepEqual(
      rows.map(({ bytes }) => textOf(bytes).split('|')[0]),
      names.map((name) => `${name} ${rounds}`),
    );
    assert.equal(await store.revision(), names.length * (rounds + 1));
  },

  'large contents and odd names come back as they were': async ({ store, model }) => {
    const megabyte = new Uint8Array(2 ** 20).map((_, i) => i % 251);
    const names = [
      'a'.repeat(253),
      'A',
      'a',
      'ä',
      'a ',
      ' a',
      'a\u0301',
      '日本語',
      '😀',
      "o'clock",
      '%_\\',
      '"',
      '$1',
      '?',
      '',
    ];
    const results = await commit(
      store,
      names.map((name) => creation(model, name, name)),
    );
    assert.ok(
      results.every((result) => result.ok),
      JSON.stringify(results),
    );
    await committed(store, { type: 'create', model, name: 'big', bytes: megabyte });
    await committed(store, { type: 'create', model, name: 'empty', bytes: new Uint8Array() });
    await committed(store, creation(model, 'nul', 'a\0b'));
    const rows = await allRows(store, model);
    assert.deepEqual(
      rows.slice(0, names.length).map((row) => [row.name, textOf(row.bytes)]),
      names.map((name) => [name, name]),
    );
    assert.deepEqual(Buffer.from(rows.find((row) => row.name === 'big')!.bytes), Buffer.from(megabyte));
    assert.equal(rows.find((row) => row.name === 'empty')!.bytes.byteLength, 0);
    assert.equal(textOf(rows.find((row) => row.name === 'nul')!.bytes), 'a\0b');
    const changes = await allChanges(store);
    assert.deepEqual(
      changes.slice(0, names.length).map((change) => change.name),
      names,
    );
  },

  'a batch of large contents is there whole, with every line of the change log': async ({ store, model }) => {
    // Statements are cut at a megabyte or so, wherever that is.
    const batch = Array.from({ length: 23 }, (_, i) =>
      creation(model, `large-${i}`, `${i}`.padEnd(200_000 + i * 10_007, 'x'), claimOf(`value-${i}`)),
    );
    const results = await commit(store, batch);
    const versions = batch.map((write, i) => ({ ...write, id: i + 1, revision: i + 1 }));
    assert.deepEqual(
      results,
      versions.map(({ id, revision }) => ({ ok: true, id, revision })),
    );
    const texts = versions.map(({ name, bytes }) => [name, hashOf(textOf(bytes))]);
    assert.deepEqual(
      (await allRows(store, model)).map(({ name, bytes }) => [name, hashOf(textOf(bytes))]),
      texts,
    );
    const next = batch.map((write, i) => ({
      ...write,
      type: i % 3 === 0 ? ('delete' as const) : ('update' as const),
      bytes: bytesOf(`next ${i}`.padEnd(150_000 + i * 9_001, 'y')),
      claim: [],
    }));
    assert.ok((await commit(store, next)).every((result) => result.ok));
    assert.deepEqual(
      (await allChanges(store)).map(({ name, type, bytes, before }) => [
        name,
        type,
        hashOf(textOf(bytes)),
        before && hashOf(textOf(before)),
      ]),
      [
        ...versions.map(({ name, bytes }) => [name, 'create', hashOf(textOf(bytes)), undefined]),
        ...next.map(({ name, type, bytes }, i) => [name, type, hashOf(textOf(bytes)), texts[i]![1]]),
      ],
    );
    assert.equal(await store.count(model), batch.length - Math.ceil(batch.length / 3));
  },

  'a batch of a thousand writes is one transaction': async ({ store, model }) => {
    const writes = Array.from({ length: 1000 }, (_, i) => creation(model, `n${i}`, `${i}`, claimOf(`${i}`)));
    const results = await commit(store, writes);
    assert.deepEqual(
      results,
      writes.map((_, i) => ({ ok: true, id: i + 1, revision: i + 1 })),
    );
    const ids = writes.map((_, i) => 1000 - i);
    assert.deepEqual(
      (await store.get(model, ids)).map((row) => row.id),
      ids,
    );
  },

  'commits at the same time leave no gap and repeat no revision': async ({ store, model }) => {
    await writersAgainst([store], model);
  },

  'what load put in is read as it is, and the store goes on from there': async ({ store, model }) => {
    const loaded = { number: 41, group: 'g', kind: 'K', generation: 3, contract: '{"a":"é"}', storageVersion: 'v1' };
    await store.load({ models: [loaded, { number: 42, group: 'g', kind: 'L', generation: 0 }] });
    assert.deepEqual((await store.models()).slice(-2), [loaded, { number: 42, group: 'g', kind: 'L', generation: 0 }]);
    await store.load({
      model,
      rows: [
        { id: 7, revision: 9, name: 'a', bytes: bytesOf('x') },
        { id: 8, revision: 8, name: 'b', bytes: bytesOf('y') },
      ],
    });
    const changes: Change[] = [
      { revision: 8, type: 'create', model, id: 8, name: 'b', bytes: bytesOf('y'), time },
      { revision: 9, type: 'update', model, id: 7, name: 'a', bytes: bytesOf('x'), before: bytesOf('w'), time },
    ];
    await store.load({ changes });
    await store.load({ changes });
    await store.load({ revision: 9, oldest: 7 });
    assert.equal(await store.modelNumber('g', 'K'), 41);
    assert.equal(await store.revision(), 9);
    assert.equal(await store.oldest(), 7);
    assert.deepEqual(
      (await allChanges(store, 7)).map((change) => [
        change.revision,
        change.type,
        change.before && textOf(change.before),
      ]),
      [
        [8, 'create', undefined],
        [9, 'update', 'w'],
      ],
    );
    assert.deepEqual((await allRows(store, model)).map(plainRow), [
      { id: 7, revision: 9, name: 'a', text: 'x' },
      { id: 8, revision: 8, name: 'b', text: 'y' },
    ]);
    assert.deepEqual(await committed(store, creation(model, 'c')), { id: 10, revision: 10 });
    assert.notEqual(await store.modelNumber('g', 'M'), 41);
  },

  'tokens tells every lease, and a store that they are loaded into gives out none of them again': async ({ store }) => {
    assert.deepEqual(await store.tokens(), { first: 0, leases: [] });
    const first = await store.acquireLease('job', 'me', 1000, time);
    const [high, later] = [2 ** 40 + 7, 2 ** 41];
    await store.load({
      tokens: {
        first: later,
        leases: [
          { name: 'job', token: high },
          { name: 'a', token: 3 },
        ],
      },
    });
    assert.deepEqual(await store.tokens(), {
      first: later,
      leases: [
        { name: 'a', token: 3 },
        { name: 'job', token: high },
      ],
    });
    const again = await store.acquireLease('job', 'you', 1000, time);
    assert.ok(first && again && again.token > high, 'the lease is free, and its token goes on');
    const fresh = await store.acquireLease('new', 'you', 1000, time);
    assert.ok(fresh && fresh.token > later);
    const known = (await store.tokens()).leases.map(({ name }) => name);
    assert.deepEqual(known, ['a', 'job', 'new']);
  },

  'a jump moves the revision beyond what was given out and empties the change log': async ({ store, model }) => {
    await committed(store, creation(model, 'a'));
    const lease = await store.acquireLease('job', 'me', 1000, time);
    const revision = await store.jump();
    assert.ok(revision >= 2 ** 40 && Number.isSafeInteger(revision));
    assert.equal(await store.revision(), revision);
    assert.equal(await store.oldest(), revision);
    await assert.rejects(async () => store.changes(1, 10), withCode('Expired'));
    assert.deepEqual(await committed(store, creation(model, 'b')), { id: revision + 1, revision: revision + 1 });
    assert.deepEqual(
      (await store.changes(revision, 10)).map((change) => change.name),
      ['b'],
    );
    const again = await store.acquireLease('job', 'you', 1000, time);
    // Nobody knows how often it was taken after the backup was made.
    assert.ok(again && lease && again.token > lease.token + 2 ** 32, 'leases are free, and tokens are not repeated');
    const first = await store.acquireLease('another', 'me', 1000, time);
    assert.ok(first && first.token > 2 ** 32, 'nor are those of leases that the backup did not have');
    assert.equal((await store.get(model, [revision + 1])).length, 1);
  },

  'what is purged leaves no change, and nothing of other models goes': async ({ store, model }) => {
    const other = await store.modelNumber('demo.example.com', 'Other');
    const count = 1_201;
    const names = Array.from({ length: count }, (_, i) => `n${i}`);
    await commit(
      store,
      names.map((name) => creation(model, name)),
    );
    const kept = await committed(store, creation(other, 'kept'));
    const revision = await store.revision();
    let gone = 0;
    for (let last = -1; last !== 0; gone += last) last = await store.purge(model);
    assert.equal(gone, count);
    assert.deepEqual(await allRows(store, model), []);
    assert.deepEqual(
      (await allRows(store, other)).map(({ id }) => id),
      [kept.id],
    );
    assert.equal(await store.revision(), revision);
    assert.equal((await store.changes(revision - 1, 10)).length, 1);
    // The names are free.
    await committed(store, creation(model, 'n0'));
  },

  'a closed store answers NotReady': async ({ store, model }) => {
    await store.close();
    await store.close();
    await assert.rejects(async () => store.revision(), withCode('NotReady'));
    await assert.rejects(async () => store.get(model, [1]), withCode('NotReady'));
    await assert.rejects(async () => commit(store, [creation(model, 'a')]), withCode('NotReady'));
  },

  'the store describes itself': async ({ store }) => {
    const description = store.describe();
    assert.equal(typeof description.database, 'string');
    assert.equal(typeof description.version, 'string');
  },
};

const durableCases: Readonly<Record<string, Case>> = {
  'rewritten rows are there when the store is opened again': async ({ store, model, open }) => {
    const row = await committed(store, creation(model, 'a', 'old'));
    assert.equal(await store.rewrite(model, [{ ...row, bytes: bytesOf('new') }]), 1);
    await store.close();
    const again = await open();
    assert.deepEqual((await allRows(again, model)).map(plainRow), [{ ...row, name: 'a', text: 'new' }]);
  },

  'a store that is opened again has everything': async ({ store, model, open }) => {
    const a = await committed(store, creation(model, 'a', 'one'));
    await committed(store, { type: 'update', model, name: 'a', expected: a, bytes: bytesOf('two') });
    await committed(store, creation(model, 'b'));
    const lease = await store.acquireLease('job', 'me', 1000, time);
    await store.compact(2, time);
    await store.close();
    const again = await open();
    assert.equal(await again.modelNumber('demo.example.com', 'Article'), model);
    assert.equal(await again.revision(), 3);
    assert.equal(await again.oldest(), 1);
    assert.deepEqual((await allRows(again, model)).map(plainRow), [
      { id: 1, revision: 2, name: 'a', text: 'two' },
      { id: 3, revision: 3, name: 'b', text: 'content of b' },
    ]);
    assert.deepEqual(
      (await again.changes(1, 10)).map((change) => change.revision),
      [2, 3],
    );
    assert.equal(await again.acquireLease('job', 'you', 1000, time), undefined);
    assert.equal((await again.acquireLease('job', 'me', 1000, time))?.token, lease?.token);
    assert.deepEqual(await committed(again, creation(model, 'c')), { id: 4, revision: 4 });
  },
};

const claimCases: Readonly<Record<string, Case<SharedStore>>> = {
  'what is purged gives up its unique values': async ({ store, model }) => {
    await committed(store, creation(model, 'a', 'x', claimOf('1'), claimOf('2')));
    while ((await store.purge(model)) > 0);
    assert.deepEqual(await store.claims(model, undefined, 10), []);
    await committed(store, creation(model, 'b', 'x', claimOf('1')));
  },

  'a new store has no claims': async ({ store, model }) => {
    assert.deepEqual(await store.claims(model, undefined, 10), []);
  },

  'a member whose value is taken fails alone, and takes no other value': async ({ store, model }) => {
    await committed(store, creation(model, 'taken', 'x', claimOf('slug')));
    const results = await commit(store, [
      creation(model, 'b', 'x', claimOf('free'), claimOf('slug')),
      creation(model, 'd', 'x', claimOf('free')),
    ]);
    assert.deepEqual(results, [
      { ok: false, reason: 'claimed', index: 'spec.slug', key: 'slug' },
      { ok: true, id: 2, revision: 2 },
    ]);
  },

  'a value is free for the members after the one that gives it up': async ({ store, model }) => {
    const { id } = await committed(store, creation(model, 'a', 'one', claimOf('x')));
    const release = [releaseOf('x')];
    const results = await commit(store, [
      { type: 'delete', model, name: 'a', expected: { id, revision: 1 }, bytes: bytesOf('gone'), release },
      creation(model, 'a', 'new', claimOf('x')),
      creation(model, 'b', 'x', claimOf('x')),
      { type: 'update', model, name: 'a', expected: { id: 3, revision: 3 }, bytes: bytesOf('newer') },
      { type: 'delete', model, name: 'a', bytes: bytesOf('gone again'), release },
      creation(model, 'b', 'last', claimOf('x')),
    ]);
    assert.deepEqual(results, [
      { ok: true, id: 1, revision: 2 },
      { ok: true, id: 3, revision: 3 },
      { ok: false, reason: 'claimed', index: 'spec.slug', key: 'x' },
      { ok: true, id: 3, revision: 4 },
      { ok: true, id: 3, revision: 5 },
      { ok: true, id: 6, revision: 6 },
    ]);
    assert.deepEqual(
      (await store.claims(model, undefined, 10)).map((claim) => [claim.key, claim.id]),
      [['x', 6]],
    );
  },

  'a taken name is named before a taken value': async ({ store, model }) => {
    await committed(store, creation(model, 'a', 'x', claimOf('x')));
    assert.deepEqual(await commit(store, [creation(model, 'a', 'x', claimOf('x'))]), [{ ok: false, reason: 'exists' }]);
  },

  'the first taken value in the order of the claims is named': async ({ store, model }) => {
    await committed(store, creation(model, 'a', 'x', claimOf('1', 'one'), claimOf('2', 'two')));
    assert.deepEqual(await commit(store, [creation(model, 'b', 'x', claimOf('2', 'two'), claimOf('1', 'one'))]), [
      { ok: false, reason: 'claimed', index: 'two', key: '2' },
    ]);
  },

  'values are taken for one model': async ({ store, model }) => {
    const other = await store.modelNumber('demo.example.com', 'Author');
    await committed(store, creation(model, 'a', 'x', claimOf('x')));
    await committed(store, creation(other, 'a', 'x', claimOf('x')));
    assert.equal((await store.claims(other, undefined, 10)).length, 1);
  },

  'a refused write leaves no value taken and none given up': async ({ store, model }) => {
    const held = await committed(store, creation(model, 'a', 'x', claimOf('mine')));
    await committed(store, creation(model, 'b', 'x', claimOf('theirs')));
    const update: Write = {
      type: 'update',
      model,
      name: 'a',
      expected: held,
      bytes: bytesOf('y'),
      release: [releaseOf('mine')],
      claim: [claimOf('fresh'), claimOf('theirs')],
    };
    assert.deepEqual(await commit(store, [update]), [
      { ok: false, reason: 'claimed', index: 'spec.slug', key: 'theirs' },
    ]);
    const claims = await store.claims(model, undefined, 10);
    assert.deepEqual(claims.map((claim) => [claim.key, claim.id]).toSorted(), [
      ['mine', 1],
      ['theirs', 2],
    ]);
  },

  'an update may take what its row has already, and give up what it has': async ({ store, model }) => {
    const held = await committed(store, creation(model, 'a', 'x', claimOf('one'), claimOf('two')));
    await committed(store, {
      type: 'update',
      model,
      name: 'a',
      expected: held,
      bytes: bytesOf('y'),
      claim: [claimOf('two'), claimOf('three')],
      release: [releaseOf('one')],
    });
    await committed(store, creation(model, 'b', 'x', claimOf('one')));
    assert.deepEqual((await store.claims(model, undefined, 10)).map((claim) => [claim.key, claim.id]).toSorted(), [
      ['one', 3],
      ['three', 1],
      ['two', 1],
    ]);
  },

  'a value that another row has taken is not given up for it': async ({ store, model }) => {
    await committed(store, creation(model, 'holder', 'x', claimOf('v')));
    const twin = await committed(store, creation(model, 'twin'));
    await committed(store, {
      type: 'update',
      model,
      name: 'twin',
      expected: twin,
      bytes: bytesOf('y'),
      release: [releaseOf('v')],
    });
    assert.deepEqual(
      (await store.claims(model, undefined, 10)).map((claim) => claim.id),
      [1],
    );
  },

  'a successor takes the value over; the write fails when it is gone or another by now': async ({ store, model }) => {
    const holder = await committed(store, creation(model, 'holder', 'x', claimOf('v'), claimOf('w')));
    const twin = await committed(store, creation(model, 'twin'));
    const deletion = { type: 'delete', model, name: 'holder', expected: holder, bytes: bytesOf('') } as const;
    for (const other of [
      { id: 99, revision: 99 },
      { ...twin, revision: twin.revision + 1 },
    ]) {
      const release = [releaseOf('v', twin), releaseOf('w', other)];
      assert.deepEqual(await commit(store, [{ ...deletion, release }]), [{ ok: false, reason: 'changed' }]);
    }
    await committed(store, { ...deletion, release: [releaseOf('v', twin), releaseOf('w')] });
    assert.deepEqual(
      (await store.claims(model, undefined, 10)).map((claim) => [claim.key, claim.id]),
      [['v', twin.id]],
    );
    assert.deepEqual(await commit(store, [creation(model, 'next', 'x', claimOf('v'))]), [
      { ok: false, reason: 'claimed', index: 'spec.slug', key: 'v' },
    ]);
    await committed(store, creation(model, 'other', 'x', claimOf('w')));
  },

  'claims come by hash, after a hash, at most the limit': async ({ store, model }) => {
    const keys = Array.from({ length: 25 }, (_, i) => `key-${i}`);
    await commit(
      store,
      keys.map((key) => creation(model, key, 'x', claimOf(key))),
    );
    const found: (Claim & { id: number })[] = [];
    for (;;) {
      const part = await store.claims(model, found.at(-1)?.hash, 10);
      if (part.length === 0) break;
      assert.ok(part.length <= 10);
      found.push(...part);
    }
    assert.deepEqual(
      found.map((claim) => Buffer.from(claim.hash).toString('hex')),
      keys.map((key) => Buffer.from(claimOf(key).hash).toString('hex')).toSorted(),
    );
    assert.ok(found.every((claim) => claim.index === 'spec.slug' && claim.key === `key-${claim.id - 1}`));
  },

  'claims are put right only for rows that are as they were read': async ({ store, model }) => {
    await commit(
      store,
      ['a', 'b', 'c', 'd'].map((name) => creation(model, name, 'x', claimOf(name))),
    );
    const [changed] = await commit(store, [{ type: 'update', model, name: 'd', bytes: bytesOf('y') }]);
    assert.ok(changed?.ok);
    const left = await store.mendClaims(
      model,
      [
        { ...claimOf('new'), id: 3, revision: 3 },
        { ...claimOf('a'), id: 2, revision: 2 },
        { ...claimOf('c'), id: 2, revision: 2 },
        { ...claimOf('late'), id: 4, revision: 4 },
        { ...claimOf('gone'), id: 9, revision: 9 },
      ],
      [
        { hash: claimOf('b').hash, id: 1, revision: 1 },
        { hash: claimOf('c').hash, id: 3, revision: 3 },
        { hash: claimOf('d').hash, id: 4, revision: 4 },
        { hash: claimOf('a').hash, id: 1, revision: undefined },
      ],
    );
    assert.equal(left, 4);
    assert.deepEqual((await store.claims(model, undefined, 10)).map((claim) => [claim.key, claim.id]).toSorted(), [
      ['a', 1],
      ['b', 2],
      ['c', 2],
      ['d', 4],
      ['new', 3],
    ]);
    await commit(store, [{ type: 'delete', model, name: 'b', bytes: bytesOf('x') }]);
    assert.equal(await store.mendClaims(model, [], [{ hash: claimOf('b').hash, id: 2, revision: undefined }]), 0);
    assert.ok((await store.claims(model, undefined, 10)).every((claim) => claim.key !== 'b'));
  },

  'claims are put right only for the generation that they were computed for': async ({ store, model }) => {
    const { id, revision } = await committed(store, creation(model, 'a'));
    const add = [{ ...claimOf('a'), id, revision }];
    assert.equal(await store.mendClaims(model, add, [], 1), undefined);
    assert.deepEqual(await store.claims(model, undefined, 10), []);
    assert.equal(await store.mendClaims(model, add, [], 0), 0);
    assert.equal((await store.claims(model, undefined, 10)).length, 1);
  },

  'a replica is there until it withdraws or what it said runs out': async ({ store }) => {
    const [a, b] = ['a', 'b'].map((id) => ({ id, supports: `{"of":"${id}é"}` })) as [
      { id: string; supports: string },
      { id: string; supports: string },
    ];
    await store.announce(a, 1000, time);
    await store.announce(b, 2000, time);
    assert.deepEqual(await store.replicas(time + 999), [a, b]);
    assert.deepEqual(await store.replicas(time + 1000), [b]);
    await store.announce({ ...b, supports: '{}' }, 1000, time + 1500);
    assert.deepEqual(await store.replicas(time + 2400), [{ id: 'b', supports: '{}' }]);
    await store.withdraw('b');
    await store.withdraw('c');
    assert.deepEqual(await store.replicas(time + 1600), []);
  },

  'a file that processes leave for each other is whole or not there': async ({ store, open }) => {
    // A cache that a store of somebody else need not have.
    if (!store.sharedFile) return;
    const files = store as Store & SharedFiles;
    const bytes = Uint8Array.from({ length: 2 ** 20 }, (_, i) => (i * 31) % 251);
    await files.sharePart('é', 5, 0, bytes);
    assert.equal(await files.sharedFile('é'), undefined);
    await files.sharePart('é', 5, 1, bytesOf('end'));
    await files.sharePart('é', 4, 0, bytesOf('given up'));
    const file = { edition: 5, parts: 2, about: '{"a":"é"}' };
    await files.shareFile('é', file);
    const other = (await open()) as Store & SharedFiles;
    try {
      assert.deepEqual(await other.sharedFile('é'), file);
      assert.equal(await other.sharedFile('e'), undefined);
      assert.deepEqual(new Uint8Array((await other.sharedPart('é', 5, 0))!), bytes);
      assert.equal(textOf((await other.sharedPart('é', 5, 1))!), 'end');
    } finally {
      await other.close();
    }
    assert.equal(await files.sharedPart('é', 5, 2), undefined);
    assert.equal(await files.sharedPart('é', 4, 0), undefined);
    await files.sharePart('é', 6, 0, bytesOf('new'));
    await files.sharePart('é', 6, 0, bytesOf('once more'));
    assert.deepEqual(await files.sharedFile('é'), file);
    await files.shareFile('é', { edition: 6, parts: 1, about: '' });
    assert.deepEqual(
      [await files.sharedPart('é', 5, 0), textOf((await files.sharedPart('é', 6, 0))!)],
      [undefined, 'once more'],
    );
  },

  'of many that take the same value at the same time exactly one succeeds': async ({ store, model }) => {
    await raceFor([store], model);
  },

  'any text can be a value': async ({ store, model }) => {
    const keys = ['', ' ', 'a', 'A', 'ä', 'a\u0308', "'", '%_\\', 'k\0\u{10ffff}\n', 'x'.repeat(2_000)];
    await commit(
      store,
      keys.map((key, i) => creation(model, `n${i}`, 'x', claimOf(key))),
    );
    const found = (await store.claims(model, undefined, 100)).map((claim) => claim.key);
    assert.deepEqual(found.toSorted(), keys.toSorted());
  },

  'claims that load put in are taken': async ({ store, model }) => {
    await store.load({ model, rows: [{ id: 7, revision: 9, name: 'a', bytes: bytesOf('x') }] });
    await store.load({ model, claims: [{ ...claimOf('k'), id: 7 }] });
    await store.load({ revision: 9, oldest: 9 });
    assert.deepEqual(await commit(store, [creation(model, 'c', 'x', claimOf('k')), creation(model, 'c')]), [
      { ok: false, reason: 'claimed', index: 'spec.slug', key: 'k' },
      { ok: true, id: 10, revision: 10 },
    ]);
  },

  'claims are there when the store is opened again': async ({ store, model, open }) => {
    await committed(store, creation(model, 'a', 'one', claimOf('x')));
    await store.close();
    assert.equal((await (await open()).claims(model, undefined, 10)).length, 1);
  },
};

const sharedCases: Readonly<Record<string, Case<SharedStore>>> = {
  'what one acknowledged the other reads at once': async ({ store, model, open }) => {
    const other = await open();
    assert.equal(await other.modelNumber('demo.example.com', 'Article'), model);
    for (let i = 1; i <= 20; i++) {
      const [from, to] = i % 2 ? [store, other] : [other, store];
      const { revision } = await committed(from!, creation(model, `n${i}`));
      assert.equal(await to!.revision(), revision);
      assert.equal((await to!.changes(revision - 1, 10))[0]?.name, `n${i}`);
    }
  },

  'a listener is called when the other one commits, and not after it is taken away': async ({ store, model, open }) => {
    const other = await open();
    let calls = 0;
    const stop = other.onCommit(() => calls++);
    await committed(store, creation(model, 'a'));
    const deadline = Date.now() + 5_000;
    while (calls === 0 && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 5));
    assert.ok(calls > 0);
    stop();
    const before = calls;
    await committed(store, creation(model, 'b'));
    assert.equal(await other.revision(), 2);
    assert.equal(calls, before);
  },

  'two stores that write at the same time leave no gap and repeat no revision': async ({ store, model, open }) => {
    await writersAgainst([store, await open(), await open()], model);
  },

  'random batches of two stores in turn do what a plain model of the contract does': async ({ store, model, open }) => {
    await randomBatches([store, await open()], model, Date.now() % 1_000_000);
  },

  'of many on two stores that take the same value exactly one succeeds': async ({ store, model, open }) => {
    await raceFor([store, await open()], model);
  },

  'two stores number a new model alike': async ({ store, open }) => {
    const other = await open();
    for (let i = 0; i < 5; i++) {
      const numbers = await Promise.all([store.modelNumber('g', `K${i}`), other.modelNumber('g', `K${i}`)]);
      assert.equal(numbers[0], numbers[1]);
    }
  },

  'of two that want a lease one gets it': async ({ store, open }) => {
    const other = await open();
    for (let i = 0; i < 10; i++) {
      const leases = await Promise.all([
        store.acquireLease(`job-${i}`, 'me', 1000, time),
        other.acquireLease(`job-${i}`, 'you', 1000, time),
      ]);
      assert.equal(leases.filter((lease) => lease !== undefined).length, 1);
    }
  },

  'compaction by two at the same time removes each change once': async ({ store, model, open }) => {
    const other = await open();
    await commit(
      store,
      Array.from({ length: 1200 }, (_, i) => creation(model, `n${i}`)),
    );
    const counts = await Promise.all([compactAll(store, 100, time), compactAll(other, 100, time)]);
    assert.equal(counts[0]! + counts[1]!, 1100);
    assert.equal((await allChanges(store, 1100)).length, 100);
  },
};

async function compactAll(store: Store, keep: number, until: number, now?: number): Promise<number> {
  let removed = 0;
  for (;;) {
    const part = await store.compact(keep, until, now);
    if (part === 0) return removed;
    removed += part;
  }
}

/** Several queues over the stores, each with a few clients; checks revisions, rows and the change log against the answers. */
async function writersAgainst(stores: readonly Store[], model: number): Promise<void> {
  const answers = new Map<number, string>();
  const queues = stores.map((store) => new CommitQueue(store, { now: () => time }));
  await Promise.all(
    Array.from({ length: 12 }, async (_, client) => {
      const queue = queues[client % queues.length]!;
      for (let i = 0; i < 20; i++) {
        const name = `client-${client}-${i}`;
        const result = await queue.commit(creation(model, name));
        assert.ok(result.ok);
        assert.equal(answers.get(result.revision), undefined, `revision ${result.revision} was given twice`);
        answers.set(result.revision, name);
      }
    }),
  );
  await Promise.all(queues.map((queue) => queue.stop()));
  const changes = await allChanges(stores[0]!);
  assert.deepEqual(
    changes.map((change) => change.revision),
    Array.from({ length: 240 }, (_, i) => i + 1),
  );
  for (const change of changes) assert.equal(change.name, answers.get(change.revision));
  assert.equal(await stores[0]!.count(model), 240);
}

async function raceFor(stores: readonly Store[], model: number): Promise<void> {
  for (let round = 0; round < 10; round++) {
    const results = await Promise.all(
      Array.from({ length: 8 }, (_, i) =>
        commit(stores[i % stores.length]!, [creation(model, `r${round}-${i}`, 'x', claimOf(`value-${round}`))]),
      ),
    );
    const won = results.flat().filter((result) => result.ok);
    assert.equal(won.length, 1, `round ${round}: ${won.length} took the value`);
    for (const result of results.flat()) assert.ok(result.ok || result.reason === 'claimed');
  }
  assert.equal(await stores[0]!.count(model), 10);
}

/** Numbers in [0, 1) that follow from the seed alone (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The contract of `commit`, said as plainly as possible. */
class PlainModel {
  revision = 0;
  rows = new Map<string, { id: number; revision: number; text: string }>();
  claims = new Map<string, number>();
  changes: object[] = [];
  /** Keys by their hash. */
  readonly keyOf: ReadonlyMap<string, string>;

  constructor(keys: readonly string[]) {
    this.keyOf = new Map(keys.map((key) => [textOf(claimOf(key).hash), key]));
  }

  apply(write: Write): WriteResult {
    const row = this.rows.get(write.name);
    if (write.type === 'create' && row) return { ok: false, reason: 'exists' };
    if (write.type !== 'create') {
      if (!row) return { ok: false, reason: 'missing' };
      const { expected } = write;
      if (expected && (expected.id !== row.id || expected.revision !== row.revision)) {
        return { ok: false, reason: 'changed' };
      }
    }
    const id = row?.id ?? this.revision + 1;
    for (const { index, key } of write.claim ?? []) {
      const holder = this.claims.get(key);
      if (holder !== undefined && holder !== id) return { ok: false, reason: 'claimed', index, key };
    }
    const released = (write.release ?? []).filter(({ hash }) => this.claims.get(this.keyOf.get(textOf(hash))!) === id);
    const rows = [...this.rows.values()];
    for (const { successor } of released) {
      if (successor && rows.find((other) => other.id === successor.id)?.revision !== successor.revision)
        return { ok: false, reason: 'changed' };
    }
    const revision = ++this.revision;
    for (const { hash, successor } of released) {
      const key = this.keyOf.get(textOf(hash))!;
      if (successor) this.claims.set(key, successor.id);
      else this.claims.delete(key);
    }
    for (const { key } of write.claim ?? []) this.claims.set(key, id);
    const text = textOf(write.bytes);
    this.changes.push({ revision, type: write.type, id, name: write.name, text, before: row?.text });
    if (write.type === 'delete') this.rows.delete(write.name);
    else this.rows.set(write.name, { id, revision, text });
    return { ok: true, id, revision };
  }
}

async function randomBatches(stores: readonly [Store, ...Store[]], model: number, seed: number): Promise<void> {
  const [store] = stores;
  const random = seeded(seed);
  const below = (limit: number): number => Math.floor(random() * limit);
  const plain = new PlainModel(Array.from({ length: 6 }, (_, i) => `k${i}`));
  const someKeys = (): string[] => [...new Set(Array.from({ length: below(3) }, () => `k${below(6)}`))];
  /** As the service writes: what it knows to be possible, each row once. */
  const possible = (round: number): Write[] => {
    const names = new Set(Array.from({ length: 1 + below(5) }, () => `n${below(8)}`));
    const free = [...plain.keyOf.values()].filter((key) => !plain.claims.has(key));
    return Array.from(names, (name): Write => {
      const row = plain.rows.get(name);
      const bytes = bytesOf(`round ${round} ${below(1000)}`);
      const key = row ? undefined : free.pop();
      const claim = store.shared && key !== undefined ? [claimOf(key)] : [];
      if (!row) return { type: 'create', model, name, bytes, claim };
      const late = random() < 0.05 ? 1 : 0;
      return { type: 'update', model, name, bytes, expected: { id: row.id, revision: row.revision - late } };
    });
  };
  const any = (round: number): Write[] =>
    Array.from({ length: 1 + below(9) }, (): Write => {
      const name = `n${below(6)}`;
      const row = plain.rows.get(name);
      const type = (['create', 'update', 'delete'] as const)[below(3)]!;
      const heirs = [...plain.rows.values()].filter((one) => one !== row);
      const release = someKeys().map((key) =>
        releaseOf(key, random() < 0.5 && heirs.length > 0 ? heirs[below(heirs.length)] : undefined),
      );
      return {
        type,
        model,
        name,
        ...(row && random() < 0.5 && { expected: { id: row.id, revision: row.revision } }),
        bytes: bytesOf(`round ${round} ${below(1000)}`),
        ...(store.shared && {
          claim: type === 'delete' ? [] : someKeys().map((key) => claimOf(key)),
          release: type === 'create' ? [] : release,
        }),
      };
    });
  for (let round = 0; round < 100; round++) {
    const batch = random() < 0.7 ? possible(round) : any(round);
    const results = await commit(stores[below(stores.length)]!, batch);
    const expected = batch.map((write) => plain.apply(write));
    assert.deepEqual(
      results.map((result) => ({ ...result })),
      expected,
      `seed ${seed}, round ${round}: ${JSON.stringify(batch.map(({ bytes, ...rest }) => rest))}`,
    );
  }
  const note = `seed ${seed}`;
  assert.deepEqual(
    (await allRows(store, model)).map(plainRow),
    [...plain.rows].map(([name, row]) => ({ name, ...row })).toSorted((a, b) => a.id - b.id),
    note,
  );
  assert.deepEqual(
    new Map((await (store.claims?.(model, undefined, 100) ?? [])).map((claim) => [claim.key, claim.id])),
    plain.claims,
    note,
  );
  assert.deepEqual(
    (await allChanges(store)).map(({ revision, type, id, name, bytes, before }) => ({
      revision,
      type,
      id,
      name,
      text: textOf(bytes),
      before: before && textOf(before),
    })),
    plain.changes,
    note,
  );
}
