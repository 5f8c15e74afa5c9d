/** The writer of a SQLite file in its own thread, so that an fsync or a checkpoint never stalls a read. */
import { parentPort, workerData } from 'node:worker_threads';
import type { Failure, RequestMessage, ResponseMessage } from './message.ts';
import { perform } from './message.ts';
import { openForWriting } from './tables.ts';
import { SqliteCommitError, SqliteWriter } from './writer.ts';

export interface WorkerOptions {
  readonly file: string;
  /** Pages in the write-ahead log at which it is checkpointed even though writes go on. */
  readonly checkpointPages: number;
  /** Milliseconds without a request after which it is checkpointed. */
  readonly checkpointIdle: number;
}

const port = parentPort!;
const { file, checkpointPages, checkpointIdle } = workerData as WorkerOptions;
const db = openForWriting(file);
const writer = new SqliteWriter(db);
let dirty = false;
let idle: NodeJS.Timeout | undefined;

/** Moves what is committed from the write-ahead log into the database file, without waiting for readers. */
function checkpoint(): void {
  idle = undefined;
  if (!dirty) return;
  dirty = false;
  try {
    db.exec('PRAGMA wal_checkpoint(PASSIVE)');
  } catch {
    // Nothing is lost: the log keeps everything, and the next checkpoint tries again.
    dirty = true;
  }
}

const logSize = db.prepare('PRAGMA wal_checkpoint(NOOP)');

/** Pages in the write-ahead log that are not in the database file yet. */
function pagesToMove(): number {
  const { log, checkpointed } = logSize.get() as { log: number; checkpointed: number };
  return log - checkpointed;
}

function respond(message: RequestMessage): unknown {
  if (message.name !== 'close') return perform(writer, message);
  clearTimeout(idle);
  db.close();
  return undefined;
}

function failureOf(error: unknown): Failure {
  const committing = error instanceof SqliteCommitError;
  const cause = committing ? error.cause : error;
  const { errcode, message } = cause as { errcode?: number; message?: string };
  return { errcode: errcode ?? 0, message: message ?? String(cause), committing };
}

port.on('message', (message: RequestMessage) => {
  let reply: ResponseMessage;
  try {
    reply = { id: message.id, response: respond(message) };
  } catch (error) {
    reply = { id: message.id, failure: failureOf(error) };
  }
  port.postMessage(reply);
  if (message.name === 'close') {
    port.close();
    return;
  }
  dirty = true;
  if (pagesToMove() >= checkpointPages) checkpoint();
  if (idle) idle.refresh();
  else idle = setTimeout(checkpoint, checkpointIdle);
});

port.postMessage({ id: 0, response: undefined } satisfies ResponseMessage);
