import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../../src/testing/until.ts';
import { notes, person, persons, runCases, withApi } from './harness.ts';

/** A note of exactly this many bytes. */
function note(name: string, bytes: number): string {
  const frame = JSON.stringify({ metadata: { name }, text: '' });
  return JSON.stringify({ metadata: { name }, text: 'x'.repeat(bytes - frame.length) });
}

const mebibyte = 1024 * 1024;
const nested = (levels: number) =>
  `{"metadata":{"name":"deep"},"text":"x","extra":${'['.repeat(levels)}${']'.repeat(levels)}}`;
const wide = (members: number) =>
  JSON.stringify({
    metadata: { name: `wide-${members}` },
    text: 'x',
    extra: Object.fromEntries(Array.from({ length: members - 4 }, (_, i) => [`m${i}`, 0])),
  });
/** A list path whose whole URL, or whose query string, has this many bytes. */
const long = (bytes: number, path: string) => path + 'x'.repeat(bytes - path.length);
const query = (bytes: number) => `${persons}?${long(bytes, 'labelSelector=')}`;

/** 253 characters, every label of at most 63. */
const prefix = Array.from({ length: 4 }, (_, i) => 'p'.repeat(i < 3 ? 63 : 61)).join('.');

runCases('limits of a request', [
  { name: 'api: a body of 1 MiB', request: { path: notes, body: note('largest', mebibyte) }, status: 201 },
  {
    name: 'api: a body of one byte more is a 413, nothing is stored',
    request: { path: notes, body: note('larger', mebibyte + 1) },
    status: 413,
    body: { code: 'PayloadTooLarge', detail: /1048576/ },
    then: { [`${notes}/larger`]: null },
  },
  {
    name: 'api: also a chunked one',
    request: { method: 'POST', path: notes, body: () => stream(note('chunked', mebibyte + 1)) },
    status: 413,
    body: { code: 'PayloadTooLarge' },
    then: { [`${notes}/chunked`]: null },
  },
  {
    name: 'api: a chunked body of 1 MiB',
    request: { method: 'POST', path: notes, body: () => stream(note('chunked', mebibyte)) },
    status: 201,
  },
  { name: 'api: JSON depth of 64', request: { path: notes, body: nested(63) }, status: 201 },
  {
    name: 'api: JSON depth of 65',
    request: { path: notes, body: nested(64) },
    status: 400,
    body: { code: 'BadRequest', detail: /64/ },
  },
  { name: 'limits: 10,000 members', request: { path: notes, body: wide(10_000) }, status: 201 },
  {
    name: 'limits: 10,001 members',
    request: { path: notes, body: wide(10_001) },
    status: 400,
    body: { code: 'BadRequest', detail: /10000/ },
  },
  { name: 'limits: a URL of 16 KiB', request: { path: long(16_384, `${persons}/`) }, status: 404 },
  {
    name: 'limits: a URL of one byte more',
    request: { path: long(16_385, `${persons}/`) },
    status: 414,
    body: { code: 'UriTooLong' },
  },
  {
    name: 'limits: a query string of 8 KiB',
    request: { path: query(8_192) },
    status: 400,
    body: { code: 'InvalidSelector' },
  },
  {
    name: 'limits: a query string of one byte more',
    request: { path: query(8_193) },
    status: 414,
    body: { code: 'UriTooLong' },
  },
  {
    name: 'limits: headers of 60 KiB',
    request: { path: persons, headers: { 'x-large': 'x'.repeat(60_000) } },
    status: 200,
  },
  {
    name: 'spec: Limits - metadata.name length at most 253 characters',
    request: { path: persons, body: person('n'.repeat(253), { name: 'long' }) },
    status: 201,
    then: { [`${persons}/${'n'.repeat(253)}`]: {} },
  },
  {
    name: 'limits: a name of 254 characters',
    request: { path: persons, body: person('n'.repeat(254), { name: 'longer' }) },
    status: 422,
    body: { errors: [{ pointer: '/metadata/name' }] },
  },
  {
    name: 'spec: Limits - key prefix at most 253, name part at most 63 characters',
    request: { path: persons, body: person('keys', {}, { labels: { [`${prefix}/${'n'.repeat(63)}`]: '1' } }) },
    status: 201,
  },
  {
    name: 'limits: a key prefix of 254 characters',
    request: { path: persons, body: person('keys2', {}, { labels: { [`${prefix}p/x`]: '1' } }) },
    status: 422,
    body: { code: 'Invalid' },
  },
  {
    name: 'limits: a key name part of 64 characters',
    request: { path: persons, body: person('keys2', {}, { labels: { [`p/${'n'.repeat(64)}`]: '1' } }) },
    status: 422,
    body: { code: 'Invalid' },
  },
]);

function stream(text: string): ReadableStream {
  return new Blob([text]).stream();
}

const problem = (status: number, code: string) =>
  new RegExp(
    `^HTTP/1\\.1 ${status} [\\s\\S]*\\r\\nContent-Type: application/problem\\+json\\r\\n[\\s\\S]*\\r\\nX-Request-Id: [\\s\\S]*"code":"${code}"`,
  );

describe('what never becomes a request is answered by a problem document too', () => {
  const api = withApi();
  const host = 'Host: localhost\r\n';
  const cases: { name: string; send: string; expected: RegExp }[] = [
    {
      name: 'limits: headers over 64 KiB are a 431',
      send: `GET ${persons} HTTP/1.1\r\n${host}X: ${'x'.repeat(66_000)}\r\n\r\n`,
      expected: problem(431, 'HeadersTooLarge'),
    },
    {
      name: 'limits: many headers over 64 KiB are a 431',
      send: `GET ${persons} HTTP/1.1\r\n${host}${`X: ${'x'.repeat(900)}\r\n`.repeat(80)}\r\n`,
      expected: problem(431, 'HeadersTooLarge'),
    },
    {
      name: 'errors: a malformed request line is a 400',
      send: 'NONSENSE\r\n\r\n',
      expected: problem(400, 'BadRequest'),
    },
    {
      name: 'errors: an unknown method is a 400',
      send: `FROB / HTTP/1.1\r\n${host}\r\n`,
      expected: problem(400, 'BadRequest'),
    },
    {
      name: 'errors: a malformed header is a 400',
      send: `GET / HTTP/1.1\r\n${host}bad header\r\n\r\n`,
      expected: problem(400, 'BadRequest'),
    },
    {
      name: 'errors: a request without a Host is a 400',
      send: 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n',
      expected: problem(400, 'BadRequest'),
    },
    {
      name: 'errors: CONNECT is a 405',
      send: `CONNECT x:80 HTTP/1.1\r\n${host}\r\n`,
      expected: problem(405, 'MethodNotAllowed'),
    },
    {
      name: 'errors: a bad Content-Length is a 400',
      send: `POST ${persons} HTTP/1.1\r\n${host}Content-Length: x\r\n\r\n`,
      expected: problem(400, 'BadRequest'),
    },
    {
      name: 'errors: Content-Length with Transfer-Encoding is a 400',
      send: `POST ${persons} HTTP/1.1\r\n${host}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      expected: problem(400, 'BadRequest'),
    },
    {
      name: 'errors: a malformed chunk is a 400',
      send: `POST ${persons} HTTP/1.1\r\n${host}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`,
      expected: problem(400, 'BadRequest'),
    },
    {
      name: 'api: If-Match counts behind thousands of other headers',
      send: `DELETE ${persons}/many HTTP/1.1\r\n${host}${'a:b\r\n'.repeat(5_000)}If-Match: "x"\r\nConnection: close\r\n\r\n`,
      expected: problem(412, 'PreconditionFailed'),
    },
    {
      name: 'an upgrade is passed over',
      send: `GET ${persons} HTTP/1.1\r\n${host}Connection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n`,
      expected: /^HTTP\/1\.1 200 /,
    },
    {
      name: 'bytes that no URL has',
      send: `GET /\u00e9 HTTP/1.1\r\n${host}\r\n`,
      expected: problem(400, 'BadRequest'),
    },
    {
      name: 'an absolute request target',
      send: `GET http://127.0.0.1${persons}?size=7 HTTP/1.1\r\n${host}Connection: close\r\n\r\n`,
      expected: /^HTTP\/1\.1 200 [\s\S]*"size":7/,
    },
    {
      name: 'an expectation that is not known is passed over',
      send: `GET ${persons} HTTP/1.1\r\n${host}Expect: wonders\r\nConnection: close\r\n\r\n`,
      expected: /^HTTP\/1\.1 200 /,
    },
    { name: 'HTTP/1.0', send: `GET ${persons} HTTP/1.0\r\n\r\n`, expected: /^HTTP\/1\.1 200 / },
    {
      name: 'two Host headers are a 400',
      send: `GET /livez HTTP/1.1\r\n${host}hOST: localhost\r\nConnection: close\r\n\r\n`,
      expected: problem(400, 'BadRequest'),
    },
    {
      name: 'two Host headers are a 400 in HTTP/1.0 too',
      send: `GET /livez HTTP/1.0\r\n${host}Host: other\r\n\r\n`,
      expected: problem(400, 'BadRequest'),
    },
    {
      name: 'an empty Host counts as one',
      send: 'GET /livez HTTP/1.1\r\nHost:\r\nHost:\r\nConnection: close\r\n\r\n',
      expected: problem(400, 'BadRequest'),
    },
    {
      name: 'two Authorization headers are a 400',
      send: `GET /livez HTTP/1.1\r\n${host}Authorization: Bearer a\r\nauthorization: Bearer b\r\nConnection: close\r\n\r\n`,
      expected: problem(400, 'BadRequest'),
    },
    { name: 'a request without a version is a 400', send: 'GET /livez\r\n\r\n', expected: problem(400, 'BadRequest') },
    {
      name: 'HTTP/2.0 is a 400, and the connection ends',
      send: `GET /livez HTTP/2.0\r\n${host}\r\n`,
      expected: problem(400, 'BadRequest'),
    },
  ];
  before(() => api.send({ path: persons, body: person('many') }));
  for (const { name, send, expected } of cases) test(name, async () => assert.match(await api.raw(send), expected));

  test('a body that breaks off is not stored', async () => {
    const body = JSON.stringify(person('torn'));
    const { createConnection } = await import('node:net');
    const socket = createConnection(api.port, '127.0.0.1');
    socket.setEncoding('latin1');
    socket.write(
      `POST ${persons} HTTP/1.1\r\n${host}Content-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: ${body.length}\r\n\r\n`,
    );
    assert.match(String((await once(socket, 'data'))[0]), /^HTTP\/1\.1 100 /);
    await new Promise((resolve) => socket.write(body.slice(0, -1), resolve));
    socket.destroy();
    await until(async () => (await api.send({ path: `${persons}/torn` })).status === 404);
    assert.equal((await api.send({ path: persons })).json.total, 1);
  });

  test('a connection is kept and two requests may be under way on it', async () => {
    const get = (path: string, close = '') => `GET ${path} HTTP/1.1\r\n${host}${close}\r\n`;
    const text = await api.raw(get('/livez') + get('/nothing') + get(persons, 'Connection: close\r\n'));
    assert.deepEqual(
      [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map((match) => match[1]),
      ['200', '404', '200'],
    );
    assert.match(text, /Keep-Alive: timeout=72/);
  });
});

describe('slow clients', () => {
  const limits = { headersTimeout: 300, requestTimeout: 300 };
  const api = withApi({ http: limits });

  test('limits: headers that do not arrive in time are a 408', async () => {
    const started = Date.now();
    assert.match(await api.raw(`GET ${persons} HTTP/1.1\r\nHost: localhost\r\n`), problem(408, 'RequestTimeout'));
    assert.ok(Date.now() - started >= 300);
  });

  /** Sends one byte after the other until the service has closed the connection. */
  const trickle = async (head: string, byte: string): Promise<string> => {
    const socket = connect(api.port, '127.0.0.1');
    socket.on('error', () => {});
    let text = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      text += chunk;
    });
    socket.write(head);
    const timer = setInterval(() => socket.write(byte), 20);
    await once(socket, 'close');
    clearInterval(timer);
    return text;
  };

  test('limits: headers that come byte by byte are a 408', async () => {
    assert.match(
      await trickle(`GET ${persons} HTTP/1.1\r\nHost: localhost\r\nX: `, 'x'),
      problem(408, 'RequestTimeout'),
    );
  });

  test('limits: a body that comes byte by byte is a 408', async () => {
    const head = `POST ${persons} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n`;
    assert.match(await trickle(head, ' '), problem(408, 'RequestTimeout'));
  });

  test('limits: a connection that says nothing is closed', async () => {
    assert.match(await api.raw(), /^(?:$|HTTP\/1\.1 408 )/);
  });

  test('limits: a body that does not arrive in time is a 408', async () => {
    const text = await api.raw(
      `POST ${persons} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 5\r\n\r\n{`,
    );
    assert.match(text, problem(408, 'RequestTimeout'));
  });

  test('limits: an NDJSON body may take longer as long as bytes come', async () => {
    const line = (name: string) => Buffer.from(`${JSON.stringify(person(name))}\n`);
    const chunk = (bytes: Buffer) =>
      Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
    const pause = () => sleep(150);
    const head = `POST ${persons} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n`;
    const text = await api.raw(
      head,
      chunk(line('a')),
      pause,
      chunk(line('b')),
      pause,
      chunk(line('c')),
      pause,
      chunk(line('d')),
      '0\r\n\r\n',
    );
    assert.match(text, /"name":"d"[\s\S]*\r\n0\r\n\r\n$/);
    const stalled = await api.raw(head, chunk(line('e')));
    assert.match(stalled, /"name":"e"/);
    assert.doesNotMatch(stalled, /\r\n0\r\n\r\n$/);
  });
});

describe('limits are options', () => {
  const api = withApi({ http: { body: 200, depth: 3, members: 6, url: 100, query: 50 }, list: { maxSize: 7 } });

  test('each changes which request is refused', async () => {
    assert.equal((await api.send({ path: `${persons}?size=7` })).status, 200);
    assert.equal((await api.send({ path: `${persons}?size=8` })).status, 400);
    assert.equal((await api.send({ path: notes, body: note('n', 200) })).status, 201);
    assert.equal((await api.send({ path: notes, body: note('m', 201) })).status, 413);
    assert.equal((await api.send({ path: notes, body: '[[[]]]' })).status, 422);
    assert.equal((await api.send({ path: notes, body: '[[[[]]]]' })).status, 400);
    assert.equal((await api.send({ path: notes, body: '{"a":{"b":1,"c":1,"d":1,"e":1,"f":1,"g":1}}' })).status, 400);
    assert.equal((await api.send({ path: long(101, '/x') })).status, 414);
    assert.equal((await api.send({ path: `/x?${'y'.repeat(51)}` })).status, 414);
  });
});

describe('CORS', () => {
  const origin = 'https://console.example.com';
  const api = withApi({ cors: [origin] });
  const preflight = { 'access-control-request-method': 'PUT', 'access-control-request-headers': 'if-match' };

  test('api: an option lists the origins', async () => {
    const reply = await api.send({ path: persons, headers: { origin } });
    assert.equal(reply.headers.get('access-control-allow-origin'), origin);
    assert.match(reply.headers.get('access-control-expose-headers')!, /ETag.*Kindred-Revision/);
    assert.equal(reply.headers.get('vary'), 'Origin');
    const failed = await api.send({ path: '/nothing', headers: { origin } });
    assert.equal(failed.headers.get('access-control-allow-origin'), origin);
  });

  test('api: a preflight is answered', async () => {
    const reply = await api.send({ method: 'OPTIONS', path: persons, headers: { origin, ...preflight } });
    assert.equal(reply.status, 204);
    assert.match(reply.headers.get('access-control-allow-methods')!, /PUT/);
    assert.match(reply.headers.get('access-control-allow-headers')!, /If-Match/);
  });

  test('api: another origin gets no such headers', async () => {
    for (const method of ['GET', 'OPTIONS']) {
      const reply = await api.send({
        method,
        path: persons,
        headers: { origin: 'https://evil.example.com', ...preflight },
      });
      assert.equal(reply.headers.get('access-control-allow-origin'), null);
      assert.equal(reply.headers.get('access-control-allow-methods'), null);
    }
  });
});
