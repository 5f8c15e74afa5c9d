/** The paths that rules are for, so that a question looks at few of them, however many there are. */
import type { CompiledRule } from './rule.ts';

interface Prefix {
  readonly text: string;
  readonly rules: CompiledRule[];
  /** The longest of the others with which this one begins. */
  wider: Prefix | undefined;
}

const none: readonly CompiledRule[] = [];

export class PathIndex {
  readonly #exact = new Map<string, CompiledRule[]>();
  /** The patterns that end in `*`, without it, in the order of their text. */
  readonly #prefixes: readonly Prefix[];

  constructor(rules: readonly CompiledRule[]) {
    const prefixes = new Map<string, Prefix>();
    for (const rule of rules) {
      for (const pattern of rule.paths) {
        if (pattern.endsWith('*')) {
          const text = pattern.slice(0, -1);
          const known = prefixes.get(text);
          if (known) known.rules.push(rule);
          else prefixes.set(text, { text, rules: [rule], wider: undefined });
        } else {
          const known = this.#exact.get(pattern);
          if (known) known.push(rule);
          else this.#exact.set(pattern, [rule]);
        }
      }
    }
    this.#prefixes = [...prefixes.values()].sort((a, b) => (a.text < b.text ? -1 : 1));
    let last: Prefix | undefined;
    for (const prefix of this.#prefixes) {
      while (last && !prefix.text.startsWith(last.text)) last = last.wider;
      prefix.wider = last;
      last = prefix;
    }
  }

  /** The first rule of those that cover the path for which this is true. */
  find(path: string, isWanted: (rule: CompiledRule) => boolean): CompiledRule | undefined {
    const exact = (this.#exact.get(path) ?? none).find(isWanted);
    if (exact) return exact;
    let prefix = this.#lastBefore(path);
    while (prefix && !path.startsWith(prefix.text)) prefix = prefix.wider;
    // Whatever is wider than a prefix of the path is one too.
    for (; prefix; prefix = prefix.wider) {
      const found = prefix.rules.find(isWanted);
      if (found) return found;
    }
    return undefined;
  }

  /** The last prefix that is not behind the path. Every prefix of the path is this one or wider than it. */
  #lastBefore(path: string): Prefix | undefined {
    let low = 0;
    let high = this.#prefixes.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#prefixes[middle]!.text <= path) low = middle + 1;
      else high = middle;
    }
    return this.#prefixes[low - 1];
  }
}
