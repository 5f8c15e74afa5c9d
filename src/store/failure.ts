/** How a store says that it cannot do what was asked, whichever database it is. */
import type { Text } from '../errors.ts';
import { KindredError } from '../errors.ts';

const awayText: Text = {
  en: 'The database cannot be reached at the moment; nothing was changed ({reason})',
  zh: '数据库暂时不可用，没有做任何更改（{reason}）',
};
const fullText: Text = {
  en: 'The storage is full; nothing was changed ({reason})',
  zh: '存储空间已满，没有做任何更改（{reason}）',
};
const unknownText: Text = {
  en: 'The outcome of the write is unknown; read the object before you retry ({reason})',
  zh: '无法确定写入是否生效，重试前请重新读取该对象（{reason}）',
};
const expiredText: Text = {
  en: 'Changes after revision {since} are no longer kept; the oldest revision to continue from is {oldest}',
  zh: '修订号 {since} 之后的变更已不再保留，最早可从修订号 {oldest} 继续',
};
const busyText: Text = {
  en: 'Too many writes are waiting; nothing was changed',
  zh: '等待中的写入过多，没有做任何更改',
};

const retrySoon = { headers: { 'Retry-After': '1' } };

/** 503: certainly not applied. */
export function notReady(reason: string, cause?: unknown): KindredError {
  return new KindredError('NotReady', awayText, { reason }, {}, { cause, ...retrySoon });
}

/** 507: not applied, and there is no room. */
export function storageFull(reason: string, cause?: unknown): KindredError {
  return new KindredError('StorageFull', fullText, { reason }, {}, { cause });
}

/** 504: applied or not; the change log tells. */
export function unknownOutcome(reason: string, cause?: unknown): KindredError {
  return new KindredError('UnknownOutcome', unknownText, { reason }, {}, { cause });
}

/** 410: something after `since` is gone from the change log. */
export function expired(since: number, oldest: number): KindredError {
  return new KindredError('Expired', expiredText, { since, oldest });
}

/** 503: the queue of writes is at its bound. */
export function tooManyWrites(): KindredError {
  return new KindredError('NotReady', busyText, {}, {}, retrySoon);
}
