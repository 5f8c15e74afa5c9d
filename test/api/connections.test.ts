/** Bounds on connections, over real ones. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { TestContext } from 'node:test';
import { afterEach, test } from 'node:test';
import { pino } from 'pino';
import type { ServiceOptions } from '../../src/options.ts';
import { resolveOptions } from '../../src/options.ts';
import { createService } from '../../src/service.ts';
import { until } from '../../src/testing/until.ts';

const logger = pino({ level: 'silent' });
/** An address of this machine that is not a loopback one. */
const external = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;

const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

/** Without a client that keeps connections of its own; gives the port. */
async function serve(t: TestContext, options: ServiceOptions): Promise<number> {
  const service = await createService({ database: 'sqlite::memory:', port: 0, logger, ...options });
  t.after(() => service.stop());
  return Number(new URL((await service.start()).url).port);
}

/** Says nothing until it is told to. */
async function open(port: number, host = '127.0.0.1'): Promise<Socket> {
  const socket = connect({ port, host });
  sockets.push(socket);
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

/** The answer to one request over a connection; '' when it is closed without one. */
async function ask(socket: Socket, path = '/livez'): Promise<string> {
  let text = '';
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    text += chunk;
  });
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  const isComplete = () => {
    const [head = '', body] = text.split('\r\n\r\n');
    return body?.length === Number(/^content-length: (\d+)/im.exec(head)?.[1]);
  };
  await until(() => socket.destroyed || socket.readableEnded || isComplete());
  return text;
}

const isServed = async (socket: Socket) => (await ask(socket)).startsWith('HTTP/1.1 200 ');

test('limits: as many connections as allowed are served, one more is closed at once, and the next when one has gone', async (t) => {
  const port = await serve(t, { auth: false, http: { connections: 4 } });
  const first = await Promise.all([1, 2, 3, 4].map(() => open(port)));
  for (const socket of first) assert.ok(await isServed(socket));
  assert.equal(await ask(await open(port)), '');
  first[0]!.destroy();
  const next = await until(async () => {
    const socket = await open(port);
    return (await isServed(socket)) ? socket : undefined;
  });
  const metrics = await ask(next, '/metrics');
  assert.match(metrics, /^kindred_connections 4$/m);
  assert.match(metrics, /^kindred_connections_refused_total\{of="all"\} [1-9]\d*$/m);
  assert.match(metrics, /^kindred_connections_refused_total\{of="address"\} 0$/m);
});

test('limits: connections on which nothing was sent keep nobody out', async (t) => {
  const port = await serve(t, { auth: false, http: { connections: 4 } });
  const silent = await Promise.all([1, 2, 3, 4].map(() => open(port)));
  for (let i = 0; i < 4; i++) {
    assert.ok(await isServed(await open(port)));
    await until(() => silent[i]!.destroyed);
  }
  assert.equal(await ask(await open(port)), '');
});

const skip = external === undefined && 'this machine has loopback addresses only';

test('limits: connections of one address are bounded; others are served, and the own machine is not counted', {
  skip,
}, async (t) => {
  const port = await serve(t, { host: '0.0.0.0', http: { connections: 10, connectionsPerAddress: 2 } });
  const [first, second] = [await open(port, external), await open(port, external)];
  assert.ok(await isServed(first));
  assert.ok(await isServed(second));
  assert.equal(await ask(await open(port, external)), '');
  for (let i = 0; i < 5; i++) assert.ok(await isServed(await open(port)));
  second.destroy();
  await until(async () => isServed(await open(port, external)));
});

test('limits: by default there are fewer connections than files, and half of them for one address', () => {
  const { http } = resolveOptions({});
  assert.ok(http.connections > 0 && http.connections <= 10_000);
  assert.equal(http.connectionsPerAddress, Math.ceil(http.connections / 2));
  assert.equal(resolveOptions({ http: { connections: 7 } }).http.connectionsPerAddress, 4);
});
