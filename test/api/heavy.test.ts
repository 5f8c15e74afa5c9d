/** The heaviest requests that are allowed, and some that are not: none holds the event loop. Each runs up to three times. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { defineModel } from '../../src/model/define.ts';
import type { JsonSchema } from '../../src/schema/keywords.ts';
import { threadTime } from '../slowness.ts';
import { Api } from './harness.ts';
import { assertTurns, LoopGuard, turnLimit } from './loop-guard.ts';
import type { RemoteReply, RemoteRequest } from './remote.ts';
import { Remote } from './remote.ts';

const formats = ['date', 'time', 'date-time', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uri', 'uri-reference'];
const moreFormats = ['uuid', 'regex', 'json-pointer', 'byte'];

/** Alternatives that only the last level tells apart. */
function recursive(keyword: 'anyOf' | 'oneOf', own: string, required: boolean): object {
  const branch = (member: string) => ({
    type: 'object',
    properties: { inner: { $ref: `#/$defs/${own}` }, [member]: {} },
    ...(required && { required: [member] }),
  });
  return { [keyword]: [branch('left'), branch('right'), { type: 'integer' }] };
}

const list = (items: object) => ({ type: 'array', items });
const Load = defineModel({
  gvk: { group: 'heavy.example.com', version: 'v1', kind: 'Load', singular: 'load', plural: 'loads' },
  schema: {
    type: 'object',
    properties: {
      any: true,
      keys: list({ type: 'string' }),
      numbers: list({ type: 'integer', maximum: 10 }),
      claims: list({ type: 'string' }),
      distinct: { type: 'array', uniqueItems: true },
      objects: list({ type: 'object', properties: { text: { type: 'string', default: 'x'.repeat(90) } } }),
      strict: list({ type: 'object', properties: { n: { type: 'string' } }, required: ['n'] }),
      choices: list({ enum: ['x', { a: 1 }, [1, 2]] }),
      contained: { type: 'array', contains: { type: 'string' }, minContains: 0 },
      unions: list({ anyOf: [{ type: 'string', maxLength: 2 }, { type: 'integer', minimum: 5 }, { type: 'null' }] }),
      merged: list({
        allOf: [
          { type: 'object', properties: { a: {} } },
          { type: 'object', properties: { b: {} } },
        ],
      }),
      cents: list({ type: 'number', multipleOf: 0.01 }),
      map: { type: 'object', additionalProperties: { type: 'integer' }, propertyNames: { pattern: '^[a-z]{1,5}$' } },
      slug: { type: 'string', pattern: '^[a-z0-9]+(?:-[a-z0-9]+)*$' },
      nested: { type: 'string', pattern: '(?:a|aa)+$' },
      nestedList: list({ type: 'string', pattern: '(?:a|aa)+$' }),
      window: { type: 'string', pattern: 'a[ab]{40}c' },
      anyOf: { $ref: '#/$defs/anyOf' },
      oneOf: { $ref: '#/$defs/oneOf' },
      ...Object.fromEntries(
        [...formats, ...moreFormats].flatMap((format) => [
          [`one ${format}`, { type: 'string', format }],
          [`many ${format}`, list({ type: 'string', format })],
        ]),
      ),
    },
    $defs: { anyOf: recursive('anyOf', 'anyOf', false), oneOf: recursive('oneOf', 'oneOf', true) },
  } as JsonSchema & object,
  indexes: (index) => [
    index.multi('keys', String, (load) => load.keys as string[]),
    index.multi('numbers', Number, (load) => load.numbers as number[]),
    index.multi('claims', String, (load) => load.claims as string[], { unique: true }),
  ],
});

const City = defineModel({
  gvk: { group: 'heavy.example.com', version: 'v1', kind: 'City', singular: 'city', plural: 'cities' },
  schema: {
    type: 'object',
    properties: {
      title: { type: 'string' },
      country: { type: 'string' },
      population: { type: 'integer' },
      tags: list({ type: 'string' }),
    },
  } as const,
  indexes: (index) => [
    index.single('title', String, (city) => city.title as string),
    index.single('country', String, (city) => city.country as string),
    index.single('population', Number, (city) => city.population as number),
    index.multi('tags', String, (city) => city.tags as string[]),
  ],
});

const base = '/apis/heavy.example.com/v1';
const loads = `${base}/loads`;
const cities = `${base}/cities`;
const cityCount = 20_000;
/** Bytes of a body that is nearly as large as it may be. */
const size = 1_040_000;

const json = 'application/json';
const ndjson = 'application/x-ndjson';
const jsonPatch = 'application/json-patch+json';
const mergePatch = 'application/merge-patch+json';

let made = 0;
const load = (members: object, metadata: object = {}): string =>
  JSON.stringify({ metadata: { name: `load-${made++}`, ...metadata }, ...members });
/** As many equal items as a body may have. */
const many = (one: unknown, count = Math.floor(size / (JSON.stringify(one).length + 1))): unknown[] =>
  Array(count).fill(one);
const numbered = <T>(count: number, one: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => one(i));
const map = (count: number, name: (i: number) => string, value: unknown = 1) =>
  Object.fromEntries(numbered(count, (i) => [name(i), value]));
const nested = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels));

interface Heavy {
  readonly name: string;
  /** Made anew for each attempt. */
  readonly requests: () => readonly RemoteRequest[];
  /** Every answer has one of these. */
  readonly status: readonly number[];
  /** Not measured. */
  readonly first?: () => readonly RemoteRequest[];
}

const post = (name: string, body: () => string, ...status: number[]): Heavy => ({
  name,
  requests: () => [{ method: 'POST', path: loads, headers: { 'content-type': json }, body: body() }],
  status: status.length > 0 ? status : [201],
});
const get = (name: string, path: string, ...status: number[]): Heavy => ({
  name,
  requests: () => [{ path }],
  status: status.length > 0 ? status : [200],
});

const bodies: readonly Heavy[] = [
  post('half a million numbers', () => load({ any: many(1) })),
  post('a hundred thousand empty lists', () => load({ any: many([], 99_990) })),
  post('more lists than a body may have', () => load({ any: many([]) }), 400),
  post('lists within lists', () => load({ any: many(nested(50), 1_990) })),
  post('numbers with a fraction', () => load({ any: many(0.1234567890123456) })),
  post('numbers with zeros at their end', () =>
    load({ any: 0 }).replace(':0', `:[${'1.0000000000000000,'.repeat(54_000)}0]`),
  ),
  post('negative zeros', () => load({ any: 0 }).replace(':0', `:[${'-0,'.repeat(340_000)}0]`)),
  post('a number of a megabyte', () => load({ any: 0 }).replace(':0', `:1${'0'.repeat(size)}1`), 422),
  post(
    'very many numbers that are not exact',
    () => load({ any: 0 }).replace(':0', `:[${'1e400,'.repeat(170_000)}0]`),
    422,
  ),
  post(
    'one inexact number behind many exact ones',
    () => load({ any: 0 }).replace(':0', `:[${'1.0000000000000000,'.repeat(54_000)}1e400]`),
    422,
  ),
  post('a text of escapes', () => load({ any: 0 }).replace(':0', `:"${'\\u0041'.repeat(170_000)}"`)),
  post('malformed at its end', () => load({ any: many(1) }).slice(0, -1), 400),
  post('malformed behind very many lines', () => `[${'\n'.repeat(size)}x`, 400),
  post(
    'a member twice',
    () =>
      JSON.stringify({ any: map(9_900, (i) => `member-${i}-${'x'.repeat(80)}`) }).replace(
        '}}',
        ',"member-0-":1,"member-0-":2}}',
      ),
    400,
  ),
  post('members of long names', () => load({ any: map(9_900, (i) => `member-${i}-${'x'.repeat(80)}`) })),
];

const objects: readonly Heavy[] = [
  post('finalizers that are numbers', () => load({}, { finalizers: many(1) }), 422),
  post('labels that are wrong', () => load({}, { labels: map(9_900, (i) => `!${i}`, '!'.repeat(64)) }), 422),
  post('labels that are reserved', () => load({}, { labels: map(9_900, (i) => `platform.run/l${i}`, 'x') }), 422),
  post('very many labels', () => load({}, { labels: map(9_900, (i) => `l${i}`, 'v'.repeat(63)) })),
  post('very many annotations', () => load({}, { annotations: map(9_900, (i) => `a${i}`, 'v') })),
  post('unknown members', () => load(map(9_900, (i) => `unknown-${i}`)), 422),
  post('items of the wrong type', () => load({ keys: many(1) }), 422),
  post('the last item is wrong', () => load({ numbers: [...many(1, 519_000), 11] }), 422),
  post('items without what is required', () => load({ strict: many({}, 99_000) }), 422),
  post('items that no choice has', () => load({ choices: many([1, 3], 99_000) }), 422),
  post('items that choices have', () => load({ choices: many([1, 2], 99_000) })),
  post('items to be contained', () => load({ contained: many(1) }), 201, 422),
  post('alternatives for each item', () => load({ unions: many(9) })),
  post('no alternative for any item', () => load({ unions: many('xxx') }), 422),
  post('several schemas for each item', () => load({ merged: many({}, 99_000) })),
  post('multiples of a hundredth', () => load({ cents: many(0.07) })),
  post('names that are not allowed', () => load({ map: map(9_900, (i) => `NAME${i}`, 'x') }), 422),
  post('distinct numbers', () => load({ distinct: numbered(150_000, (i) => i) })),
  post('distinct texts', () => load({ distinct: numbered(100_000, (i) => `s${i}`) })),
  post('distinct lists', () => load({ distinct: numbered(95_000, (i) => [i]) }), 201, 422),
  post('distinct deep lists', () => load({ distinct: numbered(1_600, (i) => [i, nested(58)]) })),
  post('defaults', () => load({ objects: many({}, 9_900) })),
  post('more defaults than an object may have', () => load({ objects: many({}, 99_000) }), 413),
  post('alternatives within alternatives, anyOf', () => load({ anyOf: tower(55, () => ({ other: 1 })) }), 422),
  post('alternatives within alternatives, oneOf', () => load({ oneOf: tower(55, () => ({ left: 1, right: 1 })) }), 422),
  post('alternatives with long lists', () => load({ anyOf: tower(55, () => ({ left: many(1, 9_000) })) }), 422),
  post('a pattern on a megabyte', () => load({ slug: `${'a'.repeat(size)}!` }), 422),
  post('a pattern of the linear engine on a megabyte', () => load({ nested: `${'a'.repeat(size)}b` }), 422),
  post('a pattern of the linear engine on many texts', () => load({ nestedList: many('aaaaaaaa') })),
  post('a pattern without a small automaton', () => load({ window: 'ab'.repeat(size / 2) }), 422),
  ...Object.entries({
    date: '2026-01-31',
    time: '13:00:00Z',
    'date-time': '2026-01-31T13:00:00.000Z',
    duration: 'P1DT12H',
    email: 'ada@xn--bcher-kva.example',
    hostname: 'xn--bcher-kva.example',
    ipv4: '192.168.100.200',
    ipv6: '2001:db8::1',
    uri: 'https://example.com/a?b#c',
    'uri-reference': '/a?b#c',
    uuid: '123e4567-e89b-12d3-a456-426614174000',
    regex: '^[a-z]+(b|c)*$',
    'json-pointer': '/a/0/b',
    byte: 'aGVsbG8=',
  }).flatMap(([format, text]) => [
    post(`many texts of the format ${format}`, () => load({ [`many ${format}`]: many(text) }), 201, 422),
    post(
      `a megabyte of the format ${format}`,
      () => load({ [`one ${format}`]: text.repeat(size / text.length) }),
      201,
      422,
    ),
  ]),
  post(
    'a regular expression of many groups',
    () => load({ 'one regex': numbered(60_000, (i) => `(?<n${i}>a)`).join('') }),
    422,
  ),
  post('10,000 values for an index', () => load({ keys: numbered(10_000, (i) => `key-${i}-${made}`) })),
  post('10,000 long values for an index', () =>
    load({ keys: numbered(9_999, (i) => `${'k'.repeat(80)}-${i}-${made}`) }),
  ),
  post('more values for an index than allowed', () => load({ keys: numbered(110_000, (i) => `${i}`) }), 422),
  post('10,000 numbers for an index', () => load({ numbers: numbered(10_000, (i) => -i * 7 - made) })),
  post('10,000 unique values', () => load({ claims: numbered(9_999, (i) => `claim-${i}-${made}`) })),
];

/** Objects within one another, the innermost of a type that no alternative has. */
function tower(levels: number, members: () => object): unknown {
  let value: unknown = 'x';
  for (let i = 0; i < levels; i++) value = { inner: value, ...members() };
  return value;
}

/** A request about an object that is made first. */
function change(name: string, members: () => object, one: (path: string) => RemoteRequest, ...status: number[]): Heavy {
  let target = '';
  return {
    name,
    first: () => {
      target = `changed-${made}`;
      const body = load(members(), { name: target });
      return [{ method: 'POST', path: loads, headers: { 'content-type': json }, body }];
    },
    requests: () => [one(`${loads}/${target}`)],
    status: status.length > 0 ? status : [200],
  };
}

const patch = (name: string, members: () => object, type: string, body: () => unknown, ...status: number[]): Heavy =>
  change(
    name,
    members,
    (path) => ({ method: 'PATCH', path, headers: { 'content-type': type }, body: JSON.stringify(body()) }),
    ...status,
  );

const wide = () => ({ any: { a: many(1, 500_000) } });
const lists = () => ({ any: { a: many([], 99_000) } });
const moves = (count: number) =>
  numbered(count, (i) =>
    i % 2 ? { op: 'move', from: '/any/b', path: '/any/a' } : { op: 'move', from: '/any/a', path: '/any/b' },
  );

const patches: readonly Heavy[] = [
  patch('moves of a large list', wide, jsonPatch, () => moves(40)),
  patch('more moves than a patch may have', wide, jsonPatch, () => moves(1_000), 413),
  patch('moves of many lists', lists, jsonPatch, () => moves(200)),
  patch(
    'moves of a large text',
    () => ({ any: { a: 'x'.repeat(size) } }),
    jsonPatch,
    () => moves(1_000),
  ),
  patch('insertions at the beginning of a large list', wide, jsonPatch, () =>
    many({ op: 'add', path: '/any/a/0', value: 1 }, 1_000),
  ),
  patch('removals at the beginning of a large list', lists, jsonPatch, () =>
    many({ op: 'remove', path: '/any/a/0' }, 1_000),
  ),
  patch(
    'copies of a large list',
    lists,
    jsonPatch,
    () => numbered(1_000, (i) => ({ op: 'copy', from: '/any/a', path: `/any/c${i}` })),
    413,
  ),
  patch(
    'copies of copies',
    () => ({ any: { a: [1] } }),
    jsonPatch,
    () => many({ op: 'copy', from: '/any', path: '/any/b' }, 1_000),
    413,
    422,
  ),
  patch(
    'a large addition',
    () => ({ any: {} }),
    jsonPatch,
    () => [{ op: 'add', path: '/any/a', value: many([], 99_000) }],
  ),
  patch('a large test', lists, jsonPatch, () => [{ op: 'test', path: '/any/a', value: many([], 99_000) }]),
  patch(
    'long pointers',
    () => ({ any: {} }),
    jsonPatch,
    () => many({ op: 'test', path: '/any/a'.padEnd(1_000, '/a'), value: 1 }, 950),
    409,
  ),
  patch(
    'a large merge',
    () => ({ any: {} }),
    mergePatch,
    () => ({ any: { a: many([], 99_000) } }),
  ),
  patch('a merge that changes nothing', lists, mergePatch, () => ({})),
  patch(
    'a merge of very many members',
    () => ({ any: {} }),
    mergePatch,
    () => ({ any: map(9_000, (i) => `member-${i}`) }),
  ),
  patch(
    'other unique values',
    () => ({ claims: numbered(9_999, (i) => `before-${i}-${made}`) }),
    mergePatch,
    () => ({ claims: numbered(9_999, (i) => `after-${i}-${made}`) }),
  ),
  change('a replacement by the same', lists, (path) => ({
    method: 'PUT',
    path,
    headers: { 'content-type': json },
    body: JSON.stringify(lists()),
  })),
  change('a deletion', lists, (path) => ({ method: 'DELETE', path })),
];

const fields = (text: string) => `fieldSelector=${encodeURIComponent(text)}`;
const labels = (text: string) => `labelSelector=${encodeURIComponent(text)}`;
const everySort = ['title', 'country,desc', 'population', 'tags,desc', 'metadata.creationTimestamp']
  .map((one) => `sort=${one}`)
  .join('&');

const queries: readonly Heavy[] = [
  get('the deepest page', `${cities}?page=1000&size=20`),
  get('the largest page, sorted by all', `${cities}?${everySort}&page=10&size=1000`),
  get('200 terms', `${cities}?${fields(numbered(200, (i) => `population>${i}`).join())}&${everySort}&size=1000`),
  get('200 negations', `${cities}?${fields(numbered(200, (i) => `country!=c${i}`).join())}&size=1000`),
  get(
    'a list of 1,000 values',
    `${cities}?${fields(`population in (${numbered(1_000, (i) => i * 17).join()})`)}&${everySort}`,
  ),
  get(
    'a list of 1,000 values, none of them',
    `${cities}?${fields(`tags notin (${numbered(1_000, (i) => `t${i}`).join()})`)}&${everySort}&size=1000`,
  ),
  get('ten looks into every text', `${cities}?${fields(numbered(10, (i) => `title*=${i}`).join())}&size=1000`),
  get(
    'a hundred looks at the end of every text',
    `${cities}?${fields(numbered(100, (i) => `title$=${i}`).join())}&size=1000`,
  ),
  get('a look for 8 KB', `${cities}?${fields(`title*=${'x'.repeat(7_900)}`)}`),
  get('200 terms about labels', `${cities}?${labels(numbered(200, (i) => `k${i}!=x`).join())}&size=1000`),
  get('explained', `${cities}?${fields(numbered(200, (i) => `population>${i}`).join())}&${everySort}&explain=true`),
  {
    name: 'an export sorted by all',
    requests: () => [{ path: `${cities}?${everySort}`, headers: { accept: ndjson } }],
    status: [200],
  },
  {
    name: 'a watch from long ago',
    requests: () => [{ path: `${cities}?watch=true&since=${firstRevision}`, until: `"revision":${lastRevision}` }],
    status: [200],
  },
  {
    name: 'a watch from long ago that nothing matches',
    requests: () => [{ path: `${loads}?watch=true&since=${firstRevision}&${fields('keys=none')}`, until: 'BOOKMARK' }],
    status: [200],
  },
  {
    name: 'a watch with the whole list first',
    requests: () => [{ path: `${cities}?watch=true&sendInitial=true`, until: 'BOOKMARK' }],
    status: [200],
  },
  {
    name: 'a live page of 1,000',
    requests: () => [{ path: `${cities}?watch=true&${everySort}&page=10&size=1000`, until: 'SNAPSHOT' }],
    status: [200],
  },
  get('the description of everything', '/v3/api-docs/apis_aggregated.api_v1alpha1'),
  get('metrics', '/metrics'),
];

const roles = '/api/v1alpha1/roles';
const role = (rules: readonly object[], metadata: object = {}): RemoteRequest => ({
  method: 'POST',
  path: roles,
  headers: { 'content-type': json },
  body: JSON.stringify({ metadata: { name: `role-${made++}`, ...metadata }, rules }),
});
const rights: readonly Heavy[] = [
  {
    name: 'the largest role',
    requests: () => [
      role(
        numbered(100, (i) => ({
          apiGroups: [`g${i}.example.com`],
          resources: numbered(10, (k) => `r${k}`),
          verbs: numbered(10, (k) => `v${k}`),
        })),
      ),
    ],
    status: [201],
  },
  {
    name: 'a role of many groups, resources and verbs',
    requests: () => [
      role([
        {
          apiGroups: numbered(300, (i) => `g${i}`),
          resources: numbered(300, (i) => `r${i}`),
          verbs: numbered(300, (i) => `v${i}`),
        },
      ]),
    ],
    status: [422],
  },
  {
    name: 'a role that depends on many',
    requests: () => [
      role([], {
        annotations: { 'rbac.platform.run/dependencies': JSON.stringify(numbered(10_000, (i) => `role-${i}`)) },
      }),
    ],
    status: [201, 422],
  },
];

const atOnce = (name: string, count: number, one: () => RemoteRequest, ...status: number[]): Heavy => ({
  name: `${count} at once: ${name}`,
  requests: () => numbered(count, one),
  status,
});
const posted = (body: () => string) => (): RemoteRequest => ({
  method: 'POST',
  path: loads,
  headers: { 'content-type': json },
  body: body(),
});
const bulk = (name: string, body: () => string): Heavy => ({
  name: `bulk: ${name}`,
  requests: () => [{ method: 'POST', path: loads, headers: { 'content-type': ndjson }, body: body() }],
  status: [200],
});

const crowds: readonly Heavy[] = [
  atOnce(
    'large bodies',
    20,
    posted(() => load({ any: many(1) })),
    201,
  ),
  atOnce(
    'large bodies, all wrong',
    20,
    posted(() => load({ keys: many(1) })),
    422,
  ),
  atOnce(
    'malformed bodies',
    20,
    posted(() => load({ any: many(1) }).slice(0, -1)),
    400,
  ),
  atOnce(
    'alternatives within alternatives',
    30,
    posted(() => load({ anyOf: tower(20, () => ({ other: 1 })) })),
    422,
  ),
  atOnce(
    '10,000 values for an index',
    8,
    posted(() => load({ keys: numbered(9_999, (i) => `k-${i}-${made}`) })),
    201,
  ),
  atOnce(
    'queries of 200 terms',
    20,
    () => ({ path: `${cities}?${fields(numbered(200, (i) => `population>${i}`).join())}&${everySort}` }),
    200,
    503,
  ),
  atOnce(
    'small bodies',
    200,
    posted(() => load({ keys: ['a'] })),
    201,
  ),
  bulk('small lines', () => numbered(5_000, () => load({ keys: ['a'] })).join('\n')),
  bulk('half a million wrong lines', () => '1\n'.repeat(500_000)),
  bulk('the largest lines', () => numbered(5, () => load({ any: many(1) })).join('\n')),
  bulk('lines of 10,000 values for an index', () =>
    numbered(5, () => load({ keys: numbered(9_999, (i) => `b-${i}-${made}`) })).join('\n'),
  ),
];

let firstRevision = 0;
let lastRevision = 0;

describe('the heaviest requests', () => {
  // What is judged is the length of turns: a query on a busy machine may take longer than the usual second.
  const api = new Api({ auth: {}, watch: { bookmarkInterval: 200 }, query: { timeout: 10_000 } });
  let folder: string;
  let remote: Remote;
  let guard: LoopGuard;

  const send = (requests: readonly RemoteRequest[]): Promise<readonly RemoteReply[]> => {
    const authorization = `Bearer ${api.token}`;
    return remote.send(requests.map((one) => ({ ...one, headers: { authorization, ...one.headers } })));
  };

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kindred-heavy-'));
    Object.assign(api.options, { database: `sqlite:${join(folder, 'heavy.db')}` });
    await api.start(({ schemeManager }) => {
      for (const model of [Load, City]) schemeManager.register(model);
    });
    remote = new Remote(api.url);
    guard = new LoopGuard();
    firstRevision = api.firstRevision;
    const lines = numbered(cityCount, (i) => {
      const metadata = { name: `city-${i}`, labels: { [`k${i % 300}`]: 'x', size: `s${i % 7}` } };
      const population = (i * 7_919) % 1_000_003;
      return JSON.stringify({
        metadata,
        title: `City ${population} of ${i % 97}`,
        country: `c${i % 250}`,
        population,
        tags: [`t${i % 40}`, `t${i % 1_013}`],
      });
    });
    const [reply] = await send([
      { method: 'POST', path: cities, headers: { 'content-type': ndjson }, body: lines.join('\n') },
    ]);
    assert.equal(reply!.status, 200);
    const [page] = await send([{ path: `${cities}?size=1` }]);
    assert.equal(JSON.parse(page!.text).total, cityCount);
    lastRevision = Number(page!.headers['kindred-revision']);
  });
  after(async () => {
    guard.stop();
    await remote.close();
    await api.stop();
    await rm(folder, { recursive: true });
  });

  async function attempt({ first, requests, status }: Heavy): Promise<number> {
    for (const { status: made, text } of first ? await send(first()) : []) assert.equal(made, 201, text.slice(0, 500));
    const sent = requests();
    guard.take();
    const replies = await send(sent);
    const longest = guard.take();
    for (const reply of replies)
      assert.ok(status.includes(reply.status), `${reply.status} ${reply.text.slice(0, 500)}`);
    return longest;
  }

  for (const [title, cases] of Object.entries({ bodies, objects, patches, queries, rights, crowds })) {
    describe(title, () => {
      for (const one of cases) {
        test(`limits: no turn over ${turnLimit} ms - ${one.name}`, async (context) => {
          const longest = await attempt(one);
          context.diagnostic(`${Math.round(longest)} ms`);
          await assertTurns(one.name, longest, () => attempt(one));
        });
      }
    });
  }

  test('the guard sees a turn that is too long', async () => {
    const hold = async () => {
      guard.take();
      const end = threadTime() + 6 * turnLimit;
      while (threadTime() < end);
      return guard.take();
    };
    await assert.rejects(
      async () => assertTurns('a loop', await hold(), hold),
      /a loop held the event loop for \d+ ms/,
    );
  });
});
