/** Runs the kubectl of this machine against a façade, with a folder of its own for what it remembers. */
import { execFile, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The version of kubectl, `1.20`; undefined where there is none. */
export const kubectlVersion = versionOf();

function versionOf(): string | undefined {
  try {
    const text = execFileSync('kubectl', ['version', '--client', '-o', 'json'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const { major, minor } = JSON.parse(text.toString()).clientVersion;
    return `${major}.${Number.parseInt(minor, 10)}`;
  } catch {
    return undefined;
  }
}

export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export class Kubectl {
  readonly #server: string;
  readonly #home = mkdtempSync(join(tmpdir(), 'kubectl-'));

  /** @param url of the service */
  constructor(url: string) {
    this.#server = `${url}/kube`;
  }

  /** @param input what `-f -` reads */
  run(args: readonly string[], input = ''): Promise<Outcome> {
    return new Promise((resolve) => {
      const options = { env: this.#env, timeout: 60_000 };
      const child = execFile('kubectl', this.#args(args), options, (error, stdout, stderr) => {
        resolve({ code: error ? Number(error.code ?? 1) : 0, stdout, stderr });
      });
      child.stdin!.end(input);
    });
  }

  /** One that goes on, such as `get -w`. */
  begin(args: readonly string[]): { readonly lines: string[]; end(): Promise<void> } {
    const child = spawn('kubectl', this.#args(args), { env: this.#env, stdio: ['ignore', 'pipe', 'ignore'] });
    const lines: string[] = [];
    let text = '';
    child.stdout.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      const whole = text.split('\n');
      text = whole.pop()!;
      lines.push(...whole);
    });
    const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
    return {
      lines,
      end: () => {
        child.kill();
        return ended;
      },
    };
  }

  close(): void {
    rmSync(this.#home, { recursive: true, force: true });
  }

  get #env(): NodeJS.ProcessEnv {
    return { PATH: process.env.PATH, HOME: this.#home, KUBECONFIG: join(this.#home, 'config') };
  }

  #args(args: readonly string[]): string[] {
    return [`--server=${this.#server}`, `--cache-dir=${join(this.#home, 'cache')}`, ...args];
  }
}
