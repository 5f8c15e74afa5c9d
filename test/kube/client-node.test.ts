import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { KubernetesObject } from '@kubernetes/client-node';
import {
  CustomObjectsApi,
  KubeConfig,
  KubernetesObjectApi,
  makeInformer,
  PatchStrategy,
  Watch,
} from '@kubernetes/client-node';
import { until } from '../../src/testing/until.ts';
import { Facade, gadgets } from './harness.ts';

const folder = mkdtempSync(join(tmpdir(), 'kube-node-'));
const facade = new Facade({ database: `sqlite:${join(folder, 'kindred.db')}` });
before(() => facade.start());
after(async () => {
  await facade.stop();
  rmSync(folder, { recursive: true });
});

const group = 'shop.example.com';
const version = 'v1';
const plural = 'widgets';
const apiVersion = `${group}/${version}`;

function config(url = facade.url): KubeConfig {
  const made = new KubeConfig();
  made.loadFromOptions({
    clusters: [{ name: 'kindred', server: `${url}/kube`, skipTLSVerify: true }],
    users: [{ name: 'me' }],
    contexts: [{ name: 'kindred', cluster: 'kindred', user: 'me' }],
    currentContext: 'kindred',
  });
  return made;
}

interface Gadget extends KubernetesObject {
  spec: { color?: string; size?: number };
}

const gadget = (name: string, spec: Gadget['spec']): Gadget => ({
  apiVersion,
  kind: 'Gadget',
  metadata: { name },
  spec,
});

test('the object API: create, read, patch, replace, list, delete', async () => {
  const api = KubernetesObjectApi.makeApiClient(config());
  const created = await api.create(gadget('n1', { color: 'red' }));
  assert.equal(created.metadata!.generation, 1);
  const header = { apiVersion, kind: 'Gadget', metadata: { name: 'n1' } };
  const read = await api.read<Gadget>(header);
  assert.deepEqual(read.spec, { color: 'red' });
  const change = { ...header, spec: { size: 4 } } as Gadget;
  const patched = await api.patch<Gadget>(change, undefined, undefined, undefined, undefined, PatchStrategy.MergePatch);
  assert.deepEqual(patched.spec, { color: 'red', size: 4 });
  const replaced = await api.replace<Gadget>({ ...patched, spec: { color: 'blue' } });
  assert.deepEqual(replaced.spec, { color: 'blue' });
  await assert.rejects(api.replace<Gadget>({ ...patched, spec: {} }), { code: 409 });
  const list = await api.list<Gadget>(apiVersion, 'Gadget');
  assert.deepEqual(
    list.items.map(({ metadata }) => metadata!.name),
    ['n1'],
  );
  await api.delete(header);
  await assert.rejects(api.read(header), { code: 404 });
});

test('custom objects of a namespace', async () => {
  const api = config().makeApiClient(CustomObjectsApi);
  const at = { group, version, namespace: 'default', plural };
  const body = { apiVersion, kind: 'Widget', metadata: { name: 'w' }, spec: { replicas: 1 } };
  await api.createNamespacedCustomObject({ ...at, body });
  const scale = await api.getNamespacedCustomObjectScale({ ...at, name: 'w' });
  assert.equal(scale.spec.replicas, 1);
  const list = await api.listNamespacedCustomObject({ ...at, limit: 1 });
  assert.equal(list.items.length, 1);
  await api.deleteNamespacedCustomObject({ ...at, name: 'w' });
});

test('a watch', async () => {
  const seen: string[] = [];
  const watch = new Watch(config());
  const path = `/apis/${group}/${version}/gadgets`;
  const controller = await watch.watch(
    path,
    {},
    (type, object) => seen.push(`${type} ${object.metadata.name}`),
    () => {},
  );
  await facade.kube(gadgets, { body: gadget('seen', {}) });
  await facade.kube(`${gadgets}/seen`, { method: 'DELETE' });
  await until(() => seen.length === 2);
  controller.abort();
  assert.deepEqual(seen, ['ADDED seen', 'DELETED seen']);
});

test('an informer goes on over a restart of the service', {
  timeout: 60_000,
}, async () => {
  const port = new URL(facade.url).port;
  const api = KubernetesObjectApi.makeApiClient(config());
  const list = () => api.list<Gadget>(apiVersion, 'Gadget');
  const informer = makeInformer<Gadget>(config(), `/apis/${group}/${version}/gadgets`, list as never);
  const seen: string[] = [];
  let isOver = false;
  for (const verb of ['add', 'update', 'delete'] as const) {
    informer.on(verb, ({ metadata }: Gadget) => void seen.push(`${verb} ${metadata!.name}`));
  }
  informer.on('error', () => {
    if (!isOver) setTimeout(() => void informer.start().catch(() => {}), 100);
  });
  await informer.start();
  await facade.kube(gadgets, { body: gadget('before', {}) });
  await until(() => seen.includes('add before'));
  await facade.stop();
  facade.options.port = Number(port);
  await facade.start();
  await facade.kube(gadgets, { body: gadget('after', {}) });
  await until(() => seen.includes('add after'), { timeout: 20_000 });
  await facade.kube(`${gadgets}/before`, { method: 'DELETE' });
  await until(() => seen.includes('delete before'), { timeout: 20_000 });
  isOver = true;
  await informer.stop();
  assert.deepEqual(seen.toSorted(), ['add after', 'add before', 'delete before']);
});
