/** Objects of a model with several versions in the one in which they are stored, and the rewrite of those that are in another one. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { messageOf, violation } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import type { ExtensionObject } from '../model/object.ts';
import { copyOf } from '../model/object.ts';
import { readJson } from '../runtime/read-json.ts';
import { TimeSlice } from '../runtime/time-slice.ts';
import type { Timers } from '../runtime/timers.ts';
import { pause } from '../runtime/timers.ts';
import type { Rewrite, Store, TextRow } from '../store/store.ts';
import { rowsAfter } from './builder.ts';
import { asBuffer } from './bytes.ts';
import type { Offence } from './object-check.ts';
import { unknownVersion } from './object-check.ts';
import type { PatchLimits } from './patch.ts';
import type { RegisteredModel } from './registered-model.ts';
import type { Rules } from './rules.ts';
import { contentOnly, differencesOf } from './three-way.ts';
import type { Versions } from './versions.ts';

const texts = {
  lost: localized('would be lost in {version}'),
};

/**
 * An object in the version in which objects are stored.
 * @param object in the version in which writes are computed
 * @returns `lost`: pointers to what does not come back from there
 * @throws InternalError when it cannot be converted
 */
export function inStorage(
  versions: Versions,
  { apiVersion, storage, validator }: Pick<Rules, 'apiVersion' | 'storage' | 'validator'>,
  object: ExtensionObject,
  limits?: PatchLimits,
): { readonly text: string; readonly lost: readonly string[] } {
  const whole = copyOf(object);
  const text = versions.text(copyOf(object), storage);
  const back = versions.convert(readJson(text) as ExtensionObject, apiVersion);
  // What has a default here and is missing there comes with the next write.
  for (const one of [whole, back]) validator.applyDefaults(one, limits);
  return { text, lost: differencesOf(contentOnly(whole), contentOnly(back)) };
}

/** Objects that something is wrong with, and the first of them. */
export interface FoundObjects {
  readonly failing: number;
  readonly samples: readonly Offence[];
}

export interface Reading {
  readonly store: Store;
  readonly number: number;
  readonly model: RegisteredModel;
  /** In whose storage version objects are to be. */
  readonly rules: Rules;
  /** Nobody waits for it any more. */
  readonly isOver: () => boolean;
}

interface RewriteOptions extends Reading {
  /** Objects up to this one are done: the revision of its creation. */
  readonly after: number;
  /** Objects that are rewritten in a second, at most. */
  readonly rate: number;
  readonly timers: Timers;
  /** Told of what was done since it was told before. */
  readonly onProgress: (progress: FoundObjects & { readonly done: number; readonly after: number }) => Promise<void>;
}

/** Rows that are rewritten in one transaction: a commit that comes then waits for so many. */
const batchSize = 100;
/** Offences that are kept. */
const keptOffences = 10;

/**
 * Brings every stored object into the storage version of the rules. Its content stays, and nobody is told. What cannot be
 * converted, or would lose something, is left as it is.
 * @returns false when the model has another generation by now, or nobody waits for it any more
 */
export async function rewriteObjects(options: RewriteOptions): Promise<boolean> {
  const { store, number, rules, rate, timers, isOver, onProgress } = options;
  for (let { after } = options; ; ) {
    const page = await rowsAfter({ store, number, newest: Number.POSITIVE_INFINITY }, after);
    if (page.length === 0) return !isOver();
    for (let at = 0; at < page.length; at += batchSize) {
      if (isOver()) return false;
      const rows = page.slice(at, at + batchSize);
      const found = new Findings();
      for (let left: readonly TextRow[] = rows; left.length > 0; ) {
        const began = performance.now();
        const batch = rewritesOf(options, left, found);
        const count = batch.length > 0 ? await store.rewrite(number, batch, rules.generation) : 0;
        if (count === undefined || isOver()) return false;
        await pause(timers, Math.max((batch.length / rate) * 1_000 - (performance.now() - began), 0));
        // Those that were changed since, or whose change was under way.
        left = count < batch.length ? await rowsOf(options, batch) : [];
      }
      after = rows.at(-1)!.id;
      await onProgress({ done: rows.length - found.failing, after, ...found.all });
    }
    await nextTurn();
  }
}

/** As they are stored now, those that are still there. */
export async function rowsOf(
  { store, number }: Pick<Reading, 'store' | 'number'>,
  some: readonly { readonly id: number }[],
): Promise<TextRow[]> {
  const rows = await store.get(
    number,
    some.map(({ id }) => id),
  );
  return rows.map(({ bytes, ...row }) => ({ ...row, text: asBuffer(bytes).toString() }));
}

/** Every stored object that the storage version of the rules cannot say whole. */
export async function lossesIn(options: Reading): Promise<FoundObjects> {
  const { store, number, isOver } = options;
  const found = new Findings();
  const slice = new TimeSlice(() => performance.now());
  for (let after = 0; !isOver(); ) {
    const page = await rowsAfter({ store, number, newest: Number.POSITIVE_INFINITY }, after);
    if (page.length === 0) break;
    after = page.at(-1)!.id;
    for (const row of page) {
      rewritesOf(options, [row], found);
      if (slice.isOver) await slice.renew();
    }
    await slice.renew();
  }
  return found.all;
}

export class Findings {
  readonly #names = new Set<string>();
  readonly #samples: Offence[] = [];

  add(name: string, { pointer, keyword, message }: Omit<Offence, 'names'>): void {
    this.#names.add(name);
    if (this.#samples.length < keptOffences) this.#samples.push({ names: [name], pointer, keyword, message });
  }

  /** Looked at again. */
  delete(name: string): void {
    if (!this.#names.delete(name)) return;
    const at = this.#samples.findIndex(({ names }) => names[0] === name);
    if (at >= 0) this.#samples.splice(at, 1);
  }

  get failing(): number {
    return this.#names.size;
  }

  get all(): FoundObjects {
    return { failing: this.failing, samples: this.#samples };
  }
}

/** New bytes of those rows that are in another version. */
function rewritesOf({ model, rules }: Reading, rows: readonly TextRow[], found: Findings): Rewrite[] {
  const versions = model.versions;
  const batch: Rewrite[] = [];
  for (const { id, revision, name, text } of rows) {
    found.delete(name);
    if (isTextIn(text, rules.storage)) continue;
    const object = parsed(text);
    if (!object || object.apiVersion === rules.storage) continue;
    if (!versions?.has(object.apiVersion)) {
      found.add(name, unknownVersion(object.apiVersion));
      continue;
    }
    try {
      const { text: stored, lost } =
        rules.storage === rules.apiVersion
          ? { text: versions.text(object, rules.storage), lost: [] }
          : inStorage(versions, rules, versions.convert(object, rules.apiVersion));
      const [pointer] = lost;
      if (pointer === undefined) batch.push({ id, revision, bytes: Buffer.from(stored) });
      else found.add(name, violation(pointer, 'notYetStorable', texts.lost, { version: versionOf(rules.storage) }));
    } catch (error) {
      found.add(name, { pointer: '', keyword: 'conversion', message: messageOf(error) });
    }
  }
  return batch;
}

/** Stored objects begin so. */
function isTextIn(text: string, apiVersion: string): boolean {
  return text.startsWith(`{"apiVersion":"${apiVersion}"`);
}

function parsed(text: string): ExtensionObject | undefined {
  try {
    const object = readJson(text) as ExtensionObject | null;
    return typeof object?.metadata === 'object' ? object : undefined;
  } catch {
    // Listed where the indexes are built; no version can say it.
    return undefined;
  }
}

/** `v1` of `demo.example.com/v1`. */
export function versionOf(apiVersion: string): string {
  return apiVersion.slice(apiVersion.lastIndexOf('/') + 1);
}
