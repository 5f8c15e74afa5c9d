/** Keywords without sub-schemas. */
import type { Text } from '../errors.ts';
import type { PatternOf } from './check.ts';
import type { Check, Context } from './context.ts';
import type { Format } from './formats.ts';
import { canonicalText, isEqual, Multiples } from './json-value.ts';
import type { SchemaObject } from './keywords.ts';
import { isContainer } from './keywords.ts';
import { messages } from './messages.ts';

const typeChecks: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number' && Number.isFinite(value),
  integer: (value) => Number.isInteger(value),
  boolean: (value) => typeof value === 'boolean',
  null: (value) => value === null,
  array: (value) => Array.isArray(value),
  object: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
};

export function typeCheck(type: unknown): ((value: unknown) => boolean) | undefined {
  if (typeof type === 'string') return typeChecks[type];
  if (!Array.isArray(type)) return undefined;
  const checks = (type as string[]).map((name) => typeChecks[name]!);
  return (value) => checks.some((check) => check(value));
}

export function typeName(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value;
}

export function enumCheck(values: readonly unknown[]): Check {
  const simple = new Set(values.filter((one) => !isContainer(one)));
  const composed = values.filter(isContainer);
  const allowed = values.map((one) => JSON.stringify(one)).join(', ');
  return (value, context) => {
    if (isContainer(value)) {
      context.spend(composed.length);
      if (composed.some((one) => isEqual(value, one))) return true;
    } else if (simple.has(value)) return true;
    return context.report('enum', messages.enum, { allowed, value });
  };
}

export function constCheck(expected: unknown): Check {
  return (value, context) => {
    if (isEqual(value, expected)) return true;
    return context.report('const', messages.const, { expected: JSON.stringify(expected) });
  };
}

export function stringChecks(
  schema: SchemaObject,
  patternOf: PatternOf,
  formats: ReadonlyMap<string, Format>,
): ((value: string, context: Context) => boolean)[] {
  const checks: ((value: string, context: Context) => boolean)[] = [];
  const { minLength, maxLength } = schema as Record<string, number | undefined>;
  if (minLength !== undefined) {
    checks.push((value, context) => {
      // A code point takes one or two UTF-16 code units.
      if (value.length >= minLength * 2) return true;
      const length = codePoints(value, context);
      return length >= minLength || context.report('minLength', messages.minLength, { limit: minLength, length });
    });
  }
  if (maxLength !== undefined) {
    checks.push((value, context) => {
      if (value.length <= maxLength) return true;
      if (context.silent && value.length > maxLength * 2) return false;
      const length = codePoints(value, context);
      return length <= maxLength || context.report('maxLength', messages.maxLength, { limit: maxLength, length });
    });
  }
  if (typeof schema.pattern === 'string') {
    const pattern = patternOf(schema.pattern);
    checks.push((value, context) => {
      context.spend(2 + value.length * pattern.cost);
      return pattern.test(value) || context.report('pattern', messages.pattern, { pattern: schema.pattern });
    });
  }
  const format = formats.get(String(schema.format));
  if (format?.string) {
    const { string, expected, cost } = format;
    checks.push((value, context) => {
      context.spend(cost(value));
      return string(value) || context.report('format', messages.format, { format: schema.format, expected });
    });
  }
  return checks;
}

function codePoints(text: string, context: Context): number {
  context.spend(text.length >> 4);
  let count = text.length;
  for (let i = 0; i < text.length - 1; i++) {
    if ((text.charCodeAt(i) & 0xfc00) !== 0xd800 || (text.charCodeAt(i + 1) & 0xfc00) !== 0xdc00) continue;
    count--;
    i++;
  }
  return count;
}

export function numberChecks(
  schema: SchemaObject,
  formats: ReadonlyMap<string, Format>,
): ((value: number, context: Context) => boolean)[] {
  const checks: ((value: number, context: Context) => boolean)[] = [];
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema as Record<
    string,
    number | undefined
  >;
  const add = (
    keyword: string,
    limit: number | undefined,
    text: Text,
    holdsFor: (value: number, limit: number) => boolean,
  ): void => {
    if (limit === undefined) return;
    checks.push((value, context) => holdsFor(value, limit) || context.report(keyword, text, { limit, value }));
  };
  add('minimum', minimum, messages.minimum, (value, limit) => value >= limit);
  add('maximum', maximum, messages.maximum, (value, limit) => value <= limit);
  add('exclusiveMinimum', exclusiveMinimum, messages.exclusiveMinimum, (value, limit) => value > limit);
  add('exclusiveMaximum', exclusiveMaximum, messages.exclusiveMaximum, (value, limit) => value < limit);
  if (multipleOf !== undefined) {
    const multiples = new Multiples(multipleOf);
    checks.push((value, context) => {
      const quickly = multiples.hasQuickly(value);
      if (quickly === undefined) context.spend(150);
      return (
        (quickly ?? multiples.has(value)) ||
        context.report('multipleOf', messages.multipleOf, { limit: multipleOf, value })
      );
    });
  }
  const format = formats.get(String(schema.format));
  if (format?.number) {
    const { number, expected } = format;
    checks.push(
      (value, context) =>
        number(value) || context.report('format', messages.format, { format: schema.format, expected }),
    );
  }
  return checks;
}

export function allDistinct(items: readonly unknown[], context: Context): boolean {
  const simple = new Map<unknown, number>();
  const composed = new Map<string, number>();
  for (let i = 0; i < items.length; i++) {
    const item = items[i];
    const seen: Map<unknown, number> = isContainer(item) ? composed : simple;
    const key = isContainer(item) ? canonicalText(item) : item;
    context.spend(isContainer(item) ? 15 + (key as string).length / 2 : 5);
    const first = seen.get(key);
    if (first !== undefined) return context.report('uniqueItems', messages.uniqueItems, { first, second: i });
    seen.set(key, i);
  }
  return true;
}
