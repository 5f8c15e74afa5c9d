/** Validation of whole objects against their model (docs/reference/objects.md); metadata has its own rules in `metadata.ts`. */

import { rulesKeyword } from '../cel/rule-compiler.ts';
import type { CompiledRules } from '../cel/rules.ts';
import type { Text } from '../errors.ts';
import { escapeToken, Violations } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import type { TimeSlice } from '../schema/context.ts';
import type { DefaultLimits } from '../schema/defaults.ts';
import type { SchemaDocument } from '../schema/document.ts';
import type { ExtensionObject } from './object.ts';

export interface Validator {
  /**
   * Sets the defaults of absent members, in place; called on writes, before `validate`.
   * @throws PayloadTooLarge when they are too many for one object
   */
  applyDefaults(object: ExtensionObject, limits?: DefaultLimits): void;
  /**
   * Everything about one whole object but metadata's own rules: the model's schema, closedness at every depth, rules but for
   * those about changes. Adds to what was found before; nothing for a valid object.
   */
  validate(object: ExtensionObject, found?: Violations): Violations;
  /**
   * The same without rules, for objects of any size, with turns for others in between: a promise when there is more to
   * check than at once.
   */
  validateInParts(object: ExtensionObject, found: Violations, slice: TimeSlice): Promise<void> | undefined;
  /** Undefined for a model without rules. */
  readonly rules: CompiledRules | undefined;
  /**
   * Takes away in place what the model does not know, before defaults are set; what `validate` says is unknown goes as well.
   * @returns pointers to what is gone
   */
  prune?(object: ExtensionObject): readonly string[];
}

const requiredText: Text = localized('is required');
const unknownText: Text = localized('is not a field of the model; known here are {allowed}');

const uncheckedText: Text = localized('some rules were not checked, because of the other violations');

/** What a value must be for its rules to be asked, as in Kubernetes. */
const typing: readonly string[] = [
  'type',
  'required',
  'enum',
  'const',
  'maxLength',
  'maxItems',
  'maxProperties',
  'limit',
];

/** True, with a violation that says so, when rules cannot be asked about an object for what was found. */
export function isTooWrong(found: Violations): boolean {
  const is = found.count > found.listed.length || found.listed.some(({ keyword }) => typing.includes(keyword));
  if (is) found.add('', rulesKeyword, uncheckedText);
  return is;
}

/** Adds what the rules of a new object find, unless what was found before is in the way. */
export function checkRules(
  { rules }: Pick<Validator, 'rules'>,
  object: ExtensionObject,
  found: Violations,
): Violations {
  if (rules && !isTooWrong(found)) for (const one of rules.check(object)) found.take(one);
  return found;
}

/** What a declaration says of objects. */
interface Declared {
  readonly documents: {
    readonly spec?: SchemaDocument;
    readonly status?: SchemaDocument;
    readonly fields?: SchemaDocument;
  };
  readonly specRequired: boolean;
  readonly rules?: CompiledRules;
  readonly prune?: Validator['prune'];
}

/** Compiles the schemas of a declaration. */
export function createValidator({ documents, specRequired, rules, prune }: Declared): Validator {
  const { fields } = documents;
  if (fields) {
    const defaults = fields.defaults();
    return {
      applyDefaults: (object, limits) => {
        defaults?.(object, limits);
      },
      rules,
      ...(prune && { prune }),
      validate(object, found = new Violations()) {
        const { apiVersion, kind, metadata, ...rest } = object;
        return checkRules({ rules }, object, fields.validate(rest, '', found));
      },
      validateInParts: ({ apiVersion, kind, metadata, ...rest }, found, slice) =>
        fields.validateInParts(rest, '', found, slice),
    };
  }

  const allowed = ['apiVersion', 'kind', 'metadata', ...Object.keys(documents)];
  const parts = Object.entries(documents).map(([name, document]) => {
    return { name, document, pointer: `/${name}`, defaults: document.defaults() };
  });
  function* documentsOf(object: ExtensionObject) {
    for (const { name, document, pointer } of parts) {
      const value = Object.hasOwn(object, name) ? object[name] : undefined;
      if (value !== undefined) yield { document, value, pointer };
    }
  }

  const checkMembers = (object: ExtensionObject, found: Violations): void => {
    const spec = Object.hasOwn(object, 'spec') ? object.spec : undefined;
    if (specRequired && spec === undefined) found.add('/spec', 'required', requiredText);
    for (const name in object) {
      if (found.isFull) break;
      if (allowed.includes(name)) continue;
      found.add(`/${escapeToken(name)}`, 'additionalProperties', unknownText, { allowed: allowed.join(', ') });
    }
  };

  const withDefaults = parts.filter(({ document, defaults }) => defaults || document.initial() !== undefined);

  return {
    applyDefaults(object, limits) {
      for (const { name, document, defaults } of withDefaults) {
        if (object[name] === undefined) {
          const initial = document.initial();
          if (initial === undefined) continue;
          object[name] = initial;
        }
        defaults?.(object[name], limits);
      }
    },
    validate(object, found = new Violations()) {
      checkMembers(object, found);
      for (const { document, value, pointer } of documentsOf(object)) document.validate(value, pointer, found);
      return checkRules({ rules }, object, found);
    },
    rules,
    ...(prune && { prune }),
    validateInParts(object, found, slice) {
      checkMembers(object, found);
      let earlier: Promise<void> | undefined;
      for (const { document, value, pointer } of documentsOf(object)) {
        const validate = () => document.validateInParts(value, pointer, found, slice);
        earlier = earlier ? earlier.then(validate) : validate();
      }
      return earlier;
    },
  };
}
