/**
 * A move *seals* a model: in the store that the objects are about to leave, the model gets a generation by which no replica writes, so
 * the store refuses every write (docs/decisions/placement.md). Replicas go on with the generation of before.
 */
import type { ModelRow } from '../store/store.ts';

/** What a seal adds to the generation: no contract that becomes active comes to that. */
const fence = 1_000_000;

/** The generation of a model that is sealed. @param generation of before */
export function sealedGeneration(generation: number): number {
  return generation + fence;
}

/** As it was before it was sealed, if it is. */
export function unsealed(row: ModelRow): ModelRow {
  return row.generation < fence ? row : { ...row, generation: row.generation - fence };
}
