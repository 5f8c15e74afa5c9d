import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KindredError } from '../errors.ts';
import type { GVKAttributes } from './gvk.ts';
import { checkGvk, isReservedGroup } from './gvk.ts';

const good: GVKAttributes = {
  group: 'demo.example.com',
  version: 'v1',
  kind: 'Person',
  singular: 'person',
  plural: 'persons',
};

/** Values that an attribute may have and may not have; what it may not have is named in the message. */
function check(attribute: keyof GVKAttributes, accepted: readonly string[], refused: readonly unknown[]): void {
  for (const value of accepted) assert.equal(checkGvk({ ...good, [attribute]: value })[attribute], value);
  for (const value of refused) {
    assert.throws(
      () => checkGvk({ ...good, [attribute]: value }),
      (error) => {
        assert(error instanceof KindredError && error.code === 'InvalidModel');
        assert.match(error.message, new RegExp(`"${attribute}"`));
        if (typeof value === 'string') assert(error.message.includes(`"${value}"`), error.message);
        return true;
      },
      `${attribute} ${value}`,
    );
  }
}

test('spec: GVK attributes - group is in domain-name form', () => {
  check(
    'group',
    ['', 'a', 'demo.example.com', 'a-b.c', 'a'.repeat(253)],
    ['Demo', 'a_b', '.a', 'a.', 'a..b', 'a'.repeat(254), undefined, 1],
  );
});

test('spec: GVK attributes - the empty group and every group ending in .platform.run are reserved', () => {
  const reserved = ['', 'platform.run', 'a.platform.run', 'a.b.platform.run'];
  for (const group of reserved) assert.equal(isReservedGroup(group, 'platform.run'), true, group);
  for (const group of ['myplatform.run', 'platform.run.example.com']) {
    assert.equal(isReservedGroup(group, 'platform.run'), false, group);
  }
});

test('spec: GVK attributes - version is v1, v1alpha1 or v2beta3', () => {
  check(
    'version',
    ['v1', 'v1alpha1', 'v2beta3', 'v10'],
    ['1', 'v', 'v0', 'v1gamma1', 'v1alpha', 'V1', 'v1alpha0', '', undefined],
  );
});

test('spec: GVK attributes - kind is in upper camel case', () => {
  check('kind', ['Person', 'P', 'HTTPRoute2'], ['person', 'Per-son', 'Per son', '', '1P', 'P'.repeat(64), undefined]);
});

test('spec: GVK attributes - singular and plural are in lower case, at most 63 characters', () => {
  for (const attribute of ['singular', 'plural'] as const) {
    check(
      attribute,
      ['p', 'persons', 'a-b9', 'a'.repeat(63)],
      ['Persons', '9a', '-a', 'a_b', '', 'a'.repeat(64), undefined],
    );
  }
});

test('declaration: plural is not one of namespaces, proxy, watch', () => {
  check('plural', [], ['namespaces', 'proxy', 'watch']);
});

test('api: subresources says status or nothing', () => {
  assert.deepEqual(checkGvk(good).subresources, { status: false });
  assert.deepEqual(checkGvk({ ...good, subresources: { status: true } }).subresources, { status: true });
  for (const subresources of [true, { scale: true }, { status: 'yes' }, null]) {
    assert.throws(() => checkGvk({ ...good, subresources: subresources as never }), /subresources/);
  }
});
