import { Readable, Writable } from 'node:stream';
import { run } from '../../src/cli/program.ts';

export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs one command in this process, as a shell without a terminal would. `stdin`: text, or portions of it as they come. */
export async function kindred(
  args: readonly string[],
  { env = {}, stdin = '' }: { env?: Record<string, string | undefined>; stdin?: string | AsyncIterable<string> } = {},
): Promise<Outcome> {
  const texts = { stdout: '', stderr: '' };
  const sink = (name: 'stdout' | 'stderr') =>
    new Writable({
      write(chunk, _encoding, done) {
        texts[name] += chunk;
        done();
      },
    });
  const io = {
    stdin: Readable.from(typeof stdin === 'string' ? [Buffer.from(stdin)] : portions(stdin)),
    stdout: sink('stdout'),
    stderr: sink('stderr'),
    env,
  };
  const code = await run(args, io);
  return { code, ...texts };
}

async function* portions(texts: AsyncIterable<string>): AsyncGenerator<Buffer> {
  for await (const text of texts) yield Buffer.from(text);
}
