/** The service under test, compiled, in a process of its own. Its arguments are the database and, as JSON, further options. */
import { setFlagsFromString } from 'node:v8';
import { createService } from 'kindred';
import { optimizeEarly } from '../src/cli/early-optimization.ts';
import { limitHeapGrowth } from '../src/cli/heap-growth.ts';
import { Article, article, nameOf } from './articles.ts';
import { meter } from './meter.ts';
import { answer } from './remote.ts';

// As the command does (src/cli/serve.ts).
setFlagsFromString('--no-allocation-site-pretenuring');
const service = await createService({
  database: process.argv[2]!,
  port: 0,
  auth: false,
  ...JSON.parse(process.argv[3] ?? '{}'),
});
service.schemeManager.register(Article);
const started = service.start().finally(() => {
  limitHeapGrowth();
  optimizeEarly();
});

/** Calls at the same time; more would only wait. */
const portion = 1_000;

async function inPortions(from: number, to: number, one: (number: number) => Promise<unknown>): Promise<number> {
  const begin = performance.now();
  for (let at = from; at < to; at += portion) {
    await Promise.all(Array.from({ length: Math.min(portion, to - at) }, (_, i) => one(at + i)));
  }
  return performance.now() - begin;
}

answer(
  {
    ...meter(),
    ready: async () => (await started).url,
    /** Milliseconds. */
    fill: ({ from, to }: { from: number; to: number }) =>
      inPortions(from, to, (number) => service.client.create(Article, article(number))),
    remove: ({ from, to }: { from: number; to: number }) =>
      inPortions(from, to, (number) => service.client.delete(Article, nameOf(number)).catch(() => {})),
    count: () => service.client.count(Article),
  },
  () => service.stop(),
);
