/**
 * The long run: node --import ./test/sources.ts test/placement/move-run.ts --rounds 50 --objects 100000 --writers 8 --database postgres|mariadb
 * Objects move there and back between two stores, by a process that is killed again and again, while clients of three
 * replicas, which are killed too, write and read. Afterwards every object must be as its writer was answered, once, and
 * the store that it left must be empty. Exit code 1 at the first difference.
 */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Claims, Row, Store } from '../../src/store/store.ts';
import { until } from '../../src/testing/until.ts';
import type { DatabaseKind } from '../servers.ts';
import { databaseAdapters } from '../servers.ts';
import { fromSources } from '../sources.ts';
import { readings } from './kit.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '50' },
    objects: { type: 'string', default: '100000' },
    writers: { type: 'string', default: '8' },
    kills: { type: 'string', default: '2' },
    database: { type: 'string', default: 'postgres' },
  },
});
const kind = values.database as DatabaseKind;
const adapter = databaseAdapters().find((one) => one.kind === kind && kind !== 'sqlite');
if (!adapter) throw new Error(`no database "${kind}" here: expected postgres or mariadb`);
const [count, writers, kills] = [values.objects, values.writers, values.kills].map(Number) as [number, number, number];
const databases = [await adapter.create(), await adapter.create()] as const;
const stores = { default: await databases[0].open(), telemetry: await databases[1].open() };

/** What an object may have, by name: its value; undefined: it is not there. One unless an outcome is unknown. */
const expected = new Map<string, readonly (number | undefined)[]>();

class Replica {
  #process: ChildProcess | undefined;
  #port = 0;
  /** Since its start, and until it is killed. */
  isReady = false;

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async start(): Promise<void> {
    const program = new URL('./move-replica.ts', import.meta.url).pathname;
    const args = [...fromSources, program, databases[0].url, databases[1].url, String(this.#port)];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    this.#process = child;
    const url = await new Promise<string>((resolve, reject) => {
      createInterface({ input: child.stdout }).once('line', resolve);
      child.once('exit', (code, signal) => reject(new Error(`a replica ended at its start: ${code ?? signal}`)));
    });
    this.#port = Number(new URL(url).port);
    this.isReady = true;
  }

  kill(): Promise<void> {
    this.isReady = false;
    return killed(this.#process!);
  }
}

/** The longest time between two answers. */
class Gap {
  #last = performance.now();
  longest = 0;

  answered(): void {
    const now = performance.now();
    this.longest = Math.max(this.longest, now - this.#last);
    this.#last = now;
  }
}

async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.kill('SIGKILL');
  await gone;
}

await fill();
const replicas = [0, 1, 2].map(() => new Replica());
process.once('exit', () => {
  for (const replica of replicas) void replica.kill();
});
await replicas[0]!.start();
await Promise.all(replicas.slice(1).map((replica) => replica.start()));
const sum = { moves: 0, kills: 0, replicaKills: 0, acknowledged: 0, unknown: 0, refused: 0, readsRefused: 0 };
const pauses: { writes: number; reads: number }[] = [];
const started = Date.now();
const rounds = Number(values.rounds);
for (let round = 1; round <= rounds; round++) {
  const [from, to] = round % 2 === 1 ? (['default', 'telemetry'] as const) : (['telemetry', 'default'] as const);
  let isMoving = true;
  const gaps = { writes: new Gap(), reads: new Gap() };
  const clients = Array.from({ length: writers }, (_, i) => writer(i, () => isMoving, gaps.writes));
  const reader = read(() => isMoving, gaps.reads);
  await moved(to);
  isMoving = false;
  await Promise.all([...clients, reader]);
  await compare(stores[from], stores[to]);
  sum.moves++;
  pauses.push({ writes: gaps.writes.longest, reads: gaps.reads.longest });
  const longest = (of: 'writes' | 'reads') => Math.round(Math.max(...pauses.map((one) => one[of])));
  console.log(
    `${kind}, ${round} moves of ${expected.size} objects, ${Math.round((Date.now() - started) / 1000)} s:`,
    JSON.stringify(sum),
    `ms without writes ${Math.round(gaps.writes.longest)} (worst ${longest('writes')}), without reads ${Math.round(gaps.reads.longest)} (worst ${longest('reads')})`,
  );
}
console.log('0 lost, 0 doubled');
for (const replica of replicas) await replica.kill();
for (const store of Object.values(stores)) await store.close();
for (const database of databases) await database.drop();
process.exit(0);

function nameOf(writer: number, i: number): string {
  return `w${writer}-${i}`;
}

async function fill(): Promise<void> {
  const replica = new Replica();
  await replica.start();
  const each = Math.ceil(count / writers);
  for (let w = 0; w < writers; w++) {
    for (let i = 0; i < each; i += 1_000) {
      const names = Array.from({ length: Math.min(1_000, each - i) }, (_, n) => nameOf(w, i + n));
      const lines = names.map((name) => JSON.stringify(bodyOf(name, 0))).join('\n');
      const response = await fetch(`${replica.url}${readings}`, {
        method: 'POST',
        headers: { 'content-type': 'application/x-ndjson' },
        body: lines,
      });
      if (response.status >= 300) throw new Error(`filling was answered ${response.status} ${await response.text()}`);
      await response.text();
      for (const name of names) expected.set(name, [0]);
    }
  }
  await replica.kill();
}

function bodyOf(name: string, value: number): object {
  return { metadata: { name }, spec: { sensor: name, value } };
}

/** Moves the objects; processes that do it are killed at first. */
async function moved(to: string): Promise<void> {
  for (let left = kills; ; ) {
    const program = new URL('../../src/cli/main.ts', import.meta.url).pathname;
    const args = ['model', 'move', 'readings.telemetry.example.com', '--to', to, '--database', databases[0].url];
    const set = ['--set', `stores={telemetry: {database: '${databases[1].url}'}}`];
    const child = spawn(process.execPath, [...fromSources, program, ...args, ...set], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let said = '';
    child.stderr.on('data', (data: Buffer) => {
      said += data.toString();
    });
    const done = new Promise<number | null>((resolve) => child.once('exit', resolve));
    if (left > 0) await Promise.race([done, pause(1_500 + Math.random() * 15_000)]);
    if (left > 0 && child.exitCode === null) {
      await killed(child);
      left--;
      sum.kills++;
      if (Math.random() < 0.5) await restartOne();
      continue;
    }
    const code = await done;
    if (code === 0) return;
    // The lease of one that was killed has to run out.
    if (!/another process is moving/.test(said)) throw new Error(`the move ended with ${code}: ${said}`);
    await pause(1_000);
  }
}

async function restartOne(): Promise<void> {
  const replica = replicas[Math.floor(Math.random() * replicas.length)]!;
  await replica.kill();
  sum.replicaKills++;
  await replica.start();
}

async function writer(number: number, goesOn: () => boolean, gap: Gap): Promise<void> {
  const each = Math.ceil(count / writers);
  while (goesOn()) {
    const name = nameOf(number, Math.floor(Math.random() * each));
    const states = expected.get(name)!;
    const known = states.length === 1 ? states[0] : undefined;
    const value = Math.floor(Math.random() * 1e9);
    const isThere = known !== undefined;
    const isDeletion = isThere && Math.random() < 0.2;
    const next = isDeletion ? undefined : value;
    const outcome = await attempt(name, isThere, isDeletion, value);
    if (outcome === 'done') {
      expected.set(name, [next]);
      sum.acknowledged++;
      gap.answered();
    } else if (outcome === 'unknown') {
      expected.set(name, [...states, next]);
      sum.unknown++;
    } else if (outcome === 'as-unknown') {
      // It is there, or not, since a write whose outcome was unknown.
      expected.set(
        name,
        states.filter((state) => (state !== undefined) === !isThere),
      );
    } else {
      sum.refused++;
      await pause(20);
    }
  }
}

type Outcome = 'done' | 'unknown' | 'refused' | 'as-unknown';

async function attempt(name: string, isThere: boolean, isDeletion: boolean, value: number): Promise<Outcome> {
  const { url } = replicas[Math.floor(Math.random() * replicas.length)]!;
  const [method, path] = isDeletion ? ['DELETE', `/${name}`] : isThere ? ['PATCH', `/${name}`] : ['POST', ''];
  const headers = { 'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json' };
  const body = isDeletion ? undefined : JSON.stringify(isThere ? { spec: { value } } : bodyOf(name, value));
  try {
    const response = await fetch(`${url}${readings}${path}`, {
      method,
      signal: AbortSignal.timeout(20_000),
      ...(body !== undefined && { headers, body }),
    });
    const text = await response.text();
    if (response.status < 300) return 'done';
    if (response.status === 503) return 'refused';
    if (response.status === 504) return 'unknown';
    const isOther = response.status === 404 || response.status === 409;
    if (isOther && expected.get(name)!.length > 1) return 'as-unknown';
    throw new Error(`${method} ${name} was answered ${response.status} ${text}, it may have ${expected.get(name)}`);
  } catch (error) {
    const { cause, name: kindOfError } = error as { cause?: { code?: string }; name: string };
    if (cause?.code === 'ECONNREFUSED') return 'refused';
    if (cause !== undefined || kindOfError === 'TimeoutError') return 'unknown';
    throw error;
  }
}

/** Reads of one replica after the other: what they answer is right while nobody writes to the object. */
async function read(goesOn: () => boolean, gap: Gap): Promise<void> {
  for (let i = 0; goesOn(); i++) {
    const replica = replicas[i % replicas.length]!;
    const wasReady = replica.isReady;
    const response = await fetch(`${replica.url}${readings}?size=1`, { signal: AbortSignal.timeout(20_000) }).catch(
      () => undefined,
    );
    await response?.text();
    if (response?.status === 200) gap.answered();
    else if (response?.status === 503) {
      if (wasReady && replica.isReady) sum.readsRefused++;
    } else if (response) throw new Error(`a list was answered ${response.status}`);
    await pause(10);
  }
}

/** Each object is in the store as it was answered; nothing is left in the other one. */
async function compare(from: Store, to: Store): Promise<void> {
  const [there, here] = [await rowsOf(from), await rowsOf(to)];
  if (there.rows.size > 0 || there.claims > 0)
    throw new Error(`${there.rows.size} objects and ${there.claims} unique values are left where they were`);
  const wrong: string[] = [];
  for (const [name, states] of expected) {
    const value = here.rows.get(name);
    if (!states.includes(value)) wrong.push(`${name} has ${value}, not ${states.join(' or ')}`);
    else expected.set(name, [value]);
  }
  for (const name of here.rows.keys()) if (!expected.has(name)) wrong.push(`${name} was never made`);
  if (here.claims !== here.rows.size) wrong.push(`${here.claims} unique values of ${here.rows.size} objects`);
  const totals = await Promise.all(
    replicas.map(({ url }) =>
      until(async () => {
        const response = await fetch(`${url}${readings}?size=1`);
        return response.status === 200 ? ((await response.json()) as { total: number }) : undefined;
      }),
    ),
  );
  for (const { total } of totals)
    if (total !== here.rows.size) wrong.push(`a replica counts ${total} of ${here.rows.size}`);
  if (wrong.length === 0) return;
  for (const one of wrong.slice(0, 20)) console.error(one);
  console.error(`${wrong.length} differences`);
  process.exit(1);
}

async function rowsOf(store: Store): Promise<{ rows: Map<string, number>; claims: number }> {
  const model = await store.modelNumber('telemetry.example.com', 'Reading');
  const rows = new Map<string, number>();
  for (let after = 0; ; ) {
    const part: readonly Row[] = await store.scan(model, after, 1_000);
    if (part.length === 0) break;
    for (const { name, bytes } of part) {
      if (rows.has(name)) throw new Error(`${name} is there twice`);
      rows.set(name, JSON.parse(Buffer.from(bytes).toString()).spec.value);
    }
    after = part.at(-1)!.id;
  }
  let claims = 0;
  for (let after: Uint8Array | undefined; ; ) {
    const part = await (store as Store & Claims).claims(model, after, 1_000);
    if (part.length === 0) return { rows, claims };
    claims += part.length;
    after = part.at(-1)!.hash;
  }
}
