/**
 * Another declaration of a model that serves. The indexes that changed are built beside those that serve, from a scan of the stored
 * objects and the changes since; then all of it takes the place of what served, in one turn (docs/guide/changing-models.md).
 */
import { KindredError } from '../errors.ts';
import { FieldsBeside } from '../indexes/fields-beside.ts';
import type { ModelIndex } from '../indexes/model-index.ts';
import { localized } from '../locales/localized.ts';
import type { Scheme } from '../model/scheme.ts';
import type { Condition } from '../query/condition.ts';
import { namesField } from '../query/condition.ts';
import { TimeSlice } from '../runtime/time-slice.ts';
import { pause, systemTimers } from '../runtime/timers.ts';
import type { Store } from '../store/store.ts';
import type { Admission } from './admission.ts';
import { readStored, rowsAfter } from './builder.ts';
import type { AppliedChange } from './change.ts';
import type { IndexProgress, NextDeclaration } from './memory.ts';
import type { RegisteredModel } from './registered-model.ts';
import { Versions } from './versions.ts';

export interface ReplacementReading {
  readonly store: Store;
  readonly number: number;
  readonly admission: Admission | undefined;
  /** Nobody waits for it any more. */
  readonly isOver: () => boolean;
}

const texts = {
  building: localized('The index "{index}" of {kind} is being built: {percent} %'),
};

/** Milliseconds that the work holds the event loop, and that it leaves it to others then: a fifth of it. */
const politeness = { slice: 2, pause: 8 };

export class Replacement implements NextDeclaration {
  readonly scheme: Scheme;
  readonly #model: RegisteredModel;
  readonly #index: ModelIndex;
  #fields: FieldsBeside;
  /** The last change of each name since the scan began. */
  #changes = new Map<string, AppliedChange>();
  #distrusted: ReadonlySet<string> = new Set();
  #done = 0;
  #total = 0;

  constructor(scheme: Scheme, model: RegisteredModel, index: ModelIndex) {
    this.scheme = scheme;
    this.#model = model;
    this.#index = index;
    this.#fields = new FieldsBeside(index, scheme.indexes, this.#distrusted);
  }

  /** Names of the indexes that are built. */
  get built(): ReadonlySet<string> {
    return this.#fields.built;
  }

  get progress(): number {
    return Math.min(this.#done / Math.max(this.#total, 1), 1);
  }

  get indexes(): readonly IndexProgress[] {
    const { progress } = this;
    return [...this.built].map((name) => ({ name, progress }));
  }

  /** Changes since the scan began, the last one of each name. */
  get changes(): Iterable<AppliedChange> {
    return this.#changes.values();
  }

  /** True when what is built is as the index is. */
  get isSettled(): boolean {
    return this.#fields.isSettled;
  }

  /** @throws IndexBuilding when a condition or a field is of an index that is being built */
  assertBuilt(where: Condition | undefined, fields: readonly string[]): void {
    const named = [...this.built].find(
      (name) => fields.includes(name) || (where !== undefined && namesField(where, new Set([name]))),
    );
    if (named === undefined) return;
    const { progress } = this;
    throw new KindredError('IndexBuilding', texts.building, {
      params: { index: named, kind: this.#model.kind, percent: Math.floor(progress * 100) },
      index: named,
      progress,
      headers: { 'retry-after': '1' },
    });
  }

  /** In the turn in which the index was told of a change. */
  changed(slot: number | undefined, change: AppliedChange): void {
    this.#changes.set(change.name, change);
    if (slot !== undefined) this.#fields.touch(slot);
  }

  /**
   * Reads the stored objects, where something is to be learnt of them.
   * @returns what is wrong with them, by name; undefined when they were not read
   */
  async read(reading: ReplacementReading): Promise<Map<string, string> | undefined> {
    if (!this.#fields.readsObjects && !reading.admission) return undefined;
    for (;;) {
      const problems = await this.#scan(reading);
      if (this.#fields.differing.size === 0 || reading.isOver()) return problems;
      // Its function says the same as before and gives something else: what it calls has changed.
      this.#begin(new Set([...this.#distrusted, ...this.#fields.differing]));
    }
  }

  async #scan({ store, number, admission, isOver }: ReplacementReading): Promise<Map<string, string>> {
    const slice = politeSlice();
    const problems = new Map<string, string>();
    this.#done = 0;
    this.#total = await store.count(number);
    for (let after = 0; !isOver(); ) {
      const page = await rowsAfter({ store, number, newest: Number.POSITIVE_INFINITY }, after);
      if (page.length === 0) break;
      after = page.at(-1)!.id;
      for (const row of page) {
        const { entry } = readStored(this.scheme, row, { problems, admission, versions: Versions.of(this.scheme) });
        this.#fields.add(entry, row.revision);
        this.#done++;
        if (slice.isOver) await slice.renew();
        if (isOver()) return problems;
      }
      await slice.renew();
    }
    for (const _ of this.#fields.finish()) if (slice.isOver) await slice.renew();
    await this.settle(isOver);
    return problems;
  }

  /** Brings what is built up to the changes so far. @returns false when an index that is kept turns out to be another one */
  async settle(isOver: () => boolean): Promise<boolean> {
    const slice = politeSlice();
    while (!this.#fields.isSettled && !isOver()) {
      for (const _ of this.#fields.settle((name) => this.#entryOf(name))) {
        if (slice.isOver) await slice.renew();
        if (isOver()) break;
      }
    }
    return this.#fields.differing.size === 0;
  }

  /** What takes the place of the index that serves, if it does so in this turn. */
  index(): ModelIndex {
    return this.#fields.index();
  }

  #begin(distrusted: ReadonlySet<string>): void {
    this.#distrusted = distrusted;
    this.#changes = new Map();
    this.#fields = new FieldsBeside(this.#index, this.scheme.indexes, distrusted);
  }

  #entryOf(name: string) {
    const change = this.#changes.get(name)!;
    return this.#model.entryOf(change.object(), name, this.scheme);
  }
}

function politeSlice(): TimeSlice {
  return new TimeSlice(
    () => performance.now(),
    politeness.slice,
    () => pause(systemTimers, politeness.pause),
  );
}
