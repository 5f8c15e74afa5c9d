/** The version in which the objects of a model are stored: until it is finalized, then, and after a rollback. */
import assert from 'node:assert/strict';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { Readable } from 'node:stream';
import { afterEach, describe, it } from 'node:test';
import type { Model, PluginContext } from 'kindred';
import { defineModel, definePlugin, Type } from 'kindred';
import type { Harness } from 'kindred/testing';
import { until } from 'kindred/testing';
import { openStore } from '../../src/store/open.ts';
import { kindred } from '../cli/command.ts';
import { Stream } from '../watch/stream.ts';
import { cleanUp, folderOf, harnessOf, pluginOf } from './kit.ts';

afterEach(cleanUp);

const gvk = { group: 'people.example.com', version: 'v2', kind: 'Person', singular: 'person', plural: 'persons' };
const v1Spec = Type.Object({ fullName: Type.String(), email: Type.Optional(Type.String()) });
const First = defineModel({ gvk: { ...gvk, version: 'v1' }, spec: v1Spec });

const v2Spec = Type.Object({
  name: Type.Object({ given: Type.String(), family: Type.String(), middle: Type.Optional(Type.String()) }),
  email: Type.Optional(Type.String()),
});

const secondWith = (finalizeAfter: number | string, evolution: { onInvalid?: 'degrade' } = {}) =>
  defineModel({
    gvk,
    spec: v2Spec,
    versions: {
      v1: {
        spec: v1Spec,
        toHub: ({ fullName, ...rest }) => {
          if (fullName === 'broken') throw new Error('no such name');
          const [given = '', family = ''] = fullName.split(' ');
          return { ...rest, name: { given, family } };
        },
        fromHub: ({ name, ...rest }) => ({ ...rest, fullName: `${name.given} ${name.family}` }),
      },
    },
    indexes: (index) => [index.single('spec.family', String, (person) => person.spec.name.family)],
    evolution: { finalizeAfter, ...evolution },
  });
const Second = secondWith('1h');
const Lenient = secondWith('1h', { onInvalid: 'degrade' });
const FirstLenient = defineModel({
  gvk: { ...gvk, version: 'v1' },
  spec: v1Spec,
  evolution: { onInvalid: 'degrade' },
});

const pluginWith = (model: Model<any>) => ({
  name: 'people',
  plugin: definePlugin({ start: ({ schemeManager }: PluginContext) => void schemeManager.register(model) }),
});

interface State {
  spec: { finalize?: string };
  status: {
    generation: number;
    storageVersion: string;
    storedVersions: string[];
    formerVersion?: string;
    finalizesAt?: string;
    migration?: { done: number; total: number; failing: number; samples: { names: string[] }[]; revision?: number };
    rollback?: { failing: number; samples: { names: string[]; pointer: string; keyword: string }[] };
  };
}

const statePath = '/apis/plugin.platform.run/v1alpha1/modelstates/persons.people.example.com';

async function stateOf(harness: Harness): Promise<State> {
  return (await (await harness.fetch(statePath)).json()) as State;
}

async function ask(harness: Harness, finalize: string): Promise<void> {
  const response = await harness.fetch(statePath, {
    method: 'PATCH',
    headers: { 'content-type': 'application/merge-patch+json' },
    json: { spec: { finalize } },
  });
  assert.equal(response.status, 200);
}

/** The state as soon as it is as wanted; the last one is told otherwise. */
async function untilState(harness: Harness, holds: (state: State) => boolean): Promise<State> {
  let state = await stateOf(harness);
  const look = async () => {
    state = await stateOf(harness);
    return holds(state);
  };
  await until(look, { timeout: 20_000 }).catch((cause) => {
    throw new Error(JSON.stringify({ ...state, status: { ...state.status, contract: '' } }), { cause });
  });
  return state;
}

const path = (version: string, name = '') => `/apis/${gvk.group}/${version}/persons${name && `/${name}`}`;

interface Person {
  apiVersion: string;
  metadata: { name: string; version: number };
  spec: object;
  errors?: { pointer: string; keyword: string; message: string }[];
}

async function get(harness: Harness, version: string, name: string) {
  const response = await harness.fetch(path(version, name));
  return { etag: response.headers.get('etag'), object: (await response.json()) as Person };
}

async function create(harness: Harness, name: string, spec: object, version = 'v2') {
  const response = await harness.fetch(path(version), { method: 'POST', json: { metadata: { name }, spec } });
  return { status: response.status, body: (await response.json()) as Person };
}

/** A service with the first version and its objects, started again with the second one. */
async function upgraded(
  model: Model<any> = Second,
  { objects = 3, options = {}, reads }: { objects?: number; options?: object; reads?: Reads } = {},
): Promise<{ harness: Harness; file: string }> {
  const file = `${folderOf({})}/kindred.db`;
  const url = `sqlite:${file}`;
  const database = reads ? () => openSlow(url, reads) : url;
  const harness = await harnessOf({ database, plugins: [pluginWith(First)], ...options });
  const lines = Array.from({ length: objects }, (_, i) =>
    JSON.stringify({ metadata: { name: `p${i}` }, spec: { fullName: `Given${i} Family${i}` } }),
  );
  const headers = { 'content-type': 'application/x-ndjson' };
  const made = await harness.fetch(path('v1'), { method: 'POST', headers, body: lines.join('\n') });
  assert.equal(made.status, 200, await made.text());
  await harness.restart([pluginWith(model)]);
  return { harness, file };
}

interface Reads {
  /** Awaited before each page of persons is read. */
  before?: (() => Promise<void>) | undefined;
}

async function openSlow(url: string, reads: Reads) {
  const store = await openStore(url);
  const number = await store.modelNumber(gvk.group, gvk.kind);
  const scan: typeof store.scan = async (model, ...range) => {
    if (model === number) await reads.before?.();
    return store.scan(model, ...range);
  };
  return new Proxy(store, {
    get(target, name: keyof typeof store) {
      if (name === 'scan') return scan;
      const value = name === 'scanText' ? undefined : target[name];
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** Changes what is stored of one object, as nobody could do it. */
function edit(file: string, from: string, to: string): void {
  const db = new DatabaseSync(file, { timeout: 5_000 });
  const statement = db.prepare(
    `UPDATE objects SET bytes = CAST(replace(CAST(bytes AS TEXT), $from, $to) AS BLOB) WHERE instr(bytes, CAST($from AS BLOB))`,
  );
  assert.equal(statement.run({ $from: from, $to: to }).changes, 1);
  db.close();
}

/** Every ModelState that there was, in its order. */
function statesIn(file: string): State[] {
  const db = new DatabaseSync(file, { readOnly: true });
  const rows = db.prepare('SELECT CAST(bytes AS TEXT) AS text FROM changes ORDER BY revision').all();
  db.close();
  return rows.map(({ text }) => JSON.parse(String(text))).filter(({ kind }) => kind === 'ModelState') as State[];
}

const nameOf = (i: number) => ({ name: { given: `Given${i}`, family: `Family${i}` } });

/** How many objects are stored in each version. */
function storedIn(file: string): Record<string, number> {
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    const rows = db
      .prepare(
        `SELECT json_extract(CAST(bytes AS TEXT), '$.apiVersion') AS version, count(*) AS count FROM objects
          WHERE json_extract(CAST(bytes AS TEXT), '$.kind') = 'Person' GROUP BY version ORDER BY version`,
      )
      .all();
    return Object.fromEntries(rows.map(({ version, count }) => [String(version).split('/')[1], Number(count)]));
  } finally {
    db.close();
  }
}

const isDone = ({ spec, status }: State) =>
  status.migration?.revision !== undefined && (spec.finalize ?? 'auto') !== 'now';

/** Asks for a rollback, and for `hold` while it looks for losses; over when both are done. */
async function rollBackAndHold(harness: Harness, reads: Reads): Promise<void> {
  reads.before = () => {
    reads.before = undefined;
    return ask(harness, 'hold');
  };
  await ask(harness, 'rollback');
  await untilState(harness, ({ spec }) => spec.finalize === 'hold');
  // Done after what was going on.
  await ask(harness, 'now');
  await untilState(harness, ({ spec }) => spec.finalize === 'auto');
}

describe('storage version', () => {
  it('plugins: objects are stored so that the earlier version can read them until the model is finalized', async () => {
    const { harness, file } = await upgraded();
    const { status } = await untilState(harness, ({ status }) => status.finalizesAt !== undefined);
    assert.deepEqual([status.generation, status.storageVersion, status.storedVersions], [2, 'v1', ['v1']]);
    const inAnHour = Date.parse(status.finalizesAt!) - Date.now();
    assert.ok(inAnHour > 3_500_000 && inAnHour <= 3_600_000, String(inAnHour));
    assert.equal((await create(harness, 'grace', { name: { given: 'Grace', family: 'Hopper' } })).status, 201);
    const middle = { name: { given: 'Grace', family: 'Hopper', middle: 'Brewster' } };
    const refused = await create(harness, 'other', middle);
    assert.equal(refused.status, 422);
    assert.deepEqual(
      refused.body.errors!.map(({ pointer, keyword, message }) => [pointer, keyword, message]),
      [['/spec/name/middle', 'notYetStorable', 'stored as v1 until the model is finalized']],
    );
    assert.deepEqual(storedIn(file), { v1: 4 });
    await harness.restart([pluginWith(First)]);
    assert.equal((await pluginOf(harness, 'people')).status!.state, 'STARTED');
    assert.deepEqual((await get(harness, 'v1', 'grace')).object.spec, { fullName: 'Grace Hopper' });
    const back = (await stateOf(harness)).status;
    assert.deepEqual([back.generation, back.storageVersion, back.finalizesAt], [3, 'v1', undefined]);
  });

  it('plugins: a bundled object that the storage version cannot say waits until the model is finalized', async () => {
    const folder = (version: string, model: string, declared: string) =>
      folderOf({
        'package.json': { name: 'people', version, type: 'module', main: 'index.js' },
        'index.js': `import { defineModel, definePlugin, Type } from 'kindred';
          const v1 = Type.Object({ name: Type.String() });
          const Person = defineModel(${model});
          export default definePlugin({ start: ({ schemeManager }) => void schemeManager.register(Person) });`,
        'extensions/persons.yaml': declared,
      });
    const document = (version: string, name: string, spec: string) =>
      `apiVersion: ${gvk.group}/${version}\nkind: Person\nmetadata: { name: ${name} }\nspec: ${spec}\n`;
    const names = JSON.stringify(gvk);
    const first = folder(
      '1.0.0',
      `{ gvk: { ...${names}, version: 'v1' }, spec: v1 }`,
      document('v1', 'root', '{ name: Root }'),
    );
    const second = folder(
      '2.0.0',
      `{ gvk: ${names}, spec: Type.Object({ name: Type.String(), title: Type.Optional(Type.String()) }), versions: {
        v1: { spec: v1, toHub: (spec) => spec, fromHub: ({ name }) => ({ name }) } } }`,
      [document('v2', 'root', '{ name: Root, title: Dr }'), document('v2', 'guest', '{ name: Guest }')].join('---\n'),
    );
    const harness = await harnessOf({ persistent: true, plugins: [first] });
    await harness.restart([second]);
    assert.deepEqual((await pluginOf(harness, 'people')).status, {
      state: 'STARTED',
      reason: 'NotYetStorable',
      message: 'bundled objects wait until their models are finalized: extensions/persons.yaml:1',
    });
    assert.deepEqual((await get(harness, 'v2', 'root')).object.spec, { name: 'Root' });
    assert.deepEqual((await get(harness, 'v2', 'guest')).object.spec, { name: 'Guest' });
    await ask(harness, 'now');
    await until(async () => 'title' in (await get(harness, 'v2', 'root')).object.spec, { timeout: 20_000 });
    await until(async () => (await pluginOf(harness, 'people')).status!.reason === undefined);
  });

  it('plugins: versions that lack the one in which objects are stored do not become active, also with degrade', async () => {
    const WithoutFirst = defineModel({
      gvk,
      spec: v1Spec,
      versions: { v3: { spec: v1Spec, toHub: (spec) => spec, fromHub: (spec) => spec } },
      evolution: { onInvalid: 'degrade' },
    });
    const { harness } = await upgraded(WithoutFirst);
    const { reason, message } = (await pluginOf(harness, 'people')).status!;
    assert.equal(reason, 'IncompatibleModel');
    assert.match(message!, /^Person: 3 of 3 stored objects would become invalid \(p0: \/apiVersion version; /);
    await harness.restart([pluginWith(First)]);
    assert.equal((await pluginOf(harness, 'people')).status!.state, 'STARTED');
  });

  it('plugins: finalizing makes the hub the storage version, and rewrites what is stored without telling anybody', async () => {
    const { harness, file } = await upgraded(Second, { objects: 250 });
    const read = () => Promise.all(['v1', 'v2'].map((version) => get(harness, version, 'p249')));
    const list = async () =>
      ((await (await harness.fetch(`${path('v2')}?size=1000`)).json()) as { items: Person[] }).items;
    const end = new AbortController();
    const seen: string[] = [];
    const watching = (async () => {
      for await (const event of harness.client.watch(Second, { signal: end.signal })) {
        if (event.type === 'BOOKMARK') continue;
        const { apiVersion, metadata } = event.object;
        seen.push(`${event.type} ${metadata.name} ${apiVersion}`);
      }
    })();
    await create(harness, 'early', { name: { given: 'A', family: 'B' } });
    await until(() => seen.length > 0);
    const [objects, before] = [await list(), await read()];
    await ask(harness, 'now');
    const { status } = await untilState(harness, isDone);
    assert.deepEqual(
      [status.generation, status.storageVersion, status.storedVersions, status.formerVersion],
      [3, 'v2', ['v1', 'v2'], 'v1'],
    );
    assert.deepEqual([status.migration!.done, status.migration!.total, status.migration!.failing], [251, 251, 0]);
    assert.deepEqual(storedIn(file), { v2: 251 });
    assert.deepEqual(await list(), objects);
    assert.deepEqual(await read(), before);
    assert.deepEqual(before[1]!.object.spec, nameOf(249));
    assert.equal((await create(harness, 'other', { name: { given: 'A', family: 'B', middle: 'C' } })).status, 201);
    await until(() => seen.length > 1);
    assert.deepEqual(seen, ['ADDED early people.example.com/v2', 'ADDED other people.example.com/v2']);
    end.abort();
    await watching.catch(() => {});
    await harness.restart([pluginWith(Second)]);
    assert.deepEqual(
      (await list()).filter(({ metadata }) => metadata.name !== 'other'),
      objects,
    );
  });

  it('plugins: a model is finalized when its time is over, and its former version is forgotten with the change log', async () => {
    const { harness, file } = await upgraded(secondWith('1s'), { options: { changeLog: { maxCount: 0, maxAge: 0 } } });
    const { status } = await untilState(harness, ({ status }) => status.storedVersions.join() === 'v2');
    assert.deepEqual([status.storageVersion, status.migration], ['v2', undefined]);
    assert.deepEqual(storedIn(file), { v2: 3 });
  });

  it('plugins: finalizeAfter 0 makes the hub the storage version at once; hold keeps the former one', async () => {
    const { harness } = await upgraded(secondWith(0));
    assert.equal((await stateOf(harness)).status.storageVersion, 'v2');
    const other = await harnessOf({ persistent: true, plugins: [pluginWith(First)] });
    await ask(other, 'hold');
    await other.restart([pluginWith(secondWith(0))]);
    const { status } = await stateOf(other);
    assert.deepEqual([status.storageVersion, status.finalizesAt], ['v1', undefined]);
    await ask(other, 'auto');
    await untilState(other, ({ status }) => status.storageVersion === 'v2');
  });

  it('plugins: hold stops the clock', async () => {
    const { harness } = await upgraded();
    await untilState(harness, ({ status }) => status.finalizesAt !== undefined);
    await ask(harness, 'hold');
    const { status } = await untilState(harness, ({ status }) => status.finalizesAt === undefined);
    assert.equal(status.storageVersion, 'v1');
    await ask(harness, 'auto');
    await untilState(harness, ({ status }) => status.finalizesAt !== undefined);
  });

  it('plugins: a rewrite that was interrupted goes on after the next start', async () => {
    const { harness, file } = await upgraded(Second, { objects: 500, options: { modelRewrite: { rate: 1_000 } } });
    await ask(harness, 'now');
    await until(() => (storedIn(file).v2 ?? 0) > 0);
    await harness.restart([pluginWith(Second)]);
    const { v1 = 0, v2 = 0 } = storedIn(file);
    assert.ok(v1 > 0 && v2 > 0, `${v1} in v1, ${v2} in v2`);
    await untilState(harness, isDone);
    assert.deepEqual(storedIn(file), { v2: 500 });
  });

  it('plugins: what cannot be converted is named and stays as it is, and a rollback does not wait for it', async () => {
    const { harness, file } = await upgraded();
    await harness.restart([pluginWith(First)]);
    await create(harness, 'broken', { fullName: 'broken' }, 'v1');
    await ask(harness, 'hold');
    await harness.restart([pluginWith(Second)]);
    const { reason, message } = (await pluginOf(harness, 'people')).status!;
    assert.equal(reason, 'IncompatibleModel');
    assert.match(message!, /1 of 4 stored objects would become invalid \(broken: the object conversion\)/);
    await harness.restart([pluginWith(Lenient)]);
    await ask(harness, 'now');
    const { status } = await untilState(harness, ({ status }) => (status.migration?.failing ?? 0) > 0);
    const { failing, done, samples, revision } = status.migration!;
    assert.deepEqual([failing, done, samples[0]!.names, revision], [1, 3, ['broken'], undefined]);
    assert.deepEqual(storedIn(file), { v1: 1, v2: 3 });
    await ask(harness, 'rollback');
    const back = await untilState(harness, ({ spec }) => spec.finalize === 'hold');
    assert.equal(back.status.storageVersion, 'v1');
    assert.deepEqual(storedIn(file), { v1: 4 });
  });

  /** As `upgraded`, with objects that cannot be converted. */
  async function withBroken(names: readonly string[], finalizers: string[] = []) {
    const { harness, file } = await upgraded(Second, { objects: 1 });
    await harness.restart([pluginWith(First)]);
    for (const name of names) {
      const json = { metadata: { name, finalizers }, spec: { fullName: 'broken' } };
      const { status } = await harness.fetch(path('v1'), { method: 'POST', json });
      assert.equal(status, 201);
    }
    await harness.restart([pluginWith(Lenient)]);
    const send = async (method: string, version: string, name: string, json?: object, type?: string) => {
      const headers = type === undefined ? {} : { 'content-type': type };
      const response = await harness.fetch(path(version, name), { method, headers, ...(json && { json }) });
      return { status: response.status, body: (await response.json()) as Person & { detail?: string } };
    };
    return { harness, file, send };
  }

  it('plugins: what cannot be converted is deleted, in every version', async () => {
    const { harness, file, send } = await withBroken(['one', 'two']);
    const since = (await harness.fetch(path('v1', 'two'))).headers.get('kindred-revision');
    for (const [name, version, shown] of [
      ['one', 'v1', { fullName: 'broken' }],
      ['two', 'v2', undefined],
    ] as const) {
      const { status, body } = await send('DELETE', version, name);
      assert.deepEqual([status, body.apiVersion, body.spec], [200, `${gvk.group}/${version}`, shown]);
      assert.equal((await send('GET', 'v1', name)).status, 404);
    }
    const headers = { accept: 'application/x-ndjson' };
    const events = await harness.fetch(`${path('v2')}?watch=true&since=${since}`, { headers });
    const gone: [string, unknown][] = [];
    for await (const line of createInterface({ input: Readable.fromWeb(events.body as never) })) {
      const { type, object } = JSON.parse(line) as { type: string; object: Person };
      if (type === 'DELETED') gone.push([object.metadata.name, object.spec]);
      if (type !== 'DELETED' || gone.length === 2) break;
    }
    assert.deepEqual(gone, [
      ['one', undefined],
      ['two', undefined],
    ]);
    await ask(harness, 'now');
    await untilState(harness, isDone);
    assert.deepEqual(storedIn(file), { v2: 1 });
  });

  it('plugins: what cannot be converted is marked with its content, and goes with its last finalizer', async () => {
    const merge = 'application/merge-patch+json';
    const hold = 'people.example.com/hold';
    const { file, send } = await withBroken(['one', 'two'], [hold, `${hold}-too`]);
    const release = { metadata: { finalizers: [hold] } };
    assert.equal((await send('PATCH', 'v1', 'one', release, merge)).status, 500, 'it is not being deleted');
    for (const name of ['one', 'two']) assert.equal((await send('DELETE', 'v2', name)).status, 200);
    const marked = (await send('GET', 'v1', 'one')).body;
    assert.deepEqual([marked.metadata.version, marked.spec], [1, { fullName: 'broken' }]);
    assert.deepEqual(storedIn(file), { v1: 3 });

    const { status, body } = await send('PATCH', 'v2', 'one', { metadata: { finalizers: [] } }, merge);
    assert.deepEqual([status, /"one" cannot be converted from v1 to v2: no such name/.test(body.detail!)], [500, true]);
    const bare = await send('PUT', 'v2', 'one', { metadata: { name: 'one', finalizers: [] } });
    assert.deepEqual([bare.status, bare.body.errors?.[0]?.keyword], [422, 'required']);
    const repaired = { ...marked, spec: { fullName: 'A B' } };
    assert.equal((await send('PUT', 'v1', 'one', repaired)).status, 409, 'it is being deleted');

    const released = await send('PATCH', 'v1', 'one', release, merge);
    assert.deepEqual([released.status, released.body.metadata.version], [200, 2]);
    const { metadata } = released.body;
    assert.equal(
      (await send('PUT', 'v1', 'one', { ...marked, metadata: { ...metadata, finalizers: [] } })).status,
      200,
    );
    assert.equal((await send('GET', 'v1', 'one')).status, 404);
    assert.equal((await send('PATCH', 'v1', 'two', { metadata: { finalizers: [] } }, merge)).status, 200);
    assert.equal((await send('GET', 'v1', 'two')).status, 404);
  });

  it('plugins: what cannot be converted is replaced by what can, in the hub and in its version', async () => {
    const { harness, file, send } = await withBroken(['one', 'two']);
    const name = { given: 'Ada', family: 'Lovelace' };
    const put = (version: string, name: string, spec: object) =>
      send('PUT', version, name, { metadata: { name }, spec });
    assert.deepEqual(
      (await put('v2', 'one', { name: { given: 'Ada' } })).body.errors?.map(({ pointer }) => pointer),
      ['/spec/name/family'],
    );
    assert.equal((await put('v1', 'one', { fullName: 'broken', email: 'a@b.example' })).status, 500);
    const applied = { apiVersion: `${gvk.group}/v2`, kind: gvk.kind, spec: { email: 'a@b.example' } };
    const apply = await send('PATCH', 'v2', 'one?fieldManager=me', applied, 'application/apply-patch+yaml');
    assert.equal(apply.status, 500);
    const { metadata, spec } = (await send('GET', 'v1', 'one')).body;
    assert.deepEqual([metadata.version, spec], [0, { fullName: 'broken' }]);
    assert.equal((await put('v1', 'one', { fullName: 'Ada Lovelace' })).status, 200);
    assert.equal((await put('v2', 'two', { name })).status, 200);
    for (const one of ['one', 'two']) assert.deepEqual((await get(harness, 'v2', one)).object.spec, { name });
    const found = (await (await harness.fetch(`${path('v2')}?fieldSelector=spec.family=Lovelace`)).json()) as {
      total: number;
    };
    assert.equal(found.total, 2);
    await ask(harness, 'now');
    await untilState(harness, isDone);
    assert.deepEqual(storedIn(file), { v2: 3 });
  });

  it('plugins: a rollback stores objects as before, and the earlier version of the plugin starts again', async () => {
    const { harness, file } = await upgraded();
    await ask(harness, 'now');
    await untilState(harness, isDone);
    assert.deepEqual(storedIn(file), { v2: 3 });

    await harness.restart([pluginWith(First)]);
    const { reason, message } = (await pluginOf(harness, 'people')).status!;
    assert.equal(reason, 'IncompatibleModel');
    assert.match(message!, /3 of 3 stored objects would become invalid \(p0: \/apiVersion version/);
    await harness.restart([pluginWith(FirstLenient)]);
    assert.equal((await pluginOf(harness, 'people')).status!.reason, 'IncompatibleModel', 'also with degrade');

    await harness.restart([pluginWith(Second)]);
    await create(harness, 'grace', { name: { given: 'Grace', family: 'Hopper', middle: 'Brewster' } });
    await ask(harness, 'rollback');
    const refused = await untilState(harness, ({ spec }) => spec.finalize === 'hold');
    assert.deepEqual([refused.status.storageVersion, refused.status.rollback?.failing], ['v2', 1]);
    const [{ names, pointer, keyword }] = refused.status.rollback!.samples as [
      { names: string[]; pointer: string; keyword: string },
    ];
    assert.deepEqual([names, pointer, keyword], [['grace'], '/spec/name/middle', 'notYetStorable']);
    assert.deepEqual(storedIn(file), { v2: 4 });

    await harness.client.patch(Second, 'grace', { spec: { name: { middle: null } } });
    await ask(harness, 'rollback');
    const { status } = await untilState(
      harness,
      ({ spec, status }) => spec.finalize === 'hold' && status.storageVersion === 'v1',
    );
    assert.equal(status.rollback, undefined);
    assert.deepEqual(storedIn(file), { v1: 4 });
    assert.equal((await create(harness, 'other', { name: { given: 'A', family: 'B', middle: 'C' } })).status, 422);
    await harness.restart([pluginWith(First)]);
    assert.equal((await pluginOf(harness, 'people')).status!.state, 'STARTED');
    assert.deepEqual((await get(harness, 'v1', 'grace')).object.spec, { fullName: 'Grace Hopper' });
    await harness.restart([pluginWith(Second)]);
    assert.equal((await stateOf(harness)).status.storageVersion, 'v1');
  });

  it('plugins: after a rollback, readers of the change log get no object in a version that the earlier plugin lacks', async () => {
    const { harness } = await upgraded();
    await ask(harness, 'now');
    await untilState(harness, isDone);
    const newest = async () => Number((await harness.fetch(path('v1'))).headers.get('kindred-revision'));
    const before = await newest();
    const grace = { name: { given: 'Grace', family: 'Hopper' } };
    assert.equal((await create(harness, 'grace', grace)).status, 201);
    const after = await newest();
    await ask(harness, 'rollback');
    await untilState(harness, ({ spec, status }) => spec.finalize === 'hold' && status.storageVersion === 'v1');
    await harness.client.patch(Second, 'p0', { spec: { email: 'p0@example.com' } });
    await harness.restart([pluginWith(First)]);
    for (const query of ['', '&fieldSelector=metadata.name%3Dgrace', '&fieldSelector=metadata.name%3Dp1']) {
      const late = await Stream.open(`${harness.url}${path('v1')}?watch=true&since=${before}${query}`);
      const [event] = await late.changes(1);
      assert.deepEqual([event!.type, event!.error?.code, event!.error?.status], ['ERROR', 'Expired', 410], query);
      late.close();
    }
    const kube = `/kube${path('v1')}?resourceVersionMatch=Exact&resourceVersion=`;
    assert.equal((await harness.fetch(`${kube}${before}`)).status, 410);
    assert.equal((await harness.fetch(`${kube}${await newest()}`)).status, 200);
    const stream = await Stream.open(`${harness.url}${path('v1')}?watch=true&since=${after}`);
    await create(harness, 'ada', { fullName: 'Ada Lovelace' }, 'v1');
    const events = await stream.changes(2);
    stream.close();
    assert.deepEqual(
      events.map(({ object }) => [object.apiVersion, object.metadata.name, object.spec.fullName]),
      [
        ['people.example.com/v1', 'p0', 'Given0 Family0'],
        ['people.example.com/v1', 'ada', 'Ada Lovelace'],
      ],
    );
  });

  it('plugins: a rollback that finds a loss while it rewrites is refused when the hub is the storage version again', async () => {
    const { harness, file } = await upgraded(Second, { objects: 600, options: { modelRewrite: { rate: 600 } } });
    await ask(harness, 'now');
    await untilState(harness, isDone);
    await ask(harness, 'rollback');
    await untilState(harness, ({ status }) => status.storageVersion === 'v1');
    // As a write would have stored it between the look at the objects and this moment. The first 500 rows are read by now.
    edit(file, '"given":"Given599"', '"given":"Given599","middle":"M"');
    await untilState(harness, ({ spec }) => spec.finalize === 'hold');
    const states = statesIn(file).filter(({ spec }) => spec.finalize === 'hold');
    assert.equal(states[0]!.status.storageVersion, 'v2');
    assert.equal(states.at(-1)!.status.rollback!.failing, 1);
    await untilState(harness, isDone);
    assert.deepEqual(storedIn(file), { v2: 600 });
  });

  it('plugins: an object that was cached before the rewrite is shown as it is stored once the former version is gone', async () => {
    const { harness } = await upgraded();
    const source = pluginWith(Second);
    await harness.restart([source]);
    const before = await get(harness, 'v2', 'p0');
    const revision = (await harness.fetch(path('v2'))).headers.get('kindred-revision');
    const past = `/kube${path('v2')}?resourceVersionMatch=Exact&resourceVersion=${revision}`;
    await harness.client.patch(Second, 'p1', { spec: { email: 'p1@example.com' } });
    assert.equal((await harness.fetch(past)).status, 200);
    await ask(harness, 'now');
    await untilState(harness, isDone);
    source.plugin = pluginWith(defineModel({ gvk, spec: v2Spec })).plugin;
    const reload = '/apis/console.api.plugin.platform.run/v1alpha1/plugins/people/reload';
    const { status } = (await (await harness.fetch(reload, { method: 'POST' })).json()) as {
      status: { state: string };
    };
    assert.equal(status.state, 'STARTED', JSON.stringify(status));
    assert.deepEqual((await get(harness, 'v2', 'p0')).object, before.object);
    assert.equal((await harness.fetch(past)).status, 410, 'what was read by the former declaration');
  });

  it('plugins: hold calls off a rollback that has not moved the storage version yet', async () => {
    const reads: Reads = {};
    const { harness, file } = await upgraded(Second, { reads });
    await ask(harness, 'now');
    await untilState(harness, isDone);
    await rollBackAndHold(harness, reads);
    assert.deepEqual([...new Set(statesIn(file).map(({ status }) => status?.generation))], [undefined, 1, 2, 3]);
    assert.deepEqual(storedIn(file), { v2: 3 });
  });

  it('plugins: a rollback that was called off while it looked is not told as refused', async () => {
    const reads: Reads = {};
    const { harness, file } = await upgraded(Second, { reads });
    await ask(harness, 'now');
    await untilState(harness, isDone);
    await create(harness, 'grace', { name: { given: 'Grace', family: 'Hopper', middle: 'Brewster' } });
    await rollBackAndHold(harness, reads);
    assert.ok(statesIn(file).every(({ status }) => status?.rollback === undefined));
  });

  it('plugins: a rollback that was held while it rewrote keeps the former version, and is refused when it is asked for again', async () => {
    const reads: Reads = {};
    const { harness, file } = await upgraded(Second, { reads });
    await ask(harness, 'now');
    await untilState(harness, isDone);
    let pages = 0;
    reads.before = async () => {
      if ((await stateOf(harness)).status.storageVersion !== 'v1' || pages++ > 0) return;
      edit(file, '"given":"Given1"', '"given":"Given1","middle":"M"');
      await ask(harness, 'hold');
    };
    await ask(harness, 'rollback');
    // Two were those of the rollback.
    await until(() => pages > 2);
    const { status } = await stateOf(harness);
    assert.deepEqual([status.storageVersion, status.migration!.failing, status.rollback], ['v1', 1, undefined]);
    assert.deepEqual(storedIn(file), { v1: 2, v2: 1 });
    await ask(harness, 'rollback');
    const refused = await untilState(harness, ({ spec, status }) => spec.finalize === 'hold' && !!status.rollback);
    assert.deepEqual([refused.status.storageVersion, refused.status.rollback!.failing], ['v2', 1]);
    await untilState(harness, isDone);
    assert.deepEqual(storedIn(file), { v2: 3 });
  });

  it('command-line: model finalize, hold and rollback wait for what they ask for, and say what came of it', async () => {
    const { harness } = await upgraded();
    const call = async (...args: string[]) => {
      const { code, stdout, stderr } = await kindred(['model', ...args, '--server', harness.url]);
      return { code, out: stdout + stderr };
    };
    const name = 'persons.people.example.com';
    const storage = async () => /v\d( \(.*\))?(?= +-)/.exec((await call('status', 'persons')).out)?.[0];
    await untilState(harness, ({ status }) => status.finalizesAt !== undefined);
    assert.match((await storage())!, /^v1 \(v2 at 2\d{3}-.*Z\)$/);
    assert.deepEqual(await call('hold', name), {
      code: 0,
      out: `${name} stays stored as v1 until it is finalized by hand\n`,
    });
    assert.equal(await storage(), 'v1 (held)');
    const rollback = `${name} is stored as v1; the earlier version of the plugin can be started\n`;
    assert.deepEqual(await call('rollback', 'persons'), { code: 0, out: rollback });
    const finalized = await call('finalize', 'persons');
    assert.equal(finalized.code, 0);
    assert.match(finalized.out, /^persons\.people\.example\.com is stored as v2 from now on; /);
    await untilState(harness, isDone);
    assert.equal(await storage(), 'v2 (also v1)');
    await create(harness, 'grace', { name: { given: 'Grace', family: 'Hopper', middle: 'Brewster' } });
    assert.deepEqual(await call('rollback', 'persons'), {
      code: 1,
      out: `${name} stays stored as v2: 1 object would lose content\n   grace   /spec/name/middle   notYetStorable   would be lost in v1\n`,
    });
    await harness.client.delete(Second, 'grace');
    assert.deepEqual(await call('rollback', 'persons'), { code: 0, out: rollback });
    const json = await kindred(['model', 'hold', 'persons', '-o', 'json', '--server', harness.url]);
    assert.equal((JSON.parse(json.stdout) as State).status.storageVersion, 'v1');
    assert.equal((await call('hold', 'cars')).code, 1);
    const plain = await harnessOf({ plugins: [pluginWith(First)] });
    const never = await kindred(['model', 'rollback', 'persons', '--server', plain.url]);
    assert.deepEqual([never.code, never.stdout], [2, '']);
    assert.match(never.stderr, /was stored in no other version than v1/);
  });
});
