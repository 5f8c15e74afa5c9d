import type { History, Operation, Stream } from './history.ts';
import { isWrite, sameItem } from './history.ts';

/**
 * A history without what may have shown a change that is lost: reads and refusals from `from` to `to` (milliseconds on the
 * clock of its operations), and what watches that expired were told of the history that is lost. What was acknowledged stays.
 */
export function withoutLost(history: History, { from, to }: { from: number; to: number }): History {
  const isSure = ({ request, outcome, start, end }: Operation): boolean =>
    end < from || start > to || outcome.kind === 'unknown' || (outcome.kind === 'ok' && isWrite(request));
  const log = new Map(history.log.map((event) => [event.revision, event]));
  const isLost = (told: Stream['events'][number]): boolean =>
    told.revision > history.newest || (told.type !== 'BOOKMARK' && !sameItem(log.get(told.revision)?.item, told.item));
  const expired = history.streams.filter((stream) => stream.expired);
  // A bookmark does not say of which history it is: it is of the lost one from the first revision that a watch shows to be lost.
  const firstLost = Math.min(...expired.flatMap(({ events }) => events.filter(isLost)).map(({ revision }) => revision));
  const streams = history.streams.map(({ expired, ...stream }) => {
    if (!expired) return stream;
    return { ...stream, events: stream.events.filter(({ revision }) => revision < firstLost) };
  });
  return { ...history, operations: history.operations.filter(isSure), streams };
}
