import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { defineModel, definePlugin, Type } from 'kindred';
import type { Harness } from 'kindred/testing';
import { startHarness, until } from 'kindred/testing';
import { fromSources } from '../sources.ts';

const Box = defineModel({
  gvk: { group: 'shop.example.com', version: 'v1', kind: 'Box', singular: 'box', plural: 'boxes' },
  spec: Type.Object({ size: Type.Integer() }),
});
let harness: Harness;
before(async () => {
  const plugin = definePlugin({ start: ({ schemeManager }) => void schemeManager.register(Box) });
  harness = await startHarness({ plugins: [{ name: 'shop', plugin }] });
  for (const name of ['a', 'b', 'c']) await harness.client.create(Box, { metadata: { name }, spec: { size: 0 } });
});
after(() => harness.stop());

const main = join(import.meta.dirname, '../../src/cli/main.ts');

const watches: { args: string[]; first: string; later: string }[] = [
  { args: ['get', 'box', 'a', 'b', '-w'], first: 'ADDED a, ADDED b, EVENT NAME', later: 'MODIFIED a, MODIFIED b' },
  { args: ['get', 'box', 'a', '-w', '--no-headers', '-o', 'wide'], first: 'ADDED a', later: 'MODIFIED a' },
  {
    args: ['get', 'box/a', '--watch', '-o', 'name'],
    first: 'boxes.shop.example.com/a',
    later: 'boxes.shop.example.com/a',
  },
  { args: ['get', 'box/a', '-w', '-o', 'jsonpath={.metadata.name}'], first: 'a', later: 'a' },
  { args: ['get', 'box/a', '-w', '-o', 'custom-columns=A:.metadata.name', '--no-headers'], first: 'a', later: 'a' },
  { args: ['watch', 'boxes', 'b', '--send-initial'], first: 'ADDED b', later: 'MODIFIED b' },
  {
    args: ['watch', 'Box', '--send-initial'],
    first: 'ADDED a, ADDED b, ADDED c',
    later: 'MODIFIED a, MODIFIED b, MODIFIED c',
  },
];
for (const { args, first, later } of watches) {
  test(`command-line: a watch prints what is there and every change, of the names alone, until interrupted - ${args.join(' ')}`, async () => {
    const child = spawn(process.execPath, [...fromSources, main, ...args], {
      env: { PATH: process.env.PATH, KINDRED_SERVER: harness.url },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = once(child, 'exit');
    let printed = '';
    child.stdout.on('data', (chunk) => (printed += chunk));
    /** The events, those of one moment in the order of their names. */
    const events = (count: number) => {
      const lines = printed
        .trimEnd()
        .split('\n')
        .map((line) => line.split(/ {2,}/).slice(0, 2).join(' '));
      return lines.length >= count ? lines.sort().join(', ') : undefined;
    };
    try {
      assert.equal(await until(() => events(first.split(', ').length)), first);
      printed = '';
      for (const name of ['a', 'b', 'c']) {
        const { spec } = await harness.client.get(Box, name);
        await harness.client.patch(Box, name, { spec: { size: spec.size + 1 } });
      }
      assert.equal(await until(() => events(later.split(', ').length)), later);
      child.kill('SIGINT');
      assert.deepEqual(await ended, [0, null]);
    } finally {
      child.kill('SIGKILL');
    }
  });
}
