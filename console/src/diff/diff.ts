/** What is different between two values: member by member, or line by line. */

import { below, isEqual, isObject } from './pointer.ts';

export interface Change {
  readonly pointer: string;
  /** Absent: `undefined`. */
  readonly before: unknown;
  readonly after: unknown;
}

/** Lists of one length are compared item by item, others as one value. */
export function changesBetween(before: unknown, after: unknown, pointer = ''): Change[] {
  if (isEqual(before, after)) return [];
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length) {
    return before.flatMap((item, i) => changesBetween(item, after[i], below(pointer, i)));
  }
  if (!isObject(before) || !isObject(after)) return [{ pointer, before, after }];
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names.flatMap((name) =>
    changesBetween(
      Object.hasOwn(before, name) ? before[name] : undefined,
      Object.hasOwn(after, name) ? after[name] : undefined,
      below(pointer, name),
    ),
  );
}

/** The pointers of the first changes, on one line. */
export function changedMembers(before: unknown, after: unknown): string {
  return changesBetween(before, after)
    .map(({ pointer }) => pointer)
    .slice(0, mostNamed)
    .join('  ');
}

const mostNamed = 6;

export interface Line {
  readonly kind: 'same' | 'removed' | 'added';
  readonly text: string;
}

/** Cells of the table of common lines; larger differences are shown as all removed, then all added. */
const cellLimit = 4_000_000;

/** The lines of both texts in order, with as many in common as there are. */
export function lineDiff(before: string, after: string): Line[] {
  const [one, other] = [linesOf(before), linesOf(after)];
  let start = 0;
  while (start < one.length && start < other.length && one[start] === other[start]) start++;
  let end = 0;
  while (end < one.length - start && end < other.length - start && one.at(-1 - end) === other.at(-1 - end)) end++;
  const lines: Line[] = one.slice(0, start).map((text) => ({ kind: 'same', text }));
  lines.push(...middle(one.slice(start, one.length - end), other.slice(start, other.length - end)));
  for (const text of one.slice(one.length - end)) lines.push({ kind: 'same', text });
  return lines;
}

function linesOf(text: string): string[] {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

function middle(one: readonly string[], other: readonly string[]): Line[] {
  const width = other.length + 1;
  if ((one.length + 1) * width > cellLimit) {
    return [
      ...one.map((text) => ({ kind: 'removed', text }) as const),
      ...other.map((text) => ({ kind: 'added', text }) as const),
    ];
  }
  /** At `i * width + j`: lines in common of `one` from `i` on and `other` from `j` on. */
  const common = new Uint32Array((one.length + 1) * width);
  for (let i = one.length - 1; i >= 0; i--) {
    for (let j = other.length - 1; j >= 0; j--) {
      common[i * width + j] =
        one[i] === other[j]
          ? common[(i + 1) * width + j + 1]! + 1
          : Math.max(common[(i + 1) * width + j]!, common[i * width + j + 1]!);
    }
  }
  const lines: Line[] = [];
  let [i, j] = [0, 0];
  while (i < one.length || j < other.length) {
    if (i < one.length && j < other.length && one[i] === other[j]) {
      lines.push({ kind: 'same', text: one[i++]! });
      j++;
    } else if (j === other.length || (i < one.length && common[(i + 1) * width + j]! >= common[i * width + j + 1]!)) {
      lines.push({ kind: 'removed', text: one[i++]! });
    } else lines.push({ kind: 'added', text: other[j++]! });
  }
  return lines;
}

/** The lines near a change; where unchanged ones are left out, how many. */
export function withoutUnchanged(
  lines: readonly Line[],
  around = 3,
): (Line | { readonly kind: 'gap'; readonly count: number })[] {
  const near = lines.map((_, i) =>
    lines.slice(Math.max(0, i - around), i + around + 1).some((line) => line.kind !== 'same'),
  );
  const shown: (Line | { kind: 'gap'; count: number })[] = [];
  let left = 0;
  for (const [i, line] of lines.entries()) {
    if (near[i]) {
      if (left > 0) shown.push({ kind: 'gap', count: left });
      left = 0;
      shown.push(line);
    } else left++;
  }
  if (left > 0) shown.push({ kind: 'gap', count: left });
  return shown;
}
