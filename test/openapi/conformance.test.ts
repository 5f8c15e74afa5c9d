import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Request } from '../api/harness.ts';
import { jobs, notes, person, persons, withApi } from '../api/harness.ts';
import type { ObservedExchange } from './conformance.ts';
import { Conformance } from './conformance.ts';

const json = { 'content-type': 'application/json' };

describe('api-description: requests and answers are as the description says, in both directions', () => {
  const api = withApi();

  async function description(): Promise<Conformance> {
    const reply = await api.send({ path: '/v3/api-docs/apis_aggregated.api_v1alpha1' });
    return new Conformance(reply.json);
  }

  async function observe(request: Request): Promise<ObservedExchange> {
    const { method = request.body === undefined ? 'GET' : 'POST', path, headers = {}, body } = request;
    const requestBody = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body);
    const patch = Array.isArray(body) ? 'application/json-patch+json' : 'application/merge-patch+json';
    const type = method === 'PATCH' ? { 'content-type': patch } : json;
    const sent = { ...(requestBody !== undefined && type), ...headers };
    const response = await fetch(api.url + path, {
      method,
      headers: sent,
      ...(requestBody !== undefined && { body: requestBody }),
    });
    return {
      method,
      path,
      requestHeaders: Object.entries(sent),
      requestBody,
      status: response.status,
      headers: [...response.headers],
      body: await response.text(),
    };
  }

  const requests: [status: number, request: Request][] = [
    [201, { path: persons, body: person('ada', { age: 36, tags: ['a'] }, { labels: { a: 'b' } }) }],
    [
      201,
      {
        path: persons,
        body: { metadata: { generateName: 'p-', finalizers: ['x/y'], version: null }, spec: { name: 'P' } },
      },
    ],
    [409, { path: persons, body: person('ada') }],
    [409, { path: persons, body: person('bob', { name: 'Name of ada' }) }],
    [422, { path: persons, body: person('bob', { age: 'x', foo: 1 }) }],
    [422, { path: persons, body: '[]' }],
    [400, { path: persons, body: '{' }],
    [415, { path: persons, body: 'x', headers: { 'content-type': 'text/plain' } }],
    [
      200,
      {
        path: persons,
        body: `${JSON.stringify(person('c'))}\n{\n`,
        headers: { 'content-type': 'application/x-ndjson' },
      },
    ],
    [200, { path: persons }],
    [
      200,
      {
        path: `${persons}?page=1&size=2&sort=spec.age,desc&sort=metadata.name&labelSelector=a&fieldSelector=spec.age>3`,
      },
    ],
    [200, { path: `${persons}?explain=true` }],
    [200, { path: persons, headers: { accept: 'application/x-ndjson' } }],
    [200, { method: 'HEAD', path: persons }],
    [400, { path: `${persons}?size=0` }],
    [400, { path: `${persons}?foo=1` }],
    [400, { path: `${persons}?fieldSelector=spec.age>` }],
    [410, { path: `${persons}?watch=true&since=999999` }],
    [405, { method: 'DELETE', path: persons }],
    [200, { path: `${persons}/ada` }],
    [200, { method: 'HEAD', path: `${persons}/ada` }],
    [404, { path: `${persons}/nobody` }],
    [404, { method: 'PUT', path: `${persons}/nobody`, body: person('nobody') }],
    [200, { method: 'PUT', path: `${persons}/ada`, body: { spec: { name: 'Ada' } } }],
    [409, { method: 'PUT', path: `${persons}/ada`, body: person('ada', {}, { version: 77 }) }],
    [412, { method: 'PUT', path: `${persons}/ada`, body: person('ada'), headers: { 'if-match': '"x"' } }],
    [200, { method: 'PATCH', path: `${persons}/ada`, body: { spec: { age: 37 } } }],
    [200, { method: 'PATCH', path: `${persons}/ada`, body: [{ op: 'replace', path: '/spec/age', value: 38 }] }],
    [409, { method: 'PATCH', path: `${persons}/ada`, body: [{ op: 'test', path: '/spec/age', value: 1 }] }],
    [415, { method: 'PATCH', path: `${persons}/ada`, body: '{}', headers: json }],
    [200, { method: 'DELETE', path: `${persons}/ada`, headers: { 'accept-language': 'zh' } }],
    [201, { path: jobs, body: { metadata: { name: 'j' }, spec: { command: 'x' } } }],
    [
      200,
      {
        method: 'PUT',
        path: `${jobs}/j/status`,
        body: { metadata: { name: 'j' }, spec: { command: 'x' }, status: { phase: 'on' } },
      },
    ],
    [200, { method: 'PATCH', path: `${jobs}/j/status`, body: { status: { tries: 1 } } }],
    [200, { path: `${jobs}/j/status` }],
    [201, { path: notes, body: { metadata: { name: 'n' }, text: 'hello', extra: [1] } }],
    [200, { path: notes }],
    [200, { path: '/apis' }],
    [200, { path: '/apis/demo.example.com' }],
    [200, { path: '/apis/demo.example.com/v1alpha1' }],
    [200, { path: '/api/v1alpha1' }],
    [404, { path: '/apis/nowhere.example.com' }],
    [404, { path: '/nowhere' }],
    [200, { path: '/v3/api-docs' }],
    [200, { path: '/v3/api-docs/apis_console.api_v1alpha1' }],
    [404, { path: '/v3/api-docs/none' }],
    [200, { path: '/livez' }],
    [200, { path: '/readyz' }],
    [200, { path: '/metrics' }],
    [200, { path: '/swagger-ui.html' }],
  ];

  test('one request of each kind', async () => {
    const conformance = await description();
    const problems: string[] = [];
    for (const [status, request] of requests) {
      const exchange = await observe(request);
      assert.equal(exchange.status, status, `${request.method ?? ''} ${request.path}: ${exchange.body}`);
      problems.push(...conformance.check(exchange));
    }
    const etag = (await api.send({ path: `${jobs}/j` })).headers.get('etag')!;
    const unchanged = await observe({ path: `${jobs}/j`, headers: { 'if-none-match': etag } });
    assert.equal(unchanged.status, 304);
    problems.push(...conformance.check(unchanged));
    assert.deepEqual(problems, []);
  });

  test('a watch, as NDJSON and as server-sent events', async () => {
    const conformance = await description();
    for (const accept of ['application/x-ndjson', 'text/event-stream']) {
      const path = `${jobs}?watch=true&sendInitial=true`;
      const response = await fetch(api.url + path, { headers: { accept } });
      const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
      let body = '';
      while (!body.includes('BOOKMARK') || !body.endsWith('\n')) body += (await reader.read()).value;
      await reader.cancel();
      const exchange = {
        method: 'GET',
        path,
        requestHeaders: [['accept', accept]] as const,
        status: response.status,
        headers: [...response.headers],
        body,
      };
      assert.deepEqual(conformance.check(exchange), []);
    }
  });

  const mutations: [name: string, change: (exchange: ObservedExchange) => Partial<ObservedExchange>, says: RegExp][] = [
    ['status', () => ({ status: 299 }), /status is not declared/],
    ['header', ({ headers }) => ({ headers: [...headers, ['x-secret', '1']] }), /header x-secret is not declared/],
    [
      'value of a header',
      ({ headers }) => ({ headers: [...headers, ['kindred-revision', 'x']] }),
      /header kindred-revision .* must be integer/,
    ],
    [
      'missing header',
      ({ headers }) => ({ headers: [...headers].filter(([name]) => name !== 'kindred-revision') }),
      /header kindred-revision is declared as required and is missing/,
    ],
    ['media type', () => ({ headers: [['content-type', 'text/html']] }), /media type text\/html is not declared/],
    [
      'field',
      ({ body }) => ({ body: body.replace('"page"', '"extra":1,"page"') }),
      /must NOT have additional properties.*extra/,
    ],
    [
      'field of an object',
      ({ body }) => ({ body: body.replace('"command"', '"extra":1,"command"') }),
      /additional properties.*extra/,
    ],
    ['missing field', ({ body }) => ({ body: body.replace('"total"', '"first"') }), /required property 'total'/],
    ['query parameter', () => ({ path: `${jobs}?other=1` }), /query parameter other is not declared/],
    ['value of a query parameter', () => ({ path: `${jobs}?size=5000` }), /query parameter size .* must be <= 1000/],
    ['request header', () => ({ requestHeaders: [['if-match', '*']] }), /header parameter if-match is not declared/],
    ['request body', () => ({ requestBody: '{}' }), /body is not declared/],
    ['operation', () => ({ path: '/unknown' }), /no such operation/],
  ];

  for (const [name, change, says] of mutations) {
    test(`an undeclared ${name} is found`, async () => {
      const conformance = await description();
      const exchange = await observe({ path: jobs });
      assert.deepEqual(conformance.check(exchange), []);
      const problems = conformance.check({ ...exchange, ...change(exchange) });
      assert.ok(
        problems.some((one) => says.test(one)),
        problems.join('\n') || 'nothing was found',
      );
    });
  }
});
