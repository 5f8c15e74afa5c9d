/** Stored objects as Kubernetes shows them: the same but for `apiVersion` and `metadata`, which begin the bytes of every object. */
import type { ExtensionObject, ManagedFieldsEntry, Metadata, OwnerReference } from '../model/object.ts';
import { isRecord } from '../model/object.ts';
import type { Scheme } from '../model/scheme.ts';
import type { Stored } from '../resource/registered-model.ts';
import { readJson } from '../runtime/read-json.ts';
import type { View } from './events.ts';
import type { KubeModel } from './models.ts';
import type { Form } from './negotiate.ts';

/** As Kubernetes orders its members. */
interface ShownMetadata {
  readonly name: string;
  readonly generateName?: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly labels?: Record<string, string>;
  readonly annotations?: Record<string, string>;
  readonly ownerReferences?: readonly OwnerReference[];
  readonly finalizers?: readonly string[];
  readonly managedFields?: readonly ManagedFieldsEntry[];
}

/** An object cut in two: what the façade rewrites, and the bytes behind it, which begin with `,` or `}`. */
interface Cut {
  readonly metadata: Metadata;
  readonly rest: Buffer;
}

const quote = 0x22;
const backslash = 0x5c;

export function shownMetadata({ resource, isCore }: KubeModel, stored: Stored, metadata: Metadata): ShownMetadata {
  const { name, namespace, generateName, generation = 1, creationTimestamp, deletionTimestamp } = metadata;
  const { labels, annotations, ownerReferences, finalizers, managedFields } = metadata;
  return {
    name,
    ...(generateName !== undefined && { generateName }),
    ...(namespace !== undefined && { namespace }),
    uid: resource.model.uidOf(stored, metadata),
    resourceVersion: String(stored.revision),
    generation,
    ...(creationTimestamp !== undefined && { creationTimestamp: toSeconds(creationTimestamp) }),
    ...(deletionTimestamp !== undefined && {
      deletionTimestamp: toSeconds(deletionTimestamp),
      deletionGracePeriodSeconds: 0,
    }),
    ...(labels && { labels }),
    ...(annotations && { annotations }),
    ...(ownerReferences && { ownerReferences }),
    ...(finalizers && { finalizers }),
    ...(managedFields && { managedFields: isCore ? managedFields.map(inCore) : managedFields }),
  };
}

/** The version without the group that the core group has in the store. */
function inCore(entry: ManagedFieldsEntry): ManagedFieldsEntry {
  const { apiVersion = '' } = entry;
  return { ...entry, apiVersion: apiVersion.slice(apiVersion.indexOf('/') + 1) };
}

/** As `inCore`, the other way. */
export function storedEntry({ isCore, storedGroup }: KubeModel, entry: unknown): unknown {
  return isCore && isRecord(entry) && entry.apiVersion !== undefined
    ? { ...entry, apiVersion: `${storedGroup}/${entry.apiVersion}` }
    : entry;
}

/** `2026-01-02T03:04:05.678Z` without milliseconds. */
function toSeconds(timestamp: string): string {
  return `${timestamp.slice(0, 19)}Z`;
}

/** The bytes of an object as they are shown. */
export function shownBytes(model: KubeModel, stored: Stored): Buffer {
  const { metadata, rest: written } = cut(stored.bytes);
  const rest = model.view ? viewed(model.scheme, model.view, written) : written;
  const shown = JSON.stringify(shownMetadata(model, stored, metadata));
  const head = `{"apiVersion":"${model.apiVersion}","kind":"${model.kind}","metadata":${shown}`;
  const headLength = Buffer.byteLength(head);
  const bytes = Buffer.allocUnsafe(headLength + rest.length);
  bytes.write(head, 'utf8');
  rest.copy(bytes, headLength);
  return bytes;
}

/** Under the names of the view, without what its schema does not know. */
function viewed(scheme: Scheme, view: View, rest: Buffer): Buffer {
  const object = view.shown(
    readJson(rest.length === 1 ? '{}' : `{${rest.toString('utf8', 1)}`) as Record<string, unknown>,
  ) as never;
  scheme.validator.prune?.(object);
  scheme.validator.applyDefaults(object);
  const text = JSON.stringify(object);
  return Buffer.from(text === '{}' ? '}' : `,${text.slice(1)}`);
}

/** An object's metadata alone. */
export function partialText(model: KubeModel, stored: Stored, { version }: Pick<Form, 'version'>): string {
  const metadata = JSON.stringify(shownMetadata(model, stored, cut(stored.bytes).metadata));
  return `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/${version}","metadata":${metadata}}`;
}

/** Only the metadata is parsed where the bytes have the order in which the service writes them. */
export function cut(bytes: Buffer): Cut {
  const start = metadataStart(bytes);
  if (start !== undefined) {
    const end = endOfObject(bytes, start);
    return { metadata: readJson(bytes.toString('utf8', start, end)) as Metadata, rest: bytes.subarray(end) };
  }
  const { apiVersion: _apiVersion, kind: _kind, metadata, ...members } = readJson(bytes.toString()) as ExtensionObject;
  const rest = JSON.stringify(members);
  return { metadata, rest: Buffer.from(rest === '{}' ? '}' : `,${rest.slice(1)}`) };
}

const beginnings = ['{"apiVersion":"', '","kind":"', '","metadata":{'].map((text) => Buffer.from(text));

/** Where the value of `metadata` begins; undefined when the object does not begin with apiVersion, kind and metadata. */
function metadataStart(bytes: Buffer): number | undefined {
  let at = 0;
  for (const [i, text] of beginnings.entries()) {
    if (i > 0) at = bytes.indexOf(quote, at);
    if (at < 0 || at + text.length > bytes.length) return undefined;
    if (bytes.compare(text, 0, text.length, at, at + text.length) !== 0) return undefined;
    at += text.length;
  }
  return at - 1;
}

/** Behind the closing brace of the object that begins at `start`. */
function endOfObject(bytes: Buffer, start: number): number {
  let depth = 0;
  for (let at = start; ; at++) {
    const byte = bytes[at];
    if (byte === quote) {
      for (at++; bytes[at] !== quote; at++) if (bytes[at] === backslash) at++;
    } else if (byte === 0x7b) depth++;
    else if (byte === 0x7d && --depth === 0) return at + 1;
  }
}
