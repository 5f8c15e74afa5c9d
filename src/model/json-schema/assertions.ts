/** Keywords without sub-schemas. */
import type { Text } from '../../errors.ts';
import { formats } from '../formats.ts';
import { canonicalText, isMultipleOf } from '../json-value.ts';
import { compilePattern } from '../pattern.ts';
import type { Check } from './check.ts';
import type { Context } from './context.ts';
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
  const composed = new Set(values.filter(isContainer).map(canonicalText));
  const allowed = values.map((one) => JSON.stringify(one)).join(', ');
  return (value, context) => {
    if (isContainer(value) ? composed.size > 0 && composed.has(canonicalText(value)) : simple.has(value)) return true;
    return context.report('enum', messages.enum, { allowed, value });
  };
}

export function constCheck(expected: unknown): Check {
  const text = canonicalText(expected);
  const composed = isContainer(expected);
  return (value, context) => {
    if (composed ? isContainer(value) && canonicalText(value) === text : value === expected) return true;
    return context.report('const', messages.const, { expected: JSON.stringify(expected) });
  };
}

export function stringChecks(schema: SchemaObject): ((value: string, context: Context) => boolean)[] {
  const checks: ((value: string, context: Context) => boolean)[] = [];
  const { minLength, maxLength } = schema as Record<string, number | undefined>;
  if (minLength !== undefined) {
    checks.push((value, context) => {
      // A code point takes one or two UTF-16 code units.
      if (value.length >= minLength * 2 || codePoints(value) >= minLength) return true;
      return context.report('minLength', messages.minLength, { limit: minLength, length: codePoints(value) });
    });
  }
  if (maxLength !== undefined) {
    checks.push((value, context) => {
      if (value.length <= maxLength || codePoints(value) <= maxLength) return true;
      return context.report('maxLength', messages.maxLength, { limit: maxLength, length: codePoints(value) });
    });
  }
  if (typeof schema.pattern === 'string') {
    const pattern = compilePattern(schema.pattern);
    checks.push(
      (value, context) =>
        pattern.test(value) || context.report('pattern', messages.pattern, { pattern: schema.pattern }),
    );
  }
  const format = formats.get(String(schema.format));
  if (format?.string) {
    const { string, expected } = format;
    checks.push(
      (value, context) =>
        string(value) || context.report('format', messages.format, { format: schema.format, expected }),
    );
  }
  return checks;
}

function codePoints(text: string): number {
  let count = text.length;
  for (let i = 0; i < text.length - 1; i++) {
    if ((text.charCodeAt(i) & 0xfc00) !== 0xd800 || (text.charCodeAt(i + 1) & 0xfc00) !== 0xdc00) continue;
    count--;
    i++;
  }
  return count;
}

export function numberChecks(schema: SchemaObject): ((value: number, context: Context) => boolean)[] {
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
  add('multipleOf', multipleOf, messages.multipleOf, isMultipleOf);
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
  for (const [i, item] of items.entries()) {
    const seen: Map<unknown, number> = isContainer(item) ? composed : simple;
    const key = isContainer(item) ? canonicalText(item) : item;
    const first = seen.get(key);
    if (first !== undefined) return context.report('uniqueItems', messages.uniqueItems, { first, second: i });
    seen.set(key, i);
  }
  return true;
}
