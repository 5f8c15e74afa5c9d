/**
 * A *field* is what a selector or a sort can name: `metadata.name`, `metadata.creationTimestamp`, `metadata.deletionTimestamp`
 * and the declared indexes, numbered in this order. Labels are no field; they have keys of their own (`labels.ts`).
 */
import type { IndexDefinition, IndexEntry } from '../model/index-entry.ts';
import { namespacedIndexes } from '../model/index-spec.ts';
import { codecOf } from '../model/key.ts';

export type Field = Pick<IndexDefinition, 'name' | 'codec' | 'multi' | 'unique' | 'order'>;

const builtIn: readonly Field[] = [
  { name: 'metadata.name', codec: codecOf(String), multi: false, unique: false, order: 'ASC' },
  { name: 'metadata.creationTimestamp', codec: codecOf(Date), multi: false, unique: false, order: 'ASC' },
  { name: 'metadata.deletionTimestamp', codec: codecOf(Date), multi: false, unique: false, order: 'ASC' },
];

/** In a namespaced model the first field has the full names, in whose order its objects are; `metadata.name` is an index of its own. */
export const fullNameField = 'namespace/name';
const namespaced: readonly Field[] = [{ ...builtIn[0]!, name: fullNameField }, ...builtIn.slice(1)];

export const nameField = 0;
export const createdField = 1;
export const deletedField = 2;
/** Number of the first declared index. */
export const firstDeclared = builtIn.length;

function builtInOf(definitions: readonly IndexDefinition[]): readonly Field[] {
  return definitions[0] === namespacedIndexes[0] ? namespaced : builtIn;
}

export function fieldsOf(definitions: readonly IndexDefinition[]): readonly Field[] {
  return [...builtInOf(definitions), ...definitions];
}

/** Of what selectors and sorts of callers can name. */
export function fieldNames(definitions: readonly IndexDefinition[]): string[] {
  return fieldsOf(definitions)
    .map((one) => one.name)
    .filter((name) => name !== fullNameField);
}

export function fieldAt(definitions: readonly IndexDefinition[], field: number): Field {
  return field < firstDeclared ? builtInOf(definitions)[field]! : definitions[field - firstDeclared]!;
}

/** Number of the field with this name; -1 when there is none. `name` is short for `metadata.name` unless an index has that name. */
export function fieldNumber(definitions: readonly IndexDefinition[], name: string): number {
  const fields = builtInOf(definitions);
  for (let i = 0; i < fields.length; i++) if (fields[i]!.name === name) return i;
  for (let i = 0; i < definitions.length; i++) if (definitions[i]!.name === name) return i + firstDeclared;
  return name === 'name' ? fieldNumber(definitions, 'metadata.name') : -1;
}

/** The keys of an object in a field, each once. */
export function keysOf(entry: IndexEntry, field: number): readonly unknown[] {
  if (field >= firstDeclared) return entry.keys[field - firstDeclared] ?? [];
  const key = builtInKeyOf(entry, field);
  return key === undefined ? [] : [key];
}

/** The key of an object in a field that is not declared; undefined when it has none. */
export function builtInKeyOf({ name, created, deleted }: IndexEntry, field: number): unknown {
  if (field === nameField) return name;
  if (field === createdField) return Number.isNaN(created) ? undefined : created;
  return deleted ?? undefined;
}
