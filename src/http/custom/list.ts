/** The common parameters of custom list routes (specification, "Custom API" 6; docs/reference/lists.md). */
import { parseListParameters } from '../../query/list-parameters.ts';
import type { ListOptionsBuilder, Sort } from '../../query/query.ts';
import { ListOptions, PageRequest } from '../../query/query.ts';
import type { CustomRequest, OperationBuilder } from './declaration.ts';

/** Where a request carries the service's limits. Symbol.for: a plugin may have another copy of this module. */
export const listLimits: unique symbol = Symbol.for('kindred.list-limits') as any;

const names = ['page', 'size', 'sort', 'labelSelector', 'fieldSelector'];

/**
 * `page`, `size`, `sort`, `labelSelector` and `fieldSelector` of a request; other parameters are left to the class that extends it.
 *
 * @throws InvalidParameter, InvalidSelector when it is made; an unknown field when the list is asked for
 * @example
 * ```ts
 * class BookQuery extends SortableRequest {
 *   readonly keyword: string | null;
 *   constructor(request: CustomRequest) {
 *     super(request);
 *     this.keyword = request.query.get('keyword');
 *   }
 *   override toListOptions() {
 *     const options = this.listOptions();
 *     if (this.keyword) options.andQuery(Queries.contains('spec.title', this.keyword));
 *     return options.build();
 *   }
 * }
 * void BookQuery;
 * ```
 */
export class SortableRequest {
  /** From 1; 1 when not given. */
  readonly page: number;
  /** 20 when not given. */
  readonly size: number;
  /** Empty when not given: newest first. */
  readonly sort: Sort;
  readonly #query: URLSearchParams;

  constructor(request: CustomRequest) {
    this.#query = request.query;
    const maxSize = (request as { [listLimits]?: { maxSize: number } })[listLimits]?.maxSize;
    const own = [...request.query].filter(([name]) => names.includes(name));
    const { page, size, sort } = parseListParameters(own, { ...(maxSize !== undefined && { maxSize }), also: [] });
    this.page = page;
    this.size = size;
    this.sort = sort;
  }

  toListOptions(): ListOptions {
    return this.listOptions().build();
  }

  toPageRequest(): PageRequest {
    return PageRequest.of(this.page, this.size, this.sort);
  }

  /** Adds the parameters to the description of a route; one that extends the class adds its own to them. */
  static buildParameters(d: OperationBuilder): OperationBuilder {
    const text = { type: 'string' };
    const texts = { type: 'array', items: text };
    return d
      .parameter({
        name: 'page',
        in: 'query',
        description: 'Number of the page, from 1',
        schema: { type: 'integer', minimum: 1, default: 1 },
      })
      .parameter({
        name: 'size',
        in: 'query',
        description: 'Objects on a page',
        schema: { type: 'integer', minimum: 1, default: 20 },
      })
      .parameter({
        name: 'sort',
        in: 'query',
        description: 'An indexed field, with `,asc` or `,desc`; may be given several times',
        schema: texts,
      })
      .parameter({
        name: 'labelSelector',
        in: 'query',
        description: 'Terms on metadata.labels joined by commas',
        schema: texts,
      })
      .parameter({
        name: 'fieldSelector',
        in: 'query',
        description: 'Terms on indexed fields joined by commas',
        schema: texts,
      });
  }

  /** What the request's selectors ask for, for conditions to be added. */
  protected listOptions(): ListOptionsBuilder {
    const options = ListOptions.builder();
    for (const text of this.#query.getAll('labelSelector')) options.labelSelector(text);
    for (const text of this.#query.getAll('fieldSelector')) options.fieldSelector(text);
    return options;
  }
}
