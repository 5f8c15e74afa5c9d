import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, describe, it } from 'node:test';
import { Worker } from 'node:worker_threads';
import { openStore } from '../../src/store/open.ts';
import { afterRestore, backup, restore } from '../../src/store/sqlite/backup.ts';
import { checkSqlite, openForWriting } from '../../src/store/sqlite/tables.ts';
import type { TestAdapter } from '../servers.ts';
import { databaseAdapters, mariadbServer, postgresServer } from '../servers.ts';
import { fromSources } from '../sources.ts';

const folder = mkdtempSync(join(tmpdir(), 'kindred-open-'));
after(() => rmSync(folder, { recursive: true }));

describe('openStore', () => {
  it('names the URLs that it understands when it is given another', async () => {
    await assert.rejects(openStore('oracle://somewhere'), /starts with "oracle:", expected sqlite:<file>/);
    await assert.rejects(openStore('kindred.db'), /expected sqlite:<file>/);
    await assert.rejects(openStore('sqlite:'), /names no file/);
    await assert.rejects(openStore('mysql://u@127.0.0.1:1/x?sslmode=maybe'), /sslmode=maybe/);
  });

  it('says of each host of the URL why it is of no use', async () => {
    for (const scheme of ['postgres', 'mysql']) {
      await assert.rejects(openStore(`${scheme}://me:secret@127.0.0.1:1,127.0.0.1:2/x?target_session_attrs=primary`), {
        message:
          /^the database \S+:…@127.0.0.1:1,127.0.0.1:2\S+ has no host that takes writes: 127.0.0.1:1 cannot be reached: .*127.0.0.1:1; 127.0.0.1:2 cannot be reached: .*127.0.0.1:2$/,
      });
      await assert.rejects(openStore(`${scheme}://a,,b/x`), { message: /an empty name among its hosts$/ });
      await assert.rejects(openStore(`${scheme}://a,b/x?target_session_attrs=standby`), {
        message: /^target_session_attrs=standby in the database URL: the service needs the server that takes writes/,
      });
    }
  });

  it('no message has the password of the URL in it, and each is one line', async () => {
    const urls = ['postgres', 'mysql'].flatMap((scheme) => [
      `${scheme}://me:sec-ret@127.0.0.1:1/x`,
      `${scheme}://me:sec-ret@127.0.0.1:1/x?sslmode=maybe`,
      `${scheme}://me:sec-ret@127.0.0.1:1/x?sslmode=verify-ca`,
      `${scheme}://me:sec-ret@127.0.0.1:1/x?sslrootcert=/nowhere`,
      `${scheme}://me:sec-ret@127.0.0.1:1/x?sslmode=require&sslrootcert=/nowhere`,
      `${scheme}://me:sec-ret@127.0.0.1:1/x?sslwhatever=1`,
      `${scheme}://me:sec-ret@127.0.0.1:1,127.0.0.1:2/x`,
      `${scheme}://me:sec-ret@127.0.0.1:1:1/x`,
      `${scheme}://me:sec-ret@sec-ret@127.0.0.1:1/x`,
      `${scheme}://me:sec-ret/sec-ret@127.0.0.1:1/x`,
      `${scheme}s://me:sec-ret@127.0.0.1:1/x`,
      `${scheme}://me:sec-ret%zz@127.0.0.1:1/x`,
      `me:sec-ret@127.0.0.1:1/x`,
      `//me:sec-ret@127.0.0.1:1/x`,
    ]);
    const uses = [
      (url: string) => openStore(url),
      (url: string) => openStore(url, { allowUnsafeDurability: true }),
      (url: string) => afterRestore(url),
      (url: string) => restore(join(folder, 'any.db'), url),
      (url: string) => backup(url, join(folder, 'any.db')),
    ];
    for (const url of urls) {
      for (const use of uses) {
        await assert.rejects(use(url), ({ message }: Error) => {
          assert.doesNotMatch(message, /sec-ret|\n/, url);
          return true;
        });
      }
    }
    await assert.rejects(openStore('postgres://me:sec-ret@127.0.0.1:1/x'), /me:…@127\.0\.0\.1:1\/x cannot be reached/);
  });

  it('command-line: a second process on the same SQLite file is refused in one line', async () => {
    const url = `sqlite:${join(folder, 'one.db')}`;
    const store = await openStore(url);
    try {
      await assert.rejects(openStore(url), /another process has the SQLite file .*one\.db open/);
      const program = `import { openStore } from ${JSON.stringify(new URL('../../src/store/open.ts', import.meta.url).href)};
        await openStore(${JSON.stringify(url)}).then(() => console.log('opened'), (error) => console.log(error.message));
        process.exit();`;
      const file = join(folder, 'second.mts');
      writeFileSync(file, program);
      const { stdout } = spawnSync(process.execPath, [...fromSources, file], { encoding: 'utf8' });
      const expected =
        /^another process has the SQLite file [^\n]*one\.db open \(process (\d+)\); one service uses it at a time\n$/;
      assert.equal(expected.exec(stdout)?.[1], String(process.pid), stdout);
    } finally {
      await store.close();
    }
    await (await openStore(url)).close();
    assert.equal(existsSync(join(folder, 'one.db-pid')), false);
  });

  it('waits for a connection that has an SQLite file for itself, from its first statement on', async () => {
    const file = join(folder, 'busy.db');
    const holder = new Worker(
      `const { workerData, parentPort } = require('node:worker_threads');
      const db = new (require('node:sqlite').DatabaseSync)(workerData);
      db.exec('CREATE TABLE one (n); BEGIN EXCLUSIVE');
      setTimeout(() => db.exec('DROP TABLE one; COMMIT'), 300);
      parentPort.postMessage('held');`,
      { eval: true, workerData: file },
    );
    await once(holder, 'message');
    openForWriting(file).close();
    await once(holder, 'exit');
  });

  it('refuses a SQLite file of something else, one of a newer program, and a folder that is not there', async () => {
    const other = join(folder, 'other.db');
    const db = new DatabaseSync(other);
    db.exec('CREATE TABLE people (name)');
    db.close();
    await assert.rejects(openStore(`sqlite:${other}`), /other\.db cannot be opened: it holds tables of something else/);

    const newer = join(folder, 'newer.db');
    await (await openStore(`sqlite:${newer}`)).close();
    const raised = new DatabaseSync(newer);
    raised.exec("UPDATE meta SET value = 99 WHERE key = 'version'");
    raised.close();
    await assert.rejects(
      openStore(`sqlite:${newer}`),
      /newer\.db cannot be opened: .* have version 99, this program knows \d+/,
    );

    await assert.rejects(openStore(`sqlite:${join(folder, 'nowhere', 'x.db')}`), /folder .* does not exist/);
  });

  it('a file that is no database, or a damaged one: the error names it and says what to do, and it stays as it is', async () => {
    const good = join(folder, 'good.db');
    await (await openStore(`sqlite:${good}`)).close();
    const bytes = readFileSync(good);
    const contents: [string, Buffer, RegExp][] = [
      [
        'text',
        Buffer.from('this is no database, but it is long enough to be looked at'.repeat(20)),
        /is no SQLite database; choose another file, or/,
      ],
      ['short', Buffer.from('abc'), /is no SQLite database/],
      ['cut', bytes.subarray(0, 5_000), /is damaged \(database disk image is malformed\);/],
      ['torn', Buffer.from(bytes).fill(0xff, 4_096, 12_288), /is damaged/],
    ];
    for (const [name, content, message] of contents) {
      const file = join(folder, `${name}.db`);
      writeFileSync(file, content);
      const url = `sqlite:${file}`;
      for (const use of [() => openStore(url), () => backup(url, join(folder, 'copy'))]) {
        await assert.rejects(use, (error: Error) => {
          assert.match(error.message, message);
          assert.ok(error.message.includes(file), error.message);
          assert.match(error.message, /move it away and put a backup in its place \(kindred restore\)$/);
          assert.doesNotMatch(error.message, /\n/);
          return true;
        });
      }
      assert.deepEqual(readFileSync(file), content);
    }
  });

  it('refuses a SQLite that can damage a database', () => {
    assert.throws(() => checkSqlite('3.51.2'), /SQLite 3\.51\.2 can damage/);
    assert.throws(() => checkSqlite('3.50.9'), /can damage/);
    for (const version of ['3.51.3', '3.52.0', '4.0']) checkSqlite(version);
  });

  it('leaves nothing but the database and its lock after it was closed', async () => {
    const file = join(folder, 'closed.db');
    const store = await openStore(`sqlite:${file}`);
    const model = await store.modelNumber('g', 'K');
    await store.commit([{ type: 'create', model, name: 'a', bytes: Buffer.from('kept') }], 1);
    await store.close();
    assert.ok(readFileSync(file).includes('kept'), 'the write-ahead log was moved into the file');
    assert.throws(() => readFileSync(`${file}-wal`), { code: 'ENOENT' });
  });
});

/** Runs SQL beside the store, by what it is called on each database. */
async function directly(
  kind: TestAdapter['kind'],
  url: string,
  sql: Record<TestAdapter['kind'], string>,
): Promise<void> {
  if (kind === 'sqlite') {
    const db = new DatabaseSync(url.slice('sqlite:'.length));
    db.exec(sql.sqlite);
    db.close();
    return;
  }
  const server = await (kind === 'postgres' ? postgresServer() : mariadbServer());
  for (const one of sql[kind].split(';')) await server.query(one, new URL(url).pathname.slice(1));
}

for (const adapter of databaseAdapters()) {
  it(`tables of version 1 are brought to the newest, also when that was interrupted, on ${adapter.name}`, async () => {
    const database = await adapter.create();
    try {
      const store = await database.open();
      const model = await store.modelNumber('g', 'K');
      await store.commit([{ type: 'create', model, name: 'a', bytes: Buffer.from('kept') }], 1);
      await store.close();
      const back = 'DELETE FROM kindred_version WHERE version > 1';
      for (const drop of [true, false]) {
        if (!drop && adapter.kind !== 'mariadb') continue;
        await directly(adapter.kind, database.url, {
          sqlite:
            "DROP INDEX changes_by_model; CREATE TABLE claims (hash BLOB); ALTER TABLE models DROP COLUMN generation; ALTER TABLE models DROP COLUMN contract; ALTER TABLE models DROP COLUMN storage_version; UPDATE meta SET value = 1 WHERE key = 'version'",
          postgres: `DROP INDEX kindred_changes_by_model; DROP TABLE kindred_replicas, kindred_files, kindred_file_parts; ALTER TABLE kindred_meta DROP COLUMN questions; ALTER TABLE kindred_models DROP COLUMN generation, DROP COLUMN contract, DROP COLUMN storage_version; ${back}`,
          mariadb: `${drop ? 'DROP INDEX kindred_changes_by_model ON kindred_changes; ' : ''}${back}`,
        });
        const again = await database.open();
        assert.equal((await again.changes(0, 10, { model })).length, 1);
        await again.close();
      }
    } finally {
      await database.drop();
    }
  });
}

describe('restore', () => {
  it('refuses files that are no backup, missing files, and places it cannot restore into', async () => {
    const text = join(folder, 'text');
    writeFileSync(text, 'no database'.repeat(200));
    await assert.rejects(restore(text, `sqlite:${join(folder, 'r.db')}`), /is no backup of this service/);
    await assert.rejects(restore(join(folder, 'gone'), `sqlite:${join(folder, 'r.db')}`), /there is no backup/);
    await assert.rejects(restore(text, 'postgres://x/y'), /only a SQLite file can be restored here/);
    await assert.rejects(restore(text, 'sqlite::memory:'), /nothing to restore into/);
  });

  it('afterRestore moves the revision of a database that was put back by other means', async () => {
    const url = `sqlite:${join(folder, 'back.db')}`;
    await (await openStore(url)).close();
    await assert.rejects(afterRestore(url), /holds nothing of this service/);
    const used = await openStore(url);
    await used.modelNumber('g', 'K');
    await used.close();
    const revision = await afterRestore(url);
    const store = await openStore(url);
    assert.equal(await store.revision(), revision);
    await store.close();
  });
});
