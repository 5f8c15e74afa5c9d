/** What is stored of what a write makes of an object (`object-changes.ts`), or why that is refused. */

import type { Violation } from '../errors.ts';
import { invalid, KindredError, Violations, violation } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import { fullNameOf } from '../model/full-name.ts';
import type { IndexEntry } from '../model/index-entry.ts';
import type { ExtensionObject } from '../model/object.ts';
import { copyOf } from '../model/object.ts';
import { andThen } from '../runtime/and-then.ts';
import type { TimeSlice } from '../runtime/time-slice.ts';
import type { MaybePromise } from '../store/store.ts';
import type { Caller } from './access.ts';
import { asBuffer, encoded } from './bytes.ts';
import { uniqueKeysOf } from './claims.ts';
import type { CommitDependencies, Fence } from './commits.ts';
import { Commits, notHeld } from './commits.ts';
import { lenientEntry } from './entries.ts';
import type { ModelWrite } from './feed.ts';
import {
  checkDeleting,
  createdMetadata,
  isReclaimable,
  nextGeneration,
  numbered,
  onlyFinalizersWent,
  sameContent,
} from './lifecycle.ts';
import type { FieldManagers } from './managed-fields.ts';
import { managedBy } from './managed-fields.ts';
import type { ModelMemory } from './memory.ts';
import type { Change, Creation, Current } from './object-changes.ts';
import type { PatchLimits } from './patch.ts';
import { checkNew, checkUpdate, ratchetIndexes, ratchetLosses, warningOf } from './ratchet.ts';
import type { RegisteredModel } from './registered-model.ts';
import type { Rules } from './rules.ts';
import { entryBy } from './rules.ts';
import { inStorage, versionOf } from './stored-version.ts';
import type { Versions } from './versions.ts';
import type { Answer, WriteLimits, WriteOptions } from './write.ts';

export interface ObjectWritesDependencies extends CommitDependencies {
  readonly managers: FieldManagers;
  /** What fences a write to this store; undefined when the lease is not held there. */
  readonly fenceIn: (fence: Fence) => Fence | undefined;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly limits: WriteLimits;
  /** Of the model: how far a body or a patch may go. */
  readonly patchLimits: PatchLimits;
}

const texts = {
  large: localized('The object would have {size} bytes; at most {limit} are allowed'),
  notYetStorable: localized('stored as {version} until the model is finalized'),
};

/** The object to store. */
interface Admitted {
  readonly next: ExtensionObject;
  /** Violations that the stored object has too. */
  readonly kept: readonly Violation[];
  /** As it is stored: its content stays so. */
  readonly unconverted?: ExtensionObject | undefined;
}

export class ObjectWrites {
  readonly #dependencies: ObjectWritesDependencies;
  readonly #memory: ModelMemory;
  readonly #model: RegisteredModel;
  readonly #managers: FieldManagers;
  readonly #commits: Commits;

  constructor(dependencies: ObjectWritesDependencies) {
    this.#dependencies = dependencies;
    this.#memory = dependencies.memory;
    this.#model = this.#memory.model;
    this.#managers = dependencies.managers;
    this.#commits = new Commits(dependencies);
  }

  /**
   * Undefined when the name is taken; `outdated` when other rules hold.
   * @param name the client's, or one that was generated
   * @throws Invalid, PayloadTooLarge, and as `Commits.commit`
   */
  async create(
    rules: Rules,
    { next, violations, owners, warnings = [] }: Creation,
    name: string,
    options: WriteOptions,
    slice: TimeSlice,
  ): Promise<Answer | 'outdated' | undefined> {
    const { hooks } = this.#model;
    const client = next.metadata;
    const metadata = violations.count > 0 ? client : createdMetadata(client, name, this.#dependencies.now());
    const candidate = { ...next, metadata };
    if (slice.isOver) await slice.renew();
    const checking = checkNew(rules.validator, candidate, violations, slice);
    if (checking) await checking;
    violations.refuse();
    const preparing = hooks?.prepareWrite?.(candidate, undefined, options.caller);
    const made = (preparing && (await preparing)) ?? candidate;
    const managing = this.#managers.entries(rules, undefined, made, false, owners, options, slice);
    const managers = managing instanceof Promise ? await managing : managing;
    const answer = await this.#insert(rules, managedBy(made, managers), options, slice);
    if (!answer || answer === 'outdated') return answer;
    const all = [...warnings, ...(hooks?.warnings?.(made) ?? [])];
    const told = all.length > 0 ? { warnings: all } : {};
    // A token that is not stored is not told either.
    if (options.dryRun) return { ...answer, stored: this.#model.view(answer.stored, 'get'), ...told };
    return { ...answer, stored: this.#model.view(answer.stored, 'created', made), ...told };
  }

  /**
   * In place of what is stored. Undefined when another replica was quicker.
   * @param change undefined: the object stays as it is
   * @throws Invalid, Deleting, PayloadTooLarge, and as `Commits.commit`
   */
  async change(
    stored: Current,
    change: Change | undefined,
    options: WriteOptions,
    slice: TimeSlice,
  ): Promise<Answer | undefined> {
    const admitted =
      change &&
      (change.forced
        ? { next: change.next, kept: [], unconverted: stored.unconverted?.object }
        : await this.#admitted(stored, change, options, slice));
    const own = change && !change.forced ? (this.#model.hooks?.warnings?.(change.next) ?? []) : [];
    const warnings = [...(change?.warnings ?? []), ...own];
    const told = warnings.length > 0 ? { warnings } : {};
    const answer = admitted
      ? await this.#store(stored, admitted, options, slice)
      : { revision: this.#dependencies.feed.applied, stored, changed: false };
    return answer && { ...answer, stored: this.#model.view(answer.stored, 'get'), ...told };
  }

  /** As `create`. */
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
    const encoding = this.#bytesOf(rules, object);
    const bytes = encoding instanceof Promise ? await encoding : encoding;
    if (slice.isOver) await slice.renew();
    const { entry, violations } = entryBy(rules, object, name);
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
      ...this.#indexed(rules, object, entry, name),
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
    if (violations.count === 0 && !stored.unconverted && sameContent(stored.object, next)) {
      return this.#managed(stored, { next, kept: [] }, change, options, slice, true);
    }
    const withDefaults = this.#withDefaults(stored);
    if (stored.object.metadata.deletionTimestamp !== undefined) {
      checkDeleting(withDefaults(), next, this.#model.scheme.naming);
      if (slice.isOver) await slice.renew();
    }
    const ratcheting = this.#ratchet(stored, withDefaults, next, violations, slice);
    const kept = ratcheting instanceof Promise ? await ratcheting : ratcheting;
    violations.refuse();
    if (slice.isOver) await slice.renew();
    const preparing = this.#model.hooks?.prepareWrite?.(next, stored.object, options.caller);
    const prepared = (preparing && (await preparing)) ?? next;
    const isSame = prepared !== next && sameContent(stored.object, prepared);
    return this.#managed(stored, { next: prepared, kept }, change, options, slice, isSame);
  }

  /** With the managers after the write; undefined when these, too, are the same as before. */
  #managed(
    { rules, object }: Current,
    admitted: Admitted,
    { owners }: Change,
    options: WriteOptions,
    slice: TimeSlice,
    isSame: boolean,
  ): MaybePromise<Admitted | undefined> {
    return andThen(this.#managers.entries(rules, object, admitted.next, isSame, owners, options, slice), (entries) => {
      const next = managedBy(admitted.next, entries);
      return isSame && next === admitted.next ? undefined : { ...admitted, next };
    });
  }

  /** The stored object with the defaults of today, which every update has: made when it is asked for first. */
  #withDefaults({ rules, bytes, name, object, unconverted }: Current): () => ExtensionObject {
    let made: ExtensionObject | undefined;
    return () => {
      if (unconverted) return object;
      if (made) return made;
      made = this.#model.parseIn(rules.apiVersion, bytes, name);
      rules.validator.applyDefaults(made, this.#dependencies.patchLimits);
      return made;
    };
  }

  /** Adds the violations that the update makes. Gives those that the stored object has too. */
  #ratchet(
    stored: Current,
    withDefaults: () => ExtensionObject,
    next: ExtensionObject,
    violations: Violations,
    slice: TimeSlice,
  ): MaybePromise<readonly Violation[]> {
    const { validator } = stored.rules;
    if (stored.unconverted) return andThen(checkNew(validator, next, violations, slice), () => []);
    if (onlyFinalizersWent(stored.object, next)) return [];
    return checkUpdate(validator, withDefaults, next, violations, slice);
  }

  /** Undefined when another replica was quicker. */
  async #store(
    stored: Current,
    { next, kept, unconverted }: Admitted,
    options: WriteOptions,
    slice: TimeSlice,
  ): Promise<Answer | undefined> {
    const { name, id, rules } = stored;
    const generation = nextGeneration(stored.object, next, rules.hasStatus);
    if (slice.isOver) await slice.renew();
    const metadata = numbered(next.metadata, (stored.object.metadata.version ?? 0) + 1, generation);
    const object = { ...next, metadata };
    if (slice.isOver) await slice.renew();
    const encoding = unconverted
      ? encoded(JSON.stringify({ ...unconverted, metadata }))
      : this.#bytesOf(rules, object, stored);
    const bytes = encoding instanceof Promise ? await encoding : encoding;
    const gone = isReclaimable(metadata);
    if (slice.isOver) await slice.renew();
    const before = lenientEntry(rules, stored.object, name);
    if (slice.isOver) await slice.renew();
    // What needs no valid object needs no key in every index either.
    const isLenient = metadata.deletionTimestamp !== undefined || onlyFinalizersWent(stored.object, next);
    const { entry, violations } = entryBy(rules, object, name);
    const indexes = ratchetIndexes(before.violations, isLenient ? [] : violations);
    if (indexes.made.length > 0) throw invalid(indexes.made);
    if (slice.isOver) await slice.renew();
    const comparing = this.#commits.keyChanges(rules, before.entry, gone ? undefined : entry, slice);
    const keys = comparing instanceof Promise ? await comparing : comparing;
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
      ...this.#indexed(rules, object, entry, name, isLenient ? bytes : undefined),
      before: { bytes: stored.bytes, ...this.#indexed(rules, stored.object, before.entry, name, stored.bytes) },
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

  /**
   * What the indexes of this process show of an object, in the hub.
   * @param entry of the object as it is computed
   * @param stored the same as it is stored: it may be one that cannot be converted, which is shown without content
   */
  #indexed(
    rules: Rules,
    object: ExtensionObject,
    entry: IndexEntry,
    name: string,
    stored?: Buffer,
  ): { readonly object: ExtensionObject; readonly entry: IndexEntry } {
    const { versions, apiVersion: hub } = this.#model;
    if (!versions || !rules.hasOtherHub) return { object, entry };
    const inHub = stored ? this.#model.parse(stored, name) : versions.convert(object, hub);
    return { object: inHub, entry: lenientEntry(rules, inHub, name).entry };
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

  /**
   * In memory that may be kept (`bytes.ts`).
   * @param stored what the object takes the place of: one that is larger than allowed may become smaller
   * @throws PayloadTooLarge, Invalid with the keyword `notYetStorable`, neither when a deletion is marked; InternalError
   */
  #bytesOf(rules: Rules, object: ExtensionObject, stored?: Current): MaybePromise<Buffer> {
    const { versions } = this.#model;
    const isMarked = stored && object.metadata.deletionTimestamp !== stored.object.metadata.deletionTimestamp;
    const text =
      versions && rules.storage !== rules.apiVersion
        ? this.#storedText(versions, rules, object, stored, isMarked)
        : JSON.stringify(object);
    return andThen(text, (text) => {
      const bytes = encoded(text);
      const limit = this.#model.hooks?.objectBytes ?? this.#dependencies.limits.objectBytes;
      const { length: size } = bytes;
      if (size > limit && !isMarked && size > (stored?.bytes.length ?? 0))
        throw new KindredError('PayloadTooLarge', texts.large, { params: { size, limit } });
      return bytes;
    });
  }

  /**
   * The object in the version in which objects are stored. One that got content that this version cannot say while a rollback
   * began is stored in the hub, and stays there: the rewrite finds it, and the rollback is refused for it.
   * @throws Invalid, InternalError
   */
  async #storedText(
    versions: Versions,
    rules: Rules,
    object: ExtensionObject,
    stored: Current | undefined,
    isMarked = false,
  ): Promise<string> {
    const isInHub = stored && versions.isIn(stored.bytes, rules.apiVersion);
    if (isMarked && !isInHub) return versions.text(copyOf(object), rules.storage);
    const { patch } = this.#dependencies.limits;
    const { text, lost } = inStorage(versions, rules, object, patch);
    if (lost.length === 0) return text;
    const version = versionOf(rules.storage);
    const lossAt = (pointer: string) => violation(pointer, 'notYetStorable', texts.notYetStorable, { version });
    const losses = lost.map(lossAt);
    // The cache keeps what was stored before a rewrite.
    const [row] = isInHub ? await this.#dependencies.store.get(this.#memory.number, [stored.id]) : [];
    const stays = row !== undefined && versions.isIn(asBuffer(row.bytes), rules.apiVersion);
    if (isMarked) return stays ? JSON.stringify(object) : text;
    const before = stays ? inStorage(versions, rules, stored!.object, patch).lost.map(lossAt) : [];
    const made = stays ? ratchetLosses(stored!.object, before, object, losses) : losses;
    if (made.length > 0) throw invalid(made);
    return JSON.stringify(object);
  }
}

/** The caller with the manager of the fields, for the audit log. */
function named({ caller, manager }: WriteOptions): Caller {
  return manager === undefined ? caller : { ...caller, manager };
}
