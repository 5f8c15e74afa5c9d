import type { CheckOf, Mode } from './check.ts';
import { modeBelow } from './check.ts';
import type { Check } from './context.ts';
import type { SchemaObject } from './keywords.ts';
import { isSchema } from './keywords.ts';
import { messages } from './messages.ts';

/** `unevaluatedItems` and `unevaluatedProperties`: what is left of a value after all that is beside them. */
export function unevaluatedCheck(schema: SchemaObject, mode: Mode, checkOf: CheckOf): Check {
  const below = modeBelow(mode);
  const items = isSchema(schema.unevaluatedItems) ? checkOf(schema.unevaluatedItems, below) : undefined;
  const properties = isSchema(schema.unevaluatedProperties) ? checkOf(schema.unevaluatedProperties, below) : undefined;
  return (value, context, marks) => {
    let ok = true;
    const shared = mode === 'shared' ? marks : undefined;
    if (Array.isArray(value)) {
      if (!items) return true;
      for (let i = marks!.items; i < value.length; i++) {
        if (marks!.indexes?.has(i)) continue;
        ok =
          (schema.unevaluatedItems === false
            ? context.reportAt(i, 'unevaluatedItems', messages.unevaluatedItems)
            : context.below(i, items, value[i], shared)) && ok;
      }
      marks!.items = value.length;
      return ok;
    }
    if (!properties) return true;
    for (const name in value as SchemaObject) {
      if (marks!.names.has(name)) continue;
      marks!.names.add(name);
      ok =
        (schema.unevaluatedProperties === false
          ? context.reportAt(name, 'unevaluatedProperties', messages.additionalProperties, { allowed: marks!.known() })
          : context.below(name, properties, (value as SchemaObject)[name], shared)) && ok;
    }
    return ok;
  };
}
