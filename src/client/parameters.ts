/** What a list is asked for, as the query string of docs/reference/lists.md has it. */
import type { Text } from '../errors.ts';
import { KindredError } from '../errors.ts';
import type { Key, ValuesOf } from '../model/key.ts';
import type { Condition, ConditionData } from '../query/condition.ts';
import type { ListOptions, PageRequest, Sort } from '../query/query.ts';

/** Operators as in a field selector; all of one comparison must hold. `K`: the values of the index. */
export interface Comparison<K = Key> {
  '='?: K | readonly K[];
  '!='?: K | readonly K[];
  '>'?: K;
  '>='?: K;
  '<'?: K;
  '<='?: K;
  /** Starts with. */
  '^='?: string;
  /** Ends with. */
  '$='?: string;
  /** Contains. */
  '*='?: string;
}

/** One of these values; present (`true` on a label) or absent (`null`); or comparisons. */
type FieldFilter<K = Key> = K | readonly K[] | null | Comparison<K>;
type LabelFilter =
  | string
  | readonly string[]
  | boolean
  | null
  | { '='?: string | readonly string[]; '!='?: string | readonly string[] };

interface BuiltInFields {
  name?: string;
  'metadata.name'?: string;
  /** Of namespaced models. */
  'metadata.namespace'?: string;
  'metadata.creationTimestamp'?: Date | string;
  'metadata.deletionTimestamp'?: Date | string;
}
type BuiltInField = keyof BuiltInFields;

/** Filters by the name of an index, ANDed. `null`: objects without a value. `K`: by name the values of the indexes. */
export type FieldFilters<I extends string = string, K = ValuesOf<I>> = {
  readonly [F in I | BuiltInField]?: FieldFilter<ValueAt<F, K>>;
};
type ValueAt<F, K> = F extends BuiltInField
  ? NonNullable<BuiltInFields[F]>
  : F extends keyof K
    ? NonNullable<K[F]>
    : Key;

/** Filters by the key of a label, ANDed. `true`: present, `false` or `null`: absent. */
export type LabelFilters = Readonly<Record<string, LabelFilter>>;

/** Which objects; everything given must hold. */
export interface SelectQuery<I extends string = string, K = ValuesOf<I>> {
  /** Of a namespaced model: the objects of this namespace alone. */
  namespace?: string;
  fields?: FieldFilters<I, K>;
  labels?: LabelFilters;
  /** As in the query string. */
  fieldSelector?: string | readonly string[];
  labelSelector?: string | readonly string[];
  where?: Condition;
  /** Default: newest first. */
  sort?: readonly SortKey<I>[];
}

export type SortKey<I extends string = string> = `${I | Exclude<BuiltInField, 'name'>}${'' | ',asc' | ',desc'}`;

/** Which page of them. Default: page 1 of 20. */
export interface ListQuery<I extends string = string, K = ValuesOf<I>> extends SelectQuery<I, K> {
  page?: number;
  size?: number;
}

export function listParameters(
  options: ListQuery<string> | ListOptions = {},
  page: Partial<PageRequest> = {},
): URLSearchParams {
  const parameters = new URLSearchParams();
  const fields: string[] = [];
  const labels: string[] = [];
  const query: ListQuery<string> = 'condition' in options ? { where: options.condition } : options;
  for (const [field, filter] of Object.entries(query.fields ?? {})) fields.push(...fieldTerms(field, filter));
  for (const [key, filter] of Object.entries(query.labels ?? {})) labels.push(...labelTerms(key, filter));
  if (query.where) addTerms(query.where, false, fields, labels);
  if (fields.length > 0) parameters.append('fieldSelector', fields.join(','));
  for (const text of [query.fieldSelector ?? []].flat()) parameters.append('fieldSelector', text);
  if (labels.length > 0) parameters.append('labelSelector', labels.join(','));
  for (const text of [query.labelSelector ?? []].flat()) parameters.append('labelSelector', text);
  for (const key of sortOf(query, page)) parameters.append('sort', key);
  const number = page.page ?? query.page;
  const size = page.size ?? query.size;
  if (number !== undefined) parameters.set('page', String(number));
  if (size !== undefined) parameters.set('size', String(size));
  return parameters;
}

function sortOf(query: ListQuery<string>, page: Partial<PageRequest>): string[] {
  const sort: Sort = page.sort?.length ? page.sort : (query.sort ?? []);
  return sort.map((key) => {
    if (typeof key === 'string') return key;
    return key.direction ? `${key.field},${key.direction}` : key.field;
  });
}

function fieldTerms(field: string, filter: FieldFilter | undefined): string[] {
  if (filter === undefined) return [];
  if (filter === null) return [`!${field}`];
  if (Array.isArray(filter)) return setTerms(field, filter, false);
  if (typeof filter !== 'object' || filter instanceof Date) return [`${field}=${quoted(filter)}`];
  return Object.entries(filter as Comparison).flatMap(([operator, value]) => {
    if (value === undefined) return [];
    return Array.isArray(value) ? setTerms(field, value, operator === '!=') : [`${field}${operator}${quoted(value)}`];
  });
}

function labelTerms(key: string, filter: LabelFilter | undefined): string[] {
  if (filter === undefined) return [];
  if (filter === true) return [key];
  return filter === false ? [`!${key}`] : fieldTerms(key, filter as FieldFilter);
}

/** `k=()` is malformed: everything is outside of the empty set, and nothing is both present and absent. */
function setTerms(name: string, values: readonly unknown[], negated: boolean): string[] {
  if (values.length === 0) return negated ? [] : [name, `!${name}`];
  return [`${name} ${negated ? 'notin' : 'in'} (${values.map(quoted).join(',')})`];
}

function quoted(value: unknown): string {
  const text = value instanceof Date ? value.toISOString() : String(value);
  return /^[A-Za-z0-9_./:+-]+$/.test(text) ? text : `"${text.replace(/["\\]/g, '\\$&')}"`;
}

const notSelectable: Text = {
  en: 'A condition with "{op}" cannot be written as a selector, which only joins terms by AND: use in(), several requests, or a custom route',
  zh: '含有 "{op}" 的条件无法写成选择器（选择器只能以 AND 连接各项）：请使用 in()、多次请求或自定义路由',
};

/** Writes a condition as terms; `not` moves inwards as far as the complement of an operator is an operator. */
function addTerms(condition: Condition, negated: boolean, fields: string[], labels: string[]): void {
  const data = condition as unknown as ConditionData;
  switch (data.op) {
    case 'all':
      if (negated) fields.push(...setTerms('metadata.name', [], false));
      return;
    case 'not':
      addTerms(data.condition, !negated, fields, labels);
      return;
    case 'and':
    case 'or':
      if ((data.op === 'and') === negated && data.conditions.length > 1) break;
      for (const one of data.conditions) addTerms(one, negated, fields, labels);
      return;
    case 'equal':
      fields.push(`${data.field}${negated ? '!=' : '='}${quoted(data.value)}`);
      return;
    case 'in':
      fields.push(...setTerms(data.field, data.values, negated));
      return;
    case 'isNull':
      fields.push(negated ? data.field : `!${data.field}`);
      return;
    case 'labelIn':
      labels.push(...setTerms(data.key, data.values, negated));
      return;
    case 'labelExists':
      labels.push(negated ? `!${data.key}` : data.key);
      return;
    case 'between':
      // The complement of a range also holds for objects without a value, which no single term says.
      if (negated) break;
      if (data.from !== undefined) fields.push(`${data.field}${data.inclusive.from ? '>=' : '>'}${quoted(data.from)}`);
      if (data.to !== undefined) fields.push(`${data.field}${data.inclusive.to ? '<=' : '<'}${quoted(data.to)}`);
      return;
    default:
      if (negated) break;
      fields.push(`${data.field}${textOperators[data.op]}${quoted(data.text)}`);
      return;
  }
  throw new KindredError('InvalidSelector', notSelectable, { params: { op: negated ? `not(${data.op})` : data.op } });
}

const textOperators = { startsWith: '^=', endsWith: '$=', contains: '*=' } as const;
