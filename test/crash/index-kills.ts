/** Kills a process that writes objects and snapshots; the next one begins with the snapshot and must equal a build from scratch. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import type { StartOfModel } from '../../src/resource/memory.ts';
import { assertTrue, openProcess } from '../snapshots/process.ts';
import { fromSources } from '../sources.ts';

export interface IndexTally {
  kills: number;
  /** Starts after a kill by where they went on from. */
  snapshot: number;
  build: number;
  /** Of the log, by all starts together. */
  replayed: number;
}

/** One kill, and the start after it. @param path folder of the snapshots */
export async function indexKill(url: string, path: string, round: number, tally: IndexTally): Promise<void> {
  const child = spawn(
    process.execPath,
    [...fromSources, new URL('./index-writer.ts', import.meta.url).pathname, url, path, String(round)],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const ended = new Promise((resolve) => child.once('exit', resolve));
  try {
    const lines = createInterface({ input: child.stdout });
    const ready = new Promise<StartOfModel>((resolve, reject) => {
      lines.once('line', (line) => resolve(JSON.parse(line) as StartOfModel));
      child.once('exit', () => reject(new Error('the writer ended by itself')));
    });
    await ready;
    await pause(Math.random() * 2_500);
  } finally {
    child.kill('SIGKILL');
    await ended;
  }
  const next = await openProcess({ url, path });
  try {
    const { from, reason, replayed } = next.start;
    assert(from === 'snapshot' || reason === undefined || reason === 'behind', `round ${round}: refused, ${reason}`);
    await assertTrue(next, `round ${round}, from ${from}`);
    tally.kills++;
    tally[from]++;
    tally.replayed += replayed;
  } finally {
    await next.end();
  }
}
