import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
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
});
