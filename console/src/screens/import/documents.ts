/** The objects of a text: YAML documents, JSON, or one JSON object a line; and what would become of each. */

import { KindredError } from 'kindred/client';
import { readJson } from '../../../../src/runtime/read-json.ts';
import type { SchemaDocument } from '../../../../src/schema/document.ts';
import type { JsonSchema } from '../../../../src/schema/keywords.ts';
import { client } from '../../api/client.ts';
import { problemOf } from '../../api/errors.ts';
import type { ModelDetails, ModelSummary } from '../../api/models.ts';
import { objectPathOf, pathOf, typeOf } from '../../api/models.ts';
import { setByService } from '../../api/object.ts';
import { isEqual, isObject, valueAt, withValue } from '../../diff/pointer.ts';
import { yamlDocuments } from '../../diff/yaml.ts';
import { openDocument } from '../../form/document.ts';
import { problemsOf } from '../../form/errors.ts';
import { language } from '../../text/index.ts';
import { namedBy } from '../object/save.ts';

type Outcome = 'new' | 'changed' | 'same' | 'refused' | 'created' | 'updated' | 'failed' | 'stopped';

export interface ImportRow {
  readonly key: string;
  readonly line: number;
  readonly object: unknown;
  readonly label: string;
  readonly model?: ModelSummary;
  /** What is stored, when it is there already. */
  readonly stored?: unknown;
  readonly outcome: Outcome;
  readonly code?: string;
  readonly detail?: string;
}

export interface ImportTexts {
  readonly notAnObject: string;
  readonly unknownModel: (apiVersion: string, kind: string) => string;
}

/** Requests at a time: a browser has six connections to one service. */
const atOnce = 4;

/** Sorted by kind, so that what belongs together stands together; the order of one kind is that of the text. */
export function rowsOf(text: string, models: readonly ModelSummary[], texts: ImportTexts): ImportRow[] {
  const rows = documentsOf(text).map(({ value, problem, line }, i): ImportRow => {
    const row = { key: String(i), line, object: value, label: '?' };
    if (problem) return { ...row, outcome: 'refused', code: 'BadRequest', detail: problem };
    if (!isObject(value) || typeof value.kind !== 'string' || !isObject(value.metadata)) {
      return { ...row, outcome: 'refused', code: 'BadRequest', detail: texts.notAnObject };
    }
    const apiVersion = String(value.apiVersion ?? value.groupVersion ?? '');
    const label = `${value.kind}/${String(value.metadata.name ?? value.metadata.generateName ?? '?')}`;
    const model = models.find(({ group, version, kind }) => {
      return kind === value.kind && (group === '' ? version : `${group}/${version}`) === apiVersion;
    });
    if (model) return { ...row, label, model, outcome: 'new' };
    return { ...row, label, outcome: 'refused', code: 'NotFound', detail: texts.unknownModel(apiVersion, value.kind) };
  });
  return rows.sort((one, other) => kindOf(one).localeCompare(kindOf(other)));
}

function kindOf({ model, label }: ImportRow): string {
  return model ? `${model.group}/${model.kind}` : `~${label}`;
}

interface Read {
  readonly value?: unknown;
  readonly problem?: string;
  readonly line: number;
}

function documentsOf(text: string): Read[] {
  const lines = text.split('\n');
  const filled = lines.filter((line) => line.trim() !== '');
  const isNdjson = filled.length > 1 && filled.every((line) => /^\s*\{.*\}\s*$/.test(line));
  if (isNdjson) {
    return lines.flatMap((line, i): Read[] => {
      if (line.trim() === '') return [];
      try {
        return [{ value: readJson(line) as unknown, line: i + 1 }];
      } catch (error) {
        return [{ problem: (error as Error).message, line: i + 1 }];
      }
    });
  }
  return yamlDocuments(text).flatMap(({ value, problem, line }): Read[] => {
    if (problem) return [{ problem: problem.message, line: problem.line }];
    const items = Array.isArray(value) ? value : isObject(value) && Array.isArray(value.items) ? value.items : [value];
    return items.map((one: unknown) => ({ value: one, line }));
  });
}

/** Compares with what is stored, and asks the service whether it would take it; nothing is written. */
export async function check(row: ImportRow, signal: AbortSignal): Promise<ImportRow> {
  if (!row.model || row.outcome === 'refused') return row;
  try {
    const stored = await storedOf(row, signal);
    const wanted = wantedOf(row, stored);
    if (stored !== undefined && isEqual(stored, wanted)) return { ...row, stored, outcome: 'same' };
    await tryWrite(row, wanted, stored !== undefined, signal);
    return { ...row, ...(stored !== undefined && { stored }), outcome: stored === undefined ? 'new' : 'changed' };
  } catch (error) {
    if (signal.aborted) throw error;
    const { code, detail } = problemOf(error);
    return { ...row, outcome: 'refused', code, detail };
  }
}

/** Asks the service; one that does not know `dryRun` leaves it to the schema. */
async function tryWrite(row: ImportRow, wanted: unknown, exists: boolean, signal: AbortSignal): Promise<void> {
  try {
    await write(row, wanted, exists, { dryRun: 'true' }, signal);
  } catch (error) {
    const { code, parameter } = problemOf(error);
    if (code !== 'InvalidParameter' || parameter !== 'dryRun') throw error;
    const found = problemsOf(await documentOf(row.model!), wanted, language.value);
    if (found.length === 0) return;
    throw new KindredError('Invalid', found.map(({ field, message }) => `${field} ${message}`).join('; '));
  }
}

const documents = new Map<string, Promise<SchemaDocument>>();

function documentOf(model: ModelSummary): Promise<SchemaDocument> {
  const type = typeOf(model);
  const known =
    documents.get(type) ??
    client
      .request<ModelDetails>('GET', `/v3/models/${encodeURIComponent(type)}`)
      .then(({ schema, kind }) => openDocument(schema as JsonSchema, kind));
  documents.set(type, known);
  return known;
}

export async function send(row: ImportRow, signal: AbortSignal): Promise<ImportRow> {
  if (row.outcome !== 'new' && row.outcome !== 'changed') return row;
  if (signal.aborted) return { ...row, outcome: 'stopped' };
  try {
    // Somebody may have changed it since it was checked: what they did must not be lost.
    await write(row, wantedOf(row, row.stored), row.outcome === 'changed', {}, signal);
    return { ...row, outcome: row.outcome === 'new' ? 'created' : 'updated' };
  } catch (error) {
    if (signal.aborted) return { ...row, outcome: 'stopped' };
    const { code, detail } = problemOf(error);
    return { ...row, outcome: 'failed', code, detail };
  }
}

/** Runs all rows, a few at a time, and reports each when it is done. */
export async function each(
  rows: readonly ImportRow[],
  act: (row: ImportRow) => Promise<ImportRow>,
  done: (row: ImportRow) => void,
): Promise<void> {
  const waiting = [...rows];
  const worker = async () => {
    for (let row = waiting.shift(); row; row = waiting.shift()) done(await act(row));
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

async function storedOf({ model, object }: ImportRow, signal: AbortSignal): Promise<unknown> {
  const name = namedBy(object);
  if (name === undefined) return undefined;
  try {
    return await client.request('GET', objectPathOf(model!, name), { signal });
  } catch (error) {
    if (problemOf(error).code === 'NotFound') return undefined;
    throw error;
  }
}

/** With the version and the times of what is stored, and its status where that is a resource of its own. */
function wantedOf({ object, model }: ImportRow, stored: unknown): unknown {
  let wanted = object;
  const decided = model?.subresources.status ? [...setByService, '/status'] : setByService;
  for (const pointer of decided) wanted = withValue(wanted, pointer, valueAt(stored, pointer));
  return wanted;
}

async function write(
  { model }: ImportRow,
  body: unknown,
  exists: boolean,
  query: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<void> {
  const namespace = valueAt(body, '/metadata/namespace');
  const place = pathOf(model!, typeof namespace === 'string' ? namespace : undefined);
  if (exists) await client.request('PUT', objectPathOf(model!, namedBy(body)!), { body, query, signal });
  else await client.request('POST', place, { body, query, signal });
}
