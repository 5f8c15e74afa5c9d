/** Validation of whole objects against their model (contract section 2); metadata has its own rules in `metadata.ts`. */
import type { Text, Violation } from '../errors.ts';
import { escapeToken, violation } from '../errors.ts';
import type { Declaration } from './declaration.ts';
import type { ExtensionObject } from './object.ts';

export interface Validator {
  /** Sets the defaults of absent members, in place; called on writes, before `validate`. */
  applyDefaults(object: ExtensionObject): void;
  /**
   * Everything about one whole object but metadata's own rules: the model's schema, closedness at every depth.
   * All violations; none for a valid object.
   */
  validate(object: ExtensionObject): Violation[];
}

const requiredText: Text = { en: 'is required', zh: '为必填项' };
const unknownText: Text = {
  en: 'is not a field of the model; known here are {allowed}',
  zh: '不是模型的字段；此处已知的字段为 {allowed}',
};

/** Compiles the schemas of a declaration. */
export function createValidator({ documents, specRequired }: Declaration): Validator {
  const { fields } = documents;
  if (fields) {
    const defaults = fields.defaults();
    return {
      applyDefaults: (object) => {
        defaults?.(object);
      },
      validate: ({ apiVersion, kind, metadata, ...rest }) => fields.validate(rest, ''),
    };
  }

  const allowed = ['apiVersion', 'kind', 'metadata', ...Object.keys(documents)];
  const parts = Object.entries(documents).map(([name, document]) => {
    return { name, document, pointer: `/${name}`, defaults: document.defaults() };
  });
  const withDefaults = parts.filter(({ document, defaults }) => defaults || document.initial() !== undefined);

  return {
    applyDefaults(object) {
      for (const { name, document, defaults } of withDefaults) {
        if (object[name] === undefined) {
          const initial = document.initial();
          if (initial === undefined) continue;
          object[name] = initial;
        }
        defaults?.(object[name]);
      }
    },
    validate(object) {
      let violations: Violation[] = [];
      for (const { name, document, pointer } of parts) {
        const value = Object.hasOwn(object, name) ? object[name] : undefined;
        if (value !== undefined) {
          const found = document.validate(value, pointer);
          if (found.length > 0) violations = violations.concat(found);
        } else if (name === 'spec' && specRequired) {
          violations.push(violation('/spec', 'required', requiredText));
        }
      }
      for (const name in object) {
        if (allowed.includes(name)) continue;
        violations.push(
          violation(`/${escapeToken(name)}`, 'additionalProperties', unknownText, { allowed: allowed.join(', ') }),
        );
      }
      return violations;
    },
  };
}
