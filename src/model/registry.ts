/** The registry of models: the state behind every `SchemeManager` (docs/reference/declaration.md). */

import { KindredError } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import { invalidModel } from '../schema/invalid-model.ts';
import type { GroupVersionKind } from './gvk.ts';
import { apiVersionOf, checkPlural, describeGvk, isReservedGroup } from './gvk.ts';
import type { IndexSpecs } from './index-spec.ts';
import type { ModelType } from './model-type.ts';
import { Scheme } from './scheme.ts';
import { Starting } from './starting.ts';

/** What a plugin sees of the registry. */
export interface SchemeManager {
  /**
   * Registers a model and gives its scheme. Indexes are built when `start()` returns, at the latest by the first client
   * call, which waits. Throws KindredError `InvalidModel`.
   */
  register(type: ModelType, indexes?: (indexSpecs: IndexSpecs) => void): Scheme;
  /** Takes the model's routes, indexes, controllers and validators away; its objects stay. Does nothing for what is not registered. */
  unregister(scheme: Scheme): void;
  /** Every registered model, those of others too, in the version that its plugin speaks. */
  schemes(): readonly Scheme[];
  /** In any of its versions; undefined for what is not registered. */
  fetch(gvk: GroupVersionKind): Scheme | undefined;
  /** Throws KindredError `NotFound`. */
  get(gvk: GroupVersionKind): Scheme;
}

type Listener = (scheme: Scheme, owner: string) => void;
type ReplaceListener = (scheme: Scheme, before: Scheme) => void;

interface Entry {
  readonly scheme: Scheme;
  readonly owner: string;
}

export class SchemeRegistry {
  readonly starting = new Starting();
  readonly #reservedDomain: string;
  readonly #warn: (message: string) => void;
  readonly #byKind = new Map<string, Entry>();
  readonly #byPlural = new Map<string, Entry>();
  readonly #byType = new WeakMap<object, Scheme>();
  readonly #registered = new Set<Listener>();
  readonly #unregistered = new Set<Listener>();
  readonly #replaced = new Set<ReplaceListener>();
  #schemes: readonly Scheme[] = Object.freeze([]);

  constructor(options: { reservedDomain: string; warn(message: string): void }) {
    this.#reservedDomain = options.reservedDomain;
    this.#warn = options.warn;
  }

  /**
   * Registers a model; the same declaration by the same owner again gives the scheme there is.
   * @param owner '' for the service itself, which may use reserved groups, else the name of a plugin
   * Throws KindredError `InvalidModel`.
   */
  register(type: ModelType, indexes: ((specs: IndexSpecs) => void) | undefined, owner: string): Scheme {
    const scheme = Scheme.buildFromType(type, indexes);
    const { groupVersionKind: gvk, plural } = scheme;
    if (owner !== '' && isReservedGroup(gvk.group, this.#reservedDomain)) {
      invalidModel(
        localized(
          'The group "{group}" is reserved: the empty group, "{domain}" and every group ending in ".{domain}" belong to the service itself',
        ),
        { group: gvk.group, domain: this.#reservedDomain },
      );
    }
    if (owner !== '') checkPlural(plural);
    const sameKind = this.#byKind.get(`${gvk.group}/${gvk.kind}`);
    if (sameKind) return this.#again(sameKind, scheme, type, owner);
    const samePlural = this.#byPlural.get(`${gvk.group}/${plural}`);
    if (samePlural) {
      invalidModel(localized('The plural "{plural}" is already registered in the group "{group}", by {other}'), {
        plural,
        group: gvk.group,
        other: describeGvk(samePlural.scheme.groupVersionKind),
      });
    }
    this.#checkShortNames(scheme);
    const entry: Entry = { scheme, owner };
    this.#byKind.set(`${gvk.group}/${gvk.kind}`, entry);
    this.#byPlural.set(`${gvk.group}/${plural}`, entry);
    this.#byType.set(type, scheme);
    this.#schemes = Object.freeze([...this.#schemes, scheme]);
    for (const warning of scheme.warnings) this.#warn(warning);
    for (const listener of this.#registered) listener(scheme, owner);
    return scheme;
  }

  /** A name on the command line leads to one model of the group. */
  #checkShortNames(scheme: Scheme, before?: Scheme): void {
    const { group } = scheme.groupVersionKind;
    for (const other of this.#schemes) {
      if (other === before || other.groupVersionKind.group !== group) continue;
      const taken = new Set([other.plural, other.singular, ...other.shortNames]);
      const name = scheme.shortNames.find((one) => taken.has(one)) ?? clash(other.shortNames, scheme);
      if (name === undefined) continue;
      invalidModel(localized('The short name "{name}" is taken in the group "{group}", by {other}'), {
        name,
        group,
        other: describeGvk(other.groupVersionKind),
      });
    }
  }

  /**
   * Another declaration takes the place of the one that its owner has registered, while the model serves
   * (`ModelResource.replace`). The same declaration gives the scheme there is.
   * Throws KindredError `InvalidModel`: nothing is registered, or version, plural or scope differ.
   */
  replace(type: ModelType, indexes: ((specs: IndexSpecs) => void) | undefined, owner: string): Scheme {
    const scheme = Scheme.buildFromType(type, indexes);
    const { groupVersionKind: gvk } = scheme;
    const entry = this.#byKind.get(`${gvk.group}/${gvk.kind}`);
    const before = entry?.scheme;
    if (!before || !isSameModel(before, scheme) || entry?.owner !== owner)
      return invalidModel(
        localized('{model} cannot be replaced: its owner has not registered it with this version, plural and scope'),
        { model: describeGvk(gvk) },
      );
    if (before.sameAs(scheme) && scheme.indexes.every((one, i) => one.indexFunc === before.indexes[i]?.indexFunc)) {
      this.#byType.set(type, before);
      return before;
    }
    this.#checkShortNames(scheme, before);
    this.#byType.set(type, scheme);
    for (const warning of scheme.warnings) this.#warn(warning);
    this.#exchange({ scheme, owner }, before);
    return scheme;
  }

  /**
   * As `register`, by an owner who comes again: what it has registered of this model before is replaced. A model with another version,
   * plural or scope is registered anew, and so is one whose names another model of the owner gave up.
   * Throws KindredError `InvalidModel`.
   * @param left what the owner has registered before and not again yet
   */
  registerAgain(
    type: ModelType,
    indexes: ((specs: IndexSpecs) => void) | undefined,
    owner: string,
    left: readonly Scheme[],
  ): Scheme {
    const scheme = Scheme.buildFromType(type, indexes);
    const names = new Set(namesOf(scheme));
    let before: Scheme | undefined;
    for (const one of left) {
      if (one.groupVersionKind.group !== scheme.groupVersionKind.group) continue;
      const isKind = one.groupVersionKind.kind === scheme.groupVersionKind.kind;
      if (isKind && isSameModel(one, scheme)) before = one;
      else if (isKind || namesOf(one).some((name) => names.has(name))) this.unregister(one, owner);
    }
    return before ? this.replace(type, indexes, owner) : this.register(type, indexes, owner);
  }

  /** A declaration that was refused gives its place back to the one before it; does nothing when it is no longer there. */
  takeBack(scheme: Scheme, before: Scheme): void {
    const { group, kind } = scheme.groupVersionKind;
    const entry = this.#byKind.get(`${group}/${kind}`);
    if (entry?.scheme === scheme) this.#exchange({ scheme: before, owner: entry.owner }, scheme);
  }

  #exchange(next: Entry, before: Scheme): void {
    const { scheme } = next;
    const { group, kind } = scheme.groupVersionKind;
    this.#byKind.set(`${group}/${kind}`, next);
    this.#byPlural.set(`${group}/${scheme.plural}`, next);
    this.#schemes = Object.freeze(this.#schemes.map((one) => (one === before ? scheme : one)));
    for (const listener of this.#replaced) listener(scheme, before);
  }

  #again(there: Entry, scheme: Scheme, type: ModelType, owner: string): Scheme {
    const { groupVersionKind: gvk } = there.scheme;
    const params = {
      model: describeGvk(scheme.groupVersionKind),
      other: describeGvk(gvk),
      owner: there.owner || 'the service',
    };
    if (gvk.version !== scheme.groupVersionKind.version) {
      return invalidModel(
        localized('{model} cannot be registered: {other} is, and a group has one version of a kind at a time'),
        params,
      );
    }
    if (there.owner !== owner) {
      return invalidModel(localized('{model} is already registered by {owner}'), params);
    }
    if (!there.scheme.sameAs(scheme)) {
      return invalidModel(
        localized(
          '{model} is already registered with another declaration (attributes, schema or indexes differ): unregister it first',
        ),
        params,
      );
    }
    this.#byType.set(type, there.scheme);
    return there.scheme;
  }

  /** Only the owner can; does nothing for what is not registered. */
  unregister(scheme: Scheme, owner: string): void {
    const { group, version, kind } = scheme.groupVersionKind;
    const entry = this.#byKind.get(`${group}/${kind}`);
    if (entry?.owner !== owner || !entry.scheme.inVersion(version)) return;
    this.#byKind.delete(`${group}/${kind}`);
    this.#byPlural.delete(`${group}/${entry.scheme.plural}`);
    this.#schemes = Object.freeze(this.#schemes.filter((one) => one !== entry.scheme));
    for (const listener of this.#unregistered) listener(entry.scheme, owner);
  }

  schemes(): readonly Scheme[] {
    return this.#schemes;
  }

  /** In any of its versions. */
  fetch(gvk: GroupVersionKind): Scheme | undefined {
    return this.#byKind.get(`${gvk.group}/${gvk.kind}`)?.scheme.inVersion(gvk.version);
  }

  /** Throws KindredError `NotFound`. */
  get(gvk: GroupVersionKind): Scheme {
    return this.fetch(gvk) ?? notRegistered(describeGvk(gvk));
  }

  /** The model served at `/apis/<group>/<version>/<plural>`. */
  find(group: string, version: string, plural: string): Scheme | undefined {
    const scheme = this.#byPlural.get(`${group}/${plural}`)?.scheme.inVersion(version);
    return scheme?.isServed ? scheme : undefined;
  }

  /** The registered scheme of a type that was given to a client. Throws KindredError `NotFound`. */
  schemeOf(type: ModelType): Scheme {
    const known = this.#byType.get(type);
    const built = known ?? Scheme.buildFromType(type);
    const { groupVersionKind: gvk } = built;
    const scheme = this.fetch(gvk) ?? notRegistered(`${gvk.kind} (${apiVersionOf(gvk)})`);
    if (scheme !== known) this.#byType.set(type, scheme);
    return scheme;
  }

  /** '' for the service itself, the name of a plugin, undefined for what is not registered. */
  ownerOf(scheme: Scheme): string | undefined {
    const { group, kind } = scheme.groupVersionKind;
    const entry = this.#byKind.get(`${group}/${kind}`);
    return entry?.scheme.inVersion(scheme.groupVersionKind.version) && entry.owner;
  }

  /** The model's owner is starting, and it is the one who asks. */
  isStarting(scheme: Scheme, caller: string | undefined): boolean {
    if (this.starting.none || caller === undefined) return false;
    return this.starting.has(caller) && this.ownerOf(scheme) === caller;
  }

  /** @throws NotReady while the model's owner is starting, for everybody else */
  assertOpen(scheme: Scheme, caller?: string): void {
    if (this.starting.none) return;
    const owner = this.ownerOf(scheme);
    if (owner !== undefined && owner !== caller) this.starting.assertServing(owner, scheme);
  }

  /** Called synchronously after a registration; gives back what ends it. */
  onRegister(listener: Listener): () => void {
    this.#registered.add(listener);
    return () => this.#registered.delete(listener);
  }

  onUnregister(listener: Listener): () => void {
    this.#unregistered.add(listener);
    return () => this.#unregistered.delete(listener);
  }

  onReplace(listener: ReplaceListener): () => void {
    this.#replaced.add(listener);
    return () => this.#replaced.delete(listener);
  }

  /** The public face for one owner. */
  manager(owner: string): SchemeManager {
    return {
      register: (type, indexes) => this.register(type, indexes, owner),
      unregister: (scheme) => this.unregister(scheme, owner),
      schemes: () => this.schemes(),
      fetch: (gvk) => this.fetch(gvk),
      get: (gvk) => this.get(gvk),
    };
  }
}

/** Whether the one can take the place of the other while it serves. */
function isSameModel(one: Scheme, other: Scheme): boolean {
  return (
    one.groupVersionKind.version === other.groupVersionKind.version &&
    one.plural === other.plural &&
    one.scope === other.scope
  );
}

/** By which a model of its group is found. */
function namesOf({ plural, singular, shortNames }: Scheme): string[] {
  return [plural, singular, ...shortNames];
}

/** The first short name that is a name of the model. */
function clash(shortNames: readonly string[], { plural, singular }: Scheme): string | undefined {
  return shortNames.find((name) => name === plural || name === singular);
}

function notRegistered(model: string): never {
  throw new KindredError('NotFound', localized('{model} is not registered'), { params: { model } });
}
