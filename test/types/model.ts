// Checked by tsc alone: what a plugin author's editor knows of a model, in both forms.
import { Type } from 'typebox';
import { GVK, Schema } from '../../src/model/decorators.ts';
import { defineModel } from '../../src/model/define.ts';
import { IndexSpecs, multiValueAttribute, simpleAttribute } from '../../src/model/index-spec.ts';
import type { ModelType, New, ObjectOf } from '../../src/model/model-type.ts';
import type { Metadata } from '../../src/model/object.ts';
import { AbstractExtension } from '../../src/model/object.ts';

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(_equal: Equal<A, B>): void => {};

const gvk = { group: 'demo.example.com', version: 'v1', kind: 'Person', singular: 'person', plural: 'persons' };

// TypeBox schemas.
const Person = defineModel({
  gvk,
  spec: Type.Object({
    name: Type.String({ minLength: 1 }),
    age: Type.Optional(Type.Integer()),
    tags: Type.Array(Type.String()),
    born: Type.Optional(Type.String({ format: 'date-time' })),
  }),
  status: Type.Optional(Type.Object({ phase: Type.String() })),
  indexes: (index) => [
    index.single('spec.name', String, (person) => person.spec.name, { unique: true }),
    index.single('spec.age', Number, (person) => person.spec.age),
    index.multi('spec.tags', String, (person) => person.spec.tags),
    index.single('spec.born', Date, (person) => person.spec.born),
    // @ts-expect-error a number is no key of a string index
    index.single('spec.age', String, (person) => person.spec.age),
    // @ts-expect-error the model has no such field
    index.single('spec.size', Number, (person) => person.spec.size),
    // @ts-expect-error a string is no set of numbers
    index.multi('spec.name', Number, (person) => person.spec.name),
  ],
});
type Person = ObjectOf<typeof Person>;

same<
  Person,
  {
    apiVersion: string;
    kind: string;
    metadata: Metadata;
    spec: { age?: number; born?: string; name: string; tags: string[] };
    status?: { phase: string };
  }
>(true);

declare const person: Person;
export const name: string = person.spec.name;
// @ts-expect-error age may be absent
export const age: number = person.spec.age;
// @ts-expect-error status may be absent
export const phase: string = person.status.phase;

const created: New<Person> = { metadata: { name: 'ada' }, spec: { name: 'Ada', tags: [] } };
export const generated: New<Person> = { metadata: { generateName: 'a-' }, spec: created.spec };
// @ts-expect-error spec is required
export const withoutSpec: New<Person> = { metadata: { name: 'ada' } };
// @ts-expect-error metadata is required
export const withoutMetadata: New<Person> = { spec: created.spec };
// @ts-expect-error an unknown field of metadata
export const withTenant: New<Person> = { metadata: { tenant: 'x' }, spec: created.spec };

// An optional spec.
const Loose = defineModel({ gvk, spec: Type.Optional(Type.Object({ a: Type.String() })) });
same<ObjectOf<typeof Loose>['spec'], { a: string } | undefined>(true);

// Plain JSON Schema.
const Plain = defineModel({
  gvk,
  spec: {
    type: 'object',
    properties: { name: { type: 'string' }, level: { enum: ['low', 'high'] }, size: { type: 'number' } },
    required: ['name', 'level'],
  },
});
type Plain = ObjectOf<typeof Plain>;
declare const plain: Plain;
export const level: 'low' | 'high' = plain.spec.level;
export const plainName: string = plain.spec.name;
// @ts-expect-error size may be absent
export const size: number = plain.spec.size;

// The 2.12 form.
const Post = defineModel({
  gvk,
  schema: Type.Object({ title: Type.String(), views: Type.Optional(Type.Integer()) }),
  indexes: (index) => [
    index.single('title', String, (post) => post.title),
    // @ts-expect-error the model has no spec
    index.single('spec.title', String, (post) => post.spec.title),
  ],
});
same<ObjectOf<typeof Post>, { apiVersion: string; kind: string; metadata: Metadata; title: string; views?: number }>(
  true,
);

// A schema whose type cannot be known.
const given: object = { type: 'object' };
const Unknown = defineModel({ gvk, spec: given });
declare const unknown: ObjectOf<typeof Unknown>;
export const anything: unknown = unknown.spec.anything;

// @ts-expect-error both forms at once
defineModel({ gvk, spec: Type.Object({}), schema: Type.Object({}) });
// @ts-expect-error gvk lacks the plural
defineModel({ gvk: { group: 'a', version: 'v1', kind: 'A', singular: 'a' }, spec: {} });

// The class form.
@GVK(gvk)
class Dog extends AbstractExtension {
  @Schema({ type: 'object' }) spec!: { breed: string; names: string[] };
}
same<ObjectOf<typeof Dog>, Dog>(true);
export const types: ModelType<any>[] = [Dog, Person];
export const dogType: ModelType<Dog> = Dog;
// @ts-expect-error Dog is not the type of Person's objects
export const wrongType: ModelType<Person> = Dog;

// @ts-expect-error a class that does not extend AbstractExtension
@GVK(gvk)
export class NoModel {}

export class BadField extends AbstractExtension {
  // @ts-expect-error an attribute that does not exist
  @Schema({ minlength: 1 }) a?: string;
}

// Builders.
IndexSpecs.single('spec.breed', String)
  .unique()
  .order('DESC')
  .indexFunc((dog: Dog) => dog.spec.breed);
IndexSpecs.multi('spec.names', String)
  .nullable(false)
  .indexFunc((dog: Dog) => dog.spec.names);
// @ts-expect-error a string is no key of a number index
IndexSpecs.single('spec.breed', Number).indexFunc((dog: Dog) => dog.spec.breed);
// @ts-expect-error lower case
IndexSpecs.single('spec.breed', String).order('desc');
simpleAttribute(Dog, (dog) => dog.spec.breed);
multiValueAttribute(Dog, (dog) => dog.spec.names);
// @ts-expect-error the model has no such field
simpleAttribute(Dog, (dog) => dog.spec.size);

const semver = {
  compare: (a: number[], b: number[]) => a[0]! - b[0]!,
  parse: (text: string) => [Number(text)],
  format: String,
};
IndexSpecs.single('spec.version', semver).indexFunc(() => [1, 2]);
// @ts-expect-error a string is no key of this type
IndexSpecs.single('spec.version', semver).indexFunc(() => '1.2');
