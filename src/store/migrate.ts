/**
 * Moves a store from one database to another, byte for byte: revisions, ids, fencing tokens and the change log stay what
 * they are, and so do claims where both stores keep them. Otherwise the first service on the target makes its claims.
 */
import type { Hash } from 'node:crypto';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { openStore } from './open.ts';
import type { StoreOptions } from './options.ts';
import { sqliteFile } from './sqlite-file.ts';
import type { Change, Claim, Claims, LoadPart, MaybePromise, ModelRow, Row, Store } from './store.ts';

export interface MigrateProgress {
  readonly step: 'rows' | 'claims' | 'changes' | 'verify';
  /** Rows, claims or changes of this step that are done; in `verify` all of them in both databases. */
  readonly done: number;
  /** How many there are; 0 when that is not known before the end. */
  readonly total: number;
}

export interface MigrateOptions {
  readonly onProgress?: (progress: MigrateProgress) => void;
  /** Rows that are read and written at once, at most. Default 500. */
  readonly batch?: number;
  readonly store?: StoreOptions;
  /** Makes a call to either database, again when it fails for the moment: every call may be made twice. Default: once. */
  readonly attempt?: <R>(call: () => Promise<R>) => Promise<R>;
  /** Stops before the next call, with the signal's reason. */
  readonly signal?: AbortSignal;
}

export interface MigrateResult {
  readonly revision: number;
  readonly rows: number;
  /** 0 when not both of the stores keep claims. */
  readonly claims: number;
  readonly changes: number;
  /** SHA-256 over everything that was moved, in hexadecimal; the same for both databases. */
  readonly hash: string;
}

type LoadClaim = Claim & { id: number };

/** What of a store is used here. */
type Side = Pick<Store, 'revision' | 'oldest' | 'models' | 'count' | 'scan' | 'changes' | 'tokens' | 'load'> &
  Pick<Claims, 'claims'>;

/**
 * Copies `from` into `to` and compares both by count and content. No service may use either meanwhile. After an
 * interruption the same call goes on where it stopped. Throws a plain error when `from` is a file that is not there, when `to`
 * holds data of its own, when `from` changes while it is copied, or when the comparison fails.
 */
export async function migrate(from: string, to: string, options: MigrateOptions = {}): Promise<MigrateResult> {
  if (from.startsWith('sqlite:') && !existsSync(sqliteFile(from))) {
    throw new Error(`there is no database ${sqliteFile(from)}`);
  }
  const source = await openStore(from, options.store);
  try {
    const target = await openStore(to, options.store);
    try {
      const claiming = source.claims !== undefined && target.claims !== undefined;
      return await copy(patient(source, claiming, options), patient(target, claiming, options), options);
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

/** The store, each call as the options say. @param claiming both stores keep claims */
function patient(store: Store, claiming: boolean, { attempt = (call) => call(), signal }: MigrateOptions): Side {
  const make = <R>(call: () => MaybePromise<R>): Promise<R> =>
    attempt(async () => {
      signal?.throwIfAborted();
      return call();
    });
  return {
    revision: () => make(() => store.revision()),
    oldest: () => make(() => store.oldest()),
    models: () => make(() => store.models()),
    count: (model) => make(() => store.count(model)),
    scan: (model, after, limit) => make(() => store.scan(model, after, limit)),
    claims: (model, after, limit) => (claiming ? make(() => store.claims!(model, after, limit)) : []),
    changes: (since, limit) => make(() => store.changes(since, limit)),
    tokens: () => make(() => store.tokens()),
    load: (part) => make(() => store.load(part)),
  };
}

async function copy(source: Side, target: Side, options: MigrateOptions): Promise<MigrateResult> {
  const { batch = 500, onProgress = () => undefined } = options;
  const revision = await source.revision();
  const oldest = await source.oldest();
  const models = await source.models();
  await assertOurs(source, target, models, revision);
  await target.load({ models });

  const total = (await Promise.all(models.map(async ({ number }) => source.count(number)))).reduce((a, b) => a + b, 0);
  let rows = 0;
  let claims = 0;
  for (const { number: model } of models) {
    // Ids only grow and rows are copied by id, so what is there already is a beginning of what is to come.
    let last = await lastId(target, model, batch);
    rows += await target.count(model);
    for (;;) {
      onProgress({ step: 'rows', done: rows, total });
      const part = await source.scan(model, last, batch);
      if (part.length === 0) break;
      await loadBySize(
        target,
        part,
        (list) => ({ model, rows: list }),
        (row) => row.bytes.byteLength,
      );
      rows += part.length;
      last = part.at(-1)!.id;
    }
    for await (const part of claimParts(source, model, batch)) {
      await target.load({ model, claims: part });
      claims += part.length;
      onProgress({ step: 'claims', done: claims, total: 0 });
    }
  }
  let changes = 0;
  for await (const part of changeParts(source, oldest, batch)) {
    const size = (change: Change): number => change.bytes.byteLength + (change.before?.byteLength ?? 0);
    await loadBySize(target, part, (list) => ({ changes: list }), size);
    changes += part.length;
    onProgress({ step: 'changes', done: changes, total: revision - oldest });
  }
  if ((await source.revision()) !== revision)
    throw new Error('the source was written to while it was copied: stop its service first');
  await target.load({ tokens: await source.tokens() });
  await target.load({ revision, oldest });

  let compared = 0;
  const compare = async (side: Side): Promise<Contents> =>
    contents(side, models, oldest, batch, (count) => {
      compared += count;
      onProgress({ step: 'verify', done: compared, total: 2 * (rows + claims + changes) });
    });
  const [left, right] = [await compare(source), await compare(target)];
  const difference = differenceOf(models, left, right, { rows, claims, changes });
  if (difference)
    throw new Error(`after copying the databases differ: ${difference}; remove the target and copy again`);
  return { revision, rows, claims, changes, hash: left.hash };
}

interface Contents extends Omit<MigrateResult, 'revision'> {
  /** Rows of each model, in the order of the models. */
  readonly rowsOf: readonly number[];
}

/** The first thing in which the source, the target and what was copied do not agree. */
function differenceOf(
  models: readonly ModelRow[],
  left: Contents,
  right: Contents,
  copied: Readonly<Record<'rows' | 'claims' | 'changes', number>>,
): string | undefined {
  for (const [i, { group, kind }] of models.entries()) {
    const [there, here] = [left.rowsOf[i], right.rowsOf[i]];
    if (there !== here) return `${there} objects of ${kind} (${group}) in the source, ${here} in the target`;
  }
  for (const [what, noun] of Object.entries(nouns) as [keyof typeof nouns, string][]) {
    const [there, here, moved] = [left[what], right[what], copied[what]];
    if (there !== here) return `${there} ${noun} in the source, ${here} in the target`;
    if (there !== moved) return `${there} ${noun} in both, ${moved} copied`;
  }
  return left.hash === right.hash ? undefined : 'their contents are not the same';
}

const nouns = { rows: 'objects', claims: 'unique values', changes: 'changes' } as const;

/** A target with data is ours when it is an interrupted copy: never finished, and with the source's models alone. */
async function assertOurs(source: Side, target: Side, models: readonly ModelRow[], revision: number): Promise<void> {
  const there = await target.models();
  const known = new Set(models.map((model) => `${model.number} ${model.group}/${model.kind}`));
  const foreign = there.find((model) => !known.has(`${model.number} ${model.group}/${model.kind}`));
  const at = await target.revision();
  if (foreign || (at !== 0 && at !== revision)) {
    throw new Error(`the target database holds data of its own (revision ${at}); choose an empty one`);
  }
  for (const { number } of there) {
    const [first] = await target.scan(number, 0, 1);
    const [original] = await source.scan(number, 0, 1);
    if (first && first.id !== original?.id)
      throw new Error('the target database holds data of its own; choose an empty one');
  }
}

async function lastId(store: Side, model: number, batch: number): Promise<number> {
  let last = 0;
  for (;;) {
    const rows = await store.scan(model, last, batch);
    if (rows.length === 0) return last;
    last = rows.at(-1)!.id;
  }
}

/** Loads in pieces of about 4 MiB. */
async function loadBySize<T>(
  target: Side,
  list: readonly T[],
  partOf: (piece: readonly T[]) => LoadPart,
  sizeOf: (one: T) => number,
): Promise<void> {
  let piece: T[] = [];
  let bytes = 0;
  for (const one of list) {
    if (piece.length > 0 && bytes + sizeOf(one) > 4 * 2 ** 20) {
      await target.load(partOf(piece));
      piece = [];
      bytes = 0;
    }
    piece.push(one);
    bytes += sizeOf(one);
  }
  if (piece.length > 0) await target.load(partOf(piece));
}

async function* claimParts(store: Side, model: number, batch: number): AsyncGenerator<readonly LoadClaim[]> {
  let after: Uint8Array | undefined;
  for (;;) {
    const part = await store.claims(model, after, batch);
    if (part.length === 0) return;
    yield part;
    after = part.at(-1)!.hash;
  }
}

async function* changeParts(store: Side, since: number, batch: number): AsyncGenerator<readonly Change[]> {
  let last = since;
  for (;;) {
    const part = await store.changes(last, batch);
    if (part.length === 0) return;
    yield part;
    last = part.at(-1)!.revision;
  }
}

async function contents(
  store: Side,
  models: readonly ModelRow[],
  oldest: number,
  batch: number,
  onRead: (count: number) => void,
): Promise<Contents> {
  const hash = createHash('sha256');
  const count = { rows: 0, claims: 0, changes: 0 };
  const rowsOf: number[] = [];
  for (const { number: model } of models) {
    const before = count.rows;
    for (let last = 0; ; ) {
      const rows: readonly Row[] = await store.scan(model, last, batch);
      if (rows.length === 0) break;
      for (const { id, revision, name, bytes } of rows) add(hash, [model, id, revision, name], bytes);
      count.rows += rows.length;
      last = rows.at(-1)!.id;
      onRead(rows.length);
    }
    rowsOf.push(count.rows - before);
    for await (const part of claimParts(store, model, batch)) {
      for (const claim of part) add(hash, [model, claim.index, claim.key, claim.id], claim.hash);
      count.claims += part.length;
      onRead(part.length);
    }
  }
  for await (const part of changeParts(store, oldest, batch)) {
    for (const { revision, time, type, model, id, name, bytes, before } of part) {
      add(hash, [revision, time, type, model, id, name], bytes, before);
    }
    count.changes += part.length;
    onRead(part.length);
  }
  for (const { number, generation, contract, storageVersion } of await store.models())
    add(hash, [number, generation, contract ?? '', storageVersion ?? '']);
  const { first, leases } = await store.tokens();
  add(hash, [first, ...leases.flatMap(({ name, token }) => [name, token])]);
  return { ...count, rowsOf, hash: hash.digest('hex') };
}

/** Every part with its length, so that no two contents give the same stream. */
function add(hash: Hash, head: readonly (string | number)[], ...parts: readonly (Uint8Array | undefined)[]): void {
  hash.update(JSON.stringify([...head, ...parts.map((part) => part?.byteLength ?? null)]));
  for (const part of parts) if (part) hash.update(part);
}
