/** The models that the façade shows, and how it names them. */
import type { Scheme } from '../model/scheme.ts';
import type { ResourceRegistry } from '../resource/registry.ts';
import type { ModelResource } from '../resource/resource.ts';
import { definitionGroup } from './crds/kind.ts';
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
  /** Of objects that are shown under other names of their members. */
  readonly view?: View;
  /** One of Kubernetes itself, whose schema its clients have built in: they patch by it. */
  readonly isBuiltIn?: true;
  /** One of the core group, which has another name in the store. */
  readonly isCore?: true;
  /** Cells of columns whose value is at no one path, by the name of the column. */
  readonly cells?: Readonly<Record<string, (object: never) => unknown>>;
}

export interface ModelsDependencies {
  readonly resources: ResourceRegistry;
  readonly reservedDomain: string;
}

export class KubeModels {
  readonly #dependencies: ModelsDependencies;
  /** What the store has as the core group of Kubernetes: the empty group is the service's own there. */
  readonly #core: string;
  readonly #known = new WeakMap<ModelResource, KubeModel>();
  #view: KubeModel | undefined;

  constructor(dependencies: ModelsDependencies) {
    this.#dependencies = dependencies;
    this.#core = coreGroup(dependencies.reservedDomain);
  }

  /** @param group as shown */
  find(group: string, version: string, plural: string): KubeModel | undefined {
    if (group === this.#core) return undefined;
    const { resources } = this.#dependencies;
    const resource = resources.find(this.storedGroup(group), version, plural);
    if (resource) return resource.shown && this.#of(resource);
    const isEvents = group === eventsPlace.group && version === eventsPlace.version && plural === eventsPlace.plural;
    return isEvents ? this.#events() : undefined;
  }

  /** Those that are shown, in the order of their registration. */
  all(): readonly KubeModel[] {
    const { resources } = this.#dependencies;
    const served = resources.servedVersions().filter(({ scheme }) => scheme.groupVersionKind.group !== '');
    const models = served.map(({ scheme }) => this.#of(resources.model(scheme)));
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
    const isCore = storedGroup === this.#core;
    const group = isCore ? '' : storedGroup;
    const apiVersion = apiVersionOf(group, version);
    const isBuiltIn = isCore || storedGroup === coordinationGroup || storedGroup === definitionGroup;
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
      ...(scheme.deprecated !== undefined && { warning: scheme.deprecated }),
      ...(isBuiltIn && { isBuiltIn }),
      ...(isCore && { isCore }),
      ...(isCore && kind === 'Event' && { cells: eventCells }),
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
    this.#view = { ...core, scheme, group, version, apiVersion, view: eventsView };
    return this.#view;
  }
}
