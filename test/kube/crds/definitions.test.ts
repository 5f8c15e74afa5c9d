import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { until } from '../../../src/testing/until.ts';
import { Facade } from '../harness.ts';
import { definitions, isEstablished } from './definitions.ts';

const cats = '/apis/pets.example.com/v1/namespaces/default/cats';

const cat = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'cats.pets.example.com' },
  spec: {
    group: 'pets.example.com',
    names: { plural: 'cats', kind: 'Cat', shortNames: ['ct'] },
    scope: 'Namespaced',
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                required: ['lives'],
                properties: {
                  lives: { type: 'integer', minimum: 1, maximum: 9 },
                  mood: { type: 'string', default: 'calm', enum: ['calm', 'wild'] },
                  tag: { type: 'string', pattern: '(?i)^[a-z]+$' },
                  weight: { 'x-kubernetes-int-or-string': true },
                  free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
                  toys: {
                    type: 'array',
                    'x-kubernetes-list-type': 'map',
                    'x-kubernetes-list-map-keys': ['name'],
                    items: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } },
                  },
                },
              },
              status: { type: 'object', properties: { fed: { type: 'boolean' }, lives: { type: 'integer' } } },
            },
          },
        },
        subresources: { status: {}, scale: { specReplicasPath: '.spec.lives', statusReplicasPath: '.status.lives' } },
        additionalPrinterColumns: [{ name: 'Lives', type: 'integer', jsonPath: '.spec.lives' }],
        selectableFields: [{ jsonPath: '.spec.mood' }],
      },
    ],
  },
};

function named(name: string, spec: object): object {
  return { apiVersion: 'pets.example.com/v1', kind: 'Cat', metadata: { name }, spec };
}

function changed(change: (copy: any) => void): any {
  const copy = structuredClone(cat);
  change(copy);
  return copy;
}

describe('models without code', () => {
  const facade = new Facade();
  before(async () => {
    await facade.start();
    const made = await facade.kube(definitions, { body: cat });
    assert.equal(made.status, 201, made.text);
    assert.deepEqual(
      [made.json.spec.names.singular, made.json.spec.names.listKind, made.json.spec.conversion.strategy],
      ['cat', 'CatList', 'None'],
    );
    await until(async () => isEstablished((await facade.kube(`${definitions}/cats.pets.example.com`)).json));
  });
  after(() => facade.stop());

  it('tells the state of a definition', async () => {
    const { status } = (await facade.kube(`${definitions}/cats.pets.example.com`)).json;
    assert.deepEqual(status.storedVersions, ['v1']);
    assert.equal(status.acceptedNames.kind, 'Cat');
    assert.deepEqual(
      status.conditions.map(({ type, status, reason }: any) => [type, status, reason]),
      [
        ['NamesAccepted', 'True', 'NoConflicts'],
        ['Established', 'True', 'InitialNamesAccepted'],
      ],
    );
  });

  it('prunes, sets defaults and warns', async () => {
    const spec = { lives: 9, mood: null, wrong: 1, weight: '5kg', free: { any: 1 } };
    const { status, json, headers } = await facade.kube(cats, { body: named('tom', spec) });
    assert.equal(status, 201);
    assert.deepEqual(json.spec, { lives: 9, mood: 'calm', weight: '5kg', free: { any: 1 } });
    assert.match(headers.get('warning') ?? '', /unknown field \\"spec.wrong\\"/);
    const strict = await facade.kube(`${cats}?fieldValidation=Strict`, { body: named('tim', spec) });
    assert.equal(strict.status, 400);
  });

  it('reads null as absent where it is not allowed', async () => {
    const body = { ...named('void', { lives: 9, tag: null, free: { any: null } }), status: null };
    const made = await facade.kube(cats, { body });
    assert.equal(made.status, 201, made.text);
    assert.deepEqual(made.json.spec, { lives: 9, mood: 'calm', free: { any: null } });
    const status = { ...made.json, status: { fed: null } };
    const put = await facade.kube(`${cats}/void/status`, { method: 'PUT', body: status });
    assert.deepEqual([put.status, put.json.status], [200, {}]);
    const headers = { 'content-type': 'application/apply-patch+yaml' };
    const apply = () => {
      const applied = { ...named('void', { lives: 9, weight: null }), status: null };
      return facade.kube(`${cats}/void?fieldManager=one`, { method: 'PATCH', headers, body: applied });
    };
    const applied = await apply();
    assert.deepEqual([applied.status, applied.json.spec], [200, made.json.spec]);
    assert.deepEqual((await apply()).json, applied.json);
  });

  it('refuses what the schema does not allow, in the words of Kubernetes', async () => {
    const messages: [object, string][] = [
      [{}, 'spec.lives: Required value'],
      [{ lives: 10 }, 'spec.lives: Invalid value: 10: spec.lives in body should be less than or equal to 9'],
      [{ lives: null }, 'spec.lives: Required value'],
      [
        { lives: 1, toys: [null] },
        'spec.toys[0]: Invalid value: "null": spec.toys[0] in body must be of type object: "null"',
      ],
      [{ lives: 1, mood: 'odd' }, 'spec.mood: Unsupported value: "odd": supported values: "calm", "wild"'],
      [{ lives: 1, tag: '1' }, 'spec.tag: Invalid value: "1": spec.tag in body should match \'(?i)^[a-z]+$\''],
      [{ lives: 1, toys: [{ name: 'a' }, { name: 'a' }] }, 'spec.toys[1]: Duplicate value: {"name":"a"}'],
    ];
    for (const [spec, message] of messages) {
      const { status, json } = await facade.kube(cats, { body: named('bad', spec) });
      assert.equal(status, 422);
      assert.equal(json.message, `Cat.pets.example.com "bad" is invalid: ${message}`);
    }
    assert.equal((await facade.kube(cats, { body: named('big', { lives: 1, tag: 'ABC' }) })).status, 201);
  });

  it('is listed, sorted, counted and watched natively', async () => {
    for (let lives = 1; lives <= 5; lives++) {
      const reply = await facade.send(cats, { body: named(`kit-${lives}`, { lives, mood: 'wild' }) });
      assert.equal(reply.status, 201, reply.text);
    }
    const page = await facade.send(
      '/apis/pets.example.com/v1/cats?sort=spec.lives,desc&size=2&fieldSelector=spec.mood%3Dwild',
    );
    assert.equal(page.json.total, 5);
    assert.deepEqual(
      page.json.items.map(({ metadata }: any) => metadata.name),
      ['kit-5', 'kit-4'],
    );
    const selected = await facade.kube(`${cats}?fieldSelector=spec.mood%3Dwild`);
    assert.equal(selected.json.items.length, 5);
    assert.equal(selected.json.kind, 'CatList');
  });

  it('shows the declared columns alone', async () => {
    const headers = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };
    const { json } = await facade.kube(cats, { headers });
    assert.deepEqual(
      json.columnDefinitions.map(({ name }: any) => name),
      ['Name', 'Lives'],
    );
  });

  it('has the sub-resources that it declares', async () => {
    const current = (await facade.kube(`${cats}/kit-1`)).json;
    const status = { ...current, status: { fed: true }, spec: { lives: 3 } };
    const { json } = await facade.kube(`${cats}/kit-1/status`, { method: 'PUT', body: status });
    assert.deepEqual([json.status, json.spec.lives], [{ fed: true }, 1]);
    assert.equal((await facade.kube(`${cats}/kit-1/scale`)).json.spec.replicas, 1);
  });

  it('is in discovery and OpenAPI', async () => {
    const { json } = await facade.kube('/apis/pets.example.com/v1');
    assert.deepEqual(
      json.resources.map(({ name }: any) => name),
      ['cats', 'cats/status', 'cats/scale'],
    );
    const described = await facade.kube('/openapi/v3/apis/pets.example.com/v1');
    assert.ok(described.json.components.schemas['com.example.pets.v1.Cat'].properties.spec.properties.lives);
  });

  it('refuses definitions that are none', async () => {
    const schemaPath = 'spec.versions[0].schema.openAPIV3Schema';
    const properties = (copy: any) => copy.spec.versions[0].schema.openAPIV3Schema.properties;
    const cases: [(copy: any) => void, string][] = [
      [(copy) => (copy.metadata.name = 'dogs.pets.example.com'), 'metadata.name'],
      [
        (copy) => delete properties(copy).spec.type,
        `${schemaPath}.properties[spec].type: Required value: must not be empty for specified object fields`,
      ],
      [(copy) => (copy.spec.scope = 'Cluster'), 'spec.scope: Invalid value: "Cluster": field is immutable'],
      [(copy) => (properties(copy).spec.properties.mood.default = 'odd'), 'properties[mood].default'],
      [(copy) => (copy.spec.versions[0].storage = false), 'must have exactly one version marked as storage version'],
      [(copy) => (copy.spec.preserveUnknownFields = true), 'spec.preserveUnknownFields'],
    ];
    const { metadata } = (await facade.kube(`${definitions}/cats.pets.example.com`)).json;
    for (const [change, message] of cases) {
      const body = changed(change);
      const isNew = body.metadata.name !== cat.metadata.name;
      const { resourceVersion } = metadata;
      if (!isNew) body.metadata.resourceVersion = resourceVersion;
      const reply = await facade.kube(isNew ? definitions : `${definitions}/${cat.metadata.name}`, {
        method: isNew ? 'POST' : 'PUT',
        body,
      });
      assert.equal(reply.status, 422, reply.text);
      assert.ok(reply.json.message.includes(message), reply.json.message);
    }
  });

  it('does not accept names that another model has', async () => {
    const body = changed((copy) => {
      copy.metadata.name = 'gadgets.shop.example.com';
      copy.spec.group = 'shop.example.com';
      copy.spec.names = { plural: 'gadgets', kind: 'Gizmo' };
    });
    assert.equal((await facade.kube(definitions, { body })).status, 201);
    const stateOf = async () => (await facade.kube(`${definitions}/gadgets.shop.example.com`)).json.status?.conditions;
    await until(async () => (await stateOf())?.length === 2);
    assert.deepEqual(
      (await stateOf()).map(({ status, reason }: any) => [status, reason]),
      [
        ['False', 'PluralConflict'],
        ['False', 'NotAccepted'],
      ],
    );
    await facade.kube(`${definitions}/gadgets.shop.example.com`, { method: 'DELETE' });
    await until(async () => (await facade.kube(`${definitions}/gadgets.shop.example.com`)).status === 404);
  });

  it('serves a changed schema and another version, in which objects are shown by its schema', async () => {
    const path = `${definitions}/cats.pets.example.com`;
    const { metadata } = (await facade.kube(path)).json;
    const body = changed((copy) => {
      copy.metadata.resourceVersion = metadata.resourceVersion;
      const [v1] = copy.spec.versions;
      const v2 = structuredClone(v1);
      Object.assign(v2, { name: 'v2', storage: false, deprecated: true, deprecationWarning: 'old \u2014 use "v1"' });
      delete v2.schema.openAPIV3Schema.properties.spec.properties.mood;
      delete v2.selectableFields;
      v1.schema.openAPIV3Schema.properties.spec.properties.age = { type: 'integer', default: 1 };
      copy.spec.versions.push(v2);
    });
    assert.equal((await facade.kube(path, { method: 'PUT', body })).status, 200);
    await until(async () => (await facade.kube(`${cats}/kit-2`)).json.spec?.age === 1);
    assert.deepEqual((await facade.kube(`${cats}/kit-2`)).json.spec, { lives: 2, mood: 'wild', age: 1 });
    const other = await facade.kube(`${cats.replace('v1', 'v2')}/kit-2`);
    assert.equal(other.json.apiVersion, 'pets.example.com/v2');
    assert.deepEqual(other.json.spec, { lives: 2 });
    assert.equal(other.headers.get('warning'), '299 - "old %E2%80%94 use \\"v1\\""');
    assert.equal((await facade.kube(cats.replace('v1', 'v3'))).status, 404);
    const made = await facade.kube(cats.replace('v1', 'v2'), {
      body: { ...named('two', { lives: 2 }), apiVersion: 'pets.example.com/v2' },
    });
    assert.equal(made.status, 201, made.text);
    assert.equal((await facade.kube(`${cats}/two`)).json.spec.age, 1);
    const groups = (await facade.kube('/apis/pets.example.com')).json;
    assert.deepEqual(
      groups.versions.map(({ version }: any) => version),
      ['v2', 'v1'],
    );
  });

  it('takes a strategic merge patch and null for none, as Helm sends a definition', async () => {
    const path = `${definitions}/cats.pets.example.com`;
    const { spec } = (await facade.kube(path)).json;
    const versions = spec.versions.map((one: any) => ({ ...one, selectableFields: null }));
    versions[0].additionalPrinterColumns.push({ name: 'Mood', type: 'string', jsonPath: '.spec.mood' });
    const body = {
      metadata: { annotations: { a: 'b' } },
      spec: { conversion: null, preserveUnknownFields: null, versions },
    };
    const headers = { 'content-type': 'application/strategic-merge-patch+json' };
    const { status, json, text } = await facade.kube(path, { method: 'PATCH', headers, body });
    assert.equal(status, 200, text);
    assert.equal(json.metadata.annotations.a, 'b');
    assert.deepEqual(json.spec.conversion, { strategy: 'None' });
    assert.deepEqual(
      json.spec.versions.map(({ name, additionalPrinterColumns, selectableFields }: any) => [
        name,
        additionalPrinterColumns.length,
        selectableFields,
      ]),
      [
        ['v1', 2, undefined],
        ['v2', 1, undefined],
      ],
    );
  });

  it('checks rules about changes against the stored object', async () => {
    const rules = (...rest: object[]) => ({ type: 'object', 'x-kubernetes-validations': rest });
    const dog = changed((copy) => {
      copy.metadata.name = 'dogs.pets.example.com';
      copy.spec.names = { plural: 'dogs', kind: 'Dog', listKind: 'Pack' };
      delete copy.spec.versions[0].subresources.scale;
      delete copy.spec.versions[0].selectableFields;
      copy.spec.versions[0].schema.openAPIV3Schema.properties.spec = {
        ...rules(
          { rule: 'self.size == oldSelf.size', message: 'size is immutable', fieldPath: '.size' },
          { rule: 'self.age < 20', message: 'too old', reason: 'FieldValueForbidden' },
          { rule: 'oldSelf.hasValue() || self.age == 1', optionalOldSelf: true, message: 'begins at one' },
        ),
        required: ['age'],
        properties: { age: { type: 'integer' }, size: { type: 'string', default: 'small' } },
      };
    });
    const made = await facade.kube(definitions, { body: dog });
    assert.equal(made.status, 201, made.text);
    const dogs = cats.replace('cats', 'dogs');
    await until(async () => (await facade.kube(dogs)).status === 200);
    assert.equal((await facade.kube(dogs)).json.kind, 'Pack');
    const body = (spec: object) => ({ ...named('rex', spec), kind: 'Dog' });
    const old = await facade.kube(dogs, { body: body({ age: 2 }) });
    assert.equal(
      old.json.message,
      'Dog.pets.example.com "rex" is invalid: spec: Invalid value: "object": begins at one',
    );
    assert.equal((await facade.kube(dogs, { body: body({ age: 1 }) })).status, 201);
    const patched = (spec: object) =>
      facade.kube(`${dogs}/rex`, {
        method: 'PATCH',
        headers: { 'content-type': 'application/merge-patch+json' },
        body: { spec },
      });
    assert.equal((await patched({ age: 2, size: 'small' })).status, 200);
    const grown = await patched({ size: 'big' });
    assert.equal(grown.status, 422);
    assert.deepEqual(grown.json.details.causes, [
      { reason: 'FieldValueInvalid', message: 'Invalid value: "object": size is immutable', field: 'spec.size' },
    ]);
    const both = await patched({ age: 20, size: 'big' });
    assert.deepEqual(
      both.json.details.causes.map(({ reason, field }: any) => [reason, field]),
      [
        ['FieldValueInvalid', 'spec.size'],
        ['FieldValueForbidden', 'spec'],
      ],
    );
    const path = `${definitions}/dogs.pets.example.com`;
    const next = (await facade.kube(path)).json;
    const { spec } = next.spec.versions[0].schema.openAPIV3Schema.properties;
    spec.properties.coat = { type: 'string', default: 'plain' };
    spec['x-kubernetes-validations'].push({ rule: 'self.coat == oldSelf.coat', message: 'coat is immutable' });
    assert.equal((await facade.kube(path, { method: 'PUT', body: next })).status, 200);
    await until(async () => (await facade.kube(`${dogs}/rex`)).json.spec.coat === 'plain');
    const later = await patched({ age: 3 });
    assert.equal(later.status, 200, later.text);
    assert.equal((await patched({ coat: 'curly' })).status, 422);
  });

  it('lets users declare indexes by an annotation', async () => {
    const crd = (indexes: string) =>
      changed((copy) => {
        copy.metadata = { name: 'fish.pets.example.com', annotations: { 'kube.platform.run/indexes': indexes } };
        copy.spec.names = { plural: 'fish', singular: 'fish', kind: 'Fish', listKind: 'FishList' };
      });
    const refused = await facade.kube(definitions, { body: crd('no list') });
    assert.equal(refused.status, 422);
    const made = await facade.kube(definitions, { body: crd('[{"name":"tag","path":".spec.tag","unique":true}]') });
    assert.equal(made.status, 201, made.text);
    const fish = cats.replace('cats', 'fish');
    await until(async () => (await facade.kube(fish)).status === 200);
    const body = (name: string) => ({ ...named(name, { lives: 1, tag: 'a' }), kind: 'Fish' });
    assert.equal((await facade.kube(fish, { body: body('one') })).status, 201);
    assert.equal((await facade.kube(fish, { body: body('two') })).status, 422);
  });

  it('leaves out keywords that no schema has', async () => {
    const crd = changed((copy) => {
      copy.metadata.name = 'cows.pets.example.com';
      copy.spec.names = { plural: 'cows', kind: 'Cow' };
      const { properties } = copy.spec.versions[0].schema.openAPIV3Schema;
      properties.spec.properties.lives.maximun = 5;
      properties.spec.properties.toys.items.properties.name.length = 3;
      properties.spec.properties.bells = {
        type: 'object',
        default: { maximun: 1 },
        properties: { maximun: { type: 'integer' } },
        allOf: [{ required: ['maximun'], when: 'always' }],
        'x-kubernetes-validations': [{ rule: 'true', message: 'never', cost: 1 }],
      };
    });
    const at = 'spec.versions[0].schema.openAPIV3Schema.properties.spec.properties';
    const wrong = [
      'bells.allOf[0].when',
      'bells.x-kubernetes-validations[0].cost',
      'lives.maximun',
      'toys.items.properties.name.length',
    ].map((path) => `${at}.${path}`);
    const strict = await facade.kube(`${definitions}?fieldValidation=Strict`, { body: crd });
    assert.equal(strict.status, 400);
    for (const path of wrong) assert.ok(strict.json.message.includes(`unknown field "${path}"`), strict.json.message);
    assert.equal(strict.json.message.split('unknown field').length - 1, wrong.length);
    const made = await facade.kube(`${definitions}?dryRun=All`, { body: crd });
    assert.equal(made.status, 201, made.text);
    for (const path of wrong) assert.ok(made.headers.get('warning')!.includes(path), path);
    const { properties } = made.json.spec.versions[0].schema.openAPIV3Schema.properties.spec;
    assert.deepEqual(properties.lives, { type: 'integer', minimum: 1, maximum: 9 });
    assert.deepEqual(properties.bells, {
      type: 'object',
      default: { maximun: 1 },
      properties: { maximun: { type: 'integer' } },
      allOf: [{ required: ['maximun'] }],
      'x-kubernetes-validations': [{ rule: 'true', message: 'never' }],
    });
    const native = await facade.send(`${definitions}?dryRun=true`, { body: crd });
    assert.equal(native.status, 201, native.text);
    assert.ok(native.headers.get('warning')!.includes(wrong[2]!));
  });

  it('goes with its objects, and comes again without them', async () => {
    const held = named('held', { lives: 1 }) as any;
    held.metadata.finalizers = ['example.com/hold'];
    assert.equal((await facade.kube(cats, { body: held })).status, 201);
    const path = `${definitions}/cats.pets.example.com`;
    assert.equal((await facade.kube(path, { method: 'DELETE' })).json.metadata.deletionTimestamp !== undefined, true);
    await until(async () => (await facade.kube(cats)).json.items?.length === 1);
    assert.equal((await facade.kube(cats, { body: named('late', { lives: 1 }) })).status, 405);
    const headers = { 'content-type': 'application/merge-patch+json' };
    await facade.kube(`${cats}/held`, { method: 'PATCH', headers, body: { metadata: { finalizers: null } } });
    await until(async () => (await facade.kube(path)).status === 404);
    assert.equal((await facade.kube(cats)).status, 404);
    assert.equal((await facade.kube(definitions, { body: cat })).status, 201);
    await until(async () => isEstablished((await facade.kube(path)).json));
    assert.deepEqual((await facade.kube(cats)).json.items, []);
  });
});

describe('indexes of a definition', () => {
  const facade = new Facade({ reservedDomain: 'example.org' });
  before(() => facade.start());
  after(() => facade.stop());

  it('are named by the annotation of the reserved domain alone', async () => {
    const list = (name: string) => JSON.stringify([{ name, path: '.spec.tag' }]);
    const crd = changed((copy) => {
      copy.metadata.annotations = {
        'kube.example.org/indexes': list('ours'),
        'kube.platform.run/indexes': list('theirs'),
      };
    });
    const made = await facade.kube(definitions, { body: crd });
    assert.equal(made.status, 201, made.text);
    await until(async () => (await facade.send(`${cats}?fieldSelector=ours%3Da`)).status === 200);
    assert.equal((await facade.send(`${cats}?fieldSelector=theirs%3Da`)).status, 400);
  });
});
