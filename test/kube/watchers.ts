/** Opens watches from a process of its own and reads nothing until it is told to: `watchers.ts URL PATH COUNT`. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { get } from 'node:http';

const [url, path, count] = process.argv.slice(2);
const answers = Array.from({ length: Number(count) }, async () => {
  const request = get(`${url}${path}`, { agent: false });
  request.on('error', () => {});
  const [answer] = (await once(request, 'response')) as [IncomingMessage];
  answer.on('error', () => {});
  return answer.pause();
});

/** What a stream told, as a digest of its body, until the line that ends all. */
async function digestOf(answer: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of answer.setEncoding('utf8')) {
    text += chunk;
    const events = text
      .split('\n')
      .slice(0, -1)
      .filter((line) => line.startsWith('{"type"'));
    if (events.at(-1)?.includes('"the-end"'))
      return createHash('sha256').update(events.join('\n')).digest('hex') + events.length;
  }
  throw new Error('the stream ended before its last line');
}

process.on('message', async () => {
  const digests = await Promise.all(answers.map(async (answer) => digestOf(await answer)));
  process.send?.([...new Set(digests)]);
  process.disconnect?.();
});
