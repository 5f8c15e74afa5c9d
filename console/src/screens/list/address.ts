/** What the address of a list says; the names of its parameters are those of the API. */
import type { ListQuery } from 'kindred/client';
import { computed } from 'vue';
import type { LocationQuery, LocationQueryRaw } from 'vue-router';
import { useRoute, useRouter } from 'vue-router';
import { listParameters } from '../../../../src/client/parameters.ts';

export const sizes = [20, 50, 100, 500, 1_000];
export const firstSize = 50;

export interface SortKey {
  readonly field: string;
  readonly direction: 'asc' | 'desc';
}

/** What the query string of a list says. */
export function addressOf(given: LocationQuery) {
  const texts = (name: string) => [given[name] ?? []].flat().filter((text): text is string => !!text);
  const count = (name: string, otherwise: number) => {
    const number = Number(given[name]);
    return Number.isInteger(number) && number > 0 ? number : otherwise;
  };
  return {
    fieldSelector: texts('fieldSelector').join(','),
    labelSelector: texts('labelSelector').join(','),
    sort: texts('sort').map((text): SortKey => {
      const [field, direction] = text.split(/,(?=(?:asc|desc)$)/);
      return { field: field!, direction: direction === 'desc' ? 'desc' : 'asc' };
    }),
    page: count('page', 1),
    size: count('size', firstSize),
    columns: texts('columns').flatMap((text) => text.split(',')),
    isLive: given.live !== 'off',
    view: texts('view')[0],
    isExplained: given.explain === 'on',
  };
}

/** The request for the page. */
export function queryOf({ fieldSelector, labelSelector, sort, page, size }: ReturnType<typeof addressOf>): ListQuery {
  return {
    ...(fieldSelector && { fieldSelector }),
    ...(labelSelector && { labelSelector }),
    sort: sortTexts(sort) ?? [],
    page,
    size,
  };
}

export function useAddress() {
  const route = useRoute();
  const router = useRouter();
  const address = computed(() => addressOf(route.query));
  const query = computed(() => queryOf(address.value));
  const parameters = computed(() => listParameters(query.value));

  /** Goes to the same list with some parameters changed; undefined takes one away. */
  function go(change: LocationQueryRaw): void {
    const all = Object.entries({ ...route.query, ...change }).filter(([, value]) => value !== undefined);
    // The name alone would be the whole view again.
    const query = all.filter(([name]) => name !== 'view' || all.length > 1);
    void router.push({ query: Object.fromEntries(query) });
  }

  return { address, query, parameters, go };
}

export const sortTexts = (keys: readonly SortKey[]): string[] | undefined =>
  keys.length ? keys.map(({ field, direction }) => `${field},${direction}`) : undefined;
