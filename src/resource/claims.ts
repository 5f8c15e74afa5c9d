/** Unique values of objects, and as claims of a store that other processes write to. */
import { hash } from 'node:crypto';
import type { IndexDefinition, IndexEntry } from '../model/index-entry.ts';
import type { Claim, Claims, Store } from '../store/store.ts';

export interface UniqueKey {
  readonly definition: IndexDefinition;
  /** The key in the form that the index keeps. */
  readonly value: unknown;
  /** As text; the same for equal keys alone. */
  readonly key: string;
  /** Name of the index and key: no other key of the model has this text. */
  readonly text: string;
}

/** Whether the store, and not the indexes of this process, decides who has a unique value. */
export function keepsClaims(store: Store): store is Store & Claims {
  return store.shared;
}

/** The unique values of one object, in the order of the indexes. */
export function uniqueKeysOf(
  uniques: readonly IndexDefinition[],
  definitions: readonly IndexDefinition[],
  entry: IndexEntry,
): UniqueKey[] {
  const keys: UniqueKey[] = [];
  for (const definition of uniques) {
    for (const value of entry.keys[definitions.indexOf(definition)] ?? []) {
      const key = definition.codec.format(value);
      keys.push({ definition, value, key, text: `${definition.name}\0${key}` });
    }
  }
  return keys;
}

export function claimOf({ definition, key, text }: UniqueKey): Claim {
  return { hash: hashOf(text), index: definition.name, key };
}

/** Whether both certainly have the same unique values: the keys themselves are the same, in the same order. */
export function haveSameKeys(
  uniques: readonly IndexDefinition[],
  definitions: readonly IndexDefinition[],
  before: IndexEntry,
  after: IndexEntry,
): boolean {
  return uniques.every((definition) => {
    const index = definitions.indexOf(definition);
    const [held, wanted] = [before.keys[index] ?? [], after.keys[index] ?? []];
    return held.length === wanted.length && held.every((key, i) => key === wanted[i]);
  });
}

/** UTF-8 has one replacement for all lone surrogates: keys with one are told apart by their UTF-16, behind a byte that UTF-8 never has. */
function hashOf(text: string): Uint8Array {
  const data = text.isWellFormed() ? text : Buffer.concat([Buffer.of(0xff), Buffer.from(text, 'utf16le')]);
  // Through a text into the shared pool of small buffers, which costs half of a buffer of its own.
  return Buffer.from(hash('sha256', data, 'latin1'), 'latin1');
}

/** The value as the object has it: a date as its RFC 3339 text, a bigint as digits. */
export function shownValue({ definition: { codec }, key, value }: UniqueKey): unknown {
  if (codec.type === 'date') return new Date(value as number).toISOString();
  return codec.type === 'bigint' || codec.type === 'own' ? key : value;
}
