/** Services that were logged in to, and the completion of shells. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { after, before, beforeEach, test } from 'node:test';
import { promisify } from 'node:util';
import type { Harness } from 'kindred/testing';
import { startHarness } from 'kindred/testing';
import { parse } from 'yaml';
import { run } from '../../src/cli/program.ts';
import type { Outcome, Surroundings } from './command.ts';
import { kindred } from './command.ts';

const folder = mkdtempSync(join(tmpdir(), 'kindred-context-'));
const XDG_CONFIG_HOME = join(folder, 'config');
const file = join(XDG_CONFIG_HOME, 'kindred', 'config.yaml');
let harness: Harness;
before(async () => {
  harness = await startHarness({ auth: {} });
});
after(async () => {
  await harness.stop();
  rmSync(folder, { recursive: true });
});
beforeEach(() => rmSync(XDG_CONFIG_HOME, { recursive: true, force: true }));

function call(...args: string[]): Promise<Outcome> {
  return callIn({}, ...args);
}

function callIn({ env, ...rest }: Surroundings, ...args: string[]): Promise<Outcome> {
  return kindred(args, { env: { XDG_CONFIG_HOME, ...env }, ...rest });
}

const login = (...args: string[]) => callIn({ stdin: `${harness.token}\n` }, 'login', harness.url, ...args);
const host = () => new URL(harness.url).host;

test('login checks the token, and keeps it for its owner alone', async () => {
  const done = await login();
  assert.deepEqual(done, {
    code: 0,
    stdout: `Logged in to ${harness.url}; the context "${host()}" is kept in ${file}\n`,
    stderr: '',
  });
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.equal(statSync(join(file, '..')).mode & 0o077, 0);
  assert.deepEqual(readdirSync(join(file, '..')), ['config.yaml']);
  const { code, stdout } = await call('get', 'users', '-o', 'name');
  assert.deepEqual([code, stdout], [0, 'users/admin\n']);
});

test('login keeps nothing that the service refuses', async () => {
  const wrong = await callIn({ stdin: 'knd_wrong' }, 'login', harness.url);
  assert.deepEqual([wrong.code, wrong.stdout], [1, '']);
  assert.match(wrong.stderr, /needs a valid bearer token/);
  const away = await callIn({ stdin: 'x' }, 'login', 'http://127.0.0.1:47');
  assert.equal(away.code, 1);
  for (const url of ['here', 'ftp://127.0.0.1', 'http://']) assert.equal((await call('login', url)).code, 2, url);
  assert.equal((await callIn({ stdin: 'two words' }, 'login', harness.url)).code, 2);
  assert.equal(existsSync(file), false);
  const homeless = await kindred(['login', harness.url], { stdin: harness.token! });
  assert.deepEqual([homeless.code, homeless.stderr.slice(0, 24)], [2, 'kindred: XDG_CONFIG_HOME']);
});

test('login on a terminal asks for the token, and does not show it', async () => {
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => stdin });
  let shown = '';
  const output = () =>
    Object.assign(
      new Writable({
        write(chunk, _encoding, done) {
          shown += chunk;
          done();
        },
      }),
      { isTTY: true },
    );
  const done = run(['login', harness.url], { stdin, stdout: output(), stderr: output(), env: { XDG_CONFIG_HOME } });
  stdin.write(`${harness.token}\r`);
  assert.equal(await done, 0);
  assert.match(shown, /^Token: \nLogged in to /);
  assert.ok(!shown.includes(harness.token!));
});

test('contexts are listed without tokens, used and forgotten', async () => {
  assert.equal((await call('context', 'list', '-o', 'name')).stdout, '');
  await login();
  await login('--name', 'other');
  const listed = await call('context');
  assert.equal(
    listed.stdout.replaceAll(/ {2,}/g, '  '),
    `CURRENT  NAME  SERVER  TOKEN\n  ${host()}  ${harness.url}  yes\n*  other  ${harness.url}  yes\n`,
  );
  assert.doesNotMatch((await call('context', 'list', '-o', 'json')).stdout, new RegExp(harness.token!));
  const used = await call('context', 'use', host());
  assert.equal(used.stdout, `The current context is "${host()}" (${harness.url})\n`);
  assert.equal((await call('context', 'delete', 'other')).code, 0);
  assert.equal((await call('context', 'list', '-o', 'name')).stdout, `${host()}\n`);
  const unknown = await call('context', 'use', 'other');
  assert.deepEqual([unknown.code, unknown.stderr], [2, `kindred: there is no context "other"; there are ${host()}\n`]);
});

test('logout forgets the token, and says that it is of use elsewhere', async () => {
  await login();
  const done = await call('logout');
  assert.equal(
    done.stdout,
    `The context "${host()}" has no token any more; "kindred token revoke" makes it useless elsewhere\n`,
  );
  assert.doesNotMatch(readFileSync(file, 'utf8'), /token/);
  assert.match((await call('get', 'users')).stderr, /needs a valid bearer token: no token was sent/);
  assert.equal((await call('logout', 'nowhere')).code, 2);
});

test('flags and the environment win over the current context, and a named context over the environment', async () => {
  await login('--name', 'here');
  const away = 'http://127.0.0.1:47';
  const reaches = async (outcome: Promise<Outcome>) => (await outcome).code === 0;
  const users = ['get', 'users', '-o', 'name'];
  assert.equal(await reaches(call(...users, '--server', away)), false);
  assert.equal(await reaches(callIn({ env: { KINDRED_SERVER: away } }, ...users)), false);
  assert.equal(await reaches(callIn({ env: { KINDRED_TOKEN: 'knd_wrong' } }, ...users)), false);
  assert.equal(await reaches(call(...users, '--token', 'knd_wrong')), false);
  assert.equal(await reaches(callIn({ env: { KINDRED_SERVER: away } }, ...users, '--context', 'here')), true);
  assert.equal(await reaches(callIn({ env: { KINDRED_SERVER: `${harness.url}/` } }, ...users)), true);
  assert.equal((await call(...users, '--context', 'there')).code, 2);
});

test('a token goes to no other service than the one it was given for', async () => {
  await login();
  const seen: (string | undefined)[] = [];
  const other = createServer((request, response) => {
    seen.push(request.headers.authorization);
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"groups":[]}');
  }).listen(0, '127.0.0.1');
  try {
    await once(other, 'listening');
    const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    await call('api-resources', '--server', url);
    await callIn({ env: { KINDRED_SERVER: url } }, 'api-resources');
    await call('api-resources', '--server', url, '--context', host());
    assert.ok(seen.length > 0);
    assert.deepEqual(new Set(seen), new Set([undefined]));
  } finally {
    other.close();
    other.closeAllConnections();
  }
});

test('a file of contexts that others may read is taken from them', async () => {
  await login();
  chmodSync(file, 0o644);
  assert.equal((await call('get', 'users')).code, 0);
  assert.equal(statSync(file).mode & 0o777, 0o600);
});

for (const text of ['a: [', 'contexts: 7', 'contexts: [{ name: a }]', 'currentContext: 7', 'contexts: [null]']) {
  test(`a malformed file of contexts is an error - ${text}`, async () => {
    mkdirSync(join(file, '..'), { recursive: true });
    writeFileSync(file, text, { mode: 0o600 });
    const { code, stderr } = await call('get', 'users');
    assert.equal(code, 2);
    assert.ok(stderr.startsWith(`kindred: ${file}`), stderr);
    // Without need of it, it is not read.
    const { token, url } = harness;
    assert.equal((await call('get', 'users', '--server', url, '--token', token!)).code, 0);
  });
}

/** What bash would offer for a line. */
async function completed(line: string): Promise<string[]> {
  const bin = join(folder, 'bin');
  mkdirSync(bin, { recursive: true });
  writeFileSync(
    join(bin, 'kindred'),
    '#!/bin/sh\n[ "$*" = "api-resources -o name" ] && printf "cities.x\\ncountries.x\\n"\n',
  );
  chmodSync(join(bin, 'kindred'), 0o755);
  const script = join(folder, 'completion.bash');
  writeFileSync(script, (await call('completion', 'bash')).stdout);
  const words = line.split(' ');
  const program = `source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _kindred; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const env = { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` };
  const { stdout } = await promisify(execFile)('bash', ['-c', program, script, ...words], { env });
  return stdout.split('\n').filter((word) => word !== '');
}

const lines: { line: string; offered: string[] }[] = [
  { line: 'kindred des', offered: ['describe'] },
  { line: 'kindred get ', offered: ['cities.x', 'countries.x'] },
  { line: 'kindred get ci', offered: ['cities.x'] },
  { line: 'kindred get cities --field', offered: ['--field-selector'] },
  { line: 'kindred token ', offered: ['create', 'list', 'revoke', '--help'] },
  { line: 'kindred token create --u', offered: ['--user'] },
  { line: 'kindred --server x label --over', offered: ['--overwrite'] },
  { line: 'kindred apply -f nowhe', offered: [] },
  { line: 'kindred get -f ci', offered: [] },
];
for (const { line, offered } of lines) {
  test(`bash completes "${line}"`, async () => {
    assert.deepEqual(await completed(line), offered);
  });
}

const fish = existsSync('/usr/bin/fish') ? false : 'no fish on this machine';
test('fish completes types without files, and files after -f', { skip: fish }, async () => {
  await completed('kindred ');
  const script = join(folder, 'completion.fish');
  writeFileSync(script, (await call('completion', 'fish')).stdout);
  const env = { ...process.env, PATH: `${join(folder, 'bin')}${delimiter}${process.env.PATH}` };
  const offered = async (line: string) => {
    const program = `source ${script}; complete -C ${JSON.stringify(line)}`;
    const { stdout } = await promisify(execFile)('fish', ['-c', program], { cwd: folder, env });
    return stdout.split('\n').filter((word) => word !== '');
  };
  assert.deepEqual(await offered('kindred get c'), ['cities.x', 'countries.x']);
  assert.ok((await offered('kindred apply -f comp')).includes('completion.fish'));
  assert.ok((await offered('kindred get cities --field')).includes('--field-selector'));
});

for (const shell of ['bash', 'zsh', 'fish', 'powershell']) {
  test(`completion knows every command and its options - ${shell}`, async () => {
    const { code, stdout } = await call('completion', shell);
    assert.equal(code, 0);
    for (const word of ['api-resources', 'annotate', 'token create', 'field-selector', 'overwrite']) {
      assert.ok(stdout.includes(word), word);
    }
    assert.ok(stdout.includes('kindred api-resources -o name'));
    // Hidden ones stay so.
    assert.doesNotMatch(stdout, /--selector\b|-l selector\b/);
  });
}

test('completion takes the shells that it knows', async () => {
  const { code, stderr } = await call('completion', 'tcsh');
  assert.equal(code, 2);
  assert.match(stderr, /Allowed choices are bash, zsh, fish, powershell\./);
});

test('command-line: kubeconfig -o adds to the kubeconfig that is there, and replaces no other file', async () => {
  const config = join(folder, 'kubeconfig');
  const other = { name: 'prod', cluster: { server: 'https://prod.example.com' } };
  const before = { apiVersion: 'v1', kind: 'Config', clusters: [other], users: null, 'current-context': 'prod' };
  writeFileSync(config, JSON.stringify({ ...before, preferences: { colors: true } }), { mode: 0o644 });
  const added = (...flags: string[]) => kindred(['kubeconfig', '-o', config, ...flags]);
  for (const token of ['old', 'new']) {
    const { code, stderr } = await added('--server', 'https://kindred.example.com', '--token', token);
    assert.deepEqual([code, stderr], [0, '']);
  }
  const named = { name: 'kindred.example.com' };
  assert.deepEqual(parse(readFileSync(config, 'utf8')), {
    apiVersion: 'v1',
    kind: 'Config',
    preferences: { colors: true },
    clusters: [other, { ...named, cluster: { server: 'https://kindred.example.com/kube' } }],
    users: [{ ...named, user: { token: 'new' } }],
    contexts: [{ ...named, context: { cluster: named.name, user: named.name } }],
    'current-context': named.name,
  });
  assert.equal(statSync(config).mode & 0o777, 0o600);
  for (const text of ['something else', '{ "kind": "Config", "users": {} }', '[', '{ "kind": "Pod" }']) {
    writeFileSync(config, text);
    const { code, stderr } = await added('--server', 'https://kindred.example.com');
    assert.equal(code, 2);
    assert.match(
      stderr,
      /^kindred: \S+kubeconfig(?: is there already, and is no kubeconfig|:1:2 is neither YAML nor JSON: .*)\n$/,
    );
    assert.equal(readFileSync(config, 'utf8'), text);
  }
});
