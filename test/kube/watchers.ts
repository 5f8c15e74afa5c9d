/** Opens watches from a process of its own and reads nothing until it is told to: `watchers.ts URL PATH COUNT`. */
import { createHash } from 'node:crypto';
import { connect } from 'node:net';

const [url, path, count] = process.argv.slice(2);
const { hostname, port, host } = new URL(url!);
const request = `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
const sockets = Array.from({ length: Number(count) }, () => {
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  socket.write(request);
  return socket.pause();
});

/** What each stream told, as a digest of its body, until the line that ends all. */
const read = sockets.map(
  (socket) =>
    new Promise<string>((resolve) => {
      let text = '';
      socket.on('data', (chunk) => {
        text += chunk.toString('latin1');
        const events = text
          .split('\n')
          .slice(0, -1)
          .filter((line) => line.startsWith('{"type"'));
        if (!events.at(-1)?.includes('"the-end"')) return;
        resolve(createHash('sha256').update(events.join('\n')).digest('hex') + events.length);
        socket.destroy();
      });
    }),
);
process.on('message', async () => {
  for (const socket of sockets) socket.resume();
  const digests = new Set(await Promise.all(read));
  process.send?.([...digests]);
  process.disconnect?.();
});
