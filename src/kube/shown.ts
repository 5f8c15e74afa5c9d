/** What discovery and OpenAPI tell of a model. */
import { definitionGroup } from './crds/kind.ts';
import type { KubeModel } from './models.ts';

/** A model at one of the versions that it is served at. */
export interface ShownModel {
  /** `''` for the core group of Kubernetes. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly listKind: string;
  readonly singular: string;
  readonly plural: string;
  readonly namespaced: boolean;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly subresources: { readonly status: boolean; readonly scale: boolean };
  readonly verbs: readonly string[];
  /** Clients may patch it by the schema that they have built in. */
  readonly isBuiltIn?: true;
  /** The whole object as JSON Schema; `apiVersion`, `kind` and `metadata` in it are the model's own. */
  readonly schema: object;
}

const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'] as const;
export const subresourceVerbs = ['get', 'patch', 'update'] as const;

/** Where the resources of a group and version are, below the prefix. */
export function rootOf({ group, version }: Pick<ShownModel, 'group' | 'version'>): string {
  return `${group === '' ? '/api' : `/apis/${group}`}/${version}`;
}

/** Of the kinds of the core group that have others. */
const verbsOf: Readonly<Record<string, readonly string[]>> = {
  Namespace: verbs.filter((verb) => verb !== 'deletecollection'),
  // There is none, and clients ask for it.
  Service: ['get', 'list', 'watch'],
};

const shown = new WeakMap<KubeModel, ShownModel>();

/** The same object for the same model: what is made of it is kept with it. */
export function shownModel(model: KubeModel): ShownModel {
  const known = shown.get(model);
  if (known) return known;
  const { group, version, kind, plural, scheme } = model;
  const { subresources, jsonSchema } = model.view ? scheme : (model.shown ?? scheme);
  const made: ShownModel = {
    group,
    version,
    kind,
    listKind: scheme.definition?.listKind ?? `${kind}List`,
    singular: scheme.singular,
    plural,
    namespaced: scheme.isNamespaced,
    shortNames: scheme.shortNames,
    categories: scheme.categories,
    subresources: { status: subresources.status, scale: scheme.subresources.scale !== undefined },
    verbs: (group === '' && verbsOf[kind]) || verbs,
    // Of a schema within a definition, the documents do not say enough to make such a patch from.
    ...(model.isBuiltIn && group !== definitionGroup && { isBuiltIn: true }),
    schema: jsonSchema,
  };
  shown.set(model, made);
  return made;
}
