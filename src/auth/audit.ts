/**
 * The audit log: one entry for each committed change of this process, whoever made it, and for each request that was
 * refused or failed, or that signed somebody in or out. It is made of the members below and of nothing else: no body, no
 * query, no header ever reaches it. Entries are lines of a file, and the newest are kept in memory for `/v3/audit`.
 */
import { randomUUID } from 'node:crypto';
import type { WriteStream } from 'node:fs';
import { createWriteStream } from 'node:fs';
import { partsOf } from '../model/full-name.ts';
import type { Access, Caller, Identity } from '../resource/access.ts';
import type { AppliedChange } from '../resource/change.ts';
import { isPrincipal } from './authentication/identity.ts';

export interface AuditEntry {
  /** Of the request over HTTP, when there was one. */
  readonly requestId?: string;
  /** Whose rights were used. */
  readonly identity: Identity;
  readonly origin: Caller['origin'];
  /** With origin `plugin`. */
  readonly plugin?: string;
  readonly address?: string;
  /** Of the fields that were set. */
  readonly manager?: string;
  readonly access: Access;
  /** HTTP status of the answer; none for a change, which was committed. */
  readonly status?: number;
  /** Code of the error, when there was one. */
  readonly code?: string;
  /** `metadata.version` before and after. */
  readonly before?: number;
  readonly after?: number;
  /** Store revision of the change. */
  readonly revision?: number;
}

export interface AuditOptions {
  /** Path of a file to append to, or `-` for stdout. Default: no audit log. */
  readonly file?: string;
  /** Reads (get, list, watch) too. Default false: writes and refusals. */
  readonly reads?: boolean;
  /** Newest entries of this process that are kept in memory for `/v3/audit`, whether there is a file or not. Default 10,000. */
  readonly keep?: number;
}

type AuditOutcome = (typeof auditOutcomes)[number];
export const auditOutcomes = ['done', 'refused', 'failed'] as const;

/** What an entry is made of when it is read: one is kept for each write, and few are read. */
interface AuditRecord {
  /** Milliseconds since the epoch. */
  readonly time: number;
  readonly requestId?: string | undefined;
  readonly identity: string;
  readonly origin: Caller['origin'];
  readonly plugin?: string | undefined;
  /** Which of a user's tokens: the start of its digest, which says nothing about the token. */
  readonly credential?: string | undefined;
  readonly address?: string | undefined;
  /** Of the fields that were set. */
  readonly manager?: string | undefined;
  readonly verb: string;
  /** Of no resource. */
  readonly path?: string | undefined;
  readonly group?: string | undefined;
  readonly resource?: string | undefined;
  /** Of an object of a namespaced model, or of a list of one namespace. */
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly outcome: AuditOutcome;
  readonly status?: number | undefined;
  readonly code?: string | undefined;
  readonly before?: number | undefined;
  readonly after?: number | undefined;
  readonly revision?: number | undefined;
}

/** As it stands in the file. */
interface AuditLine extends Omit<AuditRecord, 'time'> {
  /** RFC 3339. */
  readonly time: string;
}

export interface KeptEntry extends AuditLine {
  /** `<process>-<number>`, in order for one process. */
  readonly id: string;
}

/** Each compared as a whole; one that is left out lets everything through. */
export interface AuditFilter {
  readonly identity?: string | undefined;
  /** `plural` or `plural.group`, or a path of no resource. */
  readonly type?: string | undefined;
  readonly name?: string | undefined;
  readonly verb?: string | undefined;
  readonly outcome?: AuditOutcome | undefined;
}

/** An answer over HTTP. What was changed is told by the feed, with versions; this is for refusals, failures and reads. */
export interface Answered {
  readonly requestId: string;
  readonly identity: Identity;
  readonly access: Access;
  readonly address?: string;
  readonly status: number;
  readonly code?: string;
}

const reads = new Set(['get', 'list', 'watch', 'explain']);
const defaultKeep = 10_000;
/** Entries that can be kept at most: all of them are looked through at once. */
export const mostKept = 100_000;
/** Characters of a path or a name that are kept: a caller may send long ones. */
const keptCharacters = 512;

export class AuditLog {
  readonly #reads: boolean;
  readonly #now: () => number;
  readonly #stream: WriteStream | NodeJS.WriteStream | undefined;
  /** Newest entries that are kept in memory. */
  readonly keep: number;
  readonly #prefix: string;
  /** The entry of number n is at n modulo `keep`. */
  readonly #kept: AuditRecord[] = [];
  #made = 0;
  readonly #followers = new Set<(entry: KeptEntry) => void>();
  #failed: Error | undefined;

  constructor(options: AuditOptions, now: () => number) {
    this.#reads = options.reads ?? false;
    this.#now = now;
    this.keep = options.keep ?? defaultKeep;
    this.#prefix = randomUUID().slice(0, 8);
    if (options.file === '-') this.#stream = process.stdout;
    else if (options.file !== undefined) this.#stream = createWriteStream(options.file, { flags: 'a', mode: 0o600 });
    this.#stream?.on('error', (error: Error) => {
      this.#failed = error;
    });
  }

  /** The error that keeps the log from being written; for `/readyz` and the service's own log. */
  get failure(): Error | undefined {
    return this.#failed;
  }

  get enabled(): boolean {
    return this.#stream !== undefined || this.keep > 0;
  }

  /** The entries that are kept, newest first. */
  *newest(filter: AuditFilter): Generator<KeptEntry> {
    for (let n = this.#made - 1; n >= this.oldest; n--) {
      if (matches(this.#kept[n % this.keep]!, filter)) yield this.at(n);
    }
  }

  /** Number of the oldest entry that is kept. */
  get oldest(): number {
    return Math.max(0, this.#made - this.keep);
  }

  /** Number of the next entry. */
  get end(): number {
    return this.#made;
  }

  /** The entry of a number from `oldest` up to `end`. */
  at(n: number): KeptEntry {
    return { id: `${this.#prefix}-${n}`, ...lineOf(this.#kept[n % this.keep]!) };
  }

  /** Of the entry with this id; undefined for one of another process. */
  numberOf(id: string): number | undefined {
    const [prefix, digits = ''] = id.split('-');
    return prefix === this.#prefix && /^\d{1,15}$/.test(digits) ? Number(digits) : undefined;
  }

  /** Told of each entry from now on. @returns stops it */
  follow(told: (entry: KeptEntry) => void): () => void {
    this.#followers.add(told);
    return () => this.#followers.delete(told);
  }

  answered(answer: Answered): void {
    if (answer.status >= 400 || reads.has(answer.access.verb) || isSignIn(answer.access))
      this.record({ ...answer, origin: 'http' });
  }

  /** A change that was committed by this process. */
  changed(change: AppliedChange): void {
    const { caller, model, name, revision, type } = change;
    if (!this.enabled || !caller) return;
    const { metadata } = change.object();
    const before = change.objectBefore()?.metadata;
    const marked = metadata.deletionTimestamp !== undefined && before?.deletionTimestamp === undefined;
    this.record({
      requestId: caller.requestId,
      identity: caller.identity,
      origin: caller.origin,
      plugin: caller.plugin,
      address: caller.address,
      manager: caller.manager,
      access: {
        verb: marked ? 'delete' : type,
        group: model.scheme.groupVersionKind.group,
        resource: model.scheme.plural,
        ...partsOf(name),
      },
      before: before?.version,
      after: type === 'delete' && !marked ? undefined : metadata.version,
      revision,
    });
  }

  record(entry: AuditEntry): void {
    if (!this.enabled) return;
    if (!this.#reads && reads.has(entry.access.verb) && (entry.status ?? 200) < 400) return;
    const record = recordOf(entry, this.#now());
    this.#stream?.write(`${JSON.stringify(lineOf(record))}\n`);
    if (this.keep > 0) this.#keepInMemory(record);
  }

  #keepInMemory(record: AuditRecord): void {
    const { path, namespace, name } = record;
    const n = this.#made++;
    this.#kept[n % this.keep] =
      isShort(path) && isShort(namespace) && isShort(name)
        ? record
        : { ...record, path: shortened(path), namespace: shortened(namespace), name: shortened(name) };
    if (this.#followers.size === 0) return;
    const entry = this.at(n);
    for (const follower of this.#followers) follower(entry);
  }

  /** Resolves when all is written. */
  async close(): Promise<void> {
    const stream = this.#stream;
    if (!stream || stream === process.stdout || this.#failed) return;
    await new Promise<void>((resolve) => {
      stream.once('error', () => resolve());
      stream.end(() => resolve());
    });
  }
}

function isSignIn(access: Access): boolean {
  return 'path' in access && access.path.startsWith('/v3/session') && access.verb !== 'get';
}

export function matches(entry: AuditRecord | AuditLine, { identity, type, name, verb, outcome }: AuditFilter): boolean {
  return (
    (identity === undefined || entry.identity === identity) &&
    (name === undefined || entry.name === name) &&
    (verb === undefined || entry.verb === verb) &&
    (outcome === undefined || entry.outcome === outcome) &&
    (type === undefined || typeOf(entry) === type)
  );
}

/** A sub-resource is of the type of its objects. */
function typeOf({ path, group, resource = '' }: Pick<AuditRecord, 'path' | 'group' | 'resource'>): string {
  if (path !== undefined) return path;
  const plural = resource.split('/', 1)[0]!;
  return group ? `${plural}.${group}` : plural;
}

function isShort(text: string | undefined): boolean {
  return text === undefined || text.length <= keptCharacters;
}

function shortened(text: string | undefined): string | undefined {
  return text === undefined || isShort(text) ? text : `${text.slice(0, keptCharacters).toWellFormed()}…`;
}

function lineOf(record: AuditRecord): AuditLine {
  return { ...record, time: new Date(record.time).toISOString() };
}

function recordOf(entry: AuditEntry, time: number): AuditRecord {
  const { identity, access, status = 200 } = entry;
  const principal = isPrincipal(identity) ? identity : undefined;
  const { path, group, resource, namespace, name }: Partial<Record<string, string>> = access;
  return {
    time,
    requestId: entry.requestId,
    identity: identity.name,
    origin: entry.origin,
    plugin: entry.plugin,
    credential: principal?.credential?.slice(0, 8),
    address: entry.address,
    manager: entry.manager,
    verb: access.verb,
    path,
    group,
    resource,
    namespace,
    name,
    outcome: status < 400 ? 'done' : status === 401 || status === 403 ? 'refused' : 'failed',
    status: entry.status,
    code: entry.code,
    before: entry.before,
    after: entry.after,
    revision: entry.revision,
  };
}
