/**
 * I/O faults of a database server below a service: clients write over HTTP while a file system fills up or fsync fails,
 * and afterwards what is stored is compared with what they were answered.
 */
import assert from 'node:assert/strict';
import { createService, defineModel, Type } from 'kindred';
import { until } from 'kindred/testing';
import pino from 'pino';
import type { DatabaseServer, ServerKind, ServerOptions } from '../servers.ts';
import { ownServer } from '../servers.ts';
import type { StreamEvent } from '../watch/stream.ts';
import { Stream } from '../watch/stream.ts';
import { failingFsync } from './failing-fsync.ts';
import { smallDisk } from './small-disk.ts';

const Part = defineModel({
  gvk: { group: 'faults.example.com', version: 'v1', kind: 'Part', singular: 'part', plural: 'parts' },
  spec: Type.Object({ code: Type.String(), text: Type.String() }),
  indexes: (index) => [index.single('spec.code', String, (part) => part.spec.code, { unique: true })],
});
const parts = '/apis/faults.example.com/v1/parts';

interface Refusal {
  readonly status: number;
  readonly code: string;
}

const refusals = {
  full: { status: 507, code: 'StorageFull' },
  away: { status: 503, code: 'NotReady' },
  unknown: { status: 504, code: 'UnknownOutcome' },
} as const satisfies { readonly [name: string]: Refusal };

export interface ServerFault {
  readonly title: string;
  readonly kind: ServerKind;
  /** Makes what the fault needs. Undefined, and said loudly, where that cannot be. */
  prepare(): Fault | undefined;
  /** Bytes of text in an object. */
  readonly size: number;
  /** How the first writes are refused; the others as the contract says. */
  readonly first: readonly Refusal[];
  /** Whether reads are answered while the fault lasts: `with 507`: when that is how the first writes were refused. */
  readonly reads: 'yes' | 'with 507' | 'perhaps';
  /** The server ends itself. */
  readonly ends?: true;
  /** Takes longer than a test should. */
  readonly isSlow?: true;
}

const isFull = ({ code }: Refusal): boolean => code === refusals.full.code;

interface Fault {
  readonly server: ServerOptions;
  begin(): void;
  end(): void;
  tidy(): void;
}

const mebibyte = 2 ** 20;

/** A disk with plenty of room until the fault begins. */
function fullDisk(title: string, options: (folder: string) => ServerOptions): Fault | undefined {
  const disk = smallDisk(400 * mebibyte, title);
  if (!disk) return undefined;
  return {
    server: options(disk.empty('files')),
    begin: () => disk.leave(2 * mebibyte),
    end: () => disk.leave(300 * mebibyte),
    tidy: disk.unmount,
  };
}

function brokenFsync(title: string): Fault | undefined {
  const broken = failingFsync(title);
  return broken && { ...broken, server: { environment: broken.environment } };
}

/** A smaller log than the default, which would be most of the disk. */
const mariadbSettings = ['--innodb-log-file-size=8M'];

export const serverFaults: readonly ServerFault[] = [
  {
    title: 'the disk of the tables is full',
    kind: 'postgres',
    prepare: () => fullDisk('PostgreSQL on a full disk', (folder) => ({ data: folder })),
    size: 20_000,
    first: [refusals.full],
    reads: 'yes',
  },
  {
    title: 'the disk of the write-ahead log is full, so that the server panics',
    kind: 'postgres',
    prepare: () => fullDisk('PostgreSQL with a full disk for its log', (folder) => ({ log: folder })),
    size: 20_000,
    first: [refusals.full, refusals.away, refusals.unknown],
    reads: 'perhaps',
    isSlow: true,
  },
  {
    title: 'fsync fails, so that the server panics',
    kind: 'postgres',
    prepare: () => brokenFsync('PostgreSQL with a failing fsync'),
    size: 2_000,
    first: [refusals.away, refusals.unknown],
    reads: 'perhaps',
  },
  {
    title: 'the disk of the tables is full',
    kind: 'mariadb',
    prepare: () => fullDisk('MariaDB on a full disk', (folder) => ({ data: folder, settings: mariadbSettings })),
    // Now and then the server finds no room to undo a statement either, and ends itself: the seldomer the smaller the rows.
    size: 300,
    first: [refusals.full, refusals.away, refusals.unknown],
    reads: 'with 507',
  },
  {
    title: 'the disk of the tables is full, and large rows make the server end itself',
    kind: 'mariadb',
    prepare: () =>
      fullDisk('MariaDB on a full disk, with large rows', (folder) => ({ data: folder, settings: mariadbSettings })),
    size: 100_000,
    first: [refusals.full, refusals.away, refusals.unknown],
    reads: 'perhaps',
    isSlow: true,
  },
  {
    title: 'fsync fails, so that the server ends itself',
    kind: 'mariadb',
    prepare: () => brokenFsync('MariaDB with a failing fsync'),
    size: 2_000,
    first: [refusals.away, refusals.unknown],
    reads: 'perhaps',
    ends: true,
  },
  {
    title: 'the disk of the binary log is full, and the server waits for room',
    kind: 'mariadb',
    prepare: () =>
      fullDisk('MariaDB with a full disk for its binary log', (folder) => ({
        settings: [`--log-bin=${folder}/log`, '--sync-binlog=1', '--server-id=1'],
      })),
    size: 20_000,
    first: [refusals.unknown, refusals.away],
    reads: 'yes',
    isSlow: true,
  },
];

interface Problem {
  readonly status: number;
  readonly code: string;
  readonly title: string;
  readonly detail: string;
}

/** What the clients were answered. */
class Clients {
  readonly acknowledged = new Map<string, string>();
  readonly refused = new Map<string, Refusal>();
  readonly unknown = new Set<string>();
  readonly url: string;
  readonly size: number;
  #count = 0;

  constructor(url: string, size: number) {
    this.url = url;
    this.size = size;
  }

  /** One new object. @returns undefined when it was created, else how it was refused */
  async create(): Promise<Refusal | undefined> {
    const name = `part-${++this.#count}`;
    const text = randomText(this.size);
    const response = await fetch(this.url + parts, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ metadata: { name }, spec: { code: name, text } }),
    });
    if (response.status === 201) {
      await response.body?.cancel();
      this.acknowledged.set(name, text);
      return undefined;
    }
    assert.equal(response.headers.get('content-type'), 'application/problem+json');
    const { status, code, title, detail } = (await response.json()) as Problem;
    assert.equal(status, response.status);
    const known = Object.values(refusals).find((one) => one.code === code && one.status === status);
    assert.ok(known, `${status} ${code}: ${detail}`);
    assert.ok(title.length > 0 && detail.length > 0);
    assert.equal(code === 'NotReady', response.headers.has('retry-after'));
    if (code === 'UnknownOutcome') this.unknown.add(name);
    else this.refused.set(name, known);
    return known;
  }
}

/** Neither the database nor the file system makes it smaller. */
function randomText(length: number): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(Math.ceil(length / 2)))).toString('hex');
}

export interface FaultResult {
  readonly acknowledged: number;
  readonly refused: Readonly<{ [status: string]: number }>;
  /** Milliseconds from the end of the fault to the first write that succeeded. */
  readonly recovery: number;
  /** The server had ended, and was started again. */
  readonly restarted: boolean;
}

/** Undefined when the fault cannot be made here. Throws an assertion that says which promise was broken. */
export async function faultRound(fault: ServerFault): Promise<FaultResult | undefined> {
  const prepared = fault.prepare();
  if (!prepared) return undefined;
  const undo: (() => unknown)[] = [prepared.tidy];
  try {
    const server = await ownServer(fault.kind, prepared.server);
    undo.push(() => server.stop());
    await server.query('CREATE DATABASE faults');
    const logger = pino({ level: 'silent' });
    const service = await createService({ database: server.url('faults'), port: 0, auth: false, logger });
    undo.push(() => service.stop());
    service.schemeManager.register(Part);
    const { url } = await service.start();
    return await observe(fault, prepared, server, url, undo);
  } finally {
    for (const one of undo.reverse()) await one();
  }
}

async function observe(
  fault: ServerFault,
  { begin, end }: Fault,
  server: DatabaseServer,
  url: string,
  undo: (() => unknown)[],
): Promise<FaultResult> {
  const clients = new Clients(url, fault.size);
  const stream = await Stream.open(`${url}${parts}?watch=true`);
  undo.push(() => stream.close());
  for (let i = 0; i < 5; i++) assert.equal(await clients.create(), undefined, 'a write before the fault');

  begin();
  const first: Refusal[] = [];
  const filling = Array.from({ length: 8 }, async () => {
    for (;;) {
      const refusal = await clients.create();
      if (!refusal) continue;
      first.push(refusal);
      return;
    }
  });
  await Promise.all(filling);
  for (const { status, code } of first) {
    assert.ok(
      fault.first.some((one) => one.code === code),
      `the first refusals are ${status} ${code}`,
    );
  }
  await readDuring(clients, fault.reads === 'yes' || (fault.reads === 'with 507' && first.every(isFull)));
  for (let i = 0; i < 3; i++) await clients.create();

  end();
  const ended = performance.now();
  // For a moment, a server that ends itself still answers.
  if (fault.ends) await until(() => !server.isRunning, { timeout: 10_000, what: 'the server ends' });
  const restarted = !(await answers(server));
  if (restarted) {
    await server.kill();
    await server.start();
  }
  const timeout = fault.isSlow ? 150_000 : 30_000;
  // What a load balancer looks at: a service that saw another history of the database reads everything before it is ready.
  const again = async (): Promise<boolean> =>
    (await clients.create()) === undefined && (await fetch(`${url}/readyz`)).status === 200;
  await until(again, { timeout, interval: 100, what: 'writes succeed again' });
  const recovery = Math.round(performance.now() - ended);
  for (let i = 0; i < 20; i++) assert.equal(await clients.create(), undefined, 'a write after the fault');
  await compare(clients, stream);
  const refused = Map.groupBy([...clients.refused.values()], ({ status }) => String(status));
  const counts = Object.fromEntries([...refused].map(([status, list]) => [status, list.length]));
  return {
    acknowledged: clients.acknowledged.size,
    refused: { ...counts, ...(clients.unknown.size > 0 && { 504: clients.unknown.size }) },
    recovery,
    restarted,
  };
}

/** What a supervisor looks at: a server that panicked comes back by itself, ends, or stays and refuses every connection. */
function answers(server: DatabaseServer): Promise<boolean> {
  const ask = async (): Promise<true> => {
    await server.query('SELECT 1');
    return true;
  };
  return until(ask, { timeout: server.isRunning ? 3_000 : 0, interval: 100 }).catch(() => false);
}

/** A read is answered from what was acknowledged, or says that it cannot be. */
async function readDuring({ url, acknowledged, unknown }: Clients, reads: boolean): Promise<void> {
  const [name, text] = [...acknowledged].at(-1)!;
  const one = await fetch(`${url}${parts}/${name}`);
  const list = await fetch(`${url}${parts}?size=1`);
  if (reads) {
    assert.deepEqual([one.status, list.status], [200, 200]);
    assert.equal(((await one.json()) as { spec: { text: string } }).spec.text, text);
    const { total } = (await list.json()) as { total: number };
    assert.ok(total >= acknowledged.size && total <= acknowledged.size + unknown.size, `${total} objects are listed`);
    return;
  }
  for (const response of [one, list]) {
    const body = (await response.json()) as { code?: string };
    assert.ok(response.status === 200 || (response.status === 503 && body.code === 'NotReady'), `${response.status}`);
  }
}

async function compare({ url, acknowledged, refused, unknown }: Clients, stream: Stream): Promise<void> {
  const response = await fetch(url + parts, { headers: { accept: 'application/x-ndjson' } });
  const revision = Number(response.headers.get('kindred-revision'));
  const lines = (await response.text()).trimEnd().split('\n');
  const stored = new Map<string, string>();
  for (const line of lines) {
    const { metadata, spec } = JSON.parse(line) as { metadata: { name: string }; spec: { text: string } };
    stored.set(metadata.name, spec.text);
  }
  for (const [name, text] of acknowledged) assert.equal(stored.get(name), text, `${name} was acknowledged and is lost`);
  for (const [name, { status }] of refused)
    assert.ok(!stored.has(name), `${name} was refused with ${status} and is there`);
  for (const name of stored.keys()) assert.ok(acknowledged.has(name) || unknown.has(name), `nobody created ${name}`);

  const list = (await (await fetch(`${url}${parts}?size=1`)).json()) as { total: number };
  assert.equal(list.total, stored.size, 'the index is not what is stored');
  const [free] = refused.keys();
  const [taken] = acknowledged.keys();
  const post = (name: string, code: string): Promise<Response> =>
    fetch(url + parts, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ metadata: { name }, spec: { code, text: '' } }),
    });
  if (free) assert.equal((await post('takes-what-is-free', free)).status, 201, 'a refused write keeps no unique value');
  assert.equal((await post('takes-what-is-taken', taken!)).status, 409, 'an acknowledged write keeps its unique value');

  const added = (): StreamEvent[] => stream.events.filter(({ type }) => type === 'ADDED');
  await until(() => added().length >= stored.size || stream.ended !== undefined);
  const told = added().filter((event) => event.revision <= revision);
  const lost = told.filter(({ object }) => !stored.has(object.metadata.name));
  if (lost.length > 0) {
    // MariaDB shows a commit before it is on the disk. What it told, and lost as it ended itself, ends the watch.
    for (const { object } of lost)
      assert.ok(unknown.has(object.metadata.name), 'the watch told of a write that was refused');
    assert.equal((await stream.last()).error?.code, 'Expired', 'the watch goes on from a change that was lost');
  } else {
    const names = told.map(({ object }) => object.metadata.name);
    assert.deepEqual(names.toSorted(), [...stored.keys()].toSorted(), 'the watch told of everything once');
  }
  const revisions = added().map((event) => event.revision);
  const steps = revisions.slice(1).map((next, i) => next - revisions[i]!);
  assert.ok(
    steps.every((step) => step === 1),
    'a revision is missing',
  );
}
