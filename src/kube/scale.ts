/** The number of replicas of an object, as the kind Scale of `autoscaling/v1`. */
import { isRecord } from '../model/object.ts';
import type { Stored } from '../resource/registered-model.ts';
import { readJson } from '../runtime/read-json.ts';
import type { Inbound } from './inbound.ts';
import { checkPlace } from './inbound.ts';
import { cut, shownMetadata } from './metadata.ts';
import type { KubeModel } from './models.ts';
import { revision } from './parameters.ts';
import { badRequest, invalidFields } from './status.ts';
import type { ResourceTarget } from './target.ts';

const scaleVersion = 'autoscaling/v1';

export function scaleBytes(model: KubeModel, stored: Stored): Buffer {
  const { specReplicasPath, statusReplicasPath, labelSelectorPath } = model.scheme.subresources.scale!;
  const object = model.resource.parse(stored);
  const selector = labelSelectorPath === undefined ? undefined : valueAt(object, labelSelectorPath);
  const { name, namespace, uid, resourceVersion, creationTimestamp } = shownMetadata(
    model,
    stored,
    cut(stored.bytes).metadata,
  );
  const scale = {
    kind: 'Scale',
    apiVersion: scaleVersion,
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: { replicas: valueAt(object, specReplicasPath) ?? 0 },
    status: {
      replicas: valueAt(object, statusReplicasPath) ?? 0,
      ...(typeof selector === 'string' && { selector }),
    },
  };
  return Buffer.from(JSON.stringify(scale));
}

/** The object with the number of replicas of a Scale. @throws KindredError BadRequest, Invalid */
export function scaledObject(target: ResourceTarget, stored: Stored, sent: unknown): Inbound {
  const { model } = target;
  if (!isRecord(sent) || !isRecord(sent.spec ?? {}))
    throw badRequest('the object provided is unrecognized (must be of type Scale)');
  if ((sent.kind ?? 'Scale') !== 'Scale' || (sent.apiVersion ?? scaleVersion) !== scaleVersion) {
    throw badRequest(`the object must be of the kind Scale of ${scaleVersion}`);
  }
  const metadata = isRecord(sent.metadata) ? sent.metadata : {};
  checkPlace(metadata, target);
  const { replicas = 0 } = (sent.spec ?? {}) as { replicas?: unknown };
  if (!Number.isInteger(replicas) || (replicas as number) < 0) {
    const message = `Invalid value: ${JSON.stringify(replicas)}: must be greater than or equal to 0`;
    throw invalidFields([{ reason: 'FieldValueInvalid', message, field: 'spec.replicas' }]);
  }
  const object = readJson(stored.bytes.toString()) as Record<string, unknown>;
  setAt(object, model.scheme.subresources.scale!.specReplicasPath, replicas);
  const { version: _version, ...kept } = object.metadata as Record<string, unknown>;
  const given = metadata.resourceVersion;
  return {
    object: { ...object, apiVersion: model.scheme.apiVersion, metadata: kept },
    resourceVersion: revision(typeof given === 'string' ? given : undefined),
    uid: typeof metadata.uid === 'string' && metadata.uid !== '' ? metadata.uid : undefined,
  };
}

/** @param path `.spec.replicas`; it was checked at the declaration */
function valueAt(object: unknown, path: string): unknown {
  let value = object;
  for (const name of path.slice(1).split('.')) {
    value = isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  }
  return value;
}

function setAt(object: Record<string, unknown>, path: string, value: unknown): void {
  const names = path.slice(1).split('.');
  const last = names.pop()!;
  let parent = object;
  for (const name of names) {
    if (!isRecord(parent[name])) parent[name] = {};
    parent = parent[name] as Record<string, unknown>;
  }
  parent[last] = value;
}
