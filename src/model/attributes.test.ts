import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GVK, Schema } from './decorators.ts';
import { defineModel } from './define.ts';
import { AbstractExtension } from './object.ts';
import { SchemeRegistry } from './registry.ts';
import { Scheme } from './scheme.ts';
import { Type } from './type.ts';

const gvk = { group: 'bar.example.com', version: 'v1', kind: 'Widget', singular: 'widget', plural: 'widgets' };
const spec = Type.Object({ replicas: Type.Integer() });
const columns = [
  { name: 'Replicas', type: 'integer', path: '.spec.replicas' },
  { name: 'Ready', type: 'string', path: '.status.conditions[?(@.type=="Ready")].status', priority: 1 },
] as const;
const attributes = {
  scope: 'Namespaced',
  naming: 'kubernetes',
  shortNames: ['wd'],
  categories: ['all'],
  columns: [...columns],
  subresources: { scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' } },
} as const;

test('the attributes of a model are data on its scheme, in both forms of declaration', () => {
  @GVK({ ...gvk, ...attributes })
  class Widget extends AbstractExtension {
    @Schema({ type: 'object' }) spec?: object;
  }
  for (const type of [
    defineModel({ gvk, spec, ...attributes }),
    defineModel({ gvk: { ...gvk, ...attributes }, spec }),
    Widget,
  ]) {
    const { scope, isNamespaced, naming, shortNames, categories, columns, subresources } = Scheme.buildFromType(type);
    assert.deepEqual(
      { scope, naming, shortNames, categories, columns, subresources },
      { ...attributes, subresources: { status: false, ...attributes.subresources } },
    );
    assert.equal(isNamespaced, true);
    assert.throws(() => (columns as object[]).push({}), TypeError);
  }
});

test('a model that declares none of them is cluster-scoped and strict', () => {
  const scheme = Scheme.buildFromType(defineModel({ gvk, spec }));
  const { scope, naming, shortNames, categories, columns, subresources } = scheme;
  assert.deepEqual(
    { scope, naming, shortNames, categories, columns, subresources },
    {
      scope: 'Cluster',
      naming: 'strict',
      shortNames: [],
      categories: [],
      columns: undefined,
      subresources: { status: false },
    },
  );
  const asked = defineModel({ gvk, spec, scope: 'Cluster', naming: 'strict', shortNames: [] });
  assert.ok(scheme.sameAs(Scheme.buildFromType(asked)));
});

test('mistakes in attributes are named', () => {
  const mistaken: readonly [object, RegExp][] = [
    [{ scope: 'namespaced' }, /"scope" must be/],
    [{ naming: 'loose' }, /"naming" must be/],
    [{ shortNames: ['WD'] }, /"shortNames" must be a list/],
    [{ shortNames: ['wd', 'wd'] }, /"shortNames" must be a list/],
    [{ categories: 'all' }, /"categories" must be a list/],
    [{ columns: {} }, /"columns" must be a list/],
    [{ columns: [{ name: 'A', type: 'text', path: '.a' }] }, /for each column/],
    [{ columns: [{ name: 'A', type: 'string', path: '.a', priority: -1 }] }, /for each column/],
    [{ columns: [{ name: 'A', type: 'string', path: '.a', width: 3 }] }, /for each column/],
    [{ columns: [columns[0], columns[0]] }, /for each column/],
    [{ columns: [{ name: 'A', type: 'string', path: 'spec.a' }] }, /must be a JSONPath/],
    [{ columns: [{ name: 'A', type: 'string', path: '.a[?(@.b)]' }] }, /must be a JSONPath/],
    [{ subresources: { status: 'yes' } }, /"subresources" knows/],
    [{ subresources: { exec: true } }, /"subresources" knows/],
    [{ subresources: { scale: { specReplicasPath: '.spec.replicas' } } }, /"subresources\.scale" needs/],
    [
      { subresources: { scale: { specReplicasPath: '.status.a', statusReplicasPath: '.status.a' } } },
      /"subresources\.scale" needs/,
    ],
  ];
  for (const [attribute, message] of mistaken) {
    assert.throws(() => defineModel({ gvk, spec, ...attribute } as never), { code: 'InvalidModel', message });
  }
});

test('a JSONPath of a column may quote, index and filter', () => {
  for (const path of [
    '.a.b-c',
    '.metadata.annotations.a\\.b/c'.replace('/', '\\/'),
    ".metadata.labels['a.b/c']",
    '.spec.ports[0].port',
    '.spec.ports[*].port',
    '.status.conditions[?(@.type == "Ready")].status',
    ".status.conditions[?(@.a.b=='x')]",
    '.spec.list[?(@.on==true)].name',
    '.spec.list[?(@.size==3)].name',
  ]) {
    const column = { name: 'A', type: 'string', path } as const;
    assert.equal(Scheme.buildFromType(defineModel({ gvk, spec, columns: [column] })).columns?.[0]?.path, path);
  }
});

test('a short name leads to one model of a group', () => {
  const registry = new SchemeRegistry({ reservedDomain: 'platform.run', warn: () => {} });
  const register = (kind: string, shortNames: string[], group = gvk.group) =>
    registry.register(
      defineModel({
        gvk: { group, version: 'v1', kind, singular: kind.toLowerCase(), plural: `${kind.toLowerCase()}s` },
        spec,
        shortNames,
      }),
      undefined,
      'bar',
    );
  register('Widget', ['wd']);
  for (const [kind, shortNames] of [
    ['Other', ['wd']],
    ['Other', ['widgets']],
    ['Other', ['widget']],
    ['Wd', []],
  ] as const) {
    assert.throws(() => register(kind, [...shortNames]), { code: 'InvalidModel', message: /short name/ });
  }
  register('Other', ['wd'], 'other.example.com');
});

test('the plural namespaces is for the service itself', () => {
  const names = { ...gvk, kind: 'Namespace', singular: 'namespace', plural: 'namespaces' };
  const registry = new SchemeRegistry({ reservedDomain: 'platform.run', warn: () => {} });
  assert.throws(() => defineModel({ gvk: { ...names, kind: 'Space' }, spec }), /must not be one of/);
  assert.throws(() => registry.register(defineModel({ gvk: names, spec }), undefined, 'bar'), /must not be one of/);
  registry.register(defineModel({ gvk: { ...names, group: 'core.platform.run' }, spec }), undefined, '');
});
