/**
 * Whether a set of rules gives all that other rules give. A rule is a product (verbs × groups × resources × names): rules are
 * compared list by list, and what one rule of the holder leaves of a product is looked for in the next. Walking the grants
 * one by one would take seconds for large roles.
 */
import type { CompiledRule, Grant, Rule } from './rule.ts';
import { coversPath, entriesFor, firstGrant, gives } from './rule.ts';
import type { RuleSet } from './rule-set.ts';

/** There is more to compare than may be compared in one go. */
export class TooMuchToCompare extends Error {}

/** Rules and entries that may be looked at in one go: some 20 ms. */
export class Budget {
  #left = 50_000;

  /** @throws TooMuchToCompare */
  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new TooMuchToCompare();
  }
}

export class Comparison {
  readonly #holder: readonly RuleSet[];
  readonly #held: ReadonlySet<RuleSet>;
  readonly #budget: Budget;

  /** @param holder all the rules of one layer of somebody's rights */
  constructor(holder: readonly RuleSet[], budget: Budget) {
    this.#holder = holder;
    this.#held = new Set(holder);
    this.#budget = budget;
  }

  /**
   * The first grant of these rules that the holder lacks.
   * @param withPaths false: they give resources alone
   * @throws TooMuchToCompare
   */
  lacks(sets: readonly RuleSet[], withPaths = true): Grant | undefined {
    if (this.#holder.some(hasEverything)) return undefined;
    for (const set of sets) {
      // The very role that the holder has.
      if (this.#held.has(set)) continue;
      for (const { rule } of set.rules) {
        const { apiGroups, resources, resourceNames, verbs, nonResourceURLs } = rule;
        const missing =
          this.#missing({ verbs, apiGroups, resources, resourceNames }) ??
          (withPaths ? this.#missing({ verbs, nonResourceURLs }) : undefined);
        if (missing) return missing;
      }
    }
    return undefined;
  }

  #missing(product: Rule): Grant | undefined {
    const left = [product];
    for (let next = left.pop(); next; next = left.pop()) {
      const grant = firstGrant(next);
      if (!grant) continue;
      const cover = 'path' in grant ? this.#coverOfPath(grant) : this.#cover(grant);
      if (!cover) return grant;
      left.push(...this.#rest(next, cover));
    }
    return undefined;
  }

  /** A rule of the holder that gives the grant. */
  #cover({ verb, group, resource, name }: Exclude<Grant, { path: string }>): CompiledRule | undefined {
    const entries = entriesFor(resource);
    for (const set of this.#holder) {
      for (const entry of entries) {
        this.#budget.spend(1);
        for (const rule of set.withResource(entry)) {
          this.#budget.spend(1);
          if (!gives(rule.verbs, verb) || !gives(rule.groups, group)) continue;
          if (!rule.isNamed) return rule;
          this.#budget.spend(rule.names.length / 8);
          if (name !== undefined && rule.names.includes(name)) return rule;
        }
      }
    }
    return undefined;
  }

  #coverOfPath({ verb, path }: Extract<Grant, { path: string }>): CompiledRule | undefined {
    for (const set of this.#holder) {
      this.#budget.spend(1);
      const rule = set.forPath(verb, path);
      if (rule) return rule;
    }
    return undefined;
  }

  /** What the rule leaves of the product, as products: other verbs; with its verbs, other groups; with both, other resources; and so on. */
  #rest(product: Rule, cover: CompiledRule): Rule[] {
    const rest: Rule[] = [];
    let covered = product;
    const takeOut = (list: keyof Rule, isGiven: (entry: string) => boolean): void => {
      const entries = covered[list] ?? [];
      this.#budget.spend(entries.length);
      const { given = [], left = [] } = Object.groupBy(entries, (entry) => (isGiven(entry) ? 'given' : 'left'));
      if (left.length > 0) rest.push({ ...covered, [list]: left });
      covered = { ...covered, [list]: given };
    };
    if (!cover.verbs.has('*')) takeOut('verbs', (verb) => cover.verbs.has(verb));
    if (product.nonResourceURLs) {
      if (!cover.paths.includes('*')) {
        takeOut('nonResourceURLs', (path) => {
          this.#budget.spend(cover.paths.length);
          return cover.paths.some((pattern) => coversPath(pattern, path));
        });
      }
      return rest;
    }
    if (!cover.groups.has('*')) takeOut('apiGroups', (group) => cover.groups.has(group));
    if (!cover.resources.has('*')) {
      takeOut('resources', (resource) => entriesFor(resource).some((entry) => cover.resources.has(entry)));
    }
    if (cover.isNamed) {
      const names = new Set(cover.names);
      this.#budget.spend(names.size);
      takeOut('resourceNames', (name) => names.has(name));
    }
    return rest;
  }
}

function hasEverything(set: RuleSet): boolean {
  return set.withResource('*').some((rule) => {
    return rule.verbs.has('*') && rule.groups.has('*') && !rule.isNamed && rule.paths.includes('*');
  });
}
