/**
 * The OpenAPI 3.1 documents (docs/reference/api-description.md). Every model and every custom route is described once, as text; a
 * document is these texts put together, so that the change of one model among many costs one description.
 */
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { SchemeRegistry } from '../../model/registry.ts';
import type { Scheme } from '../../model/scheme.ts';
import type { Access, MayUse } from '../../resource/access.ts';
import type { ResourceRegistry } from '../../resource/registry.ts';
import { operationIds } from '../api/routes.ts';
import type { Audience, CustomRoute, CustomRoutes } from '../custom/routes.ts';
import { audienceOf } from '../custom/routes.ts';
import type { CustomFragment } from './custom.ts';
import { defaultOperationId, describeRoute } from './custom.ts';
import type { DescribedOperation, Fragment, ModelName } from './model.ts';
import { camelCase, describeModel } from './model.ts';
import { describeService } from './service.ts';
import { sharedComponents } from './shared.ts';

export interface DocumentGroup {
  /** `apis_aggregated.api_v1alpha1` */
  readonly name: string;
  /** `Aggregated API V1alpha1`; the title of the document too. */
  readonly displayName: string;
  /** `/v3/api-docs/apis_aggregated.api_v1alpha1` */
  readonly url: string;
}

export interface ApiDocument {
  readonly json: Buffer;
  /** Entity tag, with quotes. */
  readonly etag: string;
}

export interface ApiDocumentsOptions {
  registry: SchemeRegistry;
  custom: CustomRoutes;
  /** Knows by which contract clients see the models. Default: by their declarations. */
  resources?: Pick<ResourceRegistry, 'shown' | 'onShown'>;
  /** Of the product, for `info.version`. */
  version: string;
  /** Whether callers identify themselves: then the bearer token is described. */
  authentication: boolean;
  /** Largest `size` of a list (option `list.maxSize`). Default 1,000. */
  maxListSize?: number;
}

type Content = 'aggregated' | 'extension' | Audience;

const titles: Readonly<Record<Content, string>> = {
  aggregated: 'Aggregated API V1alpha1',
  extension: 'Extension API V1alpha1',
  console: 'Console API V1alpha1',
  uc: 'User-center API V1alpha1',
  public: 'Public API V1alpha1',
};

const descriptions: Readonly<Record<Content, string>> = {
  aggregated:
    'Everything that you may use: the generated routes of the models, the routes of plugins, and those of the service.',
  extension: 'The generated routes of the models: objects are created, read, listed, watched, changed and deleted.',
  console: 'Routes of plugins for administration (console.api.<group>).',
  uc: 'Routes of plugins for users, about themselves (uc.api.<group>).',
  public: 'Routes of plugins for the public (api.<group>).',
};

const documentGroups: readonly (DocumentGroup & { audience: Content })[] = Object.entries(titles).map(
  ([audience, displayName]) => {
    const name = `apis_${audience}.api_v1alpha1`;
    return { audience: audience as Content, name, displayName, url: `/v3/api-docs/${name}` };
  },
);

/** Bytes of documents that are kept, of all callers together. */
const keptBytes = 64 * 1024 * 1024;

export class ApiDocuments {
  readonly #options: ApiDocumentsOptions;
  readonly #service = describeService();
  readonly #shared: Record<string, Record<string, object>>;
  /** By what clients see of them. */
  readonly #models = new WeakMap<Scheme, { scheme: Scheme; component: string; fragment: Fragment }>();
  /** By operationId: routes of one name are apart in documents for different audiences, together in the aggregated one. */
  readonly #routes = new WeakMap<CustomRoute, Map<string, CustomFragment>>();
  /** By group and by what of it the caller may use. */
  readonly #documents = new LRUCache<string, ApiDocument>({
    maxSize: keptBytes,
    sizeCalculation: (one) => one.json.length,
  });
  readonly #stopListening: (() => void)[];
  /** What the documents are made of, until the next change. */
  #names: ReadonlyMap<Scheme, ModelName> | undefined;
  readonly #fragments = new Map<Content, readonly Fragment[]>();

  constructor(options: ApiDocumentsOptions) {
    this.#options = options;
    const shared = sharedComponents(options.maxListSize ?? 1000);
    const { securitySchemes, ...rest } = shared;
    this.#shared = options.authentication ? { ...rest, securitySchemes: securitySchemes! } : rest;
    const changed = (): void => {
      this.#names = undefined;
      this.#fragments.clear();
      this.#documents.clear();
    };
    const { registry, custom, resources } = options;
    this.#stopListening = [
      registry.onRegister(changed),
      registry.onUnregister(changed),
      registry.onReplace(changed),
      custom.onChange(changed),
      ...(resources ? [resources.onShown(changed)] : []),
    ];
  }

  close(): void {
    for (const stop of this.#stopListening) stop();
  }

  /** The five groups, for `{ groups }` at `/v3/api-docs`. */
  groups(): readonly DocumentGroup[] {
    return documentGroups.map(({ name, displayName, url }) => ({ name, displayName, url }));
  }

  /** What the operations of a group need. */
  accesses(group: string): Access[] {
    const found = documentGroups.find((one) => one.name === group);
    const operations = found ? this.#fragmentsOf(found.audience).flatMap((fragment) => fragment.operations) : [];
    return operations.flatMap(({ access }) => access ?? []);
  }

  /** What is registered now, as far as the caller may use it; undefined for an unknown group. */
  document(group: string, mayUse: MayUse = () => true): ApiDocument | undefined {
    const found = documentGroups.find((one) => one.name === group);
    if (!found) return undefined;
    const fragments = this.#fragmentsOf(found.audience);
    const usable = ({ access }: DescribedOperation): boolean => access === undefined || mayUse(access);
    const chosen = fragments.map((fragment) => fragment.operations.map(usable));
    const key = `${group} ${chosen.map((all) => all.map((one) => (one ? '1' : '0')).join('')).join('')}`;
    let document = this.#documents.get(key);
    if (!document) {
      const operations = fragments.flatMap((fragment, i) => fragment.operations.filter((_, j) => chosen[i]![j]));
      const seen = fragments.filter((_, i) => chosen[i]!.includes(true));
      document = this.#assemble(found, operations, this.#withModels(seen));
      this.#documents.set(key, document);
    }
    return document;
  }

  #fragmentsOf(audience: Content): readonly Fragment[] {
    const known = this.#fragments.get(audience);
    if (known) return known;
    const made = this.#describe(audience);
    this.#fragments.set(audience, made);
    return made;
  }

  #describe(audience: Content): readonly Fragment[] {
    const { registry, custom } = this.#options;
    this.#names ??= nameModels(registry.schemes());
    const names = this.#names;
    const all = audience === 'aggregated';
    const models =
      all || audience === 'extension'
        ? [...names.keys()].filter((scheme) => this.#shown(scheme)).map((scheme) => this.#describeModel(scheme))
        : [];
    const service = all ? [this.#service] : [];
    const taken = new Set([...models, ...service].flatMap(operationIdsOf).map((id) => id.toLowerCase()));
    const routes = custom
      .all()
      .filter((route) => all || audienceOf(route.group) === audience)
      .map((route) => {
        const id = freeName(route.operation.operationId ?? defaultOperationId(route), route, taken);
        return this.#describeRoute(route, id);
      });
    return [...models, ...routes, ...service];
  }

  #shown(scheme: Scheme): Scheme | undefined {
    const { resources } = this.#options;
    return scheme.isServed ? (resources ? resources.shown(scheme) : scheme) : undefined;
  }

  #describeModel(scheme: Scheme): Fragment {
    const name = this.#names!.get(scheme)!;
    const shown = this.#shown(scheme) ?? scheme;
    const known = this.#models.get(shown);
    if (known?.scheme === scheme && known.component === name.component) return known.fragment;
    const fragment = describeModel(scheme, name, shown);
    this.#models.set(shown, { scheme, component: name.component, fragment });
    return fragment;
  }

  #describeRoute(route: CustomRoute, id: string): CustomFragment {
    const known = this.#routes.get(route) ?? new Map<string, CustomFragment>();
    this.#routes.set(route, known);
    const there = known.get(id);
    if (there && !there.answersModels) return there;
    const fragment = describeRoute(route, id, this.#options.registry, (scheme) => this.#names!.get(scheme)!.component);
    known.set(id, fragment);
    return fragment;
  }

  /** The fragments, and those of models that custom routes among them answer with. */
  #withModels(fragments: readonly Fragment[]): Set<Fragment> {
    const all = new Set(fragments);
    for (const fragment of fragments as readonly Partial<CustomFragment>[]) {
      for (const scheme of fragment.models ?? []) all.add(this.#describeModel(scheme));
    }
    return all;
  }

  #assemble(
    { displayName, audience }: (typeof documentGroups)[number],
    operations: readonly DescribedOperation[],
    fragments: Set<Fragment>,
  ): ApiDocument {
    const paths = new Map<string, string[]>();
    for (const { path, method, json } of operations) {
      const text = `${JSON.stringify(method)}:${json}`;
      const there = paths.get(path);
      if (there) there.push(text);
      else paths.set(path, [text]);
    }
    const tags = new Set<string>();
    const schemas = new Map(
      Object.entries(this.#shared.schemas!).map(([name, schema]) => [name, JSON.stringify(schema)]),
    );
    for (const fragment of fragments) {
      for (const tag of fragment.tags) tags.add(tag);
      for (const [name, text] of fragment.schemas) schemas.set(name, text);
    }
    const { schemas: _, ...components } = this.#shared;
    const head = {
      openapi: '3.1.0',
      info: { title: displayName, version: this.#options.version, description: descriptions[audience] },
      servers: [{ url: '/' }],
      security: this.#options.authentication ? [{ bearer: [] }] : [],
      tags: [...tags].sort().map((name) => ({ name })),
    };
    const text =
      `${JSON.stringify(head).slice(0, -1)},"paths":{${members(paths, (one) => `{${one.join(',')}}`)}},` +
      `"components":{"schemas":{${members(schemas, (one) => one)}},${JSON.stringify(components).slice(1)}}`;
    const json = Buffer.from(text);
    return { json, etag: `"${createHash('sha256').update(json).digest('base64url').slice(0, 27)}"` };
  }
}

function members<T>(map: ReadonlyMap<string, T>, textOf: (value: T) => string): string {
  return [...map].map(([name, value]) => `${JSON.stringify(name)}:${textOf(value)}`).join(',');
}

function operationIdsOf(fragment: Fragment): string[] {
  return fragment.operations.map((one) => one.operationId);
}

/**
 * Where two models share a kind, the later by (group, version) gets `<Version><GroupInCamelCase>` appended, as the further versions
 * of a model do. Names are compared without case: generators of clients ignore it.
 */
function nameModels(schemes: readonly Scheme[]): Map<Scheme, ModelName> {
  const taken = new Set<string>();
  const order = (scheme: Scheme): string => `${scheme.groupVersionKind.group}/${scheme.groupVersionKind.version}/`;
  const hubs = [...schemes].sort((a, b) => (order(a) < order(b) ? -1 : 1));
  // A model keeps its names when it gets further versions.
  const sorted = [...hubs, ...hubs.flatMap((hub) => hub.servedVersions.filter((scheme) => scheme !== hub))];
  const components = new Set<string>();
  const names = new Map<Scheme, ModelName>();
  for (const scheme of sorted) {
    const { group, version, kind } = scheme.groupVersionKind;
    const full = `${camelCase(version)}${camelCase(group)}`;
    let suffix = '';
    for (
      let count = 1;
      components.has(`${kind}${suffix}`.toLowerCase()) ||
      operationIds(scheme, suffix).some((id) => taken.has(id.toLowerCase()));
      count++
    ) {
      suffix = count === 1 ? full : `${full}${count}`;
    }
    components.add(`${kind}${suffix}`.toLowerCase());
    for (const id of operationIds(scheme, suffix)) taken.add(id.toLowerCase());
    names.set(scheme, { component: `${kind}${suffix}`, suffix });
  }
  return names;
}

/** As for models: what is taken, in whatever case, gets `<Version><GroupInCamelCase>` appended. */
function freeName(wish: string, { group, version }: CustomRoute, taken: Set<string>): string {
  const full = `${wish}${camelCase(version)}${camelCase(group)}`;
  let name = wish;
  for (let count = 1; taken.has(name.toLowerCase()); count++) name = count === 1 ? full : `${full}${count}`;
  taken.add(name.toLowerCase());
  return name;
}
