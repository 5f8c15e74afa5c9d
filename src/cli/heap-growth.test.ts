import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { fromSources } from '../../test/sources.ts';

/**
 * The number of full collections while the old generation allocates and frees memory.
 * @param staying megabytes that stay in use
 * @param passing megabytes that are allocated and freed
 */
function collections(staying: number, passing: number): number {
  const program = `
    const { limitHeapGrowth } = await import(${JSON.stringify(new URL('./heap-growth.ts', import.meta.url).href)});
    const { setImmediate: turn } = await import('node:timers/promises');
    const megabyte = () => new Array(131_072).fill(0.5);
    limitHeapGrowth();
    const kept = Array.from({ length: ${staying} }, megabyte);
    globalThis.gc();
    await turn();
    await turn();
    console.log('begin');
    for (let i = 0; i < ${passing}; i++) {
      kept[${staying} + (i % 4)] = megabyte();
      if (i % 2 === 1) globalThis.gc({ type: 'minor' });
      await turn();
    }
  `;
  const flags = [...fromSources, '--expose-gc', '--trace-gc', '--single-threaded-gc', '--input-type=module'];
  const { stdout, stderr, status } = spawnSync(process.execPath, [...flags, '-e', program], { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  return stdout.slice(stdout.indexOf('begin')).match(/Mark-Compact/g)?.length ?? 0;
}

describe('the growth of the heap', () => {
  it('is 32 MiB at least between two full collections', () => {
    const count = collections(2, 320);
    assert.ok(count >= 4 && count <= 14, `${count} collections for 320 MB`);
  });

  it('is 30 % of what lives in a heap that has become large', () => {
    const count = collections(200, 400);
    assert.ok(count >= 4 && count <= 7, `${count} collections for 400 MB`);
  });
});
