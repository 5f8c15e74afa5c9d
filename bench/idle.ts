/** The command as a user starts it, on an empty database: time to ready, and memory at rest. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';

export interface Idle {
  /** Milliseconds from the start of the process to the line that says it is ready. */
  readonly start: number;
  /** Mebibytes resident, a while after that. */
  readonly memory: number;
}

/** @param rest milliseconds between ready and the look at the memory */
export async function measureIdle(rest: number): Promise<Idle> {
  const folder = mkdtempSync(join(tmpdir(), 'kindred-bench-'));
  const command = resolve(import.meta.dirname, '../dist/cli/main.js');
  const database = `sqlite:${join(folder, 'empty.db')}`;
  const begin = performance.now();
  const child = spawn(process.execPath, [command, 'serve', '--database', database, '--port', '0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, KINDRED_LOG_LEVEL: 'warn' },
  });
  const ended = new Promise((done) => child.once('exit', done));
  try {
    let start: number | undefined;
    for await (const line of createInterface({ input: child.stdout })) {
      if (!line.startsWith('Kindred is ready')) continue;
      start = performance.now() - begin;
      break;
    }
    if (start === undefined) throw new Error('the service ended before it was ready');
    await pause(rest);
    const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
    return { start, memory: Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)![1]) / 1024 };
  } finally {
    child.kill('SIGTERM');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  }
}
