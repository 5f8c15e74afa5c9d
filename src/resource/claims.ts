/** Unique values as claims of the store. */
import { hash } from 'node:crypto';
import type { IndexDefinition, IndexEntry } from '../model/index-entry.ts';
import type { Claim } from '../store/store.ts';

export interface KeyClaim extends Claim {
  readonly definition: IndexDefinition;
  /** The key in the form that the index keeps. */
  readonly value: unknown;
}

/** The claims of one object, in the order of the indexes. */
export function claimsOf(
  uniques: readonly IndexDefinition[],
  definitions: readonly IndexDefinition[],
  entry: IndexEntry,
): KeyClaim[] {
  const claims: KeyClaim[] = [];
  for (const definition of uniques) {
    for (const value of entry.keys[definitions.indexOf(definition)] ?? []) {
      const key = definition.codec.format(value);
      claims.push({ hash: claimHash(definition.name, key), index: definition.name, key, definition, value });
    }
  }
  return claims;
}

/** Whether both certainly claim the same: the keys themselves are the same, in the same order. */
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
function claimHash(index: string, key: string): Uint8Array {
  const text = `${index}\0${key}`;
  const data = text.isWellFormed() ? text : Buffer.concat([Buffer.of(0xff), Buffer.from(text, 'utf16le')]);
  // Through a text into the shared pool of small buffers, which costs half of a buffer of its own.
  return Buffer.from(hash('sha256', data, 'latin1'), 'latin1');
}

/** The value that was refused, as the object had it: a date as its RFC 3339 text, a bigint as digits. */
export function claimOf(claims: readonly Claim[] | undefined, index: string, key: string): unknown {
  const claim = claims?.find((one) => one.index === index && one.key === key) as KeyClaim | undefined;
  if (!claim) return undefined;
  const { codec } = claim.definition;
  if (codec.type === 'date') return new Date(claim.value as number).toISOString();
  return codec.type === 'bigint' || codec.type === 'own' ? key : claim.value;
}
