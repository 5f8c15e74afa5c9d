import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { fuzz } from './fuzz.ts';
import type { Reply } from './harness.ts';
import { persons, withApi } from './harness.ts';

const seed = Number(process.env.SEED ?? 20_261_120);
const runs = Number(process.env.FUZZ_RUNS ?? 300);
const options = {
  seed,
  numRuns: runs,
  verbose: 1,
  interruptAfterTimeLimit: 20_000,
  markInterruptAsFailure: false,
} as const;

/** A refusal says what was wrong: where in the body, or which parameter. */
function assertClear(reply: Reply, input: string): void {
  const about = `${reply.status} ${reply.text.slice(0, 500)}\nfor ${input.slice(0, 500)}`;
  assert.ok(reply.status < 500 && reply.status >= 200, about);
  if (reply.status < 300) return;
  assert.equal(reply.headers.get('content-type'), 'application/problem+json', about);
  assert.ok(reply.json.detail.length > 0, about);
  if (reply.status === 422) {
    assert.ok(reply.json.errors.length > 0, about);
    for (const one of reply.json.errors) {
      assert.match(one.pointer, /^(\/.*)?$/, about);
      assert.ok(one.message.length > 0 && one.keyword.length > 0, about);
    }
  }
  if (reply.json.code === 'InvalidParameter') assert.equal(typeof reply.json.parameter, 'string', about);
  if (reply.json.code === 'InvalidSelector')
    assert.ok(
      reply.json.term !== undefined || reply.json.allowed !== undefined || reply.json.parameter !== undefined,
      about,
    );
  if (reply.json.code === 'BadRequest' && reply.json.position !== undefined)
    assert.ok(Number.isInteger(reply.json.line), about);
}

const word = fc.constantFrom(
  'metadata',
  'spec',
  'status',
  'name',
  'labels',
  'annotations',
  'finalizers',
  'age',
  'tags',
  'email',
  'gender',
  'address',
  'city',
  'zip',
  'version',
  'apiVersion',
  'kind',
  'generateName',
  '__proto__',
  'constructor',
  'toString',
  '',
  'a/b',
  '~',
  'creationTimestamp',
  'deletionTimestamp',
);
const leaf = fc.oneof(
  fc.constantFrom(
    null,
    true,
    '',
    'x',
    'MALE',
    'a@b.example',
    'p-1',
    -1,
    0,
    0.5,
    36,
    1e300,
    2 ** 60,
    'x'.repeat(300),
    '\ud800',
    '12345',
  ),
  fc.string(),
  fc.integer(),
);
const { tree } = fc.letrec((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4 },
    leaf,
    fc.array(tie('tree'), { maxLength: 3 }),
    fc.array(fc.tuple(word, tie('tree')), { maxLength: 6 }).map(members),
  ),
}));

function members(entries: [string, unknown][]): object {
  return Object.defineProperties(
    {},
    Object.fromEntries(
      entries.map(([name, value]) => [name, { value, enumerable: true, configurable: true, writable: true }]),
    ),
  );
}

/** An object close to a valid one: a valid person with one member put somewhere. */
const near = fc.tuple(fc.stringMatching(/^[a-z]{8}$/), word, word, tree).map(([name, parent, member, value]) => {
  const object: any = { metadata: { name }, spec: { name, age: 3, tags: ['a'] } };
  const place = Object.hasOwn(object, parent) ? object[parent] : object;
  Object.defineProperty(place, member, { value, enumerable: true, configurable: true, writable: true });
  return object;
});

const texts = fc.tuple(
  fc.oneof(near, tree),
  fc.array(fc.tuple(fc.nat(400), fc.constantFrom('', '{', '}', '"', ',', '\\', ':', '\u0000', '1e999', 'é')), {
    maxLength: 2,
  }),
);

describe('fuzz: bodies', () => {
  const api = withApi();

  test(`issue 2: for each malformed request a clear 4xx, never a 500, never a half-written object (seed ${seed})`, async () => {
    await fc.assert(
      fc.asyncProperty(texts, fc.constantFrom('POST', 'PUT', 'PATCH'), async ([value, edits], method) => {
        let body = JSON.stringify(value);
        for (const [at, text] of edits) body = body.slice(0, at) + text + body.slice(at + 1);
        const path = method === 'POST' ? persons : `${persons}/target`;
        const before = (await api.send({ path: `${persons}?size=1` })).json.total;
        const reply = await api.send({ method, path, body });
        assertClear(reply, `${method} ${body}`);
        const after = (await api.send({ path: `${persons}?size=1` })).json.total;
        assert.equal(after, before + (reply.status === 201 ? 1 : 0), `${method} ${body}`);
        if (reply.status !== 201) return;
        const stored = await api.send({ path: reply.headers.get('location')! });
        assert.equal(stored.text, reply.text);
        // What was accepted once is accepted again, unchanged.
        const again = await api.send({ method: 'PUT', path: reply.headers.get('location')!, body: stored.text });
        assert.deepEqual([again.status, again.text], [200, stored.text]);
      }),
      options,
    );
  });

  test(`issue 2: the same for JSON patches (seed ${seed})`, async () => {
    const target = { metadata: { name: 'target' }, spec: { name: 'target', age: 1, tags: ['a', 'b'] } };
    await api.send({ path: persons, body: target });
    const pointer = fc.oneof(
      fc
        .array(fc.oneof(word, fc.constantFrom('0', '1', '-', '01', '-1', '~2', '2')), { maxLength: 4 })
        .map((tokens) => tokens.map((token) => `/${token}`).join('')),
      fc.string(),
    );
    const operation = fc.record(
      {
        op: fc.constantFrom('add', 'remove', 'replace', 'move', 'copy', 'test', 'x', 5 as unknown as string),
        path: pointer,
        from: pointer,
        value: tree,
      },
      { requiredKeys: ['op', 'path'] },
    );
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.array(operation, { maxLength: 4 }), tree), async (patch) => {
        const body = JSON.stringify(patch);
        const before = await api.send({ path: `${persons}/target` });
        const reply = await api.send({
          method: 'PATCH',
          path: `${persons}/target`,
          body,
          headers: { 'content-type': 'application/json-patch+json' },
        });
        const after = await api.send({ path: `${persons}/target` });
        if (reply.json?.code !== 'Invalid') assertClear(reply, body);
        assert.ok(reply.status < 500, `${reply.text} for ${body}`);
        assert.equal(after.text, reply.status === 200 ? reply.text : before.text, body);
      }),
      options,
    );
  });
});

describe('fuzz: query strings', () => {
  const api = withApi();

  test(`issue 2: every query string is a page or a clear 4xx (seed ${seed})`, async () => {
    for (const name of ['a', 'b', 'c'])
      await api.send({ path: persons, body: { metadata: { name }, spec: { name, age: name.length } } });
    const name = fc.constantFrom(
      'page',
      'size',
      'sort',
      'labelSelector',
      'fieldSelector',
      'explain',
      'x',
      '',
      'Page',
      '__proto__',
      'since',
    );
    const piece = fc.constantFrom(
      'spec.name',
      'spec.age',
      'spec.tags',
      'metadata.name',
      'metadata.labels',
      'name',
      'a.example.com/x',
      '=',
      '==',
      '!=',
      '!',
      '(',
      ')',
      ',',
      '"',
      '\\',
      '<',
      '>=',
      '^=',
      '*=',
      ' in ',
      ' notin ',
      'asc',
      'desc',
      '1',
      '-1',
      '1e9',
      'é',
      '%',
      '+',
      '',
      ' ',
    );
    const value = fc.oneof(
      fc.array(piece, { maxLength: 7 }).map((pieces) => pieces.join('')),
      fc.string(),
    );
    const pair = fc
      .tuple(name, value, fc.boolean())
      .map(
        ([key, text, plain]) =>
          `${key}=${plain ? text.replace(/[^\x21-\x7e]|#/g, '') : encodeURIComponent(text.toWellFormed())}`,
      );
    await fc.assert(
      fc.asyncProperty(fc.array(pair, { maxLength: 4 }), async (pairs) => {
        const query = pairs.join('&');
        const reply = await api.send({ path: `${persons}?${query}` });
        assertClear(reply, query);
        assert.ok(reply.status === 200 || reply.status === 400, `${reply.status} for ${query}`);
        if (reply.json.items) assert.ok(reply.json.items.length <= reply.json.total);
      }),
      options,
    );
  });
});

describe('fuzz: all routes', () => {
  test(`issue 2: no answer is a 5xx, slow, of the inside or without its headers, and memory stays (seed ${seed})`, async (context) => {
    const requests = Number(process.env.FUZZ_REQUESTS ?? 20_000);
    const { statuses, sent, refused, longestTurn, slowest, heap } = await fuzz({ seed, requests, raw: requests / 20 });
    context.diagnostic(`${sent} requests: ${JSON.stringify(statuses)}`);
    context.diagnostic(
      `longest turn ${Math.round(longestTurn)} ms, slowest eight ${Math.round(slowest)} ms, heap ${heap.map((one) => Math.round(one / 1e6)).join(' → ')} MB`,
    );
    assert.ok(refused < sent / 3, `${refused} of ${sent} were 401 or 403`);
    for (const status of [200, 201, 304, 400, 401, 403, 404, 405, 409, 410, 412, 415, 422])
      assert.ok(statuses[status]! > 0, `no answer ${status}`);
  });
});
