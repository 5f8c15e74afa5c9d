import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lines, lineWidth, table, widthsOf } from './table.ts';

test('command-line: columns are as wide as they need, wide characters counted as two, combining ones as none', () => {
  assert.equal(
    table(
      ['NAME', 'CITY', 'N'],
      [
        ['a', '東京', '1'],
        ['b', 'Zu\u0308rich', '2'],
        ['c', 'Rome', '3'],
      ],
    ),
    'NAME   CITY     N\na      東京     1\nb      Zu\u0308rich   2\nc      Rome     3\n',
  );
});

test('command-line: what is stored does not break a table, nor move the cursor', () => {
  assert.equal(table(['A', 'B'], [['x\n  y', '\u001b[2J\tz']]), 'A     B\nx y   \ufffd[2J\ufffdz\n');
});

test('command-line: later rows keep the columns of earlier ones, and widen them when they must', () => {
  const widths = widthsOf([['long name', 'x']]);
  assert.equal(lines([['a', 'x']], widths), 'a           x\n');
  assert.deepEqual(widthsOf([['a', 'longer']], widths), [9, 6]);
  assert.equal(lineWidth([9, 6, 1]), 22);
});
