/**
 * What a write makes of an object, before it is known whether that can be stored: by what was sent, the version of the
 * request, the rules of the model, and who writes.
 */

import { contentOf } from '../apply/apply.ts';
import type { Owner } from '../apply/managers.ts';
import { invalid, KindredError, Violations, violation } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import { partsOf } from '../model/full-name.ts';
import { checkMetadata, checkReservedKeys } from '../model/metadata.ts';
import type { ExtensionObject, Metadata } from '../model/object.ts';
import { copyOf } from '../model/object.ts';
import type { Scheme } from '../model/scheme.ts';
import type { TimeSlice, TurnQueue } from '../runtime/time-slice.ts';
import type { MaybePromise } from '../store/store.ts';
import type { Caller } from './access.ts';
import { lastAppliedOf, withLastApplied } from './last-applied.ts';
import { checkName, checkNamespace, incoming, isObject, onlyFinalizersWent, updatedMetadata } from './lifecycle.ts';
import type { FieldManagers } from './managed-fields.ts';
import type { ModelMemory } from './memory.ts';
import type { Namespaces } from './namespaces.ts';
import type { Owners } from './owners.ts';
import { identified } from './owners.ts';
import type { PatchLimits } from './patch.ts';
import { checkExtent, checkMergePatch, JsonPatch, mergePatch } from './patch.ts';
import { pruned } from './prune.ts';
import type { RegisteredModel, Stored } from './registered-model.ts';
import { readInTurns } from './registered-model.ts';
import type { Rules } from './rules.ts';
import type { Converted } from './sent-version.ts';
import { convertSent } from './sent-version.ts';
import type { ApplyOptions, CreateOptions, DeleteOptions, PatchOptions, WriteLimits, WriteOptions } from './write.ts';

export interface ObjectChangesDependencies {
  readonly memory: ModelMemory;
  readonly managers: FieldManagers;
  readonly turns: TurnQueue;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly limits: Pick<WriteLimits, 'patch'>;
  /** Of the model: how far a body or a patch may go. */
  readonly patchLimits: PatchLimits;
  readonly reservedDomain: string;
  /** Finds the owners that `metadata.ownerReferences` names. */
  readonly owners: Owners;
  /** Undefined: objects may be made in any namespace. */
  readonly namespaces: Namespaces | undefined;
}

/** A stored object, and by which rules a write to it is computed. */
export interface Current extends Stored {
  /** In the version in which writes are computed; without content when it cannot be converted. */
  readonly object: ExtensionObject;
  /** As it is stored, and why it cannot be converted. */
  readonly unconverted?: { readonly object: ExtensionObject; readonly reason: unknown };
  readonly rules: Rules;
}

export interface Change {
  readonly next: ExtensionObject;
  /** Of the fields, after an apply. */
  readonly owners?: readonly Owner[];
  readonly violations?: Violations;
  /** Stored as it is, valid or not (deletion). What cannot be converted keeps its content, in the version in which it is stored. */
  readonly forced?: true;
  readonly warnings?: readonly string[];
}

/** An object that is made. Its metadata is that of the client, before the service adds its own. */
export interface Creation extends Change {
  readonly violations: Violations;
  /** As the client gave it. */
  readonly name: string;
  /** The name is to be generated. */
  readonly generateName?: string;
}

/** What a write makes of the stored object; undefined: it stays as it is. Called again when another write was quicker. */
export type Compute = (stored: Current, slice: TimeSlice) => MaybePromise<Change | undefined>;

const texts = {
  version: localized('The version in the request is {given}, the current version of "{name}" is {current}'),
  required: localized('is required'),
  managed: localized('metadata.managedFields must be nil'),
  appliedInHub: localized('must be {expected}: server-side apply works in that version alone; got {value}'),
  notYetApplied: localized(
    '{kind} takes no server-side apply before replicas with another version of the plugin are gone',
  ),
};

export class ObjectChanges {
  readonly #dependencies: ObjectChangesDependencies;
  readonly #memory: ModelMemory;
  readonly #model: RegisteredModel;

  constructor(dependencies: ObjectChangesDependencies) {
    this.#dependencies = dependencies;
    this.#memory = dependencies.memory;
    this.#model = this.#memory.model;
  }

  /**
   * An object that is not there yet.
   * @param body whose members may be changed in place, unless the object may have to be computed again by other rules
   * @param applying of an apply
   * @throws Invalid, Forbidden (the namespace), PayloadTooLarge, NotReady
   */
  async create(
    rules: Rules,
    body: unknown,
    options: CreateOptions,
    applying: ApplyOptions | undefined,
    slice: TimeSlice,
  ): Promise<Creation> {
    const { namespaces, managers, patchLimits } = this.#dependencies;
    if (applying) this.#assertInHub(rules);
    const isSpoilt = applying || this.#model.versions !== undefined;
    const copy = isSpoilt ? copyOf(body) : this.#unspoilt(rules, body);
    const sent = incoming(copy, this.#apiVersionOf(options, rules), this.#model.kind);
    const { violations } = sent;
    const converted = this.#converted(rules, sent.object, violations, options, undefined);
    const { object, warnings: told } = converted ? await converted : { object: sent.object };
    const client = object.metadata;
    if (options.namespace !== undefined) {
      checkNamespace(client, options.namespace, violations);
      client.namespace = options.namespace;
    }
    const pruning = pruned(this.#model.scheme, object, slice, rules.validator);
    const warnings = [...(told ?? []), ...((pruning && (await pruning)) ?? [])];
    this.#dropPluginName(client, options.caller);
    this.#checkMetadata(client, undefined, options.caller, violations);
    const identified = this.#identifyOwners(client, options.caller, violations);
    if (identified) await identified;
    if (violations.count === 0 && client.namespace !== undefined) await namespaces?.assertOpen(client.namespace);
    const { name, generateName } = client;
    const isNamed = name !== undefined && name !== '';
    // Before defaults are set, which are nobody's.
    const applied =
      applying && violations.count === 0
        ? await managers.applied(rules, undefined, object, applyingOf(applying), slice)
        : undefined;
    rules.validator.applyDefaults(object, patchLimits);
    if (rules.hasStatus) delete object.status;
    return {
      next: object,
      name,
      ...(!isNamed && generateName !== undefined && { generateName }),
      violations,
      warnings,
      ...(applied && { owners: applied.owners }),
    };
  }

  /** Full replace, or of the status alone (the sub-resource). @throws Invalid at once when the body is no object */
  replace(name: string, body: unknown, options: WriteOptions): Compute {
    if (this.#model.versions) return this.#replaceIn(name, body, options);
    const { object, violations } = incoming(body, this.#model.apiVersion, this.#model.kind);
    checkName(object.metadata, name, violations);
    return (stored, slice) => {
      this.#checkVersion(object.metadata, stored);
      return this.#pruned(stored, this.#unspoilt(stored.rules, object), violations, options, slice);
    };
  }

  /** Of a model with several versions. */
  #replaceIn(name: string, body: unknown, options: WriteOptions): Compute {
    return (stored, slice) => {
      const sent = incoming(copyOf(body), this.#apiVersionOf(options, stored.rules), this.#model.kind);
      checkName(sent.object.metadata, name, sent.violations);
      this.#checkVersion(sent.object.metadata, stored);
      return this.#replacedIn(stored, sent.object, sent.violations, options, slice);
    };
  }

  /** @throws BadRequest at once for a malformed merge patch */
  patch(name: string, patch: unknown, options: PatchOptions): Compute {
    if (options.kind === 'merge') checkMergePatch(patch);
    const { patchLimits: limits } = this.#dependencies;
    return async (stored, slice) => {
      const shown = this.#model.hooks?.show?.(stored.object, 'get');
      const apiVersion = this.#apiVersionOf(options, stored.rules);
      const base = shown
        ? structuredClone(shown)
        : this.#model.objectIn(apiVersion, await readInTurns(stored.bytes, slice), name);
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
    };
  }

  /**
   * The body of an apply, in the hub. Fields of a definition have the same names in every version.
   * @param via the version of the request
   * @throws BadRequest, Invalid in another version of any other model, NotReady
   */
  appliedBody(body: unknown, via: Scheme | undefined): unknown {
    checkApplied(body);
    if (!via) return body;
    const { scheme, rules, apiVersion: expected, kind } = this.#model;
    const { apiVersion } = via;
    this.#assertInHub(rules);
    if (!scheme.definition)
      throw invalid([violation('/apiVersion', 'const', texts.appliedInHub, { expected, value: apiVersion })]);
    const { object, violations } = incoming(body, apiVersion, kind);
    violations.refuse();
    return { ...object, apiVersion: expected };
  }

  /** Server-side apply. @param body as `appliedBody` gives it */
  apply(body: unknown, options: ApplyOptions): Compute {
    return (stored, slice) => this.#applied(stored, body, options, slice);
  }

  /** @throws FieldConflict, Invalid, VersionConflict, PayloadTooLarge, NotReady */
  async #applied(stored: Current, body: unknown, options: ApplyOptions, slice: TimeSlice): Promise<Change> {
    this.#assertInHub(stored.rules);
    assertConverted(stored);
    // What is stored shares no value with the body, in which another attempt may have set defaults otherwise.
    const { object, violations } = incoming(copyOf(body), this.#model.apiVersion, this.#model.kind);
    if (slice.isOver) await slice.renew();
    checkName(object.metadata, stored.name, violations);
    this.#checkVersion(object.metadata, stored);
    const client: Metadata = { ...object.metadata, ...partsOf(stored.name) };
    checkMetadata(client, this.#model.scheme, violations);
    violations.refuse();
    await this.#identifyOwners(client, options.caller, violations);
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
    const { content, owners } = await this.#dependencies.managers.applied(
      stored.rules,
      live,
      { ...object, metadata: client },
      { ...applyingOf(options), ...(options.lastApplied && { written: lastAppliedOf(shown, options.lastApplied) }) },
      slice,
    );
    const { apiVersion, kind } = this.#model;
    const { name } = client;
    const { metadata, ...members } = content;
    const merged: ExtensionObject = { apiVersion, kind, metadata: { name, ...(metadata as object) }, ...members };
    const next = options.lastApplied ? withLastApplied(merged, options.lastApplied) : merged;
    checkExtent(next, this.#dependencies.patchLimits);
    if (slice.isOver) await slice.renew();
    return { ...(await this.#replaced(stored, next, violations, options)), owners, warnings };
  }

  /** Fields have their owners in the hub. @throws NotReady while a contract with another hub is active */
  #assertInHub({ hasOtherHub }: Rules): void {
    if (!hasOtherHub) return;
    const { kind } = this.#model;
    throw new KindredError('NotReady', texts.notYetApplied, { params: { kind }, headers: { 'retry-after': '1' } });
  }

  /** The object as it is marked. @throws VersionConflict */
  delete(name: string, options: DeleteOptions): Compute {
    return ({ object }) => {
      if (options.version !== undefined && options.version !== object.metadata.version)
        throw this.#conflict(name, options.version, object);
      if (object.metadata.deletionTimestamp !== undefined) return undefined;
      const prepared = this.#model.hooks?.prepareDelete?.(object, options.caller) ?? object;
      const deletionTimestamp = new Date(this.#dependencies.now()).toISOString();
      const { finalizers = [] } = object.metadata;
      const held = [options.holds, this.#model.hooks?.deletionFinalizer].filter((one) => one !== undefined);
      const client =
        held.length > 0 ? { ...object.metadata, finalizers: [...new Set([...finalizers, ...held])] } : object.metadata;
      const metadata = updatedMetadata(client, { ...object.metadata, deletionTimestamp });
      return { next: { ...prepared, metadata }, forced: true };
    };
  }

  /** As `#pruned`, of an object in the version of the request. */
  async #replacedIn(
    stored: Current,
    sent: ExtensionObject,
    violations: Violations,
    options: WriteOptions,
    slice: TimeSlice,
  ): Promise<Change> {
    const released = violations.count === 0 ? this.#released(stored, sent, options) : undefined;
    if (released) return released;
    const converted = await this.#converted(stored.rules, sent, violations, options, stored);
    if (!converted) return this.#pruned(stored, sent, violations, options, slice);
    const change = await this.#pruned(stored, converted.object, violations, options, slice);
    return { ...change, warnings: [...converted.warnings, ...(change.warnings ?? [])] };
  }

  /** Of an object that cannot be converted, is being deleted and only loses finalizers. */
  #released(
    { object, unconverted, name }: Current,
    sent: ExtensionObject,
    { caller, subresource }: WriteOptions,
  ): Change | undefined {
    if (!unconverted || subresource || sent.apiVersion !== unconverted.object.apiVersion) return undefined;
    if (object.metadata.deletionTimestamp === undefined) return undefined;
    const client = { ...sent.metadata, ...partsOf(name) };
    const found = new Violations();
    this.#checkMetadata(client, object.metadata, caller, found);
    if (found.count > 0) return undefined;
    const metadata = updatedMetadata(client, object.metadata);
    if (!onlyFinalizersWent(unconverted.object, { ...sent, metadata })) return undefined;
    return { next: { ...object, metadata }, forced: true };
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
      assertConverted(stored);
      const holder: ExtensionObject = { ...stored.object, spec: undefined, status: object.status };
      if (object.status !== undefined) stored.rules.validator.applyDefaults(holder, this.#dependencies.patchLimits);
      const { status: _status, ...rest } = stored.object;
      return { next: holder.status === undefined ? rest : { ...rest, status: holder.status } };
    }
    const client: Metadata = { ...object.metadata, ...partsOf(stored.name) };
    this.#checkMetadata(client, stored.object.metadata, caller, violations);
    this.#keepPluginName(client, stored.object.metadata, caller);
    const put = () => this.#put(stored, object, client, violations);
    const identified = this.#identifyOwners(client, caller, violations);
    return identified ? identified.then(put) : put();
  }

  #put(stored: Current, object: ExtensionObject, client: Metadata, violations: Violations): Change {
    const metadata = violations.count > 0 ? stored.object.metadata : updatedMetadata(client, stored.object.metadata);
    const next: ExtensionObject = { ...object, metadata };
    stored.rules.validator.applyDefaults(next, this.#dependencies.patchLimits);
    if (stored.rules.hasStatus) {
      if (stored.object.status === undefined) delete next.status;
      else next.status = stored.object.status;
    }
    return { next, violations };
  }

  async #jsonPatch(base: ExtensionObject, patch: unknown, limits: PatchLimits, slice: TimeSlice): Promise<unknown> {
    const patching = new JsonPatch(base, patch, limits);
    while (patching.step()) if (slice.isOver) await slice.renew();
    return patching.result;
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

  /** What was sent, to be computed again by other rules: defaults are set in place. */
  #unspoilt<T>(rules: Rules, sent: T): T {
    return rules.isEmulated || this.#memory.replacement ? structuredClone(sent) : sent;
  }

  /** Sets the uids of owners in place; undefined when none is left out. */
  #identifyOwners(client: Metadata, caller: Caller, violations: Violations): Promise<void> | undefined {
    if (!client.ownerReferences || violations.count > 0) return undefined;
    if (client.ownerReferences.every(({ uid }) => uid)) return undefined;
    return identified(client, this.#dependencies.owners, caller, violations).then((owners) => {
      client.ownerReferences = owners;
    });
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

function applyingOf({ manager, conflicts, adopts, subresource }: ApplyOptions) {
  return { manager, conflicts, ...(adopts && { adopts }), ...(subresource && { subresource }) };
}

/** @throws InternalError that names the object */
function assertConverted({ unconverted }: Current): void {
  if (unconverted) throw unconverted.reason;
}

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
