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
import { setTimeout as pause } from 'node:timers/promises';
import { notReady } from '../store/failure.ts';
import { Leases } from '../store/leases.ts';
import { defaultStore } from '../store/options.ts';
import type { ModelRow, Store, Write } from '../store/store.ts';
import type { Committed, MoveProgress } from './copies.ts';
import { Copies, Unsure } from './copies.ts';
import { knownMarkNumber, putMark, readMarks } from './marks.ts';
import type { PlaceRecord } from './placement.ts';
import { sealedGeneration, unsealed } from './seal.ts';

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

/** Changes that may be left when the model is sealed: they are copied in a moment. */
const few = 200;
/** Milliseconds. */
const defaultSettling = 3_000;
/** The lease keeps two moves of a model from running at once. */
const lease = { ttl: 15_000, renewed: 4_000 };

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
    const copies = new Copies({
      from: { store: this.#store(from), number: numbers.from },
      to: { store: this.#store(to), number: numbers.to },
      call: (call) => this.#call(call),
      commit: (writes) => this.#commit(to, writes),
      onProgress: this.#options.onProgress,
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

function movedElsewhere(): Error {
  return new Error('another process is moving the objects of this model');
}
