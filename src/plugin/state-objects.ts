/** The ModelStates as objects: each is read and written here, and a contract becomes active with its status. */

import { ifFound, KindredError } from '../errors.ts';
import type { Contract } from '../model/contract.ts';
import { contractHash } from '../model/contract.ts';
import type { Scheme } from '../model/scheme.ts';
import { system } from '../resource/access.ts';
import { ActivationRefused } from '../resource/commits.ts';
import type { ModelPlace } from '../resource/indexed-model.ts';
import { putMark } from '../resource/marks.ts';
import type { ResourceRegistry } from '../resource/registry.ts';
import { readJson } from '../runtime/read-json.ts';
import type { Timers } from '../runtime/timers.ts';
import type { Activation, ModelRow } from '../store/store.ts';
import { modelStateName } from './kind.ts';
import type { Finalize, ModelStateObject, Status } from './model-state.ts';
import { movedTo } from './storage-version.ts';

interface StateObjectsDependencies {
  readonly resources: ResourceRegistry;
  /** Of the model `ModelState`. */
  readonly scheme: Scheme;
  readonly timers: Pick<Timers, 'now'>;
}

/** Attempts at an object that other replicas write too. */
const attempts = 20;

export class StateObjects {
  readonly #dependencies: StateObjectsDependencies;

  constructor(dependencies: StateObjectsDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Of a model.
   * @param row what its store has of it: a storage version that moved there and not here yet moves here first
   */
  async read(scheme: Scheme, row?: ModelRow): Promise<ModelStateObject | undefined> {
    const resource = this.#resource;
    await resource.ready;
    const found = await ifFound(() => resource.get(stateNameOf(scheme)));
    const stored = found && (readJson(found.stored.bytes.toString()) as ModelStateObject);
    if (!row || !stored?.status || !hasMoved(row, stored.status)) return stored;
    await this.write(scheme, (status) => (hasMoved(row, status) ? movedTo(row.storageVersion!, status) : undefined));
    return this.read(scheme);
  }

  /**
   * The status of a model; the object is made when there is none.
   * @param next of the status that is stored; undefined: nothing is written
   * @param activate the contract that becomes active with it
   * @returns the revision of the change, or that of what it leaves as it is
   * @throws ActivationRefused
   */
  async write(
    scheme: Scheme,
    next: (status: Status, spec: ModelStateObject['spec']) => Status | undefined,
    activate?: (status: Status) => Activation,
  ): Promise<number | undefined> {
    const { place } = this.#dependencies.resources.model(scheme);
    const resource = this.#resource;
    const name = stateNameOf(scheme);
    for (let attempt = 1; ; attempt++) {
      try {
        let stored = await this.read(scheme);
        if (!stored) {
          const { stored: created } = await resource.create({ metadata: { name }, spec: {} }, { caller: system });
          stored = readJson(created.bytes.toString()) as ModelStateObject;
        }
        const status = next(stored.status ?? ({} as Status), stored.spec);
        if (!status) return undefined;
        const options = { caller: system, subresource: 'status' as const };
        const activation = activate?.(status);
        const isHere = place === resource.place;
        if (activation && !isHere) await activateIn(place, name, activation, this.#dependencies.timers.now());
        const answer = await resource.update(
          name,
          { ...stored, status },
          activation && isHere ? { ...options, activate: activation } : options,
        );
        if (isHere) return answer.revision;
        await place.feed.newest();
        return place.feed.applied;
      } catch (error) {
        const isOvertaken =
          error instanceof KindredError && ['AlreadyExists', 'VersionConflict', 'NotFound'].includes(error.code);
        if (!isOvertaken || attempt === attempts) throw error;
      }
    }
  }

  /** What was requested in `spec.finalize` is done. */
  async obeyed(scheme: Scheme, request: Finalize, finalize: Finalize): Promise<void> {
    const patch = [
      { op: 'test', path: '/spec/finalize', value: request },
      { op: 'replace', path: '/spec/finalize', value: finalize },
    ];
    try {
      await this.#resource.patch(stateNameOf(scheme), patch, { caller: system, kind: 'json' });
    } catch (error) {
      // Something else is requested by now.
      if (!(error instanceof KindredError && ['PatchTestFailed', 'NotFound'].includes(error.code))) throw error;
    }
  }

  get #resource() {
    const { resources, scheme } = this.#dependencies;
    return resources.model(scheme);
  }
}

/** Of the ModelState of a model. */
export function stateNameOf({ plural, groupVersionKind: { group } }: Scheme): string {
  return modelStateName(plural, group);
}

/** The same contract, with another storage version than the status tells. */
function hasMoved(row: ModelRow, { generation, storageVersion, contractHash: hash }: Status): boolean {
  if (row.generation !== generation + 1 || !row.contract || row.storageVersion === storageVersion) return false;
  return contractHash(readJson(row.contract) as Contract) === hash;
}

/**
 * In the store of the model, before the ModelState in the default store tells of it. Who writes by the former contract meanwhile
 * is refused by the store, and tries again.
 * @throws ActivationRefused
 */
async function activateIn(place: ModelPlace, name: string, activate: Activation, now: number): Promise<void> {
  const result = await putMark(place.store, 'contract', name, { generation: activate.to }, { activate, now });
  if (result.ok) return place.feed.newest();
  throw new ActivationRefused(result.reason === 'unchecked' ? 'unchecked' : 'outdated');
}
