import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { KindredError } from '../errors.ts';
import { parseListParameters, sortTerms } from './list-parameters.ts';

test('spec: Generated resource API - page, starting at 1, default 1', () => {
  assert.equal(parseListParameters('').page, 1);
  assert.equal(parseListParameters('page=7').page, 7);
});

test('spec: Generated resource API - size, default 20', () => {
  assert.equal(parseListParameters('').size, 20);
  assert.equal(parseListParameters('size=1000').size, 1000);
  assert.equal(parseListParameters('size=5', { maxSize: 5 }).size, 5);
  assert.equal(parseListParameters('', { maxSize: 5 }).size, 5);
});

test('spec: Generated resource API - sort, given several times', () => {
  assert.deepEqual(parseListParameters('sort=a,desc&sort=b&sort=c%2Casc').sort, [
    { field: 'a', direction: 'desc' },
    { field: 'b' },
    { field: 'c', direction: 'asc' },
  ]);
});

test('spec: Generated resource API - the parameters can be combined', () => {
  const { page, size, sort, where, paged, explain } = parseListParameters(
    'page=2&size=3&sort=spec.age,desc&labelSelector=env%3Dprod&fieldSelector=spec.age%3E%3D1&labelSelector=!team&explain=true',
  );
  assert.deepEqual({ page, size, paged, explain }, { page: 2, size: 3, paged: true, explain: true });
  assert.deepEqual(sort, [{ field: 'spec.age', direction: 'desc' }]);
  const text = JSON.stringify(where);
  for (const part of ['"env"', '"prod"', '"team"', '"spec.age"']) assert(text.includes(part), part);
});

test('pairs that were decoded already are taken as well', () => {
  assert.equal(parseListParameters(new URLSearchParams('page=3')).page, 3);
});

test('"+" is a space and escapes are UTF-8', () => {
  const text = JSON.stringify(parseListParameters('fieldSelector=a=x+%F0%9F%98%80').where);
  assert(text.includes('x 😀'));
});

test('the parameters of a watch are passed through', () => {
  const { others } = parseListParameters('watch=true&since=5');
  assert.deepEqual(
    [...others],
    [
      ['watch', ['true']],
      ['since', ['5']],
    ],
  );
});

const refused: readonly (readonly [title: string, query: string, parameter: string, detail: RegExp])[] = [
  ['spec: Limits - page starts at 1', 'page=0', 'page', /from 1/],
  ['lists: page is an integer', 'page=1.5', 'page', /whole number/],
  ['lists: page is no other text', 'page=x', 'page', /whole number/],
  ['lists: page is not negative', 'page=-1', 'page', /whole number/],
  ['lists: an empty page', 'page=', 'page', /whole number/],
  ['lists: page beyond what a number holds exactly', 'page=9007199254740993', 'page', /whole number/],
  ['lists: size is at least 1', 'size=0', 'size', /from 1 to 1000/],
  ['lists: size is at most 1000', 'size=1001', 'size', /from 1 to 1000/],
  ['lists: page given twice', 'page=1&page=1', 'page', /twice/],
  ['lists: size given twice', 'size=1&size=2', 'size', /twice/],
  ['lists: an empty sort', 'sort=', 'sort', /"sort" is/],
  ['lists: a sort with a direction alone', 'sort=,asc', 'sort', /"sort" is/],
  ['lists: a direction of sort is in lower case', 'sort=a,ASC', 'sort', /"sort" is/],
  ['lists: no other direction of sort', 'sort=a,up', 'sort', /"sort" is/],
  ['lists: nothing behind the direction of sort', 'sort=a,asc,b', 'sort', /"sort" is/],
  ['lists: explain is true or false', 'explain=yes', 'explain', /true or false/],
  ['a malformed escape', 'page=%zz', 'page', /percent-encoded/],
  ['bytes that are no UTF-8', 'labelSelector=%ff', 'labelSelector', /percent-encoded/],
];

describe('refused', () => {
  for (const [title, query, parameter, detail] of refused) {
    test(title, () => {
      assert.throws(
        () => parseListParameters(query),
        (error) => {
          assert(error instanceof KindredError);
          assert.deepEqual(
            { code: error.code, status: error.status, parameter: error.parameter },
            { code: 'InvalidParameter', status: 400, parameter },
          );
          assert.match(error.message, detail);
          assert.notEqual(error.problem('zh').detail, error.message);
          return true;
        },
      );
    });
  }

  test('lists: a malformed sort names the indexes there are', () => {
    const indexes = ['metadata.name', 'spec.age'];
    for (const parse of [
      () => parseListParameters('sort=spec.age,up', { indexes }),
      () => sortTerms(['spec.age,up'], indexes),
      () => sortTerms([{ field: 'spec.age', direction: 'up' as never }], indexes),
    ]) {
      assert.throws(parse, (error) => {
        assert(error instanceof KindredError);
        assert.deepEqual(error.allowed, indexes);
        assert.match(error.message, /metadata\.name, spec\.age/);
        return true;
      });
    }
  });

  test('lists: an unknown query parameter names those there are', () => {
    assert.throws(
      () => parseListParameters('limit=3'),
      (error) => {
        assert(error instanceof KindredError && error.parameter === 'limit');
        assert.deepEqual(error.allowed, [
          'page',
          'size',
          'sort',
          'labelSelector',
          'fieldSelector',
          'explain',
          'watch',
          'since',
          'sendInitial',
        ]);
        return true;
      },
    );
    assert.deepEqual(
      [...parseListParameters('keyword=a&keyword=b', { also: ['keyword'] }).others.values()],
      [['a', 'b']],
    );
  });
});

test('a sort in code is a text or an object', () => {
  assert.deepEqual(sortTerms(['a,desc', { field: 'b' }, { field: 'c', direction: 'asc' }]), [
    { field: 'a', direction: 'desc' },
    { field: 'b', direction: undefined },
    { field: 'c', direction: 'asc' },
  ]);
  assert.throws(() => sortTerms([{ field: 'a', direction: 'up' as never }]), { code: 'InvalidParameter' });
});
