/** The life of Certificates under a controller. */
import assert from 'node:assert/strict';
import { KubeConfig } from '@kubernetes/client-node';
import { until } from '../../../src/testing/until.ts';
import { Facade } from '../harness.ts';
import { CertificateController, isReady } from './controller.ts';
import { definitions, isEstablished } from './definitions.ts';

const place = '/apis/cert-manager.io/v1/namespaces/default';

/** @param own definitions of Certificate and Issuer */
export async function certificates(own: readonly any[], count: number) {
  const facade = new Facade();
  await facade.start();
  for (const body of own) assert.equal((await facade.kube(definitions, { body })).status, 201);
  await until(async () => (await facade.kube(definitions)).json.items.every(isEstablished));
  const config = new KubeConfig();
  config.loadFromOptions({
    clusters: [{ name: 'kindred', server: `${facade.url}/kube`, skipTLSVerify: true }],
    users: [{ name: 'me' }],
    contexts: [{ name: 'kindred', cluster: 'kindred', user: 'me' }],
    currentContext: 'kindred',
  });
  const controller = new CertificateController(config, 'default');
  await controller.start();
  const started = performance.now();
  const names = Array.from({ length: count }, (_, i) => `site-${i}`);
  for (const name of names) {
    const spec = { secretName: `${name}-tls`, dnsNames: [`${name}.example.com`], issuerRef: { name: 'ca' } };
    const made = await facade.kube(`${place}/certificates`, { body: { metadata: { name }, spec } });
    assert.equal(made.status, 201, made.text);
  }
  const issuer = { metadata: { name: 'ca' }, spec: { ca: { secretName: 'ca' } } };
  const made = await facade.kube(`${place}/issuers`, { body: issuer });
  assert.equal(made.status, 201, made.text);
  const all = async () => (await facade.kube(`${place}/certificates`)).json.items;
  await until(async () => (await all()).every(isReady), { timeout: 120_000 });
  const milliseconds = Math.round(performance.now() - started);
  const secrets = '/api/v1/namespaces/default/secrets';
  assert.equal((await facade.kube(secrets)).json.items.length, count);
  const native = await facade.send(
    '/apis/cert-manager.io/v1/certificates?fieldSelector=status.conditions.Ready.status%3DTrue&size=1',
  );
  assert.equal(native.json.total, count);
  for (const name of names) await facade.kube(`${place}/certificates/${name}`, { method: 'DELETE' });
  await until(async () => (await all()).length === 0, { timeout: 120_000 });
  assert.equal((await facade.kube(secrets)).json.items.length, 0);
  await controller.stop();
  await facade.stop();
  return {
    certificates: count,
    milliseconds,
    reconciled: controller.reconciled,
    conflicts: controller.conflicts.length,
  };
}
