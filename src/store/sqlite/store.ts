/**
 * The store in one SQLite file, for one process: one connection writes, in a worker thread; reads are synchronous on a
 * connection of the main thread; a snapshot is a connection of its own with an open read transaction.
 */
import { readFileSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { takeFromOthers, touchPrivate } from '../../runtime/private-file.ts';
import { notReady } from '../failure.ts';
import type {
  Change,
  ChangesNarrowing,
  Lease,
  LoadPart,
  ModelRow,
  Rewrite,
  Row,
  Snapshot,
  Store,
  TextChange,
  TextRow,
  Tokens,
  Write,
  WriteResult,
} from '../store.ts';
import { memory } from './memory.ts';
import type { Failure, WriterClient } from './message.ts';
import { packBatch, packRewrites } from './message.ts';
import { SqliteReader } from './reader.ts';
import { checkSqlite, openForReading, sqliteVersion } from './tables.ts';
import { primary, resultCodes, translate, WriterThread } from './thread.ts';
import { TurnTransaction } from './turn-transaction.ts';

export interface SqliteOptions {
  /** Pages of 4 KiB in the write-ahead log at which it is checkpointed even though writes go on. Default 500: a checkpoint of that size holds a commit up by a few milliseconds. */
  readonly checkpointPages?: number;
  /** Milliseconds without a write after which the write-ahead log is checkpointed. Default 1,000. */
  readonly checkpointIdle?: number;
  /** Told in one line what an operator should know. */
  readonly warn?: ((message: string) => void) | undefined;
}

/** Opens the file (or `:memory:`), making it when there is none. Throws a plain error in one line when another process has it. */
export async function openSqlite(file: string, options: SqliteOptions = {}): Promise<Store> {
  checkSqlite(sqliteVersion());
  if (file === ':memory:') return new SqliteStore({ file, ...memory(), close: () => undefined });
  const path = realPath(file);
  const lock = lockFile(path);
  try {
    makePrivate(path, options.warn);
  } catch (error) {
    lock.close();
    throw unopened(path, error);
  }
  let turn: TurnTransaction | undefined;
  const thread = new WriterThread(
    {
      file: path,
      checkpointPages: options.checkpointPages ?? 500,
      checkpointIdle: options.checkpointIdle ?? 1_000,
    },
    () => turn?.end(),
  );
  const views = new Set<DatabaseSync>();
  try {
    await thread.ready();
    const connection = openForReading(path);
    turn = new TurnTransaction(connection);
    return new SqliteStore({
      file: path,
      connection,
      turn,
      writer: thread,
      snapshot: () => fileSnapshot(path, views),
      close: () => {
        for (const view of views) view.close();
        views.clear();
        lock.close();
      },
    });
  } catch (error) {
    await thread.stop();
    lock.close();
    throw unopened(path, error);
  }
}

/** What SQLite makes beside the file has the modes of the file. */
function makePrivate(path: string, warn?: SqliteOptions['warn']): void {
  touchPrivate(path);
  try {
    const changed = ['', '-wal', '-shm'].filter((suffix) => takeFromOthers(path + suffix));
    if (changed.length > 0) warn?.(`every user of this machine could read ${path}; now its owner alone can`);
  } catch (error) {
    warn?.(`every user of this machine can read ${path}: ${(error as Error).message}`);
  }
}

/** Why a file cannot be used, in one line, and what can be done about it. */
function unopened(path: string, cause: unknown): Error {
  const { message } = cause as Error;
  const wayOut = 'move it away and put a backup in its place (kindred restore)';
  switch (primary(cause as Failure)) {
    case resultCodes.noDatabase:
      return new Error(`${path} is no SQLite database; choose another file, or ${wayOut}`, { cause });
    case resultCodes.damaged:
      return new Error(`the SQLite file ${path} is damaged (${message}); ${wayOut}`, { cause });
  }
  return new Error(`the SQLite file ${path} cannot be opened: ${message}`, { cause });
}

function realPath(file: string): string {
  const path = resolve(file);
  try {
    return join(realpathSync(dirname(path)), basename(path));
  } catch (cause) {
    throw new Error(`the folder of the SQLite file ${path} does not exist`, { cause });
  }
}

/**
 * The lock on a side file lasts as long as the connection; the kernel gives it back however the process ends. Another file
 * beside it tells whoever is refused which process that is.
 */
function lockFile(path: string): { close(): void } {
  const holder = `${path}-pid`;
  let lock: DatabaseSync | undefined;
  try {
    makePrivate(`${path}-lock`);
    lock = new DatabaseSync(`${path}-lock`);
    lock.exec('PRAGMA busy_timeout = 0; BEGIN EXCLUSIVE');
  } catch (cause) {
    lock?.close();
    if (primary(cause as Failure) !== resultCodes.busy) throw unopened(path, cause);
    throw new Error(
      `another process has the SQLite file ${path} open${processIn(holder)}; one service uses it at a time`,
      { cause },
    );
  }
  ignored(() => writeFileSync(holder, `${process.pid}\n`, { mode: 0o600 }));
  return {
    close: () => {
      ignored(() => rmSync(holder, { force: true }));
      lock.close();
    },
  };
}

function processIn(holder: string): string {
  const text = ignored(() => readFileSync(holder, 'utf8').trim());
  return text === undefined ? '' : ` (process ${text})`;
}

/** For what only helps: a full disk must not keep a service from starting. */
function ignored<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

function fileSnapshot(path: string, views: Set<DatabaseSync>): Snapshot {
  const connection = openForReading(path);
  const reader = new SqliteReader(connection);
  connection.exec('BEGIN');
  const revision = reader.meta('revision');
  views.add(connection);
  return {
    revision,
    get: (model, ids) => guarded(connection, () => reader.get(model, ids)),
    lines: (model, ids) => guarded(connection, () => reader.lines(model, ids)),
    close: async () => {
      if (views.delete(connection)) connection.close();
    },
  };
}

/** What differs between a file and memory. */
interface Medium {
  readonly file: string;
  readonly connection: DatabaseSync;
  readonly turn?: TurnTransaction;
  readonly writer: WriterClient;
  snapshot(): Snapshot;
  /** After the reading connection and the writer are closed. */
  close(): void;
}

class SqliteStore implements Store {
  readonly shared = false;
  readonly #medium: Medium;
  readonly #reader: SqliteReader;
  readonly #numbers = new Map<string, number>();

  constructor(medium: Medium) {
    this.#medium = medium;
    this.#reader = new SqliteReader(medium.connection);
  }

  async modelNumber(group: string, kind: string): Promise<number> {
    const key = `${group}/${kind}`;
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    const number = await this.#medium.writer.request('modelNumber', { group, kind });
    this.#numbers.set(key, number);
    return number;
  }

  models(number?: number): readonly ModelRow[] {
    return this.#read(() => this.#reader.models(number));
  }

  revision(): number {
    return this.#read(() => this.#reader.meta('revision'));
  }

  commit(writes: readonly Write[], time: number): Promise<readonly WriteResult[]> {
    const batch = packBatch(writes);
    return this.#medium.writer.request('commit', { batch, time }, [batch.bytes.buffer]);
  }

  /** As that of `CommittingStore`. */
  receive(): boolean {
    return this.#medium.writer.receive?.() ?? false;
  }

  async rewrite(model: number, rows: readonly Rewrite[], generation?: number): Promise<number | undefined> {
    const batch = packRewrites(rows);
    return this.#medium.writer.request('rewrite', { model, batch, generation }, [batch.bytes.buffer]);
  }

  purge(model: number): Promise<number> {
    return this.#medium.writer.request('purge', { model });
  }

  get(model: number, ids: readonly number[]): readonly Row[] {
    return this.#read(() => {
      this.#medium.turn?.beforeRead();
      return this.#reader.get(model, ids);
    });
  }

  scan(model: number, after: number, limit: number): readonly Row[] {
    return this.#read(() => this.#reader.scan(model, after, limit));
  }

  scanText(model: number, after: number, limit: number): readonly TextRow[] {
    return this.#read(() => this.#reader.scanText(model, after, limit));
  }

  count(model: number): number {
    return this.#read(() => this.#reader.count(model));
  }

  async snapshot(): Promise<Snapshot> {
    // The snapshot can be newer than the open transaction. Later reads of the log must not be older than the snapshot.
    this.#medium.turn?.end();
    return this.#read(() => this.#medium.snapshot());
  }

  changes(since: number, limit: number, narrow?: ChangesNarrowing): readonly Change[] {
    return this.#read(() => this.#reader.changes(since, limit, narrow));
  }

  changesText(since: number, limit: number, model: number): readonly TextChange[] {
    return this.#read(() => this.#reader.changesText(since, limit, model));
  }

  oldest(): number {
    return this.#read(() => this.#reader.meta('oldest'));
  }

  compact(keep: number, time: number, now = Number.MAX_SAFE_INTEGER): Promise<number> {
    return this.#medium.writer.request('compact', { keep, time, now });
  }

  onCommit(): () => void {
    return () => undefined;
  }

  acquireLease(name: string, holder: string, ttl: number, now: number): Promise<Lease | undefined> {
    return this.#medium.writer.request('acquireLease', { name, holder, ttl, now });
  }

  releaseLease(lease: Lease): Promise<void> {
    return this.#medium.writer.request('releaseLease', { lease });
  }

  tokens(): Tokens {
    return this.#read(() => this.#reader.tokens());
  }

  load(part: LoadPart): Promise<void> {
    return this.#medium.writer.request('load', { part });
  }

  jump(): Promise<number> {
    return this.#medium.writer.request('jump', undefined);
  }

  async backup(file: string, progress?: CopyProgress): Promise<void> {
    if (this.#medium.file === ':memory:') {
      touchPrivate(file);
      this.#medium.connection.prepare('VACUUM INTO ?').run(file);
      progress?.(1, 1);
    } else await copyDatabase(this.#medium.file, file, progress);
  }

  describe(): Readonly<Record<string, string | number>> {
    const size = (suffix: string): number => statSync(this.#medium.file + suffix, { throwIfNoEntry: false })?.size ?? 0;
    return {
      database: 'sqlite',
      version: sqliteVersion(),
      file: this.#medium.file,
      bytes: size(''),
      logBytes: size('-wal'),
      journal_mode: this.#medium.file === ':memory:' ? 'memory' : 'wal',
      synchronous: 'full',
    };
  }

  async close(): Promise<void> {
    if (!this.#medium.connection.isOpen) return;
    this.#medium.connection.close();
    await this.#medium.writer.stop();
    this.#medium.close();
  }

  #read<T>(body: () => T): T {
    return guarded(this.#medium.connection, body);
  }
}

/** Pages copied so far, of how many. */
export type CopyProgress = (done: number, total: number) => void;

/** Copies one state of a database file into another, also while a service in any process writes to it. */
export async function copyDatabase(from: string, to: string, progress?: CopyProgress): Promise<void> {
  const partial = `${to}.partial`;
  rmSync(partial, { force: true });
  let source: DatabaseSync | undefined;
  try {
    source = openForReading(from);
    touchPrivate(partial);
    // One state: without a transaction of its own the copy would start again after every write.
    source.exec('BEGIN; SELECT value FROM meta');
    const pages = await backup(source, partial, {
      rate: 256,
      progress: ({ totalPages, remainingPages }) => progress?.(totalPages - remainingPages, totalPages),
    });
    progress?.(pages, pages);
    renameSync(partial, to);
  } catch (error) {
    rmSync(partial, { force: true });
    const isUnreadable = [resultCodes.noDatabase, resultCodes.damaged].includes(primary(error as Failure));
    throw isUnreadable ? unopened(from, error) : error;
  } finally {
    source?.close();
  }
}

function guarded<T>(connection: DatabaseSync, body: () => T): T {
  try {
    return body();
  } catch (error) {
    if (!connection.isOpen) throw notReady('the store is closed', error);
    const { errcode, message } = error as Partial<Failure>;
    if (errcode === undefined) throw error;
    throw translate({ errcode, message: message ?? '', committing: false });
  }
}
