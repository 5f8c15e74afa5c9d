/** The query string of a list request (specification, "List query parameters"; docs/reference/lists.md): text in, data out. */

import type { Text } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import type { Condition } from './condition.ts';
import { Queries } from './condition.ts';
import { flag, readParameters, refuse, wholeNumber } from './parameters.ts';
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
  sort: localized('"sort" is <field>, <field>,asc or <field>,desc, not "{value}"'),
  sortAmong: localized(
    '"sort" is <field>, <field>,asc or <field>,desc, not "{value}"; the fields are the indexes {allowed}',
  ),
} satisfies Record<string, Text>;

/**
 * @param query the text behind the question mark, or its decoded pairs
 * Throws InvalidParameter with `parameter` (and `allowed` for an unknown one), or InvalidSelector.
 */
export function parseListParameters(
  query: string | Iterable<readonly [string, string]>,
  options: ListParameterOptions = {},
): ListParameters {
  const known: readonly string[] = [...own, ...(options.also ?? watching)];
  const given = readParameters(query, known);
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
