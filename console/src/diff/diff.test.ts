import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { changesBetween, lineDiff, withoutUnchanged } from './diff.ts';
import { ExactNumber, isEqual, plain, withValue } from './pointer.ts';

test('diff: members that came, went and changed, by pointer', () => {
  const before = { title: 'Emma', tags: ['a', 'b'], 'a/b': 1, gone: true };
  const after = { title: 'EMMA', tags: ['a', 'c'], 'a/b': 1, come: null };
  assert.deepEqual(changesBetween(before, after), [
    { pointer: '/title', before: 'Emma', after: 'EMMA' },
    { pointer: '/tags/1', before: 'b', after: 'c' },
    { pointer: '/gone', before: true, after: undefined },
    { pointer: '/come', before: undefined, after: null },
  ]);
  assert.deepEqual(changesBetween({ a: [1] }, { a: [1, 2] }), [{ pointer: '/a', before: [1], after: [1, 2] }]);
});

const json = fc.jsonValue({ maxDepth: 3 });

test('diff: property - the changes turn one value into the other', () => {
  fc.assert(
    fc.property(json, json, (before, after) => {
      let value: unknown = before;
      for (const { pointer, after: next } of changesBetween(before, after)) value = withValue(value, pointer, next);
      assert.ok(isEqual(value, after));
    }),
  );
});

test('diff: property - the lines of both texts, in order', () => {
  const text = fc.array(fc.constantFrom('a', 'b', 'c', ''), { maxLength: 12 }).map((lines) => `${lines.join('\n')}\n`);
  fc.assert(
    fc.property(text, text, (before, after) => {
      const lines = lineDiff(before, after);
      const of = (other: string) =>
        lines
          .filter((line) => line.kind !== other)
          .map((line) => `${line.text}\n`)
          .join('');
      assert.equal(of('added'), before === '\n' ? of('added') : before);
      assert.equal(of('removed'), after === '\n' ? of('removed') : after);
      if (before === after) assert.ok(lines.every((line) => line.kind === 'same'));
    }),
  );
});

test('diff: unchanged lines far from a change are counted only', () => {
  const text = Array.from({ length: 20 }, (_, i) => `line ${i}`);
  const after = text.with(10, 'other');
  const shown = withoutUnchanged(lineDiff(text.join('\n'), after.join('\n')), 1);
  assert.deepEqual(
    shown.map((line) => (line.kind === 'gap' ? line.count : `${line.kind} ${line.text}`)),
    [9, 'same line 9', 'removed line 10', 'added other', 'same line 11', 8],
  );
});

test('pointer: a change shares what it does not touch, makes objects on the way, and takes items away', () => {
  const before = { a: { b: 1 }, c: { d: [1, 2, 3] } };
  const after = withValue(before, '/a/b', 2) as typeof before;
  assert.equal(after.c, before.c);
  assert.deepEqual(before.a, { b: 1 });
  assert.deepEqual(withValue({}, '/x/y~1z', 1), { x: { 'y/z': 1 } });
  assert.deepEqual(withValue(before, '/c/d/1', undefined), { a: { b: 1 }, c: { d: [1, 3] } });
  assert.equal(withValue(before, '/no/such', undefined), before);
  const own = withValue({}, '/__proto__/x', 1);
  assert.ok(Object.hasOwn(own as object, '__proto__'));
  assert.equal(({} as { x?: unknown }).x, undefined);
});

test('pointer: a number that JavaScript has not stays as it was typed', () => {
  const value = { big: new ExactNumber('12345678901234567890'), list: [1] };
  assert.equal(JSON.stringify(value), '{"big":12345678901234567890,"list":[1]}');
  assert.deepEqual(plain(value), { big: Number('12345678901234567890'), list: [1] });
  const other = { list: [1], deep: { er: 2 } };
  assert.equal(plain(other), other);
});
