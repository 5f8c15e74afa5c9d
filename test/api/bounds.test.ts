/** What one object, one patch and one answer may come to, each just under and just over. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { defineModel } from '../../src/model/define.ts';
import type { Service } from '../../src/service.ts';
import { Api, check, withApi } from './harness.ts';

const Bag = defineModel({
  gvk: { group: 'bounds.example.com', version: 'v1', kind: 'Bag', singular: 'bag', plural: 'bags' },
  schema: {
    type: 'object',
    properties: {
      list: {
        type: 'array',
        items: {
          type: 'object',
          properties: { on: { type: 'boolean', default: true } },
          additionalProperties: { type: 'string' },
        },
      },
      large: {
        type: 'array',
        items: { type: 'object', properties: { text: { type: 'string', default: 'x'.repeat(10_000) } } },
      },
      numbers: { type: 'array', items: { type: 'integer', maximum: 10 } },
      words: { type: 'array', items: { type: 'string', pattern: 'a[ab]{40}c' } },
      keys: { type: 'array', items: { type: 'string' } },
      either: {
        anyOf: [
          { type: 'array', items: { type: 'integer' } },
          { type: 'array', items: { type: 'string' } },
        ],
      },
      headed: { type: 'array', prefixItems: [{ type: 'string' }], items: { type: 'integer' } },
      any: true,
    },
  },
  indexes: (index) => [index.multi('keys', String, (bag) => bag.keys as string[])],
});
const bags = '/apis/bounds.example.com/v1/bags';

const api = withApi({}, (service) => service.schemeManager.register(Bag));
let made = 0;
const bag = (members: object, metadata: object = {}) => ({
  metadata: { name: `bag-${made++}`, ...metadata },
  ...members,
});
const post = (body: unknown) => api.send({ path: bags, body });
const patch = (name: string, operations: readonly object[]) =>
  api.send({ method: 'PATCH', path: `${bags}/${name}`, body: operations });

describe('violations', () => {
  test('limits: an answer lists 100 violations and tells how many more there are', async () => {
    for (const [wrong, omitted] of [
      [100, undefined],
      [101, 1],
      [999, 899],
      [1_000, 900],
      [300_000, 900],
    ] as const) {
      const reply = await post(bag({ numbers: Array(wrong).fill(11) }));
      assert.equal(reply.status, 422);
      assert.equal(reply.json.errors.length, 100, `${wrong} violations`);
      assert.equal(reply.json.omitted, omitted, `${wrong} violations`);
      const count = Math.min(wrong, 1_000);
      assert.match(reply.json.detail, wrong < 1_000 ? new RegExp(`: ${count} violations, `) : /: 1000\+ violations, /);
    }
  });

  test('objects: all are reported at once, wherever they are', async () => {
    const numbers = [...Array(600).fill(1), 'x', ...Array(600).fill(1), 11];
    const labels = { '!': 'x' };
    const reply = await post({ ...bag({ numbers, color: 1, list: [{ on: 1 }] }, { labels }), kind: 'Box' });
    assert.deepEqual(
      new Set(reply.json.errors.map(({ pointer, keyword }: any) => `${pointer} ${keyword}`)),
      new Set([
        '/kind const',
        '/metadata/labels/! pattern',
        '/color additionalProperties',
        '/list/0/on type',
        '/numbers/600 type',
        '/numbers/1201 maximum',
      ]),
    );
  });

  test('limits: metadata counts into the same bound', async () => {
    const labels = Object.fromEntries(Array.from({ length: 800 }, (_, i) => [`!${i}`, 'x']));
    const reply = await post(bag({ numbers: Array(199).fill(11) }, { labels }));
    assert.deepEqual([reply.json.errors.length, reply.json.omitted], [100, 899]);
    const both = await post(bag({ numbers: Array(400).fill(11) }, { labels }));
    assert.deepEqual([both.json.errors.length, both.json.omitted], [100, 900]);
  });

  test('limits: values that were sent come back shortened, in the message and in params', async () => {
    const long = 'x'.repeat(900_000);
    const bodies: [body: unknown, pointer: string][] = [
      [{ metadata: { name: long } }, '/metadata/name'],
      [{ metadata: { generateName: long } }, '/metadata/generateName'],
      [{ ...bag({}), kind: long }, '/kind'],
      [bag({}, { labels: { a: long } }), '/metadata/labels/a'],
      [bag({}, { version: Array(300_000).fill(1) }), '/metadata/version'],
      [JSON.stringify(bag({ any: 0 })).replace('"any":0', `"any":1${'0'.repeat(900_000)}1`), '/any'],
      // A pointer that is longer than what is told leads to what the place is in.
      [bag({ [long]: 1 }), ''],
      [bag({ list: [{ [long]: 1 }] }), '/list/0'],
    ];
    for (const [body, pointer] of bodies) {
      const reply = await post(body);
      assert.equal(reply.status, 422);
      assert.equal(reply.json.errors[0].pointer, pointer);
      assert.ok(reply.text.length < 10_000, `${reply.text.length} bytes for ${pointer}`);
    }
  });

  test('limits: so does the detail of a path that leads nowhere', async () => {
    const reply = await api.send({ path: `/${'x'.repeat(10_000)}` });
    assert.equal(reply.status, 404);
    assert.ok(reply.json.detail.length < 1_000);
  });

  test('errors: the omitted violations are told in the language of the request', async () => {
    const headers = { 'accept-language': 'zh' };
    const reply = await api.send({ path: bags, headers, body: bag({ numbers: Array(101).fill(11) }) });
    assert.match(reply.json.detail, /共 101 处问题/);
    assert.match(reply.json.errors[99].message, /[一-鿿]/);
  });
});

describe('the size of a body and of an object', () => {
  /** A body with so many objects and lists. */
  const containers = (count: number) => bag({ any: Array(count - 3).fill([]) });

  test('limits: 100,000 objects and lists in a body, one more is a 400', async () => {
    assert.equal((await post(containers(100_000))).status, 201);
    check(await post(containers(100_001)), { status: 400, body: { code: 'BadRequest', detail: /100000/ } });
  });

  test('limits: 1,000 finalizers, one more is a 422', async () => {
    const finalizers = (count: number) => Array.from({ length: count }, (_, i) => `f.example.com/${i}`);
    assert.equal((await post(bag({}, { finalizers: finalizers(1_000) }))).status, 201);
    const pointer = '/metadata/finalizers';
    check(await post(bag({}, { finalizers: finalizers(1_001) })), {
      status: 422,
      body: { errors: [{ pointer, keyword: 'maxItems' }] },
    });
  });

  test('limits: 10,000 values for an index, however often each of them is there; one more is a 422', async () => {
    const keys = (count: number) => Array.from({ length: count }, (_, i) => `k${i}`);
    assert.equal((await post(bag({ keys: keys(10_000) }))).status, 201);
    const repeated = bag({ keys: [...Array(120_000).fill('same'), 'last'] });
    assert.equal((await post(repeated)).status, 201);
    const found = await api.send({ path: `${bags}?fieldSelector=keys=last` });
    assert.equal(found.json.total, 1);
    check(await post(bag({ keys: keys(10_001) })), { status: 422, body: { errors: [{ keyword: 'index' }] } });
    check(await post(bag({ keys: keys(100_000) })), { status: 422, body: { errors: [{ keyword: 'index' }] } });
  });

  test('limits: defaults may set 10,000 members, one more is a 413', async () => {
    const list = (count: number) => bag({ list: Array.from({ length: count }, () => ({})) });
    const reply = await post(list(10_000));
    assert.equal(reply.status, 201);
    assert.deepEqual(reply.json.list.at(-1), { on: true });
    check(await post(list(10_001)), { status: 413, body: { code: 'PayloadTooLarge', detail: /10000/ } });
  });

  test('limits: defaults may add 1 MiB, more is a 413', async () => {
    const list = (count: number) => bag({ large: Array.from({ length: count }, () => ({})) });
    assert.equal((await post(list(104))).status, 201);
    check(await post(list(105)), { status: 413, body: { code: 'PayloadTooLarge', detail: /1048576/ } });
  });

  test('limits: an object of 2 MiB, one byte more is a 413; it may become smaller', async () => {
    const mebibyte = 2 ** 20;
    const { metadata } = bag({});
    const { name } = metadata;
    const merge = (body: object) => api.send({ method: 'PATCH', path: `${bags}/${name}`, body });
    assert.equal((await post({ metadata, any: { a: 'x'.repeat(1_000_000) } })).status, 201);
    const { text } = await merge({ any: { b: 'x'.repeat(1_000_000) } });
    const rest = 2 * mebibyte - Buffer.byteLength(text);
    // `,"c":""` is seven bytes.
    check(await merge({ any: { c: 'y'.repeat(rest - 6) } }), { status: 413, body: { code: 'PayloadTooLarge' } });
    const largest = await merge({ any: { c: 'y'.repeat(rest - 7) } });
    assert.deepEqual([largest.status, Buffer.byteLength(largest.text)], [200, 2 * mebibyte]);
    assert.equal((await merge({ any: { b: 'y' } })).status, 200);
  });
});

test('limits: an object that is larger than allowed today may become smaller, and be deleted', async (context) => {
  const folder = await mkdtemp(join(tmpdir(), 'kindred-bounds-'));
  const database = `sqlite:${join(folder, 'bounds.db')}`;
  const register = (service: Service) => service.schemeManager.register(Bag);
  const body = { metadata: { name: 'large' }, any: { a: 'x'.repeat(5_000), b: 'y'.repeat(1_000) } };
  const before = new Api({ database });
  await before.start(register);
  assert.equal((await before.send({ path: bags, body })).status, 201);
  await before.stop();
  const today = new Api({ database, http: { body: 2_000 }, patch: { maxGrowth: 1_000 } });
  await today.start(register);
  context.after(async () => {
    await today.stop();
    await rm(folder, { recursive: true });
  });
  const merge = (any: object) => today.send({ method: 'PATCH', path: `${bags}/large`, body: { any } });
  check(await merge({ c: 'z' }), { status: 413, body: { code: 'PayloadTooLarge', detail: /3000/ } });
  assert.equal((await merge({ b: null })).status, 200);
  assert.equal((await today.send({ method: 'DELETE', path: `${bags}/large` })).status, 200);
});

describe('patches', () => {
  const mebibyte = 2 ** 20;
  const made = async (members: object) => (await post(bag(members))).json.metadata.name as string;

  test('limits: a patched object has at most 10,000 members and 100,000 objects and lists, as a body', async () => {
    const members = (from: number, count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`m${from + i}`, 0]));
    const name = await made({ any: members(0, 5_000) });
    const { text } = await api.send({ path: `${bags}/${name}` });
    // All but those of `any`.
    const others = text.match(/":/g)!.length - 5_000;
    const merge = (any: object) => api.send({ method: 'PATCH', path: `${bags}/${name}`, body: { any } });
    assert.equal((await merge(members(5_000, 5_000 - others))).status, 200);
    check(await merge({ more: 1 }), { status: 413, body: { code: 'PayloadTooLarge', detail: /10000 members/ } });
    const lists = await made({ any: { a: Array(50_000).fill([]) } });
    // The object, metadata, any and its two lists.
    const add = (count: number) => patch(lists, [{ op: 'add', path: '/any/b', value: Array(count).fill([]) }]);
    assert.equal((await add(49_995)).status, 200);
    check(await add(49_996), { status: 413, body: { code: 'PayloadTooLarge', detail: /100000/ } });
  });

  test('limits: operations that move very much are a 413 that names the operation', async () => {
    const name = await made({ any: { a: Array(500_000).fill(1), b: 0 } });
    const there = { op: 'move', from: '/any/a', path: '/any/c' };
    const back = { op: 'move', from: '/any/c', path: '/any/a' };
    const moves = (count: number) => Array.from({ length: count }, (_, i) => (i % 2 ? back : there));
    assert.equal((await patch(name, moves(40))).status, 200);
    const refused = await patch(name, moves(42));
    check(refused, { status: 413, body: { code: 'PayloadTooLarge', operation: 40 } });
    const inserts = (count: number) => Array(count).fill({ op: 'add', path: '/any/a/0', value: 1 });
    assert.equal((await patch(name, inserts(1_000))).status, 200);
  });

  test('limits: bytes that one patch adds', async () => {
    const name = await made({ any: { a: 1 } });
    // A text is two bytes longer in JSON.
    const add = (bytes: number) => patch(name, [{ op: 'add', path: '/any/b', value: 'x'.repeat(bytes - 2) }]);
    const body = await add(mebibyte - 100);
    assert.equal(body.status, 200);
    const copies = (count: number) =>
      Array.from({ length: count }, (_, i) => ({ op: 'copy', from: '/any/b', path: `/any/c${i}` }));
    check(await patch(name, copies(2)), { status: 413, body: { code: 'PayloadTooLarge', operation: 1 } });
  });
});

describe('comparison with the model', () => {
  test('limits: the largest lists are compared with the model in parts', async () => {
    const reply = await post(bag({ numbers: [...Array(510_000).fill(1), 11] }));
    check(reply, { status: 422, body: { errors: [{ pointer: '/numbers/510000', keyword: 'maximum' }] } });
    assert.equal((await post(bag({ numbers: Array(510_000).fill(1) }))).status, 201);
  });

  test('objects: a long list within an alternative decides which one holds', async () => {
    assert.equal((await post(bag({ either: Array(2_000).fill('x') }))).status, 201);
    assert.equal((await post(bag({ either: Array(2_000).fill(1) }))).status, 201);
    check(await post(bag({ either: [...Array(2_000).fill(1), 'x'] })), {
      status: 422,
      body: { errors: [{ pointer: '/either', keyword: 'anyOf' }] },
    });
  });

  test('objects: a long list behind items of their own', async () => {
    assert.equal((await post(bag({ headed: ['x', ...Array(2_000).fill(1)] }))).status, 201);
    check(await post(bag({ headed: [1, ...Array(1_999).fill(1), 'x'] })), {
      status: 422,
      body: { errors: [{ pointer: '/headed/0' }, { pointer: '/headed/2000' }] },
    });
  });

  test('limits: a long text for a pattern without a small automaton is a 422', async () => {
    const short = `${'ab'.repeat(30)}c`;
    check(await post(bag({ words: [short] })), { status: 422, body: { errors: [{ keyword: 'pattern' }] } });
    check(await post(bag({ words: [`a${'b'.repeat(40)}c`] })), { status: 201 });
    const reply = await post(bag({ words: ['ab'.repeat(50_000)] }));
    check(reply, { status: 422, body: { errors: [{ keyword: 'limit' }] } });
  });
});
