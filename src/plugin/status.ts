/** What plugins are said to be: their states and troubles, and the objects of the model `Plugin` that show them. */
import type { Fence } from '../controller/lease.ts';
import { Leader } from '../controller/lease.ts';
import type { Model } from '../model/model-type.ts';
import { system } from '../resource/access.ts';
import type { ModelResource } from '../resource/resource.ts';
import { TaskQueue } from '../runtime/task-queue.ts';
import type { InstanceOptions, PluginDependencies, Trouble } from './instance.ts';
import type { PluginObject, PluginState } from './model.ts';
import { pluginModel } from './model.ts';
import type { PluginPackage } from './sources.ts';

const messageLimit = 1_000;
/** Milliseconds between two writes of troubles to a Plugin object. */
const troubleInterval = 1_000;

/** The stored objects of the model `Plugin`. */
export class PluginObjects {
  readonly model: Model<PluginObject>;
  readonly resource: ModelResource;
  /** Writes, by plugin. */
  readonly tasks: TaskQueue;
  readonly #dependencies: PluginDependencies;

  constructor(dependencies: PluginDependencies) {
    const { registry, resources, reservedDomain, timers, logger } = dependencies;
    this.#dependencies = dependencies;
    this.model = pluginModel(reservedDomain);
    this.resource = resources.model(registry.register(this.model, undefined, ''));
    this.tasks = new TaskQueue({
      timers,
      minDelay: 20,
      maxDelay: 5_000,
      failed: (err, plugin, failures) => {
        if (failures % 10 === 0) logger.warn({ err, plugin }, 'The Plugin object could not be written');
      },
    });
  }

  read(name: string): Promise<PluginObject | undefined> {
    return this.#dependencies.client.fetch(this.model, name);
  }

  async write({ name, manifest }: PluginPackage, enabled: boolean, status: Status, fence: Fence): Promise<void> {
    const options = { caller: system, fence };
    const described = { displayName: manifest?.displayName ?? name, version: manifest?.version };
    let stored = await this.read(name);
    if (!stored) {
      const spec = { enabled, ...described };
      stored = parse((await this.resource.create({ metadata: { name }, spec }, options)).stored.bytes);
    } else if (stored.spec.displayName !== described.displayName || stored.spec.version !== described.version) {
      stored = parse(
        (await this.resource.patch(name, { spec: described }, { ...options, kind: 'merge' })).stored.bytes,
      );
    }
    const { status: before } = stored;
    if (before?.state === status.state && before.reason === status.reason && before.message === status.message) return;
    await this.resource.update(name, { ...stored, metadata: { name }, status }, { ...options, subresource: 'status' });
  }

  /** Objects of plugins that are not installed say so, unless another replica has them. */
  async markAbsent(isInstalled: (name: string) => boolean): Promise<void> {
    const { client, logger, store } = this.#dependencies;
    if (store.shared) return;
    try {
      for await (const { metadata, status } of client.listAll(this.model)) {
        if (isInstalled(metadata.name) || status?.reason === 'NotInstalled') continue;
        const absent = { state: 'STOPPED', reason: 'NotInstalled', message: 'There is no plugin of this name' };
        await this.resource.patch(
          metadata.name,
          { status: absent },
          { caller: system, kind: 'merge', subresource: 'status' },
        );
      }
    } catch (err) {
      logger.warn({ err }, 'Objects of plugins that are not installed could not be marked');
    }
  }
}

export type Status = NonNullable<PluginObject['status']>;

/** Says which replica writes the object of one plugin and applies what the plugin pre-declares. */
export class PluginLease {
  readonly #create: () => Leader;
  #leader: Leader | undefined;
  /** Its first attempt. */
  #asked: Promise<void> | undefined;

  /** @param onChange called with the fence when this replica takes the lease, with undefined when it loses it */
  constructor(
    plugin: string,
    { store, timers, logger }: PluginDependencies,
    { replica, leaseTimes }: InstanceOptions,
    onChange: (fence: Fence | undefined) => void,
  ) {
    this.#create = () =>
      new Leader({
        store,
        name: `plugin/${plugin}`,
        holder: replica,
        timers,
        times: leaseTimes,
        onAcquired: onChange,
        onLost: () => onChange(undefined),
        onError: (err) => logger.warn({ err, plugin }, 'The lease of the plugin could not be taken'),
      });
  }

  /** Undefined while another replica has it, or nobody asked for it. */
  get fence(): Fence | undefined {
    return this.#leader?.fence;
  }

  async take(): Promise<Fence | undefined> {
    if (!this.#leader) {
      this.#leader = this.#create();
      this.#asked = this.#leader.start();
    }
    // Also for who comes while another asks: without an answer, the plugin would seem to run elsewhere.
    await this.#asked;
    return this.#leader?.fence;
  }

  async giveUp(): Promise<void> {
    await this.#leader?.stop();
    this.#leader = undefined;
  }
}

interface StatusDependencies {
  readonly objects: PluginObjects;
  readonly now: () => number;
  readonly lease: PluginLease;
  readonly isEnabled: () => boolean;
}

/** The state of one plugin and what is wrong with it; every change is written to its object. */
export class PluginStatus {
  readonly #plugin: PluginPackage;
  readonly #dependencies: StatusDependencies;
  #state: PluginState = 'RESOLVED';
  #trouble: Trouble | undefined;
  /** What goes wrong while it runs, by what it is about. */
  readonly #troubles = new Map<string, Trouble>();
  /** When a trouble was written last, or is to be written. */
  #troubleAt = 0;

  constructor(plugin: PluginPackage, dependencies: StatusDependencies) {
    this.#plugin = plugin;
    this.#dependencies = dependencies;
  }

  get state(): PluginState {
    return this.#state;
  }

  get shown(): Status {
    const trouble = this.#trouble ?? this.#troubles.values().next().value;
    if (!trouble) return { state: this.#state };
    return { state: this.#state, reason: trouble.reason, message: trouble.message.slice(0, messageLimit) };
  }

  /** @param trouble why it is in this state */
  set(state: PluginState, trouble?: Trouble): void {
    this.#state = state;
    this.#trouble = trouble;
    this.touch();
  }

  /** Something goes wrong while the plugin runs; undefined: that is over. */
  report(about: string, trouble: Trouble | undefined): void {
    const before = this.#troubles.get(about);
    if (before?.reason === trouble?.reason && before?.message === trouble?.message) return;
    if (trouble) this.#troubles.set(about, trouble);
    else this.#troubles.delete(about);
    const now = this.#dependencies.now();
    if (this.#troubleAt <= now) this.#troubleAt = Math.max(now, this.#troubleAt + troubleInterval);
    this.touch(this.#troubleAt - now);
  }

  /** A new start: what went wrong before it counts no more. */
  forgetTroubles(): void {
    this.#troubles.clear();
  }

  /** The object is to say what is true now, after so many milliseconds at the latest. */
  touch(after = 0): void {
    const { objects, lease, isEnabled } = this.#dependencies;
    const write = async () => {
      const fence = await lease.take();
      if (fence) await objects.write(this.#plugin, isEnabled(), this.shown, fence);
    };
    objects.tasks.add(this.#plugin.name, write, after);
  }

  /** Resolves when the object says it. */
  written(): Promise<void> {
    return this.#dependencies.objects.tasks.settled(this.#plugin.name);
  }
}

function parse(bytes: Buffer): PluginObject {
  return JSON.parse(bytes.toString()) as PluginObject;
}
