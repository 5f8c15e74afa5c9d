import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { LineSplitter } from './body.ts';

function split(chunks: readonly string[], limit: number): (string | undefined)[] {
  const splitter = new LineSplitter(limit);
  return [...chunks.flatMap((chunk) => splitter.push(Buffer.from(chunk))), ...splitter.end()].map((line) =>
    line?.toString(),
  );
}

describe('api: one object a line, the body limit for each line', () => {
  const cases: { name: string; chunks: string[]; lines: (string | undefined)[] }[] = [
    { name: 'lines in one chunk', chunks: ['a\nb\n'], lines: ['a', 'b'] },
    { name: 'the last line without an end', chunks: ['a\nb'], lines: ['a', 'b'] },
    { name: 'blank lines are left out', chunks: ['\n\na\n \t\n\r\nb\n\n'], lines: ['a', 'b'] },
    { name: 'CR LF', chunks: ['a\r\nb\r', '\nc\r'], lines: ['a', 'b', 'c'] },
    { name: 'a line in many chunks', chunks: ['a', 'b', 'c', '\nd'], lines: ['abc', 'd'] },
    { name: 'at the limit', chunks: ['12345\n12345\r\n'], lines: ['12345', '12345'] },
    { name: 'over the limit in one chunk', chunks: ['123456\nb\n'], lines: [undefined, 'b'] },
    { name: 'over the limit in many chunks', chunks: ['123', '456', '789', '0\nb', '\n'], lines: [undefined, 'b'] },
    { name: 'over the limit at the end', chunks: ['123', '456'], lines: [undefined] },
    { name: 'nothing', chunks: [], lines: [] },
  ];
  for (const { name, chunks, lines } of cases) test(name, () => assert.deepEqual(split(chunks, 5), lines));

  test('law: where the chunks are cut makes no difference', () => {
    const seed = Number(process.env.SEED ?? 20_261_120);
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '\n', '\r', ' '), maxLength: 40, size: 'max' });
    fc.assert(
      fc.property(text, fc.array(fc.nat(40), { maxLength: 5 }), (whole, cuts) => {
        const places = [0, ...cuts.map((cut) => Math.min(cut, whole.length)).sort((a, b) => a - b), whole.length];
        const chunks = places.slice(1).map((end, i) => whole.slice(places[i], end));
        assert.deepEqual(split(chunks, 6), split([whole], 6));
      }),
      { seed, numRuns: 500, verbose: 1 },
    );
  });
});
