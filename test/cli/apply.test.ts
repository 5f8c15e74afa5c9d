/** `apply` changes what a file says and what it said before; `replace` puts the file in the place of what is there. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { defineModel, definePlugin, Type } from 'kindred';
import type { Harness } from 'kindred/testing';
import { startHarness } from 'kindred/testing';
import type { Fault, ProxiedRequest } from '../client/fault-proxy.ts';
import { startFaultProxy } from '../client/fault-proxy.ts';
import { fromSources } from '../sources.ts';
import type { Outcome } from './command.ts';
import { kindred } from './command.ts';

const group = 'gardens.example.com';
const spec = Type.Object({
  size: Type.Integer(),
  tags: Type.Optional(Type.Array(Type.String())),
  owner: Type.Optional(Type.Object({ name: Type.String(), phone: Type.Optional(Type.String()) })),
  note: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  open: Type.Boolean({ default: true }),
});
const status = Type.Optional(Type.Object({ plants: Type.Integer() }));
const Garden = defineModel({
  gvk: { group, version: 'v1', kind: 'Garden', singular: 'garden', plural: 'gardens' },
  spec,
  status,
});
const Park = defineModel({
  gvk: { group, version: 'v1', kind: 'Park', singular: 'park', plural: 'parks' },
  subresources: { status: true },
  spec,
  status,
});

let harness: Harness;
before(async () => {
  const plugin = definePlugin({
    start({ schemeManager }) {
      schemeManager.register(Garden);
      schemeManager.register(Park);
    },
  });
  harness = await startHarness({ plugins: [{ name: 'gardens', plugin }] });
});
after(() => harness.stop());

type Body = Record<string, any>;

function garden(name: string, members: Body = {}, metadata: Body = {}, kind = 'Garden'): Body {
  const { status, ...more } = members;
  return {
    apiVersion: `${group}/v1`,
    kind,
    metadata: { name, ...metadata },
    spec: { size: 1, ...more },
    ...(status && { status }),
  };
}

function run(command: 'apply' | 'replace', object: unknown, ...flags: string[]): Promise<Outcome> {
  const stdin = typeof object === 'string' ? object : JSON.stringify(object);
  return kindred([command, '-f', '-', '--server', harness.url, ...flags], { stdin });
}

/** Through a proxy that is asked what happens to each request. */
function through(
  faultOf: (request: ProxiedRequest) => Fault | undefined | Promise<Fault | undefined>,
  object: unknown,
  ...flags: string[]
): Promise<Outcome> {
  return proxied('apply', faultOf, object, ...flags);
}

async function proxied(
  command: 'apply' | 'replace',
  faultOf: (request: ProxiedRequest) => Fault | undefined | Promise<Fault | undefined>,
  object: unknown,
  ...flags: string[]
): Promise<Outcome> {
  const proxy = await startFaultProxy(harness.url, faultOf);
  try {
    return await run(command, object, ...flags, '--server', proxy.url);
  } finally {
    await proxy.close();
  }
}

async function call(method: string, path: string, body?: object): Promise<Body> {
  const contentType = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  const answer = await harness.fetch(`/apis/${group}/v1/${path}`, {
    method,
    headers: { 'content-type': contentType },
    ...(body && { body: JSON.stringify(body) }),
  });
  assert.ok(answer.ok, `${method} ${path}: ${answer.status}`);
  return (await answer.json()) as Body;
}

for (const [kind, plural] of [
  ['Garden', 'gardens'],
  ['Park', 'parks'],
] as const) {
  test(`command-line: applying an unchanged file changes nothing that others put there - ${kind}`, async () => {
    const file = garden('kept', { tags: ['a'] }, { labels: { mine: '1' } }, kind);
    assert.equal((await run('apply', file)).stdout, `${plural}.${group}/kept created\n`);
    const others = {
      metadata: { finalizers: ['example.com/cleanup'], labels: { theirs: '2' }, annotations: { 'example.com/x': 'y' } },
      spec: { owner: { name: 'Ada' } },
    };
    await call('PATCH', `${plural}/kept`, others);
    const statusPath = kind === 'Park' ? `${plural}/kept/status` : `${plural}/kept`;
    const touched = await call('PATCH', statusPath, { status: { plants: 7 } });
    const again = await run('apply', file);
    assert.deepEqual(again, { code: 0, stdout: `${plural}.${group}/kept unchanged\n`, stderr: '' });
    assert.deepEqual(await call('GET', `${plural}/kept`), touched);
    assert.deepEqual(touched.status, { plants: 7 });
  });
}

/** Of an object that nobody applied; without `after` it stays as it is. */
const merges: { name: string; before: Body; file: Body; after?: Body }[] = [
  {
    name: 'members that the file does not mention stay',
    before: garden('m', { owner: { name: 'Ada', phone: '1' }, note: 'x' }, { labels: { a: '1' } }),
    file: garden('m', { size: 2, owner: { name: 'Bob' } }, { labels: { b: '2' } }),
    after: garden('m', { size: 2, owner: { name: 'Bob', phone: '1' }, note: 'x' }, { labels: { a: '1', b: '2' } }),
  },
  {
    name: 'lists are replaced whole',
    before: garden('m', { tags: ['a', 'b'] }),
    file: garden('m', { tags: ['b', 'c'] }),
    after: garden('m', { tags: ['b', 'c'] }),
  },
  {
    name: 'finalizers are added to those there',
    before: garden('m', {}, { finalizers: ['a.com/1', 'a.com/2'] }),
    file: garden('m', {}, { finalizers: ['a.com/2', 'a.com/3'] }),
    after: garden('m', {}, { finalizers: ['a.com/1', 'a.com/2', 'a.com/3'] }),
  },
  {
    name: 'finalizers that are all there change nothing',
    before: garden('m', {}, { finalizers: ['a.com/1', 'a.com/2'] }),
    file: garden('m', {}, { finalizers: ['a.com/2'] }),
  },
  {
    name: 'null is a value',
    before: garden('m', { note: 'x' }),
    file: garden('m', { note: null }),
    after: garden('m', { note: null }),
  },
  {
    name: 'null where null is stored',
    before: garden('m', { note: null }),
    file: garden('m', { note: null }),
  },
  {
    name: 'null in metadata counts as absent',
    before: garden('m', {}, { labels: { a: '1' }, finalizers: ['a.com/1'] }),
    file: garden('m', {}, { labels: null, finalizers: null, annotations: null, version: null }),
  },
  {
    name: 'a default that the file leaves out stays as it was changed',
    before: garden('m', { open: false }),
    file: garden('m'),
  },
  {
    name: 'status, when the file says it and the model has it as a member',
    before: garden('m', { status: { plants: 1 } }),
    file: garden('m', { status: { plants: 2 } }),
    after: garden('m', { status: { plants: 2 } }),
  },
  {
    name: 'status of a model with the sub-resource is nothing that a file can say',
    before: garden('m', {}, {}, 'Park'),
    file: garden('m', { status: { plants: 2 } }, {}, 'Park'),
  },
  {
    name: 'timestamps and generateName in a file say nothing',
    before: garden('m'),
    file: garden(
      'm',
      {},
      { creationTimestamp: '2020-01-01T00:00:00.000Z', generateName: 'x-', deletionTimestamp: null },
    ),
  },
];
for (const [i, { name, before, file, after = before }] of merges.entries()) {
  test(`command-line: apply owns only what the file says - ${name}`, async () => {
    const plural = before.kind === 'Park' ? 'parks' : 'gardens';
    const named = (object: Body) => ({ ...object, metadata: { ...object.metadata, name: `merge-${i}` } });
    const first = await call('POST', plural, named(before));
    const { code, stdout, stderr } = await run('apply', named(file));
    // At least whose the fields are is stored.
    assert.deepEqual([code, stdout], [0, `${plural}.${group}/merge-${i} updated\n`], stderr);
    const stored = await call('GET', `${plural}/merge-${i}`);
    const { version, creationTimestamp, generation, managedFields, ...metadata } = stored.metadata;
    const { open, ...spec } = stored.spec;
    assert.equal(version, 1);
    assert.ok(generation === undefined || generation === (after === before ? 1 : 2));
    assert.equal(creationTimestamp, first.metadata.creationTimestamp);
    const expected = { open: first.spec.open, ...after.spec };
    assert.deepEqual([metadata, { ...spec, open }, stored.status], [named(after).metadata, expected, after.status]);
    assert.equal((await run('apply', named(file))).stdout, `${plural}.${group}/merge-${i} unchanged\n`);
  });
}

test('command-line: a member that the file named before and leaves out goes; one that others set stays', async () => {
  await run('apply', garden('left-out', { tags: ['a'], note: 'x' }, { labels: { mine: '1' } }));
  await call('PATCH', 'gardens/left-out', { metadata: { labels: { theirs: '1' } }, spec: { note: 'y' } });
  assert.match((await run('apply', garden('left-out'))).stdout, /updated/);
  const { metadata, spec } = await call('GET', 'gardens/left-out');
  assert.deepEqual([metadata.labels, spec], [{ theirs: '1' }, { size: 1, note: 'y', open: true }]);
});

test('command-line: apply takes fields that others edited, not those that others applied', async () => {
  const place = `gardens.${group}/whose`;
  await run('apply', garden('whose', { note: 'x' }));
  await call('PATCH', 'gardens/whose', { spec: { size: 7, note: 'y' } });
  assert.equal((await run('apply', garden('whose', { size: 2, note: 'x' }))).stdout, `${place} updated\n`);
  assert.deepEqual((await call('GET', 'gardens/whose')).spec, { size: 2, note: 'x', open: true });
  assert.equal(
    (await run('apply', garden('whose', { size: 3 }), '--field-manager', 'other', '--force-conflicts')).code,
    0,
  );
  const refused = await run('apply', garden('whose', { size: 4, note: 'z' }));
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /conflict with "other": \.spec\.size/);
  assert.match(refused.stderr, /--force-conflicts/);
  assert.equal((await call('GET', 'gardens/whose')).spec.note, 'x');
  await call('PATCH', 'gardens/whose', { spec: { note: 'edited' } });
  const strict = await run('apply', garden('whose', { size: 3, note: 'x' }), '--server-side');
  assert.match(strict.stderr, /conflict with "kindred".*: \.spec\.note/);
});

test('command-line: what get prints can be applied, and it shows who owns which field only when asked', async () => {
  await run('apply', garden('printed', { tags: ['a'] }));
  const get = (...flags: string[]) =>
    kindred(['get', 'garden', 'printed', '-o', 'yaml', '--server', harness.url, ...flags]);
  const { stdout } = await get();
  assert.doesNotMatch(stdout, /managedFields/);
  assert.match((await get('--show-managed-fields')).stdout, /managedFields/);
  const applied = await run('apply', stdout.replace(/^ {2}version: .*\n/m, ''));
  assert.equal(applied.code, 0, applied.stderr);
});

for (const command of ['apply', 'replace'] as const) {
  test(`command-line: ${command} -o json prints one document, of several objects a List, which can be applied`, async () => {
    const names = ['j1', 'j2'].map((name) => `${command}-${name}`);
    const gardens = names.map((name) => garden(name));
    const file = [...gardens, { ...garden('j3'), spec: {} }].map((one) => `${JSON.stringify(one)}\n`).join('');
    const several = await run(command, file, '-o', 'json');
    assert.equal(several.code, 1);
    const { items, ...list } = JSON.parse(several.stdout);
    assert.deepEqual(list, { apiVersion: 'v1', kind: 'List' });
    assert.deepEqual(
      items.map(({ metadata }: Body) => metadata.name),
      names,
    );
    const again = await run(command, several.stdout);
    assert.deepEqual(
      [again.code, again.stdout.match(/(?<=\/)\S+(?= (?:updated|unchanged)$)/gm)],
      [0, names],
      again.stderr,
    );
    const alone = await run(command, gardens[0], '-o', 'json');
    assert.equal(JSON.parse(alone.stdout).metadata.name, names[0]);
  });
}

test('command-line: apply --prune deletes what was applied before, matches, and is in no file', async () => {
  const shop = { labels: { app: 'shop' } };
  const files = (...objects: Body[]) => objects.map((one) => `${JSON.stringify(one)}\n`).join('');
  await run(
    'apply',
    files(garden('p1', {}, shop), garden('p2', {}, shop), garden('p3', {}, { labels: { app: 'other' } })),
  );
  await call('POST', 'gardens', garden('p4', {}, shop));
  await run('apply', garden('p5', {}, shop), '--field-manager', 'somebody');
  const now = files(garden('p1', {}, shop));
  for (const mode of ['--dry-run=server', '--dry-run=client']) {
    const { code, stdout } = await run('apply', now, '--prune', '-l', 'app=shop', mode);
    assert.deepEqual([code, stdout.includes('(dry run)')], [0, true], mode);
  }
  assert.equal((await run('apply', now, '--dry-run=maybe')).code, 2);
  const dry = await run('apply', now, '--prune', '-l', 'app=shop', '--dry-run');
  const told = `gardens.${group}/p1 unchanged\ngardens.${group}/p2 pruned\n`;
  assert.equal(dry.stdout, told.replaceAll('\n', ' (dry run)\n'));
  assert.deepEqual(await run('apply', now, '--prune', '-l', 'app=shop'), { code: 0, stdout: told, stderr: '' });
  for (const name of ['p1', 'p3', 'p4', 'p5']) await call('GET', `gardens/${name}`);
  assert.equal((await harness.fetch(`/apis/${group}/v1/gardens/p2`)).status, 404);
  for (const flags of [['--prune'], ['-l', 'app=shop'], ['--all']]) {
    const { code, stderr } = await run('apply', now, ...flags);
    assert.deepEqual([code, /--prune/.test(stderr)], [2, true], stderr);
  }
});

test('command-line: nothing is pruned when an object was refused', async () => {
  const shop = { labels: { app: 'kept' } };
  await run('apply', `${JSON.stringify(garden('k1', {}, shop))}\n${JSON.stringify(garden('k2', {}, shop))}`);
  const broken = await run('apply', garden('k1', { size: 'large' }, shop), '--prune', '-l', 'app=kept');
  assert.equal(broken.code, 1);
  await call('GET', 'gardens/k2');
});

test('command-line: a version in the file makes apply conditional, and the refusal says what to do', async () => {
  await call('POST', 'gardens', garden('versioned'));
  const edited = garden('versioned', { size: 2 }, { version: 0 });
  assert.match((await run('apply', edited)).stdout, /updated/);
  for (const command of ['apply', 'replace'] as const) {
    const { code, stderr } = await run(command, edited);
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^stdin:1: The version .* 0, .* 1\n {2}It was changed .* Take metadata\.version out of the file .*\n$/,
    );
  }
  const { version, ...metadata } = edited.metadata;
  assert.match((await run('apply', { ...edited, metadata })).stdout, /unchanged/);
});

test('command-line: two applies of a new object at once: both have what they want', async () => {
  let others = 0;
  const { code, stdout } = await through(async ({ method }) => {
    if (method === 'PATCH' && others++ === 0) assert.match((await run('apply', garden('race'))).stdout, /created/);
    return undefined;
  }, garden('race'));
  assert.deepEqual([code, stdout], [0, `gardens.${group}/race created\n`]);
});

test('command-line: a finalizer that somebody adds while apply adds one is not lost', async () => {
  await call('POST', 'gardens', garden('both', {}, { finalizers: ['a.com/1'] }));
  let patches = 0;
  const { code, stdout } = await through(
    async ({ method }) => {
      if (method !== 'PATCH' || patches++ > 0) return undefined;
      await call('PATCH', 'gardens/both', { metadata: { finalizers: ['a.com/1', 'a.com/2'] } });
      return undefined;
    },
    garden('both', {}, { finalizers: ['a.com/3'] }),
  );
  assert.deepEqual([code, stdout, patches], [0, `gardens.${group}/both updated\n`, 1]);
  assert.deepEqual((await call('GET', 'gardens/both')).metadata.finalizers, ['a.com/1', 'a.com/2', 'a.com/3']);
});

test('command-line: an object that somebody deletes while it is applied is created', async () => {
  await call('POST', 'gardens', garden('gone'));
  let patches = 0;
  const { stdout } = await through(
    async ({ method }) => {
      if (method === 'PATCH' && patches++ === 0) await call('DELETE', 'gardens/gone');
      return undefined;
    },
    garden('gone', { size: 3 }),
  );
  assert.equal(stdout, `gardens.${group}/gone created\n`);
});

const retried: { name: string; fault: Fault; method: string; stored: boolean; what: string }[] = [
  {
    name: 'a create that was refused',
    fault: { kind: 'refuse', status: 503, retryAfter: '0', problem: true },
    method: 'PATCH',
    stored: false,
    what: 'created',
  },
  {
    name: 'a create whose answer is lost',
    fault: { kind: 'cutAnswer', part: 0.5 },
    method: 'PATCH',
    stored: false,
    what: 'created',
  },
  {
    name: 'a patch that was refused',
    fault: { kind: 'refuse', status: 429, retryAfter: '0' },
    method: 'PATCH',
    stored: true,
    what: 'updated',
  },
  {
    name: 'a patch whose answer is lost',
    fault: { kind: 'hide', status: 504 },
    method: 'PATCH',
    stored: true,
    what: 'updated',
  },
  { name: 'a patch that never arrives', fault: { kind: 'cutBefore' }, method: 'PATCH', stored: true, what: 'updated' },
  { name: 'a read that breaks', fault: { kind: 'cutAnswer', part: 0.5 }, method: 'GET', stored: true, what: 'updated' },
];
for (const [i, { name, fault, method, stored, what }] of retried.entries()) {
  test(`command-line: apply goes on after ${name}`, async () => {
    if (stored) await call('POST', 'gardens', garden(`retried-${i}`));
    let faults = 0;
    const { code, stdout, stderr } = await through(
      (request) =>
        request.method === method && request.path.includes('gardens') && faults++ === 0 ? fault : undefined,
      garden(`retried-${i}`, { size: 5 }),
    );
    assert.deepEqual([code, stdout], [0, `gardens.${group}/retried-${i} ${what}\n`], stderr);
    assert.equal((await call('GET', `gardens/retried-${i}`)).spec.size, 5);
  });
}

test('command-line: apply stops when the service never takes an object, and says where', async () => {
  const files = ['first', 'second', 'third'].map((name) => `${JSON.stringify(garden(`stop-${name}`))}\n`).join('');
  const { code, stdout, stderr } = await through(
    ({ method, body }) =>
      method === 'PATCH' && body.includes('stop-second')
        ? { kind: 'refuse', status: 503, retryAfter: '0', problem: true }
        : undefined,
    files,
    '--retry-for',
    '200ms',
  );
  assert.deepEqual([code, stdout], [1, `gardens.${group}/stop-first created\n`]);
  assert.match(
    stderr,
    /stdin:2: line answered 503\nkindred: stopped at stdin:2; what follows it was left alone \(1 object written\)\n$/,
  );
});

test('command-line: an object without a name is created each time', async () => {
  const { name, ...metadata } = garden('x', {}, { generateName: 'each-' }).metadata;
  for (let i = 0; i < 2; i++) {
    assert.match((await run('apply', { ...garden('x'), metadata })).stdout, /^gardens\.\S+\/each-\w{8} created\n$/);
  }
});

test('command-line: replace puts the file in the place of what is there', async () => {
  const file = garden('whole', { tags: ['a'] });
  assert.equal((await run('replace', file)).stdout, `gardens.${group}/whole created\n`);
  await call('PATCH', 'gardens/whole', {
    metadata: { finalizers: ['a.com/1'], labels: { a: '1' } },
    spec: { note: 'x' },
    status: { plants: 1 },
  });
  assert.equal((await run('replace', file)).stdout, `gardens.${group}/whole updated\n`);
  assert.equal((await run('replace', file)).stdout, `gardens.${group}/whole unchanged\n`);
  const { metadata, spec, status } = await call('GET', 'gardens/whole');
  assert.deepEqual(
    [metadata.finalizers, metadata.labels, spec, status],
    [undefined, undefined, { size: 1, tags: ['a'], open: true }, undefined],
  );
});

test('command-line: two replaces of a new object at once: one creates it, the other finds it there', async () => {
  let others = 0;
  const { code, stdout } = await proxied(
    'replace',
    async ({ method }) => {
      if (method === 'POST' && others++ === 0) assert.match((await run('replace', garden('twice'))).stdout, /created/);
      return undefined;
    },
    garden('twice'),
  );
  assert.deepEqual([code, stdout], [0, `gardens.${group}/twice unchanged\n`]);
});

const incomplete: { name: string; document: string; message: RegExp }[] = [
  { name: 'kind alone', document: 'kind: Garden', message: /^stdin:1: The object has no apiVersion\n$/ },
  { name: 'apiVersion alone', document: `apiVersion: ${group}/v1`, message: /^stdin:1: The object has no kind\n$/ },
  {
    name: 'neither',
    document: 'metadata: { name: a }',
    message: /^stdin:1: The object has no apiVersion and no kind\n$/,
  },
];
for (const { name, document, message } of incomplete) {
  test(`command-line: apply says which member of a document is missing - ${name}`, async () => {
    const { code, stderr } = await run('apply', document);
    assert.equal(code, 1);
    assert.match(stderr, message);
  });
}

test('command-line: a name that leads elsewhere in a URL is refused as a name', async () => {
  const { code, stderr } = await run('apply', garden('..'));
  assert.equal(code, 1);
  assert.match(stderr, /\/metadata\/name: /);
});

test('command-line: a discovery that failed once is asked again for the next object', async () => {
  let discoveries = 0;
  const files = ['one', 'two'].map((name) => `${JSON.stringify(garden(`found-${name}`))}\n`).join('');
  const { code, stdout, stderr } = await through(
    ({ path }) => (path.endsWith('/v1') && ++discoveries === 1 ? { kind: 'refuse', status: 500 } : undefined),
    files,
  );
  assert.deepEqual([code, stdout], [1, `gardens.${group}/found-two created\n`]);
  assert.match(stderr, /^stdin:1: .* 500 .*\n$/);
});

test('command-line: Ctrl-C ends an apply that waits for more input, and it says what was done', async () => {
  const main = join(import.meta.dirname, '../../src/cli/main.ts');
  const child = spawn('node', [...fromSources, main, 'apply', '-f', '-', '--server', harness.url]);
  const told = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      told[name] += text;
    });
  }
  try {
    child.stdin.write(`${JSON.stringify(garden('ctrl'))}\n`);
    await harness.until(() => told.stdout !== '');
    child.kill('SIGINT');
    assert.equal(await new Promise((resolve) => child.once('close', resolve)), 1);
    assert.equal(
      told.stderr,
      'kindred: interrupted in standard input; what follows was left alone (1 object written)\n',
    );
  } finally {
    child.kill('SIGKILL');
  }
});

test('command-line: apply --server-side merges in the service, says whose a field is, and takes it by force', async () => {
  const place = `gardens.${group}/shared`;
  const file = garden('shared', { tags: ['a'] });
  const made = await run('apply', file, '--server-side');
  assert.deepEqual(made, { code: 0, stdout: `${place} created\n`, stderr: '' });
  assert.equal((await run('apply', file, '--server-side')).stdout, `${place} unchanged\n`);
  const other = ['--server-side', '--field-manager', 'other'];
  const refused = await run('apply', garden('shared', { size: 2 }), ...other);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /conflict with "kindred-cli": \.spec\.size/);
  assert.match(refused.stderr, /--force-conflicts/);
  const rehearsed = await run('apply', garden('shared', { size: 2 }), ...other, '--force-conflicts', '--dry-run');
  assert.deepEqual([rehearsed.code, rehearsed.stdout], [0, `${place} updated (dry run)\n`]);
  assert.equal((await call('GET', 'gardens/shared')).spec.size, 1);
  assert.equal((await run('apply', garden('shared', { size: 2 }), ...other, '--force-conflicts')).code, 0);
  await run('apply', { ...file, spec: {} }, '--server-side');
  assert.deepEqual((await call('GET', 'gardens/shared')).spec, { size: 2, open: true });
});

test('command-line: apply --server-side needs names', async () => {
  const unnamed = await run('apply', { ...garden('x'), metadata: { generateName: 'x-' } }, '--server-side');
  assert.equal(unnamed.code, 2);
});
