/** Stored objects against a model that is to take the place of today's (docs/guide/changing-models.md). */
import type { Violation } from '../errors.ts';
import { messageOf, Violations, violation } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import { fullNameOf, partsOf } from '../model/full-name.ts';
import type { IndexEntry } from '../model/index-entry.ts';
import type { ExtensionObject } from '../model/object.ts';
import type { Scheme } from '../model/scheme.ts';
import type { Validator } from '../model/validator.ts';
import { readJson } from '../runtime/read-json.ts';
import type { UniqueKey } from './claims.ts';
import { claimOf, shownValue, uniqueKeysOf } from './claims.ts';
import { lenientEntry } from './entries.ts';
import { migrated } from './migrated.ts';
import { Versions } from './versions.ts';

/** Why stored objects would be invalid. */
export interface Offence {
  /** More than one when they share a unique value. */
  readonly names: readonly string[];
  /** Of the value; with keyword `unique` the name of the index. */
  readonly pointer: string;
  readonly keyword: string;
  readonly message: string;
}

/** What the model that is active by now refuses already, which is no reason to refuse the next one. */
export interface ActiveModel {
  readonly validator: Validator;
  /** Whether an index gives an object what it gives it now. */
  readonly keepsIndex: (name: string) => boolean;
  /** As `keepsIndex`, of all stored objects: objects of another hub may come to share a value. */
  readonly keepsKeys: (name: string) => boolean;
  /** Whether it, too, converts objects of this version, an `apiVersion`, to the hub of the next one. */
  readonly converts: (version: string) => boolean;
}

interface Invalid {
  /** The active model accepts it. */
  readonly isNew: boolean;
  readonly offences: readonly Offence[];
}

/** Offences that are kept; objects are counted beyond. */
const keptOffences = 1_000;

export class ObjectCheck {
  readonly #scheme: Scheme;
  readonly #versions: Versions | undefined;
  readonly #active: ActiveModel | undefined;
  readonly #isLacking: (version: string) => boolean;
  readonly #unreadable = new Set<string>();
  /** By full name, as everything here that has a name. */
  readonly #invalid = new Map<string, Invalid>();
  /** Names of those that share a value, by whether the active model lets them. */
  #shared = { known: new Set<string>(), added: new Set<string>() };
  #duplicates: (Offence & { readonly isNew: boolean })[] = [];
  #kept = 0;
  #objects = 0;
  #incomplete = 0;
  #migrated = 0;

  /**
   * @param active undefined: everything that the model refuses counts
   * @param isLacking of a version, an `apiVersion`: the active model reads objects in it, and this one does not
   */
  constructor(scheme: Scheme, active?: ActiveModel, isLacking: (version: string) => boolean = () => false) {
    this.#scheme = scheme;
    this.#versions = Versions.of(scheme);
    this.#active = active;
    this.#isLacking = isLacking;
  }

  /** Objects that nobody could read: they are stored in a version that is lacking. */
  get unreadable(): number {
    return this.#unreadable.size;
  }

  get objects(): number {
    return this.#objects;
  }

  /** Objects that lack what has a default: the next write of each sets it. */
  get incomplete(): number {
    return this.#incomplete;
  }

  /** Objects that `evolution.migrate` of the declaration changes. */
  get migrated(): number {
    return this.#migrated;
  }

  /** Objects that would become invalid. */
  get failing(): number {
    const names = new Set(this.#shared.added);
    for (const [name, { isNew }] of this.#invalid) if (isNew) names.add(name);
    return names.size;
  }

  /** Objects that the model refuses, those that the active one refuses too among them. */
  get invalid(): number {
    return this.#shared.added.union(this.#shared.known).union(this.#invalid).size;
  }

  /** The first of them. @param isNew only of objects that would become invalid */
  offences(isNew = false): Offence[] {
    const objects = [...this.#invalid.values()].filter((one) => one.isNew || !isNew);
    const shared = this.#duplicates.filter((one) => one.isNew || !isNew);
    return [...objects.flatMap(({ offences }) => offences), ...shared.map(({ isNew: _isNew, ...offence }) => offence)];
  }

  /** The keys of an object, and what is wrong with it. @param text of the object */
  addText(text: string): IndexEntry {
    const { name, object, problem, entry, violations } = this.#read(text);
    if (problem === undefined) this.add(name, object, violations);
    else this.addUnconverted(name, object.apiVersion, problem);
    return entry;
  }

  /** The keys of an object that was added. */
  entryOf(text: string): IndexEntry {
    return this.#read(text).entry;
  }

  /** One that cannot be had in the hub, and why. @param version in which it is stored, as `apiVersion` */
  addUnconverted(name: string, version: string, message: string): void {
    this.#objects++;
    this.remove(name);
    this.#keep(name, !this.#active?.converts(version), [violation('', 'conversion', { en: message, zh: message })]);
  }

  /** The newer state of an object that may have been added before. */
  replace(text: string): void {
    const before = this.#objects;
    this.addText(text);
    this.#objects = before;
  }

  /**
   * @param stored in the hub, where it can be converted
   * @param refusedOf what the indexes refuse of it
   */
  add(name: string, stored: ExtensionObject, refusedOf: readonly Violation[]): void {
    this.#objects++;
    this.remove(name);
    const { validator } = this.#scheme;
    let next: ExtensionObject | undefined;
    try {
      next = this.#migratedOf(name, stored);
    } catch (error) {
      const message = messageOf(error);
      this.#keep(name, true, [violation('', 'migrate', { en: message, zh: message })]);
      return;
    }
    const object = next ?? stored;
    const refused = next ? lenientEntry(this.#scheme, next, name).violations : refusedOf;
    const misplaced = [...placeOf(this.#scheme, object), ...this.#versionOf(object)];
    const found = [...misplaced, ...(validator.validate(object).count === 0 ? [] : this.#withDefaults(object))];
    if (this.#isLacking(object.apiVersion)) this.#unreadable.add(name);
    if (found.length === 0 && refused.length === 0) return;
    const known = this.#active && found.length > 0 ? this.#active.validator.validate(object).listed : [];
    const isKnown = (one: Violation) =>
      known.some(
        ({ pointer, keyword, params }) =>
          pointer === one.pointer && keyword === one.keyword && ruleIn(params) === ruleIn(one.params),
      );
    const isNew =
      !found.every(isKnown) ||
      !refused.every(({ params }) => this.#active?.keepsIndex(String((params as { index?: unknown }).index)));
    this.#keep(name, isNew, [...found, ...refused]);
  }

  #keep(name: string, isNew: boolean, found: readonly Violation[]): void {
    const all = found.map(({ pointer, keyword, message }) => ({ names: [name], pointer, keyword, message }));
    const offences = this.#kept < keptOffences ? all : [];
    this.#kept += offences.length;
    this.#invalid.set(name, { isNew, offences });
  }

  /** What the declaration makes of an object that it can read. @throws what its function throws */
  #migratedOf(name: string, object: ExtensionObject): ExtensionObject | undefined {
    if (!this.#scheme.migrate || object.apiVersion !== this.#scheme.apiVersion) return undefined;
    const next = migrated(this.#scheme, object);
    if (next) this.#migrated++;
    return next && { ...next, metadata: { ...next.metadata, ...partsOf(name) } };
  }

  /** The object is gone. */
  remove(name: string): void {
    this.#invalid.delete(name);
    this.#unreadable.delete(name);
  }

  /** The keys that several objects have, in place of those that were added. */
  setDuplicates(duplicates: readonly { index: string; key: string; names: readonly string[] }[]): void {
    this.#kept -= this.#duplicates.length;
    this.#shared = { known: new Set(), added: new Set() };
    this.#duplicates = [];
    for (const { index, key, names } of duplicates) this.addDuplicate(index, key, names);
  }

  /** Several objects have one key of a unique index. @param key as the index shows it */
  addDuplicate(index: string, key: string, names: readonly string[]): void {
    const isNew = !this.#active?.keepsKeys(index);
    for (const name of names) this.#shared[isNew ? 'added' : 'known'].add(name);
    if (this.#kept >= keptOffences) return;
    this.#kept++;
    const message = `${names.length === 2 ? 'both' : `all ${names.length}`} have ${key}`;
    this.#duplicates.push({ names: names.slice(0, keptNames), pointer: index, keyword: 'unique', message, isNew });
  }

  /** An object in the hub; as it is stored when it cannot be converted, and why. */
  #read(text: string) {
    let object = readJson(text) as ExtensionObject;
    const name = fullNameOf(object.metadata);
    let problem: string | undefined;
    try {
      if (this.#versions?.has(object.apiVersion)) object = this.#versions.convert(object, this.#scheme.apiVersion);
    } catch (error) {
      problem = messageOf(error);
    }
    return { name, object, problem, ...lenientEntry(this.#scheme, object, name) };
  }

  /** Of an object whose version no conversion leads from. A declaration of one version reads what is there as its own. */
  #versionOf({ apiVersion: version }: ExtensionObject): Violation[] {
    const isKnown = this.#versions ? this.#versions.has(version) : !this.#isLacking(version);
    return isKnown ? [] : [unknownVersion(version)];
  }

  /** What is wrong after the next write, which sets defaults. */
  #withDefaults(given: ExtensionObject): readonly Violation[] {
    const { validator } = this.#scheme;
    const object = readJson(JSON.stringify(given)) as ExtensionObject;
    validator.applyDefaults(object);
    const found = validator.validate(object, new Violations());
    if (found.count === 0) this.#incomplete++;
    return found.listed;
  }
}

/** Of an object that is stored in a version from which the declaration does not convert. */
export function unknownVersion(version: string): Violation {
  return violation('/apiVersion', 'version', texts.unknownVersion, { version });
}

/** Several rules can stand at one place. */
function ruleIn(params: object | undefined): unknown {
  return (params as { rule?: unknown } | undefined)?.rule;
}

/** Of an object that was stored when the model had another scope. */
function placeOf({ isNamespaced }: Scheme, { metadata }: ExtensionObject): Violation[] {
  if ((metadata.namespace !== undefined) === isNamespaced) return [];
  return [violation('/metadata/namespace', 'scope', isNamespaced ? texts.without : texts.within)];
}

const texts = {
  unknownVersion: localized('is stored as {version}, which the declaration lacks'),
  without: localized('is missing: the model is namespaced by now'),
  within: localized('is there: the model is cluster-scoped by now'),
};

/** Names of one offence that are kept. */
const keptNames = 10;

/** Texts of keys that came twice, in 8 bytes a key: what comes twice may be a coincidence, so its objects are looked at again. */
export class SeenKeys {
  #table: Uint32Array;
  #count = 0;

  /** @param expected keys, about */
  constructor(expected = 512) {
    this.#table = new Uint32Array(4 * 2 ** Math.ceil(Math.log2(Math.max(512, expected))));
  }

  /** True when a hash like this one was added before. @param hash at least 8 bytes, evenly spread */
  add(hash: Uint8Array): boolean {
    const view = new DataView(hash.buffer, hash.byteOffset, 8);
    // 0 is an empty place.
    const [high, low] = [view.getUint32(0) || 1, view.getUint32(4)];
    if (2 * this.#count >= this.#table.length / 2) this.#grow();
    if (this.#put(high, low)) return true;
    this.#count++;
    return false;
  }

  #put(high: number, low: number): boolean {
    const table = this.#table;
    const mask = table.length / 2 - 1;
    for (let at = low & mask; ; at = (at + 1) & mask) {
      if (table[2 * at] === 0) {
        table[2 * at] = high;
        table[2 * at + 1] = low;
        return false;
      }
      if (table[2 * at] === high && table[2 * at + 1] === low) return true;
    }
  }

  #grow(): void {
    const before = this.#table;
    this.#table = new Uint32Array(2 * before.length);
    for (let at = 0; at < before.length; at += 2) if (before[at] !== 0) this.#put(before[at]!, before[at + 1]!);
  }
}

/** Stored objects of one model, checked against another declaration of it. */
export interface ObjectReport {
  readonly objects: number;
  readonly failing: number;
  /** Objects that get a default with their next write. */
  readonly incomplete: number;
  /** Objects that `evolution.migrate` changes. */
  readonly migrated: number;
  readonly offences: readonly Offence[];
}

/**
 * Checks objects as they are exported. What may share a unique value is read a second time.
 * @param read every object as one line of JSON
 * @param expected number of objects, about
 */
export async function checkObjects(
  scheme: Scheme,
  read: () => AsyncIterable<string>,
  expected: number,
  onProgress: (objects: number) => void,
): Promise<ObjectReport> {
  const uniques = scheme.indexes.filter(({ unique }) => unique);
  const check = new ObjectCheck(scheme);
  const seen = new SeenKeys(expected * uniques.length);
  const suspects = new Map<string, { key: UniqueKey; names: string[] }>();
  for await (const line of read()) {
    const entry = check.addText(line);
    for (const key of uniqueKeysOf(uniques, scheme.indexes, entry)) {
      if (seen.add(claimOf(key).hash)) suspects.set(key.text, { key, names: [] });
    }
    if (check.objects % progressPortion === 0) onProgress(check.objects);
  }
  if (suspects.size > 0) {
    for await (const line of read()) {
      const entry = check.entryOf(line);
      for (const { text } of uniqueKeysOf(uniques, scheme.indexes, entry)) suspects.get(text)?.names.push(entry.name);
    }
  }
  for (const { key, names } of suspects.values()) {
    if (names.length > 1) check.addDuplicate(key.definition.name, JSON.stringify(shownValue(key)), names);
  }
  const { objects, failing, incomplete, migrated } = check;
  return { objects, failing, incomplete, migrated, offences: check.offences() };
}

const progressPortion = 1_000;
