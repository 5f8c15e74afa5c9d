import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, test } from 'node:test';
import { until } from 'kindred/testing';
import { fromSources } from '../sources.ts';

const root = resolve(import.meta.dirname, '../..');
const main = join(root, 'src/cli/main.ts');
const atlas = join(root, 'examples/atlas');
const folder = mkdtempSync(join(tmpdir(), 'kindred-serve-'));
const running = new Set<ChildProcess>();
after(() => {
  for (const child of running) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

interface Started {
  readonly child: ChildProcess;
  readonly output: { stdout: string; stderr: string };
  readonly ended: Promise<number | string>;
}

function start(args: readonly string[], env: Record<string, string> = {}, nodeArgs = fromSources): Started {
  const child = spawn(process.execPath, [...nodeArgs, main, ...args], {
    cwd: root,
    env: { PATH: process.env.PATH, HOME: folder, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  const output = { stdout: '', stderr: '' };
  child.stdout!.on('data', (chunk) => (output.stdout += chunk));
  child.stderr!.on('data', (chunk) => (output.stderr += chunk));
  const ended = new Promise<number | string>((done) => {
    child.on('close', (code, signal) => {
      running.delete(child);
      done(code ?? signal!);
    });
  });
  return { child, output, ended };
}

function readyUrl({ output, child }: Started): Promise<string> {
  return until(
    () => {
      if (child.exitCode !== null) throw new Error(`it ended: ${output.stderr}`);
      return /^Kindred is ready at (http:\S+)$/m.exec(output.stdout)?.[1];
    },
    { timeout: 60_000 },
  );
}

test('command-line: serve prints the token once and where it is ready, keeps what it stored, and stops on SIGTERM with exit code 0', async () => {
  const args = ['serve', '--database', `sqlite:${join(folder, 'a.db')}`, '--plugin', atlas, '--port', '0'];
  const first = start(args);
  const url = await readyUrl(first);
  const [tokenLine, consoleLine, readyLine, ...more] = first.output.stdout.trimEnd().split('\n');
  assert.match(tokenLine!, /^Administrator token: \S+$/);
  const [, link, code] = /^Open the console: (\S+)#code=([\w-]{22})$/.exec(consoleLine!)!;
  assert.equal(link, `${url}/console/`);
  assert.equal(readyLine, `Kindred is ready at ${url}`);
  assert.deepEqual(more, []);
  const token = tokenLine!.split(' ')[2];
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const countries = (base: string) => `${base}/apis/atlas.example.com/v1alpha1/countries`;
  assert.equal((await fetch(`${url}/livez`)).status, 200);
  assert.equal((await fetch(countries(url))).status, 401);
  const ready = (await (await fetch(`${url}/readyz`, { headers })).json()) as { status: string; plugins: unknown[] };
  assert.equal(ready.status, 'ready');
  assert.deepEqual(ready.plugins, [{ name: 'atlas', state: 'STARTED' }]);

  const second = start(['serve', '--database', `sqlite:${join(folder, 'a.db')}`, '--port', '0']);
  assert.equal(await second.ended, 1);
  assert.match(second.output.stderr, /^kindred: another process has the SQLite file .*a\.db open.*\n$/);

  const { countries: data } = await import('../../examples/atlas/data.ts');
  const [country] = data();
  const created = await fetch(countries(url), { method: 'POST', headers, body: JSON.stringify(country) });
  assert.equal(created.status, 201);
  for (const line of first.output.stderr.trimEnd().split('\n')) assert.doesNotThrow(() => JSON.parse(line), line);
  assert.ok(!first.output.stderr.includes(token!), 'the log holds no token');
  assert.ok(!first.output.stderr.includes(code!), 'the log holds no code');

  first.child.kill('SIGTERM');
  assert.equal(await first.ended, 0);

  const again = start(args);
  const newUrl = await readyUrl(again);
  assert.doesNotMatch(again.output.stdout, /Administrator token|Open the console/);
  const kept = await fetch(`${countries(newUrl)}/${country!.metadata.name}`, { headers });
  const [before, now] = (await Promise.all([created.json(), kept.json()])) as { spec: object }[];
  assert.deepEqual(now!.spec, before!.spec);
  again.child.kill('SIGINT');
  assert.equal(await again.ended, 0);
});

test('command-line: a config file, the environment and flags, with the configuration of a plugin', async () => {
  const plugin = join(folder, 'plugins', 'echo');
  mkdirSync(plugin, { recursive: true });
  writeFileSync(
    join(plugin, 'package.json'),
    JSON.stringify({ name: 'echo', version: '1.0.0', type: 'module', main: 'index.js' }),
  );
  writeFileSync(
    join(plugin, 'index.js'),
    `import { definePlugin, route, GroupVersion } from 'kindred';
export default definePlugin({
  start({ config, registerEndpoint }) {
    registerEndpoint({
      groupVersion: () => GroupVersion.parse('api.echo.example.com/v1'),
      endpoint: () => route().GET('/config/-/mine', () => config).build(),
    });
  },
});
`,
  );
  const file = join(folder, 'config.yaml');
  writeFileSync(
    file,
    `database: "sqlite::memory:"
port: 1
host: 0.0.0.0
list: { maxSize: 7 }
plugins:
  startTimeout: 30s
  echo: { greeting: hello }
`,
  );
  const service = start(
    ['serve', '--config', file, '--port', '0', '--plugins', join(folder, 'plugins'), '--insecure-no-auth'],
    { KINDRED_HOST: '127.0.0.1' },
  );
  const url = await readyUrl(service);
  assert.match(url, /^http:\/\/127\.0\.0\.1:\d+$/);
  assert.doesNotMatch(service.output.stdout, /token/);
  assert.deepEqual(await (await fetch(`${url}/apis/api.echo.example.com/v1/config/-/mine`)).json(), {
    greeting: 'hello',
  });
  const tooLarge = await fetch(`${url}/apis/plugin.platform.run/v1alpha1/plugins?size=8`);
  assert.equal(tooLarge.status, 400);
  service.child.kill('SIGTERM');
  assert.equal(await service.ended, 0);
});

test('command-line: an unknown key of the config file ends serve with exit code 2 and one line', async () => {
  const file = join(folder, 'unknown.json');
  writeFileSync(file, '{"prot": 8080}');
  const service = start(['serve', '--config', file]);
  assert.equal(await service.ended, 2);
  assert.match(service.output.stderr, /^kindred: .*unknown\.json: unknown name prot; did you mean port\?\n$/);
});

test('command-line: a plugin package that is not there ends serve with exit code 2 and a line for each, before a database is made', async () => {
  const empty = join(folder, 'empty');
  mkdirSync(empty);
  const archive = join(folder, 'todolist-1.0.0.tgz');
  writeFileSync(archive, '');
  const database = join(folder, 'no-plugin.db');
  const args = ['serve', '--database', `sqlite:${database}`, '--port', '0'];
  const service = start([...args, '--plugin', atlas, '--plugin', './nope', '--plugin', empty, '--plugin', archive]);
  assert.equal(await service.ended, 2);
  const [missing, bare, file, ...more] = service.output.stderr.trimEnd().split('\n');
  assert.match(missing!, /^kindred: There is no plugin package "\.\/nope"/);
  assert.match(bare!, /^kindred: The plugin package "\S+empty" has no package\.json$/);
  assert.match(file!, /^kindred: The plugin package "\S+\.tgz" is a file: unpack it, or install it with npm/);
  assert.deepEqual([more, existsSync(database)], [[], false]);
  const gone = start([...args, '--plugins', join(folder, 'gone')]);
  assert.equal(await gone.ended, 2);
  assert.match(gone.output.stderr, /^kindred: There is no folder of plugins "\S+gone"\n$/);
});

test('plugins: a plugin package that cannot be read is in the log with the reason', async () => {
  const broken = join(folder, 'broken');
  mkdirSync(broken);
  writeFileSync(join(broken, 'package.json'), '{ "name": 7 }');
  const service = start(['serve', '--database', 'sqlite::memory:', '--port', '0', '--plugin', broken]);
  await readyUrl(service);
  service.child.kill('SIGTERM');
  assert.equal(await service.ended, 0);
  const lines = service.output.stderr
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  assert.deepEqual(
    lines.filter(({ level }) => level === 50).map(({ plugin, reason, msg }) => ({ plugin, reason, msg })),
    [{ plugin: 'broken', reason: 'InvalidPackage', msg: 'The plugin could not be started' }],
  );
});

interface Unusable {
  readonly name: string;
  readonly address: (taken: number) => string[];
  readonly env?: Record<string, string>;
  readonly message: RegExp;
}

const unusable: Unusable[] = [
  {
    name: 'a port that is taken',
    address: (taken) => ['--port', String(taken)],
    message: /^kindred: the port (\d+) of 127\.0\.0\.1 is taken by another program: .* with --port \d+\n$/,
  },
  {
    name: 'a port that is taken, with npm start',
    address: (taken) => ['--port', String(taken)],
    env: { npm_lifecycle_event: 'start' },
    message: /is taken by another program: .* with npm start -- --port \d+\n$/,
  },
  {
    name: 'an address of another machine',
    address: () => ['--host', '192.0.2.1', '--port', '0'],
    message: /^kindred: this machine does not have the address 192\.0\.2\.1: --host 127\.0\.0\.1 .*\n$/,
  },
  {
    name: 'a name that leads nowhere',
    address: () => ['--host', 'nowhere.invalid', '--port', '0'],
    message: /^kindred: the host name nowhere\.invalid (leads to no address|cannot be looked up .*): --host .*\n$/,
  },
];
for (const { name, address, env, message } of unusable) {
  test(`command-line: what cannot be listened on is said in a sentence, and leaves no new database - ${name}`, async () => {
    const other = createServer().listen(0, '127.0.0.1');
    try {
      await once(other, 'listening');
      const { port } = other.address() as AddressInfo;
      const database = join(folder, 'unusable.db');
      const service = start(['serve', '--database', `sqlite:${database}`, ...address(port)], env);
      assert.equal(await service.ended, 1);
      assert.match(service.output.stderr, message);
      assert.equal(existsSync(database), false);
    } finally {
      other.close();
    }
  });
}

test('command-line: serve keeps its compiled code in the cache, for its user alone, and starts without it', async () => {
  const cache = join(folder, 'cache');
  const args = ['serve', '--database', 'sqlite::memory:', '--insecure-no-auth', '--port', '0'];
  const code = join(cache, 'kindred', 'code');
  for (const own of ['kindred', 'given']) {
    const path = own === 'given' ? join(cache, own, 'code') : code;
    const place = own === 'given' ? ['--cache-dir', join(cache, own)] : [];
    // As it is installed: sources of tests are kept in another cache.
    const service = start([...args, ...place], { XDG_CACHE_HOME: cache }, []);
    await readyUrl(service);
    // Written when the service is ready, since many processes are killed.
    await until(() => existsSync(path) && readdirSync(path, { recursive: true }).length > 1);
    service.child.kill('SIGKILL');
    await service.ended;
    assert.equal(statSync(path).mode & 0o777, 0o700);
    rmSync(cache, { recursive: true });
  }
  writeFileSync(cache, 'no folder');
  const without = start(args, { XDG_CACHE_HOME: cache }, []);
  await readyUrl(without);
  without.child.kill('SIGTERM');
  assert.equal(await without.ended, 0);
});

test('command-line: serve says when there is no folder for snapshots of the indexes', async () => {
  const noFolder = join(folder, 'no-folder');
  writeFileSync(noFolder, '');
  const database = ['--database', 'postgres://127.0.0.1:9/none'];
  const service = start(['serve', ...database, '--port', '0'], { XDG_CACHE_HOME: noFolder });
  await until(() => service.output.stderr.includes('Index snapshots are off'));
  service.child.kill('SIGKILL');
  await service.ended;
});

test('command-line: a stop cuts off a request without an end, and then ends in order', async () => {
  const service = start(['serve', '--database', 'sqlite::memory:', '--port', '0', '--insecure-no-auth']);
  const url = await readyUrl(service);
  const headers = { 'content-type': 'application/json', 'content-length': 10, expect: '100-continue' };
  const endless = request(`${url}/api/v1alpha1/configmaps`, { method: 'POST', headers });
  endless.on('error', () => {}).flushHeaders();
  await once(endless, 'continue');
  service.child.kill('SIGTERM');
  assert.equal(await service.ended, 0);
  assert.match(service.output.stderr, /"msg":"Stopped"/);
});

test('command-line: a start that fails is exit code 1 and its reason, also when the stop after it does not end', async () => {
  const source =
    'export const createService = async () => ({ start: async () => { throw new Error("no start"); }, building() {}, stop: () => new Promise(() => {}) })';
  const hooks = `import { registerHooks } from 'node:module';
registerHooks({ load: (url, context, next) => url.endsWith('/src/service.ts') ? { format: 'module', source: ${JSON.stringify(source)}, shortCircuit: true } : next(url, context) });`;
  const preload = ['--import', `data:text/javascript,${encodeURIComponent(hooks)}`];
  const service = start(['serve', '--database', 'sqlite::memory:', '--port', '0'], {}, [...fromSources, ...preload]);
  assert.equal(await service.ended, 1);
  assert.match(service.output.stderr, /^kindred: no start$/m);
});

test('command-line: a second signal ends serve at once', async () => {
  const service = start([
    'serve',
    '--database',
    'sqlite::memory:',
    '--port',
    '0',
    '--insecure-no-auth',
    '--plugin',
    hangingPlugin(),
  ]);
  await readyUrl(service);
  service.child.kill('SIGTERM');
  await until(() => service.output.stderr.includes('stopping and never done'));
  service.child.kill('SIGTERM');
  assert.equal(await service.ended, 143);
});

/** A plugin whose stop() says so and never ends. */
function hangingPlugin(): string {
  const plugin = join(folder, 'hanging');
  mkdirSync(plugin);
  writeFileSync(
    join(plugin, 'package.json'),
    JSON.stringify({ name: 'hanging', version: '1.0.0', type: 'module', main: 'index.js' }),
  );
  writeFileSync(
    join(plugin, 'index.js'),
    `import { definePlugin } from 'kindred';
export default definePlugin({
  start() {},
  stop({ logger }) { logger.warn('stopping and never done'); return new Promise(() => {}); },
});
`,
  );
  return plugin;
}

test('command-line: a Node.js that is too old gets an error of one sentence', async () => {
  const old =
    'data:text/javascript,Object.defineProperty(process,"versions",{value:{...process.versions,node:"22.12.0"}})';
  const command = start(['--version'], {}, [...fromSources, '--import', old]);
  assert.equal(await command.ended, 2);
  assert.match(command.output.stderr, /^kindred: Node\.js 24\.15 or newer is needed, this is 22\.12\.0 \(.*\)\.\n$/);
});

test('command-line: the command is parsed by old versions of Node.js: it imports nothing before the check', async () => {
  const { parseSync } = await import('oxc-parser');
  const { readFileSync } = await import('node:fs');
  const { module } = parseSync('main.ts', readFileSync(main, 'utf8'));
  assert.deepEqual(module.staticImports, []);
});
