/**
 * Clients of two versions of a model against replicas that are replaced by other versions of their plugin, killed, paused and
 * rolled back, while the model is finalized and rolled back, and what the change log says of every answer that they got.
 */
import { Agent } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { retry } from '../../src/runtime/retry.ts';
import { awaitedTimers } from '../../src/runtime/timers.ts';
import { openStore } from '../../src/store/open.ts';
import type { Change, Row } from '../../src/store/store.ts';
import { Random } from '../query/random.ts';
import { call } from './call.ts';
import { inV1, inV2, itemsPath, ownMembers, statePath, versions } from './evolving.ts';
import { Replica, within } from './record.ts';

/** What an item has, in either version of the model. */
interface Spec {
  readonly value: string;
  readonly code?: string;
  readonly note?: string;
  readonly rank?: string;
  /** What v1 cannot say. */
  readonly extra?: string;
}

/** As it is sent, answered and stored. */
interface Item {
  readonly apiVersion: string;
  readonly spec: Spec | (Omit<Spec, 'value' | 'extra'> & { readonly text: Pick<Spec, 'value' | 'extra'> });
}

interface Operation {
  readonly method: 'POST' | 'PUT' | 'DELETE' | 'GET';
  /** The version that the client speaks. */
  readonly via: ApiVersion;
  readonly name: string;
  readonly spec: Spec | undefined;
  /** The newest revision that any client had seen when it began. */
  readonly seen: number;
  readonly start: number;
  readonly end: number;
  /** Undefined: the connection broke. */
  readonly status: number | undefined;
  readonly code?: string;
  /** Why it was refused. */
  readonly detail?: string;
  readonly revision?: number;
  readonly answered?: Item;
}

/** Of a problem document. */
interface Refusal {
  readonly code?: string;
  readonly detail?: string;
  readonly errors?: unknown;
}

type ApiVersion = 'v1' | 'v2';

export interface Evolved {
  readonly operations: number;
  readonly changes: number;
  readonly activations: number;
  readonly replaced: number;
  readonly killed: number;
  readonly paused: number;
  /** Starts of a version that cannot read what is stored. */
  readonly refused: number;
  /** How often objects got another storage version. */
  readonly moved: number;
  /** Answers `ModelOutdated`. */
  readonly outdated: number;
  readonly violations: readonly string[];
}

interface Evolving {
  readonly database: string;
  /** Replicas that are replaced, killed or paused, one after another. */
  readonly faults: number;
  /** Of all choices: what is done to which replica, and what each client asks. When it happens is up to the machine. */
  readonly seed: number;
  readonly clients?: number;
  readonly replicas?: number;
  /** The replicas run the package that is built. Default false: the sources. */
  readonly isBuilt?: boolean;
}

/** Milliseconds until a replica that is not ready yet counts as one that waits for the others. */
const patience = 4_000;
/** How `evolving-replica.ts` ends when its version is refused. */
const refusedCode = 3;
/** How it ends when the database does not answer. */
const busyCode = 4;
/** Milliseconds for one request. */
const requestTimeout = 10_000;
/** Milliseconds for what has no bound of its own: all starts of a replica, what is read from the database. */
const longest = 60_000;

const names = 10;
const codes = 5;

export async function evolve({
  database,
  faults: count,
  seed,
  clients = 6,
  replicas: slots = 3,
  isBuilt = false,
}: Evolving): Promise<Evolved> {
  const replicas = Array.from({ length: slots }, () => ({
    process: new Replica(database, new URL('./evolving-replica.ts', import.meta.url).pathname, isBuilt),
    version: 'plain',
    /** Grows whenever it is ended, so that whoever starts it knows that it is not wanted any more. */
    turn: 0,
  }));
  // One for each who chooses, so that none depends on how often another one did.
  const choices = new Random(seed * 100);
  const whom = new Random(seed * 100 + 1);
  const lastLines = () =>
    replicas.flatMap(({ process, version }, i) => [
      `replica ${i} (port ${process.port}, ${version}):`,
      ...process.lastLines.map((line) => `  ${line}`),
    ]);
  const read = <T>(what: string, body: (database: string) => Promise<T>) =>
    within(
      longest,
      what,
      patiently(() => body(database)),
      lastLines,
    );
  const agent = new Agent({ keepAlive: true });
  const operations: Operation[] = [];
  const unjust: string[] = [];
  const tally = { replaced: 0, killed: 0, paused: 0, refused: 0 };
  let newest = 0;
  let isOver = false;

  const client = async (number: number): Promise<void> => {
    const own = new Random(seed * 100 + 2 + number);
    for (let i = 0; !isOver; i++) {
      const operation = await perform(own, `${number}.${i}`);
      operations.push(operation);
      newest = Math.max(newest, operation.revision ?? 0);
      await pause(operation.status === undefined || operation.status >= 500 ? 30 : own.below(30));
    }
  };

  const perform = async (own: Random, id: string): Promise<Operation> => {
    const { port } = own.pick(replicas).process;
    const method = own.pick(['POST', 'POST', 'PUT', 'PUT', 'PUT', 'DELETE', 'GET', 'GET'] as const);
    const via = own.pick(['v1', 'v1', 'v2'] as const);
    const name = `n${own.below(names)}`;
    const spec: Spec | undefined =
      method === 'POST' || method === 'PUT'
        ? {
            value: id,
            ...(own.below(2) === 0 && { code: `c${own.below(codes)}` }),
            ...(via === 'v1' && own.below(5) === 0 && { [own.pick(ownMembers)]: id }),
            ...(via === 'v2' && own.below(3) === 0 && { extra: id }),
          }
        : undefined;
    const begun = { method, via, name, spec, seen: newest, start: performance.now() };
    try {
      const path = `${itemsPath(via)}${method === 'POST' ? '' : `/${name}`}`;
      const sent = spec && { metadata: { name }, spec: sentAs(via, spec) };
      const { status, revision, body } = await call(agent, port, method, path, sent);
      const { code, detail, errors, ...item } = body as Partial<Item> & Refusal;
      return {
        ...begun,
        end: performance.now(),
        status,
        ...(code !== undefined && { code, detail: `${detail} ${JSON.stringify(errors ?? [])}` }),
        ...(revision !== undefined && { revision }),
        ...(item.spec && { answered: item as Item }),
      };
    } catch {
      return { ...begun, end: performance.now(), status: undefined };
    }
  };

  const replace = async (replica: (typeof replicas)[number], version: string): Promise<void> => {
    const isKill = choices.below(3) === 0;
    tally[isKill ? 'killed' : 'replaced']++;
    await end(replica, isKill ? 'SIGKILL' : 'SIGTERM');
    replica.version = version;
    const starting = begin(replica, version);
    // Awaited below, maybe only after the others were ended.
    starting.catch(() => {});
    const outcome = await Promise.race([starting, pause(patience, 'waits' as const)]);
    if (outcome === 'ready') return;
    // It cannot serve beside the others.
    await replaceAll(version);
    await starting;
  };

  const end = async (replica: (typeof replicas)[number], signal: 'SIGKILL' | 'SIGTERM'): Promise<void> => {
    replica.turn++;
    await replica.process.kill(signal);
  };

  /** Gives `refused` when the version cannot read what is stored, `ended` when the replica is not wanted any more. */
  const begin = async (replica: (typeof replicas)[number], version: string): Promise<'ready' | 'refused' | 'ended'> => {
    const { turn, process } = replica;
    const latest = performance.now() + longest;
    for (;;) {
      try {
        await process.start(version);
        return 'ready';
      } catch (error) {
        if (replica.turn !== turn) return 'ended';
        const code = (error as Error).cause;
        if (code === refusedCode) return 'refused';
        if (code !== busyCode || performance.now() > latest) throw error;
        // Whoever supervises it starts it again.
        await pause(100);
        if (replica.turn !== turn) return 'ended';
      }
    }
  };

  /** Nobody serves in between. Those that are refused go back to the version that can read everything. */
  const replaceAll = async (version: string): Promise<void> => {
    await Promise.all(replicas.map((replica) => end(replica, 'SIGTERM')));
    const outcomes = await Promise.all(replicas.map((replica) => begin(replica, version)));
    for (const replica of replicas) replica.version = version;
    if (outcomes.every((outcome) => outcome === 'ready')) return;
    tally.refused++;
    await Promise.all(replicas.map((replica) => end(replica, 'SIGTERM')));
    if (!(await read('what is stored', rowsOf)).some(({ apiVersion }) => apiVersion === 'v2'))
      unjust.push(`${version} was refused, and nothing is stored as v2`);
    const back = await Promise.all(replicas.map((replica) => begin(replica, 'split')));
    if (back.some((outcome) => outcome !== 'ready'))
      throw new Error([`split can read everything and is ${back.join(', ')}`, ...lastLines()].join('\n  '));
    for (const replica of replicas) replica.version = 'split';
  };

  const send = async (method: string, path: string, body?: object): Promise<ModelState> => {
    let last: unknown = 'nothing was asked';
    const latest = performance.now() + longest;
    while (performance.now() < latest) {
      try {
        const { port } = whom.pick(replicas).process;
        const answer = await call(agent, port, method, path, body, requestTimeout);
        if (answer.status < 300) return answer.body as ModelState;
        last = `${answer.status} ${JSON.stringify(answer.body)}`;
      } catch (error) {
        last = error;
      }
      await pause(100);
    }
    throw new Error(
      [`no replica answers ${method} ${path} in ${longest / 1000} s: ${last}`, ...lastLines()].join('\n  '),
    );
  };
  const ask = (finalize: string) => send('PATCH', statePath, { spec: { finalize } });
  const isSplitActive = async () => (await send('GET', statePath)).status.contract.hub === 'v2';

  /** False when something is stored that v1 cannot say. */
  const rollBack = async (): Promise<boolean> => {
    await ask('rollback');
    for (let i = 0; i < 300; i++) {
      const { spec, status } = await send('GET', statePath);
      if (spec.finalize !== 'rollback') return status.storageVersion === 'v1';
      await pause(100);
    }
    unjust.push('a rollback was neither done nor refused in 30 seconds');
    return false;
  };

  const makeFaults = async (): Promise<void> => {
    let wanted = 'plain';
    for (let i = 0; i < count; i++) {
      if (replicas.every(({ version }) => version === wanted)) {
        // Twice as often the one with another hub, whose objects move.
        wanted = choices.pick([...Object.keys(versions), 'split'].filter((one) => one !== wanted));
        // Now and then nobody thinks of it.
        if ((await isSplitActive()) && choices.below(5) > 1 && !(await rollBack())) wanted = 'split';
      }
      const others = replicas.filter(({ version }) => version !== wanted);
      const dice = choices.below(10);
      if (dice < 6 && others.length > 0) await replace(choices.pick(others), wanted);
      else if (dice === 9) await replace(choices.pick(replicas), choices.pick(Object.keys(versions)));
      else if (dice > 6 && (await isSplitActive())) await ask(choices.pick(['now', 'now', 'hold', 'auto', 'rollback']));
      else {
        const { process } = choices.pick(replicas);
        tally.paused++;
        process.signal('SIGSTOP');
        // Longer than what it said of itself lasts, often.
        await pause(choices.below(2) === 0 ? 20 + choices.below(200) : 1_200 + choices.below(1_500));
        process.signal('SIGCONT');
      }
      await pause(choices.below(400));
    }
  };

  try {
    await begin(replicas[0]!, 'plain');
    await Promise.all(replicas.slice(1).map((replica) => begin(replica, 'plain')));
    const clientsDone = Promise.all(Array.from({ length: clients }, (_, number) => client(number)));
    await makeFaults();
    isOver = true;
    await clientsDone;
    if (replicas.some(({ version }) => version === 'split')) await replaceAll('note');
    else {
      for (const replica of replicas) {
        await end(replica, 'SIGTERM');
        await begin(replica, 'note');
      }
    }
    const isSplit = replicas[0]!.version === 'split';
    if (isSplit) await ask('now');
    const settled = await untilSettled(agent, replicas[0]!.process.port, isSplit ? 'v2' : 'v1');
    const { log, numbers } = await read('the change log', logOf);
    const checker = new Checker(log, numbers, operations);
    checker.checkRows(await read('what is stored', rowsOf), isSplit ? 'v2' : 'v1');
    const violations = [
      ...checker.violations,
      ...unjust,
      ...(settled
        ? []
        : ['the last version did not become active, its codes are not all claimed, or not all is rewritten']),
    ];
    return {
      operations: operations.length,
      changes: log.length,
      activations: checker.activations,
      moved: checker.moved,
      ...tally,
      outdated: operations.filter(({ code }) => code === 'ModelOutdated').length,
      violations,
    };
  } finally {
    isOver = true;
    agent.destroy();
    for (const replica of replicas) {
      replica.process.signal('SIGCONT');
      await end(replica, 'SIGKILL');
    }
  }
}

function sentAs(via: ApiVersion, { value, extra, ...rest }: Spec): Item['spec'] {
  if (via === 'v1') return { value, ...rest };
  const code = rest.code && { code: inV2(rest.code) };
  return { ...rest, ...code, text: { value, ...(extra !== undefined && { extra }) } };
}

function specOf({ spec }: Pick<Item, 'spec'>): Spec {
  if (!('text' in spec)) return spec;
  const { text, ...rest } = spec;
  return { ...rest, ...(rest.code && { code: inV1(rest.code) }), ...text };
}

interface State {
  readonly generation: number;
  readonly contract: {
    readonly hub: string;
    readonly versions: { readonly v1: { readonly spec: { readonly properties: object } } };
  };
  readonly storageVersion: string;
  readonly storedVersions: readonly string[];
  readonly migration?: { readonly revision?: number };
  readonly indexes?: readonly { readonly name: string; readonly state: string }[];
  readonly degraded?: object;
}

interface ModelState {
  readonly spec: { readonly finalize?: string };
  readonly status: State;
}

/** True when the last version is active: that with the unique index, which says of it what is so, or that with another hub, in which everything is stored. */
async function untilSettled(agent: Agent, port: number, hub: string): Promise<boolean> {
  const read = async <T>(path: string) => (await call(agent, port, 'GET', path, undefined, requestTimeout)).body as T;
  const listPath = `${itemsPath('v1')}?size=100`;
  for (let i = 0; i < 100; i++) {
    const [{ status: state }, { items }] = await Promise.all([
      read<ModelState>(statePath),
      read<{ items: Item[] }>(listPath),
    ]);
    if (hub === 'v2') {
      const { storageVersion, storedVersions, migration } = state;
      const isWhole = storedVersions.length === 1 || migration?.revision !== undefined;
      if (state.contract.hub === hub && storageVersion === hub && isWhole) return true;
      await pause(100);
      continue;
    }
    const taken = (items ?? []).flatMap((item) => specOf(item).code ?? []);
    const isShared = new Set(taken).size < taken.length;
    const expected = isShared ? 'claiming' : 'enforced';
    if ('note' in state.contract.versions.v1.spec.properties && state.indexes?.[0]?.state === expected) return true;
    await pause(100);
  }
  return false;
}

/** Reads again while the database does not answer: a machine that is busy is nobody's violation. */
async function patiently<T>(body: () => Promise<T>): Promise<T> {
  const latest = performance.now() + longest;
  const failed = (error: unknown): void => {
    if ((error as { code?: unknown }).code !== 'NotReady' || performance.now() > latest) throw error;
  };
  return (await retry({ timers: awaitedTimers, minDelay: 100, maxDelay: 100, failed }, body)) as T;
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

/** What is stored, in which version. */
async function rowsOf(
  database: string,
): Promise<(Pick<Row, 'name' | 'revision'> & { apiVersion: string; spec: Spec })[]> {
  const store = await openStore(database);
  try {
    const number = (await store.models()).find(({ kind }) => kind === 'Item')!.number;
    const rows = await store.scan(number, 0, 1_000);
    return rows.map(({ name, revision, bytes }) => {
      const item = JSON.parse(Buffer.from(bytes).toString()) as Item;
      return { name, revision, apiVersion: versionIn(item), spec: specOf(item) };
    });
  } finally {
    await store.close();
  }
}

function versionIn({ apiVersion }: Item): string {
  return apiVersion.split('/')[1]!;
}

/** What is true from a revision on. */
interface Moment {
  readonly revision: number;
  /** The version that is active. */
  readonly version: string;
  /** In which objects are stored. */
  readonly storage: string;
  readonly items: ReadonlyMap<string, Spec>;
}

class Checker {
  readonly violations: string[] = [];
  activations = 0;
  moved = 0;
  readonly #moments: Moment[] = [{ revision: 0, version: '', storage: 'v1', items: new Map() }];
  readonly #operations: readonly Operation[];
  /** By the start of the operations that were acknowledged. */
  readonly #acknowledged: readonly Operation[];

  constructor(log: readonly Change[], numbers: Numbers, operations: readonly Operation[]) {
    this.#operations = operations;
    this.#acknowledged = operations.filter(({ revision }) => revision !== undefined).sort((a, b) => a.start - b.start);
    let generation = 0;
    for (const change of log) {
      const before = this.#moments.at(-1)!;
      const object = JSON.parse(Buffer.from(change.bytes).toString()) as Item & { status?: State };
      if (change.model === numbers.state) {
        const { status } = object;
        if (!status) continue;
        this.#checkRewritten(change.revision, status, before);
        if (status.generation === generation) continue;
        if (status.generation < generation)
          this.#violated(change.revision, `generation ${generation} → ${status.generation}`);
        generation = status.generation;
        this.activations++;
        const { storageVersion: storage, contract } = status;
        const { properties } = contract.versions.v1.spec;
        const version =
          contract.hub === 'v2' ? 'split' : (ownMembers.find((member) => member in properties) ?? 'plain');
        if (version !== 'split' && storage !== 'v1')
          this.#violated(change.revision, `${version} became active while objects are stored as ${storage}`);
        if (storage !== before.storage) this.moved++;
        this.#moments.push({ ...before, revision: change.revision, version, storage });
      } else if (change.model === numbers.item) {
        const items = new Map(before.items);
        if (change.type === 'delete') items.delete(change.name);
        else {
          const spec = specOf(object);
          // What came while a rollback began, which is refused for it.
          const stays =
            before.version === 'split' &&
            versionIn(object) === 'v2' &&
            spec.extra !== undefined &&
            spec.extra === before.items.get(change.name)?.extra;
          if (versionIn(object) !== before.storage && !stays)
            this.#violated(change.revision, `${change.name} was stored as ${object.apiVersion}, not ${before.storage}`);
          this.#checkWrite(change, spec, before);
          items.set(change.name, spec);
        }
        this.#moments.push({ ...before, revision: change.revision, items });
      }
    }
    for (const operation of operations) this.#checkAnswer(operation);
  }

  /** What is stored in the end is what the change log says, in a version that can be read. */
  checkRows(rows: Awaited<ReturnType<typeof rowsOf>>, storage: string): void {
    const { items } = this.#moments.at(-1)!;
    if (rows.length !== items.size) this.#violated(Number.NaN, `${rows.length} rows, of ${items.size} items`);
    for (const { name, revision, apiVersion, spec } of rows) {
      if (apiVersion !== storage) this.#violated(revision, `${name} is stored as ${apiVersion} in the end`);
      if (!isDeepStrictEqual(spec, items.get(name)))
        this.#violated(revision, `${name} is ${JSON.stringify(spec)}, the log has ${JSON.stringify(items.get(name))}`);
    }
  }

  /** A rollback that is done leaves nothing that v1 cannot say. */
  #checkRewritten(revision: number, { storageVersion, storedVersions, migration }: State, { items }: Moment): void {
    const isWhole = storedVersions.length === 1 || migration?.revision !== undefined;
    if (storageVersion !== 'v1' || !isWhole) return;
    for (const [name, { extra }] of items) {
      if (extra !== undefined) this.#violated(revision, `all is said to be stored as v1, and ${name} has ${extra}`);
    }
  }

  /** What was stored satisfies the contract that was active. */
  #checkWrite({ name, revision }: Change, spec: Spec, { version, storage, items }: Moment): void {
    const hasNewExtra = spec.extra !== undefined && spec.extra !== items.get(name)?.extra;
    if (hasNewExtra && !(version === 'split' && storage === 'v2'))
      this.#violated(revision, `${name} was stored with extra while ${version} was active, stored as ${storage}`);
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
    const { method, via, name, spec, status, code, revision, seen } = operation;
    const answered = operation.answered && specOf(operation.answered);
    const shown = `${method} ${name} ${JSON.stringify(spec ?? {})}: ${status} ${code ?? ''}`;
    if (status === undefined) return;
    if (status < 300 && revision !== undefined) {
      const at = this.#at(revision);
      if (revision < seen) this.#violated(revision, `${shown}: a client had seen revision ${seen} before`);
      const stored = method === 'DELETE' ? answered : at.items.get(name);
      if (stored?.value !== answered?.value)
        this.#violated(revision, `${shown}: the log has ${JSON.stringify(stored)}`);
      if (spec && (answered?.value !== spec.value || answered.code !== spec.code))
        this.#violated(revision, `${shown}: answered ${JSON.stringify(answered)}`);
      if (answered && stored && answered.code !== stored.code)
        this.#violated(revision, `${shown}: answered ${answered.code}, the log has ${stored.code}`);
      if (
        operation.answered &&
        (versionIn(operation.answered) !== via || 'text' in operation.answered.spec !== (via === 'v2'))
      )
        this.#violated(revision, `${shown}: answered ${JSON.stringify(operation.answered)} in ${via}`);
      this.#checkExtra(operation, at, shown);
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
      const isJust = moments.some(
        ({ version, storage }) =>
          ownMembers.some((one) => spec[one] !== undefined && version !== one) ||
          (spec.extra !== undefined && storage !== 'v2'),
      );
      if (!isJust) this.#violated(seen, `${shown}: the active contract accepts it; ${this.#told(operation, moments)}`);
    }
    if (code === 'UniqueViolation') {
      const isJust = moments.some(({ version, items }) => version === 'note' && isShared(items, name, spec));
      if (!isJust) this.#violated(seen, `${shown}: nothing has taken the code; ${this.#holdersOf(operation, moments)}`);
    }
  }

  /** Which contracts were active, what was stored, and the reason that was given. */
  #told({ via, name, detail }: Operation, moments: readonly Moment[]): string {
    const told = moments.map(({ revision, version, storage, items }) => {
      return `${revision}: ${version} in ${storage}, ${JSON.stringify(items.get(name))}`;
    });
    return `asked in ${via}, told ${detail}; ${told.slice(0, 20).join('; ')}`;
  }

  /** The moments in question, and the closest ones before and after in which another item has the code. */
  #holdersOf({ name, spec }: Operation, moments: readonly Moment[]): string {
    const told = (moment?: Moment) => moment && `${moment.revision} (${moment.version})`;
    const held = this.#moments.filter(({ items }) => isShared(items, name, spec!));
    const before = held.findLast(({ revision }) => revision < moments[0]!.revision);
    const later = held.find(({ revision }) => revision > moments.at(-1)!.revision);
    return `between ${told(moments[0])} and ${told(moments.at(-1))}; held at ${told(before)}, ${told(later)}`;
  }

  /** What v1 cannot say stays when a client of v1 writes. */
  #checkExtra({ method, via, name, spec, revision, answered }: Operation, at: Moment, shown: string): void {
    const extra = at.items.get(name)?.extra;
    if (method === 'PUT') {
      const wanted = via === 'v2' ? spec!.extra : this.#at(revision! - 1).items.get(name)?.extra;
      if (extra !== wanted) this.#violated(revision!, `${shown}: extra is ${extra} then, and should be ${wanted}`);
    }
    const shownExtra = answered && specOf(answered).extra;
    if (method !== 'DELETE' && shownExtra !== (via === 'v2' ? extra : undefined))
      this.#violated(revision!, `${shown}: answered the extra ${shownExtra} in ${via}, the log has ${extra}`);
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
