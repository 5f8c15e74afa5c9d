/**
 * What Helm sends, as its sources say (pkg/storage/driver/secrets.go, pkg/kube/client.go): the program itself is not run.
 * A release is a Secret for each of its revisions, found by labels; what a chart holds is created, patched and deleted.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Facade, widgets } from './harness.ts';

const facade = new Facade();
before(() => facade.start());
after(() => facade.stop());

const secrets = '/api/v1/namespaces/default/secrets';
const maps = '/api/v1/namespaces/default/configmaps';
/** Helm asks so for everything: as tables and protobuf it never does. */
const headers = { accept: 'application/json, */*', 'user-agent': 'Helm/3.18.4' };
const strategic = { ...headers, 'content-type': 'application/strategic-merge-patch+json' };
const merge = { ...headers, 'content-type': 'application/merge-patch+json' };
const apply = { ...headers, 'content-type': 'application/apply-patch+yaml' };

const release = (version: number, status: string, mark: object) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: {
    name: `sh.helm.release.v1.shop.v${version}`,
    creationTimestamp: null,
    labels: { name: 'shop', owner: 'helm', status, version: String(version), ...mark },
  },
  type: 'helm.sh/release.v1',
  data: { release: Buffer.from(`H4sI ${version} ${status}`).toString('base64') },
});
const name = (version: number) => `${secrets}/sh.helm.release.v1.shop.v${version}`;

async function sent(status: number, ...[path, call]: Parameters<Facade['kube']>): Promise<any> {
  const reply = await facade.kube(path, { headers, ...call });
  assert.equal(reply.status, status, reply.text);
  return reply.json;
}
const statuses = async (selector: string): Promise<string[]> => {
  const { items } = await sent(200, `${secrets}?labelSelector=${encodeURIComponent(selector)}`);
  return items.map(({ metadata, data }: any) => {
    assert.match(Buffer.from(data.release, 'base64').toString(), /^H4sI /);
    return `${metadata.labels.version} ${metadata.labels.status}`;
  });
};

const chart = (data: object) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: {
    name: 'shop',
    namespace: 'default',
    labels: { 'app.kubernetes.io/managed-by': 'Helm' },
    annotations: { 'meta.helm.sh/release-name': 'shop', 'meta.helm.sh/release-namespace': 'default' },
  },
  data,
});

test('install: a release that is pending, what the chart holds, a release that is deployed', async () => {
  await sent(200, '/version');
  await sent(404, name(1));
  assert.deepEqual(await statuses('name=shop,owner=helm'), []);
  await sent(404, `${maps}/shop`);
  await sent(201, secrets, { body: release(1, 'pending-install', { createdAt: '1' }) });
  await sent(201, `${maps}?fieldManager=helm`, { body: chart({ a: '1', b: '2' }) });
  const widget = {
    apiVersion: 'shop.example.com/v1',
    kind: 'Widget',
    metadata: { name: 'shop' },
    spec: { replicas: 1 },
  };
  await sent(201, `${widgets}?fieldManager=helm`, { body: widget });
  // Without a resource version: Helm does not read what it replaces.
  await sent(200, name(1), { method: 'PUT', body: release(1, 'deployed', { modifiedAt: '2' }) });
  assert.deepEqual(await statuses('name=shop,owner=helm,status=deployed'), ['1 deployed']);
  const { metadata } = await sent(200, name(1));
  assert.equal(metadata.labels.createdAt, undefined);
});

test('upgrade: patches by the schema that Helm has built in, and merge patches of everything else', async () => {
  await sent(201, secrets, { body: release(2, 'pending-upgrade', { createdAt: '3' }) });
  const patch = { data: { a: '3', b: null } };
  const { data } = await sent(200, `${maps}/shop?fieldManager=helm`, {
    method: 'PATCH',
    headers: strategic,
    body: patch,
  });
  assert.deepEqual(data, { a: '3' });
  const scaled = { spec: { replicas: 2 } };
  await sent(200, `${widgets}/shop?fieldManager=helm`, { method: 'PATCH', headers: merge, body: scaled });
  await sent(200, name(1), { method: 'PUT', body: release(1, 'superseded', { modifiedAt: '4' }) });
  await sent(200, name(2), { method: 'PUT', body: release(2, 'deployed', { modifiedAt: '4' }) });
  assert.deepEqual(await statuses('name=shop,owner=helm'), ['1 superseded', '2 deployed']);
  assert.deepEqual(await statuses('owner=helm,status in (deployed)'), ['2 deployed']);
});

test('upgrade of Helm 4: server-side apply', async () => {
  const { data } = await sent(200, `${maps}/shop?fieldManager=helm&force=true&fieldValidation=Strict`, {
    method: 'PATCH',
    headers: apply,
    body: chart({ a: '4' }),
  });
  assert.deepEqual(data, { a: '4' });
});

test('history, rollback and uninstall', async () => {
  await sent(201, secrets, { body: release(3, 'pending-rollback', { createdAt: '5' }) });
  await sent(200, name(2), { method: 'PUT', body: release(2, 'superseded', { modifiedAt: '6' }) });
  await sent(200, name(3), { method: 'PUT', body: release(3, 'deployed', { modifiedAt: '6' }) });
  assert.equal((await statuses('name=shop,owner=helm')).length, 3);
  const options = { kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy: 'Background' };
  for (const path of [`${maps}/shop`, `${widgets}/shop`]) await sent(200, path, { method: 'DELETE', body: options });
  for (const version of [1, 2, 3]) await sent(200, name(version), { method: 'DELETE', body: {} });
  assert.deepEqual(await statuses('owner=helm'), []);
});

test('a Lease is replaced only as it was read', async () => {
  const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases';
  const lease = { metadata: { name: 'lock' }, spec: { holderIdentity: 'a' } };
  await sent(201, leases, { body: lease });
  const { details } = await sent(422, `${leases}/lock`, { method: 'PUT', body: lease });
  assert.equal(details.causes[0].field, 'metadata.resourceVersion');
});
