import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { readFaults } from './fault.ts';

const root = resolve(import.meta.dirname, '../..');

test('every seeded fault applies to the sources, and names tests that exist', () => {
  const problems: string[] = [];
  for (const { name, file, tests } of readFaults()) {
    for (const path of tests) if (!existsSync(resolve(root, path))) problems.push(`${name}: there is no ${path}`);
    try {
      execFileSync('git', ['apply', '--check', '-C1', file], { cwd: root, stdio: 'pipe' });
    } catch (error) {
      problems.push(`${name}: ${(error as { stderr: Buffer }).stderr.toString().trim()}`);
    }
  }
  assert.deepEqual(problems, []);
});
