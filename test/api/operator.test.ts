/** `/v3/options`, `/v3/about`, `/v3/plugins/<name>`: what the service tells those who operate it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defineModel, definePlugin, Type } from 'kindred';
import { pino } from 'pino';
import { listOptions } from '../../src/options.ts';
import { expect, live, until } from '../auth/live.ts';
import { withApi } from './harness.ts';

const Shelf = defineModel({
  gvk: { group: 'shop.example.com', version: 'v1', kind: 'Shelf', singular: 'shelf', plural: 'shelves' },
  spec: Type.Object({ size: Type.Integer() }),
});

const Sign = defineModel({
  gvk: { group: 'shop.example.com', version: 'v1', kind: 'Sign', singular: 'sign', plural: 'signs' },
  spec: Type.Object({ text: Type.String() }),
});

const shop = definePlugin({
  name: 'shop',
  start({ schemeManager, logger, registerController }) {
    schemeManager.register(Shelf);
    schemeManager.register(Sign);
    logger.info('opens at %s', 'nine');
    registerController({
      setupWith: (builder) =>
        builder
          .extension(Shelf)
          .watches(Sign, () => [])
          .build(),
      reconcile: () => {
        throw new Error('no hands');
      },
    });
  },
});

const api = withApi({
  logger: pino({ level: 'silent' }),
  plugins: [shop],
  pluginConfig: {
    shop: { currency: 'EUR', apiKey: 'sk-never-shown', mail: 'smtp://ada:pw-never-shown@mail.example.com' },
  },
  list: { maxSize: 500 },
});

test('options: each with its value, source and default', async () => {
  const { json, text } = await api.send({ path: '/v3/options' });
  const byName = new Map<string, any>(json.options.map((one: any) => [one.name, one]));
  assert.deepEqual(byName.get('list.maxSize'), { name: 'list.maxSize', value: 500, source: 'code', default: 1_000 });
  assert.deepEqual(byName.get('host'), { name: 'host', value: '127.0.0.1', source: 'default', default: '127.0.0.1' });
  assert.deepEqual(byName.get('auth'), { name: 'auth', value: false, source: 'code', default: {} });
  assert.deepEqual(byName.get('plugins').value, ['shop']);
  assert.ok(byName.has('http.body') && byName.has('webhook.timeout'));
  assert.ok(!text.includes('never-shown'));
});

test('options: the password of the database is hidden, and the command line says where each was given', () => {
  const options = listOptions({
    database: 'postgres://ada:never-shown@db.example.com/kindred',
    port: 0,
    auth: {},
    optionSources: { database: 'environment', port: 'flag' },
  });
  const byName = new Map(options.map((one) => [one.name, one]));
  assert.equal(byName.get('database')!.value, 'postgres://ada:…@db.example.com/kindred');
  const sources = ['database', 'port', 'auth', 'host'].map((name) => byName.get(name)!.source);
  assert.deepEqual(sources, ['environment', 'flag', 'code', 'default']);
  assert.ok(!JSON.stringify(options).includes('never-shown'));
});

test('about: versions, the process, the database and what runs', async () => {
  const { json } = await api.send({ path: '/v3/about' });
  assert.match(json.version, /^\d+\.\d+\.\d+/);
  assert.equal(json.node, process.version);
  assert.equal(json.authentication, false);
  assert.equal(json.database.database, 'sqlite');
  assert.equal(json.readiness.status, 'ready');
  assert.deepEqual(json.readiness.plugins, [{ name: 'shop', state: 'STARTED' }]);
});

test('plugins: what one has registered, logged and waits for, without the secrets of its configuration', async () => {
  await api.send({ path: '/apis/shop.example.com/v1/shelves', body: { metadata: { name: 'a' }, spec: { size: 1 } } });
  const read = async () => (await api.send({ path: '/v3/plugins/shop' })).json;
  await until(async () => (await read()).controllers[0]?.lastError !== undefined, 'a failure of the controller');
  const shown = await read();
  assert.equal(shown.state, 'STARTED');
  assert.equal(shown.place, 'code');
  assert.deepEqual(shown.models.toSorted(), ['shelves.shop.example.com', 'signs.shop.example.com']);
  assert.deepEqual(shown.objects, []);
  const [controller] = shown.controllers;
  assert.equal(controller.id, 'shop/shelves');
  assert.deepEqual(controller.models, ['shelves.shop.example.com', 'signs.shop.example.com']);
  assert.equal(controller.leading, true);
  assert.equal(controller.lastError.message, 'no hands');
  assert.deepEqual(shown.config, { currency: 'EUR', apiKey: '(hidden)', mail: 'smtp://ada:…@mail.example.com' });
  const messages = shown.log.map((line: any) => line.message);
  assert.ok(messages.includes('opens at nine') && messages.includes('Plugin started'), messages.join());
  for (const name of ['nothing', 'shop/x', '']) {
    assert.equal((await api.send({ path: `/v3/plugins/${name}` })).status, 404);
  }
});

test('metrics: figures of the last minutes, and the duration of commits', async () => {
  await until(async () => (await api.send({ path: '/v3/metrics' })).json.samples.length > 0, 'a sample');
  const { json } = await api.send({ path: '/v3/metrics?range=1h' });
  assert.equal(json.interval, 5_000);
  assert.ok(json.samples[0].requests['2xx'] > 0);
  assert.ok(json.samples[0].cache.hits >= 0 && json.samples[0].cache.misses >= 0);
  assert.equal((await api.send({ path: '/v3/metrics?range=6h' })).json.interval, 30_000);
  const { text } = await api.send({ path: '/metrics' });
  assert.match(text, /^kindred_commit_duration_seconds_count\{outcome="stored"\} [1-9]/m);
  for (const range of ['', '0m', '15', 'x', '1d']) {
    const { status, json } = await api.send({ path: `/v3/metrics?range=${range}` });
    assert.deepEqual([status, json.parameter], [400, 'range'], range);
  }
});

test('permissions: only who may get the path sees them', async () => {
  await using at = await live({ plugins: [shop], logger: pino({ level: 'silent' }) });
  const ada = await at.person('ada', []);
  for (const path of ['/v3/options', '/v3/about', '/v3/metrics', '/v3/plugins/shop', '/v3/plugins/nothing']) {
    await expect(401, at.anonymous('GET', path));
    await expect(403, ada.send('GET', path));
  }
  const rules = [{ nonResourceURLs: ['/v3/plugins/*', '/v3/about'], verbs: ['get'] }];
  await expect(201, at.admin('POST', '/api/v1alpha1/roles', { metadata: { name: 'operator' }, rules }));
  const eve = await at.person('eve', ['operator']);
  await expect(200, eve.send('GET', '/v3/plugins/shop'));
  await expect(200, eve.send('GET', '/v3/about'));
  await expect(403, eve.send('GET', '/v3/options'));
});

test('views: a list that people share is an object of the service', async () => {
  const path = '/apis/console.platform.run/v1alpha1/views';
  const spec = {
    type: 'shelves.shop.example.com',
    title: 'Large',
    fieldSelector: 'spec.size>3',
    sort: ['spec.size,desc'],
  };
  const made = await api.send({ path, body: { metadata: { name: 'large' }, spec } });
  assert.equal(made.status, 201, made.text);
  const { json } = await api.send({ path: `${path}?fieldSelector=spec.type=shelves.shop.example.com` });
  assert.deepEqual(json.items[0].spec, spec);
  const wrong = await api.send({ path, body: { metadata: { name: 'x' }, spec: { ...spec, owner: 'ada' } } });
  assert.equal(wrong.status, 422);
});
