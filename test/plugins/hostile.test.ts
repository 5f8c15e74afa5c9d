/** Plugins that do what no plugin should: the service and the others stay up, each failure is named. More in faults.test.ts. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { PluginContext, Reconciler } from 'kindred';
import { defineModel, definePlugin, GroupVersion, Plugin, route, Type } from 'kindred';
import type { Harness } from 'kindred/testing';
import { Book, books, cleanUp, folderOf, harnessOf, pluginOf, setEnabled, untilState } from './kit.ts';

const never = () => new Promise<never>(() => {});

function modelOf(kind: string, extra: object = {}) {
  return defineModel({
    gvk: {
      group: 'hostile.example.com',
      version: 'v1',
      kind,
      singular: kind.toLowerCase(),
      plural: `${kind.toLowerCase()}s`,
    },
    spec: Type.Object({ n: Type.Optional(Type.Integer()) }),
    ...extra,
  });
}

function reconcilerOf(type: ReturnType<typeof modelOf>, reconcile: Reconciler['reconcile']): Reconciler {
  return { setupWith: (builder) => builder.extension(type).build(), reconcile };
}

function endpointOf(path: string, handler: () => unknown) {
  return {
    groupVersion: () => GroupVersion.parse('api.hostile.example.com/v1'),
    endpoint: () => route().GET(path, handler).build(),
  };
}

const Failing = modelOf('Failing');
const Hanging = modelOf('Hanging');

/** What a plugin does, and what its object says of it. `act` comes after the start. */
interface Hostile {
  name: string;
  does: string;
  plugin?: object;
  files?: Record<string, string | object>;
  dependencies?: Record<string, string>;
  act?: (harness: Harness) => Promise<void>;
  state: string;
  reason: string;
  message: RegExp;
}

const start = (work: (context: PluginContext) => void | Promise<void>) => definePlugin({ start: work });
const packageOf = (name: string, more: object = {}) => ({
  name,
  version: '1.0.0',
  type: 'module',
  main: 'index.js',
  ...more,
});
const idlePlugin = `import { definePlugin } from 'kindred';\nexport default definePlugin({ start() {} });\n`;

const hostile: Hostile[] = [
  {
    name: 'throws-in-start',
    does: 'throws in start()',
    plugin: start(() => {
      throw new Error('no way');
    }),
    state: 'FAILED',
    reason: 'StartFailed',
    message: /no way/,
  },
  {
    name: 'throws-in-constructor',
    does: 'throws in its constructor',
    plugin: class extends Plugin {
      constructor() {
        super();
        throw new Error('not even built');
      }
    },
    state: 'FAILED',
    reason: 'StartFailed',
    message: /not even built/,
  },
  {
    name: 'hangs-in-start',
    does: 'never ends its start()',
    plugin: start(never),
    state: 'FAILED',
    reason: 'StartTimeout',
    message: /start\(\) did not finish within 300 ms/,
  },
  {
    name: 'hangs-in-stop',
    does: 'never ends its stop()',
    plugin: definePlugin({ start() {}, stop: never }),
    act: (harness) => setEnabled(harness, 'hangs-in-stop', false),
    state: 'STOPPED',
    reason: 'StopTimeout',
    message: /stop\(\) has not ended after 300 ms/,
  },
  {
    name: 'throws-in-stop',
    does: 'throws in stop()',
    plugin: definePlugin({
      start() {},
      stop() {
        throw new Error('I stay');
      },
    }),
    act: (harness) => setEnabled(harness, 'throws-in-stop', false),
    state: 'STOPPED',
    reason: 'StopFailed',
    message: /I stay/,
  },
  {
    name: 'reserved-group',
    does: 'registers a model in a reserved group',
    plugin: start(({ schemeManager }) => {
      schemeManager.register(
        defineModel({
          gvk: { group: 'evil.platform.run', version: 'v1', kind: 'Evil', singular: 'evil', plural: 'evils' },
          spec: Type.Object({}),
        }),
      );
    }),
    state: 'FAILED',
    reason: 'InvalidModel',
    message: /evil\.platform\.run.*reserved/,
  },
  {
    name: 'duplicate-index',
    does: 'declares an index twice',
    plugin: start(({ schemeManager }) => {
      const n = {
        indexes: (index: any) => [
          index.single('spec.n', Number, (o: any) => o.spec.n),
          index.single('spec.n', Number, (o: any) => o.spec.n),
        ],
      };
      schemeManager.register(modelOf('Twice', n));
    }),
    state: 'FAILED',
    reason: 'InvalidModel',
    message: /spec\.n/,
  },
  {
    name: 'foreign-model',
    does: 'registers a model of another plugin',
    plugin: start(({ schemeManager }) => {
      schemeManager.register(Book);
    }),
    state: 'FAILED',
    reason: 'InvalidModel',
    message: /Book.*already registered by library/,
  },
  {
    name: 'long-route',
    does: 'registers a route of 8 segments',
    plugin: start(({ registerEndpoint }) => registerEndpoint(endpointOf('/a/{name}/b/c/d', () => 1))),
    state: 'FAILED',
    reason: 'InvalidPlugin',
    message: /8/,
  },
  {
    name: 'route-fails',
    does: 'throws in a route',
    plugin: start(({ registerEndpoint }) =>
      registerEndpoint(
        endpointOf('/explosions', () => {
          throw new Error('boom');
        }),
      ),
    ),
    act: async (harness) => {
      const response = await harness.fetch('/apis/api.hostile.example.com/v1/explosions');
      assert.equal(response.status, 500);
      assert.doesNotMatch(await response.text(), /boom/);
    },
    state: 'STARTED',
    reason: 'RouteFailed',
    message: /boom/,
  },
  {
    name: 'reconcile-fails',
    does: 'throws in reconcile',
    plugin: start(({ schemeManager, registerController }) => {
      schemeManager.register(Failing);
      registerController(
        reconcilerOf(Failing, async () => {
          throw new Error('cannot do');
        }),
      );
    }),
    act: async (harness) => {
      await harness.client.create(Failing, { metadata: { name: 'one' }, spec: {} });
    },
    state: 'STARTED',
    reason: 'ReconcileFailed',
    message: /"failings": reconcile of "one" failed \d+ times: cannot do/,
  },
  {
    name: 'set-up-fails',
    does: 'has a controller without a model',
    plugin: start(({ registerController }) =>
      registerController({ setupWith: (builder) => builder.build(), reconcile: async () => {} }),
    ),
    state: 'FAILED',
    reason: 'InvalidPlugin',
    message: /builder\.extension/,
  },
  {
    name: 'cycle-a',
    does: 'is part of a cycle',
    plugin: start(() => {}),
    dependencies: { 'cycle-b': '*' },
    state: 'FAILED',
    reason: 'DependencyCycle',
    message: /cycle-a → cycle-b → cycle-a/,
  },
  {
    name: 'cycle-b',
    does: 'is the other part of it',
    plugin: start(() => {}),
    dependencies: { 'cycle-a': '*' },
    state: 'FAILED',
    reason: 'DependencyCycle',
    message: /cycle-b → cycle-a → cycle-b/,
  },
  {
    name: 'missing-dependency',
    does: 'depends on what is not there',
    plugin: start(() => {}),
    dependencies: { nowhere: '^1.0.0' },
    state: 'FAILED',
    reason: 'DependencyMissing',
    message: /"nowhere" \(\^1\.0\.0\)/,
  },
  {
    name: 'wrong-dependency',
    does: 'depends on another version',
    plugin: start(() => {}),
    dependencies: { library: '^9.0.0' },
    state: 'FAILED',
    reason: 'DependencyVersion',
    message: /"library".*\^9\.0\.0.*1\.2\.3/,
  },
  {
    name: 'failed-dependency',
    does: 'depends on what failed',
    plugin: start(() => {}),
    dependencies: { 'throws-in-start': '*' },
    state: 'FAILED',
    reason: 'DependencyNotStarted',
    message: /"throws-in-start".*FAILED/,
  },
  {
    name: 'bad-yaml',
    does: 'declares an object that is no YAML',
    files: {
      'package.json': packageOf('bad-yaml'),
      'index.js': idlePlugin,
      'extensions/objects.yaml': 'apiVersion: v1\nkind: [\n',
    },
    state: 'FAILED',
    reason: 'InvalidPlugin',
    message: /extensions\/objects\.yaml:\d+: /,
  },
  {
    name: 'no-plugin',
    does: 'exports something else',
    files: { 'package.json': packageOf('no-plugin'), 'index.js': 'export default 42;\n' },
    state: 'FAILED',
    reason: 'InvalidPlugin',
    message: /default export.*number/,
  },
  {
    name: 'hangs-in-module',
    does: 'waits for ever while it is loaded',
    files: {
      'package.json': packageOf('hangs-in-module'),
      'index.js': 'await new Promise(() => {});\nexport default {};\n',
    },
    state: 'FAILED',
    reason: 'StartTimeout',
    message: /modules did not load within 300 ms/,
  },
  {
    name: 'syntax-error',
    does: 'is no JavaScript',
    files: { 'package.json': packageOf('syntax-error'), 'index.js': 'export default {{{;\n' },
    state: 'FAILED',
    reason: 'InvalidPlugin',
    message: /index\.js cannot be loaded: Unexpected token/,
  },
  {
    name: 'no-entry',
    does: 'has no file for its "main"',
    files: { 'package.json': packageOf('no-entry', { main: 'absent.js' }) },
    state: 'FAILED',
    reason: 'InvalidPlugin',
    message: /"main" or "exports"/,
  },
  {
    name: 'other-engine',
    does: 'was made for another service',
    files: { 'package.json': packageOf('other-engine', { engines: { kindred: '^99.0.0' } }), 'index.js': idlePlugin },
    state: 'FAILED',
    reason: 'InvalidPlugin',
    message: /needs Kindred \^99\.0\.0/,
  },
];

describe('hostile plugins', () => {
  after(cleanUp);
  let harness: Harness;
  let reconciled = 0;
  const library = definePlugin({
    start({ schemeManager, registerController }) {
      schemeManager.register(Book);
      registerController({
        setupWith: (builder) => builder.extension(Book).build(),
        reconcile: async () => {
          reconciled += 1;
        },
      });
    },
  });

  before(async () => {
    harness = await harnessOf({
      pluginHost: { startTimeout: 300, stopTimeout: 300 },
      plugins: [
        { name: 'library', plugin: library, version: '1.2.3' },
        ...hostile.map(({ name, plugin, files, dependencies }) =>
          plugin ? { name, plugin, dependencies } : folderOf(files!),
        ),
      ],
    });
  });

  for (const { name, does, act, state, reason, message } of hostile) {
    it(`plugins: a plugin that ${does} is ${state}, and its object says why`, async () => {
      await act?.(harness);
      const isSo = async () => {
        const { status } = await pluginOf(harness, name);
        assert.partialDeepStrictEqual(status, { state, reason });
        return status;
      };
      const status = await harness.until(isSo, { what: `${name} is ${state}: ${reason}`, timeout: 4_000 });
      assert.match(status.message!, message);
    });
  }

  it('controllers: a reconcile that never ends keeps no other controller from its work', async () => {
    const plugin = start(({ schemeManager, registerController }) => {
      schemeManager.register(Hanging);
      registerController(reconcilerOf(Hanging, never));
    });
    const alone = await harnessOf({
      clock: true,
      plugins: [
        { name: 'library', plugin: library },
        { name: 'hangs', plugin },
      ],
    });
    await alone.client.create(Hanging, { metadata: { name: 'one' }, spec: {} });
    const before = reconciled;
    await alone.client.create(Book, { metadata: { name: 'emma' }, spec: { title: 'Emma' } });
    await alone.until(() => reconciled > before);
    await alone.until(async () => {
      await alone.clock.advance(5_000);
      return (await pluginOf(alone, 'hangs')).status?.reason === 'ReconcileHangs';
    });
    const stopping = alone.stop();
    await alone.until(async () => {
      await alone.clock.advance(1_000);
      return Promise.race([stopping.then(() => true), new Promise((resolve) => setImmediate(resolve, false))]);
    });
  });

  it('queries: an index function that throws makes the model degraded, named on the Plugin object; plugins: the plugin is STARTED', async () => {
    const Indexed = (fails: boolean) =>
      modelOf('Indexed', {
        indexes: (index: any) => [
          index.single('spec.n', Number, (object: any) => {
            if (fails && object.spec.n === 13) throw new Error('unlucky');
            return object.spec.n;
          }),
        ],
      });
    const sound = Indexed(false);
    const plugin = (model: ReturnType<typeof modelOf>) => ({
      name: 'indexed',
      plugin: start(({ schemeManager }) => void schemeManager.register(model)),
    });
    const alone = await harnessOf({ persistent: true, plugins: [plugin(sound)] });
    for (const n of [12, 13]) await alone.client.create(sound, { metadata: { name: `n-${n}` }, spec: { n } });
    await alone.restart([plugin(Indexed(true))]);
    const { status } = await pluginOf(alone, 'indexed');
    assert.partialDeepStrictEqual(status, { state: 'STARTED', reason: 'Degraded' });
    assert.match(status!.message!, /1 object of Indexed needs repair, "n-13"/);
    const path = '/apis/hostile.example.com/v1/indexeds';
    assert.equal((await alone.fetch(`${path}/n-13`)).status, 200);
    const refused = await alone.fetch(path, { method: 'POST', json: { metadata: { name: 'again' }, spec: { n: 13 } } });
    assert.equal(refused.status, 422);
    assert.partialDeepStrictEqual(await refused.json(), { errors: [{ keyword: 'index' }] });
  });

  it('plugins: the service and the other plugins stay up', async () => {
    assert.equal((await untilState(harness, 'library', 'STARTED')).status!.reason, undefined);
    const before = reconciled;
    const response = await harness.fetch(books, {
      method: 'POST',
      json: { metadata: { generateName: 'b-' }, spec: { title: 'Still here' } },
    });
    assert.equal(response.status, 201);
    await harness.until(() => reconciled > before);
    const readiness = (await (await harness.fetch('/readyz')).json()) as {
      status: string;
      plugins: { name: string; state: string; reason?: string }[];
    };
    assert.equal(readiness.status, 'ready');
    assert.ok(
      readiness.plugins.some(
        ({ name, state, reason }) => name === 'throws-in-start' && state === 'FAILED' && reason === 'StartFailed',
      ),
    );
  });
});
