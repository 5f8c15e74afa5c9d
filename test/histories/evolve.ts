/**
 * Clients against replicas that are replaced by other versions of their plugin, killed, paused and rolled back, and what
 * the change log says of every answer that they got.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { openStore } from '../../src/store/open.ts';
import type { Change } from '../../src/store/store.ts';
import { itemsPath, ownMembers, statePath, versions } from './evolving.ts';
import { Replica } from './record.ts';

interface Spec {
  readonly value: string;
  readonly code?: string;
  readonly note?: string;
  readonly rank?: string;
}

interface Operation {
  readonly method: 'POST' | 'PUT' | 'DELETE' | 'GET';
  readonly name: string;
  readonly spec: Spec | undefined;
  /** The newest revision that any client had seen when it began. */
  readonly seen: number;
  readonly start: number;
  readonly end: number;
  /** Undefined: the connection broke. */
  readonly status: number | undefined;
  readonly code?: string;
  readonly revision?: number;
  readonly answered?: Spec;
}

export interface Evolved {
  readonly operations: number;
  readonly changes: number;
  readonly activations: number;
  readonly replaced: number;
  readonly killed: number;
  readonly paused: number;
  /** Answers `ModelOutdated`. */
  readonly outdated: number;
  readonly violations: readonly string[];
}

interface Evolving {
  readonly database: string;
  /** Replicas that are replaced, killed or paused, one after another. */
  readonly faults: number;
  readonly clients?: number;
  readonly replicas?: number;
}

const names = 10;
const codes = 5;

export async function evolve({
  database,
  faults: count,
  clients = 6,
  replicas: slots = 3,
}: Evolving): Promise<Evolved> {
  const replicas = Array.from({ length: slots }, () => ({
    process: new Replica(database, new URL('./evolving-replica.ts', import.meta.url).pathname),
    version: 'plain',
  }));
  const operations: Operation[] = [];
  const tally = { replaced: 0, killed: 0, paused: 0 };
  let newest = 0;
  let isOver = false;

  const client = async (number: number): Promise<void> => {
    for (let i = 0; !isOver; i++) {
      const operation = await perform(oneOf(replicas).process.port, `${number}.${i}`);
      operations.push(operation);
      newest = Math.max(newest, operation.revision ?? 0);
      await pause(operation.status === undefined || operation.status >= 500 ? 30 : below(30));
    }
  };

  const perform = async (port: number, id: string): Promise<Operation> => {
    const method = oneOf(['POST', 'POST', 'PUT', 'PUT', 'PUT', 'DELETE', 'GET', 'GET'] as const);
    const name = `n${below(names)}`;
    const spec: Spec | undefined =
      method === 'POST' || method === 'PUT'
        ? {
            value: id,
            ...(below(2) === 0 && { code: `c${below(codes)}` }),
            ...(below(5) === 0 && { [oneOf(ownMembers)]: id }),
          }
        : undefined;
    const begun = { method, name, spec, seen: newest, start: performance.now() };
    try {
      const response = await fetch(`http://127.0.0.1:${port}${itemsPath}${method === 'POST' ? '' : `/${name}`}`, {
        method,
        signal: AbortSignal.timeout(30_000),
        ...(spec && {
          body: JSON.stringify({ metadata: { name }, spec }),
          headers: { 'content-type': 'application/json' },
        }),
      });
      const body = (await response.json()) as { code?: string; spec?: Spec };
      const revision = response.headers.get('kindred-revision');
      return {
        ...begun,
        end: performance.now(),
        status: response.status,
        ...(body.code !== undefined && { code: body.code }),
        ...(revision !== null && { revision: Number(revision) }),
        ...(body.spec && { answered: body.spec }),
      };
    } catch {
      return { ...begun, end: performance.now(), status: undefined };
    }
  };

  const replace = async (replica: (typeof replicas)[number], version: string): Promise<void> => {
    const isKill = below(3) === 0;
    tally[isKill ? 'killed' : 'replaced']++;
    await replica.process.kill(isKill ? 'SIGKILL' : 'SIGTERM');
    replica.version = version;
    await replica.process.start(version);
  };

  const makeFaults = async (): Promise<void> => {
    let wanted = 'plain';
    for (let i = 0; i < count; i++) {
      if (replicas.every(({ version }) => version === wanted))
        wanted = oneOf(Object.keys(versions).filter((one) => one !== wanted));
      const others = replicas.filter(({ version }) => version !== wanted);
      const dice = below(10);
      if (dice < 6) await replace(oneOf(others), wanted);
      else if (dice === 9) await replace(oneOf(replicas), oneOf(Object.keys(versions)));
      else {
        const { process } = oneOf(replicas);
        tally.paused++;
        process.signal('SIGSTOP');
        // Longer than what it said of itself lasts, often.
        await pause(below(2) === 0 ? 20 + below(200) : 1_200 + below(1_500));
        process.signal('SIGCONT');
      }
      await pause(below(400));
    }
  };

  try {
    await replicas[0]!.process.start('plain');
    await Promise.all(replicas.slice(1).map(({ process }) => process.start('plain')));
    const clientsDone = Promise.all(Array.from({ length: clients }, (_, number) => client(number)));
    await makeFaults();
    isOver = true;
    await clientsDone;
    for (const replica of replicas) {
      await replica.process.kill('SIGTERM');
      await replica.process.start('note');
    }
    const settled = await untilSettled(replicas[0]!.process.port);
    const { log, numbers } = await logOf(database);
    const checker = new Checker(log, numbers, operations);
    const violations = [
      ...checker.violations,
      ...(settled ? [] : ['the last version did not become active, or its codes are not all claimed']),
    ];
    return {
      operations: operations.length,
      changes: log.length,
      activations: checker.activations,
      ...tally,
      outdated: operations.filter(({ code }) => code === 'ModelOutdated').length,
      violations,
    };
  } finally {
    isOver = true;
    for (const { process } of replicas) {
      process.signal('SIGCONT');
      await process.kill();
    }
  }
}

interface State {
  readonly generation: number;
  readonly contract: { readonly versions: { readonly v1: { readonly spec: { readonly properties: object } } } };
  readonly indexes?: readonly { readonly name: string; readonly state: string }[];
  readonly degraded?: object;
}

/** True when the version with the unique index is active, and says of it what is so. */
async function untilSettled(port: number): Promise<boolean> {
  for (let i = 0; i < 100; i++) {
    const [state, { items }] = await Promise.all([
      fetch(`http://127.0.0.1:${port}${statePath}`).then(
        async (one) => ((await one.json()) as { status: State }).status,
      ),
      fetch(`http://127.0.0.1:${port}${itemsPath}?size=100`).then(
        async (one) => (await one.json()) as { items: { spec: Spec }[] },
      ),
    ]);
    const taken = (items ?? []).flatMap(({ spec }) => spec.code ?? []);
    const isShared = new Set(taken).size < taken.length;
    const expected = isShared ? 'claiming' : 'enforced';
    if ('note' in state.contract.versions.v1.spec.properties && state.indexes?.[0]?.state === expected) return true;
    await pause(100);
  }
  return false;
}

interface Numbers {
  readonly item: number;
  readonly state: number;
}

async function logOf(database: string): Promise<{ log: Change[]; numbers: Numbers }> {
  const store = await openStore(database);
  try {
    const log: Change[] = [];
    for (;;) {
      const part = await store.changes(log.at(-1)?.revision ?? 0, 1_000);
      if (part.length === 0) break;
      log.push(...part);
    }
    const models = await store.models();
    const numberOf = (kind: string) => models.find((model) => model.kind === kind)!.number;
    return { log, numbers: { item: numberOf('Item'), state: numberOf('ModelState') } };
  } finally {
    await store.close();
  }
}

/** What is true from a revision on. */
interface Moment {
  readonly revision: number;
  /** The version that is active. */
  readonly version: string;
  readonly items: ReadonlyMap<string, Spec>;
}

class Checker {
  readonly violations: string[] = [];
  activations = 0;
  readonly #moments: Moment[] = [{ revision: 0, version: '', items: new Map() }];
  readonly #operations: readonly Operation[];
  /** By the start of the operations that were acknowledged. */
  readonly #acknowledged: readonly Operation[];

  constructor(log: readonly Change[], numbers: Numbers, operations: readonly Operation[]) {
    this.#operations = operations;
    this.#acknowledged = operations.filter(({ revision }) => revision !== undefined).sort((a, b) => a.start - b.start);
    let generation = 0;
    for (const change of log) {
      const before = this.#moments.at(-1)!;
      const object = JSON.parse(Buffer.from(change.bytes).toString()) as { spec: Spec; status?: State };
      if (change.model === numbers.state) {
        const { status } = object;
        if (!status || status.generation === generation) continue;
        if (status.generation < generation)
          this.#violated(change.revision, `generation ${generation} → ${status.generation}`);
        generation = status.generation;
        this.activations++;
        const { properties } = status.contract.versions.v1.spec;
        const version = ownMembers.find((member) => member in properties) ?? 'plain';
        this.#moments.push({ ...before, revision: change.revision, version });
      } else if (change.model === numbers.item) {
        const items = new Map(before.items);
        if (change.type === 'delete') items.delete(change.name);
        else {
          this.#checkWrite(change, object.spec, before);
          items.set(change.name, object.spec);
        }
        this.#moments.push({ ...before, revision: change.revision, items });
      }
    }
    for (const operation of operations) this.#checkAnswer(operation);
  }

  /** What was stored satisfies the contract that was active. */
  #checkWrite({ name, revision }: Change, spec: Spec, { version, items }: Moment): void {
    for (const member of ownMembers) {
      const isNew = spec[member] !== undefined && spec[member] !== items.get(name)?.[member];
      if (isNew && version !== member)
        this.#violated(revision, `${name} was stored with ${member} while ${version} was active`);
    }
    const isTaken = isShared(items, name, spec);
    if (version === 'note' && isTaken && items.get(name)?.code !== spec.code)
      this.#violated(revision, `${name} was stored with the code ${spec.code} of another`);
  }

  #checkAnswer(operation: Operation): void {
    const { method, name, spec, status, code, revision, answered, seen } = operation;
    const shown = `${method} ${name} ${JSON.stringify(spec ?? {})}: ${status} ${code ?? ''}`;
    if (status === undefined) return;
    if (status < 300 && revision !== undefined) {
      const at = this.#at(revision);
      if (revision < seen) this.#violated(revision, `${shown}: a client had seen revision ${seen} before`);
      const stored = method === 'DELETE' ? answered : at.items.get(name);
      if (stored?.value !== answered?.value)
        this.#violated(revision, `${shown}: the log has ${JSON.stringify(stored)}`);
      if (spec && answered?.value !== spec.value)
        this.#violated(revision, `${shown}: answered ${JSON.stringify(answered)}`);
      return;
    }
    if (status >= 500) {
      if (!['NotReady', 'ModelOutdated', 'ShuttingDown', 'UnknownOutcome'].includes(code ?? ''))
        this.#violated(seen, shown);
      return;
    }
    if (!spec) return;
    // What was true at some moment between the request and the answer.
    const moments = this.#between(seen, this.#through(operation));
    if (code === 'Invalid') {
      const isJust = moments.some(({ version }) =>
        ownMembers.some((one) => spec[one] !== undefined && version !== one),
      );
      if (!isJust) this.#violated(seen, `${shown}: the active contract accepts it`);
    }
    if (code === 'UniqueViolation') {
      const isJust = moments.some(({ version, items }) => version === 'note' && isShared(items, name, spec));
      if (!isJust) this.#violated(seen, `${shown}: nothing has taken the code`);
    }
  }

  /** The first revision that was acknowledged to what began after the answer: it was certainly given out later. */
  #through({ end }: Operation): number {
    let through = Number.POSITIVE_INFINITY;
    for (const later of this.#acknowledged) {
      if (later.start > end && later.status! < 300) through = Math.min(through, later.revision!);
      if (later.start > end + 5_000) break;
    }
    return through;
  }

  #at(revision: number): Moment {
    return this.#moments.findLast((moment) => moment.revision <= revision)!;
  }

  #between(first: number, last: number): Moment[] {
    return [this.#at(first), ...this.#moments.filter(({ revision }) => revision > first && revision <= last)];
  }

  #violated(revision: number, text: string): void {
    this.violations.push(`revision ${revision} (${this.#operations.length} operations): ${text}`);
  }
}

function isShared(items: ReadonlyMap<string, Spec>, name: string, { code }: Spec): boolean {
  return code !== undefined && [...items].some(([other, spec]) => other !== name && spec.code === code);
}

function below(limit: number): number {
  return Math.floor(Math.random() * limit);
}

function oneOf<T>(list: readonly T[]): T {
  return list[below(list.length)]!;
}
