import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, test } from 'node:test';
import type { Claims, Store } from '../../src/store/store.ts';
import { databaseAdapters, mariadbServer, postgresServer } from '../servers.ts';
import { MapMedium } from '../spec/map-store.ts';
import { crashRound, Witness } from './crash.ts';
import { indexKill } from './index-kills.ts';
import { killAtSteps } from './steps.ts';
import type { Line } from './writer.ts';
import { slugClaim } from './writer.ts';

for (const adapter of databaseAdapters()) {
  describe(`crash on ${adapter.name}`, () => {
    it('command-line: every acknowledged write survives kill -9 of the service', async () => {
      const database = await adapter.create();
      const witness = new Witness();
      for (const round of ['1', '2', '3']) await crashRound(database, witness, round);
      assert.ok(witness.tally.acknowledged > 0);
      await database.drop();
    });

    it('plugins: another version of a model goes on where it was after kill -9', async () => {
      // One call of those that follow a start, another one in each run.
      assert.equal(await killAtSteps(adapter, [4 + (process.pid % 12)]), 2);
    });

    it('command-line: every acknowledged write survives kill -9 of the database server', {
      skip: adapter.kind === 'sqlite' && 'SQLite has no server',
    }, async () => {
      const database = await adapter.create();
      const server = await (adapter.kind === 'postgres' ? postgresServer() : mariadbServer());
      const witness = new Witness();
      await crashRound({ url: database.url, server }, witness, '1');
      assert.ok(witness.tally.acknowledged > 0);
      await database.drop();
    });
  });
}

test('after kill -9 the indexes go on from a snapshot, and are those that a build gives', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'kindred-crash-'));
  const tally = { kills: 0, snapshot: 0, build: 0, replayed: 0 };
  try {
    while (tally.snapshot < 2) await indexKill(`sqlite:${join(folder, 'things.db')}`, folder, tally.kills, tally);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

describe('the comparison after a crash', () => {
  const bytes = (op: string): Uint8Array => Buffer.from(JSON.stringify({ op, slug: op, padding: '' }));

  async function stored(run: (store: Store & Claims, said: Line[]) => Promise<void>): Promise<void> {
    const store = (await new MapMedium().open()) as Store & Claims;
    try {
      const model = await store.modelNumber('crash.example.com', 'Thing');
      const said: Line[] = [];
      for (const op of ['a', 'b']) {
        said.push({ say: 'try', op });
        const write = { type: 'create', model, name: op, bytes: bytes(op) } as const;
        const [result] = await store.commit([{ ...write, claim: [slugClaim(op)] }], 1);
        assert.ok(result?.ok);
        said.push({ say: 'ack', op, id: result.id, revision: result.revision });
      }
      await run(store, said);
    } finally {
      await store.close();
    }
  }

  it('accepts every acknowledged write', () => stored((store, said) => new Witness().check(store, said)));

  it('finds an acknowledged write that is not there', () =>
    stored(async (store, said) => {
      said.push({ say: 'try', op: 'c' }, { say: 'ack', op: 'c', id: 3, revision: 3 });
      await assert.rejects(new Witness().check(store, said), /c was acknowledged and is lost/);
    }));

  it('finds a write that was answered as not applied', () =>
    stored(async (store, said) => {
      said[1] = { say: 'not', op: 'a', reason: 'NotReady' };
      await assert.rejects(new Witness().check(store, said), /a was answered as not applied/);
    }));

  it('finds a write that was applied twice', () =>
    stored(async (store, said) => {
      const model = await store.modelNumber('crash.example.com', 'Thing');
      await store.commit([{ type: 'update', model, name: 'a', bytes: bytes('a') }], 1);
      await assert.rejects(new Witness().check(store, said), /a was applied twice/);
    }));

  it('finds a unique value that no row has', () =>
    stored(async (store, said) => {
      const model = await store.modelNumber('crash.example.com', 'Thing');
      await store.mendClaims(model, [{ hash: Buffer.from('x'), index: 'slug', key: 'x', id: 1, revision: 1 }], []);
      await assert.rejects(new Witness().check(store, said), /unique values/);
    }));
});
