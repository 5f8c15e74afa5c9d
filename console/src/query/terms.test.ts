import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseFieldSelector } from '../../../src/query/selector.ts';
import type { Operator } from './terms.ts';
import { mistakeIn, selectorOf, termOf, termsOf, valuesOf } from './terms.ts';

const one: Operator[] = ['=', '!=', '>', '>=', '<', '<=', '^=', '$=', '*=', 'exists', 'absent'];
const many: Operator[] = ['in', 'notin'];
const anyTerm = fc.oneof(
  fc.tuple(fc.constantFrom(...one), fc.string()).map(([operator, value]) => ({ operator, values: [value] })),
  fc
    .tuple(fc.constantFrom(...many), fc.array(fc.string(), { minLength: 1, maxLength: 3 }))
    .map(([operator, values]) => ({ operator, values })),
);

test('console: chips and text are the same filter, both ways, and the parser of the service accepts it', () => {
  fc.assert(
    fc.property(fc.array(anyTerm, { minLength: 1, maxLength: 4 }), (terms) => {
      const texts = terms.map(({ operator, values }) => termOf('spec.name', operator, values));
      const selector = selectorOf(texts);
      assert.deepEqual(termsOf(selector), texts);
      assert.equal(selectorOf(termsOf(selector)), selector);
      const parsed = JSON.stringify(parseFieldSelector(selector));
      for (const { operator, values } of terms) {
        if (operator === 'exists' || operator === 'absent') continue;
        for (const value of values)
          assert.ok(parsed.includes(JSON.stringify(value)), `${value} is lost in ${selector}`);
      }
    }),
    { numRuns: 2_000, examples: [[[{ operator: '=', values: ['='] }]], [[{ operator: '>', values: ['=1'] }]]] },
  );
});

test('console: a mistake is reported in the language of the reader, with its column', async () => {
  assert.equal((await mistakeIn('a=1,,b=2', 'field', 'en'))?.column, 5);
  assert.match((await mistakeIn('a=(1', 'field', 'zh'))!.message, /[一-鿿]/);
  assert.equal(await mistakeIn('tier in (gold, silver),!old', 'label', 'en'), undefined);
});

test('console: a value of a list may have a comma, in quotes', () => {
  assert.deepEqual(valuesOf(' FR, DE ,"Paris, Texas",5",\n"say \\"hi\\""'), [
    'FR',
    'DE',
    'Paris, Texas',
    '5"',
    'say "hi"',
  ]);
  assert.deepEqual(valuesOf(''), ['']);
});
