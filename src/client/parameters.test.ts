import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Condition } from '../query/condition.ts';
import { ListOptions, PageRequest, Queries } from '../query/query.ts';
import { listParameters } from './parameters.ts';

const text = (parameters: URLSearchParams): string => decodeURIComponent(parameters.toString().replaceAll('+', ' '));

const cases: { name: string; parameters: URLSearchParams; expected: string }[] = [
  { name: 'nothing', parameters: listParameters(), expected: '' },
  {
    name: 'field filters',
    parameters: listParameters({
      fields: {
        a: 'x',
        b: ['x', 'y z'],
        c: null,
        d: { '>=': 1, '<': 2.5 },
        e: { '!=': 'q"u' },
        f: { '^=': 'San ' },
        g: true,
      },
    }),
    expected: 'fieldSelector=a=x,b in (x,"y z"),!c,d>=1,d<2.5,e!="q\\"u",f^="San ",g=true',
  },
  {
    name: 'label filters',
    parameters: listParameters({
      labels: { 'a.b/c': 'x', d: true, e: null, f: ['x', 'y'], g: { '!=': 'z' }, h: false },
    }),
    expected: 'labelSelector=a.b/c=x,d,!e,f in (x,y),g!=z,!h',
  },
  {
    name: 'empty text and dates',
    parameters: listParameters({ fields: { a: '', b: new Date(0) } }),
    expected: 'fieldSelector=a="",b=1970-01-01T00:00:00.000Z',
  },
  {
    name: 'selectors as they are, sort and page',
    parameters: listParameters({
      fieldSelector: ['a=b', 'c'],
      labelSelector: '!d',
      sort: ['a,desc', 'metadata.name'],
      page: 2,
      size: 5,
    }),
    expected: 'fieldSelector=a=b&fieldSelector=c&labelSelector=!d&sort=a,desc&sort=metadata.name&page=2&size=5',
  },
  {
    name: 'list options and a page request',
    parameters: listParameters(
      ListOptions.builder()
        .labelSelector('env=prod')
        .andQuery(Queries.greaterThan('age', 18, true))
        .build(),
      PageRequest.of(3, 7, [{ field: 'age', direction: 'desc' }, { field: 'name' }]),
    ),
    expected: 'fieldSelector=age>=18&labelSelector=env in (prod)&sort=age,desc&sort=name&page=3&size=7',
  },
  {
    name: 'complements move inwards',
    parameters: listParameters({
      where: Queries.or(
        Queries.equal('a', 1),
        Queries.in('b', ['x']),
        Queries.isNull('c'),
        Queries.labelExists('d'),
      ).not(),
    }),
    expected: 'fieldSelector=a!=1,b notin (x),c&labelSelector=!d',
  },
  {
    name: 'ranges and text',
    parameters: listParameters({
      where: Queries.and(
        Queries.between('a', 1, 2, { to: false }),
        Queries.contains('b', 'x'),
        Queries.endsWith('b', 'y'),
      ),
    }),
    expected: 'fieldSelector=a>=1,a<2,b*=x,b$=y',
  },
  {
    name: 'the empty set holds nothing, its complement everything',
    parameters: listParameters({
      where: Queries.and(Queries.in('a', []), Queries.notIn('b', []), Queries.labelIn('c', [])),
    }),
    expected: 'fieldSelector=a,!a&labelSelector=c,!c',
  },
];

for (const { name, parameters, expected } of cases) {
  test(`lists: the client writes list parameters - ${name}`, () => {
    assert.equal(text(parameters), expected);
  });
}

const value = fc.string({ unit: 'binary', maxLength: 8 });
const labelValue = fc.constantFrom('', 'a', 'A-b_c.9', '0');
const fieldTerm = fc.oneof(
  value.map((v) => Queries.equal('spec.f', v)),
  fc.array(value, { minLength: 1, maxLength: 4 }).map((values) => Queries.in('spec.f', values)),
  fc.constant(Queries.isNull('spec.f')),
);
const anyFieldTerm = fc.oneof(
  fieldTerm,
  fieldTerm.map((one) => one.not()),
  value.map((v) => Queries.startsWith('spec.f', v)),
  value.map((v) => Queries.endsWith('spec.f', v)),
  value.map((v) => Queries.contains('spec.f', v)),
  fc.tuple(value, fc.boolean()).map(([v, inclusive]) => Queries.lessThan('spec.f', v, inclusive)),
  fc.tuple(value, fc.boolean()).map(([v, inclusive]) => Queries.greaterThan('spec.f', v, inclusive)),
);
const labelTerm = fc.oneof(
  labelValue.map((v) => Queries.labelEqual('demo.example.com/k', v)),
  fc.array(labelValue, { minLength: 1, maxLength: 4 }).map((values) => Queries.labelIn('k', values)),
  fc.constant(Queries.labelExists('k')),
);
const anyLabelTerm = fc.oneof(
  labelTerm,
  labelTerm.map((one) => one.not()),
);

/** Without where it stands in the text. */
function plain(condition: Condition): unknown {
  return JSON.parse(JSON.stringify(condition, (key, member) => (key === 'source' ? undefined : member)));
}

test('lists: what the client writes, the service reads as the same condition', () => {
  fc.assert(
    fc.property(
      fc.array(anyFieldTerm, { maxLength: 5 }),
      fc.array(anyLabelTerm, { maxLength: 5 }),
      (fields, labels) => {
        const parameters = listParameters({ where: Queries.and(...fields, ...labels) });
        const { condition } = ListOptions.parse({
          fieldSelector: parameters.getAll('fieldSelector'),
          labelSelector: parameters.getAll('labelSelector'),
        });
        assert.deepEqual(plain(condition), plain(Queries.and(...labels, ...fields)));
      },
    ),
    { numRuns: 500 },
  );
});

const refused = [
  { name: 'or', where: Queries.or(Queries.equal('a', 1), Queries.equal('b', 2)), op: 'or' },
  { name: 'the complement of a range', where: Queries.lessThan('a', 1).not(), op: 'not(between)' },
  {
    name: 'the complement of a conjunction',
    where: Queries.and(Queries.equal('a', 1), Queries.equal('b', 2)).not(),
    op: 'not(and)',
  },
];
for (const { name, where, op } of refused) {
  test(`lists: ${name} is no selector, and the client says so`, () => {
    assert.throws(() => listParameters({ where }), {
      code: 'InvalidSelector',
      message: new RegExp(`"${op.replace(/[()]/g, '\\$&')}"`),
    });
  });
}
