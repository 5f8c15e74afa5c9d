/** Objects of namespaced models on the command line. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { defineModel, definePlugin, Type } from 'kindred';
import type { Harness } from 'kindred/testing';
import { startHarness } from 'kindred/testing';
import { kindred } from './command.ts';

const names = { group: 'bar.example.com', version: 'v1' };
const spec = Type.Object({ size: Type.Integer() });
const Widget = defineModel({
  gvk: { ...names, kind: 'Widget', singular: 'widget', plural: 'widgets' },
  scope: 'Namespaced',
  shortNames: ['wd'],
  spec,
  status: Type.Object({ phase: Type.String() }),
  subresources: { status: true },
});
const Plan = defineModel({ gvk: { ...names, kind: 'Plan', singular: 'plan', plural: 'plans' }, spec });

let harness: Harness;
let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kindred-namespaces-'));
  const plugin = definePlugin({
    start({ schemeManager }) {
      for (const model of [Widget, Plan]) schemeManager.register(model);
    },
  });
  harness = await startHarness({ plugins: [{ name: 'bar', plugin }] });
});
after(async () => {
  await harness.stop();
  await rm(folder, { recursive: true, force: true });
});

const run = (line: string, stdin = '') =>
  kindred([...line.split(' '), '--server', harness.url], { stdin, env: { EDITOR: 'true' } });
async function ok(line: string, stdin = '') {
  const outcome = await run(line, stdin);
  assert.equal(outcome.code, 0, `${line}: ${outcome.stderr}`);
  return outcome.stdout;
}
const widget = (name: string, more: object = {}, metadata: object = {}) =>
  JSON.stringify({
    apiVersion: 'bar.example.com/v1',
    kind: 'Widget',
    metadata: { name, ...metadata },
    spec: { size: 1 },
    ...more,
  });
const plan = (name: string) =>
  JSON.stringify({ apiVersion: 'bar.example.com/v1', kind: 'Plan', metadata: { name }, spec: { size: 1 } });

test('command-line: objects are written to the namespace of the file, of -n, or default', async () => {
  await ok('apply -f -', widget('a'));
  await ok('apply -n team -f -', widget('a'));
  await ok('apply -f -', `${widget('b', {}, { namespace: 'team' })}\n${plan('p')}`);
  assert.match(await ok('apply -n team -f -', widget('a', { spec: { size: 2 } })), /widgets.*\/a updated/);
  assert.equal(
    await ok('get wd -A -o name'),
    'widgets.bar.example.com/a\nwidgets.bar.example.com/a\nwidgets.bar.example.com/b\n',
  );
  const clash = await run('apply -n team -f -', widget('a', {}, { namespace: 'other' }));
  assert.deepEqual([clash.code, /of the namespace "other", not "team"/.test(clash.stderr)], [2, true]);
  assert.match((await run('diff -n team -f -', widget('a', { spec: { size: 3 } }))).stdout, /^\+ +size: 3/m);
  assert.equal((await run('diff -n team -f -', widget('a', { spec: { size: 2 } }))).code, 0);
});

test('command-line: lists and names are of one namespace, or of all with -A', async () => {
  const nameOf = (text: string) =>
    text
      .split('\n')
      .slice(1, -1)
      .map((line) => line.split(/ +/).slice(0, 2).join(' '));
  assert.deepEqual(nameOf(await ok('get wd -A')), ['default a', 'team a', 'team b']);
  assert.match(await ok('get wd -A'), /^NAMESPACE +NAME +SIZE/);
  assert.match(await ok('get wd -n team'), /^NAME +SIZE +AGE/);
  assert.deepEqual((await ok('list widgets -n team -o name')).trim().split('\n').length, 2);
  assert.match(await ok('get widget/a -n team -o yaml'), /namespace: team/);
  assert.match(await ok('get widget a -o yaml'), /namespace: default/);
  assert.match(await ok('get plans -n team'), /^NAME/);
  assert.match(await ok('get plan/p -n team -o yaml'), /kind: Plan/);
  assert.equal((await run('get wd b')).code, 1);
  const named = await run('get wd a -A');
  assert.deepEqual([named.code, /of one namespace/.test(named.stderr)], [2, true]);
  assert.match(await ok('describe wd a -n team'), /Name: +a\nNamespace: +team\n[\s\S]*Generation: +2\n/);
});

test('command-line: changes are made in one namespace', async () => {
  await ok('patch wd a -n team -p {"spec":{"size":7}}');
  await ok('patch wd a -n team --subresource=status -p {"status":{"phase":"Ready"}}');
  await ok('label wd a -n team colour=red');
  await ok(`wait wd a -n team --for=jsonpath={.status.phase}=Ready --timeout=5s`);
  assert.match(await ok('get wd a -n team -o yaml'), /colour: red[\s\S]*size: 7[\s\S]*phase: Ready/);
  assert.doesNotMatch(await ok('get wd a -o yaml'), /colour|size: 7/);
  assert.equal((await run('auth can-i get widgets -n team')).code, 0);
});

test('command-line: a file defines a type and has its objects: written in order, deleted from the end', async () => {
  const kinds = { kind: 'Gauge', plural: 'gauges', singular: 'gauge' };
  const schema = { openAPIV3Schema: { type: 'object' } };
  const definition = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'gauges.bar.example.com' },
    spec: {
      group: names.group,
      scope: 'Namespaced',
      names: kinds,
      versions: [{ name: 'v1', served: true, storage: true, schema }],
    },
  };
  const gauge = { apiVersion: 'bar.example.com/v1', kind: 'Gauge', metadata: { name: 'g' } };
  // The plan is of the same group, whose types are known before there is a gauge.
  const file = `${plan('first')}\n${JSON.stringify(definition)}\n${JSON.stringify(gauge)}\n`;
  await ok('apply -f -', file);
  assert.match(await ok('delete -f -', file), /^gauges.bar.example.com\/g deleted\ncustomresourcedefinitions/);
});

test('command-line: an export has all namespaces, an import puts each object into its own, owners last', async () => {
  await ok(
    'apply -n team -f -',
    widget('owned', {}, { ownerReferences: [{ apiVersion: 'bar.example.com/v1', kind: 'Widget', name: 'b' }] }),
  );
  const file = join(folder, 'all.ndjson');
  await ok(`export --type widgets -o ${file}`);
  const lines = (await readFile(file, 'utf8'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.equal(lines.length, 4);
  const before = lines.find((line) => line.metadata.name === 'owned').metadata.ownerReferences[0].uid;
  await ok('delete wd --all -A --ignore-not-found');
  // The owned object comes first: its owner is not there yet.
  const text = lines
    .toSorted((a) => (a.metadata.name === 'owned' ? -1 : 1))
    .map((line) => JSON.stringify(line))
    .join('\n');
  assert.match((await run('import -', text)).stderr, /4 imported/);
  assert.equal((await ok('get wd -A -o name')).trim().split('\n').length, 4);
  const owned = JSON.parse(await ok('get wd owned -n team -o json'));
  assert.notEqual(owned.metadata.ownerReferences[0].uid, before);
  await ok('delete wd b -n team');
  const gone = await run(
    'import --on-conflict replace -',
    JSON.stringify(lines.find((line) => line.metadata.name === 'owned')),
  );
  assert.deepEqual([gone.code, /there is no Widget/.test(gone.stderr)], [1, true]);
  await ok(`export --type widgets -n default -o ${file}`);
  assert.equal((await readFile(file, 'utf8')).trim().split('\n').length, 1);
});
