/** A plugin that is loaded again: its models go on serving, and when the new code is refused, all of it goes on. */
import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import type { CustomEndpoint, Model, PluginContext, Reconciler } from 'kindred';
import { defineModel, definePlugin, GroupVersion, ListOptions, route, Type } from 'kindred';
import type { Harness } from 'kindred/testing';
import type { CodePlugin } from '../../src/plugin/source.ts';
import { cleanUp, folderOf, harnessOf, pluginOf, untilState, writeFiles } from './kit.ts';

afterEach(cleanUp);

const group = 'stock.example.com';
const parts = `/apis/${group}/v1/parts`;
const bins = `/apis/${group}/v1/bins`;
const nameRoute = `/apis/console.api.${group}/v1/name`;
const partKind = { group, version: 'v1', kind: 'Part', singular: 'part', plural: 'parts' };
const binKind = { group, version: 'v1', kind: 'Bin', singular: 'bin', plural: 'bins' };
const partSpec = { size: Type.Integer(), mail: Type.Optional(Type.String()) };

type Indexes = NonNullable<Parameters<typeof defineModel>[0]['indexes']>;
const partWith = (indexes: Indexes, spec: object = partSpec, gvk: object = partKind) =>
  defineModel({ gvk, spec: Type.Object(spec as typeof partSpec), indexes } as never) as Model<any>;
const bySize: Indexes = (index) => [index.single('spec.size', Number, (part: any) => part.spec.size)];
const Part = partWith(bySize);
const WithParity = partWith((index) => [
  index.single('spec.size', Number, (part: any) => part.spec.size),
  index.single('parity', String, (part: any) => (part.spec.size % 2 === 0 ? 'even' : 'odd')),
]);
const Strict = partWith(bySize, {
  size: Type.Integer(),
  mail: Type.Optional(Type.String({ format: 'email' })),
});
const Bin = defineModel({ gvk: binKind, spec: Type.Object({ row: Type.Optional(Type.Integer()) }) });
const WideBin = defineModel({ gvk: binKind, spec: Type.Object({ row: Type.Optional(Type.Number()) }) });
const Box = defineModel({
  gvk: { group, version: 'v1', kind: 'Box', singular: 'box', plural: 'boxes' },
  spec: Type.Object({}),
});

const pluginOfModels = (...models: Model<any>[]) =>
  definePlugin({
    start: ({ schemeManager }: PluginContext) => {
      for (const model of models) schemeManager.register(model);
    },
  });

/** A plugin whose code can be exchanged before it is loaded again. */
const stock = (plugin: unknown) => ({ name: 'stock', version: '1.0.0', plugin }) as { plugin: unknown } & CodePlugin;

async function reload(harness: Harness, name = 'stock'): Promise<{ state: string; reason?: string; message?: string }> {
  const path = `/apis/console.api.plugin.platform.run/v1alpha1/plugins/${name}/reload`;
  const response = await harness.fetch(path, { method: 'POST' });
  assert.equal(response.status, 200);
  return ((await response.json()) as { status: { state: string } }).status;
}

async function create(harness: Harness, name: string, spec: object, path = parts): Promise<void> {
  const response = await harness.fetch(path, { method: 'POST', json: { metadata: { name }, spec } });
  assert.equal(response.status, 201, await response.text());
}

async function fill(harness: Harness, count: number): Promise<void> {
  const lines = Array.from({ length: count }, (_, size) =>
    JSON.stringify({ metadata: { name: `p${size}` }, spec: { size } }),
  );
  const response = await harness.fetch(parts, {
    method: 'POST',
    headers: { 'content-type': 'application/x-ndjson' },
    body: lines.join('\n'),
  });
  assert.equal(response.status, 200);
  await response.text();
}

const problemOf = async (response: Response) => (await response.json()) as { code: string; detail: string };
const total = async (harness: Harness, selector: string) => {
  const response = await harness.fetch(`${parts}?fieldSelector=${encodeURIComponent(selector)}`);
  return ((await response.json()) as { total: number }).total;
};

/** Gathers the events of a watch until it is closed; `ended` says that the service ended it. */
async function watching(harness: Harness, query: string) {
  const abort = new AbortController();
  const response = await harness.fetch(`${parts}?watch=true&${query}`, {
    headers: { accept: 'application/x-ndjson' },
    signal: abort.signal,
  });
  assert.equal(response.status, 200);
  const watch = { names: [] as string[], ended: false, errors: [] as string[], close: () => abort.abort() };
  void (async () => {
    let rest = '';
    const decoder = new TextDecoder();
    for await (const chunk of response.body!) {
      const lines = (rest + decoder.decode(chunk as Uint8Array, { stream: true })).split('\n');
      rest = lines.pop()!;
      for (const line of lines.filter((one) => one !== '')) {
        const event = JSON.parse(line) as { type: string; object: any };
        if (event.type === 'ADDED') watch.names.push(event.object.metadata.name as string);
        if (event.type === 'ERROR') watch.errors.push(line);
      }
    }
    watch.ended = true;
  })().catch(() => {});
  return watch;
}

describe('a plugin that is loaded again', () => {
  it('plugins: readers, writers and watches of its models go on while it is loaded again, and only what changed is built', async () => {
    const source = stock(pluginOfModels(Part, Bin));
    const harness = await harnessOf({ plugins: [source] });
    await fill(harness, 6_000);
    const all = await watching(harness, '');
    const sized = await watching(harness, `fieldSelector=${encodeURIComponent('spec.size>=6000')}`);
    const refused: string[] = [];
    const building = new Set<string>();
    const written: string[] = [];
    let isOver = false;
    const ask = async (path: string, request?: Parameters<Harness['fetch']>[1]) => {
      const response = await harness.fetch(path, request);
      if (!response.ok) refused.push(`${request?.method ?? 'GET'} ${path} ${response.status} ${await response.text()}`);
      else await response.arrayBuffer();
    };
    const loop = async (work: (turn: number) => Promise<void>) => {
      for (let turn = 0; !isOver; turn++) await work(turn);
    };
    const loops = [
      loop(() => ask(`${parts}/p17`)),
      loop((turn) => ask(`${parts}?size=5&fieldSelector=${encodeURIComponent(`spec.size>=${turn}`)}`)),
      loop(() => ask(bins)),
      loop(async (turn) => {
        const name = `new${turn}`;
        await ask(parts, { method: 'POST', json: { metadata: { name }, spec: { size: 6_000 + turn } } });
        written.push(name);
      }),
      loop(async () => {
        const response = await harness.fetch(`${parts}?fieldSelector=parity%3Dodd`);
        if (response.status === 503) building.add((await problemOf(response)).code);
        else await response.arrayBuffer();
      }),
    ];
    source.plugin = pluginOfModels(WithParity, Bin);
    assert.deepEqual(await reload(harness), { state: 'STARTED' });
    const odd = await total(harness, 'parity=odd');
    isOver = true;
    await Promise.all(loops);
    assert.deepEqual(refused, []);
    assert.deepEqual([...building], ['IndexBuilding']);
    assert.ok(odd >= 3_000);
    assert.equal(await total(harness, 'parity=odd'), 3_000 + Math.floor(written.length / 2));
    await harness.until(() => all.names.length >= written.length && sized.names.length >= written.length);
    assert.deepEqual([all.names, sized.names], [written, written]);

    const onNew = await watching(harness, 'fieldSelector=parity%3Dodd');
    source.plugin = pluginOfModels(Part, Bin);
    assert.deepEqual(await reload(harness), { state: 'STARTED' });
    const gone = await harness.fetch(`${parts}?fieldSelector=parity%3Dodd`);
    assert.deepEqual([gone.status, (await problemOf(gone)).code], [400, 'InvalidSelector']);
    await harness.until(() => onNew.errors.length > 0);
    assert.match(onNew.errors[0]!, /Expired/);
    assert.deepEqual([all.ended, sized.ended, all.errors, sized.errors], [false, false, [], []]);
    for (const watch of [all, sized, onNew]) watch.close();
  });

  it('plugins: when a model of the new code is refused, the former code goes on, routes and controllers too', async () => {
    const seen: string[] = [];
    const codeOf = (name: string, ...models: Model<any>[]) =>
      definePlugin({
        start: ({ schemeManager, registerController, registerEndpoint }: PluginContext) => {
          for (const model of models) schemeManager.register(model);
          registerController(reconciler(name, seen, models[0]!));
          registerEndpoint(endpoint(name));
        },
        stop: () => void seen.push(`${name} stops`),
      });
    const source = stock(codeOf('first', Part, Bin));
    const harness = await harnessOf({ plugins: [source], persistent: true });
    await create(harness, 'ada', { size: 1, mail: 'ada' });
    await create(harness, 'b', { row: 1 }, bins);
    const watch = await watching(harness, '');
    source.plugin = codeOf('second', Strict, WideBin, Box);
    const status = await reload(harness);
    assert.deepEqual([status.state, status.reason], ['STARTED', 'IncompatibleModel']);
    assert.match(
      status.message!,
      /what ran before goes on: Part: 1 of 1 stored object would become invalid \(ada: \/spec\/mail format\)/,
    );
    assert.equal((await harness.fetch('/readyz')).status, 200);
    assert.equal((await harness.fetch(`/apis/${group}/v1/boxes`)).status, 404, 'nothing new stays');
    const half = await harness.fetch(bins, { method: 'POST', json: { metadata: { name: 'c' }, spec: { row: 1.5 } } });
    assert.equal(half.status, 422, 'a model that was replaced is the former one again');
    assert.deepEqual(await (await harness.fetch(nameRoute)).json(), { name: 'first' });
    await create(harness, 'bob', { size: 2, mail: 'bob' });
    await harness.until(() => watch.names.includes('bob'));
    await harness.until(() => seen.includes('first bob'));
    assert.deepEqual(seen, ['first ada', 'first stops', 'second stops', 'first ada', 'first bob']);
    assert.deepEqual([watch.ended, watch.errors], [false, []]);
    watch.close();

    for (const name of ['ada', 'bob'])
      await harness.client.patch(Part, name, { spec: { mail: `${name}@example.com` } });
    assert.deepEqual(await reload(harness), { state: 'STARTED' });
    assert.deepEqual(await (await harness.fetch(nameRoute)).json(), { name: 'second' });
    await create(harness, 'c', { row: 1.5 }, bins);
    await create(harness, 'box', {}, `/apis/${group}/v1/boxes`);
    await harness.restart();
    assert.equal((await pluginOf(harness, 'stock')).status?.state, 'STARTED');
    assert.equal((await harness.fetch(`${bins}/c`)).status, 200);
  });

  it('plugins: new code whose start fails halfway leaves what was there; when the former code fails too, all of it goes', async () => {
    const source = stock(pluginOfModels(Part, Bin));
    const harness = await harnessOf({ plugins: [source] });
    await create(harness, 'ada', { size: 3 });
    const failing = (thrown: string) =>
      definePlugin({
        start: async ({ schemeManager, client }: PluginContext) => {
          schemeManager.register(WithParity);
          schemeManager.register(Box);
          const { total: odd } = await client.list(WithParity, ListOptions.parse({ fieldSelector: 'parity=odd' }));
          throw new Error(`${thrown} with ${odd}`);
        },
      });
    source.plugin = failing('broken');
    const status = await reload(harness);
    assert.deepEqual([status.state, status.reason], ['STARTED', 'StartFailed']);
    assert.match(status.message!, /broken with 1/);
    assert.equal((await harness.fetch(`${parts}?fieldSelector=parity%3Dodd`)).status, 400);
    assert.equal((await harness.fetch(`/apis/${group}/v1/boxes`)).status, 404);
    assert.equal((await harness.fetch(bins)).status, 200, 'also what the new code had not come to');
    await create(harness, 'bob', { size: 4 });
    assert.equal(await total(harness, 'spec.size>3'), 1);

    let starts = 0;
    source.plugin = definePlugin({
      start: ({ schemeManager }: PluginContext) => {
        if (starts++ > 0) throw new Error('only once');
        schemeManager.register(Part);
      },
    });
    assert.deepEqual(await reload(harness), { state: 'STARTED' });
    assert.equal((await harness.fetch(bins)).status, 404, 'what the new code does not register is gone');
    source.plugin = failing('broken again');
    const both = await reload(harness);
    assert.deepEqual([both.state, both.reason], ['FAILED', 'StartFailed']);
    assert.match(both.message!, /broken again/);
    assert.equal((await harness.fetch(parts)).status, 404);
    source.plugin = pluginOfModels(Part);
    assert.deepEqual(await reload(harness), { state: 'STARTED' });
    assert.equal((await harness.fetch(`${parts}/bob`)).status, 200);
  });

  it('plugins: a unique index that is added under writers is exact from the moment in which it serves', async () => {
    const Unique = partWith((index) => [
      index.single('spec.size', Number, (part: any) => part.spec.size),
      index.single('spec.mail', String, (part: any) => part.spec.mail, { unique: true, nullable: true }),
    ]);
    const source = stock(pluginOfModels(Part));
    const harness = await harnessOf({ plugins: [source] });
    await fill(harness, 3_000);
    await create(harness, 'ada', { size: 1, mail: 'same' });
    await create(harness, 'bob', { size: 1, mail: 'same' });
    source.plugin = pluginOfModels(Unique);
    const { state, reason, message } = await reload(harness);
    assert.deepEqual([state, reason], ['STARTED', 'IncompatibleModel']);
    assert.match(message!, /2 of 3,002 stored objects would become invalid \(ada, bob: spec\.mail unique\)/);
    await harness.client.patch(Part, 'bob', { spec: { mail: 'other' } });

    let isOver = false;
    const answers = new Map<number, number>();
    const write = async (own: number) => {
      for (let i = 0; !isOver; i++) {
        // Of its own while the index is not there, then the same for both.
        const mail = (await harness.fetch(`${parts}?fieldSelector=spec.mail%3Dnone`)).ok ? `v${i}` : `w${own}-${i}`;
        const json = { metadata: { name: `n${own}-${i}` }, spec: { size: i, mail } };
        const response = await harness.fetch(parts, { method: 'POST', json });
        answers.set(response.status, (answers.get(response.status) ?? 0) + 1);
        await response.arrayBuffer();
      }
    };
    const writers = [write(1), write(2)];
    assert.deepEqual(await reload(harness), { state: 'STARTED' });
    await harness.until(() => (answers.get(409) ?? 0) > 20);
    isOver = true;
    await Promise.all(writers);
    assert.deepEqual([...answers.keys()].sort(), [201, 409]);
    const mails: string[] = [];
    for await (const { spec } of harness.client.listAll(Unique)) if (spec.mail !== undefined) mails.push(spec.mail);
    assert.equal(new Set(mails).size, mails.length, 'no value is shared');
  });

  it('plugins: another plural, scope or version of a model is registered anew; a name that one gave up is free', async () => {
    const source = stock(pluginOfModels(Part, Bin));
    const harness = await harnessOf({ plugins: [source] });
    await create(harness, 'ada', { size: 3 });
    const Crate = defineModel({ gvk: { ...binKind, kind: 'Crate' }, spec: Type.Object({}) });
    source.plugin = pluginOfModels(partWith(bySize, partSpec, { ...partKind, plural: 'pieces' }), Crate);
    assert.deepEqual(await reload(harness), { state: 'STARTED' });
    assert.equal((await harness.fetch(`/apis/${group}/v1/pieces/ada`)).status, 200);
    assert.equal((await harness.fetch(parts)).status, 404);
    await create(harness, 'crate', {}, bins);
    assert.partialDeepStrictEqual(await (await harness.fetch(`${bins}/crate`)).json(), { kind: 'Crate' });
  });

  it('plugins: plugins that depend on one that is loaded again are loaded again after it, and go on meanwhile', async () => {
    const lives: string[] = [];
    const source = stock(pluginOfModels(Part));
    const dependent = {
      name: 'shelf',
      dependencies: { stock: '^1.0.0' },
      plugin: definePlugin({
        start: ({ schemeManager }: PluginContext) => {
          lives.push('starts');
          schemeManager.register(Box);
        },
        stop: () => void lives.push('stops'),
      }),
    };
    const harness = await harnessOf({ plugins: [source, dependent] });
    const refused: number[] = [];
    let isOver = false;
    const reading = (async () => {
      while (!isOver) {
        const { status } = await harness.fetch(`/apis/${group}/v1/boxes`);
        if (status !== 200) refused.push(status);
      }
    })();
    source.plugin = pluginOfModels(WithParity);
    assert.deepEqual(await reload(harness), { state: 'STARTED' });
    await harness.until(() => lives.length === 3);
    await untilState(harness, 'shelf', 'STARTED');
    isOver = true;
    await reading;
    assert.deepEqual([lives, refused], [['starts', 'stops', 'starts'], []]);
  });

  it('plugins: code that cannot be loaded stops nothing, and neither does a package that is broken', async () => {
    const index = (size: string) => `import { defineModel, definePlugin, Type } from 'kindred';
const Part = defineModel({
  gvk: { group: '${group}', version: 'v1', kind: 'Part', singular: 'part', plural: 'parts' },
  spec: Type.Object({ size: ${size} }),
});
export default definePlugin({ start: ({ schemeManager }) => void schemeManager.register(Part) });
`;
    const packageOf = (version: string) => ({ name: 'stock', version, type: 'module', main: 'index.js' });
    const folder = folderOf({ 'package.json': packageOf('1.0.0'), 'index.js': index('Type.Integer()') });
    const harness = await harnessOf({ plugins: [folder] });
    await create(harness, 'ada', { size: 3 });
    writeFiles(folder, { 'package.json': packageOf('1.1.0'), 'index.js': 'export default {;' });
    assert.equal((await reload(harness)).reason, 'InvalidPlugin');
    writeFiles(folder, { 'package.json': 'no JSON' });
    assert.equal((await reload(harness)).reason, 'InvalidPackage');
    assert.partialDeepStrictEqual(await pluginOf(harness, 'stock'), {
      spec: { version: '1.0.0' },
      status: { state: 'STARTED' },
    });
    assert.equal((await harness.fetch(`${parts}/ada`)).status, 200);
    writeFiles(folder, { 'package.json': packageOf('1.2.0'), 'index.js': index('Type.Number()') });
    assert.deepEqual(await reload(harness), { state: 'STARTED' });
    assert.equal((await pluginOf(harness, 'stock')).spec.version, '1.2.0');
    await create(harness, 'bob', { size: 1.5 });
  });
});

function reconciler(name: string, seen: string[], model: Model<any>): Reconciler {
  return {
    setupWith: (builder) => builder.extension(model).build(),
    reconcile: async ({ name: object }) => {
      seen.push(`${name} ${object}`);
    },
  };
}

function endpoint(name: string): CustomEndpoint {
  return {
    groupVersion: () => GroupVersion.parse(`console.api.${group}/v1`),
    endpoint: () =>
      route()
        .GET('/name', () => ({ name }))
        .build(),
  };
}
