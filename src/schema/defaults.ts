/** Defaults of a document: what sets them in a value. */

import { KindredError } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import { readJson, setMember } from '../runtime/read-json.ts';
import type { PatternOf } from './check.ts';
import type { JsonSchema, SchemaObject } from './keywords.ts';
import { isContainer, isObject, subschemas } from './keywords.ts';
import type { References } from './references.ts';

export class Defaults {
  readonly #references: References;
  readonly #patternOf: PatternOf;

  constructor(references: References, patternOf: PatternOf) {
    this.#references = references;
    this.#patternOf = patternOf;
  }

  /**
   * What sets the defaults below a value of this schema; undefined when there are none.
   * Only through what always applies: conditional branches set nothing, but for "this or null".
   */
  of(root: JsonSchema): SetDefaults | undefined {
    const made = new Map<SchemaObject, SetDefaults>();
    const of = (schema: unknown): SetDefaults | undefined => {
      if (!isObject(schema) || !this.#reachesDefault(schema, new Set())) return undefined;
      const known = made.get(schema);
      if (known) return known;
      const steps: SetDefaults[] = [];
      const apply: SetDefaults = (value, depth, budget) => {
        if (!isContainer(value)) return;
        if (depth > deepestDefault) throw new EndlessDefault();
        for (let i = 0; i < steps.length; i++) steps[i]!(value, depth, budget);
      };
      made.set(schema, apply);
      for (const next of this.#always(schema)) {
        const step = of(next);
        if (step) steps.push(step);
      }
      steps.push(
        ...memberDefaults(schema, of, (one) => this.textOf(one), this.#patternOf),
        ...itemDefaults(schema, of),
      );
      return apply;
    };
    return of(root);
  }

  #always(schema: SchemaObject): JsonSchema[] {
    const next: JsonSchema[] = Array.isArray(schema.allOf) ? [...schema.allOf] : [];
    if (typeof schema.$ref === 'string') next.push(this.#references.target(schema, '$ref').schema);
    for (const branches of [schema.anyOf, schema.oneOf]) {
      if (!Array.isArray(branches)) continue;
      const others = branches.filter((one) => !(isObject(one) && one.type === 'null'));
      if (others.length === 1) next.push(others[0]);
    }
    return next;
  }

  /** As JSON, the default that a schema gives to what is absent: its own, else that of what always applies beside it. */
  textOf(schema: unknown, seen = new Set<SchemaObject>()): string | undefined {
    if (!isObject(schema) || seen.has(schema)) return undefined;
    seen.add(schema);
    if (schema.default !== undefined) return JSON.stringify(schema.default);
    for (const next of this.#always(schema)) {
      const text = this.textOf(next, seen);
      if (text !== undefined) return text;
    }
    return undefined;
  }

  #reachesDefault(schema: JsonSchema, seen: Set<SchemaObject>): boolean {
    if (typeof schema !== 'object' || seen.has(schema)) return false;
    seen.add(schema);
    const members = Object.values(isObject(schema.properties) ? schema.properties : {});
    if (members.some((one) => this.textOf(one) !== undefined)) return true;
    const next = subschemas(schema).map((part) => part.schema);
    return [...next, ...this.#always(schema)].some((one) => this.#reachesDefault(one, seen));
  }
}

/** What the defaults of one object may come to; default the members and the growth that an object may have by a request. */
export interface DefaultLimits {
  /** Defaults that are set. */
  readonly members: number;
  /** Bytes that they add. */
  readonly growth: number;
}

const defaultLimits: DefaultLimits = { members: 10_000, growth: 2 ** 20 };

const tooMany = localized(
  'The defaults of the model would add more than {members} members or {growth} bytes to the object',
);

/** What may still be set. */
export class DefaultBudget {
  readonly #limits: DefaultLimits;
  #members = 0;
  #bytes = 0;

  constructor(limits = defaultLimits) {
    this.#limits = limits;
  }

  /** @throws PayloadTooLarge */
  add(text: string): void {
    this.#members++;
    this.#bytes += text.length;
    const { members, growth } = this.#limits;
    if (this.#members <= members && this.#bytes <= growth) return;
    throw new KindredError('PayloadTooLarge', tooMany, { params: { members, growth } });
  }
}

/** Sets the defaults below a value, in place. `depth`: of the value below the one that was handed in. */
export type SetDefaults = (value: unknown, depth: number, budget: DefaultBudget) => void;
type DefaultsOf = (schema: unknown) => SetDefaults | undefined;

/** Deeper than any body: only a default that is set again within itself gets there. */
const deepestDefault = 1000;

export class EndlessDefault extends Error {}

function memberDefaults(
  schema: SchemaObject,
  of: DefaultsOf,
  defaultText: (schema: unknown) => string | undefined,
  patternOf: PatternOf,
): SetDefaults[] {
  const steps: SetDefaults[] = [];
  const properties = isObject(schema.properties) ? schema.properties : {};
  for (const [name, one] of Object.entries(properties)) {
    const text = defaultText(one);
    const inner = of(one);
    if (text === undefined && !inner) continue;
    steps.push((value, depth, budget) => {
      if (Array.isArray(value)) return;
      const object = value as Record<string, unknown>;
      if (text !== undefined && (!Object.hasOwn(object, name) || object[name] === undefined)) {
        budget.add(text);
        setMember(object, name, readJson(text));
      }
      if (inner && Object.hasOwn(object, name)) inner(object[name], depth + 1, budget);
    });
  }
  const patterns = Object.entries(isObject(schema.patternProperties) ? schema.patternProperties : {}).map(
    ([source, one]) => ({ pattern: patternOf(source), inner: of(one) }),
  );
  const additional = of(schema.additionalProperties);
  if (additional || patterns.some(({ inner }) => inner)) {
    steps.push((value, depth, budget) => {
      if (Array.isArray(value)) return;
      for (const [name, member] of Object.entries(value as object)) {
        if (!isContainer(member)) continue;
        const matching = patterns.filter(({ pattern }) => pattern.test(name));
        for (const { inner } of matching) inner?.(member, depth + 1, budget);
        if (matching.length === 0 && !Object.hasOwn(properties, name)) additional?.(member, depth + 1, budget);
      }
    });
  }
  return steps;
}

function itemDefaults(schema: SchemaObject, of: DefaultsOf): SetDefaults[] {
  const prefix = Array.isArray(schema.prefixItems) ? schema.prefixItems.map(of) : [];
  const items = of(schema.items);
  if (!items && !prefix.some(Boolean)) return [];
  return [
    (value, depth, budget) => {
      if (!Array.isArray(value)) return;
      for (let i = 0; i < value.length; i++) (i < prefix.length ? prefix[i] : items)?.(value[i], depth + 1, budget);
    },
  ];
}
