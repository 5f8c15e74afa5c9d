/**
 * What a batch does, decided in the process while the database holds the lock on the revision: for the databases that
 * are a network away, where asking for each write would cost a round trip. Read once, decide here, write once.
 */
import type { Claim, HeldClaim, Write, WriteResult } from './store.ts';

interface KnownRow {
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
}

export interface Answers {
  readonly revision: number;
  readonly rows: readonly KnownRow[];
  readonly claims: readonly KnownClaim[];
  readonly leases: readonly KnownLease[];
  readonly takeovers: readonly { readonly id: number; readonly model: number; readonly revision: number }[];
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
}

export function questionsOf(writes: readonly Write[]): Questions {
  const names = new Map<string, { model: number; name: string }>();
  const hashes = new Map<string, { model: number; hash: Uint8Array }>();
  const leases = new Set<string>();
  const takeovers = new Set<number>();
  for (const { model, name, claim, release, fence } of writes) {
    names.set(rowKey(model, name), { model, name });
    for (const { hash } of claim ?? []) hashes.set(claimKey(model, hash), { model, hash });
    for (const { hash, successor } of release ?? []) {
      hashes.set(claimKey(model, hash), { model, hash });
      if (successor) takeovers.add(successor.id);
    }
    if (fence) leases.add(fence.lease);
  }
  return { names: [...names.values()], hashes: [...hashes.values()], leases: [...leases], takeovers: [...takeovers] };
}

export function planBatch(writes: readonly Write[], time: number, answers: Answers): Plan {
  const rows = new Map<string, { id: number; revision: number } | undefined>();
  for (const row of answers.rows) rows.set(rowKey(row.model, row.name), row);
  const before = new Map(answers.claims.map((claim) => [claimKey(claim.model, claim.hash), claim]));
  const claims = new Map<string, KnownClaim | undefined>(before);
  const leases = new Map(answers.leases.map((lease) => [lease.name, lease]));
  const takeovers = new Map(answers.takeovers.map((row) => [row.id, row]));

  const steps: PlannedChange[][] = [];
  let touched = new Set<string>();
  let revision = answers.revision;

  function apply(write: Write): WriteResult {
    const { model, name, fence } = write;
    if (fence) {
      const lease = leases.get(fence.lease);
      if (lease?.token !== fence.token || lease.expires <= time) return { ok: false, reason: 'fenced' };
    }
    const key = rowKey(model, name);
    const row = rows.get(key);
    if (write.type === 'create') {
      if (row) return { ok: false, reason: 'exists' };
    } else {
      if (!row) return { ok: false, reason: 'missing' };
      const { expected } = write;
      if (expected && (expected.id !== row.id || expected.revision !== row.revision)) {
        return { ok: false, reason: 'changed' };
      }
    }
    const id = row?.id ?? revision + 1;
    for (const claim of write.claim ?? []) {
      const holder = claims.get(claimKey(model, claim.hash));
      if (holder && holder.id !== id) return { ok: false, reason: 'claimed', index: claim.index, key: claim.key };
    }
    const released = (write.release ?? []).filter(({ hash }) => claims.get(claimKey(model, hash))?.id === id);
    for (const { successor } of released) {
      const takeover = successor && takeovers.get(successor.id);
      if (successor && (takeover?.model !== model || takeover.revision !== successor.revision)) {
        return { ok: false, reason: 'changed' };
      }
    }
    revision++;
    for (const { hash, successor } of released) {
      const held = claims.get(claimKey(model, hash));
      claims.set(claimKey(model, hash), held && successor && { ...held, id: successor.id });
    }
    for (const claim of write.claim ?? []) claims.set(claimKey(model, claim.hash), { ...claim, model, id });
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
    return { ok: true, id, revision };
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
  return { results, revision, steps, takenClaims, droppedClaims };
}

/** What `Store.mendClaims` does, given the rows and claims that it is about. */
export function planClaimRepair(
  model: number,
  add: readonly (Claim & { id: number; revision: number })[],
  remove: readonly HeldClaim[],
  answers: { readonly rows: readonly { id: number; revision: number }[]; readonly claims: readonly KnownClaim[] },
): {
  readonly droppedClaims: Plan['droppedClaims'];
  readonly takenClaims: readonly KnownClaim[];
  readonly left: number;
} {
  const revisions = new Map(answers.rows.map((row) => [row.id, row.revision]));
  const held = new Map(answers.claims.map((claim) => [claimKey(model, claim.hash), claim.id]));
  const isAsRead = ({ id, revision }: { id: number; revision: number | undefined }): boolean =>
    revisions.get(id) === revision;
  const removed = remove.filter((claim) => isAsRead(claim) && held.get(claimKey(model, claim.hash)) === claim.id);
  for (const { hash } of removed) held.delete(claimKey(model, hash));
  const added = add.filter((claim) => isAsRead(claim) && !held.has(claimKey(model, claim.hash)));
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
