import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, it } from 'node:test';
import { createService, definePlugin } from 'kindred';
import { until } from 'kindred/testing';
import pino from 'pino';
import { kindred } from '../cli/command.ts';
import { databaseAdapters } from '../servers.ts';
import { fromSources } from '../sources.ts';

const root = resolve(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'kindred-workers-'));
const running = new Set<ChildProcess>();
after(() => {
  for (const child of running) child.kill('SIGKILL');
  rmSync(folder, { recursive: true });
});

interface Started {
  readonly child: ChildProcess;
  readonly output: { stdout: string; stderr: string };
  readonly ended: Promise<number | string>;
}

function serve(args: readonly string[]): Started {
  const main = join(root, 'src/cli/main.ts');
  const child = spawn(process.execPath, [...fromSources, main, 'serve', ...args], {
    cwd: root,
    env: { PATH: process.env.PATH, HOME: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  const output = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk) => (output.stdout += chunk));
  child.stderr.on('data', (chunk) => (output.stderr += chunk));
  const ended = new Promise<number | string>((done) => {
    child.on('close', (code, signal) => {
      running.delete(child);
      done(code ?? signal!);
    });
  });
  return { child, output, ended };
}

/** Ids of the workers. */
function workersOf({ child }: Started): number[] {
  const { stdout } = spawnSync('ps', ['-o', 'pid=,stat=,args=', '--ppid', String(child.pid)], { encoding: 'utf8' });
  const alive = stdout.split('\n').filter((line) => line.includes('main.ts') && !/^ *\d+ +Z/.test(line));
  return alive.map((line) => Number.parseInt(line, 10));
}

const adapter = databaseAdapters().find(({ kind }) => kind === 'postgres');
const skip = adapter ? false : 'PostgreSQL is not among the databases of this run';

it('command-line: --workers: one port, ready once, one token, what one worker wrote every worker shows, a dead one is replaced, SIGTERM ends all', {
  skip,
}, async () => {
  const database = await adapter!.create();
  const started = serve(['--workers', '3', '--database', database.url, '--port', '0']);
  const url = await until(
    () => {
      if (started.child.exitCode !== null) throw new Error(`it ended: ${started.output.stderr}`);
      return /^Kindred is ready at (http:\S+)$/m.exec(started.output.stdout)?.[1];
    },
    { timeout: 60_000 },
  );
  const [tokenLine, consoleLine, readyLine, ...more] = started.output.stdout.trimEnd().split('\n');
  assert.match(tokenLine!, /^Administrator token: \S+$/);
  assert.match(consoleLine!, /^Open the console: http:\S+#code=/);
  assert.match(readyLine!, /^Kindred is ready at /);
  assert.deepEqual(more, []);
  const authorization = `Bearer ${tokenLine!.split(' ').at(-1)}`;
  const maps = `${url}/api/v1alpha1/configmaps`;
  const workers = workersOf(started);
  assert.equal(workers.length, 3);

  // A connection each, so that the workers take turns.
  const call = (address: string, init: RequestInit = {}) =>
    fetch(address, {
      ...init,
      headers: { authorization, connection: 'close', 'content-type': 'application/json' },
    });
  const checkWrites = async (prefix: string): Promise<void> => {
    for (let i = 0; i < 12; i++) {
      const name = `${prefix}-${i}`;
      const body = JSON.stringify({ metadata: { name }, data: { key: 'value' } });
      assert.equal((await call(maps, { method: 'POST', body })).status, 201);
      const reads = await Promise.all([1, 2, 3].map(() => call(`${maps}/${name}`)));
      assert.deepEqual(
        reads.map(({ status }) => status),
        [200, 200, 200],
      );
    }
  };
  await checkWrites('first');

  process.kill(workers[0]!, 'SIGKILL');
  await until(
    () => {
      const now = workersOf(started);
      return now.length === 3 && !now.includes(workers[0]!);
    },
    { timeout: 30_000 },
  );
  assert.ok(/worker \d+ ended \(SIGKILL\), starting another/.test(started.output.stderr));
  await checkWrites('second');
  const lines = started.output.stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.replace(/:? .*/, ''));
  assert.deepEqual(lines, ['Administrator', 'Open', 'Kindred']);

  const all = workersOf(started);
  const asked = Date.now();
  started.child.kill('SIGTERM');
  assert.equal(await started.ended, 0);
  assert.ok(Date.now() - asked < 10_000 + 1_000, `${Date.now() - asked} ms`);
  for (const pid of all) assert.throws(() => process.kill(pid, 0), /ESRCH/);
  await database.drop();
});

it('command-line: --workers: a worker gets requests when it is ready, and none before', { skip }, async () => {
  const database = await adapter!.create();
  const slow = join(folder, 'slow');
  mkdirSync(slow);
  const manifest = { name: 'slow', version: '1.0.0', type: 'module', main: 'plugin.js', engines: { kindred: '*' } };
  writeFileSync(join(slow, 'package.json'), JSON.stringify(manifest));
  writeFileSync(
    join(slow, 'plugin.js'),
    `import { definePlugin, GroupVersion, route } from 'kindred';
    const endpoint = {
      groupVersion: () => GroupVersion.parse('api.slow.example.com/v1'),
      endpoint: () => route().GET('/workers/-/pid', () => ({ pid: process.pid }), (d) => d.operationId('Pid')).build(),
    };
    export default definePlugin({
      async start({ registerEndpoint }) {
        registerEndpoint(endpoint);
        await new Promise((resolve) => setTimeout(resolve, 1_500));
      },
    });`,
  );
  const started = serve([
    ...['--workers', '2', '--database', database.url, '--port', '0', '--insecure-no-auth', '--plugin', slow],
  ]);
  const url = await until(() => /^Kindred is ready at (http:\S+)$/m.exec(started.output.stdout)?.[1], {
    timeout: 60_000,
    what: 'ready',
  });
  /** Asks, with a connection for each request, until both processes have answered; what else was answered. */
  const askBoth = async (): Promise<{ pids: Set<number>; others: string[] }> => {
    const pids = new Set<number>();
    const others: string[] = [];
    const path = `${url}/apis/api.slow.example.com/v1/workers/-/pid`;
    await until(
      async () => {
        const response = await fetch(path, { headers: { connection: 'close' } }).catch(String);
        if (typeof response === 'string') others.push(response);
        else {
          const { pid, detail } = (await response.json()) as { pid: number; detail?: string };
          if (response.status === 200) pids.add(pid);
          else others.push(`${response.status} ${detail}`);
        }
        return pids.size === 2;
      },
      { timeout: 60_000, what: 'both workers answer' },
    );
    return { pids, others };
  };
  const { pids: first } = await askBoth();
  const [dying, staying] = [...first] as [number, number];
  process.kill(dying, 'SIGKILL');
  await until(() => started.output.stderr.includes(`worker ${dying} ended`));
  const { pids: second, others } = await askBoth();
  assert.deepEqual([...new Set(others)], []);
  assert.ok(second.has(staying) && !second.has(dying));
  started.child.kill('SIGTERM');
  assert.equal(await started.ended, 0);
  await database.drop();
});

it('command-line: listenWhenReady: nothing listens before everything is ready, nor after a stop during the start', async () => {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  for (const isStopped of [false, true]) {
    const { promise: mayStart, resolve: letStart } = Promise.withResolvers<void>();
    const plugin = definePlugin({ start: () => mayStart });
    const service = await createService({
      ...{ database: 'sqlite::memory:', port, listenWhenReady: true, auth: false },
      plugins: [{ name: 'slow', plugin }],
      logger: pino({ level: 'silent' }),
    });
    const starting = service.start();
    starting.catch(() => undefined);
    await until(() => service.readiness().plugins.some(({ state }) => state === 'STARTING'));
    const refused = ({ cause }: Error) => (cause as NodeJS.ErrnoException).code === 'ECONNREFUSED';
    await assert.rejects(fetch(`http://127.0.0.1:${port}/livez`), refused);
    const stopping = isStopped ? service.stop() : undefined;
    letStart();
    if (stopping) {
      await stopping;
      await assert.rejects(starting, /stopped during its start/);
      await assert.rejects(fetch(`http://127.0.0.1:${port}/livez`), refused);
    } else {
      assert.equal((await fetch(`${(await starting).url}/readyz`)).status, 200);
      await service.stop();
    }
  }
});

it('command-line: --workers: when the service cannot start, all end with its exit code and its one line', {
  skip,
}, async () => {
  const unreachable = serve(['--workers', '2', '--database', 'postgres://127.0.0.1:1/nothing', '--port', '0']);
  assert.equal(await unreachable.ended, 1);
  assert.match(unreachable.output.stderr, /^kindred: the database .* cannot be reached/m);
  assert.equal(unreachable.output.stdout, '');
});

it('command-line: --workers: a port that is taken is told in the sentence that helps, once', { skip }, async () => {
  const database = await adapter!.create();
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  try {
    const { port } = other.address() as AddressInfo;
    const started = serve(['--workers', '2', '--database', database.url, '--port', String(port)]);
    assert.equal(await started.ended, 1);
    const told = started.output.stderr.split('\n').filter((line) => line.startsWith('kindred:'));
    assert.equal(told.length, 1, started.output.stderr);
    assert.match(told[0]!, /^kindred: the port \d+ of 127\.0\.0\.1 is taken by another program: .* with --port \d+$/);
  } finally {
    other.close();
    await database.drop();
  }
});

it('command-line: a server that answers and refuses is not called unreachable', { skip }, async () => {
  const database = await adapter!.create();
  const url = new URL(database.url);
  url.pathname = '/no_such_database';
  const { code, stderr } = await kindred(['check', '--database', url.href]);
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^kindred: the database \S+ refuses the connection: database "no_such_database" does not exist\n$/,
  );
  await database.drop();
});

it('command-line: check shows the database without its password', { skip }, async () => {
  const database = await adapter!.create();
  // The server of the tests trusts everybody, and takes any.
  const url = new URL(database.url);
  url.password = 's@cret';
  const { code, stdout, stderr } = await kindred(['check', '--database', decodeURIComponent(url.href)]);
  assert.equal(code, 0, stderr);
  assert.match(stderr, /^Checking postgres:\/\/\w+:…@127\.0\.0\.1:\d+\/\S+\n/);
  assert.doesNotMatch(stdout + stderr, /cret/);
  await database.drop();
});

it('command-line: --workers on SQLite is refused in one line with exit code 2', async () => {
  const { code, stderr } = await kindred(['serve', '--workers', '2', '--database', `sqlite:${folder}/a.db`]);
  assert.equal(code, 2);
  assert.match(stderr, /^kindred: .*\n$/);
});
