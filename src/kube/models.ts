/** The models that the façade shows, and how it names them. */
import type { SchemeRegistry } from '../model/registry.ts';
import type { Scheme } from '../model/scheme.ts';
import type { ResourceRegistry } from '../resource/registry.ts';
import type { ModelResource } from '../resource/resource.ts';
import { coreGroup } from './kinds.ts';
import { apiVersionOf } from './path.ts';

export interface KubeModel {
  readonly resource: ModelResource;
  readonly scheme: Scheme;
  /** As shown: '' for the core group. */
  readonly group: string;
  /** In the store, in roles and natively. */
  readonly storedGroup: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  /** As shown. */
  readonly apiVersion: string;
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

  constructor(dependencies: ModelsDependencies) {
    this.#dependencies = dependencies;
    this.#core = coreGroup(dependencies.reservedDomain);
  }

  /** @param group as shown */
  find(group: string, version: string, plural: string): KubeModel | undefined {
    if (group === this.#core) return undefined;
    const resource = this.#dependencies.resources.find(this.storedGroup(group), version, plural);
    return resource && this.#of(resource);
  }

  /** Those that are shown, in the order of their registration. */
  all(): readonly KubeModel[] {
    const { registry, resources } = this.#dependencies;
    const shown = registry.schemes().filter(({ groupVersionKind }) => groupVersionKind.group !== '');
    return shown.map((scheme) => this.#of(resources.model(scheme)));
  }

  /** @param group as shown */
  storedGroup(group: string): string {
    return group === '' ? this.#core : group;
  }

  #of(resource: ModelResource): KubeModel {
    const known = this.#known.get(resource);
    if (known) return known;
    const { scheme } = resource;
    const { group: storedGroup, version, kind } = scheme.groupVersionKind;
    const group = storedGroup === this.#core ? '' : storedGroup;
    const apiVersion = apiVersionOf(group, version);
    const model = { resource, scheme, group, storedGroup, version, plural: scheme.plural, kind, apiVersion };
    this.#known.set(resource, model);
    return model;
  }
}
