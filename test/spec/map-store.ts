/** A store as somebody else could write it, with the public names alone: maps in memory, shared by all who open the same medium. */
import type {
  Change,
  ChangesNarrowing,
  Claim,
  HeldClaim,
  Lease,
  LoadPart,
  ModelRow,
  ReplicaRow,
  Rewrite,
  Row,
  Snapshot,
  Store,
  Tokens,
  Write,
  WriteResult,
} from 'kindred';
import { KindredError } from 'kindred';

type Held = Claim & { readonly id: number };

const jumpLength = 2 ** 40;
const compactedAtOnce = 100;
const changesBytes = 4 * 2 ** 20;

const hex = (hash: Uint8Array): string => Buffer.from(hash).toString('hex');

/** What stays when every store on it is closed. */
export class MapMedium {
  revision = 0;
  oldest = 0;
  firstToken = 0;
  models: ModelRow[] = [];
  /** By model, then by name. */
  readonly rows = new Map<number, Map<string, Row>>();
  /** By model, then by hash in hexadecimal. */
  readonly claims = new Map<number, Map<string, Held>>();
  changes: Change[] = [];
  readonly leases = new Map<string, { holder: string; token: number; expires: number }>();
  readonly replicas = new Map<string, ReplicaRow & { expires: number }>();
  readonly listeners = new Set<() => void>();

  rowsOf(model: number): Map<string, Row> {
    return this.rows.getOrInsertComputed(model, () => new Map());
  }

  claimsOf(model: number): Map<string, Held> {
    return this.claims.getOrInsertComputed(model, () => new Map());
  }

  row(model: number, id: number): Row | undefined {
    return [...this.rowsOf(model).values()].find((row) => row.id === id);
  }

  open(): Promise<Store> {
    return Promise.resolve(new MapStore(this));
  }

  apply(write: Write, time: number): WriteResult {
    const { model, type, name, expected, fence, generation, activate, claim = [], release = [] } = write;
    if (fence) {
      const lease = this.leases.get(fence.lease);
      if (lease?.token !== fence.token || lease.expires <= time) return { ok: false, reason: 'fenced' };
    }
    const [own, other] = [model, activate?.model].map((number) => this.models.find((one) => one.number === number));
    const outdated = generation !== undefined && own?.generation !== generation;
    if (outdated || (activate && other?.generation !== activate.from)) return { ok: false, reason: 'outdated' };
    const newest = this.changes.findLast((change) => change.model === activate?.model);
    if (newest && newest.revision > (activate?.checked ?? newest.revision)) return { ok: false, reason: 'unchecked' };
    const row = this.rowsOf(model).get(name);
    if (type === 'create' && row) return { ok: false, reason: 'exists' };
    if (type !== 'create' && !row) return { ok: false, reason: 'missing' };
    if (row && expected && (expected.id !== row.id || expected.revision !== row.revision)) {
      return { ok: false, reason: 'changed' };
    }
    const id = row?.id ?? this.revision + 1;
    const claims = this.claimsOf(model);
    for (const { hash, index, key } of claim) {
      const holder = claims.get(hex(hash));
      if (holder && holder.id !== id) return { ok: false, reason: 'claimed', index, key };
    }
    const released = release.filter(({ hash }) => claims.get(hex(hash))?.id === id);
    for (const { successor } of released) {
      if (successor && this.row(model, successor.id)?.revision !== successor.revision) {
        return { ok: false, reason: 'changed' };
      }
    }
    const revision = ++this.revision;
    if (activate && other) {
      const { to, contract, storageVersion } = activate;
      this.models = this.models.with(this.models.indexOf(other), {
        ...other,
        generation: to,
        contract,
        storageVersion,
      });
    }
    for (const { hash, successor } of released) {
      const held = claims.get(hex(hash))!;
      if (successor) claims.set(hex(hash), { ...held, id: successor.id });
      else claims.delete(hex(hash));
    }
    for (const one of claim) claims.set(hex(one.hash), { ...one, hash: one.hash.slice(), id });
    const bytes = write.bytes.slice();
    this.changes.push({ revision, type, model, id, name, bytes, time, ...(row && { before: row.bytes }) });
    if (type === 'delete') this.rowsOf(model).delete(name);
    else this.rowsOf(model).set(name, { id, revision, name, bytes });
    return { ok: true, id, revision };
  }
}

class MapStore implements Store {
  readonly shared = true;
  readonly #medium: MapMedium;
  readonly #stop = new Set<() => void>();
  #closed = false;

  constructor(medium: MapMedium) {
    this.#medium = medium;
  }

  get #open(): MapMedium {
    if (this.#closed) {
      throw new KindredError('NotReady', { en: 'The store is closed', zh: '存储已关闭' });
    }
    return this.#medium;
  }

  async modelNumber(group: string, kind: string): Promise<number> {
    const { models } = this.#open;
    const known = models.find((model) => model.group === group && model.kind === kind);
    if (known) return known.number;
    const number = Math.max(0, ...models.map((model) => model.number)) + 1;
    models.push({ number, group, kind, generation: 0 });
    return number;
  }

  models(only?: number): readonly ModelRow[] {
    const { models } = this.#open;
    return models.filter(({ number }) => (only ?? number) === number).toSorted((a, b) => a.number - b.number);
  }

  revision(): number {
    return this.#open.revision;
  }

  oldest(): number {
    return this.#open.oldest;
  }

  async commit(writes: readonly Write[], time: number): Promise<readonly WriteResult[]> {
    const medium = this.#open;
    const results = writes.map((write) => medium.apply(write, time));
    for (const listener of [...medium.listeners]) listener();
    return results;
  }

  get(model: number, ids: readonly number[]): readonly Row[] {
    return inOrder(ids, this.#open.rowsOf(model).values());
  }

  scan(model: number, after: number, limit: number): readonly Row[] {
    return [...this.#open.rowsOf(model).values()]
      .filter(({ id }) => id > after)
      .sort((a, b) => a.id - b.id)
      .slice(0, limit);
  }

  count(model: number): number {
    return this.#open.rowsOf(model).size;
  }

  async snapshot(): Promise<Snapshot> {
    const { rows, revision } = this.#open;
    const copy = new Map([...rows].map(([model, byName]) => [model, [...byName.values()]]));
    return {
      revision,
      get: (model, ids) => inOrder(ids, copy.get(model) ?? []),
      close: async () => undefined,
    };
  }

  async rewrite(model: number, rows: readonly Rewrite[], generation?: number): Promise<number | undefined> {
    const medium = this.#open;
    const active = medium.models.find(({ number }) => number === model)?.generation;
    if (generation !== undefined && active !== generation) return undefined;
    const same = rows.filter(({ id, revision }) => medium.row(model, id)?.revision === revision);
    for (const { id, bytes } of same) {
      const row = medium.row(model, id)!;
      medium.rowsOf(model).set(row.name, { ...row, bytes: bytes.slice() });
    }
    return same.length;
  }

  async purge(model: number): Promise<number> {
    const medium = this.#open;
    const names = [...medium.rowsOf(model).keys()].slice(0, 100);
    const hashes = [...medium.claimsOf(model).keys()].slice(0, 100);
    for (const name of names) medium.rowsOf(model).delete(name);
    for (const hash of hashes) medium.claimsOf(model).delete(hash);
    return names.length + hashes.length;
  }

  claims(model: number, after: Uint8Array | undefined, limit: number): readonly Held[] {
    const from = after && hex(after);
    return [...this.#open.claimsOf(model)]
      .filter(([hash]) => from === undefined || hash > from)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .slice(0, limit)
      .map(([, held]) => held);
  }

  async mendClaims(
    model: number,
    add: readonly (Claim & { id: number; revision: number })[],
    remove: readonly HeldClaim[],
    generation?: number,
  ): Promise<number | undefined> {
    const medium = this.#open;
    const active = medium.models.find(({ number }) => number === model)?.generation;
    if (generation !== undefined && active !== generation) return undefined;
    const claims = medium.claimsOf(model);
    const isAsRead = ({ id, revision }: { id: number; revision: number | undefined }): boolean =>
      medium.row(model, id)?.revision === revision;
    for (const one of remove) {
      if (isAsRead(one) && claims.get(hex(one.hash))?.id === one.id) claims.delete(hex(one.hash));
    }
    for (const { hash, index, key, id, revision } of add) {
      if (isAsRead({ id, revision }) && !claims.has(hex(hash))) claims.set(hex(hash), { hash, index, key, id });
    }
    return [...add, ...remove].filter((one) => !isAsRead(one)).length;
  }

  changes(since: number, limit: number, narrow: ChangesNarrowing = {}): readonly Change[] {
    const { changes, oldest } = this.#open;
    if (since < oldest) {
      const text = {
        en: 'Changes after {since} are gone, up to {oldest}',
        zh: '{since} 之后的变更已不再保留，直至 {oldest}',
      };
      throw new KindredError('Expired', text, { params: { since, oldest } });
    }
    let bytes = 0;
    return changes
      .filter(({ revision, model }) => revision > since && (narrow.model === undefined || model === narrow.model))
      .slice(0, limit)
      .filter((change, place) => {
        bytes += change.bytes.byteLength + (change.before?.byteLength ?? 0);
        return place === 0 || bytes <= Math.min(narrow.bytes ?? changesBytes, changesBytes);
      });
  }

  async compact(keep: number, time: number, now = Number.MAX_SAFE_INTEGER): Promise<number> {
    const medium = this.#open;
    const { changes, revision } = medium;
    const kept = changes.findIndex(
      (change) => change.revision > revision - keep || (change.time > time && change.time <= now),
    );
    // Those from later than `now` before the first that is kept may be as young as it is.
    const old = changes.slice(0, kept < 0 ? changes.length : kept).findLastIndex((change) => change.time <= time);
    const removed = changes.slice(0, Math.min(old + 1, compactedAtOnce));
    medium.changes = changes.slice(removed.length);
    medium.oldest = removed.at(-1)?.revision ?? medium.oldest;
    return removed.length;
  }

  onCommit(listener: () => void): () => void {
    const { listeners } = this.#open;
    const own = (): void => listener();
    listeners.add(own);
    const stop = (): void => {
      listeners.delete(own);
      this.#stop.delete(stop);
    };
    this.#stop.add(stop);
    return stop;
  }

  async acquireLease(name: string, holder: string, ttl: number, now: number): Promise<Lease | undefined> {
    const { leases, firstToken } = this.#open;
    const lease = leases.get(name) ?? { holder: '', token: firstToken, expires: 0 };
    const free = lease.expires <= now;
    if (!free && lease.holder !== holder) return undefined;
    const token = lease.token + (free ? 1 : 0);
    leases.set(name, { holder, token, expires: now + ttl });
    return { name, holder, token };
  }

  async releaseLease({ name, holder, token }: Lease): Promise<void> {
    const lease = this.#open.leases.get(name);
    if (lease?.holder === holder && lease.token === token) lease.expires = 0;
  }

  async announce(replica: ReplicaRow, ttl: number, now: number): Promise<void> {
    this.#open.replicas.set(replica.id, { ...replica, expires: now + ttl });
  }

  async withdraw(id: string): Promise<void> {
    this.#open.replicas.delete(id);
  }

  replicas(now: number): readonly ReplicaRow[] {
    return [...this.#open.replicas.values()]
      .filter(({ expires }) => expires > now)
      .map(({ id, supports }) => ({ id, supports }))
      .sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  tokens(): Tokens {
    const { firstToken: first, leases } = this.#open;
    const all = [...leases].map(([name, { token }]) => ({ name, token }));
    return { first, leases: all.sort((a, b) => (a.name < b.name ? -1 : 1)) };
  }

  async load(part: LoadPart): Promise<void> {
    const medium = this.#open;
    if ('models' in part) {
      const loaded = new Set(part.models.map(({ number }) => number));
      medium.models = [...medium.models.filter(({ number }) => !loaded.has(number)), ...part.models];
    } else if ('rows' in part) {
      for (const row of part.rows) medium.rowsOf(part.model).set(row.name, row);
    } else if ('claims' in part) {
      for (const claim of part.claims) medium.claimsOf(part.model).set(hex(claim.hash), claim);
    } else if ('changes' in part) {
      const loaded = new Set(part.changes.map(({ revision }) => revision));
      const all = [...medium.changes.filter(({ revision }) => !loaded.has(revision)), ...part.changes];
      medium.changes = all.sort((a, b) => a.revision - b.revision);
    } else if ('tokens' in part) {
      medium.firstToken = part.tokens.first;
      for (const { name, token } of part.tokens.leases) medium.leases.set(name, { holder: '', token, expires: 0 });
    } else {
      medium.revision = part.revision;
      medium.oldest = part.oldest;
    }
  }

  async jump(): Promise<number> {
    const medium = this.#open;
    const target = medium.revision + jumpLength;
    medium.changes = [];
    for (const lease of medium.leases.values()) {
      lease.token += jumpLength;
      lease.expires = 0;
    }
    medium.revision = medium.oldest = medium.firstToken = target;
    return target;
  }

  describe(): Readonly<Record<string, string | number>> {
    return { database: 'maps', version: '1' };
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const stop of [...this.#stop]) stop();
  }
}

function inOrder(ids: readonly number[], rows: Iterable<Row>): Row[] {
  const byId = new Map([...rows].map((row) => [row.id, row]));
  return ids.map((id) => byId.get(id)).filter((row) => row !== undefined);
}
