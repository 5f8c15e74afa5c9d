/** What turns one state of a page into another (docs/reference/watch.md, live pages). */

/** A page without its objects: what is kept of it until the next one. Arrays in the order of the page. */
export interface Outline {
  readonly total: number;
  /** Revisions of creation. */
  readonly ids: Float64Array;
  /** Revisions of the last change. */
  readonly revisions: Float64Array;
  readonly names: readonly string[];
}

/** Applied in this order, they turn the window before into the window now. */
export interface WindowChange {
  readonly total: number;
  /** Names that left, or are inserted again elsewhere. */
  readonly removed: readonly string[];
  /** Places in the window now, in ascending order. */
  readonly inserted: readonly number[];
  /** Places in the window now, of objects that stay in theirs with new content. */
  readonly updated: readonly number[];
}

/** What turns one page into the other; undefined when nothing does. */
export function difference(before: Outline, now: Outline): WindowChange | undefined {
  const placeBefore = new Map<number, number>();
  for (let place = 0; place < before.ids.length; place++) placeBefore.set(before.ids[place]!, place);
  const stayed: { readonly place: number; readonly from: number }[] = [];
  for (let place = 0; place < now.ids.length; place++) {
    const from = placeBefore.get(now.ids[place]!);
    if (from !== undefined) stayed.push({ place, from });
  }
  const kept = increasing(stayed.map(({ from }) => from)).map((at) => stayed[at]!);
  const keptFrom = new Set(kept.map(({ from }) => from));
  const keptPlaces = new Set(kept.map(({ place }) => place));
  const removed = before.names.filter((_, place) => !keptFrom.has(place));
  const inserted = [...now.ids.keys()].filter((place) => !keptPlaces.has(place));
  const updated = kept.flatMap(({ place, from }) => (before.revisions[from] === now.revisions[place] ? [] : [place]));
  const isSame = before.total === now.total && removed.length === 0 && inserted.length === 0 && updated.length === 0;
  return isSame ? undefined : { total: now.total, removed, inserted, updated };
}

/** Positions of a longest increasing subsequence: the items that need not move. */
function increasing(values: readonly number[]): number[] {
  const ends: number[] = [];
  const previous: number[] = [];
  for (const [at, value] of values.entries()) {
    let low = 0;
    let high = ends.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (values[ends[middle]!]! < value) low = middle + 1;
      else high = middle;
    }
    previous[at] = low > 0 ? ends[low - 1]! : -1;
    ends[low] = at;
  }
  const result: number[] = [];
  for (let at = ends.at(-1) ?? -1; at >= 0; at = previous[at]!) result.push(at);
  return result.reverse();
}
