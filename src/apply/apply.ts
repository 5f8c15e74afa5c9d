/**
 * Server-side apply (docs/decisions/server-side-apply.md): what an object becomes when a manager applies some of its fields,
 * and who owns which field after a write of any kind. Everything here is a pure function of an object, a body, a manager
 * and a JSON Schema.
 */
import { listedViolations } from '../errors.ts';
import type { ManagedFieldsEntry } from '../model/object.ts';
import type { Parts } from '../runtime/parts.ts';
import type { SchemaObject } from '../schema/keywords.ts';
import { isObject } from '../schema/keywords.ts';
import type { FieldSet } from './field-set.ts';
import { difference, intersection, leaf, pathsOf, union } from './field-set.ts';
import type { FieldType } from './field-type.ts';
import { fieldTypeOf } from './field-type.ts';
import type { Manager, Owner } from './managers.ts';
import { beforeFirstApply, entriesOf, haveSameFields, isSame, ownersOf } from './managers.ts';
import { Pace } from './pace.ts';
import { ambiguousItem, differenceOf, fieldsOf, merged, pruned, withheld } from './value.ts';

/** An object, or what is applied of one: as far as fields go. */
export interface Fields {
  readonly [member: string]: unknown;
}

/** A field that a body sets, and that another manager owns with another value. */
export interface Conflict {
  readonly owner: Manager;
  /** Such as `.spec.ports[name="http"].port`. */
  readonly field: string;
}

export interface Applying {
  readonly manager: string;
  readonly apiVersion: string;
  readonly subresource?: string;
  /**
   * What becomes of conflicts: `fail` gives them back and changes nothing, `force` takes the fields from their owners,
   * `yield` leaves the fields to them.
   */
  readonly conflicts: 'fail' | 'force' | 'yield';
  /** Bytes that field sets may take. */
  readonly limit?: number | undefined;
  /** What the manager wrote before in another way: its fields that the live object still has with this value are no conflicts. */
  readonly written?: Fields | undefined;
  /**
   * Which fields count as applied by this manager before, so that they go unless the body names them: those that no other
   * one applies, or all. Status, finalizers and owner references stay with whoever wrote them. By default those of its
   * last apply; an object without managers was written by `before-first-apply`.
   */
  readonly adopts?: 'unapplied' | 'all' | undefined;
}

export type Applied =
  | {
      readonly content: Fields;
      readonly owners: readonly Owner[];
      readonly conflicts?: undefined;
      readonly ambiguous?: undefined;
    }
  /** The first conflicts, and how many there are besides. */
  | { readonly conflicts: readonly Conflict[]; readonly omitted: number; readonly ambiguous?: undefined }
  /** Pointer of an item of the body that cannot be told apart from the others of its list. */
  | { readonly ambiguous: string };

/** Members of metadata that are fields. */
const ownedMetadata = ['labels', 'annotations', 'finalizers', 'ownerReferences'] as const;

/** What of an object are fields: without its identity, and without what the service sets. */
export function contentOf(object: Fields): Fields {
  const { apiVersion: _apiVersion, kind: _kind, metadata, ...members } = object;
  const own: Record<string, unknown> = {};
  if (isObject(metadata)) {
    for (const name of ownedMetadata) if (metadata[name] !== undefined) own[name] = metadata[name];
  }
  return Object.keys(own).length > 0 ? { metadata: own, ...members } : members;
}

/**
 * What the content of a live object becomes, and its owners; or what is in the way.
 * @param live content of the stored object; undefined when there is none
 * @param body content that is applied
 */
export function* apply(
  live: Fields | undefined,
  entries: readonly ManagedFieldsEntry[],
  body: Fields,
  schema: SchemaObject,
  applying: Applying,
): Parts<Applied> {
  const { manager, apiVersion, subresource, conflicts: rule, written, adopts, limit } = applying;
  const pace = new Pace(limit);
  const type = fieldTypeOf(schema);
  const self: Manager = { manager, operation: 'Apply', apiVersion, ...(subresource !== undefined && { subresource }) };
  let owners = ownersOf(entries);
  if (live && adopts) owners = yield* adopted(live, owners, self, adopts, type, pace);
  else if (live && owners.length === 0) {
    const fields = yield* rootFieldsOf(live, type, pace);
    owners = [{ manager: beforeFirstApply, operation: 'Update', apiVersion, fields }];
  }
  const last = owners.find((one) => isSame(one, self));
  const others = owners.filter((one) => one !== last);
  const whole = live ?? {};

  let applied = body;
  let fields = yield* rootFieldsOf(body, type, pace);
  const ambiguous = pace.isAmbiguous ? yield* ambiguousItem(body, type, pace) : undefined;
  if (ambiguous !== undefined) return { ambiguous };
  let result = (yield* merged(whole, applied, type, pace)) as Fields;
  const { set, gone } = yield* differenceOf(whole, result, type, pace);
  const touched = yield* union(set, gone, pace);
  const own = written && live ? yield* unchangedFields(written, live, type, pace) : undefined;
  let contested: FieldSet | undefined;
  const named: Conflict[] = [];
  let count = 0;
  const losing = new Map<Owner, FieldSet>();
  for (const owner of others) {
    const lost = yield* intersection(owner.fields, touched, pace);
    if (!lost) continue;
    losing.set(owner, lost);
    const refused = yield* difference(lost, own, pace);
    if (!refused) continue;
    contested = yield* union(contested, refused, pace);
    for (const field of pathsOf(refused)) {
      if (pace.isDue) yield;
      if (++count <= listedViolations) named.push({ owner, field });
    }
  }
  if (contested && rule === 'fail') return { conflicts: named, omitted: count - named.length };
  if (contested && rule === 'yield') {
    applied = ((yield* withheld(body, type, contested, pace)) ?? {}) as Fields;
    result = (yield* merged(whole, applied, type, pace)) as Fields;
    fields = yield* rootFieldsOf(applied, type, pace);
    losing.clear();
  }

  const after: Owner[] = [];
  for (const owner of owners) {
    if (owner === last) after.push({ ...self, fields });
    else after.push({ ...owner, fields: yield* difference(owner.fields, losing.get(owner), pace) });
  }
  if (!last) after.push({ ...self, fields });
  if (!last?.fields) return { content: result, owners: recorded(after, self, adopts) };

  const kept = after.flatMap((one) => (one.fields ? [one.fields] : []));
  const rest = (yield* pruned(result, type, last.fields, [...kept, identity], pace)) as Fields;
  const removed = yield* differenceOf(result, rest, type, pace);
  if (!removed.gone) return { content: rest, owners: recorded(after, self, adopts) };
  const remaining: Owner[] = [];
  for (const owner of after) {
    remaining.push({ ...owner, fields: yield* difference(owner.fields, removed.gone, pace) });
  }
  return { content: rest, owners: recorded(remaining, self, adopts) };
}

/** The owners as if this one had applied what it adopts. */
function* adopted(
  live: Fields,
  owners: readonly Owner[],
  self: Manager,
  adopts: 'unapplied' | 'all',
  type: FieldType,
  pace: Pace,
): Parts<Owner[]> {
  const all = yield* rootFieldsOf(adoptable(live), type, pace);
  const last = owners.find((one) => isSame(one, self));
  const others = owners.filter((one) => one !== last);
  const isLeft = (one: Manager): boolean => adopts === 'unapplied' && one.operation === 'Apply';
  let fields = all;
  for (const owner of others) if (isLeft(owner)) fields = yield* difference(fields, owner.fields, pace);
  const after: Owner[] = [{ ...self, time: last?.time, fields }];
  for (const owner of others) {
    after.push(isLeft(owner) ? owner : { ...owner, fields: yield* difference(owner.fields, all, pace) });
  }
  return after;
}

/** What of an object nobody adopts is left out. */
function adoptable({ status: _status, metadata, ...members }: Fields): Fields {
  if (!isObject(metadata)) return members;
  const { finalizers: _finalizers, ownerReferences: _owners, ...own } = metadata;
  return Object.keys(own).length > 0 ? { metadata: own, ...members } : members;
}

/** A manager that adopts is not recorded while there is no other one. */
function recorded(owners: readonly Owner[], self: Manager, adopts: Applying['adopts']): readonly Owner[] {
  return adopts && owners.every((one) => one.fields === undefined || isSame(one, self)) ? [] : owners;
}

/** Stays when nobody owns anything in it. */
const identity: FieldSet = { 'f:metadata': leaf };

function* rootFieldsOf(content: Fields, type: FieldType, pace: Pace): Parts<FieldSet | undefined> {
  return Object.keys(content).length === 0 ? undefined : yield* fieldsOf(content, type, pace);
}

function* unchangedFields(before: Fields, after: Fields, type: FieldType, pace: Pace): Parts<FieldSet | undefined> {
  const { set, gone } = yield* differenceOf(before, after, type, pace);
  return yield* difference(yield* rootFieldsOf(before, type, pace), yield* union(set, gone, pace), pace);
}

/** The owners after a write that is no apply: what it changed belongs to the writer alone, what it removed to nobody. */
export function* update(
  before: Fields | undefined,
  after: Fields,
  entries: readonly ManagedFieldsEntry[],
  schema: SchemaObject,
  writer: Manager,
): Parts<readonly Owner[]> {
  const pace = new Pace();
  const type = fieldTypeOf(schema);
  const { set, gone } = yield* differenceOf(before ?? {}, after, type, pace);
  const touched = yield* union(set, gone, pace);
  const owners: Owner[] = [];
  const isWriter = (one: Manager): boolean => isSame(one, writer);
  for (const owner of ownersOf(entries)) {
    if (!isWriter(owner)) owners.push({ ...owner, fields: yield* difference(owner.fields, touched, pace) });
    else {
      const fields = yield* difference(yield* union(owner.fields, set, pace), gone, pace);
      owners.push({ ...owner, ...(set && { time: undefined }), fields });
    }
  }
  if (!owners.some(isWriter)) owners.push({ ...writer, fields: set });
  return owners;
}

/** The entries to store: the ones that are there when neither the content nor an owner changes. @param now milliseconds since the epoch */
export function* managedFields(
  entries: readonly ManagedFieldsEntry[],
  owners: readonly Owner[],
  isChanged: boolean,
  now: number,
): Parts<readonly ManagedFieldsEntry[]> {
  const present = owners.filter(({ fields }) => fields !== undefined);
  if (!isChanged && haveSameFields(ownersOf(entries), present)) return entries;
  const time = `${new Date(now).toISOString().slice(0, 19)}Z`;
  return yield* entriesOf(
    present.map((one) => ({ ...one, time: one.time ?? time })),
    new Pace(),
  );
}
