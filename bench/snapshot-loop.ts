/**
 * How late the event loop is while a snapshot of the indexes is written, beside the same load without one, in one process: medians of
 * some rounds. `node bench/start.ts --objects 1000000 --keep FOLDER`, then
 * `node --import ./test/sources.ts bench/snapshot-loop.ts --folder FOLDER [--rounds 5]`.
 */
import type { ChildProcess } from 'node:child_process';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createService } from 'kindred';
import { SnapshotFolder } from '../src/snapshots/folder.ts';
import { collection, deepListPaths, listPaths, nameOf } from './articles.ts';
import { figure, shown } from './figures.ts';

const { values } = parseArgs({
  options: {
    folder: { type: 'string' },
    rounds: { type: 'string', default: '5' },
    client: { type: 'string' },
    objects: { type: 'string', default: '1000000' },
  },
});
const objects = Number(values.objects);

/** Reads and changes all over the model, by eight clients, until the process ends. */
async function load(url: string): Promise<void> {
  const ask = async (path: string, init?: RequestInit): Promise<void> => {
    const answer = await fetch(url + path, init);
    await answer.arrayBuffer();
  };
  const headers = { 'content-type': 'application/merge-patch+json' };
  const client = async (first: number): Promise<void> => {
    for (let i = first; ; i += 8) {
      const name = nameOf((i * 7_919) % objects);
      await ask(listPaths[i % listPaths.length]!);
      await ask(deepListPaths(1 + (i % 20))[i % 60]!);
      await ask(`${collection}/${name}`);
      await ask(`${collection}/${name}`, { method: 'PATCH', headers, body: JSON.stringify({ spec: { views: i } }) });
    }
  };
  await Promise.all(Array.from({ length: 8 }, (_, i) => client(i)));
}

/** Milliseconds of p99 without and with a snapshot under way, and how long that was. */
async function round(folder: string): Promise<{ without: number; with: number; took: number }> {
  const dir = mkdtempSync(join(tmpdir(), 'kindred-loop-'));
  const begun = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  const { write } = SnapshotFolder.prototype;
  SnapshotFolder.prototype.write = function (file) {
    const writing = write.call(this, file);
    if (!file.startsWith('Article')) return writing;
    begun.resolve();
    const { giveUp } = writing;
    writing.giveUp = () => giveUp.call(writing).then(() => ended.resolve());
    return writing;
  };
  const service = await createService({
    database: `sqlite:${join(folder, 'articles.db')}`,
    plugins: [join(folder, 'plugin')],
    port: 0,
    auth: false,
    // The first one comes between 12 and 24 s after the indexes were built.
    indexSnapshots: { dir, interval: 24_000 },
  });
  let child: ChildProcess | undefined;
  try {
    const { url } = await service.start();
    child = fork(import.meta.filename, ['--client', url, '--objects', String(objects)]);
    await pause(3_000);
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    await Promise.race([pause(8_000), begun.promise]);
    const without = delay.percentile(99);
    const late = pause(60_000, undefined, { ref: false }).then(() => {
      throw new Error('no snapshot began within a minute: is "kindred" not the sources?');
    });
    await Promise.race([begun.promise, late]);
    delay.reset();
    const started = performance.now();
    await ended.promise;
    const during = delay.percentile(99);
    return { without: without / 1e6, with: during / 1e6, took: (performance.now() - started) / 1_000 };
  } finally {
    SnapshotFolder.prototype.write = write;
    if (child) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    await service.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}

if (values.client !== undefined) await load(values.client);
else {
  const found: Awaited<ReturnType<typeof round>>[] = [];
  for (let i = 0; i < Number(values.rounds); i++) {
    found.push(await round(values.folder!));
    const last = found.at(-1)!;
    console.log(
      `round ${i + 1}: p99 ${last.without.toFixed(2)} ms without, ${last.with.toFixed(2)} ms with a snapshot under way for ${last.took.toFixed(1)} s; load ${loadavg()[0]!.toFixed(1)}`,
    );
  }
  console.log(`p99 of the event loop, ms: without ${shown(figure(found.map((one) => one.without)), 2)}`);
  console.log(`with a snapshot under way ${shown(figure(found.map((one) => one.with)), 2)}`);
  console.log(`difference ${shown(figure(found.map((one) => one.with - one.without)), 2)}`);
}
