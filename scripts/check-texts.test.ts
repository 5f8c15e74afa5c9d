import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkTexts } from './check-texts.ts';

const check = (files: Record<string, string>, lines: readonly string[]) =>
  checkTexts(new Map(Object.entries(files)), new Set(lines));

test('texts that are in the catalogue pass', () => {
  const files = {
    'http/a.ts': "const text = localized('no route matches {path}');",
    'client/b.ts': "const text = { en: 'gone', zh: '已断开' };",
    'http/a.test.ts': "const text = { en: 'x', zh: 'x' };",
  };
  assert.deepEqual(check(files, ['no route matches {path}']), []);
});

test('a line that no text uses, a text that is put together, and Chinese beside the logic are named', () => {
  const files = { 'http/a.ts': "\nconst one = localized('no ' + what);\nconst two = { en: 'gone', zh: '已断开' };" };
  assert.deepEqual(check(files, ['no route']), [
    'src/http/a.ts:2: localized() takes one string as it stands in the catalogue',
    'src/http/a.ts:3: texts in Chinese stand in src/locales/zh.ts',
    'src/locales/zh.ts: no text is "no route"',
  ]);
});
