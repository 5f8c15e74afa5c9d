import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GVK, Schema } from '../../src/model/decorators.ts';
import { defineModel } from '../../src/model/define.ts';
import type { ExtensionObject } from '../../src/model/object.ts';
import { AbstractExtension } from '../../src/model/object.ts';
import { Scheme } from '../../src/model/scheme.ts';

enum Gender {
  Male = 'MALE',
  Female = 'FEMALE',
}

enum Level {
  Low,
  High = 7,
}

class PersonStatus {
  @Schema({ type: 'string' }) phase?: string;
}

@GVK({ group: 'demo.example.com', version: 'v1alpha1', kind: 'Person', singular: 'person', plural: 'persons' })
class Person extends AbstractExtension {
  @Schema({ requiredMode: 'REQUIRED', type: () => PersonSpec }) spec!: PersonSpec;
  @Schema({ type: PersonStatus }) status?: PersonStatus;
}

class Address {
  @Schema({ type: 'string', requiredMode: 'REQUIRED' }) city!: string;
}

class PersonSpec {
  @Schema({
    type: 'string',
    minLength: 1,
    maxLength: 60,
    requiredMode: 'REQUIRED',
    description: 'Full name',
    example: 'Ada',
  })
  name!: string;
  @Schema({ type: 'integer', minimum: 0, maximum: 150 }) age?: number;
  @Schema({ type: 'string', enum: Gender }) gender?: Gender;
  @Schema({ enum: Level }) level?: Level;
  @Schema({ type: 'string', format: 'email' }) email?: string;
  @Schema({ type: 'array', items: 'string' }) tags?: string[];
  @Schema({ type: () => Person }) manager?: Person;
  @Schema({ type: 'array', items: () => Address }) addresses?: Address[];
  @Schema({ type: Address, nullable: true }) home?: Address | null;
  @Schema({ type: 'object', additionalProperties: 'number' }) scores?: Record<string, number>;
  @Schema({ type: { type: 'string', pattern: '^[a-z]+$' } }) code?: string;
  notInTheModel?: string;
}

const scheme = Scheme.buildFromType(Person);

function found(spec: unknown, rest = {}): string[] {
  const object = { apiVersion: 'demo.example.com/v1alpha1', kind: 'Person', metadata: { name: 'a' }, spec, ...rest };
  return scheme.validator
    .validate(object as ExtensionObject)
    .listed.map(({ pointer, keyword }) => `${pointer} ${keyword}`);
}

test('spec: Model definition - a class that extends AbstractExtension with GVK', () => {
  assert.deepEqual(scheme.groupVersionKind, { group: 'demo.example.com', version: 'v1alpha1', kind: 'Person' });
  assert.deepEqual(
    [scheme.singular, scheme.plural, scheme.apiVersion],
    ['person', 'persons', 'demo.example.com/v1alpha1'],
  );
  assert.equal(scheme.specRequired, true);
});

test('spec: Schema constraints - every attribute of a field is a constraint or described', () => {
  const { name, age, gender } = (scheme.jsonSchema as any).properties.spec.properties;
  assert.deepEqual(name, { type: 'string', description: 'Full name', example: 'Ada', minLength: 1, maxLength: 60 });
  assert.deepEqual(age, { type: 'integer', minimum: 0, maximum: 150 });
  assert.deepEqual(gender, { type: 'string', enum: ['MALE', 'FEMALE'] });
});

test('spec: Schema constraints - description and example are documentation only', () => {
  assert.deepEqual(found({ name: 'not the example' }), []);
});

test('spec: Schema constraints - fields of enumerated types serialise to their values', () => {
  assert.deepEqual(found({ name: 'a', gender: 'MALE', level: 7 }), []);
  assert.deepEqual(found({ name: 'a', gender: 'Male', level: 'High' }), ['/spec/gender enum', '/spec/level enum']);
});

test('spec: Schema constraints - nested objects and references to the same model type', () => {
  const ada = { name: 'Ada', addresses: [{ city: 'London' }], home: null, scores: { a: 1 }, code: 'x' };
  assert.deepEqual(
    found({ ...ada, manager: { metadata: { name: 'b' }, spec: { name: 'B', manager: { spec: ada } } } }),
    [],
  );
  assert.deepEqual(
    found({
      ...ada,
      home: { town: 'x' },
      scores: { a: 'x' },
      code: 'X',
      manager: { spec: { manager: { kind: 'Dog', spec: { x: 1 } } }, metadata: { nam: 'x' } },
    }).sort(),
    [
      '/spec/manager/metadata/nam additionalProperties',
      '/spec/manager/spec/name required',
      '/spec/manager/spec/manager/kind const',
      '/spec/manager/spec/manager/spec/name required',
      '/spec/manager/spec/manager/spec/x additionalProperties',
      '/spec/home/city required',
      '/spec/home/town additionalProperties',
      '/spec/scores/a type',
      '/spec/code pattern',
    ].sort(),
  );
});

test('declaration: a field without @Schema is no part of the model', () => {
  assert.deepEqual(found({ name: 'a', notInTheModel: 'x' }), ['/spec/notInTheModel additionalProperties']);
  assert.deepEqual(found({ name: 'a' }, { status: { phase: 'x', other: 1 } }), ['/status/other additionalProperties']);
});

test('declaration: without spec the fields themselves are the model (the 2.12 form), fields of a base class with them', () => {
  class Titled extends AbstractExtension {
    @Schema({ type: 'string', requiredMode: 'REQUIRED' }) title!: string;
  }
  @GVK({ group: 'demo.example.com', version: 'v1', kind: 'Post', singular: 'post', plural: 'posts' })
  class Post extends Titled {
    @Schema({ type: 'integer' }) views?: number;
    @Schema({ type: PersonStatus, requiredMode: 'REQUIRED' }) status?: PersonStatus;
  }
  const post = Scheme.buildFromType(Post);
  const base = { apiVersion: 'demo.example.com/v1', kind: 'Post', metadata: { name: 'a' } };
  assert.equal(post.validator.validate({ ...base, title: 'x', views: 1 }).count, 0);
  assert.deepEqual(
    post.validator
      .validate({ ...base, views: 'x', other: 1 })
      .listed.map(({ pointer, keyword }) => `${pointer} ${keyword}`),
    ['/title required', '/views type', '/other additionalProperties'],
  );
});

test('declaration: spec is required unless NOT_REQUIRED', () => {
  @GVK({ group: 'demo.example.com', version: 'v1', kind: 'A', singular: 'a', plural: 'as' })
  class Required extends AbstractExtension {
    @Schema({ type: Address }) spec!: Address;
  }
  @GVK({ group: 'demo.example.com', version: 'v1', kind: 'B', singular: 'b', plural: 'bs' })
  class Optional extends AbstractExtension {
    @Schema({ type: Address, requiredMode: 'NOT_REQUIRED' }) spec?: Address;
  }
  const base = { apiVersion: 'x', kind: 'y', metadata: { name: 'a' } };
  assert.deepEqual(
    Scheme.buildFromType(Required)
      .validator.validate(base)
      .listed.map((one) => one.pointer),
    ['/spec'],
  );
  assert.equal(Scheme.buildFromType(Optional).validator.validate(base).count, 0);
});

test('declaration: declaration errors of the class form name the field, the rule and the value', () => {
  const refused = (attributes: any, message: RegExp): void => {
    @GVK({ group: 'demo.example.com', version: 'v1', kind: 'Bad', singular: 'bad', plural: 'bads' })
    class Bad extends AbstractExtension {
      @Schema(attributes) field?: unknown;
    }
    assert.throws(() => Scheme.buildFromType(Bad), message);
  };
  refused({ type: 'text' }, /Bad.field: the type must be one of .*; got "text"/);
  refused({ minlength: 1 }, /Bad.field knows no attribute "minlength"/);
  refused({ type: 'integer', minLength: 1 }, /Bad.field: "minLength" applies to string, the type is "integer"/);
  refused({ requiredMode: 'YES' }, /requiredMode must be REQUIRED/);
  refused({ type: () => undefined }, /must return a class/);
  refused({ enum: [] }, /at \/properties\/field\/enum/);
  refused({ pattern: '(a+)+\\1' }, /at \/properties\/field\/pattern/);
});

test('declaration: a class that stands as a type is a decorated one', () => {
  class Plain {
    a?: string;
  }
  for (const type of [Plain, () => Plain, Date, Array]) {
    @GVK({ group: 'demo.example.com', version: 'v1', kind: 'Odd', singular: 'odd', plural: 'odds' })
    class Odd extends AbstractExtension {
      @Schema({ type }) spec?: unknown;
    }
    assert.throws(() => Scheme.buildFromType(Odd), {
      code: 'InvalidModel',
      message: /Odd\.spec: the class "(Plain|Date|Array)" has no field with @Schema/,
    });
  }
});

test('declaration: what is no model is refused: a class without GVK, one that does not extend AbstractExtension', () => {
  class Plain extends AbstractExtension {}
  class Heir extends Person {}
  assert.throws(() => Scheme.buildFromType(Plain), /class Plain/);
  assert.throws(() => Scheme.buildFromType(Heir), /class Heir/);
  const anyGVK: any = GVK;
  assert.throws(() => Scheme.buildFromType({} as never), /result of defineModel or a class with @GVK/);
  @anyGVK({ group: 'demo.example.com', version: 'v1', kind: 'Loose', singular: 'loose', plural: 'looses' })
  class Loose {
    @Schema() spec?: unknown;
  }
  assert.throws(() => Scheme.buildFromType(Loose), /Loose has @GVK but does not extend AbstractExtension/);
});

test('declaration: both forms of one model give the same schema', () => {
  const gvk = { group: 'demo.example.com', version: 'v1', kind: 'Same', singular: 'same', plural: 'sames' };
  @GVK(gvk)
  class Same extends AbstractExtension {
    @Schema({ type: Address }) spec!: Address;
  }
  const spec = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } as const;
  assert.deepEqual(Scheme.buildFromType(Same).jsonSchema, Scheme.buildFromType(defineModel({ gvk, spec })).jsonSchema);
});
