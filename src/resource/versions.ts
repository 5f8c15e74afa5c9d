/**
 * A model in several versions: what objects are in each of them. They are stored in one version, perhaps older ones in
 * another; their own `apiVersion` says in which (docs/guide/changing-models.md).
 */

import { KindredError, messageOf } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import { deepFreeze } from '../model/declaration.ts';
import { fullNameOf } from '../model/full-name.ts';
import { apiVersionOf } from '../model/gvk.ts';
import type { ExtensionObject } from '../model/object.ts';
import { isRecord } from '../model/object.ts';
import type { Scheme, Spoke } from '../model/scheme.ts';
import type { Content } from '../model/versions.ts';
import { readJson } from '../runtime/read-json.ts';

const texts = {
  failed: localized('{kind} "{name}" cannot be converted from {from} to {to}: {reason}'),
  notAnObject: localized('the conversion must return an object'),
};

/** Stored objects begin so. */
const head = '{"apiVersion":"';

interface Known {
  readonly scheme: Scheme;
  readonly version: string;
  readonly apiVersion: string;
  /** Undefined for the hub. */
  readonly spoke: Spoke | undefined;
  /** How the bytes of an object in this version begin. */
  readonly start: Buffer;
}

export class Versions {
  readonly #hub: Known;
  readonly #byApiVersion: ReadonlyMap<string, Known>;

  /** Undefined for a model with a single version. */
  static of(scheme: Scheme): Versions | undefined {
    return scheme.spokes.length > 0 ? new Versions(scheme) : undefined;
  }

  private constructor(scheme: Scheme) {
    const known = (one: Scheme, spoke?: Spoke): Known => {
      const { version } = one.groupVersionKind;
      const apiVersion = apiVersionOf(one.groupVersionKind);
      return { scheme: one, version, apiVersion, spoke, start: Buffer.from(`${head}${apiVersion}"`) };
    };
    this.#hub = known(scheme);
    const all = [this.#hub, ...scheme.spokes.map((spoke) => known(spoke.scheme, spoke))];
    this.#byApiVersion = new Map(all.map((one) => [one.apiVersion, one]));
  }

  /** Whether objects of this version can be converted. */
  has(apiVersion: string): boolean {
    return this.#byApiVersion.has(apiVersion);
  }

  /** Whether these are the bytes of an object in this version. */
  isIn(bytes: Buffer, apiVersion: string): boolean {
    const start = this.#byApiVersion.get(apiVersion)?.start;
    return start !== undefined && start.compare(bytes, 0, start.length) === 0;
  }

  /**
   * The object in another version, sharing nothing with the one that is given, which is frozen. An object of an unknown version
   * counts as one of the hub.
   * @throws InternalError that names the object
   */
  convert(object: ExtensionObject, apiVersion: string): ExtensionObject {
    return readJson(this.text(object, apiVersion)) as ExtensionObject;
  }

  /** As `convert`. */
  text(object: ExtensionObject, apiVersion: string): string {
    const from = this.#byApiVersion.get(object.apiVersion) ?? this.#hub;
    const to = this.#byApiVersion.get(apiVersion) ?? this.#hub;
    if (from === to) return JSON.stringify(object);
    const { apiVersion: _apiVersion, kind, metadata, ...members } = object;
    try {
      let content: Content = deepFreeze(members);
      if (from.spoke) content = checked(from.spoke.toHub(content));
      if (to.spoke) content = checked(to.spoke.fromHub(deepFreeze(content)));
      return JSON.stringify({ apiVersion: to.apiVersion, kind, metadata, ...content });
    } catch (error) {
      const name = fullNameOf(metadata);
      const params = { kind, name, from: from.version, to: to.version, reason: messageOf(error) };
      throw new KindredError('InternalError', texts.failed, { params, cause: error });
    }
  }

  /** Bytes of an object in a version: those that are given when they are in it. @throws as `convert` */
  bytes(bytes: Buffer, apiVersion: string): Buffer {
    if (this.isIn(bytes, apiVersion)) return bytes;
    const object = readJson(bytes.toString()) as ExtensionObject;
    return object.apiVersion === apiVersion ? bytes : Buffer.from(this.text(object, apiVersion));
  }

  /** As `bytes`; without content when the object cannot be converted and is being deleted: that it goes can be told. */
  bytesToTell(bytes: Buffer, apiVersion: string): Buffer {
    try {
      return this.bytes(bytes, apiVersion);
    } catch (error) {
      const { kind, metadata } = readJson(bytes.toString()) as ExtensionObject;
      if (metadata.deletionTimestamp === undefined) throw error;
      return Buffer.from(JSON.stringify({ apiVersion, kind, metadata }));
    }
  }
}

function checked(content: unknown): Content {
  if (!isRecord(content) || content instanceof Promise) throw new TypeError(texts.notAnObject.en);
  return content;
}
