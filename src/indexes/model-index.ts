import type { IndexDefinition, IndexEntry } from '../model/index-entry.ts';

export interface IndexRow {
  readonly entry: IndexEntry;
  readonly id: number;
  readonly revision: number;
}
export interface Duplicate {
  readonly index: string;
  readonly key: unknown;
  readonly names: readonly string[];
}

export declare class ModelIndex {
  constructor(definitions: readonly IndexDefinition[]);
  readonly definitions: readonly IndexDefinition[];
  readonly size: number;
  put(entry: IndexEntry, id: number, revision: number): void;
  remove(name: string): void;
  find(name: string): { readonly id: number; readonly revision: number } | undefined;
  holders(definition: IndexDefinition, key: unknown): readonly string[];
  deletingNames(): readonly string[];
  build(
    rows: AsyncIterable<readonly IndexRow[]>,
    options: { onProgress(done: number): void; slice?: number },
  ): Promise<void>;
  duplicates(): readonly Duplicate[];
}
