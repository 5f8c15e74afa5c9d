import type { ApiCase, Request } from './harness.ts';
import { person, persons, runCases } from './harness.ts';

const label = 'demo.example.com';
const people: readonly Request[] = [
  [
    'ann',
    { age: 30, tags: ['a', 'b'], born: '1990-05-01T00:00:00Z', active: true },
    { [`${label}/env`]: 'prod', [`${label}/team`]: 'red' },
  ],
  ['ben', { age: 20, tags: ['b', 'c'], born: '2000-05-01T00:00:00Z', active: false }, { [`${label}/env`]: 'test' }],
  ['cat', { age: 40, tags: ['c'], active: true }, { [`${label}/env`]: 'prod', [`${label}/team`]: 'blue' }],
  ['dan', { tags: [] }, {}],
  ['eve', { age: 20, born: '1980-05-01T00:00:00+02:00' }, { [`${label}/team`]: '' }],
].map(([name, spec, labels]) => ({ path: persons, body: person(name as string, spec as object, { labels }) }));

function listed(title: string, query: string, names: readonly string[]): ApiCase {
  return {
    name: `${title}: ${query}`,
    request: { path: `${persons}?sort=metadata.name&${query}` },
    status: 200,
    names,
    body: { total: names.length },
  };
}

function sorted(query: string, names: readonly string[]): ApiCase {
  return {
    name: `spec: List query parameters - sort: ${query}`,
    request: { path: `${persons}?${query}` },
    status: 200,
    names,
  };
}

function refused(title: string, query: string, body: object): ApiCase {
  return { name: `${title}: ${query.slice(0, 80)}`, request: { path: `${persons}?${query}` }, status: 400, body };
}

const all = ['ann', 'ben', 'cat', 'dan', 'eve'];
const env = `${label}/env`;
const team = `${label}/team`;
const encoded = encodeURIComponent;

runCases(
  'sort',
  [
    sorted('sort=metadata.name,asc', all),
    sorted('sort=metadata.name,desc', [...all].reverse()),
    sorted('sort=spec.age,asc', ['dan', 'ben', 'eve', 'ann', 'cat']),
    sorted('sort=spec.age,desc', ['cat', 'ann', 'ben', 'eve', 'dan']),
    {
      ...sorted('sort=spec.age', ['cat', 'ann', 'ben', 'eve', 'dan']),
      name: 'lists: a field alone takes the order of its index',
    },
    {
      ...sorted('sort=spec.age,asc&sort=metadata.name,desc', ['dan', 'eve', 'ben', 'ann', 'cat']),
      name: 'lists: sort is repeatable',
    },
    {
      ...sorted('sort=spec.tags,asc', ['dan', 'eve', 'ann', 'ben', 'cat']),
      name: 'lists: a multi-value index sorts by its smallest value in asc',
    },
    {
      ...sorted('sort=spec.tags,desc', ['ben', 'cat', 'ann', 'dan', 'eve']),
      name: 'lists: and by its largest in desc',
    },
    {
      ...sorted('sort=spec.born,desc', ['ben', 'ann', 'eve', 'cat', 'dan']),
      name: 'lists: objects without a value come last in desc',
    },
    { ...sorted('sort=spec.born%2Casc', ['cat', 'dan', 'eve', 'ann', 'ben']), name: 'lists: and first in asc' },
    refused('lists: an unknown field names the indexes there are', 'sort=spec.height,asc', {
      code: 'InvalidParameter',
      parameter: 'sort',
      allowed: (names: string[]) =>
        names.includes('spec.age') && names.includes('metadata.name') && !names.includes('metadata.labels'),
    }),
    refused('lists: metadata.labels is no sort field', 'sort=metadata.labels,asc', { code: 'InvalidParameter' }),
    refused('lists: the direction in lower case', 'sort=spec.age,ASC', {
      code: 'InvalidParameter',
      parameter: 'sort',
    }),
    refused('lists: an unknown direction', 'sort=spec.age,up', { code: 'InvalidParameter' }),
    refused('lists: a field given twice', 'sort=spec.age,asc&sort=spec.age,desc', { code: 'InvalidParameter' }),
    refused('lists: an empty sort', 'sort=', { code: 'InvalidParameter', parameter: 'sort' }),
  ],
  people,
);

runCases(
  'page and size',
  [
    {
      name: 'lists: page 1 of 20 by default',
      request: { path: persons },
      status: 200,
      body: { page: 1, size: 20, total: 5 },
    },
    {
      name: 'spec: List query parameters - page starts at 1, size is the number of items',
      request: { path: `${persons}?sort=metadata.name&page=2&size=2` },
      status: 200,
      names: ['cat', 'dan'],
      body: { page: 2, size: 2, total: 5, totalPages: 3 },
    },
    { name: 'lists: size 1000', request: { path: `${persons}?size=1000` }, status: 200, body: { size: 1000 } },
    ...['0', '-1', '1.5', 'x', '', '1e2', '%2B1', '99999999999999999999'].map((value) =>
      refused('lists: page is an integer from 1', `page=${value}`, {
        code: 'InvalidParameter',
        parameter: 'page',
      }),
    ),
    ...['0', '-1', '1001', 'x', ''].map((value) =>
      refused('lists: size is an integer from 1 to 1000', `size=${value}`, {
        code: 'InvalidParameter',
        parameter: 'size',
      }),
    ),
    refused('lists: page given twice', 'page=1&page=2', { code: 'InvalidParameter', parameter: 'page' }),
    refused('lists: size given twice', 'size=1&size=1', { code: 'InvalidParameter', parameter: 'size' }),
    refused('lists: unknown parameters', 'limit=5', {
      code: 'InvalidParameter',
      parameter: 'limit',
      allowed: (names: string[]) => names.includes('size'),
    }),
    refused('lists: parameters are case-sensitive', 'Page=1', { code: 'InvalidParameter', parameter: 'Page' }),
    refused('errors: a parameter that is not percent-encoded correctly', 'labelSelector=%E0%A4%A', {
      code: 'InvalidParameter',
      parameter: 'labelSelector',
    }),
    refused('watch: since without watch', 'since=1', { code: 'InvalidParameter', parameter: 'since' }),
    refused('watch: a watch that is neither', 'watch=yes', { code: 'InvalidParameter', parameter: 'watch' }),
    refused('lists: explain that is neither', 'explain=yes', { code: 'InvalidParameter', parameter: 'explain' }),
    {
      name: 'lists: explain=true answers the plan instead of the page',
      request: { path: `${persons}?explain=true&fieldSelector=spec.age=20` },
      status: 200,
      revision: 5,
      body: {
        items: undefined,
        indexes: (indexes: unknown[]) => indexes.length > 0,
        time: (ms: unknown) => typeof ms === 'number',
      },
    },
  ],
  people,
);

runCases(
  'labelSelector',
  [
    listed('spec: Label selector forms - key=value', `labelSelector=${env}=prod`, ['ann', 'cat']),
    listed('lists: key==value', `labelSelector=${env}==prod`, ['ann', 'cat']),
    listed('spec: Label selector forms - key!=value', `labelSelector=${env}!=prod`, ['ben', 'dan', 'eve']),
    listed('spec: Label selector forms - !key', `labelSelector=!${env}`, ['dan', 'eve']),
    listed('spec: Label selector forms - key', `labelSelector=${env}`, ['ann', 'ben', 'cat']),
    listed('lists: k=(a,b)', `labelSelector=${team}=(red,blue)`, ['ann', 'cat']),
    listed('lists: k!=(a,b)', `labelSelector=${team}!=(red,blue)`, ['ben', 'dan', 'eve']),
    listed('lists: k in (a,b)', `labelSelector=${encoded(`${team} in (red, blue)`)}`, ['ann', 'cat']),
    listed('lists: k notin (a,b)', `labelSelector=${encoded(`${team} notin (red)`)}`, ['ben', 'cat', 'dan', 'eve']),
    listed('lists: an empty value', `labelSelector=${team}=`, ['eve']),
    listed('lists: an empty element of a list', `labelSelector=${encoded(`${team} in (red,)`)}`, ['ann', 'eve']),
    listed('lists: terms joined by a comma are ANDed', `labelSelector=${env}=prod,${team}=red`, ['ann']),
    listed('lists: repeated ones too', `labelSelector=${env}=prod&labelSelector=${team}!=red`, ['cat']),
    listed('lists: an empty parameter is no condition', 'labelSelector=', all),
    refused('lists: an empty list', `labelSelector=${team}=()`, {
      code: 'InvalidSelector',
      term: /\(\)/,
      column: Number.isInteger,
      expected: /./,
    }),
    refused('lists: an empty term', `labelSelector=${env}=prod,,${team}`, {
      code: 'InvalidSelector',
      column: Number.isInteger,
      expected: /./,
    }),
    refused('lists: a key that no label could have', 'labelSelector=-x=1', { code: 'InvalidSelector' }),
    refused('lists: a value that no label could have', `labelSelector=${env}=${encoded('a b')}`, {
      code: 'InvalidSelector',
    }),
    refused('lists: an operator that labels do not have', `labelSelector=${env}^=p`, { code: 'InvalidSelector' }),
  ],
  people,
);

runCases(
  'fieldSelector',
  [
    listed('spec: Field selector forms - field=value', 'fieldSelector=spec.age=20', ['ben', 'eve']),
    listed('spec: Field selector forms - field!=value', 'fieldSelector=spec.age!=20', ['ann', 'cat', 'dan']),
    listed('spec: Field selector forms - field=(v1,v2)', 'fieldSelector=spec.age=(20,40)', ['ben', 'cat', 'eve']),
    listed('lists: f!=(v1,v2)', 'fieldSelector=spec.age!=(20,40)', ['ann', 'dan']),
    listed('lists: present', 'fieldSelector=spec.age', ['ann', 'ben', 'cat', 'eve']),
    listed('lists: absent', 'fieldSelector=!spec.age', ['dan']),
    listed('lists: greater', `fieldSelector=${encoded('spec.age>20')}`, ['ann', 'cat']),
    listed('lists: greater or equal', `fieldSelector=${encoded('spec.age>=30')}`, ['ann', 'cat']),
    listed('lists: less', `fieldSelector=${encoded('spec.age<30')}`, ['ben', 'eve']),
    listed('lists: less or equal', `fieldSelector=${encoded('spec.age<=30')}`, ['ann', 'ben', 'eve']),
    listed('lists: starts with', `fieldSelector=${encoded('spec.name^=Name of a')}`, ['ann']),
    listed('lists: ends with', `fieldSelector=${encoded('spec.name$=n')}`, ['ann', 'ben', 'dan']),
    listed('lists: contains, case-sensitive', `fieldSelector=${encoded('spec.name*=of e')}`, ['eve']),
    listed('lists: a quoted value', `fieldSelector=${encoded('spec.name="Name of ann"')}`, ['ann']),
    listed('lists: a multi-value index matches when one value does', 'fieldSelector=spec.tags=b', ['ann', 'ben']),
    listed('lists: and its negation when none does', 'fieldSelector=spec.tags!=b', ['cat', 'dan', 'eve']),
    listed('lists: name is short for metadata.name', 'fieldSelector=name=ann', ['ann']),
    listed('lists: a boolean', 'fieldSelector=spec.active=true', ['ann', 'cat']),
    listed('lists: an instant', `fieldSelector=${encoded('spec.born<1985-01-01T00:00:00Z')}`, ['eve']),
    listed(
      'spec: List query parameters - they can be combined',
      `labelSelector=${env}&fieldSelector=spec.age=20&size=5`,
      ['ben'],
    ),
    refused('lists: the field must be an index', 'fieldSelector=spec.email=x', {
      code: 'InvalidSelector',
      allowed: (names: string[]) => names.includes('spec.age'),
    }),
    refused('lists: metadata.labels is no selector field', 'fieldSelector=metadata.labels=x', {
      code: 'InvalidSelector',
    }),
    refused('lists: a value that does not convert', 'fieldSelector=spec.age=old', {
      code: 'InvalidSelector',
      term: /old/,
    }),
    refused('lists: text operators are for string indexes', `fieldSelector=${encoded('spec.age^=2')}`, {
      code: 'InvalidSelector',
    }),
    refused('lists: a quote that does not end', `fieldSelector=${encoded('spec.name="x')}`, {
      code: 'InvalidSelector',
      column: Number.isInteger,
    }),
    refused('lists: an empty list', 'fieldSelector=spec.age=()', { code: 'InvalidSelector' }),
    refused(
      'limits: more than 200 terms',
      `fieldSelector=${Array.from({ length: 201 }, (_, i) => `spec.age!=${i}`).join(',')}`,
      { code: /^Invalid(Selector|Parameter)$/ },
    ),
    refused(
      'limits: more than 1,000 values in a list',
      `fieldSelector=spec.age=(${Array.from({ length: 1001 }, (_, i) => i).join(',')})`,
      { code: /^Invalid(Selector|Parameter)$/ },
    ),
    listed(
      'limits: 200 terms and 1,000 values',
      `fieldSelector=spec.age=(${Array.from({ length: 1000 }, (_, i) => i).join(',')}),${Array.from({ length: 199 }, () => 'spec.age!=1').join(',')}`,
      ['ann', 'ben', 'cat', 'eve'],
    ),
  ],
  people,
);
