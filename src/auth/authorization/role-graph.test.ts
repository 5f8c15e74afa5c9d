import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RoleRecord } from './role.ts';
import { entriesLimit, RoleGraph } from './role-graph.ts';
import { RuleSet } from './rule-set.ts';

function record(name: string, links: Partial<Pick<RoleRecord, 'dependencies' | 'aggregatesTo'>> = {}): RoleRecord {
  const rules = new RuleSet([{ apiGroups: ['g'], resources: [name], verbs: ['get'] }]);
  return { rules, dependencies: [], aggregatesTo: [], cuts: [], ...links };
}

const seq = (prefix: string, count: number) => Array.from({ length: count }, (_, i) => `${prefix}${i}`);

/** A role with so many roles that each depend on the same thousand. */
function wide(middle: number): RoleGraph {
  const graph = new RoleGraph();
  graph.set('top', record('top', { dependencies: seq('middle', middle) }));
  for (const name of seq('middle', middle)) graph.set(name, record(name, { dependencies: seq('leaf', 1_000) }));
  for (const name of seq('leaf', 1_000)) graph.set(name, record(name));
  return graph;
}

test('permissions: dependencies and aggregation are followed to the end, each role once', () => {
  const graph = new RoleGraph();
  graph.set('a', record('a', { dependencies: ['b', 'b', 'gone'] }));
  graph.set('b', record('b', { dependencies: ['a'] }));
  graph.set('c', record('c', { aggregatesTo: ['b'] }));
  graph.set('d', record('d', { aggregatesTo: ['gone'] }));
  const { sources, missing, isCut } = graph.reach([{ name: 'a' }]);
  assert.deepEqual(
    sources.map(({ role }) => role),
    ['a', 'b', 'c', 'd'],
  );
  assert.deepEqual([missing, isCut], [['gone'], false]);
  graph.set('c', record('c'));
  graph.set('b', undefined);
  assert.deepEqual(graph.reach([{ name: 'a' }]).missing, ['b', 'gone']);
});

test('permissions: however many links there are, a bounded number of them is followed, the nearest roles first', () => {
  const all = wide(19).reach([{ name: 'top' }]);
  assert.deepEqual([all.sources.length, all.isCut], [1_020, false]);
  const some = wide(25).reach([{ name: 'top' }]);
  assert.deepEqual([some.sources.length, some.isCut], [1_026, true]);
  assert.deepEqual(
    some.sources.slice(0, 3).map(({ role }) => role),
    ['top', 'middle0', 'middle1'],
  );
});

test('permissions: the rules of one identity count up to a number of entries; the nearest and smaller ones, and super-role, still do', () => {
  const graph = new RoleGraph();
  const roots = [...seq('large', 100), 'small', 'super-role'].map((name) => ({ name }));
  const large = new RuleSet(Array(100).fill({ apiGroups: ['g'], resources: seq('r', 60), verbs: ['get'] }));
  for (const name of seq('large', 100)) graph.set(name, { ...record(name), rules: large });
  graph.set('small', record('small'));
  const { sources, isCut } = graph.reach(roots);
  const taken = Math.floor(entriesLimit / large.size);
  const names = sources.map(({ role }) => role);
  assert.deepEqual([names, isCut], [[...seq('large', taken), 'small', 'super-role'], true]);
  const most = graph.reach(seq('large', taken).map((name) => ({ name })));
  assert.deepEqual([most.sources.length, most.isCut], [taken, false]);
});
