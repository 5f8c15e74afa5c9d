/** Runs kubectl against a façade, with a folder of its own for what it remembers. */
import { execFile, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The program: that of the environment variable KUBECTL, or the one of the machine. */
const program = process.env.KUBECTL || 'kubectl';

/** The version of kubectl, `1.20`; undefined where there is none. */
export const kubectlVersion = versionOf();

function versionOf(): string | undefined {
  try {
    const text = execFileSync(program, ['version', '--client', '-o', 'json'], {
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
  /** For files of tests too. */
  readonly home = mkdtempSync(join(tmpdir(), 'kubectl-'));
  readonly #url: string | undefined;

  /** @param url of the service; without one, a kubeconfig in the file `config` of its folder says it */
  constructor(url?: string) {
    this.#url = url;
    // Without this file, a slow kubectl warns that it found no configuration.
    writeFileSync(join(this.home, 'config'), 'apiVersion: v1\nkind: Config\n');
  }

  /** @param input what `-f -` reads */
  run(args: readonly string[], input = ''): Promise<Outcome> {
    return new Promise((resolve) => {
      const options = { env: this.#env, timeout: 60_000 };
      const child = execFile(program, this.#args(args), options, (error, stdout, stderr) => {
        resolve({ code: error ? Number(error.code ?? 1) : 0, stdout, stderr });
      });
      child.stdin!.end(input);
    });
  }

  /** One that goes on, such as `get -w`. */
  begin(args: readonly string[]): { readonly lines: string[]; end(): Promise<void> } {
    const child = spawn(program, this.#args(args), { env: this.#env, stdio: ['ignore', 'pipe', 'ignore'] });
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
    rmSync(this.home, { recursive: true, force: true });
  }

  get #env(): NodeJS.ProcessEnv {
    const { PATH } = process.env;
    // What `edit` opens: it makes red things pink.
    const editor = { KUBE_EDITOR: "sed -i 's/color: red/color: pink/'" };
    return { PATH, HOME: this.home, KUBECONFIG: join(this.home, 'config'), ...editor };
  }

  #args(args: readonly string[]): string[] {
    const server = this.#url === undefined ? [] : [`--server=${this.#url}/kube`];
    return [...server, `--cache-dir=${join(this.home, 'cache')}`, ...args];
  }
}
