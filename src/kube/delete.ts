/** What a deletion asks for, in its body or in its query. */

import { hasBody } from '../http/server/body.ts';
import type { Exchange } from '../http/server/exchange.ts';
import { isRecord } from '../model/object.ts';
import type { WriteOptions } from '../resource/write.ts';
import type { BodyDependencies } from './body.ts';
import { bodyType, objectTypes, readValue } from './body.ts';
import { flag, isDryRun, quoted, revision } from './parameters.ts';
import { badRequest, invalidFields } from './status.ts';

export interface DeleteOptions {
  readonly dryRun: boolean;
  readonly expect: WriteOptions['expect'];
  readonly propagation: Propagation;
}

const propagations = ['Background', 'Foreground', 'Orphan'] as const;
export type Propagation = (typeof propagations)[number];

/**
 * @param isOne the query is of one object; of a collection, its `resourceVersion` is that of the list
 * @throws KindredError BadRequest, Invalid, UnsupportedMediaType
 */
export async function deleteOptions(
  exchange: Exchange,
  query: URLSearchParams,
  dependencies: BodyDependencies,
  isOne: boolean,
): Promise<DeleteOptions> {
  const body = await bodyOf(exchange, dependencies);
  const asked = isOne ? query : new URLSearchParams();
  const preconditions = member(body, 'preconditions', isRecord, 'an object') ?? {};
  const uid = member(preconditions, 'uid', isText, 'a string') ?? asked.get('uid');
  const resourceVersion = member(preconditions, 'resourceVersion', isText, 'a string') ?? asked.get('resourceVersion');
  const expected = { revision: revision(resourceVersion), uid: uid || undefined };
  const dryRun = member(body, 'dryRun', Array.isArray, 'a list of strings') ?? [];
  const orphans = member(body, 'orphanDependents', isFlag, 'a boolean') ?? flag(query, 'orphanDependents');
  const policy = member(body, 'propagationPolicy', isText, 'a string') ?? query.get('propagationPolicy');
  return {
    dryRun: isDryRun([...dryRun, ...query.getAll('dryRun')]),
    expect: expected.revision === undefined && expected.uid === undefined ? undefined : expected,
    propagation: policy ? propagationOf(policy) : orphans ? 'Orphan' : 'Background',
  };
}

const isText = (value: unknown): value is string => typeof value === 'string';
const isFlag = (value: unknown): value is boolean => typeof value === 'boolean';

/** Undefined when it is absent, or null. @throws KindredError BadRequest */
function member<T>(
  options: Record<string, unknown>,
  name: string,
  isRight: (value: unknown) => value is T,
  expected: string,
): T | undefined {
  const value = options[name] ?? undefined;
  if (value === undefined || isRight(value)) return value;
  throw badRequest(`${name} in the options of a deletion must be ${expected}`);
}

async function bodyOf(exchange: Exchange, dependencies: BodyDependencies): Promise<Record<string, unknown>> {
  if (!hasBody(exchange.request)) return {};
  const { value } = (await readValue(exchange, bodyType(exchange, objectTypes), dependencies)) ?? { value: {} };
  if (!isRecord(value)) throw badRequest('the options of a deletion are an object');
  if (value.kind !== undefined && value.kind !== 'DeleteOptions') {
    throw badRequest(`the body of a deletion is of the kind DeleteOptions, not ${quoted(String(value.kind))}`);
  }
  return value;
}

function propagationOf(value: string): Propagation {
  const known = propagations.find((one) => one === value);
  if (known) return known;
  const message = `Unsupported value: ${quoted(value)}: supported values: ${propagations.map((one) => `"${one}"`).join(', ')}`;
  throw invalidFields([{ reason: 'FieldValueNotSupported', message, field: 'propagationPolicy' }]);
}
