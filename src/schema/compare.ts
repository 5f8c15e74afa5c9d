/**
 * What changes from one schema to another, place by place and keyword by keyword. It proves no inclusion: where keywords alone
 * do not tell, the class is `unknown` or `narrowing`, and the data decide.
 */

import { escapeToken, unescapeToken } from '../errors.ts';
import { canonicalText, isEqual } from './json-value.ts';
import type { JsonSchema, SchemaObject } from './keywords.ts';
import { describingKeywords, isObject, isSchema } from './keywords.ts';

/** From the least to the most that a change asks of data and clients. */
export const changeClasses = [
  'docs',
  'widening',
  'behaviour',
  'index',
  'needs-default',
  'narrowing',
  'unknown',
  'breaking',
] as const;

export type ChangeClass = (typeof changeClasses)[number];

export interface SchemaChange {
  /** Of the place in an object; `*` stands for every item and every other member. */
  readonly pointer: string;
  /** In words, such as `format added`. */
  readonly what: string;
  readonly class: ChangeClass;
}

/** Compares two documents; their references lead within each. @param pointer of the place that they describe */
export function compareSchemas(before: JsonSchema, after: JsonSchema, pointer: string): SchemaChange[] {
  const comparison = new Comparison(before, after);
  comparison.compare(before, after, pointer);
  return comparison.changes;
}

/** Lower bounds, and upper bounds. */
const least = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties'];
const most = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties'];
/** Any new value of these refuses what the old one accepted. */
const assertions = [
  'const',
  'pattern',
  'format',
  'multipleOf',
  'propertyNames',
  'contains',
  'minContains',
  'maxContains',
];
/** Schemas about the same place that count together. */
const composing = [
  'allOf',
  'anyOf',
  'oneOf',
  'not',
  'if',
  'then',
  'else',
  'dependentSchemas',
  'dependencies',
  'unevaluatedItems',
  'unevaluatedProperties',
  '$ref',
  '$dynamicRef',
];
const structural = ['type', 'enum', 'uniqueItems', 'required', 'dependentRequired', 'default'];
const rulesKeyword = 'x-kubernetes-validations';
const containing = ['properties', 'patternProperties', 'additionalProperties', 'items', 'prefixItems'];
const compared = new Set([...least, ...most, ...assertions, ...composing, ...structural, ...containing, rulesKeyword]);
const typeNames = ['string', 'number', 'boolean', 'null', 'array', 'object'];

class Comparison {
  readonly changes: SchemaChange[] = [];
  readonly #roots: readonly [JsonSchema, JsonSchema];
  /** Pairs that are compared, for schemas that contain themselves. */
  readonly #pairs = new Map<unknown, Set<unknown>>();

  constructor(before: JsonSchema, after: JsonSchema) {
    this.#roots = [before, after];
  }

  compare(first: JsonSchema, second: JsonSchema, pointer: string): void {
    const [before, after] = [resolved(first, this.#roots[0]), resolved(second, this.#roots[1])];
    const known = this.#pairs.get(before) ?? new Set();
    if (known.has(after)) return;
    this.#pairs.set(before, known.add(after));
    if (before === false || after === false || before === undefined || after === undefined) {
      if (before === after) return;
      const what = after === false ? 'no value is allowed any more' : 'values are allowed';
      this.#add(pointer, what, after === false ? 'breaking' : before === false ? 'widening' : 'unknown');
      return;
    }
    this.#compareObjects(before, after, pointer);
  }

  #add(pointer: string, what: string, of: ChangeClass): void {
    this.changes.push({ pointer, what, class: of });
  }

  #compareObjects(before: SchemaObject, after: SchemaObject, pointer: string): void {
    this.#types(before, after, pointer);
    this.#enums(before, after, pointer);
    for (const keyword of least) this.#bound(before, after, pointer, keyword, (was, is) => is > was);
    for (const keyword of most) this.#bound(before, after, pointer, keyword, (was, is) => is < was);
    for (const keyword of assertions) this.#assertion(before, after, pointer, keyword);
    this.#uniqueItems(before, after, pointer);
    this.#members(before, after, pointer);
    this.#required(before, after, pointer);
    this.#items(before, after, pointer);
    this.#composition(before, after, pointer);
    for (const one of compareRules(before[rulesKeyword], after[rulesKeyword], pointer)) this.changes.push(one);
    if (!isEqual(before.default, after.default)) {
      this.#add(pointer, `default ${changeOf(before.default, after.default)}`, 'behaviour');
    }
    for (const keyword of new Set([...Object.keys(before), ...Object.keys(after)])) {
      if (compared.has(keyword) || isEqual(before[keyword], after[keyword])) continue;
      // Definitions are compared where something refers to them.
      if (['$defs', 'definitions', '$id', '$anchor', '$dynamicAnchor', '$schema'].includes(keyword)) continue;
      const isDocs = describingKeywords.includes(keyword) || keyword.startsWith('content');
      this.#add(pointer, `${keyword} ${changeOf(before[keyword], after[keyword])}`, isDocs ? 'docs' : 'unknown');
    }
  }

  #types(before: SchemaObject, after: SchemaObject, pointer: string): void {
    const [was, is] = [typesOf(before), typesOf(after)];
    const lost = was.filter((one) => !is.includes(one));
    const gained = is.filter((one) => !was.includes(one));
    if (lost.length === 0 && gained.length === 0) return;
    const what = `type ${shownTypes(before)} → ${shownTypes(after)}`;
    const isIn = was.some((one) => is.includes(one));
    this.#add(pointer, what, lost.length === 0 ? 'widening' : isIn ? 'narrowing' : 'breaking');
  }

  #enums(before: SchemaObject, after: SchemaObject, pointer: string): void {
    const [was, is] = [valuesOf(before), valuesOf(after)];
    if (!was && !is) return;
    if (!was || !is) {
      this.#add(pointer, `enum ${was ? 'removed' : 'added'}`, was ? 'widening' : 'narrowing');
      return;
    }
    const has = (values: readonly unknown[], one: unknown) => values.some((other) => isEqual(one, other));
    const lost = was.filter((one) => !has(is, one));
    const gained = is.filter((one) => !has(was, one));
    if (gained.length > 0) this.#add(pointer, `enum values added: ${shown(gained)}`, 'widening');
    if (lost.length > 0) this.#add(pointer, `enum values removed: ${shown(lost)}`, 'narrowing');
  }

  #bound(
    before: SchemaObject,
    after: SchemaObject,
    pointer: string,
    keyword: string,
    isTighter: (was: number, is: number) => boolean,
  ): void {
    const [was, is] = [before[keyword], after[keyword]] as [number | undefined, number | undefined];
    if (was === is) return;
    const tightens = is !== undefined && (was === undefined || isTighter(was, is));
    const what = was === undefined || is === undefined ? changeOf(was, is) : `${was} → ${is}`;
    this.#add(pointer, `${keyword} ${what}`, tightens ? 'narrowing' : 'widening');
  }

  #assertion(before: SchemaObject, after: SchemaObject, pointer: string, keyword: string): void {
    const [was, is] = [before[keyword], after[keyword]];
    if (this.#means(was, 0) === this.#means(is, 1)) return;
    const isMultiple = keyword === 'multipleOf' && typeof was === 'number' && typeof is === 'number' && was % is === 0;
    // With another number of items that have to contain it, more or fewer do.
    const isUnsure = keyword === 'maxContains' || keyword === 'minContains';
    const of = isUnsure ? 'narrowing' : is === undefined || isMultiple ? 'widening' : 'narrowing';
    this.#add(pointer, `${keyword} ${changeOf(was, is)}`, of);
  }

  #uniqueItems(before: SchemaObject, after: SchemaObject, pointer: string): void {
    const [was, is] = [before.uniqueItems === true, after.uniqueItems === true];
    if (was !== is) this.#add(pointer, `uniqueItems ${is ? 'added' : 'removed'}`, is ? 'narrowing' : 'widening');
  }

  #members(before: SchemaObject, after: SchemaObject, pointer: string): void {
    const [was, is] = [membersOf(before), membersOf(after)];
    for (const [name, schema] of was.properties) {
      const at = `${pointer}/${escapeToken(name)}`;
      const next = is.properties.get(name);
      if (next !== undefined) this.compare(schema, next, at);
      else if (is.others === false && is.patterns.size === 0) this.#add(at, 'member removed', 'breaking');
      else if (is.others === true && is.patterns.size === 0)
        this.#add(at, 'member no longer described, any value is allowed', 'widening');
      else this.#add(at, 'member falls under the rule for others', 'unknown');
    }
    for (const [name, schema] of is.properties) {
      if (was.properties.has(name)) continue;
      const isFree = was.others === false && was.patterns.size === 0;
      const takesAll =
        schema === true || (isObject(schema) && Object.keys(schema).every((key) => describingKeywords.includes(key)));
      const of = isFree || takesAll ? 'widening' : 'narrowing';
      if (this.#requiredOf(after).includes(name)) continue;
      this.#add(`${pointer}/${escapeToken(name)}`, 'optional member added', of);
    }
    this.#patterns(was, is, pointer);
    if (was.others === is.others) return;
    if (is.others === true) this.#add(pointer, 'additionalProperties opened', 'widening');
    else if (is.others === false) this.#add(pointer, 'additionalProperties closed', 'narrowing');
    else if (was.others === false) this.#add(pointer, 'additionalProperties opened', 'widening');
    else this.compare(was.others, is.others, `${pointer}/*`);
  }

  #patterns(was: Members, is: Members, pointer: string): void {
    for (const [pattern, schema] of was.patterns) {
      const next = is.patterns.get(pattern);
      if (next !== undefined) this.compare(schema, next, `${pointer}/*`);
      else this.#add(pointer, `patternProperties "${pattern}" removed`, is.others === false ? 'breaking' : 'widening');
    }
    for (const pattern of is.patterns.keys()) {
      if (was.patterns.has(pattern)) continue;
      this.#add(pointer, `patternProperties "${pattern}" added`, was.others === false ? 'widening' : 'narrowing');
    }
  }

  #required(before: SchemaObject, after: SchemaObject, pointer: string): void {
    const [was, is] = [this.#requiredOf(before), this.#requiredOf(after)];
    const properties = membersOf(after).properties;
    for (const name of is) {
      if (was.includes(name)) continue;
      const schema = resolved(properties.get(name) ?? true, this.#roots[1]);
      const hasDefault = isObject(schema) && 'default' in schema;
      const what = membersOf(before).properties.has(name) ? 'optional → required' : 'required member added';
      const at = `${pointer}/${escapeToken(name)}`;
      this.#add(at, hasDefault ? `${what}, with a default` : what, hasDefault ? 'needs-default' : 'narrowing');
    }
    for (const name of was) {
      // Of a member that is gone, that alone is told.
      if (is.includes(name) || (membersOf(before).properties.has(name) && !properties.has(name))) continue;
      this.#add(`${pointer}/${escapeToken(name)}`, 'required → optional', 'widening');
    }
    const [needs, needsNow] = [dependenciesOf(before), dependenciesOf(after)];
    for (const name of new Set([...needs.keys(), ...needsNow.keys()])) {
      const [old, now] = [needs.get(name) ?? [], needsNow.get(name) ?? []];
      const added = now.filter((one) => !old.includes(one));
      const removed = old.filter((one) => !now.includes(one));
      if (added.length > 0) this.#add(pointer, `dependentRequired of "${name}" added: ${shown(added)}`, 'narrowing');
      if (removed.length > 0)
        this.#add(pointer, `dependentRequired of "${name}" removed: ${shown(removed)}`, 'widening');
    }
  }

  #requiredOf({ required }: SchemaObject): readonly string[] {
    return Array.isArray(required) ? (required as string[]) : [];
  }

  #items(before: SchemaObject, after: SchemaObject, pointer: string): void {
    const [first, second] = [before.prefixItems ?? [], after.prefixItems ?? []] as [JsonSchema[], JsonSchema[]];
    if (first.length !== second.length) this.#add(pointer, 'prefixItems changed', 'unknown');
    else for (const [i, schema] of first.entries()) this.compare(schema, second[i]!, `${pointer}/${i}`);
    const [was, is] = [before.items, after.items];
    if (was === undefined && is === undefined) return;
    if (!isSchema(was)) this.#add(`${pointer}/*`, 'items added', 'narrowing');
    else if (!isSchema(is)) this.#add(`${pointer}/*`, 'items removed, any item is allowed', 'widening');
    else this.compare(was, is, `${pointer}/*`);
  }

  #composition(before: SchemaObject, after: SchemaObject, pointer: string): void {
    for (const keyword of composing) {
      // Told with the values of `enum`.
      if (keyword === 'anyOf' && valuesOf(before) && valuesOf(after)) continue;
      if (this.#means(before[keyword], 0) === this.#means(after[keyword], 1)) continue;
      this.#add(pointer, `${keyword} ${changeOf(before[keyword], after[keyword])}`, 'unknown');
    }
  }

  /** A text that is the same for schemas that say the same, with those that they refer to. */
  #means(value: unknown, side: 0 | 1): string {
    const root = this.#roots[side];
    const reached = new Map<string, string>();
    const collect = (one: unknown): unknown => {
      if (Array.isArray(one)) return one.map(collect);
      if (!isObject(one)) return one;
      if (typeof one.$ref === 'string' && !reached.has(one.$ref)) {
        reached.set(one.$ref, '');
        reached.set(one.$ref, canonicalText(collect(targetOf(one.$ref, root))));
      }
      const kept = Object.entries(one).filter(([name, member]) => member !== undefined && !isDescription(name, member));
      return Object.fromEntries(kept.map(([name, member]) => [name, collect(member)]));
    };
    return value === undefined ? '' : canonicalText([collect(value), [...reached].sort()]);
  }
}

/** Rules are the same when they say the same of values, in any order. */
export function compareRules(before: unknown, after: unknown, pointer: string): SchemaChange[] {
  const [was, is] = [rulesByText(before), rulesByText(after)];
  const changes: SchemaChange[] = [];
  const add = (rule: unknown, what: string, of: ChangeClass) =>
    changes.push({ pointer, what: `rule ${JSON.stringify(rule)} ${what}`, class: of });
  for (const [key, { rule }] of was) if (!is.has(key)) add(rule, 'removed', 'widening');
  for (const [key, { rule, message, messageExpression, ...rest }] of is) {
    const old = was.get(key);
    if (!old) {
      add(rule, 'added', 'narrowing');
      continue;
    }
    const { message: oldMessage, messageExpression: oldExpression, rule: _rule, ...oldRest } = old;
    if (!isEqual([message, messageExpression], [oldMessage, oldExpression])) add(rule, 'has another message', 'docs');
    if (!isEqual(rest, oldRest)) add(rule, 'has another reason or fieldPath', 'behaviour');
  }
  return changes;
}

function rulesByText(rules: unknown): Map<string, SchemaObject> {
  const all = Array.isArray(rules) ? rules.filter(isObject) : [];
  return new Map(all.map((one) => [canonicalText([one.rule, one.optionalOldSelf === true]), one]));
}

/** A member of this name is no keyword where it is a schema. */
function isDescription(name: string, value: unknown): boolean {
  return ['title', 'description', '$comment', 'example', 'examples', 'deprecated'].includes(name) && !isObject(value);
}

interface Members {
  readonly properties: ReadonlyMap<string, JsonSchema>;
  readonly patterns: ReadonlyMap<string, JsonSchema>;
  /** Of members that neither names: an object schema with `properties` alone admits none. */
  readonly others: JsonSchema;
}

function membersOf(schema: SchemaObject): Members {
  const map = (value: unknown) => new Map(isObject(value) ? (Object.entries(value) as [string, JsonSchema][]) : []);
  const isClosed = isObject(schema.properties) && !('unevaluatedProperties' in schema);
  const others = isSchema(schema.additionalProperties) ? schema.additionalProperties : !isClosed;
  return { properties: map(schema.properties), patterns: map(schema.patternProperties), others };
}

function dependenciesOf({ dependentRequired, dependencies }: SchemaObject): Map<string, readonly string[]> {
  const all = [dependencies, dependentRequired].filter(isObject).flatMap((map) => Object.entries(map));
  return new Map(all.filter(([, needed]) => Array.isArray(needed)) as [string, string[]][]);
}

/** What a `$ref` alone means. Undefined: it leads somewhere else than into the document by a pointer or an anchor. */
function resolved(schema: JsonSchema, root: JsonSchema): SchemaObject | false | undefined {
  let found: unknown = schema;
  for (let steps = 0; isObject(found) && typeof found.$ref === 'string' && steps < 100; steps++) {
    const others = Object.keys(found).filter((keyword) => keyword !== '$ref');
    if (!others.every((keyword) => describingKeywords.includes(keyword))) break;
    found = targetOf(found.$ref, root);
  }
  if (found === true) return {};
  return found === false || isObject(found) ? found : undefined;
}

function targetOf(ref: string, root: JsonSchema): unknown {
  if (!ref.startsWith('#')) return undefined;
  const fragment = decodeURIComponent(ref.slice(1));
  if (fragment !== '' && !fragment.startsWith('/')) return anchored(root, fragment);
  let value: unknown = root;
  for (const token of fragment.split('/').slice(1).map(unescapeToken)) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, token)) return undefined;
    value = (value as Record<string, unknown>)[token];
  }
  return value;
}

function anchored(schema: unknown, anchor: string): unknown {
  if (typeof schema !== 'object' || schema === null) return undefined;
  if ((schema as SchemaObject).$anchor === anchor) return schema;
  for (const member of Object.values(schema)) {
    const found = anchored(member, anchor);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** `integer` is apart from the numbers that are none. */
function typesOf({ type }: SchemaObject): string[] {
  const given = (type === undefined ? typeNames : [type].flat()) as string[];
  return given.flatMap((one) => (one === 'number' ? ['integer', 'fraction'] : one));
}

function shownTypes({ type }: SchemaObject): string {
  return type === undefined ? 'any' : [type].flat().join(' or ');
}

/** Values of `enum`, or of alternatives that are one value each. */
function valuesOf(schema: SchemaObject): readonly unknown[] | undefined {
  if (Array.isArray(schema.enum)) return schema.enum;
  const { anyOf } = schema;
  if (!Array.isArray(anyOf) || !anyOf.every((one) => isObject(one) && 'const' in one)) return undefined;
  return anyOf.map((one) => (one as SchemaObject).const);
}

function changeOf(was: unknown, is: unknown): string {
  return was === undefined ? 'added' : is === undefined ? 'removed' : 'changed';
}

function shown(values: readonly unknown[]): string {
  return values.map((one) => JSON.stringify(one)).join(', ');
}
