/** A declaration of this process beside the contract that is active, and what its ModelState says of it. */

import { isDeepStrictEqual } from 'node:util';
import type { Contract } from '../model/contract.ts';
import { compareContracts, keepsKeys, strongest } from '../model/contract.ts';
import type { Scheme } from '../model/scheme.ts';
import type { ModelPlace } from '../resource/indexed-model.ts';
import type { ModelMemory } from '../resource/memory.ts';
import type { ObjectCheck, Offence } from '../resource/object-check.ts';
import type { Rules } from '../resource/rules.ts';
import { ownRules } from '../resource/rules.ts';
import type { Activation } from '../store/store.ts';
import type { Finalize, ModelStateObject, Sample, Status } from './model-state.ts';
import type { Replicas } from './replicas.ts';
import type { StorageVersion } from './storage-version.ts';
import { storedVersionsOf } from './storage-version.ts';

/** A declaration, once it is known what the store has of its model. */
export interface DeclaredModel {
  readonly scheme: Scheme;
  readonly memory: ModelMemory;
  /** Where the objects of the model are. */
  readonly place: ModelPlace;
  /** The number of the model in that store. */
  readonly number: number;
  /** The number of the model in the default store, by which replicas know it. */
  readonly id: number;
  readonly contract: Contract;
  readonly hash: string;
  /** Resolves when this contract is the active one. */
  readonly activated: PromiseWithResolvers<void>;
  /** The model generation that is active, as far as this process knows. */
  generation: number;
  active: Contract | undefined;
  isActive: boolean;
  /** By which this process writes the objects. */
  rules: Rules;
  /** Something is to be recorded when the contract becomes active. */
  isNew: boolean;
  /** It can become active as soon as the other replicas let it. */
  isWaiting: boolean;
  /** Stored objects against this contract, until it is active. */
  check?: ObjectCheck | undefined;
  degraded?: { readonly failing: number; readonly samples: readonly Sample[] } | undefined;
  /** The model generation of which this process has claimed every unique value. */
  claimed?: number;
  /** The replicas that there were when the ModelState was last told of them. */
  replicas?: Omit<Awaited<ReturnType<Replicas['serving']>>, 'isKeeper'>;
  /** Of a model with several versions, once its indexes are there. */
  storage?: StorageVersion;
}

export type Duplicates = ReturnType<ModelMemory['duplicates']>;

/** What keeps a contract from becoming active. */
type Obstacles = Pick<NonNullable<Status['pending']>, 'failing' | 'samples' | 'waitsFor'>;

/** Offences that a status keeps. */
const keptOffences = 10;

export function activationOf(
  { number, contract }: DeclaredModel,
  moved: Pick<Activation, 'from' | 'to' | 'storageVersion'>,
): Activation {
  return { model: number, contract: JSON.stringify(contract), ...moved };
}

export function isClaiming({ isActive, memory }: DeclaredModel): boolean {
  return isActive && memory.model.rules.claiming.size > 0;
}

export function claimingOf(status: Status | undefined): ReadonlySet<string> {
  return new Set(status?.indexes?.filter(({ state }) => state === 'claiming').map(({ name }) => name));
}

/** Of the declaration, when its contract is the active one. */
export function rulesOf(scheme: Scheme, status: Status): Rules {
  const { generation, storageVersion } = status;
  return ownRules(scheme, { generation, claiming: claimingOf(status), storageVersion });
}

/** How many objects a check has found wrong, those with a value that several objects have among them. */
export function countsOf(check: ObjectCheck, duplicates: Duplicates) {
  check.setDuplicates(duplicates.map(({ index, key, names }) => ({ index, key: JSON.stringify(key), names })));
  const { failing, invalid, objects } = check;
  return { failing, invalid, objects };
}

export function samplesOf(offences: readonly Offence[]): Sample[] {
  return offences
    .slice(0, keptOffences)
    .map(({ names, pointer, keyword, message }) => ({ names, pointer, keyword, message }));
}

/** The status of a contract that cannot become active now; undefined: as it is. */
export function pendingOf(
  { contract, hash, active }: DeclaredModel,
  obstacles: Obstacles,
): (status: Status) => Status | undefined {
  const changes = active ? compareContracts(active, contract) : [];
  const pending = { hash, class: strongest(changes) ?? 'docs', ...obstacles };
  const building = contract.indexes
    .filter(({ unique, name }) => unique && !active?.indexes.some((one) => one.unique && one.name === name))
    .map(({ name }) => ({ name, state: 'building' as const }));
  return (status) => {
    if (!status.contract) return undefined;
    const indexes = [
      ...(status.indexes ?? []).filter(({ state }) => state !== 'building'),
      ...(obstacles.waitsFor ? building : []),
    ];
    const next = { ...status, indexes, pending };
    return isDeepStrictEqual(next, status) ? undefined : next;
  };
}

/** The status when nobody declares any more what is pending. */
export function withoutPending({ pending: _gone, indexes, ...status }: Status): Status {
  return { ...status, ...(indexes && { indexes: indexes.filter(({ state }) => state !== 'building') }) };
}

/**
 * Once the contract is active.
 * @param claims the store keeps claims, which older objects may not have
 */
export function statusOf(
  { scheme, contract, hash, degraded, generation: known, active, isActive }: DeclaredModel,
  before: Partial<Status>,
  claims: boolean,
  { finalize }: ModelStateObject['spec'],
): Status {
  const { group, kind } = scheme.groupVersionKind;
  const newest = Math.max(known, before.generation ?? 0);
  const generation = isActive ? known : before.contractHash === hash && newest > 0 ? newest : newest + 1;
  const claimed = (name: string) =>
    !claims ||
    !active ||
    (keepsKeys(active, contract, name) && before.indexes?.find((one) => one.name === name)?.state !== 'claiming');
  return {
    model: { group, kind, plural: scheme.plural },
    generation,
    contractHash: hash,
    contract,
    ...storageOf(scheme, contract, before, isActive, finalize),
    indexes: contract.indexes
      .filter(({ unique }) => unique)
      .map(({ name }) => ({ name, state: claimed(name) ? ('enforced' as const) : ('claiming' as const) })),
    ...(before.replicas && { replicas: before.replicas }),
    ...(degraded && { degraded }),
  };
}

/** How objects are stored once a contract is active. Until it is finalized, in the version of before where it has that one. */
function storageOf(
  { finalizeAfter }: Scheme,
  { hub, versions }: Contract,
  before: Partial<Status>,
  isActive: boolean,
  finalize: Finalize = 'auto',
): Pick<
  Status,
  'storageVersion' | 'storedVersions' | 'formerVersion' | 'finalizesAt' | 'migration' | 'contentMigration'
> {
  const { storageVersion: former, formerVersion, finalizesAt, migration, contentMigration } = before;
  const isKept = former !== undefined && former in versions && (finalizeAfter > 0 || finalize !== 'auto');
  const storageVersion = former !== undefined && (isActive || isKept) ? former : hub;
  const isSame = storageVersion === former;
  return {
    storageVersion,
    storedVersions: [...new Set([...storedVersionsOf(before), storageVersion])],
    ...(isSame ? formerVersion !== undefined && { formerVersion } : former !== undefined && { formerVersion: former }),
    ...(isActive && finalizesAt !== undefined && { finalizesAt }),
    ...(isSame && migration && { migration }),
    ...(isActive && contentMigration && { contentMigration }),
  };
}
