/**
 * What becomes of an object at each write, as pure functions (docs/reference/objects.md and api.md): `live` → (DELETE) →
 * `deleting` → gone.
 */

import { invalid, KindredError, Violations, violation } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import type { Naming } from '../model/attributes.ts';
import { partsOf } from '../model/full-name.ts';
import type { ExtensionObject, Metadata } from '../model/object.ts';
import { isEqual } from '../schema/json-value.ts';

const texts = {
  notAnObject: localized('expected a JSON object'),
  metadataNotAnObject: localized('metadata: expected an object'),
  otherType: localized('expected "{expected}", got {value}'),
  addedFinalizer: localized(
    'no new finalizers can be added if the object is being deleted, found new finalizers {value}',
  ),
  otherNamespace: localized('must equal the namespace in the path, "{expected}"; a namespace never changes'),
  otherName: localized('must equal the name in the path, "{expected}"; a name never changes'),
  deleting: localized(
    'The object "{name}" is being deleted: finalizers can be removed, status, labels and annotations can change, but not {what}',
  ),
};

/** The parts of an object that the service itself looks at, before anything else is known of it. */
export interface Incoming {
  readonly object: ExtensionObject;
  readonly violations: Violations;
}

/**
 * A shallow copy of a body with apiVersion, kind and metadata in front and filled in when absent; says when they are
 * those of another model. Members of metadata that are null count as absent.
 * @throws Invalid with pointer "" when the body is no object
 */
export function incoming(body: unknown, apiVersion: string, kind: string): Incoming {
  if (!isObject(body))
    throw new KindredError('Invalid', texts.notAnObject, { errors: [violation('', 'type', texts.notAnObject)] });
  const violations = new Violations();
  for (const [member, expected] of [
    ['apiVersion', apiVersion],
    ['kind', kind],
  ] as const) {
    if (body[member] !== undefined && body[member] !== expected) {
      violations.add(`/${member}`, 'const', texts.otherType, { expected, value: body[member] });
    }
  }
  let metadata: Record<string, unknown> = {};
  if (isObject(body.metadata)) metadata = withoutNulls(body.metadata);
  else if (body.metadata !== undefined) violations.add('/metadata', 'type', texts.metadataNotAnObject);
  const { apiVersion: _apiVersion, kind: _kind, metadata: _metadata, ...members } = body;
  return { object: { apiVersion, kind, metadata: metadata as unknown as Metadata, ...members }, violations };
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function withoutNulls(members: Record<string, unknown>): Record<string, unknown> {
  if (!Object.values(members).includes(null)) return { ...members };
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));
}

/** Metadata in its one order, with the members that the service owns. Absent sets and maps stay absent. */
function stamped(client: Metadata, owned: Omit<Metadata, 'finalizers' | 'labels' | 'annotations'>): Metadata {
  const { name, namespace, generateName, creationTimestamp, version, generation, deletionTimestamp } = owned;
  const { managedFields } = owned;
  return {
    name,
    ...(namespace !== undefined && { namespace }),
    ...(generateName !== undefined && { generateName }),
    creationTimestamp,
    version,
    ...(generation !== undefined && { generation }),
    ...(deletionTimestamp !== undefined && { deletionTimestamp }),
    ...(client.finalizers?.length && { finalizers: [...new Set(client.finalizers)] }),
    ...(hasMembers(client.labels) && { labels: client.labels }),
    ...(hasMembers(client.annotations) && { annotations: client.annotations }),
    ...(client.ownerReferences?.length && { ownerReferences: client.ownerReferences }),
    ...(managedFields?.length && { managedFields }),
  };
}

function hasMembers(map: Record<string, string> | undefined): boolean {
  return map !== undefined && Object.keys(map).length > 0;
}

let lastTime = { milliseconds: Number.NaN, text: '' };

/** RFC 3339. Objects that are created in the same millisecond share the text. */
function timeAt(milliseconds: number): string {
  if (lastTime.milliseconds !== milliseconds) lastTime = { milliseconds, text: new Date(milliseconds).toISOString() };
  return lastTime.text;
}

/** Metadata of a new object: version 0, whatever the client says of version and timestamps is ignored. */
export function createdMetadata(client: Metadata, name: string, now: number): Metadata {
  const creationTimestamp = timeAt(now);
  const { namespace, generateName } = client;
  return stamped(client, { name, namespace, generateName, creationTimestamp, version: 0 });
}

/**
 * Metadata of an update: name, namespace, generateName, timestamps, generation and managedFields are carried over, the version
 * is the stored one. Finalizers are a set: the same ones in another order are no change.
 */
export function updatedMetadata(client: Metadata, stored: Metadata): Metadata {
  const finalizers = new Set(client.finalizers);
  const isSame = finalizers.symmetricDifference(new Set(stored.finalizers)).size === 0;
  return stamped(isSame ? { ...client, finalizers: stored.finalizers } : client, stored);
}

/** Metadata with the numbers of a change. */
export function numbered(metadata: Metadata, version: number, generation: number | undefined): Metadata {
  if (generation === metadata.generation) return { ...metadata, version };
  return stamped(metadata, { ...metadata, version, generation });
}

/**
 * The generation that follows: one more when something else than metadata changed, or a status without routes of its own, and
 * when the deletion is declared. The version of the model is not the object's own.
 */
export function nextGeneration(
  stored: ExtensionObject,
  next: ExtensionObject,
  hasStatusRoutes: boolean,
): number | undefined {
  const { generation, deletionTimestamp } = stored.metadata;
  const isMarked = deletionTimestamp !== next.metadata.deletionTimestamp;
  return isMarked || !hasSameContent(stored, next, hasStatusRoutes) ? (generation ?? 1) + 1 : generation;
}

function hasSameContent(stored: ExtensionObject, next: ExtensionObject, hasStatusRoutes: boolean): boolean {
  for (const member of new Set([...Object.keys(stored), ...Object.keys(next)])) {
    if (member === 'metadata' || member === 'apiVersion' || (member === 'status' && hasStatusRoutes)) continue;
    if (!isEqual(stored[member], next[member])) return false;
  }
  return true;
}

/** Adds a name or a namespace in the body that is not the path's. */
export function checkName(metadata: Metadata, fullName: string, violations: Violations): void {
  const { namespace, name } = partsOf(fullName);
  if (metadata.name !== undefined && metadata.name !== name)
    violations.add('/metadata/name', 'const', texts.otherName, { expected: name });
  checkNamespace(metadata, namespace, violations);
}

/** Adds a namespace in the body that is not the path's. */
export function checkNamespace(metadata: Metadata, namespace: string | undefined, violations: Violations): void {
  if (namespace === undefined || !metadata.namespace || metadata.namespace === namespace) return;
  violations.add('/metadata/namespace', 'const', texts.otherNamespace, { expected: namespace });
}

/** Equal content: what a write would store is what is stored. Members in another order are the same content. */
export function sameContent(a: ExtensionObject, b: ExtensionObject): boolean {
  return isEqual(a, b);
}

/**
 * What may still change while an object is being deleted (docs/reference/objects.md): by the rules of Kubernetes all but new
 * finalizers; else apiVersion too, of an object stored under another version of the model.
 * @throws Deleting naming the first member that may not; Invalid by the rules of Kubernetes
 */
export function checkDeleting(stored: ExtensionObject, next: ExtensionObject, naming: Naming = 'strict'): void {
  if (stored.metadata.deletionTimestamp === undefined) return;
  const kept = new Set(stored.metadata.finalizers ?? []);
  const added = (next.metadata.finalizers ?? []).filter((finalizer) => !kept.has(finalizer));
  if (naming === 'kubernetes') {
    if (added.length === 0) return;
    const value = added.map((finalizer) => JSON.stringify(finalizer)).join(', ');
    throw invalid([violation('/metadata/finalizers', 'forbidden', texts.addedFinalizer, { value })]);
  }
  let what = added.length === 0 ? undefined : `metadata.finalizers (${added[0]})`;
  for (const member of new Set([...Object.keys(stored), ...Object.keys(next)])) {
    if (member === 'status' || member === 'metadata' || member === 'apiVersion') continue;
    if (!isEqual(stored[member], next[member])) what ??= member;
  }
  if (what !== undefined)
    throw new KindredError('Deleting', texts.deleting, { params: { name: stored.metadata.name, what } });
}

/** True when nothing but finalizers went: such an update needs no valid object. */
export function onlyFinalizersWent(stored: ExtensionObject, next: ExtensionObject): boolean {
  const before = stored.metadata.finalizers ?? [];
  const after = next.metadata.finalizers ?? [];
  if (after.length >= before.length || after.some((finalizer) => !before.includes(finalizer))) return false;
  const { finalizers: _before, ...storedRest } = stored.metadata;
  const { finalizers: _after, ...nextRest } = next.metadata;
  const { apiVersion } = next;
  return isEqual({ ...stored, apiVersion, metadata: storedRest }, { ...next, metadata: nextRest });
}

/** Gone with this write: declared deleted, and no finalizer holds it. */
export function isReclaimable(metadata: Metadata): boolean {
  return metadata.deletionTimestamp !== undefined && !metadata.finalizers?.length;
}
