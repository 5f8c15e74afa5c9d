/**
 * Three words: an index *definition* is what a model declares, an index *entry* is what one object gives to all indexes
 * of its model, a *key* is one value in it (`key.ts`).
 */
import type { KeyCodec } from './key.ts';

export type Order = 'ASC' | 'DESC';

/** One declared index, checked and normalised. The four built-in ones are not among them. */
export interface IndexDefinition {
  readonly name: string;
  readonly codec: KeyCodec;
  readonly multi: boolean;
  readonly unique: boolean;
  readonly nullable: boolean;
  readonly order: Order;
  /** Takes the plain, frozen JSON object; gives a value (or nothing), with `multi` an iterable of values (or nothing). */
  readonly indexFunc: (object: any) => unknown;
  /** The declared function, when `indexFunc` is one around it: the text tells whether it changed. */
  readonly source?: (object: any) => unknown;
}

/** What the indexes of a model keep of one object. */
export interface IndexEntry {
  /** The full name. */
  readonly name: string;
  /** `metadata.creationTimestamp`, milliseconds since the epoch. */
  readonly created: number;
  /** `metadata.deletionTimestamp`, milliseconds since the epoch; null while the object is live. */
  readonly deleted: number | null;
  readonly labels: Readonly<Record<string, string>>;
  /** Uids of the owners that the object names; absent: none. */
  readonly owners?: readonly string[];
  /** For each definition, in order: its keys, each once, empty when the object has no value. */
  readonly keys: readonly (readonly unknown[])[];
}

/** Names of the indexes that every model has (specification, "Index specification"). */
export const builtInIndexes = [
  'metadata.name',
  'metadata.labels',
  'metadata.creationTimestamp',
  'metadata.deletionTimestamp',
] as const;
