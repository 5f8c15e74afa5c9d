/** Commands that are about objects as kubectl's of the same name are: describe, explain, label, annotate. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { defineModel, definePlugin, Type } from 'kindred';
import type { Harness } from 'kindred/testing';
import { startHarness } from 'kindred/testing';
import type { Outcome } from './command.ts';
import { kindred } from './command.ts';

const shop = 'shop.example.com';
const Box = defineModel({
  gvk: { group: shop, version: 'v1', kind: 'Box', singular: 'box', plural: 'boxes' },
  spec: Type.Object({
    title: Type.String({ description: 'What people call it', maxLength: 30 }),
    size: Type.Optional(Type.Object({ depth: Type.Integer({ minimum: 1 }), height: Type.Optional(Type.Integer()) })),
    colours: Type.Optional(Type.Array(Type.Enum(['red', 'blue']))),
    parts: Type.Optional(Type.Array(Type.Object({ partName: Type.String(), note: Type.Optional(Type.String()) }))),
    prices: Type.Optional(Type.Record(Type.String(), Type.Number())),
  }),
  status: Type.Optional(
    Type.Object({ conditions: Type.Array(Type.Object({ type: Type.String(), status: Type.String() })) }),
  ),
});

let harness: Harness;
before(async () => {
  const plugin = definePlugin({ start: ({ schemeManager }) => void schemeManager.register(Box) });
  harness = await startHarness({ auth: {}, plugins: [{ name: 'shop', plugin }] });
});
after(() => harness.stop());
beforeEach(async () => {
  for (const name of await harness.client.listNames(Box)) await harness.client.delete(Box, name);
  await harness.client.create(Box, {
    metadata: { name: 'a', labels: { [`${shop}/plan`]: 'old' }, annotations: { 'x.example.com/note': 'two\nlines' } },
    spec: {
      title: 'Box a',
      size: { depth: 2 },
      colours: ['red', 'blue'],
      parts: [{ partName: 'lid', note: '' }, { partName: 'foot\u001b[31m' }],
      prices: { 'x.example.com/eur': 1.5 },
    },
    status: { conditions: [{ type: 'Ready', status: 'True' }] },
  });
  await harness.client.create(Box, { metadata: { name: 'b' }, spec: { title: 'Box b' } });
});

function call(...args: string[]): Promise<Outcome> {
  return kindred(args, { env: { KINDRED_SERVER: harness.url, KINDRED_TOKEN: harness.token } });
}

const label = async (name: string) => (await harness.client.get(Box, name)).metadata.labels ?? {};

test('describe prints an object for people, without control characters', async () => {
  const { code, stdout } = await call('describe', 'box', 'a');
  assert.equal(code, 0);
  assert.equal(
    stdout.replace(/^Created: .*$/m, 'Created:'),
    `Name:        a
Labels:      ${shop}/plan=old
Annotations: x.example.com/note: two lines
API Version: ${shop}/v1
Kind:        Box
Version:     0
Generation:  1
Created:
Spec:
  Title: Box a
  Size:
    Depth: 2
  Colours:
    red
    blue
  Parts:
    - Part Name: lid
      Note:      <none>
    - Part Name: foot\u{fffd}[31m
  Prices:
    x.example.com/eur: 1.5
Status:
  Conditions:
    Type    Status   Last Transition   Reason   Message
    Ready   True     -                 -        -
`,
  );
});

test('describe takes names, files, selectors or a whole type', async () => {
  const names = ({ stdout }: Outcome) => stdout.match(/^Name: +\S+/gm)?.map((line) => line.slice(5).trim());
  assert.deepEqual(names(await call('describe', 'box/b', 'box/a')), ['b', 'a']);
  assert.deepEqual(names(await call('describe', 'boxes')), ['a', 'b']);
  assert.deepEqual(names(await call('describe', 'boxes', '-l', `${shop}/plan=old`)), ['a']);
  const missing = await call('describe', 'box', 'x', 'b');
  assert.deepEqual([missing.code, missing.stderr, names(missing)], [1, 'kindred: There is no Box "x"\n', ['b']]);
  const none = await call('describe', 'boxes', '-l', 'plan=new');
  assert.deepEqual(none, { code: 0, stdout: '', stderr: `There are no boxes.${shop} that match\n` });
  assert.equal((await call('describe', 'box', 'a', '-l', 'plan=new')).code, 2);
});

test('describe keeps the values of a Secret to itself', async () => {
  const secret = { apiVersion: 'v1alpha1', kind: 'Secret', metadata: { name: 's' }, data: { key: 'c2VjcmV0' } };
  await kindred(['apply', '-f', '-'], {
    env: { KINDRED_SERVER: harness.url, KINDRED_TOKEN: harness.token },
    stdin: JSON.stringify(secret),
  });
  const { stdout } = await call('describe', 'secret', 's');
  assert.match(stdout, /^Data:\n {2}Key: 6 bytes\n$/m);
});

test('explain describes a type and its members', async () => {
  const whole = await call('explain', 'box');
  assert.match(whole.stdout, /^GROUP: {6}shop\.example\.com\nKIND: {7}Box\nVERSION: {4}v1\n\nDESCRIPTION:\n/);
  assert.match(whole.stdout, /\n {2}metadata\t<Object> -required-\n/);
  assert.match(whole.stdout, /\n {2}spec\t<Object> -required-\n/);
  const { code, stdout } = await call('explain', 'Boxes.spec');
  assert.equal(code, 0);
  assert.equal(
    stdout.slice(stdout.indexOf('\nFIELD:')),
    `
FIELD: spec <Object>

DESCRIPTION:
    <empty>

FIELDS:
  title\t<string> -required-
    What people call it
    maxLength: 30

  size\t<Object>

  colours\t<[]string>

  parts\t<[]Object>

  prices\t<map[string]number>
`,
  );
});

const paths: { path: string; expected: RegExp }[] = [
  { path: 'box.spec.size', expected: /depth\t<integer> -required-\n {4}minimum: 1\n\n {2}height\t<integer>\n$/ },
  { path: `boxes.${shop}.spec.parts`, expected: /FIELD: parts <\[\]Object>[\s\S]*partName\t<string> -required-/ },
  { path: `boxes.v1.${shop}.spec.parts.note`, expected: /FIELD: note <string>/ },
  { path: 'box.spec.prices.eur', expected: /FIELD: eur <number>/ },
  { path: 'box.metadata.labels', expected: /FIELD: labels <map\[string\]string>\n\nDESCRIPTION:\n {4}For selection/ },
  { path: 'user.spec', expected: /^KIND: {7}User\nVERSION: {4}v1alpha1\n\nFIELD: spec <Object>/ },
];
for (const { path, expected } of paths) {
  test(`explain goes into a type - ${path}`, async () => {
    const { code, stdout, stderr } = await call('explain', path);
    assert.deepEqual([code, stderr], [0, '']);
    assert.match(stdout, expected);
  });
}

test('explain --recursive shows every depth, and a member that is not there is told with the nearest one', async () => {
  const { stdout } = await call('explain', 'box.spec', '--recursive');
  assert.match(stdout, /\n {2}size\t<Object>\n {4}depth\t<integer> -required-\n {4}height\t<integer>\n {2}colours\t/);
  assert.match(
    stdout,
    /\n {2}parts\t<\[\]Object>\n {4}partName\t<string> -required-\n {4}note\t<string>\n {2}prices\t/,
  );
  const wrong = await call('explain', 'box.spec.titel');
  assert.equal(wrong.code, 1);
  assert.equal(
    wrong.stderr,
    `kindred: boxes.${shop}.spec has no member "titel", did you mean title?; it has title, size, colours, parts, prices\n`,
  );
  assert.equal((await call('explain', 'planets.spec')).code, 1);
});

test('label puts pairs on objects and takes them off', async () => {
  const done = await call('label', 'box', 'a', 'b', 'x.example.com/new=yes', `${shop}/plan-`);
  assert.deepEqual([done.code, done.stdout], [0, `boxes.${shop}/a labeled\nboxes.${shop}/b labeled\n`]);
  assert.deepEqual(
    [await label('a'), await label('b')],
    [{ 'x.example.com/new': 'yes' }, { 'x.example.com/new': 'yes' }],
  );
  const again = await call('label', 'box/a', 'x.example.com/new=yes');
  assert.deepEqual([again.code, again.stdout], [0, `boxes.${shop}/a not labeled\n`]);
  const all = await call('label', 'boxes', '--all', 'x.example.com/new-', '-o', 'name');
  assert.equal(all.stdout, `boxes.${shop}/a\nboxes.${shop}/b\n`);
});

test('label puts another value in the place of one only with --overwrite', async () => {
  const refused = await call('label', 'boxes', '--all', `${shop}/plan=new`);
  assert.deepEqual(
    [refused.code, refused.stdout, refused.stderr],
    [
      1,
      `boxes.${shop}/b labeled\n`,
      `kindred: boxes.${shop}/a has ${shop}/plan (it is "old") already; --overwrite puts another value there\n`,
    ],
  );
  assert.deepEqual(await label('a'), { [`${shop}/plan`]: 'old' });
  assert.equal((await call('label', 'box', 'a', '--overwrite', `${shop}/plan=new`)).code, 0);
  assert.deepEqual(await label('a'), { [`${shop}/plan`]: 'new' });
  const listed = await call('label', 'box', 'a', '--list');
  assert.equal(listed.stdout, `Listing labels for boxes.${shop}/a:\n ${shop}/plan=new\n`);
});

test('annotate does the same with annotations, whose values are any text', async () => {
  const done = await call('annotate', 'box', 'a', 'x.example.com/query=a=b c', 'x.example.com/note-');
  assert.deepEqual([done.code, done.stdout], [0, `boxes.${shop}/a annotated\n`]);
  assert.deepEqual((await harness.client.get(Box, 'a')).metadata.annotations, { 'x.example.com/query': 'a=b c' });
});

const usage: { args: string[]; message: RegExp }[] = [
  { args: ['label', 'box', 'a'], message: /^kindred: give labels: KEY=VALUE, or KEY- to take one off\n$/ },
  { args: ['label', 'boxes', 'k=v'], message: /^kindred: label needs names, or selectors .*\n$/ },
  { args: ['label', 'box', 'k=v', 'a'], message: /^kindred: "a" stands after KEY=VALUE; TYPE and names come first\n$/ },
  { args: ['annotate', 'box', 'a', '=v'], message: /^kindred: "=v" has no key\n$/ },
  { args: ['annotate', 'box', 'a', 'k=v', 'k-'], message: /^kindred: "k" is given twice\n$/ },
];
for (const { args, message } of usage) {
  test(`wrong use is exit code 2 and one clear line - ${args.join(' ')}`, async () => {
    const { code, stdout, stderr } = await call(...args);
    assert.deepEqual([code, stdout], [2, '']);
    assert.match(stderr, message);
  });
}
