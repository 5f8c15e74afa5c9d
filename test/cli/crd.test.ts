/** `kindred crd import`: the plugin that it prints compiles, starts, and checks objects; what is lost is said. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { startHarness } from 'kindred/testing';
import { stringify } from 'yaml';
import { kindred } from './command.ts';

const run = promisify(execFile);
const root = resolve(import.meta.dirname, '../..');
mkdirSync(join(root, 'build'), { recursive: true });
// Below the repository, so that `kindred` and the types resolve.
const home = mkdtempSync(join(root, 'build/crd-'));
after(() => rmSync(home, { recursive: true, force: true }));

interface Given {
  kind?: string;
  spec?: object;
  version?: object;
  root?: object;
  versions?: object[];
  more?: object;
}

/** A definition whose objects have this schema in `spec`. */
function definition({ kind = 'Shelf', spec = {}, version = {}, root = {}, versions = [], more = {} }: Given): object {
  const plural = `${kind.toLowerCase()}s`;
  const schema = { type: 'object', properties: { spec: { type: 'object', ...spec } }, ...root };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.library.example.com` },
    spec: {
      group: 'library.example.com',
      scope: 'Namespaced',
      names: { plural, kind },
      versions: [
        { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema }, ...version },
        ...versions,
      ],
      ...more,
    },
  };
}

async function imported(...definitions: object[]) {
  return kindred(['crd', 'import', '-'], { stdin: definitions.map((one) => stringify(one)).join('---\n') });
}

const shelf = definition({
  version: {
    subresources: { status: {} },
    selectableFields: [{ jsonPath: '.spec.room' }, { jsonPath: '.spec.level' }],
    additionalPrinterColumns: [
      { name: 'Room', type: 'string', jsonPath: '.spec.room', description: "The shelf's room" },
      { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status', priority: 1 },
      { name: 'Due', type: 'date', jsonPath: '.spec.the-due' },
    ],
  },
  root: {
    'x-kubernetes-validations': [{ rule: "self.spec.room != 'cellar' || self.metadata.name.startsWith('low')" }],
    properties: {
      spec: {
        type: 'object',
        required: ['room'],
        'x-kubernetes-validations': [{ rule: "self.room != 'attic'", message: 'not\nthere' }],
        properties: {
          room: { type: 'string', maxLength: 20, pattern: '^[a-z]+$' },
          level: { type: 'integer', minimum: 0, default: 1 },
          'the-due': { type: 'string', format: 'date-time' },
          port: { 'x-kubernetes-int-or-string': true },
          note: { type: 'string', nullable: true },
          free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
          empty: { type: 'object' },
          inner: {
            type: 'object',
            'x-kubernetes-embedded-resource': true,
            'x-kubernetes-preserve-unknown-fields': true,
          },
        },
      },
      status: {
        type: 'object',
        properties: {
          conditions: {
            type: 'array',
            'x-kubernetes-list-type': 'map',
            'x-kubernetes-list-map-keys': ['type'],
            items: {
              type: 'object',
              required: ['type'],
              properties: { type: { type: 'string' }, status: { type: 'string' } },
            },
          },
        },
      },
    },
  },
});
const box = definition({ kind: 'Box', spec: { properties: { size: { type: 'number' } } } });

test('crd import: the plugin compiles under strict, starts, and checks and indexes objects', async () => {
  const { code, stdout, stderr } = await imported(shelf, box);
  assert.equal(code, 0, stderr);
  const file = join(home, 'plugin.ts');
  writeFileSync(file, stdout);
  const config = {
    extends: join(root, 'tsconfig.json'),
    compilerOptions: {
      noEmit: true,
      rootDir: root,
      typeRoots: [join(root, 'node_modules/@types')],
      paths: { kindred: [join(root, 'src/index.ts')] },
    },
    include: ['plugin.ts'],
    exclude: [],
  };
  writeFileSync(join(home, 'tsconfig.json'), JSON.stringify(config));
  const compiled = await run('tsc', ['-p', home], { cwd: root }).catch((error: { stdout: string }) => error);
  assert.equal(compiled.stdout, '');

  const { default: plugin } = await import(file);
  const harness = await startHarness({ plugins: [{ name: 'shelves', plugin }] });
  try {
    const path = '/apis/library.example.com/v1/namespaces/default/shelfs';
    const create = async (name: string, spec: object) => {
      const json = { metadata: { name }, spec };
      const answer = await harness.fetch(path, { method: 'POST', json });
      return { status: answer.status, body: (await answer.json()) as any };
    };
    const full = {
      room: 'hall',
      unknown: 1,
      empty: { a: 1 },
      port: 'http',
      note: null,
      free: { a: [1] },
      inner: { apiVersion: 'v1', kind: 'A' },
    };
    const made = await create('full.a', { ...full, 'the-due': '2026-01-31T00:00:00Z' });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    const { level, empty } = made.body.spec;
    assert.deepEqual([level, empty], [1, {}], 'a default is set; what is unknown is left out');
    assert.equal((await create('b', { room: 'study', port: 80, level: 7 })).status, 201);
    for (const [spec, pointer] of [
      [{}, '/spec/room'],
      [{ room: 'Hall' }, '/spec/room'],
      [{ room: 'hall', level: -1 }, '/spec/level'],
      [{ room: 'hall', port: true }, '/spec/port'],
      [{ room: 'hall', inner: { kind: 'A' } }, '/spec/inner/apiVersion'],
      [{ room: 'attic' }, '/spec'],
      [{ room: 'cellar' }, ''],
    ] as const) {
      const { status, body } = await create('c', spec);
      assert.deepEqual([status, body.errors?.[0].pointer], [422, pointer]);
    }
    const found = await harness.fetch(`${path}?fieldSelector=spec.level=7`);
    const { items } = (await found.json()) as { items: { metadata: { name: string } }[] };
    assert.deepEqual(
      items.map(({ metadata }) => metadata.name),
      ['b'],
    );
  } finally {
    await harness.stop();
  }
});

test('crd import: what the plugin looks like', async () => {
  const { stdout, stderr } = await imported(box);
  assert.equal(
    stdout,
    `import { defineModel, definePlugin } from 'kindred';

export const Box = defineModel({
  gvk: { group: 'library.example.com', version: 'v1', kind: 'Box', singular: 'box', plural: 'boxs' },
  scope: 'Namespaced',
  naming: 'kubernetes',
  schema: { type: 'object', properties: { spec: { type: 'object', properties: { size: { type: 'number' } } } } },
});

export default definePlugin({
  start({ schemeManager }) {
    schemeManager.register(Box);
  },
});
`,
  );
  assert.equal(stderr, '');
});

test('crd import: other versions', async () => {
  const schema = { type: 'object', properties: { spec: { type: 'object', properties: { size: { type: 'number' } } } } };
  const v2 = { name: 'v2', served: true, storage: false, deprecated: true, schema: { openAPIV3Schema: schema } };
  const spec = { properties: { size: { type: 'number' } } };
  const { stdout, stderr } = await imported(definition({ kind: 'Box', spec, versions: [v2] }));
  assert.equal(stderr, '');
  assert.match(stdout, /versions: \{\s+v2: \{\s+deprecated: 'library\.example\.com\/v2 Box is deprecated',\s+schema: /);
});

const timed = {
  properties: { wait: { type: 'string', format: 'duration' } },
  'x-kubernetes-validations': [{ rule: "self.wait <\n duration('9s')", message: 'short' }, { rule: 'has(self.wait)' }],
};
test('crd import: the rule beside one that is left out is carried over', async () => {
  const { stdout } = await imported(definition({ spec: timed }));
  assert.match(stdout, /'x-kubernetes-validations': \[\{ rule: 'has\(self\.wait\)' \}\]/);
});

const losses: [string, Given, RegExp][] = [
  [
    'a CEL rule that needs a format of Kubernetes, on one line',
    { spec: timed },
    /not carried over: the CEL rule self\.wait < duration\('9s'\) \(short\), because the rule does not compile: /i,
  ],
  [
    'another version of another schema',
    { versions: [{ name: 'v2', served: true, storage: false, schema: { openAPIV3Schema: { type: 'object' } } }] },
    /an object is shown with all its members, also those that this version does not know/i,
  ],
  ['a webhook', { more: { conversion: { strategy: 'Webhook' } } }, /not carried over: the conversion webhook/i],
  [
    'a pattern of RE2 alone',
    { spec: { properties: { a: { type: 'string', pattern: '^(?i)x$' } } } },
    /not carried over: the pattern \^\(\?i\)x\$/i,
  ],
  [
    'a format that is another one',
    { spec: { properties: { a: { type: 'string', format: 'duration' } } } },
    /not carried over: the format duration/i,
  ],
  [
    'rules for metadata',
    {
      root: {
        properties: { metadata: { type: 'object', properties: { name: { type: 'string', maxLength: 9 } } } },
      },
    },
    /not carried over: rules for metadata: .*"maxLength":9/i,
  ],
];
for (const [what, given, says] of losses) {
  test(`crd import: says that it leaves out ${what}`, async () => {
    const { code, stdout, stderr } = await imported(definition(given));
    assert.equal(code, 0);
    assert.match(stderr, says);
    const comments = stdout.split('\n').filter((line) => /^ +\/\/ /.test(line));
    assert.ok(
      comments.some((line) => says.test(line)),
      stdout,
    );
  });
}

test('crd import: texts of a definition stay texts', async () => {
  const description = '\'; process.exit(9); //\u2028`$\\ "';
  const { stdout } = await imported(definition({ spec: { properties: { a: { type: 'string', description } } } }));
  const file = join(home, 'texts.ts');
  writeFileSync(file, stdout);
  const { Shelf } = await import(file);
  assert.equal(Shelf.schema.properties.spec.properties.a.description, description);
});

const invalid = definition({ spec: { properties: { a: {} } } });
const refusals: [string, string, number, RegExp][] = [
  [
    'a definition that a service refuses',
    stringify(invalid),
    1,
    /^stdin:1: .*spec\.versions\[0\]\.schema\.openAPIV3Schema\.properties\[spec\]\.properties\[a\]\.type: Required value/,
  ],
  ['another kind', 'apiVersion: v1\nkind: ConfigMap\n', 2, /stdin:1 is no CustomResourceDefinition/],
  ['nothing', '', 2, /there is no CustomResourceDefinition/],
  ['one resource twice', `${stringify(box)}---\n${stringify(box)}`, 2, /as stdin:1 does/],
];
for (const [what, stdin, exit, says] of refusals) {
  test(`crd import: refuses ${what}, and prints no plugin`, async () => {
    const { code, stdout, stderr } = await kindred(['crd', 'import', '-'], { stdin });
    assert.deepEqual([code, stdout], [exit, '']);
    assert.match(stderr, says);
  });
}
