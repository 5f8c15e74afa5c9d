/**
 * The store knows numbers, names, bytes, revisions and claims; it knows nothing of models. A *row* is one stored object,
 * a *change* one line of the change log, a *claim* one unique value taken by a row, a *lease* a right held by one replica.
 * One sequence of revisions orders every change of the whole store: no gaps (but one recorded jump at each restore),
 * in commit order, never used twice.
 */

export type MaybePromise<T> = T | Promise<T>;

export interface Row {
  /** Revision of the row's creation: the identity of this incarnation of the name. */
  readonly id: number;
  /** Revision of its last change. */
  readonly revision: number;
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** A row as text. */
export type TextRow = Omit<Row, 'bytes'> & { readonly text: string };

/** A change without the content before it. */
export type TextChange = Pick<Change, 'revision' | 'type' | 'id' | 'name'> & {
  readonly text: string;
  /** Of the text, in bytes. */
  readonly length: number;
};

export interface Claim {
  /** SHA-256 of index name, NUL, canonical text of the key. */
  readonly hash: Uint8Array;
  readonly index: string;
  /** The key as text, for messages. */
  readonly key: string;
}

/** A claim as it was read, and the row that holds it. */
export interface HeldClaim {
  readonly hash: Uint8Array;
  readonly id: number;
  /** Revision of the row when it was read; undefined when there was no such row. */
  readonly revision: number | undefined;
}

/** A row as the writer saw it. */
export interface Successor {
  readonly id: number;
  readonly revision: number;
}

/** A row as it was read, with other bytes that mean the same. */
export interface Rewrite {
  readonly id: number;
  readonly revision: number;
  readonly bytes: Uint8Array;
}

/** One change that is to be made. Members of a batch succeed or fail each alone. */
export interface Write {
  readonly type: 'create' | 'update' | 'delete';
  /** The store's number of the model. */
  readonly model: number;
  readonly name: string;
  /** With update and delete: the row as the writer saw it; the write fails when it is another by now. */
  readonly expected?: { readonly id: number; readonly revision: number };
  /** Content after the change; with delete the final content, which only the change log keeps. */
  readonly bytes: Uint8Array;
  /** With a store that keeps claims: values to take for this row; those the row has already are no conflict. */
  readonly claim?: readonly Claim[];
  /**
   * With a store that keeps claims: values to give up, before those of `claim` are taken; a value that another row
   * has taken stays with that row. `successor` is a row that holds the same value already (degraded models) and takes it over; the write fails
   * (`changed`) when that row is another by now.
   */
  readonly release?: readonly { readonly hash: Uint8Array; readonly successor?: Successor }[];
  /** The write fails unless this lease is held with this token and has not run out at the commit's `time`. */
  readonly fence?: { readonly lease: string; readonly token: number };
  /** The write fails (`outdated`) unless this is the generation of its model: it was computed by the contract of that one. */
  readonly generation?: number;
  readonly activate?: Activation;
}

/** A contract that becomes the active one of a model together with the write. */
export interface Activation {
  readonly model: number;
  /** The write fails (`outdated`) unless this is the generation of that model. */
  readonly from: number;
  readonly to: number;
  /** As JSON; `''`, like the storage version, of a model that has none and was moved. */
  readonly contract: string;
  readonly storageVersion: string;
  /** The write fails (`unchecked`) when an object of that model was changed after this revision. */
  readonly checked?: number;
}

export type WriteResult =
  | { readonly ok: true; readonly id: number; readonly revision: number }
  /** `exists`: create, the name is taken. `missing`, `changed`: update or delete, the row, or a successor, is gone or another. */
  | { readonly ok: false; readonly reason: 'exists' | 'missing' | 'changed' | 'fenced' | 'outdated' | 'unchecked' }
  | { readonly ok: false; readonly reason: 'claimed'; readonly index: string; readonly key: string };

export interface Change {
  readonly revision: number;
  readonly type: 'create' | 'update' | 'delete';
  readonly model: number;
  readonly id: number;
  readonly name: string;
  /** Content after the change (with delete the final content). */
  readonly bytes: Uint8Array;
  /** Content before it; absent with create. */
  readonly before?: Uint8Array;
  /** Milliseconds since the epoch at commit. */
  readonly time: number;
}

/** Which of the changes are read, and how many at once. */
export interface ChangesNarrowing {
  /** Only those of this model. */
  readonly model?: number;
  /** Bytes of content, at most (but at least one change); never more than without it. */
  readonly bytes?: number;
}

/** A view of the store at one revision. */
export interface Snapshot {
  readonly revision: number;
  /** Rows in the order of the ids; ids that did not exist at this revision are left out. */
  get(model: number, ids: readonly number[]): MaybePromise<readonly Row[]>;
  /** As `get`, the contents alone; only of stores that give texts more quickly than bytes. */
  lines?(model: number, ids: readonly number[]): Lines;
  close(): Promise<void>;
}

/** Contents of rows in one piece, each with a line end behind it. */
export interface Lines {
  readonly rows: number;
  readonly text: string;
  /** Of the text, in bytes. */
  readonly length: number;
}

export interface Lease {
  readonly name: string;
  readonly holder: string;
  /** The fencing token: grows each time the lease is taken, stays while it is renewed in time. */
  readonly token: number;
}

/** The fencing tokens that were given out: none of them is ever given out again. */
export interface Tokens {
  /** A lease that is not among `leases` begins with a greater token than this. */
  readonly first: number;
  /** Every lease there ever was, with its newest token, by name. */
  readonly leases: readonly { readonly name: string; readonly token: number }[];
}

export interface ModelRow {
  readonly number: number;
  readonly group: string;
  readonly kind: string;
  /** How often another contract became active; 0 before the first. */
  readonly generation: number;
  /** The active one as JSON. */
  readonly contract?: string;
  /** The version in which objects are written. */
  readonly storageVersion?: string;
}

/** A process that serves from the store. */
export interface ReplicaRow {
  readonly id: string;
  /** What it can serve, as JSON. */
  readonly supports: string;
}

/** What `load` puts into a store as it is: the parts of another store, in this order. */
export type LoadPart =
  | { readonly models: readonly ModelRow[] }
  | { readonly model: number; readonly rows: readonly Row[] }
  | { readonly model: number; readonly claims: readonly (Claim & { id: number })[] }
  | { readonly changes: readonly Change[] }
  /** The leases are free afterwards. */
  | { readonly tokens: Tokens }
  /** The end: from here on the store answers as the other one did at this revision. */
  | { readonly revision: number; readonly oldest: number };

/** The objects as they are, by their number and that of their model, and as they were at one revision. */
interface Rows {
  /** The store's number for a model, made at its first use. */
  modelNumber(group: string, kind: string): Promise<number>;

  /** Every model that has a number, by number; or this one alone. */
  models(number?: number): MaybePromise<readonly ModelRow[]>;

  /** Newest committed revision; 0 in a new store. */
  revision(): MaybePromise<number>;

  /** Rows by id, newest committed state, in the order of the ids; missing ones left out. */
  get(model: number, ids: readonly number[]): MaybePromise<readonly Row[]>;

  /** Rows with id > after, by id, at most `limit`. */
  scan(model: number, after: number, limit: number): MaybePromise<readonly Row[]>;

  /** As `scan`; only of stores that give texts more quickly than bytes. */
  scanText?(model: number, after: number, limit: number): readonly TextRow[];

  /** Number of rows of a model. */
  count(model: number): MaybePromise<number>;

  snapshot(): Promise<Snapshot>;

  /**
   * Puts other bytes, which mean the same, in the place of those of rows, in one durable transaction that holds no commit
   * up: no revision moves, the change log gets no line, claims stay. A row is left as it is when it is another by now
   * (another revision, or gone), and may be when a commit is changing it. Resolves to how many rows have the new bytes; to undefined, and nothing
   * is done, when the model has another generation than this.
   */
  rewrite(model: number, rows: readonly Rewrite[], generation?: number): Promise<number | undefined>;
}

/** Durable changes of rows, and of their claims where the store keeps them. */
export interface Commits {
  /**
   * One durable transaction; resolves when it would survive a power loss. The k-th successful member has the k-th
   * of the new, consecutive revisions. Members see the effects of those before them. Rejects with KindredError: NotReady (certainly not applied), StorageFull
   * (not applied), UnknownOutcome.
   * @param time milliseconds since the epoch, kept in the change log
   */
  commit(writes: readonly Write[], time: number): Promise<readonly WriteResult[]>;
}

/** What was committed, for those who follow. */
interface ChangeLog {
  /**
   * Changes with revision > since, in order, at most `limit` (and at most about 4 MiB of bytes, but at least one).
   * Throws Expired when something after `since` is no longer kept, of whatever model.
   */
  changes(since: number, limit: number, narrow?: ChangesNarrowing): MaybePromise<readonly Change[]>;

  /** As `changes` of one model; only of stores that give texts more quickly than bytes. */
  changesText?(since: number, limit: number, model: number): readonly TextChange[];

  /** The smallest `since` that `changes` still answers completely. */
  oldest(): MaybePromise<number>;

  /**
   * Removes the oldest changes, a bounded number of them, keeping the newest `keep` and all later than `time`; says how many
   * went. A change later than `now` was committed by a process whose clock was ahead: it goes with the next one that is not.
   * @param now default: no change counts as later
   */
  compact(keep: number, time: number, now?: number): Promise<number>;

  /** Calls back when other processes may have committed. */
  onCommit(listener: () => void): () => void;
}

/** Unique values, taken and given up by commits. */
export interface Claims {
  /** Claims of a model with their rows' ids, by hash, after the given hash, at most `limit`. */
  claims(
    model: number,
    after: Uint8Array | undefined,
    limit: number,
  ): MaybePromise<readonly (Claim & { id: number })[]>;

  /**
   * Puts claims right, for indexes that were added, dropped or changed since; in one transaction that no commit runs
   * beside. A claim is removed or added only while its row is as it was read (the same revision, or none) and, when it
   * is removed, still holds it; adding takes no value from another row. Resolves to how many were left because their
   * row is another by now; to undefined, and nothing is done, when the model has another generation than this.
   */
  mendClaims(
    model: number,
    add: readonly (Claim & { id: number; revision: number })[],
    remove: readonly HeldClaim[],
    generation?: number,
  ): Promise<number | undefined>;
}

/** What the processes of a shared store say of themselves. */
export interface Replicas {
  /** Counts from now on, until it runs out; takes the place of what this replica said before. */
  announce(replica: ReplicaRow, ttl: number, now: number): Promise<void>;
  /** Ends what it said at once. */
  withdraw(id: string): Promise<void>;
  /** Those that have not run out. */
  replicas(now: number): MaybePromise<readonly ReplicaRow[]>;
}

/** Large files that the processes of a shared store leave for each other; each may be lost at any time. */
export interface SharedFiles {
  /** The newest that is complete; undefined when there is none. */
  sharedFile(name: string): Promise<SharedFile | undefined>;
  /** Nothing when another one has taken its place. @param part from 0 on */
  sharedPart(name: string, edition: number, part: number): Promise<Uint8Array | undefined>;
  /** A part of a file that is complete only with `shareFile`. At most 4 MiB. */
  sharePart(name: string, edition: number, part: number, bytes: Uint8Array): Promise<void>;
  /** Takes the place of every other edition, also of those that nobody completed. */
  shareFile(name: string, file: SharedFile): Promise<void>;
}

export interface SharedFile {
  /** Milliseconds since the epoch. */
  readonly edition: number;
  readonly parts: number;
  /** By which a reader knows whether it is of use; JSON. */
  readonly about: string;
}

/** Rights that one replica has at a time. */
interface Leases {
  /** Takes a lease that is free or has run out, or renews one that `holder` holds; undefined when another holds it. */
  acquireLease(name: string, holder: string, ttl: number, now: number): Promise<Lease | undefined>;
  /** Gives a lease back; does nothing when it was taken by another meanwhile. */
  releaseLease(lease: Lease): Promise<void>;
}

/** Stores that are moved, put back from a backup or copied; no service needs these. */
interface Transfer {
  tokens(): MaybePromise<Tokens>;

  /**
   * For `migrate` alone: puts rows, claims and changes in as they are, replacing what has the same key. Nobody else
   * uses the store meanwhile.
   */
  load(part: LoadPart): Promise<void>;

  /**
   * Removes rows of a model and their claims, a bounded number of each, without a change: no revision moves, and the change
   * log gets no line. For a model whose objects are in another store by now. Resolves to how many went.
   */
  purge(model: number): Promise<number>;

  /**
   * For a database that was put back from a backup, before it is used: moves the revision, and the token of each lease,
   * forward by 2^40, beyond whatever was handed out after the backup was made, frees the leases and forgets the change
   * log. A lease that the backup did not have begins beyond 2^40 too. Resolves to the new revision.
   */
  jump(): Promise<number>;

  /** Consistent copy into a file, while writes go on; only SQLite offers it. */
  backup?(file: string, progress?: (done: number, total: number) => void): Promise<void>;
}

/** What each database does; `storeContract` of `kindred/testing` checks it. */
export interface Store
  extends Rows,
    Commits,
    ChangeLog,
    Partial<Claims>,
    Partial<Replicas>,
    Partial<SharedFiles>,
    Leases,
    Transfer {
  /**
   * True when other processes may write to the same store: reads must then learn the newest revision first, and the
   * store keeps claims and replicas. False: the service alone writes, its indexes say who has a unique value, and no claims are
   * handed to the store.
   */
  readonly shared: boolean;

  /**
   * Grows with every connection to the database, before anything is read through it: the server behind it may be another
   * one, or may have lost what it showed. Whoever mirrors the store then asks for what it knows. Absent where there is
   * no such thing.
   */
  readonly connections?: number;

  /** Bytes on disk, durability settings: for /metrics and the log. */
  describe(): Readonly<Record<string, string | number>>;

  close(): Promise<void>;
}
