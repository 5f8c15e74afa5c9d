/** `client.watch` over HTTP goes on where it was, whatever happens on the way. */
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo, Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { after, test } from 'node:test';
import type { Service, WatchEvent } from 'kindred';
import { createService, KindredError } from 'kindred';
import { createClient } from 'kindred/client';
import { until } from 'kindred/testing';
import { fromSources } from '../sources.ts';
import { Counter } from './counter.ts';

const folder = mkdtempSync(join(tmpdir(), 'kindred-resume-'));
after(() => rmSync(folder, { recursive: true, force: true }));

type Event = WatchEvent<any>;

/** Collects the events of a watch of all counters until it is closed. */
class Follower {
  readonly events: Exclude<Event, { type: 'BOOKMARK' }>[] = [];
  failure: unknown;
  readonly #abort = new AbortController();
  readonly #reading: Promise<void>;

  constructor(url: string, options: { sendInitial?: boolean; since?: string } = {}) {
    const client = createClient({ url });
    this.#reading = (async () => {
      const watch = client.watch(Counter, { ...options, minDelay: 10, maxDelay: 100, signal: this.#abort.signal });
      for await (const event of watch) if (event.type !== 'BOOKMARK') this.events.push(event);
    })().catch((error: unknown) => {
      this.failure = error;
    });
  }

  /** Each value of a counter once, in order, nothing missing up to this one. */
  async counted(to: number): Promise<void> {
    await until(() => this.failure !== undefined || this.events.at(-1)?.object.spec.value >= to, { timeout: 60_000 });
    assert.equal(this.failure, undefined);
    assert.deepEqual(
      this.events.map(({ object }) => object.spec.value),
      Array.from({ length: to + 1 }, (_, i) => i),
    );
    const revisions = this.events.map(({ revision }) => Number(revision));
    assert.ok(revisions.every((revision, i) => i === 0 || revision > revisions[i - 1]!));
  }

  async close(): Promise<void> {
    this.#abort.abort();
    await this.#reading;
  }
}

/** Counts one up; resolves when that is acknowledged. */
async function count(url: string, value: number): Promise<void> {
  const client = createClient({ url });
  if (value === 0) await client.create(Counter, { metadata: { name: 'c' }, spec: { value } });
  else await client.patch(Counter, 'c', { spec: { value } });
}

/** Connections to a port of this machine that can be cut. */
async function proxy(t: TestContext, target: () => number): Promise<{ url: string; cut(): void }> {
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(target(), '127.0.0.1');
    for (const [a, b] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(a);
      a.pipe(b);
      a.on('error', () => b.destroy());
      a.on('close', () => {
        sockets.delete(a);
        b.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = () => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  t.after(() => {
    cut();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, cut };
}

async function serve(
  database: string,
  port = 0,
  options: object = {},
): Promise<{ service: Service; url: string; port: number }> {
  const service = await createService({ database, port, auth: false, ...options });
  service.schemeManager.register(Counter);
  const { url } = await service.start();
  return { service, url, port: Number(new URL(url).port) };
}

test('watch: nothing is lost and nothing comes twice when the connection is cut again and again', async (t) => {
  const { service, url, port } = await serve('sqlite::memory:');
  const through = await proxy(t, () => port);
  const follower = new Follower(through.url, { sendInitial: true });
  t.after(async () => {
    await follower.close();
    await service.stop();
  });
  for (let value = 0; value < 200; value++) {
    await count(url, value);
    if (value === 0) await until(() => follower.events.length === 1);
    if (value % 7 === 3) through.cut();
  }
  await follower.counted(199);
});

test('watch: a watch goes on across restarts of the service on the same file', async (t) => {
  const database = `sqlite:${join(folder, 'restart.db')}`;
  let current = await serve(database);
  const { url, port } = current;
  const follower = new Follower(url, { since: '0' });
  t.after(async () => {
    await follower.close();
    await current.service.stop();
  });
  let value = 0;
  for (let round = 0; round < 4; round++) {
    for (let i = 0; i < 10; i++) await count(url, value++);
    await current.service.stop();
    current = await serve(database, port);
  }
  await count(url, value);
  await follower.counted(value);
});

test('watch: a watch goes on after kill -9 with every change that was acknowledged', async (t) => {
  const database = `sqlite:${join(folder, 'killed.db')}`;
  let port = 0;
  let child: ChildProcess;
  const start = async (): Promise<string> => {
    const script = join(import.meta.dirname, 'process.ts');
    child = spawn(process.execPath, [...fromSources, script, database, String(port)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    child.stdout!.on('data', (chunk) => {
      output += chunk;
    });
    const url = await until(() => /^http:\S+$/m.exec(output)?.[0], { timeout: 60_000 });
    port = Number(new URL(url).port);
    return url;
  };
  const kill = async (): Promise<void> => {
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await gone;
  };
  const url = await start();
  const follower = new Follower(url, { since: '0' });
  t.after(async () => {
    await follower.close();
    await kill();
  });
  let value = 0;
  for (let round = 0; round < 3; round++) {
    // Killed in the middle of writes: the one under way may have been made or not.
    for (let i = 0; i < 20; i++) await count(url, value++);
    const underWay = count(url, value).catch(() => {});
    await kill();
    await underWay;
    await start();
    const { spec } = await createClient({ url }).get<any>(Counter, 'c');
    assert.ok(spec.value === value || spec.value === value - 1, `acknowledged ${value - 1}, found ${spec.value}`);
    value = spec.value + 1;
  }
  await count(url, value);
  await follower.counted(value);
});

test('watch: a watch whose changes are no longer kept when it comes back ends with Expired', async (t) => {
  const database = `sqlite:${join(folder, 'compacted.db')}`;
  let current = await serve(database);
  const { url, port } = current;
  const through = await proxy(t, () => port);
  const follower = new Follower(through.url, { since: '0' });
  t.after(async () => {
    await follower.close();
    await current.service.stop();
  });
  await count(url, 0);
  await until(() => follower.events.length === 1);
  await current.service.stop();
  current = await serve(database, 0, { changeLog: { maxCount: 3, maxAge: 0 } });
  for (let value = 1; value < 20; value++) await count(current.url, value);
  const metrics = async () => (await fetch(`${current.url}/metrics`)).text();
  await until(
    async () => Number(/^kindred_oldest_revision\{store="default"\} (\d+)$/m.exec(await metrics())![1]) > 10,
    {
      timeout: 30_000,
    },
  );
  await current.service.stop();
  current = await serve(database, port);
  await until(() => follower.failure);
  assert.ok(follower.failure instanceof KindredError && follower.failure.code === 'Expired', String(follower.failure));
  assert.equal(follower.events.length, 1, 'nothing after a gap');
});
