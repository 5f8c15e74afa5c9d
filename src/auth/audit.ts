/**
 * The audit log: one JSON line for each committed change of this process, whoever made it, and for each request that was
 * refused or failed, or that signed somebody in or out. A line is made of the members below and of nothing else: no body, no query, no header ever reaches it.
 */
import type { WriteStream } from 'node:fs';
import { createWriteStream } from 'node:fs';
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

export class AuditLog {
  readonly #reads: boolean;
  readonly #now: () => number;
  readonly #stream: WriteStream | NodeJS.WriteStream | undefined;
  #failed: Error | undefined;

  constructor(options: AuditOptions, now: () => number) {
    this.#reads = options.reads ?? false;
    this.#now = now;
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
    return this.#stream !== undefined;
  }

  answered(answer: Answered): void {
    if (answer.status >= 400 || reads.has(answer.access.verb) || isSignIn(answer.access))
      this.record({ ...answer, origin: 'http' });
  }

  /** A change that was committed by this process. */
  changed(change: AppliedChange): void {
    const { caller, model, name, revision, type } = change;
    if (!this.#stream || !caller) return;
    const { metadata } = change.object();
    const before = change.objectBefore()?.metadata;
    const marked = metadata.deletionTimestamp !== undefined && before?.deletionTimestamp === undefined;
    this.record({
      requestId: caller.requestId,
      identity: caller.identity,
      origin: caller.origin,
      plugin: caller.plugin,
      address: caller.address,
      access: {
        verb: marked ? 'delete' : type,
        group: model.scheme.groupVersionKind.group,
        resource: model.scheme.plural,
        name,
      },
      before: before?.version,
      after: type === 'delete' && !marked ? undefined : metadata.version,
      revision,
    });
  }

  record(entry: AuditEntry): void {
    if (!this.#stream) return;
    if (!this.#reads && reads.has(entry.access.verb) && (entry.status ?? 200) < 400) return;
    this.#stream.write(`${JSON.stringify(auditLine(entry, this.#now()))}\n`);
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

/** @param time milliseconds since the epoch */
function auditLine(entry: AuditEntry, time: number): Record<string, unknown> {
  const { identity, access, status = 200 } = entry;
  const principal = isPrincipal(identity) ? identity : undefined;
  return {
    time: new Date(time).toISOString(),
    requestId: entry.requestId,
    identity: identity.name,
    origin: entry.origin,
    plugin: entry.plugin,
    // Which of a user's tokens: the start of its digest, which says nothing about the token.
    credential: principal?.credential?.slice(0, 8),
    address: entry.address,
    verb: access.verb,
    ...('path' in access
      ? { path: access.path }
      : { group: access.group, resource: access.resource, name: access.name }),
    outcome: status < 400 ? 'done' : status === 401 || status === 403 ? 'refused' : 'failed',
    status: entry.status,
    code: entry.code,
    before: entry.before,
    after: entry.after,
    revision: entry.revision,
  };
}
