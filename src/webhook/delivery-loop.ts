/**
 * The deliveries of one webhook. The *cursor* is how far the change log has been read; a *delivery* is one change that
 * the webhook asked for and that its receiver has not accepted yet. Deliveries of one object follow one another, those
 * of different objects do not wait for each other. What is delivered for certain is one revision below the oldest
 * delivery that is left, and from there a later run goes on: a receiver may get a change again, never miss one.
 */

import { KindredError } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import { typeNameOf, versionNamed } from '../model/scheme.ts';
import type { Bound } from '../query/bind.ts';
import { bind } from '../query/bind.ts';
import { parseLabelSelector } from '../query/selector.ts';
import type { Author } from '../resource/access.ts';
import type { AppliedChange } from '../resource/change.ts';
import type { Feed, LogPortion } from '../resource/feed.ts';
import { eventTypeOf } from '../resource/watch/events.ts';
import { delayAfter } from '../runtime/backoff.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Timers } from '../runtime/timers.ts';
import { WorkQueue } from '../runtime/work-queue.ts';
import type { Tracing } from '../telemetry/tracing.ts';
import { AddressNotAllowed } from './address.ts';
import type { ResourceName } from './behaviour.ts';
import { HeldChanges, isExpired } from './held-changes.ts';
import type { Attempt } from './history.ts';
import { History } from './history.ts';
import type { WebhookCondition, WebhookEvent, WebhookObject, WebhookSpec, WebhookStatus } from './model.ts';
import type { Sender } from './send.ts';
import { Refused } from './send.ts';
import { signatureOf } from './signature.ts';

export interface WebhookRunOptions {
  /** Milliseconds before the second attempt, doubled for each further one. */
  readonly minDelay: number;
  readonly maxDelay: number;
  /** Milliseconds from its first attempt after which a delivery is given up. */
  readonly giveUpAfter: number;
  /** Attempts of one webhook at the same time. */
  readonly concurrency: number;
}

export interface WebhookRunDependencies {
  readonly name: string;
  readonly spec: WebhookSpec;
  /** What an earlier run left. */
  readonly status: WebhookStatus | undefined;
  /** Revision at which the webhook was created. */
  readonly created: number;
  readonly feed: Pick<Feed, 'applied' | 'changes' | 'isRegistered' | 'oldest'>;
  /** The models that the store has objects or changes of; what the service keeps there itself is of none. */
  readonly models: () => Promise<readonly { readonly number: number; readonly group: string }[]>;
  readonly sender: Sender;
  /** The keys to sign with, newest first. @throws KeyMissing */
  readonly keys: (secretName: string) => Promise<readonly Uint8Array[]>;
  /** What an entry of `spec.resources` means by now. */
  readonly named: (resource: string) => ResourceName;
  /** Whether the objects of a resource are not in the default store. */
  readonly isElsewhere: (resource: string) => boolean;
  /** True for a change that is never told: the state of deliveries itself. */
  readonly isSilent: (change: AppliedChange) => boolean;
  /** Why the author may not be shown what the specification asks for; undefined: they may. */
  readonly forbids: (author: Author | undefined, spec: WebhookSpec) => string | undefined;
  readonly save: (status: WebhookStatus) => Promise<void>;
  readonly timers: Timers;
  /** From 0 (included) to 1 (excluded). */
  readonly random: () => number;
  readonly options: WebhookRunOptions;
  /** Undefined: attempts have no spans, and no trace context is sent. */
  readonly tracing?: Tracing | undefined;
  readonly logger: Pick<Logger, 'warn'>;
}

export interface WebhookFigures {
  readonly webhook: string;
  /** Since this process delivers it. */
  readonly attempts: Readonly<Record<Attempt['outcome'], number>>;
  /** Deliveries that were read from the log and not accepted yet. */
  readonly waiting: number;
  /** Deliveries that were given up, ever. */
  readonly dropped: number;
}

/** There is nothing to sign with; unsigned deliveries are not made. */
export class KeyMissing extends Error {
  readonly reason: string;

  constructor(reason: string, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** The author may not see what would be delivered. */
class Forbidden extends Error {}

/** The specification does not name the resource any more, so nobody has looked whether its author may see it. */
class NotNamed extends Error {}

interface Delivery {
  readonly revision: number;
  readonly object: string;
  readonly type: WebhookEvent;
  readonly resource: string;
  readonly time: number;
  readonly content: Buffer;
  attempts: number;
  /** Of the first attempt. */
  began: number;
}

type AboutAttempt = Pick<Attempt, 'kind' | 'webhookId' | 'type' | 'revision' | 'resource' | 'name'>;

const texts = {
  unknown: localized('There is no delivery "{id}" among the newest ones of this webhook'),
  notAbout: localized('The webhook no longer delivers changes of {resource}'),
  gone: localized('The change of revision {revision} is no longer kept'),
  busy: localized(
    'Too many deliveries of this webhook were asked for and are under way; try again when they have ended',
  ),
};

/** Deliveries that one webhook keeps in memory before it reads on. */
const windowLimit = { deliveries: 256, bytes: 4 * 2 ** 20 };
const portion = 200;
/** Milliseconds between two writes of the status. */
const saveInterval = 1_000;
/** Milliseconds between two looks whether a model is there whose changes are held. */
const lookInterval = 1_000;
/** Revisions that may pass without a delivery before the status says so; the log must not be compacted past it. */
const quietRevisions = 1_000;

export class WebhookRun {
  readonly #dependencies: WebhookRunDependencies;
  readonly #abort = new AbortController();
  #spec: WebhookSpec;
  #author: Author | undefined;
  /** The last attempt failed for want of the author's rights. */
  #isForbidden = false;
  #bound: Bound;
  #cursor: number;
  #status: WebhookStatus;
  /** By revision. */
  readonly #left = new Map<number, Delivery>();
  readonly #held: HeldChanges;
  #bytes = 0;
  /** Of each object the deliveries that are left, the first of them under way, waiting for its time, or ready. */
  readonly #byObject = new Map<string, Delivery[]>();
  /** The objects that have deliveries left. */
  readonly #queue: WorkQueue;
  readonly #attempts = new Set<Promise<void>>();
  readonly #history: History;
  readonly #outcomes: Record<Attempt['outcome'], number> = { accepted: 0, refused: 0, failed: 0 };
  /** Attempts that somebody asked for and that are under way. */
  #asked = 0;
  #reading: Promise<void> | undefined;
  #isDirty = false;
  #saving = Promise.resolve();
  #cancelSave: (() => void) | undefined;
  #cancelLook: (() => void) | undefined;

  constructor(dependencies: WebhookRunDependencies) {
    this.#dependencies = dependencies;
    this.#history = new History(dependencies.timers.now());
    const { spec, status, created, options } = dependencies;
    this.#held = new HeldChanges({ ...dependencies, limit: options.giveUpAfter });
    this.#spec = spec;
    this.#author = status?.author;
    this.#bound = selectionOf(spec);
    this.#queue = new WorkQueue(dependencies.timers, () => this.#work());
    // Nothing from before the webhook was there, whatever its status says.
    this.#cursor = Math.max(status?.lastRevision ?? 0, created);
    this.#status = { failures: 0, dropped: 0, conditions: [], ...status, lastRevision: this.#cursor };
    if (status?.lastRevision !== this.#cursor) this.#touch();
    this.resync(this.#dependencies.feed.applied);
    this.reviewResources();
  }

  /** What is read from now on follows the new specification; what is left and still named goes to the new address. */
  update({ spec, status }: WebhookObject): void {
    this.#spec = spec;
    this.#author = status?.author;
    this.#bound = selectionOf(spec);
    this.#held.narrow(spec.resources);
    this.reviewResources();
    this.#queue.addDelayed();
  }

  /** Whether the models are there that the webhook names: of the others it never tells anything. */
  reviewResources(): void {
    const { named, isElsewhere } = this.#dependencies;
    const unknown = this.#spec.resources.filter((resource) => !named(resource).scheme);
    if (this.#reviewStores(this.#spec.resources.filter(isElsewhere))) this.#touch();
    const before = this.#status.conditions.find(({ type }) => type === 'UnknownResource');
    if (unknown.length === 0 && before?.status !== 'True') return;
    const names = unknown.map((resource) => `"${resource}"`).join(', ');
    const hint = unknown.some((resource) => !resource.includes('.')) ? '; a resource is written plural.group' : '';
    const changed =
      unknown.length === 0
        ? this.#condition('UnknownResource', false, 'Registered', 'every resource has its model')
        : this.#condition('UnknownResource', true, 'NotRegistered', `no model is registered for ${names}${hint}`);
    if (changed) this.#touch();
  }

  /** Other stores have revisions of their own, and a webhook goes on from one revision. */
  #reviewStores(elsewhere: readonly string[]): boolean {
    const before = this.#status.conditions.find(({ type }) => type === 'OtherStore');
    if (elsewhere.length === 0) {
      const message = 'every resource is in the default store';
      return before?.status === 'True' && this.#condition('OtherStore', false, 'DefaultStore', message);
    }
    const names = elsewhere.map((resource) => `"${resource}"`).join(', ');
    return this.#condition(
      'OtherStore',
      true,
      'NotDelivered',
      `not in the default store: ${names}; watch them instead`,
    );
  }

  /** The database may have lost changes: the log begins anew below the revision up to which this webhook had read. */
  resync(newest: number): void {
    const { logger, name } = this.#dependencies;
    if (this.#cursor <= newest) return;
    this.#held.forget(newest);
    const message = `the database lost the changes up to revision ${this.#cursor}; the webhook continues after revision ${newest}`;
    logger.warn({ webhook: name }, message);
    this.#cursor = newest;
    this.#condition('Complete', false, 'ChangesLost', message);
    this.#touch();
  }

  /** There are new changes. */
  wake(): void {
    if (!this.#stopped && this.#dependencies.feed.applied > this.#cursor) this.#read();
  }

  /** What anybody may do could have changed. */
  rightsChanged(): void {
    if (this.#isForbidden && this.#dependencies.forbids(this.#author, this.#spec) === undefined)
      this.#queue.addDelayed();
  }

  secretChanged(name: string): void {
    if (name === this.#spec.secretName) this.#queue.addDelayed();
  }

  /** Nothing is under way any more when it resolves; with `save` what was reached is stored. */
  async stop(save: boolean): Promise<void> {
    this.#abort.abort();
    this.#cancelSave?.();
    this.#cancelLook?.();
    await this.#reading;
    await Promise.all(this.#attempts);
    await this.#saving;
    if (save && this.#isDirty) await this.#save();
    this.#queue.close();
  }

  get #stopped(): boolean {
    return this.#abort.signal.aborted;
  }

  // ── reading ────────────────────────────────────────────────────────────────────────────────────────────

  #read(): void {
    this.#reading ??= this.#readOn().finally(() => {
      this.#reading = undefined;
    });
  }

  get #isFull(): boolean {
    return this.#left.size + this.#held.size >= windowLimit.deliveries || this.#bytes >= windowLimit.bytes;
  }

  async #readOn(): Promise<void> {
    const { feed, named, logger, name } = this.#dependencies;
    try {
      for (;;) {
        if (this.#held.size > 0) await this.#takeHeld();
        if (this.#stopped || this.#isFull || this.#cursor >= feed.applied) return;
        const from = this.#cursor;
        const log = await this.#readAfter(from);
        if (!log) continue;
        const { changes, unregistered, through: read } = log;
        const unknown = this.#spec.resources.filter((resource) => !named(resource).scheme);
        const found = await this.#held.find(unregistered, unknown);
        if (this.#stopped) return;
        // The log began anew meanwhile.
        if (this.#cursor !== from) continue;
        if (this.#held.isDue) continue;
        // The others come when the memory has them.
        const through = Math.min(read, feed.applied);
        for (const change of changes) if (change.revision <= through) this.#take(change);
        this.#held.hold(found, through);
        if (through === this.#cursor) return;
        this.#cursor = through;
        if (through - this.#status.lastRevision >= quietRevisions) this.#touch();
      }
    } catch (error) {
      if (this.#stopped) return;
      logger.warn({ err: error, webhook: name }, 'The changes for a webhook could not be read; trying again');
      this.#dependencies.timers.after(this.#dependencies.options.minDelay, () => this.wake());
    }
  }

  /** Undefined when the log does not reach back so far: the webhook goes on with the oldest changes that it has, and says so. */
  async #readAfter(from: number): Promise<LogPortion | undefined> {
    const { feed, logger, name } = this.#dependencies;
    try {
      return await feed.changes(from, portion);
    } catch (error) {
      if (!isExpired(error)) throw error;
    }
    const oldest = await feed.oldest();
    if (this.#cursor !== from) return undefined;
    const message = `the changes after revision ${from} up to ${oldest} are no longer kept and were not delivered`;
    logger.warn({ webhook: name }, message);
    this.#cursor = oldest;
    this.#condition('Complete', false, 'ChangesLost', message);
    this.#touch();
    return undefined;
  }

  async #takeHeld(): Promise<void> {
    for await (const released of this.#held.release()) {
      if (this.#stopped) return;
      if ('change' in released) this.#take(released.change);
      else this.#lost(released.revision, released.problem);
    }
    if (this.#held.size === 0) return;
    this.#cancelLook ??= this.#dependencies.timers.after(lookInterval, () => {
      this.#cancelLook = undefined;
      this.#read();
    });
  }

  #take(change: AppliedChange): void {
    const apiVersion = this.#versionOf(change);
    if (apiVersion === undefined || this.#dependencies.isSilent(change)) return;
    const resource = typeNameOf(change.model.scheme);
    const object = `${resource}/${change.name}`;
    const { revision, time } = change;
    let type: WebhookEvent | undefined;
    let content: Buffer;
    try {
      change.assertReadable();
      type = eventTypeOf(this.#bound, change);
      if (!type || (this.#spec.events && !this.#spec.events.includes(type))) return;
      content = change.view(apiVersion);
    } catch (error) {
      // As it is stored, nobody can be shown it.
      return this.#lost(revision, `the change of revision ${revision} was not delivered: ${messageOf(error)}`);
    }
    const delivery = { revision, object, type, resource, time, content, attempts: 0, began: 0 };
    this.#left.set(revision, delivery);
    this.#bytes += delivery.content.byteLength;
    const earlier = this.#byObject.get(object);
    if (earlier) {
      earlier.push(delivery);
      return;
    }
    this.#byObject.set(object, [delivery]);
    this.#queue.add(object);
  }

  /** In which a change is delivered, as `apiVersion`; undefined: it is not asked for. */
  #versionOf({ model: { scheme, rules } }: AppliedChange): string | undefined {
    const { resources } = this.#spec;
    if (resources.includes(typeNameOf(scheme))) return rules.apiVersion;
    for (const text of resources) {
      const version = versionNamed(text, scheme);
      // Not when it is the plural of a group that begins like a version.
      if (version !== undefined && this.#dependencies.named(text).scheme === scheme) {
        // Until replicas with an earlier version of the plugin are gone, its versions are those that clients see.
        return (rules.shown(version) ?? rules).apiVersion;
      }
    }
    return undefined;
  }

  #lost(revision: number, message: string): void {
    const { logger, name } = this.#dependencies;
    logger.warn({ webhook: name, revision }, message);
    this.#status = { ...this.#status, dropped: this.#status.dropped + 1 };
    this.#condition('Complete', false, 'GivenUp', message);
    this.#touch();
  }

  // ── delivering ─────────────────────────────────────────────────────────────────────────────────────────

  #work(): void {
    while (!this.#stopped && this.#attempts.size < this.#dependencies.options.concurrency) {
      const next = this.#queue.take();
      if (!next) return;
      const attempt = this.#attempt(this.#byObject.get(next.name)![0]!).then((after) => {
        this.#attempts.delete(attempt);
        this.#queue.done(next.name, after);
        this.#work();
        this.wake();
      });
      this.#attempts.add(attempt);
    }
  }

  /** Milliseconds after which the object has its next attempt; undefined when nothing of it is left. */
  async #attempt(delivery: Delivery): Promise<number | undefined> {
    const { timers } = this.#dependencies;
    delivery.began ||= timers.now();
    const body = bodyOf(delivery);
    const { error } = await this.#send(body, { ...told(delivery), kind: 'change', webhookId: this.#idOf(delivery) });
    if (this.#stopped) return undefined;
    this.#isForbidden = error instanceof Forbidden;
    if (error instanceof NotNamed) {
      this.#lost(delivery.revision, `the change of revision ${delivery.revision} was not delivered: ${error.message}`);
      return this.#done(delivery);
    }
    if (error !== undefined) return this.#failed(delivery, error);
    if (this.#status.failures > 0) this.#queue.addDelayed();
    this.#status = { ...this.#status, failures: 0, lastDelivery: new Date(timers.now()).toISOString() };
    this.#condition('Ready', true, 'Delivering', 'the last delivery was accepted');
    return this.#done(delivery);
  }

  /** Whether the specification asks for changes of a resource, in any version. */
  #names(resource: string): boolean {
    const { named } = this.#dependencies;
    const { scheme } = named(resource);
    return this.#spec.resources.some(
      (text) => text === resource || (scheme !== undefined && named(text).scheme === scheme),
    );
  }

  #idOf({ revision }: { readonly revision: number }): string {
    return `${this.#dependencies.name}-${revision}`;
  }

  /** One attempt, which the history has then. */
  async #send(body: Buffer, about: AboutAttempt): Promise<{ attempt: Attempt; error?: unknown }> {
    const { sender, timers, keys, forbids, tracing, name: webhook } = this.#dependencies;
    // An update that comes while the keys are read counts from the next attempt on.
    const spec = this.#spec;
    const author = this.#author;
    const time = timers.now();
    const done = (outcome: Attempt['outcome'], more: Pick<Attempt, 'status' | 'error'>) => {
      this.#outcomes[outcome]++;
      return this.#history.add({ ...about, time, duration: timers.now() - time, outcome, ...more });
    };
    try {
      const { resource } = about;
      if (resource !== undefined && !this.#names(resource))
        throw new NotNamed(`the webhook no longer names ${resource}`);
      const signing = await keys(spec.secretName);
      const forbidden = forbids(author, spec);
      if (forbidden !== undefined) throw new Forbidden(forbidden);
      const timestamp = Math.floor(timers.now() / 1_000);
      const headers = {
        'content-type': 'application/json',
        'user-agent': 'kindred',
        'webhook-id': about.webhookId,
        'webhook-timestamp': String(timestamp),
        'webhook-signature': signatureOf({ id: about.webhookId, timestamp, body }, signing),
      };
      const { url } = spec;
      const post = (traced?: Readonly<Record<string, string>>) =>
        sender.post({ url, headers: { ...headers, ...traced }, body, signal: this.#abort.signal });
      const status = await (tracing ? tracing.delivery({ ...about, webhook, url }, post) : post());
      return { attempt: done('accepted', { status }) };
    } catch (error) {
      const refused = error instanceof Refused;
      const more = { error: messageOf(error), ...(refused && { status: error.status }) };
      return { attempt: done(refused ? 'refused' : 'failed', more), error };
    }
  }

  /** For metrics. */
  figures(): WebhookFigures {
    return {
      webhook: this.#dependencies.name,
      attempts: this.#outcomes,
      waiting: this.#left.size + this.#held.size,
      dropped: this.#status.dropped,
    };
  }

  // ── on demand ──────────────────────────────────────────────────────────────────────────────────────────

  /** Newest first. */
  get attempts(): readonly Attempt[] {
    return this.#history.attempts;
  }

  /**
   * Sends the change of an attempt again, whatever its outcome was; the status of the webhook does not tell of it.
   * @throws NotFound; Expired when the change is no longer kept, or cannot be read; BadRequest when the webhook is no longer about it; TooManyRequests
   */
  async replay(id: string): Promise<Attempt> {
    const before = this.#history.find(id);
    if (!before) throw new KindredError('NotFound', texts.unknown, { params: { id } });
    const { resource, name, revision } = before;
    if (before.type === 'TEST' || resource === undefined || name === undefined) return this.test();
    if (!this.#names(resource)) throw new KindredError('BadRequest', texts.notAbout, { params: { resource } });
    return this.#onDemand(async () => {
      const change = await this.#held.read(revision);
      if (!change) throw new KindredError('Expired', texts.gone, { params: { revision } });
      change.assertReadable();
      const content = change.view(this.#versionOf(change));
      const body = bodyOf({ type: before.type, revision, time: change.time, resource, content });
      return { body, about: { ...before, kind: 'replay' as const } };
    });
  }

  /** Sends a delivery that is about no change. @throws TooManyRequests */
  test(): Promise<Attempt> {
    return this.#onDemand(async () => {
      const { timers, feed, name } = this.#dependencies;
      const time = timers.now();
      const revision = feed.applied;
      const event = { type: 'TEST', revision, timestamp: new Date(time).toISOString() };
      const about = { kind: 'test', type: 'TEST', revision, webhookId: `${name}-test-${time.toString(36)}` } as const;
      return { body: Buffer.from(JSON.stringify(event)), about };
    });
  }

  async #onDemand(prepare: () => Promise<{ body: Buffer; about: AboutAttempt }>): Promise<Attempt> {
    if (this.#asked >= this.#dependencies.options.concurrency) throw new KindredError('TooManyRequests', texts.busy);
    this.#asked++;
    const sent = prepare().then(({ body, about }) => this.#send(body, about));
    const ended = sent.then(
      () => {},
      () => {},
    );
    this.#attempts.add(ended);
    try {
      return (await sent).attempt;
    } finally {
      this.#attempts.delete(ended);
      this.#asked--;
      this.#work();
    }
  }

  #failed(delivery: Delivery, error: unknown): number | undefined {
    const { timers, options, random, logger, name } = this.#dependencies;
    const message = messageOf(error);
    this.#status = { ...this.#status, failures: this.#status.failures + 1 };
    this.#condition('Ready', false, reasonOf(error), message);
    if (this.#status.failures === 1) {
      logger.warn({ webhook: name, revision: delivery.revision, reason: message }, 'A delivery failed; trying again');
    }
    delivery.attempts++;
    if (timers.now() - delivery.began >= options.giveUpAfter) {
      const lost = `the change of revision ${delivery.revision} was given up after ${delivery.attempts} attempts: ${message}`;
      this.#lost(delivery.revision, lost);
      return this.#done(delivery);
    }
    const backoff = delayAfter(delivery.attempts, options);
    const asked = error instanceof Refused ? (error.retryAfter ?? 0) : 0;
    this.#touch();
    return Math.max(backoff * (0.75 + random() / 2), Math.min(asked, options.maxDelay));
  }

  #done({ revision, object, content }: Delivery): number | undefined {
    this.#left.delete(revision);
    this.#bytes -= content.byteLength;
    const deliveries = this.#byObject.get(object)!;
    deliveries.shift();
    this.#touch();
    if (deliveries.length > 0) return 0;
    this.#byObject.delete(object);
    return undefined;
  }

  // ── status ─────────────────────────────────────────────────────────────────────────────────────────────

  /** False when it says so already. */
  #condition(type: WebhookCondition['type'], holds: boolean, reason: string, message: string): boolean {
    const status = holds ? 'True' : 'False';
    const before = this.#status.conditions.find((one) => one.type === type);
    if (before?.status === status && before.reason === reason && before.message === message) return false;
    const now = new Date(this.#dependencies.timers.now()).toISOString();
    const lastTransitionTime = before?.status === status ? before.lastTransitionTime : now;
    const others = this.#status.conditions.filter((one) => one.type !== type);
    const conditions = [...others, { type, status, reason, message, lastTransitionTime } as const];
    this.#status = { ...this.#status, conditions: conditions.sort((a, b) => (a.type < b.type ? -1 : 1)) };
    return true;
  }

  #touch(): void {
    this.#isDirty = true;
    if (this.#stopped) return;
    this.#cancelSave ??= this.#dependencies.timers.after(saveInterval, () => {
      this.#cancelSave = undefined;
      // One after the other: the later status must not be overwritten by the earlier one.
      this.#saving = this.#saving.then(() => this.#save());
    });
  }

  async #save(): Promise<void> {
    const oldest = Math.min(...this.#left.keys(), ...this.#held.revisions);
    const lastRevision = Math.min(this.#cursor, oldest - 1);
    const next = this.#queue.nextDue;
    const { nextTry: _before, ...rest } = this.#status;
    this.#status = { ...rest, lastRevision, ...(next !== undefined && { nextTry: new Date(next).toISOString() }) };
    this.#isDirty = false;
    try {
      await this.#dependencies.save(this.#status);
    } catch (err) {
      this.#dependencies.logger.warn(
        { err, webhook: this.#dependencies.name },
        'The status of a webhook could not be written',
      );
      this.#touch();
    }
  }
}

function selectionOf({ labelSelector }: WebhookSpec): Bound {
  return bind(parseLabelSelector(labelSelector ?? ''), []);
}

function told({
  type,
  revision,
  resource,
  object,
}: Delivery): Pick<Attempt, 'type' | 'revision' | 'resource' | 'name'> {
  return { type, revision, resource, name: object.slice(resource.length + 1) };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message || (error as NodeJS.ErrnoException).code! : String(error);
}

function bodyOf({
  type,
  revision,
  time,
  resource,
  content,
}: Pick<Delivery, 'revision' | 'time' | 'resource' | 'content'> & { readonly type: Attempt['type'] }): Buffer {
  const head = { type, revision, timestamp: new Date(time).toISOString(), resource };
  return Buffer.concat([Buffer.from(`${JSON.stringify(head).slice(0, -1)},"object":`), content, Buffer.from('}')]);
}

function reasonOf(error: unknown): string {
  if (error instanceof KeyMissing) return error.reason;
  if (error instanceof Forbidden) return 'Forbidden';
  if (error instanceof AddressNotAllowed) return 'AddressNotAllowed';
  return error instanceof Refused ? 'Refused' : 'Unreachable';
}
