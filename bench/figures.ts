/** Figures of several rounds: the median, and how far they spread. */

export interface Figure {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

export function figure(values: readonly number[]): Figure {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const median = sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
  return { median, low: sorted[0]!, high: sorted.at(-1)! };
}

/** The median, and the interval that has the true one with a probability of 95 %, by the ranks of the values. */
export function medianOf(values: readonly number[]): Figure {
  const { length } = values;
  const rank = Math.max(0, Math.floor((length - 1.96 * Math.sqrt(length)) / 2));
  const sorted = values.toSorted((a, b) => a - b);
  return { median: figure(values).median, low: sorted[rank]!, high: sorted[length - 1 - rank]! };
}

/** `0.71 (0.66 to 0.75)`. */
export function shown({ median, low, high }: Figure, digits: number): string {
  const text = (value: number): string =>
    value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return low === high ? text(median) : `${text(median)} (${text(low)} to ${text(high)})`;
}
