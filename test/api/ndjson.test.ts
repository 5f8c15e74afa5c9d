import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { describe, test } from 'node:test';
import type { Api } from './harness.ts';
import { check, notes, person, persons, withApi } from './harness.ts';

const ndjson = { 'content-type': 'application/x-ndjson' };
const accept = { accept: 'application/x-ndjson' };

async function bulk(api: Api, lines: readonly (object | string)[], path = persons): Promise<any[]> {
  const body = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n');
  const reply = await api.send({ method: 'POST', path, body, headers: ndjson });
  assert.equal(reply.status, 200, reply.text);
  assert.equal(reply.headers.get('content-type'), 'application/x-ndjson');
  assert.match(reply.headers.get('kindred-revision')!, /^\d+$/);
  return reply.text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
}

describe('bulk POST', () => {
  const api = withApi();

  test('contract 3: one object a line in, one line out each, in order, not atomic', async () => {
    const answers = await bulk(api, [
      person('a'),
      '{"metadata":',
      person('b', { age: -1 }),
      '',
      person('a', { name: 'other' }),
      { metadata: { generateName: 'g-' }, spec: { name: 'g' } },
      person('c', { name: 'Name of a' }),
      '5',
      person('d'),
    ]);
    assert.deepEqual(
      answers.map((one) => [one.status, one.code ?? one.name?.slice(0, 2), one.version]),
      [
        [201, 'a', 0],
        [400, 'BadRequest', undefined],
        [422, 'Invalid', undefined],
        [409, 'AlreadyExists', undefined],
        [201, 'g-', 0],
        [409, 'UniqueViolation', undefined],
        [422, 'Invalid', undefined],
        [201, 'd', 0],
      ],
    );
    assert.deepEqual(Object.keys(answers[0]), ['status', 'name', 'version']);
    assert.equal(answers[2].errors[0].pointer, '/spec/age');
    for (const member of ['type', 'title', 'detail', 'instance', 'requestId', 'timestamp'])
      assert.equal(typeof answers[1][member], 'string');
    const { json } = await api.send({ path: `${persons}?sort=spec.name` });
    assert.deepEqual(
      json.items.map((item: any) => item.spec.name),
      ['Name of a', 'Name of d', 'g'],
    );
  });

  test('contract 3: the body limit holds for each line, and the lines behind it count', async () => {
    const frame = JSON.stringify({ metadata: { name: 'x1' }, text: '' }).length;
    const note = (name: string, bytes: number) => ({ metadata: { name }, text: 'x'.repeat(bytes - frame) });
    const answers = await bulk(api, [note('x1', 2 ** 20), note('x2', 2 ** 20 + 1), note('x3', 100)], notes);
    assert.deepEqual(
      answers.map((one) => one.code ?? one.status),
      [201, 'PayloadTooLarge', 201],
    );
    assert.equal((await api.send({ path: `${notes}/x2` })).status, 404);
  });

  test('contract 3: an empty body answers nothing', async () => {
    assert.deepEqual(await bulk(api, ['']), []);
  });

  test('contract 3: streamed both ways', async () => {
    const request = httpRequest(`${api.url}${persons}`, { method: 'POST', headers: ndjson });
    request.flushHeaders();
    const [response] = await once(request, 'response');
    const answers = response.setEncoding('utf8')[Symbol.asyncIterator]();
    for (const name of ['s1', 's2', 's3']) {
      request.write(`${JSON.stringify(person(name))}\n`);
      const { value } = await answers.next();
      assert.equal(JSON.parse(value).name, name);
    }
    request.end(JSON.stringify(person('s4')));
    assert.equal(JSON.parse((await answers.next()).value).name, 's4');
    assert.equal((await answers.next()).done, true);
  });

  test('contract 3: thousands of lines in order, sent before anything is read', async () => {
    const count = 5_000;
    const lines = Array.from({ length: count }, (_, i) => ({ metadata: { name: `n-${i}` }, text: 'x' }));
    const answers = await bulk(api, lines, notes);
    assert.deepEqual(
      answers.map((one) => one.name),
      lines.map((one) => one.metadata.name),
    );
    assert.ok(answers.every((one) => one.status === 201));
    assert.equal((await api.send({ path: `${notes}?size=1&fieldSelector=name^=n-` })).json.total, count);
  });

  test('contract 3: a body that breaks off leaves whole objects only', async () => {
    const request = httpRequest(`${api.url}${persons}`, { method: 'POST', headers: ndjson });
    request.on('error', () => {});
    request.write(`${JSON.stringify(person('whole'))}\n${JSON.stringify(person('half')).slice(0, -2)}`);
    const [response] = await once(request, 'response');
    response.on('error', () => {});
    await once(response, 'data');
    request.destroy();
    assert.equal((await api.send({ path: `${persons}/whole` })).status, 200);
    assert.equal((await api.send({ path: `${persons}/half` })).status, 404);
  });

  test('contract 4: it takes no query parameters', async () => {
    check(await api.send({ method: 'POST', path: `${persons}?page=1`, body: '', headers: ndjson }), {
      status: 400,
      body: { code: 'InvalidParameter' },
    });
  });
});

describe('export', () => {
  const api = withApi();

  test('contract 3: every match as one object a line, in sort order', async () => {
    const names = Array.from({ length: 1_200 }, (_, i) => `p-${String(i).padStart(4, '0')}`);
    await bulk(
      api,
      names.map((name, i) => person(name, { age: i % 100 })),
    );
    const reply = await api.send({ path: `${persons}?sort=metadata.name,desc`, headers: accept });
    assert.equal(reply.status, 200);
    assert.equal(reply.headers.get('content-type'), 'application/x-ndjson');
    assert.equal(Number(reply.headers.get('kindred-revision')), api.firstRevision + 1200);
    const lines = reply.text.split('\n');
    assert.equal(lines.pop(), '');
    assert.deepEqual(
      lines.map((line) => JSON.parse(line).metadata.name),
      names.toReversed(),
    );
    assert.equal(lines.at(-1), (await api.send({ path: `${persons}/p-0000` })).text);
  });

  test('contract 3: selectors and sort hold, page and size are not allowed', async () => {
    const reply = await api.send({ path: `${persons}?fieldSelector=spec.age=7&sort=metadata.name`, headers: accept });
    assert.equal(reply.text.split('\n').length - 1, 12);
    for (const parameter of ['page', 'size']) {
      check(await api.send({ path: `${persons}?${parameter}=1`, headers: accept }), {
        status: 400,
        body: { code: 'InvalidParameter', parameter },
      });
    }
    check(await api.send({ path: `${persons}?sort=nothing`, headers: accept }), {
      status: 400,
      body: { code: 'InvalidParameter' },
    });
    check(await api.send({ path: `${persons}?fieldSelector=spec.age=x`, headers: accept }), {
      status: 400,
      body: { code: 'InvalidSelector' },
    });
  });

  test('contract 3: HEAD of an export', async () => {
    const reply = await api.send({ method: 'HEAD', path: persons, headers: accept });
    assert.deepEqual([reply.status, reply.text, reply.headers.get('content-type')], [200, '', 'application/x-ndjson']);
  });

  test('contract 3: a failure midway resets the connection', async (t) => {
    const { ModelResource } = await import('../../src/resource/resource.ts');
    t.mock.method(ModelResource.prototype, 'export', async () => ({
      revision: 1,
      objects: (async function* () {
        yield [Buffer.from('{"first":1}')];
        throw new Error('the disk is gone');
      })(),
    }));
    const response = await api.fetch({ path: persons, headers: accept });
    assert.equal(response.status, 200);
    await assert.rejects(response.text(), /terminated/);
  });

  test('contract 3: a client that does not read holds the export, not the memory', async (t) => {
    const { ModelResource } = await import('../../src/resource/resource.ts');
    const portion = Array.from({ length: 64 }, () => Buffer.alloc(16_384, 'x'));
    let produced = 0;
    let ended = false;
    t.mock.method(ModelResource.prototype, 'export', async () => ({
      revision: 1,
      objects: (async function* () {
        try {
          for (; produced < 1_000; produced++) yield portion;
        } finally {
          ended = true;
        }
      })(),
    }));
    const request = httpRequest(`${api.url}${persons}`, { headers: accept });
    request.end();
    const [response] = await once(request, 'response');
    let before = -1;
    while (produced !== before) {
      before = produced;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    assert.ok(produced < 100, `${produced} portions of 1 MiB were read for a client that takes none`);
    response.destroy();
    while (!ended) await new Promise((resolve) => setTimeout(resolve, 10));
  });
});
