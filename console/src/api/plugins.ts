/** The plugins as objects of the service's own model, whose group depends on the domain that the service reserves. */
import { useQuery } from '@tanstack/vue-query';
import type { ListResult } from 'kindred/client';
import { computed } from 'vue';
import { client } from './client.ts';
import { isOwn, pathOf, useModels } from './models.ts';
import type { ApiObject } from './object.ts';

export interface Plugin extends ApiObject {
  readonly spec: { readonly enabled?: boolean; readonly displayName?: string; readonly version?: string };
  readonly status?: { readonly state: string; readonly reason?: string; readonly message?: string };
}

const refreshEvery = 5_000;
/** While a plugin starts or stops. */
const soon = 500;
const most = '1000';

export const isEnabled = ({ spec }: Plugin): boolean => spec.enabled !== false;

/** What it is told to be, or has failed to become. */
function isSettled(plugin: Plugin): boolean {
  const state = plugin.status?.state;
  return state === 'FAILED' || state === (isEnabled(plugin) ? 'STARTED' : 'STOPPED');
}

export function usePlugins() {
  const models = useModels();
  const model = computed(() => models.data.value?.find((one) => !isOwn(one) && one.kind === 'Plugin'));
  const mayList = computed(() => model.value?.verbs.includes('list') ?? false);
  const query = useQuery({
    queryKey: ['plugins'],
    queryFn: async ({ signal }) => {
      const list = await client.request<ListResult<Plugin>>('GET', pathOf(model.value!), {
        query: { size: most, sort: 'metadata.name,asc' },
        signal,
      });
      return list.items;
    },
    enabled: mayList,
    refetchInterval: ({ state }) => (state.data?.every(isSettled) === false ? soon : refreshEvery),
  });
  return { models, model, mayList, query };
}
