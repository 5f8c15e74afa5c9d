import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pino } from 'pino';
import { templateName } from '../../src/auth/templates.ts';
import type { ServiceOptions } from '../../src/options.ts';
import { createService } from '../../src/service.ts';
import { databaseAdapters } from '../servers.ts';
import type { Send } from './live.ts';
import { expect, live, sender } from './live.ts';
import { Book } from './models.ts';

const core = '/api/v1alpha1';

/** One run of the service: the administrator's token that its start told. */
async function start(
  options: ServiceOptions,
  run: (send: Send) => Promise<unknown> = async () => {},
): Promise<string | undefined> {
  const service = await createService({ port: 0, ...options });
  try {
    const { url, administratorToken } = await service.start();
    await run(sender(url, administratorToken));
    return administratorToken;
  } finally {
    await service.stop();
  }
}

for (const adapter of databaseAdapters()) {
  test(`permissions: on ${adapter.name} the first start makes an administrator, and no later one does, whatever was deleted since`, async () => {
    const { url: database, drop } = await adapter.create();
    try {
      const token = await start({ database }, async (send) => {
        for (const role of ['super-role', 'authenticated', 'anonymous']) {
          await expect(200, send('DELETE', `${core}/roles/${role}`));
        }
        await expect(200, send('DELETE', `${core}/personalaccesstokens/administrator`));
        await expect(401, send('GET', `${core}/roles`));
      });
      assert.ok(token);
      assert.equal(await start({ database }), undefined);
      // Whoever can reach the database comes in again.
      const open = await start({ database, auth: false }, (send) => expect(200, send('GET', `${core}/users/admin`)));
      assert.equal(open, undefined);
    } finally {
      await drop();
    }
  });
}

const runs: readonly { name: string; first: ServiceOptions; tokens: boolean[] }[] = [
  { name: 'a start without authentication is none', first: { auth: false }, tokens: [false, true, false] },
  {
    name: 'one that is to make no administrator is one',
    first: { auth: { administratorToken: false } },
    tokens: [false, false],
  },
];
for (const { name, first, tokens } of runs) {
  test(`permissions: of first starts, ${name}`, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'kindred-first-'));
    const database = `sqlite:${join(folder, 'kindred.db')}`;
    try {
      for (const [i, told] of tokens.entries()) {
        const token = await start({ database, ...(i === 0 && first) });
        assert.equal(token !== undefined, told, `start ${i + 1}`);
      }
    } finally {
      await rm(folder, { recursive: true });
    }
  });
}

test('permissions: what a first start that died left half done is completed by the next', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'kindred-first-'));
  const database = `sqlite:${join(folder, 'kindred.db')}`;
  try {
    // As far as the built-in roles: nobody has got a token yet.
    await (await createService({ database, port: 0 })).stop();
    assert.ok(await start({ database }, (send) => expect(200, send('GET', `${core}/users`))));
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('permissions: what cannot be stored for now, such as a template whose names are taken, keeps no service from starting', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'kindred-taken-'));
  const database = `sqlite:${join(folder, 'kindred.db')}`;
  try {
    {
      await using world = await live({ database });
      for (const distinct of [false, true]) {
        const metadata = { name: templateName('books', 'library.example', 'view', distinct) };
        await expect(201, world.admin('POST', '/api/v1alpha1/roles', { metadata, rules: [] }));
      }
    }
    const logger = pino({ level: 'silent' });
    await using world = await live({ database, logger }, (service) => service.schemeManager.register(Book));
    assert.equal((await world.anonymous('GET', '/readyz')).status, 200);
  } finally {
    await rm(folder, { recursive: true });
  }
});
