/** Processes that serve some of the models of one store (docs/guide/starting.md). */
import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import type { Reconciler } from 'kindred';
import { createService, definePlugin } from 'kindred';
import { until } from 'kindred/testing';
import { databaseAdapters } from '../servers.ts';
import { Receiver } from '../webhook/receiver.ts';
import { atEnd, call, cleanUp, makeReading, makeSite, Reading, readings, running, Site, sites } from './kit.ts';

afterEach(cleanUp);

const status = async (at: Parameters<typeof call>[0], path: string) => (await call(at, path)).status;

it('a path of a model that is served elsewhere answers 421 and says why; the models of the service are everywhere', async () => {
  const service = await running({ database: 'sqlite::memory:', models: ['plants.example.com/*'] });
  assert.equal((await makeSite(service, 's1')).status, 201);
  const refused = await call(service, readings);
  assert.equal(refused.status, 421);
  assert.equal(refused.body.code, 'MisdirectedRequest');
  assert.match(
    refused.body.detail,
    /^Reading is served by other processes: this one was started for plants\.example\.com\/\*$/,
  );
  assert.equal((await makeReading(service, 'r1')).status, 421);
  for (const path of ['/r1', '?watch=true', '?explain=true', '?fieldSelector=spec.sensor%3Dx'])
    assert.equal(await status(service, readings + path), 421, path);
  assert.equal((await call(service, `${readings}/r1`, 'DELETE')).status, 421);
  const kube = await call(service, `/kube${readings}`);
  assert.deepEqual([kube.status, kube.body.reason], [421, 'MisdirectedRequest']);
  assert.equal(await status(service, '/api/v1alpha1/secrets'), 200);
  const ready = await call(service, '/readyz');
  assert.equal(ready.status, 200);
  const states = Object.fromEntries(ready.body.models.map(({ kind, state }: any) => [kind, state]));
  assert.deepEqual([states.Site, states.Reading], ['ready', 'elsewhere']);
  const metrics = (await call(service, '/metrics')).body as string;
  assert.match(metrics, /^kindred_objects\{group="plants\.example\.com",kind="Site"\} 1$/m);
  assert.doesNotMatch(metrics, /^kindred_objects\{.*Reading/m);
  // What there is can be found out at every process.
  assert.match(JSON.stringify((await call(service, '/v3/models')).body), /readings/);
});

it('a pattern that names no models is refused', async () => {
  for (const models of [['readings.telemetry.example.com'], ['telemetry.example.com/Reading'], ['*/readings'], ['']])
    await assert.rejects(createService({ database: 'sqlite::memory:', models }), /the option "models" needs names/);
});

for (const adapter of databaseAdapters().filter(({ kind }) => kind !== 'sqlite')) {
  describe(`two processes with a model each, on ${adapter.name}`, () => {
    it('each answers, reconciles and counts its own; webhooks tell of both', async () => {
      const database = await adapter.create();
      atEnd(() => database.drop());
      const receiver = new Receiver();
      await receiver.start();
      atEnd(() => receiver.stop());
      const calls: string[] = [];
      const plugin = (where: string) => {
        const watching = (type: typeof Site | typeof Reading): Reconciler => ({
          setupWith: (builder) => builder.extension(type as typeof Site).build(),
          reconcile: async ({ name }) => void calls.push(`${where} ${type.gvk.kind} ${name}`),
        });
        return definePlugin({
          start({ schemeManager, registerController }) {
            for (const type of [Site, Reading]) {
              schemeManager.register(type as typeof Site);
              registerController(watching(type));
            }
          },
        });
      };
      const start = (where: string, models: string[]) =>
        running(
          {
            database: database.url,
            models,
            webhook: { allowPrivateAddresses: true },
            plugins: [{ name: 'plants', version: '1.0.0', plugin: plugin(where) }],
          },
          [],
        );
      const a = await start('a', ['plants.example.com/sites']);
      const b = await start('b', ['telemetry.example.com/*']);
      const secret = { metadata: { name: 'key' }, data: { key: Buffer.from('secret').toString('base64') } };
      assert.equal((await call(a, '/api/v1alpha1/secrets', 'POST', secret)).status, 201);
      const spec = {
        url: receiver.url,
        resources: ['sites.plants.example.com', 'readings.telemetry.example.com'],
        secretName: 'key',
      };
      const made = await call(b, '/apis/webhook.platform.run/v1alpha1/webhooks', 'POST', {
        metadata: { name: 'all' },
        spec,
      });
      assert.equal(made.status, 201, JSON.stringify(made.body));
      assert.equal((await makeSite(a, 's1')).status, 201);
      assert.equal((await makeReading(b, 'r1')).status, 201);
      assert.equal((await makeReading(b, 'r2', 'r1')).body.code, 'UniqueViolation');
      assert.deepEqual([await status(a, sites), await status(b, sites)], [200, 421]);
      assert.deepEqual([await status(a, readings), await status(b, readings)], [421, 200]);
      await until(() => calls.length >= 2 && receiver.accepted.length >= 2);
      assert.deepEqual(calls.toSorted(), ['a Site s1', 'b Reading r1']);
      const told = receiver.accepted.map(({ event }) => `${event.resource} ${event.object.metadata.name}`);
      assert.deepEqual(told.toSorted(), ['readings.telemetry.example.com r1', 'sites.plants.example.com s1']);
      // A process without the option serves both.
      const whole = await start('whole', []);
      assert.deepEqual([await status(whole, sites), await status(whole, readings)], [200, 200]);
    });
  });
}
