/**
 * The snapshots of a process: a folder with a file for each model. A thread reads all of them while the modules of the service are
 * being loaded; another thread writes one.
 */

import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { FieldShape } from '../indexes/snapshot/arrange.ts';
import type { Piece } from '../indexes/snapshot/piece.ts';
import type { FileDamaged, FileRead, Finish, FromReader, Packed, Task, Written } from './message.ts';

export type { FileDamaged, FileRead } from './message.ts';

export class SnapshotFolder {
  readonly path: string;
  readonly #reading: Reading;
  /** What was read at first is for who asks first. */
  readonly #taken = new Set<string>();
  #isReleased = false;

  private constructor(path: string, reading: Reading) {
    this.path = path;
    this.#reading = reading;
  }

  /** Begins to read, or goes on with what `beginReading` began. @param models as with `beginReading` */
  static open(path: string, models: readonly string[] = []): SnapshotFolder {
    const reading = begun.get(path) ?? new Reading(atOnce(path, models));
    begun.delete(path);
    const folder = new SnapshotFolder(path, reading);
    if (models.length > 0) folder.release();
    return folder;
  }

  /** What depends on the code of the service and on Node.js; undefined when it cannot be found out. */
  get runtime(): Promise<string | undefined> {
    return this.#reading.runtime();
  }

  /** A file with its memory, which is the caller's; undefined when there is none. */
  take(file: string): Promise<FileRead | FileDamaged | undefined> {
    const isFirst = !this.#isReleased && !this.#taken.has(file);
    this.#taken.add(file);
    if (isFirst) return this.#reading.take(file);
    return existsSync(join(this.path, file))
      ? new Reading({ kind: 'read', folder: this.path, files: [file] }).take(file)
      : Promise.resolve(undefined);
  }

  /** Nobody asks any more for what was read at first. */
  release(): void {
    this.#isReleased = true;
    this.#reading.release();
  }

  write(file: string): SnapshotWriting {
    return new SnapshotWriting({ kind: 'write', folder: this.path, file });
  }

  /** A file in compressed parts. Throws a plain error when there is none. */
  async *pack(file: string): AsyncGenerator<Uint8Array, void, void> {
    const worker = start({ kind: 'pack', folder: this.path, file });
    try {
      for (;;) {
        const answer = once(worker, 'message');
        worker.postMessage({});
        const [{ part }] = (await answer) as [Packed];
        if (!part) return;
        yield part;
      }
    } finally {
      await worker.terminate();
    }
  }

  /** Makes a file of what `pack` gave; resolves when it is on the disk. */
  async unpack(file: string, parts: AsyncIterable<Uint8Array>): Promise<void> {
    const worker = start({ kind: 'unpack', folder: this.path, file });
    try {
      const written = once(worker, 'message');
      // What fails while parts are waited for is told below.
      written.catch(() => {});
      for await (const part of parts) worker.postMessage({ part } satisfies { part: Uint8Array });
      worker.postMessage({} satisfies Packed);
      await written;
    } finally {
      await worker.terminate();
    }
  }
}

/** One file that is being written, by a thread of its own. */
export class SnapshotWriting {
  readonly #worker: Worker;
  readonly #written: Promise<Written>;

  constructor(task: Task) {
    const worker = start(task);
    this.#worker = worker;
    this.#written = new Promise((resolve, reject) => {
      worker.on('message', resolve);
      worker.on('error', reject);
      worker.on('exit', () => reject(new Error('the thread that writes snapshots has ended')));
    });
    // Of a writing that is given up nobody waits for the outcome.
    this.#written.catch(() => {});
  }

  add(piece: Piece): void {
    this.#worker.postMessage(piece, piece.bytes ? [piece.values.buffer, piece.bytes.buffer] : [piece.values.buffer]);
  }

  /** Resolves when the file is on the disk. @param touched slots that changed while the pieces were copied */
  finish(content: object, fields: readonly FieldShape[], touched: ReadonlySet<number>): Promise<Written> {
    this.#worker.postMessage({ finish: { content, fields, touched } } satisfies Finish);
    return this.#written;
  }

  async giveUp(): Promise<void> {
    await this.#worker.terminate();
  }
}

/** A thread that reads. */
class Reading {
  readonly #runtime: Promise<string | undefined>;
  readonly #worker: Worker;
  readonly #files = new Map<string, FileRead | FileDamaged>();
  readonly #waiting = new Map<string, (found: FileRead | FileDamaged | undefined) => void>();
  /** Files that are yet to come; undefined before that is known. */
  #missing: Set<string> | undefined;
  #isReleased = false;

  constructor(task: Task) {
    const worker = start(task);
    this.#worker = worker;
    // Whoever gives up before it has read waits for nothing.
    worker.unref();
    const runtime = Promise.withResolvers<string | undefined>();
    this.#runtime = runtime.promise;
    worker.on('message', (message: FromReader) => {
      if ('files' in message) {
        runtime.resolve(message.runtime);
        this.#missing = new Set(message.files);
      } else {
        this.#missing?.delete(message.file);
        if (!this.#isReleased) this.#files.set(message.file, message);
      }
      this.#answer();
    });
    // A file that could not be read is as good as none.
    worker.on('error', () => {});
    worker.on('exit', () => {
      runtime.resolve(undefined);
      this.#missing = new Set();
      this.#answer();
    });
  }

  runtime(): Promise<string | undefined> {
    this.#worker.ref();
    return this.#runtime;
  }

  take(file: string): Promise<FileRead | FileDamaged | undefined> {
    this.#worker.ref();
    return new Promise((resolve) => {
      this.#waiting.set(file, resolve);
      this.#answer();
    });
  }

  release(): void {
    this.#isReleased = true;
    this.#files.clear();
  }

  #answer(): void {
    if (!this.#missing) return;
    for (const [file, resolve] of this.#waiting) {
      if (this.#missing.has(file)) continue;
      this.#waiting.delete(file);
      resolve(this.#files.get(file));
      this.#files.delete(file);
    }
  }
}

const begun = new Map<string, Reading>();

/**
 * For a process that is about to open the folder, before it loads what takes long.
 * @param models that the process serves; empty: all. Of some, files are read when they are asked for: most are of other models
 */
export function beginReading(path: string, models: readonly string[] = []): void {
  begun.set(path, new Reading(atOnce(path, models)));
}

function atOnce(folder: string, models: readonly string[]): Task {
  return { kind: 'read', folder, ...(models.length > 0 && { files: [] }) };
}

function start(task: Task): Worker {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return new Worker(new URL(`./snapshot-worker.${extension}`, import.meta.url), { workerData: task });
}
