import assert from 'node:assert/strict';
import { test } from 'node:test';
import { slowness, threadTime } from '../../../test/slowness.ts';
import type { Access } from '../../resource/access.ts';
import { TooMuchToCompare } from './coverage.ts';
import { Layer, Policy } from './policy.ts';
import { RoleGraph } from './role-graph.ts';
import type { Rule } from './rule.ts';
import { RuleSet } from './rule-set.ts';

const seq = (prefix: string, count: number) => Array.from({ length: count }, (_, i) => `${prefix}${i}`);

/** The policies of somebody with a hundred of the largest roles, each made anew: nothing is remembered. */
function policies(count: number, rule: (role: number, i: number) => Rule): Policy[] {
  const graph = new RoleGraph();
  const names = seq('role', 100);
  for (const [role, name] of names.entries()) {
    const rules = new RuleSet(Array.from({ length: 100 }, (_, i) => rule(role, i)));
    graph.set(name, { rules, dependencies: [], aggregatesTo: [], cuts: [] });
  }
  const { sources } = graph.reach(names.map((name) => ({ name })));
  return Array.from({ length: count }, () => new Policy([new Layer(sources)]));
}

/** Milliseconds of processor time that the quickest of some runs takes: what it takes when nothing else goes on. */
function quickest(runs: readonly (() => unknown)[]): number {
  const times = runs.map((run) => {
    const before = threadTime();
    run();
    return threadTime() - before;
  });
  return Math.min(...times);
}

const path = `/${'a'.repeat(200)}`;
const prefixes = Array.from({ length: 64 }, (_, i) => `${path.slice(0, 1 + 2 * i)}*`);
const usual = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'explain', '*'];
const long = 'x'.repeat(240);

const hostile: { name: string; rule: (role: number, i: number) => Rule; access: Access }[] = [
  {
    name: 'every pattern covers the path, for another verb',
    rule: () => ({ nonResourceURLs: prefixes, verbs: ['put'] }),
    access: { verb: 'get', path },
  },
  {
    name: 'every pattern nearly covers the path',
    rule: () => ({ nonResourceURLs: prefixes.map((one) => `${one.slice(0, -1)}b*`), verbs: ['get'] }),
    access: { verb: 'get', path },
  },
  {
    name: 'every rule has the resource under five entries, for one name',
    rule: (role, i) => ({
      apiGroups: ['g'],
      resources: ['*', '*/s', 'docs/s', 'docs/s/t', '*/s/t', ...seq('r', 55)],
      resourceNames: [`${role}-${i}`],
      verbs: ['get'],
    }),
    access: { verb: 'get', group: 'g', resource: 'docs/s/t' },
  },
  {
    name: 'every rule has 64 other verbs',
    rule: () => ({ apiGroups: ['g'], resources: ['docs'], verbs: seq('v', 64) }),
    access: { verb: 'get', group: 'g', resource: 'docs' },
  },
  {
    name: 'every rule gives the usual verbs for some names',
    rule: (_, i) => ({ apiGroups: ['g'], resources: ['docs', '*'], resourceNames: seq(`${i}-`, 5), verbs: usual }),
    access: { verb: 'get', group: 'g', resource: 'docs' },
  },
  {
    name: 'every rule has a hundred long names, and not that one',
    rule: (role, i) => ({
      apiGroups: ['g'],
      resources: ['docs'],
      resourceNames: seq(`${long}${role}-${i}-`, 100),
      verbs: ['get'],
    }),
    access: { verb: 'get', group: 'g', resource: 'docs', name: `${long}99-99-x` },
  },
];

for (const { name, rule, access } of hostile) {
  test(`permissions: a question about a hundred of the largest roles is a short one: ${name}`, () => {
    const time = quickest(policies(5, rule).map((policy) => () => policy.decide(access)));
    assert.ok(time < 25 * slowness(), `${time} ms of processor time`);
  });
}

test('permissions: comparing the largest roles does not take long, whatever comes of it', () => {
  const mine = (role: number, i: number): Rule => ({ nonResourceURLs: seq(`/${role}/${i}/`, 60), verbs: ['get'] });
  const shapes: [typeof mine, typeof mine][] = [
    [mine, (role, i) => mine(99 - role, 99 - i)],
    [
      (_, i) => ({ nonResourceURLs: seq(`/${long}${i}/`, 64).map((one) => `${one}*`), verbs: ['get'] }),
      (_, i) => ({ nonResourceURLs: seq(`/${long}${99 - i}/`, 64).map((one) => `${one}x`), verbs: ['get'] }),
    ],
    [
      (role, i) => ({ apiGroups: ['g'], resources: seq('r', 50), verbs: ['list', `${role}-${i}`] }),
      (role, i) => ({ apiGroups: ['g'], resources: seq('r', 50), verbs: ['list', `${99 - role}-${i}`] }),
    ],
  ];
  for (const [holder, other] of shapes) {
    const [theirs] = policies(1, other);
    const compare = (policy: Policy) => () => {
      try {
        policy.lacks(theirs!);
      } catch (error) {
        assert.ok(error instanceof TooMuchToCompare);
      }
    };
    const time = quickest(policies(5, holder).map(compare));
    assert.ok(time < 40 * slowness(), `${time} ms of processor time`);
  }
});
