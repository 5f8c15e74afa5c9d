/**
 * Many writers of one process that want the same few unique values, while commits fail, answer late, or end unknown.
 * The change log says after each race whether two objects ever held one value, whether each refusal was true, and whether
 * a value that nobody holds can be taken.
 * As a script: `node --import ./test/sources.ts test/resource/unique-races.ts --races 10000 --seed 1`, and with `--kills 300` a process that
 * writes to a SQLite file is killed so often; the seed determines the writes and the faults, not their order.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Change, ErrorCode, Service, Store } from 'kindred';
import { createService, defineModel, KindredError, Type } from 'kindred';
import pino from 'pino';
import { openStore } from '../../src/store/open.ts';
import { until } from '../../src/testing/until.ts';
import { Random } from '../query/random.ts';
import { fromSources } from '../sources.ts';

const gvk = { group: 'races.example.com', version: 'v1', kind: 'Thing', singular: 'thing', plural: 'things' } as const;
const Thing = defineModel({
  gvk,
  spec: Type.Object({ slug: Type.Optional(Type.String()), aliases: Type.Optional(Type.Array(Type.String())) }),
  indexes: (index) => [
    index.single('slug', String, (thing) => thing.spec.slug, { unique: true }),
    index.multi('aliases', String, (thing) => thing.spec.aliases ?? [], { unique: true }),
  ],
});

interface Spec {
  slug?: string;
  aliases?: string[];
}

/** Values as their index and their text. */
function valuesOf({ slug, aliases = [] }: Spec): string[] {
  return [...(slug === undefined ? [] : [`slug ${slug}`]), ...aliases.map((alias) => `aliases ${alias}`)];
}

/** Who held which value, by the change log. */
class Holders {
  revision = 0;
  readonly #now = new Map<string, string>();
  readonly #history = new Map<string, { revision: number; name: string | undefined }[]>();

  /** Throws when two objects hold one value. */
  async follow(store: Store): Promise<void> {
    const model = await store.modelNumber(gvk.group, gvk.kind);
    for (;;) {
      const changes = await store.changes(this.revision, 1_000, { model });
      if (changes.length === 0) return;
      for (const change of changes) this.#apply(change);
    }
  }

  holderOf(value: string): string | undefined {
    return this.#now.get(value);
  }

  /** Whether another than `name` held the value at some time between two revisions. */
  wasHeld(value: string, name: string, from: number, to: number): boolean {
    const history = this.#history.get(value) ?? [];
    return history.some(
      (held, i) =>
        held.name !== undefined &&
        held.name !== name &&
        held.revision <= to &&
        (history[i + 1]?.revision ?? Number.POSITIVE_INFINITY) > from,
    );
  }

  #apply({ revision, type, name, bytes, before }: Change): void {
    const specOf = (content: Uint8Array) => (JSON.parse(Buffer.from(content).toString()) as { spec: Spec }).spec;
    for (const value of before ? valuesOf(specOf(before)) : []) this.#set(value, undefined, revision);
    for (const value of type === 'delete' ? [] : valuesOf(specOf(bytes))) {
      assert.equal(this.#now.get(value), undefined, `at revision ${revision} ${name} takes "${value}" too`);
      this.#set(value, name, revision);
    }
    this.revision = revision;
  }

  #set(value: string, name: string | undefined, revision: number): void {
    if (name === undefined) this.#now.delete(value);
    else this.#now.set(value, name);
    const history = this.#history.getOrInsertComputed(value, () => []);
    history.push({ revision, name });
    if (history.length > 1_000) history.splice(0, 500);
  }
}

interface Refusal {
  readonly value: string;
  readonly name: string;
  readonly from: number;
  readonly to: number;
}

const names = Array.from({ length: 40 }, (_, i) => `n${i}`);
const values = Array.from({ length: 12 }, (_, i) => `v${i}`);

/** One write at random; resolves to the refusal when it was one for a value. */
async function writeOne(service: Service, store: Store, random: Random, tally: Tally): Promise<Refusal | undefined> {
  const { client } = service;
  const name = random.pick(names);
  const spec: Spec = {};
  if (random.chance(0.7)) spec.slug = random.pick(values);
  if (random.chance(0.4)) spec.aliases = [...new Set([random.pick(values), random.pick(values)])];
  const kind = random.next();
  const from = await store.revision();
  try {
    if (kind < 0.45) await client.create(Thing, { metadata: { name }, spec });
    else if (kind < 0.75) await client.patch(Thing, name, { spec: { slug: null, aliases: null, ...spec } });
    else await client.delete(Thing, name);
    tally.acknowledged++;
  } catch (error) {
    if (!(error instanceof KindredError)) throw error;
    tally[error.code] = (tally[error.code] ?? 0) + 1;
    if (error.code !== 'UniqueViolation') return undefined;
    return { value: `${error.index} ${error.value}`, name, from, to: await store.revision() };
  }
  return undefined;
}

/** Answers by code of the error. */
export type Tally = { acknowledged: number } & Record<string, number>;

/** Milliseconds until a write is answered, and by which a late commit comes later. */
const timeout = 50;

/** A store whose commits, unless it is calm, are told about late, fail, or end unknown, applied or not. */
class FaultyStore {
  readonly store: Store;
  isCalm = true;
  readonly #real: Store;
  readonly #random: Random;
  /** Times that the log cannot be read. */
  #unreadable = 0;

  constructor(real: Store, random: Random) {
    this.#real = real;
    this.#random = random;
    const own = new Map<string | symbol, unknown>([
      [
        'commit',
        (...call: Parameters<Store['commit']>) => (this.isCalm ? real.commit(...call) : this.#commit(...call)),
      ],
      ['revision', () => this.#revision()],
    ]);
    this.store = new Proxy(real, {
      get(target, name) {
        const value = own.get(name) ?? Reflect.get(target, name);
        return typeof value === 'function' && !own.has(name) ? value.bind(target) : value;
      },
    });
  }

  async #commit(...call: Parameters<Store['commit']>): ReturnType<Store['commit']> {
    const random = this.#random;
    const kind = random.pick([
      'applied',
      'applied',
      'applied',
      'applied',
      'failed',
      'unknown',
      'unknown',
      'lost',
    ] as const);
    await pause(random.chance(0.05) ? timeout * 2 : random.below(2));
    if (kind === 'failed') throw failure(random.pick(['NotReady', 'StorageFull']));
    if (kind === 'unknown' || kind === 'lost') this.#unreadable = random.below(3);
    if (kind === 'lost') throw failure('UnknownOutcome');
    const results = await this.#real.commit(...call);
    await pause(random.below(2));
    if (kind === 'unknown') throw failure('UnknownOutcome');
    return results;
  }

  #revision(): ReturnType<Store['revision']> {
    if (this.#unreadable > 0) {
      this.#unreadable--;
      throw failure('NotReady');
    }
    return this.#real.revision();
  }
}

function failure(code: ErrorCode): KindredError {
  return new KindredError(code, { en: 'made by the test', zh: '测试' });
}

async function serviceOn(store: Store, timeout?: number): Promise<Service> {
  const service = await createService({
    database: async () => store,
    port: 0,
    auth: false,
    logger: pino({ level: 'silent' }),
    ...(timeout !== undefined && { write: { timeout } }),
  });
  service.schemeManager.register(Thing);
  await ready(service);
  return service;
}

function ready({ client }: Service): Promise<number> {
  return until(async () => (await client.count(Thing)) + 1, { interval: 1 });
}

export async function race(options: { races: number; seed: number; onProgress?(races: number): void }): Promise<Tally> {
  const tally: Tally = { acknowledged: 0 };
  const racesEach = 100;
  for (let first = 0; first < options.races; first += racesEach) {
    const seed = options.seed + first;
    const random = new Random(seed);
    const real = await openStore('sqlite::memory:');
    const faults = new FaultyStore(real, random);
    const service = await serviceOn(faults.store, timeout);
    const holders = new Holders();
    // The service has timers alone, and none of them keeps a process alive.
    const alive = setInterval(() => {}, 1_000);
    try {
      for (let i = first; i < Math.min(first + racesEach, options.races); i++) {
        await raceOnce({ service, real, faults, random, holders, tally });
        options.onProgress?.(i + 1);
      }
    } catch (error) {
      throw new Error(`seed ${seed}`, { cause: error });
    } finally {
      faults.isCalm = true;
      await service.stop();
      clearInterval(alive);
    }
  }
  return tally;
}

interface Race {
  readonly service: Service;
  readonly real: Store;
  readonly faults: FaultyStore;
  readonly random: Random;
  readonly holders: Holders;
  readonly tally: Tally;
}

async function raceOnce({ service, real, faults, random, holders, tally }: Race): Promise<void> {
  const { client, schemeManager } = service;
  faults.isCalm = false;
  const writers = Array.from({ length: 64 }, () => writeOne(service, real, random, tally));
  if (random.chance(0.03)) {
    await pause(random.below(4));
    schemeManager.unregister(schemeManager.get(gvk));
    await pause(random.below(2));
    schemeManager.register(Thing);
  }
  const refusals = (await Promise.all(writers)).filter((refusal) => refusal !== undefined);
  faults.isCalm = true;
  await ready(service);
  // Behind all that was handed over before, also to a commit that nobody waits for any more.
  await until(() => client.create(Thing, { metadata: { generateName: 'last-' }, spec: {} }), { interval: 5 });
  await holders.follow(real);
  for (const { value, name, from, to } of refusals) {
    assert.ok(holders.wasHeld(value, name, from, to), `"${value}" was refused to ${name}, and nobody held it`);
  }
  for (const slug of [random.pick(values), random.pick(values)]) {
    await until(() => isDecidedByObjects(slug, { service, real, holders }), { interval: 5 });
  }
}

/** Takes a value if nobody holds it, and is refused it otherwise; false when a busy machine did not answer in time. */
async function isDecidedByObjects(
  slug: string,
  { service, real, holders }: Pick<Race, 'service' | 'real' | 'holders'>,
): Promise<boolean> {
  await holders.follow(real);
  const holder = holders.holderOf(`slug ${slug}`);
  try {
    const { metadata } = await service.client.create(Thing, { metadata: { generateName: 'probe-' }, spec: { slug } });
    assert.equal(holder, undefined, `"${slug}" was held by ${holder}`);
    await service.client.delete(Thing, metadata.name).catch(() => {});
    return true;
  } catch (error) {
    const { code } = error as { code?: string };
    if (code === 'UniqueViolation' && holder !== undefined) return true;
    if (code === 'NotReady' || code === 'UnknownOutcome') return false;
    throw error;
  }
}

/** Kills a process that writes to a SQLite file; each time the log must show no value held twice, and all that was acknowledged. */
export async function killed(kills: number, onProgress?: (kills: number) => void): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'kindred-races-'));
  const url = `sqlite:${join(folder, 'data.db')}`;
  const holders = new Holders();
  let acknowledged = 0;
  try {
    for (let kill = 1; kill <= kills; kill++) {
      const child = spawn(process.execPath, [...fromSources, import.meta.filename, '--child', url], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      let told = '';
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        told += text;
      });
      const ended = new Promise((resolve) => child.stdout.once('close', resolve));
      await until(() => told.includes('\n') || child.exitCode !== null, { timeout: 30_000 });
      assert.equal(child.exitCode, null, 'the writer ended by itself');
      await pause(Math.random() * 300);
      child.kill('SIGKILL');
      await ended;
      const store = await openStore(url);
      await holders.follow(store);
      await store.close();
      const revisions = told.split('\n').slice(0, -1).map(Number);
      acknowledged += revisions.length;
      assert.ok(Math.max(0, ...revisions) <= holders.revision, 'what was acknowledged is lost');
      onProgress?.(kill);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
  return acknowledged;
}

/** Writes until it is killed, and tells the newest revision after each acknowledged write. */
async function writeOn(url: string): Promise<void> {
  const store = await openStore(url);
  const service = await serviceOn(store);
  const random = new Random(Date.now());
  const tally: Tally = { acknowledged: 0 };
  const write = async (): Promise<void> => {
    for (;;) {
      const { acknowledged } = tally;
      await writeOne(service, store, random, tally);
      if (tally.acknowledged > acknowledged) writeSync(1, `${await store.revision()}\n`);
    }
  };
  await Promise.all(Array.from({ length: 64 }, write));
}

if (process.argv[1] === import.meta.filename) {
  const { values: flags } = parseArgs({
    options: {
      races: { type: 'string', default: '10000' },
      seed: { type: 'string', default: '1' },
      kills: { type: 'string' },
      child: { type: 'string' },
    },
  });
  const told = (count: number): void => {
    if (count % 500 === 0) console.log(count);
  };
  if (flags.child !== undefined) await writeOn(flags.child);
  else if (flags.kills !== undefined) {
    const acknowledged = await killed(Number(flags.kills), (count) => count % 25 === 0 && console.log(count));
    console.log(`${flags.kills} kills, ${acknowledged} writes acknowledged: no value held twice, none lost`);
  } else {
    const tally = await race({ races: Number(flags.races), seed: Number(flags.seed), onProgress: told });
    console.log(`${flags.races} races of 64 writers: no value held twice, none lost, no false refusal`, tally);
  }
}
