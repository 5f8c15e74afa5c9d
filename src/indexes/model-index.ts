/** All indexes of one model, in memory. Objects are *slots*: dense numbers that are used again when an object is gone. */
import type { IndexDefinition, IndexEntry } from '../model/index-entry.ts';
import { TimeSlice } from '../runtime/time-slice.ts';
import { grown, none } from './arrays.ts';
import { Dependents } from './dependents.ts';
import type { Field } from './field.ts';
import { builtInKeyOf, deletedField, fieldsOf, firstDeclared, keysOf, nameField } from './field.ts';
import type { FieldIndex } from './field-index.ts';
import { MultiIndex, SingleIndex } from './field-index.ts';
import { Labels } from './labels.ts';
import type { IndexMemory } from './memory/index-memory.ts';
import { indexMemory } from './memory/index-memory.ts';
import { NameTable } from './name-table.ts';
import { Scratch } from './scratch.ts';
import type { Pieces } from './snapshot/piece.ts';
import { defaultPortion, fieldPrefix, numberPieces, textPieces } from './snapshot/piece.ts';
import type { Sections } from './snapshot/texts.ts';
import { getTexts, sectionOf } from './snapshot/texts.ts';
import type { Steps } from './sort.ts';
import { TextColumn } from './text-column.ts';

/** What is indexed of one stored object. */
export interface IndexRow {
  readonly entry: IndexEntry;
  /** Revision of its creation. */
  readonly id: number;
  /** Revision of its last change. */
  readonly revision: number;
  /** Bytes as it is stored. Default 0. */
  readonly length?: number;
}

/** Where an object is, and which state of it. */
export interface Place {
  /** Only good until the next change. */
  readonly slot: number;
  /** Revision of its creation. */
  readonly id: number;
  /** Revision of its last change. */
  readonly revision: number;
}

/** A unique value that several objects have. */
export interface Duplicate {
  readonly index: string;
  readonly key: unknown;
  /** In order. */
  readonly names: readonly string[];
}

/** Objects after which it is known how much memory those take that are expected. */
const sampled = 1_024;

const noKeys: readonly unknown[] = [];

export class ModelIndex {
  readonly definitions: readonly IndexDefinition[];
  /** By field number (`field.ts`). */
  readonly fields: readonly FieldIndex[];
  readonly labels: Labels;
  /** By slot; none where there is no object. */
  readonly names: TextColumn;
  readonly dependents: Dependents;
  readonly scratch: Scratch;
  readonly memory: IndexMemory;
  /** By slot. */
  ids = new Float64Array(16);
  revisions = new Float64Array(16);
  /** Bytes of the stored objects. */
  lengths = new Uint32Array(16);
  readonly #table: NameTable;
  readonly #free: number[];
  readonly #observers: Set<Set<number>>;

  /**
   * @param former what has the objects already, and is not changed any more; `fields` has the same slots
   * @param dependents also of objects that are not here
   */
  constructor(
    definitions: readonly IndexDefinition[],
    former?: { readonly index: ModelIndex; readonly fields: readonly FieldIndex[] },
    memory = indexMemory,
    dependents: Dependents = former?.index.dependents ?? new Dependents(),
  ) {
    const index = former?.index;
    this.memory = index?.memory ?? memory;
    this.definitions = definitions;
    this.labels = index?.labels ?? new Labels(this.memory);
    this.names = index?.names ?? new TextColumn();
    this.dependents = dependents;
    this.scratch = index?.scratch ?? new Scratch(this.memory);
    if (index) ({ ids: this.ids, revisions: this.revisions, lengths: this.lengths } = index);
    this.#table = index ? index.#table : new NameTable(this.names);
    this.#free = index ? index.#free : [];
    this.#observers = index ? index.#observers : new Set();
    this.fields = former?.fields ?? fieldsOf(definitions).map((field, number) => this.#emptyField(field, number));
  }

  /** Has the slots of this index, and no keys yet. */
  emptyField(field: Field): FieldIndex {
    return this.#emptyField(field);
  }

  #emptyField(field: Field, number?: number): FieldIndex {
    const { names, scratch, memory } = this;
    if (field.multi) return new MultiIndex(field, { names, scratch, memory });
    return new SingleIndex(field, { names, scratch, memory }, number === nameField ? names : undefined);
  }

  /** Number of objects. */
  get size(): number {
    return this.names.length - this.#free.length;
  }

  /** Every slot is smaller. */
  get limit(): number {
    return this.names.length;
  }

  /** Adds an object, or replaces what has this name. Gives its slot. */
  put(entry: IndexEntry, id: number, revision: number, length = 0): number {
    const known = this.#table.find(entry.name);
    const slot = known === none ? this.#newSlot(entry.name) : known;
    this.ids[slot] = id;
    this.revisions[slot] = revision;
    this.lengths[slot] = length;
    this.labels.set(slot, entry.labels);
    this.dependents.set(entry.name, entry.owners);
    for (let field = 0; field < this.fields.length; field++) {
      const index = this.fields[field]!;
      if (known === none) index.insert(slot, keysOf(entry, field));
      else if (field !== nameField) index.update(slot, keysOf(entry, field));
    }
    this.#touch(slot);
    return slot;
  }

  #newSlot(name: string): number {
    const slot = this.#free.pop() ?? this.names.length;
    this.names.set(slot, name);
    this.#table.add(slot, name);
    this.ids = grown(this.ids, slot + 1);
    this.revisions = grown(this.revisions, slot + 1);
    this.lengths = grown(this.lengths, slot + 1);
    return slot;
  }

  /** Gives the slot that the object had; undefined when there is none of this name. */
  remove(name: string): number | undefined {
    const slot = this.#table.find(name);
    if (slot === none) return undefined;
    this.#table.remove(slot);
    this.labels.set(slot, undefined);
    this.dependents.set(name, undefined);
    for (const field of this.fields) field.remove(slot);
    this.names.set(slot, undefined);
    this.ids[slot] = 0;
    this.#free.push(slot);
    this.#touch(slot);
    return slot;
  }

  find(name: string): Place | undefined {
    const slot = this.slotOf(name);
    return slot === undefined ? undefined : this.at(slot);
  }

  /** The object that has a slot; with id 0 when there is none. */
  at(slot: number): Place {
    return { slot, id: this.ids[slot]!, revision: this.revisions[slot]! };
  }

  /** Slot of an object; undefined when there is none of this name. */
  slotOf(name: string): number | undefined {
    const slot = this.#table.find(name);
    return slot === none ? undefined : slot;
  }

  /** Names of the objects that have this key, in order. */
  holders(definition: Pick<IndexDefinition, 'name'>, key: unknown): readonly string[] {
    const at = this.definitions.findIndex(({ name }) => name === definition.name);
    return this.fields[firstDeclared + at]!.holders(key);
  }

  /** Names of the objects with a deletion timestamp, the one deleted first first. */
  deletingNames(): readonly string[] {
    const { order, firstWithKey } = this.fields[deletedField]!;
    return Array.from({ length: order.size - firstWithKey }, (_, i) => this.names.get(order.at(firstWithKey + i))!);
  }

  /** Values of unique indexes that several objects have. */
  duplicates(): readonly Duplicate[] {
    return this.fields
      .filter(({ field }) => field.unique)
      .flatMap((index) => index.conflicts().map((conflict) => ({ index: index.field.name, ...conflict })));
  }

  /** Slots that changes touch from now on, until `stop`: for queries that are answered in slices. */
  observe(): { readonly touched: ReadonlySet<number>; stop(): void } {
    const touched = new Set<number>();
    this.#observers.add(touched);
    return { touched, stop: () => this.#observers.delete(touched) };
  }

  #touch(slot: number): void {
    for (const touched of this.#observers) touched.add(slot);
  }

  /**
   * Fills an empty index at once, much faster than by `put`; nothing else may be called until it is done.
   * @param options.onProgress called with the number of objects read so far
   * @param options.expected number of objects, about
   * @param options.slice milliseconds after which the event loop is let free; default 8
   */
  async build(
    rows: AsyncIterable<readonly IndexRow[]>,
    options: { onProgress(done: number): void; expected?: number; slice?: number },
  ): Promise<void> {
    const slice = new TimeSlice(() => performance.now(), options.slice ?? 8);
    for await (const portion of rows) {
      for (let i = 0; i < portion.length; i++) {
        this.#append(portion[i]!);
        if (this.names.length === sampled) this.#makeRoom(options.expected ?? 0);
        if (i % 64 === 63 && slice.isOver) await slice.renew();
      }
      options.onProgress(this.size);
    }
    for (const _ of this.#finish()) if (slice.isOver) await slice.renew();
  }

  /**
   * Copies the index; objects may change between two pieces. Those that `observe` tells of meanwhile, from before the first piece
   * until behind the last, are to be left out.
   */
  *pieces(portion = defaultPortion): Pieces {
    const { limit } = this;
    yield* this.names.pieces('names', limit, portion);
    yield* numberPieces('ids', limit, portion, () => this.ids);
    yield* numberPieces('revisions', limit, portion, () => this.revisions);
    yield* numberPieces('lengths', limit, portion, () => this.lengths);
    yield* textPieces('owners', limit, portion, (slot) => this.#ownersAt(slot));
    yield* this.labels.pieces(limit, portion);
    for (const [field, index] of this.fields.entries()) yield* index.pieces(fieldPrefix(field), limit, portion);
  }

  /**
   * Fills an empty index with what was arranged of a copy, much faster than `build`; nothing else may be called until it is done.
   * The sections are taken over. Throws when they are not those of such an index.
   */
  async restore(sections: Sections, sliceLength = 8): Promise<void> {
    const slice = new TimeSlice(() => performance.now(), sliceLength);
    for (const _ of this.#restore(sections)) if (slice.isOver) await slice.renew();
  }

  *#restore(sections: Sections): Steps {
    const { names } = this;
    this.ids = sectionOf(sections, 'ids');
    this.revisions = sectionOf(sections, 'revisions');
    this.lengths = sectionOf(sections, 'lengths');
    yield* names.restore('names', sections);
    for (let slot = 0; slot < names.length; slot++) {
      if (!names.has(slot)) this.#free.push(slot);
      if (slot % 65_536 === 0) yield;
    }
    let slot = 0;
    yield* getTexts(sections, 'owners', (owners) => {
      if (owners !== undefined) this.dependents.set(names.get(slot)!, owners.split(' '));
      slot++;
    });
    this.#table.restore(sections);
    yield* this.labels.restore(sections);
    for (const [field, index] of this.fields.entries()) yield* index.restore(fieldPrefix(field), sections);
  }

  #ownersAt(slot: number): string | undefined {
    return this.names.has(slot) ? this.dependents.ownersOf(this.names.get(slot)!)?.join(' ') : undefined;
  }

  /** Arrays that grow bit by bit are copied, and come into memory, about nine times. */
  #makeRoom(slots: number): void {
    if (slots < 2 * sampled) return;
    const times = slots / sampled;
    this.ids = grown(this.ids, slots);
    this.revisions = grown(this.revisions, slots);
    this.lengths = grown(this.lengths, slots);
    this.names.makeRoom(slots, times);
    for (const field of this.fields) field.makeRoom(slots, times);
  }

  #append({ entry, id, revision, length = 0 }: IndexRow): void {
    const slot = this.names.length;
    this.names.append(slot, entry.name);
    this.ids = grown(this.ids, slot + 1);
    this.revisions = grown(this.revisions, slot + 1);
    this.lengths = grown(this.lengths, slot + 1);
    this.ids[slot] = id;
    this.revisions[slot] = revision;
    this.lengths[slot] = length;
    this.labels.set(slot, entry.labels);
    if (entry.owners) this.dependents.set(entry.name, entry.owners);
    // The names are there, and fields that are not declared have one key at most.
    for (let field = nameField + 1; field < firstDeclared; field++)
      (this.fields[field] as SingleIndex).appendOne(slot, builtInKeyOf(entry, field));
    for (let field = firstDeclared; field < this.fields.length; field++)
      this.fields[field]!.append(slot, entry.keys[field - firstDeclared] ?? noKeys);
  }

  *#finish(): Steps {
    yield* this.#table.addAll();
    for (const field of this.fields) yield* field.finish();
  }
}
