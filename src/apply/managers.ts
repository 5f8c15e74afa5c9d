/** Who owns which fields of an object (`metadata.managedFields`). */
import type { ManagedFieldsEntry } from '../model/object.ts';
import type { Parts } from '../runtime/parts.ts';
import { isEqual } from '../schema/json-value.ts';
import { isObject } from '../schema/keywords.ts';
import type { FieldSet } from './field-set.ts';
import { isFieldSet, union } from './field-set.ts';
import type { Pace } from './pace.ts';

/** What tells two entries apart. */
export interface Manager {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  readonly subresource?: string;
}

/** A manager with its fields. */
export interface Owner extends Manager {
  readonly fields: FieldSet | undefined;
  /** Undefined: of the write at hand. */
  readonly time?: string | undefined;
}

/** Owns everything of an object that had no managers when it was applied first. */
export const beforeFirstApply = 'before-first-apply';

/** Takes the fields of managers of updates when there are too many. */
const ancient = 'ancient-changes';
const updatersLimit = 10;

/** Characters of a text of an entry. */
const longestName = 256;

/** An applying manager has one entry, whatever the version of the model. */
export function isSame(a: Manager, b: Manager): boolean {
  return (
    a.manager === b.manager &&
    a.operation === b.operation &&
    a.subresource === b.subresource &&
    (a.operation === 'Apply' || a.apiVersion === b.apiVersion)
  );
}

export function ownersOf(entries: readonly ManagedFieldsEntry[]): Owner[] {
  return entries.map(({ manager = '', operation = 'Update', apiVersion = '', time, fieldsV1 = {}, subresource }) => ({
    manager,
    operation,
    apiVersion,
    time,
    fields: Object.keys(fieldsV1).length > 0 ? (fieldsV1 as FieldSet) : undefined,
    ...(subresource !== undefined && { subresource }),
  }));
}

/**
 * What a client sends as the managers of an object: an entry without members alone stands for none.
 * @returns undefined for what is no list of entries, each of another manager, or an empty one
 */
export function* sentEntries(given: readonly unknown[], pace: Pace): Parts<ManagedFieldsEntry[] | undefined> {
  if (given.length === 1 && isEqual(given[0], {})) return [];
  for (const one of given) if (!isEntry(one) || !(yield* isFieldSet(one.fieldsV1, pace))) return undefined;
  const entries = given as ManagedFieldsEntry[];
  const owners = ownersOf(entries);
  const isRepeated = owners.some((one, i) => owners.findIndex((other) => isSame(one, other)) < i);
  return entries.length === 0 || isRepeated ? undefined : entries;
}

function isEntry(given: unknown): given is ManagedFieldsEntry {
  if (!isObject(given)) return false;
  const { manager, operation, apiVersion, time, fieldsType, fieldsV1: _fields, subresource, ...more } = given;
  const isText = (value: unknown): boolean => typeof value === 'string' && value.length <= longestName;
  return (
    [manager, apiVersion].every(isText) &&
    [time, subresource].every((value) => value === undefined || isText(value)) &&
    (operation === 'Apply' || operation === 'Update') &&
    fieldsType === 'FieldsV1' &&
    Object.keys(more).length === 0
  );
}

/** Whether both own the same. */
export function haveSameFields(a: readonly Owner[], b: readonly Owner[]): boolean {
  return (
    a.length === b.length && a.every((one, i) => isSame(one, b[i]!) && isEqual(one.fields ?? {}, b[i]!.fields ?? {}))
  );
}

/** To be stored; of no fields there is no entry. Managers of updates that changed something longest ago become one. */
export function* entriesOf(owners: readonly Owner[], pace: Pace): Parts<ManagedFieldsEntry[]> {
  let kept = owners.filter(({ fields }) => fields !== undefined);
  for (;;) {
    const updaters = kept.filter(({ operation, subresource }) => operation === 'Update' && subresource === undefined);
    if (updaters.length <= updatersLimit) break;
    const [first, second] = updaters.toSorted((a, b) => rankOf(a).localeCompare(rankOf(b))) as [Owner, Owner];
    const fields = yield* union(first.fields, second.fields, pace);
    const joined: Owner = { ...second, manager: ancient, fields };
    kept = kept.flatMap((one) => (one === first ? [] : [one === second ? joined : one]));
  }
  return kept.map(({ manager, operation, apiVersion, time, fields, subresource }) => ({
    manager,
    operation,
    apiVersion,
    ...(time !== undefined && { time }),
    fieldsType: 'FieldsV1',
    fieldsV1: fields!,
    ...(subresource !== undefined && { subresource }),
  }));
}

/** What is joined already, then by time. */
function rankOf({ manager, time = '' }: Owner): string {
  return `${manager === ancient ? 0 : 1}${time}`;
}

/** As messages name a manager. */
export function shownManager({ manager, operation, apiVersion, subresource }: Manager): string {
  const name = JSON.stringify(manager) + (subresource === undefined ? '' : ` with subresource "${subresource}"`);
  return operation === 'Update' ? `${name} using ${apiVersion}` : name;
}
