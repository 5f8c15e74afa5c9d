import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pino } from 'pino';
import { openStore } from '../../src/store/open.ts';
import type { Answer } from './live.ts';
import { bindingOf, expect, live } from './live.ts';
import { Book, books } from './models.ts';

const core = '/api/v1alpha1';
const seq = (prefix: string, count: number) => Array.from({ length: count }, (_, i) => `${prefix}${i}`);
const rule = { apiGroups: ['library.example'], resources: ['books'], verbs: ['get'] };
const grants = (verbs: number) => ({ apiGroups: seq('g', 10), resources: seq('r', 50), verbs: seq('v', verbs) });
const dependencies = (count: number) => ({
  annotations: { 'rbac.platform.run/dependencies': JSON.stringify(Array(count).fill('books-library-example-view')) },
});

interface Case {
  readonly name: string;
  readonly rules: object[];
  readonly metadata?: object;
  /** Pointer and keyword of what is wrong; undefined: taken. */
  readonly wrong?: [string, string];
}

const cases: Case[] = [
  { name: '100 rules', rules: Array(100).fill(rule) },
  { name: '101 rules', rules: Array(101).fill(rule), wrong: ['/rules', 'maxItems'] },
  ...['apiGroups', 'resources', 'verbs', 'nonResourceURLs'].flatMap((list): Case[] => [
    { name: `64 ${list}`, rules: [{ ...rule, [list]: seq('x', 64) }] },
    { name: `65 ${list}`, rules: [{ ...rule, [list]: seq('x', 65) }], wrong: [`/rules/0/${list}`, 'maxItems'] },
    {
      name: `one of ${list} twice`,
      rules: [{ ...rule, [list]: ['x', 'y', 'x'] }],
      wrong: [`/rules/0/${list}`, 'uniqueItems'],
    },
  ]),
  { name: '1,000 names', rules: [{ ...rule, resourceNames: seq('n', 1_000) }] },
  {
    name: '1,001 names',
    rules: [{ ...rule, resourceNames: seq('n', 1_001) }],
    wrong: ['/rules/0/resourceNames', 'maxItems'],
  },
  {
    name: 'a name twice',
    rules: [{ ...rule, resourceNames: ['n', 'n'] }],
    wrong: ['/rules/0/resourceNames', 'uniqueItems'],
  },
  { name: '10,000 grants', rules: [grants(10), grants(10)] },
  { name: '10,001 grants', rules: [grants(10), grants(10), rule], wrong: ['/rules', 'maxGrants'] },
  { name: '1,000 dependencies', rules: [], metadata: dependencies(1_000) },
  {
    name: '1,001 dependencies',
    rules: [],
    metadata: dependencies(1_001),
    wrong: ['/metadata/annotations/rbac.platform.run~1dependencies', 'maxItems'],
  },
  {
    name: 'the product of long lists',
    rules: [{ apiGroups: Array(300).fill('g'), resources: Array(300).fill('r'), verbs: Array(300).fill('get') }],
    wrong: ['/rules/0/apiGroups', 'maxItems'],
  },
];

test('permissions: a role within its bounds is taken, one beyond them is refused with the place', async (t) => {
  await using world = await live({}, (service) => service.schemeManager.register(Book));
  for (const { name, rules, metadata, wrong } of cases) {
    await t.test(name, async () => {
      const answer = await world.admin('POST', `${core}/roles`, {
        metadata: { generateName: 'r-', ...metadata },
        rules,
      });
      if (!wrong) return assert.equal(answer.status, 201, answer.text.slice(0, 300));
      assert.equal(answer.status, 422);
      const found = answer.body.errors.map((one: { pointer: string; keyword: string }) => [one.pointer, one.keyword]);
      assert.deepEqual(found[0], wrong);
    });
  }
  await t.test('nor by a change of one', async () => {
    const path = `${core}/roles/changing`;
    await expect(201, world.admin('POST', `${core}/roles`, { metadata: { name: 'changing' }, rules: [rule] }));
    const refused = async (answer: Promise<Answer>) => assert.equal((await answer).body.errors[0].keyword, 'maxGrants');
    const rules = [grants(20), rule];
    await refused(world.admin('PUT', path, { metadata: { name: 'changing' }, rules }));
    await refused(world.admin('PATCH', path, { rules }, { 'content-type': 'application/merge-patch+json' }));
  });
});

test('permissions: a RoleBinding has at most 1,000 subjects', async () => {
  await using world = await live();
  const bind = (count: number) =>
    world.admin('POST', `${core}/rolebindings`, {
      metadata: { generateName: 'b-' },
      roleRef: { kind: 'Role', name: 'authenticated' },
      subjects: seq('u', count).map((name) => ({ kind: 'User', name })),
    });
  await expect(201, bind(1_000));
  const { pointer, keyword } = (await expect(422, bind(1_001))).body.errors[0];
  assert.deepEqual([pointer, keyword], ['/subjects', 'maxItems']);
});

test('permissions: who may make roles and nothing else is refused a role with more than they have, however large', async () => {
  await using world = await live({}, (service) => service.schemeManager.register(Book));
  const making = { apiGroups: [''], resources: ['roles'], verbs: ['create'] };
  await expect(201, world.admin('POST', `${core}/roles`, { metadata: { name: 'maker' }, rules: [making] }));
  const { send } = await world.person('maker', ['maker']);
  const answer = await expect(403, send('POST', `${core}/roles`, { metadata: { name: 'x' }, rules: [grants(20)] }));
  assert.match(answer.body.detail, /it would allow "v0 r0\.g0"/);
  // Without verbs it gives nothing, and takes nothing to compare.
  const idle = Array(100).fill({ apiGroups: seq('g', 64), resources: seq('r', 64), verbs: [] });
  await expect(201, send('POST', `${core}/roles`, { metadata: { name: 'idle' }, rules: idle }));
});

test('permissions: of a role that was stored before there were bounds counts what is within them, and the log says so', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'kindred-bounds-'));
  const database = `sqlite:${join(folder, 'kindred.db')}`;
  const role = (name: string, rules: object[]) => ({
    apiVersion: 'v1alpha1',
    kind: 'Role',
    metadata: { name, version: 0, creationTimestamp: '2026-01-01T00:00:00.000Z' },
    rules,
  });
  const outside = { apiGroups: ['library.example'], resources: ['books'], verbs: ['create'] };
  const large = role('large', [...Array(100).fill(rule), outside]);
  const repeating = role('repeating', [{ ...rule, apiGroups: Array(3_000).fill('library.example') }]);
  const told: { role?: string; beyond?: string[] }[] = [];
  const logger = pino({ level: 'warn' }, { write: (line: string) => void told.push(JSON.parse(line)) });
  try {
    const store = await openStore(database);
    const model = await store.modelNumber('', 'Role');
    const bytes = (object: object) => Buffer.from(JSON.stringify(object));
    await store.commit(
      [large, repeating].map((one) => ({ type: 'create', model, name: one.metadata.name, bytes: bytes(one) })),
      Date.now(),
    );
    await store.close();
    await using world = await live({ database, logger }, (service) => service.schemeManager.register(Book));
    const beyond = told.filter((line) => line.beyond);
    assert.deepEqual(
      beyond.map((line) => [line.role, line.beyond]),
      [['large', ['more than 100 rules']]],
    );
    const { send } = await world.person('ada', ['large']);
    await expect(404, send('GET', `${books}/a`));
    await expect(403, send('POST', books, { metadata: { name: 'a' }, spec: { title: 'A' } }));
    const other = await world.person('bob', ['repeating']);
    await expect(404, other.send('GET', `${books}/a`));
    // It can be mended, and given to everybody meanwhile.
    const everybody = { ...bindingOf('large', 'system:anonymous'), metadata: { name: 'everybody' } };
    await expect(201, world.admin('POST', `${core}/rolebindings`, everybody));
    await expect(404, world.anonymous('GET', `${books}/a`));
    await expect(200, world.admin('PUT', `${core}/roles/large`, { metadata: { name: 'large' }, rules: [outside] }));
    await expect(201, send('POST', books, { metadata: { name: 'a' }, spec: { title: 'A' } }));
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('permissions: roles that name more objects than a list can be limited to still give each of them', async () => {
  await using world = await live({}, (service) => service.schemeManager.register(Book));
  await expect(201, world.admin('POST', books, { metadata: { name: 'n9-999' }, spec: { title: 'N' } }));
  const named = (role: number) =>
    Array.from({ length: 5 }, (_, i) => ({
      ...rule,
      verbs: ['get', 'list'],
      resourceNames: seq(`n${role * 5 + i}-`, 1_000),
    }));
  for (const role of [0, 1]) {
    await expect(
      201,
      world.admin('POST', `${core}/roles`, { metadata: { name: `names-${role}` }, rules: named(role) }),
    );
  }
  const { send } = await world.person('ada', ['names-0', 'names-1']);
  assert.equal((await expect(200, send('GET', books))).body.total, 1, '10,000 names');
  const more = { ...rule, verbs: ['list'], resourceNames: ['one-more'] };
  await expect(201, world.admin('POST', `${core}/roles`, { metadata: { name: 'one-more' }, rules: [more] }));
  await expect(201, world.admin('POST', `${core}/rolebindings`, bindingOf('one-more', 'ada')));
  const refused = await expect(403, send('GET', books));
  assert.match(refused.body.detail, /name more than 10000 objects/);
  await expect(200, send('GET', `${books}/n9-999`));
  await expect(403, send('GET', `${books}/n10-0`));
});
