import type { Worker } from 'node:cluster';
import cluster from 'node:cluster';
import { isSea } from 'node:sea';
import type { Io } from './io.ts';
import { Exit, write } from './io.ts';

interface ReadyMessage {
  kindredReady: string;
}

/** True in a worker that joins others on their port, which are ready. */
export function joinsOthers(): boolean {
  return cluster.isWorker && cluster.worker!.id > 1;
}

/** In a worker: tells the first process and returns true. In a process of its own: false. */
export function workerReady(url: string): boolean {
  if (!cluster.isWorker) return false;
  process.send!({ kindredReady: url } satisfies ReadyMessage);
  return true;
}

/** Milliseconds until a worker that died is replaced. */
const restartDelay = 1_000;

/** Milliseconds after which a worker that does not stop is killed: what was acknowledged is durable at any moment. */
const stopLimit = 9_700;

/**
 * Runs `workers` replicas of the service on one port: processes of this same command, each serving alone. The first
 * one is ready before the others start, so that what happens once (tables, the first token) happens in one process.
 * The others, and those that replace a worker that ended, take the port when they are ready.
 */
export async function serveWithWorkers(io: Io, workers: number): Promise<void> {
  cluster.setupPrimary({
    exec: process.argv[1]!,
    args: [...process.argv.slice(2), '--workers', '1'],
    // The single executable has its flags for Node.js in itself, and would take these for arguments of the command.
    execArgv: isSea() ? [] : process.execArgv,
  });
  let stopping = false;
  const stopped = new Promise<void>((resolve) => {
    const stop = (signal: NodeJS.Signals) => {
      if (stopping) process.exit(signal === 'SIGINT' ? 130 : 143);
      stopping = true;
      resolve();
    };
    process.on('SIGTERM', stop).on('SIGINT', stop);
  });
  try {
    const url = await Promise.race([start(), stopped]);
    if (url === undefined) return;
    await write(io.stdout, `Kindred is ready at ${url}\n`);
    await stopped;
  } finally {
    // After a failed start too: nobody is left behind.
    stopping = true;
    await endAll();
  }

  async function start(): Promise<string> {
    const first = await readyWorker();
    const others = await Promise.all(Array.from({ length: workers - 1 }, readyWorker));
    for (const { worker } of [first, ...others]) keepAlive(worker);
    return first.url;
  }

  function keepAlive(worker: Worker): void {
    const replace = (why: string) => {
      if (stopping) return;
      io.stderr.write(`kindred: worker ${worker.process.pid} ended (${why}), starting another\n`);
      setTimeout(() => {
        if (!stopping) keepAlive(cluster.fork());
      }, restartDelay);
    };
    if (worker.isDead()) replace('during the start');
    else worker.once('exit', (code, signal) => replace(signal ?? `exit code ${code}`));
  }
}

function running(): Worker[] {
  return Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined && !worker.isDead()) as Worker[];
}

async function endAll(): Promise<void> {
  const left = running();
  const gone = left.map((worker) => new Promise((resolve) => worker.once('exit', resolve)));
  for (const worker of left) worker.process.kill('SIGTERM');
  const limit = setTimeout(() => {
    for (const worker of left) worker.process.kill('SIGKILL');
  }, stopLimit);
  await Promise.all(gone);
  clearTimeout(limit);
}

function readyWorker(): Promise<{ worker: Worker; url: string }> {
  return new Promise((resolve, reject) => {
    const worker = cluster.fork();
    // It said why on stderr.
    const failed = (code: number | null) => reject(new Exit(code || 1));
    worker.once('exit', failed);
    worker.on('message', (message: Partial<ReadyMessage>) => {
      if (message.kindredReady === undefined) return;
      worker.off('exit', failed);
      resolve({ worker, url: message.kindredReady });
    });
  });
}
