/** Alternatives (`oneOf`, `anyOf`, several types): which one a value is of, what they are called, and how a value changes over. */

import type { SchemaDocument } from '../../../src/schema/document.ts';
import type { JsonSchema, SchemaObject } from '../../../src/schema/keywords.ts';
import { tellsApart } from '../../../src/schema/keywords.ts';
import { isObject, plain } from '../diff/pointer.ts';
import type { Facts } from './facts.ts';
import { factsOf, isOfType } from './facts.ts';

/** What a branch says of an object, its references and `allOf` followed. */
function factsOfBranch(document: SchemaDocument, branch: JsonSchema): Facts {
  const known = branchFacts.get(document) ?? new Map<JsonSchema, Facts>();
  branchFacts.set(document, known);
  const facts = known.get(branch) ?? factsOf(document, [branch], undefined, () => -1);
  known.set(branch, facts);
  return facts;
}

const branchFacts = new WeakMap<SchemaDocument, Map<JsonSchema, Facts>>();

/** The members whose constants tell the branches apart: of each branch the values, by name. */
function tellingValues(facts: readonly Facts[]): { name: string; values: readonly (readonly unknown[])[] } | undefined {
  const [first] = facts;
  if (!first) return undefined;
  for (const name of first.properties.keys()) {
    const values = facts.map(({ properties }) => {
      const telling = (properties.get(name) ?? []).find((one): one is SchemaObject => tellsApart(one));
      if (!telling) return [];
      return 'const' in telling ? [telling.const] : (telling.enum as unknown[]);
    });
    const all = values.flat().map((value) => JSON.stringify(value));
    if (values.every((list) => list.length > 0) && new Set(all).size === all.length) return { name, values };
  }
  return undefined;
}

/** The name of the member that tells the branches apart. */
export function tellingMember(document: SchemaDocument, branches: readonly JsonSchema[]): string | undefined {
  return tellingValues(branches.map((one) => factsOfBranch(document, one)))?.name;
}

/** What each branch is called: by title, else by the constant that tells it apart, else by its type; undefined: by its number. */
export function namesOf(
  document: SchemaDocument,
  branches: readonly JsonSchema[],
  titleOf: (schema: SchemaObject) => string | undefined,
): (string | undefined)[] {
  const facts = branches.map((one) => factsOfBranch(document, one));
  const telling = tellingValues(facts);
  const types = facts.map((one) => one.types?.join(', '));
  const byType = types.every(Boolean) && new Set(types).size === types.length;
  return facts.map((one, i) => {
    const title = titleOf(one.describing);
    if (title !== undefined) return title;
    if (telling)
      return telling.values[i]!.map((value) => (typeof value === 'string' ? value : JSON.stringify(value))).join(', ');
    return byType ? types[i] : undefined;
  });
}

/** Which branch a value is of: one that it satisfies, of several the one that knows most of its members; else the one that it is most like. -1: none. */
export function branchOf(document: SchemaDocument, branches: readonly JsonSchema[], given: unknown): number {
  const value = plain(given);
  if (value === undefined) return -1;
  const satisfied = branches.map((one) => document.accepts(one, value));
  const candidates = satisfied.includes(true) ? satisfied : branches.map(() => true);
  let best = -1;
  let most = -1;
  for (const [i, branch] of branches.entries()) {
    if (!candidates[i]) continue;
    const likeness = likenessOf(document, branch, value);
    if (likeness > most) [best, most] = [i, likeness];
  }
  return best;
}

/** Zero for another type; members that the branch knows, and much more for constants that are as it says. */
function likenessOf(document: SchemaDocument, branch: JsonSchema, value: unknown): number {
  const { types, properties } = factsOfBranch(document, branch);
  if (types && !types.some((type) => isOfType(value, type))) return -1;
  if (!isObject(value)) return 0;
  let likeness = 0;
  for (const [name, schemas] of properties) {
    if (!Object.hasOwn(value, name)) continue;
    likeness++;
    for (const one of schemas) {
      if (!tellsApart(one)) continue;
      if (!document.accepts(one, value[name])) return 0;
      likeness += 1_000;
    }
  }
  return likeness;
}

/** What was typed in branches that are not shown, by branch. */
export type Stash = Map<number, unknown>;

/**
 * The value for another branch: members that only the old one knows are put away, those that were put away for the new
 * one come back, constants are set. A value that is no object is kept where the new branch takes it.
 */
export function changedBranch(
  document: SchemaDocument,
  branches: readonly JsonSchema[],
  change: { readonly from: number; readonly to: number; readonly value: unknown; readonly stash: Stash },
): unknown {
  const { from, to, value, stash } = change;
  const next = branches[to]!;
  const kept = stash.get(to);
  stash.set(from, value);
  const facts = factsOfBranch(document, next);
  const isOfObjects = facts.types?.includes('object') ?? facts.properties.size > 0;
  if (!isOfObjects) {
    if (kept !== undefined && !isObject(kept)) return kept;
    return value !== undefined && document.accepts(next, plain(value)) ? value : undefined;
  }
  const old = from >= 0 ? factsOfBranch(document, branches[from]!) : undefined;
  const members = new Map<string, unknown>(isObject(kept) ? Object.entries(kept) : []);
  for (const [name, member] of isObject(value) ? Object.entries(value) : []) {
    if (old?.properties.has(name) && !facts.properties.has(name)) continue;
    const schemas = facts.properties.get(name) ?? [];
    if (schemas.every((one) => !tellsApart(one) || document.accepts(one, plain(member)))) members.set(name, member);
  }
  // What only the old branch knows is not the new one's either when it was put away with it.
  for (const name of members.keys()) {
    if (!facts.properties.has(name) && old?.properties.has(name)) members.delete(name);
  }
  for (const [name, schemas] of facts.properties) {
    const constant = schemas.find((one): one is SchemaObject => isObject(one) && 'const' in one);
    if (constant && (facts.required.has(name) || members.has(name))) members.set(name, constant.const);
  }
  return Object.fromEntries(members);
}
