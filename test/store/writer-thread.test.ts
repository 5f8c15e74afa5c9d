import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CommittingStore } from '../../src/store/commit-queue.ts';
import { openSqlite } from '../../src/store/sqlite/store.ts';
import type { Store } from '../../src/store/store.ts';

const folder = mkdtempSync(join(tmpdir(), 'kindred-writer-'));
after(() => rmSync(folder, { recursive: true }));

describe('the thread that writes', () => {
  it('gives its answer to whoever asks for it before the event loop comes to it', async () => {
    const store = (await openSqlite(join(folder, 'a.db'))) as Store & CommittingStore;
    const model = await store.modelNumber('test', 'A');
    const commit = (name: string) => store.commit([{ type: 'create', model, name, bytes: Buffer.from('{}') }], 0);
    await commit('a');
    let isAnswered = false;
    const answered = commit('b').then((results) => {
      isAnswered = true;
      return results;
    });
    const deadline = performance.now() + 5_000;
    // Without a turn of the event loop.
    while (!isAnswered && performance.now() < deadline) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
      store.receive!();
      for (let hop = 0; hop < 10; hop++) await undefined;
    }
    assert.ok(isAnswered);
    assert.deepEqual(await answered, [{ ok: true, id: 2, revision: 2 }]);
    await store.close();
  });

  it('moves nothing into the database while writes go on and the log is short, also after a log that was long', async (t) => {
    const file = join(folder, 'b.db');
    const idle = 1_000;
    const store = await openSqlite(file, { checkpointPages: 300, checkpointIdle: idle });
    t.after(() => store.close());
    const model = await store.modelNumber('test', 'B');
    const commit = (name: string, size: number) =>
      store.commit([{ type: 'create', model, name, bytes: Buffer.alloc(size) }], 0);
    const connection = new DatabaseSync(file, { readOnly: true });
    t.after(() => connection.close());
    /** Pages of the log that are not in the database. */
    const left = () => {
      // The connection looks at the log when it reads.
      connection.prepare('SELECT count(*) FROM meta').get();
      const { log, checkpointed } = connection.prepare('PRAGMA wal_checkpoint(NOOP)').get() as Record<string, number>;
      return log! - checkpointed!;
    };
    await commit('long', 300 * 4_096);
    // The writer answers first.
    for (const begin = performance.now(); left() > 0; await sleep(5)) assert.ok(performance.now() - begin < 0.5 * idle);
    const seen: number[] = [];
    for (const begin = performance.now(); performance.now() - begin < 1.5 * idle; seen.push(left())) {
      await commit(`short-${seen.length}`, 10);
      await sleep(50);
    }
    assert.ok(
      seen.every((pages, i) => pages > (seen[i - 1] ?? 0)),
      seen.join(),
    );
  });
});
