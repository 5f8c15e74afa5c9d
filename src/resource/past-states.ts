/**
 * The objects of a model as they were at an earlier revision. Those that changed since are told by the log, which has the
 * content before each change; all others are what they are now.
 */
import { LRUCache } from 'lru-cache';
import { KindredError } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import type { Scheme } from '../model/scheme.ts';
import type { TurnQueue } from '../runtime/time-slice.ts';
import { separate } from './bytes.ts';
import type { AppliedChange } from './change.ts';
import type { Feed } from './feed.ts';
import type { Stored } from './registered-model.ts';
import type { ModelResource } from './resource.ts';

export interface PastStatesDependencies {
  readonly feed: Feed;
  readonly turns: TurnQueue;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** Objects that changed since, by name: as they were, undefined when they were not there. */
export type ChangedSince = ReadonlyMap<string, Stored | undefined>;

/** Changes since a revision from which on its state is not made any more. */
const mostChanges = 50_000;
/** Bytes of all states that are kept. */
const keptBytes = 64 * 2 ** 20;
/** Bytes that an entry of a state takes beside its content. */
const entryBytes = 200;
/** What is read of the log at once. */
const portion = { changes: 1_000, bytes: 512 * 1024 };

const texts = {
  expired: localized('The state at revision {revision} is not kept any more'),
};

export class PastStates {
  readonly #dependencies: PastStatesDependencies;
  readonly #states: LRUCache<string, PastState>;
  readonly #previous = new PreviousRevisions(mostChanges);
  readonly #ttl: number;

  /** @param ttl milliseconds after its first change for which an earlier state can be had */
  constructor(dependencies: PastStatesDependencies, ttl: number) {
    this.#dependencies = dependencies;
    this.#ttl = ttl;
    this.#states = new LRUCache({ maxSize: keptBytes, ttl, sizeCalculation: ({ bytes }) => Math.max(bytes, 1) });
    dependencies.feed.subscribe({
      change: (change) => this.#previous.add(change),
      resync: () => this.#states.clear(),
    });
  }

  /**
   * What changed after `revision`, at least up to `through`.
   * @throws KindredError Expired
   */
  async changedSince(resource: ModelResource, revision: number, through: number): Promise<ChangedSince> {
    const key = `${resource.memory.number} ${revision}`;
    const kept = this.#states.get(key);
    const isKept = kept?.resource === resource && kept.scheme === resource.model.scheme;
    const state = isKept ? kept : new PastState(resource, revision, this.#previous);
    await state.extend(through, this.#dependencies);
    const { now } = this.#dependencies;
    if (state.firstChange !== undefined && now() - state.firstChange > this.#ttl) {
      this.#states.delete(key);
      throw expired(revision);
    }
    this.#states.set(key, state);
    return state.objects;
  }
}

function expired(revision: number): KindredError {
  return new KindredError('Expired', texts.expired, { params: { revision } });
}

class PastState {
  readonly resource: ModelResource;
  /** By which the objects were read. */
  readonly scheme: Scheme;
  readonly objects = new Map<string, Stored | undefined>();
  bytes = 0;
  /** When the first change after it was made, milliseconds since the epoch. */
  firstChange: number | undefined;
  readonly #revision: number;
  readonly #previous: PreviousRevisions;
  #position: number;
  #changes = 0;
  /** Those who ask at the same time share the reading. */
  #reading: Promise<void> = Promise.resolve();

  constructor(resource: ModelResource, revision: number, previous: PreviousRevisions) {
    this.resource = resource;
    this.scheme = resource.model.scheme;
    this.#revision = revision;
    this.#previous = previous;
    this.#position = revision;
  }

  extend(through: number, dependencies: PastStatesDependencies): Promise<void> {
    const turn = this.#reading.then(() => this.#read(through, dependencies));
    this.#reading = turn.catch(() => {});
    return turn;
  }

  async #read(wanted: number, { feed, turns }: PastStatesDependencies): Promise<void> {
    const { memory, model } = this.resource;
    const slice = turns.slice();
    while (this.#position < wanted) {
      const recent = this.#position >= memory.followedSince ? feed.recent(this.#position) : undefined;
      const { changes, through } = recent
        ? { changes: recent, through: feed.applied }
        : await feed.changes(this.#position, portion.changes, { model: memory.number, bytes: portion.bytes });
      for (const change of changes) {
        if (change.model === model) this.#take(change);
        if (slice.isOver) await slice.renew();
      }
      if (this.#changes > mostChanges) throw expired(this.#revision);
      this.#position = through;
    }
  }

  #take(change: AppliedChange): void {
    if (change.revision <= this.#position) return;
    const { name, id, before } = change;
    const isKnown = this.objects.has(name);
    if (!isKnown) change.assertReadable();
    this.#position = change.revision;
    this.#changes++;
    this.firstChange ??= change.time;
    if (isKnown) return;
    // Where nobody knows any more when it was changed before: it was so at this revision, whatever was before.
    const revision = this.#previous.of(change.revision) ?? this.#revision;
    this.objects.set(name, before && { id, revision, name, bytes: separate(before) });
    this.bytes += entryBytes + (before?.length ?? 0);
  }
}

/** Of the newest changes: which revision the object had before. The log does not have that. */
class PreviousRevisions {
  readonly #revisions: Float64Array;
  readonly #previous: Float64Array;
  #count = 0;

  constructor(length: number) {
    this.#revisions = new Float64Array(length);
    this.#previous = new Float64Array(length);
  }

  add({ revision, previous }: AppliedChange): void {
    if (previous === undefined) return;
    const at = this.#count++ % this.#revisions.length;
    this.#revisions[at] = revision;
    this.#previous[at] = previous;
  }

  of(revision: number): number | undefined {
    const { length } = this.#revisions;
    const first = Math.max(0, this.#count - length);
    for (let low = first, high = this.#count - 1; low <= high; ) {
      const middle = (low + high) >>> 1;
      const found = this.#revisions[middle % length]!;
      if (found === revision) return this.#previous[middle % length];
      if (found < revision) low = middle + 1;
      else high = middle - 1;
    }
    return undefined;
  }
}
