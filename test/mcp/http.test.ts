/** `/mcp`, as an agent uses it: the SDK's own client over streamable HTTP. */
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { defineModel, definePlugin, Type } from 'kindred';
import type { Harness } from 'kindred/testing';
import { startHarness, until } from 'kindred/testing';

const Book = defineModel({
  gvk: { group: 'library.example.com', version: 'v1', kind: 'Book', singular: 'book', plural: 'books' },
  spec: Type.Object({ title: Type.String({ minLength: 1 }), text: Type.Optional(Type.String()) }),
});
const books = 'books.library.example.com';
const library = definePlugin({ start: ({ schemeManager }) => void schemeManager.register(Book) });
const plugins = [{ name: 'library', plugin: library }];
const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1.0.0' } },
};
const listTools = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
const accept = 'application/json, text/event-stream';

async function agent(harness: Harness, token = harness.token, headers: Record<string, string> = {}) {
  const transport = new StreamableHTTPClientTransport(new URL('/mcp', harness.url), {
    requestInit: { headers: { ...(token !== undefined && { authorization: `Bearer ${token}` }), ...headers } },
  });
  const client = new Client({ name: 'test', version: '1.0.0' });
  await client.connect(transport as never);
  const call = async (name: string, input: Record<string, unknown> = {}) => {
    const { content, isError = false } = await client.callTool({ name, arguments: input });
    const [{ text }] = content as [{ text: string }];
    return { isError, text, value: text.startsWith('{') ? JSON.parse(text) : undefined };
  };
  return { client, transport, call, [Symbol.asyncDispose]: () => client.close() };
}

function post(harness: Harness, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return harness.fetch('/mcp', { method: 'POST', json: body, headers: { accept, ...headers } });
}

describe('/mcp', () => {
  let harness: Harness;
  before(async () => {
    harness = await startHarness({
      auth: {},
      plugins,
      mcp: { enabled: true, maxAnswerBytes: 20_000, maxCalls: 8 },
      cors: ['https://agents.example.com'],
    });
    await harness.client.create(Book, { metadata: { name: 'emma' }, spec: { title: 'Emma' } });
    await harness.client.create(Book, {
      metadata: { name: 'long' },
      spec: { title: 'Long', text: 'x'.repeat(30_000) },
    });
  });
  after(() => harness.stop());

  it('serves the tools without sessions, each call complete in itself', async () => {
    await using one = await agent(harness);
    assert.equal(one.transport.sessionId, undefined);
    assert.match(one.client.getInstructions()!, /propose_change/);
    const { tools } = await one.client.listTools();
    assert.equal(tools.length, 6);
    const { value } = await one.call('list_types');
    assert.equal(value.types.find(({ type }: { type: string }) => type === books).objects, 2);
    const change = { type: books, action: 'patch', name: 'emma', patch: { spec: { title: 'Emma.' } } };
    const proposed = (await one.call('propose_change', change)).value;
    assert.ok(proposed.changes.some(({ pointer }: { pointer: string }) => pointer === '/spec/title'));
    assert.equal((await harness.client.get(Book, 'emma')).spec.title, 'Emma');
    assert.equal((await one.call('write_object', change)).isError, false);
    assert.equal((await harness.client.get(Book, 'emma')).spec.title, 'Emma.');
    const wrong = await one.call('write_object', { ...change, patch: { spec: { title: '' } } });
    assert.deepEqual([wrong.isError, wrong.value.errors[0].pointer], [true, '/spec/title']);
  });

  it('asks for a token, and can do what the token can', async () => {
    const refused = await fetch(new URL('/mcp', harness.url), {
      method: 'POST',
      headers: { accept, 'content-type': 'application/json' },
      body: JSON.stringify(initialize),
    });
    assert.deepEqual([refused.status, refused.headers.get('www-authenticate')], [401, 'Bearer']);
    const path = '/api/v1alpha1';
    const made = (kind: string, json: object) => harness.fetch(`${path}/${kind}`, { method: 'POST', json });
    await made('users', { metadata: { name: 'ann' } });
    await made('roles', {
      metadata: { name: 'reader' },
      rules: [{ apiGroups: ['library.example.com'], resources: ['books'], verbs: ['get', 'list'] }],
    });
    await made('rolebindings', {
      metadata: { name: 'ann-reads' },
      subjects: [{ kind: 'User', name: 'ann' }],
      roleRef: { kind: 'Role', name: 'reader' },
    });
    const token = await made('personalaccesstokens', { metadata: { generateName: 'ann-' }, spec: { user: 'ann' } });
    await using ann = await agent(harness, ((await token.json()) as any).status.token);
    assert.equal((await ann.call('get_object', { type: books, name: 'emma' })).value.metadata.name, 'emma');
    assert.equal((await ann.call('list_types')).value.types.length, 1);
    const refusal = await ann.call('write_object', { type: books, action: 'delete', name: 'emma' });
    assert.deepEqual([refusal.isError, refusal.value.code], [true, 'Forbidden']);
    assert.match(refusal.value.detail, /ann/);
    const { entries } = (await (await harness.fetch('/v3/audit?identity=ann')).json()) as any;
    const entry = entries.find(({ verb }: { verb: string }) => verb === 'delete');
    assert.deepEqual([entry.name, entry.outcome, entry.origin], ['emma', 'refused', 'http']);
    assert.match(entry.address, /127\.0\.0\.1/);
  });

  it('lets web pages of allowed origins in, and no others', async () => {
    const statusFor = async (origin: string) => (await post(harness, initialize, { origin })).status;
    assert.equal(await statusFor('https://evil.example.com'), 403);
    assert.equal(await statusFor('null'), 403);
    assert.equal(await statusFor('https://agents.example.com'), 200);
    assert.equal(await statusFor(new URL(harness.url).origin), 200);
    const preflight = await harness.fetch('/mcp', {
      method: 'OPTIONS',
      headers: { origin: 'https://agents.example.com', 'access-control-request-method': 'POST' },
    });
    assert.match(preflight.headers.get('access-control-allow-headers')!, /Mcp-Protocol-Version/);
  });

  it('refuses what is no single message of the protocol', async () => {
    const cases: [unknown, Record<string, string>, number][] = [
      [[listTools, listTools], {}, 400],
      [{ hello: 1 }, {}, 400],
      [listTools, { 'content-type': 'text/plain' }, 415],
      [listTools, { accept: 'text/html' }, 406],
      [listTools, { 'mcp-protocol-version': '1999-01-01' }, 400],
      [{ ...listTools, params: { x: 'x'.repeat(1024 * 1024) } }, {}, 413],
    ];
    for (const [body, headers, status] of cases) {
      const answer = await post(harness, body, headers);
      assert.equal(answer.status, status, await answer.text());
    }
    for (const method of ['GET', 'DELETE', 'PUT']) {
      const answer = await harness.fetch('/mcp', { method });
      assert.deepEqual([method, answer.status, answer.headers.get('allow')], [method, 405, 'POST']);
    }
    const notified = await post(harness, { jsonrpc: '2.0', method: 'notifications/initialized' });
    assert.deepEqual([notified.status, await notified.text()], [202, '']);
  });

  it('gives a tool no more bytes than the limit', async () => {
    await using one = await agent(harness);
    const large = await one.call('get_object', { type: books, name: 'long' });
    assert.deepEqual([large.isError, large.value.code], [true, 'QueryLimit']);
    assert.match(large.value.detail, /20000 bytes/);
    const page = await one.call('query_objects', { type: books, fieldSelector: 'metadata.name=emma' });
    assert.equal(page.value.total, 1);
  });

  it('gives one caller a quarter of the calls under way, until they end', async () => {
    const underWay = async () =>
      Number(/^kindred_agent_calls (\d+)$/m.exec(await (await harness.fetch('/metrics')).text())?.[1]);
    const begun = [1, 2].map(() => {
      const headers = { authorization: `Bearer ${harness.token}`, accept, 'content-type': 'application/json' };
      const one = request(new URL('/mcp', harness.url), { method: 'POST', headers });
      one.on('error', () => {});
      one.write('{');
      return one;
    });
    await until(async () => (await underWay()) === 2);
    const refused = await post(harness, listTools);
    assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, '1']);
    for (const one of begun) one.destroy();
    await until(async () => (await underWay()) === 0);
    assert.equal((await post(harness, listTools)).status, 200);
  });
});

describe('/mcp, off and on', () => {
  it('is off unless it is switched on', async () => {
    const harness = await startHarness({ auth: {} });
    assert.equal((await post(harness, initialize)).status, 404);
    await harness.stop();
  });

  it('offers no tool that changes objects with readOnly, and works without authentication', async () => {
    const harness = await startHarness({ plugins, mcp: { enabled: true, readOnly: true } });
    await using one = await agent(harness);
    const names = (await one.client.listTools()).tools.map(({ name }) => name);
    assert.ok(names.includes('propose_change') && !names.includes('write_object'));
    const rebound = await post(harness, initialize, { origin: 'http://evil.example.com' });
    assert.equal(rebound.status, 403);
    await harness.stop();
  });
});
