/** Replicas with different versions of a plugin on one database: what clients see before the newer one is active, and after. */
import assert from 'node:assert/strict';
import { afterEach, it } from 'node:test';
import type { Model, PluginContext, Service } from 'kindred';
import { createService, defineModel, definePlugin, Type } from 'kindred';
import type { CodePlugin } from '../../src/plugin/source.ts';
import { until } from '../../src/testing/until.ts';
import { databaseAdapters } from '../servers.ts';
import { quiet } from './kit.ts';

const group = 'people.example.com';
const gvk = { group, version: 'v1', kind: 'Person', singular: 'person', plural: 'persons' };
const persons = `/apis/${group}/v1/persons`;
const state = '/apis/plugin.platform.run/v1alpha1/modelstates/persons.people.example.com';

const spec = { email: Type.Optional(Type.String()) };
const First = defineModel({ gvk, spec: Type.Object(spec) });
const Second = defineModel({
  gvk: { ...gvk, subresources: { status: true } },
  spec: Type.Object({ ...spec, team: Type.Optional(Type.String()) }),
  status: Type.Optional(Type.Object({ phase: Type.Optional(Type.String()) })),
  versions: {
    v1beta1: {
      spec: Type.Object({ mail: Type.Optional(Type.String()) }),
      status: Type.Optional(Type.Object({ phase: Type.Optional(Type.String()) })),
      toHub: ({ mail }: any) => (mail === undefined ? {} : { email: mail }),
      fromHub: ({ email }: any) => (email === undefined ? {} : { mail: email }),
    },
  },
} as never) as Model<any>;
const Unique = defineModel({
  gvk,
  spec: Type.Object(spec),
  indexes: (index) => [index.single('spec.email', String, (one: any) => one.spec.email, { unique: true })],
}) as Model<any>;
const Strict = defineModel({ gvk, spec: Type.Object({ email: Type.Optional(Type.String({ format: 'email' })) }) });

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const codeOf = (model: Model<any>) =>
  definePlugin({ start: ({ schemeManager }: PluginContext) => void schemeManager.register(model) });

interface Replica {
  readonly service: Service;
  readonly get: (path: string, accept?: string) => Promise<Response>;
  readonly json: (path: string) => Promise<any>;
  readonly send: (method: string, path: string, body: object, type?: string) => Promise<Response>;
  /** Runs other code of the plugin. @returns the state of the plugin afterwards */
  readonly reload: (model: Model<any>) => Promise<{ state: string; reason?: string }>;
}

async function replica(database: string, model: Model<any>): Promise<Replica> {
  const source = { name: 'people', version: '1.0.0', plugin: codeOf(model) } as CodePlugin;
  const service = await createService({ database, auth: false, port: 0, logger: quiet, plugins: [source] });
  ends.push(() => service.stop());
  const { url } = await service.start();
  const get = (path: string, accept = 'application/json') => fetch(url + path, { headers: { accept } });
  const send = (method: string, path: string, body: object, type = 'application/json') =>
    fetch(url + path, { method, headers: { 'content-type': type }, body: JSON.stringify(body) });
  const json = async (path: string) => (await get(path)).json();
  const reload = async (next: Model<any>) => {
    (source as { plugin: unknown }).plugin = codeOf(next);
    const path = '/apis/console.api.plugin.platform.run/v1alpha1/plugins/people/reload';
    assert.equal((await fetch(url + path, { method: 'POST' })).status, 200);
    const { plugins } = (await json('/readyz')) as { plugins: { name: string; state: string; reason?: string }[] };
    const { name: _name, ...status } = plugins.find(({ name }) => name === 'people')!;
    return status;
  };
  return { service, get, json, send, reload };
}

for (const adapter of databaseAdapters()) {
  if (adapter.kind === 'sqlite') continue;
  const database = async () => {
    const { url, drop } = await adapter.create();
    ends.push(drop);
    return url;
  };

  it(`plugins: clients see a model by the contract that is active, also of a replica that declares a newer one - ${adapter.name}`, async () => {
    const url = await database();
    const old = await replica(url, First);
    const next = await replica(url, Second);
    const shown = async () => {
      const { paths, components } = await next.json('/v3/api-docs/apis_extension.api_v1alpha1');
      const { versions } = await next.json(`/apis/${group}`);
      const { resources } = await next.json(`/apis/${group}/v1`);
      const model = await next.json(`/v3/models/persons.${group}`);
      const kube = await next.json(`/kube/apis/${group}/v1`);
      return {
        members: Object.keys(components.schemas['Person.spec'].properties),
        paths: Object.keys(paths).filter((path) => path.includes('persons')),
        versions: versions.map(({ version }: any) => version),
        resources: resources.map(({ name }: any) => name),
        console: [Object.keys(model.schema.properties.spec.properties), model.subresources.status],
        kube: kube.resources.map(({ name }: any) => name),
        older: (await next.get(`/apis/${group}/v1beta1/persons`)).status,
      };
    };
    await old.send('POST', persons, { metadata: { name: 'ada' }, spec: { email: 'ada@example.com' } });
    const before = await shown();
    assert.deepEqual(before, {
      members: ['email'],
      paths: [persons, `${persons}/{name}`],
      versions: ['v1'],
      resources: ['persons'],
      console: [['email'], false],
      kube: ['persons'],
      older: 404,
    });
    assert.equal((await next.send('PUT', `${persons}/ada/status`, { status: {} })).status, 404);
    assert.equal((await next.send('PATCH', `${persons}/ada`, { spec: { team: 'x' } }, merge)).status, 422);
    await old.service.stop();
    await until(async () => (await next.json(state)).status.generation === 2, { timeout: 30_000 });
    const after = await shown();
    assert.deepEqual(after, {
      members: ['email', 'team'],
      paths: [
        persons,
        `${persons}/{name}`,
        `${persons}/{name}/status`,
        ...['', '/{name}', '/{name}/status'].map((rest) => `/apis/${group}/v1beta1/persons${rest}`),
      ],
      versions: ['v1', 'v1beta1'],
      resources: ['persons', 'persons/status'],
      console: [['email', 'team'], true],
      kube: ['persons', 'persons/status'],
      older: 200,
    });
    const status = { ...(await next.json(`${persons}/ada`)), status: { phase: 'ready' } };
    assert.equal((await next.send('PUT', `${persons}/ada/status`, status)).status, 200);
    assert.equal((await next.send('PATCH', `${persons}/ada`, { spec: { team: 'x' } }, merge)).status, 200);
  });

  it(`plugins: two replicas that reload a plugin one after the other add a unique index under writers - ${adapter.name}`, async () => {
    const url = await database();
    const replicas = [await replica(url, First), await replica(url, First)];
    const [one, two] = replicas as [Replica, Replica];
    const value = (i: number) => `v${i % 150}@example.com`;
    for (let i = 0; i < 100; i++) {
      const answer = await one.send('POST', persons, { metadata: { name: `old${i}` }, spec: { email: value(i) } });
      assert.equal(answer.status, 201);
    }
    const refused: string[] = [];
    const states = new Set<string>();
    let isOver = false;
    // Each value by both replicas at once; before the index is there, nobody takes one that is taken.
    const writer = async (of: Replica, own: number) => {
      for (let i = 0; !isOver; i++) {
        const name = `new${own}-${i}`;
        const email = states.has('claiming') || states.has('enforced') ? value(i) : `${name}@example.com`;
        const answer = await of.send('POST', persons, { metadata: { name }, spec: { email } });
        if (answer.status !== 201 && answer.status !== 409) refused.push(`${answer.status} ${await answer.text()}`);
        else await answer.arrayBuffer();
        const read = await of.get(`${persons}/old${i % 100}`);
        if (read.status !== 200) refused.push(`read ${read.status} ${await read.text()}`);
        else await read.arrayBuffer();
      }
    };
    const watcher = async () => {
      while (!isOver) {
        const { status } = await one.json(state);
        for (const index of status.indexes ?? []) states.add(index.state as string);
      }
    };
    const work = [writer(one, 1), writer(two, 2), watcher()];
    assert.deepEqual(await one.reload(Unique), { state: 'STARTED' });
    const waiting = async () => (await one.json(state)).status.pending?.waitsFor?.length === 1;
    await until(waiting, { timeout: 30_000 });
    assert.deepEqual(await two.reload(Unique), { state: 'STARTED' });
    await until(() => states.has('enforced'), { timeout: 60_000 });
    await one.send('POST', persons, { metadata: { name: 'last' }, spec: { email: 'last@example.com' } });
    const taken = await two.send('POST', persons, { metadata: { name: 'again' }, spec: { email: 'last@example.com' } });
    assert.equal(taken.status, 409);
    isOver = true;
    await Promise.all(work);
    assert.deepEqual(refused, []);
    assert.deepEqual([...states], ['building', 'claiming', 'enforced']);
    const answer = await one.get(persons, 'application/x-ndjson');
    const all = (await answer.text())
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).spec.email as string);
    assert.equal(new Set(all).size, all.length, 'no value is shared');
  });

  it(`plugins: a replica whose reload is refused goes on beside the others, and stays ready - ${adapter.name}`, async () => {
    const url = await database();
    const [one, two] = [await replica(url, First), await replica(url, First)];
    await two.send('POST', persons, { metadata: { name: 'ada' }, spec: { email: 'ada' } });
    const { state: plugin, reason } = await one.reload(Strict);
    assert.deepEqual([plugin, reason], ['STARTED', 'IncompatibleModel']);
    assert.equal((await one.get('/readyz')).status, 200);
    assert.equal((await one.send('POST', persons, { metadata: { name: 'bob' }, spec: { email: 'bob' } })).status, 201);
    assert.equal((await two.get(`${persons}/bob`)).status, 200);
    const { status } = await two.json(state);
    assert.deepEqual([status.generation, status.pending.failing], [1, 1]);
    for (const name of ['ada', 'bob'])
      await two.send('PATCH', `${persons}/${name}`, { spec: { email: `${name}@example.com` } }, merge);
    assert.deepEqual(await one.reload(Strict), { state: 'STARTED' });
    assert.equal(
      (await one.send('POST', persons, { metadata: { name: 'eve' }, spec: { email: 'eve' } })).status,
      201,
      'the old contract is active',
    );
    assert.deepEqual(
      [(await two.reload(Strict)).reason, (await two.get('/readyz')).status],
      ['IncompatibleModel', 200],
      'what was written since is checked too',
    );
    await two.send('DELETE', `${persons}/eve`, {});
    assert.deepEqual(await two.reload(Strict), { state: 'STARTED' });
    await until(async () => (await one.json(state)).status.generation === 2, { timeout: 30_000 });
    assert.equal((await one.send('POST', persons, { metadata: { name: 'max' }, spec: { email: 'max' } })).status, 422);
  });
}

const merge = 'application/merge-patch+json';
