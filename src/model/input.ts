/** The types of what clients send: as what is stored, but members with a default may be left out, at every depth. */
import type { StandardTypes } from '../schema/standard-schema.ts';

/** A schema type that says of itself that it has a default: a plain schema, or TypeBox as `kindred` exports it. */
export interface HasDefault {
  readonly default: unknown;
}

type Flat<T> = { [K in keyof T]: T[K] } & {};
type IsAny<T> = 0 extends 1 & T ? true : false;

/** Names of the properties that have a default. */
type Filled<P> = { [K in keyof P]: P[K] extends HasDefault ? K : never }[keyof P];
type Property<P, K, T> = K extends keyof P ? InputOf<P[K], T> : T;
type ObjectInput<P, T> = Flat<
  { [K in keyof T as K extends Filled<P> ? never : K]: Property<P, K, T[K]> } & {
    [K in keyof T as K extends Filled<P> ? K : never]?: Property<P, K, T[K]>;
  }
>;

/** The properties of several schemas that all apply. */
type PropertiesOf<A> = A extends readonly [infer First, ...infer Rest]
  ? (First extends { readonly properties: infer P } ? P : unknown) & PropertiesOf<Rest>
  : unknown;
/** Of "this or null" this. */
type NotNull<A> = A extends readonly [infer S, { readonly type: 'null' }]
  ? S
  : A extends readonly [{ readonly type: 'null' }, infer S]
    ? S
    : never;

/**
 * What may be sent for a value of type `T` that the schema of type `S` describes. Defaults of alternatives are not set, but
 * for "this or null". Where the types do not say, it is `T`.
 */
export type InputOf<S, T> =
  IsAny<S> extends true
    ? T
    : S extends StandardTypes<infer I>
      ? I
      : S extends { readonly properties: infer P }
        ? OfObject<P, T>
        : S extends { readonly items: infer I }
          ? T extends readonly (infer E)[]
            ? InputOf<I, E>[]
            : T
          : S extends { readonly patternProperties: infer P }
            ? T extends object
              ? { [K in keyof T]: InputOf<P[keyof P], T[K]> }
              : T
            : S extends { readonly allOf: infer A }
              ? OfObject<PropertiesOf<A>, T>
              : S extends { readonly anyOf: infer A }
                ? [NotNull<A>] extends [never]
                  ? T
                  : InputOf<NotNull<A>, Exclude<T, null>> | null
                : T;

type OfObject<P, T> = T extends object ? ObjectInput<P, T> : T;
