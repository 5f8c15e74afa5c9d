/** Whether a declaration may take the place of the one that was active (docs/guide/changing-models.md). */
import type { ModelIndex } from '../indexes/model-index.ts';
import type { Scheme } from '../model/scheme.ts';
import type { ModelMemory } from './memory.ts';
import type { ObjectCheck } from './object-check.ts';

/** One check of all stored objects, while the indexes are built. */
export interface Admission {
  readonly check: ObjectCheck;
  /**
   * Called when every object was read. Gives what is wrong with objects that are accepted all the same, by name.
   * Rejects when the declaration is refused.
   */
  decide(index: ModelIndex): Promise<ReadonlyMap<string, string>>;
}

/** The declarations that are active, as the service keeps them. */
export interface Admissions {
  /** Undefined: nothing has to be checked before the model serves. */
  of(scheme: Scheme, memory: ModelMemory): Promise<Admission | undefined>;
  /** The model is ready. */
  opened(scheme: Scheme): void;
}
