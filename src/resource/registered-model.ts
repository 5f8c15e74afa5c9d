/** A model as it is registered: its scheme and hooks, and with them how the bytes of its objects are read and shown. */

import { partsOf } from '../model/full-name.ts';
import type { IndexEntry } from '../model/index-entry.ts';
import type { ExtensionObject, Metadata } from '../model/object.ts';
import type { Scheme } from '../model/scheme.ts';
import { readJson, readLargeJson } from '../runtime/read-json.ts';
import type { TimeSlice } from '../runtime/time-slice.ts';
import type { MaybePromise } from '../store/store.ts';
import { storedEntry } from './entries.ts';
import type { ModelHooks, Projection } from './hooks.ts';
import type { Rules } from './rules.ts';
import { ownRules } from './rules.ts';
import { uidOf } from './uid.ts';
import { Versions } from './versions.ts';

/** An object as it is stored and sent. */
export interface Stored {
  /** Revision of its creation: the identity of this incarnation of the name. */
  readonly id: number;
  /** Revision of its last change. */
  readonly revision: number;
  /** The full name, `<namespace>/<name>` in a namespaced model. */
  readonly name: string;
  /** JSON, UTF-8. */
  readonly bytes: Buffer;
}

/** A model that is registered again is another one, unless its declaration is replaced. */
export class RegisteredModel {
  #scheme: Scheme;
  #rules: Rules;
  readonly #onRules: () => void;
  readonly apiVersion: string;
  readonly kind: string;
  readonly hooks: ModelHooks | undefined;
  /** Undefined: the model has a single version. */
  versions: Versions | undefined;
  /** Revision after which objects are written by the declaration that serves: older ones may be of another one. */
  since = Number.POSITIVE_INFINITY;

  /** @param onRules called when its objects are written by others */
  constructor(scheme: Scheme, hooks?: ModelHooks, onRules: () => void = () => {}) {
    this.#scheme = scheme;
    this.#onRules = onRules;
    this.apiVersion = scheme.apiVersion;
    this.kind = scheme.groupVersionKind.kind;
    this.hooks = hooks;
    this.versions = Versions.of(scheme);
    this.#rules = ownRules(scheme);
  }

  /** Others when another contract becomes active. */
  get rules(): Rules {
    return this.#rules;
  }

  set rules(rules: Rules) {
    this.#rules = rules;
    this.#onRules();
  }

  /** The declaration that serves. */
  get scheme(): Scheme {
    return this.#scheme;
  }

  /** Another declaration of the same version serves from now on. */
  replace(scheme: Scheme, rules: Rules): void {
    this.#scheme = scheme;
    this.versions = Versions.of(scheme);
    this.rules = rules;
    this.since = Number.POSITIVE_INFINITY;
  }

  /**
   * A stored object, in the hub; an empty object of this name when its bytes are no JSON, and one without content when it cannot be
   * converted.
   */
  parse(bytes: Buffer, name: string): ExtensionObject {
    return this.parseText(bytes.toString(), name);
  }

  /** As `parse`. */
  parseText(text: string, name: string): ExtensionObject {
    return this.#object(readStored(text), name);
  }

  #object(stored: ExtensionObject | undefined, name: string): ExtensionObject {
    if (stored) return this.#scheme.conform(this.versions ? this.#converted(this.versions, stored) : stored);
    const { apiVersion, kind } = this;
    return { apiVersion, kind, metadata: { ...partsOf(name), version: 0 } };
  }

  /** Bytes of a stored object as the model shows it: those that are given unless they are older than the schema of a definition. */
  current(bytes: Buffer, { name, revision }: Pick<Stored, 'name' | 'revision'>): Buffer {
    if (!this.#scheme.definition || revision > this.since) return bytes;
    return Buffer.from(JSON.stringify(this.parse(bytes, name)));
  }

  /** Every stored object is shown by its bytes as they are, to readers of this kind. */
  isShownAsStored(withValues: boolean): boolean {
    if (this.#scheme.definition || this.versions) return false;
    return !this.hooks?.show || (withValues && this.hooks.hidesValues === true);
  }

  /** Whether the declaration can read what is stored in this version, an `apiVersion`: a definition reads every one. */
  has(apiVersion: string): boolean {
    if (apiVersion === this.apiVersion || this.#scheme.definition) return true;
    return this.versions?.has(apiVersion) === true;
  }

  /** As `has`, of the bytes of an object; true when they are no JSON. */
  reads(bytes: Buffer): boolean {
    const apiVersion = apiVersionIn(bytes);
    return apiVersion === undefined || this.has(apiVersion);
  }

  #converted(versions: Versions, stored: ExtensionObject): ExtensionObject {
    if (stored.apiVersion === this.apiVersion || !versions.has(stored.apiVersion)) return stored;
    try {
      return versions.convert(stored, this.apiVersion);
    } catch {
      const { apiVersion, kind, metadata } = stored;
      return { apiVersion, kind, metadata };
    }
  }

  /** As `parse`, in a version that the model may have. @throws InternalError for an object that cannot be converted */
  parseIn(apiVersion: string, bytes: Buffer, name: string): ExtensionObject {
    return this.objectIn(apiVersion, readStored(bytes.toString()), name);
  }

  /** As `parseIn`. @param stored as it was read, undefined when its bytes are no JSON */
  objectIn(apiVersion: string, stored: ExtensionObject | undefined, name: string): ExtensionObject {
    if (!this.versions || !stored) return this.#object(stored, name);
    const object =
      stored.apiVersion === apiVersion || !this.versions.has(stored.apiVersion)
        ? stored
        : this.versions.convert(stored, apiVersion);
    return apiVersion === this.apiVersion ? this.#scheme.conform(object) : object;
  }

  /** Identity of a stored object, another one once its name was used again. */
  uidOf({ id, name }: Pick<Stored, 'id' | 'name'>, { creationTimestamp }: Metadata): string {
    const { group, kind } = this.scheme.groupVersionKind;
    return uidOf({ group, kind, fullName: name, creationTimestamp, id });
  }

  /** The entry of a stored object; where an index function fails on it, that index has no value for it. */
  entryOf(object: ExtensionObject, name: string, scheme = this.#scheme): IndexEntry {
    return storedEntry(scheme, object, name).entry;
  }

  /** As the built-in model shows it: a Secret in a list without its values, for example. */
  view(stored: Stored, projection: Projection, object?: ExtensionObject): Stored {
    if (!this.hooks?.show) return stored;
    const shown = this.hooks.show(object ?? this.parse(stored.bytes, stored.name), projection);
    return { ...stored, bytes: Buffer.from(JSON.stringify(shown)) };
  }

  /** One object's bytes as lists, exports and watches show them. */
  listView(bytes: Buffer): Buffer {
    if (!this.hooks?.show) return bytes;
    return Buffer.from(JSON.stringify(this.hooks.show(readJson(bytes.toString()) as ExtensionObject, 'list')));
  }
}

/** Bytes from which an object is read in several turns. */
const largeObject = 128 * 1024;

/** Undefined for bytes that are no JSON. */
export function readInTurns(bytes: Buffer, slice: TimeSlice): MaybePromise<ExtensionObject | undefined> {
  const text = bytes.toString();
  if (bytes.length < largeObject) return readStored(text);
  return slice.run(readLargeJson(text)).then(
    (read) => read as ExtensionObject,
    () => undefined,
  );
}

/** Undefined for bytes that are no JSON. */
function apiVersionIn(bytes: Buffer): string | undefined {
  const start = bytes.toString('latin1', 0, 400);
  return /^\{"apiVersion":"([^"]+)"/.exec(start)?.[1] ?? readStored(bytes.toString())?.apiVersion;
}

function readStored(text: string): ExtensionObject | undefined {
  try {
    return readJson(text) as ExtensionObject;
  } catch {
    return undefined;
  }
}
