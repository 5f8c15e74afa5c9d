/** Commands whose reader goes away (`| head`), and exports that do not arrive whole. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { defineModel, definePlugin, Type } from 'kindred';
import { createClient } from 'kindred/client';
import type { Harness } from 'kindred/testing';
import { startHarness } from 'kindred/testing';
import { startFaultProxy } from '../client/fault-proxy.ts';
import { fromSources } from '../sources.ts';
import { kindred } from './command.ts';

const Leaf = defineModel({
  gvk: { group: 'leaves.example.com', version: 'v1', kind: 'Leaf', singular: 'leaf', plural: 'leaves' },
  spec: Type.Object({ text: Type.String() }),
});
const count = 3_000;
const folder = mkdtempSync(join(tmpdir(), 'kindred-pipes-'));
const inputs = mkdtempSync(join(tmpdir(), 'kindred-pipes-'));
let harness: Harness;
before(async () => {
  const plugin = definePlugin({ start: ({ schemeManager }) => void schemeManager.register(Leaf) });
  harness = await startHarness({ plugins: [{ name: 'leaves', plugin }] });
  const leaves = Array.from({ length: count }, (_, i) => ({
    metadata: { name: `l${i}` },
    spec: { text: 'x'.repeat(200) },
  }));
  for await (const result of createClient({ url: harness.url }).import(Leaf, leaves)) assert.ok(result.ok);
  const others = leaves.map((leaf) => ({
    apiVersion: 'leaves.example.com/v1',
    kind: 'Leaf',
    ...leaf,
    spec: { text: 'y' },
  }));
  writeFileSync(join(inputs, 'changed.ndjson'), others.map((leaf) => JSON.stringify(leaf)).join('\n'));
});
after(async () => {
  await harness.stop();
  rmSync(folder, { recursive: true });
  rmSync(inputs, { recursive: true });
});

interface Ended {
  code: number | null;
  stderr: string;
}

/** Runs a command in a process of its own, whose output is closed after the first bytes (or at once). */
async function closing(outputs: 'stdout' | 'both', at: 'once' | 'data', ...args: string[]): Promise<Ended> {
  const main = join(import.meta.dirname, '../../src/cli/main.ts');
  const env = { ...process.env, KINDRED_SERVER: harness.url };
  const child = spawn('node', [...fromSources, main, ...args], { cwd: inputs, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let stderr = '';
  if (outputs === 'both') child.stderr.destroy();
  else
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
  if (at === 'once') child.stdout.destroy();
  else child.stdout.once('data', () => child.stdout.destroy());
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, stderr };
}

const commands: { args: string[]; code: number }[] = [
  { args: ['list', 'leaves', '--size', '1000'], code: 0 },
  { args: ['list', 'leaves', '--size', '1000', '-o', 'json'], code: 0 },
  { args: ['get', 'leaves', '-o', 'jsonpath={range .items[*]}{.spec}{end}'], code: 0 },
  { args: ['describe', 'leaves'], code: 0 },
  { args: ['watch', 'leaves', '--send-initial'], code: 0 },
  { args: ['serve', '--help'], code: 0 },
  // What 0 would say is not so.
  { args: ['export'], code: 141 },
  { args: ['label', 'leaves', '--all', '--overwrite', 'seen=yes'], code: 141 },
  { args: ['diff', '-f', 'changed.ndjson'], code: 141 },
  { args: ['wait', 'leaves', '--all', '--for=create'], code: 141 },
];
for (const { args, code } of commands) {
  for (const [outputs, at] of [
    ['stdout', 'data'],
    ['stdout', 'once'],
    ['both', 'once'],
  ] as const) {
    test(`command-line: a reader that goes away is no error - ${args.join(' ')}, ${outputs} closed at ${at}`, async () => {
      const ended = await closing(outputs, at, ...args);
      assert.equal(ended.code, code, ended.stderr);
      assert.doesNotMatch(ended.stderr, /EPIPE|\n {4}at /);
    });
  }
}

test('command-line: an export that arrives in part is exit code 1, and leaves no file', async () => {
  // The proxy ends the answer as if it were complete.
  const proxy = await startFaultProxy(harness.url, ({ method, headers }) =>
    method === 'GET' && headers.accept === 'application/x-ndjson' ? { kind: 'truncate', part: 0.5 } : undefined,
  );
  const file = join(folder, 'part.ndjson');
  try {
    const { code, stderr } = await kindred(['export', '-o', file, '--server', proxy.url]);
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^Exporting 3,000 objects of 3 types\nStopped after \d+ of 3,000 objects\nkindred: .* \d+ of 3000 objects arrived\n$/,
    );
    assert.deepEqual(readdirSync(folder), []);
  } finally {
    await proxy.close();
  }
  const whole = await kindred(['export', '-o', file, '--server', harness.url]);
  assert.equal(whole.code, 0, whole.stderr);
  assert.match(whole.stderr, /Exported 3,000 objects\n$/);
  assert.equal(readFileSync(file, 'utf8').split('\n').length, count + 1);
});

test('command-line: Ctrl-C ends an export, and leaves no file', async () => {
  const file = join(folder, 'interrupted.ndjson');
  let asked = false;
  const proxy = await startFaultProxy(harness.url, async ({ headers }) => {
    if (headers.accept !== 'application/x-ndjson') return undefined;
    asked = true;
    return { kind: 'delay', milliseconds: 60_000 };
  });
  const main = join(import.meta.dirname, '../../src/cli/main.ts');
  const child = spawn('node', [...fromSources, main, 'export', '-o', file, '--server', proxy.url]);
  try {
    await harness.until(() => asked && existsSync(`${file}.partial`));
    child.kill('SIGINT');
    assert.equal(await new Promise((resolve) => child.once('close', resolve)), 1);
    assert.equal(existsSync(`${file}.partial`), false);
  } finally {
    child.kill('SIGKILL');
    await proxy.close();
  }
});
