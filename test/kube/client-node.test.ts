import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { KubernetesObject } from '@kubernetes/client-node';
import {
  ApiextensionsV1Api,
  AuthenticationV1Api,
  AuthorizationV1Api,
  CoordinationV1Api,
  CoreV1Api,
  CustomObjectsApi,
  EventsV1Api,
  KubeConfig,
  KubernetesObjectApi,
  makeInformer,
  PatchStrategy,
  V1MicroTime,
  VersionApi,
  Watch,
} from '@kubernetes/client-node';
import { openStore } from '../../src/store/open.ts';
import { until } from '../../src/testing/until.ts';
import { Facade, gadgets } from './harness.ts';

const folder = mkdtempSync(join(tmpdir(), 'kube-node-'));
const database = `sqlite:${join(folder, 'kindred.db')}`;
const facade = new Facade({ database });
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

test('a patch of a custom object, and its status', async () => {
  const api = config().makeApiClient(CustomObjectsApi);
  const at = { group, version, namespace: 'default', plural, name: 'patched' };
  const body = { apiVersion, kind: 'Widget', metadata: { name: 'patched' }, spec: { replicas: 1 } };
  await api.createNamespacedCustomObject({ ...at, body });
  // Without a type, the client sends a list of operations.
  const operations = [{ op: 'replace', path: '/spec/replicas', value: 2 }];
  const patched = await api.patchNamespacedCustomObject({ ...at, body: operations });
  assert.equal(patched.spec.replicas, 2);
  const status = [{ op: 'add', path: '/status', value: { replicas: 2 } }];
  const told = await api.patchNamespacedCustomObjectStatus({ ...at, body: status });
  assert.equal(told.status.replicas, 2);
  const replaced = await api.replaceNamespacedCustomObject({ ...at, body: { ...told, spec: { replicas: 3 } } });
  assert.equal(replaced.spec.replicas, 3);
  const everywhere = await api.listCustomObjectForAllNamespaces({ group, version, resourcePlural: plural });
  assert.equal(everywhere.items.length, 1);
  await api.deleteCollectionNamespacedCustomObject(at);
  assert.equal((await api.listNamespacedCustomObject(at)).items.length, 0);
});

test('server-side apply, and a strategic patch of a kind of Kubernetes', async () => {
  const api = KubernetesObjectApi.makeApiClient(config());
  const header = { apiVersion, kind: 'Gadget', metadata: { name: 'applied' } };
  const apply = (spec: Gadget['spec'], manager: string, force?: boolean) =>
    api.patch<Gadget>(
      { ...header, spec } as Gadget,
      undefined,
      undefined,
      manager,
      force,
      PatchStrategy.ServerSideApply,
    );
  await apply({ size: 1 }, 'one');
  await assert.rejects(apply({ size: 2 }, 'two'), { code: 409 });
  const { spec, metadata } = await apply({ size: 2 }, 'two', true);
  assert.equal(spec.size, 2);
  assert.deepEqual(
    metadata!.managedFields!.map(({ manager, operation }) => [manager, operation]),
    [['two', 'Apply']],
  );
  await api.delete(header);
  const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'merged', namespace: 'default' } };
  await api.create({ ...map, data: { a: '1' } } as KubernetesObject);
  const patched = await api.patch({ ...map, data: { b: '2' } } as KubernetesObject);
  assert.deepEqual((patched as { data?: object }).data, { a: '1', b: '2' });
});

test('typed APIs: version, Namespaces, ConfigMaps, Secrets', async () => {
  const { gitVersion } = await config().makeApiClient(VersionApi).getCode();
  assert.match(gitVersion, /\+kindred/);
  const api = config().makeApiClient(CoreV1Api);
  const made = await api.createNamespace({ body: { metadata: { name: 'team' } } });
  assert.equal(made.status!.phase, 'Active');
  const at = { namespace: 'team', name: 'c' };
  await api.createNamespacedConfigMap({ namespace: 'team', body: { metadata: { name: 'c' }, data: { a: '1' } } });
  const read = await api.readNamespacedConfigMap(at);
  assert.ok(read.metadata!.creationTimestamp instanceof Date);
  const replaced = await api.replaceNamespacedConfigMap({ ...at, body: { ...read, data: { a: '2' } } });
  assert.deepEqual(replaced.data, { a: '2' });
  await assert.rejects(api.replaceNamespacedConfigMap({ ...at, body: read }), { code: 409 });
  const secret = { metadata: { name: 's', labels: { owner: 'me' } }, stringData: { key: 'value' } };
  await api.createNamespacedSecret({ namespace: 'team', body: secret });
  const { items } = await api.listSecretForAllNamespaces({ labelSelector: 'owner=me' });
  assert.deepEqual(items[0]!.data, { key: Buffer.from('value').toString('base64') });
  await api.deleteNamespace({ name: 'team' });
  await until(async () => (await api.listNamespace()).items.length === 1, { timeout: 10_000 });
});

test('typed APIs: a Lease as a lock', async () => {
  const api = config().makeApiClient(CoordinationV1Api);
  const at = { namespace: 'default', name: 'lock' };
  const now = new V1MicroTime();
  const spec = { holderIdentity: 'one', leaseDurationSeconds: 15, acquireTime: now, renewTime: now };
  const lease = await api.createNamespacedLease({ namespace: 'default', body: { metadata: { name: 'lock' }, spec } });
  assert.equal(new Date(lease.spec!.renewTime!).getTime(), now.getTime());
  const taken = { ...lease, spec: { ...lease.spec, holderIdentity: 'two', leaseTransitions: 1 } };
  const { spec: after } = await api.replaceNamespacedLease({ ...at, body: taken });
  assert.equal(after!.holderIdentity, 'two');
  await assert.rejects(api.replaceNamespacedLease({ ...at, body: taken }), { code: 409 });
});

test('typed APIs: Events of both groups', async () => {
  const regarding = { apiVersion, kind: 'Gadget', name: 'n1', namespace: 'default' };
  await config()
    .makeApiClient(EventsV1Api)
    .createNamespacedEvent({
      namespace: 'default',
      body: {
        metadata: { name: 'e1' },
        eventTime: new V1MicroTime(),
        regarding,
        reason: 'Seen',
        note: 'It is there',
        type: 'Normal',
        action: 'Look',
        reportingController: 'shop.example.com/keeper',
        reportingInstance: 'keeper-1',
      },
    });
  const api = config().makeApiClient(CoreV1Api);
  const { items } = await api.listNamespacedEvent({
    namespace: 'default',
    fieldSelector: 'involvedObject.name=n1,involvedObject.kind=Gadget',
  });
  assert.deepEqual([items[0]!.message, items[0]!.reportingComponent], ['It is there', 'shop.example.com/keeper']);
});

test('typed APIs: definitions, and objects of a kind that one declares', async () => {
  const api = config().makeApiClient(ApiextensionsV1Api);
  const object = { type: 'object', properties: { spec: { type: 'object', properties: { n: { type: 'integer' } } } } };
  await api.createCustomResourceDefinition({
    body: {
      metadata: { name: 'lamps.node.example.com' },
      spec: {
        group: 'node.example.com',
        scope: 'Namespaced',
        names: { plural: 'lamps', kind: 'Lamp' },
        versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: object } }],
      },
    },
  });
  await until(async () => {
    const { status } = await api.readCustomResourceDefinition({ name: 'lamps.node.example.com' });
    return status?.conditions?.some((one) => one.type === 'Established' && one.status === 'True') === true;
  });
  const lamp = { apiVersion: 'node.example.com/v1', kind: 'Lamp', metadata: { name: 'l', namespace: 'default' } };
  const objects = KubernetesObjectApi.makeApiClient(config());
  await objects.create({ ...lamp, spec: { n: 1 } } as KubernetesObject);
  await assert.rejects(objects.create({ ...lamp, metadata: { name: 'm' }, spec: { n: 'x' } } as KubernetesObject), {
    code: 422,
  });
  await api.deleteCustomResourceDefinition({ name: 'lamps.node.example.com' });
});

test('typed APIs: what the caller may do, and who they are', async () => {
  const api = config().makeApiClient(AuthorizationV1Api);
  const spec = { resourceAttributes: { verb: 'create', group, resource: plural, namespace: 'default' } };
  const review = await api.createSelfSubjectAccessReview({ body: { spec } });
  assert.equal(review.status!.allowed, true);
  const rules = await api.createSelfSubjectRulesReview({ body: { spec: { namespace: 'default' } } });
  assert.deepEqual(rules.status!.resourceRules[0]!.verbs, ['*']);
  const self = await config().makeApiClient(AuthenticationV1Api).createSelfSubjectReview({ body: {} });
  assert.ok(self.status!.userInfo!.groups!.includes('system:authenticated'));
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

test('an informer whose place in the log is gone lists again', { timeout: 60_000 }, async () => {
  const port = new URL(facade.url).port;
  const api = KubernetesObjectApi.makeApiClient(config());
  let lists = 0;
  const list = () => {
    lists++;
    return api.list<Gadget>(apiVersion, 'Gadget');
  };
  await facade.kube(gadgets, { body: gadget('old', {}) });
  const informer = makeInformer<Gadget>(config(), `/apis/${group}/${version}/gadgets`, list as never);
  const seen: string[] = [];
  let isOver = false;
  let isAway = false;
  for (const verb of ['add', 'delete'] as const) {
    informer.on(verb, ({ metadata }: Gadget) => void seen.push(`${verb} ${metadata!.name}`));
  }
  const again = (): void => {
    if (isOver) return;
    if (isAway) setTimeout(again, 50);
    else void informer.start().catch(() => setTimeout(again, 50));
  };
  informer.on('error', again);
  await informer.start();
  await until(() => seen.includes('add old'));
  assert.equal(lists, 1);
  isAway = true;
  await facade.stop();
  facade.options.port = 0;
  await facade.start();
  await facade.kube(`${gadgets}/old`, { method: 'DELETE' });
  for (let i = 0; i < 20; i++) await facade.kube(gadgets, { body: gadget(`new-${i}`, {}) });
  await facade.stop();
  const store = await openStore(database);
  while ((await store.compact(1, Date.now() + 60_000)) > 0);
  await store.close();
  facade.options.port = Number(port);
  await facade.start();
  isAway = false;
  await until(() => seen.includes('delete old') && seen.includes('add new-19'), { timeout: 30_000 });
  assert.equal(lists, 2);
  isOver = true;
  await informer.stop();
});
