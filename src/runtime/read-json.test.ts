import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { atOnce } from './parts.ts';
import { readJson, readLargeJson } from './read-json.ts';

const texts = fc.string({ unit: fc.constantFrom('a', 'b', '"', '\\', '\n', 'é', ' ', ':'), maxLength: 3 });

/** The value as `[name, value]` lists, so that no object and no names of one take part in the comparison. */
function listed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(listed);
  if (typeof value !== 'object' || value === null) return value;
  return { members: Object.entries(value).map(([name, one]) => [name, listed(one)]) };
}

test('names with escapes are read as they are written', () => {
  const names = fc.array(texts, { minLength: 1, maxLength: 3 });
  let misread = 0;
  fc.assert(
    fc.property(names, names, fc.constantFrom(undefined, 1), (one, two, indent) => {
      const objects = [one, two, one].map((members) => Object.fromEntries(members.map((name, i) => [name, i])));
      const text = JSON.stringify(objects, null, indent);
      assert.deepEqual(listed(readJson(text)), listed(objects));
      if (JSON.stringify(JSON.parse(text)) !== JSON.stringify(objects)) misread++;
    }),
    { numRuns: 20_000 },
  );
  // When this fails, V8 no longer has the fault, and `read-json.ts` may go.
  assert.ok(misread > 0, 'JSON.parse read every name');
});

test('values are those of JSON.parse', () => {
  // `\\` in a name: the text is read token by token.
  const value = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      texts,
      fc.double({ noDefaultInfinity: true, noNaN: true }).map((one) => one + 0),
      fc.constantFrom(null, true, false),
      tie('list'),
      tie('object'),
    ),
    list: fc.array(tie('value'), { maxLength: 4 }),
    object: fc.dictionary(fc.string(), tie('value'), { maxKeys: 4 }),
  })).value;
  fc.assert(
    fc.property(value, fc.constantFrom(undefined, ' ', '\n\t'), (one, indent) => {
      const text = JSON.stringify({ '\\': one, more: [] }, null, indent);
      assert.deepEqual(listed((readJson(text) as { '\\': unknown })['\\']), listed(one));
      assert.deepEqual(listed(atOnce(readLargeJson(JSON.stringify(one, null, indent)))), listed(one));
    }),
  );
  const odd = '{"\\\\":1,"__proto__":{"a":1},"b":1,"2":[],"1":{},"b":[-0.5e-7,1E3]}';
  for (const read of [readJson(odd), atOnce(readLargeJson(odd))]) {
    assert.deepEqual(listed(read), listed(JSON.parse(odd)));
    assert.ok(Object.hasOwn(read as object, '__proto__'));
  }
});

test('a text that is no JSON is refused as by JSON.parse', () => {
  for (const text of ['', '{"\\n":1', '{"a\\":1}', '{"\\x":1}', '{"\\n":1}}'])
    assert.throws(() => readJson(text), SyntaxError);
});

test('a large text is refused when JSON.parse refuses it', () => {
  const token = fc.constantFrom(
    ...'{}[],: 0',
    '"a"',
    '"b"',
    'null',
    '-1.5e3',
    '01',
    '0x1',
    '1-2',
    'x',
    '"\n"',
    '"\\x"',
    '"',
  );
  let accepted = 0;
  fc.assert(
    fc.property(fc.array(token, { maxLength: 7 }), (tokens) => {
      const text = tokens.join('');
      let expected: unknown;
      try {
        expected = JSON.parse(text);
      } catch {
        assert.throws(() => atOnce(readLargeJson(text)), SyntaxError, text);
        return;
      }
      accepted++;
      assert.deepEqual(atOnce(readLargeJson(text)), expected);
    }),
    { numRuns: 50_000 },
  );
  assert.ok(accepted > 500, `${accepted} texts were JSON`);
});

test('a large text is read in parts, and refused when it is cut off', () => {
  const text = JSON.stringify({ zones: Array.from({ length: 5_000 }, (_, i) => `zone ${i}`), 'v:"a"': { n: -1.5 } });
  const parts = readLargeJson(text);
  let count = 1;
  while (!parts.next().done) count++;
  assert.ok(count >= 10, `${count} parts`);
  for (let end = text.length - 1; end >= 0; end -= end > text.length - 100 ? 1 : 997)
    assert.throws(() => atOnce(readLargeJson(text.slice(0, end))), SyntaxError);
});
