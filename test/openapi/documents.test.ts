import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { Type } from 'typebox';
import { GroupVersion, pageOf, route } from '../../src/http/custom/declaration.ts';
import { CustomRoutes } from '../../src/http/custom/routes.ts';
import { ApiDocuments } from '../../src/http/openapi/documents.ts';
import { GVK, Schema } from '../../src/model/decorators.ts';
import { defineModel } from '../../src/model/define.ts';
import { IndexSpecs } from '../../src/model/index-spec.ts';
import { AbstractExtension } from '../../src/model/object.ts';
import { SchemeRegistry } from '../../src/model/registry.ts';

const groups = [
  ['apis_aggregated.api_v1alpha1', 'Aggregated API V1alpha1'],
  ['apis_extension.api_v1alpha1', 'Extension API V1alpha1'],
  ['apis_console.api_v1alpha1', 'Console API V1alpha1'],
  ['apis_uc.api_v1alpha1', 'User-center API V1alpha1'],
  ['apis_public.api_v1alpha1', 'Public API V1alpha1'],
] as const;
const [aggregated, extension, console, uc, open] = groups.map(([name]) => name);

enum Gender {
  Male = 'MALE',
  Female = 'FEMALE',
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
  @Schema({ type: 'string', enum: Gender }) gender?: Gender;
  @Schema({ type: 'string', format: 'email' }) email?: string;
  @Schema({ type: () => Person }) manager?: object;
}

@GVK({
  group: 'demo.example.com',
  version: 'v1alpha1',
  kind: 'Person',
  singular: 'person',
  plural: 'persons',
  subresources: { status: true },
})
class Person extends AbstractExtension {
  @Schema({ requiredMode: 'REQUIRED', type: () => PersonSpec }) spec!: PersonSpec;
  @Schema({ type: Type.Object({ phase: Type.Optional(Type.String()) }) }) status?: { phase?: string };
}

const Tree = defineModel({
  gvk: { group: 'demo.example.com', version: 'v1', kind: 'Tree', singular: 'tree', plural: 'trees' },
  spec: Type.Object(
    {
      leaf: Type.Optional(Type.String({ description: 'A leaf', examples: ['oak'] })),
      root: Type.Optional(Type.Unsafe({ $ref: '#/$defs/Node' })),
    },
    {
      $defs: { Node: { type: 'object', properties: { children: { type: 'array', items: { $ref: '#/$defs/Node' } } } } },
    },
  ),
});

const OtherPerson = defineModel({
  gvk: { group: 'other.example.com', version: 'v1beta1', kind: 'Person', singular: 'person', plural: 'persons' },
  schema: Type.Object({ title: Type.String(), mood: Type.Optional(Type.String()) }),
});

const PersonStatus = defineModel({
  gvk: {
    group: 'z.example.com',
    version: 'v1',
    kind: 'PersonStatus',
    singular: 'personstatus',
    plural: 'personstatuses',
  },
  spec: Type.Object({}),
});

function build() {
  const warnings: string[] = [];
  const warn = (message: string) => void warnings.push(message);
  const registry = new SchemeRegistry({ reservedDomain: 'platform.run', warn });
  const custom = new CustomRoutes({ registry, reservedDomain: 'platform.run', warn });
  const documents = new ApiDocuments({ registry, custom, version: '1.2.3', authentication: true });
  const read = (group: string | undefined, mayUse?: Parameters<ApiDocuments['document']>[1]): any =>
    JSON.parse(documents.document(group!, mayUse)!.json.toString());
  return { registry, custom, documents, read, warnings };
}

const example = () => {
  const parts = build();
  parts.registry.register(Person, (specs) => specs.add(IndexSpecs.single('spec.name', String)), 'demo');
  parts.registry.register(Tree, undefined, 'demo');
  parts.registry.register(OtherPerson, undefined, 'other');
  parts.registry.register(PersonStatus, undefined, 'z');
  const Friends = Type.Object({ items: Type.Array(Type.String()) });
  for (const audience of ['console.api', 'uc.api', 'api']) {
    parts.custom.register('demo', {
      groupVersion: () => GroupVersion.parse(`${audience}.demo.example.com/v1alpha1`),
      endpoint: () =>
        route()
          .GET(
            '/persons/{name}/friends',
            () => ({}),
            (d) =>
              d
                .operationId('ListFriends')
                .tag('PersonV1alpha1Console')
                .description('Friends of a person. And theirs, as far as asked for.')
                .parameter({ name: 'depth', in: 'query', schema: Type.Integer({ minimum: 1 }), description: 'How far' })
                .response(Friends, { description: 'The friends' }),
          )
          .POST(
            '/persons/-/import',
            () => undefined,
            (d) => d.requestBody(Friends).response(Person, { status: 201 }),
          )
          .build(),
    });
  }
  return parts;
};

function operationsOf(document: any): { path: string; method: string; operation: any }[] {
  return Object.entries<any>(document.paths).flatMap(([path, item]) =>
    Object.entries<any>(item).map(([method, operation]) => ({ path, method, operation })),
  );
}

test('api-description: every document is OpenAPI 3.1, valid by an independent validator, with unique operationIds', async () => {
  const { read } = example();
  for (const [name, title] of groups) {
    const document = read(name);
    const result = await new Validator().validate(structuredClone(document));
    assert.deepEqual(result, { valid: true }, name);
    assert.match(document.openapi, /^3\.1\.\d+$/);
    assert.equal(document.info.title, title);
    const ids = operationsOf(document).map(({ operation }) => operation.operationId);
    assert.equal(new Set(ids).size, ids.length);
    assert.ok(ids.length > 0);
    assertReferences(document);
  }
});

test('api-description: a second validator, of references and unique operations too, has no errors either', async () => {
  const { read } = example();
  const folder = await mkdtemp(join(tmpdir(), 'kindred-openapi-'));
  try {
    const files = groups.map(([name]) => join(folder, `${name}.json`));
    for (const [i, [name]] of groups.entries()) await writeFile(files[i]!, JSON.stringify(read(name)));
    const cli = resolve(import.meta.dirname, '../../node_modules/@redocly/cli/bin/cli.js');
    const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
    const linting = promisify(execFile)(process.execPath, [cli, 'lint', '--extends=recommended', ...files], {
      env,
      cwd: folder,
    });
    const failed = await linting.then(
      () => undefined,
      (error: { stdout: string; stderr: string }) => error.stdout + error.stderr,
    );
    assert.equal(failed, undefined);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

/** Every reference leads to a component, as generators of clients need it. */
function assertReferences(document: any): void {
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    const { $ref } = value as { $ref?: string };
    if (typeof $ref === 'string') {
      const [kind, name, ...more] = $ref.replace('#/components/', '').split('/');
      assert.deepEqual(more, [], $ref);
      assert.ok(document.components[kind!]?.[name!], $ref);
    }
    for (const one of Object.values(value)) visit(one);
  };
  visit(document);
}

test('spec: API description - five groups: aggregated, extension, console, user-center, public', () => {
  const { documents, read } = example();
  assert.deepEqual(
    documents.groups(),
    groups.map(([name, displayName]) => ({ name, displayName, url: `/v3/api-docs/${name}` })),
  );
  const paths = (group: string | undefined) => Object.keys(read(group).paths);
  assert.deepEqual(paths(console), [
    '/apis/console.api.demo.example.com/v1alpha1/persons/-/import',
    '/apis/console.api.demo.example.com/v1alpha1/persons/{name}/friends',
  ]);
  assert.ok(paths(uc).every((path) => path.startsWith('/apis/uc.api.demo.example.com/v1alpha1/')));
  assert.ok(paths(open).every((path) => path.startsWith('/apis/api.demo.example.com/v1alpha1/')));
  assert.ok(paths(extension).includes('/apis/demo.example.com/v1alpha1/persons/{name}/status'));
  assert.ok(paths(extension).every((path) => !path.includes('api.demo')));
  const all = new Set(paths(aggregated));
  for (const group of [extension, console, uc, open]) for (const path of paths(group)) assert.ok(all.has(path), path);
  assert.equal(documents.document('apis_none.api_v1alpha1'), undefined);
});

test('api-description: generated operations have the tag <Kind><Version> and operationIds by verb and kind', () => {
  const document = example().read(extension);
  const ofPersons = operationsOf(document).filter(({ path }) =>
    path.startsWith('/apis/demo.example.com/v1alpha1/persons'),
  );
  assert.deepEqual(
    ofPersons.map(({ method, operation }) => [method, operation.operationId, operation.tags]),
    [
      ['get', 'listPerson', ['PersonV1alpha1']],
      ['post', 'createPerson', ['PersonV1alpha1']],
      ['get', 'getPerson', ['PersonV1alpha1']],
      ['put', 'updatePerson', ['PersonV1alpha1']],
      ['patch', 'patchPerson', ['PersonV1alpha1']],
      ['delete', 'deletePerson', ['PersonV1alpha1']],
      ['get', 'getPersonStatus', ['PersonV1alpha1']],
      ['put', 'updatePersonStatus', ['PersonV1alpha1']],
      ['patch', 'patchPersonStatus', ['PersonV1alpha1']],
    ],
  );
});

test('api-description: of two models that share a kind the later gets <Version><GroupInCamelCase> appended', () => {
  const document = example().read(extension);
  const item = document.paths['/apis/other.example.com/v1beta1/persons'];
  assert.equal(item.get.operationId, 'listPersonV1beta1OtherExampleCom');
  assert.ok(document.components.schemas.PersonV1beta1OtherExampleCom.properties.title);
  // The kind PersonStatus would otherwise take operationIds of the status routes of Person.
  assert.equal(
    document.paths['/apis/z.example.com/v1/personstatuses/{name}'].get.operationId,
    'getPersonStatusV1ZExampleCom',
  );
});

test('api-description: statuses, error bodies, headers, parameters, description and example are described', () => {
  const document = example().read(extension);
  const { get: list, post } = document.paths['/apis/demo.example.com/v1alpha1/persons'];
  const names = list.parameters.map((one: any) =>
    one.$ref ? document.components.parameters[one.$ref.split('/').at(-1)].name : one.name,
  );
  for (const name of [
    'page',
    'size',
    'sort',
    'labelSelector',
    'fieldSelector',
    'explain',
    'watch',
    'since',
    'sendInitial',
  ]) {
    assert.ok(names.includes(name), name);
  }
  assert.ok(list.parameters.find((one: any) => one.name === 'sort').schema.items.enum.includes('spec.name,desc'));
  for (const status of [201, 400, 401, 403, 404, 409, 413, 415, 422, 429, 500, 503, 504, 507])
    assert.ok(post.responses[status], `${status}`);
  assert.deepEqual(Object.keys(post.responses[201].headers), [
    'X-Request-Id',
    'X-Content-Type-Options',
    'Kindred-Revision',
    'ETag',
    'Location',
    'Cache-Control',
    'Kindred-Dry-Run',
  ]);
  const error = document.components.responses.Error422;
  assert.deepEqual(error.content['application/problem+json'].schema, { $ref: '#/components/schemas/Problem' });
  const { name } = document.components.schemas['Person.spec'].properties;
  assert.equal(name.description, 'Full name');
  assert.equal(name.example, 'Ada');
  assert.equal(name.maxLength, 60);
  assert.equal(document.components.schemas['Tree.spec'].properties.leaf.description, 'A leaf');
  assert.deepEqual(document.components.securitySchemes.bearer.scheme, 'bearer');
});

test('api-description: a schema that refers to itself becomes components that refer to each other', () => {
  const { schemas } = example().read(extension).components;
  assert.deepEqual(schemas['Tree.spec'].properties.root, { $ref: '#/components/schemas/Tree.spec.Node' });
  assert.deepEqual(schemas['Tree.spec.Node'].properties.children.items, {
    $ref: '#/components/schemas/Tree.spec.Node',
  });
  assert.equal(schemas['Tree.spec.Node'].additionalProperties, false);
  assert.equal(schemas['Tree.spec'].$defs, undefined);
});

for (const { name, schema, valid, invalid } of [
  {
    name: 'alternatives, one of them open',
    schema: {
      anyOf: [
        { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] },
        { type: 'object', required: ['b'] },
      ],
    },
    valid: [{ a: 1 }, { b: 1, c: 2 }],
    invalid: [{ c: 1 }],
  },
  {
    name: 'alternatives, all closed',
    schema: {
      anyOf: [
        { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] },
        { type: 'object', properties: { b: { type: 'integer' } }, required: ['b'] },
      ],
    },
    valid: [{ a: 1 }, { b: 1 }],
    invalid: [{ a: 1, c: 1 }, {}],
  },
  {
    name: 'any members',
    schema: { type: 'object', additionalProperties: { type: 'string' } },
    valid: [{ x: 'y' }],
    invalid: [{ x: 1 }],
  },
]) {
  test(`spec: Versioning - 2.12: a model without spec wrapper is described as it is validated: ${name}`, () => {
    const { registry, read } = build();
    const gvk = { group: 'demo.example.com', version: 'v1', kind: 'Thing', singular: 'thing', plural: 'things' };
    const scheme = registry.register(defineModel({ gvk, schema }), undefined, 'demo');
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    ajv.addSchema({ $id: 'doc:/', components: read(extension).components });
    const described = ajv.compile({ $ref: 'doc:/#/components/schemas/Thing' });
    const metadata = { name: 'x', version: 0, creationTimestamp: '2026-01-01T00:00:00.000Z' };
    for (const [members, expected] of [
      ...valid.map((one) => [one, true] as const),
      ...invalid.map((one) => [one, false] as const),
    ]) {
      const object = { apiVersion: 'demo.example.com/v1', kind: 'Thing', metadata, ...members };
      assert.equal(scheme.validator.validate(object).count === 0, expected, `service: ${JSON.stringify(members)}`);
      assert.equal(described(object), expected, `description: ${JSON.stringify(members)}`);
    }
  });
}

test('spec: API description - operationId, description, tag, response type of a custom route', () => {
  const document = example().read(console);
  const { get } = document.paths['/apis/console.api.demo.example.com/v1alpha1/persons/{name}/friends'];
  assert.equal(get.operationId, 'ListFriends');
  assert.equal(get.description, 'Friends of a person. And theirs, as far as asked for.');
  assert.equal(get.summary, 'Friends of a person');
  assert.deepEqual(get.tags, ['PersonV1alpha1Console']);
  assert.deepEqual(get.responses[200].content['application/json'].schema, {
    $ref: '#/components/schemas/ListFriends.response',
  });
  assert.deepEqual(
    get.parameters.filter((one: any) => one.name).map(({ name, in: place, required }: any) => [name, place, required]),
    [
      ['name', 'path', true],
      ['depth', 'query', false],
    ],
  );
  const named =
    example().read(aggregated).paths['/apis/console.api.demo.example.com/v1alpha1/persons/{name}/friends'].get;
  assert.equal(
    named.operationId,
    'ListFriendsV1alpha1ConsoleApiDemoExampleCom',
    'three routes have the name in the aggregated document',
  );
  const { post } = document.paths['/apis/console.api.demo.example.com/v1alpha1/persons/-/import'];
  assert.deepEqual(post.responses[201].content['application/json'].schema, { $ref: '#/components/schemas/Person' });
  assert.ok(document.components.schemas['Person.spec'], 'the model comes with the route that answers with it');
  assert.deepEqual(post.responses[422], { $ref: '#/components/responses/Error422' });
});

test('api-description: operationIds and schemas differ in more than case', () => {
  const { registry, custom, read } = example();
  const shout = defineModel({
    gvk: { group: 'shout.example.com', version: 'v1', kind: 'PERSON', singular: 'person', plural: 'persons' },
    spec: Type.Object({}),
  });
  registry.register(shout, undefined, 'shout');
  custom.register('moments', {
    groupVersion: () => GroupVersion.parse('console.api.moments.example.com/v1alpha1'),
    endpoint: () =>
      route()
        .POST(
          '/persons',
          () => 1,
          (d) => d.operationId('CreatePerson'),
        )
        .GET(
          '/persons',
          () => 1,
          (d) => d.operationId('listfriends'),
        )
        .build(),
  });
  const document = read(aggregated);
  const folded = operationsOf(document).map(({ operation }) => operation.operationId.toLowerCase());
  assert.equal(new Set(folded).size, folded.length);
  const { post } = document.paths['/apis/console.api.moments.example.com/v1alpha1/persons'];
  assert.equal(post.operationId, 'CreatePersonV1alpha1ConsoleApiMomentsExampleCom');
  const names = Object.keys(document.components.schemas).map((name) => name.toLowerCase());
  assert.equal(new Set(names).size, names.length);
});

test('custom-routes: a route answers with a page of a model, registered or not', async () => {
  const { custom, read } = example();
  const Loose = defineModel({
    gvk: { group: 'loose.example.com', version: 'v1', kind: 'Loose', singular: 'loose', plural: 'looses' },
    spec: Type.Object({ text: Type.String() }),
  });
  custom.register('demo', {
    groupVersion: () => GroupVersion.parse('api.pages.example.com/v1'),
    endpoint: () =>
      route()
        .GET(
          '/persons',
          () => 1,
          (d) => d.operationId('FindPersons').response(pageOf(Person)),
        )
        .GET(
          '/looses',
          () => 1,
          (d) => d.operationId('FindLooses').response(pageOf(Loose)),
        )
        .build(),
  });
  const document = read(open);
  assert.deepEqual(await new Validator().validate(structuredClone(document)), { valid: true });
  assertReferences(document);
  const schemaOf = (path: string) => {
    const { schema } =
      document.paths[`/apis/api.pages.example.com/v1/${path}`].get.responses[200].content['application/json'];
    return [schema.$ref, document.components.schemas[schema.$ref.split('/').at(-1)]];
  };
  const [registered, ofPersons] = schemaOf('persons');
  assert.equal(registered, '#/components/schemas/Person.list');
  assert.deepEqual(ofPersons.properties.items, { type: 'array', items: { $ref: '#/components/schemas/Person' } });
  const [unregistered, ofLooses] = schemaOf('looses');
  assert.equal(unregistered, '#/components/schemas/FindLooses.response.list');
  assert.deepEqual(ofLooses.properties.items.items, { $ref: '#/components/schemas/FindLooses.response' });
  assert.ok(document.components.schemas['FindLooses.response.spec'].properties.text);
  assert.throws(
    () =>
      custom.register('demo', {
        groupVersion: () => GroupVersion.parse('api.pages.example.com/v2'),
        endpoint: () =>
          route()
            .GET(
              '/x',
              () => 1,
              (d) => d.response(pageOf(class Nothing {})),
            )
            .build(),
      }),
    { code: 'InvalidModel' },
  );
});

test('api-description: documents are always current, and an entity tag names each state', () => {
  const { registry, documents, read, custom } = example();
  const before = documents.document(extension!)!;
  assert.equal(documents.document(extension!), before);
  const scheme = registry.schemeOf(Tree);
  registry.unregister(scheme, 'demo');
  assert.equal(read(extension).paths['/apis/demo.example.com/v1/trees'], undefined);
  assert.notEqual(documents.document(extension!)!.etag, before.etag);
  registry.register(Tree, undefined, 'demo');
  assert.equal(documents.document(extension!)!.etag, before.etag);
  custom.remove('demo');
  assert.deepEqual(read(console).paths, {});
});

test('permissions: the description shows a caller what the caller may use', () => {
  const { read } = example();
  const document = read(
    aggregated,
    (access) =>
      'group' in access &&
      access.group === 'demo.example.com' &&
      access.verb === 'get' &&
      access.resource !== 'persons/status',
  );
  const seen = operationsOf(document).filter(({ path }) => path.startsWith('/apis/'));
  assert.deepEqual(
    seen.map(({ operation }) => operation.operationId),
    ['getTree', 'getPerson'],
  );
  assert.equal(document.components.schemas.PersonV1beta1OtherExampleCom, undefined);
});

test('api-description: without authentication no token is described', async () => {
  const { registry, custom } = example();
  const documents = new ApiDocuments({ registry, custom, version: '1', authentication: false });
  const document = JSON.parse(documents.document(aggregated!)!.json.toString());
  assert.deepEqual(document.security, []);
  assert.equal(document.components.securitySchemes, undefined);
  assert.deepEqual(await new Validator().validate(document), { valid: true });
});

test('api-description: the change of one model among 500 describes that one alone', async (context) => {
  const { registry, documents } = build();
  const modelOf = (i: number, field = 'title') =>
    defineModel({
      gvk: {
        group: `g${i % 10}.example.com`,
        version: 'v1',
        kind: `Kind${i}`,
        singular: `kind${i}`,
        plural: `kind${i}s`,
      },
      spec: Type.Object({
        [field]: Type.String({ description: 'What it is called' }),
        ...Object.fromEntries(
          Array.from({ length: 12 }, (_, j) => [`field${j}`, Type.Optional(Type.Integer({ minimum: j }))]),
        ),
      }),
    });
  let time = performance.now();
  for (let i = 0; i < 500; i++) registry.register(modelOf(i), undefined, 'many');
  const registered = performance.now() - time;
  time = performance.now();
  const first = documents.document(aggregated!)!;
  const built = performance.now() - time;
  time = performance.now();
  registry.unregister(registry.get({ group: 'g7.example.com', version: 'v1', kind: 'Kind137' }), 'many');
  registry.register(modelOf(137, 'caption'), undefined, 'many');
  const second = documents.document(aggregated!)!;
  const changed = performance.now() - time;
  context.diagnostic(
    `500 models: registered in ${registered.toFixed()} ms, described in ${built.toFixed()} ms (${first.json.length} bytes), one changed in ${changed.toFixed()} ms`,
  );
  const [before, after] = [first, second].map((one) => JSON.parse(one.json.toString()).components.schemas);
  assert.ok(before['Kind137.spec'].properties.title);
  assert.ok(after['Kind137.spec'].properties.caption);
  assert.deepEqual(after['Kind138.spec'], before['Kind138.spec']);
  assert.deepEqual(await new Validator().validate(JSON.parse(second.json.toString())), { valid: true });
});
