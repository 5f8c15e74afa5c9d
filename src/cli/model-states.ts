/** What a service says of the models that are active in it. */
import type { KindredClient } from '../client/client.ts';
import { modelOf } from '../client/client.ts';
import type { Contract } from '../model/contract.ts';
import type { Model } from '../model/model-type.ts';
import type { ExtensionObject } from '../model/object.ts';
import { modelStateKind, modelStateName } from '../plugin/kind.ts';
import { Types } from './types.ts';

interface Found {
  failing: number;
  samples: { names: string[]; pointer: string; keyword: string; message: string }[];
}

export interface ModelState extends ExtensionObject {
  spec: { onInvalid?: string };
  status?: {
    model: { group: string; kind: string; plural: string };
    generation: number;
    contractHash: string;
    contract: Contract;
    storageVersion: string;
    degraded?: Found;
    pending?: Found & { class: string; waitsFor?: string[] };
  };
}

async function modelOfStates(client: KindredClient): Promise<Model<ModelState>> {
  return modelOf(modelStateKind(await new Types(client).reservedDomain())) as Model<ModelState>;
}

export async function modelStates(client: KindredClient): Promise<ModelState[]> {
  const found: ModelState[] = [];
  for await (const state of client.listAll(await modelOfStates(client), undefined, ['metadata.name,asc']))
    found.push(state);
  return found;
}

/** Of the models that these are to take the place of. */
export async function activeContracts(client: KindredClient, next: readonly Contract[]): Promise<Contract[]> {
  const model = await modelOfStates(client);
  const states = await Promise.all(next.map(({ plural, group }) => client.fetch(model, modelStateName(plural, group))));
  return states.flatMap((state) => state?.status?.contract ?? []);
}
