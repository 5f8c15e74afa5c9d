/** The objects of the service's own models that these screens show. */
import { useQuery, useQueryClient } from '@tanstack/vue-query';
import type { ListResult } from 'kindred/client';
import { computed } from 'vue';
import { client } from '../../api/client.ts';
import { mayList, typeOf, useModels } from '../../api/models.ts';
import type { ApiObject } from '../../api/object.ts';

export interface User extends ApiObject {
  readonly spec?: { readonly displayName?: string; readonly email?: string; readonly disabled?: boolean };
}

export interface Rule {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

export interface Role extends ApiObject {
  readonly rules?: readonly Rule[];
}

export interface Binding extends ApiObject {
  readonly roleRef: { readonly name: string };
  readonly subjects?: readonly { readonly kind: string; readonly name: string }[];
}

export interface Token extends ApiObject {
  readonly spec: { readonly user: string; readonly roles?: readonly string[]; readonly expiresAt?: string };
  readonly status?: { readonly token?: string; readonly lastUsedAt?: string };
}

const most = '1000';

/**
 * Up to a thousand of them, by name; the list of the model has the others.
 * @param fieldSelector which of them; empty: all
 */
export function useStored<T extends ApiObject>(plural: string, fieldSelector: () => string = () => '') {
  const queries = useQueryClient();
  const key = ['stored', plural];
  const path = `/api/v1alpha1/${plural}`;
  const models = useModels();
  const model = computed(() => models.data.value?.find((one) => typeOf(one) === plural));
  const query = useQuery({
    queryKey: computed(() => [...key, fieldSelector()]),
    enabled: computed(() => model.value !== undefined && mayList(model.value)),
    queryFn: ({ signal }) => {
      const selector = fieldSelector();
      const parameters = { size: most, sort: 'metadata.name,asc', ...(selector && { fieldSelector: selector }) };
      return client.request<ListResult<T>>('GET', path, { query: parameters, signal });
    },
  });
  return { plural, path, query, read: () => queries.invalidateQueries({ queryKey: key }) };
}
