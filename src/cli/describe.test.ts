import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KindredError } from '../errors.ts';
import { describe } from './describe.ts';

const violation = (pointer: string, message: string) => ({
  pointer,
  field: pointer.slice(1),
  keyword: 'type',
  message,
});

test('command-line: an only violation is not said twice, several have a line each', () => {
  const one = violation('/spec/a', 'must be text');
  const invalid = (message: string, ...errors: (typeof one)[]) =>
    describe(new KindredError('Invalid', message, { errors }));
  assert.equal(
    invalid('1 violation, at "/spec/a": must be text', one),
    'kindred: 1 violation, at "/spec/a": must be text\n',
  );
  assert.equal(invalid('it is wrong', one), 'kindred: it is wrong\n  /spec/a: must be text\n');
  assert.equal(
    invalid('2 violations, the first: must be text', one, violation('', 'is too large')),
    'kindred: 2 violations, the first: must be text\n  /spec/a: must be text\n  (object): is too large\n',
  );
});
