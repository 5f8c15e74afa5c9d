/** Checks conditions and sorts against the indexes of a model and brings their values into the form of its keys. */

import type { Text } from '../errors.ts';
import { KindredError, messageOf } from '../errors.ts';
import { createdField, fieldAt, fieldNames, fieldNumber } from '../indexes/field.ts';
import { localized } from '../locales/localized.ts';
import type { IndexDefinition } from '../model/index-entry.ts';
import type { KeyCodec } from '../model/key.ts';
import type { Condition, Source } from './condition.ts';
import { dataOf } from './condition.ts';
import type { SortKey, SortTerm } from './query.ts';
import { invalidTerm } from './selector.ts';

/** Keys from `from` to `to`; a bound that is undefined is none. */
export interface KeyRange {
  readonly from: unknown;
  readonly to: unknown;
  readonly fromInclusive: boolean;
  readonly toInclusive: boolean;
}

/** Holds for an object when one of its keys in the field lies in one of the ranges and, if there is a text, passes it. */
export interface KeyCondition {
  readonly op: 'keys';
  readonly field: number;
  /** In the order of the keys, without overlap. */
  readonly ranges: readonly KeyRange[];
  readonly text?: { readonly at: 'end' | 'anywhere'; readonly text: string };
  readonly accepts: (key: unknown) => boolean;
}

interface LabelCondition {
  readonly op: 'label';
  readonly key: string;
  /** Absent: the label exists, with any value. */
  readonly values?: ReadonlySet<string>;
}

/** A condition of one model: fields are numbers, values are keys. */
export type Bound =
  | { readonly op: 'all' }
  | { readonly op: 'and' | 'or'; readonly of: readonly Bound[] }
  | { readonly op: 'not'; readonly of: Bound }
  | { readonly op: 'null'; readonly field: number }
  | KeyCondition
  | LabelCondition;

export interface BoundSort {
  readonly field: number;
  readonly descending: boolean;
}

/** Deepest nesting and largest number of conditions in one query. */
const maxDepth = 200;
const maxConditions = 10_000;

const texts = {
  field: localized('There is no index "{field}"; there are {allowed}'),
  value: localized('Invalid value for the index "{field}": {problem}'),
  text: localized('Text operators need an index of strings; the index "{field}" has keys of type {type}'),
  size: localized('A query has at most {maxConditions} conditions, nested at most {maxDepth} deep'),
  unknown: localized('There is no condition "{op}"'),
  sortField: localized('Cannot sort by "{field}": the indexes are {allowed}'),
  sortTwice: localized('The sort names the field "{field}" twice; the indexes are {allowed}'),
} satisfies Record<string, Text>;

/** Throws InvalidSelector: a field without an index, a value that is no key of it, a text condition on other keys than strings. */
export function bind(condition: Condition, definitions: readonly IndexDefinition[]): Bound {
  let left = maxConditions;

  function bound(condition: Condition, depth: number): Bound {
    if (depth > maxDepth || --left < 0)
      throw new KindredError('InvalidSelector', texts.size, { params: { maxConditions, maxDepth } });
    const data = dataOf(condition);
    switch (data.op) {
      case 'all':
        return { op: 'all' };
      case 'and':
      case 'or':
        return { op: data.op, of: data.conditions.map((one) => bound(one, depth + 1)) };
      case 'not':
        return { op: 'not', of: bound(data.condition, depth + 1) };
      case 'labelExists':
        return { op: 'label', key: data.key };
      case 'labelIn':
        return { op: 'label', key: data.key, values: new Set(data.values) };
      case 'isNull':
        return { op: 'null', field: fieldOf(data.field, data.source) };
      case 'equal': {
        const field = fieldOf(data.field, data.source);
        const { codec } = fieldAt(definitions, field);
        const key = keyOf(codec, data.value, data.field, data.source);
        return { op: 'keys', field, ranges: [single(key)], accepts: (other) => codec.compare(other, key) === 0 };
      }
      case 'in': {
        const field = fieldOf(data.field, data.source);
        const { codec } = fieldAt(definitions, field);
        const keys = data.values.map((value) => keyOf(codec, value, data.field, data.source));
        return oneOf(field, codec, keys);
      }
      case 'between': {
        const field = fieldOf(data.field, data.source);
        const { codec } = fieldAt(definitions, field);
        const range: KeyRange = {
          from: 'from' in data ? keyOf(codec, data.from, data.field, data.source) : undefined,
          to: 'to' in data ? keyOf(codec, data.to, data.field, data.source) : undefined,
          fromInclusive: data.inclusive.from,
          toInclusive: data.inclusive.to,
        };
        return { op: 'keys', field, ranges: [range], accepts: inRange(codec, range) };
      }
      case 'startsWith':
      case 'endsWith':
      case 'contains': {
        const field = fieldOf(data.field, data.source);
        const { codec } = fieldAt(definitions, field);
        if (codec.type !== 'string') return notText(data.field, codec, data.source);
        const text = keyOf(codec, data.text, data.field, data.source) as string;
        if (data.op === 'startsWith') {
          const accepts = (key: unknown) => (key as string).startsWith(text);
          return { op: 'keys', field, ranges: [prefixRange(text)], accepts };
        }
        const everything: KeyRange = { from: undefined, to: undefined, fromInclusive: true, toInclusive: true };
        if (data.op === 'endsWith') {
          const accepts = (key: unknown) => (key as string).endsWith(text);
          return { op: 'keys', field, ranges: [everything], text: { at: 'end', text }, accepts };
        }
        const accepts = (key: unknown) => (key as string).includes(text);
        return { op: 'keys', field, ranges: [everything], text: { at: 'anywhere', text }, accepts };
      }
      default: {
        const { op } = condition;
        throw new KindredError('InvalidSelector', texts.unknown, { params: { op } });
      }
    }
  }

  function fieldOf(name: string, source: Source | undefined): number {
    const field = fieldNumber(definitions, name);
    if (field >= 0) return field;
    const allowed = fieldNames(definitions);
    const list = allowed.join(', ');
    const members = { ...source, expected: `one of ${list}`, allowed };
    throw new KindredError('InvalidSelector', texts.field, { params: { field: name, allowed: list }, ...members });
  }

  return bound(condition, 0);
}

/** What a text must be to convert to a key; keys of an own type are described by their `parse` alone. */
const keyNames: Readonly<Partial<Record<KeyCodec['type'], string>>> = {
  number: '可精确表示的数字',
  boolean: ' true 或 false',
  bigint: '整数',
  date: ' RFC 3339 日期时间',
};

/** Values of a selector are text, those of a condition in code are values as index functions return them. */
function keyOf(codec: KeyCodec, value: unknown, field: string, source: Source | undefined): unknown {
  try {
    return source ? codec.parse(value as string) : codec.key(value);
  } catch (error) {
    const problem = messageOf(error);
    if (source)
      throw invalidTerm(source, { en: problem.replace(/^expected /, ''), zh: keyNames[codec.type] ?? problem });
    throw new KindredError('InvalidSelector', texts.value, { params: { field, problem }, cause: error });
  }
}

function notText(field: string, codec: KeyCodec, source: Source | undefined): never {
  const members = { ...source, expected: 'an index of strings' };
  throw new KindredError('InvalidSelector', texts.text, { params: { field, type: codec.type }, ...members });
}

function single(key: unknown): KeyRange {
  return { from: key, to: key, fromInclusive: true, toInclusive: true };
}

function oneOf(field: number, codec: KeyCodec, values: readonly unknown[]): KeyCondition {
  const keys = values.toSorted(codec.compare).filter((key, i, all) => i === 0 || codec.compare(key, all[i - 1]) !== 0);
  const known = new Set(codec.type === 'own' ? keys.map(codec.format) : keys);
  const accepts =
    codec.type === 'own' ? (key: unknown) => known.has(codec.format(key)) : (key: unknown) => known.has(key);
  return { op: 'keys', field, ranges: keys.map(single), accepts };
}

function inRange(codec: KeyCodec, { from, to, fromInclusive, toInclusive }: KeyRange): (key: unknown) => boolean {
  const least = fromInclusive ? 0 : 1;
  const most = toInclusive ? 0 : -1;
  return (key) =>
    (from === undefined || Math.sign(codec.compare(key, from)) >= least) &&
    (to === undefined || Math.sign(codec.compare(key, to)) <= most);
}

/** The strings that begin with `text`: up to, without it, the next string of no greater length in the order of `compareText`. */
function prefixRange(text: string): KeyRange {
  for (let length = text.length; length > 0; length--) {
    const next = nextUnit(text.charCodeAt(length - 1));
    if (next !== undefined) {
      const to = text.slice(0, length - 1) + String.fromCharCode(next);
      return { from: text, to, fromInclusive: true, toInclusive: false };
    }
  }
  return { from: text, to: undefined, fromInclusive: true, toInclusive: true };
}

/** The UTF-16 code unit after this one in the order by code point, where surrogates come last. */
function nextUnit(unit: number): number | undefined {
  if (unit === 0xdfff) return undefined;
  if (unit === 0xd7ff) return 0xe000;
  return unit === 0xffff ? 0xd800 : unit + 1;
}

/**
 * Fills in what was left out: an index's own order, the default sort (newest first).
 * Throws InvalidParameter for a field without an index or one named twice.
 */
export function bindSort(terms: readonly SortTerm[], definitions: readonly IndexDefinition[]): SortKey[] {
  return numberSort(terms, definitions).map(({ field, descending }) => ({
    field: fieldAt(definitions, field).name,
    direction: descending ? 'desc' : 'asc',
  }));
}

export function numberSort(terms: readonly SortTerm[], definitions: readonly IndexDefinition[]): readonly BoundSort[] {
  if (terms.length === 0) return newestFirst;
  const keys: BoundSort[] = [];
  for (const { field: name, direction } of terms) {
    const field = fieldNumber(definitions, name);
    const isUnknown = field < 0;
    if (isUnknown || keys.some((key) => key.field === field)) {
      const allowed = fieldNames(definitions);
      const params = { field: name, allowed: allowed.join(', ') };
      const text = isUnknown ? texts.sortField : texts.sortTwice;
      throw new KindredError('InvalidParameter', text, { params, parameter: 'sort', allowed });
    }
    const order = direction ?? (fieldAt(definitions, field).order === 'DESC' ? 'desc' : 'asc');
    keys.push({ field, descending: order === 'desc' });
  }
  return keys;
}

const newestFirst: readonly BoundSort[] = [{ field: createdField, descending: true }];
