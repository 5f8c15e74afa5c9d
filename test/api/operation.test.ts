import assert from 'node:assert/strict';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { describe, test } from 'node:test';
import { definePlugin } from '../../src/plugin/plugin.ts';
import { until } from '../../src/testing/until.ts';
import { Api, check, person, persons, withApi } from './harness.ts';

describe('health', () => {
  const api = withApi();

  test('command-line: /livez', async () => {
    check(await api.send({ path: '/livez' }), { status: 200, body: { status: 'ok' } });
    check(await api.send({ path: '/livez', method: 'POST', body: {} }), {
      status: 405,
      headers: { allow: 'GET, HEAD' },
    });
  });

  test('command-line: /readyz in full', async () => {
    const reply = await api.send({ path: '/readyz' });
    check(reply, { status: 200, body: { status: 'ready' } });
    assert.deepEqual(Object.keys(reply.json), ['status', 'models', 'plugins']);
    const { start, ...model } = reply.json.models.find((one: any) => one.kind === 'Person');
    assert.deepEqual({ ...start, ms: 0 }, { from: 'build', objects: 0, replayed: 0, ms: 0 });
    assert.deepEqual(model, {
      group: 'demo.example.com',
      version: 'v1alpha1',
      kind: 'Person',
      state: 'ready',
      progress: 1,
      problems: [],
    });
  });

  test('command-line: /metrics', async () => {
    await api.send({ path: persons, body: person('ada') });
    await api.send({ path: `${persons}/ada` });
    await api.send({ path: '/wp-login.php' });
    const { status, headers, text } = await api.send({ path: '/metrics' });
    assert.equal(status, 200);
    assert.match(headers.get('content-type')!, /^text\/plain/);
    const count = (labels: string) =>
      Number(new RegExp(`^kindred_http_request_duration_seconds_count\\{${labels}\\} (\\d+)$`, 'm').exec(text)?.[1]);
    assert.equal(count(`method="GET",route="${persons}/\\{name\\}",status="200"`), 1);
    assert.equal(count(`method="POST",route="${persons}",status="201"`), 1);
    assert.equal(count('method="GET",route="unmatched",status="404"'), 1);
    assert.ok(!text.includes('wp-login'));
    assert.match(text, /^kindred_http_request_duration_seconds_bucket\{.*le="\+Inf"\} \d+$/m);
    assert.match(text, /^kindred_event_loop_delay_seconds\{quantile="0.99"\} [\d.e-]+$/m);
    assert.match(text, /^kindred_objects\{group="demo.example.com",kind="Person"\} 1$/m);
    assert.match(text, /^kindred_oldest_revision\{store="default"\} \d+$/m);
    assert.match(text, /^process_resident_memory_bytes \d+$/m);
  });
});

describe('start', () => {
  test('command-line: the port listens before the service is ready: /livez, progress in /readyz with 503', async (t) => {
    const port = await freePort();
    const gate = Promise.withResolvers<void>();
    const plugin = definePlugin({ start: () => gate.promise });
    const api = new Api({ port, plugins: [{ name: 'slow', plugin }] });
    api.url = `http://127.0.0.1:${port}`;
    const started = api.start();
    t.after(() => api.stop());
    await until(() =>
      api.send({ path: '/livez' }).then(
        ({ status }) => status === 200,
        () => false,
      ),
    );
    const ready = await api.send({ path: '/readyz' });
    check(ready, {
      status: 503,
      headers: { 'retry-after': /^\d+$/ },
      body: {
        code: 'NotReady',
        models: (all: object[]) => all.length > 0,
        plugins: (all: { state: string }[]) => all.some(({ state }) => state === 'STARTING'),
      },
    });
    check(await api.send({ path: '/apis/slow.example.com/v1/things' }), { status: 503, body: { code: 'NotReady' } });
    check(await api.send({ path: '/nothing' }), { status: 404 });
    gate.resolve();
    await started;
    check(await api.send({ path: '/readyz' }), { status: 200, body: { status: 'ready' } });
    check(await api.send({ path: '/apis/slow.example.com/v1/things' }), { status: 404 });
  });
});

describe('graceful stop', () => {
  const head = (length: number) =>
    `POST ${persons} HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;
  const body = JSON.stringify(person('late'));

  test('command-line: requests finish, then everything is closed', async () => {
    const api = new Api();
    await api.start();
    let stopping: Promise<void> | undefined;
    const text = api.raw(
      head(body.length),
      (received) => until(() => received().includes('100 Continue')),
      async () => {
        stopping = api.stop();
      },
      body,
    );
    assert.match(await text, /HTTP\/1\.1 201 [\s\S]*Connection: close/);
    await stopping;
    await assert.rejects(fetch(api.url), /fetch failed/);
  });

  test('command-line: a request sent while the service stops is a 503 NotReady with Retry-After', async () => {
    const api = new Api();
    await api.start();
    let stopping: Promise<void> | undefined;
    const text = await api.raw(
      `POST ${persons} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n`,
      (received) => until(() => received().includes('200 OK')),
      async () => {
        stopping = api.stop();
      },
      `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\nGET ${persons} HTTP/1.1\r\nHost: localhost\r\n\r\n`,
    );
    assert.match(text, /"name":"late"/);
    assert.match(text, /HTTP\/1\.1 503 [\s\S]*Retry-After: \d+[\s\S]*Connection: close[\s\S]*"code":"NotReady"/);
    await stopping;
  });

  test('command-line: while it stops /livez answers and /readyz is a 503', async () => {
    const api = new Api();
    await api.start();
    let stopping: Promise<void> | undefined;
    const bulk = `POST ${persons} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n`;
    const ask = (path: string) =>
      api.raw(
        bulk,
        (received) => until(() => received().includes('200 OK')),
        () => until(() => stopping !== undefined),
        `0\r\n\r\nGET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`,
      );
    const answers = [ask('/livez'), ask('/readyz')];
    const third = api.raw(
      bulk,
      (received) => until(() => received().includes('200 OK')),
      async () => {
        stopping = api.stop();
      },
      '0\r\n\r\n',
    );
    const [live, ready] = await Promise.all(answers);
    assert.match(live!, /HTTP\/1\.1 200 [\s\S]*HTTP\/1\.1 200 [\s\S]*"status":"ok"/);
    assert.match(ready!, /HTTP\/1\.1 200 [\s\S]*HTTP\/1\.1 503 [\s\S]*"code":"NotReady"/);
    await third;
    await stopping;
  });

  test('command-line: a request that does not end is cut off', async () => {
    const api = new Api({ http: { stopTimeout: 200 } });
    await api.start();
    const text = await api.raw(
      head(body.length),
      (received) => until(() => received().includes('100 Continue')),
      () => api.stop(),
    );
    assert.doesNotMatch(text, /201/);
  });
});

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
