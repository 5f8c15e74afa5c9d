/**
 * Indexes that begin with a snapshot instead of the stored objects (docs/decisions/index-snapshots.md). Whatever is not certain is a
 * reason to build them: a snapshot that is not used costs time, one that is wrong costs the truth.
 */
import { hash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { KindredError } from '../errors.ts';
import { keysOf } from '../indexes/field.ts';
import { ModelIndex } from '../indexes/model-index.ts';
import { contractHash, contractOf } from '../model/contract.ts';
import type { ExtensionObject } from '../model/object.ts';
import type { Scheme } from '../model/scheme.ts';
import { readJson } from '../runtime/read-json.ts';
import { TimeSlice } from '../runtime/time-slice.ts';
import type { FileDamaged, FileRead } from '../snapshots/folder.ts';
import type { Change, Row, Store, TextChange } from '../store/store.ts';
import { asBuffer } from './bytes.ts';
import { storedEntry } from './entries.ts';
import type { RegisteredModel } from './registered-model.ts';

/** What the keys of an index depend on besides the objects. */
export interface Identity {
  /** The code of the service, and Node.js. */
  readonly runtime: string;
  /** The declaration of the model. */
  readonly definition: string;
  /** The code of the plugin and its configuration. */
  readonly code: string;
  /** Revision of the record that says where the objects are: a move leaves no line in the change log of the store that they left. */
  readonly place?: number;
}

/** A change by which a store is known again: it tells every change before it, too. */
type Anchor = Pick<Change, 'revision' | 'type' | 'model' | 'id' | 'name' | 'time'> & { readonly sha256: string };

/** The header of a snapshot. */
export interface SnapshotContent {
  readonly format: 2;
  readonly identity: Identity;
  readonly model: { readonly number: number; readonly group: string; readonly kind: string };
  /** The objects are as they were at this revision, but those that changed until `anchor` are missing. */
  readonly revision: number;
  readonly anchor: Anchor;
  readonly problems: readonly (readonly [name: string, reason: string])[];
}

/** Why a snapshot is not used, in one word (docs/guide/starting.md). */
export type RejectionReason =
  | 'format'
  | 'damaged'
  | 'definition'
  | 'function'
  | 'store'
  | 'revision'
  | 'expired'
  | 'behind'
  | 'sample';

/** A snapshot that is not used. */
export class Rejection extends Error {
  readonly reason: RejectionReason;

  constructor(reason: RejectionReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

export interface Restored {
  readonly index: ModelIndex;
  readonly problems: Map<string, string>;
  /** Of the snapshot. */
  readonly revision: number;
  /** Changes of the log that came on top. */
  readonly replayed: number;
}

export interface RestoreOptions {
  readonly store: Store;
  readonly number: number;
  readonly model: RegisteredModel;
  /** The indexes are to be as they are at this revision. */
  readonly newest: number;
  readonly isOver: () => boolean;
}

const portion = 1_000;
/** Of a store that reads in this process, without a way to a server: fewer texts at once need less memory that is new. */
const portionHere = 200;
/** Objects that are compared with the store, besides the first and the last. */
const samples = 64;
/** More changes than this, and than half of the objects, and building is as quick. */
const fewChanges = 10_000;
/** Milliseconds that the work may hold the event loop at once. */
const sliceLength = 8;

/** @throws Rejection */
export async function restoreIndexes(
  found: FileRead | FileDamaged,
  identity: Identity,
  options: RestoreOptions,
): Promise<Restored> {
  if ('damaged' in found) throw new Rejection('damaged', found.damaged);
  const content = found.content as SnapshotContent;
  checkIdentity(content, identity, options);
  await checkAnchor(content.anchor, options);
  const index = new ModelIndex(options.model.scheme.indexes);
  try {
    await index.restore(found.sections, sliceLength);
  } catch (error) {
    throw new Rejection('damaged', (error as Error).message);
  }
  const problems = new Map(content.problems);
  const replayed = await replay(content.revision, index, problems, options);
  await checkSample(index, options);
  return { index, problems, revision: content.revision, replayed };
}

/** The same for declarations with the same indexes in the same order, and the same contract. */
export function definitionHash(scheme: Scheme): string {
  if (scheme.definition) return scheme.definition.code;
  const order = scheme.indexes.map(({ name }) => name);
  return hash('sha256', JSON.stringify([contractHash(contractOf(scheme)), order]));
}

/** Undefined when the log has no such change. @throws Expired when it has it no longer */
export async function anchorAt(store: Store, revision: number): Promise<Anchor | undefined> {
  if (revision === 0) return undefined;
  const [change] = await store.changes(revision - 1, 1);
  return change?.revision === revision ? anchorOf(change) : undefined;
}

function anchorOf({ revision, type, model, id, name, time, bytes }: Change): Anchor {
  return { revision, type, model, id, name, time, sha256: hash('sha256', asBuffer(bytes)) };
}

function checkIdentity(content: SnapshotContent, identity: Identity, { number, model }: RestoreOptions): void {
  if (content.format !== 2) throw new Rejection('format', `its format is ${content.format}`);
  if (content.identity.runtime !== identity.runtime)
    throw new Rejection('format', 'it was written by another version of Kindred or Node.js');
  const { group, kind } = model.scheme.groupVersionKind;
  const of = content.model;
  if (of.group !== group || of.kind !== kind || of.number !== number)
    throw new Rejection('store', `it is of ${of.kind} (${of.group}), number ${of.number}`);
  if (content.identity.place !== identity.place)
    throw new Rejection('store', 'the objects of the model were moved, or a move began, since');
  if (content.identity.definition !== identity.definition)
    throw new Rejection('definition', 'the declaration of the model changed');
  if (content.identity.code !== identity.code)
    throw new Rejection('function', 'the code of the plugin or its configuration changed');
}

/** A store that has the last change that the snapshot saw has all before it. Otherwise it is another one, or was put back. */
async function checkAnchor(anchor: Anchor, { store, newest }: RestoreOptions): Promise<void> {
  if (anchor.revision > newest)
    throw new Rejection('revision', `it is of revision ${anchor.revision}, the database of ${newest}`);
  const there = await logged(() => anchorAt(store, anchor.revision));
  if (JSON.stringify(there) !== JSON.stringify(anchor))
    throw new Rejection('store', `the database has another change ${anchor.revision}`);
}

/** @throws Rejection when the log no longer reaches back */
async function logged<T>(read: () => Promise<T> | T): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof KindredError && error.code === 'Expired')
      throw new Rejection('expired', 'the change log no longer reaches back to it');
    throw error;
  }
}

/** Applies what changed since, of each page of the log the last change of a name. */
async function replay(
  revision: number,
  index: ModelIndex,
  problems: Map<string, string>,
  { store, number, model, newest, isOver }: RestoreOptions,
): Promise<number> {
  const limit = Math.max(fewChanges, index.size / 2);
  const slice = new TimeSlice(() => performance.now(), sliceLength);
  let replayed = 0;
  for (let since = revision; !isOver(); ) {
    const page = await logged(() => textsAfter(store, number, since));
    const last = new Map<string, TextChange>();
    for (const change of page) if (change.revision <= newest) last.set(change.name, change);
    for (const change of last.values()) {
      applyChange(change, index, problems, model);
      if (slice.isOver) await slice.renew();
    }
    replayed += last.size;
    if (replayed > limit) throw new Rejection('behind', `more than ${Math.floor(limit)} changes came since`);
    since = page.at(-1)?.revision ?? newest;
    if (since >= newest) break;
    await nextTurn();
  }
  return replayed;
}

async function textsAfter(store: Store, number: number, since: number): Promise<readonly TextChange[]> {
  if (store.changesText) return store.changesText(since, portionHere, number);
  const changes = await store.changes(since, portion, { model: number });
  return changes.map(({ revision, type, id, name, bytes }) => ({
    revision,
    type,
    id,
    name,
    text: asBuffer(bytes).toString(),
    length: bytes.byteLength,
  }));
}

function applyChange(
  { revision, type, id, name, text, length }: TextChange,
  index: ModelIndex,
  problems: Map<string, string>,
  model: RegisteredModel,
): void {
  if (type === 'delete') {
    index.remove(name);
    problems.delete(name);
    return;
  }
  const object = model.parseText(text, name);
  if (!model.has(object.apiVersion))
    throw new Rejection('expired', `the change log has ${name} in a version that the model lacks`);
  index.put(model.entryOf(object, name), id, revision, length);
  if (object.apiVersion === model.apiVersion) problems.delete(name);
}

/** Finds index functions that give something else by now, and what no check of the bytes can find. */
async function checkSample(index: ModelIndex, options: RestoreOptions): Promise<void> {
  const { store, number, model } = options;
  if (!store.shared) {
    const count = await store.count(number);
    if (count !== index.size) throw new Rejection('sample', `it has ${index.size} objects, the database ${count}`);
  }
  const slots = sampleOf(index);
  const ids = slots.map((slot) => index.ids[slot]!);
  const rows = await store.get(number, ids);
  // Those that others changed meanwhile are as they are to be when the feed comes to it.
  if (rows.length < slots.length && !store.shared)
    throw new Rejection('sample', 'the database lacks some of its objects');
  for (const row of rows) {
    const found = index.find(row.name);
    const isChanged = found?.id !== row.id || found.revision !== row.revision;
    if (isChanged && store.shared) continue;
    const difference = isChanged ? 'its revision' : differenceOf(index, found!.slot, row, model);
    if (difference !== undefined)
      throw new Rejection(
        'sample',
        `of ${row.name}, ${difference} differs: index functions must depend on the object alone`,
      );
  }
}

function sampleOf(index: ModelIndex): number[] {
  const found = new Set<number>();
  const add = (slot: number): void => {
    if (index.names.has(slot)) found.add(slot);
  };
  const { limit } = index;
  let [first, last] = [0, limit - 1];
  while (first < last && !index.names.has(first)) first++;
  while (last > first && !index.names.has(last)) last--;
  add(first);
  add(last);
  for (let i = 0; i < samples; i++) add(Math.floor(Math.random() * limit));
  return [...found];
}

/** What the index has of an object, and the stored object does not give. */
function differenceOf(index: ModelIndex, slot: number, row: Row, model: RegisteredModel): string | undefined {
  if (!parse(row)) return undefined;
  const { scheme } = model;
  const object = model.parse(asBuffer(row.bytes), row.name);
  const { entry } = storedEntry(scheme, object, row.name);
  for (const [field, one] of index.fields.entries()) {
    if (!one.hasExactly(slot, keysOf(entry, field))) return `the index "${one.field.name}"`;
  }
  if (!index.labels.hasExactly(slot, entry.labels)) return 'its labels';
  return index.lengths[slot] === row.bytes.byteLength ? undefined : 'its size';
}

/** Undefined for what the indexes were built without. */
function parse(row: Row): ExtensionObject | undefined {
  try {
    const object = readJson(asBuffer(row.bytes).toString()) as ExtensionObject | null;
    return typeof object?.metadata === 'object' ? object : undefined;
  } catch {
    return undefined;
  }
}
