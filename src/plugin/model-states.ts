/**
 * What is active of the plugins' models: their contracts, kept as objects of the built-in model `ModelState`, and the check
 * of stored objects before another declaration takes the place of one (docs/guide/changing-models.md).
 */

import type { Text } from '../errors.ts';
import { ifFound, KindredError } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import type { Contract } from '../model/contract.ts';
import {
  compareContracts,
  contractHash,
  contractOf,
  keepsIndex,
  needsData,
  schemeOfContract,
  strongest,
} from '../model/contract.ts';
import { defineModel } from '../model/define.ts';
import type { Model } from '../model/model-type.ts';
import type { Metadata } from '../model/object.ts';
import type { SchemeRegistry } from '../model/registry.ts';
import type { Scheme } from '../model/scheme.ts';
import { Type } from '../model/type.ts';
import { system } from '../resource/access.ts';
import type { Admission, Admissions } from '../resource/admission.ts';
import type { ModelMemory } from '../resource/memory.ts';
import type { ActiveModel, Offence } from '../resource/object-check.ts';
import { ObjectCheck } from '../resource/object-check.ts';
import type { ResourceRegistry } from '../resource/registry.ts';
import type { Logger } from '../runtime/logger.ts';
import { modelStateKind, modelStateName } from './kind.ts';
import { PluginStartError } from './start-error.ts';

interface Sample {
  names: readonly string[];
  pointer: string;
  keyword: string;
  message: string;
}

export interface ModelStateObject {
  apiVersion: string;
  kind: string;
  metadata: Metadata;
  spec: { onInvalid?: 'refuse' | 'degrade' };
  status?: {
    model: { group: string; kind: string; plural: string };
    generation: number;
    contractHash: string;
    contract: Contract;
    storageVersion: string;
    /** Stored objects that the active contract refuses. */
    degraded?: { failing: number; samples: readonly Sample[] };
    /** A declaration that was refused. */
    pending?: { hash: string; class: string; failing: number; samples: readonly Sample[] };
  };
}

type Status = NonNullable<ModelStateObject['status']>;

/** `modelstates` in `plugin.<reserved domain>/v1alpha1`. */
function modelStateModel(reservedDomain: string): Model<ModelStateObject> {
  const sample = Type.Object({
    names: Type.Array(Type.String()),
    pointer: Type.String(),
    keyword: Type.String(),
    message: Type.String(),
  });
  const found = { failing: Type.Integer({ minimum: 0 }), samples: Type.Array(sample) };
  return defineModel({
    gvk: modelStateKind(reservedDomain),
    subresources: { status: true },
    spec: Type.Object({
      onInvalid: Type.Optional(
        Type.Enum(['refuse', 'degrade'], {
          description: 'Wins over the declaration: whether a plugin starts when stored objects would become invalid.',
        }),
      ),
    }),
    status: Type.Object({
      model: Type.Object({ group: Type.String(), kind: Type.String(), plural: Type.String() }),
      generation: Type.Integer({ minimum: 1, description: 'Grows with each contract that becomes active.' }),
      contractHash: Type.String({ description: 'SHA-256 of the contract as canonical JSON.' }),
      contract: { description: 'The declaration that is active.' } as never,
      storageVersion: Type.String({ description: 'The version in which objects are written.' }),
      degraded: Type.Optional(Type.Object(found, { description: 'Stored objects that the active contract refuses.' })),
      pending: Type.Optional(
        Type.Object(
          { hash: Type.String(), class: Type.String(), ...found },
          { description: 'A declaration that was refused, and why.' },
        ),
      ),
    }),
  }) as unknown as Model<ModelStateObject>;
}

interface ModelStatesDependencies {
  readonly registry: SchemeRegistry;
  readonly reservedDomain: string;
  readonly logger: Logger;
}

/** A declaration that is checked and not yet active. */
interface Checked {
  readonly contract: Contract;
  readonly hash: string;
  readonly degraded?: { readonly failing: number; readonly samples: readonly Sample[] };
}

const texts = {
  incompatible: localized(
    '{kind}: {failing} of {objects} stored {objectCount|object|objects} would become invalid ({samples}): repair them, add a conversion, or start with evolution.onInvalid: degrade',
  ),
} satisfies Record<string, Text>;

/** Offences that a message names, and those that an object has. */
const namedOffences = 3;
const keptOffences = 10;
/** Attempts at an object that other replicas write too. */
const attempts = 20;

export class ModelStates implements Admissions {
  readonly #dependencies: ModelStatesDependencies;
  readonly #scheme: Scheme;
  readonly #checked = new WeakMap<Scheme, Checked>();
  #resources!: ResourceRegistry;

  constructor(dependencies: ModelStatesDependencies) {
    const { registry, reservedDomain } = dependencies;
    this.#dependencies = dependencies;
    this.#scheme = registry.register(modelStateModel(reservedDomain), undefined, '');
  }

  /** Before the first build. */
  use(resources: ResourceRegistry): void {
    this.#resources = resources;
  }

  async of(scheme: Scheme, memory: ModelMemory): Promise<Admission | undefined> {
    // The models of the service and of the program around it come with no plugin that could be held back.
    if (!this.#isOfPlugin(scheme)) return undefined;
    const contract = contractOf(scheme);
    const hash = contractHash(contract);
    const stored = await this.#read(scheme);
    const active = stored?.status;
    if (active?.contractHash === hash) {
      if (active.pending) await this.#write(scheme, ({ pending: _refused, ...rest }) => rest);
      if (!active.degraded) return undefined;
    }
    this.#checked.set(scheme, { contract, hash });
    if (!active) return undefined;
    const changes = compareContracts(active.contract, contract);
    const isSame = active.contractHash === hash;
    if (!active.degraded && !needsData(changes)) return undefined;
    const check = new ObjectCheck(scheme, isSame ? undefined : this.#activeOf(active.contract, contract));
    const decide: Admission['decide'] = async (index) => {
      for (const { type, name, bytes } of memory.backlog) {
        if (type === 'delete') check.remove(name);
        else check.replace(bytes.toString());
      }
      for (const { index: field, key, names } of index.duplicates())
        check.addDuplicate(field, JSON.stringify(key), names);
      const { failing, invalid, objects } = check;
      const onInvalid = isSame ? 'degrade' : (stored.spec.onInvalid ?? scheme.onInvalid);
      if (failing > 0 && onInvalid === 'refuse') {
        const offences = check.offences(true);
        const pending = { hash, class: strongest(changes) ?? 'docs', failing, samples: samplesOf(offences) };
        await this.#write(scheme, (status) => ({ ...status, pending }));
        throw new PluginStartError('IncompatibleModel', texts.incompatible, {
          kind: scheme.groupVersionKind.kind,
          failing: failing.toLocaleString('en'),
          objects: objects.toLocaleString('en'),
          objectCount: objects,
          samples: shownSamples(offences),
        });
      }
      const offences = check.offences();
      const degraded = invalid > 0 ? { failing: invalid, samples: samplesOf(offences) } : undefined;
      this.#checked.set(scheme, { contract, hash, ...(degraded && { degraded }) });
      return problemsOf(offences);
    };
    return { check, decide };
  }

  opened(scheme: Scheme): void {
    if (!this.#checked.has(scheme)) return;
    const owner = this.#dependencies.registry.ownerOf(scheme);
    // Of a plugin that starts, all models become active together.
    if (owner === undefined || this.#dependencies.registry.starting.has(owner)) return;
    this.activate([scheme]).catch((err: unknown) =>
      this.#dependencies.logger.warn({ err, kind: scheme.groupVersionKind.kind }, 'The model could not be recorded'),
    );
  }

  /** What was checked is what is active from now on. */
  async activate(schemes: readonly Scheme[]): Promise<void> {
    for (const scheme of schemes) {
      const checked = this.#checked.get(scheme);
      if (!checked) continue;
      await this.#write(scheme, (before) => statusOf(scheme, checked, before));
      this.#checked.delete(scheme);
    }
  }

  #isOfPlugin(scheme: Scheme): boolean {
    const owner = this.#dependencies.registry.ownerOf(scheme);
    return owner !== undefined && owner !== '';
  }

  #activeOf(active: Contract, next: Contract): ActiveModel | undefined {
    try {
      const { validator } = schemeOfContract(active);
      return { validator, keepsIndex: (name) => keepsIndex(active, next, name) };
    } catch (err) {
      this.#dependencies.logger.warn({ err, kind: next.kind }, 'The active contract of the model cannot be read');
      return undefined;
    }
  }

  async #read(scheme: Scheme): Promise<ModelStateObject | undefined> {
    const resource = this.#resources.model(this.#scheme);
    await resource.ready;
    const found = await ifFound(() => resource.get(nameOf(scheme)));
    return found && (JSON.parse(found.stored.bytes.toString()) as ModelStateObject);
  }

  /** @param next of the status that is stored; the same one: nothing is written */
  async #write(scheme: Scheme, next: (status: Status) => Status | undefined): Promise<void> {
    const resource = this.#resources.model(this.#scheme);
    const name = nameOf(scheme);
    for (let attempt = 1; ; attempt++) {
      try {
        let stored = await this.#read(scheme);
        if (!stored) {
          const { stored: created } = await resource.create({ metadata: { name }, spec: {} }, { caller: system });
          stored = JSON.parse(created.bytes.toString()) as ModelStateObject;
        }
        const status = next(stored.status ?? ({} as Status));
        if (!status) return;
        await resource.update(name, { ...stored, status }, { caller: system, subresource: 'status' });
        return;
      } catch (error) {
        const isOvertaken =
          error instanceof KindredError && ['AlreadyExists', 'VersionConflict', 'NotFound'].includes(error.code);
        if (!isOvertaken || attempt === attempts) throw error;
      }
    }
  }
}

function nameOf({ plural, groupVersionKind: { group } }: Scheme): string {
  return modelStateName(plural, group);
}

function statusOf(scheme: Scheme, { contract, hash, degraded }: Checked, before: Partial<Status>): Status {
  const { group, kind } = scheme.groupVersionKind;
  const generation = before.contractHash === hash ? before.generation! : (before.generation ?? 0) + 1;
  return {
    model: { group, kind, plural: scheme.plural },
    generation,
    contractHash: hash,
    contract,
    storageVersion: contract.storageVersion,
    ...(degraded && { degraded }),
  };
}

function samplesOf(offences: readonly Offence[]): Sample[] {
  return offences
    .slice(0, keptOffences)
    .map(({ names, pointer, keyword, message }) => ({ names, pointer, keyword, message }));
}

/** `ada: /spec/email format; …` */
function shownSamples(offences: readonly Offence[]): string {
  const shown = offences
    .slice(0, namedOffences)
    .map(({ names, pointer, keyword }) => `${names.join(', ')}: ${pointer || 'the object'} ${keyword}`);
  return [...shown, ...(offences.length > namedOffences ? ['…'] : [])].join('; ');
}

function problemsOf(offences: readonly Offence[]): Map<string, string> {
  const problems = new Map<string, string>();
  for (const { names, pointer, keyword, message } of offences) {
    // Shared values are listed as long as they are shared.
    if (keyword !== 'unique') problems.set(names[0]!, `${pointer || 'the object'} ${message}`);
  }
  return problems;
}
