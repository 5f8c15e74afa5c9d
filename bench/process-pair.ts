/**
 * Two services in one process, the first with the façade for Kubernetes and the second without: they run the same compiled code, as two
 * processes never do. With the argument `turned` the second one has it; with `control` after it both have it.
 */
import { createService } from 'kindred';
import { Article, article } from './articles.ts';
import { meter } from './meter.ts';
import { answer } from './remote.ts';

async function started(enabled: boolean) {
  const service = await createService({ database: 'sqlite::memory:', port: 0, auth: false, kube: { enabled } });
  service.schemeManager.register(Article);
  return { service, url: (await service.start()).url };
}

const isTurned = process.argv[2] === 'turned';
const isControl = process.argv[3] === 'control';
const first = await started(isControl || !isTurned);
const second = await started(isControl || isTurned);

answer(
  {
    ...meter(),
    ready: () => [first.url, second.url],
    fill: async ({ objects }: { objects: number }) => {
      for (const { service } of [first, second])
        for (let number = 0; number < objects; number++) await service.client.create(Article, article(number));
    },
  },
  () => Promise.all([first.service.stop(), second.service.stop()]),
);
