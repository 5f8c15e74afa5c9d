/** What a list is asked for: conditions and selectors together, a page, an order. */

import type { Text } from '../errors.ts';
import { KindredError } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import type { IndexDefinition } from '../model/index-entry.ts';
import type { Condition } from './condition.ts';
import { Queries } from './condition.ts';
import { parseFieldSelector, parseLabelSelector } from './selector.ts';

export { type Condition, Queries } from './condition.ts';

/**
 * Which objects a list holds.
 *
 * @example
 * ```ts
 * const options = ListOptions.builder().labelSelector('tier=gold').andQuery(Queries.greaterThan('spec.year', 1900)).build();
 * const page = await client.list(Book, options);
 * console.log(page.total);
 * ```
 */
export class ListOptions {
  /** Label selectors as they were given; all of them must hold. */
  readonly labelSelectors: readonly string[];
  /** Field selectors and conditions in the order they were given. */
  readonly steps: readonly ListOptionsStep[];
  /** Everything together, but for the namespace. */
  readonly condition: Condition;
  /** Of a namespaced model: the objects of this one alone. */
  readonly namespace: string | undefined;

  private constructor(labelSelectors: readonly string[], steps: readonly ListOptionsStep[], namespace?: string) {
    this.labelSelectors = labelSelectors;
    this.steps = steps;
    this.namespace = namespace;
    let fields: Condition | undefined;
    for (const step of steps) {
      const next =
        'fieldSelector' in step ? parseFieldSelector(step.fieldSelector) : 'and' in step ? step.and : step.or;
      fields = !fields ? next : 'or' in step ? fields.or(next) : fields.and(next);
    }
    const labels = labelSelectors.length ? parseLabelSelector(labelSelectors) : undefined;
    this.condition = labels && fields ? labels.and(fields) : (labels ?? fields ?? Queries.all());
  }

  /**
   * Label selectors are always ANDed. `fieldSelector` and `andQuery` are ANDed to the field conditions given so far,
   * `orQuery` widens these. `build` throws InvalidSelector for a malformed selector.
   * @param from what the options begin with, such as those of a request
   */
  static builder(from?: ListOptions): ListOptionsBuilder {
    const labelSelectors = [...(from?.labelSelectors ?? [])];
    const steps = [...(from?.steps ?? [])];
    let namespace = from?.namespace;
    const builder: ListOptionsBuilder = {
      labelSelector: (text) => {
        labelSelectors.push(text);
        return builder;
      },
      fieldSelector: (text) => {
        steps.push({ fieldSelector: text });
        return builder;
      },
      andQuery: (condition) => {
        steps.push({ and: condition });
        return builder;
      },
      orQuery: (condition) => {
        steps.push({ or: condition });
        return builder;
      },
      namespace: (name) => {
        namespace = name;
        return builder;
      },
      build: () => new ListOptions([...labelSelectors], [...steps], namespace),
    };
    return builder;
  }

  /** The selectors of a list request (docs/reference/lists.md). */
  static parse(parameters: { labelSelector?: string | string[]; fieldSelector?: string | string[] }): ListOptions {
    const fieldSelectors = [parameters.fieldSelector ?? []].flat();
    return new ListOptions(
      [parameters.labelSelector ?? []].flat(),
      fieldSelectors.map((fieldSelector) => ({ fieldSelector })),
    );
  }
}

export type ListOptionsStep =
  | { readonly fieldSelector: string }
  | { readonly and: Condition }
  | { readonly or: Condition };

/** What `ListOptions.builder()` gives; every member but `build` returns the builder. */
export interface ListOptionsBuilder {
  labelSelector(text: string): this;
  fieldSelector(text: string): this;
  andQuery(condition: Condition): this;
  orQuery(condition: Condition): this;
  /** Of a namespaced model: the objects of this namespace alone. */
  namespace(name: string): this;
  build(): ListOptions;
}

/** `'spec.age,desc'`, `'spec.age'` (the index's own order) or an object. */
export type Sort = readonly (string | { field: string; direction?: 'asc' | 'desc' })[];

const notWhole: Text = localized('"{parameter}" is a whole number from 1, not {value}');

/**
 * One page of a list: `page` from 1, `size` from 1. Without `sort`: newest first.
 *
 * @example
 * ```ts
 * const newest = await client.list(Book, ListOptions.builder().build(), PageRequest.of(1, 20, 'spec.year,desc'));
 * console.log(newest.items);
 * ```
 */
export class PageRequest {
  readonly page: number;
  readonly size: number;
  readonly sort: Sort;

  private constructor(page: number, size: number, sort: Sort) {
    this.page = page;
    this.size = size;
    this.sort = sort;
  }

  /** Throws InvalidParameter unless both are whole numbers from 1. */
  static of(page: number, size: number, sort: Sort | string = []): PageRequest {
    for (const [parameter, value] of Object.entries({ page, size })) {
      if (!Number.isSafeInteger(value) || value < 1)
        throw new KindredError('InvalidParameter', notWhole, { params: { parameter, value }, parameter });
    }
    return new PageRequest(page, size, typeof sort === 'string' ? [sort] : sort);
  }
}

export interface SortKey {
  readonly field: string;
  readonly direction: 'asc' | 'desc';
}

/** A sort as it was asked for; `bindSort` checks it and fills in the directions. */
export interface SortTerm {
  readonly field: string;
  readonly direction?: 'asc' | 'desc';
}

/** What the engine is asked (`execute.ts`). */
export interface Query {
  readonly where: Condition;
  /** Empty: newest first. `metadata.name` ascending always ends the order. */
  readonly sort: readonly SortTerm[];
  readonly offset: number;
  readonly limit: number;
  /** Only these objects; the total counts them alone. */
  readonly names?: ReadonlySet<string>;
  /** The indexes in their order, with the names that the query has for them. Default: their own. */
  readonly definitions?: readonly IndexDefinition[];
}
