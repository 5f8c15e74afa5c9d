/** More requests at once than can be answered in time, against a service that shares its event loop with the clients. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { connect } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { pino } from 'pino';
import { GroupVersion, route } from '../../src/http/custom/declaration.ts';
import { definePlugin } from '../../src/plugin/plugin.ts';
import { until } from '../../src/testing/until.ts';
import { Api, check, person, persons } from './harness.ts';

const slow = '/apis/api.demo.example.com/v1alpha1/slow';
/** Milliseconds for which one request keeps the event loop; all together take longer than a burst may. */
const cost = 12;
const crowd = 250;

const plugin = definePlugin({
  start: (context) =>
    context.registerEndpoint({
      groupVersion: () => GroupVersion.parse('api.demo.example.com/v1alpha1'),
      endpoint: () =>
        route()
          .GET('/slow', () => {
            for (const end = performance.now() + cost; performance.now() < end; );
            return 'done';
          })
          .build(),
    }),
});

interface Answer {
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

/** One connection, which stays open: what it wrote is answered in turn. */
class Client {
  readonly #socket: Socket;
  #text = '';

  static async open(port: number): Promise<Client> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    await once(socket, 'connect');
    return new Client(socket);
  }

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setEncoding('utf8').on('data', (text: string) => {
      this.#text += text;
    });
  }

  write(text: string): void {
    this.#socket.write(text);
  }

  get(path: string, headers = ''): void {
    this.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n`);
  }

  /** The next answer, which on a busy machine comes after hundreds of others. */
  answer(): Promise<Answer> {
    const next = () => {
      const end = this.#text.indexOf('\r\n\r\n') + 4;
      if (end < 4) return undefined;
      const head = this.#text.slice(0, end);
      const rest = Buffer.from(this.#text.slice(end));
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
      if (rest.length < length) return undefined;
      this.#text = rest.toString('utf8', length);
      return { status: Number(head.slice(9, 12)), head, body: rest.toString('utf8', 0, length) };
    };
    return until(next, { timeout: 120_000 });
  }

  close(): void {
    this.#socket.destroy();
  }
}

describe('overload', () => {
  const api = new Api({ plugins: [{ name: 'slow', plugin }], logger: pino({ level: 'silent' }) });
  const clients: Client[] = [];
  const open = async (count: number): Promise<Client[]> => {
    const opened = await Promise.all(Array.from({ length: count }, () => Client.open(api.port)));
    clients.push(...opened);
    // Connections are accepted one in a turn of the event loop; all of these are there before they are used.
    for (const client of opened) client.get('/livez');
    for (const client of opened) assert.equal((await client.answer()).status, 200);
    return opened;
  };
  const refused = async (): Promise<number> => {
    const { text } = await api.send({ path: '/metrics' });
    return Number(/^kindred_requests_refused_total\{of="requests"\} (\d+)$/m.exec(text)?.[1]);
  };
  /** Enough for the service to be behind with what comes next. */
  const press = (some: readonly Client[]): void => {
    for (const client of some) client.get(slow);
  };

  before(() => api.start());
  after(async () => {
    for (const client of clients) client.close();
    await api.stop();
  });

  test('errors: what is too much is refused early with 503 NotReady and Retry-After, and counted; the rest is answered', async () => {
    const some = await open(crowd);
    const before = await refused();
    press(some);
    const answers = await Promise.all(some.map((client) => client.answer()));
    const served = answers.filter(({ status }) => status === 200);
    const others = answers.filter(({ status }) => status !== 200);
    assert.ok(served.length >= 40, `${served.length} were answered`);
    assert.ok(others.length > 0, 'none was refused');
    for (const { status, head, body } of others) {
      assert.equal(status, 503);
      assert.match(head, /\r\nRetry-After: 1\r\n/);
      assert.match(head, /\r\nContent-Type: application\/problem\+json\r\n/);
      assert.doesNotMatch(head, /\r\nConnection: close\r\n/);
      const problem = JSON.parse(body);
      const { title, code, instance, detail } = problem;
      assert.deepEqual([title, problem.status, code, instance], ['Not ready', 503, 'NotReady', slow]);
      assert.match(detail, /overloaded; the request was not executed/);
      assert.match(head, new RegExp(`\r\nX-Request-Id: ${problem.requestId}\r\n`));
    }
    assert.equal((await refused()) - before, others.length);
    const { text } = await api.send({ path: '/metrics' });
    assert.match(
      text,
      /^kindred_http_request_duration_seconds_count\{method="GET",route="unmatched",status="503"\} \d+$/m,
    );
  });

  test('errors: it recovers by itself, on the connections of refused requests too', async () => {
    const some = await open(crowd);
    press(some);
    const answers = await Promise.all(some.map((client) => client.answer()));
    assert.ok(answers.some(({ status }) => status === 503));
    check(await api.send({ path: persons }), { status: 200 });
    for (const client of some) client.get(`${persons}?size=1`);
    for (const client of some) assert.equal((await client.answer()).status, 200);
  });

  test('command-line: health answers meanwhile, and open watches go on', async () => {
    const watch = new AbortController();
    const stream = await fetch(`${api.url}${persons}?watch=true`, { signal: watch.signal });
    const events = stream.body!.pipeThrough(new TextDecoderStream()).getReader();
    const some = await open(crowd + 2);
    press(some.slice(2));
    some[0]!.get('/livez');
    some[1]!.get('/readyz');
    const [live, ready, ...others] = await Promise.all(some.map((client) => client.answer()));
    assert.deepEqual([live!.status, ready!.status], [200, 200]);
    assert.ok(others.some(({ status }) => status === 503));
    await api.send({ path: persons, body: person('watched') });
    let seen = '';
    // A bookmark may come before it.
    while (!seen.includes('"ADDED"')) seen += (await events.read()).value ?? assert.fail('the watch ended');
    assert.match(seen, /"type":"ADDED".*"name":"watched"/);
    watch.abort();
  });

  test('errors: a refused write did nothing, and the rest of its body is dropped', async () => {
    const some = await open(crowd);
    const [whole, half] = (await open(2)) as [Client, Client];
    const head = (body: string) =>
      `POST ${persons} HTTP/1.1\r\nHost: localhost\r\nAccept-Language: zh\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
    const bodies = ['whole', 'half'].map((name) => JSON.stringify(person(name))) as [string, string];
    press(some.slice(110));
    whole.write(head(bodies[0]) + bodies[0]);
    half.write(head(bodies[1]) + bodies[1].slice(0, 10));
    press(some.slice(0, 110));
    for (const client of [whole, half]) {
      const { status, head, body } = await client.answer();
      assert.equal(status, 503);
      assert.match(head, /\r\nContent-Language: zh\r\n/);
      assert.match(JSON.parse(body).detail, /过载/);
    }
    half.write(bodies[1].slice(10));
    half.get(`${persons}/half`);
    whole.get(`${persons}/whole`);
    for (const client of [half, whole]) assert.equal((await client.answer()).status, 404);
  });
});
