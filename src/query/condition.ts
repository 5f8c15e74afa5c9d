/**
 * A *condition* says which objects are asked for: plain data, built in code by `Queries` or read from a *selector*, the text
 * form in a URL (`selector.ts`). It knows no model; checked against the indexes of one it is *bound* (`bind.ts`).
 */
import type { Key } from '../model/key.ts';

/**
 * A condition on indexed fields and labels. Further members depend on `op` (see `ConditionData`); `and`, `or` and `not`
 * give new conditions. Values are checked when the condition is used: one that is not of the index's key type is an InvalidSelector.
 */
export type Condition = {
  readonly op: string;
  and(other: Condition): Condition;
  or(other: Condition): Condition;
  not(): Condition;
};

/** Where a condition of a selector stands. Values of such a condition are text that the index's key type parses. */
export interface Source {
  readonly term: string;
  /** Of the term's first character, from 1. */
  readonly column: number;
}

type Field = { readonly field: string; readonly source?: Source };

/** The members of a condition, by `op`. */
export type ConditionData =
  | { readonly op: 'all' }
  | { readonly op: 'and' | 'or'; readonly conditions: readonly Condition[] }
  | { readonly op: 'not'; readonly condition: Condition }
  | ({ readonly op: 'equal'; readonly value: unknown } & Field)
  | ({ readonly op: 'in'; readonly values: readonly unknown[] } & Field)
  | ({
      readonly op: 'between';
      /** Absent: no bound on that side. */
      readonly from?: unknown;
      readonly to?: unknown;
      readonly inclusive: { readonly from: boolean; readonly to: boolean };
    } & Field)
  | ({ readonly op: 'isNull' } & Field)
  | ({ readonly op: 'startsWith' | 'endsWith' | 'contains'; readonly text: string } & Field)
  | { readonly op: 'labelIn'; readonly key: string; readonly values: readonly string[] }
  | { readonly op: 'labelExists'; readonly key: string };

class ConditionNode {
  declare readonly op: string;

  constructor(data: ConditionData) {
    Object.assign(this, data);
    Object.freeze(this);
  }

  and(other: Condition): Condition {
    return combine('and', [this, other]);
  }

  or(other: Condition): Condition {
    return combine('or', [this, other]);
  }

  not(): Condition {
    const self = dataOf(this);
    return self.op === 'not' ? self.condition : condition({ op: 'not', condition: this });
  }
}

export function condition(data: ConditionData): Condition {
  return new ConditionNode(data);
}

/** A condition's members; it may come from another copy of this package, so that only its data counts. */
export function dataOf(condition: Condition): ConditionData {
  return condition as unknown as ConditionData;
}

/** Whether a condition names one of these fields. */
export function namesField(condition: Condition, fields: ReadonlySet<string>): boolean {
  const data = dataOf(condition);
  if ('conditions' in data) return data.conditions.some((one) => namesField(one, fields));
  if ('condition' in data) return namesField(data.condition, fields);
  return 'field' in data && fields.has(data.field);
}

/** Nested conditions of the same kind become one, so that long chains stay flat. */
function combine(op: 'and' | 'or', parts: readonly Condition[]): Condition {
  const conditions = parts.flatMap((part) => {
    const data = dataOf(part);
    return data.op === op ? data.conditions : [part];
  });
  return conditions.length === 1 ? conditions[0]! : condition({ op, conditions });
}

/**
 * Conditions in code (docs/reference/queries.md). On a multi-value index a condition holds when one value satisfies it.
 * `notEqual`, `notIn` are the exact complements of `equal`, `in`: they include objects without a value.
 * Ranges and text conditions never hold for an object without a value; text conditions need a string index.
 * `metadata.name`, `metadata.creationTimestamp` and `metadata.deletionTimestamp` are indexes of every model.
 *
 * @example
 * ```ts
 * Queries.equal('spec.title', 'Emma').and(Queries.greaterThan('spec.year', 1800));
 * ```
 */
export const Queries = {
  /** Every object. */
  all: (): Condition => condition({ op: 'all' }),
  /** All of them; without arguments every object. */
  and: (...conditions: Condition[]): Condition => (conditions.length ? combine('and', conditions) : Queries.all()),
  /** At least one of them; without arguments no object. */
  or: (...conditions: Condition[]): Condition => (conditions.length ? combine('or', conditions) : Queries.all().not()),
  not: (condition: Condition): Condition => condition.not(),
  equal: (field: string, value: Key): Condition => condition({ op: 'equal', field, value }),
  notEqual: (field: string, value: Key): Condition => Queries.equal(field, value).not(),
  /** One of the values; with no values no object. */
  in: (field: string, values: Iterable<Key>): Condition => condition({ op: 'in', field, values: [...values] }),
  notIn: (field: string, values: Iterable<Key>): Condition => Queries.in(field, values).not(),
  /** Both ends inclusive by default. */
  between: (field: string, from: Key, to: Key, inclusive: { from?: boolean; to?: boolean } = {}): Condition =>
    condition({
      op: 'between',
      field,
      from,
      to,
      inclusive: { from: inclusive.from ?? true, to: inclusive.to ?? true },
    }),
  /** Exclusive by default. */
  lessThan: (field: string, value: Key, inclusive = false): Condition =>
    condition({ op: 'between', field, to: value, inclusive: { from: true, to: inclusive } }),
  /** Exclusive by default. */
  greaterThan: (field: string, value: Key, inclusive = false): Condition =>
    condition({ op: 'between', field, from: value, inclusive: { from: inclusive, to: true } }),
  isNull: (field: string): Condition => condition({ op: 'isNull', field }),
  isNotNull: (field: string): Condition => Queries.isNull(field).not(),
  /** Case-sensitive, as are `endsWith` and `contains`. */
  startsWith: (field: string, text: string): Condition => condition({ op: 'startsWith', field, text }),
  endsWith: (field: string, text: string): Condition => condition({ op: 'endsWith', field, text }),
  contains: (field: string, text: string): Condition => condition({ op: 'contains', field, text }),
  labelEqual: (key: string, value: string): Condition => condition({ op: 'labelIn', key, values: [value] }),
  labelIn: (key: string, values: Iterable<string>): Condition => condition({ op: 'labelIn', key, values: [...values] }),
  labelExists: (key: string): Condition => condition({ op: 'labelExists', key }),
};
