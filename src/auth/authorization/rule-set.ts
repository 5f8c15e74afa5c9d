/** The rules of one role, compiled once and shared by everybody who has the role. Takes memory in proportion to their text. */
import { PathIndex } from './path-index.ts';
import type { Rule } from './rule.ts';
import { CompiledRule, countEntries, countGrants, gives } from './rule.ts';

const none: readonly CompiledRule[] = [];

export class RuleSet {
  /** Those that give anything. */
  readonly rules: readonly CompiledRule[];
  /** Entries of all their lists. */
  readonly size: number;
  readonly #byResource = new Map<string, CompiledRule[]>();
  readonly #paths: PathIndex;

  constructor(rules: readonly Rule[]) {
    this.rules = rules.filter((rule) => countGrants(rule) > 0).map((rule) => new CompiledRule(rule));
    this.size = this.rules.reduce((sum, { rule }) => sum + countEntries(rule), 0);
    for (const rule of this.rules) {
      for (const entry of rule.rule.resources ?? []) add(this.#byResource, entry, rule);
    }
    this.#paths = new PathIndex(this.rules);
  }

  /** The rules that have this very entry among their `resources`. */
  withResource(entry: string): readonly CompiledRule[] {
    return this.#byResource.get(entry) ?? none;
  }

  /** A rule that gives the path. */
  forPath(verb: string, path: string): CompiledRule | undefined {
    return this.#paths.find(path, (rule) => gives(rule.verbs, verb));
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
