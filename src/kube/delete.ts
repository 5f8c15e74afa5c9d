/** What a deletion asks for, in its body or in its query. */

import { hasBody } from '../http/server/body.ts';
import type { Exchange } from '../http/server/exchange.ts';
import { isRecord } from '../model/object.ts';
import type { WriteOptions } from '../resource/write.ts';
import type { BodyDependencies } from './body.ts';
import { bodyType, objectTypes, readValue } from './body.ts';
import { isDryRun, quoted, revision } from './parameters.ts';
import { badRequest, invalidFields } from './status.ts';

export interface DeleteOptions {
  readonly dryRun: boolean;
  readonly expect: WriteOptions['expect'];
  readonly propagation: Propagation;
}

const propagations = ['Background', 'Foreground', 'Orphan'] as const;
export type Propagation = (typeof propagations)[number];

/** @throws KindredError BadRequest, Invalid, UnsupportedMediaType */
export async function deleteOptions(
  exchange: Exchange,
  query: URLSearchParams,
  dependencies: BodyDependencies,
): Promise<DeleteOptions> {
  const { preconditions, dryRun, propagationPolicy, orphanDependents } = await bodyOf(exchange, dependencies);
  const { uid, resourceVersion } = isRecord(preconditions) ? preconditions : {};
  const given = propagationPolicy ?? query.get('propagationPolicy') ?? undefined;
  const older = orphanDependents === true || query.get('orphanDependents') === 'true' ? 'Orphan' : 'Background';
  const dryRuns = [...(Array.isArray(dryRun) ? dryRun : []), ...query.getAll('dryRun')];
  const expected = {
    revision: revision(typeof resourceVersion === 'string' ? resourceVersion : undefined),
    uid: typeof uid === 'string' && uid !== '' ? uid : undefined,
  };
  return {
    dryRun: isDryRun(dryRuns),
    expect: expected.revision === undefined && expected.uid === undefined ? undefined : expected,
    propagation: given === undefined || given === '' ? older : propagationOf(given),
  };
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

function propagationOf(value: unknown): Propagation {
  const known = propagations.find((one) => one === value);
  if (known) return known;
  const message = `Unsupported value: ${quoted(String(value))}: supported values: ${propagations.map((one) => `"${one}"`).join(', ')}`;
  throw invalidFields([{ reason: 'FieldValueNotSupported', message, field: 'propagationPolicy' }]);
}
