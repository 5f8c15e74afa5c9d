/**
 * What `SqlServerStore` has to know of one kind of database server: how its driver is used, how its errors are read, and
 * the SQL in which it differs. A further database of the kind is a folder with a dialect and its tables.
 */
import type { Answers, Guess, KnownClaim, Plan, Questions } from '../decide.ts';
import type { LoadPart, Rewrite } from '../store.ts';
import type { Hosts } from './hosts.ts';
import type { OpenConnections } from './open-connections.ts';

/** A list stands for numbers that a column is compared with: see `Sql.anyOf`. */
export type Value = number | string | Uint8Array | null | readonly number[];

export interface Statement {
  /** `?` stands for the next value. */
  readonly text: string;
  readonly values?: readonly Value[];
}

/** A row as the driver gives it: whole numbers as numbers, bytes as `Buffer`, text as text or as its bytes in UTF-8. */
export type SqlRow = Readonly<Record<string, any>>;

/** Runs one statement; resolves to its rows. Rejects with what the driver throws. */
export type Query = (text: string, values?: readonly Value[]) => Promise<readonly SqlRow[]>;

/** Connections to each of the hosts. */
export interface ConnectionPool<C> {
  /** @param host its number, see `Hosts` */
  acquire(host: number): Promise<C>;
  /** Resolves when its connections are closed; those in use are waited for. */
  end(): Promise<void>;
}

/** What a batch depends on, as rows of the columns that `Answers` names. */
export type RawAnswers = {
  readonly [K in 'rows' | 'claims' | 'leases' | 'takeovers' | 'generations' | 'changed']: readonly SqlRow[];
} & Pick<Answers, 'revision' | 'questions'>;

/** The tables, and how their versions are made. */
export interface Tables {
  /** Waits until no other process changes the tables; `locked` is 1 in its row, or the wait was too long. */
  readonly lock: string;
  readonly unlock: string;
  /** Makes the table of versions when it is not there. */
  readonly version: string;
  /** Each element brings the tables from version `index` to `index + 1`; one that was released never changes. */
  readonly migrations: readonly (readonly string[])[];
}

/** Pieces of SQL in which the databases differ. */
export interface Sql {
  readonly begin: string;
  /** Begins a transaction that reads one state. */
  readonly beginSnapshot: readonly string[];
  /** Names of columns: the key of `kindred_meta`, the key of a claim as text, the content before a change. */
  readonly metaKey: string;
  readonly claimKey: string;
  readonly before: string;
  /** `id ${anyOf}` with a list as value: the row's id is one of them. The list is not empty. */
  readonly anyOf: string;
  /** After the name of the change log, when only the changes of one model are read. */
  readonly byModel: string;
  /** Makes a lease that is free unless there is one; its value is the name. */
  readonly makeLease: string;
  /** Makes every batch of `writeGuess` fail that was sent before. */
  readonly endGuesses?: string;
  /** What a transaction must do so that its COMMIT waits for the standbys, when locking a row is not enough. */
  readonly touch?: string;
}

/** What is wrong with the settings of a server, and what it says of itself. */
export interface Inspection {
  /** The version and the settings that durability depends on. */
  readonly description: { readonly version: string } & Readonly<Record<string, string>>;
  /** Settings with which an acknowledged write could be lost. */
  readonly problems: readonly string[];
  /** What an operator should know besides. */
  readonly warnings: readonly string[];
}

/** Tells listeners that other processes may have committed. */
export interface CommitWatch {
  listen(listener: () => void): () => void;
  /** Resolves when it is over. */
  stop(): Promise<void>;
}

/** How standbys are dealt with; see `Admission`. Each throws what the driver throws. */
export interface Gate<C> {
  /** Throws a plain error on a server that takes no writes. */
  refuseStandby(connection: C): Promise<void>;
  /** Names the server from one start to the next. */
  runOf(connection: C): Promise<string>;
  /** A commit that waits for the standbys; ends, or fails, within four seconds. */
  confirm(connection: C): Promise<void>;
}

/** The COMMIT itself failed, whoever says so: `cause` is the error. */
export class CommitFailure extends Error {}

export interface Dialect<C extends { release(): void }> {
  /** As `Store.describe` names the database. */
  readonly database: string;
  readonly tables: Tables;
  readonly sql: Sql;
  readonly gate: Gate<C>;

  /** Those of the database URL. */
  readonly hosts: Hosts;
  /** Every connection that is open. */
  readonly connections: OpenConnections;
  pool(size: number): ConnectionPool<C>;
  /** What stays the same as long as the connection does: a driver may wrap it anew each time. */
  sessionOf(connection: C): object;
  /** For each connection once, before it is admitted. */
  setUp?(connection: C): Promise<void>;
  /** For a connection that commits batches, after it was admitted. */
  setUpWriter?(connection: C): Promise<void>;
  /** What is under way on the connection fails at once. */
  sever(connection: C, reason: Error): void;
  /** Closes a connection that nothing waits for any more; its pool replaces it. */
  discard(connection: C): void;
  /** @param timeout milliseconds; 0: however long it takes */
  query(connection: C, text: string, values?: readonly Value[], timeout?: number): Promise<readonly SqlRow[]>;
  /** Asked once, before anything else. */
  inspect(query: Query): Promise<Inspection>;
  /** How the server itself tells of commits; undefined: it is polled. Asked after `inspect`. */
  commitWatch?(): CommitWatch | undefined;

  /** True when the error is what the server itself said. */
  isAnswer(error: unknown): boolean;
  /** True when the server refused a statement, and the transaction is certainly undone. */
  isRefusal(error: unknown): boolean;
  /** True when the transaction was undone for the sake of another one: it may be tried again. */
  isRepeatable(error: unknown): boolean;
  /** The error in our words, for what certainly changed nothing. */
  translate(error: unknown): Error;

  /** Begins a transaction, locks the revision and reads what a batch depends on. */
  read(connection: C, questions: Questions): Promise<RawAnswers>;
  /**
   * Makes the changes of a batch and commits them. Throws `CommitFailure` when the server got as far as the COMMIT and
   * what it says then does not prove that nothing was committed.
   */
  write(connection: C, plan: Plan, time: number, batch: number): Promise<void>;
  /** `read` and `write` in one round trip. The server refuses it unless the guess is right. */
  writeGuess?(connection: C, guess: Guess, time: number, batch: number): Promise<void>;
  commit(connection: C): Promise<void>;
  selectClaims(claims: readonly ClaimKey[]): Statement;
  deleteClaims(claims: readonly ClaimKey[]): Statement;
  insertClaims(claims: readonly KnownClaim[]): readonly Statement[];
  /** New bytes of rows, by their ids. */
  rewrite(rows: readonly Rewrite[]): readonly Statement[];
  load(part: LoadPart): readonly Statement[];
}

export interface ClaimKey {
  readonly model: number;
  readonly hash: Uint8Array;
}
