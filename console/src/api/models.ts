/** The models that the caller may see (`GET /v3/models`), and one of them with its schema and indexes. */
import { useQuery } from '@tanstack/vue-query';
import { modelOf } from 'kindred/client';
import type { MaybeRefOrGetter } from 'vue';
import { computed, toValue } from 'vue';
import { language } from '../text/index.ts';
import type { Titled } from '../text/titled.ts';
import { client } from './client.ts';
import { problemOf } from './errors.ts';
import { partsOf } from './object.ts';

export type JsonSchema = boolean | { readonly [keyword: string]: unknown };

export interface ModelSummary {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly singular: string;
  readonly plural: string;
  /** Its objects belong to namespaces, and are named by `<namespace>/<name>`. */
  readonly scope?: 'Namespaced';
  /** Absent for the service's own. */
  readonly plugin?: string;
  /**
   * `outdated`: other replicas serve it by a contract that this one cannot serve by. `idle`: its indexes are not in memory.
   * `elsewhere`: other processes serve it.
   */
  readonly state: 'building' | 'ready' | 'degraded' | 'outdated' | 'idle' | 'elsewhere';
  /** From 0 to 1. */
  readonly progress: number;
  readonly problems: readonly { readonly name: string; readonly reason: string }[];
  /** Only for who may list all of them. */
  readonly objects?: number;
  /** What the caller may do with at least some objects. */
  readonly verbs: readonly string[];
  readonly subresources: { readonly status: boolean };
  readonly presentation?: {
    readonly title?: Titled;
    readonly description?: Titled;
    readonly icon?: string;
    readonly columns?: readonly string[];
    readonly summary?: string;
  };
}

export interface IndexInfo {
  readonly name: string;
  readonly keyType: string;
  readonly multi: boolean;
  readonly unique: boolean;
  readonly nullable: boolean;
  readonly order: 'ASC' | 'DESC';
  /** As written in a selector; `exists` and `absent` besides. */
  readonly operators: readonly string[];
  readonly builtIn: boolean;
}

/** A route of a plugin that is a button here. */
export interface ModelAction {
  readonly title: Titled;
  readonly on: 'object' | 'list';
  /** Asked before. */
  readonly confirm?: Titled;
  readonly method: string;
  /** With `{name}` where that of the object stands. */
  readonly path: string;
  /** The schema of its body. */
  readonly body?: JsonSchema;
}

export interface ModelDetails extends ModelSummary {
  readonly schema: JsonSchema;
  readonly indexes: readonly IndexInfo[];
  readonly actions: readonly ModelAction[];
}

/** `cities.atlas.example.com`: how a model is named in addresses. */
export const typeOf = ({ plural, group }: Pick<ModelSummary, 'plural' | 'group'>): string =>
  group === '' ? plural : `${plural}.${group}`;

type Placed = Pick<ModelSummary, 'group' | 'version' | 'plural'>;

/** Where the objects of a model are: all of them, or those of a namespace. */
export function pathOf({ group, version, plural }: Placed, namespace?: string): string {
  const base = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  return namespace === undefined
    ? `${base}/${plural}`
    : `${base}/namespaces/${encodeURIComponent(namespace)}/${plural}`;
}

/** Where one object is; `fullName` as `fullNameOf` gives it. */
export function objectPathOf(model: Placed, fullName: string): string {
  const { namespace, name } = partsOf(fullName);
  return `${pathOf(model, namespace)}/${encodeURIComponent(name)}`;
}

/** Where the console shows it. */
export const objectLink = (type: string, fullName: string): string =>
  `/objects/${type}/${fullName.split('/').map(encodeURIComponent).join('/')}`;

/** The model for the calls of `kindred/client`. */
export const clientModelOf = ({ group, version, kind, singular, plural, scope }: ModelSummary) =>
  modelOf({ group, version, kind, singular, plural, ...(scope && { scope }) });

/** A text in the reader's language, else in English, else in any. */
export function inLanguage(text: Titled | undefined): string | undefined {
  if (text === undefined || typeof text === 'string') return text;
  return text[language.value] ?? text.en ?? Object.values(text)[0];
}

export const titleOf = (model: Pick<ModelSummary, 'presentation' | 'kind'>): string =>
  inLanguage(model.presentation?.title) ?? model.kind;

/** The models of plugins are the reader's own. */
export const isOwn = (model: ModelSummary): boolean => model.plugin !== undefined;

export const mayList = (model: ModelSummary): boolean => model.verbs.includes('list');

/** The API groups of the service's models whose titles several models have, by type: what tells them apart. */
export function sharedGroupsOf(models: readonly ModelSummary[]): ReadonlyMap<string, string> {
  const titles = models.map(titleOf);
  const isShared = (model: ModelSummary) => titles.indexOf(titleOf(model)) !== titles.lastIndexOf(titleOf(model));
  return new Map(
    models.filter((model) => !isOwn(model) && isShared(model)).map((model) => [typeOf(model), model.group]),
  );
}

/** By API group, the reader's own first; the service's own models are one group without a name. */
export function groupsOf(models: readonly ModelSummary[]): { name: string; models: ModelSummary[] }[] {
  const groups = new Map<string, ModelSummary[]>();
  for (const model of models) {
    const name = isOwn(model) ? model.group || model.plugin! : '';
    groups.set(name, [...(groups.get(name) ?? []), model]);
  }
  return [...groups]
    .map(([name, members]) => ({ name, models: members.sort((a, b) => titleOf(a).localeCompare(titleOf(b))) }))
    .sort((a, b) => Number(a.name === '') - Number(b.name === '') || a.name.localeCompare(b.name));
}

const whileBuilding = 1_000;
/** Of a model whose plugin may be stopped. */
const whileMissing = 5_000;
const isPassing = ({ state }: ModelSummary): boolean => state === 'building' || state === 'outdated';

const modelsQuery = {
  queryKey: ['models'],
  queryFn: ({ signal }: { signal: AbortSignal }) =>
    client.request<{ models: ModelSummary[] }>('GET', '/v3/models', { signal }).then(({ models }) => models),
  refetchInterval: ({ state }: { state: { data: ModelSummary[] | undefined } }) =>
    state.data?.some(isPassing) ? whileBuilding : 30_000,
} as const;

export function useModels() {
  return useQuery(modelsQuery);
}

export const modelQuery = (type: string) => ({
  queryKey: ['model', type],
  queryFn: ({ signal }: { signal: AbortSignal }) =>
    client.request<ModelDetails>('GET', `/v3/models/${encodeURIComponent(type)}`, { signal }),
  staleTime: 10_000,
});

/** The model of an address, with its schema and indexes. */
export function useModel(type: MaybeRefOrGetter<string>) {
  return useQuery({
    queryKey: computed(() => modelQuery(toValue(type)).queryKey),
    queryFn: (context) => modelQuery(toValue(type)).queryFn(context),
    enabled: computed(() => toValue(type) !== ''),
    staleTime: modelQuery('').staleTime,
    refetchInterval({ state }) {
      if (state.error && problemOf(state.error).code === 'NotFound') return whileMissing;
      return state.data && isPassing(state.data) ? whileBuilding : false;
    },
  });
}
