/** The writer of a SQLite file in its own thread, so that an fsync or a checkpoint never stalls a read. */
import type { DatabaseSync } from 'node:sqlite';
import type { MessagePort } from 'node:worker_threads';
import { workerData } from 'node:worker_threads';
import type { Failure, RequestMessage, ResponseMessage } from './message.ts';
import { perform } from './message.ts';
import { openForWriting } from './tables.ts';
import { SqliteCommitError, SqliteWriter } from './writer.ts';

/** The first message. */
export interface WorkerOptions {
  readonly file: string;
  /** Pages in the write-ahead log at which it is checkpointed even though writes go on. */
  readonly checkpointPages: number;
  /** Milliseconds without a request after which it is checkpointed. */
  readonly checkpointIdle: number;
}

const port = workerData as MessagePort;

/** Moves what is committed from the write-ahead log into the database file, without waiting for readers. */
class Checkpoints {
  readonly #db: DatabaseSync;
  readonly #options: WorkerOptions;
  readonly #logSize;
  #dirty = false;
  #idle: NodeJS.Timeout | undefined;

  constructor(db: DatabaseSync, options: WorkerOptions) {
    this.#db = db;
    this.#options = options;
    this.#logSize = db.prepare('PRAGMA wal_checkpoint(NOOP)');
  }

  afterRequest(): void {
    this.#dirty = true;
    if (this.#pagesToMove() >= this.#options.checkpointPages) this.#run();
    this.#idle ??= setTimeout(() => this.#run(), this.#options.checkpointIdle);
    this.#idle.refresh();
  }

  stop(): void {
    clearTimeout(this.#idle);
  }

  /** Pages in the write-ahead log that are not in the database file yet. */
  #pagesToMove(): number {
    const { log, checkpointed } = this.#logSize.get() as { log: number; checkpointed: number };
    return log - checkpointed;
  }

  #run(): void {
    if (!this.#dirty) return;
    this.#dirty = false;
    try {
      this.#db.exec('PRAGMA wal_checkpoint(PASSIVE)');
    } catch {
      // Nothing is lost: the log keeps everything, and the next checkpoint tries again.
      this.#dirty = true;
    }
  }
}

function failureOf(error: unknown): Failure {
  const committing = error instanceof SqliteCommitError;
  const cause = committing ? error.cause : error;
  const { errcode, message } = cause as { errcode?: number; message?: string };
  return { errcode: errcode ?? 0, message: message ?? String(cause), committing };
}

port.once('message', (options: WorkerOptions) => {
  const db = openForWriting(options.file);
  const writer = new SqliteWriter(db);
  const checkpoints = new Checkpoints(db, options);
  const respond = (message: RequestMessage): unknown => {
    if (message.name !== 'close') return perform(writer, message);
    checkpoints.stop();
    db.close();
    return undefined;
  };
  port.on('message', (message: RequestMessage) => {
    let reply: ResponseMessage;
    try {
      reply = { id: message.id, response: respond(message) };
    } catch (error) {
      reply = { id: message.id, failure: failureOf(error) };
    }
    port.postMessage(reply);
    if (message.name === 'close') port.close();
    else checkpoints.afterRequest();
  });
  port.postMessage({ id: 0, response: undefined } satisfies ResponseMessage);
});
