/**
 * The definitions of a running service. Every replica registers the models of those whose names are accepted, as its feed
 * shows them; one replica, the holder of a lease, decides which names are, and clears away what is deleted.
 */
import type { Fence, LeaseStore } from '../../controller/lease.ts';
import { Leader } from '../../controller/lease.ts';
import { ifFound, KindredError } from '../../errors.ts';
import { localized } from '../../locales/localized.ts';
import type { Model } from '../../model/model-type.ts';
import type { ExtensionObject } from '../../model/object.ts';
import type { SchemeRegistry } from '../../model/registry.ts';
import type { Scheme } from '../../model/scheme.ts';
import { Queries } from '../../query/condition.ts';
import { system } from '../../resource/access.ts';
import type { ModelHooks } from '../../resource/hooks.ts';
import type { ResourceRegistry } from '../../resource/registry.ts';
import type { ModelResource } from '../../resource/resource.ts';
import type { Logger } from '../../runtime/logger.ts';
import { readJson } from '../../runtime/read-json.ts';
import { retry } from '../../runtime/retry.ts';
import { TaskQueue } from '../../runtime/task-queue.ts';
import { TimeSlice } from '../../runtime/time-slice.ts';
import type { Timers } from '../../runtime/timers.ts';
import { isEqual } from '../../schema/json-value.ts';
import { checkDefinition, declaresTheSame, withDefaults } from './check.ts';
import type { Condition, DefinitionObject } from './kind.ts';
import { cleanupFinalizer, definitionOwner } from './kind.ts';
import { codeOf, modelOf, storageVersionOf } from './model.ts';
import { isAccepted } from './stored.ts';

export interface DefinitionsDependencies {
  readonly registry: SchemeRegistry;
  readonly resources: ResourceRegistry;
  readonly store: LeaseStore;
  readonly model: Model<DefinitionObject>;
  readonly hooks: Map<string, ModelHooks>;
  readonly reservedDomain: string;
  /** Names this process among the replicas. */
  readonly replica: string;
  readonly timers: Timers;
  readonly logger: Pick<Logger, 'warn'>;
}

const terminating = localized('create not allowed while custom resource definition is terminating');

/** What definitions may hold beyond other objects. */
export interface DefinitionLimits {
  /** Of a body that declares one. */
  readonly bytes: number;
  /** Bytes by which the stored one may be larger. */
  readonly growth: number;
  readonly members: number;
  /** Of all definitions. */
  readonly count: number;
}

const tooMany = localized('There are {limit} definitions, as many as the service allows');

/** @param existing how many definitions there are */
export function definitionHooks(
  reservedDomain: string,
  { bytes, growth, members, count }: DefinitionLimits,
  existing: () => number,
): ModelHooks {
  return {
    objectBytes: bytes + growth,
    bodyBytes: bytes,
    members,
    deletionFinalizer: cleanupFinalizer,
    async prepareWrite(object, stored, caller) {
      const before = stored as unknown as DefinitionObject | undefined;
      const definition = withDefaults(object as unknown as DefinitionObject);
      const isSame = before !== undefined && declaresTheSame(definition, before);
      if (!before && existing() >= count) throw new KindredError('Forbidden', tooMany, { params: { limit: count } });
      if (!isSame) {
        const slice = new TimeSlice(() => performance.now());
        await slice.run(checkDefinition(definition, before, reservedDomain));
      }
      const finalizers = definition.metadata.finalizers ?? [];
      const isKept = caller.origin !== 'host' && before?.metadata.finalizers?.includes(cleanupFinalizer);
      if (isKept && !finalizers.includes(cleanupFinalizer)) {
        definition.metadata = { ...definition.metadata, finalizers: [...finalizers, cleanupFinalizer] };
      }
      return (isEqual(definition, object) ? object : definition) as unknown as ExtensionObject;
    },
    warnings: ({ spec }) =>
      (spec as DefinitionObject['spec']).conversion?.strategy === 'Webhook' ? [webhookConversion] : [],
  };
}

const webhookConversion =
  'spec.conversion.strategy: the webhook is not called: Webhook works as None, which changes apiVersion alone';

interface Loaded {
  scheme: Scheme;
  /** Nothing is made any more. */
  isTerminating: boolean;
}

const concurrency = 8;
const delays = { minDelay: 50, maxDelay: 10_000 };

export class Definitions {
  readonly #dependencies: DefinitionsDependencies;
  readonly #leader: Leader;
  readonly #tasks: TaskQueue;
  /** By name of the definition. */
  readonly #loaded = new Map<string, Loaded>();
  readonly #stopping = new AbortController();
  #fence: Fence | undefined;
  #unsubscribe: (() => void) | undefined;

  constructor(dependencies: DefinitionsDependencies) {
    this.#dependencies = dependencies;
    const { store, replica: holder, timers, logger } = dependencies;
    this.#tasks = new TaskQueue({
      timers,
      concurrency,
      ...delays,
      failed: (err, task, failures) =>
        failures > 3 &&
        logger.warn({ err, task, failures }, 'A definition could not be looked after yet; trying again'),
    });
    this.#leader = new Leader({
      store,
      name: 'definitions',
      holder,
      timers,
      times: undefined,
      onAcquired: (fence) => {
        this.#fence = fence;
        for (const [, name] of this.#resource.memory.index.names.entries()) this.#lookAfter(name);
      },
      onLost: () => {
        this.#fence = undefined;
      },
      onError: (err) => logger.warn({ err }, 'The lease of the definitions could not be taken'),
    });
  }

  get #resource(): ModelResource {
    const { registry, resources, model } = this.#dependencies;
    return resources.model(registry.schemeOf(model));
  }

  /** Before the plugins: a model that is declared here stays. Resolves when every model is registered and its indexes are built. */
  async start(): Promise<void> {
    const resource = this.#resource;
    this.#unsubscribe = this.#dependencies.resources.feed.subscribe({
      change: (change) => {
        if (change.model !== resource.model) return;
        const loaded = this.#loaded.get(change.name);
        if (change.type === 'delete') this.#unload(change.name);
        else if (loaded) loaded.isTerminating = isTerminating(change.object() as unknown as DefinitionObject);
        this.#lookAfter(change.name);
      },
      resync: () =>
        void this.#lookAfterAll().catch((err: unknown) =>
          this.#dependencies.logger.warn({ err }, 'The definitions could not be read'),
        ),
    });
    await this.#lookAfterAll();
    await this.#tasks.settled();
    await Promise.all([...this.#loaded.values()].map(({ scheme }) => this.#dependencies.resources.model(scheme).ready));
  }

  /** Once the models of plugins are registered, which win. */
  async lead(): Promise<void> {
    await this.#leader.start();
  }

  async stop(): Promise<void> {
    this.#unsubscribe?.();
    this.#stopping.abort();
    await this.#tasks.stop();
    await this.#leader.stop();
  }

  /** Tries again as long as the database is away. */
  async #lookAfterAll(): Promise<void> {
    const { timers, logger } = this.#dependencies;
    const failed = (err: unknown) => {
      if (!(err instanceof KindredError && err.code === 'NotReady')) throw err;
      logger.warn({ err }, 'The definitions could not be read; trying again');
    };
    const names = await retry({ timers, ...delays, signal: this.#stopping.signal, failed }, async () => {
      await this.#resource.ready;
      return this.#resource.names({ where: Queries.all(), sort: [] });
    });
    for (const name of new Set([...this.#loaded.keys(), ...(names ?? [])])) this.#lookAfter(name);
  }

  #lookAfter(name: string): void {
    this.#tasks.add(name, () => this.#look(name));
  }

  async #look(name: string): Promise<void> {
    await this.#dependencies.resources.turns.next();
    const definition = await this.#find(name);
    if (!definition) return this.#unload(name);
    await this.#load(definition);
    if (this.#fence) await this.#establish(definition);
  }

  /** The model is registered, or in its new form. */
  async #load(definition: DefinitionObject): Promise<void> {
    const { registry, resources, hooks, reservedDomain, logger } = this.#dependencies;
    const { metadata, spec } = definition;
    const name = metadata.name!;
    const before = this.#loaded.get(name);
    if (!before && !isAccepted(definition)) return;
    if (before?.scheme.definition?.code === codeOf(definition)) return;
    try {
      const model = await resources.turns.slice().run(modelOf(definition, reservedDomain));
      const loaded = this.#loaded.get(name);
      if (loaded && isSameModel(loaded.scheme, definition)) {
        loaded.scheme = registry.replace(model, undefined, definitionOwner);
        return;
      }
      this.#unload(name);
      hooks.set(`${spec.names.kind}.${spec.group}`, {
        prepareWrite: (object, stored) => {
          if (!stored && this.#loaded.get(name)?.isTerminating) throw new KindredError('MethodNotAllowed', terminating);
          return object;
        },
      });
      const scheme = registry.register(model, undefined, definitionOwner);
      this.#loaded.set(name, { scheme, isTerminating: isTerminating(definition) });
    } catch (err) {
      logger.warn({ err, definition: name }, 'A definition cannot be served');
    }
  }

  #unload(name: string): void {
    const loaded = this.#loaded.get(name);
    if (!loaded) return;
    this.#loaded.delete(name);
    this.#dependencies.registry.unregister(loaded.scheme, definitionOwner);
  }

  async #find(name: string): Promise<DefinitionObject | undefined> {
    const found = await ifFound(async () => this.#resource.get(name));
    return found && (readJson(found.stored.bytes.toString()) as DefinitionObject);
  }

  async #establish(definition: DefinitionObject): Promise<void> {
    const name = definition.metadata.name!;
    if (isTerminating(definition)) return this.#clear(definition);
    const conflict = this.#conflictOf(definition);
    const wasAccepted = isAccepted(definition);
    const loaded = this.#loaded.get(name);
    const isServed = !conflict && wasAccepted && loaded !== undefined;
    if (isServed) await this.#dependencies.resources.model(loaded.scheme).ready;
    const { names } = definition.spec;
    const stored = new Set([...(definition.status?.storedVersions ?? []), storageVersionOf(definition).name]);
    const accepted = condition(
      'NamesAccepted',
      !conflict,
      conflict?.reason ?? 'NoConflicts',
      conflict?.message ?? 'no conflicts found',
    );
    const established = isServed
      ? condition('Established', true, 'InitialNamesAccepted', 'the initial names have been accepted')
      : condition(
          'Established',
          false,
          conflict ? 'NotAccepted' : 'Installing',
          conflict ? 'not all names are accepted' : 'the model is being registered',
        );
    const status = {
      acceptedNames: conflict && !has(definition, 'Established') ? { plural: '', kind: '' } : names,
      storedVersions: [...stored],
      conditions: this.#changed(definition.status?.conditions ?? [], [accepted, established]),
    };
    if (isEqual(status, definition.status)) return;
    await this.#write(definition, status);
  }

  #changed(before: readonly Condition[], after: readonly Omit<Condition, 'lastTransitionTime'>[]): Condition[] {
    const now = new Date(this.#dependencies.timers.now()).toISOString().replace(/\.\d+/, '');
    const others = before.filter(({ type }) => !after.some((one) => one.type === type));
    return [
      ...others,
      ...after.map((one) => {
        const was = before.find(({ type }) => type === one.type);
        const { type, status, reason, message } = one;
        const lastTransitionTime = was?.status === status ? was.lastTransitionTime : now;
        return { lastTransitionTime, message, reason, status, type };
      }),
    ];
  }

  /** Why the names cannot be served, by other definitions and by the models of plugins. */
  #conflictOf({ metadata, spec }: DefinitionObject): { reason: string; message: string } | undefined {
    const { names, group } = spec;
    const own = this.#loaded.get(metadata.name!)?.scheme;
    for (const other of this.#dependencies.registry.schemes()) {
      if (other === own || other.groupVersionKind.group !== group) continue;
      const { kind } = other.groupVersionKind;
      const resources = [other.plural, other.singular, ...other.shortNames];
      const refuse = (reason: string, one: string) => ({ reason, message: `${JSON.stringify(one)} is already in use` });
      if (resources.includes(names.plural)) return refuse('PluralConflict', names.plural);
      if (names.singular && resources.includes(names.singular)) return refuse('SingularConflict', names.singular);
      const short = names.shortNames?.find((one) => resources.includes(one));
      if (short) return refuse('ShortNamesConflict', short);
      const kinds = [kind, other.definition?.listKind ?? `${kind}List`];
      if (kinds.includes(names.kind)) return refuse('KindConflict', names.kind);
      if (names.listKind && kinds.includes(names.listKind)) return refuse('ListKindConflict', names.listKind);
    }
    return undefined;
  }

  /** A deleted definition: its objects go first. */
  async #clear(definition: DefinitionObject): Promise<void> {
    const name = definition.metadata.name!;
    const loaded = this.#loaded.get(name);
    if (!definition.metadata.finalizers?.includes(cleanupFinalizer)) return;
    if (loaded) {
      const resource = this.#dependencies.resources.model(loaded.scheme);
      await resource.ready;
      for (const one of await resource.names({ where: Queries.all(), sort: [] })) {
        await ifFound(() => resource.delete(one, this.#options));
      }
      if ((await resource.count({ where: Queries.all() })) > 0) {
        const reason = 'InstanceDeletionInProgress';
        const going = condition('Terminating', true, reason, 'CustomResource deletion is in progress');
        const conditions = this.#changed(definition.status?.conditions ?? [], [going]);
        if (!isEqual(conditions, definition.status?.conditions))
          await this.#write(definition, { ...definition.status, conditions });
        this.#tasks.add(name, () => this.#look(name), contentDelay);
        return;
      }
    }
    const finalizers = definition.metadata.finalizers.filter((one) => one !== cleanupFinalizer);
    await ifFound(() => this.#resource.patch(name, { metadata: { finalizers } }, { ...this.#options, kind: 'merge' }));
  }

  async #write(definition: DefinitionObject, status: object): Promise<void> {
    const object = { ...definition, status };
    await ifFound(() =>
      this.#resource.update(definition.metadata.name!, object, { ...this.#options, subresource: 'status' }),
    );
  }

  get #options() {
    return { caller: system, ...(this.#fence && { fence: this.#fence }) } as const;
  }
}

/** Whether the model can be replaced while it serves. */
function isSameModel({ groupVersionKind: { version, kind } }: Scheme, definition: DefinitionObject): boolean {
  return storageVersionOf(definition).name === version && definition.spec.names.kind === kind;
}

function isTerminating({ metadata }: DefinitionObject): boolean {
  return metadata.deletionTimestamp !== undefined;
}

/** Milliseconds between two looks at what is left of a definition that is deleted. */
const contentDelay = 500;

function has({ status }: DefinitionObject, type: string): boolean {
  return status?.conditions?.some((one) => one.type === type && one.status === 'True') === true;
}

function condition(type: string, isTrue: boolean, reason: string, message: string) {
  return { type, status: isTrue ? 'True' : 'False', reason, message };
}
