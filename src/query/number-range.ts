/** A condition of one range on a field of numbers, dates or booleans, for loops in which a call for each object would be dear. */
import { NumberColumn } from '../indexes/column.ts';
import type { FieldIndex } from '../indexes/field-index.ts';
import type { KeyCondition } from './bind.ts';

/** The objects whose value is at least `low` and at most `high`. */
export interface NumberRange {
  /** By slot; NaN is no value. */
  readonly values: Float64Array;
  readonly low: number;
  readonly high: number;
}

/** Undefined for any other condition. */
export function numberRangeOf({ column, slotOfItem }: FieldIndex, { ranges }: KeyCondition): NumberRange | undefined {
  if (slotOfItem || !(column instanceof NumberColumn) || ranges.length !== 1) return undefined;
  const { from, to, fromInclusive, toInclusive } = ranges[0]!;
  const low = from === undefined ? Number.NEGATIVE_INFINITY : Number(from);
  const high = to === undefined ? Number.POSITIVE_INFINITY : Number(to);
  return {
    values: column.values,
    low: from === undefined || fromInclusive ? low : nextAbove(low),
    high: to === undefined || toInclusive ? high : -nextAbove(-high),
  };
}

const number = new Float64Array(1);
const bits = new BigInt64Array(number.buffer);

/** The smallest number that is larger; NaN where there is none. */
function nextAbove(value: number): number {
  if (value === Number.POSITIVE_INFINITY) return Number.NaN;
  if (value === 0) return Number.MIN_VALUE;
  number[0] = value;
  bits[0]! += value > 0 ? 1n : -1n;
  return number[0];
}
