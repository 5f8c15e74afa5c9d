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
      name: 'contract 4: a field alone takes the order of its index',
    },
    {
      ...sorted('sort=spec.age,asc&sort=metadata.name,desc', ['dan', 'eve', 'ben', 'ann', 'cat']),
      name: 'contract 4: sort is repeatable',
    },
    {
      ...sorted('sort=spec.tags,asc', ['dan', 'eve', 'ann', 'ben', 'cat']),
      name: 'contract 4: a multi-value index sorts by its smallest value in asc',
    },
    {
      ...sorted('sort=spec.tags,desc', ['ben', 'cat', 'ann', 'dan', 'eve']),
      name: 'contract 4: and by its largest in desc',
    },
    {
      ...sorted('sort=spec.born,desc', ['ben', 'ann', 'eve', 'cat', 'dan']),
      name: 'contract 4: objects without a value come last in desc',
    },
    { ...sorted('sort=spec.born%2Casc', ['cat', 'dan', 'eve', 'ann', 'ben']), name: 'contract 4: and first in asc' },
    refused('contract 4: an unknown field names the indexes there are', 'sort=spec.height,asc', {
      code: 'InvalidParameter',
      parameter: 'sort',
      allowed: (names: string[]) =>
        names.includes('spec.age') && names.includes('metadata.name') && !names.includes('metadata.labels'),
    }),
    refused('contract 4: metadata.labels is no sort field', 'sort=metadata.labels,asc', { code: 'InvalidParameter' }),
    refused('contract 4: the direction in lower case', 'sort=spec.age,ASC', {
      code: 'InvalidParameter',
      parameter: 'sort',
    }),
    refused('contract 4: an unknown direction', 'sort=spec.age,up', { code: 'InvalidParameter' }),
    refused('contract 4: a field given twice', 'sort=spec.age,asc&sort=spec.age,desc', { code: 'InvalidParameter' }),
    refused('contract 4: an empty sort', 'sort=', { code: 'InvalidParameter', parameter: 'sort' }),
  ],
  people,
);

runCases(
  'page and size',
  [
    {
      name: 'contract 4: page 1 of 20 by default',
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
    { name: 'contract 4: size 1000', request: { path: `${persons}?size=1000` }, status: 200, body: { size: 1000 } },
    ...['0', '-1', '1.5', 'x', '', '1e2', '%2B1', '99999999999999999999'].map((value) =>
      refused('contract 4: page is an integer from 1', `page=${value}`, {
        code: 'InvalidParameter',
        parameter: 'page',
      }),
    ),
    ...['0', '-1', '1001', 'x', ''].map((value) =>
      refused('contract 4: size is an integer from 1 to 1000', `size=${value}`, {
        code: 'InvalidParameter',
        parameter: 'size',
      }),
    ),
    refused('contract 4: page given twice', 'page=1&page=2', { code: 'InvalidParameter', parameter: 'page' }),
    refused('contract 4: size given twice', 'size=1&size=1', { code: 'InvalidParameter', parameter: 'size' }),
    refused('contract 4: unknown parameters', 'limit=5', {
      code: 'InvalidParameter',
      parameter: 'limit',
      allowed: (names: string[]) => names.includes('size'),
    }),
    refused('contract 4: parameters are case-sensitive', 'Page=1', { code: 'InvalidParameter', parameter: 'Page' }),
    refused('contract 5: a parameter that is not percent-encoded correctly', 'labelSelector=%E0%A4%A', {
      code: 'InvalidParameter',
      parameter: 'labelSelector',
    }),
    refused('contract 13: since without watch', 'since=1', { code: 'InvalidParameter', parameter: 'since' }),
    refused('contract 13: a watch that is neither', 'watch=yes', { code: 'InvalidParameter', parameter: 'watch' }),
    refused('contract 4: explain that is neither', 'explain=yes', { code: 'InvalidParameter', parameter: 'explain' }),
    {
      name: 'contract 4: explain=true answers the plan instead of the page',
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
    listed('contract 4: key==value', `labelSelector=${env}==prod`, ['ann', 'cat']),
    listed('spec: Label selector forms - key!=value', `labelSelector=${env}!=prod`, ['ben', 'dan', 'eve']),
    listed('spec: Label selector forms - !key', `labelSelector=!${env}`, ['dan', 'eve']),
    listed('spec: Label selector forms - key', `labelSelector=${env}`, ['ann', 'ben', 'cat']),
    listed('contract 4: k=(a,b)', `labelSelector=${team}=(red,blue)`, ['ann', 'cat']),
    listed('contract 4: k!=(a,b)', `labelSelector=${team}!=(red,blue)`, ['ben', 'dan', 'eve']),
    listed('contract 4: k in (a,b)', `labelSelector=${encoded(`${team} in (red, blue)`)}`, ['ann', 'cat']),
    listed('contract 4: k notin (a,b)', `labelSelector=${encoded(`${team} notin (red)`)}`, [
      'ben',
      'cat',
      'dan',
      'eve',
    ]),
    listed('contract 4: an empty value', `labelSelector=${team}=`, ['eve']),
    listed('contract 4: an empty element of a list', `labelSelector=${encoded(`${team} in (red,)`)}`, ['ann', 'eve']),
    listed('contract 4: terms joined by a comma are ANDed', `labelSelector=${env}=prod,${team}=red`, ['ann']),
    listed('contract 4: repeated ones too', `labelSelector=${env}=prod&labelSelector=${team}!=red`, ['cat']),
    listed('contract 4: an empty parameter is no condition', 'labelSelector=', all),
    refused('contract 4: an empty list', `labelSelector=${team}=()`, {
      code: 'InvalidSelector',
      term: /\(\)/,
      column: Number.isInteger,
      expected: /./,
    }),
    refused('contract 4: an empty term', `labelSelector=${env}=prod,,${team}`, {
      code: 'InvalidSelector',
      column: Number.isInteger,
      expected: /./,
    }),
    refused('contract 4: a key that no label could have', 'labelSelector=-x=1', { code: 'InvalidSelector' }),
    refused('contract 4: a value that no label could have', `labelSelector=${env}=${encoded('a b')}`, {
      code: 'InvalidSelector',
    }),
    refused('contract 4: an operator that labels do not have', `labelSelector=${env}^=p`, { code: 'InvalidSelector' }),
  ],
  people,
);

runCases(
  'fieldSelector',
  [
    listed('spec: Field selector forms - field=value', 'fieldSelector=spec.age=20', ['ben', 'eve']),
    listed('spec: Field selector forms - field!=value', 'fieldSelector=spec.age!=20', ['ann', 'cat', 'dan']),
    listed('spec: Field selector forms - field=(v1,v2)', 'fieldSelector=spec.age=(20,40)', ['ben', 'cat', 'eve']),
    listed('contract 4: f!=(v1,v2)', 'fieldSelector=spec.age!=(20,40)', ['ann', 'dan']),
    listed('contract 4: present', 'fieldSelector=spec.age', ['ann', 'ben', 'cat', 'eve']),
    listed('contract 4: absent', 'fieldSelector=!spec.age', ['dan']),
    listed('contract 4: greater', `fieldSelector=${encoded('spec.age>20')}`, ['ann', 'cat']),
    listed('contract 4: greater or equal', `fieldSelector=${encoded('spec.age>=30')}`, ['ann', 'cat']),
    listed('contract 4: less', `fieldSelector=${encoded('spec.age<30')}`, ['ben', 'eve']),
    listed('contract 4: less or equal', `fieldSelector=${encoded('spec.age<=30')}`, ['ann', 'ben', 'eve']),
    listed('contract 4: starts with', `fieldSelector=${encoded('spec.name^=Name of a')}`, ['ann']),
    listed('contract 4: ends with', `fieldSelector=${encoded('spec.name$=n')}`, ['ann', 'ben', 'dan']),
    listed('contract 4: contains, case-sensitive', `fieldSelector=${encoded('spec.name*=of e')}`, ['eve']),
    listed('contract 4: a quoted value', `fieldSelector=${encoded('spec.name="Name of ann"')}`, ['ann']),
    listed('contract 4: a multi-value index matches when one value does', 'fieldSelector=spec.tags=b', ['ann', 'ben']),
    listed('contract 4: and its negation when none does', 'fieldSelector=spec.tags!=b', ['cat', 'dan', 'eve']),
    listed('contract 4: name is short for metadata.name', 'fieldSelector=name=ann', ['ann']),
    listed('contract 4: a boolean', 'fieldSelector=spec.active=true', ['ann', 'cat']),
    listed('contract 4: an instant', `fieldSelector=${encoded('spec.born<1985-01-01T00:00:00Z')}`, ['eve']),
    listed(
      'spec: List query parameters - they can be combined',
      `labelSelector=${env}&fieldSelector=spec.age=20&size=5`,
      ['ben'],
    ),
    refused('contract 4: the field must be an index', 'fieldSelector=spec.email=x', {
      code: 'InvalidSelector',
      allowed: (names: string[]) => names.includes('spec.age'),
    }),
    refused('contract 4: metadata.labels is no selector field', 'fieldSelector=metadata.labels=x', {
      code: 'InvalidSelector',
    }),
    refused('contract 4: a value that does not convert', 'fieldSelector=spec.age=old', {
      code: 'InvalidSelector',
      term: /old/,
    }),
    refused('contract 4: text operators are for string indexes', `fieldSelector=${encoded('spec.age^=2')}`, {
      code: 'InvalidSelector',
    }),
    refused('contract 4: a quote that does not end', `fieldSelector=${encoded('spec.name="x')}`, {
      code: 'InvalidSelector',
      column: Number.isInteger,
    }),
    refused('contract 4: an empty list', 'fieldSelector=spec.age=()', { code: 'InvalidSelector' }),
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
