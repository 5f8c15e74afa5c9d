/**
 * What a stored Role gives, and its bounds (docs/reference/permissions.md). A write beyond the bounds is refused; a role that was stored
 * before there were bounds gives what is within them. Decisions, comparisons and memory are in proportion to these.
 */
import type { ExtensionObject } from '../../model/object.ts';
import type { RoleKeys } from './keys.ts';
import type { Rule } from './rule.ts';
import { countGrants } from './rule.ts';
import { RuleSet } from './rule-set.ts';

export const roleBounds = {
  rules: 100,
  /** Of each list of a rule but `resourceNames`. */
  entries: 64,
  resourceNames: 1_000,
  /** Verbs × (groups × resources × names + paths), of all rules together. */
  grants: 10_000,
  /** Names in the annotation. */
  dependencies: 1_000,
} as const;

export interface RoleRecord {
  readonly rules: RuleSet;
  readonly dependencies: readonly string[];
  readonly aggregatesTo: readonly string[];
  /** What is beyond the bounds and gives nothing, in words. */
  readonly cuts: readonly string[];
}

export function roleRecord(object: ExtensionObject, keys: RoleKeys): RoleRecord {
  const { labels = {}, annotations = {} } = object.metadata;
  const targets = Object.keys(labels).filter((key) => key.startsWith(keys.aggregateTo) && labels[key] === 'true');
  const cuts: string[] = [];
  const rules = boundedRules((object.rules as readonly Rule[] | undefined) ?? [], cuts);
  const named = namesIn(annotations[keys.dependencies]) ?? [];
  const dependencies = distinct(named, roleBounds.dependencies);
  if (isCut(named, dependencies)) cuts.push(`more than ${roleBounds.dependencies} dependencies`);
  return {
    rules: new RuleSet(rules),
    dependencies,
    aggregatesTo: targets.map((key) => key.slice(keys.aggregateTo.length)),
    cuts,
  };
}

/** Whether two records give the same. */
export function isSameRole(a: RoleRecord | undefined, b: RoleRecord | undefined): boolean {
  return textOf(a) === textOf(b);
}

/** Whether two records give the same but for the roles that they aggregate to. */
export function hasSameRules(a: RoleRecord, b: RoleRecord): boolean {
  return textOf({ ...a, aggregatesTo: [] }) === textOf({ ...b, aggregatesTo: [] });
}

function textOf(record: RoleRecord | undefined): string | undefined {
  if (!record) return undefined;
  return JSON.stringify([record.rules.rules.map(({ rule }) => rule), record.dependencies, record.aggregatesTo]);
}

/** Of a role within the bounds of the schema. */
export function grantsOfRole(object: ExtensionObject): number {
  return ((object.rules as readonly Rule[] | undefined) ?? []).reduce((sum, rule) => sum + countGrants(rule), 0);
}

/** A JSON list of names; undefined when it is none. */
export function namesIn(text: string | undefined): string[] | undefined {
  if (text === undefined) return [];
  try {
    const list: unknown = JSON.parse(text);
    return Array.isArray(list) && list.every((one) => typeof one === 'string') ? list : undefined;
  } catch {
    return undefined;
  }
}

function boundedRules(stored: readonly Rule[], cuts: string[]): Rule[] {
  const rules: Rule[] = [];
  let grants = 0;
  for (const [i, rule] of stored.entries()) {
    if (i === roleBounds.rules) {
      cuts.push(`more than ${roleBounds.rules} rules`);
      break;
    }
    const bounded = boundedRule(rule, i, cuts);
    grants += countGrants(bounded);
    if (grants > roleBounds.grants) {
      cuts.push(`more than ${roleBounds.grants} grants, so rule ${i} and those after it do not count`);
      break;
    }
    rules.push(bounded);
  }
  return rules;
}

const lists = ['apiGroups', 'resources', 'resourceNames', 'verbs', 'nonResourceURLs'] as const;

/** The rule itself when every list is within its bound. */
function boundedRule(rule: Rule, i: number, cuts: string[]): Rule {
  let bounded = rule;
  for (const list of lists) {
    const limit = list === 'resourceNames' ? roleBounds.resourceNames : roleBounds.entries;
    const stored = rule[list];
    if (!stored || stored.length <= limit) continue;
    const entries = distinct(stored, limit);
    bounded = { ...bounded, [list]: entries };
    if (isCut(stored, entries)) cuts.push(`more than ${limit} ${list} in rule ${i}`);
  }
  return bounded;
}

/** The first `limit` different entries. */
function distinct(list: readonly string[], limit: number): readonly string[] {
  const entries = new Set<string>();
  for (const entry of list) {
    entries.add(entry);
    if (entries.size === limit) break;
  }
  return [...entries];
}

/** Whether there are different entries beyond those that were taken, not only the same ones again. */
function isCut(list: readonly string[], taken: readonly string[]): boolean {
  const known = new Set(taken);
  return list.some((entry) => !known.has(entry));
}
