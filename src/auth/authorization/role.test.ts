import assert from 'node:assert/strict';
import { test } from 'node:test';
import { roleKeys } from './keys.ts';
import { roleBounds, roleRecord } from './role.ts';
import type { Rule } from './rule.ts';
import { countGrants } from './rule.ts';

const keys = roleKeys('platform.run');
const seq = (prefix: string, count: number) => Array.from({ length: count }, (_, i) => `${prefix}${i}`);
const stored = (rules: Rule[], annotations: Record<string, string> = {}) =>
  roleRecord({ apiVersion: 'v1alpha1', kind: 'Role', metadata: { name: 'r', annotations }, rules }, keys);
const view: Rule = { apiGroups: ['g'], resources: ['docs'], verbs: ['get'] };

const cases: readonly { name: string; rules: Rule[]; gives: Rule[]; cuts: RegExp[] }[] = [
  { name: 'as many rules as there may be', rules: Array(100).fill(view), gives: Array(100).fill(view), cuts: [] },
  {
    name: 'one rule more',
    rules: Array(101).fill(view),
    gives: Array(100).fill(view),
    cuts: [/^more than 100 rules$/],
  },
  ...(['apiGroups', 'resources', 'verbs', 'nonResourceURLs'] as const).flatMap((list) => [
    {
      name: `64 ${list}`,
      rules: [{ ...view, [list]: seq('x', 64) }],
      gives: [{ ...view, [list]: seq('x', 64) }],
      cuts: [],
    },
    {
      name: `65 ${list}`,
      rules: [{ ...view, [list]: seq('x', 65) }],
      gives: [{ ...view, [list]: seq('x', 64) }],
      cuts: [new RegExp(`^more than 64 ${list} in rule 0$`)],
    },
  ]),
  {
    name: '1,001 names, which do not become all names',
    rules: [{ ...view, resourceNames: seq('n', 1_001) }],
    gives: [{ ...view, resourceNames: seq('n', 1_000) }],
    cuts: [/^more than 1000 resourceNames in rule 0$/],
  },
  {
    name: 'the same entry hundreds of times',
    rules: [{ apiGroups: Array(300).fill('g'), resources: Array(300).fill('docs'), verbs: Array(300).fill('get') }],
    gives: [view],
    cuts: [],
  },
  {
    name: '10,000 grants',
    rules: [
      { apiGroups: seq('g', 10), resources: seq('r', 50), verbs: seq('v', 20) },
      { verbs: [], apiGroups: ['g'] },
    ],
    gives: [{ apiGroups: seq('g', 10), resources: seq('r', 50), verbs: seq('v', 20) }],
    cuts: [],
  },
  {
    name: '10,001 grants',
    rules: [{ apiGroups: seq('g', 10), resources: seq('r', 50), verbs: seq('v', 20) }, view, view],
    gives: [{ apiGroups: seq('g', 10), resources: seq('r', 50), verbs: seq('v', 20) }],
    cuts: [/^more than 10000 grants, so rule 1 and those after it do not count$/],
  },
];
for (const { name, rules, gives, cuts } of cases) {
  test(`permissions: of a stored role that exceeds the limits, the part within them counts: ${name}`, () => {
    const record = stored(rules);
    assert.deepEqual(
      record.rules.rules.map(({ rule }) => rule),
      gives,
    );
    assert.equal(record.cuts.length, cuts.length, record.cuts.join());
    for (const [i, cut] of cuts.entries()) assert.match(record.cuts[i]!, cut);
  });
}

test('permissions: of a stored list of dependencies count 1,000 different names', () => {
  const of = (names: readonly string[]) => stored([], { [keys.dependencies]: JSON.stringify(names) });
  assert.equal(of(seq('r', roleBounds.dependencies)).cuts.length, 0);
  const { dependencies, cuts } = of(seq('r', roleBounds.dependencies + 1));
  assert.deepEqual([dependencies.length, cuts], [1_000, ['more than 1000 dependencies']]);
  assert.deepEqual(of(Array(30_000).fill('r')).dependencies, ['r']);
});

test('permissions: grants are counted as verbs × (groups × resources × names + paths)', () => {
  assert.equal(countGrants({ verbs: ['a', 'b'], apiGroups: ['g'], resources: ['r', 's'], nonResourceURLs: ['/x'] }), 6);
  assert.equal(countGrants({ verbs: ['a'], apiGroups: ['g'], resources: ['r'], resourceNames: ['x', 'y'] }), 2);
  assert.equal(countGrants({ verbs: [], apiGroups: ['g'], resources: ['r'] }), 0);
  assert.equal(countGrants({ verbs: ['a'], apiGroups: [], resources: ['r'] }), 0);
});
