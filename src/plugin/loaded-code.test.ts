import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { LoadedCode } from './loaded-code.ts';

const folder = mkdtempSync(join(tmpdir(), 'kindred-code-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const path = (name: string): string => join(folder, name);
const url = (name: string): string => pathToFileURL(path(name)).href;

/** As if the plugin were loaded in a process of its own. */
function hashOf(): string {
  const code = new LoadedCode((one) => one.endsWith('own.js'));
  for (const name of ['entry.js', 'near.js', 'far.js', 'ring.js', 'stranger.js']) code.loaded(url(name));
  code.imported(undefined, url('entry.js'));
  code.imported(url('entry.js'), `${url('near.js')}?kindred-generation=2`);
  code.imported(url('near.js'), url('far.js'));
  code.imported(url('far.js'), url('ring.js'));
  code.imported(url('ring.js'), url('far.js'));
  code.imported(url('near.js'), 'node:fs');
  code.imported(url('near.js'), url('before.js'));
  code.imported(url('near.js'), url('own.js'));
  code.imported(url('stranger.js'), url('near.js'));
  return code.hash(url('entry.js'), folder);
}

test('the code of a plugin is that of all modules it leads to, and of no others', () => {
  const names = ['entry.js', 'near.js', 'far.js', 'ring.js', 'before.js', 'own.js', 'stranger.js'];
  for (const name of names) writeFileSync(path(name), `// ${name}`);
  const first = hashOf();
  assert.equal(hashOf(), first);
  for (const name of names) {
    writeFileSync(path(name), '// changed');
    const isPart = !['own.js', 'stranger.js'].includes(name);
    assert.equal(hashOf() !== first, isPart, name);
    writeFileSync(path(name), `// ${name}`);
  }
  assert.equal(hashOf(), first);
});

test('a module counts as it was when it was loaded', () => {
  writeFileSync(path('entry.js'), 'one');
  const code = new LoadedCode(() => false);
  code.loaded(url('entry.js'));
  const before = code.hash(url('entry.js'), folder);
  writeFileSync(path('entry.js'), 'two');
  assert.equal(code.hash(url('entry.js'), folder), before);
  code.loaded(url('entry.js'));
  assert.notEqual(code.hash(url('entry.js'), folder), before);
});

test('a module that cannot be read makes the code another one each time', () => {
  const code = new LoadedCode(() => false);
  const gone = url('gone.js');
  assert.notEqual(code.hash(gone, folder), code.hash(gone, folder));
});
