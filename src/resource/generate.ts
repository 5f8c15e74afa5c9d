/** Random values of a JSON Schema. Not all of what a schema may ask for: whoever generates checks the value, and tries again. */
import { isRecord } from '../model/object.ts';

/** From 0 up to 1, without 1. */
export type Random = () => number;

/** The same numbers for the same seed (mulberry32). */
export function seeded(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}

interface Schema {
  readonly [keyword: string]: any;
}

/** Texts at which conversions fail: empty ones, separators where nobody expects them, other alphabets. */
const words = [
  '',
  ' ',
  'a',
  'Ada',
  'Ada Lovelace',
  'a  b',
  ' lead',
  'trail ',
  'a,b',
  'a/b:c',
  'x=1',
  '0',
  '-1.5',
  'true',
];
const further = [
  'null',
  'Ünïcödé',
  '日本語',
  '😀',
  "o'clock",
  '"quoted"',
  'line\nbreak',
  'back\\slash',
  'Mary Ann Smith Jones',
];
const formats: Readonly<Record<string, readonly string[]>> = {
  email: ['a@example.com', 'first.last+tag@sub.example.org'],
  'date-time': ['2026-11-23T12:00:00.000Z', '1999-12-31T23:59:59Z', '2024-02-29T00:00:00+02:00'],
  date: ['2026-11-23', '2024-02-29'],
  time: ['12:00:00Z', '23:59:59.5+02:00'],
  duration: ['PT1H', 'P1DT30M'],
  uri: ['https://example.com/a?b=c#d', 'urn:isbn:0451450523'],
  'uri-reference': ['/a/b', '../c', 'https://example.com'],
  uuid: ['3f2504e0-4f89-41d3-9a0c-0305e82c3301'],
  hostname: ['example.com', 'a.b.example.org'],
  ipv4: ['192.0.2.1', '10.0.0.255'],
  ipv6: ['2001:db8::1', '::1'],
  'json-pointer': ['', '/a/0/b~1c'],
  regex: ['^a+$'],
};
/** Members of objects and items of lists, at most. */
const most = 4;
const deepest = 8;

/** @param root of the document, to which `$ref` refers */
export function generate(schema: unknown, random: Random, root: unknown = schema, depth = 0): unknown {
  if (!isRecord(schema)) return anything(random, depth);
  const one: Schema = schema;
  if (typeof one.$ref === 'string') return generate(resolved(root, one.$ref), random, root, depth + 1);
  if ('const' in one) return one.const;
  if (Array.isArray(one.enum)) return pick(one.enum, random);
  if (Array.isArray(one.allOf)) return generate(merged(one, one.allOf, root), random, root, depth);
  const branches = one.anyOf ?? one.oneOf;
  if (Array.isArray(branches)) return generate(merged(one, [pick(branches, random)], root), random, root, depth + 1);
  if (Array.isArray(one.examples) && one.examples.length > 0 && random() < 0.3) return pick(one.examples, random);
  return ofType(one, typeOf(one, random), random, root, depth);
}

function typeOf({ type, properties, items, ...schema }: Schema, random: Random): string | undefined {
  if (Array.isArray(type)) return String(pick(type, random));
  if (typeof type === 'string') return type;
  if (properties || schema.required || schema.additionalProperties) return 'object';
  if (items || schema.prefixItems) return 'array';
  if (schema.pattern !== undefined || schema.format !== undefined || schema.maxLength !== undefined) return 'string';
  if (schema.minimum !== undefined || schema.maximum !== undefined) return 'number';
  return undefined;
}

function ofType(schema: Schema, type: string | undefined, random: Random, root: unknown, depth: number): unknown {
  switch (type) {
    case 'string':
      return textOf(schema, random);
    case 'integer':
    case 'number':
      return numberOf(schema, type === 'integer', random);
    case 'boolean':
      return random() < 0.5;
    case 'null':
      return null;
    case 'array':
      return listOf(schema, random, root, depth);
    case 'object':
      return objectOf(schema, random, root, depth);
    default:
      return anything(random, depth);
  }
}

function textOf({ format, minLength = 0, maxLength = Number.POSITIVE_INFINITY }: Schema, random: Random): string {
  const known = typeof format === 'string' ? formats[format] : undefined;
  if (known) return pick(known, random);
  let text = pick(random() < 0.6 ? words : further, random);
  while ([...text].length < minLength) text += pick(['a', 'B', ' ', '7', 'é'], random);
  return [...text].slice(0, maxLength).join('');
}

function numberOf(schema: Schema, isInteger: boolean, random: Random): number {
  const { multipleOf } = schema;
  const step = multipleOf ?? (isInteger ? 1 : 0.5);
  const above = schema.exclusiveMinimum === undefined ? schema.minimum : schema.exclusiveMinimum + step;
  const below = schema.exclusiveMaximum === undefined ? schema.maximum : schema.exclusiveMaximum - step;
  const low = above ?? Math.min(-1_000, below ?? 0);
  const high = below ?? Math.max(1_000, low);
  if (random() < 0.3) return pick([low, high, Math.min(Math.max(0, low), high)], random);
  const value = low + random() * (high - low);
  return Math.min(Math.max(Math.round(value / step) * step, Math.ceil(low / step) * step), high);
}

function listOf(schema: Schema, random: Random, root: unknown, depth: number): unknown[] {
  const { prefixItems = [], items, minItems = 0, maxItems = most } = schema;
  const length =
    depth > deepest ? minItems : minItems + Math.floor(random() * (Math.min(maxItems, minItems + most) - minItems + 1));
  const list: unknown[] = [];
  for (let i = 0; i < length; i++) {
    const of = prefixItems[i] ?? items;
    if (of === false) break;
    list.push(generate(of, random, root, depth + 1));
  }
  if (schema.uniqueItems !== true) return list;
  return [...new Map(list.map((item) => [JSON.stringify(item), item])).values()];
}

function objectOf(schema: Schema, random: Random, root: unknown, depth: number): Record<string, unknown> {
  const { properties = {}, required = [], additionalProperties = true, minProperties = 0 } = schema;
  const object: Record<string, unknown> = {};
  for (const [name, of] of Object.entries(properties)) {
    if (of === false) continue;
    const isWanted = required.includes(name) || (depth <= deepest && random() < 0.6);
    if (isWanted) object[name] = generate(of, random, root, depth + 1);
  }
  for (const name of required)
    if (!(name in object)) object[name] = generate(additionalProperties, random, root, depth + 1);
  // Names that are not declared, where a schema says what is below them: a map.
  const wanted = isRecord(additionalProperties) ? Math.floor(random() * most) : 0;
  for (let i = 0; Object.keys(object).length < Math.max(wanted, minProperties) && i < 10; i++) {
    if (additionalProperties === false) break;
    object[pick(['a', 'b', 'key', 'x-y', 'ä'], random)] = generate(additionalProperties, random, root, depth + 1);
  }
  return object;
}

function anything(random: Random, depth: number): unknown {
  const simple = [null, true, 0, 1.5, '', 'text'];
  if (depth > 3 || random() < 0.7) return pick(simple, random);
  return random() < 0.5 ? [anything(random, depth + 1)] : { a: anything(random, depth + 1) };
}

/** One schema that asks for all of them, as far as that can be said by putting keywords together. */
function merged(
  { allOf: _all, anyOf: _any, oneOf: _one, ...schema }: Schema,
  others: readonly unknown[],
  root: unknown,
): Schema {
  let whole: Schema = schema;
  for (const other of others) {
    const next = isRecord(other) && typeof other.$ref === 'string' ? resolved(root, other.$ref) : other;
    if (!isRecord(next)) continue;
    whole = {
      ...whole,
      ...next,
      properties: { ...whole.properties, ...(next.properties as object) },
      required: [...(whole.required ?? []), ...((next.required as string[]) ?? [])],
    };
  }
  return whole;
}

/** Of `#`, `#/$defs/name` and the like. */
function resolved(root: unknown, reference: string): unknown {
  const tokens = reference.replace(/^#/, '').split('/').slice(1);
  return tokens.reduce<unknown>((value, token) => {
    const name = decodeURIComponent(token).replaceAll('~1', '/').replaceAll('~0', '~');
    return isRecord(value) || Array.isArray(value) ? (value as Schema)[name] : undefined;
  }, root);
}

export function pick<T>(list: readonly T[], random: Random): T {
  return list[Math.floor(random() * list.length)]!;
}
