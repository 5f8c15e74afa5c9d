/**
 * TypeBox's `Type` with one thing more in its types: whether a schema has a default, so that what clients send is typed without
 * it. At run time it is TypeBox.
 */
import type {
  TAny,
  TArray,
  TArrayOptions,
  TBoolean,
  TEnum,
  TEnumValue,
  TInteger,
  TIntersect,
  TIntersectOptions,
  TLiteral,
  TLiteralValue,
  TNull,
  TNumber,
  TNumberOptions,
  TObject,
  TObjectOptions,
  TProperties,
  TRecordAction,
  TSchema,
  TSchemaOptions,
  TString,
  TStringOptions,
  TTuple,
  TTupleOptions,
  TUnion,
  TUnknown,
} from 'typebox';
import { Type } from 'typebox';
import type { HasDefault } from './input.ts';

export * from 'typebox';

interface Plain<O, S> {
  (options: O & HasDefault): S & HasDefault;
  (options?: O): S;
}

interface EnumBuilder {
  <Values extends TEnumValue[]>(
    values: readonly [...Values],
    options: TSchemaOptions & HasDefault,
  ): TEnum<Values> & HasDefault;
  <Values extends TEnumValue[]>(values: readonly [...Values], options?: TSchemaOptions): TEnum<Values>;
}

const any = Type.Any as Plain<TSchemaOptions, TAny>;
const boolean = Type.Boolean as Plain<TSchemaOptions, TBoolean>;
const enumeration = Type.Enum as EnumBuilder & typeof Type.Enum;
const integer = Type.Integer as Plain<TNumberOptions, TInteger>;
const none = Type.Null as Plain<TSchemaOptions, TNull>;
const number = Type.Number as Plain<TNumberOptions, TNumber>;
const string = Type.String as Plain<TStringOptions, TString>;
const unknown = Type.Unknown as Plain<TSchemaOptions, TUnknown>;

const array = Type.Array as {
  <S extends TSchema>(items: S, options: TArrayOptions & HasDefault): TArray<S> & HasDefault;
  <S extends TSchema>(items: S, options?: TArrayOptions): TArray<S>;
};
const intersect = Type.Intersect as {
  <S extends TSchema[]>(types: [...S], options: TIntersectOptions & HasDefault): TIntersect<S> & HasDefault;
  <S extends TSchema[]>(types: [...S], options?: TIntersectOptions): TIntersect<S>;
};
const literal = Type.Literal as {
  <V extends TLiteralValue>(value: V, options: TSchemaOptions & HasDefault): TLiteral<V> & HasDefault;
  <V extends TLiteralValue>(value: V, options?: TSchemaOptions): TLiteral<V>;
};
const object = Type.Object as {
  <P extends TProperties>(properties: P, options: TObjectOptions & HasDefault): TObject<P> & HasDefault;
  <P extends TProperties>(properties: P, options?: TObjectOptions): TObject<P>;
};
const record = Type.Record as {
  <K extends TSchema, V extends TSchema>(
    key: K,
    value: V,
    options: TObjectOptions & HasDefault,
  ): TRecordAction<K, V> & HasDefault;
  <K extends TSchema, V extends TSchema>(key: K, value: V, options?: TObjectOptions): TRecordAction<K, V>;
};
const tuple = Type.Tuple as {
  <S extends TSchema[]>(types: [...S], options: TTupleOptions & HasDefault): TTuple<S> & HasDefault;
  <S extends TSchema[]>(types: [...S], options?: TTupleOptions): TTuple<S>;
};
const union = Type.Union as {
  <S extends TSchema[]>(anyOf: [...S], options: TSchemaOptions & HasDefault): TUnion<S> & HasDefault;
  <S extends TSchema[]>(anyOf: [...S], options?: TSchemaOptions): TUnion<S>;
};

export {
  any as Any,
  array as Array,
  boolean as Boolean,
  enumeration as Enum,
  integer as Integer,
  intersect as Intersect,
  literal as Literal,
  none as Null,
  number as Number,
  object as Object,
  record as Record,
  string as String,
  tuple as Tuple,
  union as Union,
  unknown as Unknown,
};
