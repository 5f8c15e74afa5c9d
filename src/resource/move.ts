/**
 * Moves the objects of a model to another store while replicas serve them (docs/decisions/placement.md). Each step leaves
 * both stores so that the same call goes on from there, however it ended:
 *
 * 1. *copying*: the target gets rows of its own, with ids and revisions of its own, and follows the change log;
 * 2. *sealed*: the record says that nobody writes, and a new generation of the model in the source refuses who does not
 *    know it yet; what the log still has is copied, then unique values, and both are counted;
 * 3. *moved*: the record names the target, and replicas read it there;
 * 4. *left*: what the source still has is removed.
 */
import { hash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { KindredError } from '../errors.ts';
import { notReady } from '../store/failure.ts';
import { Leases } from '../store/leases.ts';
import { defaultStore } from '../store/options.ts';
import type { Change, Claim, Claims, HeldClaim, ModelRow, Row, Store, Write, WriteResult } from '../store/store.ts';
import { keepsClaims } from './claims.ts';
import { knownMarkNumber, putMark, readMarks } from './marks.ts';
import type { PlaceRecord } from './placement.ts';
import { sealedGeneration, unsealed } from './seal.ts';

interface MoveProgress {
  readonly step: 'copy' | 'follow' | 'sealed' | 'remove';
  /** Objects that are done, or changes that were followed. */
  readonly done: number;
  /** How many there are; 0 when that is not known. */
  readonly total: number;
}

export interface MoveOptions {
  /** `<plural>.<group>`. */
  readonly model: string;
  /** As the model names it. */
  readonly kind: string;
  /** The name of the store where the objects shall be. While they move: that where they are gives the move up. */
  readonly to: string;
  /** Every store of the service by name, the default one first. */
  readonly stores: ReadonlyMap<string, Store>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly onProgress?: (progress: MoveProgress) => void;
  /** Makes a call again when it fails for the moment. Default: once. */
  readonly attempt?: <R>(call: () => Promise<R>) => Promise<R>;
  /** Stops before the next call, with the signal's reason. */
  readonly signal?: AbortSignal;
  /** Milliseconds that replicas have to learn where the objects are, before what they left is removed. Default 3,000. */
  readonly settling?: number;
}

export interface MoveResult {
  readonly from: string;
  readonly to: string;
  readonly objects: number;
  readonly claims: number;
  /** Milliseconds in which nobody could change an object. */
  readonly sealed: number;
  /** The objects were there already, and what they left is gone now. */
  readonly wasThere: boolean;
}

/** Rows and changes that are read at once. */
const portion = 500;
/** Bytes of objects in one transaction, about. */
const batchBytes = 4 * 2 ** 20;
/** Changes that may be left when the model is sealed: they are copied in a moment. */
const few = 200;
/** Milliseconds. */
const defaultSettling = 3_000;
/** The lease keeps two moves of a model from running at once. */
const lease = { ttl: 15_000, renewed: 4_000 };

/** What is copied of a row: who it is in the target, and what it is a copy of. */
interface Copy {
  readonly id: number;
  readonly revision: number;
  readonly digest: string;
  /** Its id in the source; undefined as long as it was not seen there. */
  from: number | undefined;
}

/** The target is not as this process knows it: it is read again. */
class Unsure extends Error {}

export async function moveModel(options: MoveOptions): Promise<MoveResult> {
  const { model, to, stores } = options;
  const group = model.slice(model.indexOf('.') + 1);
  if (!model.includes('.')) throw new Error(`"${model}" is no model: expected <plural>.<group>`);
  if (!stores.has(to)) throw new Error(`there is no store "${to}": expected ${[...stores.keys()].join(' or ')}`);
  const mover = new Mover(options, group);
  await mover.begin();
  try {
    return await mover.run();
  } finally {
    await mover.end();
  }
}

class Mover {
  readonly #options: MoveOptions;
  readonly #group: string;
  readonly #main: Store;
  readonly #leases: Leases;
  readonly #holder = `move-${process.pid}-${Date.now()}`;
  #held: { lease: string; token: number } | undefined;
  #renewedAt = 0;
  #sealedAt = 0;

  constructor(options: MoveOptions, group: string) {
    this.#options = options;
    this.#group = group;
    this.#main = options.stores.get(defaultStore)!;
    this.#leases = new Leases([...options.stores.values()]);
  }

  async begin(): Promise<void> {
    await this.#call(() => undefined);
  }

  async end(): Promise<void> {
    if (this.#held) {
      const { lease: name, token } = this.#held;
      await this.#leases.releaseLease({ name, token, holder: this.#holder }).catch(() => undefined);
    }
  }

  async run(): Promise<MoveResult> {
    const { to } = this.#options;
    const record = await this.#record();
    if (record.left !== undefined) await this.#remove(record.store, record.left);
    if (record.moving) {
      if (to === record.store) return this.#giveUp(record);
      if (to !== record.moving.to)
        throw new Error(
          `the objects are being moved from "${record.store}" to "${record.moving.to}": finish that, or give it up with --to ${record.store}`,
        );
      return this.#move(record);
    }
    if (to === record.store) {
      const number = await this.#number(to);
      const objects = await this.#call(() => this.#store(to).count(number));
      return { from: record.left ?? to, to, objects, claims: 0, sealed: 0, wasThere: true };
    }
    const number = await this.#number(to);
    if ((await this.#call(() => this.#store(to).count(number))) > 0)
      throw new Error(`the store "${to}" has objects of the model that are of no move`);
    const begun = { store: record.store, moving: { to } };
    await this.#put(begun);
    return this.#move(begun);
  }

  async #move({ store: from, moving }: PlaceRecord): Promise<MoveResult> {
    const { to } = moving!;
    const numbers = { from: await this.#number(from), to: await this.#number(to) };
    const copies = new Copies(this.#options, {
      from: { store: this.#store(from), number: numbers.from },
      to: { store: this.#store(to), number: numbers.to },
      call: (call) => this.#call(call),
      commit: (writes) => this.#commit(to, writes),
    });
    let since = await copies.copyAll();
    if (moving!.sealed === undefined) {
      since = await copies.follow(since, few);
      await copies.copyClaims();
      since = await copies.follow(since, few);
    }
    const { generation, sealed } = await this.#seal(from, numbers.from, to);
    this.#options.onProgress?.({ step: 'sealed', done: 0, total: 0 });
    await copies.follow(since, 0, sealed);
    const { wanted, made: claims } = await copies.copyClaims();
    if (wanted !== claims)
      throw new Error(`after copying, "${from}" has ${wanted} unique values and "${to}" has ${claims}`);
    const objects = await this.#call(() => this.#store(to).count(numbers.to));
    const there = await this.#call(() => this.#store(from).count(numbers.from));
    if (objects !== there) throw new Error(`after copying, "${from}" has ${there} objects and "${to}" has ${objects}`);
    await this.#activate(from, numbers.from, to, numbers.to, generation);
    await this.#put({ store: to, left: from });
    const pausedFor = this.#options.now() - this.#sealedAt;
    await this.#remove(to, from);
    return { from, to, objects, claims, sealed: pausedFor, wasThere: false };
  }

  /** From here on nobody changes an object in the source. @returns the generation of before, and the revision of the seal */
  async #seal(from: string, number: number, to: string): Promise<{ generation: number; sealed: number }> {
    this.#sealedAt = this.#options.now();
    const store = this.#store(from);
    for (;;) {
      const row = await this.#row(store, number);
      const { generation } = unsealed(row);
      // The record first: who reads the next generation finds it there.
      await this.#put({ store: from, moving: { to, sealed: generation } });
      // Otherwise another contract became active in between.
      if (row.generation !== generation || (await this.#setGeneration(from, row, sealedGeneration(generation))))
        return { generation, sealed: await this.#call(async () => store.revision()) };
    }
  }

  /** The target gets the contract that fences writes, with the generation that the service knows. */
  async #activate(from: string, fromNumber: number, to: string, toNumber: number, generation: number): Promise<void> {
    const { contract, storageVersion } = await this.#row(this.#store(from), fromNumber);
    const row = await this.#row(this.#store(to), toNumber);
    if (row.generation === generation && row.contract === contract && row.storageVersion === storageVersion) return;
    if (!(await this.#setGeneration(to, { ...row, contract, storageVersion } as ModelRow, generation)))
      throw new Error(`the contract of the model was changed in "${to}"`);
  }

  /** False when the row is another by now. */
  async #setGeneration(store: string, row: ModelRow, to: number): Promise<boolean> {
    const { number, generation, contract = '', storageVersion = '' } = row;
    const activate = { model: number, from: generation, to, contract, storageVersion };
    return this.#call(async () => {
      const result = await putMark(
        this.#store(store),
        'move',
        this.#options.model,
        { generation: to },
        {
          activate,
          now: this.#options.now(),
        },
      );
      // After an unknown outcome the second call finds that the first one did it.
      return result.ok || (await this.#store(store).models(number))[0]!.generation === to;
    });
  }

  async #giveUp({ store, moving }: PlaceRecord): Promise<MoveResult> {
    const number = await this.#number(store);
    const row = await this.#row(this.#store(store), number);
    const { generation } = unsealed(row);
    if (row.generation !== generation) await this.#setGeneration(store, row, generation);
    await this.#put({ store, left: moving!.to });
    await this.#remove(store, moving!.to);
    const objects = await this.#call(() => this.#store(store).count(number));
    return { from: moving!.to, to: store, objects, claims: 0, sealed: 0, wasThere: true };
  }

  /** What is left in another store than that of the objects. */
  async #remove(store: string, left: string): Promise<void> {
    const { settling = defaultSettling } = this.#options;
    await this.#call(() => pause(settling));
    const number = await this.#number(left);
    const total = await this.#call(() => this.#store(left).count(number));
    for (let done = 0; ; ) {
      const gone = await this.#call(() => this.#store(left).purge(number));
      if (gone === 0) break;
      done += gone;
      this.#options.onProgress?.({ step: 'remove', done: Math.min(done, total), total });
    }
    await this.#put({ store });
  }

  async #record(): Promise<PlaceRecord> {
    return this.#call(async () => {
      const number = await knownMarkNumber(this.#main, 'place');
      const marks = number === undefined ? undefined : await readMarks<PlaceRecord>(this.#main, number);
      return marks?.get(this.#options.model)?.content ?? { store: defaultStore };
    });
  }

  async #put(record: PlaceRecord): Promise<void> {
    const { model, now } = this.#options;
    const result = await this.#call(() => putMark(this.#main, 'place', model, record, { now: now() }));
    if (!result.ok) throw new Error(`where the objects are could not be recorded: ${result.reason}`);
  }

  #store(name: string): Store {
    const store = this.#options.stores.get(name);
    if (!store) throw new Error(`the objects are in the store "${name}", which the setting "stores" does not name`);
    return store;
  }

  #number(store: string): Promise<number> {
    return this.#call(() => this.#store(store).modelNumber(this.#group, this.#options.kind));
  }

  async #row(store: Store, number: number): Promise<ModelRow> {
    return (await this.#call(async () => store.models(number)))[0]!;
  }

  async #commit(to: string, writes: readonly Write[]): Promise<readonly Committed[]> {
    const store = this.#store(to);
    const results = await this.#call(() => {
      const fence = this.#leases.fenceIn(store, this.#held!);
      if (!fence) throw notReady(`the lease on the move is not held in "${to}"`);
      const fenced = writes.map((write) => ({ ...write, fence }));
      return store.commit(fenced, this.#options.now());
    });
    return results.map((result) => {
      if (result.ok) return result;
      throw result.reason === 'fenced' ? movedElsewhere() : new Unsure(result.reason);
    });
  }

  async #call<R>(call: () => R | Promise<R>): Promise<R> {
    const { attempt = (one) => one(), signal, now } = this.#options;
    return attempt(async () => {
      signal?.throwIfAborted();
      if (now() - this.#renewedAt > lease.renewed) await this.#renew();
      return call();
    });
  }

  async #renew(): Promise<void> {
    const { model, now } = this.#options;
    const name = `move/${model}`;
    const held = await this.#leases.acquireLease(name, this.#holder, lease.ttl, now());
    if (!held) throw movedElsewhere();
    this.#held = { lease: name, token: held.token };
    this.#renewedAt = now();
  }
}

type Committed = Extract<WriteResult, { ok: true }>;

interface Side {
  readonly store: Store;
  readonly number: number;
}

interface CopyWays {
  readonly from: Side;
  readonly to: Side;
  readonly call: <R>(call: () => R | Promise<R>) => Promise<R>;
  /** Throws `Unsure` unless all of them are made. */
  readonly commit: (writes: readonly Write[]) => Promise<readonly Committed[]>;
}

/** What the target has of the source. */
class Copies {
  readonly #options: Pick<MoveOptions, 'onProgress'>;
  readonly #ways: CopyWays;
  /** By name. */
  #copies = new Map<string, Copy>();

  constructor(options: Pick<MoveOptions, 'onProgress'>, ways: CopyWays) {
    this.#options = options;
    this.#ways = ways;
  }

  /** Makes the target as the source is. @returns from which revision of the source on it has to follow */
  async copyAll(): Promise<number> {
    const { from, call } = this.#ways;
    for (;;) {
      try {
        await this.#readCopies();
        const since = await call(() => from.store.revision());
        const total = await call(() => from.store.count(from.number));
        const seen = new Set<string>();
        for await (const rows of this.#rowsOf(from)) {
          await this.#put(rows);
          for (const { name } of rows) seen.add(name);
          this.#options.onProgress?.({ step: 'copy', done: seen.size, total });
        }
        await this.#drop([...this.#copies.keys()].filter((name) => !seen.has(name)));
        return since;
      } catch (error) {
        if (!(error instanceof Unsure)) throw error;
      }
    }
  }

  /**
   * Copies what was changed since then, until at most so many changes are left.
   * @param through goes on until this revision is copied
   * @returns the revision that was reached
   */
  async follow(since: number, left: number, through = 0): Promise<number> {
    const { from, call } = this.#ways;
    let reached = since;
    let done = 0;
    for (;;) {
      const newest = await call(() => from.store.revision());
      let changes: readonly Change[];
      try {
        changes = await call(() => from.store.changes(reached, portion, { model: from.number }));
        const last = new Map(changes.map((change) => [change.name, change]));
        const kept = [...last.values()];
        await this.#drop(kept.filter(({ type }) => type === 'delete').map(({ name }) => name));
        await this.#put(kept.filter(({ type }) => type !== 'delete'));
      } catch (error) {
        const isExpired = error instanceof KindredError && error.code === 'Expired';
        if (!isExpired && !(error instanceof Unsure)) throw error;
        reached = await this.copyAll();
        continue;
      }
      reached = changes.at(-1)?.revision ?? Math.max(reached, newest);
      done += changes.length;
      this.#options.onProgress?.({ step: 'follow', done, total: 0 });
      if (changes.length <= left && newest >= through) return reached;
    }
  }

  /** Makes the unique values of the target those of the source. @returns how many both have */
  async copyClaims(): Promise<{ readonly wanted: number; readonly made: number }> {
    const { from, to, call } = this.#ways;
    if (!keepsClaims(from.store) || !keepsClaims(to.store)) return { wanted: 0, made: 0 };
    const bySource = new Map([...this.#copies.values()].map((copy) => [copy.from, copy]));
    const revisions = new Map([...this.#copies.values()].map(({ id, revision }) => [id, revision]));
    const there = new Map<string, Claim & { id: number }>();
    for await (const claim of this.#claimsOf(to)) there.set(hex(claim.hash), claim);
    let count = 0;
    let add: (Claim & { id: number; revision: number })[] = [];
    let remove: HeldClaim[] = [];
    const mend = async (): Promise<void> => {
      // What is removed first is free for what is added.
      if (remove.length > 0) await call(() => (to.store as Store & Claims).mendClaims(to.number, [], remove));
      if (add.length > 0) await call(() => (to.store as Store & Claims).mendClaims(to.number, add, []));
      [add, remove] = [[], []];
    };
    const held = ({ hash, id }: Claim & { id: number }): HeldClaim => ({ hash, id, revision: revisions.get(id) });
    for await (const claim of this.#claimsOf(from)) {
      const copy = bySource.get(claim.id);
      // Its row was changed since: the change log brings it.
      if (!copy) continue;
      count++;
      const known = there.get(hex(claim.hash));
      there.delete(hex(claim.hash));
      if (known?.id === copy.id) continue;
      if (known) remove.push(held(known));
      add.push({ ...claim, id: copy.id, revision: copy.revision });
      if (add.length + remove.length >= portion) await mend();
    }
    await mend();
    for (const claim of there.values()) {
      remove.push(held(claim));
      if (remove.length >= portion) await mend();
    }
    await mend();
    let made = 0;
    for await (const _ of this.#claimsOf(to)) made++;
    return { wanted: count, made };
  }

  async #readCopies(): Promise<void> {
    this.#copies = new Map();
    for await (const rows of this.#rowsOf(this.#ways.to)) {
      for (const { id, revision, name, bytes } of rows)
        this.#copies.set(name, { id, revision, digest: digestOf(bytes), from: undefined });
    }
  }

  /** @param rows with their ids in the source */
  async #put(rows: readonly Pick<Row, 'id' | 'name' | 'bytes'>[]): Promise<void> {
    let writes: Write[] = [];
    let made: Made[] = [];
    let bytes = 0;
    const flush = async (): Promise<void> => {
      if (writes.length > 0) await this.#write(writes, made);
      [writes, made, bytes] = [[], [], 0];
    };
    for (const row of rows) {
      const copy = this.#copies.get(row.name);
      const digest = digestOf(row.bytes);
      if (copy?.digest === digest) {
        copy.from = row.id;
        continue;
      }
      if (bytes > 0 && bytes + row.bytes.byteLength > batchBytes) await flush();
      const { number: model } = this.#ways.to;
      const { name } = row;
      writes.push(
        copy
          ? { type: 'update', model, name, expected: { id: copy.id, revision: copy.revision }, bytes: row.bytes }
          : { type: 'create', model, name, bytes: row.bytes },
      );
      made.push({ name, digest, from: row.id });
      bytes += row.bytes.byteLength;
    }
    await flush();
  }

  async #drop(names: readonly string[]): Promise<void> {
    const { number: model } = this.#ways.to;
    const there = names.filter((name) => this.#copies.has(name));
    for (let i = 0; i < there.length; i += portion) {
      const part = there.slice(i, i + portion);
      await this.#ways.commit(
        part.map((name): Write => {
          const { id, revision } = this.#copies.get(name)!;
          return { type: 'delete', model, name, expected: { id, revision }, bytes: new Uint8Array() };
        }),
      );
      for (const name of part) this.#copies.delete(name);
    }
  }

  async #write(writes: readonly Write[], made: readonly Made[]): Promise<void> {
    const results = await this.#ways.commit(writes);
    for (const [i, { name, digest, from }] of made.entries()) {
      const { id, revision } = results[i]!;
      this.#copies.set(name, { id, revision, digest, from });
    }
  }

  async *#rowsOf({ store, number }: Side): AsyncGenerator<readonly Row[]> {
    for (let after = 0; ; ) {
      const rows = await this.#ways.call(() => store.scan(number, after, portion));
      if (rows.length === 0) return;
      yield rows;
      after = rows.at(-1)!.id;
    }
  }

  async *#claimsOf({ store, number }: Side): AsyncGenerator<Claim & { id: number }> {
    for (let after: Uint8Array | undefined; ; ) {
      const claims = await this.#ways.call(() => (store as Store & Claims).claims(number, after, portion));
      if (claims.length === 0) return;
      yield* claims;
      after = claims.at(-1)!.hash;
    }
  }
}

interface Made {
  readonly name: string;
  readonly digest: string;
  readonly from: number;
}

function movedElsewhere(): Error {
  return new Error('another process is moving the objects of this model');
}

function digestOf(bytes: Uint8Array): string {
  return hash('sha256', bytes, 'base64');
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex');
}
