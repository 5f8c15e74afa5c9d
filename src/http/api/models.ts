/** `/v3/models`, `/v3/models/<type>`: what the registered models are, for those who may read their objects (docs/reference/console.md). */

import type { KindredError } from '../../errors.ts';
import type { Field } from '../../indexes/field.ts';
import { fieldsOf, fullNameField } from '../../indexes/field.ts';
import type { Column, Scale } from '../../model/attributes.ts';
import { partsOf } from '../../model/full-name.ts';
import { namespacedIndexes } from '../../model/index-spec.ts';
import type { KeyCodec } from '../../model/key.ts';
import type { Presentation } from '../../model/presentation.ts';
import type { SchemeRegistry } from '../../model/registry.ts';
import type { Scheme } from '../../model/scheme.ts';
import { typeNameOf } from '../../model/scheme.ts';
import { once, readParameters, wholeNumber } from '../../query/parameters.ts';
import type { Values } from '../../query/values.ts';
import type { Access, Decision } from '../../resource/access.ts';
import { someNamespace } from '../../resource/access.ts';
import type { Problem } from '../../resource/memory.ts';
import type { ResourceRegistry } from '../../resource/registry.ts';
import type { MaybePromise } from '../../store/store.ts';
import { routesOf } from './routes.ts';

const texts = { some: 'only some of the objects may be listed' };

export interface ModelsDependencies {
  readonly registry: SchemeRegistry;
  readonly resources: ResourceRegistry;
  /** For the caller at hand. */
  readonly decide: (access: Access) => Decision;
}

export interface ModelSummary {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly singular: string;
  readonly plural: string;
  /** Name of the plugin; absent for models of the service itself. */
  readonly plugin?: string;
  readonly state: 'building' | 'ready' | 'degraded' | 'outdated' | 'idle' | 'elsewhere';
  /** From 0 to 1. */
  readonly progress: number;
  /** Of the objects that the caller may list. */
  readonly problems: readonly Problem[];
  /** For callers who may list all of them. */
  readonly objects?: number;
  /** What the caller may do, perhaps with some objects only. */
  readonly verbs: readonly string[];
  readonly subresources: { readonly status: boolean; readonly scale?: Readonly<Scale> };
  /** Absent: its objects belong to no namespace. */
  readonly scope?: 'Namespaced';
  /** Absent: strict. */
  readonly naming?: 'kubernetes';
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly columns?: readonly Readonly<Column>[];
  readonly presentation?: Presentation;
}

interface IndexDescription {
  readonly name: string;
  readonly keyType: KeyCodec['type'];
  readonly multi: boolean;
  readonly unique: boolean;
  readonly nullable: boolean;
  readonly order: 'ASC' | 'DESC';
  /** Of selectors, as they are written; `exists` and `absent` for a key alone, without and with `!`. */
  readonly operators: readonly string[];
  readonly builtIn: boolean;
}

export interface ModelDescription extends ModelSummary {
  readonly schema: object;
  readonly indexes: readonly IndexDescription[];
}

/** Those that the caller may get or list, by group and plural. */
export function listModels(dependencies: ModelsDependencies): ModelSummary[] {
  return dependencies.registry
    .schemes()
    .flatMap((scheme) => summaryOf(dependencies, scheme) ?? [])
    .sort((a, b) => compare(a.group, b.group) || compare(a.plural, b.plural));
}

/** @param type the plural alone in the empty group, else `<plural>.<group>`; undefined when the caller may read no such model */
export function describeModel(
  dependencies: ModelsDependencies,
  type: string,
): { readonly scheme: Scheme; readonly description: ModelDescription } | undefined {
  const scheme = dependencies.registry.schemes().find((one) => typeNameOf(one) === type);
  const summary = scheme && summaryOf(dependencies, scheme);
  if (!summary) return undefined;
  const { served, shown } = versionOf(dependencies, scheme);
  return { scheme, description: { ...summary, schema: shown.jsonSchema, indexes: indexesOf(served) } };
}

const mostValues = 1_000;
const defaultValues = 100;

/**
 * The values of an index of a model, for a caller who may list all its objects; undefined when the caller may read no such model.
 * @throws Forbidden, InvalidParameter, NotReady, also while the plugin of the model is starting
 */
export function listValues(
  { registry, resources, decide, forbid }: ModelsDependencies & { readonly forbid: (reason: string) => KindredError },
  type: string,
  query: string,
): MaybePromise<Values> | undefined {
  const scheme = registry.schemes().find((one) => typeNameOf(one) === type);
  if (!scheme) return undefined;
  const { plural, groupVersionKind } = scheme;
  const { group, version } = groupVersionKind;
  const resource = resources.find(group, version, plural);
  const decision = decide({ verb: 'list', group, resource: plural });
  if (!resource || !(decision.allowed || decide({ verb: 'get', group, resource: plural }).allowed)) return undefined;
  // Counts tell of objects that are not among those that a caller may list.
  if (!decision.allowed || decision.names) throw forbid(decision.allowed ? texts.some : decision.reason);
  registry.assertOpen(scheme);
  const given = readParameters(query, ['index', 'prefix', 'limit']);
  const index = once(given, 'index') ?? '';
  const limit = wholeNumber(given, 'limit', mostValues) ?? defaultValues;
  return resource.values({ index, prefix: once(given, 'prefix'), limit });
}

/** The version that the plugin speaks; another one while the active contract does not have it. */
function versionOf({ resources }: Pick<ModelsDependencies, 'resources'>, hub: Scheme) {
  for (const served of hub.servedVersions) {
    const shown = resources.shown(served);
    if (shown) return { served, shown };
  }
  return { served: hub, shown: hub };
}

function summaryOf({ registry, resources, decide }: ModelsDependencies, scheme: Scheme): ModelSummary | undefined {
  const { singular, plural, scope, naming, presentation } = scheme;
  const { served, shown } = versionOf({ resources }, scheme);
  const { groupVersionKind } = served;
  const subresources = { ...scheme.subresources, status: shown.subresources.status };
  const { shortNames, categories, columns } = scheme;
  const { group, version } = groupVersionKind;
  const may = (verb: string): Decision => decide({ verb, group, resource: plural });
  const where = scheme.isNamespaced ? { namespace: someNamespace } : {};
  const verbs = verbsOf(scheme).filter((verb) => decide({ verb, group, resource: plural, ...where }).allowed);
  const resource = resources.find(group, version, plural);
  if (!resource || !(verbs.includes('get') || verbs.includes('list'))) return undefined;
  const list = may('list');
  const { state, progress, problems } = resource.memory.state();
  const plugin = registry.ownerOf(scheme);
  return {
    ...groupVersionKind,
    singular,
    plural,
    ...(plugin && { plugin }),
    state,
    progress,
    problems: list.allowed ? problems.filter(({ name }) => list.names?.has(partsOf(name).name) ?? true) : [],
    ...(list.allowed && !list.names && !resource.memory.isElsewhere && { objects: resource.size }),
    verbs,
    subresources,
    ...(scope !== 'Cluster' && { scope }),
    ...(naming !== 'strict' && { naming }),
    ...(shortNames.length > 0 && { shortNames }),
    ...(categories.length > 0 && { categories }),
    ...(columns && { columns }),
    ...(presentation && { presentation }),
  };
}

function verbsOf(scheme: Scheme): string[] {
  const routes = routesOf(scheme).filter(({ at }) => at !== 'status');
  return [...routes.flatMap((route) => ('streamed' in route ? [route.verb, route.streamed] : [route.verb])), 'explain'];
}

const equality = ['=', '!=', 'in', 'notin'];
const order = ['>', '>=', '<', '<='];
const presence = ['exists', 'absent'];

function operatorsOf(type: KeyCodec['type']): string[] {
  if (type === 'boolean') return ['=', ...presence];
  return [...equality, ...(type === 'string' ? ['^=', '$=', '*='] : []), ...order, ...presence];
}

const labels: IndexDescription = {
  name: 'metadata.labels',
  keyType: 'string',
  multi: true,
  unique: false,
  nullable: true,
  order: 'ASC',
  operators: [...equality, ...presence],
  builtIn: true,
};

function indexesOf(scheme: Scheme): IndexDescription[] {
  const declared = new Map(scheme.indexes.map((one) => [one.name, one]));
  const fields = fieldsOf(scheme.indexes).filter(({ name }) => name !== fullNameField);
  const described = fields.map((field: Field): IndexDescription => {
    const { name, codec, multi, unique, order } = field;
    const own = declared.get(name);
    const nullable = own ? own.nullable : name === 'metadata.deletionTimestamp';
    return {
      name,
      keyType: codec.type,
      multi,
      unique,
      nullable,
      order,
      operators: operatorsOf(codec.type),
      builtIn: !own || namespacedIndexes.includes(own),
    };
  });
  return [...described.filter(({ builtIn }) => builtIn), labels, ...described.filter(({ builtIn }) => !builtIn)];
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
