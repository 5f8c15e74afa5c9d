import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
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

test('every seeded fault is in the sources alone, and no two are the same', () => {
  const problems: string[] = [];
  const known = new Map<string, string>();
  for (const { name, file, description } of readFaults()) {
    const patch = readFileSync(file, 'utf8');
    for (const [, path] of patch.matchAll(/^\+\+\+ b\/(.+)$/gm))
      if (!/^(?:console\/)?src\//.test(path!) || path!.endsWith('.test.ts')) problems.push(`${name} changes ${path}`);
    const change = (patch.match(/^[-+].*$/gm) ?? []).join('\n');
    for (const one of [description, change]) {
      const other = known.get(one);
      if (other) problems.push(`${name} is ${other}`);
      known.set(one, name);
    }
  }
  assert.deepEqual(problems, []);
});
