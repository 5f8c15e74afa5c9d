/** `evolution.migrate`: a declaration changes stored objects once it is active and finalized. */
import assert from 'node:assert/strict';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { afterEach, describe, it } from 'node:test';
import type { Model, PluginContext } from 'kindred';
import { defineModel, definePlugin, Type } from 'kindred';
import type { Harness } from 'kindred/testing';
import { until } from 'kindred/testing';
import { kindred } from '../cli/command.ts';
import { cleanUp, folderOf, harnessOf, pluginOf } from './kit.ts';

afterEach(cleanUp);

const gvk = { group: 'people.example.com', version: 'v1', kind: 'Person', singular: 'person', plural: 'persons' };
const First = defineModel({
  gvk,
  spec: Type.Object({ fullName: Type.String() }),
  status: Type.Object({ seen: Type.Optional(Type.Integer()) }),
  subresources: { status: true },
});

const spec = Type.Object({
  fullName: Type.Optional(Type.String()),
  given: Type.String({ minLength: 1 }),
  family: Type.Optional(Type.String()),
});

/** Takes the name apart, in the same version of the model. */
const Second = defineModel({
  gvk,
  spec,
  status: Type.Object({ seen: Type.Integer(), isOld: Type.Optional(Type.Boolean()) }),
  subresources: { status: true },
  evolution: {
    migrate: (person) => {
      const { fullName, ...others } = person.spec;
      if (fullName === 'broken') throw new Error('no such name');
      if (fullName === undefined) return undefined;
      const [given = '', family] = fullName.split(' ');
      const status = person.status && { ...person.status, isOld: true };
      return {
        ...person,
        spec: { ...others, given, ...(family !== undefined && { family }) },
        ...(status && { status }),
      };
    },
  },
});

/** The same for those that it cannot change. */
const Lenient = defineModel({
  gvk: { ...gvk, evolution: { ...Second.gvk.evolution, onInvalid: 'degrade' } },
  spec,
  status: Type.Object({ seen: Type.Integer(), isOld: Type.Optional(Type.Boolean()) }),
  subresources: { status: true },
});

const pluginWith = (model: Model<any>) => ({
  name: 'people',
  plugin: definePlugin({ start: ({ schemeManager }: PluginContext) => void schemeManager.register(model) }),
});

interface State {
  generation: number;
  contentMigration?: {
    done: number;
    total: number;
    changed: number;
    failing: number;
    samples: { names: string[]; message: string }[];
    isOver?: boolean;
  };
}

const statePath = '/apis/plugin.platform.run/v1alpha1/modelstates/persons.people.example.com';
const persons = (name = '') => `/apis/${gvk.group}/v1/persons${name && `/${name}`}`;

async function untilMigrated(harness: Harness): Promise<NonNullable<State['contentMigration']>> {
  let found: State['contentMigration'];
  await until(async () => {
    const { status } = (await (await harness.fetch(statePath)).json()) as { status: State };
    found = status.contentMigration;
    return found?.isOver;
  });
  return found!;
}

async function get(harness: Harness, name: string) {
  const response = await harness.fetch(persons(name));
  return (await response.json()) as {
    metadata: { version: number; generation: number };
    spec: object;
    status?: object;
  };
}

async function begun(objects: Readonly<Record<string, string>>, options: object = {}): Promise<Harness> {
  const database = `sqlite:${folderOf({})}/kindred.db`;
  const harness = await harnessOf({ database, plugins: [pluginWith(First)], ...options });
  for (const [name, fullName] of Object.entries(objects))
    await harness.client.create(First, { metadata: { name, labels: { kept: 'yes' } }, spec: { fullName } });
  return harness;
}

describe('evolution.migrate', () => {
  it('plugins: objects that migrate changes hold nobody back, and are updated once, with a version and an event', async () => {
    const harness = await begun({ ada: 'Ada Lovelace', max: 'Max' });
    await harness.client.updateStatus(First, { ...(await harness.client.get(First, 'ada')), status: { seen: 3 } });
    const revision = Number((await harness.fetch(persons())).headers.get('kindred-revision'));
    await harness.restart([pluginWith(Second)]);
    assert.equal((await pluginOf(harness, 'people')).status!.state, 'STARTED');
    const { done, total, changed, failing } = await untilMigrated(harness);
    assert.deepEqual([done, total, changed, failing], [2, 2, 2, 0]);
    const ada = await get(harness, 'ada');
    assert.deepEqual(ada.spec, { given: 'Ada', family: 'Lovelace' });
    assert.deepEqual(ada.status, { seen: 3, isOld: true });
    // Created, its status twice, its spec once.
    assert.deepEqual([ada.metadata.version, ada.metadata.generation], [3, 2]);
    const max = await get(harness, 'max');
    assert.deepEqual([max.spec, max.metadata.version], [{ given: 'Max' }, 1]);
    const events = await harness.fetch(`${persons()}?watch=true&since=${revision}`, {
      headers: { accept: 'application/x-ndjson' },
    });
    const seen: string[] = [];
    for await (const line of createInterface({ input: Readable.fromWeb(events.body as never) })) {
      const { type, object } = JSON.parse(line) as { type: string; object?: { metadata: { name: string } } };
      if (type === 'MODIFIED') seen.push(object!.metadata.name);
      if (seen.length === 3) break;
    }
    assert.deepEqual(seen.toSorted(), ['ada', 'ada', 'max']);

    await harness.client.create(Second, { metadata: { name: 'eve' }, spec: { given: 'Eve' } });
    await harness.restart([pluginWith(Second)]);
    assert.deepEqual((await get(harness, 'ada')).metadata, ada.metadata);
    assert.equal((await untilMigrated(harness)).total, 2);
  });

  it('plugins: what a client writes while migrate runs stays', async () => {
    const people = Array.from({ length: 60 }, (_, i) => [`p${i}`, `Given${i} Family${i}`] as const);
    const harness = await begun(Object.fromEntries(people), { modelRewrite: { rate: 100 } });
    await harness.restart([pluginWith(Second)]);
    let written = 0;
    for (let i = 59; i >= 0; i -= 3) {
      const person = await harness.client.get(Second, `p${i}`);
      try {
        await harness.client.update(Second, { ...person, spec: { given: `New${i}` } });
        written++;
      } catch (error) {
        // The migration came first.
        assert.equal((error as { code?: string }).code, 'VersionConflict');
      }
    }
    const { failing } = await untilMigrated(harness);
    assert.equal(failing, 0);
    let kept = 0;
    for (let i = 0; i < 60; i++) {
      const { given, fullName } = (await harness.client.get(Second, `p${i}`)).spec;
      assert.equal(fullName, undefined);
      if (given === `New${i}`) kept++;
      else assert.equal(given, `Given${i}`);
    }
    assert.equal(kept, written);
  });

  it('plugins: what migrate cannot change is refused, or named when the plugin starts with degrade, and tried again at a start', async () => {
    const harness = await begun({ ada: 'Ada Lovelace', bad: 'broken', none: '' });
    await harness.restart([pluginWith(Second)]);
    const { reason, message } = (await pluginOf(harness, 'people')).status!;
    assert.equal(reason, 'IncompatibleModel');
    assert.match(
      message!,
      /2 of 3 stored objects would become invalid \(bad: the object migrate; none: \/spec\/given minLength\)/,
    );
    await harness.restart([pluginWith(Lenient)]);
    const { done, changed, samples } = await untilMigrated(harness);
    assert.deepEqual([done, changed], [1, 1]);
    assert.deepEqual(
      samples.map(({ names: [name], message: text }) => [name, text]),
      [
        ['bad', 'no such name'],
        ['none', 'must have at least 1 character, has 0'],
      ],
    );
    await harness.client.update(Lenient, { ...(await harness.client.get(Lenient, 'bad')), spec: { given: 'Good' } });
    await harness.restart([pluginWith(Lenient)]);
    await until(async () => (await untilMigrated(harness)).failing === 1);
  });

  it('command-line: model plan and check count what migrate changes, model status what it left', async () => {
    const harness = await begun({ ada: 'Ada Lovelace', bad: 'broken' });
    const folder = folderOf({
      'package.json': { name: 'people', version: '2.0.0', type: 'module', main: 'index.js' },
      'index.js': `import { defineModel, definePlugin, Type } from 'kindred';
const Person = defineModel({
  gvk: ${JSON.stringify(gvk)},
  spec: Type.Object({ fullName: Type.String(), team: Type.String() }),
  status: Type.Object({}),
  subresources: { status: true },
  evolution: { migrate: (person) => ({ ...person, spec: { team: 'none', ...person.spec } }) },
});
export default definePlugin({ start: ({ schemeManager }) => void schemeManager.register(Person) });
`,
    });
    const plan = await kindred(['model', 'plan', '--plugin', folder, '--server', harness.url]);
    assert.match(plan.stdout, /place: migrate\n\s+what: added/);
    assert.match(plan.stdout, /step: migrate\n\s+what: 2 objects are changed by migrate, once the model is finalized/);
    const check = await kindred(['model', 'check', '--plugin', folder, '--server', harness.url]);
    assert.match(check.stdout, /2 objects checked at revision \d+, 0 would fail; 2 are changed by migrate/);
    await harness.restart([pluginWith(Lenient)]);
    await untilMigrated(harness);
    const { stdout } = await kindred(['model', 'status', '--server', harness.url]);
    assert.match(stdout, /v1 \(50 % migrated, 1 object left\)/);
    assert.match(stdout, /bad .* migrate .* no such name/);
  });

  it('declaration: migrate must be a function, and what it makes stays as it is', async () => {
    assert.throws(() => defineModel({ gvk, spec, evolution: { migrate: 'x' as never } }), { code: 'InvalidModel' });
    const counting = defineModel({
      gvk,
      spec: Type.Object({ fullName: Type.String() }),
      status: Type.Object({ seen: Type.Optional(Type.Integer()) }),
      subresources: { status: true },
      evolution: { migrate: (person) => ({ ...person, spec: { fullName: `${person.spec.fullName}!` } }) },
    });
    const harness = await begun({ ada: 'Ada' });
    await harness.restart([pluginWith(counting)]);
    const { samples } = await untilMigrated(harness);
    assert.deepEqual([samples[0]!.names, samples[0]!.message], [['ada'], '"migrate" changes what it has made']);
    assert.deepEqual((await get(harness, 'ada')).spec, { fullName: 'Ada' });
  });
});
