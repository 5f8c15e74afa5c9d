/** The query string of a list request (specification, "List query parameters"; docs/reference/lists.md): text in, data out. */

import type { Parameters, ProblemMembers, Text } from '../errors.ts';
import { KindredError } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import type { Condition } from './condition.ts';
import { Queries } from './condition.ts';
import type { Sort, SortTerm } from './query.ts';
import type { SelectorLimits } from './selector.ts';
import { defaultSelectorLimits, parseFieldSelector, parseLabelSelector } from './selector.ts';

export interface ListParameters {
  /** From 1; 1 when not given. */
  readonly page: number;
  /** From 1; 20 when not given. */
  readonly size: number;
  /** Which of `page` and `size` were given. */
  readonly paged: boolean;
  /** In the order given, directions as given: `bindSort` checks the fields. */
  readonly sort: readonly SortTerm[];
  /** Label and field selectors together. */
  readonly where: Condition;
  readonly explain: boolean;
  /** `watch`, `since` and `sendInitial` as given, and whatever else `also` names: every value, in order. */
  readonly others: ReadonlyMap<string, readonly string[]>;
}

export interface ListParameterOptions {
  /** Largest `size`; default 1,000 (option `list.maxSize`). */
  readonly maxSize?: number;
  readonly limits?: SelectorLimits;
  /** Names of the indexes there are, for the message about a malformed sort. */
  readonly indexes?: readonly string[];
  /** Names of further parameters that this route knows; default `watch`, `since`, `sendInitial`. */
  readonly also?: readonly string[];
}

const own = ['page', 'size', 'sort', 'labelSelector', 'fieldSelector', 'explain'] as const;
const watching = ['watch', 'since', 'sendInitial'] as const;
const defaultSize = 20;
const defaultMaxSize = 1000;

const texts = {
  unknown: localized('There is no query parameter "{parameter}" here; there are {allowed}'),
  twice: localized('The query parameter "{parameter}" is given twice'),
  encoding: localized('The query parameter "{parameter}" is not percent-encoded UTF-8'),
  whole: localized('"{parameter}" is a whole number from 1 to {most}, not "{value}"'),
  flag: localized('"{parameter}" is true or false, not "{value}"'),
  sort: localized('"sort" is <field>, <field>,asc or <field>,desc, not "{value}"'),
  sortAmong: localized(
    '"sort" is <field>, <field>,asc or <field>,desc, not "{value}"; the fields are the indexes {allowed}',
  ),
} satisfies Record<string, Text>;

function refuse(text: Text, parameter: string, params: Parameters = {}, members: ProblemMembers = {}): never {
  throw new KindredError('InvalidParameter', text, { params: { parameter, ...params }, parameter, ...members });
}

/**
 * @param query the text behind the question mark, or its decoded pairs
 * Throws InvalidParameter with `parameter` (and `allowed` for an unknown one), or InvalidSelector.
 */
export function parseListParameters(
  query: string | Iterable<readonly [string, string]>,
  options: ListParameterOptions = {},
): ListParameters {
  const known: readonly string[] = [...own, ...(options.also ?? watching)];
  const given = new Map<string, string[]>();
  for (const [name, value] of typeof query === 'string' ? decode(query) : query) {
    if (!known.includes(name)) refuse(texts.unknown, name, { allowed: known.join(', ') }, { allowed: known });
    const values = given.get(name);
    if (values) values.push(value);
    else given.set(name, [value]);
  }
  const page = wholeNumber(given, 'page', Number.MAX_SAFE_INTEGER) ?? 1;
  const size = wholeNumber(given, 'size', options.maxSize ?? defaultMaxSize);
  const limits = options.limits ?? defaultSelectorLimits;
  const labels = given.get('labelSelector');
  const fields = given.get('fieldSelector');
  return {
    page,
    size: size ?? Math.min(defaultSize, options.maxSize ?? defaultMaxSize),
    paged: given.has('page') || given.has('size'),
    sort: (given.get('sort') ?? []).map((text) => parseSortTerm(text, options.indexes)),
    where: Queries.and(
      ...(labels ? [parseLabelSelector(labels, limits)] : []),
      ...(fields ? [parseFieldSelector(fields, limits)] : []),
    ),
    explain: flag(given, 'explain'),
    others: new Map([...given].filter(([name]) => !(own as readonly string[]).includes(name))),
  };
}

/** Pairs of an `application/x-www-form-urlencoded` text, `+` as a space; a malformed escape is refused. */
function* decode(query: string): Generator<[string, string]> {
  for (const pair of query.split('&')) {
    if (pair === '') continue;
    const split = pair.indexOf('=');
    const name = split < 0 ? pair : pair.slice(0, split);
    yield [decodePart(name, name), split < 0 ? '' : decodePart(pair.slice(split + 1), name)];
  }
}

function decodePart(text: string, parameter: string): string {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text;
  if (!spaced.includes('%')) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    return refuse(texts.encoding, parameter);
  }
}

function once(given: ReadonlyMap<string, readonly string[]>, parameter: string): string | undefined {
  const values = given.get(parameter);
  if (values && values.length > 1) refuse(texts.twice, parameter);
  return values?.[0];
}

function wholeNumber(
  given: ReadonlyMap<string, readonly string[]>,
  parameter: string,
  most: number,
): number | undefined {
  const text = once(given, parameter);
  if (text === undefined) return undefined;
  const value = /^\d{1,16}$/.test(text) ? Number(text) : 0;
  if (value < 1 || value > most) refuse(texts.whole, parameter, { value: text, most });
  return value;
}

function flag(given: ReadonlyMap<string, readonly string[]>, parameter: string): boolean {
  const text = once(given, parameter) ?? 'false';
  if (text !== 'true' && text !== 'false') refuse(texts.flag, parameter, { value: text });
  return text === 'true';
}

function parseSortTerm(text: string, indexes: readonly string[] | undefined): SortTerm {
  const [field, direction, ...more] = text.split(',').map((part) => part.trim());
  const known = direction === undefined || direction === 'asc' || direction === 'desc';
  if (!field || !known || more.length > 0) return malformedSort(text, indexes);
  return direction ? { field, direction } : { field };
}

function malformedSort(value: string, indexes: readonly string[] | undefined): never {
  if (!indexes) return refuse(texts.sort, 'sort', { value });
  return refuse(texts.sortAmong, 'sort', { value, allowed: indexes.join(', ') }, { allowed: indexes });
}

/** The terms of a sort given in code. Throws InvalidParameter that names the indexes, when they are given. */
export function sortTerms(sort: Sort, indexes?: readonly string[]): SortTerm[] {
  return sort.map((one) => {
    if (typeof one === 'string') return parseSortTerm(one, indexes);
    const { field, direction } = one;
    const known = direction === undefined || direction === 'asc' || direction === 'desc';
    return known ? { field, direction } : malformedSort(`${field},${direction}`, indexes);
  });
}
