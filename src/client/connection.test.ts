import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage, Server } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { defineModel } from '../model/define.ts';
import type { KindredClient } from './client.ts';
import { createClient } from './client.ts';

const Thing = defineModel({
  gvk: { group: 'demo.example.com', version: 'v1', kind: 'Thing', singular: 'thing', plural: 'things' },
  spec: { type: 'object' },
});
const thing = {
  apiVersion: 'demo.example.com/v1',
  kind: 'Thing',
  metadata: { name: 'a', version: 0, creationTimestamp: '2026-01-01T00:00:00.000Z' },
  spec: {},
};

/** One service, and another address that redirects to it. */
let service: Server;
let other: Server;
let client: KindredClient;
let status: number;
const arrived: IncomingMessage[] = [];
const urlOf = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
before(async () => {
  service = createServer((request, response) => {
    arrived.push(request);
    response.setHeader('content-type', 'application/json').end(JSON.stringify(thing));
  }).listen(0, '127.0.0.1');
  other = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(status, { location: urlOf(service) + request.url }).end());
  }).listen(0, '127.0.0.1');
  await Promise.all([once(service, 'listening'), once(other, 'listening')]);
  client = createClient({ url: urlOf(other), token: 'secret' });
});
after(() => {
  service.close();
  other.close();
});

const writes: Record<string, () => Promise<unknown>> = {
  create: () => client.create(Thing, { metadata: { name: 'a' }, spec: {} }),
  update: () => client.update(Thing, thing),
  patch: () => client.patch(Thing, 'a', { spec: {} }),
  delete: () => client.delete(Thing, 'a'),
  import: async () => {
    for await (const result of client.import(Thing, [thing])) if (!result.ok) throw result.error;
  },
};
for (const [name, write] of Object.entries(writes)) {
  test(`api-description: a write follows no redirect - ${name}`, async () => {
    arrived.length = 0;
    for (status of [301, 302, 303, 307, 308]) {
      await assert.rejects(write, ({ message }: Error) => message.includes(`redirects a write to ${urlOf(service)}/`));
    }
    assert.equal(arrived.length, 0);
  });
}

test('api-description: a read follows a redirect, without the token', async () => {
  arrived.length = 0;
  status = 307;
  assert.equal((await client.get(Thing, 'a')).metadata.name, 'a');
  assert.deepEqual(
    arrived.map(({ headers }) => headers.authorization),
    [undefined],
  );
});
