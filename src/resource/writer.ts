/** The one write path of a model: read, compute (`object-changes.ts`), store (`object-writes.ts`), again when overtaken. */

import { randomInt } from 'node:crypto';
import { ifFound, KindredError } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import { partsOf } from '../model/full-name.ts';
import { andThen } from '../runtime/and-then.ts';
import type { TimeSlice } from '../runtime/time-slice.ts';
import type { MaybePromise } from '../store/store.ts';
import type { Caller } from './access.ts';
import { etagOf, matchesEtag, withoutForms } from './etag.ts';
import { checkName, incoming, isObject, isReclaimable } from './lifecycle.ts';
import { FieldManagers } from './managed-fields.ts';
import type { ModelMemory } from './memory.ts';
import type { Compute, Current, ObjectChangesDependencies } from './object-changes.ts';
import { ObjectChanges } from './object-changes.ts';
import type { ObjectWritesDependencies } from './object-writes.ts';
import { ObjectWrites } from './object-writes.ts';
import type { ObjectReader } from './reader.ts';
import type { RegisteredModel, Stored } from './registered-model.ts';
import { readInTurns } from './registered-model.ts';
import type { Rules } from './rules.ts';
import { waitsForReplicas } from './rules.ts';
import type { Answer, ApplyOptions, CreateOptions, DeleteOptions, PatchOptions, WriteOptions } from './write.ts';

/** What the writer makes itself. */
type Own = 'managers' | 'patchLimits';

export interface WriterDependencies
  extends Omit<ObjectChangesDependencies, Own | 'limits'>,
    Omit<ObjectWritesDependencies, Own> {
  readonly reader: ObjectReader;
}

const texts = {
  exists: localized('There is a {kind} "{name}" already'),
  expectedRevision: localized('The object "{name}" was changed: its revision is {current}, not {given}'),
  expectedUid: localized('The object "{name}" is another one: its uid is {current}, not {given}'),
  ifMatch: localized('The ETag of "{name}" does not match If-Match'),
  changing: localized('The contract of {kind} is changing too quickly'),
  contended: localized('The object "{name}" is changing too quickly'),
};

/** Tries of a write that other replicas keep overtaking. */
const writeAttempts = 50;
/** The same of an apply while others create and delete the object. */
const applyAttempts = 5;

export class Writer {
  readonly #dependencies: WriterDependencies;
  readonly #memory: ModelMemory;
  readonly #model: RegisteredModel;
  readonly #changes: ObjectChanges;
  readonly #writes: ObjectWrites;
  readonly #turns = new Map<string, Promise<void>>();

  constructor(dependencies: WriterDependencies) {
    this.#dependencies = dependencies;
    this.#memory = dependencies.memory;
    this.#model = this.#memory.model;
    const { now, limits } = dependencies;
    const { objectBytes = limits.objectBytes, members = limits.patch.members } = this.#model.hooks ?? {};
    const managers = new FieldManagers(this.#model, { now, objectBytes });
    const all = { ...dependencies, managers, patchLimits: { ...limits.patch, members } };
    this.#changes = new ObjectChanges(all);
    this.#writes = new ObjectWrites(all);
  }

  /** @throws Invalid, AlreadyExists, UniqueViolation, NotReady, StorageFull, UnknownOutcome */
  create(body: unknown, options: CreateOptions): Promise<Answer> {
    return this.#create(body, options);
  }

  /** Full replace, or of the status alone (the sub-resource). */
  update(name: string, body: unknown, options: WriteOptions): Promise<Answer> {
    return this.#mutate(name, options, this.#changes.replace(name, body, options));
  }

  /** @throws as `update`, and PatchTestFailed, BadRequest (malformed patch) */
  patch(name: string, patch: unknown, options: PatchOptions): Promise<Answer> {
    return this.#mutate(name, options, this.#changes.patch(name, patch, options));
  }

  /**
   * Server-side apply: makes the fields that the body names what it says, and the manager their owner; creates the object
   * when there is none.
   * @throws as `update`, and FieldConflict, Invalid in another version than the hub
   */
  async apply(name: string, given: unknown, { via, ...options }: ApplyOptions): Promise<Answer> {
    const body = this.#changes.appliedBody(given, via);
    const isConditional =
      options.subresource !== undefined ||
      options.ifMatch !== undefined ||
      options.expect !== undefined ||
      namesVersion(body);
    for (let attempt = 1; ; attempt++) {
      try {
        if (isConditional || (await ifFound(() => this.#read(name)))) {
          return await this.#mutate(name, options, this.#changes.apply(body, options));
        }
        await options.onCreate?.();
        const { object, violations } = incoming(body, this.#model.apiVersion, this.#model.kind);
        checkName(object.metadata, name, violations);
        violations.refuse();
        const named = { ...object, metadata: { ...object.metadata, ...partsOf(name) } };
        return { ...(await this.#create(named, options, options)), created: true };
      } catch (error) {
        // Created or deleted by others in between.
        const isOvertaken = error instanceof KindredError && ['AlreadyExists', 'NotFound'].includes(error.code);
        if (!isOvertaken || isConditional || attempt === applyAttempts) throw error;
      }
    }
  }

  /** The object as it was marked. @throws NotFound, VersionConflict, PreconditionFailed */
  delete(name: string, options: DeleteOptions): Promise<Answer> {
    return this.#mutate(name, options, this.#changes.delete(name, options));
  }

  /** Takes away an object that is marked and has no finalizer left, as a process that ended in between would have. */
  async reclaim(name: string): Promise<void> {
    await this.#mutate(name, { caller: hostCaller }, ({ object }) => {
      return isReclaimable(object.metadata) ? { next: object, forced: true } : undefined;
    });
  }

  async #create(body: unknown, options: CreateOptions, applying?: ApplyOptions): Promise<Answer> {
    for (let attempt = 0; attempt < writeAttempts; attempt++) {
      if (attempt > 0) await this.#dependencies.feed.newest();
      const rules = this.#rules();
      try {
        const answer = await this.#createBy(rules, body, options, applying);
        if (answer !== 'outdated') return answer;
      } catch (error) {
        await this.#assertOutdated(rules, error);
      }
    }
    throw new KindredError('NotReady', texts.changing, {
      params: { kind: this.#model.kind },
      headers: { 'retry-after': '1' },
    });
  }

  /**
   * Of a create, which the store refuses when the contract is outdated, but which it does not see when that contract refuses it. An
   * update asks for what is newest before it reads the object.
   * @throws the error when the contract is the newest
   */
  async #assertOutdated(rules: Rules, error: unknown): Promise<void> {
    const { store, feed } = this.#dependencies;
    if (!store.shared || !(error instanceof KindredError && error.code === 'Invalid')) throw error;
    await feed.newest();
    if (this.#model.rules === rules) throw error;
  }

  async #createBy(
    rules: Rules,
    body: unknown,
    options: CreateOptions,
    applying: ApplyOptions | undefined,
  ): Promise<Answer | 'outdated'> {
    const slice = this.#dependencies.turns.slice();
    const change = await this.#changes.create(rules, body, options, applying, slice);
    const { generateName } = change;
    for (let attempt = 1; ; attempt++) {
      const name = generateName === undefined ? change.name : `${generateName}${randomSuffix()}`;
      const answer = await this.#writes.create(rules, change, name, options, slice);
      if (answer) return answer;
      if (generateName === undefined || attempt === writeAttempts)
        throw new KindredError('AlreadyExists', texts.exists, { params: { kind: this.#model.kind, name } });
    }
  }

  /** Of an object that is there: in turn for each name. @throws NotFound */
  async #mutate(name: string, options: WriteOptions, compute: Compute): Promise<Answer> {
    const waiting = this.#turn(name);
    const release = waiting instanceof Promise ? await waiting : waiting;
    const slice = this.#dependencies.turns.slice();
    try {
      for (let attempt = 0; attempt < writeAttempts; attempt++) {
        if (attempt > 0) await this.#dependencies.feed.newest();
        const stored = await this.#current(name, slice);
        this.#checkPreconditions(stored, options);
        if (slice.isOver) await slice.renew();
        const computing = compute(stored, slice);
        const change = computing instanceof Promise ? await computing : computing;
        if (slice.isOver) await slice.renew();
        const answer = await this.#writes.change(stored, change, options, slice);
        if (answer) return answer;
      }
      throw new KindredError('NotReady', texts.contended, { params: { name }, headers: { 'retry-after': '1' } });
    } finally {
      release();
    }
  }

  /** The stored object, and the rules that held while it was read: later rules may refuse content that is gone by then. @throws NotFound */
  async #current(name: string, slice: TimeSlice): Promise<Current> {
    for (;;) {
      const { rules } = this.#model;
      const finding = this.#read(name);
      const stored = finding instanceof Promise ? await finding : finding;
      const reading = readInTurns(stored.bytes, slice);
      const read = reading instanceof Promise ? await reading : reading;
      if (rules !== this.#model.rules) continue;
      try {
        return { ...stored, rules: this.#rules(), object: this.#model.objectIn(rules.apiVersion, read, name) };
      } catch (reason) {
        if (!read) throw reason;
        const { kind, metadata } = read;
        const object = { apiVersion: rules.apiVersion, kind, metadata };
        return { ...stored, rules: this.#rules(), object, unconverted: { object: read, reason } };
      }
    }
  }

  /** @throws NotFound */
  #read(name: string): MaybePromise<Stored> {
    const read = () => andThen(this.#dependencies.reader.read(name), ({ stored }) => stored);
    const behind = this.#dependencies.current();
    return behind ? behind.then(read) : read();
  }

  /** By which a write is computed. @throws NotReady, ModelOutdated */
  #rules(): Rules {
    this.#memory.assertReady();
    this.#memory.assertUnsealed();
    const { rules, kind } = this.#model;
    if (!rules.isBlocked) return rules;
    throw waitsForReplicas(kind);
  }

  /** One write at a time for each name, so that writers in this process do not overtake one another. */
  #turn(name: string): MaybePromise<() => void> {
    const earlier = this.#turns.get(name);
    const { promise: mine, resolve: done } = Promise.withResolvers<void>();
    this.#turns.set(name, mine);
    const release = () => {
      if (this.#turns.get(name) === mine) this.#turns.delete(name);
      done();
    };
    return earlier ? earlier.then(() => release) : release;
  }

  /** @throws PreconditionFailed, VersionConflict */
  #checkPreconditions(stored: Current, { ifMatch, expect }: WriteOptions): void {
    const { name, id, revision, object } = stored;
    if (ifMatch && !matchesEtag(withoutForms(ifMatch), etagOf(stored), 'strong'))
      throw new KindredError('PreconditionFailed', texts.ifMatch, { params: { name } });
    if (!expect) return;
    const currentVersion = object.metadata.version ?? 0;
    if (expect.revision !== undefined && expect.revision !== revision) {
      const params = { name, given: expect.revision, current: revision };
      throw new KindredError('VersionConflict', texts.expectedRevision, { params, currentVersion });
    }
    const uid = expect.uid === undefined ? undefined : this.#model.uidOf({ name, id }, object.metadata);
    if (expect.uid !== uid) {
      const params = { name, given: expect.uid, current: uid };
      throw new KindredError('VersionConflict', texts.expectedUid, { params, currentVersion });
    }
  }
}

/** Whether a body asks for a version of the object, and so for an object that is there. */
function namesVersion(body: unknown): boolean {
  return isObject(body) && isObject(body.metadata) && typeof body.metadata.version === 'number';
}

const hostCaller: Caller = { identity: { name: 'system', roles: [] }, origin: 'host' };

const suffixAlphabet = 'abcdefghijklmnopqrstuvwxyz0123456789';

function randomSuffix(): string {
  return Array.from({ length: 8 }, () => suffixAlphabet[randomInt(suffixAlphabet.length)]).join('');
}
