/**
 * Other declared indexes for the objects of an index that serves meanwhile. A field whose definition says the same is *adopted*: it is
 * the one that serves, by reference. The others are *built* beside it.
 */
import type { IndexDefinition, IndexEntry } from '../model/index-entry.ts';
import { grown } from './arrays.ts';
import { firstDeclared, keysOf } from './field.ts';
import type { FieldIndex } from './field-index.ts';
import { ModelIndex } from './model-index.ts';
import type { Steps } from './sort.ts';

export class FieldsBeside {
  readonly definitions: readonly IndexDefinition[];
  /** Names of the indexes that are built. */
  readonly built: ReadonlySet<string>;
  /** Names of adopted indexes whose function says the same and gave something else. */
  readonly differing = new Set<string>();
  readonly #index: ModelIndex;
  readonly #fields: readonly FieldIndex[];
  /** Numbers of the fields that are built. */
  readonly #building: readonly number[];
  /** Numbers of the adopted fields whose function is another one that says the same. */
  readonly #compared: readonly number[];
  /** By slot: 1 where the fields that are built have the object. */
  #present = new Uint8Array(16);
  /** Slots that changed since they were read, or may have. */
  readonly #touched = new Set<number>();

  /** @param distrusted names of indexes that are built, whatever their definition says */
  constructor(index: ModelIndex, definitions: readonly IndexDefinition[], distrusted: ReadonlySet<string>) {
    this.#index = index;
    this.definitions = definitions;
    const former = definitions.map((definition) => {
      const at = index.definitions.findIndex((one) => saysTheSame(one, definition));
      return at < 0 || distrusted.has(definition.name) ? undefined : at;
    });
    const numbered = definitions.map((definition, i) => ({ definition, number: firstDeclared + i, at: former[i] }));
    const isBuilt = ({ at }: { at: number | undefined }) => at === undefined;
    this.#fields = [
      ...index.fields.slice(0, firstDeclared),
      ...numbered.map(({ definition, at }) =>
        at === undefined ? index.emptyField(definition) : index.fields[firstDeclared + at]!,
      ),
    ];
    this.#building = numbered.filter(isBuilt).map(({ number }) => number);
    this.#compared = numbered
      .filter(({ definition, at }) => at !== undefined && index.definitions[at]!.indexFunc !== definition.indexFunc)
      .map(({ number }) => number);
    this.built = new Set(numbered.filter(isBuilt).map(({ definition }) => definition.name));
  }

  /** False when there is nothing to learn from the stored objects. */
  get readsObjects(): boolean {
    return this.#building.length > 0 || this.#compared.length > 0;
  }

  /** A stored object as it was read. What the index has in another state is left out: the index is told of it, or was. */
  add(entry: IndexEntry, revision: number): void {
    const slot = this.#index.slotOf(entry.name);
    if (slot === undefined || this.#index.revisions[slot] !== revision || this.#touched.has(slot)) return;
    for (const field of this.#building) this.#fields[field]!.append(slot, keysOf(entry, field));
    this.#compare(slot, entry);
    this.#mark(slot, 1);
  }

  /** The index was told of an object that has, or had, this slot. */
  touch(slot: number): void {
    this.#touched.add(slot);
  }

  /** Orders what was added; nothing is added from here on. */
  *finish(): Steps {
    for (const field of this.#building) yield* this.#fields[field]!.finish();
  }

  /** True when the fields are as the index is. */
  get isSettled(): boolean {
    return this.#touched.size === 0;
  }

  /** Brings the fields up to what was touched. @param entryOf of the object that has this name by now */
  *settle(entryOf: (name: string) => IndexEntry): Steps {
    for (const slot of this.#touched) {
      this.#touched.delete(slot);
      const name = this.#index.names.get(slot);
      const entry = name === undefined ? undefined : entryOf(name);
      const isPresent = this.#present[slot] === 1;
      for (const number of this.#building) {
        const field = this.#fields[number]!;
        if (!entry) {
          if (isPresent) field.remove(slot);
        } else if (isPresent) field.update(slot, keysOf(entry, number));
        else field.insert(slot, keysOf(entry, number));
      }
      if (entry) this.#compare(slot, entry);
      this.#mark(slot, entry ? 1 : 0);
      yield;
    }
  }

  /** The index that takes the place of the one that served, if it does so in this turn. */
  index(): ModelIndex {
    return new ModelIndex(this.definitions, { index: this.#index, fields: this.#fields });
  }

  #compare(slot: number, entry: IndexEntry): void {
    for (const number of this.#compared) {
      const field = this.#fields[number]!;
      if (!field.hasExactly(slot, keysOf(entry, number))) this.differing.add(field.field.name);
    }
  }

  #mark(slot: number, present: 0 | 1): void {
    this.#present = grown(this.#present, slot + 1);
    this.#present[slot] = present;
  }
}

/** A key type of its own has functions too, which no comparison of keys tells apart: it has to be the same. */
function saysTheSame(one: IndexDefinition, other: IndexDefinition): boolean {
  const textOf = ({ indexFunc, source = indexFunc }: IndexDefinition) => source.toString();
  return (
    one.name === other.name &&
    one.codec === other.codec &&
    one.multi === other.multi &&
    one.unique === other.unique &&
    textOf(one) === textOf(other)
  );
}
