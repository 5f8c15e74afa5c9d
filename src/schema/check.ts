/** How a schema that is compiled for one value counts members. */
import type { Check } from './context.ts';
import type { JsonSchema } from './keywords.ts';
import { messages } from './messages.ts';
import type { Pattern } from './pattern.ts';

/**
 * How members are counted. `inline`: no other schema applies to the place, it closes itself. `shared`: several schemas
 * apply, marks are collected for all depths below. `marked`: marks for `unevaluated…` alone. `open`: nothing.
 */
export type Mode = 'inline' | 'shared' | 'marked' | 'open';

/** Compiles the pattern of a schema. */
export type PatternOf = (source: string) => Pattern;

/** Compiles a sub-schema. */
export type CheckOf = (schema: JsonSchema, mode: Mode) => Check;

export const holds: Check = () => true;
export const refuses: Check = (_value, context) => context.report('false schema', messages.false);

/** Below a shared place everything is shared; where only `unevaluated…` counts, members start anew. */
export function modeBelow(mode: Mode): Mode {
  return mode === 'marked' ? 'open' : mode;
}
