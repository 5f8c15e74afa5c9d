/** Snapshots as a whole service has them: the code of a plugin, its configuration, `/readyz` and `/metrics`. */
import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { ServiceOptions } from 'kindred';
import { createService } from 'kindred';

const folder = mkdtempSync(join(tmpdir(), 'kindred-snapshots-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** Another folder each time: a process loads a module once. */
function pluginAt(name: string, keyOf = 'word => word.toUpperCase()'): string {
  const path = join(folder, name);
  mkdirSync(join(path, 'node_modules', 'words'), { recursive: true });
  const manifest = { name: 'words', version: '1.0.0', type: 'module', main: 'plugin.js' };
  writeFileSync(join(path, 'package.json'), JSON.stringify(manifest));
  writeFileSync(
    join(path, 'plugin.js'),
    `import { defineModel, definePlugin } from 'kindred';
import { keyOf } from 'words';
const gvk = { group: 'words.example.com', version: 'v1', kind: 'Word', singular: 'word', plural: 'words' };
const spec = { type: 'object', properties: { word: { type: 'string' } } };
const Word = defineModel({ gvk, spec, indexes: (index) => [index.single('spec.word', String, (one) => keyOf(one.spec.word))] });
export default definePlugin({ start({ schemeManager }) { schemeManager.register(Word); } });
`,
  );
  const words = join(path, 'node_modules', 'words');
  writeFileSync(
    join(words, 'package.json'),
    JSON.stringify({ name: 'words', version: '1.0.0', type: 'module', main: 'a.js' }),
  );
  writeFileSync(join(words, 'a.js'), "export { keyOf } from './b.js';");
  writeFileSync(join(words, 'b.js'), `export const keyOf = ${keyOf};`);
  return path;
}

/** Starts, does this, stops; gives what `/readyz` said of the model, and the metrics. */
async function run(options: ServiceOptions, inside: (url: string) => Promise<void> = async () => {}) {
  const service = await createService({
    database: `sqlite:${join(folder, 'words.db')}`,
    port: 0,
    auth: false,
    ...options,
    indexSnapshots: options.indexSnapshots !== false && { minObjects: 5, minChanges: 1, ...options.indexSnapshots },
  });
  try {
    const { url } = await service.start();
    await inside(url);
    const { models } = (await (await fetch(`${url}/readyz`)).json()) as { models: any[] };
    const metrics = await (await fetch(`${url}/metrics`)).text();
    return { start: models.find(({ kind }) => kind === 'Word')?.start, metrics };
  } finally {
    await service.stop();
  }
}

const words = '/apis/words.example.com/v1/words';
const create = (count: number) => async (url: string) => {
  for (let i = 0; i < count; i++) {
    const body = JSON.stringify({ metadata: { generateName: 'w-' }, spec: { word: `word-${i}` } });
    const answer = await fetch(url + words, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    assert.equal(answer.status, 201);
  }
};

test('a plugin with the same code and configuration goes on from a snapshot, another one is built', async () => {
  const first = await run({ plugins: [pluginAt('one')] }, create(12));
  assert.deepEqual([first.start.from, first.start.objects], ['build', 0]);
  const again = await run({ plugins: [pluginAt('two')] }, async (url) => {
    const found = await (await fetch(`${url}${words}?fieldSelector=spec.word%3DWORD-7`)).json();
    assert.equal((found as any).total, 1);
  });
  assert.deepEqual({ ...again.start, ms: 0 }, { from: 'snapshot', objects: 12, replayed: 0, ms: 0 });
  for (const name of ['bytes', 'age_seconds', 'restore_seconds'])
    assert.match(
      again.metrics,
      new RegExp(`^kindred_index_snapshot_${name}\\{group="words.example.com",kind="Word"\\} [\\d.e-]+$`, 'm'),
    );
  const configured = await run({ plugins: [pluginAt('three')], pluginConfig: { words: { size: 1 } } });
  assert.deepEqual([configured.start.from, configured.start.reason], ['build', 'function']);
  assert.match(configured.metrics, /^kindred_index_snapshot_rejected_total\{reason="function",store="default"\} 1$/m);
  // A stop leaves a snapshot of what was built.
  assert.equal(
    (await run({ plugins: [pluginAt('four')], pluginConfig: { words: { size: 1 } } })).start.from,
    'snapshot',
  );
  const changed = await run({ plugins: [pluginAt('five', 'word => word')], pluginConfig: { words: { size: 1 } } });
  assert.deepEqual([changed.start.from, changed.start.reason], ['build', 'function']);
});

test('with indexSnapshots: false there are none; with dir they are below it', async () => {
  const database = `sqlite:${join(folder, 'other.db')}`;
  const off = { database, indexSnapshots: false as const };
  await run({ plugins: [pluginAt('six')], ...off }, create(6));
  assert(!existsSync(join(folder, 'other.db.index')));
  const dir = join(folder, 'cache');
  await run({ plugins: [pluginAt('seven')], database, indexSnapshots: { dir } });
  assert(existsSync(dir) && !existsSync(join(folder, 'other.db.index')));
  const moved = await run({ plugins: [pluginAt('eight')], database, indexSnapshots: { dir } });
  assert.equal(moved.start.from, 'snapshot');
  const copied = join(folder, 'moved');
  cpSync(dir, copied, { recursive: true });
  assert.equal(
    (await run({ plugins: [pluginAt('nine')], database, indexSnapshots: { dir: copied } })).start.from,
    'snapshot',
  );
});
