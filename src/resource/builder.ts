/** Builds the indexes of a model from what the store has, and makes the claims of a store that keeps them those of today's unique indexes. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { messageOf } from '../errors.ts';
import { firstDeclared } from '../indexes/field.ts';
import { ModelIndex } from '../indexes/model-index.ts';
import { partsOf } from '../model/full-name.ts';
import type { IndexEntry } from '../model/index-entry.ts';
import type { ExtensionObject } from '../model/object.ts';
import type { Scheme } from '../model/scheme.ts';
import { readJson } from '../runtime/read-json.ts';
import { TimeSlice } from '../runtime/time-slice.ts';
import type { Claim, Claims, HeldClaim, Store, TextRow } from '../store/store.ts';
import type { Admission } from './admission.ts';
import { asBuffer } from './bytes.ts';
import { claimOf, keepsClaims, uniqueKeysOf } from './claims.ts';
import { storedEntry } from './entries.ts';
import type { RegisteredModel } from './registered-model.ts';
import type { Rules } from './rules.ts';
import type { Versions } from './versions.ts';

interface BuildOptions {
  readonly store: Store;
  readonly number: number;
  /** What was created after this revision is left out: the feed tells of it. */
  readonly newest: number;
  readonly model: RegisteredModel;
  /** Nobody waits for the result any more. */
  readonly isOver: () => boolean;
  /** Of a model whose declaration changed. */
  readonly admission?: Admission | undefined;
  /** The claims were compared with the objects by this declaration before: that need not be done before the model serves. */
  readonly claimsAreKnown?: boolean;
  /** Objects that are read, and all there are to read. */
  readonly onProgress: (done: number, total: number) => void;
}

interface IndexRow {
  readonly entry: IndexEntry;
  readonly id: number;
  readonly revision: number;
  readonly length: number;
}

const portion = 500;
/** Rows per batch. Larger batches outlive a minor collection and are promoted to the old generation first: a fifth more processor time. */
const batchSize = 16;
/** Milliseconds that index functions may hold the event loop at once. */
const sliceLength = 10;

const monotonicNow = () => performance.now();

export async function buildIndexes(
  options: BuildOptions,
): Promise<{ index: ModelIndex; problems: Map<string, string> }> {
  const { store, number, model, admission } = options;
  const { scheme, rules } = model;
  const problems = new Map<string, string>();
  const areMended = keepsClaims(store) && !options.claimsAreKnown && !rules.isBlocked && !rules.hasOtherHub;
  const expected = areMended ? new ClaimSum() : undefined;
  const total = await store.count(number);
  options.onProgress(0, total);
  const index = new ModelIndex(scheme.indexes);

  async function* rows(): AsyncGenerator<readonly IndexRow[]> {
    for (let after = 0; !options.isOver(); ) {
      const page = await rowsAfter(options, after);
      if (page.length === 0) return;
      after = page.at(-1)!.id;
      let built: IndexRow[] = [];
      const slice = new TimeSlice(monotonicNow, sliceLength);
      for (const row of page) {
        const { entry } = readStored(scheme, row, { problems, admission, versions: model.versions });
        if (expected) {
          for (const key of uniqueKeysOf(rules.uniques, rules.indexes, entry)) expected.add(claimOf(key).hash, row.id);
        }
        built.push({ entry, id: row.id, revision: row.revision, length: Buffer.byteLength(row.text) });
        if (slice.isOver) await slice.renew();
        if (built.length < batchSize) continue;
        yield built;
        built = [];
      }
      yield built;
      await slice.renew();
    }
  }

  await index.build(rows(), {
    expected: total,
    onProgress: (done) => options.onProgress(Math.min(done, total), total),
  });
  // Before the claims are touched: a declaration that is refused changes nothing.
  for (const [name, problem] of (await admission?.decide(index)) ?? []) {
    if (!problems.has(name)) problems.set(name, problem);
  }
  if (expected && keepsClaims(store)) await mendClaims({ ...options, store, rules }, expected);
  return { index, problems };
}

/** The entry of a stored object; what is wrong with it is told to the check, and kept by its name. */
export function readStored(
  scheme: Scheme,
  row: TextRow,
  {
    problems,
    admission,
    versions,
  }: { problems: Map<string, string>; admission: Admission | undefined; versions: Versions | undefined },
): { entry: IndexEntry } {
  const { apiVersion } = scheme;
  const { object, problem: unconverted, version } = read(scheme, versions, row.text);
  const { entry, violations, problem } = storedEntry(scheme, object ?? unreadable(scheme, row.name), row.name);
  if (object) admission?.check.add(row.name, object, violations);
  else if (unconverted !== undefined) admission?.check.addUnconverted(row.name, version!, unconverted);
  if (!object) problems.set(row.name, unconverted ?? 'the stored object is not valid JSON');
  else if (problem !== undefined) problems.set(row.name, problem);
  else if (object.apiVersion !== apiVersion)
    problems.set(row.name, `stored as ${object.apiVersion}, the model is ${apiVersion}`);
  return { entry };
}

/** A name that is deleted and created again meanwhile would come twice; of its creations only one is up to `newest`. */
export async function rowsAfter(
  { store, number, newest }: Pick<BuildOptions, 'store' | 'number' | 'newest'>,
  after: number,
): Promise<readonly TextRow[]> {
  const page =
    store.scanText?.(number, after, portion) ??
    (await store.scan(number, after, portion)).map(({ bytes, ...row }) => ({
      ...row,
      text: asBuffer(bytes).toString(),
    }));
  return page.filter((row) => row.id <= newest);
}

function parse(text: string): ExtensionObject | undefined {
  try {
    const object = readJson(text) as ExtensionObject | null;
    return typeof object?.metadata === 'object' ? object : undefined;
  } catch {
    return undefined;
  }
}

/** A stored object in the hub, or why it cannot be had. */
function read(
  scheme: Scheme,
  versions: Versions | undefined,
  text: string,
): { readonly object?: ExtensionObject; readonly problem?: string; readonly version?: string } {
  const object = parse(text);
  if (!object) return {};
  const { apiVersion } = scheme;
  const isConverted = versions !== undefined && object.apiVersion !== apiVersion && versions.has(object.apiVersion);
  try {
    return { object: isConverted ? versions.convert(object, apiVersion) : scheme.conform(object) };
  } catch (error) {
    return { problem: messageOf(error), version: object.apiVersion };
  }
}

function unreadable(scheme: Scheme, name: string): ExtensionObject {
  return { apiVersion: '', kind: scheme.groupVersionKind.kind, metadata: partsOf(name) };
}

/** The claims of a model in one number that does not depend on their order. */
class ClaimSum {
  #count = 0;
  #sum = 0n;

  add(hash: Uint8Array, id: number): void {
    this.#count++;
    this.#sum += asBuffer(hash).readBigUInt64LE(0) * BigInt(2 * id + 1);
  }

  equals(other: ClaimSum): boolean {
    return this.#count === other.#count && this.#sum === other.#sum;
  }
}

export interface MendOptions extends Pick<BuildOptions, 'number' | 'newest' | 'model' | 'isOver'> {
  readonly store: Store & Claims;
  /** Claims are touched only while the model has their generation. */
  readonly rules: Rules;
}

/** Times that indexes to which objects come are compared with the claims before all objects are read. */
const comparisons = 3;

/**
 * Compares the claims with indexes that began with a snapshot, and mends them where they differ: a replica with other unique
 * indexes may have written since.
 * @param changes grows with every change of the indexes
 * @param newest learns what is committed, and resolves when the indexes show it
 */
export async function checkClaims(
  index: ModelIndex,
  changes: () => number,
  { newest, ...options }: Omit<MendOptions, 'newest'> & { newest: () => Promise<number> },
): Promise<void> {
  for (let left = comparisons; left > 0 && !options.isOver(); left--) {
    const revision = await newest();
    const before = changes();
    const expected = await claimsOf(index, options);
    const stored = await storedClaims({ ...options, newest: revision });
    await newest();
    if (changes() !== before) continue;
    if (stored.equals(expected)) return;
    break;
  }
  await claimAll({ ...options, newest: await newest() });
}

async function claimsOf(
  index: ModelIndex,
  { rules, isOver }: Pick<MendOptions, 'rules' | 'isOver'>,
): Promise<ClaimSum> {
  const sum = new ClaimSum();
  const slice = new TimeSlice(monotonicNow);
  for (const definition of rules.uniques) {
    const field = index.fields[firstDeclared + rules.indexes.indexOf(definition)]!;
    for (const { slot, key } of field.keys()) {
      const text = definition.codec.format(key);
      sum.add(
        claimOf({ definition, value: key, key: text, text: `${definition.name}\0${text}` }).hash,
        index.ids[slot]!,
      );
      if (!slice.isOver) continue;
      await slice.renew();
      if (isOver()) return sum;
    }
  }
  return sum;
}

/** Times that claims are compared again because rows changed meanwhile. */
const mendings = 10;

/**
 * The claims are kept by every write; they differ only when a unique index was added, dropped or given another
 * function since, or when stored data violates it. Of several holders of one value the one that has the claim keeps it.
 * Other replicas may write meanwhile: a claim is touched only as long as its row is the one that was read.
 */
async function mendClaims(options: MendOptions, expected: ClaimSum): Promise<void> {
  if (!(await storedClaims(options)).equals(expected)) await claimAll(options);
}

async function storedClaims(options: MendOptions): Promise<ClaimSum> {
  const stored = new ClaimSum();
  for await (const page of claimPages(options)) for (const claim of page) stored.add(claim.hash, claim.id);
  return stored;
}

/** True when every unique value of the rules is claimed, and no other. */
export async function claimAll(options: MendOptions): Promise<boolean> {
  for (let mending = 0; mending < mendings && !options.isOver(); mending++) {
    const left = await mendOnce(options);
    if (left === undefined) return false;
    if (left === 0) return true;
  }
  return false;
}

/** How many claims were left as they are because their rows had changed; undefined when the model has another generation. */
async function mendOnce(options: MendOptions): Promise<number | undefined> {
  const { store, number, model, rules } = options;
  const { scheme } = model;
  const revisions = new Map<number, number>();
  const wanted = new Map<string, { claim: Claim; ids: Set<number> }>();
  for (let after = 0; !options.isOver(); ) {
    const page = await rowsAfter(options, after);
    if (page.length === 0) break;
    after = page.at(-1)!.id;
    const slice = new TimeSlice(monotonicNow, sliceLength);
    for (const row of page) {
      revisions.set(row.id, row.revision);
      const { entry } = storedEntry(
        rules,
        read(scheme, model.versions, row.text).object ?? unreadable(scheme, row.name),
        row.name,
      );
      for (const key of uniqueKeysOf(rules.uniques, rules.indexes, entry)) {
        const claim = claimOf(key);
        const text = asBuffer(claim.hash).toString('latin1');
        const known = wanted.get(text);
        if (known) known.ids.add(row.id);
        else wanted.set(text, { claim, ids: new Set([row.id]) });
      }
      if (slice.isOver) await slice.renew();
    }
    await slice.renew();
  }
  const remove: HeldClaim[] = [];
  for await (const page of claimPages(options)) {
    for (const { hash, id } of page) {
      const text = asBuffer(hash).toString('latin1');
      if (wanted.get(text)?.ids.has(id)) wanted.delete(text);
      else remove.push({ hash, id, revision: revisions.get(id) });
    }
  }
  const add = [...wanted.values()].map(({ claim, ids }) => {
    const id = Math.min(...ids);
    return { ...claim, id, revision: revisions.get(id)! };
  });
  let left = 0;
  const { generation } = rules;
  for (let at = 0; at < remove.length; at += claimPortion) {
    const some = await store.mendClaims(number, [], remove.slice(at, at + claimPortion), generation);
    if (some === undefined) return undefined;
    left += some;
  }
  for (let at = 0; at < add.length; at += claimPortion) {
    const some = await store.mendClaims(number, add.slice(at, at + claimPortion), [], generation);
    if (some === undefined) return undefined;
    left += some;
  }
  return left;
}

const claimPortion = 5_000;

async function* claimPages({
  store,
  number,
  newest,
}: MendOptions): AsyncGenerator<readonly (Claim & { id: number })[]> {
  for (let after: Uint8Array | undefined; ; ) {
    const page = await store.claims(number, after, claimPortion);
    if (page.length === 0) return;
    yield page.filter((claim) => claim.id <= newest);
    after = page.at(-1)!.hash;
    await nextTurn();
  }
}
