import type { Worker } from 'node:cluster';
import cluster from 'node:cluster';
import type { Io } from './io.ts';
import { Exit, write } from './io.ts';

interface ReadyMessage {
  kindredReady: string;
}

/** In a worker: tells the first process and returns true. In a process of its own: false. */
export function workerReady(url: string): boolean {
  if (!cluster.isWorker) return false;
  process.send!({ kindredReady: url } satisfies ReadyMessage);
  return true;
}

/** Milliseconds until a worker that died is replaced. */
const restartDelay = 1_000;

/**
 * Runs `workers` replicas of the service on one port: processes of this same command, each serving alone. The first
 * one is ready before the others start, so that what happens once (tables, the first token) happens in one process.
 */
export async function serveWithWorkers(io: Io, workers: number): Promise<void> {
  cluster.setupPrimary({ exec: process.argv[1]!, args: [...process.argv.slice(2), '--workers', '1'] });
  let stopping = false;
  const stopped = new Promise<void>((resolve) => {
    const stop = (signal: NodeJS.Signals) => {
      if (stopping) process.exit(signal === 'SIGINT' ? 130 : 143);
      stopping = true;
      for (const worker of running()) worker.process.kill('SIGTERM');
      resolve();
    };
    process.on('SIGTERM', stop).on('SIGINT', stop);
  });
  const first = await readyWorker();
  const others = await Promise.all(Array.from({ length: workers - 1 }, readyWorker));
  for (const { worker } of [first, ...others]) keepAlive(worker);
  await write(io.stdout, `Kindred is ready at ${first.url}\n`);
  await stopped;
  await Promise.all(running().map((worker) => new Promise((resolve) => worker.once('exit', resolve))));

  function keepAlive(worker: Worker): void {
    worker.once('exit', (code, signal) => {
      if (stopping) return;
      io.stderr.write(
        `kindred: worker ${worker.process.pid} ended (${signal ?? `exit code ${code}`}), starting another\n`,
      );
      setTimeout(() => {
        if (!stopping) keepAlive(cluster.fork());
      }, restartDelay);
    });
  }
}

function running(): Worker[] {
  return Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
}

function readyWorker(): Promise<{ worker: Worker; url: string }> {
  return new Promise((resolve, reject) => {
    const worker = cluster.fork();
    // It said why on stderr.
    const failed = (code: number) => reject(new Exit(code || 1));
    worker.once('exit', failed);
    worker.on('message', (message: Partial<ReadyMessage>) => {
      if (message.kindredReady === undefined) return;
      worker.off('exit', failed);
      resolve({ worker, url: message.kindredReady });
    });
  });
}
