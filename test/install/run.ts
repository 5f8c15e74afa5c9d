/**
 * `npm run test:install`: each way of installing, as a newcomer would, with the Node.js of each version and an empty npm cache.
 * Prints a table of outcomes and times; the exit code is 1 when a way failed. It needs a registry, and Linux or macOS.
 *
 *   npm run test:install -- --node 24.15.0,26 --only package,create
 */
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { cities, countries } from '../../examples/atlas/data.ts';

const root = resolve(import.meta.dirname, '../..');
const home = realpathSync(mkdtempSync(join(tmpdir(), 'kindred-install-')));
const { values } = parseArgs({
  options: { node: { type: 'string', default: '24,26' }, only: { type: 'string' } },
});

/** A machine with one Node.js, npm and nothing else of ours. */
interface Machine {
  readonly node: string;
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
}

interface Row {
  readonly node: string;
  readonly way: string;
  readonly step: string;
  readonly seconds: string;
  readonly outcome: string;
}
const rows: Row[] = [];
const atlasCities = [...cities()].length;
const atlasCountries = [...countries()].length;
const running = new Set<ChildProcess>();

interface Packed {
  readonly kindred: string;
  readonly createKindred: string;
}

/** Runs one step of a way and writes down how long it took. */
type Step = <T>(step: string, action: () => Promise<T>) => Promise<T>;

const ways: Readonly<Record<string, (machine: Machine, step: Step, packed: Packed) => Promise<void>>> = {
  /** The packed package in an empty folder. */
  async package(machine, step, { kindred }) {
    const folder = emptyFolder(machine, 'package');
    await step('npm install ./kindred.tgz', () => run(machine, folder, 'npm', 'install', kindred));
    const version = await step('npx kindred version', () =>
      run(machine, folder, 'npx', 'kindred', 'version', '--client'),
    );
    assert.ok(version.includes(`Node.js ${machine.node}`), version);
    await serves(machine, folder, step, { path: '/console/' });
  },

  /** A dependency from Git, which npm builds. */
  async git(machine, step) {
    const folder = emptyFolder(machine, 'git');
    await step('npm install git+file://…', () => run(machine, folder, 'npm', 'install', `git+file://${root}`));
    await serves(machine, folder, step, { path: '/swagger-ui.html' });
  },

  /** An application: its tests, its types, the service. */
  async create(machine, step, { kindred, createKindred }) {
    const above = emptyFolder(machine, 'create');
    await step('npm create kindred shop', () =>
      run(machine, above, 'npm', 'exec', '--yes', '--package', createKindred, '--', 'create-kindred', 'shop'),
    );
    const folder = join(above, 'shop');
    // The package is not published; everything else comes from the registry.
    await step('npm install', () => run(machine, folder, 'npm', 'install', kindred));
    const tested = await step('npm test', () => run(machine, folder, 'npm', 'test'));
    assert.match(tested, /^(ℹ|#) pass 3\n(ℹ|#) fail 0$/m);
    await step('npm run typecheck', () => run(machine, folder, 'npm', 'run', 'typecheck'));
    await serves(machine, folder, step, {
      args: ['--config', 'kindred.yaml'],
      path: '/apis/shop.example.com/v1alpha1/tasks/welcome',
      withToken: true,
    });
  },

  /** A plugin that is packed, installed beside the service and started by its name. */
  async plugin(machine, step, { kindred }) {
    const above = emptyFolder(machine, 'plugin');
    await step('npm install ./kindred.tgz', () => run(machine, above, 'npm', 'install', kindred));
    await step('npx kindred plugin new garden', () => run(machine, above, 'npx', 'kindred', 'plugin', 'new', 'garden'));
    const garden = join(above, 'garden');
    await step('npm install', () => run(machine, garden, 'npm', 'install', '--save-dev', kindred));
    const tested = await step('npm test', () => run(machine, garden, 'npm', 'test'));
    assert.match(tested, /^(ℹ|#) pass 3\n(ℹ|#) fail 0$/m);
    await step('npm pack', () => run(machine, garden, 'npm', 'pack'));
    const site = emptyFolder(machine, 'site');
    const packed = join(garden, 'garden-0.1.0.tgz');
    await step('npm install kindred.tgz garden.tgz', () => run(machine, site, 'npm', 'install', kindred, packed));
    await serves(machine, site, step, {
      args: ['--plugin', 'garden', '--insecure-no-auth'],
      path: '/apis/garden.example.com/v1alpha1/tasks/welcome',
    });
  },

  /** The first two commands of the README. */
  async checkout(machine, step) {
    const folder = await cloned(machine, step, 'checkout');
    const service = await step('npm start', () => started(machine, folder, 'npm', ['start', '--', '--port', '0']));
    await step('import of the atlas', () => service.prints(/^The ten largest cities of France:$/));
    const env = { ...machine.env, KINDRED_SERVER: service.url, KINDRED_TOKEN: service.token };
    await hasAtlas({ ...machine, env }, folder, 'npx', 'kindred');
    await step('SIGTERM', async () => {
      await service.stop();
      // npm is gone at once, and the service follows.
      const isThere = () => fetch(service.url).then(Boolean, () => false);
      while (await isThere()) await setTimeout(100);
    });
  },

  /** One file from a checkout. With nothing else in its path, it takes the plugin of the atlas and all of its objects. */
  async executable(machine, step) {
    const checkout = await cloned(machine, step, 'source');
    const folder = emptyFolder(machine, 'executable');
    const file = join(folder, 'kindred');
    await step('npm run executable', () => run(machine, checkout, 'npm', 'run', 'executable', '--', file));
    const bare = { PATH: '/nonexistent', KINDRED_EXECUTABLE_CACHE: join(folder, 'cache') };
    const alone: Machine = { ...machine, env: bare };
    await step('first run: kindred version', () => run(alone, folder, file, 'version', '--client'));
    const args = ['--plugin', join(checkout, 'examples/atlas'), '--database', `sqlite:${join(folder, 'atlas.db')}`];
    const service = await step('kindred serve --plugin atlas', () => serve(alone, folder, file, args));
    const env = { ...bare, KINDRED_SERVER: service.url, KINDRED_TOKEN: service.token };
    await importAtlas({ ...alone, env }, folder, step, file);
    await step('SIGTERM', () => stopped(service));
  },
};

/** A clone with what it needs. */
async function cloned(machine: Machine, step: Step, name: string): Promise<string> {
  const folder = join(machine.folder, name);
  await step('git clone', () => run(machine, machine.folder, 'git', 'clone', '--quiet', `file://${root}`, folder));
  await step('npm ci', () => run(machine, folder, 'npm', 'ci'));
  return folder;
}

/** Imports the atlas with a command, and counts what came. */
async function importAtlas(machine: Machine, folder: string, step: Step, command: string): Promise<void> {
  await step(`import of ${atlasCities} cities and ${atlasCountries} countries`, async () => {
    for (const objects of [countries(), cities()]) {
      const child = spawn(command, ['import', '-'], {
        cwd: folder,
        env: machine.env,
        stdio: ['pipe', 'ignore', 'pipe'],
      });
      let complaints = '';
      child.stderr.on('data', (text) => (complaints += text));
      const closed = once(child, 'close');
      await pipeline(
        Readable.from(objects, { objectMode: true }).map((one) => `${JSON.stringify(one)}\n`),
        child.stdin,
      );
      const [code] = await closed;
      assert.equal(code, 0, complaints);
    }
  });
  await hasAtlas(machine, folder, command);
}

async function hasAtlas(machine: Machine, folder: string, ...command: string[]): Promise<void> {
  const [program, ...args] = command;
  const found = await run(machine, folder, program!, ...args, 'get', 'cities', '--size', '1', '-o', 'json');
  assert.equal((JSON.parse(found) as { total: number }).total, atlasCities);
}

function emptyFolder(machine: Machine, name: string): string {
  const folder = join(machine.folder, name);
  mkdirSync(folder);
  return folder;
}

interface Running {
  readonly url: string;
  readonly token: string | undefined;
  /** Waits for a line. */
  prints(wanted: RegExp): Promise<string[]>;
  /** @returns the exit code */
  stop(): Promise<number | null>;
}

/** Starts a service with an installed command, waits until it is ready, and asks it for a path. */
async function serves(
  machine: Machine,
  folder: string,
  step: Step,
  asked: { args?: string[]; path: string; withToken?: boolean },
): Promise<void> {
  const { args = ['--insecure-no-auth'], path, withToken = false } = asked;
  const command = join(folder, 'node_modules/.bin/kindred');
  const service = await step('kindred serve', () => serve(machine, folder, command, args));
  try {
    const headers = withToken ? { authorization: `Bearer ${service.token}` } : undefined;
    const response = await fetch(`${service.url}${path}`, headers && { headers });
    assert.equal(response.status, 200, `${path}: ${await response.text()}`);
  } finally {
    await step('SIGTERM', () => stopped(service));
  }
}

async function stopped(service: Running): Promise<void> {
  assert.equal(await service.stop(), 0, 'exit code of the service');
}

function serve(machine: Machine, cwd: string, command: string, args: string[]): Promise<Running> {
  return started(machine, cwd, command, ['serve', '--port', '0', ...args]);
}

async function started(machine: Machine, cwd: string, command: string, args: string[]): Promise<Running> {
  const service = spawn(command, args, {
    cwd,
    env: { ...machine.env, KINDRED_LOG_LEVEL: 'warn' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  running.add(service);
  const ended = once(service, 'exit').finally(() => running.delete(service));
  const lines = createInterface({ input: service.stdout })[Symbol.asyncIterator]();
  const printed: string[] = [];
  const prints = async (wanted: RegExp): Promise<string[]> => {
    for (let { value, done } = await lines.next(); !done; { value, done } = await lines.next()) {
      printed.push(value!);
      const found = wanted.exec(value!);
      if (found) return found;
    }
    throw new Error(`the service ended: ${service.exitCode}\n${printed.join('\n')}`);
  };
  const [, url] = await prints(/^Kindred is ready at (\S+)$/);
  const [, token] = /^Administrator token: (\S+)$/m.exec(printed.join('\n')) ?? [];
  const stop = async () => {
    service.kill('SIGTERM');
    const [code] = await ended;
    return code as number | null;
  };
  return { url: url!, token, prints, stop };
}

/** What a command prints. @throws with what it says, when it fails */
async function run(machine: Machine, cwd: string, command: string, ...args: string[]): Promise<string> {
  const child = spawn(command, args, { cwd, env: machine.env, stdio: ['ignore', 'pipe', 'pipe'] });
  let [printed, complaints] = ['', ''];
  child.stdout.on('data', (text) => (printed += text));
  child.stderr.on('data', (text) => (complaints += text));
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`${command} ${args.join(' ')}: exit code ${code}\n${complaints}\n${printed}`);
  return printed;
}

/** A machine with the newest Node.js of a version. */
async function machineWith(version: string): Promise<Machine> {
  const folder = join(home, `node-${version}`);
  mkdirSync(folder);
  const { platform, arch } = process;
  const name = `${platform === 'darwin' && arch === 'arm64' ? 'node-bin' : 'node'}-${platform}-${arch}`;
  // `npm run` puts the Node.js of the checkout first in the path.
  const path = process.env.PATH!.split(delimiter).filter((one) => !one.endsWith(join('node_modules', '.bin')));
  const cache = join(folder, 'npm-cache');
  const env = (paths: string[]): NodeJS.ProcessEnv => {
    // What `npm run` says of this checkout; where the registry is stays.
    const ofRun =
      /^(npm_(?!config_)|npm_config_(local|global)_prefix$|npm_config_prefix$|NODE_OPTIONS$|NODE_TEST_CONTEXT$|INIT_CWD$)/i;
    const inherited = Object.entries(process.env).filter(([key]) => !ofRun.test(key));
    return { ...Object.fromEntries(inherited), PATH: paths.join(delimiter), npm_config_cache: cache };
  };
  const runtime = join(folder, 'runtime');
  mkdirSync(runtime);
  await run({ node: '', folder, env: env(path) }, runtime, 'npm', 'install', '--prefix', runtime, `${name}@${version}`);
  const bin = join(runtime, 'node_modules', name, 'bin');
  const node = (await run({ node: '', folder, env: env(path) }, folder, join(bin, 'node'), '--version'))
    .trim()
    .slice(1);
  return { node, folder, env: env([bin, ...path]) };
}

async function pack(workspace: string[]): Promise<string> {
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', home, ...workspace];
  const printed = await run({ node: '', folder: home, env: process.env }, root, 'npm', ...args);
  const [{ filename }] = JSON.parse(printed.slice(printed.indexOf('['))) as [{ filename: string }];
  return join(home, filename);
}

async function tried(node: string, way: string, action: (step: Step) => Promise<void>): Promise<void> {
  const step: Step = async (name, work) => {
    const began = performance.now();
    const outcome = await work().then(
      (value) => ({ value }),
      (error: Error) => ({ error }),
    );
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    rows.push({ node, way, step: name, seconds, outcome: 'error' in outcome ? 'failed' : 'passed' });
    console.log(`${node}  ${way}: ${name}  ${seconds} s`);
    if ('error' in outcome) throw outcome.error;
    return outcome.value;
  };
  try {
    await action(step);
  } catch (error) {
    process.exitCode = 1;
    console.error((error as Error).stack);
    if (rows.at(-1)?.outcome !== 'failed') rows.push({ node, way, step: 'check', seconds: '', outcome: 'failed' });
  }
}

const wanted = values.only?.split(',') ?? Object.keys(ways);
const unknown = wanted.filter((way) => !(way in ways));
if (unknown.length > 0) throw new Error(`no way of installing: ${unknown.join()}`);
try {
  const packed: Packed = { kindred: await pack([]), createKindred: await pack(['--workspace', 'create-kindred']) };
  for (const version of values.node.split(',')) {
    const machine = await machineWith(version);
    for (const way of wanted) await tried(machine.node, way, (step) => ways[way]!(machine, step, packed));
  }
} finally {
  for (const service of running) service.kill();
  rmSync(home, { recursive: true, force: true });
}
console.log(
  `\nload average: ${loadavg()
    .map((one) => one.toFixed(1))
    .join(', ')}; version ${readVersion()}\n`,
);
console.log('| Node.js | Way | Step | Seconds | Outcome |\n|---|---|---|---|---|');
for (const { node, way, step, seconds, outcome } of rows) {
  console.log(`| ${node} | ${way} | \`${step}\` | ${seconds} | ${outcome} |`);
}

function readVersion(): string {
  return (JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }).version;
}
