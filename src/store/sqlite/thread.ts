/** The writer's thread as the store sees it: requests, responses, and SQLite's errors in our words. */
import { Worker } from 'node:worker_threads';
import { notReady, storageFull, unknownOutcome } from '../failure.ts';
import type { Failure, OperationName, Operations, RequestMessage, ResponseMessage, WriterClient } from './message.ts';
import type { WorkerOptions } from './writer-worker.ts';

/** SQLite's result codes; the last is an extended one. */
export const resultCodes = { busy: 5, damaged: 11, full: 13, cannotOpen: 14, noDatabase: 26, writeFailed: 778 };

/** The result code without SQLite's extension of it. */
export function primary(failure: { errcode?: number }): number {
  return (failure.errcode ?? 0) & 0xff;
}

/**
 * SQLite's error in our words. A failure before the commit is certainly undone, and so is a commit whose last frame
 * could not be written; one whose fsync failed is undone for now, and would come back if the process crashed before
 * the next commit overwrites it.
 */
export function translate(failure: Failure): Error {
  const cause = new Error(failure.message);
  switch (primary(failure)) {
    case resultCodes.full:
      return storageFull(failure.message, cause);
    case resultCodes.busy:
    case resultCodes.cannotOpen:
      return notReady(failure.message, cause);
    case 0:
      return cause;
  }
  const open = failure.committing && failure.errcode !== resultCodes.writeFailed;
  return open ? unknownOutcome(failure.message, cause) : notReady(failure.message, cause);
}

interface Pending {
  resolve(response: unknown): void;
  reject(error: unknown): void;
}

let begun: Worker | undefined;

/** For a process that is about to open a file, before it loads what takes long. The thread opens nothing before it has its options. */
export function beginWriter(): void {
  begun = start();
  begun.unref();
}

function start(): Worker {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return new Worker(new URL(`./writer-worker.${extension}`, import.meta.url));
}

/** The worker thread, started again after it died. */
export class WriterThread implements WriterClient {
  readonly #options: WorkerOptions;
  readonly #pending = new Map<number, Pending>();
  #worker: Worker | undefined;
  #last = 0;
  #stopped = false;

  constructor(options: WorkerOptions) {
    this.#options = options;
  }

  /** Resolves when the tables are there. */
  ready(): Promise<void> {
    const started = this.#expect(0) as Promise<undefined>;
    this.#start();
    return started;
  }

  request<N extends OperationName>(
    name: N,
    request: Operations[N]['request'],
    transfer: readonly ArrayBuffer[] = [],
  ): Promise<Operations[N]['response']> {
    if (this.#stopped) return Promise.reject(notReady('the store is closed'));
    if (!this.#worker) this.#start();
    const id = ++this.#last;
    const response = this.#expect(id);
    this.#worker!.postMessage({ id, name, request } as RequestMessage, transfer);
    return response as Promise<Operations[N]['response']>;
  }

  async stop(): Promise<void> {
    const closed = this.#worker && !this.#stopped ? this.request('close', undefined).catch(() => undefined) : undefined;
    this.#stopped = true;
    await closed;
    await this.#worker?.terminate();
  }

  #expect(id: number): Promise<unknown> {
    return new Promise((resolve, reject) => this.#pending.set(id, { resolve, reject }));
  }

  #start(): void {
    const worker = begun ?? start();
    begun = undefined;
    worker.ref();
    worker.postMessage(this.#options);
    this.#worker = worker;
    let ready = false;
    worker.on('message', (message: ResponseMessage) => {
      ready = true;
      const pending = this.#pending.get(message.id);
      this.#pending.delete(message.id);
      if ('failure' in message) pending?.reject(translate(message.failure));
      else pending?.resolve(message.response);
    });
    let reason: Error | undefined;
    worker.on('error', (error: Error) => {
      reason = error;
    });
    worker.on('exit', () => {
      const ended = 'the thread that writes has ended';
      if (this.#worker === worker) this.#worker = undefined;
      for (const [id, pending] of this.#pending) {
        if (id === 0) pending.reject(reason ?? new Error('the writer thread ended'));
        else pending.reject(ready ? unknownOutcome(ended, reason) : notReady(ended, reason));
      }
      this.#pending.clear();
    });
  }
}
