import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Type } from 'typebox';
import type { CustomRequest, OperationBuilder } from '../../src/http/custom/declaration.ts';
import { GroupVersion, route } from '../../src/http/custom/declaration.ts';
import { SortableRequest } from '../../src/http/custom/list.ts';
import { ApiVersion, GetMapping, PostMapping } from '../../src/http/custom/mapping.ts';
import type { PluginContext } from '../../src/plugin/plugin.ts';
import { definePlugin } from '../../src/plugin/plugin.ts';
import { Queries } from '../../src/query/condition.ts';
import { until } from '../../src/testing/until.ts';
import type { Expectation, Request } from './harness.ts';
import { check, Person, person, persons, withApi } from './harness.ts';

/** The example of the specification: a keyword that is the name, or is contained in it or in a tag. */
class PersonQuery extends SortableRequest {
  readonly keyword: string | null;

  constructor(request: CustomRequest) {
    super(request);
    this.keyword = request.query.get('keyword');
  }

  override toListOptions() {
    const { keyword } = this;
    const options = this.listOptions();
    if (keyword) {
      options.andQuery(
        Queries.or(
          Queries.equal('metadata.name', keyword),
          Queries.contains('spec.name', keyword),
          Queries.contains('spec.tags', keyword),
        ),
      );
    }
    return options.build();
  }

  static override buildParameters(d: OperationBuilder): OperationBuilder {
    return SortableRequest.buildParameters(d).parameter({
      name: 'keyword',
      in: 'query',
      description: 'The name, or a part of the full name or of a tag',
      schema: Type.String({ maxLength: 20 }),
    });
  }
}

@ApiVersion('api.demo.example.com/v1alpha1')
class GreetingController {
  @GetMapping('/persons/-/whoami') whoami({ identity, locale }: CustomRequest) {
    return { name: identity.name, locale };
  }
  @PostMapping('/persons/{name}/greetings', { body: Type.Object({ text: Type.String({ minLength: 2 }) }) })
  async greet({ client, params }: CustomRequest, body: { text: string }) {
    const { spec } = await client.get(Person, params.name!);
    return `${body.text}, ${spec.name}`;
  }
}

@ApiVersion('v1alpha1')
class OlderController {
  @GetMapping('/x/y') get() {
    return 'older';
  }
}

class Unversioned {
  @GetMapping('/persons/-/lost') lost() {}
}

let ended = 0;

const plugin = definePlugin({
  start(context: PluginContext) {
    context.registerEndpoint({
      groupVersion: () => GroupVersion.parse('console.api.demo.example.com/v1alpha1'),
      endpoint: () =>
        route()
          .GET(
            '/persons',
            (request) => {
              const query = new PersonQuery(request);
              return request.client.list(Person, query.toListOptions(), query.toPageRequest());
            },
            (d) => PersonQuery.buildParameters(d.operationId('SearchPersons').tag('PersonV1alpha1Console')),
          )
          .GET('/persons/-/stream', async function* ({ client }) {
            try {
              for await (const one of client.listAll(Person, undefined, ['metadata.name,asc'])) {
                yield { name: one.metadata.name };
              }
            } finally {
              ended++;
            }
          })
          .GET('/persons/-/fails', () => {
            throw new Error('the password is swordfish');
          })
          .build(),
    });
    context.registerEndpoint(GreetingController);
    context.registerEndpoint(new OlderController());
    context.registerEndpoint(Unversioned);
  },
  stop() {},
});

const console = '/apis/console.api.demo.example.com/v1alpha1';
const open = '/apis/api.demo.example.com/v1alpha1';

const cases: (Expectation & { name: string; request: Request })[] = [
  {
    name: 'spec: Custom API - 6: SortableRequest carries page, size, sort, labelSelector and fieldSelector',
    request: {
      path: `${console}/persons?page=2&size=1&sort=spec.age,desc&fieldSelector=spec.age>30&labelSelector=team`,
    },
    status: 200,
    names: ['ada'],
    body: { page: 2, size: 1, total: 2, totalPages: 2 },
  },
  {
    name: 'spec: Custom API - 6: SortableRequest, by default the newest come first, 20 on a page',
    request: { path: `${console}/persons` },
    status: 200,
    body: { page: 1, size: 20, total: 3 },
  },
  {
    name: 'spec: Custom API - 6: SortableRequest, a keyword as equality or contains on indexed fields, combined with or: equality',
    request: { path: `${console}/persons?keyword=bob&sort=metadata.name,asc` },
    status: 200,
    names: ['ada', 'bob'],
  },
  {
    name: 'spec: Custom API - 6: SortableRequest, a keyword: contains',
    request: { path: `${console}/persons?keyword=Love&sort=metadata.name,asc` },
    status: 200,
    names: ['ada'],
  },
  {
    name: 'spec: Custom API - 6: SortableRequest, a keyword together with a field selector',
    request: { path: `${console}/persons?keyword=bob&fieldSelector=spec.age<40` },
    status: 200,
    names: ['ada'],
  },
  {
    name: 'lists: page of a custom list from 1',
    request: { path: `${console}/persons?page=0` },
    status: 400,
    body: { code: 'InvalidParameter', parameter: 'page' },
  },
  {
    name: 'lists: size of a custom list at most 1000',
    request: { path: `${console}/persons?size=1001` },
    status: 400,
    body: { code: 'InvalidParameter', parameter: 'size' },
  },
  {
    name: 'lists: an unknown sort field of a custom list',
    request: { path: `${console}/persons?sort=spec.email` },
    status: 400,
    body: { code: 'InvalidParameter' },
  },
  {
    name: 'lists: a malformed selector of a custom list',
    request: { path: `${console}/persons?fieldSelector=spec.age>` },
    status: 400,
    body: { code: 'InvalidSelector' },
  },
  {
    name: 'errors: a declared parameter of a custom route that does not hold',
    request: { path: `${console}/persons?keyword=${'x'.repeat(21)}` },
    status: 400,
    body: { code: 'InvalidParameter', parameter: 'keyword' },
  },
  {
    name: 'custom-routes: an async iterable is streamed',
    request: { path: `${console}/persons/-/stream` },
    status: 200,
    headers: { 'content-type': 'application/x-ndjson' },
    body: '{"name":"ada"}\n{"name":"bob"}\n{"name":"cy"}\n',
  },
  {
    name: 'errors: an unexpected error is 500 without its text',
    request: { path: `${console}/persons/-/fails` },
    status: 500,
    body: (text: any) => !JSON.stringify(text).includes('swordfish'),
  },
  {
    name: 'spec: Custom API - 3: ApiVersion has the effect of groupVersion()',
    request: { path: `${open}/persons/-/whoami`, headers: { 'accept-language': 'zh-CN' } },
    status: 200,
    body: { locale: 'zh' },
  },
  {
    name: 'custom-routes: the method of a controller gets request and body, its client acts as the caller',
    request: { path: `${open}/persons/bob/greetings`, body: { text: 'Hello' } },
    status: 200,
    headers: { 'content-type': 'text/plain; charset=utf-8' },
    body: 'Hello, Bob',
  },
  {
    name: 'custom-routes: an error of the client in a route is the answer',
    request: { path: `${open}/persons/nobody/greetings`, body: { text: 'Hello' } },
    status: 404,
    body: { code: 'NotFound' },
  },
  {
    name: 'spec: Errors - a custom route body fails validation: 422 with errors',
    request: { path: `${open}/persons/bob/greetings`, body: { text: 'H', extra: 1 } },
    status: 422,
    body: { code: 'Invalid', errors: (errors: any[]) => errors.length === 2 },
  },
  {
    name: 'spec: Custom API - 7: the messages of a body validation follow the language of the request',
    request: { path: `${open}/persons/bob/greetings`, body: { text: 'H' }, headers: { 'accept-language': 'zh' } },
    status: 422,
    headers: { 'content-language': 'zh' },
    body: { errors: [{ pointer: '/text', keyword: 'minLength', message: /字符/ }] },
  },
  {
    name: 'objects: a malformed body of a custom route',
    request: { path: `${open}/persons/bob/greetings`, body: '{"text":' },
    status: 400,
    body: { code: 'BadRequest' },
  },
  {
    name: 'errors: a body of another type than the route declares',
    request: { path: `${open}/persons/bob/greetings`, body: 'x', headers: { 'content-type': 'text/plain' } },
    status: 415,
    body: { code: 'UnsupportedMediaType' },
  },
  {
    name: 'errors: a method that the custom route does not offer',
    request: { method: 'DELETE', path: `${open}/persons/bob/greetings` },
    status: 405,
    headers: { allow: 'POST' },
    body: { code: 'MethodNotAllowed' },
  },
  {
    name: 'spec: Custom API - 5: the older form of annotated controllers',
    request: { path: '/apis/plugin.api.platform.run/v1alpha1/plugins/demo/x/y' },
    status: 200,
    body: 'older',
  },
  {
    name: 'spec: Custom API - 3: the routes of a controller without ApiVersion do not exist',
    request: { path: `${open}/persons/-/lost` },
    status: 404,
    body: { code: 'NotFound' },
  },
];

describe('custom routes of a plugin over HTTP', () => {
  const api = withApi(
    { plugins: [{ name: 'demo', plugin }] },
    ({ schemeManager }) => void schemeManager.register(Person),
  );

  test('prepared', async () => {
    const team = { labels: { team: 'a' } };
    for (const body of [
      person('ada', { name: 'Ada Lovelace', age: 36, tags: ['likes-bob'] }, team),
      person('bob', { name: 'Bob', age: 40 }, team),
      person('cy', { name: 'Cy', age: 20 }),
    ]) {
      assert.equal((await api.send({ path: persons, body })).status, 201);
    }
  });

  for (const one of cases) {
    test(one.name, async () => {
      check(await api.send(one.request), one);
    });
  }

  test('api: HEAD of a custom route has the headers of GET and no body; a stream is ended', async () => {
    const path = `${open}/persons/-/whoami`;
    const [get, head] = [await api.send({ path }), await api.send({ method: 'HEAD', path })];
    assert.equal(head.status, 200);
    assert.equal(head.text, '');
    for (const name of ['content-type', 'content-length'])
      assert.equal(head.headers.get(name), get.headers.get(name), name);
    const stream = await api.send({ method: 'HEAD', path: `${console}/persons/-/stream` });
    assert.deepEqual([stream.status, stream.text], [200, '']);
    await until(() => ended === 2, { what: 'the streams of GET and of HEAD are ended' });
  });

  test('spec: Custom API - 6: SortableRequest describes itself to the route builder, with the parameters of who extends it', async () => {
    const document = (await api.send({ path: '/v3/api-docs/apis_console.api_v1alpha1' })).json;
    const { get } = document.paths[`${console}/persons`];
    assert.deepEqual(
      get.parameters.filter((one: any) => one.in === 'query').map((one: any) => one.name),
      ['page', 'size', 'sort', 'labelSelector', 'fieldSelector', 'keyword'],
    );
  });
});
