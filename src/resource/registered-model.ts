/** A model as it is registered: its scheme and hooks, and with them how the bytes of its objects are read and shown. */

import { partsOf } from '../model/full-name.ts';
import type { IndexEntry } from '../model/index-entry.ts';
import type { ExtensionObject, Metadata } from '../model/object.ts';
import type { Scheme } from '../model/scheme.ts';
import { storedEntry } from './entries.ts';
import type { ModelHooks, Projection } from './hooks.ts';
import type { Rules } from './rules.ts';
import { ownRules } from './rules.ts';
import { uidOf } from './uid.ts';

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
  readonly apiVersion: string;
  readonly kind: string;
  readonly hooks: ModelHooks | undefined;
  /** Others when another contract becomes active. */
  rules: Rules;

  constructor(scheme: Scheme, hooks?: ModelHooks) {
    this.#scheme = scheme;
    this.apiVersion = scheme.apiVersion;
    this.kind = scheme.groupVersionKind.kind;
    this.hooks = hooks;
    this.rules = ownRules(scheme);
  }

  /** The declaration that serves. */
  get scheme(): Scheme {
    return this.#scheme;
  }

  /** Another declaration of the same version serves from now on. */
  replace(scheme: Scheme, rules: Rules): void {
    this.#scheme = scheme;
    this.rules = rules;
  }

  /** Stored bytes; an empty object of this name when they are no JSON. */
  parse(bytes: Buffer, name: string): ExtensionObject {
    try {
      return JSON.parse(bytes.toString()) as ExtensionObject;
    } catch {
      const { apiVersion, kind } = this;
      return { apiVersion, kind, metadata: { ...partsOf(name), version: 0 } };
    }
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
    return Buffer.from(JSON.stringify(this.hooks.show(JSON.parse(bytes.toString()) as ExtensionObject, 'list')));
  }
}
