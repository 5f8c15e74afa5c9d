/** The one write path of a model: read, compute, check, index entry, commit, apply. */

import { randomInt } from 'node:crypto';
import type { Applying } from '../apply/apply.ts';
import { contentOf } from '../apply/apply.ts';
import type { Owner } from '../apply/managers.ts';
import type { Violation } from '../errors.ts';
import { ifFound, invalid, KindredError, Violations, violation } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import { fullNameOf, partsOf } from '../model/full-name.ts';
import { checkMetadata, checkReservedKeys } from '../model/metadata.ts';
import type { ExtensionObject, Metadata } from '../model/object.ts';
import { copyOf } from '../model/object.ts';
import type { Scheme } from '../model/scheme.ts';
import type { TimeSlice, TurnQueue } from '../runtime/time-slice.ts';
import type { Activation, MaybePromise } from '../store/store.ts';
import type { Caller } from './access.ts';
import { asBuffer } from './bytes.ts';
import { uniqueKeysOf } from './claims.ts';
import type { CommitDependencies, CommitOptions, Fence } from './commits.ts';
import { Commits, notHeld } from './commits.ts';
import { lenientEntry } from './entries.ts';
import { etagOf, matchesEtag, withoutVersions } from './etag.ts';
import type { ModelWrite } from './feed.ts';
import {
  checkDeleting,
  checkName,
  checkNamespace,
  createdMetadata,
  incoming,
  isObject,
  isReclaimable,
  nextGeneration,
  numbered,
  onlyFinalizersWent,
  sameContent,
  updatedMetadata,
} from './lifecycle.ts';
import { FieldManagers, managedBy } from './managed-fields.ts';
import type { ModelMemory } from './memory.ts';
import type { Namespaces } from './namespaces.ts';
import type { Owners } from './owners.ts';
import { identified } from './owners.ts';
import type { PatchLimits } from './patch.ts';
import { checkExtent, checkMergePatch, JsonPatch, mergePatch } from './patch.ts';
import { pruned } from './prune.ts';
import { checkNew, checkUpdate, ratchetIndexes, warningOf } from './ratchet.ts';
import type { ObjectReader } from './reader.ts';
import type { RegisteredModel, Stored } from './registered-model.ts';
import type { Rules } from './rules.ts';
import { entryBy } from './rules.ts';
import type { Converted } from './sent-version.ts';
import { convertSent } from './sent-version.ts';
import { inStorage, versionOf } from './stored-version.ts';
import type { Versions } from './versions.ts';

export interface Answer {
  /** For a write the revision of that change, for a read or a no-op the revision it reflects. */
  readonly revision: number;
  readonly stored: Stored;
  readonly changed: boolean;
  /** Violations of the stored object that the update left as they were. */
  readonly warning?: string;
  /** What was left out or is better done otherwise, by the rules of Kubernetes. English. */
  readonly warnings?: readonly string[];
  /** An apply made the object. */
  readonly created?: true;
}

export interface WriteOptions extends CommitOptions {
  readonly caller: Caller;
  /** Entity tags of `If-Match` as sent, or `*`. */
  readonly ifMatch?: readonly string[] | '*';
  /** The stored object must be this one, in this state. */
  readonly expect?: {
    /** Of its last change. */
    readonly revision?: number | undefined;
    readonly uid?: string | undefined;
  };
  /** Who sets the fields, for `metadata.managedFields`. Without one the write is recorded on objects that have managers, as by `kindred`. */
  readonly manager?: string;
  /** `status`: the status alone is written. `scale`: the object is, by its number of replicas. */
  readonly subresource?: 'status' | 'scale';
  /** The write fails unless this lease is held. */
  readonly fence?: Fence;
  /** The version of the model in which the write is meant. Default: that in which it is computed. */
  readonly via?: Scheme;
  /** Of an update: a contract that becomes active with it. @throws ActivationRefused */
  readonly activate?: Activation;
}

export interface ApplyOptions extends WriteOptions {
  readonly manager: string;
  /** As in `apply/apply.ts`. */
  readonly conflicts: Applying['conflicts'];
  /** As in `apply/apply.ts`. */
  readonly adopts?: Applying['adopts'];
  /** Called before an object that is not there is created. Throws when the caller may not do that. */
  readonly onCreate?: () => void;
}

export interface DeleteOptions extends WriteOptions {
  /** `metadata.version` that the object must have. */
  readonly version?: number;
  /** A finalizer that is added, for what is to be done before the object goes. */
  readonly holds?: string;
}

export interface WriteLimits {
  /** Bytes of one object. */
  readonly objectBytes: number;
  readonly patch: PatchLimits;
  /** Milliseconds until a write is answered even when the database does not. */
  readonly writeTimeout: number;
}

export interface WriterDependencies extends CommitDependencies {
  readonly reader: ObjectReader;
  /** What fences a write to this store; undefined when the lease is not held there. */
  readonly fenceIn: (fence: Fence) => Fence | undefined;
  readonly turns: TurnQueue;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly limits: WriteLimits;
  readonly reservedDomain: string;
  /** Finds the owners that `metadata.ownerReferences` names. */
  readonly owners: Owners;
  /** Undefined: objects may be made in any namespace. */
  readonly namespaces: Namespaces | undefined;
}

const texts = {
  exists: localized('There is a {kind} "{name}" already'),
  version: localized('The version in the request is {given}, the current version of "{name}" is {current}'),
  expectedRevision: localized('The object "{name}" was changed: its revision is {current}, not {given}'),
  expectedUid: localized('The object "{name}" is another one: its uid is {current}, not {given}'),
  ifMatch: localized('The ETag of "{name}" does not match If-Match'),
  changing: localized('The contract of {kind} is changing too quickly'),
  contended: localized('The object "{name}" is changing too quickly'),
  large: localized('The object would have {size} bytes; at most {limit} are allowed'),
  required: localized('is required'),
  managed: localized('metadata.managedFields must be nil'),
  appliedInHub: localized('must be {expected}: server-side apply works in that version alone; got {value}'),
  notYetStorable: localized('stored as {version} until the model is finalized'),
  waits: localized('{kind} takes no writes before replicas with another version of the plugin are gone'),
};

/** Tries of a write that other replicas keep overtaking. */
const writeAttempts = 50;
/** The same of an apply while others create and delete the object. */
const applyAttempts = 5;

interface Current extends Stored {
  readonly object: ExtensionObject;
  /** By which the write is computed. */
  readonly rules: Rules;
}

/** What a write makes of the stored object; undefined: it stays as it is. `forced`: stored as it is, valid or not (deletion). */
type Compute = (stored: Current, slice: TimeSlice) => MaybePromise<Change | undefined>;

interface Change {
  readonly next: ExtensionObject;
  /** Of the fields, after an apply. */
  readonly owners?: readonly Owner[];
  readonly violations?: Violations;
  readonly forced?: true;
  readonly warnings?: readonly string[];
}

/** The object to store. */
interface Admitted {
  readonly next: ExtensionObject;
  /** Violations that the stored object has too. */
  readonly kept: readonly Violation[];
}

export class Writer {
  readonly #dependencies: WriterDependencies;
  readonly #memory: ModelMemory;
  readonly #model: RegisteredModel;
  readonly #managers: FieldManagers;
  readonly #commits: Commits;
  readonly #patchLimits: PatchLimits;
  readonly #turns = new Map<string, Promise<unknown>>();

  constructor(dependencies: WriterDependencies) {
    this.#dependencies = dependencies;
    this.#memory = dependencies.memory;
    this.#model = this.#memory.model;
    this.#commits = new Commits(dependencies);
    const { now, limits } = dependencies;
    const { objectBytes = limits.objectBytes, members = limits.patch.members } = this.#model.hooks ?? {};
    this.#managers = new FieldManagers(this.#model, { now, objectBytes });
    this.#patchLimits = { ...limits.patch, members };
  }

  /** @throws Invalid, AlreadyExists, UniqueViolation, NotReady, StorageFull, UnknownOutcome */
  create(body: unknown, options: WriteOptions & { namespace?: string }): Promise<Answer> {
    return this.#create(body, options);
  }

  async #create(
    body: unknown,
    options: WriteOptions & { namespace?: string },
    applying?: ApplyOptions,
  ): Promise<Answer> {
    for (let attempt = 0; attempt < writeAttempts; attempt++) {
      if (attempt > 0) await this.#dependencies.feed.newest();
      const rules = this.#rules();
      const isSpoilt = applying || this.#model.versions !== undefined;
      const sent = isSpoilt ? copyOf(body) : this.#unspoilt(rules, body);
      const creating = this.#createBy(rules, sent, options, applying);
      const answer = await creating.catch((error: unknown) => this.#refused(rules, error));
      if (answer !== 'outdated') return answer;
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
  async #refused(rules: Rules, error: unknown): Promise<'outdated'> {
    const { store, feed } = this.#dependencies;
    if (!store.shared || !(error instanceof KindredError && error.code === 'Invalid')) throw error;
    await feed.newest();
    if (this.#model.rules === rules) throw error;
    return 'outdated';
  }

  async #createBy(
    rules: Rules,
    body: unknown,
    options: WriteOptions & { namespace?: string },
    applying: ApplyOptions | undefined,
  ): Promise<Answer | 'outdated'> {
    const sent = incoming(body, this.#apiVersionOf(options, rules), this.#model.kind);
    const { violations } = sent;
    const converted = this.#converted(rules, sent.object, violations, options, undefined);
    const { object, warnings: told } = converted ? await converted : { object: sent.object };
    const client = object.metadata;
    if (options.namespace !== undefined) {
      checkNamespace(client, options.namespace, violations);
      client.namespace = options.namespace;
    }
    const slice = this.#dependencies.turns.slice();
    const pruning = pruned(this.#model.scheme, object, slice, rules.validator);
    const warnings = [...(told ?? []), ...((pruning && (await pruning)) ?? [])];
    this.#dropPluginName(client, options.caller);
    this.#checkMetadata(client, undefined, options.caller, violations);
    const identified = this.#identifyOwners(client, violations);
    if (identified) await identified;
    const generate = (client.name === undefined || client.name === '') && client.generateName !== undefined;
    if (violations.count === 0 && client.namespace !== undefined) {
      await this.#dependencies.namespaces?.assertOpen(client.namespace);
    }
    // Before defaults are set, which are nobody's.
    const applied =
      applying && violations.count === 0
        ? await this.#managers.applied(rules, undefined, object, applyingOf(applying), slice)
        : undefined;
    rules.validator.applyDefaults(object, this.#patchLimits);
    if (rules.hasStatus) delete object.status;
    for (let attempt = 1; ; attempt++) {
      const name = generate ? `${client.generateName}${randomSuffix()}` : client.name;
      const metadata = violations.count > 0 ? client : createdMetadata(client, name, this.#dependencies.now());
      const candidate = { ...object, metadata };
      if (slice.isOver) await slice.renew();
      await this.#validate(rules, candidate, violations, slice);
      const made = (await this.#model.hooks?.prepareWrite?.(candidate, undefined, options.caller)) ?? candidate;
      const managers = await this.#managers.entries(rules, undefined, made, false, applied?.owners, options, slice);
      const inserted = await this.#insert(rules, managedBy(made, managers), options, slice);
      if (inserted === 'outdated') return inserted;
      const all = [...warnings, ...(this.#model.hooks?.warnings?.(made) ?? [])];
      const answer = inserted && all.length > 0 ? { ...inserted, warnings: all } : inserted;
      // A token that is not stored is not told either.
      if (answer && options.dryRun) return { ...answer, stored: this.#model.view(answer.stored, 'get') };
      if (answer) return { ...answer, stored: this.#model.view(answer.stored, 'created', made) };
      if (!generate || attempt === writeAttempts)
        throw new KindredError('AlreadyExists', texts.exists, { params: { kind: this.#model.kind, name } });
    }
  }

  /** Undefined when the name is taken. */
  async #insert(
    rules: Rules,
    object: ExtensionObject,
    options: WriteOptions,
    slice: TimeSlice,
  ): Promise<Answer | 'outdated' | undefined> {
    const name = fullNameOf(object.metadata);
    if (this.#memory.index.find(name) && !this.#dependencies.store.shared) return undefined;
    if (slice.isOver) await slice.renew();
    // Before the object is frozen, which takes it off the quick way of `JSON.stringify`.
    const bytes = this.#bytesOf(rules, object);
    if (slice.isOver) await slice.renew();
    const inHub = this.#inHub(rules, object);
    const { entry, violations } = entryBy(rules, inHub, name);
    if (violations.length > 0) throw invalid(violations);
    if (slice.isOver) await slice.renew();
    const taken = uniqueKeysOf(rules.uniques, rules.indexes, entry);
    const write: ModelWrite = {
      type: 'create',
      model: this.#memory.number,
      name,
      bytes,
      fence: this.#fenceOf(options),
      generation: this.#generationOf(rules),
      caller: named(options),
      memory: this.#memory,
      object: inHub,
      entry,
      layout: rules.layout,
    };
    const result = await this.#commits.commit(rules, write, { taken, freed: [] }, options, slice);
    if (!result.ok) return result.reason === 'outdated' ? 'outdated' : undefined;
    return {
      revision: result.revision,
      stored: { id: result.id, revision: result.revision, name, bytes },
      changed: true,
    };
  }

  /** Full replace, or of the status alone (the sub-resource). */
  update(name: string, body: unknown, options: WriteOptions): Promise<Answer> {
    if (this.#model.versions) return this.#updateIn(name, body, options);
    const { object, violations } = incoming(body, this.#model.apiVersion, this.#model.kind);
    checkName(object.metadata, name, violations);
    return this.#mutate(name, options, (stored, slice) => {
      this.#checkVersion(object.metadata, stored);
      return this.#pruned(stored, this.#unspoilt(stored.rules, object), violations, options, slice);
    });
  }

  /** Of a model with several versions. */
  #updateIn(name: string, body: unknown, options: WriteOptions): Promise<Answer> {
    return this.#mutate(name, options, (stored, slice) => {
      const sent = incoming(copyOf(body), this.#apiVersionOf(options, stored.rules), this.#model.kind);
      checkName(sent.object.metadata, name, sent.violations);
      this.#checkVersion(sent.object.metadata, stored);
      return this.#replacedIn(stored, sent.object, sent.violations, options, slice);
    });
  }

  /** As `#pruned`, of an object in the version of the request. */
  async #replacedIn(
    stored: Current,
    sent: ExtensionObject,
    violations: Violations,
    options: WriteOptions,
    slice: TimeSlice,
  ): Promise<Change> {
    const converted = await this.#converted(stored.rules, sent, violations, options, stored);
    if (!converted) return this.#pruned(stored, sent, violations, options, slice);
    const change = await this.#pruned(stored, converted.object, violations, options, slice);
    return { ...change, warnings: [...converted.warnings, ...(change.warnings ?? [])] };
  }

  #apiVersionOf({ via }: WriteOptions, rules: Rules): string {
    if (via) return via.apiVersion;
    return this.#model.versions ? this.#model.apiVersion : rules.apiVersion;
  }

  /** Of an object that was sent in the version in which writes are computed: undefined. @throws as `convertSent` */
  #converted(
    rules: Rules,
    object: ExtensionObject,
    violations: Violations,
    { via = this.#model.scheme, subresource }: WriteOptions,
    stored: Current | undefined,
  ): Promise<Converted> | undefined {
    const { versions } = this.#model;
    if (!versions || via.apiVersion === rules.apiVersion) return undefined;
    const { turns, limits } = this.#dependencies;
    const sent = { model: this.#model, versions, rules, object, via, subresource, stored, limits: limits.patch };
    return convertSent(sent, violations, turns.slice());
  }

  /** An object that is computed, in the hub. */
  #inHub({ apiVersion }: Rules, object: ExtensionObject): ExtensionObject {
    const { versions, apiVersion: hub } = this.#model;
    return versions && apiVersion !== hub ? versions.convert(object, hub) : object;
  }

  /** @throws as `update`, and PatchTestFailed, BadRequest (malformed patch) */
  patch(name: string, patch: unknown, options: WriteOptions & { kind: 'merge' | 'json' }): Promise<Answer> {
    if (options.kind === 'merge') checkMergePatch(patch);
    const limits = this.#patchLimits;
    return this.#mutate(name, options, async (stored, slice) => {
      const shown = this.#model.hooks?.show?.(stored.object, 'get');
      const apiVersion = this.#apiVersionOf(options, stored.rules);
      const base = shown ? structuredClone(shown) : this.#model.parseIn(apiVersion, stored.bytes, name);
      base.apiVersion = apiVersion;
      if (slice.isOver) await slice.renew();
      const patched =
        options.kind === 'merge' ? mergePatch(base, patch) : await this.#jsonPatch(base, patch, limits, slice);
      const { object, violations } = incoming(patched, apiVersion, this.#model.kind);
      checkName(object.metadata, name, violations);
      if (slice.isOver) await slice.renew();
      checkExtent(object, limits);
      if (slice.isOver) await slice.renew();
      this.#checkVersion(object.metadata, stored);
      if (this.#model.versions) return this.#replacedIn(stored, object, violations, options, slice);
      return this.#pruned(stored, object, violations, options, slice);
    });
  }

  /**
   * Server-side apply: makes the fields that the body names what it says, and the manager their owner; creates the object
   * when there is none.
   * @throws as `update`, and FieldConflict, Invalid in another version than the hub
   */
  async apply(name: string, given: unknown, { via, ...options }: ApplyOptions): Promise<Answer> {
    checkApplied(given);
    const body = via ? this.#appliedInHub(given, via) : given;
    const isConditional =
      options.subresource !== undefined ||
      options.ifMatch !== undefined ||
      options.expect !== undefined ||
      namesVersion(body);
    for (let attempt = 1; ; attempt++) {
      try {
        if (isConditional || (await ifFound(() => this.#read(name)))) {
          return await this.#mutate(name, options, (stored, slice) => this.#applied(stored, body, options, slice));
        }
        options.onCreate?.();
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

  /** Fields of a definition have the same names in every version. @throws Invalid in another version of any other model */
  #appliedInHub(body: unknown, { apiVersion }: Scheme): unknown {
    const { scheme, apiVersion: expected } = this.#model;
    if (!scheme.definition)
      throw invalid([violation('/apiVersion', 'const', texts.appliedInHub, { expected, value: apiVersion })]);
    const { object, violations } = incoming(body, apiVersion, this.#model.kind);
    violations.refuse();
    return { ...object, apiVersion: expected };
  }

  async #applied(stored: Current, body: unknown, options: ApplyOptions, slice: TimeSlice): Promise<Change> {
    // What is stored shares no value with the body, in which another attempt may have set defaults otherwise.
    const { object, violations } = incoming(copyOf(body), this.#model.apiVersion, this.#model.kind);
    if (slice.isOver) await slice.renew();
    checkName(object.metadata, stored.name, violations);
    this.#checkVersion(object.metadata, stored);
    const client: Metadata = { ...object.metadata, ...partsOf(stored.name) };
    checkMetadata(client, this.#model.scheme, violations);
    violations.refuse();
    await this.#identifyOwners(client, violations);
    violations.refuse();
    this.#leavePluginName(client, stored.object.metadata, options.caller);
    // What is left out is nobody's.
    const pruning = pruned(this.#model.scheme, object, slice, stored.rules.validator);
    const warnings = (pruning && (await pruning)) ?? [];
    const shown = this.#model.hooks?.show?.(stored.object, 'get') ?? stored.object;
    const { managedFields: entries = [] } = stored.object.metadata;
    // In which defaults may be set.
    const live = { content: copyOf(contentOf(shown)), entries };
    if (slice.isOver) await slice.renew();
    const { content, owners } = await this.#managers.applied(
      stored.rules,
      live,
      { ...object, metadata: client },
      applyingOf(options),
      slice,
    );
    const { apiVersion, kind } = this.#model;
    const { name } = client;
    const { metadata, ...members } = content;
    const next: ExtensionObject = { apiVersion, kind, metadata: { name, ...(metadata as object) }, ...members };
    checkExtent(next, this.#patchLimits);
    if (slice.isOver) await slice.renew();
    return { ...(await this.#replaced(stored, next, violations, options)), owners, warnings };
  }

  async #jsonPatch(base: ExtensionObject, patch: unknown, limits: PatchLimits, slice: TimeSlice): Promise<unknown> {
    const patching = new JsonPatch(base, patch, limits);
    while (patching.step()) if (slice.isOver) await slice.renew();
    return patching.result;
  }

  /** The object as it was marked. @throws NotFound, VersionConflict, PreconditionFailed */
  delete(name: string, options: DeleteOptions): Promise<Answer> {
    return this.#mutate(name, options, ({ object }) => {
      if (options.version !== undefined && options.version !== object.metadata.version)
        throw this.#conflict(name, options.version, object);
      if (object.metadata.deletionTimestamp !== undefined) return undefined;
      this.#model.hooks?.prepareDelete?.(object, options.caller);
      const deletionTimestamp = new Date(this.#dependencies.now()).toISOString();
      const { finalizers = [] } = object.metadata;
      const held = [options.holds, this.#model.hooks?.deletionFinalizer].filter((one) => one !== undefined);
      const client =
        held.length > 0 ? { ...object.metadata, finalizers: [...new Set([...finalizers, ...held])] } : object.metadata;
      const metadata = updatedMetadata(client, { ...object.metadata, deletionTimestamp });
      return { next: { ...object, metadata }, forced: true };
    });
  }

  /** Takes away an object that is marked and has no finalizer left, as a process that ended in between would have. */
  async reclaim(name: string): Promise<void> {
    await this.#mutate(name, { caller: hostCaller }, ({ object }) => {
      return isReclaimable(object.metadata) ? { next: object, forced: true } : undefined;
    });
  }

  /** As `#replaced`, without what the model does not know where it follows the rules of Kubernetes. */
  #pruned(
    stored: Current,
    object: ExtensionObject,
    violations: Violations,
    options: WriteOptions,
    slice: TimeSlice,
  ): MaybePromise<Change> {
    const pruning = pruned(this.#model.scheme, object, slice, stored.rules.validator);
    if (!pruning) return this.#replaced(stored, object, violations, options);
    return pruning.then(async (warnings) => ({
      ...(await this.#replaced(stored, object, violations, options)),
      warnings,
    }));
  }

  /** What the stored object becomes when this is put in its place. */
  #replaced(
    stored: Current,
    object: ExtensionObject,
    violations: Violations,
    { caller, subresource }: WriteOptions,
  ): MaybePromise<Change> {
    if (subresource === 'status') {
      violations.refuse();
      const holder: ExtensionObject = { ...stored.object, spec: undefined, status: object.status };
      if (object.status !== undefined) stored.rules.validator.applyDefaults(holder, this.#patchLimits);
      const { status: _status, ...rest } = stored.object;
      return { next: holder.status === undefined ? rest : { ...rest, status: holder.status } };
    }
    const client: Metadata = { ...object.metadata, ...partsOf(stored.name) };
    this.#checkMetadata(client, stored.object.metadata, caller, violations);
    this.#keepPluginName(client, stored.object.metadata, caller);
    const put = () => this.#put(stored, object, client, violations);
    const identified = this.#identifyOwners(client, violations);
    return identified ? identified.then(put) : put();
  }

  #put(stored: Current, object: ExtensionObject, client: Metadata, violations: Violations): Change {
    const metadata = violations.count > 0 ? stored.object.metadata : updatedMetadata(client, stored.object.metadata);
    const next: ExtensionObject = { ...object, metadata };
    stored.rules.validator.applyDefaults(next, this.#patchLimits);
    if (stored.rules.hasStatus) {
      if (stored.object.status === undefined) delete next.status;
      else next.status = stored.object.status;
    }
    return { next, violations };
  }

  /**
   * The object to store in place of the stored one; undefined when nothing changes.
   * @throws Invalid with every violation that the update makes, Deleting
   */
  async #admitted(
    stored: Current,
    change: Change,
    options: WriteOptions,
    slice: TimeSlice,
  ): Promise<Admitted | undefined> {
    const { next, violations = new Violations() } = change;
    if (violations.count === 0 && sameContent(stored.object, next)) {
      return this.#managed(stored, { next, kept: [] }, change, options, slice, true);
    }
    checkDeleting(stored.object, next, this.#model.scheme.naming);
    if (slice.isOver) await slice.renew();
    const kept = onlyFinalizersWent(stored.object, next) ? [] : await this.#ratchet(stored, next, violations, slice);
    violations.refuse();
    if (slice.isOver) await slice.renew();
    const prepared = (await this.#model.hooks?.prepareWrite?.(next, stored.object, options.caller)) ?? next;
    const isSame = prepared !== next && sameContent(stored.object, prepared);
    return this.#managed(stored, { next: prepared, kept }, change, options, slice, isSame);
  }

  /** With the managers after the write; undefined when these, too, are the same as before. */
  async #managed(
    stored: Current,
    admitted: Admitted,
    { owners }: Change,
    options: WriteOptions,
    slice: TimeSlice,
    isSame: boolean,
  ): Promise<Admitted | undefined> {
    const { object } = stored;
    const entries = await this.#managers.entries(stored.rules, object, admitted.next, isSame, owners, options, slice);
    const next = managedBy(admitted.next, entries);
    return isSame && next === admitted.next ? undefined : { ...admitted, next };
  }

  /** Adds the violations that the update makes. Gives those that the stored object has too. */
  async #ratchet(
    stored: Current,
    next: ExtensionObject,
    violations: Violations,
    slice: TimeSlice,
  ): Promise<readonly Violation[]> {
    const { validator } = stored.rules;
    let parsed: ExtensionObject | undefined;
    const before = (): ExtensionObject => {
      if (parsed) return parsed;
      parsed = this.#model.parseIn(stored.rules.apiVersion, stored.bytes, stored.name);
      validator.applyDefaults(parsed, this.#patchLimits);
      return parsed;
    };
    return checkUpdate(validator, before, next, violations, slice);
  }

  /** @throws Invalid with what was found before too */
  async #validate(rules: Rules, object: ExtensionObject, violations: Violations, slice: TimeSlice): Promise<void> {
    await checkNew(rules.validator, object, violations, slice);
    violations.refuse();
  }

  /** The write path: read, compute, number, index entries, commit, apply; in turn for each name, again when overtaken. */
  async #mutate(name: string, options: WriteOptions, compute: Compute): Promise<Answer> {
    const release = await this.#turn(name);
    const slice = this.#dependencies.turns.slice();
    try {
      for (let attempt = 0; attempt < writeAttempts; attempt++) {
        if (attempt > 0) await this.#dependencies.feed.newest();
        const stored = await this.#current(name);
        if (options.ifMatch && !matchesEtag(withoutVersions(options.ifMatch), etagOf(stored), 'strong')) {
          throw new KindredError('PreconditionFailed', texts.ifMatch, { params: { name } });
        }
        this.#checkExpected(stored, options);
        if (slice.isOver) await slice.renew();
        const computed = await compute(stored, slice);
        if (slice.isOver) await slice.renew();
        const admitted =
          computed &&
          (computed.forced
            ? { next: computed.next, kept: [] }
            : await this.#admitted(stored, computed, options, slice));
        const own = computed && !computed.forced ? (this.#model.hooks?.warnings?.(computed.next) ?? []) : [];
        const warnings = [...(computed?.warnings ?? []), ...own];
        const told = warnings.length > 0 ? { warnings } : {};
        if (!admitted)
          return {
            revision: this.#dependencies.feed.applied,
            stored: this.#model.view(stored, 'get'),
            changed: false,
            ...told,
          };
        const answer = await this.#store(stored, admitted, options, slice);
        if (answer) return { ...answer, stored: this.#model.view(answer.stored, 'get'), ...told };
      }
      throw new KindredError('NotReady', texts.contended, { params: { name }, headers: { 'retry-after': '1' } });
    } finally {
      release();
    }
  }

  /** Undefined when another replica was quicker. */
  async #store(
    stored: Current,
    { next, kept }: Admitted,
    options: WriteOptions,
    slice: TimeSlice,
  ): Promise<Answer | undefined> {
    const { name, id, rules } = stored;
    const generation = nextGeneration(stored.object, next, rules.hasStatus);
    if (slice.isOver) await slice.renew();
    const metadata = numbered(next.metadata, (stored.object.metadata.version ?? 0) + 1, generation);
    const object = { ...next, metadata };
    if (slice.isOver) await slice.renew();
    // A deletion is never refused for the size of the object.
    const isMarked = metadata.deletionTimestamp !== stored.object.metadata.deletionTimestamp;
    const largest = isMarked ? Number.POSITIVE_INFINITY : stored.bytes.length;
    const bytes = this.#bytesOf(rules, object, largest, isMarked);
    const gone = isReclaimable(metadata);
    if (slice.isOver) await slice.renew();
    const storedInHub = this.#inHub(rules, stored.object);
    const inHub = this.#inHub(rules, object);
    const before = lenientEntry(rules, storedInHub, name);
    if (slice.isOver) await slice.renew();
    // What needs no valid object needs no key in every index either.
    const isLenient = metadata.deletionTimestamp !== undefined || onlyFinalizersWent(stored.object, next);
    const { entry, violations } = entryBy(rules, inHub, name);
    const indexes = ratchetIndexes(before.violations, isLenient ? [] : violations);
    if (indexes.made.length > 0) throw invalid(indexes.made);
    if (slice.isOver) await slice.renew();
    const keys = await this.#commits.keyChanges(rules, before.entry, gone ? undefined : entry, slice);
    const write: ModelWrite = {
      type: gone ? 'delete' : 'update',
      model: this.#memory.number,
      name,
      expected: { id, revision: stored.revision },
      bytes,
      fence: this.#fenceOf(options),
      generation: this.#generationOf(rules),
      activate: options.activate,
      caller: named(options),
      memory: this.#memory,
      object: inHub,
      entry,
      before: { bytes: stored.bytes, object: storedInHub, entry: before.entry },
      layout: rules.layout,
    };
    const result = await this.#commits.commit(rules, write, keys, options, slice);
    if (!result.ok) return undefined;
    const warning = warningOf([...kept, ...indexes.kept]);
    return {
      revision: result.revision,
      stored: { id, revision: result.revision, name, bytes },
      changed: true,
      ...(warning !== undefined && { warning }),
    };
  }

  /** @throws NotFound */
  async #current(name: string): Promise<Current> {
    const stored = await this.#read(name);
    const rules = this.#rules();
    return { ...stored, object: this.#model.parseIn(rules.apiVersion, stored.bytes, name), rules };
  }

  /** @throws NotFound */
  async #read(name: string): Promise<Stored> {
    const behind = this.#dependencies.current();
    if (behind) await behind;
    return (await this.#dependencies.reader.read(name)).stored;
  }

  /** @throws NotReady when the lease is not held in the store of this model */
  #fenceOf({ fence }: WriteOptions): Fence | undefined {
    if (!fence) return undefined;
    const here = this.#dependencies.fenceIn(fence);
    if (!here) throw notHeld(fence);
    return here;
  }

  /** A store that no other process writes to needs no fence: contracts change here while nothing is under way. */
  #generationOf({ generation }: Rules): number | undefined {
    return this.#dependencies.store.shared ? (generation ?? this.#memory.generation) : undefined;
  }

  /** By which a write is computed. @throws NotReady, ModelOutdated */
  #rules(): Rules {
    this.#memory.assertReady();
    this.#memory.assertUnsealed();
    const { rules, kind } = this.#model;
    if (!rules.isBlocked) return rules;
    throw new KindredError('NotReady', texts.waits, { params: { kind }, headers: { 'retry-after': '1' } });
  }

  /** What was sent, to be computed again by other rules: defaults are set in place. */
  #unspoilt<T>(rules: Rules, sent: T): T {
    return rules.isEmulated || this.#memory.replacement ? structuredClone(sent) : sent;
  }

  /** One write at a time for each name, so that writers in this process do not overtake one another. */
  async #turn(name: string): Promise<() => void> {
    const earlier = this.#turns.get(name);
    let done!: () => void;
    const mine = new Promise<void>((resolve) => {
      done = resolve;
    });
    this.#turns.set(name, mine);
    await earlier;
    return () => {
      if (this.#turns.get(name) === mine) this.#turns.delete(name);
      done();
    };
  }

  /** Sets the uids of owners in place; undefined when none is left out. */
  #identifyOwners(client: Metadata, violations: Violations): Promise<void> | undefined {
    if (!client.ownerReferences || violations.count > 0) return undefined;
    if (client.ownerReferences.every(({ uid }) => uid)) return undefined;
    return identified(client, this.#dependencies.owners, violations).then((owners) => {
      client.ownerReferences = owners;
    });
  }

  #checkExpected({ name, id, revision, object }: Current, { expect }: WriteOptions): void {
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

  #checkVersion(client: Metadata, stored: Current): void {
    if (typeof client.version !== 'number' || !Number.isInteger(client.version)) return;
    if (client.version !== stored.object.metadata.version)
      throw this.#conflict(stored.name, client.version, stored.object);
  }

  #conflict(name: string, given: number, stored: ExtensionObject): KindredError {
    const current = stored.metadata.version ?? 0;
    return new KindredError('VersionConflict', texts.version, {
      params: { name, given, current },
      currentVersion: current,
    });
  }

  #checkMetadata(client: Metadata, stored: Metadata | undefined, caller: Caller, found: Violations): void {
    checkMetadata(client, this.#model.scheme, found);
    checkReservedKeys(
      client,
      stored,
      caller.origin,
      this.#dependencies.reservedDomain,
      found,
      this.#model.scheme.naming,
    );
  }

  /**
   * In memory of their own, since changes are kept for a while: `Buffer.from` would take a piece of a pool.
   * @param before bytes of the stored object: one that is larger than allowed may become smaller
   * @param forced also when the version in which objects are stored cannot say all of it
   * @throws PayloadTooLarge, Invalid with the keyword `notYetStorable`
   */
  #bytesOf(rules: Rules, object: ExtensionObject, before = 0, forced = false): Buffer {
    const { versions } = this.#model;
    const text =
      versions && rules.storage !== rules.apiVersion
        ? this.#storedText(versions, rules, object, forced)
        : JSON.stringify(object);
    const bytes = asBuffer(encoder.encode(text));
    const limit = this.#model.hooks?.objectBytes ?? this.#dependencies.limits.objectBytes;
    const { length: size } = bytes;
    if (size > limit && size > before)
      throw new KindredError('PayloadTooLarge', texts.large, { params: { size, limit } });
    return bytes;
  }

  /** The object in the version in which objects are stored. @throws Invalid, InternalError */
  #storedText(versions: Versions, rules: Rules, object: ExtensionObject, forced: boolean): string {
    if (forced) return versions.text(copyOf(object), rules.storage);
    const { text, lost } = inStorage(versions, rules, object, this.#dependencies.limits.patch);
    if (lost.length === 0) return text;
    const version = versionOf(rules.storage);
    throw invalid(lost.map((pointer) => violation(pointer, 'notYetStorable', texts.notYetStorable, { version })));
  }

  get #pluginNameKey(): string {
    return `plugin.${this.#dependencies.reservedDomain}/plugin-name`;
  }

  /** The host alone writes this label: on creation by others it is dropped, so that an export can be imported. */
  #dropPluginName(client: Metadata, caller: Caller): void {
    if (caller.origin === 'host' || !isObject(client.labels)) return;
    const { [this.#pluginNameKey]: _dropped, ...labels } = client.labels;
    client.labels = labels;
  }

  /** Nobody else becomes an owner of the label. */
  #leavePluginName(client: Metadata, stored: Metadata, caller: Caller): void {
    const label = stored.labels?.[this.#pluginNameKey];
    if (label !== undefined && client.labels?.[this.#pluginNameKey] === label) this.#dropPluginName(client, caller);
  }

  #keepPluginName(client: Metadata, stored: Metadata, caller: Caller): void {
    const key = this.#pluginNameKey;
    const kept = stored.labels?.[key];
    if (caller.origin === 'host' || kept === undefined || client.labels?.[key] !== undefined) return;
    client.labels = { ...client.labels, [key]: kept };
  }
}

const encoder = new TextEncoder();

/** @throws Invalid, BadRequest */
function checkApplied(body: unknown): void {
  if (!isObject(body)) return;
  const violations = new Violations();
  for (const member of ['apiVersion', 'kind']) {
    if (body[member] === undefined) violations.add(`/${member}`, 'required', texts.required);
  }
  violations.refuse();
  const { managedFields = null } = isObject(body.metadata) ? body.metadata : {};
  if (managedFields !== null) throw new KindredError('BadRequest', texts.managed);
}

/** Whether a body asks for a version of the object, and so for an object that is there. */
function namesVersion(body: unknown): boolean {
  return isObject(body) && isObject(body.metadata) && typeof body.metadata.version === 'number';
}

function applyingOf({ manager, conflicts, adopts, subresource }: ApplyOptions) {
  return { manager, conflicts, ...(adopts && { adopts }), ...(subresource && { subresource }) };
}

/** The caller with the manager of the fields, for the audit log. */
function named({ caller, manager }: WriteOptions): Caller {
  return manager === undefined ? caller : { ...caller, manager };
}

const hostCaller: Caller = { identity: { name: 'system', roles: [] }, origin: 'host' };

const suffixAlphabet = 'abcdefghijklmnopqrstuvwxyz0123456789';

function randomSuffix(): string {
  return Array.from({ length: 8 }, () => suffixAlphabet[randomInt(suffixAlphabet.length)]).join('');
}
