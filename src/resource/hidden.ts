/**
 * Objects with hidden values (Secret): lists leave the values out, and only who may `get` an object sees them. The
 * annotation in which kubectl keeps what it applied holds them as well, so it counts as one of them. Whoever may
 * change an object and not `get` it learns nothing of its values by the change.
 */

import type { Text } from '../errors.ts';
import { KindredError } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import type { ExtensionObject, Metadata } from '../model/object.ts';
import { readJson } from '../runtime/read-json.ts';
import { lastAppliedAnnotation } from './last-applied.ts';
import type { Stored } from './registered-model.ts';
import type { ModelResource } from './resource.ts';

const reads: Text = localized(
  'Operation {operation}: whoever may not get "{name}" may test, copy and move its metadata alone',
);

/** A Secret as lists show it: the keys without their values. */
export function withoutValues(object: ExtensionObject): ExtensionObject {
  const metadata = withoutLastApplied(object.metadata);
  if (object.data === undefined) return { ...object, metadata };
  return { ...object, metadata, data: Object.fromEntries(Object.keys(object.data as object).map((key) => [key, ''])) };
}

function withoutLastApplied(metadata: Metadata): Metadata {
  if (metadata.annotations?.[lastAppliedAnnotation] === undefined) return metadata;
  const { [lastAppliedAnnotation]: _hidden, ...annotations } = metadata.annotations;
  return { ...metadata, annotations };
}

/** What a write answers: to who may not `get` the object, the metadata alone. */
export function answered(resource: ModelResource, stored: Stored, mayGet: (name: string) => boolean): Stored {
  if (!resource.hidesValues || mayGet(stored.name)) return stored;
  const { apiVersion, kind, metadata } = readJson(stored.bytes.toString()) as ExtensionObject;
  const shown = { apiVersion, kind, metadata: withoutLastApplied(metadata) };
  return { ...stored, bytes: Buffer.from(JSON.stringify(shown)) };
}

/**
 * A JSON patch could show a value by copying it to an annotation, or by testing for it.
 * @throws KindredError Forbidden for one that does, from who may not `get` the object
 */
export function checkPatch(
  resource: ModelResource,
  name: string,
  patch: unknown,
  mayGet: (name: string) => boolean,
): void {
  if (!resource.hidesValues || !Array.isArray(patch)) return;
  const operation = patch.findIndex(readsValue);
  if (operation >= 0 && !mayGet(name))
    throw new KindredError('Forbidden', reads, { params: { operation, name }, operation });
}

/** What is no operation is refused later, for what it is. */
function readsValue(operation: unknown): boolean {
  const { op, path, from } = (operation ?? {}) as { op?: unknown; path?: unknown; from?: unknown };
  if (op === 'test') return !isMetadata(path);
  return (op === 'copy' || op === 'move') && !isMetadata(from);
}

/** The annotation of kubectl, and what it lies in. */
const hiddenMetadata = [
  '/metadata',
  '/metadata/annotations',
  `/metadata/annotations/${lastAppliedAnnotation.replace('/', '~1')}`,
];

function isMetadata(pointer: unknown): boolean {
  if (typeof pointer !== 'string' || hiddenMetadata.includes(pointer)) return false;
  return /^\/(?:apiVersion|kind|metadata)(?:\/|$)/.test(pointer);
}
