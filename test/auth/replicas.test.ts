import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PersonalAccessToken } from '../../src/auth/models.ts';
import type { Service } from '../../src/service.ts';
import { createService } from '../../src/service.ts';
import { databaseAdapters } from '../servers.ts';
import type { Send } from './live.ts';
import { bindingOf, expect, sender, until } from './live.ts';
import { Book, books } from './models.ts';

const core = '/api/v1alpha1';
const shared = databaseAdapters().filter(({ kind }) => kind !== 'sqlite');

interface Replicas {
  readonly urls: readonly [string, string];
  readonly services: readonly [Service, Service];
  /** The administrator at the first and the second replica. */
  readonly admin: readonly [Send, Send];
  readonly tokens: readonly (string | undefined)[];
}

async function withReplicas(
  adapter: (typeof shared)[number],
  run: (replicas: Replicas) => Promise<void>,
): Promise<void> {
  const database = await adapter.create();
  const services = await Promise.all([0, 1].map(() => createService({ database: database.url, port: 0 })));
  try {
    for (const service of services) service.schemeManager.register(Book);
    const started = await Promise.all(services.map((service) => service.start()));
    const tokens = started.map(({ administratorToken }) => administratorToken);
    const urls = [started[0]!.url, started[1]!.url] as const;
    const token = tokens.find((one) => one !== undefined);
    await run({
      urls,
      services: [services[0]!, services[1]!],
      admin: [sender(urls[0], token), sender(urls[1], token)],
      tokens,
    });
  } finally {
    await Promise.all(services.map((service) => service.stop()));
    await database.drop();
  }
}

async function newToken(admin: Send, user: string): Promise<{ name: string; token: string }> {
  const spec = { metadata: { generateName: 't-' }, spec: { user } };
  const { body } = await expect(201, admin('POST', `${core}/personalaccesstokens`, spec));
  return { name: body.metadata.name, token: body.status.token };
}

for (const adapter of shared) {
  test(`permissions: two replicas on ${adapter.name} that start together make one administrator and one set of role templates`, async () => {
    await withReplicas(adapter, async ({ admin, tokens, services }) => {
      assert.equal(tokens.filter((token) => token !== undefined).length, 1);
      for (const send of admin) {
        const list = await expect(200, send('GET', `${core}/personalaccesstokens`));
        assert.equal(list.body.total, 1);
        await expect(200, send('GET', `${core}/roles/books-library-example-view`));
      }
      assert.equal(await services[1].client.count(PersonalAccessToken), 1);
    });
  });

  test(`permissions: a revocation at one replica on ${adapter.name} counts at the other within 1 s, and for good`, async (t) => {
    await withReplicas(adapter, async ({ urls, admin }) => {
      await expect(201, admin[0]('POST', `${core}/users`, { metadata: { name: 'ada' } }));
      const dead: string[] = [];
      let slowest = 0;
      for (let trial = 0; trial < 30; trial++) {
        const [here, there] = trial % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const);
        const { name, token } = await newToken(admin[here], 'ada');
        await expect(200, sender(urls[there], token)('GET', '/apis'));
        await expect(200, admin[here]('DELETE', `${core}/personalaccesstokens/${name}`));
        const since = performance.now();
        await expect(401, sender(urls[here], token)('GET', '/apis'));
        await until(
          async () => (await sender(urls[there], token)('GET', '/apis')).status === 401,
          'revoked at the other replica',
        );
        slowest = Math.max(slowest, performance.now() - since);
        dead.push(token);
      }
      for (const token of dead) for (const url of urls) await expect(401, sender(url, token)('GET', '/apis'));
      t.diagnostic(`slowest of 30 revocations: ${slowest.toFixed(0)} ms`);
    });
  });

  test(`permissions: no grant of a deleted user comes back to life at any replica on ${adapter.name}, and a role change counts at both`, async () => {
    await withReplicas(adapter, async ({ urls, admin }) => {
      for (let trial = 0; trial < 8; trial++) {
        const [here, there] = trial % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const);
        await expect(201, admin[here]('POST', `${core}/users`, { metadata: { name: 'ada' } }));
        await expect(201, admin[here]('POST', `${core}/rolebindings`, bindingOf('books-library-example-view', 'ada')));
        const old = await newToken(admin[here], 'ada');
        await until(
          async () => (await sender(urls[there], old.token)('GET', books)).status === 200,
          'bound at the other replica',
        );
        await expect(200, admin[here]('DELETE', `${core}/users/ada`));
        await expect(201, admin[there]('POST', `${core}/users`, { metadata: { name: 'ada' } }));
        const fresh = await newToken(admin[there], 'ada');
        for (const url of urls) {
          await until(async () => (await sender(url, old.token)('GET', books)).status === 401, 'the old token is dead');
          await until(
            async () => (await sender(url, fresh.token)('GET', books)).status === 403,
            'the old binding is void',
          );
        }
        const left = `${core}/rolebindings?fieldSelector=${encodeURIComponent('subjects.name=ada')}`;
        await until(
          async () => (await expect(200, admin[here]('GET', left))).body.total === 0,
          'the old binding is stored without ada',
        );
        for (const url of urls) {
          await expect(401, sender(url, old.token)('GET', books));
          await expect(403, sender(url, fresh.token)('GET', books));
        }
        await expect(200, admin[there]('DELETE', `${core}/users/ada`));
      }
    });
  });
}
