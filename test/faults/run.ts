/**
 * Plants each fault of this folder in a copy of the sources, runs the tests it names, and reports the faults that no
 * test catches: `npm run test:faults -- [--only PART-OF-NAME]... [--jobs N]`. Exit code 1 when a fault survives.
 */
import { execFile, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs, promisify } from 'node:util';
import type { Fault } from './fault.ts';
import { readFaults } from './fault.ts';

interface Failure {
  readonly name: string;
  readonly message: string;
  readonly timedOut: boolean;
}

/** What running test files came to. */
interface Outcome {
  readonly exitCode: number | null;
  readonly failure: Failure | undefined;
  readonly ms: number;
}

/** Milliseconds that the tests of one fault may take. */
const timeLimit = 300_000;
/** Milliseconds that tests get to put away what they started, once the first one has failed. */
const grace = 20_000;

const root = resolve(import.meta.dirname, '../..');
const { values } = parseArgs({
  options: { only: { type: 'string', multiple: true, default: [''] }, jobs: { type: 'string', default: '2' } },
});
const faults = readFaults().filter(({ name }) => values.only.some((part) => name.includes(part)));
const started = performance.now();
const temporary = mkdtempSync(join(tmpdir(), 'kindred-faults-'));
const copies = Array.from({ length: Number(values.jobs) }, (_, i) => join(temporary, String(i)));
const survivors: string[] = [];
try {
  for (const copy of copies) copySources(copy);
  await checkTests();
  const waiting = [...faults];
  await Promise.all(
    copies.map(async (copy) => {
      for (let fault = waiting.shift(); fault; fault = waiting.shift()) await plant(fault, copy);
    }),
  );
} finally {
  rmSync(temporary, { recursive: true, force: true });
  git(root, 'worktree', 'prune');
}
const seconds = Math.round((performance.now() - started) / 1000);
console.log(`\n${faults.length - survivors.length} of ${faults.length} faults caught in ${seconds} s`);
for (const survivor of survivors) console.log(`not caught: ${survivor}`);
process.exitCode = survivors.length > 0 ? 1 : 0;

/** The tracked files as they are now, with the dependencies of this checkout. */
function copySources(copy: string): void {
  const identity = ['-c', 'user.name=faults', '-c', 'user.email=faults@localhost'];
  const now = git(root, ...identity, 'stash', 'create') || 'HEAD';
  git(root, 'worktree', 'add', '--detach', copy, now);
  for (const path of ['.', 'tools/client-types'].filter((one) => existsSync(join(root, one, 'node_modules'))))
    linkModules(path, copy);
}

/** Links every package, and the workspaces to the copy instead of to this checkout. */
function linkModules(path: string, copy: string): void {
  const from = join(root, path, 'node_modules');
  const to = join(copy, path, 'node_modules');
  const workspaces = new Set(['atlas', 'link-checker']);
  mkdirSync(to, { recursive: true });
  for (const name of readdirSync(from, { withFileTypes: true }).map((entry) => entry.name)) {
    symlinkSync(workspaces.has(name) ? join(copy, 'examples', name) : join(from, name), join(to, name));
  }
}

/** What tests in a browser load. */
async function buildConsole(copy: string, tests: readonly string[]): Promise<void> {
  if (!tests.some((test) => test.startsWith('test/console/'))) return;
  await promisify(execFile)(process.execPath, ['scripts/build-console.ts'], { cwd: copy });
}

/** Tests that fail without a fault catch nothing. @throws Error naming one that does */
async function checkTests(): Promise<void> {
  const keys = new Set(faults.flatMap(({ tests, databases }) => tests.map((test) => `${test} ${databases ?? ''}`)));
  const waiting = [...keys];
  await Promise.all(
    copies.map(async (copy) => {
      for (let key = waiting.shift(); key; key = waiting.shift()) {
        const [test, databases] = key.split(' ');
        await buildConsole(copy, [test!]);
        const { exitCode, failure } = await runTests(copy, [test!], databases || undefined);
        if (exitCode !== 0) throw new Error(`${test} fails without a fault: ${failure?.name}: ${failure?.message}`);
      }
    }),
  );
  console.log(`${keys.size} test files pass without a fault`);
}

async function plant(fault: Fault, copy: string): Promise<void> {
  const { name, file, description, tests, databases } = fault;
  try {
    git(copy, 'apply', '-C1', file);
    await buildConsole(copy, tests);
  } catch {
    git(copy, 'checkout', '--quiet', '--', '.');
    report(fault, 'the patch does not apply, or the console cannot be built with it');
    return;
  }
  const { exitCode, failure, ms } = await runTests(copy, tests, databases);
  git(copy, 'checkout', '--quiet', '--', '.');
  if (failure && !failure.timedOut) {
    console.log(`caught    ${name} (${(ms / 1000).toFixed(1)} s): ${description}`);
    console.log(`          "${failure.name}": ${firstLine(failure.message)}`);
  } else if (failure || exitCode === null) report(fault, 'the tests only ran out of time');
  else report(fault, exitCode === 0 ? 'all tests pass' : `no test names what broke (exit code ${exitCode})`);
}

function report({ name, description, tests }: Fault, reason: string): void {
  survivors.push(`${name}: ${description} (${reason}; ${tests.join(', ')})`);
  console.log(`SURVIVED  ${name}: ${reason}`);
}

/** Runs the files one after the other until a test fails. */
async function runTests(copy: string, tests: readonly string[], databases: string | undefined): Promise<Outcome> {
  const begun = performance.now();
  let outcome: Outcome = { exitCode: 0, failure: undefined, ms: 0 };
  for (const test of tests) {
    outcome = { ...(await runTest(copy, test, databases)), ms: performance.now() - begun };
    if (outcome.exitCode !== 0) break;
  }
  return outcome;
}

async function runTest(copy: string, test: string, databases: string | undefined): Promise<Omit<Outcome, 'ms'>> {
  const reporter = join(copy, 'test/faults/reporter.ts');
  const child = spawn(process.execPath, ['--import', './test/sources.ts', `--test-reporter=${reporter}`, test], {
    cwd: copy,
    env: { ...process.env, ...(databases && { DATABASES: databases }) },
    stdio: ['ignore', 'pipe', 'ignore'],
    detached: true,
  });
  const signal = (name: NodeJS.Signals) => {
    try {
      process.kill(-child.pid!, name);
    } catch {
      // The process has ended.
    }
  };
  const timers = [setTimeout(() => signal('SIGKILL'), timeLimit)];
  let failure: Failure | undefined;
  const ended = new Promise<number | null>((done) => child.once('close', done));
  for await (const line of createInterface({ input: child.stdout })) {
    if (failure || !line.startsWith('{"name":')) continue;
    failure = JSON.parse(line) as Failure;
    signal('SIGTERM');
    timers.push(setTimeout(() => signal('SIGKILL'), grace));
  }
  const exitCode = await ended;
  for (const timer of timers) clearTimeout(timer);
  return { exitCode, failure };
}

function firstLine(text: string): string {
  const line = text.split('\n').find((one) => one.trim() !== '') ?? '';
  return line.length > 160 ? `${line.slice(0, 160)}…` : line;
}

function git(cwd: string, ...args: string[]): string {
  return execFileSync('git', args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();
}
