/** How large the deterministic automaton of a pattern is: whether a linear-time engine can keep it, and is quick. */
import type { CharacterSet, PatternNode } from './pattern-syntax.ts';

/** Where a match may be: behind `to` without a character, or behind one of `set` at `next`. */
interface State {
  to: number[];
  readonly set?: CharacterSet;
  readonly next?: number;
  /** Only at the beginning of the text. */
  readonly start?: true;
}

/** Transitions that are looked at; an automaton of more is large. */
const transitionLimit = 5_000;
/** States of the pattern that are looked at, all transitions together. */
const workLimit = 500_000;

/** False when the automaton of a search for the pattern has more than 5,000 transitions. The pattern has no look-around. */
export function hasSmallAutomaton(node: PatternNode): boolean {
  const states: State[] = [{ to: [] }];
  const first = add(states, node, 0);
  const points = representatives(states);
  const beginning = closure(states, [first], true);
  const again = closure(states, [first], false);
  const known = new Set([beginning.join()]);
  const waiting = [beginning];
  let transitions = 0;
  let work = 0;
  for (let from = waiting.pop(); from; from = waiting.pop()) {
    for (const point of points) {
      work += from.length + 1;
      if (++transitions > transitionLimit || work > workLimit) return false;
      const next: number[] = [];
      for (const at of from) {
        const { set, next: behind } = states[at]!;
        if (set && includes(set, point)) next.push(behind!);
      }
      const to = [...new Set([...closure(states, next, false), ...again])].sort((a, b) => a - b);
      const key = to.join();
      if (known.has(key)) continue;
      known.add(key);
      waiting.push(to);
    }
  }
  return true;
}

/** Adds the states of a node that goes on at `next`; gives the first of them. */
function add(states: State[], node: PatternNode, next: number): number {
  const push = (state: State): number => states.push(state) - 1;
  switch (node.type) {
    case 'characters':
      return push({ to: [], set: node.set, next });
    case 'sequence':
      return node.items.reduceRight((behind, item) => add(states, item, behind), next);
    case 'choice':
      return push({ to: node.options.map((one) => add(states, one, next)) });
    case 'repeat': {
      let first = next;
      if (node.max === Number.POSITIVE_INFINITY) {
        first = push({ to: [next] });
        states[first]!.to.push(add(states, node.body, first));
      } else {
        for (let i = node.min; i < node.max; i++) first = push({ to: [next, add(states, node.body, first)] });
      }
      for (let i = 0; i < node.min; i++) first = add(states, node.body, first);
      return first;
    }
    case 'start':
      return push({ to: [next], start: true });
    case 'end':
      return push({ to: [] });
    default:
      return next;
  }
}

/** The states that take a character next, ascending. */
function closure(states: readonly State[], from: readonly number[], atStart: boolean): number[] {
  const seen = new Set(from);
  const found: number[] = [];
  for (const at of seen) {
    const { to, set, start } = states[at]!;
    if (set) found.push(at);
    if (!start || atStart) for (const one of to) seen.add(one);
  }
  return found.sort((a, b) => a - b);
}

/** One code point of each kind: those that are in the same sets are of one kind. */
function representatives(states: readonly State[]): number[] {
  const sets = [...new Set(states.flatMap(({ set }) => (set ? [set] : [])))];
  const borders = new Set([0, ...sets.flatMap((set) => set.flatMap(([from, to]) => [from, to + 1]))]);
  const byKind = new Map<string, number>();
  for (const point of borders) byKind.set(sets.map((set) => (includes(set, point) ? '1' : '0')).join(''), point);
  return [...byKind.values()];
}

function includes(set: CharacterSet, point: number): boolean {
  let [low, high] = [0, set.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (set[middle]![1] < point) low = middle + 1;
    else high = middle;
  }
  return low < set.length && set[low]![0] <= point;
}
