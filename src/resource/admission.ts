/** Whether a declaration may take the place of the one that was active (docs/guide/changing-models.md). */
import type { ModelIndex } from '../indexes/model-index.ts';
import type { Scheme } from '../model/scheme.ts';
import type { ModelMemory } from './memory.ts';
import type { ObjectCheck } from './object-check.ts';
import type { Rules } from './rules.ts';

/** One check of all stored objects, while the indexes are built. */
export interface Admission {
  readonly check: ObjectCheck;
  /**
   * Called when every object was read. Gives what is wrong with objects that are accepted all the same, by name.
   * Rejects when the declaration is refused.
   */
  decide(index: ModelIndex): Promise<ReadonlyMap<string, string>>;
}

/** A declaration that is about to serve. */
export interface Admitted {
  /** By which its objects are written; undefined: by the declaration alone. */
  readonly rules: Rules | undefined;
  /** Undefined: nothing has to be checked before the model serves. */
  readonly admission: Admission | undefined;
}

/** The declarations that are active, as the service keeps them. */
export interface Admissions {
  /** @param isReplacing another declaration of the model serves meanwhile */
  of(scheme: Scheme, memory: ModelMemory, isReplacing: boolean): Promise<Admitted>;
  /** The declaration serves in the place of another one. */
  replaced(scheme: Scheme, before: Scheme): void;
  /** The model is ready. */
  opened(scheme: Scheme): void;
  /** Nothing is being done with the objects of the model: its contract is active, and they are as it wants them. */
  isSettled(scheme: Scheme): boolean;
}
