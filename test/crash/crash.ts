/** Kills a process in the middle of its writes and compares what is stored with what was acknowledged. */
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { openStore } from '../../src/store/open.ts';
import type { Claims, Row, Store } from '../../src/store/store.ts';
import type { DatabaseServer } from '../servers.ts';
import { fromSources } from '../sources.ts';
import type { Content, Line } from './writer.ts';
import { slugClaim } from './writer.ts';

export interface Victim {
  readonly url: string;
  /** Kill this server instead of the service. */
  readonly server?: DatabaseServer;
  /** Something that makes commits fail with an unknown outcome for a while, before the service is killed. */
  readonly fault?: { begin(): void; end(): void };
  readonly environment?: NodeJS.ProcessEnv;
}

export interface Tally {
  acknowledged: number;
  /** Tried, never answered or answered as unknown, and found in the store. */
  unansweredApplied: number;
  unansweredLost: number;
  refused: number;
  /** Answers UnknownOutcome while a fault was made. */
  faults: number;
}

/** What the store must hold, carried from round to round. */
export class Witness {
  readonly tally: Tally = { acknowledged: 0, unansweredApplied: 0, unansweredLost: 0, refused: 0, faults: 0 };
  #revision = 0;
  readonly #rows = new Map<string, { id: number; revision: number; text: string }>();
  readonly #ops = new Set<string>();

  /** Throws an assertion that says which promise was broken. */
  async check(store: Store, said: readonly Line[]): Promise<void> {
    const tried = new Set(said.filter((line) => line.say === 'try').map((line) => line.op));
    const acknowledged = new Map(said.filter((line) => line.say === 'ack').map((line) => [line.op, line]));
    const refused = new Set(said.filter((line) => line.say === 'not').map((line) => line.op));
    const model = await store.modelNumber('crash.example.com', 'Thing');
    // Waits for a transaction that the server may still be finishing for the process that is gone.
    await store.commit([{ type: 'update', model, name: 'nobody', bytes: new Uint8Array() }], 0);
    const newest = await store.revision();

    const applied = new Set<string>();
    while (this.#revision < newest) {
      for (const change of await store.changes(this.#revision, 500)) {
        assert.equal(change.revision, this.#revision + 1, 'a revision is missing in the change log');
        this.#revision = change.revision;
        const text = Buffer.from(change.bytes).toString();
        const { op } = JSON.parse(text) as Content;
        assert.ok(!this.#ops.has(op), `${op} was applied twice`);
        assert.ok(tried.has(op), `${op} is in the store and was not tried`);
        assert.ok(!refused.has(op), `${op} was answered as not applied, and it was`);
        this.#ops.add(op);
        applied.add(op);
        const ack = acknowledged.get(op);
        if (ack) assert.deepEqual([change.id, change.revision], [ack.id, ack.revision], `${op} has another place`);
        const before = this.#rows.get(change.name);
        assert.equal(change.before && Buffer.from(change.before).toString(), before?.text, `content before ${op}`);
        assert.equal(change.id, change.type === 'create' ? change.revision : before?.id);
        if (change.type === 'delete') this.#rows.delete(change.name);
        else this.#rows.set(change.name, { id: change.id, revision: change.revision, text });
      }
    }
    for (const op of acknowledged.keys()) assert.ok(applied.has(op), `${op} was acknowledged and is lost`);

    const rows = await all<Row>((last) => store.scan(model, last?.id ?? 0, 500));
    assert.deepEqual(
      new Map(
        rows.map(({ id, revision, name, bytes }) => [name, { id, revision, text: Buffer.from(bytes).toString() }]),
      ),
      this.#rows,
      'the rows are not what the change log says',
    );
    if (store.claims) await this.#checkClaims(store as Store & Claims, model);
    this.tally.acknowledged += acknowledged.size;
    this.tally.refused += refused.size;
    this.tally.unansweredApplied += [...applied].filter((op) => !acknowledged.has(op)).length;
    this.tally.unansweredLost += [...tried].filter(
      (op) => !applied.has(op) && !acknowledged.has(op) && !refused.has(op),
    ).length;
  }

  async #checkClaims(store: Claims, model: number): Promise<void> {
    const claims = await all((last: { hash: Uint8Array } | undefined) => store.claims(model, last?.hash, 500));
    const expected = [...this.#rows.values()].map((row) => {
      const { slug } = JSON.parse(row.text) as Content;
      return `${Buffer.from(slugClaim(slug).hash).toString('hex')} ${row.id}`;
    });
    assert.deepEqual(
      claims.map((claim) => `${Buffer.from(claim.hash).toString('hex')} ${(claim as unknown as Row).id}`).toSorted(),
      expected.toSorted(),
      'the unique values taken are not those of the rows',
    );
  }
}

async function all<T>(next: (last: T | undefined) => Promise<readonly T[]> | readonly T[]): Promise<T[]> {
  const found: T[] = [];
  for (;;) {
    const part = await next(found.at(-1));
    if (part.length === 0) return found;
    found.push(...part);
  }
}

/** One kill at a random moment, the restart and the comparison. */
export async function crashRound(victim: Victim, witness: Witness, round: string): Promise<void> {
  const child = spawn(
    process.execPath,
    [...fromSources, new URL('./writer.ts', import.meta.url).pathname, victim.url, round],
    { stdio: ['pipe', 'pipe', 'inherit'], env: { ...process.env, ...victim.environment } },
  );
  try {
    const said: Line[] = [];
    const lines = createInterface({ input: child.stdout });
    const ended = Promise.all([once(lines, 'close'), once(child, 'exit')]);
    const working = new Promise<void>((resolve, reject) => {
      lines.on('line', (text) => {
        const line = parse(text);
        if (line) said.push(line);
        if (line?.say === 'ack') resolve();
      });
      child.once('exit', (code) => reject(new Error(`the writer ended by itself with code ${code}`)));
    });
    await working;
    await pause(Math.random() * 250);
    const count = (say: Line['say']): number => said.filter((line) => line.say === say).length;
    if (victim.fault) {
      victim.fault.begin();
      await until(() => count('unknown') > 0, 10_000);
      victim.fault.end();
      const acknowledged = count('ack');
      await until(() => count('ack') > acknowledged + 50, 10_000);
      witness.tally.faults += count('unknown');
      assert.ok(count('ack') > acknowledged + 50, 'after the fault writes succeed again');
    }
    if (victim.server) {
      await victim.server.kill();
      await pause(Math.random() * 200);
      await victim.server.start();
      const acknowledged = count('ack');
      await until(() => child.exitCode !== null || count('ack') > acknowledged + 5, 20_000);
      child.stdin.end();
    } else {
      child.kill('SIGKILL');
    }
    await ended;
    if (victim.server) assert.equal(child.exitCode, 0, 'the writer outlives the server');
    const store = await openStore(victim.url);
    try {
      await witness.check(store, said);
    } finally {
      await store.close();
    }
  } finally {
    child.kill('SIGKILL');
  }
}

function parse(text: string): Line | undefined {
  try {
    return JSON.parse(text) as Line;
  } catch {
    // The last line of a killed process may be cut off.
    return undefined;
  }
}

function once(emitter: ChildProcess | ReturnType<typeof createInterface>, event: string): Promise<void> {
  return new Promise((resolve) => emitter.once(event, () => resolve()));
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** Resolves when the state is reached; gives up silently, for the comparison that follows says what is wrong. */
async function until(state: () => boolean, limit: number): Promise<void> {
  const deadline = Date.now() + limit;
  while (!state() && Date.now() < deadline) await pause(10);
}
