import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { KindredError } from '../errors.ts';
import type { Condition } from './condition.ts';
import { dataOf, Queries } from './condition.ts';
import { parseFieldSelector, parseLabelSelector } from './selector.ts';

/** Without where it stands in the text. */
function plain(condition: Condition): unknown {
  return JSON.parse(JSON.stringify(condition, (key, value) => (key === 'source' ? undefined : value)));
}

function same(actual: Condition, expected: Condition): void {
  assert.deepEqual(plain(actual), plain(expected));
}

const { equal, labelEqual, labelExists, labelIn } = Queries;
const oneOf = Queries.in;

const labelCases: readonly (readonly [title: string, text: string, expected: Condition])[] = [
  ['spec: Generated resource API - labelSelector: key=value', 'env=prod', labelEqual('env', 'prod')],
  ['spec: Generated resource API - labelSelector: key!=value', 'env!=prod', labelEqual('env', 'prod').not()],
  ['spec: Generated resource API - labelSelector: !key', '!env', labelExists('env').not()],
  ['spec: Generated resource API - labelSelector: label key exists', 'env', labelExists('env')],
  ['lists: label terms k==v', 'env==prod', labelEqual('env', 'prod')],
  ['lists: label terms k=(a,b)', 'env=(a,b)', labelIn('env', ['a', 'b'])],
  ['lists: label terms k!=(a,b)', 'env!=(a,b)', labelIn('env', ['a', 'b']).not()],
  ['lists: label terms k in (a,b)', 'env in (a,b)', labelIn('env', ['a', 'b'])],
  ['lists: label terms k notin (a,b)', 'env notin (a,b)', labelIn('env', ['a', 'b']).not()],
  ['lists: terms joined by "," are ANDed', 'a=1,b', labelEqual('a', '1').and(labelExists('b'))],
  [
    'lists: white space around every token is dropped',
    ' a = 1 , ! b , c in ( x , y ) ',
    Queries.and(labelEqual('a', '1'), labelExists('b').not(), labelIn('c', ['x', 'y'])),
  ],
  ['lists: k= is the empty string', 'a=', labelEqual('a', '')],
  ['lists: an empty element of a list is the empty string', 'a in (x,)', labelIn('a', ['x', ''])],
  ['lists: an empty parameter is no condition', '', Queries.all()],
  ['a key may be called in', 'in in (a)', labelIn('in', ['a'])],
  ['a key with a prefix', 'demo.example.com/env=a', labelEqual('demo.example.com/env', 'a')],
];

const fieldCases: readonly (readonly [title: string, text: string, expected: Condition])[] = [
  ['spec: Generated resource API - fieldSelector: field=value', 'spec.age=3', equal('spec.age', '3')],
  ['spec: Generated resource API - fieldSelector: field!=value', 'spec.age!=3', equal('spec.age', '3').not()],
  ['spec: Generated resource API - fieldSelector: field=(v1,v2)', 'spec.age=(3,4)', oneOf('spec.age', ['3', '4'])],
  ['lists: f>v', 'f>1', Queries.greaterThan('f', '1')],
  ['lists: f>=v', 'f>=1', Queries.greaterThan('f', '1', true)],
  ['lists: f<v', 'f<1', Queries.lessThan('f', '1')],
  ['lists: f<=v', 'f<=1', Queries.lessThan('f', '1', true)],
  ['lists: f^=v starts with', 'f^=ab', Queries.startsWith('f', 'ab')],
  ['lists: f$=v ends with', 'f$=ab', Queries.endsWith('f', 'ab')],
  ['lists: f*=v contains', 'f*=ab', Queries.contains('f', 'ab')],
  ['lists: f is present, !f is absent', 'f,!g', Queries.isNotNull('f').and(Queries.isNull('g'))],
  ['lists: an unquoted value is all up to the next ","', 'f=b=c', equal('f', 'b=c')],
  ['lists: in a list an unquoted value ends at ")" too', 'f=(a b,c)', oneOf('f', ['a b', 'c'])],
  ['lists: outside of a list ")" is part of a value', 'f=a)', equal('f', 'a)')],
  ['lists: a quoted value may hold any character', 'f="Hello, \\"world\\" \\\\ )"', equal('f', 'Hello, "world" \\ )')],
  ['lists: quoted values in a list', 'f in ("a,b", "c)")', oneOf('f', ['a,b', 'c)'])],
  ['lists: a quote within an unquoted value is a character', 'f=a"b', equal('f', 'a"b')],
];

describe('label selectors', () => {
  for (const [title, text, expected] of labelCases) test(title, () => same(parseLabelSelector(text), expected));
});

describe('field selectors', () => {
  for (const [title, text, expected] of fieldCases) test(title, () => same(parseFieldSelector(text), expected));
});

test('lists: a repeated selector is ANDed', () => {
  same(parseLabelSelector(['a=1', '', 'b=2']), parseLabelSelector('a=1,b=2'));
});

function refusal(parse: () => unknown): KindredError {
  try {
    parse();
  } catch (error) {
    assert(error instanceof KindredError);
    return error;
  }
  return assert.fail('expected an error');
}

const malformedCases: readonly (readonly [
  kind: 'label' | 'field',
  text: string,
  term: string,
  column: number,
  expected: RegExp,
])[] = [
  ['field', 'a=1,', '', 5, /index/],
  ['field', ',a=1', '', 1, /index/],
  ['field', 'a=1,,b=2', '', 5, /index/],
  ['field', 'a=()', 'a=()', 4, /at least one value/],
  ['field', 'a=(1,2', 'a=(1,2', 7, /"," or "\)"/],
  ['field', 'a=(1)2,b=1', 'a=(1)2', 6, /"," or the end/],
  ['field', 'a="x', 'a="x', 5, /closing "/],
  ['field', 'a="\\n"', 'a="\\n"', 5, /\\"/],
  ['field', 'a="x"y', 'a="x"y', 6, /"," or the end/],
  ['field', 'a ~ 1', 'a ~ 1', 3, /"="/],
  ['field', 'a in 1', 'a in 1', 6, /"\("/],
  ['field', '=1', '=1', 1, /index/],
  ['field', '!a=1', '!a=1', 3, /"," or the end/],
  ['label', 'a>1', 'a>1', 2, /"="/],
  ['label', 'a^=1', 'a^=1', 2, /"="/],
  ['label', '-a=1', '-a=1', 1, /label key/],
  ['label', 'b=1, a=x y', 'a=x y', 8, /label value/],
  ['label', `a=${'x'.repeat(64)}`, `a=${'x'.repeat(64)}`, 3, /label value/],
  ['label', 'a in (b,-)', 'a in (b,-)', 9, /label value/],
];

describe('lists: a malformed term is a 400 with the term, the column and what was expected', () => {
  for (const [kind, text, term, column, expected] of malformedCases) {
    test(`${kind}: ${text}`, () => {
      const error = refusal(() => (kind === 'label' ? parseLabelSelector(text) : parseFieldSelector(text)));
      assert.equal(error.code, 'InvalidSelector');
      assert.deepEqual({ term: error.term, column: error.column }, { term, column });
      assert.match(error.expected!, expected);
    });
  }
});

test('200 terms and 1,000 values in a list pass, one more of either does not; both are options', () => {
  const terms = (count: number) => Array.from({ length: count }, (_, i) => `a${i}`).join(',');
  const list = (count: number) => `a=(${Array.from({ length: count }, (_, i) => i).join(',')})`;
  parseFieldSelector(terms(200));
  parseFieldSelector(list(1000));
  assert.match(refusal(() => parseFieldSelector(terms(201))).expected!, /at most 200 terms/);
  assert.match(refusal(() => parseFieldSelector([terms(200), 'b'])).expected!, /at most 200 terms/);
  assert.match(refusal(() => parseFieldSelector(list(1001))).expected!, /at most 1000 values/);
  assert.match(refusal(() => parseFieldSelector('a,b', { maxTerms: 1, maxValues: 1 })).expected!, /at most 1 terms/);
});

test('the position of a term goes with its condition', () => {
  const { conditions } = dataOf(parseFieldSelector('a=1, b > 2')) as { conditions: readonly Condition[] };
  const sources = conditions.map((one) => (dataOf(one) as { source?: unknown }).source);
  assert.deepEqual(sources, [
    { term: 'a=1', column: 1 },
    { term: 'b > 2', column: 6 },
  ]);
});

test('any text is parsed or refused with a term and a column', () => {
  const alphabet = fc.constantFrom(
    'a',
    'b',
    '=',
    '!',
    '(',
    ')',
    ',',
    '"',
    '\\',
    ' ',
    '<',
    '>',
    '^',
    '$',
    '*',
    'in',
    'notin',
    '😀',
  );
  fc.assert(
    fc.property(fc.array(alphabet, { maxLength: 12, size: 'max' }), (parts) => {
      for (const parse of [parseFieldSelector, parseLabelSelector]) {
        try {
          parse(parts.join(''));
        } catch (error) {
          assert(error instanceof KindredError && error.code === 'InvalidSelector');
          assert(error.column! >= 1 && error.column! <= parts.join('').length + 1);
          assert.equal(typeof error.term, 'string');
        }
      }
    }),
    { numRuns: 1000 },
  );
});

test('errors: the detail for a malformed term is in the language of the request, `expected` in English', () => {
  for (const [text, expected, zh] of [
    ['a=b c', /^a label value: /, /应为标签值：/],
    ['a in ()', /^at least one value$/, /应为至少一个值/],
    ['a>b', /^"=", "==", "!=", "in/, /或结尾/],
    ['a="b', /^a closing "$/, /应为结束引号/],
  ] as const) {
    assert.throws(
      () => parseLabelSelector(text),
      (error) => {
        assert(error instanceof KindredError);
        assert.match(error.expected!, expected);
        assert.match(error.message, new RegExp(`expected ${expected.source.replace(/^\^/, '').replace(/\$$/, '')}`));
        assert.match(String(error.problem('zh').detail), zh);
        return true;
      },
    );
  }
});
