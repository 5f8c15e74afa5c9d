import assert from 'node:assert/strict';
import { test } from 'node:test';
import { invalid, violation } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import { describe } from './describe.ts';
import { UsageError } from './io.ts';

const bell = '\u0007';
const clear = '\u001b[2J';

test('command-line: an error of the service does nothing to the terminal', () => {
  const text = localized('must be a text');
  const error = invalid([violation(`/spec/${clear}`, 'type', text)]);
  for (const shown of [describe(error), describe(new Error(`a\nb${bell}`)), describe(new UsageError(`a${clear}`))])
    assert.doesNotMatch(shown, /[^\P{Cc}\n]/u);
  assert.equal(describe(new Error(`a\n  b${bell}`)), 'kindred: a b\u{fffd}\n');
});
