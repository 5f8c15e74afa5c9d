import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatText, invalid, KindredError, violation } from './errors.ts';
import { messages } from './model/json-schema/messages.ts';

const counted: [number, string][] = [
  [0, 'must have at least 0 items, has 7'],
  [1, 'must have at least 1 item, has 7'],
  [2, 'must have at least 2 items, has 7'],
];
for (const [limit, expected] of counted) {
  test(`contract 5: a message has its noun in the singular for 1 alone - ${limit}`, () => {
    assert.equal(formatText(messages.minItems, { limit, count: 7 }), expected);
  });
}

test('contract 5: the number of violations is a sentence', () => {
  const one = violation('/spec/a', 'required', messages.required);
  assert.match(invalid([one]).message, / 1 violation, the first at "\/spec\/a": is required$/);
  const two = invalid([one, violation('/spec/b', 'required', messages.required)]);
  assert.match(two.message, / 2 violations, the first at "\/spec\/a": is required$/);
  assert.match(String(two.problem('zh').detail), /共 2 处问题，第一处位于 "\/spec\/a"：为必填项$/);
});

test('contract 5: the first violation is told in a plain Error as it is, braces in it included', () => {
  const one = violation('/spec/a', 'index', { en: 'the index "a" gave {count}', zh: '索引 "a" 给出 {count}' });
  assert.match(invalid([one]).message, /"\/spec\/a": the index "a" gave \{count\}$/);
});

test('an error may have one text for all languages', () => {
  const error = new KindredError('NotFound', 'No teapot {name}', { name: 'brown' });
  assert.equal(error.message, 'No teapot brown');
  assert.equal(error.problem('zh').detail, 'No teapot brown');
  assert.equal(new KindredError('NotFound', 'No {teapot}').message, 'No {teapot}');
});

test('contract 5: braces in a text that are no parameter stay as they are', () => {
  const text = { en: 'got {a|b|c} and {name} and {other}', zh: '' };
  assert.equal(formatText(text, { name: '{other}' }), 'got {a|b|c} and {other} and {other}');
});
