import assert from 'node:assert/strict';
import { test } from 'node:test';
import { threeWay } from './three-way.ts';

const item = (n: number) => ({ n, hidden: `h${n}` });
const inner = { inner: true };
const shown = (n: number) => ({ n });

test('items that the version of the client leaves out stay where they are', () => {
  const stored = [item(1), inner, item(2), { inner: 2 }];
  const base = [shown(1), shown(2)];
  const merged = (...mine: unknown[]) => threeWay(stored, base, mine);
  assert.deepEqual(merged(shown(1), shown(2)), stored);
  assert.deepEqual(merged(shown(1), shown(2), shown(3)), [item(1), inner, item(2), { inner: 2 }, shown(3)]);
  assert.deepEqual(merged(shown(2), shown(1)), [item(2), inner, item(1), { inner: 2 }]);
  assert.deepEqual(merged(shown(1), shown(9)), [item(1), inner, shown(9), { inner: 2 }]);
  assert.deepEqual(merged(shown(2)), [item(2), inner, { inner: 2 }]);
  assert.deepEqual(merged(), [inner, { inner: 2 }]);
  assert.deepEqual(threeWay({ list: [inner] }, { list: [] }, { list: [shown(1)] }), { list: [inner, shown(1)] });
});

test('where it is not known from which stored items those of the base come, the items of the client count', () => {
  const cases: [stored: unknown[], base: unknown[], mine: unknown[]][] = [
    // Either of two.
    [[item(1), { n: 1, hidden: 'x' }], [shown(1)], []],
    // What comes twice is taken out.
    [['b', 'a', 'b'], ['b', 'a'], ['a']],
    [['b', 'a', 'c'], ['a', 'b'], ['a']],
    [['a'], ['a', 'added'], ['added']],
    [['a', 'b'], ['A'], ['A', 'c']],
  ];
  for (const [stored, base, mine] of cases) assert.deepEqual(threeWay(stored, base, mine), mine);
});
