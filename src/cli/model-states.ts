/** What a service says of the models that are active in it. */
import type { KindredClient } from '../client/client.ts';
import { modelOf } from '../client/client.ts';
import type { Contract } from '../model/contract.ts';
import type { Model } from '../model/model-type.ts';
import type { ExtensionObject } from '../model/object.ts';
import { modelStateKind, modelStateName } from '../plugin/kind.ts';
import { UsageError } from './io.ts';
import { Types } from './types.ts';

interface Found {
  failing: number;
  samples: { names: string[]; pointer: string; keyword: string; message: string }[];
}

export interface ModelState extends ExtensionObject {
  spec: { onInvalid?: string; finalize?: string };
  status?: {
    model: { group: string; kind: string; plural: string };
    generation: number;
    contractHash: string;
    contract: Contract;
    storageVersion: string;
    storedVersions?: string[];
    formerVersion?: string;
    finalizesAt?: string;
    migration?: Found & { done: number; total: number; revision?: number };
    contentMigration?: Found & { done: number; total: number; isOver?: boolean };
    replicas?: { name: string; supports: string; since?: string }[];
    rollback?: Found;
    degraded?: Found;
    pending?: Found & { hash: string; class: string; waitsFor?: string[] };
  };
}

export async function modelOfStates(client: KindredClient): Promise<Model<ModelState>> {
  return modelOf(modelStateKind(await new Types(client).reservedDomain())) as Model<ModelState>;
}

export async function modelStates(client: KindredClient): Promise<ModelState[]> {
  const found: ModelState[] = [];
  for await (const state of client.listAll(await modelOfStates(client), undefined, ['metadata.name,asc']))
    found.push(state);
  return found;
}

/** Those of a plural or plural.group. */
export async function namedModelStates(client: KindredClient, text: string): Promise<ModelState[]> {
  const all = await modelStates(client);
  const named = all.filter(({ status }) => {
    const { plural, group } = status?.model ?? {};
    return text === plural || text === `${plural}.${group}`;
  });
  // A model that a plugin could not start with is known here alone.
  if (named.length === 0) await new Types(client).resolve(text);
  if (named.length === 0) throw new UsageError(`"${text}" is a model of no plugin`);
  return named;
}

/** That of a plural or plural.group. @throws UsageError when there are several */
export async function namedModelState(client: KindredClient, text: string): Promise<ModelState> {
  const [state, ...others] = await namedModelStates(client, text);
  if (others.length > 0) throw new UsageError(`several models have the plural "${text}": say plural.group`);
  return state!;
}

/** In the order of the contracts; undefined where there is none. */
export async function statesOf(client: KindredClient, next: readonly Contract[]): Promise<(ModelState | undefined)[]> {
  const model = await modelOfStates(client);
  return Promise.all(next.map(({ plural, group }) => client.fetch(model, modelStateName(plural, group))));
}

export function contractsOf(states: readonly (ModelState | undefined)[]): Contract[] {
  return states.flatMap((state) => state?.status?.contract ?? []);
}
