import { KindredError } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import type { IndexDefinition, IndexEntry } from '../model/index-entry.ts';
import type { ExtensionObject } from '../model/object.ts';
import type { Bound } from '../query/bind.ts';
import { matches } from '../query/match.ts';
import type { Change } from '../store/store.ts';
import type { Caller } from './access.ts';
import { ownBytes } from './bytes.ts';
import type { RegisteredModel } from './registered-model.ts';
import type { Versions } from './versions.ts';

const texts = {
  unreadable: localized('A change of {kind} is in a version that its declaration lacks'),
};

/** What the author of a change already knows of it, so that applying it parses nothing. */
export interface KnownChange {
  readonly object: ExtensionObject;
  readonly entry: IndexEntry;
  readonly before?: { readonly bytes: Buffer; readonly object: ExtensionObject; readonly entry: IndexEntry };
  readonly caller: Caller;
  /** The declared indexes in whose order the entries are. */
  readonly layout: readonly IndexDefinition[];
}

/** One change after it was applied to memory. */
export class AppliedChange {
  readonly revision: number;
  readonly type: 'create' | 'update' | 'delete';
  readonly model: RegisteredModel;
  readonly id: number;
  readonly name: string;
  /** Milliseconds since the epoch at commit. */
  readonly time: number;
  /** Content after the change; with delete the final content. */
  readonly bytes: Buffer;
  readonly before: Buffer | undefined;
  /** Who made it; undefined for what another replica wrote. */
  readonly caller: Caller | undefined;
  /** Revision of the object before it; undefined where the memory does not know. */
  previous: number | undefined;
  #object: ExtensionObject | undefined;
  #objectBefore: ExtensionObject | undefined;
  #entry: IndexEntry | undefined;
  #entryBefore: IndexEntry | undefined;
  /** The declared indexes in whose order the entries are; others when the declaration was replaced. */
  #layout: readonly IndexDefinition[] | undefined;
  #view: Buffer | undefined;
  /** In versions of the model, by their `apiVersion`. */
  #inVersions: Map<string, Buffer> | undefined;

  constructor(change: Change, model: RegisteredModel, known?: KnownChange) {
    this.revision = change.revision;
    this.type = change.type;
    this.model = model;
    this.id = change.id;
    this.name = change.name;
    this.time = change.time;
    this.bytes = ownBytes(change.bytes);
    this.before = change.before && ownBytes(change.before);
    this.caller = known?.caller;
    this.#object = known?.object;
    this.#entry = known?.entry;
    this.#objectBefore = known?.before?.object;
    this.#entryBefore = known?.before?.entry;
    this.#layout = known?.layout;
  }

  /**
   * For whoever has it from the log, before anything of it is shown or compared.
   * @throws Expired when it is older than the declaration that serves, and in a version which that lacks
   */
  assertReadable(): void {
    const { model, revision, bytes, before } = this;
    if (revision > model.since || (model.reads(bytes) && (!before || model.reads(before)))) return;
    throw new KindredError('Expired', texts.unreadable, { params: { kind: model.kind } });
  }

  /** Parsed once, shared by all readers: not to be changed. */
  object(): ExtensionObject {
    this.#object ??= this.model.parse(this.bytes, this.name);
    return this.#object;
  }

  /** Undefined with a creation. */
  objectBefore(): ExtensionObject | undefined {
    if (!this.#objectBefore && this.before) this.#objectBefore = this.model.parse(this.before, this.name);
    return this.#objectBefore;
  }

  /**
   * Content as watches show it, made once for all of them.
   * @param apiVersion of the model; by default the hub
   * @throws InternalError for an object that cannot be converted, unless it is being deleted
   */
  view(apiVersion = this.model.apiVersion): Buffer {
    const { versions } = this.model;
    if (versions) return this.#in(versions, apiVersion);
    this.#view ??= this.model.listView(this.model.current(this.bytes, this));
    return this.#view;
  }

  #in(versions: Versions, apiVersion: string): Buffer {
    const known = this.#inVersions?.get(apiVersion);
    if (known) return known;
    const bytes = versions.bytesToTell(this.model.current(this.bytes, this), apiVersion);
    if (bytes !== this.bytes) {
      this.#inVersions ??= new Map();
      this.#inVersions.set(apiVersion, bytes);
    }
    return bytes;
  }

  /** Gives up what can be made again from the bytes. */
  shrink(): void {
    this.#object = undefined;
    this.#entry = undefined;
    this.#objectBefore = undefined;
    this.#entryBefore = undefined;
    this.#inVersions = undefined;
  }

  entry(): IndexEntry {
    this.#follow();
    this.#entry ??= this.model.entryOf(this.object(), this.name);
    return this.#entry;
  }

  entryBefore(): IndexEntry | undefined {
    this.#follow();
    const object = this.objectBefore();
    if (!this.#entryBefore && object) this.#entryBefore = this.model.entryOf(object, this.name);
    return this.#entryBefore;
  }

  #follow(): void {
    const { indexes } = this.model.scheme;
    if (this.#layout === indexes) return;
    this.#layout = indexes;
    this.#entry = undefined;
    this.#entryBefore = undefined;
  }
}

/** The object of the change met the condition before, or meets it now: a list of such objects may show something else. */
export function concerns(bound: Bound, change: Pick<AppliedChange, 'type' | 'entry' | 'entryBefore'>): boolean {
  if (bound.op === 'all') return true;
  const before = change.entryBefore();
  if (before ? matches(bound, before) : change.type !== 'create') return true;
  return change.type !== 'delete' && matches(bound, change.entry());
}
