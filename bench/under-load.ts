/** A service with objects and a load for it, for the runs that last. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { article, collection, deepListPaths, listPaths, nameOf, scattered } from './articles.ts';
import type { Request } from './process-load.ts';
import { Remote } from './remote.ts';

export interface UnderLoad {
  readonly service: Remote;
  /** What runs `process-limit.ts`. */
  readonly limit: Remote;
  readonly load: Remote;
  readonly url: string;
  /** Of each list the path of its first request, which can be read. */
  readonly paths: Readonly<Record<string, string>>;
}

/** Lists GET, LIST, LIST2, SCAN (text inside a field of all objects) and UPDATE are prepared. */
export async function underLoad<T>(objects: number, body: (parts: UnderLoad) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'kindred-bench-'));
  const service = new Remote('process-service.ts', [`sqlite:${join(folder, 'bench.db')}`]);
  const limit = new Remote('process-limit.ts');
  const load = new Remote('process-load.ts');
  try {
    const url = await service.ask<string>('ready');
    await service.ask('fill', { from: 0, to: objects });
    const lists: Record<string, readonly Request[]> = {
      GET: Array.from({ length: 10_000 }, (_, i) => ({ path: `${collection}/${nameOf(scattered(i, 90, objects))}` })),
      LIST: listPaths.map((path) => ({ path })),
      LIST2: deepListPaths(1).map((path) => ({ path })),
      SCAN: Array.from({ length: 100 }, (_, i) => ({ path: `${collection}?fieldSelector=spec.slug*%3D${i}7` })),
      // The second half writes the same objects with another content, so that each request changes something.
      UPDATE: Array.from({ length: 40_000 }, (_, i) => {
        const number = scattered(i % 20_000, 91, objects);
        const content = JSON.stringify(article(number, 1 + i));
        return { method: 'PUT', path: `${collection}/${nameOf(number)}`, body: content };
      }),
    };
    for (const [list, requests] of Object.entries(lists)) await load.ask('prepare', { list, requests });
    const paths = Object.fromEntries(Object.entries(lists).map(([list, requests]) => [list, requests[0]!.path]));
    return await body({ service, limit, load, url, paths });
  } finally {
    await Promise.all([service, limit, load].map((process) => process.end()));
    rmSync(folder, { recursive: true, force: true });
  }
}
