import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { it } from 'node:test';
import { createService } from 'kindred';
import pino from 'pino';
import { kindred } from '../cli/command.ts';
import { ItemModel, itemsPath } from '../histories/item.ts';
import type { DatabaseServer } from '../servers.ts';
import { mariadbProgram, mariadbServer, postgresServer, selectedDatabases } from '../servers.ts';

const dumpProgram = ['/usr/bin/mariadb-dump', '/usr/local/bin/mariadb-dump', '/opt/homebrew/bin/mariadb-dump'].find(
  existsSync,
);
const logger = pino({ level: 'silent' });

interface Running {
  readonly url: string;
  stop(): Promise<void>;
}

async function serve(database: string): Promise<Running> {
  const service = await createService({ database, port: 0, auth: false, logger });
  service.schemeManager.register(ItemModel);
  const { url } = await service.start();
  return { url, stop: () => service.stop() };
}

/** @returns the revision of the write */
async function create({ url }: Running, name: string): Promise<number> {
  const body = JSON.stringify({ metadata: { name }, spec: { history: 'restore', value: name, slug: name } });
  const response = await fetch(url + itemsPath, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  assert.equal(response.status, 201, await response.text());
  return Number(response.headers.get('kindred-revision'));
}

/** What the guide says: the database is put back by its own tools, `restore --after` is run once, the service starts. */
async function checkRestored(database: string, backedUp: readonly string[], newestSeen: number): Promise<void> {
  const { code, stdout, stderr } = await kindred(['restore', '--after', '--database', database]);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /goes on after revision \d+\n$/);
  assert.ok(!stdout.includes('test:test'), 'the password is not shown');
  const restored = await serve(database);
  try {
    for (const name of backedUp) assert.equal((await fetch(`${restored.url}${itemsPath}/${name}`)).status, 200, name);
    const old = await fetch(`${restored.url}${itemsPath}?watch=true&since=${newestSeen}`);
    assert.equal(old.status, 410);
    assert.equal(((await old.json()) as { code: string }).code, 'Expired');
    assert.ok((await create(restored, 'afterwards')) > newestSeen);
    const taken = await fetch(restored.url + itemsPath, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ metadata: { name: 'other' }, spec: { history: 'x', value: 'x', slug: backedUp[0] } }),
    });
    assert.equal(taken.status, 409);
  } finally {
    await restored.stop();
  }
}

const isSelected = (kind: 'postgres' | 'mariadb'): boolean => selectedDatabases().includes(kind);

it('command-line: PostgreSQL put back by its own means and restore --after: everything is there, no revision is used again', {
  skip: isSelected('postgres') ? false : 'PostgreSQL is not among the databases of this run',
}, async () => {
  const server = await postgresServer();
  await server.query('CREATE DATABASE live');
  let service = await serve(server.url('live'));
  await create(service, 'one');
  await create(service, 'two');
  await service.stop();
  await server.query('CREATE DATABASE copy TEMPLATE live');
  service = await serve(server.url('live'));
  const newest = await create(service, 'lost-with-the-server');
  await service.stop();
  await checkRestored(server.url('copy'), ['one', 'two'], newest);
});

it('command-line: MariaDB dumped while the service writes, put back, and restore --after', {
  skip: isSelected('mariadb') && mariadbProgram() && dumpProgram ? false : 'the programs of MariaDB are not here',
}, async () => {
  const server = await mariadbServer();
  await server.query('CREATE DATABASE live');
  const service = await serve(server.url('live'));
  const before: string[] = [];
  let newest = 0;
  let going = true;
  for (let i = 0; i < 20; i++) {
    before.push(`before-${i}`);
    newest = await create(service, `before-${i}`);
  }
  const writing = (async () => {
    for (let i = 0; going; i++) newest = await create(service, `during-${i}`);
  })();
  const sql = await dump(server, 'live');
  going = false;
  await writing;
  await service.stop();
  await server.query('CREATE DATABASE copy');
  load(server, 'copy', sql);
  await checkRestored(server.url('copy'), before, newest);
});

it('command-line: restore --after is refused without a database of the service, and with a file', async () => {
  const both = await kindred(['restore', 'backup.db', '--after', '--database', 'sqlite::memory:']);
  assert.deepEqual([both.code, both.stderr.split('\n').length], [2, 2]);
  const neither = await kindred(['restore', '--database', 'sqlite::memory:']);
  assert.equal(neither.code, 2);
  const missing = await kindred(['restore', '--after', '--database', 'sqlite:./no-such-folder/no.db']);
  assert.equal(missing.code, 1);
  assert.match(missing.stderr, /^kindred: there is no database .*no\.db\n$/);
});

function connection(server: DatabaseServer): string[] {
  const { hostname, port, username, password } = new URL(server.url('x'));
  return [
    '--no-defaults',
    `--host=${hostname}`,
    `--port=${port}`,
    `--user=${username}`,
    `--password=${password}`,
    '--protocol=tcp',
  ];
}

/** In a process beside this one, so that the service goes on writing. */
async function dump(server: DatabaseServer, database: string): Promise<Buffer> {
  const child = spawn(dumpProgram!, [...connection(server), '--single-transaction', '--hex-blob', database], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const parts: Buffer[] = [];
  for await (const part of child.stdout) parts.push(part as Buffer);
  return Buffer.concat(parts);
}

function load(server: DatabaseServer, database: string, sql: Buffer): void {
  const program = dumpProgram!.replace(/-dump$/, '');
  const { status, stderr } = spawnSync(program, [...connection(server), database], { input: sql, encoding: 'utf8' });
  assert.equal(status, 0, stderr);
}
