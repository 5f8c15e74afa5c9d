import type { Bound } from '../../query/bind.ts';
import { bind } from '../../query/bind.ts';
import type { Condition } from '../../query/query.ts';
import type { AppliedChange } from '../change.ts';
import type { ModelResource } from '../resource.ts';
import type { ChangeEvent, Sink, WatchRequest } from './events.ts';
import { eventTypeOf } from './events.ts';

export interface OpenWatch {
  /** The revision that the watch begins after. */
  readonly revision: number;
  /** Starts the events. */
  start(): void;
  /** The client is gone. */
  close(): void;
}

/** Where the changes of a watch come from, and what it does there. */
export interface WatchSource {
  start(watch: Watch, request: WatchRequest): void;
  /** Live changes come too fast for the client: it goes on by a replay from the watch's position. */
  fallBehind(watch: Watch): void;
  remove(watch: Watch): void;
  /** The watch cannot be told of a change: it ends. */
  fail(watch: Watch, error: unknown): void;
}

interface WatchOptions {
  readonly resource: ModelResource;
  readonly bound: Bound;
  readonly names: ReadonlySet<string> | undefined;
  readonly identity: string;
  readonly sink: Sink;
  readonly revision: number;
}

/** One client's watch. */
export class Watch implements OpenWatch {
  readonly resource: ModelResource;
  /** Another one when the declaration of the model is replaced. */
  bound: Bound;
  readonly where: Condition;
  readonly names: ReadonlySet<string> | undefined;
  readonly identity: string;
  readonly sink: Sink;
  readonly revision: number;
  closed = false;
  isLive = false;
  /** While it is not live: everything up to this revision was told; -1 as long as the list is not complete. */
  position: number;
  /** Had an event since the last round of bookmarks. */
  #busy = false;
  readonly #source: WatchSource;
  /** Until it is started: there may be many watches, and each is kept for long. */
  #request: WatchRequest | undefined;

  constructor(
    source: WatchSource,
    { resource, bound, names, identity, sink, revision }: WatchOptions,
    request: WatchRequest,
  ) {
    this.resource = resource;
    this.bound = bound;
    this.where = request.where;
    this.names = names;
    this.identity = identity;
    this.sink = sink;
    this.revision = revision;
    this.position = request.sendInitial ? -1 : revision;
    this.#source = source;
    this.#request = request;
  }

  start(): void {
    const request = this.#request;
    this.#request = undefined;
    if (request && !this.closed) this.#source.start(this, request);
  }

  /** @throws InvalidSelector when the declaration that serves lacks an index of it */
  rebind(): void {
    this.bound = bind(this.where, this.resource.scheme.indexes);
  }

  close(): void {
    this.#source.remove(this);
  }

  /** A change that was just applied. */
  deliver(change: AppliedChange): void {
    const type = this.#typeOf(change);
    if (!type) return;
    if (!this.sink.isFull) return this.#send(type, change);
    this.position = change.revision - 1;
    this.#source.fallBehind(this);
  }

  /** The next change of a replay. */
  tell(change: AppliedChange): void {
    const type = this.#typeOf(change);
    if (type) this.#send(type, change);
  }

  bookmark(applied: number): void {
    // Whatever is applied was delivered to live watches in the same turn.
    const revision = this.isLive ? applied : this.position;
    if (!this.#busy && revision >= 0 && !this.sink.isFull) this.sink.event({ type: 'BOOKMARK', revision });
    this.#busy = false;
  }

  #typeOf(change: AppliedChange): ChangeEvent['type'] | undefined {
    return this.names && !this.names.has(change.name) ? undefined : eventTypeOf(this.bound, change);
  }

  #send(type: ChangeEvent['type'], change: AppliedChange): void {
    this.#busy = true;
    let bytes: Buffer;
    try {
      bytes = change.view(this.resource.apiVersion);
    } catch (error) {
      return this.#source.fail(this, error);
    }
    this.sink.event({ type, revision: change.revision, bytes, change });
  }
}
