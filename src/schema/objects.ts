/** Keywords for objects. */

import type { CheckOf, Mode, PatternOf } from './check.ts';
import { modeBelow } from './check.ts';
import type { Context } from './context.ts';
import type { JsonSchema, SchemaObject } from './keywords.ts';
import { isObject, isSchema, tellsApart } from './keywords.ts';
import type { Marks } from './marks.ts';
import { messages } from './messages.ts';

export function objectCheck(
  schema: SchemaObject,
  mode: Mode,
  checkOf: CheckOf,
  patternOf: PatternOf,
): ((value: SchemaObject, context: Context, marks: Marks | undefined) => boolean) | undefined {
  const below = modeBelow(mode);
  const declared = isObject(schema.properties) ? Object.entries(schema.properties) : [];
  const properties = new Map(declared.map(([name, one]) => [name, checkOf(one as JsonSchema, below)]));
  const patterns = Object.entries(isObject(schema.patternProperties) ? schema.patternProperties : {}).map(
    ([source, one]) => ({ pattern: patternOf(source), check: checkOf(one as JsonSchema, below) }),
  );
  const saysAdditional = isSchema(schema.additionalProperties);
  const closes = isObject(schema.properties) && !saysAdditional && !('unevaluatedProperties' in schema);
  const additional =
    schema.additionalProperties === false || (closes && mode === 'inline')
      ? undefined
      : checkOf(saysAdditional ? (schema.additionalProperties as JsonSchema) : true, below);
  const names = [...properties.keys()];
  const allowed = names.join(', ');
  const required = Array.isArray(schema.required) ? (schema.required as string[]) : [];
  const others = objectLimits(schema, mode, checkOf);
  // Members that tell alternatives apart come first: a recursive union would else try every combination.
  const telling = mode === 'inline' ? [] : declared.filter(([, one]) => tellsApart(one)).map(([name]) => name);
  const eachMember = isObject(schema.properties) || patterns.length > 0 || saysAdditional;
  const closesShared = closes && mode === 'shared';
  if (!eachMember && required.length === 0 && others.length === 0) return undefined;

  return (value, context, marks) => {
    let ok = true;
    if (context.silent) {
      for (let i = 0; i < telling.length; i++) {
        const name = telling[i]!;
        if (Object.hasOwn(value, name) && !properties.get(name)!(value[name], context, undefined)) return false;
      }
    }
    for (let i = 0; i < required.length; i++) {
      const name = required[i]!;
      if (Object.hasOwn(value, name) && value[name] !== undefined) continue;
      if (context.silent) return false;
      ok = context.reportAt(name, 'required', messages.required);
    }
    if (eachMember) {
      const shared = mode === 'shared' ? marks : undefined;
      for (const name in value) {
        const member = value[name];
        if (member === undefined) continue;
        const check = properties.get(name);
        let known = check !== undefined;
        if (check !== undefined && !context.below(name, check, member, shared)) {
          if (context.silent) return false;
          ok = false;
        }
        for (let i = 0; i < patterns.length; i++) {
          const { pattern, check: matching } = patterns[i]!;
          context.spend(2 + name.length * pattern.cost);
          if (!pattern.test(name)) continue;
          known = true;
          if (!context.below(name, matching, member, shared)) {
            if (context.silent) return false;
            ok = false;
          }
        }
        if (!known) {
          if (additional === undefined) {
            if (context.silent) return false;
            ok = context.reportAt(name, 'additionalProperties', messages.additionalProperties, { allowed });
          } else if (saysAdditional && !context.below(name, additional, member, shared)) {
            if (context.silent) return false;
            ok = false;
          }
        }
        if (marks && (known || saysAdditional)) marks.names.add(name);
      }
      if (closesShared && marks) marks.close(names);
    }
    for (let i = 0; i < others.length; i++) {
      if (!others[i]!(value, context, marks)) {
        if (context.silent) return false;
        ok = false;
      }
    }
    return ok;
  };
}

function objectLimits(
  schema: SchemaObject,
  mode: Mode,
  checkOf: CheckOf,
): ((value: SchemaObject, context: Context, marks: Marks | undefined) => boolean)[] {
  const checks: ((value: SchemaObject, context: Context, marks: Marks | undefined) => boolean)[] = [];
  const { minProperties, maxProperties } = schema as Record<string, number | undefined>;
  if (minProperties !== undefined) {
    checks.push((value, context) => {
      const count = Object.keys(value).length;
      return (
        count >= minProperties ||
        context.report('minProperties', messages.minProperties, { limit: minProperties, count })
      );
    });
  }
  if (maxProperties !== undefined) {
    checks.push((value, context) => {
      const count = Object.keys(value).length;
      return (
        count <= maxProperties ||
        context.report('maxProperties', messages.maxProperties, { limit: maxProperties, count })
      );
    });
  }
  if (isSchema(schema.propertyNames)) {
    const check = checkOf(schema.propertyNames, 'open');
    checks.push((value, context) => {
      let ok = true;
      for (const name of Object.keys(value)) {
        if (context.holds(check, name)) continue;
        if (context.silent) return false;
        const reason = context.reasons(check, name);
        ok = context.reportAt(name, 'propertyNames', messages.propertyNames, { reason });
      }
      return ok;
    });
  }
  const dependencies = [schema.dependencies, schema.dependentRequired].filter(isObject);
  for (const [name, needed] of dependencies.flatMap((map) => Object.entries(map))) {
    if (!Array.isArray(needed)) continue;
    checks.push((value, context) => {
      if (!Object.hasOwn(value, name)) return true;
      let ok = true;
      for (const other of needed as string[]) {
        if (!Object.hasOwn(value, other))
          ok = context.reportAt(other, 'dependentRequired', messages.dependentRequired, { name });
      }
      return ok;
    });
  }
  for (const map of [schema.dependencies, schema.dependentSchemas]) {
    if (!isObject(map)) continue;
    for (const [name, one] of Object.entries(map)) {
      if (!isSchema(one)) continue;
      const check = checkOf(one, mode);
      checks.push((value, context, marks) => !Object.hasOwn(value, name) || check(value, context, marks));
    }
  }
  return checks;
}
