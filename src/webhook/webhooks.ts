/** Webhooks: a part of the service that tells receivers elsewhere of changes. One replica, the holder of a lease, runs all of them. */
import type { Fence, LeaseStore, LeaseTimes } from '../controller/lease.ts';
import { Leader } from '../controller/lease.ts';
import { ifFound, KindredError } from '../errors.ts';
import type { CustomRoutes } from '../http/custom/routes.ts';
import { localized } from '../locales/localized.ts';
import type { Model } from '../model/model-type.ts';
import type { SchemeRegistry } from '../model/registry.ts';
import type { Scheme } from '../model/scheme.ts';
import type { Author, Authorizer, Authors, Identity } from '../resource/access.ts';
import type { AppliedChange } from '../resource/change.ts';
import type { ExtensionClient } from '../resource/extension-client.ts';
import type { ModelHooks } from '../resource/hooks.ts';
import { isOfMarks } from '../resource/marks.ts';
import type { ResourceRegistry } from '../resource/registry.ts';
import type { ModelResource } from '../resource/resource.ts';
import type { Logger } from '../runtime/logger.ts';
import { readJson } from '../runtime/read-json.ts';
import { TaskQueue } from '../runtime/task-queue.ts';
import type { Timers } from '../runtime/timers.ts';
import type { Tracing } from '../telemetry/tracing.ts';
import type { Lookup } from './address.ts';
import { missingRight, resourceNamed, webhookHooks } from './behaviour.ts';
import type { WebhookFigures, WebhookRunOptions } from './delivery-loop.ts';
import { KeyMissing, WebhookRun } from './delivery-loop.ts';
import type { Attempt } from './history.ts';
import type { WebhookObject, WebhookSpec, WebhookStatus } from './model.ts';
import { webhookGroup, webhookModel } from './model.ts';
import { webhookRoutes } from './routes.ts';
import { Sender } from './send.ts';
import { keyOf } from './signature.ts';

/** Option `webhook` of the service. */
export interface WebhookOptions extends Partial<WebhookRunOptions> {
  /** Deliver to private, loopback and link-local addresses too. Default false. */
  readonly allowPrivateAddresses?: boolean;
  /** Milliseconds that a receiver has to answer. Default 10 s. */
  readonly timeout?: number;
  /** Milliseconds before the second attempt, doubled for each further one. Default 1 s. */
  readonly minDelay?: number;
  /** Default 5 min. */
  readonly maxDelay?: number;
  /** Milliseconds from its first attempt after which a delivery is given up. Default 24 h. */
  readonly giveUpAfter?: number;
  /** Attempts of one webhook at the same time, each for another object. Default 8. */
  readonly concurrency?: number;
}

export interface WebhooksDependencies {
  readonly registry: SchemeRegistry;
  readonly resources: ResourceRegistry;
  readonly store: LeaseStore;
  /** Acts as the service; its writes carry the fence. */
  readonly clientOf: (fence: () => Fence | undefined) => ExtensionClient;
  /** What the authors of webhooks may do by now. */
  readonly authors: Authors;
  readonly custom: CustomRoutes;
  readonly authorizer: Pick<Authorizer, 'decide'>;
  /** Calls back when what anybody may do could have changed. */
  readonly onRightsChange: (listener: () => void) => () => void;
  readonly reservedDomain: string;
  /** Names this process among the replicas. */
  readonly replica: string;
  readonly timers: Timers;
  readonly random: () => number;
  readonly logger: Pick<Logger, 'warn'>;
  readonly options: Required<WebhookOptions>;
  readonly tracing?: Tracing | undefined;
  readonly leaseTimes?: Partial<LeaseTimes>;
  /** Stands in for the system's name resolution. */
  readonly lookup?: Lookup;
}

/** The entry of `ResourceRegistryDependencies.hooks` for the model. */
export function webhookHooksByModel(
  reservedDomain: string,
  authorizer: Authorizer,
  authors: Authors,
  schemes: () => readonly Scheme[],
): ReadonlyMap<string, ModelHooks> {
  return new Map([[`Webhook.${webhookGroup(reservedDomain)}`, webhookHooks(authorizer, authors, schemes)]]);
}

/** Milliseconds after which a change of the registered models is looked at. */
const reviewDelay = 1_000;
/** Entries of a Secret that sign: the second while receivers change over from it. */
const keyEntries = ['key', 'previousKey'];

export class Webhooks {
  readonly #dependencies: WebhooksDependencies;
  readonly #options: Required<WebhookOptions>;
  readonly #model: Model<WebhookObject>;
  readonly #leader: Leader;
  #resource: ModelResource | undefined;
  #unsubscribe: (() => void) | undefined;
  #term: LeaderTerm | undefined;
  #ended: Promise<void> = Promise.resolve();

  constructor(dependencies: WebhooksDependencies) {
    this.#dependencies = dependencies;
    this.#options = dependencies.options;
    this.#model = webhookModel(dependencies.reservedDomain);
    dependencies.registry.register(this.#model, undefined, '');
    const { custom, reservedDomain } = dependencies;
    custom.register(
      '',
      webhookRoutes(reservedDomain, {
        deliveries: async (name, identity) => {
          await this.#resource!.get(name);
          const attempts = this.#term?.runOf(name)?.attempts;
          return {
            here: this.#term !== undefined,
            deliveries: (attempts ?? []).map((one) => this.#shown(one, identity)),
          };
        },
        replay: async (name, id, identity) => this.#shown(await (await this.#runOf(name)).replay(id), identity),
        test: async (name, identity) => this.#shown(await (await this.#runOf(name)).test(), identity),
      }),
    );
    this.#leader = new Leader({
      store: dependencies.store,
      name: 'webhooks',
      holder: dependencies.replica,
      timers: dependencies.timers,
      times: dependencies.leaseTimes,
      onAcquired: (fence) => this.#begin(fence),
      onLost: () => this.#endTerm(false),
      onError: (err) => dependencies.logger.warn({ err }, 'The lease of the webhooks could not be taken'),
    });
  }

  /** Once the models of the plugins are registered: changes of models that are not there are passed over. */
  async start(): Promise<void> {
    const { registry, resources } = this.#dependencies;
    this.#resource = resources.model(registry.schemeOf(this.#model));
    await this.#resource.ready;
    this.#unsubscribe = resources.feed.subscribe({
      change: (change) => this.#term?.change(change),
      resync: (newest) => this.#term?.resync(newest),
    });
    await this.#leader.start();
  }

  /** Attempts under way are broken off and made again after the next start. */
  async stop(): Promise<void> {
    this.#unsubscribe?.();
    this.#endTerm(true);
    await this.#ended;
    await this.#leader.stop();
  }

  /** Of the webhooks that this process delivers. */
  figures(): readonly WebhookFigures[] {
    return this.#term?.figures() ?? [];
  }

  /** @throws NotFound; NotReady when it does not run here */
  async #runOf(name: string): Promise<WebhookRun> {
    await this.#resource!.get(name);
    const run = this.#term?.runOf(name);
    if (!run) throw new KindredError('NotReady', elsewhere);
    return run;
  }

  #shown({ name, ...attempt }: Attempt, identity: Identity): object {
    const { authorizer, registry } = this.#dependencies;
    const { plural: resource, group } = resourceNamed(attempt.resource ?? '', registry.schemes());
    const access = { verb: 'get', group, resource, ...(name !== undefined && { name }) };
    const mayRead = name !== undefined && authorizer.decide(identity, access).allowed;
    return { ...attempt, time: new Date(attempt.time).toISOString(), ...(mayRead && { name }) };
  }

  #begin(fence: Fence): void {
    const resource = this.#resource!;
    this.#term = new LeaderTerm(this.#dependencies, this.#options, { model: this.#model, resource, fence });
    this.#term.start();
  }

  #endTerm(save: boolean): void {
    const term = this.#term;
    this.#term = undefined;
    if (term) this.#ended = term.end(save);
  }
}

const elsewhere = localized('Another replica delivers the webhooks, or this one has not begun to; try again');

/** Among the names of webhooks, none of which is empty. */
const listing = '';

/** The time for which this replica holds the lease. */
class LeaderTerm {
  readonly #dependencies: WebhooksDependencies;
  readonly #options: Required<WebhookOptions>;
  readonly #model: Model<WebhookObject>;
  readonly #resource: ModelResource;
  readonly #client: ExtensionClient;
  readonly #sender: Sender;
  readonly #runs = new Map<string, { readonly run: WebhookRun; readonly created: number }>();
  /** By webhook, one after the other. */
  readonly #tasks: TaskQueue;
  readonly #stopListening: readonly (() => void)[];
  #cancelReview: (() => void) | undefined;
  #isWaking = false;
  #ended = false;

  constructor(
    dependencies: WebhooksDependencies,
    options: Required<WebhookOptions>,
    { model, resource, fence }: { model: Model<WebhookObject>; resource: ModelResource; fence: Fence },
  ) {
    this.#dependencies = dependencies;
    this.#options = options;
    this.#model = model;
    this.#resource = resource;
    this.#client = dependencies.clientOf(() => fence);
    this.#sender = new Sender({ ...options, ...(dependencies.lookup && { lookup: dependencies.lookup }) });
    const { registry, timers, logger } = dependencies;
    this.#tasks = new TaskQueue({
      timers,
      minDelay: 100,
      maxDelay: 10_000,
      concurrency: 1,
      failed: (err, name) =>
        name === listing
          ? logger.warn({ err }, 'The webhooks could not be listed; trying again')
          : logger.warn({ err, webhook: name }, 'A webhook could not be started; trying again'),
    });
    // A plugin that is loaded again takes its models away and brings them back.
    const review = () => {
      this.#cancelReview ??= timers.after(reviewDelay, () => {
        this.#cancelReview = undefined;
        for (const { run } of this.#runs.values()) run.reviewResources();
      });
    };
    const rightsChanged = () => {
      for (const { run } of this.#runs.values()) run.rightsChanged();
    };
    this.#stopListening = [
      dependencies.onRightsChange(rightsChanged),
      registry.onRegister(review),
      registry.onUnregister(review),
    ];
  }

  start(): void {
    this.#tasks.add(listing, async () => {
      for (const name of await this.#client.listNames(this.#model)) this.#follow(name);
    });
  }

  async end(save: boolean): Promise<void> {
    this.#ended = true;
    for (const stop of this.#stopListening) stop();
    this.#cancelReview?.();
    await this.#tasks.stop();
    await Promise.all([...this.#runs.values()].map(({ run }) => run.stop(save)));
    this.#sender.close();
  }

  runOf(name: string): WebhookRun | undefined {
    return this.#runs.get(name)?.run;
  }

  figures(): readonly WebhookFigures[] {
    return [...this.#runs.values()].map(({ run }) => run.figures());
  }

  resync(newest: number): void {
    for (const { run } of this.#runs.values()) run.resync(newest);
  }

  /** Inside the feed. */
  change(change: AppliedChange): void {
    const { scheme } = change.model;
    if (change.model === this.#resource?.model && !this.#isSilent(change)) this.#follow(change.name);
    else if (scheme.plural === 'secrets' && scheme.groupVersionKind.group === '') {
      for (const { run } of this.#runs.values()) run.secretChanged(change.name);
    }
    if (this.#isWaking) return;
    this.#isWaking = true;
    setImmediate(() => {
      this.#isWaking = false;
      for (const { run } of this.#runs.values()) run.wake();
    });
  }

  /** The state of deliveries is told to nobody, or each delivery would make a next one. */
  #isSilent(change: AppliedChange): boolean {
    if (change.model !== this.#resource?.model || change.type !== 'update') return false;
    const [before, after] = [change.objectBefore()!, change.object()].map(({ status: _status, metadata, ...rest }) =>
      JSON.stringify({ ...rest, metadata: { ...metadata, version: 0 } }),
    );
    return before === after;
  }

  #follow(name: string): void {
    this.#tasks.add(name, () => this.#settle(name));
  }

  /** Whether and how the webhook runs becomes what the stored object says. */
  async #settle(name: string): Promise<void> {
    if (this.#ended) return;
    const found = await this.#find(name);
    const wanted = found?.object.metadata.deletionTimestamp === undefined ? found : undefined;
    const current = this.#runs.get(name);
    // An object of the same name that was created anew is another webhook.
    if (current && current.created !== wanted?.created) {
      this.#runs.delete(name);
      await current.run.stop(false);
    } else current?.run.update(wanted!.object);
    if (!wanted || this.#runs.has(name) || this.#ended) return;
    const run = this.#run(wanted.object, wanted.created);
    this.#runs.set(name, { run, created: wanted.created });
    run.wake();
  }

  async #find(name: string): Promise<{ object: WebhookObject; created: number } | undefined> {
    const found = await ifFound(() => this.#resource.get(name));
    return found && { object: readJson(found.stored.bytes.toString()) as WebhookObject, created: found.stored.id };
  }

  #run({ metadata, spec, status }: WebhookObject, created: number): WebhookRun {
    const { registry, resources, timers, random, logger, tracing } = this.#dependencies;
    const { name } = metadata;
    return new WebhookRun({
      name,
      spec,
      status,
      forbids: (author, wanted) => this.#forbids(author, wanted),
      created,
      feed: resources.feed,
      models: async () => (await resources.places[0]!.store.models()).filter((row) => !isOfMarks(row)),
      sender: this.#sender,
      keys: (secret) => this.#keys(secret),
      named: (type) => resourceNamed(type, registry.schemes()),
      isElsewhere: (type) => {
        const { scheme } = resourceNamed(type, registry.schemes());
        return scheme !== undefined && resources.model(scheme).place.feed !== resources.feed;
      },
      isSilent: (change) => this.#isSilent(change),
      save: (saved) => this.#save(name, saved),
      timers,
      random,
      options: this.#options,
      tracing,
      logger,
    });
  }

  /** Why the author of a webhook may not see what it delivers. */
  #forbids(author: Author | undefined, spec: WebhookSpec): string | undefined {
    if (!author) return 'it is not known who made it; whoever changes its specification becomes its author';
    const { authors, registry } = this.#dependencies;
    const missing = missingRight((access) => authors.decide(author, access), spec, registry.schemes());
    return missing && `its author "${author.name}" may not ${missing.verb} ${missing.resource}: ${missing.reason}`;
  }

  async #save(name: string, status: WebhookStatus): Promise<void> {
    await ifFound(() => this.#client.updateStatus(this.#model, { metadata: { name }, status } as WebhookObject));
  }

  /** @throws KeyMissing */
  async #keys(name: string): Promise<readonly Uint8Array[]> {
    const secrets = this.#dependencies.resources.find('', 'v1alpha1', 'secrets');
    if (!secrets) throw new KeyMissing('NoSecrets', 'there is no model Secret in this service');
    const found = await ifFound(() => secrets.get(name));
    if (!found) throw new KeyMissing('SecretMissing', `there is no Secret "${name}"`);
    const { data } = readJson(found.stored.bytes.toString()) as { data?: Readonly<Record<string, string>> };
    const keys = keyEntries.flatMap((entry) => data?.[entry] ?? []).map((text) => keyOf(Buffer.from(text, 'base64')));
    if (keys[0]?.length) return keys;
    throw new KeyMissing('KeyMissing', `the Secret "${name}" has no entry "key"`);
  }
}
