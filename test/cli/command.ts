import { Readable, Writable } from 'node:stream';
import { run } from '../../src/cli/program.ts';

export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Surroundings {
  readonly env?: Record<string, string | undefined>;
  /** A text, or portions of it as they come. */
  readonly stdin?: string | AsyncIterable<string>;
  /** Columns of the terminal that stdout is. Default: it is none. */
  readonly columns?: number;
}

/** Runs one command in this process, as a shell would. */
export async function kindred(
  args: readonly string[],
  { env = {}, stdin = '', columns }: Surroundings = {},
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
    stdout: Object.assign(sink('stdout'), columns !== undefined && { isTTY: true, columns }),
    stderr: sink('stderr'),
    env,
  };
  const code = await run(args, io);
  return { code, ...texts };
}

async function* portions(texts: AsyncIterable<string>): AsyncGenerator<Buffer> {
  for await (const text of texts) yield Buffer.from(text);
}
