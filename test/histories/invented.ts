/** Histories that are valid by construction: operations take effect at one moment between their start and their end. */
import type { Event, History, Item, Operation, Outcome, Request, Stream } from './history.ts';
import { isWrite, step } from './history.ts';

/** @param random from 0 to 1, as `Math.random` */
export function inventHistory(random: () => number, count: number): History {
  const below = (limit: number): number => Math.floor(random() * limit);
  const base = below(1000);
  const objects = new Map<string, Item>();
  const log: Event[] = [];
  const operations: Operation[] = [];
  const clients = 6;
  const free = new Array<number>(clients).fill(0);
  const drafts = Array.from({ length: count }, (_, i) => {
    const client = below(clients);
    const start = free[client]! + 1 + below(20);
    const moment = start + 1 + below(20);
    const end = moment + 1 + below(20);
    free[client] = end;
    return { client, start, moment: moment + random() / 2, end, request: inventRequest(below, `v${i}`) };
  });
  const snapshots = new Map<number, Item[]>([[base, []]]);
  for (const { moment: _, ...draft } of drafts.toSorted((a, b) => a.moment - b.moment)) {
    const fate = random();
    if (fate < 0.02) {
      operations.push({ ...draft, outcome: { kind: fate < 0.01 ? 'none' : 'unknown' } });
      continue;
    }
    const outcome = perform(draft.request);
    const isLost = fate < 0.05 && isWrite(draft.request);
    operations.push({ ...draft, outcome: isLost ? { kind: 'unknown' } : outcome });
  }
  const newest = base + log.length;
  const streams = [undefined, 's1', undefined].map((slug): Stream => {
    const since = base + below(log.length + 1);
    return { since, ...(slug && { slug }), events: streamOf(since, slug), through: newest };
  });
  return { base, newest, operations, log, streams };

  function perform(request: Request): Outcome {
    const revision = base + log.length;
    if (request.kind === 'list') {
      const items = sorted().filter((item) => request.slug === undefined || item.slug === request.slug);
      return { kind: 'ok', revision, items, total: items.length };
    }
    const state = objects.get(request.name);
    if (request.kind === 'get')
      return state ? { kind: 'ok', revision, item: state } : { kind: 'refused', code: 'NotFound', revision };
    const result = step(state, request);
    if ('refused' in result) {
      const { refused: code } = result;
      if (code === 'NotFound') return { kind: 'refused', code, revision };
      return { kind: 'refused', code, ...(code === 'VersionConflict' && { currentVersion: state!.version }) };
    }
    const { item, answer } = result;
    if (item?.slug !== undefined && sorted().some((other) => other.slug === item.slug && other.name !== item.name))
      return { kind: 'refused', code: 'UniqueViolation' };
    if (item) objects.set(item.name, item);
    else objects.delete(request.name);
    log.push({ type: !state ? 'ADDED' : item ? 'MODIFIED' : 'DELETED', revision: revision + 1, item: answer });
    snapshots.set(revision + 1, sorted());
    return { kind: 'ok', revision: revision + 1, item: answer };
  }

  function sorted(): Item[] {
    return [...objects.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  function streamOf(since: number, slug: string | undefined): Stream['events'] {
    const sees = (item: Item | undefined): boolean => item !== undefined && (slug === undefined || item.slug === slug);
    const events: Stream['events'][number][] = [];
    for (const { revision, item } of log.filter((event) => event.revision > since)) {
      const find = (at: number): Item | undefined => snapshots.get(at)!.find((one) => one.name === item.name);
      const [before, after] = [sees(find(revision - 1)), sees(find(revision))];
      if (before || after)
        events.push({ type: before && after ? 'MODIFIED' : after ? 'ADDED' : 'DELETED', revision, item });
      if (random() < 0.1) events.push({ type: 'BOOKMARK', revision });
    }
    return events;
  }
}

/** @param below a random integer from 0, less than the limit */
export function inventRequest(below: (limit: number) => number, value: string, names = 6, version = below(8)): Request {
  const name = `n${below(names)}`;
  const slug = below(2) === 0 ? { slug: `s${below(5)}` } : {};
  const kind = below(100);
  if (kind < 22) return { kind: 'create', name, value, ...slug };
  if (kind < 34) return { kind: 'put', name, value, ...slug };
  if (kind < 44) return { kind: 'put', name, value, ...slug, version };
  if (kind < 54) return { kind: 'patch', name, value };
  if (kind < 66) return { kind: 'delete', name };
  if (kind < 88) return { kind: 'get', name };
  return { kind: 'list', ...slug };
}
