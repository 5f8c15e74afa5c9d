/** The rules of one role, compiled once and shared by everybody who has the role. Takes memory in proportion to their text. */
import type { Rule } from './rule.ts';
import { CompiledRule, countGrants } from './rule.ts';

const none: readonly CompiledRule[] = [];

export class RuleSet {
  /** Those that give anything. */
  readonly rules: readonly CompiledRule[];
  readonly #byResource = new Map<string, CompiledRule[]>();
  readonly #byPath = new Map<string, CompiledRule[]>();
  /** The patterns that end in `*`, without it. */
  readonly #prefixes: { readonly prefix: string; readonly rule: CompiledRule }[] = [];

  constructor(rules: readonly Rule[]) {
    this.rules = rules.filter((rule) => countGrants(rule) > 0).map((rule) => new CompiledRule(rule));
    for (const rule of this.rules) {
      for (const entry of rule.rule.resources ?? []) add(this.#byResource, entry, rule);
      for (const pattern of rule.paths) {
        if (pattern.endsWith('*')) this.#prefixes.push({ prefix: pattern.slice(0, -1), rule });
        else add(this.#byPath, pattern, rule);
      }
    }
  }

  /** The rules that have this very entry among their `resources`. */
  withResource(entry: string): readonly CompiledRule[] {
    return this.#byResource.get(entry) ?? none;
  }

  /** The rules with a pattern that covers the path. */
  withPath(path: string): readonly CompiledRule[] {
    const exact = this.#byPath.get(path) ?? none;
    if (this.#prefixes.length === 0) return exact;
    const found = [...exact];
    for (const { prefix, rule } of this.#prefixes) if (path.startsWith(prefix)) found.push(rule);
    return found;
  }

  /** What `withPath` has to look at. */
  get patterns(): number {
    return this.#prefixes.length;
  }
}

function add(map: Map<string, CompiledRule[]>, key: string, rule: CompiledRule): void {
  const list = map.get(key);
  if (list) list.push(rule);
  else map.set(key, [rule]);
}

/** Of `super-role`. */
export const everythingRule: Rule = { apiGroups: ['*'], resources: ['*'], verbs: ['*'], nonResourceURLs: ['*'] };
export const everything = new RuleSet([everythingRule]);
