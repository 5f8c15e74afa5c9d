import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import { describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import fc from 'fast-check';
import { LineSplitter, readBody } from './body.ts';

/**
 * What `readBody` gives of a request that comes in these packets: the body, or the code of the refusal.
 * @param late the body is asked for when the connection is gone
 */
async function bodyOf(
  packets: readonly string[],
  limit = 100_000,
  late = false,
): Promise<{ body: string; ended: boolean }> {
  const { promise: outcome, resolve } = Promise.withResolvers<{ body: string; ended: boolean }>();
  const server = createServer(async (request, response) => {
    if (late) await new Promise((gone) => request.once('close', gone));
    const ended = new Promise<boolean>((done) =>
      request.once('end', () => done(true)).once('close', () => done(false)),
    );
    readBody(request, { body: limit, requestTimeout: 1_000 }).then(
      async (body) => resolve({ body: body.toString(), ended: await Promise.race([ended, pause(500, false)]) }),
      ({ code }: { code: string }) => resolve({ body: code, ended: false }),
    );
    outcome.then(() => response.end());
  });
  server.on('clientError', (_error, socket) => socket.destroy());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const socket = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', noDelay: true });
  socket.on('error', () => {});
  for (const packet of packets) {
    if (packet === '') socket.destroy();
    else socket.write(packet);
    await pause(20);
  }
  const result = await outcome;
  socket.destroy();
  server.close();
  return result;
}

describe('api: a request body', () => {
  const head = (length: number) => `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${length}\r\n\r\n`;
  const chunked = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';
  const long = 'x'.repeat(90_000);
  const cases: { name: string; packets: string[]; limit?: number; body: string }[] = [
    { name: 'in the packet of the head', packets: [`${head(5)}hello`], body: 'hello' },
    { name: 'after the head', packets: [head(5), 'hello'], body: 'hello' },
    { name: 'in two packets', packets: [`${head(5)}he`, 'llo'], body: 'hello' },
    { name: 'none', packets: [head(0)], body: '' },
    { name: 'more than Node buffers', packets: [`${head(long.length)}${long}`], body: long },
    { name: 'in chunks', packets: [`${chunked}2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n`], body: 'hello' },
    { name: 'announced as too large', packets: [`${head(6)}hello!`], limit: 5, body: 'PayloadTooLarge' },
    { name: 'too large in chunks', packets: [`${chunked}6\r\nhello!\r\n`], limit: 5, body: 'PayloadTooLarge' },
    { name: 'broken off', packets: [`${head(5)}he`, ''], body: 'BadRequest' },
    { name: 'malformed in the packet of the head', packets: [`${chunked}2\r\nhe\r\nno size\r\n`], body: 'BadRequest' },
    { name: 'that never comes', packets: [`${head(5)}he`], body: 'RequestTimeout' },
  ];
  for (const { name, packets, limit, body } of cases) {
    test(name, async () => {
      const isRefused = /^[A-Z]/.test(body);
      assert.deepEqual(await bodyOf(packets, limit), { body, ended: !isRefused });
    });
  }

  test('asked for when the connection is gone', async () => {
    assert.deepEqual(await bodyOf([`${head(5)}he`, ''], undefined, true), { body: 'BadRequest', ended: false });
  });
});

function split(chunks: readonly string[], limit: number): (string | undefined)[] {
  const splitter = new LineSplitter(limit);
  return [...chunks.flatMap((chunk) => splitter.push(Buffer.from(chunk))), ...splitter.end()].map((line) =>
    line?.toString(),
  );
}

describe('api: one object a line, the body limit for each line', () => {
  const cases: { name: string; chunks: string[]; lines: (string | undefined)[] }[] = [
    { name: 'lines in one chunk', chunks: ['a\nb\n'], lines: ['a', 'b'] },
    { name: 'the last line without an end', chunks: ['a\nb'], lines: ['a', 'b'] },
    { name: 'blank lines are left out', chunks: ['\n\na\n \t\n\r\nb\n\n'], lines: ['a', 'b'] },
    { name: 'CR LF', chunks: ['a\r\nb\r', '\nc\r'], lines: ['a', 'b', 'c'] },
    { name: 'a line in many chunks', chunks: ['a', 'b', 'c', '\nd'], lines: ['abc', 'd'] },
    { name: 'at the limit', chunks: ['12345\n12345\r\n'], lines: ['12345', '12345'] },
    { name: 'over the limit in one chunk', chunks: ['123456\nb\n'], lines: [undefined, 'b'] },
    { name: 'over the limit in many chunks', chunks: ['123', '456', '789', '0\nb', '\n'], lines: [undefined, 'b'] },
    { name: 'over the limit at the end', chunks: ['123', '456'], lines: [undefined] },
    { name: 'nothing', chunks: [], lines: [] },
  ];
  for (const { name, chunks, lines } of cases) test(name, () => assert.deepEqual(split(chunks, 5), lines));

  test('law: where the chunks are cut makes no difference', () => {
    const seed = Number(process.env.SEED ?? 20_261_120);
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '\n', '\r', ' '), maxLength: 40, size: 'max' });
    fc.assert(
      fc.property(text, fc.array(fc.nat(40), { maxLength: 5 }), (whole, cuts) => {
        const places = [0, ...cuts.map((cut) => Math.min(cut, whole.length)).sort((a, b) => a - b), whole.length];
        const chunks = places.slice(1).map((end, i) => whole.slice(places[i], end));
        assert.deepEqual(split(chunks, 6), split([whole], 6));
      }),
      { seed, numRuns: 500, verbose: 1 },
    );
  });
});
