/** The change of stored objects by a declaration that has become active (`evolution.migrate`, docs/guide/changing-models.md). */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { KindredError, messageOf, violation } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import type { ExtensionObject } from '../model/object.ts';
import { readJson } from '../runtime/read-json.ts';
import type { Timers } from '../runtime/timers.ts';
import { pause } from '../runtime/timers.ts';
import { isEqual } from '../schema/json-value.ts';
import type { TextRow } from '../store/store.ts';
import { rowsAfter } from './builder.ts';
import { migrated } from './migrated.ts';
import type { FoundObjects, Reading } from './stored-version.ts';
import { Findings, rowsOf } from './stored-version.ts';

const texts = {
  contended: localized('is changing too quickly'),
};

/** An update by the service of an object that has this revision. */
export type MigrationUpdate = (
  name: string,
  object: ExtensionObject,
  options: { readonly expect: { readonly revision: number }; readonly subresource?: 'status' },
) => Promise<{ readonly revision: number }>;

interface MigrateOptions extends Reading {
  /** Objects up to this one are done: the revision of its creation. */
  readonly after: number;
  /** Objects that are changed in a second, at most. */
  readonly rate: number;
  readonly timers: Timers;
  readonly update: MigrationUpdate;
  /** Told of what was done since it was told before. */
  readonly onProgress: (
    progress: FoundObjects & { readonly done: number; readonly changed: number; readonly after: number },
  ) => Promise<void>;
}

/** Objects that are updated side by side: these share a commit. */
const batchSize = 16;
/** Attempts at an object that others change meanwhile. */
const attempts = 20;

/**
 * Updates every stored object that the declaration changes, as a client would: with a version and an event.
 * @returns false when nobody waits for it any more
 */
export async function migrateObjects(options: MigrateOptions): Promise<boolean> {
  const { store, number, rate, timers, isOver, onProgress } = options;
  for (let { after } = options; ; ) {
    const page = await rowsAfter({ store, number, newest: Number.POSITIVE_INFINITY }, after);
    if (page.length === 0) return !isOver();
    for (let at = 0; at < page.length; at += batchSize) {
      if (isOver()) return false;
      const began = performance.now();
      const rows = page.slice(at, at + batchSize);
      const found = new Findings();
      const outcomes = await Promise.all(rows.map((row) => migrate(options, row, found)));
      if (isOver()) return false;
      after = rows.at(-1)!.id;
      const changed = outcomes.filter(Boolean).length;
      await onProgress({ done: rows.length - found.failing, changed, after, ...found.all });
      if (changed > 0) await pause(timers, Math.max((changed / rate) * 1_000 - (performance.now() - began), 0));
    }
    await nextTurn();
  }
}

/** True when the object was changed. */
async function migrate(options: MigrateOptions, first: TextRow, found: Findings): Promise<boolean> {
  const { model, isOver } = options;
  const { name } = first;
  try {
    for (let row: TextRow | undefined = first, attempt = 0; row && attempt < attempts && !isOver(); attempt++) {
      const object = model.versions
        ? model.versions.convert(readJson(row.text) as ExtensionObject, model.apiVersion)
        : (readJson(row.text) as ExtensionObject);
      const next = migrated(model.scheme, object);
      if (!next) return false;
      try {
        await put(options, row, object, next);
        return true;
      } catch (error) {
        if (!(error instanceof KindredError && ['NotFound', 'VersionConflict'].includes(error.code))) throw error;
        [row] = await rowsOf(options, [row]);
        // It is gone.
        if (!row) return false;
      }
    }
    if (!isOver()) found.add(name, violation('', 'migrate', texts.contended));
    return false;
  } catch (error) {
    // The service itself is hindered: it goes on later.
    if (error instanceof KindredError && error.status >= 500 && error.code !== 'InternalError') throw error;
    const made = error instanceof KindredError ? error.errors?.[0] : undefined;
    found.add(name, made ?? { pointer: '', keyword: 'migrate', message: messageOf(error) });
    return false;
  }
}

/** The status before the rest: what makes the function change an object mostly stands there, and is seen again after a failure. */
async function put(
  { model, update }: MigrateOptions,
  { name, revision }: TextRow,
  { status: was, ...before }: ExtensionObject,
  next: ExtensionObject,
): Promise<void> {
  const { version: _version, ...metadata } = next.metadata;
  const body = { ...next, metadata };
  const { status: is, ...after } = next;
  const isApart = model.rules.hasStatus;
  let expected = revision;
  if (isApart && !isEqual(was, is))
    ({ revision: expected } = await update(name, body, { expect: { revision }, subresource: 'status' }));
  if (!isApart || !isEqual(before, after)) await update(name, body, { expect: { revision: expected } });
}
