/** The known name that a mistyped one is closest to; undefined when none is close. */
export function nearest(typed: string, known: Iterable<string>): string | undefined {
  const text = typed.toLowerCase();
  let best: string | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const name of known) {
    const distance = distanceOf(text, name.toLowerCase());
    // A third of the letters may be wrong: more, and the suggestion would be a guess.
    const isClose = distance <= Math.max(1, Math.floor(Math.max(text.length, name.length) / 3));
    if (isClose && distance < least) [best, least] = [name, distance];
  }
  return best;
}

/** Letters to put in, to leave out or to change, and neighbours to swap (optimal string alignment). */
function distanceOf(a: string, b: string): number {
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const isEqual = a[i - 1] === b[j - 1];
      next[j] = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (isEqual ? 0 : 1));
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (isSwapped) next[j] = Math.min(next[j]!, before[j - 2]! + 1);
    }
    [before, row] = [row, next];
  }
  return row[b.length]!;
}
