import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatText, invalid, KindredError, listedViolations, Violations, violation } from './errors.ts';
import { messages } from './schema/messages.ts';

const counted: [number, string][] = [
  [0, 'must have at least 0 items, has 7'],
  [1, 'must have at least 1 item, has 7'],
  [2, 'must have at least 2 items, has 7'],
];
for (const [limit, expected] of counted) {
  test(`errors: a message has its noun in the singular for 1 alone - ${limit}`, () => {
    assert.equal(formatText(messages.minItems, { limit, count: 7 }), expected);
  });
}

test('errors: the number of violations is a sentence', () => {
  const one = violation('/spec/a', 'required', messages.required);
  assert.match(invalid([one]).message, / 1 violation, the first at "\/spec\/a": is required$/);
  const two = invalid([one, violation('/spec/b', 'required', messages.required)]);
  assert.match(two.message, / 2 violations, the first at "\/spec\/a": is required$/);
  assert.match(String(two.problem('zh').detail), /共 2 处问题，第一处位于 "\/spec\/a"：为必填项$/);
});

test('errors: the message of a plain Error has the first violation unchanged, with its braces', () => {
  const one = violation('/spec/a', 'index', { en: 'the index "a" gave {count}', zh: '索引 "a" 给出 {count}' });
  assert.match(invalid([one]).message, /"\/spec\/a": the index "a" gave \{count\}$/);
});

test('an error may have one text for all languages', () => {
  const error = new KindredError('NotFound', 'No teapot {name}', { params: { name: 'brown' } });
  assert.equal(error.message, 'No teapot brown');
  assert.equal(error.problem('zh').detail, 'No teapot brown');
  assert.equal(new KindredError('NotFound', 'No {teapot}').message, 'No {teapot}');
});

test('errors: braces in a text that are no parameter stay as they are', () => {
  const text = { en: 'got {a|b|c} and {name} and {other}', zh: '' };
  assert.equal(formatText(text, { name: '{other}' }), 'got {a|b|c} and {other} and {other}');
});

const text = { en: 'must be {limit}, is {value}', zh: '必须为 {limit}，实际为 {value}' };

/** So many different violations. */
function found(count: number): Violations {
  const violations = new Violations();
  for (let i = 0; i < count; i++) violations.add(`/${i}`, 'const', text, { limit: 1, value: i });
  return violations;
}

test('limits: 100 violations are listed, 1,000 are counted', () => {
  assert.equal(listedViolations, 100);
  for (const [count, listed, omitted] of [
    [1, 1, undefined],
    [100, 100, undefined],
    [101, 100, 1],
    [999, 100, 899],
    [1_000, 100, 900],
    [1_001, 100, 900],
  ] as const) {
    const violations = found(count);
    const error = invalid(violations);
    assert.deepEqual([error.errors?.length, error.omitted], [listed, omitted], `${count} violations`);
    assert.equal(violations.isFull, count >= 1_000);
    assert.deepEqual(error.errors?.at(-1)?.pointer, `/${listed - 1}`);
    assert.equal(error.problem().omitted, omitted);
  }
});

test('limits: a list of very many violations is cut in the same way', () => {
  const many = Array.from({ length: 5_000 }, (_, i) => violation(`/${i}`, 'type', text));
  const { errors, omitted } = invalid(many);
  assert.deepEqual([errors?.length, omitted], [100, 900]);
});

test('a violation that is found twice is one; another message, keyword or place is another', () => {
  const violations = new Violations();
  for (const value of [2, 2, 3]) violations.add('/a', 'const', text, { limit: 1, value });
  violations.add('/b', 'const', text, { limit: 1, value: 2 });
  violations.add('/a', 'enum', text, { limit: 1, value: 2 });
  violations.take(violation('/a', 'enum', text, { limit: 1, value: 2 }));
  assert.deepEqual(
    violations.listed.map(({ pointer, keyword, message }) => `${pointer} ${keyword} ${message}`),
    ['/a const must be 1, is 2', '/a const must be 1, is 3', '/b const must be 1, is 2', '/a enum must be 1, is 2'],
  );
});

test('errors: the message is in the language that is asked for', () => {
  const { detail, errors } = invalid(found(2)).problem('zh') as { detail: string; errors: { message: string }[] };
  assert.match(detail, /共 2 处问题，第一处位于 "\/0"：必须为 1，实际为 0/);
  assert.equal(errors[1]?.message, '必须为 1，实际为 1');
  assert.match(invalid(found(1)).message, /: 1 violation, the first at "\/0": must be 1, is 0$/);
  assert.match(invalid(found(1_000)).message, /: 1000\+ violations, /);
});

test('limits: a pointer of more than 1,000 characters is cut to an enclosing place', () => {
  const token = 'x'.repeat(300);
  const within = `/${token}/${token}/${token}`;
  assert.equal(violation(`${within}/${'y'.repeat(1_000 - within.length - 1)}`, 'type', text).pointer.length, 1_000);
  assert.equal(violation(`${within}/${'y'.repeat(1_000 - within.length)}`, 'type', text).pointer, within);
  assert.equal(violation(`/${'y'.repeat(1_000)}`, 'type', text).pointer, '');
});

test('limits: a value of more than 500 characters is shown by its beginning, as text or as JSON', () => {
  const values: [value: unknown, shown: unknown][] = [
    ['x'.repeat(500), 'x'.repeat(500)],
    ['x'.repeat(501), `${'x'.repeat(500)}…`],
    [`${'x'.repeat(499)}😀`, `${'x'.repeat(499)}\ufffd…`],
    [
      [1, 2],
      [1, 2],
    ],
    [
      { a: [null, 'b'], c: { d: true } },
      { a: [null, 'b'], c: { d: true } },
    ],
    [Array(1_000).fill(1), `[${'1,'.repeat(249)}1…`],
    [{ a: 'x'.repeat(1_000) }, `{"a":"${'x'.repeat(494)}…`],
    [7, 7],
    [null, null],
  ];
  for (const [value, shown] of values) {
    const { params, message } = violation('', 'const', text, { value });
    assert.deepEqual((params as { value: unknown }).value, shown);
    assert.ok(message.length < 600);
  }
});

test('a mistake of a developer is reported in full', () => {
  const long = 'x'.repeat(2_000);
  assert.ok(new KindredError('InvalidModel', text, { params: { value: long } }).message.includes(long));
  assert.ok(!new KindredError('BadRequest', text, { params: { value: long } }).message.includes(long));
});

test('errors: an error of a subclass is no other error', () => {
  class Other extends KindredError {}
  const [plain, other] = [new KindredError('NotFound', 'gone'), new Other('NotFound', 'gone')];
  assert.deepEqual(
    [plain instanceof Other, other instanceof Other, other instanceof KindredError],
    [false, true, true],
  );
});
