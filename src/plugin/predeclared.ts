/**
 * Objects that a plugin brings along as YAML (specification, "Pre-declared objects"; docs/reference/plugins.md). They carry a
 * label with the plugin's name: what carries it and is no longer declared was declared by an earlier version.
 */

import { readdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Document } from 'yaml';
import type { Fence } from '../controller/lease.ts';
import type { Parameters, Text, Violation } from '../errors.ts';
import {
  countedViolations,
  formatText,
  ifFound,
  isNotFound,
  isPassing,
  KindredError,
  messageOf,
  unescapeToken,
  Violations,
} from '../errors.ts';
import { localized } from '../locales/localized.ts';
import { fullNameOf, partsOf } from '../model/full-name.ts';
import { checkMetadata, checkReservedKeys } from '../model/metadata.ts';
import type { ExtensionObject, Metadata } from '../model/object.ts';
import type { SchemeRegistry } from '../model/registry.ts';
import type { Scheme } from '../model/scheme.ts';
import { Queries } from '../query/query.ts';
import { system } from '../resource/access.ts';
import type { AppliedChange } from '../resource/change.ts';
import { lenientEntry } from '../resource/entries.ts';
import { checkUpdate, ratchetIndexes } from '../resource/ratchet.ts';
import type { ResourceRegistry } from '../resource/registry.ts';
import type { ModelResource } from '../resource/resource.ts';
import { Versions } from '../resource/versions.ts';
import type { Answer, ApplyOptions, WriteOptions } from '../resource/write.ts';
import type { Logger } from '../runtime/logger.ts';
import { readJson } from '../runtime/read-json.ts';
import { TimeSlice } from '../runtime/time-slice.ts';
import { aliasLimit } from '../runtime/yaml.ts';

/** For what few plugins need. */
const require = createRequire(import.meta.url);

/** Folders below the package's root. */
const folders = ['extensions', 'src/main/resources/extensions'];

const texts = {
  notAMap: localized('expected an object'),
  apiVersion: localized('expected "apiVersion" (or the older "groupVersion") of the form <group>/<version>'),
  bothVersions: localized('"apiVersion" and "groupVersion" differ'),
  kind: localized('expected "kind", the name of a model'),
  name: localized('expected "metadata.name"'),
  twice: localized('{kind} "{name}" is declared twice, first at {first}'),
  alias: localized('the alias *{name} has no anchor before it'),
  number: localized('the number {value} cannot be kept exactly'),
  model: localized('the model {kind} of {apiVersion} is not registered'),
  other: localized('{kind} "{name}" belongs to the plugin "{other}", which declares it too'),
} satisfies Record<string, Text>;

/** One document. */
export interface Declared {
  /** Path below the package's root. */
  readonly file: string;
  /** Of its first member. */
  readonly line: number;
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  /** As it stands in the file, with `apiVersion`. */
  readonly object: ExtensionObject;
  /** Line of the member that an RFC 6901 pointer leads to, or of its nearest parent. */
  lineOf(pointer: string): number;
}

/** Every document below a package's root, in the order of the files' names. @throws InvalidPlugin with file, line and reason */
export async function readDeclared(root: string): Promise<Declared[]> {
  const all: Declared[] = [];
  for (const folder of folders) {
    const names = await readdir(join(root, folder)).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return [];
      throw error;
    });
    for (const name of names.filter((one) => /\.ya?ml$/.test(one)).sort()) {
      all.push(...parseDeclared(await readFile(join(root, folder, name), 'utf8'), `${folder}/${name}`));
    }
  }
  const first = new Map<string, Declared>();
  for (const one of all) {
    const same = first.get(keyOf(one, one.name));
    if (same)
      refuse(one, one.lineOf('/metadata/name'), texts.twice, {
        kind: one.kind,
        name: one.name,
        first: `${same.file}:${same.line}`,
      });
    first.set(keyOf(one, one.name), one);
  }
  return all;
}

/** The same for an object in all versions of its model. */
function keyOf({ apiVersion, kind }: Pick<Declared, 'apiVersion' | 'kind'>, name: string): string {
  return `${groupAndVersion(apiVersion).group} ${kind} ${name}`;
}

function groupAndVersion(apiVersion: string): { group: string; version: string } {
  const [version = '', group = ''] = apiVersion.split('/').reverse();
  return { group, version };
}

/** Throws the error of one place in a file. */
function refuse({ file }: { readonly file: string }, line: number, text: Text, params: Parameters = {}): never {
  const at: Text = {
    en: `${file}:${line}: ${formatText(text, params, 'en')}`,
    zh: `${file}:${line}：${formatText(text, params, 'zh')}`,
  };
  throw new KindredError('InvalidPlugin', at, { line });
}

/** Throws the error of a whole document. */
function refuseAs(declared: Declared, error: unknown): never {
  const message = messageOf(error);
  return refuse(declared, declared.line, { en: message, zh: message });
}

/** @throws InvalidPlugin with file, line and reason */
export function parseDeclared(text: string, file: string): Declared[] {
  const { isMap, isScalar, LineCounter, parseAllDocuments } = require('yaml') as typeof import('yaml');
  const lines = new LineCounter();
  const documents = parseAllDocuments(text, { lineCounter: lines, prettyErrors: false, version: '1.2', merge: false });
  const declared: Declared[] = [];
  for (const document of Array.isArray(documents) ? documents : []) {
    const at = (offset: number | undefined) => lines.linePos(offset ?? 0).line;
    const problem = document.errors[0];
    if (problem) refuse({ file }, at(problem.pos[0]), { en: problem.message, zh: problem.message });
    const content = document.contents;
    // Nothing but comments, or nothing at all.
    if (content === null || (isScalar(content) && content.value === null)) continue;
    const line = at(content.range?.[0]);
    if (!isMap(content)) refuse({ file }, line, texts.notAMap);
    declared.push(declaration(document, file, line, at));
  }
  return declared;
}

function declaration(
  document: Document,
  file: string,
  line: number,
  at: (offset: number | undefined) => number,
): Declared {
  const lineOf = (pointer: string): number => {
    const path = pointer.split('/').slice(1).map(unescapeToken);
    for (; path.length > 0; path.pop()) {
      const node = document.getIn(path, true) as { range?: [number, number, number] } | undefined;
      if (node?.range) return at(node.range[0]);
    }
    return line;
  };
  const { visit } = require('yaml') as typeof import('yaml');
  visit(document, {
    Alias(_, alias) {
      if (!alias.resolve(document)) refuse({ file }, at(alias.range?.[0]), texts.alias, { name: alias.source });
    },
    Scalar(_, { value, source, range }) {
      if (typeof value !== 'number') return;
      const isExact = Number.isFinite(value) && (Number.isSafeInteger(value) || !/^[-+]?\d+$/.test(source ?? ''));
      if (!isExact) refuse({ file }, at(range?.[0]), texts.number, { value: source ?? String(value) });
    },
  });
  let content: Record<string, unknown>;
  try {
    content = document.toJS({ maxAliasCount: aliasLimit }) as Record<string, unknown>;
  } catch (error) {
    const { message } = error as Error;
    return refuse({ file }, line, { en: message, zh: message });
  }
  const { groupVersion, ...members } = content;
  if (groupVersion !== undefined && members.apiVersion !== undefined && groupVersion !== members.apiVersion) {
    refuse({ file }, lineOf('/groupVersion'), texts.bothVersions);
  }
  const apiVersion = members.apiVersion ?? groupVersion;
  if (typeof apiVersion !== 'string' || apiVersion === '')
    return refuse({ file }, lineOf('/apiVersion'), texts.apiVersion);
  const { kind, metadata } = members as { kind: unknown; metadata: Metadata | undefined };
  if (typeof kind !== 'string' || kind === '') return refuse({ file }, lineOf('/kind'), texts.kind);
  const name = metadata?.name;
  if (typeof name !== 'string' || name === '') return refuse({ file }, lineOf('/metadata/name'), texts.name);
  const object = { ...members, apiVersion, kind, metadata: metadata! };
  return { file, line, apiVersion, kind, name: fullNameOf(object.metadata), lineOf, object };
}

/** A document that its model accepts. */
interface Prepared {
  readonly declared: Declared;
  /** Of the hub. */
  readonly resource: ModelResource;
  /** What the document declares, in the hub: with the defaults of its version when that is another one. */
  readonly object: ExtensionObject;
}

export interface PreDeclaredDependencies {
  /** Name of the plugin. */
  readonly plugin: string;
  readonly documents: readonly Declared[];
  readonly registry: SchemeRegistry;
  readonly resources: ResourceRegistry;
  readonly reservedDomain: string;
  /** Whether a plugin of this name is there at all: what a plugin declared that is gone may be taken over. */
  readonly isPlugin: (name: string) => boolean;
  /** Told of the documents that wait until their model is finalized, each time that these may be others. */
  readonly onWaiting: (documents: readonly Declared[]) => void;
  readonly logger: Pick<Logger, 'warn'>;
}

/** A document that cannot be written now. */
interface Waiting {
  readonly one: Prepared;
  /** As `Rules.storage`: the version that cannot say what it declares. Undefined: one that is being deleted has its name. */
  readonly storage?: string;
}

/** Of a declared object, after it was written: what differs from it later, somebody changed. */
export interface WrittenState {
  readonly version: number;
  readonly generation: number;
}

/** Attempts at one object that others keep changing. */
const attempts = 20;

/** The pre-declared objects of one run of a plugin. */
export class PreDeclared {
  readonly #dependencies: PreDeclaredDependencies;
  readonly #labelKey: string;
  readonly #keepKey: string;
  /** By key, as the two below. */
  readonly #declared: ReadonlyMap<string, Declared>;
  readonly #waiting = new Map<string, Waiting>();
  readonly #written = new Map<string, WrittenState>();
  /** How to take back what `apply` did, in the order of doing. */
  #done: (() => Promise<unknown>)[] = [];
  #unsubscribe: (() => void) | undefined;

  constructor(dependencies: PreDeclaredDependencies) {
    this.#dependencies = dependencies;
    this.#labelKey = `plugin.${dependencies.reservedDomain}/plugin-name`;
    this.#keepKey = `${dependencies.reservedDomain}/do-not-overwrite`;
    this.#declared = new Map(dependencies.documents.map((one) => [keyOf(one, one.name), one]));
  }

  /**
   * Checks every document before the first is written, then creates, updates and removes. When one is refused after all,
   * what was done before it is undone. May be called again when the database was away.
   * @throws InvalidPlugin with file, line and reason; NotReady, UnknownOutcome
   */
  async apply(fence: Fence | undefined): Promise<void> {
    const { documents, resources } = this.#dependencies;
    const prepared: Prepared[] = [];
    for (const declared of documents) prepared.push(await this.#prepare(declared));
    if (documents.length > 0)
      this.#unsubscribe = resources.subscribe({ change: (change) => this.#changed(change, fence) });
    const options: WriteOptions = { caller: system, fence };
    try {
      for (const one of prepared) await this.#write(one, options);
      for (const { resource, object } of await this.#labelled()) {
        const isDeclared = this.#declared.has(keyOf(resource, fullNameOf(object.metadata)));
        if (!isDeclared) await this.#remove(resource, object, options);
      }
      this.#tellWaiting();
    } catch (error) {
      if (isPassing(error)) this.close();
      else await this.undo();
      throw error;
    }
  }

  /** Undefined where this run has not written the object. */
  writtenState(declared: Declared): WrittenState | undefined {
    return this.#written.get(keyOf(declared, declared.name));
  }

  /** Makes the objects what they were before `apply`. */
  async undo(): Promise<void> {
    this.close();
    this.#written.clear();
    for (const undo of this.#done.splice(0).reverse()) {
      await Promise.try(undo).catch((err: unknown) =>
        this.#dependencies.logger.warn({ err }, 'A bundled object could not be set back'),
      );
    }
  }

  /** Deletes what is to go with the plugin. */
  async remove(fence: Fence | undefined): Promise<void> {
    this.close();
    this.#done = [];
    for (const { resource, object } of await this.#labelled()) {
      await this.#remove(resource, object, { caller: system, fence });
    }
  }

  /** How many of the plugin's objects are marked for deletion and still there. */
  async leaving(): Promise<number> {
    return (await this.#labelled()).filter(({ object }) => object.metadata.deletionTimestamp !== undefined).length;
  }

  close(): void {
    this.#unsubscribe?.();
    this.#waiting.clear();
  }

  async #prepare(declared: Declared): Promise<Prepared> {
    const { registry, resources, reservedDomain, plugin } = this.#dependencies;
    const scheme = registry.fetch({ ...groupAndVersion(declared.apiVersion), kind: declared.kind });
    if (!scheme) {
      refuse(declared, declared.lineOf('/apiVersion'), texts.model, {
        kind: declared.kind,
        apiVersion: declared.apiVersion,
      });
    }
    const resource = resources.model(scheme);
    await resource.ready;
    const { [this.#labelKey]: owner, ...labels } = declared.object.metadata.labels ?? {};
    const metadata: Metadata = { ...declared.object.metadata, labels };
    if (owner !== undefined && owner !== plugin) metadata.labels = { ...labels, [this.#labelKey]: owner };
    const found = checkMetadata(metadata, scheme);
    checkReservedKeys(metadata, undefined, 'plugin', reservedDomain, found, scheme.naming);
    this.#refuseAll(declared, found.listed);
    const object = structuredClone({ ...declared.object, metadata });
    this.#refuseAll(declared, await this.#violations(resource, object, declared.name));
    if (resource.isHub) return { declared, resource, object: declared.object };
    const hub = resources.model(scheme.hub);
    const converted = this.#converted(declared, scheme, object);
    this.#refuseAll(declared, await this.#violations(hub, structuredClone(converted), declared.name));
    return { declared, resource: hub, object: converted };
  }

  /** In the hub. @throws InvalidPlugin */
  #converted(declared: Declared, { hub }: Scheme, object: ExtensionObject): ExtensionObject {
    try {
      return Versions.of(hub)!.convert(object, hub.apiVersion);
    } catch (error) {
      return refuseAs(declared, error);
    }
  }

  /** Those that the declared object makes: what is stored under its name may have some already. */
  async #violations(resource: ModelResource, object: ExtensionObject, name: string): Promise<readonly Violation[]> {
    const { scheme } = resource;
    const { validator } = scheme;
    validator.applyDefaults(object);
    const found = validator.validate(object, new Violations(countedViolations));
    const metadata = { ...object.metadata, creationTimestamp: new Date(0).toISOString(), version: 0 };
    const isIndexed = resource.isHub && found.count === 0;
    const indexes = isIndexed ? lenientEntry(scheme, { ...object, metadata }, name).violations : [];
    if (found.count === 0 && indexes.length === 0) return [];
    const stored = await read(resource, name);
    if (!stored) return [...found.listed, ...indexes];
    if (found.count === 0) return ratchetIndexes(lenientEntry(scheme, stored, name).violations, indexes).made;
    validator.applyDefaults(stored);
    const made = new Violations(countedViolations);
    await checkUpdate(validator, () => stored, object, made, new TimeSlice(() => performance.now()));
    return made.listed;
  }

  #refuseAll(declared: Declared, violations: readonly Violation[]): void {
    const first = violations[0];
    if (!first) return;
    const all = violations.map(({ pointer, message }) => `${pointer}: ${message}`).join('; ');
    refuse(declared, declared.lineOf(first.pointer), localized('{all}'), { all });
  }

  async #write(one: Prepared, options: WriteOptions): Promise<void> {
    const { declared, resource } = one;
    const { plugin, isPlugin, logger } = this.#dependencies;
    let adopts: ApplyOptions['adopts'] = 'unapplied';
    for (let attempt = 1; ; attempt += 1) {
      const storage = storageOf(one);
      const stored = await read(resource, declared.name);
      const owner = stored?.metadata.labels?.[this.#labelKey];
      if (owner !== undefined && owner !== plugin && isPlugin(owner)) {
        refuse(declared, declared.lineOf('/metadata/name'), texts.other, {
          kind: declared.kind,
          name: declared.name,
          other: owner,
        });
      }
      if (stored?.metadata.deletionTimestamp !== undefined) {
        this.#waiting.set(keyOf(resource, declared.name), { one });
        return;
      }
      if (stored && (this.#isKept(stored) || this.#isKept(declared.object))) return;
      try {
        if (!stored) {
          this.#noteWritten(declared, await resource.create(this.#created(one), options));
          this.#done.push(() => resource.delete(declared.name, options));
          return;
        }
        const body = this.#applied(one, stored);
        const answer = await resource.apply(declared.name, body, this.#applying(adopts, options));
        this.#noteWritten(declared, answer);
        if (answer.changed) {
          const { version: _version, ...metadata } = stored.metadata;
          this.#done.push(() => resource.update(declared.name, { ...stored, metadata }, options));
        }
        return;
      } catch (error) {
        const isOvertaken =
          error instanceof KindredError &&
          ['AlreadyExists', 'VersionConflict', 'NotFound', 'Deleting'].includes(error.code);
        if (isOvertaken && attempt < attempts) continue;
        if (isNotYetStorable(error)) {
          if (storage !== storageOf(one)) continue;
          this.#waiting.set(keyOf(resource, declared.name), { one, storage });
          return;
        }
        if (stored && adopts === 'unapplied' && isInvalid(error) && isApplied(stored)) {
          // What somebody applied does not go with what is declared.
          logger.warn(
            { err: error, kind: declared.kind, name: declared.name },
            'A bundled object replaces what was applied to it',
          );
          adopts = 'all';
          continue;
        }
        if (isPassing(error)) throw error;
        return refuseAs(declared, error);
      }
    }
  }

  #noteWritten(declared: Declared, { stored }: Answer): void {
    // An object that was never changed has no generation, which means 1.
    const { version = 0, generation = 1 } = (readJson(stored.bytes.toString()) as ExtensionObject).metadata;
    this.#written.set(keyOf(declared, declared.name), { version, generation });
  }

  #created({ object }: Prepared): ExtensionObject {
    return { ...object, metadata: { ...object.metadata, labels: this.#labels(object) } };
  }

  /** Without what the declaration leaves alone: status, finalizers and the service's own metadata. */
  #applied({ object, declared: { name } }: Prepared, { metadata: { version } }: ExtensionObject): ExtensionObject {
    const { status: _declared, ...members } = object;
    const { annotations, ownerReferences } = object.metadata;
    const metadata = { ...partsOf(name), version, labels: this.#labels(object), annotations, ownerReferences };
    return { ...members, metadata: metadata as Metadata };
  }

  /** Ordinary changes of users go; fields that somebody applied stay, unless `all` go (docs/decisions/server-side-apply.md). */
  #applying(adopts: ApplyOptions['adopts'], options: WriteOptions): ApplyOptions {
    const conflicts = adopts === 'all' ? 'force' : 'yield';
    return { ...options, manager: `plugin:${this.#dependencies.plugin}`, conflicts, adopts };
  }

  #labels({ metadata }: ExtensionObject): Record<string, string> {
    return { ...metadata.labels, [this.#labelKey]: this.#dependencies.plugin };
  }

  async #remove(resource: ModelResource, object: ExtensionObject, options: WriteOptions): Promise<void> {
    const name = fullNameOf(object.metadata);
    const declared = this.#declared.get(keyOf(resource, name));
    if (this.#isKept(object) || (declared && this.#isKept(declared.object))) return;
    const deleted = await ifFound(() => resource.delete(name, options));
    const { version: _version, creationTimestamp: _created, ...metadata } = object.metadata;
    if (deleted?.changed && deleted.stored.name === name)
      this.#done.push(() => resource.create({ ...object, metadata }, options));
  }

  #isKept(object: ExtensionObject): boolean {
    return object.metadata.labels?.[this.#keepKey] === 'true';
  }

  /** Everything that carries the plugin's label, of whatever model; other plugins' models may come and go meanwhile. */
  async #labelled(): Promise<{ resource: ModelResource; object: ExtensionObject }[]> {
    const found: { resource: ModelResource; object: ExtensionObject }[] = [];
    for (const resource of this.#dependencies.resources.all()) {
      try {
        for (const object of await this.#labelledOf(resource)) found.push({ resource, object });
      } catch (err) {
        if (!isNotFound(err))
          this.#dependencies.logger.warn(
            { err, kind: resource.kind },
            'Whether a plugin declared objects of this model could not be learnt',
          );
      }
    }
    return found;
  }

  async #labelledOf(resource: ModelResource): Promise<ExtensionObject[]> {
    const where = Queries.labelEqual(this.#labelKey, this.#dependencies.plugin);
    const found: ExtensionObject[] = [];
    await resource.ready;
    for (let page = 1, more = true; more; page += 1) {
      const { items, total } = await resource.list({ where, sort: [{ field: 'metadata.name' }], page, size: pageSize });
      for (const bytes of items) found.push(readJson(bytes.toString()) as ExtensionObject);
      more = page * pageSize < total;
    }
    return found;
  }

  /** Inside the feed: what a document waits for may be over. */
  #changed({ type, model, name }: AppliedChange, fence: Fence | undefined): void {
    const freed = type === 'delete' ? keyOf(model, name) : undefined;
    for (const [key, { one, storage }] of [...this.#waiting]) {
      const isOver = storage === undefined ? key === freed : storage !== storageOf(one);
      if (!isOver) continue;
      this.#waiting.delete(key);
      this.#write(one, { caller: system, fence })
        .then(() => storage !== undefined && this.#tellWaiting())
        .catch((err: unknown) =>
          this.#dependencies.logger.warn(
            { err, name: one.declared.name },
            'A bundled object could not be written after it had waited',
          ),
        );
    }
  }

  #tellWaiting(): void {
    const all = [...this.#waiting.values()].filter(({ storage }) => storage !== undefined);
    this.#dependencies.onWaiting(all.map(({ one: { declared } }) => declared));
  }
}

const pageSize = 500;

function isInvalid(error: unknown): boolean {
  return error instanceof KindredError && error.code === 'Invalid';
}

/** The version in which the object is to be stored cannot say what it declares. */
function isNotYetStorable(error: unknown): boolean {
  const errors = error instanceof KindredError ? (error.errors ?? []) : [];
  return errors.some(({ keyword }) => keyword === 'notYetStorable');
}

/** In which objects of the model are stored now. */
function storageOf({ resource }: Prepared): string {
  return resource.memory.model.rules.storage;
}

/** Whether somebody applied fields of the object. */
function isApplied({ metadata }: ExtensionObject): boolean {
  return metadata.managedFields?.some(({ operation }) => operation === 'Apply') ?? false;
}

async function read(resource: ModelResource, name: string): Promise<ExtensionObject | undefined> {
  const found = await ifFound(() => resource.get(name));
  return found && (readJson(found.stored.bytes.toString()) as ExtensionObject);
}
