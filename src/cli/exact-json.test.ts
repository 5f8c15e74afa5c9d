import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exactIntegers, parseExact } from './exact-json.ts';

test('objects: the command line passes large integers on exactly, from JSON and from YAML', () => {
  const text = '{"a":12345678901234567890,"b":[-9007199254740993],"c":0.1,"d":9007199254740991}';
  assert.equal(JSON.stringify(parseExact(text)), text);
  assert.equal(
    JSON.stringify(exactIntegers({ a: 12345678901234567890n, b: [1n], c: null })),
    '{"a":12345678901234567890,"b":[1],"c":null}',
  );
});
