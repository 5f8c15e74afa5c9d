/** Imports of many objects through a proxy that does harm at random, each compared with what is stored in the end. */
import { isDeepStrictEqual } from 'node:util';
import { defineModel, definePlugin, Type } from '../../src/index.ts';
import type { Harness } from '../../src/testing/harness.ts';
import { startHarness } from '../../src/testing/harness.ts';
import type { Outcome } from '../cli/command.ts';
import { kindred } from '../cli/command.ts';
import type { Random } from '../query/random.ts';
import type { Fault, ProxiedRequest } from './fault-proxy.ts';
import { startFaultProxy } from './fault-proxy.ts';

const Item = defineModel({
  gvk: { group: 'items.example.com', version: 'v1', kind: 'Item', singular: 'item', plural: 'items' },
  spec: Type.Object({ n: Type.Integer(), from: Type.String(), open: Type.Boolean({ default: true }) }),
});
const path = '/apis/items.example.com/v1/items';

export interface RunResult {
  /** What was wrong; undefined: exit code 0 and all there, or exit code 1 and the difference named. */
  readonly wrong: string | undefined;
  readonly code: number;
  readonly faults: ReadonlyMap<string, number>;
  readonly outcome: Outcome;
}

/** One line of the import. */
interface Line {
  readonly kind: 'named' | 'generated' | 'invalid';
  readonly name: string;
  readonly n: number;
}

type OnConflict = 'fail' | 'skip' | 'replace';

interface Plan {
  readonly lines: readonly Line[];
  /** Names that others took before. */
  readonly taken: ReadonlySet<string>;
  readonly onConflict: OnConflict;
  /** Of a request that something happens to it. */
  readonly harm: number;
  /** From this request on the service refuses everything. */
  readonly end: number;
}

export async function importRun(objects: number, random: Random): Promise<RunResult> {
  const plan = planned(objects, random);
  const plugin = definePlugin({ start: ({ schemeManager }) => void schemeManager.register(Item) });
  const harness = await startHarness({ plugins: [{ name: 'items', plugin }] });
  try {
    await take(harness, plan.taken);
    const faults = new Map<string, number>();
    let requests = 0;
    const proxy = await startFaultProxy(harness.url, (request) => {
      const fault = faultOf(++requests, request, plan, random);
      if (fault) faults.set(fault.kind, (faults.get(fault.kind) ?? 0) + 1);
      return fault;
    });
    const stdin = plan.lines.map((line) => `${JSON.stringify(objectOf(line))}\n`).join('');
    const patience = plan.end < Number.POSITIVE_INFINITY ? '500ms' : '60s';
    const args = ['import', '-', '--server', proxy.url, '--on-conflict', plan.onConflict, '--retry-for', patience];
    const outcome = await kindred(args, { stdin }).finally(() => proxy.close());
    const wrong = judge(plan, outcome, await storedItems(harness));
    return { wrong, code: outcome.code, faults, outcome };
  } finally {
    await harness.stop();
  }
}

function planned(objects: number, random: Random): Plan {
  const onConflict = random.pick(['fail', 'fail', 'skip', 'replace'] as const);
  const [isMixed, isTaken, ends] = [random.chance(0.3), random.chance(0.3), random.chance(0.15)];
  const taken = new Set<string>();
  const lines = Array.from({ length: objects }, (_, n): Line => {
    const name = `i-${n}`;
    if (isMixed && random.chance(0.02)) return { kind: 'invalid', name, n };
    if (isMixed && random.chance(0.1)) return { kind: 'generated', name: 'g-', n };
    if (isTaken && random.chance(0.02)) taken.add(name);
    return { kind: 'named', name, n };
  });
  const end = ends ? 1 + random.below(objects / 1000) : Number.POSITIVE_INFINITY;
  return { lines, taken, onConflict, harm: random.next() * 0.5, end };
}

function objectOf({ kind, name, n }: Line): object {
  const metadata = kind === 'generated' ? { generateName: name } : { name };
  const spec = { n: kind === 'invalid' ? String(n) : n, from: 'import' };
  return { apiVersion: 'items.example.com/v1', kind: 'Item', metadata, spec };
}

async function take(harness: Harness, names: ReadonlySet<string>): Promise<void> {
  for (const name of names) {
    await harness.client.create(Item, { metadata: { name }, spec: { n: -1, from: 'others', open: true } });
  }
}

function faultOf(request: number, { isBulk }: ProxiedRequest, plan: Plan, random: Random): Fault | undefined {
  // The first request asks which types there are: an address where nothing answers is given up at once.
  if (request === 1) return undefined;
  const refusal = (): Fault => {
    const status = random.chance(0.7) ? 503 : 429;
    return { kind: 'refuse', status, retryAfter: random.chance(0.1) ? '1' : '0', problem: random.chance(0.7) };
  };
  if (request > plan.end) return refusal();
  // Of the requests for one object, which are many, fewer.
  if (!random.chance(isBulk ? plan.harm : plan.harm / 10)) return undefined;
  const share = random.next();
  const faults: (() => Fault)[] = [
    refusal,
    refusal,
    () => ({ kind: 'refuse', status: 502 }),
    () => ({ kind: 'hide', status: random.chance(0.5) ? 502 : 504 }),
    () => ({ kind: 'cutBefore' }),
    () => ({ kind: 'cutAnswer', part: share }),
    () => ({ kind: 'cutAnswer', part: 0 }),
    () => ({ kind: 'delay', milliseconds: Math.floor(share * 100) }),
    () => ({ kind: 'away', milliseconds: Math.floor(share * 100) }),
    ...(isBulk
      ? [
          (): Fault => ({ kind: 'cutRequest', part: share }),
          (): Fault => ({ kind: 'truncate', part: share }),
          (): Fault => ({ kind: 'hideLines', of: chosen(random, share) }),
          (): Fault => ({ kind: 'refuseLines', status: random.chance(0.5) ? 503 : 429, of: chosen(random, share) }),
        ]
      : []),
  ];
  return random.pick(faults)();
}

/** The same choice each time it is asked for a line. */
function chosen(random: Random, share: number): (index: number) => boolean {
  const choices: boolean[] = [];
  return (index) => {
    choices[index] ??= random.chance(share);
    return choices[index];
  };
}

interface StoredItem {
  metadata: { name: string; generateName?: string };
  spec: { n: number; from: string; open: boolean };
}

async function storedItems(harness: Harness): Promise<StoredItem[]> {
  const answer = await harness.fetch(path, { headers: { accept: 'application/x-ndjson' } });
  const lines = (await answer.text()).split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as StoredItem);
}

/** What the command said of each line, by its index. */
interface Told {
  readonly refused: ReadonlySet<number>;
  readonly absent: ReadonlySet<number>;
  readonly unknown: ReadonlySet<number>;
}

function toldBy({ stderr }: Outcome): Told {
  const refused = new Set([...stderr.matchAll(/^stdin:(\d+): /gm)].map(([, line]) => Number(line) - 1));
  const ranges = (title: string): Set<number> => {
    const text = new RegExp(`^${title}: stdin:([0-9, -]+)`, 'm').exec(stderr)?.[1] ?? '';
    const found = new Set<number>();
    for (const [, first, last = first] of text.matchAll(/(\d+)(?:-(\d+))?/g)) {
      for (let line = Number(first); line <= Number(last); line++) found.add(line - 1);
    }
    return found;
  };
  for (const line of ranges('refused too')) refused.add(line);
  return { refused, absent: ranges('not stored'), unknown: ranges('stored or not, which is not known') };
}

/** Undefined: as it has to be. */
function judge(plan: Plan, outcome: Outcome, items: readonly StoredItem[]): string | undefined {
  const { code, stderr } = outcome;
  if (code !== 0 && code !== 1) return `exit code ${code}`;
  const told = toldBy(outcome);
  const named = new Map(items.filter(({ metadata }) => !metadata.generateName).map((one) => [one.metadata.name, one]));
  const generated = items.filter(({ metadata }) => metadata.generateName).map(({ spec }) => spec.n);
  if (new Set(generated).size < generated.length) return 'an object without a name is stored twice';
  const there = new Set(generated);
  // The input is read as far as the import came.
  const total = Number(/ of (\d+) without an answer/.exec(stderr)?.[1] ?? plan.lines.length);
  let differences = 0;
  for (const [i, line] of plan.lines.slice(0, total).entries()) {
    const found = named.get(line.name);
    const isTaken = plan.taken.has(line.name);
    const isThere = line.kind === 'generated' ? there.has(line.n) : found !== undefined;
    const place = `line ${i + 1} (${line.kind}${isTaken ? ', taken' : ''})`;
    const isRefusal = line.kind === 'invalid' || (isTaken && plan.onConflict === 'fail');
    if (told.refused.has(i)) {
      differences++;
      if (!isRefusal) return `${place} is refused`;
      if (line.kind === 'invalid' && isThere) return `${place} is stored`;
    } else if (told.absent.has(i)) {
      differences++;
      if (isThere && !isTaken) return `${place} is said to be not stored, and is`;
    } else if (told.unknown.has(i)) {
      differences++;
    } else {
      if (isRefusal) return `${place} is not refused`;
      if (!isThere) return `${place} is lost`;
    }
    const expected = { n: line.n, from: 'import', open: true };
    const isOwn = !isTaken || (plan.onConflict === 'replace' && found?.spec.from === 'import');
    if (found && line.kind === 'named' && isOwn && !isDeepStrictEqual(found.spec, expected))
      return `${place} is another`;
    const isReplaced = plan.onConflict === 'replace' && ![told.absent, told.unknown].some((one) => one.has(i));
    if (isTaken && isReplaced && found?.spec.from !== 'import') return `${place} is not replaced`;
  }
  const isAllRead = total === plan.lines.length;
  if (code === 0 && (differences > 0 || !isAllRead)) return `exit code 0 with ${differences} differences`;
  if (code === 1 && differences === 0) return 'exit code 1 without a difference';
  const known = new Set(plan.lines.slice(0, total).map(({ name }) => name));
  const beyond = [...named.keys()].find((name) => !known.has(name) && !plan.taken.has(name));
  return beyond && `${beyond} is stored and was never read`;
}
