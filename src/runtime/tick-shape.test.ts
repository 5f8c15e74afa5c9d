import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fromSources } from '../../test/sources.ts';

test('one object of process.nextTick outlives every collection', () => {
  const program = `
    const { createHook } = await import('node:async_hooks');
    const { keepTickShape } = await import(${JSON.stringify(new URL('./tick-shape.ts', import.meta.url).href)});
    const ticks = [];
    createHook({ init: (_id, type, _trigger, tick) => type === 'TickObject' && ticks.push(new WeakRef(tick)) }).enable();
    const own = ticks.length;
    keepTickShape();
    process.nextTick(() => {});
    const made = ticks.slice(own);
    for (let i = 0; i < 4; i++) {
      await new Promise((done) => setTimeout(done, 5));
      gc();
    }
    console.log(made.map((tick) => tick.deref() !== undefined).join());
  `;
  const flags = [...fromSources, '--expose-gc', '--input-type=module', '-e', program];
  const { stdout, stderr, status } = spawnSync(process.execPath, flags, { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  assert.equal(stdout, 'true,false\n');
});
