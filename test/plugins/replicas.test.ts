/** Plugins and controllers with several replicas on one database. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Harness } from 'kindred/testing';
import type { TestDatabase } from '../servers.ts';
import { databaseAdapters } from '../servers.ts';
import { fromSources } from '../sources.ts';
import type { Book } from './kit.ts';
import { bookSource, books, cleanUp, folderOf, harnessOf, pluginOf, setEnabled, untilState } from './kit.ts';

/** Its controller writes into every book which replica reconciled it. */
const index = `import { definePlugin } from 'kindred';
import { Book } from './book.js';
export default definePlugin({
  start({ schemeManager, registerController, client, config }) {
    const me = config?.replica ?? String(process.pid);
    schemeManager.register(Book);
    registerController({
      setupWith: (builder) => builder.extension(Book).build(),
      async reconcile({ name }) {
        const book = await client.fetch(Book, name);
        if (book && !book.metadata.deletionTimestamp) await client.updateStatus(Book, { ...book, status: { phase: me } });
      },
    });
  },
});
`;

for (const adapter of databaseAdapters().filter(({ kind }) => kind !== 'sqlite')) {
  describe(`replicas on ${adapter.name}`, () => {
    let database: TestDatabase;
    let folder: string;
    before(async () => {
      database = await adapter.create();
      folder = folderOf({
        'package.json': { name: 'library', version: '1.0.0', type: 'module', main: 'index.js' },
        'index.js': index,
        'book.js': bookSource,
        'extensions/books.yaml':
          'apiVersion: library.example.com/v1\nkind: Book\nmetadata:\n  name: declared\nspec:\n  title: Declared\n',
      });
    });
    after(async () => {
      await cleanUp();
      await database.drop();
    });

    const replica = (name: string) =>
      harnessOf({ database: database.url, plugins: [folder], pluginConfig: { library: { replica: name } } });
    const add = async (harness: Harness, name: string) => {
      const response = await harness.fetch(books, {
        method: 'POST',
        json: { metadata: { name }, spec: { title: name } },
      });
      assert.equal(response.status, 201, await response.text());
    };
    const bookOf = async (harness: Harness, name: string) => {
      const response = await harness.fetch(`${books}/${name}`);
      return response.status === 200 ? ((await response.json()) as Book) : undefined;
    };
    const phaseOf = (harness: Harness, name: string) =>
      harness.until(async () => (await bookOf(harness, name))?.status?.phase, {
        timeout: 20_000,
        what: `${name} is reconciled`,
      });

    it('plugins: exactly one replica applies pre-declared objects; controllers: and runs a controller; a stop hands both over', async () => {
      const one = await replica('one');
      await phaseOf(one, 'declared');
      const response = await one.fetch(`${books}/declared`, {
        method: 'PATCH',
        headers: { 'content-type': 'application/merge-patch+json' },
        json: { spec: { title: 'Edited' } },
      });
      assert.equal(response.status, 200);
      const two = await replica('two');
      assert.equal(
        (await bookOf(two, 'declared'))!.spec.title,
        'Edited',
        'the start of a second replica is no start of the plugin',
      );
      assert.deepEqual((await pluginOf(two, 'library')).status, { state: 'STARTED' });
      for (let i = 0; i < 5; i += 1) await add(two, `book-${i}`);
      for (let i = 0; i < 5; i += 1) assert.equal(await phaseOf(two, `book-${i}`), 'one');

      await one.stop();
      await add(two, 'later');
      assert.equal(await phaseOf(two, 'later'), 'two');
      assert.equal((await bookOf(two, 'declared'))!.spec.title, 'Edited');
      assert.deepEqual((await pluginOf(two, 'library')).status, { state: 'STARTED' });

      const three = await replica('three');
      await setEnabled(three, 'library', false);
      await untilState(three, 'library', 'STOPPED');
      for (const harness of [two, three]) await harness.until(async () => (await harness.fetch(books)).status === 404);
      await setEnabled(two, 'library', true);
      await untilState(two, 'library', 'STARTED');
      for (const harness of [two, three]) {
        await harness.until(async () => (await harness.fetch(`${books}/declared`)).status === 200);
        assert.equal((await bookOf(harness, 'declared'))!.spec.title, 'Declared');
      }
      await two.stop();
      await three.stop();
    });

    it('controllers: when the replica that runs a controller is killed another takes over within 15 s', async () => {
      const child = spawn(
        process.execPath,
        [...fromSources, join(import.meta.dirname, 'replica-service.ts'), database.url, folder],
        {
          stdio: ['ignore', 'pipe', 'inherit'],
        },
      );
      const [line] = (await once(child.stdout, 'data')) as [Buffer];
      const url = String(line).trim();
      const survivor = await replica('survivor');
      await add(survivor, 'before');
      assert.equal(await phaseOf(survivor, 'before'), String(child.pid), url);
      child.kill('SIGKILL');
      await once(child, 'exit');
      const killed = performance.now();
      await add(survivor, 'after');
      assert.equal(await phaseOf(survivor, 'after'), 'survivor');
      assert.ok(performance.now() - killed < 15_000, `${Math.round(performance.now() - killed)} ms`);
    });
  });
}
