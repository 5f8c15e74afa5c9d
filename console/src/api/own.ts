/** The objects of one of the service's own models whose group depends on the domain that the service reserves. */
import { useQuery } from '@tanstack/vue-query';
import type { ListResult } from 'kindred/client';
import { computed } from 'vue';
import { client } from './client.ts';
import { isOwn, pathOf, useModels } from './models.ts';
import type { ApiObject } from './object.ts';

const most = '1000';

/** The model of that kind, once it is known and only for who may see it. */
export function useOwnModel(kind: string) {
  const models = useModels();
  const model = computed(() => models.data.value?.find((one) => !isOwn(one) && one.kind === kind));
  return { models, model, mayList: computed(() => model.value?.verbs.includes('list') ?? false) };
}

/** Up to a thousand of its objects, by name; read again every so many milliseconds. */
export function useOwnObjects<T extends ApiObject>(kind: string, every: (objects: readonly T[] | undefined) => number) {
  const { models, model, mayList } = useOwnModel(kind);
  const query = useQuery({
    queryKey: ['own', kind],
    queryFn: async ({ signal }) => {
      const list = await client.request<ListResult<T>>('GET', pathOf(model.value!), {
        query: { size: most, sort: 'metadata.name,asc' },
        signal,
      });
      return list.items;
    },
    enabled: mayList,
    refetchInterval: ({ state }) => every(state.data),
  });
  return { models, model, mayList, query };
}
