/** Compares what a store holds with today's models, and changes nothing. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { KindredError } from '../errors.ts';
import { fullNameOf } from '../model/full-name.ts';
import type { IndexDefinition } from '../model/index-entry.ts';
import { entryOf } from '../model/index-spec.ts';
import { checkMetadata } from '../model/metadata.ts';
import type { ExtensionObject } from '../model/object.ts';
import type { Scheme } from '../model/scheme.ts';
import { readJson } from '../runtime/read-json.ts';
import type { Row, Store } from '../store/store.ts';
import { asBuffer } from './bytes.ts';
import { claimOf, keepsClaims, uniqueKeysOf } from './claims.ts';
import { isOfMarks } from './marks.ts';

interface CheckedModel {
  readonly group: string;
  readonly kind: string;
  readonly objects: number;
  /** False: no plugin that was given declares it, so its objects were counted alone. */
  readonly known: boolean;
}

interface CheckProblem {
  readonly group: string;
  readonly kind: string;
  readonly name: string;
  readonly reason: string;
}

export interface CheckReport {
  readonly revision: number;
  readonly models: readonly CheckedModel[];
  readonly problems: readonly CheckProblem[];
}

/** Objects checked so far, of how many. */
export type CheckProgress = (done: number, total: number) => void;

const portion = 500;

/**
 * Every stored object against its model: readable, of the right name, kind and version, valid by the schema and the
 * rules of metadata, index functions that give keys; unique values that objects share; and, where the store keeps claims,
 * those against the objects that have the values.
 */
export async function checkStore(
  store: Store,
  schemes: readonly Scheme[],
  onProgress: CheckProgress = () => undefined,
): Promise<CheckReport> {
  const revision = await store.revision();
  const rows = (await store.models()).filter((row) => !isOfMarks(row));
  const counts = await Promise.all(rows.map(({ number }) => store.count(number)));
  const total = counts.reduce((sum, count) => sum + count, 0);
  const models: CheckedModel[] = [];
  const problems: CheckProblem[] = [];
  let done = 0;
  for (const [i, { number, group, kind }] of rows.entries()) {
    const scheme = schemes.find(({ groupVersionKind: gvk }) => gvk.group === group && gvk.kind === kind);
    models.push({ group, kind, objects: counts[i]!, known: scheme !== undefined });
    const report = (name: string, reason: string) => problems.push({ group, kind, name, reason });
    const uniques = new UniqueValues(scheme?.indexes.filter(({ unique }) => unique) ?? []);
    for (let after = 0; scheme; ) {
      const page = await store.scan(number, after, portion);
      if (page.length === 0) break;
      after = page.at(-1)!.id;
      for (const row of page) {
        if (row.id > row.revision || row.revision > revision)
          report(row.name, `has the revision ${row.revision} of ${revision}`);
        const object = checkObject(scheme, row, report);
        if (object) uniques.expect(scheme, row, object, report);
      }
      done += page.length;
      onProgress(done, total);
      await nextTurn();
    }
    if (scheme) await uniques.compare(store, number, report);
    else {
      done += counts[i]!;
      onProgress(done, total);
    }
  }
  return { revision, models, problems };
}

type Report = (name: string, reason: string) => void;

function checkObject(scheme: Scheme, row: Row, report: Report): ExtensionObject | undefined {
  let object: ExtensionObject | null;
  try {
    object = readJson(asBuffer(row.bytes).toString()) as ExtensionObject | null;
  } catch {
    report(row.name, 'is not valid JSON');
    return undefined;
  }
  const fullName = object?.metadata && fullNameOf(object.metadata);
  if (!object || fullName !== row.name) {
    report(row.name, `holds an object of another name: ${JSON.stringify(fullName)}`);
    return undefined;
  }
  const { apiVersion, kind } = scheme.conform(object);
  if (apiVersion !== scheme.apiVersion || kind !== scheme.groupVersionKind.kind) {
    report(row.name, `is ${kind} (${apiVersion}), the model is ${scheme.groupVersionKind.kind} (${scheme.apiVersion})`);
    return undefined;
  }
  for (const { pointer, message } of scheme.validator.validate(object, checkMetadata(object.metadata, scheme)).listed) {
    report(row.name, `${pointer || 'the object'} ${message}`);
  }
  return object;
}

/** The unique values of one model: those that its objects have, beside those that the store says are taken. */
class UniqueValues {
  readonly #uniques: readonly IndexDefinition[];
  readonly #expected = new Map<string, { index: string; key: string; holders: { id: number; name: string }[] }>();

  constructor(uniques: readonly IndexDefinition[]) {
    this.#uniques = uniques;
  }

  expect(scheme: Scheme, row: Row, object: ExtensionObject, report: Report): void {
    try {
      const entry = entryOf(scheme, object);
      for (const one of uniqueKeysOf(this.#uniques, scheme.indexes, entry)) {
        const { hash, index, key } = claimOf(one);
        const text = asBuffer(hash).toString('latin1');
        const known = this.#expected.get(text) ?? { index, key, holders: [] };
        known.holders.push({ id: row.id, name: row.name });
        this.#expected.set(text, known);
      }
    } catch (error) {
      if (!(error instanceof KindredError)) throw error;
      for (const { message } of error.errors ?? []) report(row.name, message);
    }
  }

  async compare(store: Store, model: number, report: Report): Promise<void> {
    for (const { index, key, holders } of this.#expected.values()) {
      if (holders.length < 2) continue;
      for (const { name } of holders)
        report(name, `shares the value "${key}" of the unique index "${index}" with another`);
    }
    if (!keepsClaims(store)) return;
    for (let after: Uint8Array | undefined; ; ) {
      const page = await store.claims(model, after, portion);
      if (page.length === 0) break;
      after = page.at(-1)!.hash;
      for (const { hash, index, key, id } of page) {
        const text = asBuffer(hash).toString('latin1');
        if (this.#expected.get(text)?.holders.some((holder) => holder.id === id)) this.#expected.delete(text);
        else report(`id ${id}`, `takes the value "${key}" of the unique index "${index}" and does not have it`);
      }
    }
    for (const { index, key, holders } of this.#expected.values()) {
      for (const { name } of holders)
        report(name, `has the value "${key}" of the unique index "${index}" and has not taken it`);
    }
  }
}
