/** What a request for resources is about: a model, and the place below it. */
import { fullNameOf } from '../model/full-name.ts';
import type { Access } from '../resource/access.ts';
import type { KubeModel, KubeModels } from './models.ts';
import type { ResourcePath } from './path.ts';

export interface ResourceTarget {
  readonly model: KubeModel;
  /** Undefined for the collection. */
  readonly name: string | undefined;
  readonly namespace: string | undefined;
  readonly sub: 'status' | 'scale' | undefined;
  /** By the verb of the method; a list that watches asks for `watch`. */
  readonly access: Extract<Access, { resource: string }>;
}

const objectVerbs: Readonly<Record<string, string>> = {
  GET: 'get',
  HEAD: 'get',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};
const collectionVerbs: Readonly<Record<string, string>> = {
  GET: 'list',
  HEAD: 'list',
  POST: 'create',
  DELETE: 'deletecollection',
};

/** By what the store knows the object. */
export function fullName({ namespace, name }: ResourceTarget): string {
  return fullNameOf({ name: name!, ...(namespace !== undefined && { namespace }) });
}

/** Undefined when there is no such place. */
export function targetOf(models: KubeModels, method: string, path: ResourcePath): ResourceTarget | undefined {
  const { group, version, namespace, plural, name, sub } = path;
  const model = models.find(group, version, plural);
  if (!model || (sub !== undefined && !hasSub(model, sub))) return undefined;
  const { isNamespaced } = model.scheme;
  // Only the list, and the watch, are over all namespaces.
  if (isNamespaced ? namespace === undefined && name !== undefined : namespace !== undefined) return undefined;
  const verbs = name === undefined ? collectionVerbs : objectVerbs;
  const access = {
    verb: verbs[method] ?? method.toLowerCase(),
    group: model.storedGroup,
    resource: sub === undefined ? plural : `${plural}/${sub}`,
    ...(namespace !== undefined && { namespace }),
    ...(name !== undefined && { name }),
  };
  return { model, name, namespace, sub, access };
}

function hasSub({ scheme }: KubeModel, sub: string): sub is 'status' | 'scale' {
  const { status, scale } = scheme.subresources;
  return sub === 'status' ? status : sub === 'scale' && scale !== undefined;
}
