/** What clients send of an object, as the store is to have it: what belongs to the path is checked, what belongs to the service left out. */
import { escapeToken } from '../errors.ts';
import { isRecord } from '../model/object.ts';
import { fieldPath, prune } from '../resource/prune.ts';
import type { TimeSlice } from '../runtime/time-slice.ts';
import type { SchemaObject } from '../schema/keywords.ts';
import type { Body } from './body.ts';
import { storedEntry } from './metadata.ts';
import { ofClients, ofService } from './metadata-names.ts';
import type { KubeModel } from './models.ts';
import type { FieldValidation } from './parameters.ts';
import { quoted, revision } from './parameters.ts';
import { badRequest } from './status.ts';
import type { ResourceTarget } from './target.ts';

type Members = Record<string, unknown>;

/** An object for the writer, and what the client expects of the stored one. */
export interface Inbound {
  readonly object: Members;
  readonly resourceVersion: number | undefined;
  readonly uid: string | undefined;
  /** As the client sends them, of the whole object alone. */
  readonly managedFields?: readonly unknown[];
}

/** Mistakes that one answer tells. */
const mostTold = 100;

/** @throws KindredError BadRequest */
export async function inbound(
  { value, duplicates }: Body,
  target: Pick<ResourceTarget, 'model' | 'name' | 'namespace' | 'sub'>,
  validation: FieldValidation,
  slice: TimeSlice,
): Promise<Inbound & { readonly warnings: readonly string[] }> {
  const { model, sub } = target;
  const { members, metadata } = checked(value, target);
  const unknown = Object.keys(metadata)
    .filter((name) => !ofClients.includes(name) && !ofService.includes(name))
    .map((name) => fieldPath(`/metadata/${escapeToken(name)}`));
  const kept = withoutNulls(Object.fromEntries(ofClients.map((name) => [name, metadata[name]])));
  // As in Kubernetes, what is in no namespace loses the one that a client names.
  if (!model.scheme.isNamespaced) delete kept.namespace;
  if (Array.isArray(kept.ownerReferences)) {
    kept.ownerReferences = kept.ownerReferences.map((one) => (isRecord(one) ? withoutNulls(one) : one));
  }
  const { apiVersion: _apiVersion, kind: _kind, metadata: _metadata, status, ...rest } = members;
  const object: Members = { apiVersion: model.resource.apiVersion, kind: model.kind, metadata: kept };
  const { hasStatus } = model.resource;
  if (sub === 'status') object.status = status;
  else {
    Object.assign(object, rest);
    if (!hasStatus && status !== undefined) object.status = status;
  }
  if (model.isBuiltIn) dropNulls(object, model.scheme.jsonSchema as SchemaObject);
  unknown.push(...(await prune(model.scheme, object as never, slice)));
  return {
    object: model.view ? model.view.stored(object) : object,
    resourceVersion: versionOf(metadata.resourceVersion),
    ...(sub === undefined &&
      Array.isArray(metadata.managedFields) && {
        managedFields: metadata.managedFields.map((one) => storedEntry(model, one)),
      }),
    uid: typeof metadata.uid === 'string' && metadata.uid !== '' ? metadata.uid : undefined,
    warnings: told(model, unknown, duplicates, validation),
  };
}

function withoutNulls(members: Members): Members {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined && value !== null));
}

/** In place: what reads the kinds of Kubernetes there reads null as absent. Values of maps stay. */
function dropNulls(value: unknown, { properties = {}, items }: SchemaObject): void {
  if (Array.isArray(value) && isRecord(items)) for (const one of value) dropNulls(one, items);
  if (!isRecord(value)) return;
  for (const [name, one] of Object.entries(properties as Record<string, SchemaObject>)) {
    if (value[name] !== null) dropNulls(value[name], one);
    else if (!(Array.isArray(one.type) && one.type.includes('null'))) delete value[name];
  }
}

/** Text is what clients send; '0' stands for any state. */
function versionOf(text: unknown): number | undefined {
  if (typeof text !== 'string' && text !== undefined && text !== null) {
    throw badRequest('metadata.resourceVersion is a text that holds a decimal number');
  }
  const given = revision(text);
  return given === 0 ? undefined : given;
}

function checked(
  value: unknown,
  { model, name, namespace }: Pick<ResourceTarget, 'model' | 'name' | 'namespace'>,
): { members: Members; metadata: Members } {
  if (!isRecord(value)) throw badRequest(`the object provided is unrecognized (must be of type ${model.kind})`);
  const { apiVersion, kind, metadata = {} } = value;
  for (const [what, given, expected] of [
    ['API version', apiVersion, model.apiVersion],
    ['kind', kind, model.kind],
  ] as const) {
    if (given === undefined || given === null || given === '' || given === expected) continue;
    throw badRequest(`the ${what} in the data (${shown(given)}) does not match the expected ${what} (${expected})`);
  }
  if (metadata !== null && !isRecord(metadata)) throw badRequest('the metadata of the object must be an object');
  const members = metadata ?? {};
  checkPlace(members, { model, name, namespace });
  return { members: value, metadata: members };
}

/** @throws KindredError BadRequest when the metadata is of another object than the path */
export function checkPlace(
  metadata: Members,
  { model, name, namespace }: Pick<ResourceTarget, 'model' | 'name' | 'namespace'>,
): void {
  if (model.scheme.isNamespaced && metadata.namespace && metadata.namespace !== namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
  if (name === undefined || !metadata.name || metadata.name === name) return;
  throw badRequest(
    `the name of the object (${shown(metadata.name)}) does not match the name on the URL (${quoted(name)})`,
  );
}

function shown(value: unknown): string {
  return quoted(typeof value === 'string' ? value : JSON.stringify(value));
}

/** @throws KindredError BadRequest where they are not to be there */
function told(
  { kind, version }: KubeModel,
  unknown: readonly string[],
  duplicates: readonly string[],
  validation: FieldValidation,
): string[] {
  const mistakes = [
    ...unknown.map((field) => `unknown field ${JSON.stringify(field)}`),
    ...duplicates.map((field) => `duplicate field ${JSON.stringify(field)}`),
  ];
  if (mistakes.length === 0 || validation === 'Ignore') return [];
  if (validation === 'Warn') return mistakes.slice(0, mostTold);
  const list = mistakes.slice(0, mostTold).join(', ');
  throw badRequest(`${kind} in version "${version}" cannot be handled as a ${kind}: strict decoding error: ${list}`);
}
