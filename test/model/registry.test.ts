import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KindredError } from '../../src/errors.ts';
import { defineModel } from '../../src/model/define.ts';
import { IndexSpecs } from '../../src/model/index-spec.ts';
import { SchemeRegistry } from '../../src/model/registry.ts';
import { Scheme } from '../../src/model/scheme.ts';

const gvk = { group: 'demo.example.com', version: 'v1', kind: 'Thing', singular: 'thing', plural: 'things' };

const make = (change: object = {}, spec: object = { type: 'object' }) =>
  defineModel({ gvk: { ...gvk, ...change }, spec });

function setUp() {
  const warnings: string[] = [];
  const events: string[] = [];
  const registry = new SchemeRegistry({ reservedDomain: 'platform.run', warn: (message) => warnings.push(message) });
  registry.onRegister((scheme, owner) => events.push(`+${scheme.plural} ${owner}`));
  registry.onUnregister((scheme, owner) => events.push(`-${scheme.plural} ${owner}`));
  return { registry, warnings, events, manager: registry.manager('p') };
}

const refused = (run: () => unknown, message: RegExp): void =>
  assert.throws(
    run,
    (error) => error instanceof KindredError && error.code === 'InvalidModel' && message.test(error.message),
  );

test('spec: Model definition - register in start(), unregister with a scheme built from the type', () => {
  const { registry, manager, events } = setUp();
  const Thing = make();
  const scheme = manager.register(Thing, (indexes) => {
    indexes.add(IndexSpecs.single('spec.a', String));
  });
  assert.deepEqual(
    scheme.indexes.map((one) => one.name),
    ['spec.a'],
  );
  assert.deepEqual(manager.schemes(), [scheme]);
  assert.equal(manager.get(gvk), scheme);
  assert.equal(registry.find('demo.example.com', 'v1', 'things'), scheme);
  assert.equal(registry.schemeOf(Thing), scheme);
  assert.equal(registry.ownerOf(scheme), 'p');
  manager.unregister(Scheme.buildFromType(Thing));
  assert.deepEqual(manager.schemes(), []);
  assert.equal(registry.find('demo.example.com', 'v1', 'things'), undefined);
  assert.equal(manager.fetch(gvk), undefined);
  assert.throws(
    () => manager.get(gvk),
    (error) => error instanceof KindredError && error.code === 'NotFound',
  );
  assert.throws(
    () => registry.schemeOf(Thing),
    (error) => error instanceof KindredError && error.code === 'NotFound',
  );
  assert.deepEqual(events, ['+things p', '-things p']);
});

test('declaration: the same GVK again is a no-op for the same owner and declaration, an error otherwise', () => {
  const { registry, manager, events } = setUp();
  const scheme = manager.register(make());
  assert.equal(manager.register(make()), scheme);
  assert.deepEqual(events, ['+things p']);
  refused(() => manager.register(make({}, { type: 'object', properties: {} })), /another declaration/);
  refused(
    () => manager.register(make(), (indexes) => indexes.add(IndexSpecs.single('spec.a', String))),
    /another declaration/,
  );
  refused(() => registry.register(make(), undefined, 'q'), /already registered by p/);
});

test('declaration: a kind or plural that is registered in the group is an error, in another group it is not', () => {
  const { manager } = setUp();
  manager.register(make());
  refused(() => manager.register(make({ version: 'v2' })), /one version of a kind at a time/);
  refused(() => manager.register(make({ kind: 'Other' })), /plural "things" is already registered .* by Thing/);
  manager.register(make({ group: 'other.example.com' }));
});

test('declaration: reserved groups are the service’s own', () => {
  const { registry, manager } = setUp();
  for (const group of ['', 'platform.run', 'a.platform.run']) {
    refused(() => manager.register(make({ group })), /is reserved/);
    registry.register(make({ group }), undefined, '');
  }
});

test('declaration: unregister does nothing for others and for what is not registered', () => {
  const { registry, manager } = setUp();
  const scheme = manager.register(make());
  registry.unregister(scheme, 'q');
  manager.unregister(Scheme.buildFromType(make({ version: 'v2' })));
  manager.unregister(Scheme.buildFromType(make({ kind: 'Other', plural: 'others' })));
  assert.deepEqual(manager.schemes(), [scheme]);
});

test('declaration: indexes of the declaration and of the registration are added, their names unique together', () => {
  const { manager } = setUp();
  const Thing = defineModel({
    gvk,
    spec: { type: 'object' },
    indexes: (index) => [index.single('spec.a', String, () => null)],
  });
  refused(
    () => manager.register(Thing, (indexes) => indexes.add(IndexSpecs.single('spec.a', String))),
    /declared twice/,
  );
  const scheme = manager.register(Thing, (indexes) => indexes.add(IndexSpecs.single('spec.b', String)));
  assert.deepEqual(
    scheme.indexes.map((one) => one.name),
    ['spec.a', 'spec.b'],
  );
});

test('objects: an unknown format is a warning at registration', () => {
  const { manager, warnings } = setUp();
  manager.register(make({}, { type: 'string', format: 'iban' }));
  assert.match(warnings.join(), /Thing \(demo.example.com\/v1\): the schema at \/spec\/format names the format "iban"/);
});
