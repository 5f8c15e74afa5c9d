import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fromSources } from '../../test/sources.ts';

/** Whether V8's optimizing compiler compiles a function that is called 3,000 times. */
function isOptimized(prepare: string): boolean {
  const program = `
    const { optimizeEarly } = await import(${JSON.stringify(new URL('./early-optimization.ts', import.meta.url).href)});
    ${prepare}
    const hot = (one) => one.x * 2 + JSON.stringify(one).length;
    for (let i = 0; i < 3_000; i++) hot({ x: i });
  `;
  // What is compiled does not depend on other threads, on the loop, or on the compiler before this one.
  const v8 = ['--trace-opt', '--no-concurrent-recompilation', '--no-use-osr', '--no-maglev'];
  const flags = [...fromSources, ...v8, '--input-type=module', '-e', program];
  const { stdout, stderr, status } = spawnSync(process.execPath, flags, { encoding: 'utf8', maxBuffer: 2 ** 26 });
  assert.equal(status, 0, stderr);
  assert.equal(stderr, '');
  return /completed compiling .*<JSFunction hot .*TURBOFAN/.test(stdout);
}

test('a function is optimized after fewer calls than by default', () => {
  assert.equal(isOptimized(''), false);
  assert.equal(isOptimized('optimizeEarly();'), true);
});
