import assert from 'node:assert/strict';
import { test } from 'node:test';
import { csvLine } from './csv.ts';

test('console: cells of CSV are quoted where they must be, and no text is a formula', () => {
  assert.equal(
    csvLine(['a', 'b,c', 'say "x"', 'two\nlines', -5, true, null, { a: 1 }]),
    'a,"b,c","say ""x""","two\nlines",-5,true,,"{""a"":1}"\r\n',
  );
  for (const text of ['=1+1', '+1', '-1', '@x', '\tx']) assert.equal(csvLine([text])[0], "'");
});
