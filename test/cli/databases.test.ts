import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, test } from 'node:test';
import { createService } from 'kindred';
import { City } from '../../examples/atlas/city.ts';
import { Country } from '../../examples/atlas/country.ts';
import { cities, countries } from '../../examples/atlas/data.ts';
import { kindred } from './command.ts';

const folder = mkdtempSync(join(tmpdir(), 'kindred-databases-'));
const atlas = join(import.meta.dirname, '../../examples/atlas');
const file = join(folder, 'a.db');
const database = `sqlite:${file}`;
after(() => rmSync(folder, { recursive: true }));

async function opened<R>(
  url: string,
  use: (service: Awaited<ReturnType<typeof createService>>, url: string) => Promise<R>,
): Promise<R> {
  const service = await createService({ database: url, plugins: [atlas], port: 0, auth: false });
  try {
    return await use(service, (await service.start()).url);
  } finally {
    await service.stop();
  }
}

before(() =>
  opened(database, async ({ client }) => {
    for (const country of countries()) await client.create(Country, country);
    for (const city of cities(['MC'])) await client.create(City, city);
  }),
);

test('command-line: backup copies a SQLite database while a service writes to it, restore puts it back, revisions go on beyond', async () => {
  const copy = join(folder, 'backup.db');
  const before = await opened(database, async ({ client }, url) => {
    const made = await kindred(['backup', '-o', copy, '--database', database]);
    assert.equal(made.code, 0, made.stderr);
    const taken = await kindred(['backup', '-o', copy], { env: { KINDRED_DATABASE: database } });
    assert.equal(taken.code, 1);
    assert.match(taken.stderr, /backup\.db is there already/);
    await client.create(City, [...cities(['AD'])][0]!);
    const answer = await fetch(`${url}/apis/atlas.example.com/v1alpha1/cities`);
    return Number(answer.headers.get('kindred-revision'));
  });
  const target = `sqlite:${join(folder, 'restored.db')}`;
  const restored = await kindred(['restore', copy, '--database', target]);
  assert.equal(restored.code, 0, restored.stderr);
  const db = new DatabaseSync(copy, { readOnly: true });
  const { count } = db.prepare('SELECT count(*) AS count FROM objects').get() as { count: number };
  db.close();
  assert.match(restored.stdout, new RegExp(`restored\\.db holds ${count} objects and goes on after revision \\d+\n$`));
  assert.equal((await kindred(['restore', copy, '--database', target])).code, 1);
  assert.equal((await kindred(['restore', join(folder, 'nothing.db'), '--database', `sqlite:${folder}/x.db`])).code, 1);
  await opened(target, async ({ client }, url) => {
    assert.deepEqual([await client.count(Country), await client.count(City)], [250, 6]);
    const answer = await fetch(`${url}/apis/atlas.example.com/v1alpha1/cities`);
    assert.ok(Number(answer.headers.get('kindred-revision')) > before);
  });
});

test('command-line: a backup that lost its end is not restored', async () => {
  const file = join(folder, 'short.db');
  assert.equal((await kindred(['backup', '-o', file, '--database', database])).code, 0);
  truncateSync(file, Math.floor(statSync(file).size / 4096 / 2) * 4096);
  const target = join(folder, 'short-restored.db');
  const { code, stderr } = await kindred(['restore', file, '--database', `sqlite:${target}`]);
  assert.equal(code, 1);
  assert.match(stderr, /^kindred: .*short\.db is (damaged|no backup of this service): .*\n$/);
  assert.equal(existsSync(target), false);
});

test('command-line: a backup that is damaged anywhere is not restored', async () => {
  const file = join(folder, 'broken.db');
  assert.equal((await kindred(['backup', '-o', file, '--database', database])).code, 0);
  const db = new DatabaseSync(file);
  const { rootpage } = db.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'changes'").get() as {
    rootpage: number;
  };
  const { page_size: size } = db.prepare('PRAGMA page_size').get() as { page_size: number };
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  db.close();
  const bytes = readFileSync(file);
  bytes.fill(0, (rootpage - 1) * size, rootpage * size);
  writeFileSync(file, bytes);
  const target = join(folder, 'broken-restored.db');
  const { code, stderr } = await kindred(['restore', file, '--database', `sqlite:${target}`]);
  assert.equal(code, 1);
  assert.match(stderr, /^kindred: .*broken\.db is damaged: .*\n$/);
  assert.equal(existsSync(target), false);
});

test('command-line: check finds nothing in a sound database, and changes nothing', async () => {
  const { code, stdout, stderr } = await kindred(['check', '--database', database, '--plugin', atlas]);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^KIND +GROUP +OBJECTS +PROBLEMS\n/);
  assert.match(stdout, /^Country +atlas\.example\.com +250 +0$/m);
  const unknown = await kindred(['check', '--database', database]);
  assert.match(unknown.stdout, /^Country +atlas\.example\.com +250 +no model$/m);
  const missing = await kindred(['check', '--database', `sqlite:${join(folder, 'missing.db')}`]);
  assert.deepEqual([missing.code, /there is no database .*missing\.db\n$/.test(missing.stderr)], [1, true]);
});

test('command-line: check names damaged objects, invalid ones, and unique values that do not fit', async () => {
  const damaged = join(folder, 'damaged.db');
  assert.equal((await kindred(['backup', '-o', damaged, '--database', database])).code, 0);
  const db = new DatabaseSync(damaged);
  const tables = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all() as { name: string }[];
  const objects = tables.find(
    ({ name }) =>
      columns(db, name).includes('bytes') && columns(db, name).includes('name') && !columns(db, name).includes('type'),
  )!.name;
  const edit = (name: string, change: (text: string) => string) => {
    const { bytes } = db.prepare(`SELECT bytes FROM ${objects} WHERE name = ?`).get(name) as { bytes: Uint8Array };
    db.prepare(`UPDATE ${objects} SET bytes = ? WHERE name = ?`).run(
      Buffer.from(change(Buffer.from(bytes).toString())),
      name,
    );
  };
  edit('fr', (text) => text.slice(0, 20));
  edit('de', (text) => text.replace('"region":"Europe"', '"region":"Atlantis"'));
  edit('mc', (text) => text.replace('"code":"MC"', '"code":"MX"'));
  db.close();
  const { code, stdout } = await kindred(['check', '--database', `sqlite:${damaged}`, '--plugin', atlas, '-o', 'json']);
  assert.equal(code, 1);
  const { problems } = JSON.parse(stdout) as { problems: { name: string; reason: string }[] };
  const found = problems.map(({ name, reason }) => `${name} ${reason}`).sort();
  const expected = [
    /^de \/spec\/region must be /,
    /^fr is not valid JSON$/,
    /^mc shares the value "MX"/,
    /^mx shares the value "MX"/,
  ];
  for (const pattern of expected)
    assert.ok(
      found.some((one) => pattern.test(one)),
      `${pattern} in ${found.join('; ')}`,
    );
});

test('command-line: migrate moves everything to another database and compares both', async () => {
  const target = `sqlite:${join(folder, 'moved.db')}`;
  const moved = await kindred(['migrate', '--from', database, '--to', target]);
  assert.equal(moved.code, 0, moved.stderr);
  assert.match(moved.stdout, /^\d+ objects, \d+ changes, revision \d+, SHA-256 [0-9a-f]{64}\n$/);
  await opened(target, async ({ client }) => assert.equal(await client.count(Country), 250));
});

const wrongUrls: { args: string[]; message: RegExp }[] = [
  {
    args: ['migrate', '--from', database, '--to', 'mongodb://u:secret@x'],
    message: /^kindred: --to needs .*, not mongodb:\/\/\n$/,
  },
  {
    args: ['migrate', '--from', './x.db', '--to', database],
    message: /^kindred: --from needs .* write sqlite:\.\/x\.db\n$/,
  },
  { args: ['check', '--database', './x.db'], message: /^kindred: --database needs .* write sqlite:\.\/x\.db\n$/ },
  { args: ['backup', '--database', 'x.db', '-o', join(folder, 'y.db')], message: /^kindred: --database needs .*\n$/ },
  { args: ['restore', 'y.db', '--database', 'x.db'], message: /^kindred: --database needs .*\n$/ },
  {
    args: ['check', '--database', database, '--plugin', './nope'],
    message: /^kindred: There is no plugin package "\.\/nope".*\n$/,
  },
];
for (const { args, message } of wrongUrls) {
  test(`command-line: a database URL or a plugin that is none is wrong use, told in one line - ${args.join(' ')}`, async () => {
    const { code, stderr } = await kindred(args);
    assert.equal(code, 2);
    assert.match(stderr, message);
  });
}

test('command-line: no command prints the password of a database', async () => {
  const url = 'postgres://me:s@cret@127.0.0.1:1/x';
  const commands: [string, ...string[]][] = [
    ['check', '--database', url],
    ['migrate', '--from', url, '--to', database],
    ['restore', '--after', '--database', url],
    ['backup', '--database', url, '-o', join(folder, 'y.db')],
  ];
  for (const args of commands) {
    const { code, stdout, stderr } = await kindred(args);
    assert.equal(code, 1);
    assert.doesNotMatch(stdout + stderr, /cret/, args[0]);
  }
});

test('command-line: a backup is refused before anything is said to be copied', async () => {
  const copy = join(folder, 'taken.db');
  writeFileSync(copy, '');
  const { code, stderr } = await kindred(['backup', '--database', database, '-o', copy]);
  assert.equal(code, 1);
  assert.match(stderr, /^kindred: \S+taken\.db is there already; move it away first\n$/);
});

test('command-line: restore leaves the backup as it is, with nothing beside it', async () => {
  const place = mkdtempSync(join(folder, 'beside-'));
  const copy = join(place, 'backup.db');
  assert.equal((await kindred(['backup', '--database', database, '-o', copy])).code, 0);
  const before = readFileSync(copy);
  const restored = await kindred(['restore', copy, '--database', `sqlite:${join(folder, 'beside.db')}`]);
  assert.equal(restored.code, 0, restored.stderr);
  assert.deepEqual(readdirSync(place), ['backup.db']);
  assert.ok(readFileSync(copy).equals(before));
});

test('command-line: check knows plugins whose TypeScript is more than types', async () => {
  const plugin = join(folder, 'classes');
  mkdirSync(plugin);
  writeFileSync(
    join(plugin, 'package.json'),
    JSON.stringify({ name: 'classes', version: '1.0.0', type: 'module', main: 'plugin.ts' }),
  );
  writeFileSync(
    join(plugin, 'plugin.ts'),
    `import { definePlugin } from 'kindred';
enum Level { Low = 'LOW' }
export default definePlugin({ start({ logger }) { logger.debug(Level.Low); } });
`,
  );
  // As it is installed, without what runs the sources of tests.
  const main = join(import.meta.dirname, '../../src/cli/main.ts');
  const check = (...more: string[]) =>
    spawnSync(process.execPath, [main, 'check', '--database', database, '--plugin', plugin, ...more], {
      encoding: 'utf8',
    });
  const plain = check();
  assert.equal(plain.status, 1);
  assert.match(plain.stderr, /^kindred: the plugin classes cannot be started: .*--dev/);
  const transformed = check('--dev');
  assert.equal(transformed.status, 0, transformed.stderr);
});

function columns(db: DatabaseSync, table: string): string[] {
  return (db.prepare(`SELECT name FROM pragma_table_info(?)`).all(table) as { name: string }[]).map(({ name }) => name);
}
