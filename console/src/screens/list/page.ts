/** The page of a list, which the start asks for before the screen is there. */
import type { ListQuery, ListResult } from 'kindred/client';
import { listParameters } from '../../../../src/client/parameters.ts';
import { client } from '../../api/client.ts';
import type { ModelSummary } from '../../api/models.ts';
import { clientModelOf } from '../../api/models.ts';
import type { ApiObject } from '../../api/object.ts';

export const pageKey = (type: string, query: ListQuery) => ['list', type, listParameters(query).toString()];

export function readPage(model: ModelSummary, query: ListQuery, signal: AbortSignal): Promise<ListResult<ApiObject>> {
  return client.with({ signal }).for(clientModelOf(model)).list(query) as Promise<ListResult<ApiObject>>;
}
