/** Compiles the rules of a schema, and says what is wrong with them. */
import type { Text } from '../errors.ts';
import { escapeToken, formatText } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import type { JsonSchema, SchemaObject } from '../schema/keywords.ts';
import { isObject, isSchema } from '../schema/keywords.ts';
import { nodeLoader } from '../schema/node-loader.ts';
import { compilePattern } from '../schema/pattern.ts';
import { References } from '../schema/references.ts';
import type { Expression } from './expression.ts';
import { compileExpression, ExpressionError } from './expression.ts';
import type { Others, Place, Rule } from './place.ts';
import { SchemaTypes, typeNameOf } from './schema-types.ts';
import type { CelType } from './types.ts';
import { nameOf, optionalOf } from './types.ts';

/** The keyword under which rules stand in a schema, and of the violations that they find. */
export const rulesKeyword = 'x-kubernetes-validations';

/** Steps of one rule, and of all rules for one object. */
export const limits = { rule: 1_000_000, object: 10_000_000 };

/** A rule, or a part of one, that cannot be checked. */
export interface RuleProblem {
  /** Of the mistake in the schema, such as `/properties/spec/x-kubernetes-validations/0/rule`. */
  readonly path: string;
  readonly text: Text;
  readonly params: Readonly<Record<string, unknown>>;
  /** The text in English. */
  readonly message: string;
}

export interface RuleOptions {
  /** The schema is that of a whole object: rules at its root see `apiVersion`, `kind`, and `name` and `generateName` of `metadata`. */
  readonly isObject?: boolean;
  /**
   * Of a model in code: formats are those of JSON Schema. Members that rules do not have are problems, and rules that take
   * too many steps for the largest lists and maps that the schema allows.
   */
  readonly isDeclared?: boolean;
}

const texts = {
  syntax: localized('the rule does not compile: {reason}'),
  list: localized('rules are a list of objects with the member "rule"'),
  object: localized('a rule is an object with the member "rule"'),
  member: localized('a rule knows no member "{name}"; it knows {members}'),
  value: localized('must be a text, or true or false for "optionalOldSelf"'),
  boolean: localized('the rule must be true or false, not {type}'),
  text: localized('the expression of the message must be a string, not {type}'),
  oldInMessage: localized('the expression of the message uses "oldSelf", which the rule does not'),
  uncorrelated: localized('"oldSelf" cannot be used here: the items of the list around it have no keys'),
  place: localized(
    'rules cannot stand here: they stand at a value, its properties, items, patternProperties and additionalProperties, and in allOf',
  ),
  path: localized('"{path}" names no member of this place, such as .name'),
  reason: localized('must be one of {allowed}'),
  cost: localized(
    'the rule may take {steps} steps for the longest lists that the schema allows, more than {limit}: lower their maxItems or maxProperties',
  ),
};

const members = ['rule', 'message', 'messageExpression', 'reason', 'fieldPath', 'optionalOldSelf'];
const reasons = ['FieldValueInvalid', 'FieldValueForbidden', 'FieldValueRequired', 'FieldValueDuplicate'];

/** Adds each part of a schema that has rules, or a reference, at any depth. Tells whether there are rules. */
function markRules(schema: unknown, marked: Set<unknown>): { isMarked: boolean; hasRules: boolean } {
  if (typeof schema !== 'object' || schema === null) return { isMarked: false, hasRules: false };
  let hasRules = Object.hasOwn(schema, rulesKeyword);
  let isMarked = hasRules || Object.hasOwn(schema, '$ref');
  for (const one of Object.values(schema)) {
    const below = markRules(one, marked);
    hasRules ||= below.hasRules;
    isMarked ||= below.isMarked;
  }
  if (isMarked) marked.add(schema);
  return { isMarked, hasRules };
}

/** A part is yielded after each rule. */
export class RuleCompiler {
  readonly #problems = new Map<string, RuleProblem>();
  readonly #root: JsonSchema;
  readonly #types: SchemaTypes;
  readonly #references: () => References;
  readonly #isDeclared: boolean;
  /** By schema, without and with a stored value for each. */
  readonly #known = [new Map<SchemaObject, Place | undefined>(), new Map<SchemaObject, Place | undefined>()] as const;
  readonly #visited = new Set<SchemaObject>();
  /** Parts of the schema that may have rules, or have some below. */
  readonly #marked = new Set<unknown>();
  readonly #hasRules: boolean;
  /** A rule sees the stored value. */
  seeStored = false;

  constructor(root: JsonSchema, { isObject: isWhole = false, isDeclared = false }: RuleOptions) {
    this.#root = root;
    const refuse = (path: string, { en }: Text): never => {
      throw new Error(`the schema at ${path} ${en}`);
    };
    let references: References | undefined;
    // Many schemas have none.
    this.#references = () => (references ??= new References(root, refuse, nodeLoader.metaSchema));
    this.#types = new SchemaTypes(root, this.#references, { isObject: isWhole, isDeclared });
    this.#isDeclared = isDeclared;
    this.#hasRules = markRules(root, this.#marked).hasRules;
  }

  get problems(): RuleProblem[] {
    return [...this.#problems.values()];
  }

  /** The rules of the whole schema; undefined without any. */
  *compile(): Generator<void, Place | undefined, void> {
    if (!this.#hasRules) return undefined;
    const place = yield* this.#place(this.#root, '', true);
    if (!this.#isDeclared) return place;
    for (const [schema, { path }] of this.#references().places) {
      if (rulesKeyword in schema && !this.#visited.has(schema)) this.#problem(`${path}/${rulesKeyword}`, texts.place);
    }
    return place;
  }

  #problem(path: string, text: Text, params: Readonly<Record<string, unknown>> = {}): void {
    const message = formatText(text, params);
    this.#problems.set(`${path}\n${message}`, { path, text, params, message });
  }

  /** Undefined where there are no rules. @param isCorrelated a stored value belongs to each value of the place */
  *#place(given: JsonSchema, path: string, isCorrelated: boolean): Generator<void, Place | undefined, void> {
    if (!isObject(given)) return undefined;
    const isBeside = typeof given.$ref === 'string' && rulesKeyword in given;
    const schema = isBeside ? given : this.#types.resolve(given);
    if (!schema || !this.#marked.has(schema)) return undefined;
    const known = this.#known[isCorrelated ? 1 : 0];
    if (known.has(schema)) return known.get(schema);
    const described = this.#types.resolve(schema)!;
    const place: Place = {
      type: this.#types.of(schema),
      rules: [],
      properties: new Map(),
      keys:
        described['x-kubernetes-list-type'] === 'map'
          ? (described['x-kubernetes-list-map-keys'] as string[])
          : undefined,
      also: [],
    };
    // Stands in for a schema that contains itself.
    known.set(schema, place);
    yield* this.#rules(place, schema, path, isCorrelated);
    if (isBeside) {
      const referred = yield* this.#place(described, path, isCorrelated);
      if (referred) place.also.push(referred);
    }
    yield* this.#below(place, schema, path, isCorrelated);
    const { rules, properties, others, items, also } = place;
    const isEmpty = rules.length + properties.size + also.length === 0 && !others && !items;
    // What is the same schema at two places has the paths of the first.
    known.set(schema, isEmpty ? undefined : place);
    return isEmpty ? undefined : place;
  }

  *#below(place: Place, schema: SchemaObject, path: string, isCorrelated: boolean): Generator<void, void, void> {
    for (const [name, one] of schemasIn(schema.properties)) {
      const below = yield* this.#place(one, `${path}/properties/${escapeToken(name)}`, isCorrelated);
      if (below) place.properties.set(name, below);
    }
    const others = yield* this.#others(schema, path, isCorrelated);
    if (others.place || others.patterns.some((one) => one.place)) place.others = others;
    const { items, prefixItems } = schema;
    const from = Array.isArray(prefixItems) ? prefixItems.length : 0;
    const hasKeys = place.keys !== undefined;
    const below = isSchema(items) && (yield* this.#place(items, `${path}/items`, isCorrelated && hasKeys));
    if (below) place.items = { place: below, from };
    for (const [at, one] of sameValue(schema)) {
      const same = yield* this.#place(one, `${path}/${at}`, isCorrelated);
      if (same) place.also.push(same);
    }
  }

  *#others(schema: SchemaObject, path: string, isCorrelated: boolean): Generator<void, Others, void> {
    const { properties, patternProperties, additionalProperties: rest } = schema;
    const patterns: Others['patterns'][number][] = [];
    for (const [source, one] of schemasIn(patternProperties)) {
      const place = yield* this.#place(one, `${path}/patternProperties/${escapeToken(source)}`, isCorrelated);
      patterns.push({ pattern: compilePattern(source, nodeLoader.linearEngine), place });
    }
    const place = isSchema(rest) ? yield* this.#place(rest, `${path}/additionalProperties`, isCorrelated) : undefined;
    return { named: new Set(isObject(properties) ? Object.keys(properties) : []), patterns, place };
  }

  *#rules(place: Place, schema: SchemaObject, path: string, isCorrelated: boolean): Generator<void, void, void> {
    this.#visited.add(schema);
    const given = schema[rulesKeyword];
    if (given === undefined) return;
    const at = `${path}/${rulesKeyword}`;
    if (!Array.isArray(given)) return this.#problem(at, texts.list);
    for (const [i, one] of given.entries()) {
      const rule = this.#rule(one, place, schema, `${at}/${i}`, isCorrelated);
      if (rule) place.rules.push(rule);
      yield;
    }
  }

  #rule(given: unknown, place: Place, schema: SchemaObject, path: string, isCorrelated: boolean): Rule | undefined {
    if (!isObject(given) || typeof given.rule !== 'string' || given.rule.trim() === '') {
      this.#problem(path, texts.object);
      return undefined;
    }
    if (this.#isDeclared && !this.#isWellFormed(given, path)) return undefined;
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
    const { steps } = expression;
    if (this.#isDeclared && steps > limits.rule)
      this.#problem(`${path}/rule`, texts.cost, { steps, limit: limits.rule });
    const reason = given.reason ?? reasons[0];
    if (!reasons.includes(reason as string))
      this.#problem(`${path}/reason`, texts.reason, { allowed: reasons.join(', ') });
    const at = this.#fieldPath(given.fieldPath, schema, path);
    if (!isBool || (sees && !isCorrelated) || at === undefined) return undefined;
    this.seeStored ||= sees;
    return {
      source: given.rule,
      expression,
      isTransition,
      isOptional,
      message: typeof given.message === 'string' && given.message.trim() !== '' ? given.message.trim() : undefined,
      messageExpression: this.#messageExpression(given.messageExpression, variables, path, isTransition),
      reason: reason as string,
      at,
      typeName: typeNameOf(this.#types.resolve(schema)!) ?? 'object',
    };
  }

  #isWellFormed(given: SchemaObject, path: string): boolean {
    const before = this.#problems.size;
    for (const [name, value] of Object.entries(given)) {
      const at = `${path}/${escapeToken(name)}`;
      if (!members.includes(name)) this.#problem(at, texts.member, { name, members: members.join(', ') });
      else if (typeof value !== (name === 'optionalOldSelf' ? 'boolean' : 'string')) this.#problem(at, texts.value);
    }
    return this.#problems.size === before;
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
    let at = tokens.length > 0 ? this.#types.resolve(schema) : undefined;
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

function schemasIn(map: unknown): [string, JsonSchema][] {
  return isObject(map) ? (Object.entries(map).filter(([, one]) => isSchema(one)) as [string, JsonSchema][]) : [];
}

/** Schemas that hold for a value whenever it is not null, with their places. */
function sameValue(schema: SchemaObject): [string, JsonSchema][] {
  const list = (keyword: string): [string, JsonSchema][] => {
    const all = Array.isArray(schema[keyword]) ? (schema[keyword] as JsonSchema[]) : [];
    return all.map((one, i) => [`${keyword}/${i}`, one]);
  };
  const alternatives = ['anyOf', 'oneOf'].map((keyword) =>
    list(keyword).filter(([, one]) => !(isObject(one) && one.type === 'null')),
  );
  return [...list('allOf'), ...alternatives.filter(({ length }) => length === 1).flat()];
}
