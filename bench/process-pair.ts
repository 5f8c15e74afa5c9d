/**
 * Two services in one process, the first with the façade for Kubernetes and the second without: they run the same compiled code, as two
 * processes never do. The argument `turned` makes the second one first; with `control` after it both have the façade.
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
const [withFacade, without] = isTurned ? [second, first] : [first, second];

answer(
  {
    ...meter(),
    ready: () => [withFacade.url, without.url],
    fill: async ({ objects }: { objects: number }) => {
      for (const { service } of [first, second])
        for (let number = 0; number < objects; number++) await service.client.create(Article, article(number));
    },
  },
  () => Promise.all([first.service.stop(), second.service.stop()]),
);
