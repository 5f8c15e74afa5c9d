import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { Server, Socket } from 'node:net';
import { describe, test } from 'node:test';
import { Connections } from './connections.ts';

/** Connections that come and go without a network; each is its address until it is closed. */
function connections(limits: { connections: number; connectionsPerAddress: number }) {
  const server = new EventEmitter() as unknown as Server;
  const warnings: [number, string | undefined][] = [];
  let time = 0;
  const all = new Connections(
    server,
    limits,
    () => time,
    (refused, address) => warnings.push([refused, address]),
  );
  const come = (remoteAddress: string | undefined): Socket & { readonly destroyed: boolean } => {
    const socket = Object.assign(new EventEmitter(), { remoteAddress, destroyed: false }) as unknown as Socket;
    socket.destroy = () => {
      Object.assign(socket, { destroyed: true });
      socket.emit('close');
      return socket;
    };
    server.emit('connection', socket);
    return socket;
  };
  const pass = (milliseconds: number) => {
    time += milliseconds;
  };
  return { all, come, pass, warnings };
}

describe('connections of one address', () => {
  test('are as many as allowed; one more is closed at once, until one of them goes', () => {
    const { all, come } = connections({ connections: 10, connectionsPerAddress: 2 });
    const addresses = ['192.0.2.1', '192.0.2.1', '192.0.2.1', '192.0.2.2'];
    const [first, second, third, other] = addresses.map((address) => come(address));
    assert.deepEqual(
      [first, second, third, other].map((socket) => socket!.destroyed),
      [false, false, true, false],
    );
    assert.deepEqual([all.open, all.refusals.counts], [3, { all: 0, address: 1 }]);
    first!.destroy();
    assert.equal(come('192.0.2.1').destroyed, false);
    assert.equal(come('192.0.2.1').destroyed, true);
    second!.destroy();
    assert.equal(come('::ffff:192.0.2.1').destroyed, false, 'an IPv4 address in IPv6 is the same');
  });

  test('are not counted on the own machine, nor without an address', () => {
    const { all, come } = connections({ connections: 100, connectionsPerAddress: 1 });
    for (const address of ['127.0.0.1', '127.8.9.1', '::1', '::ffff:127.0.0.1', undefined]) {
      for (let i = 0; i < 3; i++) assert.equal(come(address).destroyed, false, String(address));
    }
    assert.equal(all.open, 15);
  });
});

test('connections: a warning at once, then one for all of ten seconds, with the last address', () => {
  const { all, come, pass, warnings } = connections({ connections: 1, connectionsPerAddress: 0 });
  come('192.0.2.1');
  pass(9_999);
  come('192.0.2.2');
  come('127.0.0.1');
  come('192.0.2.3');
  pass(1);
  come('192.0.2.4');
  assert.deepEqual(warnings, [
    [1, '192.0.2.1'],
    [3, '192.0.2.4'],
  ]);
  assert.deepEqual([all.open, all.refusals.counts], [1, { all: 2, address: 2 }]);
});
