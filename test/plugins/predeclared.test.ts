/** Pre-declared objects in a running service. */
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, it } from 'node:test';
import { definePlugin } from 'kindred';
import type { Harness } from 'kindred/testing';
import type { Book } from './kit.ts';
import {
  bookSource,
  books,
  cleanUp,
  folderOf,
  harnessOf,
  pluginOf,
  setEnabled,
  untilState,
  writeFiles,
} from './kit.ts';

const label = 'plugin.platform.run/plugin-name';
const keep = 'platform.run/do-not-overwrite';

const index = `import { definePlugin } from 'kindred';
import { Book } from './book.js';
export default definePlugin({
  start({ schemeManager, registerController, client }) {
    schemeManager.register(Book);
    registerController({
      setupWith: (builder) => builder.extension(Book).build(),
      async reconcile({ name }) {
        const book = await client.fetch(Book, name);
        if (!book?.metadata.deletionTimestamp || !book.metadata.finalizers?.includes('library.example.com/archive')) return;
        await client.update(Book, { ...book, metadata: { ...book.metadata, finalizers: [] } });
      },
    });
  },
});
`;

function library(files: Record<string, string>): string {
  return folderOf({
    'package.json': { name: 'library', version: '1.0.0', type: 'module', main: 'index.js' },
    'index.js': index,
    'book.js': bookSource,
    ...files,
  });
}

interface Declared {
  name: string;
  title?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  apiVersion?: string;
}

function yaml(...objects: Declared[]): string {
  return objects
    .map(({ name, title = 'T', apiVersion = 'apiVersion', ...metadata }) =>
      [
        `${apiVersion}: library.example.com/v1`,
        'kind: Book',
        `metadata: ${JSON.stringify({ name, ...metadata })}`,
        'spec:',
        `  title: ${title}`,
        '',
      ].join('\n'),
    )
    .join('---\n');
}

const booksIn = (version: string) => books.replace('v1', version);

async function bookOf(harness: Harness, name: string): Promise<Book | undefined> {
  const response = await harness.fetch(`${books}/${name}`);
  return response.status === 404 ? undefined : ((await response.json()) as Book);
}

async function change(harness: Harness, name: string, edit: (book: any) => void): Promise<void> {
  const book = await bookOf(harness, name);
  edit(book);
  const response = await harness.fetch(`${books}/${name}`, { method: 'PUT', json: book });
  assert.equal(response.status, 200, await response.text());
}

async function restartPlugin(harness: Harness): Promise<void> {
  await setEnabled(harness, 'library', false);
  await untilState(harness, 'library', 'STOPPED');
  await setEnabled(harness, 'library', true);
  await harness.until(async () => ['STARTED', 'FAILED'].includes((await pluginOf(harness, 'library')).status!.state));
}

const namesOf = async (harness: Harness) => {
  const { items } = (await (await harness.fetch(`${books}?sort=metadata.name,asc&size=100`)).json()) as {
    items: Book[];
  };
  return items.map(({ metadata }) => metadata.name);
};

describe('pre-declared objects', () => {
  afterEach(cleanUp);

  it('spec: Pre-declared objects - each declared object is created after the plugin starts, with the label of the plugin', async () => {
    const folder = library({
      'extensions/books.yaml': yaml({ name: 'emma', title: 'Emma' }, { name: 'persuasion' }),
      'src/main/resources/extensions/old.yml': yaml({ name: 'sanditon', apiVersion: 'groupVersion' }),
    });
    const harness = await harnessOf({ plugins: [folder] });
    assert.deepEqual(await namesOf(harness), ['emma', 'persuasion', 'sanditon']);
    const emma = (await bookOf(harness, 'emma'))!;
    assert.equal(emma.spec.title, 'Emma');
    assert.deepEqual(emma.metadata.labels, { [label]: 'library' });
    assert.equal(emma.metadata.version, 0);
  });

  it('plugins: `/v3/plugins` tells the version in which each declared object was written', async () => {
    const folder = library({
      'extensions/books.yaml': yaml({ name: 'emma', title: 'Emma' }, { name: 'kept', labels: { [keep]: 'true' } }),
    });
    const harness = await harnessOf({ persistent: true, plugins: [folder] });
    const written = async () => {
      const { objects } = (await (await harness.fetch('/v3/plugins/library')).json()) as {
        objects: { name: string; version?: number; generation?: number }[];
      };
      return objects.map(({ name, version, generation }) => [name, version, generation]);
    };
    assert.deepEqual(await written(), [
      ['emma', 0, 1],
      ['kept', 0, 1],
    ]);
    await change(harness, 'emma', (book) => {
      book.spec.title = 'Edited';
    });
    assert.deepEqual((await written())[0], ['emma', 0, 1]);
    await harness.restart();
    const { metadata } = (await bookOf(harness, 'emma'))!;
    assert.equal(metadata.version, 2);
    // What is left alone has not been written by this run.
    assert.deepEqual(await written(), [
      ['emma', 2, metadata.generation],
      ['kept', undefined, undefined],
    ]);
  });

  it('spec: Pre-declared objects - user edits are overwritten at each start; status, creationTimestamp and finalizers stay', async () => {
    const folder = library({
      'extensions/books.yaml': yaml({ name: 'emma', title: 'Emma', annotations: { 'library.example.com/shelf': '1' } }),
    });
    const harness = await harnessOf({ persistent: true, plugins: [folder] });
    const before = (await bookOf(harness, 'emma'))!;
    await change(harness, 'emma', (book) => {
      book.spec.title = 'Edited';
      book.spec.pages = 7;
      book.status = { phase: 'Read' };
      book.metadata.labels.mine = 'yes';
      book.metadata.annotations = {};
      book.metadata.finalizers = ['demo.example.com/hold'];
    });
    await harness.restart();
    const { spec, status, metadata } = (await bookOf(harness, 'emma'))!;
    assert.deepEqual(spec, { title: 'Emma' });
    assert.deepEqual(status, { phase: 'Read' });
    assert.deepEqual(metadata, {
      ...before.metadata,
      version: 2,
      generation: 3,
      finalizers: ['demo.example.com/hold'],
      labels: { [label]: 'library' },
      annotations: { 'library.example.com/shelf': '1' },
    });
    await harness.restart();
    assert.equal((await bookOf(harness, 'emma'))!.metadata.version, 2, 'a start that changes nothing writes nothing');
  });

  it('spec: Pre-declared objects - an object that a user made is updated and carries the label from then on', async () => {
    const folder = library({});
    const harness = await harnessOf({ plugins: [folder] });
    await harness.fetch(books, { method: 'POST', json: { metadata: { name: 'emma' }, spec: { title: 'Mine' } } });
    writeFiles(folder, { 'extensions/books.yaml': yaml({ name: 'emma', title: 'Emma' }) });
    await restartPlugin(harness);
    const emma = (await bookOf(harness, 'emma'))!;
    assert.deepEqual([emma.spec.title, emma.metadata.labels], ['Emma', { [label]: 'library' }]);
  });

  it('spec: Pre-declared objects - do-not-overwrite "true" on the stored object: neither overwritten at start nor removed at stop', async () => {
    const folder = library({ 'extensions/books.yaml': yaml({ name: 'emma', title: 'Emma' }, { name: 'other' }) });
    const harness = await harnessOf({ plugins: [folder] });
    // A client cannot change keys of the reserved prefix but for this one.
    await change(harness, 'emma', (book) => {
      book.spec.title = 'Kept';
      book.metadata.labels[keep] = 'true';
    });
    await restartPlugin(harness);
    assert.equal((await bookOf(harness, 'emma'))!.spec.title, 'Kept');
    await setEnabled(harness, 'library', false);
    await untilState(harness, 'library', 'STOPPED');
    writeFiles(folder, { 'extensions/books.yaml': '' });
    await setEnabled(harness, 'library', true);
    await untilState(harness, 'library', 'STARTED');
    assert.deepEqual(await namesOf(harness), ['emma']);
  });

  it('spec: Pre-declared objects - do-not-overwrite "true" on the declared object: created once, then left alone', async () => {
    const folder = library({
      'extensions/books.yaml': yaml({ name: 'emma', title: 'Emma', labels: { [keep]: 'true' } }),
    });
    const harness = await harnessOf({ plugins: [folder] });
    assert.equal((await bookOf(harness, 'emma'))!.metadata.labels![keep], 'true');
    await change(harness, 'emma', (book) => {
      book.spec.title = 'Kept';
      delete book.metadata.labels[keep];
    });
    await restartPlugin(harness);
    assert.equal((await bookOf(harness, 'emma'))!.spec.title, 'Kept');
  });

  const apply = async (harness: Harness, name: string, body: object, version = 'v1') => {
    const response = await harness.fetch(`${booksIn(version)}/${name}?fieldManager=ada&force=true`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/apply-patch+yaml' },
      json: { apiVersion: `library.example.com/${version}`, kind: 'Book', ...body },
    });
    assert.equal(response.status, 200, await response.text());
  };

  it('plugins: fields that a user applied to a pre-declared object stay, other edits are overwritten', async () => {
    const shelf = (n: number) => ({ 'library.example.com/shelf': `${n}` });
    const folder = library({ 'extensions/books.yaml': yaml({ name: 'emma', title: 'One', annotations: shelf(1) }) });
    const harness = await harnessOf({ persistent: true, plugins: [folder] });
    const exported = (await bookOf(harness, 'emma'))!.metadata.labels!;
    await apply(harness, 'emma', { metadata: { labels: exported }, spec: { title: 'Mine' } });
    await change(harness, 'emma', (book) => {
      book.spec.pages = 7;
      book.metadata.annotations = shelf(9);
    });
    writeFiles(folder, { 'extensions/books.yaml': yaml({ name: 'emma', title: 'Two', annotations: shelf(2) }) });
    await harness.restart();
    const { spec, metadata } = (await bookOf(harness, 'emma'))!;
    assert.deepEqual([spec, metadata.annotations], [{ title: 'Mine' }, shelf(2)]);
    const { managedFields = [] } = metadata;
    assert.deepEqual(managedFields.map(({ manager }) => manager).sort(), ['ada', 'plugin:library']);
    assert.equal(JSON.stringify(managedFields.find(({ manager }) => manager === 'ada')).includes('plugin-name'), false);
    await change(harness, 'emma', (book) => {
      book.spec.title = 'Edited';
    });
    await harness.restart();
    const back = (await bookOf(harness, 'emma'))!;
    assert.equal(back.spec.title, 'Two');
  });

  it('plugins: what a user applied goes when the declared object is invalid with it', async () => {
    const folder = library({ 'extensions/books.yaml': yaml({ name: 'emma', title: 'One' }) });
    const harness = await harnessOf({ persistent: true, plugins: [folder] });
    await apply(harness, 'emma', { spec: { pages: 3 } });
    const either = bookSource.replace(
      /spec: (Type\.Object\(.*\)),\n/,
      (_, one: string) =>
        `spec: { ...${one}, anyOf: [{ properties: { title: { const: 'One' } } }, { properties: { pages: { minimum: 9 } } }] },\n`,
    );
    assert.notEqual(either, bookSource);
    const next = { 'book.js': either, 'extensions/books.yaml': yaml({ name: 'emma', title: 'Two' }) };
    await harness.restart([library(next)]);
    assert.equal((await pluginOf(harness, 'library')).status!.state, 'STARTED');
    assert.deepEqual((await bookOf(harness, 'emma'))!.spec, { title: 'Two' });
  });

  it('plugins: do-not-overwrite counts with exactly the string "true"', async () => {
    const folder = library({
      'extensions/books.yaml': yaml({ name: 'emma', title: 'Emma', labels: { [keep]: 'yes' } }),
    });
    const harness = await harnessOf({ plugins: [folder] });
    await change(harness, 'emma', (book) => {
      book.spec.title = 'Edited';
    });
    await restartPlugin(harness);
    assert.equal((await bookOf(harness, 'emma'))!.spec.title, 'Emma');
    writeFiles(folder, {
      'extensions/books.yaml': yaml({ name: 'emma' }).replace('"emma"', `"emma","labels":{"${keep}":true}`),
    });
    await restartPlugin(harness);
    assert.match(
      (await pluginOf(harness, 'library')).status!.message!,
      /extensions\/books\.yaml:3: \/metadata\/labels\//,
    );
  });

  it('plugins: what an earlier version declared and this one does not is removed', async () => {
    const folder = library({ 'extensions/books.yaml': yaml({ name: 'emma' }, { name: 'persuasion' }) });
    const harness = await harnessOf({ persistent: true, plugins: [folder] });
    await harness.fetch(books, { method: 'POST', json: { metadata: { name: 'of-a-user' }, spec: { title: 'Mine' } } });
    writeFiles(folder, { 'extensions/books.yaml': yaml({ name: 'persuasion' }) });
    await harness.restart();
    assert.deepEqual(await namesOf(harness), ['of-a-user', 'persuasion']);
  });

  it('plugins: pre-declared objects are deleted when the plugin stops, and only then', async () => {
    const folder = library({ 'extensions/books.yaml': yaml({ name: 'emma' }) });
    const harness = await harnessOf({ persistent: true, plugins: [folder] });
    const revision = Number((await harness.fetch(`${books}/emma`)).headers.get('kindred-revision'));
    await harness.restart();
    assert.equal((await bookOf(harness, 'emma'))!.metadata.version, 0);
    await setEnabled(harness, 'library', false);
    await untilState(harness, 'library', 'STOPPED');
    await harness.restart([folder, { name: 'reader', plugin: definePlugin({ start() {} }) }]);
    await setEnabled(harness, 'library', true);
    await untilState(harness, 'library', 'STARTED');
    assert.ok(Number((await harness.fetch(`${books}/emma`)).headers.get('kindred-revision')) > revision);
    assert.equal((await bookOf(harness, 'emma'))!.metadata.version, 0, 'a new incarnation');
  });

  it('plugins: controllers get time to finish the finalizers of pre-declared objects when the plugin stops', async () => {
    const folder = library({
      'extensions/books.yaml': yaml({ name: 'emma', finalizers: ['library.example.com/archive'] }),
    });
    const harness = await harnessOf({ plugins: [folder] });
    await restartPlugin(harness);
    assert.equal((await bookOf(harness, 'emma'))!.metadata.version, 0, 'it was gone in between');
  });

  it('plugins: a name held by an object that is being deleted is declared again as soon as it is gone', async () => {
    const folder = library({
      'extensions/books.yaml': yaml({ name: 'emma', title: 'Emma', finalizers: ['demo.example.com/hold'] }),
    });
    const harness = await harnessOf({ pluginHost: { stopTimeout: 100 }, plugins: [folder] });
    await restartPlugin(harness);
    const held = (await bookOf(harness, 'emma'))!;
    assert.ok(held.metadata.deletionTimestamp);
    await change(harness, 'emma', (book) => {
      book.metadata.finalizers = [];
    });
    const fresh = await harness.until(() => bookOf(harness, 'emma'));
    assert.deepEqual([fresh.metadata.version, fresh.metadata.deletionTimestamp], [0, undefined]);
  });

  /** The same model with the hub v2, in which a title is in parts. */
  const secondSource = `import { defineModel, Type } from 'kindred';
const pages = Type.Optional(Type.Integer({ minimum: 1 }));
export const Book = defineModel({
  gvk: { group: 'library.example.com', version: 'v2', kind: 'Book', singular: 'book', plural: 'books' },
  spec: Type.Object({ name: Type.Object({ main: Type.String({ minLength: 4 }), sub: Type.Optional(Type.String()) }), pages }),
  versions: {
    v1: {
      spec: Type.Object({ title: Type.String({ minLength: 1 }), pages }),
      toHub: ({ title, ...rest }) => {
        if (title === 'Broken') throw new Error('no such title');
        const [main, sub] = title.split(': ');
        return { ...rest, name: sub === undefined ? { main } : { main, sub } };
      },
      fromHub: ({ name: { main, sub }, ...rest }) => ({ ...rest, title: sub === undefined ? main : \`\${main}: \${sub}\` }),
    },
  },
  indexes: (index) => [index.single('spec.name.main', String, (book) => book.spec.name.main)],
});
`;
  const specsOf = async (harness: Harness, name: string) =>
    Promise.all(
      ['v1', 'v2'].map(async (version) => {
        const response = await harness.fetch(`${booksIn(version)}/${name}`);
        return ((await response.json()) as Book).spec;
      }),
    );

  it('plugins: a document in another version than the hub declares an object of the model', async () => {
    const declared = yaml({ name: 'emma', title: '"Emma: A Novel"' }, { name: 'persuasion', title: 'Persuasion' });
    const folder = library({ 'book.js': secondSource, 'extensions/books.yaml': declared });
    const harness = await harnessOf({ persistent: true, plugins: [folder] });
    assert.deepEqual(await specsOf(harness, 'emma'), [
      { title: 'Emma: A Novel' },
      { name: { main: 'Emma', sub: 'A Novel' } },
    ]);
    assert.deepEqual(await namesOf(harness), ['emma', 'persuasion']);
    await harness.restart();
    assert.equal((await bookOf(harness, 'emma'))!.metadata.version, 0, 'a start that changes nothing writes nothing');
    const { objects } = (await (await harness.fetch('/v3/plugins/library')).json()) as { objects: object[] };
    assert.partialDeepStrictEqual(objects[0], { apiVersion: 'library.example.com/v1', name: 'emma', version: 0 });
    await change(harness, 'emma', (book) => {
      book.spec.title = 'Edited';
      book.metadata.labels[keep] = 'true';
    });
    await change(harness, 'persuasion', (book) => {
      book.spec.title = 'Edited';
    });
    await harness.restart();
    assert.equal((await bookOf(harness, 'persuasion'))!.spec.title, 'Persuasion');
    writeFiles(folder, { 'extensions/books.yaml': '' });
    await harness.restart();
    assert.deepEqual(await namesOf(harness), ['emma']);
  });

  it('plugins: a document in the version of an earlier plugin is applied as before after an upgrade; applied fields stay', async () => {
    const declared = { 'extensions/books.yaml': yaml({ name: 'emma', title: '"Emma: A Novel"' }, { name: 'kept' }) };
    const harness = await harnessOf({ persistent: true, plugins: [library(declared)] });
    const second = library({ ...declared, 'book.js': secondSource.replace('minLength: 4', 'minLength: 1') });
    await harness.restart([second]);
    assert.equal((await pluginOf(harness, 'library')).status!.state, 'STARTED');
    assert.equal((await bookOf(harness, 'emma'))!.metadata.version, 0);
    await apply(harness, 'emma', { spec: { name: { main: 'Mine' }, pages: 7 } }, 'v2');
    writeFiles(second, { 'extensions/books.yaml': yaml({ name: 'emma', title: '"Emma: A Tale"' }, { name: 'kept' }) });
    await harness.restart([second]);
    assert.deepEqual((await specsOf(harness, 'emma'))[1], { name: { main: 'Mine', sub: 'A Tale' }, pages: 7 });
    assert.deepEqual(await namesOf(harness), ['emma', 'kept']);
  });

  it('plugins: a document in another version than the hub waits until its name is free, and stays with the label of its own', async () => {
    const held = { name: 'emma', title: 'Emma', finalizers: ['demo.example.com/hold'] };
    const kept = { name: 'kept', title: 'Kept', labels: { [keep]: 'true' } };
    const folder = library({ 'book.js': secondSource, 'extensions/books.yaml': yaml(held, kept) });
    const harness = await harnessOf({ pluginHost: { stopTimeout: 100 }, plugins: [folder] });
    await change(harness, 'kept', (book) => {
      delete book.metadata.labels[keep];
    });
    await restartPlugin(harness);
    assert.equal((await bookOf(harness, 'kept'))!.metadata.version, 1, 'the same object');
    assert.ok((await bookOf(harness, 'emma'))!.metadata.deletionTimestamp);
    await change(harness, 'emma', (book) => {
      book.metadata.finalizers = [];
    });
    const fresh = await harness.until(() => bookOf(harness, 'emma'));
    assert.deepEqual([fresh.metadata.version, fresh.metadata.deletionTimestamp], [0, undefined]);
  });

  for (const { what, documents, message } of [
    {
      what: 'breaks its version',
      documents: yaml({ name: 'x', title: '7' }),
      message: /^extensions\/b\.yaml:5: \/spec\/title: /,
    },
    {
      what: 'cannot be converted',
      documents: yaml({ name: 'good', title: 'Good' }, { name: 'x', title: 'Broken' }),
      message: /^extensions\/b\.yaml:7: Book "x" cannot be converted from v1 to v2: no such title/,
    },
    {
      what: 'breaks the hub',
      documents: yaml({ name: 'x', title: 'Abc' }),
      message: /^extensions\/b\.yaml:5: \/spec\/name\/main: .* 4 /,
    },
    {
      what: 'is there in the hub too',
      documents: `${yaml({ name: 'x', title: 'Long' })}---\n${yaml({ name: 'x' }).replace('/v1', '/v2')}`,
      message: /^extensions\/b\.yaml:9: Book "x" is declared twice, first at extensions\/b\.yaml:1/,
    },
  ]) {
    it(`plugins: a document in another version than the hub that ${what} fails the start with file, line and reason`, async () => {
      const folder = library({ 'book.js': secondSource, 'extensions/b.yaml': documents });
      const harness = await harnessOf({ plugins: [folder] });
      assert.match((await pluginOf(harness, 'library')).status!.message!, message);
    });
  }

  const bad: { what: string; files: Record<string, string>; message: RegExp }[] = [
    {
      what: 'breaks its model',
      files: { 'b.yaml': yaml({ name: 'x', title: '""' }) },
      message: /^extensions\/b\.yaml:5: \/spec\/title: /,
    },
    {
      what: 'has an unknown member',
      files: { 'b.yaml': `${yaml({ name: 'x' })}  colour: red\n` },
      message: /^extensions\/b\.yaml:6: \/spec\/colour/,
    },
    {
      what: 'is of a model that is not registered',
      files: { 'b.yaml': yaml({ name: 'x' }).replace('Book', 'Scroll') },
      message: /^extensions\/b\.yaml:1: .*Scroll/,
    },
    {
      what: 'has a bad name',
      files: { 'b.yaml': yaml({ name: 'X' }) },
      message: /^extensions\/b\.yaml:3: \/metadata\/name/,
    },
    {
      what: 'has a label key without a prefix',
      files: { 'b.yaml': yaml({ name: 'x', labels: { shelf: '1' } }) },
      message: /^extensions\/b\.yaml:3: \/metadata\/labels\/shelf/,
    },
    {
      what: 'has a label key of the reserved prefix',
      files: { 'b.yaml': yaml({ name: 'x', labels: { 'a.platform.run/b': '1' } }) },
      message: /^extensions\/b\.yaml:3: \/metadata\/labels\/a\.platform\.run~1b/,
    },
    {
      what: 'has an annotation key of the reserved prefix',
      files: { 'b.yaml': yaml({ name: 'x', annotations: { 'platform.run/b': '1' } }) },
      message: /^extensions\/b\.yaml:3: \/metadata\/annotations\/platform\.run~1b/,
    },
    {
      what: 'carries the name of another plugin',
      files: { 'b.yaml': yaml({ name: 'x', labels: { [label]: 'thief' } }) },
      message: /^extensions\/b\.yaml:3: \/metadata\/labels\/plugin\.platform\.run~1plugin-name/,
    },
    {
      what: 'is declared by another plugin too',
      files: { 'b.yaml': yaml({ name: 'shared' }) },
      message: /^extensions\/b\.yaml:3: Book "shared" belongs to the plugin "other"/,
    },
    {
      what: 'breaks its model in a later file',
      files: { 'a.yaml': yaml({ name: 'good', title: 'Changed' }), 'z.yaml': yaml({ name: 'x', title: '7' }) },
      message: /^extensions\/z\.yaml:5: \/spec\/title/,
    },
  ];
  for (const { what, files, message } of bad) {
    it(`plugins: a document that ${what} fails the start with file, line and reason; the good ones are not half-applied`, async () => {
      const folder = library({ 'extensions/a.yaml': yaml({ name: 'good' }) });
      const other = folderOf({
        'package.json': {
          name: 'other',
          version: '1.0.0',
          type: 'module',
          main: 'index.js',
          kindred: { dependencies: { library: '*' } },
        },
        'index.js': "import { definePlugin } from 'kindred';\nexport default definePlugin({ start() {} });\n",
        'extensions/shared.yaml': yaml({ name: 'shared' }),
      });
      const harness = await harnessOf({ plugins: [folder, other], persistent: true });
      assert.deepEqual(await namesOf(harness), ['good', 'shared']);
      const version = (await bookOf(harness, 'good'))!.metadata.version;
      writeFiles(folder, Object.fromEntries(Object.entries(files).map(([file, text]) => [`extensions/${file}`, text])));
      await harness.restart();
      const { status } = await pluginOf(harness, 'library');
      assert.equal(status!.state, 'FAILED', JSON.stringify(status));
      assert.match(status!.message!, message);
      rmSync(join(folder, 'extensions'), { recursive: true });
      writeFiles(folder, { 'extensions/a.yaml': yaml({ name: 'good' }) });
      await harness.restart();
      assert.deepEqual(await namesOf(harness), ['good', 'shared']);
      assert.equal((await bookOf(harness, 'good'))!.metadata.version, version);
    });
  }

  it('plugins: what is refused only when it is written undoes what was written before it', async () => {
    const unique = bookSource.replace('(book) => book.spec.title)', '(book) => book.spec.title, { unique: true })');
    const folder = library({ 'book.js': unique, 'extensions/a.yaml': yaml({ name: 'first', title: 'One' }) });
    const harness = await harnessOf({ persistent: true, plugins: [folder] });
    await harness.fetch(books, { method: 'POST', json: { metadata: { name: 'of-a-user' }, spec: { title: 'Taken' } } });
    writeFiles(folder, {
      'extensions/a.yaml': yaml(
        { name: 'first', title: 'Changed' },
        { name: 'second', title: 'Two' },
        { name: 'third', title: 'Taken' },
      ),
    });
    await harness.restart();
    const { status } = await pluginOf(harness, 'library');
    assert.equal(status!.state, 'FAILED');
    assert.match(status!.message!, /^extensions\/a\.yaml:13: .*Taken/);
    writeFiles(folder, { 'extensions/a.yaml': yaml({ name: 'first', title: 'One' }) });
    await setEnabled(harness, 'library', false);
    await setEnabled(harness, 'library', true);
    await untilState(harness, 'library', 'STARTED');
    assert.deepEqual(await namesOf(harness), ['first', 'of-a-user']);
  });

  it('plugins: a plugin that was switched off in the middle of its stop has its objects removed at the next start', async () => {
    const folder = library({});
    const roles = folderOf({
      'package.json': {
        name: 'declarer',
        version: '1.0.0',
        type: 'module',
        main: 'index.js',
        kindred: { dependencies: { library: '*' } },
      },
      'index.js': "import { definePlugin } from 'kindred';\nexport default definePlugin({ start() {} });\n",
      'extensions/b.yaml': yaml({ name: 'left-over' }),
    });
    const harness = await harnessOf({ persistent: true, plugins: [folder, roles] });
    assert.deepEqual(await namesOf(harness), ['left-over']);
    // As after a kill: switched off, but nothing removed.
    await harness.restart([folder]);
    await setEnabled(harness, 'declarer', false);
    await harness.restart([folder, roles]);
    await harness.until(async () => (await namesOf(harness)).length === 0);
  });

  it('plugins: a document that the model of another plugin refuses by now is declared as before, but not with more mistakes', async () => {
    const modelWith = (minLength: number) =>
      folderOf({
        'package.json': { name: 'books', version: '1.0.0', type: 'module', main: 'index.js' },
        'index.js': `import { definePlugin } from 'kindred';
import { Book } from './book.js';
export default definePlugin({ start: ({ schemeManager }) => void schemeManager.register(Book) });
`,
        'book.js': bookSource
          .replace('minLength: 1', `minLength: ${minLength}`)
          .replace('defineModel({', "defineModel({ evolution: { onInvalid: 'degrade' },"),
      });
    const shelf = folderOf({
      'package.json': {
        name: 'shelf',
        version: '1.0.0',
        type: 'module',
        main: 'index.js',
        kindred: { dependencies: { books: '*' } },
      },
      'index.js': "import { definePlugin } from 'kindred';\nexport default definePlugin({ start() {} });\n",
      'extensions/b.yaml': yaml({ name: 'kept', title: 'Emma' }),
    });
    const harness = await harnessOf({ persistent: true, plugins: [modelWith(1), shelf] });
    await harness.restart([modelWith(9), shelf]);
    assert.equal((await pluginOf(harness, 'shelf')).status!.state, 'STARTED');
    writeFiles(shelf, { 'extensions/b.yaml': yaml({ name: 'kept', title: 'Lolly' }) });
    await harness.restart([modelWith(9), shelf]);
    assert.match((await pluginOf(harness, 'shelf')).status!.message!, /^extensions\/b\.yaml:\d+: \/spec\/title: /);
  });
});
