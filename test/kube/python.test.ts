/** What the Python client does, case by case; the cases are in python/client.py. */
import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { Facade } from './harness.ts';
import { python, run, withoutPython } from './python.ts';

const facade = new Facade();
before(() => facade.start());
after(() => facade.stop());

test('the Python client', { skip: withoutPython, timeout: 120_000 }, async (t) => {
  const program = resolve(import.meta.dirname, 'python/client.py');
  const { stdout, stderr } = await run(python!, [program, facade.url], { timeout: 100_000 });
  const results = [...stdout.matchAll(/^(ok|not ok) (\w+)$/gm)];
  assert.equal(results.length, Number(/^1\.\.(\d+)$/m.exec(stdout)![1]), stderr);
  for (const [, result, name] of results) {
    await t.test(name!.replaceAll('_', ' '), () => assert.equal(result, 'ok', stderr));
  }
});
