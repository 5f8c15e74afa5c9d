/** What the address of a list says; the names of its parameters are those of the API. */
import { computed } from 'vue';
import type { LocationQueryRaw } from 'vue-router';
import { useRoute, useRouter } from 'vue-router';

export const sizes = [20, 50, 100, 500, 1_000];
export const firstSize = 50;

export interface SortKey {
  readonly field: string;
  readonly direction: 'asc' | 'desc';
}

export function useAddress() {
  const route = useRoute();
  const router = useRouter();
  const texts = (name: string) => [route.query[name] ?? []].flat().filter((text): text is string => !!text);
  const count = (name: string, otherwise: number) => {
    const number = Number(route.query[name]);
    return Number.isInteger(number) && number > 0 ? number : otherwise;
  };

  const address = computed(() => ({
    fieldSelector: texts('fieldSelector').join(','),
    labelSelector: texts('labelSelector').join(','),
    sort: texts('sort').map((text): SortKey => {
      const [field, direction] = text.split(/,(?=(?:asc|desc)$)/);
      return { field: field!, direction: direction === 'desc' ? 'desc' : 'asc' };
    }),
    page: count('page', 1),
    size: count('size', firstSize),
    columns: texts('columns').flatMap((text) => text.split(',')),
    isLive: route.query.live !== 'off',
    view: texts('view')[0],
    isExplained: route.query.explain === 'on',
  }));

  /** Of the request for the page. */
  const parameters = computed(() => {
    const { fieldSelector, labelSelector, sort, page, size } = address.value;
    const query = selectors({ fieldSelector, labelSelector });
    for (const { field, direction } of sort) query.append('sort', `${field},${direction}`);
    query.set('page', String(page));
    query.set('size', String(size));
    return query;
  });

  /** Goes to the same list with some parameters changed; undefined takes one away. */
  function go(change: LocationQueryRaw): void {
    const query = { ...route.query, ...change };
    void router.push({ query: Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined)) });
  }

  return { address, parameters, go };
}

function selectors(given: { fieldSelector: string; labelSelector: string }): URLSearchParams {
  return new URLSearchParams(Object.entries(given).filter(([, text]) => text !== ''));
}

export const sortTexts = (keys: readonly SortKey[]): string[] | undefined =>
  keys.length ? keys.map(({ field, direction }) => `${field},${direction}`) : undefined;
