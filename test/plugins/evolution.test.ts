/** A plugin whose models changed, beside the objects that its earlier version stored. */
import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import type { Model, PluginContext } from 'kindred';
import { createService, defineModel, definePlugin, Type } from 'kindred';
import type { Harness } from 'kindred/testing';
import { kindred } from '../cli/command.ts';
import { databaseAdapters } from '../servers.ts';
import { cleanUp, harnessOf, pluginOf, quiet } from './kit.ts';

afterEach(cleanUp);

const gvk = { group: 'people.example.com', version: 'v1', kind: 'Person', singular: 'person', plural: 'persons' };
const persons = '/apis/people.example.com/v1/persons';
const states = '/apis/plugin.platform.run/v1alpha1/modelstates';
const stateName = 'persons.people.example.com';

const First = defineModel({
  gvk,
  spec: Type.Object({ email: Type.Optional(Type.String()), team: Type.Optional(Type.String()) }),
});
const strictSpec = Type.Object({
  email: Type.Optional(Type.String({ format: 'email' })),
  team: Type.Optional(Type.String()),
});
const Strict = defineModel({ gvk, spec: strictSpec });
const Stricter = defineModel({
  gvk,
  spec: Type.Object({
    email: Type.Optional(Type.String({ format: 'email' })),
    team: Type.Optional(Type.String({ maxLength: 20 })),
  }),
});
const Lenient = defineModel({ gvk, spec: strictSpec, evolution: { onInvalid: 'degrade' } });
const Unique = defineModel({
  gvk,
  spec: Type.Object({ email: Type.Optional(Type.String()), team: Type.Optional(Type.String()) }),
  indexes: (index) => [index.single('spec.email', String, (person) => person.spec.email, { unique: true })],
});

const pluginWith = (...models: Model<any>[]) => ({
  name: 'people',
  plugin: definePlugin({
    start: ({ schemeManager }: PluginContext) => {
      for (const model of models) schemeManager.register(model);
    },
  }),
});

interface State {
  spec: object;
  status: {
    generation: number;
    contractHash: string;
    pending?: { class: string; failing: number; samples: { names: string[] }[] };
    degraded?: { failing: number; samples: { names: string[]; pointer: string }[] };
  };
}

async function stateOf(harness: Harness, name = stateName): Promise<State> {
  const response = await harness.fetch(`${states}/${name}`);
  assert.equal(response.status, 200);
  return (await response.json()) as State;
}

async function started(...objects: [string, object][]): Promise<Harness> {
  const harness = await harnessOf({ persistent: true, plugins: [pluginWith(First)] });
  for (const [name, spec] of objects)
    await harness.fetch(persons, { method: 'POST', json: { metadata: { name }, spec } });
  return harness;
}

const statusOf = async (harness: Harness) => (await pluginOf(harness, 'people')).status!;
const message = (offences: string, failing = '1 of 2') =>
  `Person: ${failing} stored objects would become invalid (${offences}): repair them, add a conversion, or start with evolution.onInvalid: degrade`;

describe('models that change', () => {
  it('plugins: a model that would make stored objects invalid holds the plugin back, and says how to go on', async () => {
    const harness = await started(['ada', { email: 'ada' }], ['bob', { email: 'bob@example.com' }]);
    const before = await stateOf(harness);
    assert.equal(before.status.generation, 1);
    await harness.restart([pluginWith(Strict)]);
    assert.deepEqual(await statusOf(harness), {
      state: 'FAILED',
      reason: 'IncompatibleModel',
      message: message('ada: /spec/email format'),
    });
    assert.equal((await harness.fetch(persons)).status, 404, 'nothing of the plugin serves');
    assert.equal((await harness.fetch('/readyz')).status, 200, 'a service with one process serves the other plugins');
    const refused = await stateOf(harness);
    const { pending, ...active } = refused.status;
    assert.deepEqual(active, before.status);
    assert.deepEqual([pending?.class, pending?.failing, pending?.samples[0]?.names], ['narrowing', 1, ['ada']]);

    await harness.restart([pluginWith(First)]);
    assert.equal((await statusOf(harness)).state, 'STARTED');
    assert.deepEqual((await stateOf(harness)).status, before.status, 'the earlier version goes on where it was');
    await harness.client.patch(First, 'ada', { spec: { email: 'ada@example.com' } });
    await harness.restart([pluginWith(Strict)]);
    assert.equal((await statusOf(harness)).state, 'STARTED');
    assert.equal((await stateOf(harness)).status.generation, 2);
    await harness.restart([pluginWith(Strict)]);
    assert.equal((await stateOf(harness)).status.generation, 2, 'a start without a change is none');
  });

  it('plugins: with onInvalid degrade it starts, and lists the objects until they are repaired', async () => {
    const harness = await started(['ada', { email: 'ada' }], ['bob', {}]);
    const problems = async () => {
      const { models } = (await (await harness.fetch('/readyz')).json()) as {
        models: { kind: string; problems: { name: string; reason: string }[] }[];
      };
      return models.find(({ kind }) => kind === 'Person')!.problems;
    };
    const listed = [{ name: 'ada', reason: '/spec/email must be of the format email: ada@example.com' }];
    for (const _start of ['first', 'second']) {
      await harness.restart([pluginWith(Lenient)]);
      assert.equal((await statusOf(harness)).state, 'STARTED');
      assert.deepEqual(await problems(), listed);
      const { generation, degraded } = (await stateOf(harness)).status;
      assert.deepEqual([generation, degraded?.failing, degraded?.samples[0]?.pointer], [2, 1, '/spec/email']);
    }
    await harness.restart([pluginWith(Strict)]);
    assert.equal((await statusOf(harness)).state, 'STARTED', 'what the active model refuses already holds nobody back');
    await harness.restart([pluginWith(Stricter)]);
    assert.equal((await statusOf(harness)).state, 'STARTED', 'nor does it under another contract that refuses it too');
    const stricter = (await stateOf(harness)).status;
    assert.deepEqual([stricter.generation, stricter.degraded?.failing], [3, 1]);
    await harness.client.patch(Strict, 'ada', { spec: { email: 'ada@example.com' } });
    await harness.restart([pluginWith(Stricter)]);
    assert.equal((await stateOf(harness)).status.degraded, undefined);
    assert.deepEqual(await problems(), []);
  });

  it('plugins: onInvalid of the ModelState wins over the declaration', async () => {
    const harness = await started(['ada', { email: 'ada' }]);
    await harness.restart([pluginWith(Strict)]);
    assert.equal((await statusOf(harness)).state, 'FAILED');
    const patched = await harness.fetch(`${states}/${stateName}`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/merge-patch+json' },
      json: { spec: { onInvalid: 'degrade' } },
    });
    assert.equal(patched.status, 200);
    await harness.restart([pluginWith(Strict)]);
    assert.equal((await statusOf(harness)).state, 'STARTED');
  });

  it('plugins: a unique index that stored objects violate holds the plugin back', async () => {
    const harness = await started(['ada', { email: 'x' }], ['bob', { email: 'x' }], ['eve', { email: 'y' }]);
    await harness.restart([pluginWith(Unique)]);
    assert.equal((await statusOf(harness)).message, message('ada, bob: spec.email unique', '2 of 3'));
    await harness.restart([pluginWith(First)]);
    await harness.client.patch(First, 'bob', { spec: { email: null } });
    await harness.restart([pluginWith(Unique)]);
    assert.equal((await statusOf(harness)).state, 'STARTED');
    await assert.rejects(harness.client.create(Unique, { metadata: { name: 'max' }, spec: { email: 'x' } }), {
      code: 'UniqueViolation',
    });
  });

  it('plugins: when one model is refused, no other of the plugin becomes active', async () => {
    const team = { group: 'people.example.com', version: 'v1', kind: 'Team', singular: 'team', plural: 'teams' };
    const Team = defineModel({ gvk: team, spec: Type.Object({ size: Type.Optional(Type.Integer()) }) });
    const Wider = defineModel({ gvk: team, spec: Type.Object({ size: Type.Optional(Type.Number()) }) });
    const harness = await harnessOf({ persistent: true, plugins: [pluginWith(First, Team)] });
    await harness.client.create(First, { metadata: { name: 'ada' }, spec: { email: 'ada' } });
    await harness.restart([pluginWith(Strict, Wider)]);
    assert.equal((await statusOf(harness)).reason, 'IncompatibleModel');
    assert.equal((await stateOf(harness, 'teams.people.example.com')).status.generation, 1);
    await harness.restart([pluginWith(First, Wider)]);
    assert.equal((await stateOf(harness, 'teams.people.example.com')).status.generation, 2);
  });

  it('plugins: what needs no look at the data, and a member with a default, hold nobody back', async () => {
    const harness = await started(['ada', { email: 'ada' }]);
    const WithDefault = defineModel({
      gvk,
      spec: Type.Object({
        email: Type.Optional(Type.String()),
        team: Type.String({ default: 'none' }),
      }),
    });
    await harness.restart([pluginWith(WithDefault)]);
    assert.equal((await statusOf(harness)).state, 'STARTED');
    const { generation, degraded } = (await stateOf(harness)).status;
    assert.deepEqual([generation, degraded], [2, undefined]);
  });

  it('command-line: model status, diff and plan tell what is active, what was refused and what to do', async () => {
    const harness = await started(['ada', { email: 'ada' }], ['bob', {}]);
    await harness.restart([pluginWith(Strict)]);
    const { stdout, code } = await kindred(['model', 'status', '--server', harness.url]);
    assert.equal(code, 0);
    assert.match(
      stdout,
      /^NAME +KIND +GENERATION +STORAGE +REPLICAS +DEGRADED +PENDING\npersons\.people\.example\.com +Person +1 +v1 +- +- +1 object \(narrowing\)\n/,
    );
    assert.match(stdout, /ada +\/spec\/email +format/);
    const one = await kindred(['model', 'status', 'persons', '--server', harness.url, '-o', 'json']);
    assert.equal((JSON.parse(one.stdout) as { items: State[] }).items[0]!.status.generation, 1);
    assert.equal((await kindred(['model', 'status', 'cars', '--server', harness.url])).code, 1);
  });
});

for (const adapter of databaseAdapters()) {
  it(`plugins: what is active is kept in the store, and another replica finds it - ${adapter.name}`, async () => {
    const database = await adapter.create();
    const start = async (model: Model<any>) => {
      const service = await createService({
        database: database.url,
        auth: false,
        port: 0,
        logger: quiet,
        plugins: [pluginWith(model)],
      });
      const { url } = await service.start();
      return { service, url };
    };
    const generation = async (url: string) =>
      ((await (await fetch(`${url}${states}/${stateName}`)).json()) as State).status.generation;
    try {
      const first = await start(First);
      await first.service.client.create(First, { metadata: { name: 'ada' }, spec: { email: 'ada' } });
      if (adapter.kind !== 'sqlite') {
        const held = await start(Strict);
        const readiness = await fetch(`${held.url}/readyz`);
        assert.equal(readiness.status, 503, 'the new replica is not ready');
        assert.equal((await fetch(`${first.url}/readyz`)).status, 200, 'the others go on');
        assert.equal((await fetch(`${first.url}${persons}/ada`)).status, 200);
        await held.service.stop();
      }
      await first.service.client.patch(First, 'ada', { spec: { email: 'ada@example.com' } });
      await first.service.stop();
      const second = await start(Strict);
      assert.equal(await generation(second.url), 2);
      assert.equal((await fetch(`${second.url}/readyz`)).status, 200);
      await second.service.stop();
    } finally {
      await database.drop();
    }
  });
}
