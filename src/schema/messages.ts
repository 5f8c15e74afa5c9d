/** What a violation says, by keyword. */
import type { Text } from '../errors.ts';

export const messages = {
  type: { en: 'must be {type}, got {actual}', zh: '类型必须为 {type}，实际为 {actual}' },
  enum: { en: 'must be one of {allowed}', zh: '必须为以下值之一：{allowed}' },
  const: { en: 'must be {expected}', zh: '必须为 {expected}' },
  required: { en: 'is required', zh: '为必填项' },
  additionalProperties: {
    en: 'is not a field of the model; known here are: {allowed}',
    zh: '不是模型的字段；此处已知的字段为：{allowed}',
  },
  minLength: {
    en: 'must have at least {limit} {limit|character|characters}, has {length}',
    zh: '至少需要 {limit} 个字符，实际为 {length} 个',
  },
  maxLength: {
    en: 'must have at most {limit} {limit|character|characters}, has {length}',
    zh: '最多 {limit} 个字符，实际为 {length} 个',
  },
  pattern: { en: 'must match the pattern {pattern}', zh: '必须匹配模式 {pattern}' },
  format: { en: 'must be of the format {format}: {expected}', zh: '必须符合格式 {format}：{expected}' },
  minimum: { en: 'must be at least {limit}', zh: '必须大于或等于 {limit}' },
  maximum: { en: 'must be at most {limit}', zh: '必须小于或等于 {limit}' },
  exclusiveMinimum: { en: 'must be greater than {limit}', zh: '必须大于 {limit}' },
  exclusiveMaximum: { en: 'must be less than {limit}', zh: '必须小于 {limit}' },
  multipleOf: { en: 'must be a multiple of {limit}', zh: '必须为 {limit} 的倍数' },
  minItems: {
    en: 'must have at least {limit} {limit|item|items}, has {count}',
    zh: '至少需要 {limit} 项，实际为 {count} 项',
  },
  maxItems: {
    en: 'must have at most {limit} {limit|item|items}, has {count}',
    zh: '最多 {limit} 项，实际为 {count} 项',
  },
  uniqueItems: {
    en: 'must not contain equal items: items {first} and {second} are equal',
    zh: '不能包含相同的项：第 {first} 项与第 {second} 项相同',
  },
  contains: {
    en: 'must have at least {limit} {limit|item|items} of the kind it has to contain, has {count}',
    zh: '至少需要包含 {limit} 个符合要求的项，实际为 {count} 个',
  },
  maxContains: {
    en: 'must have at most {limit} {limit|item|items} of the kind it has to contain, has {count}',
    zh: '最多只能包含 {limit} 个符合要求的项，实际为 {count} 个',
  },
  unevaluatedItems: { en: 'is an item that the model does not allow', zh: '是模型不允许的项' },
  minProperties: {
    en: 'must have at least {limit} {limit|member|members}, has {count}',
    zh: '至少需要 {limit} 个成员，实际为 {count} 个',
  },
  maxProperties: {
    en: 'must have at most {limit} {limit|member|members}, has {count}',
    zh: '最多 {limit} 个成员，实际为 {count} 个',
  },
  propertyNames: { en: 'is not an allowed name: {reason}', zh: '不是允许的名称：{reason}' },
  dependentRequired: { en: 'is required beside "{name}"', zh: '存在 "{name}" 时为必填项' },
  anyOf: { en: 'must satisfy at least one of the alternatives', zh: '必须至少符合其中一个备选模式' },
  oneOf: { en: 'must satisfy one of the alternatives, satisfies none', zh: '必须符合其中一个备选模式，实际均不符合' },
  oneOfMany: {
    en: 'must satisfy exactly one of the alternatives, satisfies {passing}',
    zh: '必须恰好符合一个备选模式，实际符合 {passing}',
  },
  not: { en: 'must not satisfy the excluded schema', zh: '不得符合被排除的模式' },
  false: { en: 'is not allowed', zh: '不允许出现' },
  steps: {
    en: 'takes more than {limit} steps to validate; send fewer items or shorter texts, or simplify the schema',
    zh: '与模型比较需要超过 {limit} 步；请减少项数、缩短文本或简化模式',
  },
} as const satisfies Record<string, Text>;
