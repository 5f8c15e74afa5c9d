/** What the callers inside the service may ask of a write. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { KindredError } from '../errors.ts';
import { defineModel } from '../model/define.ts';
import type { Model } from '../model/model-type.ts';
import type { ExtensionObject } from '../model/object.ts';
import { SchemeRegistry } from '../model/registry.ts';
import { Type } from '../model/type.ts';
import { openStore } from '../store/open.ts';
import type { Row } from '../store/store.ts';
import { allowAll, system } from './access.ts';
import { ResourceRegistry } from './registry.ts';
import type { ModelResource } from './resource.ts';
import type { Answer, WriteOptions } from './write.ts';

const Widget = defineModel({
  gvk: { group: 'bar.example.com', version: 'v1', kind: 'Widget', singular: 'widget', plural: 'widgets' },
  spec: Type.Object({ replicas: Type.Integer() }),
  status: Type.Object({ ready: Type.Integer() }),
  subresources: { status: true },
});

const stops: (() => Promise<void>)[] = [];
after(async () => {
  for (const stop of stops) await stop();
});

const widgets = (): Promise<ModelResource> => resourceOf(Widget);

/** @param get of the store, which is asked each time */
async function resourceOf(
  model: Model<any>,
  get?: (rows: readonly Row[]) => Promise<readonly Row[]>,
): Promise<ModelResource> {
  const store = await openStore('sqlite::memory:');
  if (get) {
    const stored = store.get.bind(store);
    store.get = async (number, ids) => get(await stored(number, ids));
  }
  const registry = new SchemeRegistry({ reservedDomain: 'platform.run', warn: () => {} });
  const scheme = registry.register(model, undefined, 'bar');
  const resources = new ResourceRegistry({
    store,
    registry,
    authorizer: allowAll,
    now: () => Date.parse('2026-01-02T03:04:05.678Z'),
    monotonicNow: () => performance.now(),
    limits: {
      queryTimeout: 5_000,
      objectBytes: 2 ** 20,
      patch: { operations: 100, growth: 2 ** 20, depth: 64, members: 1_000, containers: 1_000 },
      cacheBytes: get ? 0 : 2 ** 20,
      writeTimeout: 5_000,
      bookmarkInterval: 15_000,
      livePages: { rows: 100, rowsPerIdentity: 100 },
    },
    reservedDomain: 'platform.run',
    logger: { info: () => {}, warn: () => {}, error: () => {} },
    hooks: new Map(),
  });
  stops.push(async () => {
    await resources.stop();
    await store.close();
  });
  const resource = resources.model(scheme);
  await resource.ready;
  return resource;
}

const objectOf = ({ stored }: Answer) => JSON.parse(stored.bytes.toString()) as ExtensionObject;
const textOf = ({ bytes }: Row) => Buffer.from(bytes).toString();
const uidOf = (resource: ModelResource, answer: Answer) =>
  resource.model.uidOf(answer.stored, objectOf(answer).metadata);

test('a write expects the revision and the uid of the stored object', async () => {
  const resource = await widgets();
  const made = await resource.create({ metadata: { name: 'a' }, spec: { replicas: 1 } }, { caller: system });
  const uid = uidOf(resource, made);
  const merge = (replicas: number, expect: WriteOptions['expect']) =>
    resource.patch('a', { spec: { replicas } }, { caller: system, kind: 'merge', expect });
  const changed = await merge(2, { revision: made.revision, uid });
  assert.equal(uidOf(resource, changed), uid);
  await assert.rejects(merge(3, { revision: made.revision }), { code: 'VersionConflict', currentVersion: 1 });
  await assert.rejects(merge(3, { uid: uid.replace(/.$/, (last) => (last === '0' ? '1' : '0')) }), {
    code: 'VersionConflict',
  });
  // What would change nothing is refused all the same.
  await assert.rejects(merge(2, { revision: made.revision }), { code: 'VersionConflict' });
  for (const write of [
    () => resource.update('a', objectOf(made), { caller: system, expect: { revision: made.revision } }),
    () => resource.delete('a', { caller: system, expect: { revision: made.revision } }),
    () => resource.delete('a', { caller: system, expect: { uid: 'another' }, dryRun: true }),
  ]) {
    await assert.rejects(write, { code: 'VersionConflict' });
  }
  assert.equal((await resource.get('a')).stored.revision, changed.revision);
  await resource.delete('a', { caller: system, expect: { revision: changed.revision, uid } });
  const again = await resource.create({ metadata: { name: 'a' }, spec: { replicas: 2 } }, { caller: system });
  assert.notEqual(uidOf(resource, again), uid);
  await assert.rejects(resource.delete('a', { caller: system, expect: { uid } }), { code: 'VersionConflict' });
});

test('one of several writes that expect the same revision is made', async () => {
  const resource = await widgets();
  const { revision } = await resource.create({ metadata: { name: 'a' }, spec: { replicas: 0 } }, { caller: system });
  const writes = Array.from({ length: 5 }, (_, i) =>
    resource.patch('a', { spec: { replicas: i + 1 } }, { caller: system, kind: 'merge', expect: { revision } }),
  );
  const outcomes = await Promise.allSettled(writes);
  assert.deepEqual(outcomes.map(({ status }) => status).sort(), ['fulfilled', ...Array(4).fill('rejected')]);
});

test('the generation grows with what is wanted, and with the declaration of the deletion', async () => {
  const resource = await widgets();
  const options = { caller: system };
  const made = await resource.create(
    { metadata: { name: 'a', generation: 7, finalizers: ['x/y'] }, spec: { replicas: 1 } },
    options,
  );
  const generations: (number | undefined)[] = [];
  const note = (answer: Answer) => generations.push(objectOf(answer).metadata.generation);
  note(made);
  const patched = (patch: object) => resource.patch('a', patch, { ...options, kind: 'merge' }).then(note);
  await patched({ metadata: { labels: { a: 'b' } } });
  note(
    await resource.update(
      'a',
      { metadata: { name: 'a' }, status: { ready: 1 } },
      { ...options, subresource: 'status' },
    ),
  );
  await patched({ spec: { replicas: 2 } });
  await patched({ spec: { replicas: 2 }, metadata: { generation: 9 } });
  await patched({ spec: { replicas: 3 }, metadata: { annotations: { a: 'b' } } });
  note(await resource.delete('a', options));
  note(await resource.delete('a', options));
  await patched({ metadata: { finalizers: null } });
  assert.deepEqual(generations, [undefined, undefined, undefined, 2, 2, 3, 4, 4, 4]);
});

test('the members of metadata keep their one order', async () => {
  const resource = await widgets();
  await resource.create({ metadata: { name: 'a', labels: { a: 'b' } }, spec: { replicas: 1 } }, { caller: system });
  const changed = await resource.patch('a', { spec: { replicas: 2 } }, { caller: system, kind: 'merge' });
  assert.equal(
    JSON.stringify(objectOf(changed).metadata),
    '{"name":"a","creationTimestamp":"2026-01-02T03:04:05.678Z","version":1,"generation":2,"labels":{"a":"b"}}',
  );
});

test('an owner without a uid is the object that has the name now', async () => {
  const resource = await widgets();
  const options = { caller: system };
  const owner = await resource.create({ metadata: { name: 'owner' }, spec: { replicas: 1 } }, options);
  const uid = uidOf(resource, owner);
  const reference = { apiVersion: 'bar.example.com/v1', kind: 'Widget', name: 'owner' };
  const withOwners = (ownerReferences: unknown) => ({
    metadata: { name: 'owned', ownerReferences },
    spec: { replicas: 1 },
  });
  const made = await resource.create(withOwners([{ ...reference, controller: true }]), options);
  assert.deepEqual(objectOf(made).metadata.ownerReferences, [{ ...reference, uid, controller: true }]);
  // With a uid it may be gone.
  const gone = [
    { ...reference, name: 'gone', uid: 'of-old' },
    { ...reference, uid: '' },
  ];
  const changed = await resource.update('owned', withOwners(gone), options);
  assert.deepEqual(
    objectOf(changed).metadata.ownerReferences?.map((one) => one.uid),
    ['of-old', uid],
  );
  assert.equal(objectOf(changed).metadata.generation, undefined);
  for (const [owners, pointer, keyword] of [
    [[reference, { ...reference, name: 'absent' }], '/metadata/ownerReferences/1', 'reference'],
    [[{ ...reference, kind: 'Absent' }], '/metadata/ownerReferences/0', 'reference'],
    [[{ ...reference, apiVersion: 'v1' }], '/metadata/ownerReferences/0', 'reference'],
    [[{ ...reference, name: '' }], '/metadata/ownerReferences/0/name', 'required'],
    [[{ ...reference, other: 1 }], '/metadata/ownerReferences/0/other', 'additionalProperties'],
    [[{ ...reference, controller: 'yes' }], '/metadata/ownerReferences/0/controller', 'type'],
    [
      [
        { ...reference, controller: true },
        { ...reference, controller: true },
      ],
      '/metadata/ownerReferences/1/controller',
      'const',
    ],
    ['owner', '/metadata/ownerReferences', 'type'],
    [Array(1_001).fill(reference), '/metadata/ownerReferences', 'maxItems'],
  ] as const) {
    const refused = (error: { code: string; errors: { pointer: string; keyword: string }[] }) => {
      assert.equal(error.code, 'Invalid');
      assert.deepEqual(
        error.errors.map((one) => [one.pointer, one.keyword]),
        [[pointer, keyword]],
      );
      return true;
    };
    await assert.rejects(resource.update('owned', withOwners(owners), options), refused);
  }
  const cleared = await resource.patch('owned', { metadata: { ownerReferences: null } }, { ...options, kind: 'merge' });
  assert.equal(objectOf(cleared).metadata.ownerReferences, undefined);
});

test('managed fields that a client sends change nothing', async () => {
  const resource = await widgets();
  const metadata = { name: 'a', managedFields: [{ manager: 'me', operation: 'Update' }] };
  const made = await resource.create({ metadata, spec: { replicas: 1 } }, { caller: system });
  assert.equal(objectOf(made).metadata.managedFields, undefined);
  const same = await resource.update('a', { metadata, spec: { replicas: 1 } }, { caller: system });
  assert.equal(same.changed, false);
});

const nameWith = (fromHub: (spec: { readonly first: string }) => { full: string }) =>
  defineModel({
    gvk: { group: 'bar.example.com', version: 'v2', kind: 'Name', singular: 'name', plural: 'names' },
    spec: Type.Object({
      first: Type.String(),
      middle: Type.Optional(Type.String()),
      suffix: Type.Optional(Type.String()),
    }),
    versions: { v1: { spec: Type.Object({ full: Type.String() }), toHub: ({ full }) => ({ first: full }), fromHub } },
  });

const Name = nameWith(({ first }) => ({ full: first }));

const lossesOf = async (write: Promise<Answer>) => {
  const error = await write.then(
    () => assert.fail('stored'),
    (error: KindredError) => error,
  );
  return error.errors?.map(({ pointer, keyword }) => `${pointer} ${keyword}`);
};

test('the rules of an update are those of the moment in which its object was read', async () => {
  let isRolledBack = false;
  const resource = await resourceOf(Name, async ([row]) => {
    if (isRolledBack) return [{ ...row!, bytes: Buffer.from(row!.bytes.toString().replace(',"middle":"B"', '')) }];
    // While the row is on its way, its member goes, and objects are stored as v1 from then on.
    isRolledBack = true;
    resource.model.rules = { ...resource.model.rules, storage: 'bar.example.com/v1' };
    return [row!];
  });
  await resource.create({ metadata: { name: 'n' }, spec: { first: 'A', middle: 'B' } }, { caller: system });
  const via = resource.model.scheme.inVersion('v1')!;
  const answer = await resource.update('n', { metadata: { name: 'n' }, spec: { full: 'C' } }, { caller: system, via });
  assert.deepEqual(objectOf(answer).spec, { first: 'C' });
});

test('the members of an object keep their one order when it is updated in another version', async () => {
  const resource = await resourceOf(Name);
  const options = { caller: system, via: resource.model.scheme.inVersion('v1')! };
  await resource.create({ metadata: { name: 'n' }, spec: { full: 'A' } }, options);
  const answer = await resource.update('n', { spec: { full: 'B' }, metadata: { name: 'n' } }, options);
  assert.deepEqual(Object.keys(objectOf(answer)), ['apiVersion', 'kind', 'metadata', 'spec']);
});

test('what a rollback could not store stays in the hub, and only what an update adds to it is refused', async () => {
  let row: Row;
  const resource = await resourceOf(Name, async (rows) => {
    row = rows[0]!;
    return rows;
  });
  const stored = async (name: string) => {
    await resource.get(name);
    const { apiVersion, spec } = JSON.parse(textOf(row)) as ExtensionObject;
    return { version: apiVersion.split('/')[1], spec };
  };
  const options = { caller: system };
  const spec = { first: 'A', middle: 'B' };
  await resource.create({ metadata: { name: 'n' }, spec }, options);
  await resource.create({ metadata: { name: 'kept', finalizers: ['x/y'] }, spec }, options);
  await resource.create({ metadata: { name: 'whole' }, spec: { first: 'A' } }, options);
  // The rollback looked at the objects before the middle name came.
  resource.model.rules = { ...resource.model.rules, storage: 'bar.example.com/v1' };
  const via = resource.model.scheme.inVersion('v1')!;
  await resource.update('n', { metadata: { name: 'n' }, spec: { full: 'C' } }, { ...options, via });
  assert.deepEqual(await stored('n'), { version: 'v2', spec: { first: 'C', middle: 'B' } });
  const merge = (name: string, change: object) =>
    resource.patch(name, { spec: change }, { ...options, kind: 'merge' as const });
  const refused = (name: string, change: object) => lossesOf(merge(name, change));
  assert.deepEqual(await refused('n', { suffix: 'D' }), ['/spec/suffix notYetStorable']);
  assert.deepEqual(await refused('n', { middle: 'E' }), ['/spec/middle notYetStorable']);
  const both = ['/spec/middle notYetStorable', '/spec/suffix notYetStorable'];
  assert.deepEqual(await refused('whole', { middle: 'B', suffix: 'D' }), both);
  await resource.delete('kept', options);
  assert.deepEqual(await stored('kept'), { version: 'v2', spec });
  await merge('n', { middle: null });
  assert.deepEqual(await stored('n'), { version: 'v1', spec: { full: 'C' } });
  assert.deepEqual(await refused('n', { middle: 'B' }), ['/spec/middle notYetStorable']);
});

test('an update that a conversion would lose something of is refused where the object is stored as v1', async () => {
  const resource = await resourceOf(
    nameWith(({ first }) => ({ full: first.slice(0, 3) })),
    // As an earlier version of the plugin stored it.
    async (rows) => rows.map((row) => ({ ...row, bytes: Buffer.from(textOf(row).replace('Ada', 'Adam')) })),
  );
  resource.model.rules = { ...resource.model.rules, storage: 'bar.example.com/v1' };
  await resource.create({ metadata: { name: 'n' }, spec: { first: 'Ada' } }, { caller: system });
  const label = { metadata: { labels: { a: 'b' } } };
  const labelled = resource.patch('n', label, { caller: system, kind: 'merge' });
  assert.deepEqual(await lossesOf(labelled), ['/spec/first notYetStorable']);
});

test('what the cache has in the hub and a rewrite has brought to another version stays in that version', async () => {
  let reads = 0;
  const resource = await resourceOf(Name, async (rows) => {
    const isCached = reads++ === 0;
    const rewritten = (text: string) => text.replace('/v2', '/v1').replace('"first":"A","middle":"B"', '"full":"A"');
    return isCached ? rows : rows.map((row) => ({ ...row, bytes: Buffer.from(rewritten(textOf(row))) }));
  });
  await resource.create({ metadata: { name: 'n' }, spec: { first: 'A', middle: 'B' } }, { caller: system });
  resource.model.rules = { ...resource.model.rules, storage: 'bar.example.com/v1' };
  const label = { metadata: { labels: { a: 'b' } } };
  const labelled = resource.patch('n', label, { caller: system, kind: 'merge' });
  assert.deepEqual(await lossesOf(labelled), ['/spec/middle notYetStorable']);
});

test('server-side apply waits while a contract with another hub is active', async () => {
  const resource = await resourceOf(Name);
  const options = { caller: system, manager: 'me', conflicts: 'fail' as const };
  const labelled = (name: string) => ({
    apiVersion: 'bar.example.com/v2',
    kind: 'Name',
    metadata: { name, labels: { a: 'b' } },
  });
  await resource.create({ metadata: { name: 'n' }, spec: { first: 'A' } }, options);
  const own = resource.model.rules;
  const { apiVersion, validator, jsonSchema } = resource.model.scheme.inVersion('v1')!;
  resource.model.rules = { ...own, apiVersion, storage: apiVersion, validator, jsonSchema, hasOtherHub: true };
  await assert.rejects(resource.apply('n', labelled('n'), options), { code: 'NotReady' });
  await assert.rejects(resource.apply('other', labelled('other'), options), { code: 'NotReady' });
  const annotated = { metadata: { annotations: { a: 'b' } } };
  const patched = await resource.patch('n', annotated, { caller: system, manager: 'me', kind: 'merge' });
  const entry = objectOf(patched).metadata.managedFields!.at(-1)!;
  assert.equal(entry.apiVersion, apiVersion, 'fields have the names of the active hub');
  resource.model.rules = own;
  const { spec, metadata } = objectOf(await resource.apply('n', labelled('n'), options));
  assert.deepEqual([spec, metadata.labels], [{ first: 'A' }, { a: 'b' }]);
});

test('what cannot be converted to the hub of this process is deleted while a contract with another hub is active', async () => {
  const broken = (text: string) => text.replace('/v2', '/v1').replace('"first":"A"', '"full":"broken"');
  const fragile = defineModel({
    gvk: { group: 'bar.example.com', version: 'v2', kind: 'Name', singular: 'name', plural: 'names' },
    spec: Type.Object({ first: Type.String() }),
    versions: {
      v1: {
        spec: Type.Object({ full: Type.String() }),
        toHub: ({ full }) => {
          if (full === 'broken') throw new Error('no such name');
          return { first: full };
        },
        fromHub: ({ first }) => ({ full: first }),
      },
    },
    indexes: (index) => [index.single('spec.first', String, (name) => name.spec.first)],
  });
  const resource = await resourceOf(fragile, async (rows) =>
    rows.map((row) => ({ ...row, bytes: Buffer.from(broken(textOf(row))) })),
  );
  const options = { caller: system };
  await resource.create({ metadata: { name: 'n', finalizers: ['bar.example.com/a'] }, spec: { first: 'A' } }, options);
  const own = resource.model.rules;
  const via = resource.model.scheme.inVersion('v1')!;
  const { apiVersion, validator, jsonSchema } = via;
  resource.model.rules = { ...own, apiVersion, storage: apiVersion, validator, jsonSchema, hasOtherHub: true };
  const marked = objectOf(await resource.inVersion(via).delete('n', options));
  assert.ok(marked.metadata.deletionTimestamp);
  assert.deepEqual(marked.spec, { full: 'broken' });
});
