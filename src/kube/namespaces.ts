/**
 * Which namespaces take new objects: those that are not being deleted, and for clients of Kubernetes those alone that are
 * there. Natively a namespace needs no Namespace.
 */
import { ifFound, KindredError } from '../errors.ts';
import type { ExtensionObject } from '../model/object.ts';
import type { ExtensionClient } from '../resource/extension-client.ts';
import type { Namespaces } from '../resource/namespaces.ts';
import type { ModelResource } from '../resource/resource.ts';
import type { BuiltInKinds } from './kinds.ts';
import { defaultNamespace } from './kinds.ts';
import { StatusError } from './status.ts';

export interface KnownNamespaces extends Namespaces {
  /** @throws NotFound for a namespace that there is not, Forbidden for one that is being deleted */
  assertKnown(name: string): Promise<void>;
}

/** @param resource of the model Namespace */
export function openNamespaces(resource: () => ModelResource): KnownNamespaces {
  const isKnown = async (name: string): Promise<boolean> => {
    const found = await ifFound(async () => resource().get(name));
    if (!found) return false;
    const { metadata } = JSON.parse(found.stored.bytes.toString()) as ExtensionObject;
    if (metadata.deletionTimestamp !== undefined) throw terminating(name);
    return true;
  };
  return {
    async assertOpen(name) {
      await isKnown(name);
    },
    async assertKnown(name) {
      if (!(await isKnown(name))) throw unknownNamespace(name);
    },
  };
}

/** The one that clients use when they name none. */
export async function makeDefaultNamespace(client: ExtensionClient, { namespace }: BuiltInKinds): Promise<void> {
  if (await client.fetch(namespace, defaultNamespace)) return;
  try {
    await client.create(namespace, { metadata: { name: defaultNamespace } });
  } catch (error) {
    // Another replica starts too.
    if (!(error instanceof KindredError && error.code === 'AlreadyExists')) throw error;
  }
}

function unknownNamespace(name: string): KindredError {
  return new StatusError('NotFound', `namespaces "${name}" not found`, { details: { name, kind: 'namespaces' } });
}

function terminating(name: string): KindredError {
  const message = `unable to create new content in namespace ${name} because it is being terminated`;
  const cause = { reason: 'NamespaceTerminating', message: `namespace ${name} is being terminated` };
  return new StatusError('Forbidden', message, { details: { causes: [{ ...cause, field: 'metadata.namespace' }] } });
}
