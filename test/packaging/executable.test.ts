/** The single executable: it starts with nothing installed beside it, takes plugins, and serves with several workers. */
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, realpathSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { cities, countries } from '../../examples/atlas/data.ts';
import { databaseAdapters } from '../servers.ts';

const run = promisify(execFile);
const root = resolve(import.meta.dirname, '../..');
const atlas = join(root, 'examples', 'atlas');
const home = realpathSync(mkdtempSync(join(tmpdir(), 'kindred-executable-')));
const executable = join(home, process.platform === 'win32' ? 'kindred.exe' : 'kindred');
const cache = join(home, 'cache');
const isBuilt = existsSync(join(root, 'dist', 'cli', 'main.js'));
const skip = isBuilt ? false : 'dist/ is not built: npm run build';
const services = new Set<ChildProcess>();

before(async () => {
  if (!isBuilt) return;
  const args = ['--disable-warning=ExperimentalWarning', join(root, 'scripts/executable.ts'), executable];
  await run(process.execPath, args, { cwd: root });
});
after(async () => {
  await Promise.all([...services].map(stop));
  rmSync(home, { recursive: true, force: true });
});

/** Nothing of the environment but where its files may stand. */
const env = (more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv => ({ KINDRED_EXECUTABLE_CACHE: cache, ...more });

async function serve(...args: string[]): Promise<{ url: string; token: string | undefined; service: ChildProcess }> {
  const service = spawn(executable, ['serve', '--port', '0', ...args], {
    cwd: home,
    env: env({ KINDRED_LOG_LEVEL: 'warn' }),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  services.add(service);
  let token: string | undefined;
  for await (const line of createInterface({ input: service.stdout! })) {
    token ??= /^Administrator token: (\S+)$/.exec(line)?.[1];
    const url = /^Kindred is ready at (\S+)$/.exec(line)?.[1];
    if (url) return { url, token, service };
  }
  throw new Error(`the service ended: ${service.exitCode}`);
}

async function stop(service: ChildProcess): Promise<void> {
  services.delete(service);
  if (service.exitCode !== null || service.signalCode !== null) return;
  const ended = once(service, 'exit');
  service.kill('SIGTERM');
  await ended;
}

/** Imports objects with the command of the executable. */
async function imported(objects: Iterable<object>, more: NodeJS.ProcessEnv): Promise<string> {
  const command = spawn(executable, ['import', '-'], { cwd: home, env: env(more), stdio: ['pipe', 'pipe', 'pipe'] });
  let said = '';
  for (const output of [command.stdout, command.stderr]) output.on('data', (text) => (said += text));
  for (const object of objects) {
    if (!command.stdin.write(`${JSON.stringify(object)}\n`)) await once(command.stdin, 'drain');
  }
  command.stdin.end();
  const [code] = await once(command, 'close');
  assert.equal(code, 0, said);
  return said;
}

test('packaging: the executable unpacks its files once, where only their owner can write', { skip }, async () => {
  const first = await run(executable, ['version', '--client'], { env: env() });
  assert.match(first.stdout, /^Client: \d+\.\d+\.\d+ \(Node\.js /);
  const folders = readdirSync(join(cache, 'kindred'));
  assert.equal(folders.length, 1);
  const folder = join(cache, 'kindred', folders[0]!);
  assert.equal(statSync(folder).mode & 0o077, 0);
  const before = statSync(folder).mtimeMs;
  await Promise.all(Array.from({ length: 3 }, () => run(executable, ['version', '--client'], { env: env() })));
  assert.deepEqual(readdirSync(join(cache, 'kindred')), folders);
  assert.equal(statSync(folder).mtimeMs, before);
});

test('packaging: first starts at the same time leave one copy of the files', { skip }, async () => {
  const other = join(home, 'together');
  const start = () => run(executable, ['version', '--client'], { env: env({ KINDRED_EXECUTABLE_CACHE: other }) });
  await Promise.all(Array.from({ length: 4 }, start));
  assert.equal(readdirSync(join(other, 'kindred')).length, 1);
});

test('packaging: a folder that cannot be made is named', { skip }, async () => {
  const failed = run(executable, ['version'], { env: env({ KINDRED_EXECUTABLE_CACHE: join(executable, 'cache') }) });
  await assert.rejects(failed, (error: { code: number; stderr: string }) => {
    assert.equal(error.code, 1);
    assert.match(error.stderr, /^kindred: KINDRED_EXECUTABLE_CACHE: ENOTDIR/);
    return true;
  });
});

test('packaging: arguments after the name of the executable are the command’s own', { skip }, async () => {
  const failed = run(executable, ['--inspect'], { env: env() });
  await assert.rejects(failed, (error: { code: number; stderr: string }) => {
    assert.equal(error.code, 2);
    assert.match(error.stderr, /unknown option '--inspect'/);
    return true;
  });
});

test('packaging: the executable serves a TypeScript plugin, and imports the atlas', { skip }, async () => {
  const { url, token, service } = await serve('--database', `sqlite:${join(home, 'atlas.db')}`, '--plugin', atlas);
  const more = { KINDRED_SERVER: url, KINDRED_TOKEN: token };
  await imported(countries(), more);
  await imported(cities(['FR']), more);
  const count = await run(executable, ['get', 'cities', '--size', '1', '-o', 'json'], { env: env(more) });
  assert.equal((JSON.parse(count.stdout) as { total: number }).total, [...cities(['FR'])].length);
  assert.equal((await fetch(`${url}/swagger-ui.html`)).status, 200);
  await stop(service);
  assert.equal(service.exitCode, 0);
});

const postgres = databaseAdapters().find(({ kind }) => kind === 'postgres');
const without = postgres ? false : 'PostgreSQL is left out by DATABASES';
test('packaging: the executable has the driver, and starts its workers', { skip: skip || without }, async () => {
  const database = await postgres!.create();
  try {
    const { url, service } = await serve('--database', database.url, '--workers', '2', '--insecure-no-auth');
    assert.equal((await fetch(`${url}/readyz`)).status, 200);
    await stop(service);
    assert.equal(service.exitCode, 0);
  } finally {
    await database.drop();
  }
});
