import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { describe, test } from 'node:test';
import { openStore } from '../../src/store/open.ts';
import { until } from '../../src/testing/until.ts';
import { databaseAdapters } from '../servers.ts';

import { Api, check, notes, person, persons, withApi } from './harness.ts';

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

  test('api: one object a line in, one line out each, in order, not atomic', async () => {
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

  test('api: of two lines with the same name the first one wins, however long it takes to read', async () => {
    const note = (name: string, extra: unknown) => ({ metadata: { name }, text: 'x', extra });
    const lines = ['slow', 'slower'].flatMap((name) => [note(name, Array(300_000).fill(1)), note(name, 'quick')]);
    const answers = await bulk(api, lines, notes);
    assert.deepEqual(
      answers.map((one) => one.code ?? one.status),
      [201, 'AlreadyExists', 201, 'AlreadyExists'],
    );
  });

  test('api: the body limit holds for each line, and the lines behind it count', async () => {
    const frame = JSON.stringify({ metadata: { name: 'x1' }, text: '' }).length;
    const note = (name: string, bytes: number) => ({ metadata: { name }, text: 'x'.repeat(bytes - frame) });
    const answers = await bulk(api, [note('x1', 2 ** 20), note('x2', 2 ** 20 + 1), note('x3', 100)], notes);
    assert.deepEqual(
      answers.map((one) => one.code ?? one.status),
      [201, 'PayloadTooLarge', 201],
    );
    assert.equal((await api.send({ path: `${notes}/x2` })).status, 404);
  });

  test('api: an empty body answers nothing', async () => {
    assert.deepEqual(await bulk(api, ['']), []);
  });

  test('api: streamed both ways', async () => {
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

  test('api: thousands of lines in order, sent before anything is read', async () => {
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

  test('api: a body that breaks off leaves whole objects only', async () => {
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

  test('lists: it takes no query parameters', async () => {
    check(await api.send({ method: 'POST', path: `${persons}?page=1`, body: '', headers: ndjson }), {
      status: 400,
      body: { code: 'InvalidParameter' },
    });
  });
});

describe('bulk POST: refused lines', () => {
  const bulkRefusals = 20;
  // One line at a time, so that it is known which is the last.
  const api = withApi({ http: { bulkRefusals, bulkConcurrency: 1, bulkBuffer: 2_000 } });
  const wrong = (i: number) => ({ metadata: { name: `wrong-${i}` }, spec: { name: '' } });
  const statuses = (answers: readonly any[]) => answers.map(({ status, code }) => code ?? status);

  test('api: a body of more refused bytes than may be worked on is answered to its last line', async () => {
    const long = Array.from({ length: bulkRefusals - 1 }, (_, i) => `${i}${' '.repeat(1_990)}`);
    const request = httpRequest(`${api.url}${persons}`, { method: 'POST', headers: ndjson });
    request.end(long.join('\n'));
    const [response] = await once(request, 'response');
    let text = '';
    response.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    await until(() => text.split('\n').length - 1 === long.length);
    const answers = await bulk(api, [...long, person('behind')]);
    assert.deepEqual(statuses(answers), [...long.map(() => 'Invalid'), 201]);
  });

  test('api: as many as are allowed do not end it', async () => {
    const answers = await bulk(
      api,
      Array.from({ length: bulkRefusals }, (_, i) => wrong(i)),
    );
    assert.deepEqual(statuses(answers), Array(bulkRefusals).fill('Invalid'));
  });

  test('after that many refused lines the response ends with a line that says so, and later lines are not processed', async () => {
    const lines = Array.from({ length: 10_000 }, (_, i) => (i < 5 ? person(`before-${i}`) : wrong(i)));
    lines[5 + bulkRefusals] = person('not-read');
    const answers = await bulk(api, lines);
    assert.deepEqual(statuses(answers), [...Array(5).fill(201), ...Array(bulkRefusals).fill('Invalid'), 'BadRequest']);
    assert.match(answers.at(-1).detail, /20 lines were refused.*and the lines after it were not processed/);
    assert.deepEqual(
      answers.filter((one) => one.unread),
      [answers.at(-1)],
    );
    assert.equal((await api.send({ path: `${persons}/before-4` })).status, 200);
    assert.equal((await api.send({ path: `${persons}/not-read` })).status, 404);
  });

  test('names that are taken do not count as refused, so an interrupted import can be sent again whole', async () => {
    const taken = Array.from({ length: 3 * bulkRefusals }, () => person('behind'));
    const answers = await bulk(api, [...taken, person('last', { name: 'last of all' })]);
    assert.deepEqual(statuses(answers), [...taken.map(() => 'AlreadyExists'), 201]);
  });

  test('the rest of the body is dropped, and the connection serves on', async () => {
    const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
    const head = `POST ${persons} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n`;
    const text = await api.raw(
      head + chunk('5\n'.repeat(bulkRefusals + 1)),
      (received) => until(() => received().endsWith('\r\n0\r\n\r\n')),
      chunk('5\n'.repeat(1_000)),
      `0\r\n\r\nGET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
    );
    assert.equal(text.match(/"code":"Invalid"/g)?.length, bulkRefusals);
    assert.match(text, /"code":"BadRequest"[\s\S]*\r\n0\r\n\r\nHTTP\/1\.1 200 OK/);
  });
});

describe('bulk POST: more than the store can take at once', () => {
  const commits = Promise.withResolvers<void>();
  const database = async (options: object) => {
    const store = await openStore('sqlite::memory:', options);
    const commit = store.commit.bind(store);
    // Once it holds notes, for as long as the test wants.
    store.commit = async (writes, time) => {
      if (writes.some(({ name }) => name.startsWith('large-'))) await commits.promise;
      return commit(writes, time);
    };
    return store;
  };
  const api = withApi({ database });

  test('lines are read later, and none is answered with a refusal', async () => {
    const note = (name: string) => ({ metadata: { name }, text: 'x'.repeat(900_000) });
    // All in this process: what the client does with them counts as little as the number of them.
    const requests = Array.from({ length: 10 }, async (_, i) => {
      const lines = Array.from({ length: 9 }, (_, j) => JSON.stringify(note(`large-${i}-${j}`)));
      const response = await api.fetch({ method: 'POST', path: notes, body: lines.join('\n'), headers: ndjson });
      return (await response.text()).split('\n').slice(0, -1);
    });
    const waiting = async () => {
      const { text } = await api.send({ path: '/metrics' });
      return Number(/^kindred_writes_waiting\{store="default"\} (\d+)$/m.exec(text)?.[1]);
    };
    try {
      // Of 90 lines with 81 MB as many as have 16 MiB; it stays like this.
      await until(async () => (await waiting()) >= 18);
      for (let i = 0; i < 5; i++) assert.ok((await waiting()) <= 19, `${await waiting()} writes wait`);
    } finally {
      commits.resolve();
      await Promise.allSettled(requests);
    }
    const answers = (await Promise.all(requests)).flat();
    assert.deepEqual(
      answers.map((line) => JSON.parse(line).status),
      Array(90).fill(201),
    );
  });
});

describe('export', () => {
  const snapshots = { opened: 0, closed: 0 };
  const database = async (options: object) => {
    const store = await openStore('sqlite::memory:', options);
    const open = store.snapshot.bind(store);
    store.snapshot = async () => {
      snapshots.opened++;
      const snapshot = await open();
      const close = snapshot.close.bind(snapshot);
      snapshot.close = async () => {
        snapshots.closed++;
        await close();
      };
      return snapshot;
    };
    return store;
  };
  const api = withApi({ database });

  test('api: every match as one object a line, in sort order', async () => {
    const names = Array.from({ length: 1_200 }, (_, i) => `p-${String(i).padStart(4, '0')}`);
    await bulk(
      api,
      names.map((name, i) => person(name, { age: i % 100 })),
    );
    const reply = await api.send({ path: `${persons}?sort=metadata.name,desc`, headers: accept });
    assert.equal(reply.status, 200);
    assert.equal(reply.headers.get('content-type'), 'application/x-ndjson');
    assert.equal(Number(reply.headers.get('kindred-revision')), api.firstRevision + 1200);
    assert.equal(reply.headers.get('kindred-total'), '1200');
    const lines = reply.text.split('\n');
    assert.equal(lines.pop(), '');
    assert.deepEqual(
      lines.map((line) => JSON.parse(line).metadata.name),
      names.toReversed(),
    );
    assert.equal(lines.at(-1), (await api.send({ path: `${persons}/p-0000` })).text);
  });

  test('api: selectors and sort hold, page and size are not allowed', async () => {
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

  test('api: HEAD of an export closes its snapshot', async () => {
    const before = { ...snapshots };
    const reply = await api.send({ method: 'HEAD', path: persons, headers: accept });
    assert.deepEqual([reply.status, reply.text, reply.headers.get('content-type')], [200, '', 'application/x-ndjson']);
    assert.deepEqual(snapshots, { opened: before.opened + 1, closed: before.closed + 1 });
  });

  test('api: a failure midway resets the connection', async (t) => {
    const { ModelResource } = await import('../../src/resource/resource.ts');
    t.mock.method(ModelResource.prototype, 'export', async () => ({
      revision: 1,
      lines: (async function* () {
        yield [Buffer.from('{"first":1}')];
        throw new Error('the disk is gone');
      })(),
      close: async () => {},
    }));
    const response = await api.fetch({ path: persons, headers: accept });
    assert.equal(response.status, 200);
    await assert.rejects(response.text(), /terminated/);
  });

  test('api: a client that does not read holds the export, not the memory', async (t) => {
    const { ModelResource } = await import('../../src/resource/resource.ts');
    const portion = Array.from({ length: 64 }, () => Buffer.alloc(16_384, 'x'));
    const portions = [portion, 'x'.repeat(2 ** 18), 'x'.repeat(2 ** 20)];
    let produced = 0;
    let ended = false;
    t.mock.method(ModelResource.prototype, 'export', async () => ({
      revision: 1,
      lines: (async function* () {
        try {
          for (; produced < 1_000; produced++) yield portions[produced % portions.length];
        } finally {
          ended = true;
        }
      })(),
      close: async () => {},
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
    await until(() => ended);
  });
});

for (const adapter of databaseAdapters().filter(({ kind }) => kind !== 'sqlite')) {
  test(`api: a HEAD of an export gives its snapshot back, on ${adapter.name}`, async () => {
    const database = await adapter.create();
    const api = new Api({ database: database.url });
    try {
      await api.start();
      await api.send({ method: 'POST', path: persons, body: person('ada') });
      // A store opens ten snapshots at once.
      for (let i = 0; i < 12; i++) {
        const { status } = await api.send({ method: 'HEAD', path: persons, headers: accept });
        assert.equal(status, 200, `HEAD ${i + 1}`);
      }
    } finally {
      await api.stop();
      await database.drop();
    }
  });
}
