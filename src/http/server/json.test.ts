import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { KindredError } from '../../errors.ts';
import { parseJson } from './json.ts';

function refusal(input: string | Uint8Array, limits?: Parameters<typeof parseJson>[1]): KindredError {
  try {
    parseJson(Buffer.from(input as string), limits);
  } catch (error) {
    assert.ok(error instanceof KindredError, String(error));
    return error;
  }
  assert.fail(`accepted: ${input}`);
}

describe('objects: an empty or malformed body, duplicate members, bad UTF-8, too deep: 400 with the position', () => {
  const cases: {
    name: string;
    body: string | Uint8Array;
    position: number;
    line?: number;
    column?: number;
    detail: RegExp;
  }[] = [
    { name: 'empty', body: '', position: 0, detail: /empty/ },
    { name: 'white space alone', body: ' \n ', position: 0, detail: /empty/ },
    { name: 'a word', body: '{"a": tru}', position: 6, line: 1, column: 7, detail: /a JSON value expected, "t" found/ },
    { name: 'a comma too many', body: '[1,]', position: 3, detail: /a JSON value expected/ },
    { name: 'a comma too many in an object', body: '{"a":1,}', position: 7, detail: /member name in quotation marks/ },
    { name: 'a missing colon', body: '{"a" 1}', position: 5, detail: /":" expected/ },
    { name: 'a name without quotes', body: '{a:1}', position: 1, detail: /member name in quotation marks/ },
    { name: 'cut off in an object', body: '{"a":1', position: 6, detail: /"," or "}" expected, the end found/ },
    { name: 'cut off in a list', body: '[1', position: 2, detail: /"," or "]" expected, the end found/ },
    { name: 'cut off in a string', body: '{"a":"x', position: 7, detail: /closing quotation mark/ },
    { name: 'a control character', body: '"a\tb"', position: 2, detail: /escaped control character/ },
    { name: 'an unknown escape', body: '"\\x"', position: 1, detail: /valid escape sequence/ },
    { name: 'half an escape', body: '"\\u12"', position: 1, detail: /valid escape sequence/ },
    {
      name: 'something behind the value',
      body: '{}\n x',
      position: 4,
      line: 2,
      column: 2,
      detail: /end of the text expected, "x" found/,
    },
    { name: 'a leading zero', body: '01', position: 1, detail: /end of the text/ },
    { name: 'NaN', body: 'NaN', position: 0, detail: /a JSON value expected/ },
    {
      name: 'position in bytes, column in characters',
      body: '{"é😀":!}',
      position: 10,
      line: 1,
      column: 7,
      detail: /"!" found/,
    },
    { name: 'a byte order mark', body: '\ufeff{}', position: 0, detail: /byte order mark/ },
    { name: 'a byte that is no UTF-8', body: Uint8Array.of(0x22, 0x61, 0xff, 0x22), position: 2, detail: /not UTF-8/ },
    { name: 'an overlong sequence', body: Uint8Array.of(0x22, 0xc0, 0x80, 0x22), position: 1, detail: /not UTF-8/ },
    {
      name: 'a surrogate as UTF-8',
      body: Uint8Array.of(0x22, 0xed, 0xa0, 0x80, 0x22),
      position: 1,
      detail: /not UTF-8/,
    },
    {
      name: 'a member twice',
      body: '{"a":1,\n "a":2}',
      position: 9,
      line: 2,
      column: 2,
      detail: /Duplicate member "a"/,
    },
    { name: 'a member twice by escape', body: '{"a":1,"\\u0061":2}', position: 7, detail: /Duplicate member "a"/ },
    {
      name: 'a member twice, deep',
      body: '[{"x":{"y":1,"z":{},"y":3}}]',
      position: 20,
      detail: /Duplicate member "y"/,
    },
    {
      name: '__proto__ twice',
      body: '{"__proto__":1,"__proto__":2}',
      position: 15,
      detail: /Duplicate member "__proto__"/,
    },
    { name: '65 levels', body: '['.repeat(65) + ']'.repeat(65), position: 64, detail: /at most 64 levels/ },
    { name: 'a million brackets', body: '['.repeat(1_000_000), position: 64, detail: /at most 64 levels/ },
  ];
  for (const { name, body, position, line, column, detail } of cases) {
    test(name, () => {
      const error = refusal(body);
      assert.equal(error.code, 'BadRequest');
      assert.match(error.message, detail);
      const { position: at, line: atLine, column: atColumn } = error.problem() as Record<string, unknown>;
      assert.equal(at, position);
      if (line !== undefined) assert.deepEqual([atLine, atColumn], [line, column]);
      assert.match(String(error.problem('zh').detail), /[一-鿿]/);
    });
  }

  test('64 levels are accepted', () => {
    assert.ok(parseJson(Buffer.from(`${'{"a":'.repeat(63)}[]${'}'.repeat(63)}`)));
  });

  test('10,000 members are accepted, one more is not', () => {
    const text = (count: number) => `{${Array.from({ length: count }, (_, i) => `"m${i}":0`).join(',')}}`;
    assert.equal(Object.keys(parseJson(Buffer.from(text(10_000))) as object).length, 10_000);
    assert.match(refusal(text(10_001)).message, /at most 10000/);
  });

  test('a megabyte in one string is read, and refused with its place when it does not end', () => {
    const text = 'x'.repeat(1_000_000);
    assert.equal(parseJson(Buffer.from(`"${text}"`)), text);
    assert.match(refusal(`"${text}`).message, /closing quotation mark/);
  });
});

describe('objects: __proto__ and constructor are member names like any other', () => {
  test('they are own members and reach no prototype', () => {
    const value = parseJson(
      Buffer.from('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}'),
    ) as object;
    assert.deepEqual(Object.keys(value), ['__proto__', 'constructor']);
    assert.equal(Object.getPrototypeOf(value), Object.prototype);
    assert.equal(({} as { polluted?: number }).polluted, undefined);
  });
});

describe('objects: a number that JavaScript cannot hold exactly is refused with 422, never changed silently', () => {
  const exact = [
    '0',
    '1.0',
    '1.50',
    '1e5',
    '1E+2',
    '-2.5e-3',
    '9007199254740992',
    '9007199254740994',
    '123456789012345',
    '0.1',
    '0.30000000000000004',
    '1e308',
    '5e-324',
    '1e22',
    '100000000000000000000',
  ];
  for (const token of exact) {
    test(`${token} is accepted`, () => assert.equal(parseJson(Buffer.from(token)), Number(token)));
  }
  const inexact = [
    '9007199254740993',
    '-9007199254740993',
    '12345678901234567890',
    '1e309',
    '-1e400',
    '1e-400',
    '0.1234567890123456789',
    '1.00000000000000000001',
    '4.9e-324',
  ];
  for (const token of inexact) {
    test(`${token} is refused`, () => {
      const error = refusal(`{"spec":{"a/b":[0,${token}]}}`);
      assert.equal(error.code, 'Invalid');
      assert.deepEqual(
        error.errors?.map(({ pointer, keyword }) => [pointer, keyword]),
        [['/spec/a~1b/1', 'precision']],
      );
    });
  }
  test('all of them at once', () => {
    const pointers = refusal('{"a":1e999,"b":[9007199254740993]}').errors!.map((one) => one.pointer);
    assert.deepEqual(pointers, ['/a', '/b/0']);
  });
});

test('law: what JSON.stringify writes is read back as it was, and every text is judged as JSON.parse judges it', () => {
  const seed = Number(process.env.SEED ?? 20_261_120);
  const options = { seed, numRuns: 500, verbose: 1 };
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
      const text = JSON.stringify(value);
      assert.deepEqual(parseJson(Buffer.from(text)), JSON.parse(text));
    }),
    options,
  );
  const piece = fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"a"',
    '"b"',
    '"',
    '\\',
    '1',
    '-',
    '.5',
    'e3',
    'true',
    'null',
    ' ',
    '\n',
    '\u0001',
    'é',
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12, size: 'max' }), (pieces) => {
      const text = pieces.join('');
      let expected: unknown;
      let valid = true;
      try {
        expected = JSON.parse(text);
      } catch {
        valid = false;
      }
      if (!valid) {
        assert.equal(refusal(text).code, 'BadRequest');
        assert.notEqual(refusal(text).message, 'Malformed JSON');
        return;
      }
      try {
        assert.deepEqual(parseJson(Buffer.from(text)), expected);
      } catch (error) {
        assert.ok(error instanceof KindredError, String(error));
        assert.match(error.message, /twice/);
      }
    }),
    options,
  );
});

test('api: a negative zero is the zero that is stored, so that writing it again changes nothing', () => {
  for (const token of ['-0', '-0.0', '-0e5']) {
    const value = parseJson(Buffer.from(`{"a":${token},"b":[${token}],"__proto__":{"c": ${token} },"d":"2024-01-01"}`));
    const { a, b, ['__proto__']: own } = value as { a: number; b: number[]; ['__proto__']: { c: number } };
    for (const zero of [a, b[0], own.c]) assert(Object.is(zero, 0), token);
  }
  assert(Object.is(parseJson(Buffer.from('-0')), 0));
  assert.deepEqual(parseJson(Buffer.from('{"a":-0.5,"b":"-0","c":[-1,0]}')), { a: -0.5, b: '-0', c: [-1, 0] });
});
