/** Declaring a model in schema form (docs/reference/declaration.md); the static type is inferred from the schemas. */

import type { Static, TSchema } from 'typebox';
import { localized } from '../locales/localized.ts';
import { invalidModel, Mistakes } from '../schema/invalid-model.ts';
import type { StandardTypes } from '../schema/standard-schema.ts';
import type { ModelAttributes } from './attributes.ts';
import type { Declaration } from './declaration.ts';
import { declare, isRequired } from './declaration.ts';
import type { Evolution, GVKAttributes } from './gvk.ts';
import type { IndexFactory, ValueIndexSpec } from './index-spec.ts';
import { indexFactory } from './index-spec.ts';
import type { HasDefault, InputOf } from './input.ts';
import type { Key } from './key.ts';
import type { Model } from './model-type.ts';
import type { Metadata } from './object.ts';
import type { Presentation } from './presentation.ts';
import type { VersionDeclaration } from './versions.ts';

/** Members that every object has. */
interface ObjectBase {
  apiVersion: string;
  kind: string;
  metadata: Metadata;
}

type Flat<T> = { [K in keyof T]: T[K] } & {};
type IsUnknown<T> = unknown extends T ? true : false;
type StaticOf<S> =
  IsUnknown<S> extends true
    ? any
    : S extends StandardTypes<any, infer O>
      ? O
      : S extends TSchema
        ? IsUnknown<Static<S>> extends true
          ? any
          : Static<S>
        : any;
/** Whether a member with this schema may be absent: by TypeBox's mark, or because it may be undefined. */
type IsOptional<S, T> = S extends { '~optional': true }
  ? true
  : IsUnknown<T> extends true
    ? false
    : undefined extends T
      ? true
      : false;
type Member<Name extends string, T, Optional> = Optional extends true
  ? { [N in Name]?: Exclude<T, undefined> }
  : { [N in Name]: T };
type SpecMember<S> = IsUnknown<S> extends true ? unknown : Member<'spec', StaticOf<S>, IsOptional<S, StaticOf<S>>>;
type StatusMember<S> = IsUnknown<S> extends true ? unknown : Member<'status', StaticOf<S>, true>;
type SentOf<S> = InputOf<S, StaticOf<S>>;
type SentSpec<S> =
  IsUnknown<S> extends true
    ? unknown
    : Member<'spec', SentOf<S>, S extends HasDefault ? true : IsOptional<S, SentOf<S>>>;
type SentStatus<S> = IsUnknown<S> extends true ? unknown : Member<'status', SentOf<S>, true>;

/** What every object to be created may have. */
interface NewBase {
  apiVersion?: string;
  kind?: string;
  metadata: Partial<Metadata>;
}

/** The type of the objects of a model declared with `spec` and `status`. */
export type SpecObject<Spec, Status> = Flat<ObjectBase & SpecMember<Spec> & StatusMember<Status>>;
/** The type of the objects of a model declared with `schema`. */
export type FieldsObject<Fields> = Flat<ObjectBase & StaticOf<Fields>>;

/** The type of an object to be created of such a model. */
export type NewSpecObject<Spec, Status> = Flat<NewBase & SentSpec<Spec> & SentStatus<Status>>;
export type NewFieldsObject<Fields> = Flat<NewBase & SentOf<Fields>>;

/** By name, the values of the indexes that are declared. */
type KeysOf<S extends ValueIndexSpec> = { readonly [One in S as One['name']]?: FilterKey<One> };
type FilterKey<S> = S extends { readonly $key?: infer K } ? K : Key;

/** The attributes may stand in `gvk` too. */
interface CommonDeclaration<T, S> extends ModelAttributes {
  gvk: GVKAttributes;
  /** The same as `presentation` in `gvk`. */
  presentation?: Presentation;
  /** The same as `evolution` in `gvk`, typed by the model. */
  evolution?: Evolution<T>;
  /** Typed by the model; `register`'s callback adds to them. */
  indexes?: (index: IndexFactory<T>) => readonly S[];
}

/** A version of a model with `spec` and `status`; that of the hub has `served` and `deprecated` alone. */
interface SpecVersion<Own, Hub> extends VersionDeclaration<StaticOf<Own>, StaticOf<Hub>> {
  spec?: Own & object;
  schema?: undefined;
}

/** A version of a model with `schema`. */
interface FieldsVersion<Own, Hub> extends VersionDeclaration<StaticOf<Own>, StaticOf<Hub>> {
  schema?: Own & object;
  spec?: undefined;
  status?: undefined;
}

/** With `spec` and `status`: JSON Schemas (TypeBox, Zod's `toJSONSchema`, plain); each is a document of its own. */
export interface SpecDeclaration<Spec, Status, S = ValueIndexSpec, Specs = Record<string, any>>
  extends CommonDeclaration<SpecObject<Spec, Status>, S> {
  /** The model in other versions, by their names (docs/guide/changing-models.md). */
  versions?: { readonly [V in keyof Specs]: SpecVersion<Specs[V], Spec> };
  /** Required in an object unless it is `Type.Optional(…)`. */
  spec?: Spec;
  /** Never required. */
  status?: Status;
  schema?: undefined;
}

/** The 2.12 form: `schema` describes everything beside `apiVersion`, `kind` and `metadata`. */
export interface FieldsDeclaration<Fields, S = ValueIndexSpec, Schemas = Record<string, any>>
  extends CommonDeclaration<FieldsObject<Fields>, S> {
  /** The model in other versions, by their names (docs/guide/changing-models.md). */
  versions?: { readonly [V in keyof Schemas]: FieldsVersion<Schemas[V], Fields> };
  schema: Fields;
  spec?: undefined;
  status?: undefined;
}

/** What `defineModel` takes. */
export type ModelDeclaration = SpecDeclaration<any, any> | FieldsDeclaration<any>;

const declarationKey = Symbol.for('kindred.model');

/**
 * Declares a model.
 *
 *     const Person = defineModel({ gvk, spec: Type.Object({ name: Type.String({ minLength: 1 }) }) });
 *     type Person = ObjectOf<typeof Person>;
 *
 * Throws KindredError `InvalidModel` with every mistake: the rule and the value, for a schema its path.
 *
 * @example
 * ```ts
 * const gvk = { group: 'library.example.com', version: 'v1alpha1', kind: 'Shelf', singular: 'shelf', plural: 'shelves' } as const;
 * const Shelf = defineModel({
 *   gvk,
 *   spec: Type.Object({ room: Type.String({ minLength: 1 }) }),
 *   indexes: (index) => [index.single('spec.room', String, (shelf) => shelf.spec.room)],
 * });
 * type Shelf = ObjectOf<typeof Shelf>;
 * void ({} as Shelf);
 * ```
 */
export function defineModel<
  const Fields extends object,
  S extends ValueIndexSpec = ValueIndexSpec,
  const Schemas extends Record<string, object> = Record<string, any>,
>(
  declaration: FieldsDeclaration<Fields, S, Schemas>,
): Model<FieldsObject<Fields>, S['name'], NewFieldsObject<Fields>, KeysOf<S>>;
export function defineModel<
  const Spec extends object = any,
  const Status extends object = any,
  S extends ValueIndexSpec = ValueIndexSpec,
  const Specs extends Record<string, object> = Record<string, any>,
>(
  declaration: SpecDeclaration<Spec, Status, S, Specs>,
): Model<SpecObject<Spec, Status>, S['name'], NewSpecObject<Spec, Status>, KeysOf<S>>;
export function defineModel(declaration: ModelDeclaration): Model<any> {
  const mistakes = new Mistakes();
  checkMembers(declaration, mistakes);
  const { gvk, spec, status, schema, indexes, versions, ...attributes } = declaration;
  const declared = declare({
    mistakes,
    gvk: { ...gvk, ...defined(attributes) },
    spec,
    status,
    schema,
    specRequired: isRequired(spec),
    indexSpecs: () => declaredIndexes(indexes),
    versions: versions ?? gvk?.versions,
  });
  return declaredModel(declared);
}

/** The model of a declaration. */
export function declaredModel(declaration: Declaration): Model<any> {
  const model = { gvk: declaration.gvk, schema: declaration.jsonSchema };
  Object.defineProperty(model, declarationKey, { value: declaration });
  return Object.freeze(model);
}

/** A member that is undefined is as one that is not there. */
function defined<T extends object>(members: T): Partial<T> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Partial<T>;
}

function declaredIndexes(indexes: ModelDeclaration['indexes']): readonly ValueIndexSpec[] {
  if (indexes === undefined) return [];
  const specs: unknown = typeof indexes === 'function' ? indexes(indexFactory) : indexes;
  if (typeof indexes === 'function' && Array.isArray(specs)) return specs as ValueIndexSpec[];
  return invalidModel(
    localized(
      '"indexes" must be a function that returns an array of indexes, such as (index) => [index.single(…)]; {what} {value}',
    ),
    { what: typeof indexes === 'function' ? 'it returned' : 'got', value: specs },
  );
}

/** The declaration of a model in schema form; undefined for anything else. */
export function modelDeclaration(type: unknown): Declaration | undefined {
  return typeof type === 'object' && type !== null
    ? (type as { [declarationKey]?: Declaration })[declarationKey]
    : undefined;
}

const members = [
  'gvk',
  'spec',
  'status',
  'schema',
  'scope',
  'naming',
  'shortNames',
  'categories',
  'columns',
  'subresources',
  'rules',
  'presentation',
  'evolution',
  'versions',
  'indexes',
];

function checkMembers(declaration: ModelDeclaration, mistakes: Mistakes): void {
  if (typeof declaration !== 'object' || declaration === null) {
    invalidModel(localized('defineModel takes a declaration with the members {members}; got {value}'), {
      members: members.join(', '),
      value: declaration,
    });
  }
  for (const name of Object.keys(declaration)) {
    if (members.includes(name)) continue;
    mistakes.in(() =>
      invalidModel(localized('defineModel knows no member "{name}"; it knows {members}'), {
        name,
        members: members.join(', '),
      }),
    );
  }
}
