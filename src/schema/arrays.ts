/** Keywords for arrays. */
import { allDistinct } from './assertions.ts';
import type { CheckOf, Mode } from './check.ts';
import { modeBelow } from './check.ts';
import type { Context } from './context.ts';
import type { JsonSchema, SchemaObject } from './keywords.ts';
import { isSchema } from './keywords.ts';
import { distinctCheck } from './list-types.ts';
import type { Marks } from './marks.ts';
import { messages } from './messages.ts';

export function arrayCheck(
  schema: SchemaObject,
  mode: Mode,
  checkOf: CheckOf,
): ((value: readonly unknown[], context: Context, marks: Marks | undefined) => boolean) | undefined {
  const { minItems, maxItems, uniqueItems } = schema as Record<string, number | undefined>;
  const below = modeBelow(mode);
  const prefix = Array.isArray(schema.prefixItems) ? schema.prefixItems.map((one) => checkOf(one, below)) : [];
  const items = isSchema(schema.items) ? checkOf(schema.items, below) : undefined;
  const distinct = distinctCheck(schema);
  const contains = isSchema(schema.contains) ? containsCheck(schema, checkOf) : undefined;
  const limits = minItems !== undefined || maxItems !== undefined || uniqueItems;
  if (!limits && !distinct && prefix.length === 0 && !items && !contains) return undefined;
  return (value, context, marks) => {
    let ok = true;
    if (minItems !== undefined && value.length < minItems) {
      ok = context.report('minItems', messages.minItems, { limit: minItems, count: value.length });
    }
    const isTooLong = maxItems !== undefined && value.length > maxItems;
    if (isTooLong) {
      ok = context.report('maxItems', messages.maxItems, { limit: maxItems, count: value.length });
    }
    if (!ok && context.silent) return false;
    const shared = mode === 'shared' ? marks : undefined;
    const checked = items ? value.length : Math.min(prefix.length, value.length);
    // A list that is too long is refused for that; what it holds beyond is not looked at, however much it is.
    const end = isTooLong ? Math.min(checked, maxItems) : checked;
    const isLater = items !== undefined && shared === undefined && context.defers(value, prefix.length, end, items);
    const now = isLater ? Math.min(prefix.length, end) : end;
    for (let i = 0; i < now; i++) {
      if (context.below(i, i < prefix.length ? prefix[i]! : items!, value[i], shared)) continue;
      if (context.silent) return false;
      ok = false;
    }
    if (marks) marks.items = Math.max(marks.items, checked);
    if (contains !== undefined && !contains(value, context, marks)) ok = false;
    if (uniqueItems && !isTooLong && !allDistinct(value, context)) ok = false;
    if (distinct !== undefined && !isTooLong && !distinct(value, context)) ok = false;
    return ok;
  };
}

function containsCheck(
  schema: SchemaObject,
  checkOf: CheckOf,
): (value: readonly unknown[], context: Context, marks: Marks | undefined) => boolean {
  const check = checkOf(schema.contains as JsonSchema, 'open');
  const { minContains = 1, maxContains = Number.POSITIVE_INFINITY } = schema as Record<string, number | undefined>;
  return (value, context, marks) => {
    let count = 0;
    for (let i = 0; i < value.length; i++) {
      if (!context.holds(check, value[i])) continue;
      count++;
      if (marks) {
        marks.indexes ??= new Set();
        marks.indexes.add(i);
      }
    }
    if (count < minContains) return context.report('contains', messages.contains, { limit: minContains, count });
    return count <= maxContains || context.report('maxContains', messages.maxContains, { limit: maxContains, count });
  };
}
