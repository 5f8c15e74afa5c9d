/** How a store says that it cannot do what was asked, whichever database it is. */

import type { Text } from '../errors.ts';
import { KindredError } from '../errors.ts';
import { localized } from '../locales/localized.ts';

const awayText: Text = localized('The database cannot be reached at the moment; nothing was changed ({reason})');
const fullText: Text = localized('The storage is full; nothing was changed ({reason})');
const unknownText: Text = localized('The outcome of the write is unknown; read the object before you retry ({reason})');
const expiredText: Text = localized(
  'Changes after revision {since} are no longer kept; the oldest revision to continue from is {oldest}',
);
const busyText: Text = localized('Too many writes are waiting; nothing was changed');

const retrySoon = { headers: { 'Retry-After': '1' } };

/** 503: certainly not applied. */
export function notReady(reason: string, cause?: unknown): KindredError {
  return new KindredError('NotReady', awayText, { params: { reason }, cause, ...retrySoon });
}

/** 507: not applied, and there is no room. */
export function storageFull(reason: string, cause?: unknown): KindredError {
  return new KindredError('StorageFull', fullText, { params: { reason }, cause });
}

/** 504: applied or not; the change log tells. */
export function unknownOutcome(reason: string, cause?: unknown): KindredError {
  return new KindredError('UnknownOutcome', unknownText, { params: { reason }, cause });
}

/** 410: something after `since` is gone from the change log. */
export function expired(since: number, oldest: number): KindredError {
  return new KindredError('Expired', expiredText, { params: { since, oldest } });
}

/** 503: the queue of writes is at its bound. */
export function tooManyWrites(): KindredError {
  return new KindredError('NotReady', busyText, retrySoon);
}
