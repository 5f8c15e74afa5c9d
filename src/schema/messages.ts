/** What a violation says, by keyword. */

import type { Text } from '../errors.ts';
import { localized } from '../locales/localized.ts';

export const messages = {
  type: localized('must be {type}, got {actual}'),
  enum: localized('must be one of {allowed}'),
  const: localized('must be {expected}'),
  required: localized('is required'),
  additionalProperties: localized('is not a field of the model; known here are: {allowed}'),
  minLength: localized('must have at least {limit} {limit|character|characters}, has {length}'),
  maxLength: localized('must have at most {limit} {limit|character|characters}, has {length}'),
  pattern: localized('must match the pattern {pattern}'),
  format: localized('must be of the format {format}: {expected}'),
  minimum: localized('must be at least {limit}'),
  maximum: localized('must be at most {limit}'),
  exclusiveMinimum: localized('must be greater than {limit}'),
  exclusiveMaximum: localized('must be less than {limit}'),
  multipleOf: localized('must be a multiple of {limit}'),
  minItems: localized('must have at least {limit} {limit|item|items}, has {count}'),
  maxItems: localized('must have at most {limit} {limit|item|items}, has {count}'),
  uniqueItems: localized('must not contain equal items: items {first} and {second} are equal'),
  listItem: localized('must not repeat {value}: item {first} has it already'),
  contains: localized('must have at least {limit} {limit|item|items} of the kind it has to contain, has {count}'),
  maxContains: localized('must have at most {limit} {limit|item|items} of the kind it has to contain, has {count}'),
  unevaluatedItems: localized('is an item that the model does not allow'),
  minProperties: localized('must have at least {limit} {limit|member|members}, has {count}'),
  maxProperties: localized('must have at most {limit} {limit|member|members}, has {count}'),
  propertyNames: localized('is not an allowed name: {reason}'),
  dependentRequired: localized('is required beside "{name}"'),
  anyOf: localized('must satisfy at least one of the alternatives'),
  oneOf: localized('must satisfy one of the alternatives, satisfies none'),
  oneOfMany: localized('must satisfy exactly one of the alternatives, satisfies {passing}'),
  not: localized('must not satisfy the excluded schema'),
  false: localized('is not allowed'),
  steps: localized(
    'takes more than {limit} steps to validate; send fewer items or shorter texts, or simplify the schema',
  ),
} as const satisfies Record<string, Text>;
