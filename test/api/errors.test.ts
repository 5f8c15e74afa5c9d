import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { pino } from 'pino';
import { assertParts } from '../../src/testing/scenario.ts';
import type { ApiCase, Request } from './harness.ts';
import { check, notes, person, persons, runCases, withApi } from './harness.ts';

const ada: Request = { path: persons, body: person('ada') };

function invalid(name: string, spec: object, pointer: string, keyword: string): ApiCase {
  return {
    name: `spec: Errors - ${name}`,
    request: { path: persons, body: { metadata: { name: 'bad' }, spec: { name: 'x', ...spec } } },
    status: 422,
    body: {
      code: 'Invalid',
      errors: [{ pointer, field: pointer.slice(1).replaceAll('/', '.'), keyword, message: /./ }],
    },
    then: { [`${persons}/bad`]: null },
  };
}

runCases('objects that do not match the model', [
  invalid('wrong field type', { age: 'old' }, '/spec/age', 'type'),
  invalid('missing required field', { name: undefined }, '/spec/name', 'required'),
  invalid('minimum', { age: -1 }, '/spec/age', 'minimum'),
  invalid('maximum', { age: 151 }, '/spec/age', 'maximum'),
  invalid('minLength', { name: '' }, '/spec/name', 'minLength'),
  invalid('maxLength', { name: 'x'.repeat(61) }, '/spec/name', 'maxLength'),
  invalid('pattern', { address: { city: 'x', zip: '123' } }, '/spec/address/zip', 'pattern'),
  invalid('format', { email: 'nobody' }, '/spec/email', 'format'),
  invalid('an integer that is none', { age: 1.5 }, '/spec/age', 'type'),
  invalid('an enum value that is none', { gender: 'male' }, '/spec/gender', 'enum'),
  invalid('an unknown field', { height: 3 }, '/spec/height', 'additionalProperties'),
  invalid(
    'an unknown field, deep',
    { address: { city: 'x', street: 'y' } },
    '/spec/address/street',
    'additionalProperties',
  ),
  {
    name: 'objects: all violations are reported at once',
    request: {
      path: persons,
      body: {
        metadata: { name: 'BAD', labels: { '-x': '1', 'a.example.com/ok': 'no way' }, color: 1 },
        spec: { age: -1, email: 'x' },
      },
    },
    status: 422,
    body: {
      errors: (errors: { pointer: string }[]) => {
        const pointers = new Set(errors.map((one) => one.pointer));
        return [
          '/metadata/name',
          '/metadata/labels/-x',
          '/metadata/labels/a.example.com~1ok',
          '/metadata/color',
          '/spec/age',
          '/spec/email',
          '/spec/name',
        ].every((one) => pointers.has(one));
      },
    },
  },
  {
    name: 'objects: neither name nor generateName',
    request: { path: persons, body: { metadata: {}, spec: { name: 'x' } } },
    status: 422,
    body: { errors: [{ pointer: '/metadata/name' }] },
  },
  {
    name: 'objects: apiVersion and kind must be those of the path',
    request: {
      path: persons,
      body: { apiVersion: 'other/v1', kind: 'Cat', metadata: { name: 'x' }, spec: { name: 'x' } },
    },
    status: 422,
    body: { errors: [{ pointer: '/apiVersion' }, { pointer: '/kind' }] },
  },
  ...['5', 'null', '[]', '"x"', 'true'].map((body) => ({
    name: `objects: a body that is JSON but no object: ${body}`,
    request: { path: persons, body },
    status: 422,
    body: { code: 'Invalid', errors: [{ pointer: '' }] },
  })),
]);

runCases(
  'malformed requests',
  [
    ...(
      [
        ['an empty body', ''],
        ['a malformed body', '{"metadata":'],
        ['a member given twice', '{"metadata":{"name":"a","name":"b"}}'],
        ['bad UTF-8', new Uint8Array([0x7b, 0xff, 0x7d])],
        ['a byte order mark', new Uint8Array([0xef, 0xbb, 0xbf, 0x7b, 0x7d])],
        ['too deep', '['.repeat(65) + ']'.repeat(65)],
      ] as const
    ).map(([name, body]) => ({
      name: `objects: ${name} is a 400 with the position`,
      request: { method: 'POST', path: persons, body },
      status: 400,
      body: { code: 'BadRequest', position: Number.isInteger, line: Number.isInteger, column: Number.isInteger },
    })),
    {
      name: 'objects: a number that cannot be held exactly is a 422 with its pointer',
      request: { path: notes, body: '{"metadata":{"name":"n"},"text":"x","extra":{"n":9007199254740993}}' },
      status: 422,
      body: { code: 'Invalid', errors: [{ pointer: '/extra/n' }] },
      then: { [`${notes}/n`]: null },
    },
    ...[
      'text/plain',
      'application/xml',
      'application/merge-patch+json',
      'application/json; charset=latin1',
      'application/json, text/plain',
      'nonsense',
      ';;;',
      '"',
    ].map((type) => ({
      name: `objects: another Content-Type is a 415: ${type}`,
      request: { path: persons, body: '{}', headers: { 'content-type': type } },
      status: 415,
      body: { code: 'UnsupportedMediaType', detail: /application\/json/ },
    })),
    {
      name: 'errors: a DELETE does not mind what its Content-Type is',
      request: { method: 'DELETE', path: `${persons}/nobody`, headers: { 'content-type': 'nonsense' } },
      status: 404,
    },
    {
      name: 'errors: a body with a Content-Encoding is a 415',
      request: { path: persons, body: '{}', headers: { 'content-encoding': 'gzip' } },
      status: 415,
      body: { code: 'UnsupportedMediaType' },
    },
    {
      name: 'objects: Content-Type with a charset of UTF-8',
      request: { path: persons, body: person('utf8'), headers: { 'content-type': 'application/json; charset=utf-8' } },
      status: 201,
    },
    {
      name: 'errors: an unknown method is a 405',
      request: { method: 'PROPFIND', path: `${persons}/ada` },
      status: 405,
      headers: { allow: 'GET, HEAD, PUT, PATCH, DELETE' },
    },
    {
      name: 'api: OPTIONS is off by default',
      request: { method: 'OPTIONS', path: persons },
      status: 405,
      headers: { allow: /GET/ },
    },
    {
      name: 'errors: an unknown route with an unknown method',
      request: { method: 'PROPFIND', path: '/nothing' },
      status: 404,
    },
    {
      name: 'errors: title, detail and messages in Chinese',
      request: {
        path: persons,
        body: { metadata: { name: 'x' }, spec: { age: 'x', name: 'x' } },
        headers: { 'accept-language': 'zh-CN,zh;q=0.9' },
      },
      status: 422,
      headers: { 'content-language': 'zh' },
      body: { code: 'Invalid', title: /[一-鿿]/, detail: /[一-鿿]/, errors: [{ keyword: 'type', message: /[一-鿿]/ }] },
    },
    {
      name: 'errors: HEAD of what is not there has no body',
      request: { method: 'HEAD', path: `${persons}/nobody` },
      status: 404,
      body: '',
    },
  ],
  [ada],
);

describe('the request id', () => {
  const api = withApi();

  test('errors: a well-formed X-Request-Id is taken and sent back', async () => {
    for (const id of ['a', 'A-b_c.9', 'x'.repeat(128)]) {
      for (const path of [persons, '/nothing', '/livez']) {
        const reply = await api.send({ path, headers: { 'x-request-id': id } });
        assert.equal(reply.headers.get('x-request-id'), id);
        if (path === '/nothing') assert.equal(reply.json.requestId, id);
      }
    }
  });

  test('errors: otherwise one is made, each another', async () => {
    const made = new Set<string>();
    for (const id of ['', 'a b', 'x'.repeat(129), 'ä', '"']) {
      const reply = await api.send({ path: '/livez', headers: { 'x-request-id': Buffer.from(id).toString('latin1') } });
      const sent = reply.headers.get('x-request-id')!;
      assert.match(sent, /^[A-Za-z0-9._-]{1,128}$/);
      assert.notEqual(sent, id);
      made.add(sent);
    }
    assert.equal(made.size, 5);
  });
});

describe('what goes wrong inside', () => {
  const lines: string[] = [];
  const api = withApi({
    accessLog: { success: 'info' },
    logger: pino({ level: 'info' }, { write: (line: string) => void lines.push(line) }),
  });

  test('errors: anything else is a 500 without internals, and the log has the reason with the request id', async (t) => {
    const { ModelResource } = await import('../../src/resource/resource.ts');
    t.mock.method(ModelResource.prototype, 'get', () => {
      throw new TypeError('secret of the house');
    });
    const reply = await api.send({ path: `${persons}/ada`, headers: { 'x-request-id': 'broken-1' } });
    check(reply, { status: 500, body: { code: 'InternalError', detail: /log/ } });
    assert.ok(!reply.text.includes('secret'));
    const entries = lines.map((line) => JSON.parse(line)).filter((entry) => entry.requestId === 'broken-1');
    assert.ok(entries.some((entry) => entry.err?.message === 'secret of the house' && entry.err.stack));
    assertParts(
      entries.find((entry) => entry.status === 500),
      { method: 'GET', path: `${persons}/ada`, ms: (ms: unknown) => typeof ms === 'number' },
      '',
    );
  });

  test('errors: the reason behind another 5xx is for the log alone', async (t) => {
    const { ModelResource } = await import('../../src/resource/resource.ts');
    const { KindredError } = await import('../../src/errors.ts');
    t.mock.method(ModelResource.prototype, 'delete', async () => {
      const cause = new Error('connection to 10.0.0.7 lost');
      throw new KindredError('UnknownOutcome', { en: 'unknown', zh: '未知' }, { cause });
    });
    const reply = await api.send({ method: 'DELETE', path: `${persons}/ada`, headers: { 'x-request-id': 'broken-2' } });
    check(reply, { status: 504, body: { code: 'UnknownOutcome' } });
    assert.ok(!reply.text.includes('10.0.0.7'));
    assert.ok(lines.some((line) => line.includes('broken-2') && line.includes('10.0.0.7')));
  });

  test('command-line: the access log has no query string, no body and no token', async () => {
    const headers = { authorization: 'Bearer hunter2', 'x-request-id': 'logged-1' };
    await api.send({ path: `${persons}?labelSelector=hunter3`, headers });
    await api.send({ path: persons, body: person('hunter4', { email: 'hunter5@example.com' }), headers });
    const entries = lines.filter((line) => line.includes('logged-1'));
    assert.equal(entries.length, 2);
    assertParts(
      JSON.parse(entries[1]!),
      { method: 'POST', path: persons, status: 201, identity: 'system:unauthenticated' },
      '',
    );
    assert.ok(!/hunter/.test(entries.join('')));
  });

  test('api: a model whose indexes are being built answers 503 with Retry-After and the progress, on every route', async (t) => {
    const { ModelMemory } = await import('../../src/resource/memory.ts');
    const { KindredError } = await import('../../src/errors.ts');
    t.mock.getter(ModelMemory.prototype, 'isReady', () => false);
    t.mock.method(ModelMemory.prototype, 'assertReady', () => {
      throw new KindredError(
        'NotReady',
        { en: 'building', zh: '构建中' },
        { progress: 0.25, headers: { 'retry-after': '1' } },
      );
    });
    const requests: Request[] = [
      { path: persons },
      { path: `${persons}/ada` },
      { path: persons, body: person('x') },
      { path: persons, body: '{}\n', headers: { 'content-type': 'application/x-ndjson' } },
      { path: persons, headers: { accept: 'application/x-ndjson' } },
      { path: `${persons}?watch=true` },
      { method: 'PUT', path: `${persons}/ada`, body: {} },
      { method: 'PATCH', path: `${persons}/ada`, body: {} },
      { method: 'DELETE', path: `${persons}/ada` },
    ];
    for (const request of requests) {
      check(await api.send(request), {
        status: 503,
        headers: { 'retry-after': '1' },
        body: { code: 'NotReady', progress: 0.25 },
      });
    }
  });
});
