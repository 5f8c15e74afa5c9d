/** A model's objects and unique values in the store where they are to be, during a move (docs/decisions/placement.md). */
import { hash } from 'node:crypto';
import { KindredError } from '../errors.ts';
import type { Change, Claim, Claims, HeldClaim, Row, Store, Write, WriteResult } from '../store/store.ts';
import { keepsClaims } from './claims.ts';

/** Rows and changes that are read at once. */
const portion = 500;
/** Bytes of objects in one transaction, about. */
const batchBytes = 4 * 2 ** 20;

export interface MoveProgress {
  readonly step: 'copy' | 'follow' | 'sealed' | 'remove';
  /** Objects that are done, or changes that were followed. */
  readonly done: number;
  /** How many there are; 0 when that is not known. */
  readonly total: number;
}

/** What is copied of a row: who it is in the target, and what it is a copy of. */
interface Copy {
  readonly id: number;
  readonly revision: number;
  readonly digest: string;
  /** Its id in the source; undefined as long as it was not seen there. */
  from: number | undefined;
}

/** The target is not as this process knows it: it is read again. */
export class Unsure extends Error {}

export type Committed = Extract<WriteResult, { ok: true }>;

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
  readonly onProgress: ((progress: MoveProgress) => void) | undefined;
}

interface Made {
  readonly name: string;
  readonly digest: string;
  readonly from: number;
}

/** What the target has of the source. */
export class Copies {
  readonly #ways: CopyWays;
  /** By name. */
  #copies = new Map<string, Copy>();

  constructor(ways: CopyWays) {
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
          this.#ways.onProgress?.({ step: 'copy', done: seen.size, total });
        }
        await this.#drop([...this.#copies.keys()].filter((name) => !seen.has(name)));
        return since;
      } catch (error) {
        if (!(error instanceof Unsure)) throw error;
      }
    }
  }

  /**
   * Copies the changes after a revision.
   * @param left the number of changes at which it may end
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
      this.#ways.onProgress?.({ step: 'follow', done, total: 0 });
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

function digestOf(bytes: Uint8Array): string {
  return hash('sha256', bytes, 'base64');
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex');
}
