/** Commands that wait for changes, show them before, or make them in an editor. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import { defineModel, definePlugin, Type } from 'kindred';
import type { Harness } from 'kindred/testing';
import { startHarness } from 'kindred/testing';
import { parse } from 'yaml';
import { startFaultProxy } from '../client/fault-proxy.ts';
import { fromSources } from '../sources.ts';
import type { Outcome, Surroundings } from './command.ts';
import { kindred } from './command.ts';

const shop = 'shop.example.com';
const Box = defineModel({
  gvk: { group: shop, version: 'v1', kind: 'Box', singular: 'box', plural: 'boxes' },
  spec: Type.Object({
    title: Type.String(),
    weight: Type.Optional(Type.Integer({ minimum: 0 })),
    note: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  }),
  status: Type.Optional(
    Type.Object({
      phase: Type.Optional(Type.String()),
      conditions: Type.Optional(Type.Array(Type.Object({ type: Type.String(), status: Type.String() }))),
    }),
  ),
});

const folder = mkdtempSync(join(tmpdir(), 'kindred-change-'));
let harness: Harness;
before(async () => {
  const plugin = definePlugin({ start: ({ schemeManager }) => void schemeManager.register(Box) });
  harness = await startHarness({ plugins: [{ name: 'shop', plugin }] });
});
after(async () => {
  await harness.stop();
  rmSync(folder, { recursive: true });
});
beforeEach(async () => {
  for (const name of await harness.client.listNames(Box)) {
    await harness.client.patch(Box, name, { metadata: { finalizers: [] } });
    await harness.client.delete(Box, name);
  }
  for (const name of ['a', 'b']) {
    await harness.client.create(Box, { metadata: { name }, spec: { title: `Box ${name}`, weight: 1, note: 'old' } });
  }
});

function call(...args: string[]): Promise<Outcome> {
  return callIn({}, ...args);
}

function callIn({ env, ...rest }: Surroundings, ...args: string[]): Promise<Outcome> {
  return kindred(args, { env: { KINDRED_SERVER: harness.url, ...env }, ...rest });
}

const ready = (status: string) => ({ status: { phase: 'Done', conditions: [{ type: 'Ready', status }] } });

const goals: { goal: string; change: object }[] = [
  { goal: 'condition=Ready', change: ready('True') },
  { goal: 'condition=ready=false', change: ready('False') },
  { goal: 'jsonpath={.status.phase}=Done', change: ready('True') },
  { goal: 'jsonpath={.status.conditions[?(@.type=="Ready")].status}=True', change: ready('True') },
  { goal: 'jsonpath=.status.phase', change: ready('True') },
  { goal: 'jsonpath={.spec.weight}=7', change: { spec: { weight: 7 } } },
];
for (const { goal, change } of goals) {
  test(`wait ends when each object is so - ${goal}`, async () => {
    const args = ['wait', 'box', 'a', 'b', `--for=${goal}`];
    // A condition that is there, and not as it is to be.
    for (const name of goal.startsWith('condition') ? ['a', 'b'] : []) {
      await harness.client.patch(Box, name, ready('Unknown'));
    }
    const early = await call(...args, '--timeout', '0');
    assert.deepEqual(
      [early.code, early.stdout, early.stderr],
      [1, '', ['a', 'b'].map((name) => `kindred: timed out waiting for ${goal} of boxes.${shop}/${name}\n`).join('')],
    );
    await harness.client.patch(Box, 'b', change);
    const waiting = call(...args, '--timeout', '30s');
    await harness.client.patch(Box, 'a', change);
    const { code, stdout, stderr } = await waiting;
    assert.deepEqual(
      [code, stdout.trim().split('\n').sort(), stderr],
      [0, [`boxes.${shop}/a condition met`, `boxes.${shop}/b condition met`], ''],
    );
  });
}

test('wait --for=delete ends when the objects are gone, also those that were never there', async () => {
  await harness.client.patch(Box, 'a', { metadata: { finalizers: [`${shop}/hold`] } });
  await harness.client.delete(Box, 'a');
  const early = await call('wait', 'box/a', '--for=delete', '--timeout', '50ms');
  assert.deepEqual([early.code, early.stdout], [1, '']);
  const waiting = call('wait', 'box', 'a', 'never', '--for=delete');
  await harness.client.patch(Box, 'a', { metadata: { finalizers: [] } });
  const { code, stdout } = await waiting;
  assert.deepEqual(
    [code, stdout.trim().split('\n').sort()],
    [0, [`boxes.${shop}/a condition met`, `boxes.${shop}/never condition met`]],
  );
});

test('wait --for=create waits for what is not there yet; anything else says that it is missing', async () => {
  const missing = await call('wait', 'box', 'new', 'a', '--for=jsonpath={.spec.weight}=1');
  assert.deepEqual(
    [missing.code, missing.stdout, missing.stderr],
    [1, `boxes.${shop}/a condition met\n`, `kindred: There is no boxes.${shop}/new\n`],
  );
  const waiting = call('wait', 'box', 'new', '--for=create');
  await harness.client.create(Box, { metadata: { name: 'new' }, spec: { title: 'New' } });
  assert.equal((await waiting).code, 0);
  const gone = call('wait', 'box', 'new', '--for=condition=Ready');
  await harness.client.delete(Box, 'new');
  const outcome = await gone;
  assert.deepEqual([outcome.code, outcome.stderr], [1, `kindred: There is no boxes.${shop}/new\n`]);
});

for (const [what, accept, message] of [
  ['the objects', 'boxes/', `kindred: timed out waiting for create of boxes.${shop}/a\n`],
  ['the types', 'apis', 'kindred: timed out waiting for create\n'],
] as const) {
  test(`wait ends at its time limit while the service does not answer about ${what}`, async () => {
    const proxy = await startFaultProxy(harness.url, ({ path }) =>
      path.includes(accept) ? { kind: 'delay', milliseconds: 600_000 } : undefined,
    );
    try {
      const args = ['wait', 'box/a', '--for=create', '--server', proxy.url];
      const { code, stderr } = await call(...args, '--timeout', '2s');
      assert.deepEqual([code, stderr], [1, message]);
    } finally {
      await proxy.close();
    }
  });
}

test('wait takes selectors and --all, and says when there is nothing to wait for', async () => {
  const all = await call('wait', 'boxes', '--all', '--for=jsonpath={.spec.note}=old');
  assert.deepEqual([all.code, all.stdout], [0, `boxes.${shop}/a condition met\nboxes.${shop}/b condition met\n`]);
  const none = await call('wait', 'boxes', '-l', 'x=y', '--for=delete');
  assert.deepEqual([none.code, none.stderr], [1, `There are no boxes.${shop} to wait for\n`]);
});

for (const goal of ['', 'ready', 'condition=', 'jsonpath=', 'jsonpath={.a', 'jsonpath={.a}{.b}=c']) {
  test(`wait for something that cannot be is wrong use - "${goal}"`, async () => {
    const { code, stderr } = await call('wait', 'box', 'a', `--for=${goal}`);
    assert.equal(code, 2, stderr);
  });
}

const yaml = (name: string, more: string) => `apiVersion: ${shop}/v1\nkind: Box\nmetadata:\n  name: ${name}\n${more}`;

test('diff shows what apply would change, and changes nothing', async () => {
  const stdin = yaml('a', 'spec:\n  weight: 5\n  note: null\n');
  const { code, stdout, stderr } = await callIn({ stdin }, 'diff', '-f', '-');
  assert.deepEqual([code, stderr], [1, '']);
  assert.equal(
    stdout.replace(/creationTimestamp: .*/, 'creationTimestamp: …'),
    `--- LIVE boxes.${shop}/a
+++ MERGED boxes.${shop}/a
@@ -5,5 +5,5 @@
   creationTimestamp: …
 spec:
   title: Box a
-  weight: 1
-  note: old
+  weight: 5
+  note: null
`,
  );
  assert.equal((await harness.client.get(Box, 'a')).spec.weight, 1);
  const applied = await callIn({ stdin }, 'apply', '-f', '-');
  assert.equal(applied.code, 0);
  assert.deepEqual(await callIn({ stdin }, 'diff', '-f', '-'), { code: 0, stdout: '', stderr: '' });
});

test('diff of an object that is not there shows the whole of it; on a terminal in colours', async () => {
  const stdin = yaml('new', 'spec:\n  title: New\n');
  const { code, stdout } = await callIn({ stdin }, 'diff', '-f', '-');
  assert.equal(code, 1);
  assert.match(stdout, /^--- LIVE .*\n\+\+\+ MERGED .*\n@@ -0,0 \+1,6 @@\n\+apiVersion: /);
  const shown = await callIn({ stdin, columns: 80 }, 'diff', '-f', '-');
  assert.match(shown.stdout, new RegExp(`${String.fromCharCode(27)}\\[32m\\+apiVersion`));
  const plain = await callIn({ stdin, columns: 80, env: { NO_COLOR: '1' } }, 'diff', '-f', '-');
  assert.equal(plain.stdout, stdout);
});

test('diff ends with 2 when it could not be found out', async () => {
  const stdin = `kind: Box\n---\n${yaml('a', 'spec: { weight: 1 }\n')}`;
  const broken = await callIn({ stdin }, 'diff', '-f', '-');
  assert.deepEqual([broken.code, broken.stdout, broken.stderr], [2, '', 'stdin:1: The object has no apiVersion\n']);
  const away = await callIn({ stdin, env: { KINDRED_SERVER: 'http://127.0.0.1:47' } }, 'diff', '-f', '-');
  assert.equal(away.code, 2);
});

test('diff keeps the values of a Secret to itself', async () => {
  const secret = (key: string) =>
    `apiVersion: v1alpha1\nkind: Secret\nmetadata: { name: s }\nstringData: { key: ${key}, same: same }\n`;
  await callIn({ stdin: secret('first') }, 'apply', '-f', '-');
  const { code, stdout } = await callIn({ stdin: secret('second') }, 'diff', '-f', '-');
  assert.equal(code, 1);
  assert.match(stdout, /\n- {2}key: "\*\*\*"\n\+ {2}key: "\*\*\* \(changed\)"\n/);
  assert.doesNotMatch(stdout, /second|c2Vjb25k/);
});

/** An editor that does this to the text of the file. */
function editor(change: (text: string) => string): Record<string, string> {
  const script = join(mkdtempSync(join(folder, 'editor-')), 'editor.mjs');
  writeFileSync(
    script,
    `import { readFileSync, writeFileSync } from 'node:fs';
const file = process.argv.at(-1);
const change = ${change};
writeFileSync(file, change(readFileSync(file, 'utf8')));`,
  );
  return { KUBE_EDITOR: `"${process.execPath}" "${script}" --wait`, TMPDIR: dirname(script), PATH: process.env.PATH! };
}

const keptIn = ({ TMPDIR }: Record<string, string>) =>
  readdirSync(TMPDIR!).filter((name) => name.startsWith('kindred-edit-'));

test('edit writes what was changed in the editor', async () => {
  const env = editor((text) => text.replace('weight: 1', 'weight: 8').replace('note: old', 'note: null'));
  const { code, stdout, stderr } = await callIn({ env }, 'edit', 'box/a', 'box/b');
  assert.deepEqual([code, stdout, stderr], [0, `boxes.${shop}/a edited\nboxes.${shop}/b edited\n`, '']);
  assert.deepEqual((await harness.client.get(Box, 'b')).spec, { title: 'Box b', weight: 8, note: null });
  assert.deepEqual(keptIn(env), []);
});

test('edit leaves Ctrl+C to the editor', async () => {
  const home = mkdtempSync(join(folder, 'editor-'));
  const opened = join(home, 'opened');
  const script = join(home, 'editor.mjs');
  writeFileSync(
    script,
    `import { readFileSync, writeFileSync } from 'node:fs';
const file = process.argv[2];
const stay = setInterval(() => {}, 1000);
process.once('SIGINT', () => {
  writeFileSync(file, readFileSync(file, 'utf8').replace('weight: 1', 'weight: 8'));
  clearInterval(stay);
});
writeFileSync(${JSON.stringify(opened)}, '');`,
  );
  const main = join(import.meta.dirname, '../../src/cli/main.ts');
  const env = {
    ...process.env,
    KINDRED_SERVER: harness.url,
    TMPDIR: home,
    KUBE_EDITOR: `${process.execPath} ${script}`,
  };
  // In a process group of its own: a terminal sends SIGINT to all of it.
  const child = spawn(process.execPath, [...fromSources, main, 'edit', 'box/a'], { env, detached: true });
  const ended = once(child, 'exit');
  let told = '';
  child.stderr.setEncoding('utf8').on('data', (text) => {
    told += text;
  });
  try {
    await harness.until(() => existsSync(opened) || child.exitCode !== null);
    process.kill(-child.pid!, 'SIGINT');
    assert.deepEqual(await ended, [0, null], told);
    assert.equal((await harness.client.get(Box, 'a')).spec.weight, 8);
  } finally {
    child.kill('SIGKILL');
  }
});

test('edit takes members away, and other commands may change the same object', async () => {
  const env = editor((text) => text.replace(/ {2}weight: .*\n/, ''));
  assert.equal((await callIn({ env }, 'edit', 'box', 'a')).code, 0);
  assert.deepEqual((await harness.client.get(Box, 'a')).spec, { title: 'Box a', note: 'old' });
});

for (const [name, change] of [
  ['nothing was typed', (text: string) => text],
  ['everything was taken out', () => '# nothing\n\n'],
  ['only a comment was typed', (text: string) => `# mine\n${text}`],
] as const) {
  test(`edit changes nothing when ${name}`, async () => {
    const env = editor(change);
    const { code, stdout } = await callIn({ env }, 'edit', 'box', 'a');
    assert.deepEqual([code, stdout], [0, `boxes.${shop}/a unchanged\n`]);
    assert.equal((await harness.client.get(Box, 'a')).metadata.version, 0);
    assert.deepEqual(keptIn(env), []);
  });
}

const refusals: { name: string; change: (text: string) => string; message: RegExp }[] = [
  {
    name: 'what the service refuses',
    change: (text) => text.replace('weight: 1', 'weight: -1'),
    message: /\n {2}\/spec\/weight: must be at least 0\n {2}What you typed is kept in (\S+)\n$/,
  },
  {
    name: 'what is no YAML',
    change: (text) => `${text}  broken: [\n`,
    message: /neither YAML nor JSON: .*\n {2}What you typed is kept in (\S+)\n$/,
  },
];
for (const { name, change, message } of refusals) {
  test(`edit keeps ${name} in a file of its owner`, async () => {
    const env = editor(change);
    const { code, stdout, stderr } = await callIn({ env }, 'edit', 'box', 'a');
    assert.deepEqual([code, stdout], [1, '']);
    const file = message.exec(stderr)?.[1];
    assert.ok(file !== undefined && existsSync(file), stderr);
    assert.equal(statSync(file).mode & 0o077, 0);
    assert.equal(statSync(dirname(file)).mode & 0o077, 0);
    assert.match(readFileSync(file, 'utf8'), /weight: -1|broken: \[/);
  });
}

test('edit reports a conflict, and keeps the typed text', async () => {
  const script = join(folder, 'slow.mjs');
  writeFileSync(
    script,
    `import { readFileSync, writeFileSync } from 'node:fs';
await fetch('${harness.url}/apis/${shop}/v1/boxes/a', {
  method: 'PATCH',
  headers: { 'content-type': 'application/merge-patch+json' },
  body: '{"spec":{"title":"theirs"}}',
});
const file = process.argv.at(-1);
writeFileSync(file, readFileSync(file, 'utf8').replace('weight: 1', 'weight: 9'));`,
  );
  const env = { KUBE_EDITOR: `"${process.execPath}" "${script}"`, TMPDIR: folder, PATH: process.env.PATH! };
  const { code, stderr } = await callIn({ env }, 'edit', 'box', 'a');
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^kindred: The version in the request is 0, the current .*\n {2}It was changed while you edited it\. .*\n {2}What you typed is kept in \S+\n$/,
  );
  assert.deepEqual((await harness.client.get(Box, 'a')).spec, { title: 'theirs', weight: 1, note: 'old' });
  assert.equal(parse(readFileSync(/kept in (\S+)/.exec(stderr)![1]!, 'utf8')).spec.weight, 9);
});

test('edit says when the editor fails', async () => {
  const { code, stderr } = await callIn({ env: { EDITOR: 'false', PATH: process.env.PATH } }, 'edit', 'box', 'a');
  assert.deepEqual([code, stderr], [2, 'kindred: the editor "false" ended with exit code 1\n']);
  assert.equal((await call('edit', 'box')).code, 2);
});

test('api-resources prints the types that may be used', async () => {
  const { code, stdout } = await call('api-resources');
  assert.equal(code, 0);
  assert.match(
    stdout,
    /^NAME +SHORTNAMES +APIVERSION +NAMESPACED +KIND\nboxes +shop\.example\.com\/v1 +false +Box\nconfigmaps +v1alpha1 +false +ConfigMap\n/,
  );
  assert.equal((await call('api-resources', '--api-group', shop, '-o', 'name')).stdout, `boxes.${shop}\n`);
  assert.equal((await call('api-resources', '--verbs', 'get,fly', '-o', 'name')).stdout, '');
  const wide = await call('api-resources', '--api-group', shop, '-o', 'wide', '--no-headers');
  assert.match(
    wide.stdout,
    /^boxes {6}shop\.example\.com\/v1 {3}false {3}Box {3}box {3}get,list,watch,create,update,patch,delete\n$/,
  );
  const { items, total } = JSON.parse((await call('api-resources', '-o', 'json')).stdout);
  assert.deepEqual([items.length, items[0].apiVersion, items[0].namespaced], [total, `${shop}/v1`, false]);
  assert.match((await call('api-resources')).stdout, /^namespaces +ns +\S+ +false +Namespace$/m);
});

test('version prints those of the command and of the service', async () => {
  const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'));
  const both = await call('version');
  assert.equal(both.code, 0);
  assert.match(both.stdout, new RegExp(`^Client: ${version} \\(Node\\.js [\\d.]+\\)\nServer: ${version}\n$`));
  assert.match((await call('version', '--client')).stdout, /^Client: .*\n$/);
  assert.deepEqual(JSON.parse((await call('version', '-o', 'json')).stdout).server, { version });
  const away = await callIn({ env: { KINDRED_SERVER: 'http://127.0.0.1:47' } }, 'version');
  assert.equal(away.code, 1);
  assert.match(away.stdout, /^Client: .*\n$/);
});
