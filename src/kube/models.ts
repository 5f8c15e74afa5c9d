/** The models that the façade shows, and how it names them. */
import type { ModelType } from '../model/model-type.ts';
import type { SchemeRegistry } from '../model/registry.ts';
import { Scheme } from '../model/scheme.ts';
import type { ResourceRegistry } from '../resource/registry.ts';
import type { ModelResource } from '../resource/resource.ts';
import type { View } from './events.ts';
import { eventCells, eventsPlace, eventsScheme, eventsView } from './events.ts';
import { coordinationGroup, coreGroup } from './kinds.ts';
import { apiVersionOf } from './path.ts';

export interface KubeModel {
  readonly resource: ModelResource;
  readonly scheme: Scheme;
  /** What clients see of it, by the contract that is active; undefined: as it is declared. */
  readonly shown?: Scheme;
  /** As shown: '' for the core group. */
  readonly group: string;
  /** In the store, in roles and natively. */
  readonly storedGroup: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  /** As shown. */
  readonly apiVersion: string;
  /** What every answer tells of the version. */
  readonly warning?: string | undefined;
  /** Objects are stored in another version, and shown by the schema of this one. */
  readonly isConverted?: true;
  /** Of objects that are shown under other names of their members. */
  readonly view?: View;
  /** One of Kubernetes itself, whose schema its clients have built in: they patch by it. */
  readonly isBuiltIn?: true;
  /** Cells of columns whose value is at no one path, by the name of the column. */
  readonly cells?: Readonly<Record<string, (object: never) => unknown>>;
}

export interface ModelsDependencies {
  readonly registry: SchemeRegistry;
  readonly resources: ResourceRegistry;
  readonly reservedDomain: string;
}

export class KubeModels {
  readonly #dependencies: ModelsDependencies;
  /** What the store has as the core group of Kubernetes: the empty group is the service's own there. */
  readonly #core: string;
  readonly #known = new WeakMap<ModelResource, KubeModel>();
  readonly #others = new WeakMap<Scheme, readonly KubeModel[]>();
  #view: KubeModel | undefined;

  constructor(dependencies: ModelsDependencies) {
    this.#dependencies = dependencies;
    this.#core = coreGroup(dependencies.reservedDomain);
  }

  /** @param group as shown */
  find(group: string, version: string, plural: string): KubeModel | undefined {
    if (group === this.#core) return undefined;
    const { registry, resources } = this.#dependencies;
    const stored = this.storedGroup(group);
    const resource = resources.find(stored, version, plural);
    if (resource) return isServed(resource) ? this.#of(resource) : undefined;
    if (group === eventsPlace.group && version === eventsPlace.version && plural === eventsPlace.plural) {
      return this.#events();
    }
    const isIt = ({ definition, groupVersionKind, plural: name }: Scheme) =>
      definition !== undefined && groupVersionKind.group === stored && name === plural;
    const scheme = registry.schemes().find(isIt);
    return scheme && this.#othersOf(resources.model(scheme)).find((one) => one.version === version);
  }

  /** Those that are shown, in the order of their registration. */
  all(): readonly KubeModel[] {
    const { registry, resources } = this.#dependencies;
    const shown = registry.schemes().filter(({ groupVersionKind }) => groupVersionKind.group !== '');
    const models = shown.flatMap((scheme) => {
      const resource = resources.model(scheme);
      return [...(isServed(resource) ? [this.#of(resource)] : []), ...this.#othersOf(resource)];
    });
    const events = this.#events();
    return events ? [...models, events] : models;
  }

  /** @param group as shown */
  storedGroup(group: string): string {
    return group === '' ? this.#core : group;
  }

  #of(resource: ModelResource): KubeModel {
    const known = this.#known.get(resource);
    const { scheme, shown = scheme } = resource;
    if (known?.scheme === scheme && known.shown === shown) return known;
    const { group: storedGroup, version, kind } = scheme.groupVersionKind;
    const group = storedGroup === this.#core ? '' : storedGroup;
    const apiVersion = apiVersionOf(group, version);
    const warning = scheme.definition?.versions.find(({ name }) => name === version)?.warning;
    const isBuiltIn = storedGroup === this.#core || storedGroup === coordinationGroup;
    const model: KubeModel = {
      resource,
      scheme,
      shown,
      group,
      storedGroup,
      version,
      plural: scheme.plural,
      kind,
      apiVersion,
      ...(warning !== undefined && { warning }),
      ...(isBuiltIn && { isBuiltIn }),
      ...(storedGroup === this.#core && kind === 'Event' && { cells: eventCells }),
    };
    this.#known.set(resource, model);
    return model;
  }

  /** The Events of the core group as `events.k8s.io` has them; a model that is registered there takes the place. */
  #events(): KubeModel | undefined {
    const { resources } = this.#dependencies;
    const { group, version, plural } = eventsPlace;
    const resource = resources.find(this.#core, 'v1', plural);
    if (!resource || resources.find(group, version, plural)) return undefined;
    const core = this.#of(resource);
    if (this.#view?.resource === resource) return this.#view;
    const scheme = eventsScheme(resource.scheme.columns);
    const { apiVersion } = scheme;
    this.#view = { ...core, scheme, group, version, apiVersion, view: eventsView, isConverted: true };
    return this.#view;
  }

  /** The versions besides the one in which objects are stored. */
  #othersOf(resource: ModelResource): readonly KubeModel[] {
    const { definition } = resource.scheme;
    const others = definition?.versions.filter(({ model }) => model !== undefined) ?? [];
    if (others.length === 0) return none;
    const known = this.#others.get(resource.scheme);
    if (known) return known;
    const made = others.map(({ name, model, warning }): KubeModel => {
      const scheme = Scheme.buildFromType(model as ModelType);
      const { apiVersion } = scheme;
      return { ...this.#of(resource), scheme, version: name, apiVersion, warning, isConverted: true };
    });
    this.#others.set(resource.scheme, made);
    return made;
  }
}

const none: readonly KubeModel[] = [];

function isServed({ scheme, shown }: ModelResource): boolean {
  const { definition, groupVersionKind } = scheme;
  return definition ? definition.versions.some(({ name }) => name === groupVersionKind.version) : shown !== undefined;
}
