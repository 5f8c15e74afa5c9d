/** `kindred mcp`, as an agent uses it: the SDK's own client starts the command and calls its tools. */
import assert from 'node:assert/strict';
import { join, resolve } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { defineModel, definePlugin, Type } from 'kindred';
import type { Harness } from 'kindred/testing';
import { startHarness } from 'kindred/testing';
import { differences } from '../../src/mcp/tools.ts';
import { fromSources } from '../sources.ts';

const root = resolve(import.meta.dirname, '../..');

const Book = defineModel({
  gvk: { group: 'library.example.com', version: 'v1', kind: 'Book', singular: 'book', plural: 'books' },
  spec: Type.Object({ title: Type.String({ minLength: 1 }), year: Type.Integer({ maximum: 2100 }) }),
  indexes: (index) => [
    index.single('spec.title', String, (book) => book.spec.title, { unique: true }),
    index.single('spec.year', Number, (book) => book.spec.year),
  ],
});
const books = 'books.library.example.com';
const library = definePlugin({ start: ({ schemeManager }) => void schemeManager.register(Book) });

describe('kindred mcp', () => {
  let harness: Harness;
  before(async () => {
    harness = await startHarness({ auth: {}, plugins: [{ name: 'library', plugin: library }] });
    for (const [name, title, year] of [
      ['emma', 'Emma', 1815],
      ['persuasion', 'Persuasion', 1817],
    ] as const)
      await harness.client.create(Book, { metadata: { name }, spec: { title, year } });
  });
  after(() => harness.stop());

  async function agent(token: string | undefined, ...flags: string[]) {
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [...fromSources, join(root, 'src/cli/main.ts'), 'mcp', '--server', harness.url, ...flags],
      env: { PATH: process.env.PATH!, ...(token !== undefined && { KINDRED_TOKEN: token }) },
      cwd: root,
    });
    const client = new Client({ name: 'test', version: '1.0.0' });
    await client.connect(transport);
    const call = async (name: string, input: Record<string, unknown> = {}) => {
      const { content, isError = false } = await client.callTool({ name, arguments: input });
      const [{ text }] = content as [{ text: string }];
      return { isError, text, value: text.startsWith('{') ? JSON.parse(text) : undefined };
    };
    return { client, call, [Symbol.asyncDispose]: () => client.close() };
  }

  it('describes the types, and answers queries with exact totals and plans', async () => {
    await using one = await agent(harness.token);
    assert.match(one.client.getInstructions()!, /propose_change/);
    const { value } = await one.call('list_types');
    const found = value.types.find(({ type }: { type: string }) => type === books);
    assert.deepEqual([found.kind, found.objects, found.verbs.includes('create')], ['Book', 2, true]);
    const described = (await one.call('describe_type', { type: books })).value;
    assert.equal(described.schema.properties.spec.properties.year.maximum, 2100);
    assert.ok(
      described.indexes.some(({ name, unique }: { name: string; unique: boolean }) => name === 'spec.title' && unique),
    );
    const query = { type: books, fieldSelector: 'spec.year>1815', sort: ['spec.year,desc'], size: 1 };
    const page = (await one.call('query_objects', query)).value;
    assert.deepEqual([page.total, page.items[0].metadata.name], [1, 'persuasion']);
    const plan = await one.call('query_objects', { ...query, explain: true });
    assert.ok(!plan.isError && !('items' in plan.value), plan.text);
    assert.equal((await one.call('get_object', { type: books, name: 'emma' })).value.spec.title, 'Emma');
  });

  it('tries a change without making it, and then makes it', async () => {
    await using one = await agent(harness.token);
    const change = { type: books, action: 'patch', name: 'emma', patch: { spec: { year: 1816 } }, version: 0 };
    const proposed = (await one.call('propose_change', change)).value;
    assert.deepEqual(
      proposed.changes.filter(({ pointer }: { pointer: string }) => pointer.startsWith('/spec')),
      [{ pointer: '/spec/year', before: 1815, after: 1816 }],
    );
    assert.equal((await harness.client.get(Book, 'emma')).spec.year, 1815);
    assert.equal((await one.call('write_object', change)).isError, false);
    assert.equal((await harness.client.get(Book, 'emma')).spec.year, 1816);
    const late = await one.call('write_object', change);
    assert.deepEqual([late.isError, late.value.code], [true, 'VersionConflict']);
    const create = {
      type: books,
      action: 'create',
      object: { metadata: { name: 'e2' }, spec: { title: 'Emma', year: 1 } },
    };
    assert.equal((await one.call('propose_change', create)).value.code, 'UniqueViolation');
    await one.call('write_object', { ...create, object: { metadata: { name: 'e2' }, spec: { title: 'E', year: 1 } } });
    const replace = {
      type: books,
      action: 'replace',
      name: 'e2',
      object: { metadata: { name: 'e2' }, spec: { title: 'F', year: 2 } },
    };
    assert.equal((await one.call('write_object', replace)).value.spec.title, 'F');
    for (const wrong of [{ action: 'update', name: 'e2' }, { name: 'e2' }, { action: 'delete' }]) {
      assert.equal((await one.call('write_object', { type: books, ...wrong })).isError, true);
    }
    const gone = (await one.call('propose_change', { type: books, action: 'delete', name: 'e2' })).value;
    assert.deepEqual([gone.before.spec.title, gone.after, gone.changes.length], ['F', undefined, 1]);
    assert.equal(
      (await one.call('write_object', { type: books, action: 'delete', name: 'e2', version: 9 })).isError,
      true,
    );
    assert.equal((await one.call('write_object', { type: books, action: 'delete', name: 'e2' })).isError, false);
    assert.equal(await harness.client.count(Book), 2);
  });

  it('tells every mistake with its place', async () => {
    await using one = await agent(harness.token);
    const { isError, value } = await one.call('propose_change', {
      type: books,
      action: 'create',
      object: { metadata: { name: 'x' }, spec: { title: '', year: 3000, pages: 1 } },
    });
    assert.equal(isError, true);
    assert.deepEqual(value.errors.map(({ pointer }: { pointer: string }) => pointer).sort(), [
      '/spec/pages',
      '/spec/title',
      '/spec/year',
    ]);
    assert.equal((await one.call('describe_type', { type: 'nothing.example.com' })).value.code, 'NotFound');
    assert.match((await one.call('drop_database')).text, /no tool "drop_database"/);
  });

  it('can do what the token can, and changes nothing with --read-only', async () => {
    await using nobody = await agent(undefined);
    assert.equal((await nobody.call('get_object', { type: books, name: 'emma' })).isError, true);
    await using reader = await agent(harness.token, '--read-only');
    const { tools } = await reader.client.listTools();
    assert.deepEqual(tools.map(({ name }) => name).sort(), [
      'describe_type',
      'get_object',
      'list_types',
      'propose_change',
      'query_objects',
    ]);
    assert.ok(tools.every(({ annotations }) => annotations?.readOnlyHint));
    assert.equal((await reader.call('write_object', { type: books, action: 'delete', name: 'emma' })).isError, true);
    assert.equal(await harness.client.count(Book), 2);
  });

  it('names what differs between two values by pointers', () => {
    assert.deepEqual(differences({ a: 1, 'b/c': { d: [1] } }, { 'b/c': { d: [2] }, e: null }), [
      { pointer: '/a', before: 1 },
      { pointer: '/b~1c/d', before: [1], after: [2] },
      { pointer: '/e', after: null },
    ]);
  });
});
