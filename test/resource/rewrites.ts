/**
 * Stored objects are rewritten to another version while writers change some of them, and replicas are killed. Afterwards
 * the store is compared with what it was: nothing but the writers may have changed anything.
 */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { Scheme } from 'kindred';
import { until } from 'kindred/testing';
import type { ExtensionObject } from '../../src/model/object.ts';
import { Versions } from '../../src/resource/versions.ts';
import { canonicalText } from '../../src/schema/json-value.ts';
import { openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/store/store.ts';
import { fromSources } from '../sources.ts';
import { Second, serviceWith } from './rewriting.ts';

interface RewriteOptions {
  readonly database: string;
  readonly objects: number;
  readonly writers: number;
  /** Processes that serve; more than one on a server alone. */
  readonly replicas: number;
  /** How often the replicas are killed. */
  readonly kills: number;
  /** Objects that are rewritten in a second. */
  readonly rate: number;
}

interface RewriteResult {
  readonly violations: readonly string[];
  readonly writes: number;
  readonly kills: number;
  readonly seconds: number;
}

/** Every so many objects are the writers'. */
const share = 50;
const state = '/apis/plugin.platform.run/v1alpha1/modelstates/notes.notes.example.com';
const notes = '/apis/notes.example.com/v2/notes';
const nameOf = (i: number) => `n${i}`;

export async function rewrites(options: RewriteOptions): Promise<RewriteResult> {
  const { database, objects, kills } = options;
  const first = await serviceWith('v1', database, 1);
  await first.start();
  await first.stop();
  await fill(database, objects);
  const before = await contentOf(database);
  const replicas = new Replicas(options);
  await replicas.start();
  await replicas.ask('PATCH', state, { spec: { finalize: 'now' } });
  const began = performance.now();
  const writing = new Writing(replicas, options);
  const status = async () => {
    const { body } = await replicas.ask('GET', state);
    return (body as { status: { storageVersion: string; migration?: { revision?: number; done: number } } }).status;
  };
  for (let killed = 1; killed <= kills; killed++) {
    await until(async () => (await countIn(database, 'v2')) > (killed * objects) / (kills + 2), { timeout: 60_000 });
    await replicas.kill();
    await replicas.start();
  }
  await until(async () => (await status()).migration?.revision !== undefined, { timeout: 600_000, interval: 200 });
  const seconds = (performance.now() - began) / 1_000;
  await writing.stop();
  await replicas.stop();
  const after = await contentOf(database);
  const violations = [...writing.violations];
  const say = (text: string) => violations.push(text);
  if (after.versions.v1 !== undefined) say(`${after.versions.v1} objects are stored as v1`);
  if (after.objects !== before.objects) say(`${after.objects} objects, there were ${before.objects}`);
  if (after.hash !== before.hash) say('objects that nobody wrote to have another content, version or revision');
  let changes = 0;
  for (const [name, { count, version }] of after.written) {
    const { acknowledged = 0, sent = 0 } = writing.of(name);
    if (count < acknowledged || count > sent) say(`${name}: ${count} writes, of ${acknowledged} to ${sent}`);
    if (version !== count + 1) say(`${name}: version ${version} after ${count} writes`);
    changes += count;
  }
  if (after.changes !== before.changes + changes)
    say(`${after.changes - before.changes} changes in the log, of ${changes} writes`);
  return { violations, writes: changes, kills, seconds };
}

/** Objects in the first version, as a service would have stored them. */
async function fill(database: string, objects: number): Promise<void> {
  const store = await openStore(database);
  const model = await store.modelNumber('notes.example.com', 'Note');
  const [apiVersion, kind, creationTimestamp] = ['notes.example.com/v1', 'Note', '2026-01-01T00:00:00.000Z'];
  for (let at = 0; at < objects; at += 1_000) {
    const writes = Array.from({ length: Math.min(1_000, objects - at) }, (_, i) => {
      const name = nameOf(at + i);
      const metadata = { name, creationTimestamp, version: 1, generation: 1 };
      const object = { apiVersion, kind, metadata, spec: { text: `first line\nline of ${name}`, count: 0 } };
      return { type: 'create' as const, model, name, bytes: Buffer.from(JSON.stringify(object)) };
    });
    await store.commit(writes, Date.now());
  }
  await store.close();
}

async function* rowsOf(store: Store, model: number) {
  for (let after = 0; ; ) {
    const page = await store.scan(model, after, 1_000);
    if (page.length === 0) return;
    after = page.at(-1)!.id;
    yield* page;
  }
}

/** What is stored: in the hub, with the version and the revision of each object. */
async function contentOf(database: string) {
  const store = await openStore(database);
  const model = await store.modelNumber('notes.example.com', 'Note');
  const conversions = Versions.of(Scheme.buildFromType(Second))!;
  const hash = createHash('sha256');
  const versions: Record<string, number> = {};
  const written = new Map<string, { count: number; version: number }>();
  let objects = 0;
  for await (const { id, revision, name, bytes } of rowsOf(store, model)) {
    const object = JSON.parse(Buffer.from(bytes).toString()) as ExtensionObject;
    const version = object.apiVersion.split('/')[1]!;
    versions[version] = (versions[version] ?? 0) + 1;
    const inHub = conversions.convert(object, 'notes.example.com/v2') as ExtensionObject & { spec: { count: number } };
    if (objects++ % share === 0) written.set(name, { count: inHub.spec.count, version: inHub.metadata.version ?? 0 });
    else hash.update(`${id} ${revision} ${name} ${canonicalText(inHub)}\n`);
  }
  let changes = 0;
  for (let since = 0; ; ) {
    const page = await store.changes(since, 1_000, { model });
    if (page.length === 0) break;
    since = page.at(-1)!.revision;
    changes += page.length;
  }
  await store.close();
  return { objects, versions, written, changes, hash: hash.digest('hex') };
}

async function countIn(database: string, version: string): Promise<number> {
  const store = database.startsWith('sqlite:') ? undefined : await openStore(database);
  if (!store) return countInFile(database.slice('sqlite:'.length), version);
  const model = await store.modelNumber('notes.example.com', 'Note');
  let count = 0;
  for await (const { bytes } of rowsOf(store, model)) {
    if (Buffer.from(bytes.subarray(0, 60)).toString().includes(`notes.example.com/${version}`)) count++;
  }
  await store.close();
  return count;
}

async function countInFile(file: string, version: string): Promise<number> {
  const { DatabaseSync } = await import('node:sqlite');
  const db = new DatabaseSync(file, { readOnly: true });
  const text = 'SELECT count(*) AS count FROM objects WHERE substr(CAST(bytes AS TEXT), 1, 60) LIKE ?';
  const { count } = db.prepare(text).get(`%notes.example.com/${version}"%`) as { count: number };
  db.close();
  return count;
}

class Replicas {
  readonly #options: RewriteOptions;
  #running: { process: ChildProcess; url: string }[] = [];

  constructor(options: RewriteOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { database, rate, replicas } = this.#options;
    const file = new URL('./rewriting-service.ts', import.meta.url).pathname;
    this.#running = await Promise.all(
      Array.from({ length: replicas }, async () => {
        const args = [...fromSources, file, database, String(rate)];
        const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
        const [url] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
        // Until every replica declares it, the second version is not served.
        await until(async () => (await fetch(`${url}${notes}?size=1`)).status === 200, { timeout: 60_000 });
        return { process: child, url };
      }),
    );
  }

  kill(): Promise<void> {
    return this.#end('SIGKILL');
  }

  stop(): Promise<void> {
    return this.#end('SIGTERM');
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const running = this.#running;
    this.#running = [];
    await Promise.all(
      running.map(({ process }) => {
        const ended = once(process, 'exit');
        process.kill(signal);
        return ended;
      }),
    );
  }

  /** Throws while there is none, or when it dies before it answers. */
  async ask(method: string, path: string, body?: object): Promise<{ status: number; body: unknown }> {
    const one = this.#running[Math.floor(Math.random() * this.#running.length)];
    if (!one) throw new Error('no replica');
    const response = await fetch(one.url + path, {
      method,
      ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/merge-patch+json' } }),
    });
    return { status: response.status, body: await response.json() };
  }
}

/** Each writer counts up objects of its own. */
class Writing {
  readonly violations: string[] = [];
  readonly #objects = new Map<string, { acknowledged: number; sent: number }>();
  readonly #ended: Promise<unknown>;
  #isOver = false;

  constructor(replicas: Replicas, { writers, objects }: RewriteOptions) {
    this.#ended = Promise.all(Array.from({ length: writers }, (_, i) => this.#write(replicas, i, writers, objects)));
  }

  of(name: string): { readonly acknowledged?: number; readonly sent?: number } {
    return this.#objects.get(name) ?? {};
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#ended;
  }

  async #write(replicas: Replicas, writer: number, writers: number, objects: number): Promise<void> {
    const own = Math.max(Math.floor(objects / share / writers), 1);
    while (!this.#isOver) {
      const name = nameOf(share * (writer + writers * Math.floor(Math.random() * own)));
      const known = this.#objects.get(name) ?? { acknowledged: 0, sent: 0 };
      this.#objects.set(name, known);
      known.sent++;
      try {
        const current = await replicas.ask('GET', `${notes}/${name}`);
        const { count } = (current.body as { spec: { count: number } }).spec;
        if (count < known.acknowledged || count >= known.sent)
          this.violations.push(`${name}: read ${count}, ${known.acknowledged} were acknowledged, ${known.sent} sent`);
        const { status } = await replicas.ask('PATCH', `${notes}/${name}`, { spec: { count: count + 1 } });
        if (status === 200) known.acknowledged = count + 1;
        else if (status < 500) this.violations.push(`${name}: answered ${status}`);
      } catch {
        // Killed before it answered: the write may be there or not.
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
  }
}
