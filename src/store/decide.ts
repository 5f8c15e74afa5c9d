/**
 * The rule of the store: whether a write succeeds, and why it does not. Every database follows it. SQLite asks for each
 * write; a server is a network away, where that would cost a round trip: there everything that a batch depends on is read
 * once, while the database holds the lock on the revision, and the batch is planned here and written once.
 */
import type { Activation, Claim, HeldClaim, Write, WriteResult } from './store.ts';

/** What the outcome of a write depends on, as the writes before it left it. */
export interface RowState {
  row(model: number, name: string): { readonly id: number; readonly revision: number } | undefined;
  lease(name: string): { readonly token: number; readonly expires: number } | undefined;
  /** Of a model. */
  generation(model: number): number | undefined;
  /** The revision of the newest change of an object of a model. */
  changedAt(model: number): number;
}

/** What it depends on in a store that keeps claims. */
export interface WriteState extends RowState {
  /** The revision of a row by its id. */
  revisionOf(model: number, id: number): number | undefined;
  /** The id of the row that has taken a value. */
  holderOf(model: number, hash: Uint8Array): number | undefined;
}

/**
 * The rule of a store that keeps no claims.
 * @param revision what the write has when it succeeds
 */
export function decideRow(write: Write, time: number, revision: number, state: RowState): WriteResult {
  const { type, model, name, expected, fence, generation, activate } = write;
  if (fence) {
    const lease = state.lease(fence.lease);
    if (lease?.token !== fence.token || lease.expires <= time) return { ok: false, reason: 'fenced' };
  }
  if (generation !== undefined && state.generation(model) !== generation) return { ok: false, reason: 'outdated' };
  if (activate) {
    if (state.generation(activate.model) !== activate.from) return { ok: false, reason: 'outdated' };
    const { checked } = activate;
    if (checked !== undefined && state.changedAt(activate.model) > checked) return { ok: false, reason: 'unchecked' };
  }
  const row = state.row(model, name);
  if (type === 'create') {
    if (row) return { ok: false, reason: 'exists' };
  } else {
    if (!row) return { ok: false, reason: 'missing' };
    if (expected && (expected.id !== row.id || expected.revision !== row.revision)) {
      return { ok: false, reason: 'changed' };
    }
  }
  return { ok: true, id: row?.id ?? revision, revision };
}

/** @param revision what the write has when it succeeds */
export function decide(write: Write, time: number, revision: number, state: WriteState): WriteResult {
  const result = decideRow(write, time, revision, state);
  if (!result.ok) return result;
  const { model } = write;
  for (const { hash, index, key } of write.claim ?? []) {
    const holder = state.holderOf(model, hash);
    if (holder !== undefined && holder !== result.id) return { ok: false, reason: 'claimed', index, key };
  }
  for (const { hash, successor } of write.release ?? []) {
    if (!successor || state.holderOf(model, hash) !== result.id) continue;
    if (state.revisionOf(model, successor.id) !== successor.revision) return { ok: false, reason: 'changed' };
  }
  return result;
}

export interface KnownRow {
  readonly model: number;
  readonly name: string;
  readonly id: number;
  readonly revision: number;
}

export interface KnownClaim extends Claim {
  readonly model: number;
  readonly id: number;
}

interface KnownLease {
  readonly name: string;
  readonly token: number;
  readonly expires: number;
}

/** Everything that the outcome of a batch depends on. */
export interface Questions {
  readonly names: readonly { readonly model: number; readonly name: string }[];
  readonly hashes: readonly { readonly model: number; readonly hash: Uint8Array }[];
  readonly leases: readonly string[];
  /** Ids of rows that may take a value over. */
  readonly takeovers: readonly number[];
  /** Models whose generation is asked for. */
  readonly generations: readonly number[];
  /** Models whose newest change is asked for. */
  readonly changed: readonly number[];
}

export interface Answers {
  readonly revision: number;
  /** How often a process has asked what became of a batch; undefined with a database that does not guess. */
  readonly questions?: number | undefined;
  readonly rows: readonly KnownRow[];
  readonly claims: readonly KnownClaim[];
  readonly leases: readonly KnownLease[];
  readonly takeovers: readonly { readonly id: number; readonly model: number; readonly revision: number }[];
  readonly generations: readonly { readonly model: number; readonly generation: number }[];
  readonly changed: readonly { readonly model: number; readonly revision: number }[];
}

export interface PlannedChange {
  readonly revision: number;
  readonly id: number;
  readonly write: Write;
}

export interface Plan {
  readonly results: readonly WriteResult[];
  /** The newest revision after the batch. */
  readonly revision: number;
  /** Changes in steps that are made one after another; in one step no row is changed twice. */
  readonly steps: readonly (readonly PlannedChange[])[];
  /** To be removed first, also those that another row takes over. */
  readonly droppedClaims: readonly { readonly model: number; readonly hash: Uint8Array }[];
  readonly takenClaims: readonly KnownClaim[];
  readonly activations: readonly Activation[];
}

/** What a store has seen while it held the lock on the revision: it stays so until somebody commits. */
export interface Known {
  readonly revision: number;
  /** See `Answers`. */
  readonly questions: number | undefined;
  /** By model. */
  readonly generations: ReadonlyMap<number, number>;
}

/** A batch as it is when nobody has committed since `Known`, and the names and values that it takes are free. */
export interface Guess {
  readonly known: Known;
  readonly plan: Plan;
  /** Rows that must be as they are here. */
  readonly rows: readonly KnownRow[];
}

export function questionsOf(writes: readonly Write[]): Questions {
  const names = new Map<string, { model: number; name: string }>();
  const hashes = new Map<string, { model: number; hash: Uint8Array }>();
  const leases = new Set<string>();
  const takeovers = new Set<number>();
  const generations = new Set<number>();
  const changed = new Set<number>();
  for (const { model, name, claim, release, fence, generation, activate } of writes) {
    names.set(rowKey(model, name), { model, name });
    for (const { hash } of claim ?? []) hashes.set(claimKey(model, hash), { model, hash });
    for (const { hash, successor } of release ?? []) {
      hashes.set(claimKey(model, hash), { model, hash });
      if (successor) takeovers.add(successor.id);
    }
    if (fence) leases.add(fence.lease);
    if (generation !== undefined) generations.add(model);
    if (activate) {
      generations.add(activate.model);
      if (activate.checked !== undefined) changed.add(activate.model);
    }
  }
  return {
    names: [...names.values()],
    hashes: [...hashes.values()],
    leases: [...leases],
    takeovers: [...takeovers],
    generations: [...generations],
    changed: [...changed],
  };
}

export function planBatch(writes: readonly Write[], time: number, answers: Answers): Plan {
  const rows = new Map<string, { id: number; revision: number }>();
  for (const row of answers.rows) rows.set(rowKey(row.model, row.name), row);
  const takeovers = new Map(answers.takeovers.map((row) => [row.id, row]));
  const before = new Map(answers.claims.map((claim) => [claimKey(claim.model, claim.hash), claim]));
  const claims = new Map<string, KnownClaim | undefined>(before);
  const leases = new Map(answers.leases.map((lease) => [lease.name, lease]));
  const generations = new Map(answers.generations.map(({ model, generation }) => [model, generation]));
  const changed = new Map(answers.changed.map(({ model, revision }) => [model, revision]));
  const activations: Activation[] = [];
  const state: WriteState = {
    row: (model, name) => rows.get(rowKey(model, name)),
    revisionOf(model, id) {
      const row = takeovers.get(id);
      return row?.model === model ? row.revision : undefined;
    },
    holderOf: (model, hash) => claims.get(claimKey(model, hash))?.id,
    lease: (name) => leases.get(name),
    generation: (model) => generations.get(model),
    changedAt: (model) => changed.get(model) ?? 0,
  };

  const steps: PlannedChange[][] = [];
  let touched = new Set<string>();
  let newest = answers.revision;

  function apply(write: Write): WriteResult {
    const result = decide(write, time, newest + 1, state);
    if (!result.ok) return result;
    const { model, name } = write;
    const { id, revision } = result;
    newest = revision;
    changed.set(model, revision);
    if (write.activate) {
      generations.set(write.activate.model, write.activate.to);
      activations.push(write.activate);
    }
    for (const { hash, successor } of write.release ?? []) {
      const key = claimKey(model, hash);
      const held = claims.get(key);
      if (held?.id === id) claims.set(key, successor && { ...held, id: successor.id });
    }
    for (const claim of write.claim ?? []) claims.set(claimKey(model, claim.hash), { ...claim, model, id });
    const key = rowKey(model, name);
    if (steps.length === 0 || touched.has(key)) {
      steps.push([]);
      touched = new Set();
    }
    touched.add(key);
    steps.at(-1)!.push({ revision, id, write });
    if (write.type === 'delete') {
      rows.delete(key);
      takeovers.delete(id);
    } else {
      rows.set(key, { id, revision });
      takeovers.set(id, { id, model, revision });
    }
    return result;
  }

  const results = writes.map(apply);
  const takenClaims: KnownClaim[] = [];
  const droppedClaims: { model: number; hash: Uint8Array }[] = [];
  for (const [key, claim] of claims) {
    const old = before.get(key);
    if (claim?.id === old?.id) continue;
    if (old) droppedClaims.push(old);
    if (claim) takenClaims.push(claim);
  }
  return { results, revision: newest, steps, takenClaims, droppedClaims, activations };
}

/**
 * Undefined when the outcome depends on more: leases end without a commit, and values are given up by rows that may not
 * hold them. Also when a write would fail, since what it fails of would have to be checked too.
 */
export function guessBatch(writes: readonly Write[], time: number, known: Known): Guess | undefined {
  const rows = new Map<string, KnownRow>();
  for (const { type, model, name, expected, release = [], fence, activate } of writes) {
    if (fence || activate || release.length > 0) return undefined;
    if (type === 'create') continue;
    if (!expected) return undefined;
    const key = rowKey(model, name);
    if (!rows.has(key)) rows.set(key, { model, name, ...expected });
  }
  const generations = [...known.generations].map(([model, generation]) => ({ model, generation }));
  const nothing = { claims: [], leases: [], takeovers: [], changed: [] };
  const plan = planBatch(writes, time, { ...nothing, revision: known.revision, rows: [...rows.values()], generations });
  if (plan.steps.length === 0 || plan.results.some(({ ok }) => !ok)) return undefined;
  return { known, plan, rows: [...rows.values()] };
}

/** What `Store.mendClaims` does. */
export function planClaimRepair(
  model: number,
  add: readonly (Claim & { id: number; revision: number })[],
  remove: readonly HeldClaim[],
  state: Pick<WriteState, 'revisionOf' | 'holderOf'>,
): Pick<Plan, 'droppedClaims' | 'takenClaims'> & { readonly left: number } {
  const isAsRead = (claim: { readonly id: number; readonly revision: number | undefined }): boolean =>
    state.revisionOf(model, claim.id) === claim.revision;
  const removed = remove.filter((claim) => isAsRead(claim) && state.holderOf(model, claim.hash) === claim.id);
  const freed = new Set(removed.map(({ hash }) => claimKey(model, hash)));
  const taken = new Set<string>();
  const added = add.filter((claim) => {
    const key = claimKey(model, claim.hash);
    if (!isAsRead(claim) || taken.has(key)) return false;
    if (!freed.has(key) && state.holderOf(model, claim.hash) !== undefined) return false;
    taken.add(key);
    return true;
  });
  return {
    droppedClaims: removed.map(({ hash }) => ({ model, hash })),
    takenClaims: added.map(({ hash, index, key, id }) => ({ model, hash, index, key, id })),
    left: [...remove, ...add].filter((claim) => !isAsRead(claim)).length,
  };
}

function rowKey(model: number, name: string): string {
  return `${model}\0${name}`;
}

function claimKey(model: number, hash: Uint8Array): string {
  return `${model}\0${Buffer.from(hash.buffer, hash.byteOffset, hash.byteLength).toString('latin1')}`;
}
