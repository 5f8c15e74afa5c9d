/** The end of a write: whether its unique values are free, the commit, and what a refusal of the store means. */

import { KindredError } from '../errors.ts';
import type { Place } from '../indexes/model-index.ts';
import { localized } from '../locales/localized.ts';
import type { IndexDefinition, IndexEntry } from '../model/index-entry.ts';
import type { TimeSlice } from '../runtime/time-slice.ts';
import { endsWithin, systemTimers } from '../runtime/timers.ts';
import { notReady } from '../store/failure.ts';
import type { Claim, MaybePromise, Store, Write, WriteResult } from '../store/store.ts';
import type { UniqueKey } from './claims.ts';
import { claimOf, haveSameKeys, keepsClaims, shownValue, uniqueKeysOf } from './claims.ts';
import type { Feed, ModelWrite } from './feed.ts';
import type { ModelMemory } from './memory.ts';
import type { RegisteredModel } from './registered-model.ts';
import type { Rules } from './rules.ts';
import { waitsForReplicas } from './rules.ts';
import type { WritesUnderWay } from './under-way.ts';

/** A lease, and the token with which it is held. */
export type Fence = NonNullable<Write['fence']>;

/** A contract did not become active: another one has (`outdated`), or objects were changed since they were checked. */
export class ActivationRefused extends Error {
  readonly reason: 'outdated' | 'unchecked';

  constructor(reason: 'outdated' | 'unchecked') {
    super(reason);
    this.reason = reason;
  }
}

/** What makes writes durable, as `CommitQueue.commit`. */
export interface ModelCommits {
  commit(write: ModelWrite, settled?: (result?: WriteResult) => void): Promise<WriteResult>;
}

export interface CommitDependencies {
  readonly memory: ModelMemory;
  readonly store: Store;
  readonly queue: ModelCommits;
  readonly underWay: WritesUnderWay;
  readonly feed: Feed;
  /** As `IndexedModel.current`, before what is stored is read. */
  readonly current: () => Promise<void> | undefined;
  /** Milliseconds, never going back. */
  readonly monotonicNow: () => number;
  readonly limits: {
    /** Milliseconds until a write is answered even when the database does not. */
    readonly writeTimeout: number;
  };
}

export interface CommitOptions {
  /** Called when the write is handed to the store: what is begun then comes after it. */
  readonly onHanded?: () => void;
  /** Everything but the commit. */
  readonly dryRun?: boolean;
}

/** Unique values that a write takes, and those that it gives up. */
export interface KeyChanges {
  readonly taken: readonly UniqueKey[];
  readonly freed: readonly UniqueKey[];
}

const texts = {
  claimed: localized('Another {kind} already has the value {value} in the unique index "{index}"'),
  fenced: localized('The lease "{lease}" is held by another replica'),
};

export class Commits {
  readonly #dependencies: CommitDependencies;
  readonly #memory: ModelMemory;
  readonly #model: RegisteredModel;

  constructor(dependencies: CommitDependencies) {
    this.#dependencies = dependencies;
    this.#memory = dependencies.memory;
    this.#model = this.#memory.model;
  }

  /** Unique values taken and given up between two entries of one object. */
  keyChanges(
    { uniques, indexes }: Rules,
    before: IndexEntry,
    after: IndexEntry | undefined,
    slice: TimeSlice,
  ): MaybePromise<KeyChanges> {
    if (after && haveSameKeys(uniques, indexes, before, after)) return { taken: [], freed: [] };
    return keysBetween(uniques, indexes, before, after, slice);
  }

  /**
   * Resolves when the change is durable and applied to memory; `ok: false` when another write was quicker.
   * @throws UniqueViolation, NotReady (the lease is not held), ActivationRefused, and what the store throws
   */
  async commit(
    rules: Rules,
    write: ModelWrite,
    keys: KeyChanges,
    { onHanded, dryRun }: CommitOptions,
    slice: TimeSlice,
  ): Promise<WriteResult> {
    if (this.#memory.held) {
      await this.#memory.held;
      this.#memory.assertReady();
      if (this.#model.rules !== rules) return { ok: false, reason: 'outdated' };
    }
    if (dryRun) onHanded?.();
    const result = await (dryRun
      ? this.#rehearse(rules, write, keys, slice)
      : keepsClaims(this.#dependencies.store)
        ? this.#commitClaiming(rules, write, keys, slice, onHanded)
        : this.#commitAlone(rules, write, keys, slice, onHanded));
    if (result.ok) {
      const { feed } = this.#dependencies;
      if (feed.applied < result.revision) await feed.shown(result.revision);
      return result;
    }
    if (result.reason === 'unchecked' || (write.activate && result.reason === 'outdated'))
      throw new ActivationRefused(result.reason);
    if (result.reason === 'fenced') throw notHeld(write.fence!);
    if (result.reason === 'claimed') {
      const { index } = result;
      const key = keys.taken.find(({ definition, key }) => definition.name === index && key === result.key);
      const value = key ? shownValue(key) : result.key;
      throw new KindredError('UniqueViolation', texts.claimed, {
        params: { kind: this.#model.kind, index, value },
        index,
        value,
      });
    }
    return result;
  }

  /** As a commit would end, by what the indexes know: unique values are looked up, and not taken. */
  async #rehearse(
    { hasOtherHub }: Rules,
    write: ModelWrite,
    { taken }: KeyChanges,
    slice: TimeSlice,
  ): Promise<WriteResult> {
    if (taken.length > 0 && hasOtherHub) throw waitsForReplicas(this.#model.kind);
    const { feed, current } = this.#dependencies;
    await current();
    this.#memory.assertReady();
    const refusal = await this.#refusal(write, taken, slice);
    return refusal ?? { ok: true, id: write.expected?.id ?? 0, revision: feed.applied };
  }

  /** The store decides who has a unique value. */
  async #commitClaiming(
    rules: Rules,
    write: ModelWrite,
    { taken, freed }: KeyChanges,
    slice: TimeSlice,
    onHanded?: () => void,
  ): Promise<WriteResult> {
    const { claiming, hasOtherHub } = rules;
    const unclaimed = claiming.size > 0 ? taken.filter(({ definition }) => claiming.has(definition.name)) : [];
    // The memory has other keys than those that are claimed.
    if (unclaimed.length > 0 && hasOtherHub) throw waitsForReplicas(this.#model.kind);
    // The memory may be behind: the holder may have given the value up.
    if (unclaimed.length > 0 && (await this.#refusal(write, unclaimed, slice))) {
      const refusal = await this.#newestRefusal(rules, write, unclaimed, slice);
      if (refusal) return refusal;
    }
    const { index } = this.#memory;
    const claim: Claim[] = [];
    for (const key of taken) {
      claim.push(claimOf(key));
      if (slice.isOver) await slice.renew();
    }
    const release: { hash: Uint8Array; successor: Place | undefined }[] = [];
    for (const key of freed) {
      const other = hasOtherHub
        ? undefined
        : index.holders(key.definition, key.value).find((one) => one !== write.name);
      release.push({ hash: claimOf(key).hash, successor: other === undefined ? undefined : index.find(other) });
      if (slice.isOver) await slice.renew();
    }
    onHanded?.();
    const result = await this.#dependencies.queue.commit({ ...write, claim, release } satisfies ModelWrite);
    if (result.ok || result.reason !== 'claimed' || !claiming.has(result.index)) return result;
    // A claim may be left over from an earlier contract: the replicas take it away before they say that the index is enforced.
    return (await this.#newestRefusal(rules, write, unclaimed, slice)) ?? { ok: false, reason: 'outdated' };
  }

  /** As `#refusal`, by what is newest; `outdated` when other rules hold by then. */
  async #newestRefusal(
    rules: Rules,
    write: ModelWrite,
    taken: readonly UniqueKey[],
    slice: TimeSlice,
  ): Promise<WriteResult | undefined> {
    await this.#dependencies.feed.newest();
    this.#memory.assertReady();
    return this.#model.rules === rules ? this.#refusal(write, taken, slice) : { ok: false, reason: 'outdated' };
  }

  /**
   * The indexes decide who has a unique value. The outcome of a write under way that takes or gives up one of these is
   * awaited first, and no other begins before this one has ended.
   */
  async #commitAlone(
    rules: Rules,
    write: ModelWrite,
    { taken, freed }: KeyChanges,
    slice: TimeSlice,
    onHanded?: () => void,
  ): Promise<WriteResult> {
    const { queue, feed, underWay, limits, monotonicNow } = this.#dependencies;
    const keys = [...taken, ...freed].map(({ text }) => `${write.model}\0${text}`);
    const deadline = monotonicNow() + limits.writeTimeout;
    // Many may have waited for the same one: each looks again right before it begins.
    for (let other = underWay.with(keys); other; other = underWay.with(keys)) {
      if (!(await endsWithin(systemTimers, Math.max(deadline - monotonicNow(), 0), other)))
        throw notReady('the database did not take further writes in time');
      if (slice.isOver) await slice.renew();
    }
    const end = underWay.begin(keys);
    try {
      // From here on no indexes are built: that waits for the writes under way.
      this.#memory.assertReady();
      const refusing = taken.length > 0 && this.#refusal(write, taken, slice);
      const refusal = refusing instanceof Promise ? await refusing : refusing;
      this.#memory.assertReady();
      // What is handed over from here on may come after a contract that becomes active.
      const isOutdated = this.#memory.held !== undefined || this.#model.rules !== rules;
      const outcome = isOutdated ? ({ ok: false, reason: 'outdated' } as const) : refusal;
      if (outcome) {
        end();
        return outcome;
      }
    } catch (error) {
      end();
      throw error;
    }
    onHanded?.();
    return queue.commit(write, (result) => {
      if (result?.ok && feed.applied < result.revision) void feed.at(result.revision).then(end);
      else end();
    });
  }

  #refusal(write: ModelWrite, taken: readonly UniqueKey[], slice: TimeSlice): MaybePromise<WriteResult | undefined> {
    if (write.type === 'create' && this.#memory.index.find(write.name)) return { ok: false, reason: 'exists' };
    for (const [i, { definition, value, key }] of taken.entries()) {
      if (this.#memory.index.holders(definition, value).some((holder) => holder !== write.name))
        return { ok: false, reason: 'claimed', index: definition.name, key };
      if (slice.isOver) return slice.renew().then(() => this.#refusal(write, taken.slice(i + 1), slice));
    }
    return undefined;
  }
}

async function keysBetween(
  uniques: readonly IndexDefinition[],
  indexes: readonly IndexDefinition[],
  before: IndexEntry,
  after: IndexEntry | undefined,
  slice: TimeSlice,
): Promise<KeyChanges> {
  const held = uniqueKeysOf(uniques, indexes, before);
  if (slice.isOver) await slice.renew();
  const wanted = after ? uniqueKeysOf(uniques, indexes, after) : [];
  if (slice.isOver) await slice.renew();
  const [heldTexts, wantedTexts] = [held, wanted].map((keys) => new Set(keys.map(({ text }) => text)));
  return {
    taken: wanted.filter(({ text }) => !heldTexts!.has(text)),
    freed: held.filter(({ text }) => !wantedTexts!.has(text)),
  };
}

/** The lease is not held. */
export function notHeld({ lease }: Fence): KindredError {
  return new KindredError('NotReady', texts.fenced, { params: { lease } });
}
