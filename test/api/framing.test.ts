/** Where a request begins and ends (RFC 9112): what could be read in two ways is refused, and never makes a second request. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { notes, withApi } from './harness.ts';

interface Case {
  readonly name: string;
  /** Behind it on the same connection comes a request for `/livez`. */
  readonly send: string;
  /** Of the answers in order; the last is that of `/livez`, unless the connection is closed before. */
  readonly statuses: readonly number[];
}

const crlf = '\r\n';
const host = `Host: localhost${crlf}`;
const json = `Content-Type: application/json${crlf}`;
let made = 0;
const note = () => JSON.stringify({ metadata: { name: `framed-${made++}` }, text: 'x' });
const post = (headers: string, body: string): string =>
  `POST ${notes} HTTP/1.1${crlf}${host}${json}${headers}${crlf}${body}`;
const get = (headers: string, target = notes): string => `GET ${target} HTTP/1.1${crlf}${host}${headers}${crlf}`;
const chunk = (text: string): string => `${text.length.toString(16)}${crlf}${text}${crlf}`;
const end = `0${crlf}${crlf}`;
const chunked = `Transfer-Encoding: chunked${crlf}`;
const sized = (body: string, length: number | string = body.length): string =>
  post(`Content-Length: ${length}${crlf}`, body);
const inside = get('', '/nothing');
const last = get(`Connection: close${crlf}`, '/livez');

const cases: readonly Case[] = [
  { name: 'a length', send: sized(note()), statuses: [201, 200] },
  { name: 'chunks', send: post(chunked, chunk(note()) + end), statuses: [201, 200] },
  {
    name: 'a body in two chunks',
    send: post(chunked, `${chunk(note().slice(0, 9))}${chunk('x')}${end}`),
    statuses: [400, 200],
  },
  { name: 'chunk extensions', send: post(chunked, `2;a=b;c="d"${crlf}{}${crlf}${end}`), statuses: [422, 200] },
  { name: 'empty lines before a request', send: crlf + crlf + sized(note()), statuses: [201, 200] },
  { name: 'a request inside a body', send: sized(inside), statuses: [400, 200] },
  { name: 'a request inside a chunk', send: post(chunked, chunk(inside) + end), statuses: [400, 200] },
  {
    name: 'a request inside the body of a GET',
    send: get(`Content-Length: ${inside.length}${crlf}`) + inside,
    statuses: [200, 200],
  },
  {
    name: 'a request inside the body of a DELETE of nothing',
    send: `DELETE ${notes}/none HTTP/1.1${crlf}${host}Content-Length: ${inside.length}${crlf}${crlf}${inside}`,
    statuses: [404, 200],
  },
  {
    name: 'a request inside a body that is not wanted',
    send: `POST /nothing HTTP/1.1${crlf}${host}Content-Length: ${inside.length}${crlf}${crlf}${inside}`,
    statuses: [404, 200],
  },
  {
    name: 'a trailer is no header',
    send: post(
      `${chunked}Trailer: Content-Type${crlf}`,
      `${chunk('{}')}0${crlf}Content-Type: text/plain${crlf}${crlf}`,
    ),
    statuses: [422, 200],
  },
  { name: 'nothing behind a request that closes', send: get(`Connection: close${crlf}`), statuses: [200] },

  {
    name: 'the same length twice',
    send: post(`Content-Length: 2${crlf}Content-Length: 2${crlf}`, '{}'),
    statuses: [400],
  },
  { name: 'two lengths', send: post(`Content-Length: 2${crlf}Content-Length: 60${crlf}`, '{}'), statuses: [400] },
  { name: 'a list of lengths', send: sized('{}', '2, 2'), statuses: [400] },
  { name: 'a length with a sign', send: sized('{}', '+2'), statuses: [400] },
  { name: 'a negative length', send: sized('{}', '-2'), statuses: [400] },
  { name: 'a length in hexadecimal', send: sized('{}', '0x2'), statuses: [400] },
  { name: 'an empty length', send: sized('{}', ''), statuses: [400] },
  { name: 'a length beyond all numbers', send: sized('{}', '99999999999999999999999'), statuses: [400] },
  { name: 'a length and chunks', send: post(`Content-Length: 2${crlf}${chunked}`, chunk('{}') + end), statuses: [400] },
  { name: 'chunks and a length', send: post(`${chunked}Content-Length: 2${crlf}`, chunk('{}') + end), statuses: [400] },
  { name: 'a coding that is not chunked', send: post(`Transfer-Encoding: gzip${crlf}`, '{}'), statuses: [400] },
  {
    name: 'a coding behind chunked',
    send: post(`Transfer-Encoding: chunked, gzip${crlf}`, chunk('{}') + end),
    statuses: [400],
  },
  {
    name: 'a space before the colon',
    send: post(`Transfer-Encoding : chunked${crlf}`, chunk('{}') + end),
    statuses: [400],
  },
  { name: 'a folded header', send: get(`X-Folded: a${crlf} b${crlf}`), statuses: [400] },
  { name: 'a line feed alone', send: get(`X-One: a\nX-Two: b${crlf}`), statuses: [400] },
  { name: 'a carriage return alone', send: get(`X-One: a\rX-Two: b${crlf}`), statuses: [400] },
  { name: 'a zero byte in a header', send: get(`X-Zero: a\0b${crlf}`), statuses: [400] },
  { name: 'a zero byte in the target', send: get('', '/\0'), statuses: [400] },
  { name: 'a header without a name', send: get(`: a${crlf}`), statuses: [400] },
  { name: 'a space before the first header', send: `GET ${notes} HTTP/1.1${crlf} ${host}${crlf}`, statuses: [400] },
  { name: 'two spaces in the request line', send: `GET  ${notes} HTTP/1.1${crlf}${host}${crlf}`, statuses: [200, 200] },
  { name: 'a tab in the request line', send: `GET\t${notes} HTTP/1.1${crlf}${host}${crlf}`, statuses: [400] },
  { name: 'a chunk size with a sign', send: post(chunked, `+2${crlf}{}${crlf}${end}`), statuses: [400] },
  { name: 'a negative chunk size', send: post(chunked, `-2${crlf}{}${crlf}${end}`), statuses: [400] },
  { name: 'a chunk size with a prefix', send: post(chunked, `0x2${crlf}{}${crlf}${end}`), statuses: [400] },
  {
    name: 'a chunk size beyond all numbers',
    send: post(chunked, `ffffffffffffffffff${crlf}{}${crlf}${end}`),
    statuses: [400],
  },
  { name: 'a chunk that is longer than its size', send: post(chunked, `1${crlf}{}${crlf}${end}`), statuses: [400] },
  { name: 'a chunk without a line end', send: post(chunked, `2${crlf}{}${end}`), statuses: [400] },
  { name: 'the preface of HTTP/2', send: `PRI * HTTP/2.0${crlf}${crlf}SM${crlf}${crlf}`, statuses: [400] },
  { name: 'TLS', send: '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', statuses: [400] },
  { name: 'an announced body that is too large', send: sized('{}', 2 ** 30), statuses: [413] },
];

describe('framing', () => {
  const api = withApi();
  for (const { name, send, statuses } of cases) {
    test(`errors: ${name}: ${statuses.join(', ')}`, async () => {
      const text = await api.raw(Buffer.from(send, 'latin1'), last);
      const answers = [...text.matchAll(/HTTP\/1\.1 (\d{3}) [A-Z]/g)].map(([, status]) => Number(status));
      assert.deepEqual(answers, statuses, text);
      assert.ok(!text.includes('/nothing') || send.startsWith('POST /nothing'), 'what is inside a body was answered');
    });
  }
});
