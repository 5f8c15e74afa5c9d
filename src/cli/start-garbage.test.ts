import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fromSources } from '../../test/sources.ts';

/** Collects a heap with `used` MiB of live objects and 10 MiB of garbage. Returns how many MiB were freed. */
function freed(used: number): number {
  const program = `
    const { getHeapStatistics } = await import('node:v8');
    const { collectStartGarbage } = await import(${JSON.stringify(new URL('./start-garbage.ts', import.meta.url).href)});
    const fill = (size) => Array.from({ length: size * 16 }, () => new Array(8_192).fill(0));
    globalThis.kept = fill(${used});
    // Old garbage, which no minor collection takes.
    globalThis.garbage = fill(10);
    globalThis.garbage = undefined;
    const before = getHeapStatistics().used_heap_size;
    collectStartGarbage();
    console.log((before - getHeapStatistics().used_heap_size) / 2 ** 20, typeof gc);
  `;
  const flags = [...fromSources, '--input-type=module', '-e', program];
  const { stdout, stderr, status } = spawnSync(process.execPath, flags, { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  const [size, type] = stdout.trim().split(' ');
  assert.equal(type, 'undefined');
  return Number(size);
}

test('a small heap is collected after the start, a large one is not', () => {
  assert.ok(freed(1) > 5);
  assert.ok(freed(40) < 5);
});
