import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { connect } from 'node:net';
import { test } from 'node:test';
import { defineModel, Type } from 'kindred';
import { until } from '../../src/testing/until.ts';
import { expect, live } from './live.ts';

const Paper = defineModel({
  gvk: { group: 'library.example', version: 'v1', kind: 'Paper', singular: 'paper', plural: 'papers' },
  schema: Type.Object({ text: Type.String() }),
});
const papers = '/apis/library.example/v1/papers';

test('limits: who leaves large answers unread gets no more of them, and others do', async (t) => {
  const http = { answerBuffer: 32_000_000 };
  await using world = await live({ http }, (service) => service.schemeManager.register(Paper));
  for (let i = 0; i < 12; i++) {
    const body = { metadata: { name: `p${10 + i}` }, text: 'x'.repeat(1_000_000) };
    await expect(201, world.admin('POST', papers, body));
  }
  const ada = await world.person('ada', ['papers-library-example-view']);
  const bob = await world.person('bob', ['papers-library-example-view']);
  const sockets: Socket[] = [];
  const destroyAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  t.after(destroyAll);
  const leaveUnread = async () => {
    const socket = connect(Number(new URL(world.url).port), '127.0.0.1');
    sockets.push(socket);
    await once(socket, 'connect');
    socket.pause();
    socket.write(`GET ${papers}?size=12 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${ada.token}\r\n\r\n`);
  };
  const large = `${papers}?size=1`;
  await leaveUnread();
  // How much of an answer the kernel takes differs between machines: as many answers as are needed.
  for (let i = 0; (await ada.send('GET', large)).status !== 503; i++) {
    assert.ok(i < 20, 'ada has left 20 large answers unread');
    await leaveUnread();
  }
  await expect(200, bob.send('GET', large));
  await expect(200, ada.send('GET', '/apis'));
  destroyAll();
  await until(async () => (await ada.send('GET', large)).status === 200);
});
