/** What a new version of a plugin changes in its models, told before it runs. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterEach, test } from 'node:test';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { cleanUp, folderOf, harnessOf } from '../plugins/kit.ts';
import { fromSources } from '../sources.ts';
import { kindred } from './command.ts';

const main = resolve(import.meta.dirname, '../../src/cli/main.ts');

afterEach(cleanUp);

/** A plugin package whose model `Person` has these members of `spec` and these indexes. */
function people(spec: string, indexes = ''): string {
  return folderOf({
    'package.json': { name: 'people', version: '1.0.0', type: 'module', main: 'index.js' },
    'index.js': `import { defineModel, definePlugin, Type } from 'kindred';
export const Person = defineModel({
  gvk: { group: 'demo.example.com', version: 'v1', kind: 'Person', singular: 'person', plural: 'persons' },
  spec: Type.Object({ ${spec} }),
  indexes: (index) => [${indexes}],
});
export default definePlugin({ start: ({ schemeManager }) => void schemeManager.register(Person) });
`,
  });
}

const older = () => people('name: Type.String(), email: Type.Optional(Type.String())');
const email = "email: Type.Optional(Type.String({ format: 'email' }))";
const unique = "index.single('spec.email', String, (person) => person.spec.email, { unique: true })";
const newer = () => people(`name: Type.String(), ${email}, team: Type.String({ default: 'none' })`, unique);

test('command-line: model diff tells each change with its class, and fails for those that are asked for', async () => {
  const [before, after] = [older(), newer()];
  const { code, stdout, stderr } = await kindred(['model', 'diff', '--plugin', after, '--against', before]);
  assert.deepEqual([code, stderr], [0, '']);
  assert.equal(
    stdout,
    `demo.example.com Person   changed
   /spec/email        format added                            narrowing       stored: the data decide; clients: writes may be refused
   /spec/team         required member added, with a default   needs-default   stored: after a write; clients: yes
   index spec.email   added                                   index           stored: yes; clients: selectors on it fail while it is built, or for ever
   index spec.email   unique added                            narrowing       stored: the data decide; clients: writes may be refused
`,
  );
  const exitCode = async (from: string, to: string, failOn: string) =>
    (await kindred(['model', 'diff', '--plugin', to, '--against', from, '--fail-on', failOn])).code;
  for (const failOn of ['stored', 'clients', 'any']) {
    assert.equal(await exitCode(before, after, failOn), 1, failOn);
    assert.equal(await exitCode(before, before, failOn), 0, failOn);
  }
  const described = people("name: Type.String({ description: 'In full' }), email: Type.Optional(Type.String())");
  assert.equal(await exitCode(before, described, 'any'), 0);
  const wider = people('name: Type.Optional(Type.String()), email: Type.Optional(Type.String())');
  assert.equal(await exitCode(before, wider, 'stored'), 0);
  assert.equal(await exitCode(before, wider, 'clients'), 1);
  const json = await kindred(['model', 'diff', '--plugin', wider, '--against', before, '-o', 'json']);
  assert.deepEqual(JSON.parse(json.stdout), {
    models: [
      {
        group: 'demo.example.com',
        kind: 'Person',
        state: 'changed',
        changes: [
          {
            place: '/spec/name',
            what: 'required → optional',
            class: 'widening',
            stored: 'yes',
            clients: 'may meet what they do not know',
          },
        ],
      },
    ],
  });
});

test('command-line: model diff tells what stays, and what to do about an index beside which replicas have to wait', async () => {
  const fixed = (version: string, name: string) =>
    folderOf({
      'package.json': { name: 'people', version: '1.0.0', type: 'module', main: 'index.js' },
      'index.js': `import { defineModel, definePlugin, Type } from 'kindred';
const spec = Type.Object({ name: Type.String(), tag: Type.Optional(Type.${version}()) });
const Person = defineModel({
  gvk: { group: 'demo.example.com', version: 'v2', kind: 'Person', singular: 'person', plural: 'persons' },
  spec,
  versions: { v1: { spec: Type.Object({ name: Type.String() }), toHub: (it) => it, fromHub: ({ name }) => ({ name }) } },
  indexes: (index) => [index.single('spec.name', String, (one) => ${name}, { unique: true })],
});
export default definePlugin({ start: ({ schemeManager }) => void schemeManager.register(Person) });
`,
    });
  const [before, after] = [fixed('String', 'one.spec.name'), fixed('Integer', 'one.spec.name.trim()')];
  const { stdout } = await kindred(['model', 'diff', '--plugin', after, '--against', before]);
  assert.match(stdout, /^demo\.example\.com Person {3}changed\n {3}v1 +unchanged\n {3}\/spec\/tag +type /);
  assert.match(
    stdout,
    / {3}replicas with the new version wait until the others are gone: function of the unique index spec\.name changed: add a second index now, drop the first in the next release\n$/,
  );
});

test('command-line: model check names the stored objects that the new model refuses, and changes nothing', async () => {
  const harness = await harnessOf({ plugins: [older()] });
  const persons = '/apis/demo.example.com/v1/persons';
  const specs = {
    ada: { name: 'Ada', email: 'ada' },
    bob: { name: 'Bob', email: 'bob@example.com' },
    eve: { name: 'Eve', email: 'bob@example.com' },
    max: { name: 'Max' },
  };
  for (const [name, spec] of Object.entries(specs))
    await harness.fetch(persons, { method: 'POST', json: { metadata: { name }, spec } });
  const after = newer();
  const call = (...args: string[]) => kindred(['model', 'check', '--server', harness.url, ...args]);
  const { headers } = await harness.fetch(persons, { method: 'HEAD', headers: { accept: 'application/x-ndjson' } });
  const revision = headers.get('kindred-revision')!;
  const { code, stdout } = await call('--plugin', after);
  assert.equal(code, 1);
  assert.equal(
    stdout,
    `Person: 4 objects checked at revision ${revision}, 3 would fail; 3 get a default with their next write
   ada        /spec/email   format   must be of the format email: ada@example.com
   bob, eve   spec.email    unique   both have "bob@example.com"
`,
  );
  const json = await call('--plugin', after, '-o', 'json');
  assert.deepEqual(JSON.parse(json.stdout).models, [
    {
      group: 'demo.example.com',
      kind: 'Person',
      served: true,
      revision,
      objects: 4,
      failing: 3,
      incomplete: 3,
      migrated: 0,
      offences: [
        {
          names: ['ada'],
          pointer: '/spec/email',
          keyword: 'format',
          message: 'must be of the format email: ada@example.com',
        },
        { names: ['bob', 'eve'], pointer: 'spec.email', keyword: 'unique', message: 'both have "bob@example.com"' },
      ],
    },
  ]);
  const diff = await kindred(['model', 'diff', '--plugin', after, '--server', harness.url, '--fail-on', 'stored']);
  assert.equal(diff.code, 1);
  assert.match(
    diff.stdout,
    /^demo\.example\.com Person {3}changed: generation 1 → 2\n {3}\/spec\/email +format added +narrowing/,
  );
  const plan = await kindred(['model', 'plan', '--plugin', after, '--server', harness.url]);
  assert.equal(plan.code, 0, plan.stderr);
  const { models } = parse(plan.stdout) as { models: { failing: number; steps: { step: string }[] }[] };
  assert.equal(models[0]!.failing, 3);
  assert.deepEqual(
    models[0]!.steps.map(({ step }) => step),
    ['repair', 'default', 'index'],
  );
  const file = join(folderOf({}), 'plan.yaml');
  assert.deepEqual(
    (await kindred(['model', 'plan', '--plugin', after, '--server', harness.url, '-o', file])).stdout,
    '',
  );
  assert.equal(readFileSync(file, 'utf8'), plan.stdout);
  const stored = (await (await harness.fetch(`${persons}/ada`)).json()) as { metadata: { version: number } };
  assert.equal(stored.metadata.version, 0);
  assert.equal((await call('--plugin', older())).code, 0);
});

test('command-line: model check tells of a model that the service does not have, and of a plugin that is not named', async () => {
  const harness = await harnessOf({ plugins: [] });
  const { code, stdout } = await kindred(['model', 'check', '--plugin', older(), '--server', harness.url]);
  assert.deepEqual([code, stdout], [0, 'Person: the service has no such model\n']);
  const unnamed = await kindred(['model', 'check', '--server', harness.url]);
  assert.equal(unnamed.code, 2);
  assert.match(unnamed.stderr, /--plugin/);
});

test('command-line: model diff tries conversions on random objects', async () => {
  const plugin = (fromHub: string) =>
    folderOf({
      'package.json': { name: 'people', version: '1.0.0', type: 'module', main: 'index.js' },
      'index.js': `import { defineModel, definePlugin, Type } from 'kindred';
const Person = defineModel({
  gvk: { group: 'demo.example.com', version: 'v2', kind: 'Person', singular: 'person', plural: 'persons' },
  spec: Type.Object({ title: Type.String(), note: Type.Optional(Type.String()) }),
  versions: {
    v1: { spec: Type.Object({ name: Type.String() }), toHub: ({ name }) => ({ title: name }), fromHub: ${fromHub} },
  },
});
export default definePlugin({ start: ({ schemeManager }) => void schemeManager.register(Person) });
`,
    });
  const diff = (fromHub: string) => kindred(['model', 'diff', '--plugin', plugin(fromHub), '--against', older()]);
  const { stdout } = await diff('({ title }) => ({ name: title })');
  assert.match(stdout, /^demo\.example\.com Person {3}changed\n {3}v2 +new version, hub /);
  assert.match(
    stdout,
    / {3}conversion v1 ⇄ v2: 10,000 generated objects: v1 → v2 → v1 the same; v2 → v1 → v2 loses \/spec\/note\n$/,
  );
  const wrong = plugin('({ title }) => ({ name: title.trim() })');
  const failing = await kindred(['model', 'diff', '--plugin', wrong, '--against', older(), '--fail-on', 'clients']);
  assert.equal(failing.code, 1);
  assert.match(failing.stdout, /conversion v1 ⇄ v2: 10,000 generated objects: \d faults?; /);
  assert.match(failing.stdout, /\/spec\/name is another one when it comes back/);
});

test('command-line: a model in two versions is one type, and going back is checked and planned by what is stored', async () => {
  const split = folderOf({
    'package.json': { name: 'people', version: '2.0.0', type: 'module', main: 'index.js' },
    'index.js': `import { defineModel, definePlugin, Type } from 'kindred';
const Person = defineModel({
  gvk: { group: 'demo.example.com', version: 'v2', kind: 'Person', singular: 'person', plural: 'persons' },
  spec: Type.Object({ title: Type.String() }),
  versions: {
    v1: {
      spec: Type.Object({ name: Type.String(), email: Type.Optional(Type.String()) }),
      toHub: ({ name }) => ({ title: name }),
      fromHub: ({ title }) => ({ name: title }),
    },
  },
});
export default definePlugin({ start: ({ schemeManager }) => void schemeManager.register(Person) });
`,
  });
  const harness = await harnessOf({ persistent: true, plugins: [older()] });
  const call = (...args: string[]) => kindred([...args, '--server', harness.url]);
  await harness.fetch('/apis/demo.example.com/v1/persons', {
    method: 'POST',
    json: { metadata: { name: 'ada' }, spec: { name: 'Ada' } },
  });
  await harness.restart([split]);
  for (const type of ['persons', 'Person', 'persons.demo.example.com', 'persons.v2.demo.example.com'])
    assert.equal(JSON.parse((await call('get', type, 'ada', '-o', 'json')).stdout).apiVersion, 'demo.example.com/v2');
  const steps = async () => {
    const { models } = parse((await call('model', 'plan', '--plugin', older())).stdout) as {
      models: { steps: { step: string }[] }[];
    };
    return models[0]!.steps.map(({ step }) => step);
  };
  const back = async () => [await steps(), (await call('model', 'check', '--plugin', older())).code];
  assert.deepEqual(await back(), [[], 0]);
  assert.equal((await call('model', 'finalize', 'persons')).code, 0);
  assert.deepEqual(await back(), [['rollback'], 1]);
  assert.equal((await call('model', 'rollback', 'persons')).code, 0);
  assert.deepEqual(await back(), [[], 0]);
});

test('command-line: model finalize waits as long as it may for a service that does nothing', async () => {
  const harness = await harnessOf({ persistent: true, plugins: [older()] });
  await harness.restart([]);
  // A process of its own ends when nothing keeps it.
  const args = ['model', 'finalize', 'persons', '--timeout', '700ms', '--server', harness.url];
  const { code, stdout } = await promisify(execFile)('node', [...fromSources, main, ...args]).then(
    (ended) => ({ code: 0, ...ended }),
    (error) => error as { code: number; stdout: string },
  );
  assert.deepEqual([code, stdout], [1, 'persons.demo.example.com is not done yet: see kindred model status\n']);
});
