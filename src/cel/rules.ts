/** Rules in CEL that a schema has (`x-kubernetes-validations`): compiled once, checked for each write. */

import type { Violation } from '../errors.ts';
import { Violations } from '../errors.ts';
import type { TimeSlice } from '../schema/context.ts';
import type { JsonSchema } from '../schema/keywords.ts';
import type { Findings } from './evaluation.ts';
import { evaluations } from './evaluation.ts';
import type { RuleOptions, RuleProblem } from './rule-compiler.ts';
import { RuleCompiler } from './rule-compiler.ts';

export interface CompiledRules {
  /** True when there is nothing to check. */
  readonly isEmpty: boolean;
  /** There are rules that see the stored value. */
  readonly seeStored: boolean;
  /** Rules that do not compile; `check` leaves them out. */
  readonly problems: readonly RuleProblem[];
  /**
   * Violations, keyword `x-kubernetes-validations`, those that the stored value has too among them. The values have the
   * types of their schema; a rule that cannot be evaluated is violated.
   * @param stored what `next` takes the place of; undefined when it is new
   */
  check(next: unknown, stored?: unknown): readonly Violation[];
  /** The same, with turns for others in between: a promise when there is more to check than at once. */
  checkInParts(next: unknown, stored: unknown, findings: Findings, slice: TimeSlice): Promise<void> | undefined;
}

/** Compiles the rules of a schema and of every schema below it. References (`#/…`) begin at its root. */
export function compileRules(schema: JsonSchema, options?: RuleOptions): CompiledRules {
  const work = compilingRules(schema, options);
  for (;;) {
    const part = work.next();
    if (part.done) return part.value;
  }
}

/** As `compileRules`; it yields after each rule. */
export function* compilingRules(schema: JsonSchema, options: RuleOptions = {}): Generator<void, CompiledRules, void> {
  const none: CompiledRules = {
    isEmpty: true,
    seeStored: false,
    problems: [],
    check: () => [],
    checkInParts: () => undefined,
  };
  const compiler = new RuleCompiler(schema, options);
  const root = yield* compiler.compile();
  const { problems, seeStored } = compiler;
  if (!root) return { ...none, problems };
  return {
    isEmpty: false,
    seeStored,
    problems,
    check(next, stored) {
      const found = new Violations(Number.POSITIVE_INFINITY);
      for (const _ of evaluations(root, next, stored, '', { made: found, kept: found }));
      return found.listed;
    },
    checkInParts(next, stored, findings, slice) {
      const work = evaluations(root, next, stored, '', findings);
      return work.next().done ? undefined : inParts(work, slice);
    },
  };
}

async function inParts(work: Generator<void, void, void>, slice: TimeSlice): Promise<void> {
  do {
    if (slice.isOver) await slice.renew();
  } while (!work.next().done);
}
