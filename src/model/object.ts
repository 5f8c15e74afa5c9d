/** The shape of every object (specification, "Top-level structure of an object" and "Metadata"). */

import { readJson } from '../runtime/read-json.ts';

/** Its rules are in docs/reference/objects.md; `metadata.ts` checks them. */
export interface Metadata {
  /** Unique in the model: at most 253 characters of `a-z`, `0-9` and `-`, a letter or digit at both ends. Never changes. */
  name: string;
  /** Of the objects of a namespaced model: what it is unique in. Never changes. */
  namespace?: string;
  /** On creation in place of `name`: the service appends 8 characters to it. */
  generateName?: string;
  /** RFC 3339 UTC with milliseconds. */
  creationTimestamp?: string;
  /** RFC 3339 UTC with milliseconds; set while the object is being deleted. */
  deletionTimestamp?: string;
  /** Counts the changes, from 0; the service sets it. An update that names it must name the current one. */
  version?: number;
  /** Counts the changes of what is wanted, from 1, which is left out; the service sets it. */
  generation?: number;
  /** While there are any, a deleted object stays, with `deletionTimestamp`. */
  finalizers?: string[];
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  /** The objects that this one exists for: it goes when none of them is left. */
  ownerReferences?: OwnerReference[];
  /** Which fields which manager has set; the service keeps it. */
  managedFields?: ManagedFieldsEntry[];
}

/** An object of the same namespace, or one that belongs to none. */
export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  /** Left out on the way in: that of the object which has the name now. */
  uid?: string;
  /** At most one of an object's owners controls it. */
  controller?: boolean;
  /** A foreground deletion of the owner waits for this object. */
  blockOwnerDeletion?: boolean;
}

/** Fields as one manager has set them by one kind of operation. */
export interface ManagedFieldsEntry {
  manager?: string;
  operation?: 'Apply' | 'Update';
  apiVersion?: string;
  /** RFC 3339 UTC, whole seconds. */
  time?: string;
  fieldsType?: 'FieldsV1';
  fieldsV1?: object;
  /** Of writes to a sub-resource. */
  subresource?: string;
}

/** Any object as plain JSON. */
export interface ExtensionObject {
  apiVersion: string;
  kind: string;
  metadata: Metadata;
  [member: string]: unknown;
}

/** A JSON object: neither null nor a list. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Marks `AbstractExtension`, and so its heirs, also those of another copy of this module. */
const extensionBrand = Symbol.for('kindred.extension');

/** True for a class that extends `AbstractExtension`. */
export function isExtensionClass(type: unknown): boolean {
  return typeof type === 'function' && extensionBrand in type;
}

/**
 * The base type of models in class form.
 *
 * @example
 * ```ts
 * @GVK({ group: 'library.example.com', version: 'v1alpha1', kind: 'Shelf', singular: 'shelf', plural: 'shelves' })
 * class Shelf extends AbstractExtension {
 *   @Schema({ type: 'string' }) location?: string;
 * }
 * void Shelf;
 * ```
 */
export abstract class AbstractExtension {
  static readonly [extensionBrand] = true;
  declare apiVersion: string;
  declare kind: string;
  declare metadata: Metadata;
}

/** What is left of a value as JSON, sharing nothing with it. */
export function copyOf<T>(value: T): T {
  return readJson(JSON.stringify(value)) as T;
}
