/** Opens watches from a process of its own, and reads nothing behind the present objects until it is told to: `watchers.ts URL PATH COUNT`. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { get } from 'node:http';

const [url, path, count] = process.argv.slice(2);

class Stream {
  readonly #chunks: AsyncIterator<string>;
  #text = '';

  constructor(answer: IncomingMessage) {
    this.#chunks = answer.setEncoding('utf8')[Symbol.asyncIterator]() as AsyncIterator<string>;
  }

  /** The lines up to one that has this text. */
  async until(text: string): Promise<string[]> {
    for (;;) {
      const lines = this.#text.split('\n').slice(0, -1);
      const at = lines.findIndex((line) => line.includes(text));
      if (at >= 0) {
        const read = lines.slice(0, at + 1);
        this.#text = this.#text.slice(read.join('\n').length + 1);
        return read;
      }
      const { done, value } = await this.#chunks.next();
      if (done) throw new Error(`the stream ended before ${text}`);
      this.#text += value;
    }
  }
}

/** A watch that is told of each change as it is made. */
async function opened(): Promise<Stream> {
  const request = get(`${url}${path}`, { agent: false });
  request.on('error', () => {});
  const [answer] = (await once(request, 'response')) as [IncomingMessage];
  answer.on('error', () => {});
  const stream = new Stream(answer);
  await stream.until('k8s.io/initial-events-end');
  return stream;
}

/** What a stream told, as a digest, until the line that ends all. */
async function digestOf(stream: Stream): Promise<string> {
  const events = (await stream.until('"the-end"')).filter((line) => line.startsWith('{"type"'));
  return createHash('sha256').update(events.join('\n')).digest('hex') + events.length;
}

const streams = await Promise.all(Array.from({ length: Number(count) }, opened));
process.on('message', async () => {
  const digests = await Promise.all(streams.map(digestOf));
  process.send?.([...new Set(digests)]);
  process.disconnect?.();
});
process.send?.('ready');
