/** The keys of an index in order, each with the number of objects that have it. */

import { KindredError } from '../errors.ts';
import { fieldNames, fieldNumber } from '../indexes/field.ts';
import type { ModelIndex } from '../indexes/model-index.ts';
import { localized } from '../locales/localized.ts';

export interface ValuesRequest {
  /** Name of an index. */
  readonly index: string;
  /** Of an index of texts: only keys that begin so. */
  readonly prefix?: string | undefined;
  readonly limit: number;
}

export interface Values {
  /** As selectors take them. */
  readonly values: readonly { readonly value: string; readonly count: number }[];
  /** There are further ones. */
  readonly more: boolean;
}

const texts = {
  unknown: localized('There is no index "{field}"; there are {allowed}'),
  prefix: localized('"prefix" is for indexes of texts; the keys of "{field}" are none'),
};

/**
 * Each key costs two searches, however many objects have it.
 * @param definitions those of the model in their order, with the names that the caller has for them
 * @throws InvalidParameter
 */
export function valuesOf(
  model: ModelIndex,
  { index, prefix, limit }: ValuesRequest,
  definitions = model.definitions,
): Values {
  const allowed = fieldNames(definitions);
  if (!allowed.includes(index)) {
    const params = { field: index, allowed: allowed.join(', ') };
    throw new KindredError('InvalidParameter', texts.unknown, { params, parameter: 'index', allowed });
  }
  const { field, order, column, firstWithKey } = model.fields[fieldNumber(definitions, index)]!;
  if (prefix !== undefined && field.codec.type !== 'string') {
    throw new KindredError('InvalidParameter', texts.prefix, { params: { field: index }, parameter: 'prefix' });
  }
  const values: { value: string; count: number }[] = [];
  let rank = prefix === undefined ? firstWithKey : order.rankOf(prefix, false);
  while (rank < order.size) {
    const key = column.get(order.at(rank));
    if (prefix !== undefined && !(key as string).startsWith(prefix)) break;
    if (values.length === limit) return { values, more: true };
    const end = order.rankOf(key, true);
    values.push({ value: field.codec.format(key), count: end - rank });
    rank = end;
  }
  return { values, more: false };
}
