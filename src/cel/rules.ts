/** Rules in CEL that a schema has (`x-kubernetes-validations`): compiled once, checked for each write. */

import type { Text, Violation } from '../errors.ts';
import { escapeToken, formatText, Violations, violation } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import type { TimeSlice } from '../schema/context.ts';
import { canonicalText } from '../schema/json-value.ts';
import type { JsonSchema, SchemaObject } from '../schema/keywords.ts';
import { isObject, isSchema } from '../schema/keywords.ts';
import type { Expression } from './expression.ts';
import { compileExpression, ExpressionError } from './expression.ts';
import { CelError, Frame, TooCostly } from './frame.ts';
import { SchemaTypes, typeNameOf } from './schema-types.ts';
import type { CelType } from './types.ts';
import { nameOf, optionalOf } from './types.ts';
import type { Value } from './values.ts';
import { fromJson, Optional } from './values.ts';

/** The keyword under which rules stand in a schema, and of the violations that they find. */
export const rulesKeyword = 'x-kubernetes-validations';

/** A rule, or a part of one, that cannot be checked. */
interface RuleProblem {
  /** Of the mistake in the schema, such as `/properties/spec/x-kubernetes-validations/0/rule`. */
  readonly path: string;
  readonly text: Text;
  readonly params: Readonly<Record<string, unknown>>;
  /** The text in English. */
  readonly message: string;
}

/** What a violation of a rule carries as `params`, besides what its text shows. */
export interface RuleParams {
  readonly rule: string;
  /** `FieldValueInvalid` unless the rule says another one. */
  readonly reason: string;
  /** Of the value that the rule stands at, in the words of its schema. */
  readonly type: string;
  /** What Kubernetes says behind `Invalid value: "<type>": `. */
  readonly detail: string;
}

export interface CompiledRules {
  /** True when there is nothing to check. */
  readonly isEmpty: boolean;
  /** Rules that do not compile; `check` leaves them out. */
  readonly problems: readonly RuleProblem[];
  /**
   * Violations, keyword `x-kubernetes-validations`. The values hold their schema already; a rule that cannot be evaluated
   * is violated.
   * @param stored what `next` takes the place of; undefined when it is new
   * @param pointer of the value, the beginning of the violations' pointers
   */
  check(next: unknown, stored: unknown, pointer?: string): readonly Violation[];
  /** The same, with turns for others in between: a promise when there is more to check than at once. */
  checkInParts(
    next: unknown,
    stored: unknown,
    found: Violations,
    slice: TimeSlice,
    pointer?: string,
  ): Promise<void> | undefined;
}

export interface RuleOptions {
  /** The schema is that of a whole object: rules at its root see `apiVersion`, `kind`, and `name` and `generateName` of `metadata`. */
  readonly isObject?: boolean;
}

/** Steps of one rule, and of all rules for one object. */
const limits = { rule: 1_000_000, object: 10_000_000 };

const texts = {
  own: localized('{message}'),
  broken: localized('does not satisfy the rule {rule}'),
  failed: localized('{error} evaluating rule: {message}'),
  syntax: localized('the rule does not compile: {reason}'),
  object: localized('a rule is an object with the member "rule"'),
  boolean: localized('the rule must be true or false, not {type}'),
  text: localized('the expression of the message must be a string, not {type}'),
  oldInMessage: localized('the expression of the message uses "oldSelf", which the rule does not'),
  uncorrelated: localized('"oldSelf" cannot be used here: the items of the list around it have no keys'),
  place: localized('rules cannot stand below anyOf, oneOf, not or if'),
  path: localized('"{path}" names no member of this place, such as .name'),
  reason: localized('must be one of {allowed}'),
};

const reasons = ['FieldValueInvalid', 'FieldValueForbidden', 'FieldValueRequired', 'FieldValueDuplicate'];

interface Rule {
  readonly source: string;
  readonly expression: Expression;
  readonly isTransition: boolean;
  /** Runs for new values too, with an optional `oldSelf`. */
  readonly isOptional: boolean;
  readonly message: string | undefined;
  readonly messageExpression: Expression | undefined;
  readonly reason: string;
  /** Of the member that the violation is at, as a pointer. */
  readonly at: string;
  /** Of the value, in the words of its schema. */
  readonly typeName: string;
}

/** Where rules stand in a value, or below. */
interface Place {
  readonly type: CelType;
  readonly rules: Rule[];
  readonly properties: Map<string, Place>;
  readonly patterns: [RegExp, Place][];
  additional?: Place;
  items?: Place;
  /** Of the list at this place, when stored items are found by them. */
  readonly keys: readonly string[] | undefined;
}

/** Compiles the rules of a schema and of every schema below it. References (`#/…`) begin at its root. */
export function compileRules(schema: JsonSchema, options?: RuleOptions): CompiledRules {
  const work = compilingRules(schema, options);
  for (;;) {
    const part = work.next();
    if (part.done) return part.value;
  }
}

/** As `compileRules`; it yields after each rule. */
export function* compilingRules(
  schema: JsonSchema,
  { isObject: isWhole = false }: RuleOptions = {},
): Generator<void, CompiledRules, void> {
  const compiler = new RuleCompiler(schema, isWhole);
  const root = yield* compiler.place(schema, '', true);
  const { problems } = compiler;
  if (!root) return { isEmpty: true, problems, check: () => [], checkInParts: () => undefined };
  return {
    isEmpty: false,
    problems,
    check(next, stored, pointer = '') {
      const found = new Violations(Number.POSITIVE_INFINITY);
      for (const _ of evaluations(root, next, stored, pointer, found));
      return found.listed;
    },
    checkInParts(next, stored, found, slice, pointer = '') {
      const work = evaluations(root, next, stored, pointer, found);
      return work.next().done ? undefined : inParts(work, slice);
    },
  };
}

async function inParts(work: Generator<void, void, void>, slice: TimeSlice): Promise<void> {
  do {
    if (slice.isOver) await slice.renew();
  } while (!work.next().done);
}

function mentionsRules(schema: unknown): boolean {
  if (typeof schema !== 'object' || schema === null) return false;
  return Object.entries(schema).some(([name, value]) => name === rulesKeyword || mentionsRules(value));
}

/** Adds each part of a schema that has rules, or a reference, at any depth. */
function markRules(schema: unknown, marked: Set<unknown>): boolean {
  if (typeof schema !== 'object' || schema === null) return false;
  let mentions = Object.hasOwn(schema, rulesKeyword) || Object.hasOwn(schema, '$ref');
  for (const one of Object.values(schema)) if (markRules(one, marked)) mentions = true;
  if (mentions) marked.add(schema);
  return mentions;
}

class RuleCompiler {
  readonly problems: RuleProblem[] = [];
  readonly #types: SchemaTypes;
  readonly #known = new Map<SchemaObject, Place | undefined>();
  /** Parts of the schema that may have rules, or have some below. */
  readonly #marked = new Set<unknown>();

  constructor(root: JsonSchema, isWhole: boolean) {
    this.#types = new SchemaTypes(root, isWhole);
    markRules(root, this.#marked);
  }

  #problem(path: string, text: Text, params: Readonly<Record<string, unknown>> = {}): void {
    this.problems.push({ path, text, params, message: formatText(text, params) });
  }

  /** Undefined where there are no rules. @param isCorrelated a stored value belongs to each value of the place */
  *place(given: JsonSchema, path: string, isCorrelated: boolean): Generator<void, Place | undefined, void> {
    const schema = this.#types.resolve(given);
    if (!schema || !this.#marked.has(schema)) return undefined;
    if (this.#known.has(schema)) return this.#known.get(schema);
    const place: Place = {
      type: this.#types.of(schema),
      rules: [],
      properties: new Map(),
      patterns: [],
      keys: schema['x-kubernetes-list-type'] === 'map' ? (schema['x-kubernetes-list-map-keys'] as string[]) : undefined,
    };
    // Stands in for a schema that contains itself.
    this.#known.set(schema, place);
    yield* this.#fill(place, schema, path, isCorrelated);
    const { rules, properties, patterns, additional, items } = place;
    const isEmpty = rules.length + properties.size + patterns.length === 0 && !additional && !items;
    // What is the same schema at two places has the paths of the first.
    this.#known.set(schema, isEmpty ? undefined : place);
    return isEmpty ? undefined : place;
  }

  *#fill(place: Place, schema: SchemaObject, path: string, isCorrelated: boolean): Generator<void, void, void> {
    yield* this.#rules(place, schema, path, isCorrelated);
    const properties = isObject(schema.properties) ? Object.entries(schema.properties) : [];
    for (const [name, one] of properties) {
      const below = isSchema(one) && (yield* this.place(one, `${path}/properties/${escapeToken(name)}`, isCorrelated));
      if (below) place.properties.set(name, below);
    }
    for (const [source, one] of isObject(schema.patternProperties) ? Object.entries(schema.patternProperties) : []) {
      const below =
        isSchema(one) && (yield* this.place(one, `${path}/patternProperties/${escapeToken(source)}`, isCorrelated));
      if (below) place.patterns.push([new RegExp(source, 'u'), below]);
    }
    if (isObject(schema.additionalProperties)) {
      const below = yield* this.place(schema.additionalProperties, `${path}/additionalProperties`, isCorrelated);
      if (below) place.additional = below;
    }
    if (isObject(schema.items)) {
      const below = yield* this.place(schema.items, `${path}/items`, isCorrelated && place.keys !== undefined);
      if (below) place.items = below;
    }
    for (const [i, one] of (Array.isArray(schema.allOf) ? schema.allOf : []).entries()) {
      const branch = isSchema(one) ? this.#types.resolve(one) : undefined;
      if (branch && this.#marked.has(branch)) yield* this.#fill(place, branch, `${path}/allOf/${i}`, isCorrelated);
    }
    for (const keyword of ['anyOf', 'oneOf', 'not', 'if', 'then', 'else']) {
      if (mentionsRules(schema[keyword])) this.#problem(`${path}/${keyword}`, texts.place);
    }
  }

  *#rules(place: Place, schema: SchemaObject, path: string, isCorrelated: boolean): Generator<void, void, void> {
    const given = schema[rulesKeyword];
    if (given === undefined) return;
    const list = Array.isArray(given) ? given : [given];
    for (const [i, one] of list.entries()) {
      const at = `${path}/${rulesKeyword}/${i}`;
      const rule = this.#rule(one, place, schema, at, isCorrelated);
      if (rule) place.rules.push(rule);
      yield;
    }
  }

  #rule(given: unknown, place: Place, schema: SchemaObject, path: string, isCorrelated: boolean): Rule | undefined {
    if (!isObject(given) || typeof given.rule !== 'string' || given.rule.trim() === '') {
      this.#problem(path, texts.object);
      return undefined;
    }
    const isOptional = given.optionalOldSelf === true;
    const { type } = place;
    const variables = new Map([
      ['self', type],
      ['oldSelf', isOptional ? optionalOf(type) : type],
    ]);
    const expression = this.#expression(given.rule, variables, `${path}/rule`);
    if (!expression) return undefined;
    const isBool = ['bool', 'dyn'].includes(expression.type.kind);
    if (!isBool) this.#problem(`${path}/rule`, texts.boolean, { type: nameOf(expression.type) });
    const isTransition = expression.uses.has('oldSelf');
    const sees = isTransition || isOptional;
    if (sees && !isCorrelated) this.#problem(`${path}/rule`, texts.uncorrelated);
    const reason = given.reason ?? reasons[0];
    if (!reasons.includes(reason as string))
      this.#problem(`${path}/reason`, texts.reason, { allowed: reasons.join(', ') });
    const at = this.#fieldPath(given.fieldPath, schema, path);
    if (!isBool || (sees && !isCorrelated) || at === undefined) return undefined;
    return {
      source: given.rule,
      expression,
      isTransition,
      isOptional,
      message: typeof given.message === 'string' && given.message.trim() !== '' ? given.message.trim() : undefined,
      messageExpression: this.#messageExpression(given.messageExpression, variables, path, isTransition),
      reason: reason as string,
      at,
      typeName: typeNameOf(schema) ?? 'object',
    };
  }

  #expression(source: string, variables: ReadonlyMap<string, CelType>, path: string): Expression | undefined {
    try {
      return compileExpression(source, variables);
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error;
      this.#problem(path, texts.syntax, { reason: error.message });
      return undefined;
    }
  }

  #messageExpression(
    source: unknown,
    variables: ReadonlyMap<string, CelType>,
    rule: string,
    isTransition: boolean,
  ): Expression | undefined {
    if (typeof source !== 'string') return undefined;
    const path = `${rule}/messageExpression`;
    const expression = this.#expression(source, variables, path);
    if (!expression) return undefined;
    if (!['string', 'dyn'].includes(expression.type.kind)) {
      this.#problem(path, texts.text, { type: nameOf(expression.type) });
    } else if (expression.uses.has('oldSelf') && !isTransition) this.#problem(path, texts.oldInMessage);
    else return expression;
    return undefined;
  }

  /** As a pointer; undefined when it names nothing. */
  #fieldPath(given: unknown, schema: SchemaObject, rule: string): string | undefined {
    if (given === undefined) return '';
    const text = String(given);
    const tokens = /^(?:\.[A-Za-z_][\w-]*|\['[^']+'\])+$/.test(text)
      ? [...text.matchAll(/\.([\w-]+)|\['([^']+)'\]/g)].map(([, name, quoted]) => name ?? quoted!)
      : [];
    let at: SchemaObject | undefined = tokens.length > 0 ? schema : undefined;
    for (const name of tokens) {
      if (!at) break;
      const values = isObject(at.additionalProperties) ? at.additionalProperties : undefined;
      const next: JsonSchema | undefined = this.#types.propertiesOf(at).get(name) ?? values;
      at = next === undefined ? undefined : this.#types.resolve(next);
    }
    if (at) return tokens.map((name) => `/${escapeToken(name)}`).join('');
    this.#problem(`${rule}/fieldPath`, texts.path, { path: text });
    return undefined;
  }
}

/** Evaluates the rules of a value and of those below it, and yields after each. */
function* evaluations(
  root: Place,
  next: unknown,
  stored: unknown,
  base: string,
  found: Violations,
): Generator<void, void, void> {
  let left = limits.object;
  const waiting: { place: Place; next: unknown; stored: unknown; pointer: string }[] = [
    { place: root, next, stored, pointer: base },
  ];
  for (let one = waiting.pop(); one; one = waiting.pop()) {
    const { place, pointer } = one;
    if (one.next === undefined || one.next === null) continue;
    for (const rule of place.rules) {
      if (found.isFull) return;
      const hasStored = one.stored !== undefined && one.stored !== null;
      if (rule.isTransition && !rule.isOptional && !hasStored) continue;
      left -= evaluate(
        rule,
        place.type,
        one.next,
        hasStored ? one.stored : undefined,
        pointer,
        Math.min(left, limits.rule),
        found,
      );
      yield;
    }
    waiting.push(...below(place, one.next, one.stored, pointer).toReversed());
  }
}

function below(place: Place, next: unknown, stored: unknown, pointer: string) {
  const found: { place: Place; next: unknown; stored: unknown; pointer: string }[] = [];
  if (Array.isArray(next)) {
    const { items, keys } = place;
    if (!items) return found;
    const keyOf = (item: unknown) => canonicalText(keys!.map((name) => (isObject(item) ? (item[name] ?? null) : null)));
    const known = new Map(keys && Array.isArray(stored) ? stored.map((item) => [keyOf(item), item as unknown]) : []);
    for (const [i, item] of next.entries()) {
      found.push({ place: items, next: item, stored: keys && known.get(keyOf(item)), pointer: `${pointer}/${i}` });
    }
    return found;
  }
  if (!isObject(next)) return found;
  const add = (name: string, at: Place) => {
    const before = isObject(stored) && Object.hasOwn(stored, name) ? stored[name] : undefined;
    found.push({ place: at, next: next[name], stored: before, pointer: `${pointer}/${escapeToken(name)}` });
  };
  for (const [name, at] of place.properties) if (Object.hasOwn(next, name)) add(name, at);
  if (!place.additional && place.patterns.length === 0) return found;
  for (const name of Object.keys(next)) {
    if (place.properties.has(name)) continue;
    const at = place.patterns.find(([pattern]) => pattern.test(name))?.[1] ?? place.additional;
    if (at) add(name, at);
  }
  return found;
}

/** The steps that it took. */
function evaluate(
  rule: Rule,
  type: CelType,
  next: unknown,
  stored: unknown,
  pointer: string,
  steps: number,
  found: Violations,
): number {
  const frame = new Frame<Value>(steps);
  const add = (text: Text, params: Readonly<Record<string, unknown>>, detail: string) => {
    const { source, reason, typeName, at } = rule;
    const all = { ...params, rule: source, reason, type: typeName, detail };
    found.take(violation(`${pointer}${at}`, rulesKeyword, text, all));
  };
  try {
    frame.variables[0] = fromJson(next, type, frame);
    frame.variables[1] = oldSelf(rule, type, stored, frame);
    if (rule.expression.run(frame) === true) return steps - frame.left;
    const message = ownMessage(rule, frame);
    if (message === undefined) add(texts.broken, {}, `failed rule: ${rule.source}`);
    else add(texts.own, { message }, message);
  } catch (error) {
    const reason = error instanceof TooCostly ? `more than ${limits.rule} steps` : messageFrom(error);
    const message = rule.message ?? rule.source;
    add(texts.failed, { error: reason, message }, `${reason} evaluating rule: ${message}`);
  }
  return steps - Math.max(frame.left, 0);
}

function messageFrom(error: unknown): string {
  if (error instanceof CelError) return error.message;
  // A text or a list that the process cannot make, and an expression on values that are nested too deeply.
  if (error instanceof RangeError) return 'no such value: too large';
  throw error;
}

function oldSelf(rule: Rule, type: CelType, stored: unknown, frame: Frame<Value>): Value {
  if (!rule.isTransition) return null;
  const value = stored === undefined ? undefined : fromJson(stored, type, frame);
  return rule.isOptional ? (value === undefined ? Optional.none : new Optional(value)) : value!;
}

/** What the rule says itself: the expression of its message when that gives one line, or its message. */
function ownMessage({ messageExpression, message }: Rule, frame: Frame<Value>): string | undefined {
  try {
    const text = messageExpression?.run(frame);
    if (typeof text === 'string' && text.trim() !== '' && !text.includes('\n')) return text.trim();
  } catch (error) {
    if (!(error instanceof CelError) && !(error instanceof TooCostly)) throw error;
  }
  return message;
}
