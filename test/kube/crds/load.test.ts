import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { turnLimit } from '../../api/loop-guard.ts';
import { slowness } from '../../slowness.ts';
import { changesUnderLoad } from './changes.ts';
import { starts } from './starts.ts';

test('a start loads definitions without holding the event loop', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'kindred-definitions-'));
  try {
    const { without, with: loaded } = await starts({ database: `sqlite:${join(folder, 'kindred.db')}`, count: 25 });
    const slow = slowness();
    const took = loaded.processor - without.processor;
    assert.ok(took < 1_500 * slow, `25 definitions took ${Math.round(took)} ms`);
    assert.ok(loaded.longestTurn < 3 * turnLimit * slow, `a turn went on for ${Math.round(loaded.longestTurn)} ms`);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('a schema changes under watchers and writers', async () => {
  await changesUnderLoad({ watchers: 20, writers: 4, writes: 12, changes: 3 });
});
