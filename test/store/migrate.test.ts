import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import type { KindredError } from '../../src/errors.ts';
import type { MigrateProgress } from '../../src/store/migrate.ts';
import { migrate } from '../../src/store/migrate.ts';
import { openStore } from '../../src/store/open.ts';
import { startProxy } from '../replicas/proxy.ts';
import type { TestAdapter } from '../servers.ts';
import { databaseAdapters, postgresServer } from '../servers.ts';

const claim = (key: string) => ({ hash: createHash('sha256').update(key).digest(), index: 'slug', key });

async function filled(adapter: TestAdapter) {
  const database = await adapter.create();
  const store = await openStore(database.url);
  for (const kind of ['Article', 'Author', 'Empty']) {
    const model = await store.modelNumber('demo.example.com', kind);
    if (kind === 'Empty') continue;
    for (let batch = 0; batch < 4; batch++) {
      const writes = Array.from({ length: 30 }, (_, i) => {
        const name = `n${batch * 30 + i}`;
        return { type: 'create', model, name, bytes: Buffer.from(`${kind} ${name}`), claim: [claim(name)] } as const;
      });
      await store.commit(writes, batch);
    }
    await store.commit(
      [
        { type: 'update', model, name: 'n1', bytes: Buffer.from('new') },
        { type: 'delete', model, name: 'n2', bytes: Buffer.from('end'), release: [{ hash: claim('n2').hash }] },
      ],
      9,
    );
  }
  const revision = await store.revision();
  for (const holder of ['me', 'you', 'me']) {
    const lease = await store.acquireLease('controller', holder, 1_000, 1);
    await store.releaseLease(lease!);
  }
  await store.close();
  return { database, revision };
}

const adapters = databaseAdapters();
const sqlite = adapters.find(({ kind }) => kind === 'sqlite');
const postgres = adapters.find(({ kind }) => kind === 'postgres');
const pairs = adapters.map((from, i) => [from, adapters[(i + 1) % adapters.length]!] as const);

for (const [from, to] of pairs) {
  describe(`migrate from ${from.name} to ${to.name}`, () => {
    it('moves everything: revisions, ids, unique values that both keep, the change log', async () => {
      const claims = [from, to].some(({ kind }) => kind === 'sqlite') ? 0 : 238;
      const { database, revision } = await filled(from);
      const target = await to.create();
      const steps: MigrateProgress[] = [];
      const result = await migrate(database.url, target.url, { batch: 16, onProgress: (step) => steps.push(step) });
      assert.deepEqual({ ...result, hash: undefined }, { revision, rows: 238, claims, changes: 244, hash: undefined });
      assert.deepEqual(steps.filter((step) => step.step === 'rows').at(-1), { step: 'rows', done: 238, total: 238 });
      const all = 2 * (238 + claims + 244);
      assert.deepEqual(steps.at(-1), { step: 'verify', done: all, total: all });
      const store = await openStore(target.url);
      const model = await store.modelNumber('demo.example.com', 'Author');
      assert.equal(await store.revision(), revision);
      assert.deepEqual(await store.commit([{ type: 'create', model, name: 'n1', bytes: Buffer.from('') }], 1), [
        { ok: false, reason: 'exists' },
      ]);
      const [next] = await store.commit(
        [{ type: 'create', model, name: 'n2', bytes: Buffer.from(''), claim: [claim('n2')] }],
        1,
      );
      assert.ok(next?.ok && next.revision === revision + 1);
      assert.equal((await store.changes(revision - 1, 10)).length, 2);
      const lease = await store.acquireLease('controller', 'me', 1_000, 1);
      assert.equal(lease?.token, 4, 'a fencing token is never given out again');
      await store.close();
      await assert.rejects(migrate(database.url, target.url), /holds data of its own/);
      await database.drop();
      await target.drop();
    });

    it('waits while a database is away, and goes on', {
      skip: to.kind === 'sqlite' && 'a SQLite file is never away',
    }, async () => {
      const { database } = await filled(from);
      const target = await to.create();
      const proxy = await startProxy(target.url);
      const failures: string[] = [];
      let steps = 0;
      // Twice, once while rows are copied and once while both are compared.
      const cut = ({ step }: MigrateProgress): void => {
        if (steps++ === 3 || (step === 'verify' && failures.length === 1)) proxy.cut();
      };
      const attempt = async <R>(call: () => Promise<R>): Promise<R> => {
        try {
          return await call();
        } catch (error) {
          const { code } = error as KindredError;
          assert.ok(code === 'NotReady' || code === 'UnknownOutcome', String(error));
          failures.push(code);
          proxy.heal();
          return call();
        }
      };
      const other = await to.create();
      try {
        const result = await migrate(database.url, proxy.url, { batch: 16, onProgress: cut, attempt });
        assert.ok(failures.length >= 2, failures.join());
        assert.deepEqual(result, await migrate(database.url, other.url));
      } finally {
        await proxy.close();
        for (const one of [database, target, other]) await one.drop();
      }
    });

    it('stops at a signal, and goes on later', async () => {
      const { database } = await filled(from);
      const target = await to.create();
      const stop = new AbortController();
      let steps = 0;
      const onProgress = () => void (++steps === 5 && stop.abort(new Error('enough')));
      const stopped = migrate(database.url, target.url, { batch: 16, onProgress, signal: stop.signal });
      await assert.rejects(stopped, /enough/);
      assert.equal((await migrate(database.url, target.url)).rows, 238);
      for (const one of [database, target]) await one.drop();
    });

    it('goes on after an interruption, with the same result', async () => {
      const { database } = await filled(from);
      const target = await to.create();
      let steps = 0;
      const interrupt = (): void => {
        if (++steps === 9) throw new Error('interrupted');
      };
      await assert.rejects(migrate(database.url, target.url, { batch: 16, onProgress: interrupt }), /interrupted/);
      const result = await migrate(database.url, target.url, { batch: 16 });
      const other = await to.create();
      const whole = await migrate(database.url, other.url);
      assert.deepEqual(result, whole);
      for (const one of [database, target, other]) await one.drop();
    });
  });
}

const losses = [
  {
    name: 'an object',
    table: 'objects',
    when: "NEW.name = 'n77'",
    message: /119 objects of \w+ \(demo\.example\.com\) in the source, 118 in the target/,
  },
  {
    name: 'a change',
    table: 'changes',
    when: 'NEW.revision = 200',
    message: /244 changes in the source, 243 in the target/,
  },
  { name: 'content', table: 'objects', when: '', message: /their contents are not the same/ },
];
for (const { name, table, when, message } of losses) {
  it(`migrate names what the target lacks in the end: ${name}`, { skip: !sqlite && 'only in SQLite' }, async () => {
    const { database } = await filled(sqlite!);
    const target = await sqlite!.create();
    await (await openStore(target.url)).close();
    const db = new DatabaseSync(target.url.slice('sqlite:'.length));
    db.exec(
      when
        ? `CREATE TRIGGER lose BEFORE INSERT ON ${table} WHEN ${when} BEGIN SELECT RAISE(IGNORE); END`
        : `CREATE TRIGGER change AFTER INSERT ON ${table} WHEN NEW.name = 'n77' BEGIN UPDATE ${table} SET bytes = x'30' WHERE id = NEW.id; END`,
    );
    db.close();
    await assert.rejects(migrate(database.url, target.url), message);
    for (const one of [database, target]) await one.drop();
  });
}

it('migrate names what the target lacks in the end: a unique value', {
  skip: !postgres && 'only where claims are kept',
}, async () => {
  const { database } = await filled(postgres!);
  const target = await postgres!.create();
  await (await openStore(target.url)).close();
  const lose = `
    CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN IF NEW.key = 'n77'::bytea THEN RETURN NULL; END IF; RETURN NEW; END $$;
    CREATE TRIGGER lose BEFORE INSERT ON kindred_claims FOR EACH ROW EXECUTE FUNCTION lose()`;
  await (await postgresServer()).query(lose, new URL(target.url).pathname.slice(1));
  await assert.rejects(migrate(database.url, target.url), /238 unique values in the source, 236 in the target/);
  for (const one of [database, target]) await one.drop();
});

it('migrate makes no database where none is to be read', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'kindred-migrate-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const [from, to] = ['none.db', 'new.db'].map((name) => `sqlite:${join(folder, name)}`) as [string, string];
  await assert.rejects(migrate(from, to), /there is no database .*none\.db/);
  assert.deepEqual(readdirSync(folder), []);
});
