import type { Readable, Writable } from 'node:stream';

/** What a command reads and writes besides files and the network; handed in, so that a test can run commands in its process. */
export interface Io {
  readonly stdin: Readable;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export type Output = Writable & { readonly isTTY?: boolean; readonly columns?: number };

/** Wrong use of the command line, or wrong settings: one line on stderr for each mistake, exit code 2. */
export class UsageError extends Error {
  readonly mistakes: readonly string[];

  constructor(mistakes: string | readonly string[]) {
    const all = [mistakes].flat();
    super(all.join('\n'));
    this.mistakes = all;
  }
}

/** The command said everything itself; only the exit code is left. */
export class Exit extends Error {
  readonly code: number;

  constructor(code: number) {
    super(`exit code ${code}`);
    this.code = code;
  }
}

/** The reader went away (`| head`): as a shell counts a program that a closed pipe ended. */
export class ClosedPipe extends Exit {
  constructor() {
    super(141);
  }
}

/** Writes and waits until the other end takes more. @throws ClosedPipe */
export function write(output: Output, text: string | Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    output.write(text, (error) => {
      if (!error) resolve();
      else if ((error as NodeJS.ErrnoException).code === 'EPIPE') reject(new ClosedPipe());
      else reject(error);
    });
  });
}
