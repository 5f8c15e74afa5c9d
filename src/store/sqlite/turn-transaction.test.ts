import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Row, Write } from '../store.ts';
import { openSqlite } from './store.ts';
import { TurnTransaction } from './turn-transaction.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kindred-turn-'));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('the read transaction of a turn', () => {
  test('begins at the second read, and ends with the turn', async () => {
    const db = new DatabaseSync(':memory:');
    const turn = new TurnTransaction(db);
    for (let i = 0; i < 2; i++) {
      turn.beforeRead();
      assert.equal(db.isTransaction, false);
      turn.beforeRead();
      turn.beforeRead();
      assert.equal(db.isTransaction, true);
      await nextTurn();
      assert.equal(db.isTransaction, false);
    }
    db.close();
  });

  test('ends earlier when asked, and begins again at the next read', async () => {
    const db = new DatabaseSync(':memory:');
    const turn = new TurnTransaction(db);
    turn.beforeRead();
    turn.beforeRead();
    turn.end();
    turn.end();
    assert.equal(db.isTransaction, false);
    turn.beforeRead();
    assert.equal(db.isTransaction, true);
    await nextTurn();
    assert.equal(db.isTransaction, false);
    db.close();
  });

  test('is over without a word when SQLite ended it, or the connection is closed', async () => {
    const db = new DatabaseSync(':memory:');
    const turn = new TurnTransaction(db);
    turn.beforeRead();
    turn.beforeRead();
    db.exec('ROLLBACK');
    await nextTurn();
    turn.beforeRead();
    turn.beforeRead();
    assert.equal(db.isTransaction, true);
    db.close();
    await nextTurn();
  });
});

test('a read shows what the writer answered in the same turn, whatever was read before', async () => {
  const store = await openSqlite(join(folder, 'data.db'));
  const model = await store.modelNumber('demo.example.com', 'Thing');
  const bytes = (edition: number) => Buffer.from(JSON.stringify({ edition }));
  const creation: Write = { type: 'create', model, name: 'a', bytes: bytes(0) };
  const [created] = await store.commit([creation], 1);
  assert.ok(created?.ok);
  const { id } = created;
  let { revision } = created;
  const read = () => (store.get(model, [id]) as readonly Row[])[0]!;
  for (let edition = 1; edition <= 20; edition++) {
    await nextTurn();
    const before = [read(), read(), read()];
    assert.deepEqual(
      before.map((row) => row.revision),
      [revision, revision, revision],
    );
    const update: Write = { type: 'update', model, name: 'a', bytes: bytes(edition), expected: { id, revision } };
    const committed = store.commit([update], 1);
    const deadline = performance.now() + 10_000;
    while (!(store as { receive?(): boolean }).receive!())
      assert.ok(performance.now() < deadline, 'the writer answers');
    const [updated] = await committed;
    assert.ok(updated?.ok);
    revision = updated.revision;
    const after = read();
    assert.deepEqual([after.revision, Buffer.from(after.bytes)], [revision, bytes(edition)]);
  }
  await store.close();
});

test('a snapshot has nothing that later reads of the turn have not', async () => {
  const store = await openSqlite(join(folder, 'data.db'));
  const model = await store.modelNumber('demo.example.com', 'Thing');
  const creation = (name: string): Write => ({ type: 'create', model, name, bytes: Buffer.from('{}') });
  const [created] = await store.commit([creation('a')], 1);
  assert.ok(created?.ok);
  await nextTurn();
  for (let i = 0; i < 2; i++) store.get(model, [created.id]);
  const committed = store.commit([creation('b')], 1);
  // The thread commits meanwhile; its answer is not taken before the turn is over.
  const other = new DatabaseSync(join(folder, 'data.db'), { readOnly: true });
  const deadline = performance.now() + 10_000;
  const newest = () =>
    (other.prepare("SELECT value FROM meta WHERE key = 'revision'").get() as { value: number }).value;
  while (newest() === created.revision) assert.ok(performance.now() < deadline, 'the thread commits');
  other.close();
  assert.equal(store.revision(), created.revision);
  const taking = store.snapshot();
  assert.ok((store.revision() as number) > created.revision);
  const snapshot = await taking;
  assert.equal(store.revision(), snapshot.revision);
  await snapshot.close();
  await committed;
  await store.close();
});
