/**
 * Failover for real: node --import ./test/sources.ts test/failover/run.ts --faults postgres=100,node=100 [--through hosts|haproxy] [--seed N]
 * Three PostgreSQL servers with Patroni and etcd in networks of their own, a synchronous standby always; three replicas of
 * the service, whose clients record what they are answered while the leader fails. Needs Linux, root, and Debian's packages,
 * which it names when they are missing. Exit code 1 at the first violation; the history is then kept in a file.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { seeded } from '../../src/resource/generate.ts';
import { retry } from '../../src/runtime/retry.ts';
import { awaitedTimers } from '../../src/runtime/timers.ts';
import { Replica } from '../histories/record.ts';
import { Cluster, requirePackages } from './cluster.ts';
import type { Fault, FaultKind } from './faults.ts';
import { faults } from './faults.ts';
import { isInside, runInside } from './network.ts';
import type { Round } from './round.ts';
import { failoverRound } from './round.ts';

const kinds = Object.keys(faults) as FaultKind[];
const { values } = parseArgs({
  options: {
    faults: { type: 'string', default: kinds.map((kind) => `${kind}=1`).join(',') },
    through: { type: 'string', default: 'hosts' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    ttl: { type: 'string', default: '10' },
    'loop-wait': { type: 'string', default: '2' },
    'retry-timeout': { type: 'string', default: '3' },
    folder: { type: 'string' },
  },
});
const wanted = countsOf(values.faults);
if (values.through !== 'hosts' && values.through !== 'haproxy') throw new Error('--through: expected hosts or haproxy');
requirePackages();
if (!isInside) {
  const folder = mkdtempSync(join(tmpdir(), 'kindred-failover-'));
  process.argv.push('--folder', folder);
  const code = await runInside();
  if (code === 0) rmSync(folder, { recursive: true, force: true });
  else console.error(`what the servers wrote is in ${folder}`);
  process.exit(code);
}
await run(values.folder!);
process.exit(0);

async function run(folder: string): Promise<void> {
  console.log(`seed ${values.seed}, through ${values.through}, ttl ${values.ttl} s`);
  const random = seeded(Number(values.seed));
  const below = (limit: number): number => Math.floor(random() * limit);
  const cluster = new Cluster(folder, {
    ttl: Number(values.ttl),
    loopWait: Number(values['loop-wait']),
    retryTimeout: Number(values['retry-timeout']),
  });
  await cluster.start();
  const url = values.through === 'hosts' ? cluster.hosts : cluster.proxy;
  const replicas = [0, 1, 2].map(() => new Replica(url));
  // The connection may lead to a standby, or break: a supervisor would start the replica again.
  const started = (replica: Replica) =>
    retry({ timers: awaitedTimers, minDelay: 1_000, maxDelay: 1_000, failed: givenUp() }, () => replica.start());
  await started(replicas[0]!);
  await Promise.all(replicas.slice(1).map(started));
  const rounds = new Map<FaultKind, Round[]>(kinds.map((kind) => [kind, []]));
  const begun = Date.now();
  // Kinds in turns, so that a run that is ended early has some of each.
  for (let i = 1; ; i++) {
    const due = kinds.filter((kind) => rounds.get(kind)!.length < wanted[kind]);
    if (due.length === 0) break;
    for (const kind of due) {
      const name = `${kind}${i}`;
      const round = await failoverRound(cluster, replicas, name, faults[kind] as Fault, below);
      rounds.get(kind)!.push(round);
      report(name, round);
      if (round.violations.length > 0) fail(name, round);
    }
    console.log(`\nafter ${Math.round((Date.now() - begun) / 1000)} s`);
    for (const [kind, list] of rounds) if (list.length > 0) console.log(summary(kind, list));
  }
  console.log('0 acknowledged writes lost, 0 violations, replicas as the database');
}

/** Throws the third failure. */
function givenUp(): (error: unknown) => void {
  let failures = 0;
  return (error) => {
    if (++failures === 3) throw error;
  };
}

function report(name: string, round: Round): void {
  const { acknowledged, unknown, moved, withoutWrites, withoutReads, election, history } = round;
  const events = history.streams.reduce((sum, stream) => sum + stream.events.length, 0);
  console.log(
    `${name}: ${moved ? 'moved' : 'stayed'}, ${seconds(withoutWrites)} s without writes, ${seconds(withoutReads)} without reads,` +
      ` other leader after ${election === undefined ? '-' : seconds(election)}; ${acknowledged} acknowledged, ${unknown} unknown, ${events} watch events`,
  );
}

function fail(name: string, { history, violations }: Round): never {
  const file = join(tmpdir(), `kindred-failover-${name}-${Date.now()}.json`);
  writeFileSync(file, JSON.stringify(history));
  console.error(`${name}: ${violations.length} violations; all of it is in ${file}`);
  for (const violation of violations.slice(0, 20)) console.error(`  ${violation}`);
  process.exit(1);
}

function summary(kind: FaultKind, rounds: readonly Round[]): string {
  const writes = rounds.map((round) => round.withoutWrites).sort((a, b) => a - b);
  const elections = rounds.flatMap(({ election }) => election ?? []).sort((a, b) => a - b);
  const sum = (of: (round: Round) => number): number => rounds.reduce((total, round) => total + of(round), 0);
  return (
    `${faults[kind].text}: ${rounds.length}, moved ${rounds.filter(({ moved }) => moved).length},` +
    ` s without writes ${seconds(middle(writes))} / ${seconds(writes.at(-1)!)}, without reads at worst ${seconds(Math.max(...rounds.map((round) => round.withoutReads)))},` +
    ` election ${elections.length > 0 ? seconds(middle(elections)) : '-'}; acknowledged ${sum((round) => round.acknowledged)}, unknown ${sum((round) => round.unknown)}`
  );
}

function middle(sorted: readonly number[]): number {
  return sorted[Math.floor(sorted.length / 2)]!;
}

function seconds(milliseconds: number): string {
  return (milliseconds / 1000).toFixed(1);
}

function countsOf(text: string): Record<FaultKind, number> {
  const counts = Object.fromEntries(kinds.map((kind) => [kind, 0])) as Record<FaultKind, number>;
  for (const part of text.split(',')) {
    const [kind, count] = part.split('=') as [FaultKind, string | undefined];
    if (!(kind in counts) || !/^\d+$/.test(count ?? ''))
      throw new Error(`--faults: expected KIND=N, with the kinds ${kinds.join(', ')}`);
    counts[kind] = Number(count);
  }
  return counts;
}
