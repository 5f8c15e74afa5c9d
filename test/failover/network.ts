/**
 * Machines on one machine: each is a network namespace with two interfaces, one to the other machines and one to their
 * clients. All of it is in namespaces that `inside` makes, and gone when that ends. Needs Linux, root and iproute2.
 */
import type { ChildProcess, SpawnOptions } from 'node:child_process';
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';

/** The networks, by the name of the interface that leads there. */
const networks = { peers: '10.0.1', clients: '10.0.2' };
type Network = keyof typeof networks;

const mark = 'KINDRED_FAILOVER_INSIDE';

/**
 * Runs this program again, with its arguments, where it may make networks: `isInside` is true there. Whatever it starts
 * there ends with it. @returns its exit code
 */
export async function runInside(): Promise<number> {
  const again = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  // The first process of a namespace is the parent of those that lost theirs; a shell waits for them.
  const shell = ['bash', '-c', '"$@"; exit $?', 'bash'];
  const apart = ['unshare', '--net', '--mount', '--pid', '--ipc', '--fork', '--kill-child', '--mount-proc'];
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', ...apart, ...shell, ...again], {
    stdio: 'inherit',
    env: { ...process.env, [mark]: 'yes' },
  });
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => child.kill('SIGKILL'));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
}

export const isInside = process.env[mark] !== undefined;

/** The network to which this process itself belongs, as a client. */
export function makeNetworks(): void {
  run('ip', 'link', 'set', 'lo', 'up');
  mkdirSync('/run/netns', { recursive: true });
  run('mount', '-t', 'tmpfs', 'tmpfs', '/run/netns');
  for (const network of Object.keys(networks)) {
    run('ip', 'link', 'add', network, 'type', 'bridge');
    run('ip', 'link', 'set', network, 'up');
  }
  run('ip', 'address', 'add', `${networks.clients}.254/24`, 'dev', 'clients');
}

/** A machine of its own network interfaces; its processes see the files of this one. */
export class Machine {
  readonly name: string;
  readonly #number: number;

  /** @param number from 1 */
  constructor(number: number) {
    this.name = `m${number}`;
    this.#number = number;
    run('ip', 'netns', 'add', this.name);
    run('ip', '-n', this.name, 'link', 'set', 'lo', 'up');
    for (const network of Object.keys(networks) as Network[]) {
      run('ip', 'link', 'add', this.#port(network), 'type', 'veth', 'peer', 'name', network, 'netns', this.name);
      run('ip', '-n', this.name, 'address', 'add', `${this.address(network)}/24`, 'dev', network);
      run('ip', '-n', this.name, 'link', 'set', network, 'up');
      run('ip', 'link', 'set', this.#port(network), 'up');
      this.join(network);
    }
  }

  address(network: Network): string {
    return `${networks[network]}.${this.#number}`;
  }

  /** What is sent to the network, or from it, goes nowhere and is answered by nobody. */
  leave(network: Network): void {
    run('ip', 'link', 'set', this.#port(network), 'nomaster');
  }

  join(network: Network): void {
    run('ip', 'link', 'set', this.#port(network), 'master', network);
  }

  /** What its servers at this port send to the other machines goes nowhere; clients are answered. */
  silence(port: number): void {
    run('ip', '-n', this.name, ...this.#silenced('add', port));
  }

  unsilence(port: number): void {
    run('ip', '-n', this.name, ...this.#silenced('delete', port));
  }

  /** Starts a program there, as a user without rights. */
  start(program: readonly string[], options: SpawnOptions): ChildProcess {
    return spawn('ip', ['netns', 'exec', this.name, ...asNobody, ...program], options);
  }

  #port(network: Network): string {
    return `${network}${this.#number}`;
  }

  #silenced(verb: 'add' | 'delete', port: number): string[] {
    return ['rule', verb, 'ipproto', 'tcp', 'sport', `${port}`, 'to', `${networks.peers}.0/24`, 'blackhole'];
  }
}

/** Database servers refuse to run as root. */
export const nobody = 65_534;
export const asNobody = ['setpriv', `--reuid=${nobody}`, `--regid=${nobody}`, '--clear-groups'];

function run(program: string, ...args: readonly string[]): void {
  const { status, stderr, error } = spawnSync(program, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${program} ${args.join(' ')}: ${error?.message ?? stderr}`);
}
