import assert from 'node:assert/strict';
import {
  chmodSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { ServiceOptions } from 'kindred';
import { createService } from 'kindred';
import { openStore } from '../../src/store/open.ts';
import { restore } from '../../src/store/sqlite/backup.ts';
import { kindred } from '../cli/command.ts';

const skip = process.platform === 'win32' ? 'Windows has no such modes' : false;
const root = mkdtempSync(join(tmpdir(), 'kindred-modes-'));
const umaskBefore = process.umask();
after(() => {
  process.umask(umaskBefore);
  rmSync(root, { recursive: true });
});

const modeOf = (file: string): string => (statSync(file).mode & 0o777).toString(8);

/** Every file of the folder with its mode. */
function modes(folder: string): Record<string, string> {
  return Object.fromEntries(readdirSync(folder).map((name) => [name, modeOf(join(folder, name))]));
}

/** All of these files are there, and each file that is there is for its owner alone. */
function assertPrivate(folder: string, ...files: readonly string[]): void {
  const found = modes(folder);
  for (const file of files) assert.ok(file in found, `${file} is not among ${Object.keys(found)}`);
  for (const [name, mode] of Object.entries(found)) assert.equal(mode, '600', name);
}

async function serving<T>(options: ServiceOptions, use: (server: string, token: string) => Promise<T>): Promise<T> {
  const service = await createService({ port: 0, ...options });
  try {
    const { url, administratorToken } = await service.start();
    return await use(url, administratorToken ?? '');
  } finally {
    await service.stop();
  }
}

async function run(...args: readonly string[]): Promise<void> {
  const { code, stderr } = await kindred(args);
  assert.equal(code, 0, stderr);
}

for (const umask of [0o022, 0o000]) {
  describe(`command-line: whatever the service and the command line write is for its owner alone, umask ${umask.toString(8).padStart(3, '0')}`, {
    skip,
  }, () => {
    const folder = join(root, String(umask));
    const at = (name: string): string => join(folder, name);
    before(() => {
      process.umask(umask);
      mkdirSync(folder);
    });
    const url = (name: string): string => `sqlite:${at(name)}`;

    it('the database and what is beside it, the audit log, an export, a backup while the service runs', async () => {
      await serving({ database: url('live.db'), auth: { audit: { file: at('audit.log') } } }, async (server, token) => {
        const remote = ['--server', server, '--token', token];
        writeFileSync(
          at('secret.yaml'),
          'apiVersion: v1alpha1\nkind: Secret\nmetadata: { name: s }\nstringData: { a: b }\n',
          {
            mode: 0o600,
          },
        );
        await run('apply', '-f', at('secret.yaml'), ...remote);
        await run('export', '--type', 'configmaps', '-o', at('export.ndjson'), ...remote);
        await run('backup', '--database', url('live.db'), '-o', at('backup.db'));
        assertPrivate(
          folder,
          ...['live.db', 'live.db-wal', 'live.db-shm', 'live.db-lock', 'audit.log', 'export.ndjson', 'backup.db'],
        );
      });
      assertPrivate(folder, 'live.db', 'live.db-lock');
    });

    it('an export that replaces a file that everybody could read', async () => {
      writeFileSync(at('open.ndjson'), '', { mode: 0o666 });
      chmodSync(at('open.ndjson'), 0o666);
      await serving({ database: url('live.db'), auth: false }, (server) =>
        run('export', '--type', 'configmaps', '-o', at('open.ndjson'), '--server', server),
      );
      assertPrivate(folder, 'open.ndjson');
    });

    it('a backup without a service, what is restored from one that everybody can read, and what is moved', async () => {
      await run('backup', '--database', url('live.db'), '-o', at('second.db'));
      assertPrivate(folder, 'second.db');
      chmodSync(at('second.db'), 0o644);
      await run('restore', at('second.db'), '--database', url('restored.db'));
      rmSync(at('second.db'));
      await run('migrate', '--from', url('restored.db'), '--to', url('moved.db'));
      assertPrivate(folder, 'restored.db', 'moved.db');
    });

    it('a copy of a database in memory', async () => {
      const store = await openStore('sqlite::memory:');
      await store.backup!(at('memory.db'));
      await store.close();
      assertPrivate(folder, 'memory.db');
    });
  });
}

describe('a database of an earlier version', { skip }, () => {
  const folder = join(root, 'earlier');
  before(() => mkdirSync(folder));

  async function opened(name: string, mode: number): Promise<{ warnings: string[]; mode: string }> {
    const file = join(folder, name);
    for (const suffix of ['', '-lock']) {
      closeSync(openSync(file + suffix, 'a'));
      chmodSync(file + suffix, mode);
    }
    const warnings: string[] = [];
    const store = await openStore(`sqlite:${file}`, { warn: (message) => warnings.push(message) });
    const model = await store.modelNumber('g', 'K');
    await store.commit([{ type: 'create', model, name: 'a', bytes: Buffer.from('x') }], 1);
    const found = new Set(Object.values(modes(folder)));
    await store.close();
    for (const left of readdirSync(folder)) rmSync(join(folder, left));
    return { warnings, mode: [...found].join() };
  }

  it('that everybody may read is taken from them, and the log says so; what a group may read stays', async () => {
    for (const mode of [0o644, 0o666, 0o604]) {
      const { warnings, mode: after } = await opened('open.db', mode);
      assert.equal(after, '600', mode.toString(8));
      assert.deepEqual(warnings, [
        `every user of this machine could read ${join(folder, 'open.db')}; now its owner alone can`,
      ]);
    }
    assert.deepEqual((await opened('closed.db', 0o600)).warnings, []);
    const group = await opened('group.db', 0o660);
    assert.deepEqual(group.warnings, []);
    assert.match(group.mode, /660/);
  });

  it('restore leaves nothing of its own for others, even when it fails', async () => {
    writeFileSync(join(folder, 'none.db'), 'no database');
    chmodSync(join(folder, 'none.db'), 0o644);
    await assert.rejects(restore(join(folder, 'none.db'), `sqlite:${join(folder, 'target.db')}`));
    assert.deepEqual(readdirSync(folder), ['none.db']);
  });
});
