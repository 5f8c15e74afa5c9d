/** One violation of a schema in the words of Kubernetes. */
import type { RuleParams } from '../cel/evaluation.ts';
import { rulesKeyword } from '../cel/rule-compiler.ts';
import type { Violation } from '../errors.ts';
import { unescapeToken } from '../errors.ts';
import { fieldPath } from '../resource/prune.ts';

/** One reason of a Status, for people and for programs. */
export interface Cause {
  readonly reason: string;
  readonly message: string;
  readonly field?: string;
}

/** Characters of a value that a message shows. */
const shownLength = 200;

/** @param object where the value of the violation is looked for */
export function causeOf({ pointer, keyword, message, params }: Violation, object: unknown): Cause {
  const field = fieldPath(pointer);
  const found = valueAt(object, pointer);
  const told = messageOf(keyword, field, message, (params ?? {}) as Record<string, unknown>, found);
  const cause = told ?? { reason: 'FieldValueInvalid', message: `Invalid value: ${shown(found)}: ${message}` };
  return { ...cause, ...(field !== '' && { field }) };
}

function messageOf(
  keyword: string,
  field: string,
  text: string,
  params: Record<string, unknown>,
  value: unknown,
): Cause | undefined {
  const { limit, type, pattern, allowed, expected, format, count, value: key } = params;
  const invalid = (rule: string): Omit<Cause, 'field'> => ({
    reason: 'FieldValueInvalid',
    message: `Invalid value: ${shown(value)}: ${field} in body ${rule}`,
  });
  switch (keyword) {
    case 'required':
      return { reason: 'FieldValueRequired', message: 'Required value' };
    case 'type': {
      const got = JSON.stringify(typeOf(value));
      const wanted = String(type ?? expected);
      const message = `Invalid value: ${got}: ${field} in body must be of type ${wanted}: ${got}`;
      return { reason: 'FieldValueTypeInvalid', message };
    }
    case 'enum':
    case 'const': {
      const values = String(allowed ?? expected);
      return {
        reason: 'FieldValueNotSupported',
        message: `Unsupported value: ${shown(value)}: supported values: ${values}`,
      };
    }
    case 'pattern':
      return pattern === undefined ? undefined : invalid(`should match '${pattern}'`);
    case 'format':
      return invalid(`must be of type ${format}: ${shown(value)}`);
    case 'minimum':
      return invalid(`should be greater than or equal to ${limit}`);
    case 'maximum':
      return invalid(`should be less than or equal to ${limit}`);
    case 'exclusiveMinimum':
      return invalid(`should be greater than ${limit}`);
    case 'exclusiveMaximum':
      return invalid(`should be less than ${limit}`);
    case 'multipleOf':
      return invalid(`should be a multiple of ${limit}`);
    case 'minLength':
      return invalid(`should be at least ${limit ?? 1} chars long`);
    case 'minItems':
      return invalid(`should have at least ${limit} items`);
    case 'minProperties':
      return invalid(`should have at least ${limit} properties`);
    case 'maxLength':
      return { reason: 'FieldValueTooLong', message: `Too long: may not be more than ${limit} bytes` };
    case 'maxItems':
    case 'maxProperties': {
      const message = `Too many: ${count}: must have at most ${limit} items`;
      return { reason: 'FieldValueTooMany', message };
    }
    case 'uniqueItems':
      return { reason: 'FieldValueDuplicate', message: `Duplicate value: ${shown(value)}` };
    case 'x-kubernetes-list-type':
      return { reason: 'FieldValueDuplicate', message: `Duplicate value: ${JSON.stringify(key)}` };
    case rulesKeyword:
      return params.rule === undefined ? unchecked : ruleCause(params as unknown as RuleParams);
    case 'anyOf':
      return invalid('must validate at least one schema (anyOf)');
    case 'oneOf':
      return invalid('must validate one and only one schema (oneOf)');
    case 'not':
      return invalid('must not validate the schema (not)');
    case 'forbidden':
      return { reason: 'FieldValueForbidden', message: `Forbidden: ${text}` };
    case 'reserved':
      return { reason: 'FieldValueForbidden', message: 'Forbidden: the key is reserved' };
    default:
      return undefined;
  }
}

/** Of rules that are not asked about an object that breaks its schema. */
const unchecked: Cause = {
  reason: 'FieldValueInvalid',
  message:
    'Invalid value: "null": some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
  field: '<nil>',
};

function ruleCause({ reason, type, detail }: RuleParams): Omit<Cause, 'field'> {
  switch (reason) {
    case 'FieldValueForbidden':
      return { reason, message: `Forbidden: ${detail}` };
    case 'FieldValueRequired':
      return { reason, message: `Required value: ${detail}` };
    case 'FieldValueDuplicate':
      return { reason, message: `Duplicate value: ${JSON.stringify(type)}` };
    default:
      return { reason, message: `Invalid value: ${JSON.stringify(type)}: ${detail}` };
  }
}

function typeOf(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
}

/** Of an object or list only what it is. */
function shown(value: unknown): string {
  if (typeof value === 'object' && value !== null) return JSON.stringify(typeOf(value));
  const text = typeof value === 'string' ? value : (value ?? null);
  return JSON.stringify(
    typeof text === 'string' && text.length > shownLength ? `${text.slice(0, shownLength).toWellFormed()}…` : text,
  );
}

function valueAt(object: unknown, pointer: string): unknown {
  let value = object;
  for (const token of pointer.split('/').slice(1).map(unescapeToken)) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, token)) return undefined;
    value = (value as Record<string, unknown>)[token];
  }
  return value;
}
