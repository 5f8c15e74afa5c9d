import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { openStore } from '../../src/store/open.ts';
import { translate } from '../../src/store/sqlite/thread.ts';
import type { Store } from '../../src/store/store.ts';
import { crashRound, Witness } from './crash.ts';
import { failingFsync } from './failing-fsync.ts';
import { smallDisk } from './small-disk.ts';

function run(program: string, ...args: string[]): boolean {
  return spawnSync(program, args, { stdio: 'ignore' }).status === 0;
}

async function withFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'kindred-faults-'));
  try {
    await body(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Creates objects of 100 kB until one is refused; resolves to the ids and the error. */
async function fill(store: Store, model: number, prefix: string): Promise<{ ids: number[]; error: { code?: string } }> {
  const ids: number[] = [];
  for (let i = 0; i < 10_000; i++) {
    const bytes = new Uint8Array(100_000).fill(i);
    try {
      const [result] = await store.commit([{ type: 'create', model, name: `${prefix}-${i}`, bytes }], 1);
      assert.ok(result?.ok);
      ids.push(result.id);
    } catch (error) {
      return { ids, error: error as { code?: string } };
    }
  }
  throw new Error('the storage never filled up');
}

async function readable(store: Store, model: number, ids: readonly number[]): Promise<void> {
  assert.deepEqual(
    (await store.get(model, ids)).map((row) => row.id),
    ids,
  );
  assert.equal(await store.revision(), ids.at(-1));
}

describe('I/O faults on a SQLite file', () => {
  it('errors: a full disk answers StorageFull, reads go on, writes succeed when there is room again', async (t) => {
    const disk = smallDisk(6 * 2 ** 20, 'SQLite on a full disk');
    if (!disk) {
      t.skip('a small file system cannot be mounted here');
      return;
    }
    try {
      const url = `sqlite:${join(disk.folder, 'data.db')}`;
      const store = await openStore(url);
      const model = await store.modelNumber('g', 'K');
      const { ids, error } = await fill(store, model, 'a');
      assert.equal(error.code, 'StorageFull');
      assert.ok(ids.length > 5);
      await readable(store, model, ids);
      await assert.rejects(store.commit([{ type: 'create', model, name: 'b', bytes: new Uint8Array(1e6) }], 1), {
        code: 'StorageFull',
      });
      disk.leave(34 * 2 ** 20);
      const [result] = await store.commit([{ type: 'create', model, name: 'b', bytes: new Uint8Array(1e6) }], 1);
      assert.deepEqual(result, { ok: true, id: ids.length + 1, revision: ids.length + 1 });
      await store.close();
      const again = await openStore(url);
      await readable(again, model, [...ids, ids.length + 1]);
      await again.close();
    } finally {
      disk.unmount();
    }
  });

  it('errors: a write that the system refuses answers NotReady, and the store goes on afterwards', async (t) => {
    const limit = (bytes: string): boolean => run('prlimit', `--pid=${process.pid}`, `--fsize=${bytes}:unlimited`);
    if (!limit('unlimited')) {
      t.skip('the program prlimit is not here');
      return;
    }
    await withFolder(async (folder) => {
      const url = `sqlite:${join(folder, 'data.db')}`;
      const store = await openStore(url);
      const model = await store.modelNumber('g', 'K');
      try {
        limit('1000000');
        const { ids, error } = await fill(store, model, 'a');
        assert.equal(error.code, 'NotReady');
        await readable(store, model, ids);
        limit('unlimited');
        const [result] = await store.commit([{ type: 'create', model, name: 'b', bytes: new Uint8Array(1e6) }], 1);
        assert.deepEqual(result, { ok: true, id: ids.length + 1, revision: ids.length + 1 });
      } finally {
        limit('unlimited');
        await store.close();
      }
    });
  });

  it('command-line: nothing acknowledged is lost when fsync fails for a while', async (t) => {
    const broken = failingFsync('SQLite with a failing fsync');
    if (!broken) {
      t.skip('no C compiler to build the faulty fsync with');
      return;
    }
    await withFolder(async (folder) => {
      const witness = new Witness();
      for (const round of ['1', '2']) {
        const url = `sqlite:${join(folder, 'data.db')}`;
        await crashRound({ url, environment: broken.environment, fault: broken }, witness, round);
      }
      assert.ok(witness.tally.acknowledged > 0 && witness.tally.faults > 0);
    }).finally(broken.tidy);
  });

  it('an error of the commit itself is of unknown outcome, an earlier one is not', () => {
    const codeOf = (errcode: number, committing: boolean): unknown =>
      (translate({ errcode, message: 'disk I/O error', committing }) as { code?: string }).code;
    const [fsync, write, full, busy] = [1034, 778, 13, 5];
    assert.equal(codeOf(fsync, true), 'UnknownOutcome');
    assert.equal(codeOf(fsync, false), 'NotReady');
    assert.equal(codeOf(write, true), 'NotReady');
    assert.equal(codeOf(full, true), 'StorageFull');
    assert.equal(codeOf(busy, true), 'NotReady');
  });
});
