/**
 * A service whose store is handed writes with or without the model generation that they were computed for, as each task says, so that
 * the transaction compares it, or not: `process-fence.ts DATABASE`. Both copy each write.
 */
import type { Store } from 'kindred';
import { createService } from 'kindred';
import pino from 'pino';
import { openStore } from '../src/store/open.ts';
import { Article, article, nameOf } from './articles.ts';
import { answer } from './remote.ts';

const [database] = process.argv.slice(2);
let isFenced = true;

async function open(): Promise<Store> {
  const store = await openStore(database!);
  const commit: Store['commit'] = (writes, ...more) =>
    store.commit(
      writes.map(({ generation, ...write }) => (isFenced ? { ...write, generation } : { ...write })),
      ...more,
    );
  return new Proxy(store, {
    get(target, name: keyof Store) {
      if (name === 'commit') return commit;
      const value = target[name] as unknown;
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

const logger = pino({ level: 'silent' });
const service = await createService({ database: open, port: 0, auth: false, logger });
service.schemeManager.register(Article);
const started = service.start();

/** Writes at the same time. */
const clients = 16;

interface Order {
  readonly from: number;
  readonly count: number;
  readonly fence: boolean;
}

async function timed({ from, count, fence }: Order, one: (number: number) => Promise<unknown>) {
  isFenced = fence;
  const before = process.cpuUsage();
  const begin = performance.now();
  let next = from;
  const client = async () => {
    while (next < from + count) await one(next++);
  };
  await Promise.all(Array.from({ length: clients }, client));
  const { user, system } = process.cpuUsage(before);
  return { milliseconds: performance.now() - begin, cpu: (user + system) / 1_000 };
}

answer(
  {
    ready: async () => (await started).url,
    create: (order: Order) => timed(order, (number) => service.client.create(Article, article(number))),
    update: ({ views, ...order }: Order & { views: number }) =>
      timed(order, (number) => service.client.patch(Article, nameOf(number), { spec: { views } })),
  },
  () => service.stop(),
);
