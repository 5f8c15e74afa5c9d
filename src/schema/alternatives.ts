/** Keywords that choose among schemas for the same value. */
import type { Text } from '../errors.ts';
import { constCheck, typeCheck } from './assertions.ts';
import type { CheckOf, Mode } from './check.ts';
import { holds } from './check.ts';
import type { Check, Context } from './context.ts';
import type { JsonSchema, SchemaObject } from './keywords.ts';
import { isContainer, isObject, isSchema, tellsApart } from './keywords.ts';
import { Marks } from './marks.ts';
import { messages } from './messages.ts';

/** What compiles the alternatives. */
interface Subschemas {
  readonly checkOf: CheckOf;
  /** What the `$ref` of a schema means. */
  targetOf(schema: SchemaObject): JsonSchema;
}

interface Branch {
  readonly check: Check;
  /** True for a value of the branch's shape: its type, and the members that tell alternatives apart. */
  readonly fits: Check;
}

function branch(schema: JsonSchema, mode: Mode, subschemas: Subschemas): Branch {
  return { check: subschemas.checkOf(schema, mode), fits: shape(schema, mode, subschemas) };
}

function shape(schema: JsonSchema, mode: Mode, subschemas: Subschemas): Branch['fits'] {
  if (typeof schema !== 'object') return () => schema;
  const type = typeCheck(schema.type);
  const constant = 'const' in schema ? constCheck(schema.const) : holds;
  const members = Object.entries(isObject(schema.properties) ? schema.properties : {})
    .filter(([, one]) => tellsApart(one))
    .map(([name, one]) => ({ name, check: subschemas.checkOf(one as JsonSchema, mode) }));
  const target = typeof schema.$ref === 'string' ? shape(subschemas.targetOf(schema), mode, subschemas) : undefined;
  return (value, context) => {
    if (type && !type(value)) return false;
    if (!constant(value, context, undefined)) return false;
    if (isObject(value)) {
      for (const { name, check } of members) {
        if (Object.hasOwn(value, name) && !check(value[name], context, undefined)) return false;
      }
    }
    return !target || target(value, context, undefined);
  };
}

export function anyOfCheck(schemas: readonly JsonSchema[], mode: Mode, subschemas: Subschemas): Check {
  const branches = schemas.map((one) => branch(one, mode, subschemas));
  return (value, context, marks) => {
    let passed = false;
    for (const { check } of branches) {
      const own = marks && new Marks();
      if (!context.holds(check, value, own)) continue;
      passed = true;
      if (!marks) break;
      marks.merge(own!, context);
    }
    return passed || reportBranches('anyOf', messages.anyOf, branches, value, context, marks);
  };
}

export function oneOfCheck(schemas: readonly JsonSchema[], mode: Mode, subschemas: Subschemas): Check {
  const branches = schemas.map((one) => branch(one, mode, subschemas));
  return (value, context, marks) => {
    const passing: number[] = [];
    for (let i = 0; i < branches.length; i++) {
      const own = marks && new Marks();
      if (!context.holds(branches[i]!.check, value, own)) continue;
      passing.push(i);
      if (own) marks!.merge(own, context);
    }
    if (passing.length === 1) return true;
    if (passing.length > 1) return context.report('oneOf', messages.oneOfMany, { passing });
    return reportBranches('oneOf', messages.oneOf, branches, value, context, marks);
  };
}

export function notCheck(schema: JsonSchema, checkOf: CheckOf): Check {
  const check = checkOf(schema, 'open');
  return (value, context) => {
    return !context.holds(check, value) || context.report('not', messages.not);
  };
}

export function conditionalCheck(schema: SchemaObject, mode: Mode, checkOf: CheckOf): Check {
  const condition = checkOf(schema.if as JsonSchema, mode);
  const yes = isSchema(schema.then) ? checkOf(schema.then, mode) : holds;
  const no = isSchema(schema.else) ? checkOf(schema.else, mode) : holds;
  return (value, context, marks) => {
    const own = marks && new Marks();
    if (!context.holds(condition, value, own)) return no(value, context, marks);
    if (own) marks!.merge(own, context);
    return yes(value, context, marks);
  };
}

/** Reports that no branch holds; with it, when one branch alone is of the value's shape, what is wrong there. */
function reportBranches(
  keyword: string,
  text: Text,
  branches: readonly Branch[],
  value: unknown,
  context: Context,
  marks: Marks | undefined,
): false {
  if (context.silent) return false;
  context.report(keyword, text);
  const fitting = branches.filter(({ fits }) => context.holds(fits, value));
  if (fitting.length === 1) fitting[0]!.check(value, context, marks);
  // Which members are unknown depends on the branch that was meant.
  else if (isContainer(value)) marks?.knowAll(value);
  return false;
}
