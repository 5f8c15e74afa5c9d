/** The common parameters of custom list routes (specification, "Custom API" 6). */
import type { ListOptions, PageRequest, Sort } from '../query/query.ts';
import type { CustomRequest, OperationBuilder } from './custom-route.ts';

export declare class SortableRequest {
  constructor(request: CustomRequest);
  readonly page: number;
  readonly size: number;
  readonly sort: Sort;
  toListOptions(): ListOptions;
  toPageRequest(): PageRequest;
  static buildParameters(d: OperationBuilder): OperationBuilder;
}
