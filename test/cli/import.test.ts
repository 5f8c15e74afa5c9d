/** `kindred import` through a proxy that refuses, cuts and loses answers: every object there, or exit code 1 with the difference named. */
import assert from 'node:assert/strict';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { defineModel, definePlugin, Type } from 'kindred';
import type { Harness } from 'kindred/testing';
import { startHarness } from 'kindred/testing';
import type { Fault, ProxiedRequest } from '../client/fault-proxy.ts';
import { startFaultProxy } from '../client/fault-proxy.ts';
import { fromSources } from '../sources.ts';
import type { Outcome } from './command.ts';
import { kindred } from './command.ts';

const Note = defineModel({
  gvk: { group: 'notes.example.com', version: 'v1', kind: 'Note', singular: 'note', plural: 'notes' },
  spec: Type.Object({ n: Type.Integer() }),
});

const path = '/apis/notes.example.com/v1/notes';
let harness: Harness;
before(async () => {
  const plugin = definePlugin({ start: ({ schemeManager }) => void schemeManager.register(Note) });
  harness = await startHarness({ plugins: [{ name: 'notes', plugin }] });
});
after(() => harness.stop());

function note(name: string, n: number): object {
  return { apiVersion: 'notes.example.com/v1', kind: 'Note', metadata: { name }, spec: { n } };
}

function generated(generateName: string, n: number): object {
  return { apiVersion: 'notes.example.com/v1', kind: 'Note', metadata: { generateName }, spec: { n } };
}

function notes(prefix: string, count: number): string {
  return Array.from({ length: count }, (_, i) => `${JSON.stringify(note(`${prefix}-${i}`, i))}\n`).join('');
}

interface Imported extends Outcome {
  /** Lines of each bulk request. */
  bulks: readonly number[];
}

/** Imports through a proxy; `faultOf` is asked with the number of the bulk request, from 1. */
async function imported(
  stdin: string | AsyncIterable<string>,
  faultOf: (bulk: number, request: ProxiedRequest) => Fault | undefined | Promise<Fault | undefined>,
  ...flags: string[]
): Promise<Imported> {
  const bulks: number[] = [];
  const proxy = await startFaultProxy(harness.url, (request) => {
    if (request.isBulk) bulks.push(request.body.toString().split('\n').length - 1);
    return faultOf(request.isBulk ? bulks.length : 0, request);
  });
  try {
    const outcome = await kindred(['import', '-', '--server', proxy.url, ...flags], { stdin });
    return { ...outcome, bulks };
  } finally {
    await proxy.close();
  }
}

async function stored(prefix: string): Promise<{ metadata: { name: string; version: number }; spec: { n: number } }[]> {
  const answer = await harness.fetch(`${path}?fieldSelector=name^=${prefix}-`, {
    headers: { accept: 'application/x-ndjson' },
  });
  const text = await answer.text();
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

const refused: Fault = { kind: 'refuse', status: 503, retryAfter: '0', problem: true };

test('command-line: a batch that is refused while more lines are awaited is sent again', async () => {
  // The next portion comes when the refusal was answered, so that nobody waits for a batch at that moment.
  let wake: () => void = () => {};
  const answered = new Promise<void>((resolve) => {
    wake = resolve;
  });
  const lines = notes('second', 4000).split(/(?<=\n)/);
  async function* portions() {
    yield lines.slice(0, 2000).join('');
    await answered;
    yield lines.slice(2000).join('');
  }
  const { code, stderr } = await imported(portions(), (bulk) => {
    if (bulk !== 2) return undefined;
    setTimeout(wake, 50);
    return refused;
  });
  assert.deepEqual([code, (await stored('second')).length], [0, 4000], stderr);
  assert.match(stderr, /4000 imported\n$/);
});

test('command-line: objects that the service never takes are named, and the exit code is 1', async () => {
  const { code, stderr } = await imported(
    notes('never', 4000),
    (bulk) => (bulk >= 2 ? refused : undefined),
    '--retry-for',
    '300ms',
  );
  assert.equal(code, 1, stderr);
  assert.equal((await stored('never')).length, 1000);
  const read = Number(/1000 imported, (\d+) of \d+ without an answer/.exec(stderr)![1]) + 1000;
  assert.match(stderr, new RegExp(`\\nnot stored: stdin:1001-${read}\\n`));
  assert.match(stderr, /kindred: line answered 503\n$/);
});

test('command-line: an import whose every answer is lost ends, and does not try the rest of the file', async () => {
  const { code, stderr, bulks } = await imported(
    notes('void', 20_000),
    (bulk) => (bulk >= 2 ? { kind: 'refuse', status: 502 } : undefined),
    '--retry-for',
    '300ms',
  );
  assert.equal(code, 1, stderr);
  assert.match(stderr, /\nstored or not, which is not known: stdin:1001-[\d, -]+ \(.*502.*\)\nkindred: .*502/);
  assert.ok(bulks.length < 30, `${bulks.length} requests`);
});

test('command-line: an object that is deleted before it is replaced is created', async () => {
  assert.equal((await imported(notes('again', 1), () => undefined)).code, 0);
  let puts = 0;
  const { code, stderr } = await imported(
    notes('again', 1),
    async (_bulk, { method }) => {
      if (method === 'PUT' && puts++ === 0) await harness.fetch(`${path}/again-0`, { method: 'DELETE' });
      return undefined;
    },
    '--on-conflict',
    'replace',
  );
  assert.equal(code, 0, stderr);
  assert.equal((await stored('again'))[0]?.metadata.version, 0);
});

const lost: { name: string; fault: Fault }[] = [
  { name: 'a connection that breaks before the request', fault: { kind: 'cutBefore' } },
  { name: 'a connection that breaks in the request', fault: { kind: 'cutRequest', part: 0.5 } },
  { name: 'a connection that breaks before the answer', fault: { kind: 'cutAnswer', part: 0 } },
  { name: 'a connection that breaks in the answer', fault: { kind: 'cutAnswer', part: 0.5 } },
  { name: 'a proxy that lost the answer', fault: { kind: 'hide', status: 502 } },
  { name: 'lines of unknown outcome', fault: { kind: 'hideLines', of: (i) => i % 3 === 0 } },
  { name: 'lines that are refused', fault: { kind: 'refuseLines', status: 503, of: (i) => i % 3 === 0 } },
  { name: 'lines that are too many', fault: { kind: 'refuseLines', status: 429, of: (i) => i < 200 } },
];
for (const [i, { name, fault }] of lost.entries()) {
  test(`command-line: an import reports no conflict with itself, and every object is there - ${name}`, async () => {
    const { code, stderr } = await imported(notes(`lost${i}`, 400), (bulk) => (bulk === 1 ? fault : undefined));
    assert.equal(code, 0, stderr);
    assert.match(stderr, /400 imported\n$/);
    const found = await stored(`lost${i}`);
    assert.equal(found.length, 400);
    assert.ok(found.every(({ metadata }) => metadata.version === 0));
  });
}

test('command-line: conflicts with others are reported all the same when an answer is lost', async () => {
  const other = await harness.fetch(path, { method: 'POST', json: note('other-5', 77) });
  assert.equal(other.status, 201);
  const { code, stderr } = await imported(notes('other', 10), (bulk) =>
    bulk === 1 ? { kind: 'cutAnswer', part: 0 } : undefined,
  );
  assert.equal(code, 1);
  assert.match(stderr, /9 imported, 1 refused\nstdin:6: There is a "other-5" already\n$/);
});

test('command-line: with skip and replace a lost answer leaves no question', async () => {
  const skipped = await imported(
    notes('skip', 100),
    (bulk) => (bulk === 1 ? { kind: 'cutAnswer', part: 0.3 } : undefined),
    '--on-conflict',
    'skip',
  );
  assert.equal(skipped.code, 0, skipped.stderr);
  let puts = 0;
  const replaced = await imported(
    notes('skip', 100),
    (_bulk, { method }) => (method === 'PUT' && ++puts % 10 === 0 ? { kind: 'hide', status: 504 } : undefined),
    '--on-conflict',
    'replace',
  );
  assert.equal(replaced.code, 0, replaced.stderr);
  assert.match(replaced.stderr, /100 imported, 100 of them replaced\n$/);
  assert.ok(puts > 100);
  assert.equal((await stored('skip')).length, 100);
});

test('command-line: with skip, an import sets the owners that a stopped one left out, and of no other object', async () => {
  const owner = { apiVersion: 'notes.example.com/v1', kind: 'Note', name: 'owner-0' };
  const owned = (name: string, n: number) => ({
    ...note(name, n),
    metadata: { name, ownerReferences: [{ ...owner, uid: 'of-before' }] },
  });
  const another = await harness.fetch(path, { method: 'POST', json: note('owned-2', 77) });
  assert.equal(another.status, 201);
  const lines = [owned('owned-1', 1), owned('owned-2', 2), note('owner-0', 0)];
  const text = lines.map((line) => JSON.stringify(line)).join('\n');
  const fault = (_bulk: number, { method }: ProxiedRequest): Fault | undefined =>
    method === 'PATCH' ? refused : undefined;
  const stopped = await imported(text, fault, '--on-conflict', 'skip', '--retry-for', '100ms');
  assert.equal(stopped.code, 1, stopped.stderr);
  assert.match(stopped.stderr, /Stopped: 1 imported, 1 skipped, 1 of 3 without an answer/);
  const again = await imported(text, () => undefined, '--on-conflict', 'skip');
  assert.equal(again.code, 0, again.stderr);
  assert.match(again.stderr, /1 imported, 2 skipped\n$/);
  const ownersOf = async (name: string) => {
    const { metadata } = (await (await harness.fetch(`${path}/${name}`)).json()) as {
      metadata: { ownerReferences?: { name: string; uid: string }[] };
    };
    return metadata.ownerReferences;
  };
  const [reference, ...more] = (await ownersOf('owned-1'))!;
  assert.deepEqual([reference!.name, more], ['owner-0', []]);
  assert.notEqual(reference!.uid, 'of-before');
  assert.equal(await ownersOf('owned-2'), undefined);
  const third = await imported(text, () => undefined, '--on-conflict', 'skip');
  assert.match(third.stderr, /0 imported, 3 skipped\n$/);
});

test('command-line: objects without a name whose answer was lost are named, and stored at most once', async () => {
  const lines = Array.from({ length: 20 }, (_, i) => JSON.stringify(generated('gen-', i))).join('\n');
  const { code, stderr } = await imported(lines, (bulk) =>
    bulk === 1 ? { kind: 'hideLines', of: (i) => i === 4 || (i >= 8 && i < 12) } : undefined,
  );
  assert.equal(code, 1);
  assert.match(stderr, /15 imported, 5 of 20 without an answer\n/);
  assert.match(stderr, /\nstored or not, which is not known: stdin:5, 9-12 \(.*without a name.*\)\n$/);
  const numbers = (await stored('gen')).map(({ spec }) => spec.n);
  assert.equal(new Set(numbers).size, numbers.length);
});

test('command-line: what stands before a line that is no JSON is imported', async () => {
  const { code, stderr } = await imported(`${notes('half', 1200)}{"metadata":\n${notes('behind', 3)}`, () => undefined);
  assert.equal(code, 2);
  assert.match(stderr, /Stopped: 1200 imported; .*\nkindred: stdin:1201 is no JSON/);
  assert.deepEqual([(await stored('half')).length, (await stored('behind')).length], [1200, 0]);
});

test('command-line: a discovery that fails for a moment does not fail the import', async () => {
  let discoveries = 0;
  const { code, stderr } = await imported(notes('late', 10), (_bulk, { method, path }) =>
    method === 'GET' && path.endsWith('/v1') && ++discoveries === 1 ? { kind: 'refuse', status: 502 } : undefined,
  );
  assert.equal(code, 0, stderr);
  assert.equal(discoveries, 2);
});

test('command-line: import waits as long as Retry-After asks', async () => {
  const times: number[] = [];
  const { code } = await imported(notes('wait', 3), (bulk) => {
    if (bulk > 0) times.push(performance.now());
    return bulk === 1 ? { kind: 'refuse', status: 503, retryAfter: '1', problem: true } : undefined;
  });
  assert.equal(code, 0);
  assert.ok(times[1]! - times[0]! >= 1_000, `${times[1]! - times[0]!} ms`);
});

/** An import in a process of its own, whose input has no end. */
function importing(server: string): ChildProcessWithoutNullStreams & { told(): string } {
  const main = join(import.meta.dirname, '../../src/cli/main.ts');
  const child = spawn('node', [...fromSources, main, 'import', '-', '--server', server]);
  let text = '';
  child.stderr.setEncoding('utf8').on('data', (part: string) => {
    text += part;
  });
  return Object.assign(child, { told: () => text });
}

test('command-line: Ctrl-C stops an import that waits, and it says what was done', async () => {
  let bulks = 0;
  const proxy = await startFaultProxy(harness.url, ({ isBulk }) => (isBulk && ++bulks > 1 ? refused : undefined));
  const child = importing(proxy.url);
  child.stdin.write(notes('ctrl', 2500));
  try {
    await harness.until(() => bulks > 2);
    child.kill('SIGINT');
    const [code] = await once(child, 'exit');
    assert.equal(code, 1, child.told());
    assert.match(
      child.told(),
      /Stopped: 1000 imported, 1500 of 2500 without an answer; "--on-conflict skip" goes on from there/,
    );
    assert.match(child.told(), /\nnot stored: stdin:1001-2500\n$/);
    assert.equal((await stored('ctrl')).length, 1000);
  } finally {
    child.kill('SIGKILL');
    await proxy.close();
  }
});

test('command-line: Ctrl-C waits for the answers to what is under way', async () => {
  let bulks = 0;
  const proxy = await startFaultProxy(harness.url, ({ isBulk }) => {
    if (isBulk) bulks++;
    return isBulk ? { kind: 'delay', milliseconds: 700 } : undefined;
  });
  const child = importing(proxy.url);
  child.stdin.write(notes('slow', 1300));
  try {
    await harness.until(() => bulks === 1);
    child.kill('SIGTERM');
    const [code] = await once(child, 'exit');
    assert.equal(code, 1);
    assert.match(child.told(), /Stopped: 1000 imported, 300 of 1300 without an answer/);
    assert.equal((await stored('slow')).length, 1000);
  } finally {
    child.kill('SIGKILL');
    await proxy.close();
  }
});
