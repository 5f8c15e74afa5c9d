/** Compiles schemas to checks, once for each mode. */
import { anyOfCheck, conditionalCheck, notCheck, oneOfCheck } from './alternatives.ts';
import { arrayCheck } from './arrays.ts';
import { constCheck, enumCheck, numberChecks, stringChecks, typeCheck, typeName } from './assertions.ts';
import type { CheckOf, Mode, PatternOf } from './check.ts';
import { holds, refuses } from './check.ts';
import type { Check } from './context.ts';
import type { Format } from './formats.ts';
import type { JsonSchema, SchemaObject } from './keywords.ts';
import { isContainer, isPureReference, isSchema, sharingKeywords, unevaluatedKeywords } from './keywords.ts';
import { Marks } from './marks.ts';
import { messages } from './messages.ts';
import { objectCheck } from './objects.ts';
import type { References, Resource } from './references.ts';
import { unevaluatedCheck } from './unevaluated.ts';
import { refuseUnknown } from './unknown-members.ts';

export class Compiler {
  readonly #references: References;
  readonly #patternOf: PatternOf;
  readonly #formats: ReadonlyMap<string, Format>;
  readonly #isLazy: boolean;
  readonly #checks = new Map<SchemaObject, Map<Mode, Check>>();

  /** @param isLazy a schema is compiled when the first value meets it */
  constructor(references: References, patternOf: PatternOf, formats: ReadonlyMap<string, Format>, isLazy = false) {
    this.#references = references;
    this.#patternOf = patternOf;
    this.#formats = formats;
    this.#isLazy = isLazy;
  }

  readonly checkOf: CheckOf = (schema, mode) => {
    if (schema === true) return holds;
    if (schema === false) return refuses;
    let byMode = this.#checks.get(schema);
    if (!byMode) {
      byMode = new Map();
      this.#checks.set(schema, byMode);
    }
    const known = byMode.get(mode);
    if (known) return known;
    if (this.#isLazy) {
      const check = this.#later(schema, mode);
      byMode.set(mode, check);
      return check;
    }
    // Stands in while the schema is compiled, for schemas that contain themselves.
    const modes = byMode;
    modes.set(mode, (value, context, marks) => modes.get(mode)!(value, context, marks));
    const check = this.#inResource(schema, this.#compile(schema, mode));
    modes.set(mode, check);
    return check;
  };

  #later(schema: SchemaObject, mode: Mode): Check {
    let compiled: Check | undefined;
    return (value, context, marks) => {
      compiled ??= this.#compile(schema, mode);
      return compiled(value, context, marks);
    };
  }

  /** What the `$ref` of a schema means. */
  targetOf(schema: SchemaObject): JsonSchema {
    return this.#references.target(schema, '$ref').schema;
  }

  #inResource(schema: SchemaObject, check: Check): Check {
    if (!this.#references.dynamic || typeof schema.$id !== 'string') return check;
    return within(this.#references.places.get(schema)!.resource, check);
  }

  #compile(schema: SchemaObject, mode: Mode): Check {
    const unevaluated = unevaluatedKeywords.some((keyword) => keyword in schema);
    const shares = sharingKeywords.some((keyword) => keyword in schema);
    if (mode === 'inline' && (shares || unevaluated)) {
      if (!unevaluated && isPureReference(schema)) return this.#reference(schema, 'inline');
      return this.#counting(schema);
    }
    if (unevaluated && mode === 'open') {
      const marked = this.checkOf(schema, 'marked');
      return (value, context) => marked(value, context, isContainer(value) ? new Marks() : undefined);
    }
    const check = this.#assertions(schema, mode);
    if (!unevaluated) return check;
    const rest = unevaluatedCheck(schema, mode, this.checkOf);
    return (value, context, marks) => {
      if (!isContainer(value)) return check(value, context, undefined);
      context.spendMarks(2);
      const own = new Marks();
      let ok = check(value, context, own);
      if (!ok && context.silent) return false;
      ok = rest(value, context, own) && ok;
      marks?.merge(own, context);
      return ok;
    };
  }

  /** Where several schemas apply to one place: each marks what it knows, then what nobody knows is refused. */
  #counting(schema: SchemaObject): Check {
    const plain = this.checkOf(schema, 'open');
    const shared = this.checkOf(schema, 'shared');
    return (value, context) => {
      if (!isContainer(value)) return plain(value, context, undefined);
      context.spendMarks(1);
      const marks = new Marks();
      const ok = shared(value, context, marks);
      if (!ok && context.silent) return false;
      return refuseUnknown(value, context, marks) && ok;
    };
  }

  #reference(schema: SchemaObject, mode: Mode): Check {
    const { schema: target, resource } = this.#references.target(schema, '$ref');
    const check = this.checkOf(target, mode);
    return this.#references.dynamic ? within(resource, check) : check;
  }

  #dynamicReference(schema: SchemaObject, mode: Mode): Check {
    const { schema: target, resource, anchor } = this.#references.target(schema, '$dynamicRef');
    const first = within(resource, this.checkOf(target, mode));
    if (anchor === undefined || typeof target !== 'object' || target.$dynamicAnchor !== anchor) return first;
    return (value, context, marks) => {
      for (const scope of context.scopes) {
        const outer = scope.dynamicAnchors.get(anchor);
        if (outer) return within(scope, this.checkOf(outer, mode))(value, context, marks);
      }
      return first(value, context, marks);
    };
  }

  #assertions(schema: SchemaObject, mode: Mode): Check {
    const type = typeCheck(schema.type);
    const checks = this.#anyChecks(schema, mode);
    const strings = stringChecks(schema, this.#patternOf, this.#formats);
    const numbers = numberChecks(schema, this.#formats);
    const arrays = arrayCheck(schema, mode, this.checkOf);
    const objects = objectCheck(schema, mode, this.checkOf, this.#patternOf);
    const names = Array.isArray(schema.type) ? schema.type.join(', ') : schema.type;
    return (value, context, marks) => {
      if (type !== undefined && !type(value)) {
        return context.report('type', messages.type, { type: names, actual: typeName(value) });
      }
      let ok = true;
      switch (typeof value) {
        case 'string':
          for (let i = 0; i < strings.length; i++) if (!strings[i]!(value, context)) ok = false;
          break;
        case 'number':
          for (let i = 0; i < numbers.length; i++) if (!numbers[i]!(value, context)) ok = false;
          break;
        case 'object':
          if (value === null) break;
          if (Array.isArray(value)) {
            if (arrays !== undefined && !arrays(value, context, marks)) ok = false;
          } else if (objects !== undefined && !objects(value as SchemaObject, context, marks)) ok = false;
      }
      if (!ok && context.silent) return false;
      for (let i = 0; i < checks.length; i++) {
        if (!checks[i]!(value, context, marks)) {
          if (context.silent) return false;
          ok = false;
        }
      }
      return ok;
    };
  }

  /** Keywords for values of every type. */
  #anyChecks(schema: SchemaObject, mode: Mode): Check[] {
    const checks: Check[] = [];
    if (Array.isArray(schema.enum)) checks.push(enumCheck(schema.enum));
    if ('const' in schema) checks.push(constCheck(schema.const));
    if (typeof schema.$ref === 'string') checks.push(this.#reference(schema, mode));
    if (typeof schema.$dynamicRef === 'string') checks.push(this.#dynamicReference(schema, mode));
    if (Array.isArray(schema.allOf)) for (const one of schema.allOf) checks.push(this.checkOf(one, mode));
    if (Array.isArray(schema.anyOf)) checks.push(anyOfCheck(schema.anyOf, mode, this));
    if (Array.isArray(schema.oneOf)) checks.push(oneOfCheck(schema.oneOf, mode, this));
    if (isSchema(schema.not)) checks.push(notCheck(schema.not, this.checkOf));
    if (isSchema(schema.if)) checks.push(conditionalCheck(schema, mode, this.checkOf));
    return checks;
  }
}

function within(resource: Resource, check: Check): Check {
  return (value, context, marks) => {
    context.scopes.push(resource);
    const ok = check(value, context, marks);
    context.scopes.pop();
    return ok;
  };
}
