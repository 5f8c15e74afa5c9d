/**
 * Which model is in which store (docs/decisions/placement.md). A *rule* is what the operator wants, a *record* says where the
 * objects are. Records are rows of the default store, made at the first use of a model that a rule places elsewhere; a model
 * without one is in the default store.
 */

import { KindredError } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import type { Scheme } from '../model/scheme.ts';
import { typeNameOf } from '../model/scheme.ts';
import { retry } from '../runtime/retry.ts';
import { systemTimers } from '../runtime/timers.ts';
import type { PlacementRule } from '../store/options.ts';
import { defaultStore } from '../store/options.ts';
import type { Change, Store } from '../store/store.ts';
import type { Mark } from './marks.ts';
import { knownMarkNumber, makeMark, markOf, readMarks } from './marks.ts';
import { movedAway } from './memory.ts';
import { readAtStart } from './read-at-start.ts';

/** Where the objects of a model are. */
export interface PlaceRecord {
  readonly store: string;
  /** The objects are being copied to another store (`move.ts`). */
  readonly moving?: {
    readonly to: string;
    /** No object is changed any more. It is the generation that the model had until then in the store of before. */
    readonly sealed?: number;
  };
  /** A store that has the objects too, from before, or from a move that was given up. */
  readonly left?: string;
}

export interface PlacementDependencies {
  /** The first that fits a model counts. */
  readonly rules: readonly PlacementRule[];
  /** Names of the stores, besides the default one. */
  readonly stores: readonly string[];
  /** The default store. */
  readonly store: Store;
  /** False for the models of the service itself, which are in the default store. */
  readonly isPlaceable: (scheme: Scheme) => boolean;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

const texts = {
  contradiction: localized(
    '{kind} is placed in "{wanted}", its objects are in {found}: kindred model move {model} --to {wanted}',
  ),
  unknown: localized('The objects of {kind} are in the store "{store}", which the setting "stores" does not name'),
};

/** Tries of a record that others write too, or while objects are made. */
const attempts = 20;

export class Placement {
  readonly #dependencies: PlacementDependencies;
  /** By `<plural>.<group>`. */
  readonly #records = new Map<string, Mark<PlaceRecord>>();
  /** The number of the records in the default store; undefined while there are none. */
  #number: number | undefined;
  /** Numbers of models of which was asked whether they are the records. */
  readonly #others = new Set<number>();
  /** Models that this process has served by its rules: it goes on with them where a move brings them, until its next start. */
  readonly #settled = new Set<string>();
  readonly #stopping = new AbortController();
  #onChanged: (model: string, record: PlaceRecord) => void = () => {};

  private constructor(dependencies: PlacementDependencies) {
    this.#dependencies = dependencies;
  }

  /** Reads the records. @throws NotReady when the store cannot be reached for more than 3 s */
  static async open(dependencies: PlacementDependencies): Promise<Placement> {
    const placement = new Placement(dependencies);
    await placement.load();
    return placement;
  }

  /** The name of the store in which a model is, or is to be made. */
  storeOf(scheme: Scheme): string {
    return this.recordOf(scheme)?.store ?? this.#wanted(scheme);
  }

  /** Undefined for a model that was always in the default store. */
  recordOf(scheme: Scheme): PlaceRecord | undefined {
    return this.#records.get(typeNameOf(scheme))?.content;
  }

  /** Of the record; undefined when there is none. */
  revisionOf(scheme: Scheme): number | undefined {
    return this.#records.get(typeNameOf(scheme))?.revision;
  }

  /** No object of the model may be changed: they are about to be in another store. */
  isSealed(scheme: Scheme): boolean {
    return this.recordOf(scheme)?.moving?.sealed !== undefined;
  }

  /**
   * Before the objects of a model are read: records its place at its first use.
   * @param store where this process takes it to be
   * @throws PlacementContradicted; NotReady when it is elsewhere by now
   */
  async settle(scheme: Scheme, { name: store }: { readonly name: string }): Promise<void> {
    if (!this.isPlaceable(scheme)) return;
    const { kind } = scheme.groupVersionKind;
    const model = typeNameOf(scheme);
    for (let attempt = 1; ; attempt++) {
      const record = this.#records.get(model)?.content;
      const wanted = this.#wanted(scheme);
      if (record && !this.#isKnown(record.store))
        throw new PlacementContradicted(texts.unknown, { kind, store: record.store });
      const rule = this.#ruleOf(scheme);
      if (record && rule && !storesOf(record).includes(rule.store) && !this.#settled.has(model))
        throw this.#contradicted(scheme, wanted, record.store);
      if (record || wanted === defaultStore) {
        this.#settled.add(model);
        if ((record?.store ?? defaultStore) === store) return;
        throw movedAway(kind, 'NotReady');
      }
      if (attempt > attempts || (await this.#record(scheme, wanted)) === 'objects')
        throw this.#contradicted(scheme, wanted, defaultStore);
      await this.refresh();
    }
  }

  /** A change of an object of no model, in the default store. */
  changed(change: Change): void {
    if (this.#number === undefined && !this.#others.has(change.model)) {
      this.#others.add(change.model);
      void this.#find();
    }
    if (change.model !== this.#number || change.type === 'delete') return;
    this.#take(change.name, { content: markOf<PlaceRecord>(change.bytes), revision: change.revision });
  }

  /** The feed of the default store passed over changes, or the store has another history by now. */
  resync(): void {
    for (const [model, { content }] of this.#records) this.#records.set(model, { content, revision: 0 });
    void this.#find();
  }

  /** Another process may have made records of which the feed does not tell. */
  async #find(): Promise<void> {
    const { signal } = this.#stopping;
    const failed = (): void => undefined;
    await retry({ timers: systemTimers, minDelay: 50, maxDelay: 1_000, signal, failed }, () => this.refresh());
  }

  stop(): void {
    this.#stopping.abort();
  }

  /** @param listener told of each model whose record is another by now, `<plural>.<group>` */
  onChanged(listener: (model: string, record: PlaceRecord) => void): void {
    this.#onChanged = listener;
  }

  /** False for the models of the service itself. */
  isPlaceable(scheme: Scheme): boolean {
    return this.#dependencies.isPlaceable(scheme);
  }

  #isKnown(store: string): boolean {
    return store === defaultStore || this.#dependencies.stores.includes(store);
  }

  #ruleOf(scheme: Scheme): PlacementRule | undefined {
    const { rules } = this.#dependencies;
    const { group } = scheme.groupVersionKind;
    const type = typeNameOf(scheme);
    return this.isPlaceable(scheme) ? rules.find(({ model }) => model === type || model === `*.${group}`) : undefined;
  }

  #wanted(scheme: Scheme): string {
    return this.#ruleOf(scheme)?.store ?? defaultStore;
  }

  #contradicted(scheme: Scheme, wanted: string, found: string): PlacementContradicted {
    const shown = found === defaultStore ? 'the default store' : `the store "${found}"`;
    const { kind } = scheme.groupVersionKind;
    const params = { kind, wanted, found: shown, model: typeNameOf(scheme) };
    return new PlacementContradicted(texts.contradiction, params);
  }

  /** Reads the records at a start. @throws NotReady when the store cannot be reached for more than 3 s */
  load(): Promise<void> {
    return readAtStart(this.#dependencies.store, () => this.refresh());
  }

  /** Reads the records. */
  async refresh(): Promise<void> {
    const { store } = this.#dependencies;
    this.#number ??= await knownMarkNumber(store, 'place');
    if (this.#number === undefined) return;
    for (const [model, mark] of await readMarks<PlaceRecord>(store, this.#number)) this.#take(model, mark);
  }

  /** The feed may have told of a later one meanwhile. */
  #take(model: string, mark: Mark<PlaceRecord>): void {
    const known = this.#records.get(model);
    if (known && known.revision >= mark.revision) return;
    this.#records.set(model, mark);
    this.#onChanged(model, mark.content);
  }

  /**
   * Says `objects` when the default store has objects of the model. A process that takes the model to be there is refused its
   * next write (`outdated`), as the generation of the model grows with the record.
   */
  async #record(scheme: Scheme, place: string): Promise<'objects' | undefined> {
    const { store, now } = this.#dependencies;
    const { group, kind } = scheme.groupVersionKind;
    const number = await store.modelNumber(group, kind);
    const checked = await store.revision();
    if ((await store.count(number)) > 0) return 'objects';
    const [row] = await store.models(number);
    const { generation, contract = '', storageVersion = '' } = row!;
    const activate = { model: number, from: generation, to: generation + 1, contract, storageVersion, checked };
    const record: PlaceRecord = { store: place };
    // Whether it was made or not: what is there now is read next.
    await makeMark(store, 'place', typeNameOf(scheme), record, { activate, now: now() });
    return undefined;
  }
}

/** While objects move, and until what they left is gone, either place may be configured. */
function storesOf({ store, moving, left }: PlaceRecord): (string | undefined)[] {
  return [store, moving?.to, left];
}

/** The configured place of a model is not where its objects are. */
export class PlacementContradicted extends KindredError {
  readonly reason = 'PlacementContradicted';

  constructor(text: ReturnType<typeof localized>, params: Readonly<Record<string, string>>) {
    super('InvalidPlugin', text, { params });
  }
}
