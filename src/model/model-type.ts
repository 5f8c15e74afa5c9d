/** The static types of a model: what is given wherever a model is asked for, and the types of its objects. */
import type { GVKAttributes } from './gvk.ts';
import type { ValuesOf } from './key.ts';
import type { Metadata } from './object.ts';

/**
 * A model in schema form: the type of its objects, the names of the indexes that its declaration names, the type of an object
 * to be created, and the type of the values of each index.
 */
export interface Model<T, I extends string = string, N = New<T>, K = ValuesOf<I>> {
  readonly gvk: GVKAttributes;
  /** The whole object as JSON Schema 2020-12. */
  readonly schema: object;
  /** Never there: carries the type of the objects. */
  readonly $object?: T;
  /** Never there: carries the names of the indexes that the declaration names. */
  readonly $indexes?: I;
  /** Never there: carries the type of an object to be created. A method, so that a model is one of `Model<T>` too. */
  $new?(object: N): void;
  /** Never there: carries the types of the indexes' values by name. */
  $keys?(keys: K): void;
}

/** The type of a model's objects, of either form. */
export type ObjectOf<M> =
  M extends Model<infer T, any, any, any> ? T : M extends abstract new (...a: any[]) => infer C ? C : never;

/** Everywhere a "type" is asked for: a model or a decorated class. */
export type ModelType<T = any, N = any> = Model<T, any, N, any> | (new (...a: any[]) => T);

/** An object to be created: `apiVersion`, `kind` and the server-owned metadata may be left out; `name` or `generateName` is given. */
export type New<T> = Omit<T, 'apiVersion' | 'kind' | 'metadata'> & {
  apiVersion?: string;
  kind?: string;
  metadata: Partial<Metadata>;
};

/**
 * As `New`, from the model: members with a default may be left out at every depth, as far as the declaration's types tell them
 * (schemas by `Type` of `kindred`, plain ones, Standard Schemas; in the class form a field with `?`).
 *
 *     const task: NewOf<typeof Task> = { metadata: { name: 'one' }, spec: { title: 'One' } };
 */
export type NewOf<M> = M extends Model<any, any, infer N, any> ? N : New<ObjectOf<M>>;
