/** A lifecycle that holds together: finalizers in the hands of a controller, names used again, restarts in the middle. */
import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { definePlugin, Result } from 'kindred';
import type { Harness } from 'kindred/testing';
import { Book, books, cleanUp, harnessOf } from './kit.ts';

const finalizer = 'library.example.com/archive';

/** Archives a book before it is gone, in as many steps as it has pages. */
function archivist() {
  const archive = new Map<string, number>();
  let open = true;
  const plugin = definePlugin({
    start({ schemeManager, registerController, client }) {
      schemeManager.register(Book);
      registerController({
        setupWith: (builder) => builder.extension(Book).minDelay(1).build(),
        async reconcile({ name }) {
          const book = await client.fetch(Book, name);
          if (!book?.metadata.deletionTimestamp) return undefined;
          if (!open) return Result.requeue(5);
          const done = (archive.get(name) ?? 0) + 1;
          archive.set(name, done);
          if (done < (book.spec.pages ?? 1)) return Result.requeue();
          const finalizers = book.metadata.finalizers!.filter((one) => one !== finalizer);
          await client.update(Book, { ...book, metadata: { ...book.metadata, finalizers } });
          return undefined;
        },
      });
    },
  });
  return {
    plugins: [{ name: 'library', plugin }],
    archive,
    shut: (yes: boolean) => {
      open = !yes;
    },
  };
}

const create = (harness: Harness, name: string, pages: number) =>
  harness.client.create(Book, { metadata: { name, finalizers: [finalizer] }, spec: { title: name, pages } });
const gone = (harness: Harness, name: string) =>
  harness.until(async () => (await harness.fetch(`${books}/${name}`)).status === 404, { what: `${name} is gone` });

describe('deletion', () => {
  afterEach(cleanUp);

  it('spec: States and transitions - declared for deletion it stays readable; objects: gone when a controller removes the last finalizer', async () => {
    const { plugins, archive, shut } = archivist();
    const harness = await harnessOf({ plugins });
    shut(true);
    await create(harness, 'emma', 3);
    const deleted = await harness.fetch(`${books}/emma`, { method: 'DELETE' });
    assert.equal(deleted.status, 200);
    assert.equal((await harness.fetch(`${books}/emma`)).status, 200);
    const again = await harness.fetch(books, {
      method: 'POST',
      json: { metadata: { name: 'emma' }, spec: { title: 'E' } },
    });
    assert.equal(again.status, 409);
    shut(false);
    await gone(harness, 'emma');
    assert.equal(archive.get('emma'), 3);
  });

  it('objects: after it is gone the name is free, and the new object begins at version 0', async () => {
    const { plugins, archive } = archivist();
    const harness = await harnessOf({ plugins });
    for (let round = 1; round <= 3; round += 1) {
      const { metadata } = await create(harness, 'emma', 1);
      assert.equal(metadata.version, 0);
      await harness.client.delete(Book, 'emma');
      await gone(harness, 'emma');
      assert.equal(archive.get('emma'), round);
    }
  });

  it('objects: a restart in the middle of a deletion: it goes on afterwards', async () => {
    const { plugins, archive, shut } = archivist();
    const harness = await harnessOf({ persistent: true, plugins });
    shut(true);
    await create(harness, 'emma', 2);
    await harness.client.delete(Book, 'emma');
    await harness.restart([]);
    await harness.restart(plugins);
    assert.equal((await harness.fetch(`${books}/emma`)).status, 200);
    shut(false);
    await gone(harness, 'emma');
    assert.equal(archive.get('emma'), 2);
  });
});
