import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Budget, Comparison, TooMuchToCompare } from './coverage.ts';
import type { Grant, Rule } from './rule.ts';
import { coversPath, entriesFor } from './rule.ts';
import { RuleSet } from './rule-set.ts';

const lacks = (holder: readonly Rule[][], others: readonly Rule[][]) =>
  new Comparison(
    holder.map((rules) => new RuleSet(rules)),
    new Budget(),
  ).lacks(others.map((rules) => new RuleSet(rules)));

/** Every grant, one by one: what the comparison by lists must come to. */
function* grantsOf(rule: Rule): Generator<Grant> {
  for (const verb of rule.verbs ?? []) {
    for (const path of rule.nonResourceURLs ?? []) yield { verb, path };
    for (const group of rule.apiGroups ?? []) {
      for (const resource of rule.resources ?? []) {
        if (!rule.resourceNames?.length) yield { verb, group, resource };
        for (const name of rule.resourceNames ?? []) yield { verb, group, resource, name };
      }
    }
  }
}

function gives(rule: Rule, grant: Grant): boolean {
  const has = (list: readonly string[] = [], value: string) => list.includes(value) || list.includes('*');
  if (!has(rule.verbs, grant.verb)) return false;
  if ('path' in grant) return (rule.nonResourceURLs ?? []).some((pattern) => coversPath(pattern, grant.path));
  if (!has(rule.apiGroups, grant.group)) return false;
  if (!entriesFor(grant.resource).some((entry) => rule.resources?.includes(entry))) return false;
  return !rule.resourceNames?.length || (grant.name !== undefined && rule.resourceNames.includes(grant.name));
}

const some = <T>(values: readonly T[], maxLength: number) => fc.uniqueArray(fc.constantFrom(...values), { maxLength });
const anyRule: fc.Arbitrary<Rule> = fc.record(
  {
    verbs: some(['get', 'list', 'create', '*'], 3),
    apiGroups: some(['', 'a', 'b', '*'], 3),
    resources: some(['p', 'q', 'p/status', 'p/x/y', '*/status', '*/x', '*'], 4),
    resourceNames: some(['n1', 'n2', 'n3'], 3),
    nonResourceURLs: some(['/a', '/a/b', '/a/*', '/c*', '*'], 2),
  },
  { requiredKeys: ['verbs'] },
);
const anyRoles = fc.array(fc.array(anyRule, { maxLength: 3 }), { maxLength: 3 });

test('permissions: comparing rules list by list comes to the same as comparing their grants one by one', () => {
  const counts = { covered: 0, lacking: 0 };
  fc.assert(
    fc.property(anyRoles, anyRoles, (holder, others) => {
      const missing = lacks(holder, others);
      const ungiven = others
        .flat()
        .flatMap((rule) => [...grantsOf(rule)])
        .filter((grant) => !holder.flat().some((rule) => gives(rule, grant)));
      assert.equal(missing === undefined, ungiven.length === 0, JSON.stringify(missing ?? ungiven[0]));
      if (missing) assert.ok(ungiven.some((grant) => JSON.stringify(grant) === JSON.stringify(missing)));
      counts[missing ? 'lacking' : 'covered']++;
    }),
    { numRuns: 3_000, seed: 4 },
  );
  assert.ok(Math.min(counts.covered, counts.lacking) > 300, JSON.stringify(counts));
});

const seq = (prefix: string, count: number) => Array.from({ length: count }, (_, i) => `${prefix}${i}`);
const pieces = (role: number): Rule[] =>
  Array.from({ length: 100 }, (_, i) => ({
    apiGroups: ['g'],
    resources: seq('r', 50),
    verbs: ['list', `${role}-${i}`],
  }));

test('permissions: a hundred of the largest roles are compared with wide rights', () => {
  const roles = Array.from({ length: 100 }, (_, i) => pieces(i));
  assert.equal(lacks([[{ apiGroups: ['g', 'h'], resources: ['*'], verbs: ['*'] }]], roles), undefined);
  assert.deepEqual(lacks([[{ apiGroups: ['g'], resources: ['*'], verbs: ['list'] }]], roles), {
    verb: '0-0',
    group: 'g',
    resource: 'r0',
  });
});

test('permissions: what takes too long to compare is given up', () => {
  const roles = Array.from({ length: 100 }, (_, i) => pieces(i));
  assert.throws(() => lacks(roles, roles), TooMuchToCompare);
});

test('permissions: the very roles that somebody has are not compared', () => {
  const roles = Array.from({ length: 100 }, (_, i) => new RuleSet(pieces(i)));
  assert.equal(new Comparison(roles, new Budget()).lacks(roles), undefined);
});
