import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { PathIndex } from './path-index.ts';
import { CompiledRule, coversPath } from './rule.ts';

const text = fc.array(fc.constantFrom('a', 'b', '/'), { maxLength: 5 }).map((parts) => `/${parts.join('')}`);
const pattern = fc.tuple(text, fc.constantFrom('', '*')).map((parts) => parts.join(''));

test('permissions: the index finds the rules that cover a path, as looking at every pattern does', () => {
  const counts = { found: 0, none: 0 };
  fc.assert(
    fc.property(fc.array(fc.array(pattern, { maxLength: 4 }), { maxLength: 6 }), pattern, (lists, path) => {
      const rules = lists.map((nonResourceURLs) => new CompiledRule({ nonResourceURLs, verbs: ['get'] }));
      const index = new PathIndex(rules);
      const covering = rules.filter((rule) => rule.paths.some((one) => coversPath(one, path)));
      // Each of them, when it alone is wanted.
      for (const rule of rules) {
        assert.equal(index.find(path, (one) => one === rule) !== undefined, covering.includes(rule));
      }
      counts[covering.length > 0 ? 'found' : 'none']++;
    }),
    { numRuns: 3_000, seed: 7 },
  );
  assert.ok(Math.min(counts.found, counts.none) > 300, JSON.stringify(counts));
});
