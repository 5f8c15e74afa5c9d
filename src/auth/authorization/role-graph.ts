/** Roles and the links between them: a role gives what its dependencies give, and what aggregates to it. */
import { superRole } from '../authentication/identity.ts';
import type { Source } from './policy.ts';
import type { RoleRecord } from './role.ts';
import { everything, RuleSet } from './rule-set.ts';

/** A role that is given to somebody. */
export interface Root {
  readonly name: string;
  /** The RoleBinding that gives it. */
  readonly binding?: string;
  /** In which it gives it; none: everywhere. */
  readonly namespaces?: readonly string[];
}

/** What was followed and counted already for one identity. */
interface Spent {
  links: number;
  entries: number;
}

export interface Reached {
  /** Roles with rules, the nearest first. */
  readonly sources: Source[];
  /** Roles that are named on the way and do not exist. */
  readonly missing: readonly string[];
  /** There are more links than are followed, or more rules than count. */
  readonly isCut: boolean;
}

/**
 * Links that are followed from the roles of one identity, the nearest first: what lies beyond gives nothing. Everybody's
 * roles are looked at anew after each change of a role, so this must not take long, whatever somebody linked.
 */
const linksLimit = 20_000;
/** Entries of all lists of the rules of one identity, the nearest roles first: what a question has to look at. */
export const entriesLimit = 200_000;
const noRules = new RuleSet([]);

export class RoleGraph {
  readonly #roles = new Map<string, RoleRecord>();
  readonly #aggregated = new Map<string, Set<string>>();

  get(name: string): RoleRecord | undefined {
    return this.#roles.get(name);
  }

  names(): string[] {
    return [...this.#roles.keys()];
  }

  set(name: string, next: RoleRecord | undefined): void {
    for (const target of this.#roles.get(name)?.aggregatesTo ?? []) remove(this.#aggregated, target, name);
    if (next) this.#roles.set(name, next);
    else this.#roles.delete(name);
    for (const target of next?.aggregatesTo ?? []) add(this.#aggregated, target, name);
  }

  /** These roles and all that is reached from them, each once, so rings do no harm. @param as a role as it would be after a write */
  reach(roots: readonly Root[], as?: { readonly name: string; readonly record: RoleRecord }): Reached {
    const spent: Spent = { links: 0, entries: 0 };
    // A role that is given in some namespaces may be given elsewhere too, or with all that it leads to everywhere.
    const byNamespaces = Map.groupBy(roots, ({ namespaces }) => namespaces && JSON.stringify([...namespaces].sort()));
    const all = [...byNamespaces.values()].map((group) => {
      const found = this.#reach(group, as, spent);
      const { namespaces } = group[0]!;
      if (!namespaces) return found;
      const limit = new Set(namespaces);
      return { ...found, sources: found.sources.map((source) => ({ ...source, namespaces: limit })) };
    });
    return {
      sources: all.flatMap(({ sources }) => sources),
      missing: all.flatMap(({ missing }) => missing),
      isCut: all.some(({ isCut }) => isCut),
    };
  }

  #reach(
    roots: readonly Root[],
    as: { readonly name: string; readonly record: RoleRecord } | undefined,
    spent: Spent,
  ): Reached {
    const reached = new Map<string, Source>();
    const missing: string[] = [];
    const aggregated = new Set(as?.record.aggregatesTo);
    const recordOf = (role: string) => (as?.name === role ? as.record : this.#roles.get(role));
    let isCut = false;
    const take = (role: string, way: Pick<Source, 'binding' | 'via'>): void => {
      if (reached.has(role)) return;
      const rules = role === superRole ? everything : recordOf(role)?.rules;
      if (!rules) missing.push(role);
      const isTooMuch = rules !== undefined && rules !== everything && spent.entries + rules.size > entriesLimit;
      if (isTooMuch) isCut = true;
      else spent.entries += rules?.size ?? 0;
      reached.set(role, { role, rules: isTooMuch ? noRules : (rules ?? noRules), ...way });
    };
    for (const { name, binding } of roots) take(name, { binding });
    // The loop goes on to what is reached meanwhile.
    for (const [role, source] of reached) {
      if (role === superRole) continue;
      const way = { via: source, binding: source.binding };
      const further = [recordOf(role)?.dependencies ?? [], this.#aggregated.get(role) ?? []];
      if (aggregated.has(role)) further.push([as!.name]);
      for (const list of further) {
        for (const name of list) {
          if (++spent.links > linksLimit) return { sources: withRules(reached), missing, isCut: true };
          take(name, way);
        }
      }
    }
    return { sources: withRules(reached), missing, isCut };
  }
}

function withRules(reached: ReadonlyMap<string, Source>): Source[] {
  return [...reached.values()].filter(({ rules }) => rules.rules.length > 0);
}

export function add(map: Map<string, Set<string>>, key: string, value: string): void {
  const set = map.get(key);
  if (set) set.add(value);
  else map.set(key, new Set([value]));
}

export function remove(map: Map<string, Set<string>>, key: string, value: string): void {
  const set = map.get(key);
  if (set?.delete(value) && set.size === 0) map.delete(key);
}
