/** The writer's thread as the store sees it: requests, responses, and SQLite's errors in our words. */
import type { MessagePort } from 'node:worker_threads';
import { MessageChannel, receiveMessageOnPort, Worker } from 'node:worker_threads';
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

interface Thread {
  readonly worker: Worker;
  /** For requests and responses: that of the worker itself can be read by the event loop alone. */
  readonly port: MessagePort;
  /** It has responded to something. */
  isReady: boolean;
}

let begun: Thread | undefined;

/** For a process that is about to open a file, before it loads what takes long. The thread opens nothing before it has its options. */
export function beginWriter(): void {
  begun = start();
  begun.worker.unref();
}

function start(): Thread {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const file = new URL(`./writer-worker.${extension}`, import.meta.url);
  const { port1, port2 } = new MessageChannel();
  return { worker: new Worker(file, { workerData: port2, transferList: [port2] }), port: port1, isReady: false };
}

/** The worker thread, started again after it died. */
export class WriterThread implements WriterClient {
  readonly #options: WorkerOptions;
  readonly #beforeAnswer: () => void;
  readonly #pending = new Map<number, Pending>();
  #thread: Thread | undefined;
  #last = 0;
  #stopped = false;

  /** @param beforeAnswer called before the promises of requests are settled */
  constructor(options: WorkerOptions, beforeAnswer: () => void) {
    this.#options = options;
    this.#beforeAnswer = beforeAnswer;
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
    transfer: ArrayBuffer[] = [],
  ): Promise<Operations[N]['response']> {
    if (this.#stopped) return Promise.reject(notReady('the store is closed'));
    if (!this.#thread) this.#start();
    const id = ++this.#last;
    const response = this.#expect(id);
    this.#thread!.port.postMessage({ id, name, request } as RequestMessage, transfer);
    return response as Promise<Operations[N]['response']>;
  }

  receive(): boolean {
    return this.#thread !== undefined && this.#receiveAll(this.#thread);
  }

  /** Responses that are there; false when there are none. */
  #receiveAll(thread: Thread): boolean {
    let count = 0;
    for (let next = receiveMessageOnPort(thread.port); next; next = receiveMessageOnPort(thread.port)) {
      this.#receive(thread, next.message);
      count++;
    }
    return count > 0;
  }

  #receive(thread: Thread, message: ResponseMessage): void {
    this.#beforeAnswer();
    thread.isReady = true;
    const pending = this.#pending.get(message.id);
    this.#pending.delete(message.id);
    if ('failure' in message) pending?.reject(translate(message.failure));
    else pending?.resolve(message.response);
  }

  async stop(): Promise<void> {
    const closed = this.#thread && !this.#stopped ? this.request('close', undefined).catch(() => undefined) : undefined;
    this.#stopped = true;
    await closed;
    await this.#thread?.worker.terminate();
  }

  #expect(id: number): Promise<unknown> {
    return new Promise((resolve, reject) => this.#pending.set(id, { resolve, reject }));
  }

  #start(): void {
    const thread = begun ?? start();
    begun = undefined;
    const { worker, port } = thread;
    port.on('message', (message: ResponseMessage) => this.#receive(thread, message));
    port.unref();
    worker.ref();
    port.postMessage(this.#options);
    this.#thread = thread;
    let reason: Error | undefined;
    worker.on('error', (error: Error) => {
      reason = error;
    });
    worker.on('exit', () => {
      const ended = 'the thread that writes has ended';
      this.#beforeAnswer();
      this.#receiveAll(thread);
      if (this.#thread === thread) this.#thread = undefined;
      for (const [id, pending] of this.#pending) {
        if (id === 0) pending.reject(reason ?? new Error('the writer thread ended'));
        else pending.reject(thread.isReady ? unknownOutcome(ended, reason) : notReady(ended, reason));
      }
      this.#pending.clear();
    });
  }
}
