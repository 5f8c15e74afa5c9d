import assert from 'node:assert/strict';
import { test } from 'node:test';
import { continueText, continueToken } from './continue.ts';
import { count, flag, isDryRun, revision, writeParameters } from './parameters.ts';

const query = (text: string) => new URLSearchParams(text);

test('booleans as Go reads them', () => {
  for (const text of ['1', 't', 'T', 'true', 'TRUE', 'True']) assert.equal(flag(query(`a=${text}`), 'a'), true);
  for (const text of ['0', 'f', 'F', 'false', 'FALSE', 'False']) assert.equal(flag(query(`a=${text}`), 'a'), false);
  assert.equal(flag(query(''), 'a'), undefined);
  assert.equal(flag(query('a='), 'a'), undefined);
  assert.throws(() => flag(query('a=yes'), 'a'), { status: 400 });
});

test('whole numbers and revisions', () => {
  assert.equal(count(query('limit=500'), 'limit'), 500);
  assert.equal(count(query(''), 'limit'), undefined);
  assert.throws(() => count(query('limit=-1'), 'limit'), { status: 400 });
  assert.equal(revision('17'), 17);
  assert.equal(revision(''), undefined);
  assert.throws(() => revision('1e3'), { status: 400 });
});

test('dry runs', () => {
  assert.equal(isDryRun([]), false);
  assert.equal(isDryRun(['All']), true);
  assert.throws(() => isDryRun(['true']), { status: 422 });
});

test('the manager of a write: the one that is named, or the program', () => {
  assert.equal(writeParameters(query('fieldManager=me'), 'kubectl/v1').manager, 'me');
  assert.equal(writeParameters(query(''), 'kubectl/v1.20 (linux)').manager, 'kubectl');
  assert.equal(writeParameters(query(''), undefined).manager, 'unknown');
  for (const wrong of ['x'.repeat(129), 'a\u0007']) {
    assert.throws(() => writeParameters(new URLSearchParams({ fieldManager: wrong }), ''), { status: 422 });
  }
  assert.equal(writeParameters(query('fieldValidation=Strict'), '').fieldValidation, 'Strict');
  assert.equal(writeParameters(query(''), '').fieldValidation, 'Warn');
  assert.throws(() => writeParameters(query('fieldValidation=Some'), ''), { status: 422 });
});

test('tokens of lists come back as they were', () => {
  for (const token of [
    { revision: 12, after: 'team/a.b', remaining: 3 },
    { revision: 0, after: 'é', remaining: undefined },
  ]) {
    assert.deepEqual(continueToken(continueText(token)), token);
  }
});
