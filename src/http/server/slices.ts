/** Large bodies, written slice by slice as the client takes them, so that neither the event loop nor the memory is one client's. */
import type { ServerResponse } from 'node:http';
import type { TimeSlice } from '../../runtime/time-slice.ts';
import { requestTimeout } from './problem.ts';

/** Bytes of a slice. A body of more is large: what it takes is counted before it is in memory. */
export const sliceSize = 512 * 1024;

/** Bytes from which on it costs more to copy a piece than to write it by itself. */
const smallPiece = 8 * 1024;

export interface Writing {
  /** Milliseconds that the client may leave a slice unread. */
  readonly timeout: number;
  readonly slice: TimeSlice;
}

/**
 * @param pieces which are not changed any more
 * @returns early when the client has gone
 * @throws KindredError RequestTimeout
 */
export async function writeSlices(
  response: ServerResponse,
  pieces: Iterable<Buffer>,
  { timeout, slice }: Writing,
): Promise<void> {
  let length = 0;
  response.cork();
  for (const piece of manageable(pieces)) {
    response.write(piece);
    length += piece.length;
    if (length < sliceSize) continue;
    length = 0;
    response.uncork();
    await drained(response, timeout);
    if (response.destroyed) return;
    if (slice.isOver) await slice.renew();
    response.cork();
  }
  response.uncork();
  await drained(response, timeout);
}

/** Small pieces copied together, since each that is written costs a little; large ones cut. */
function* manageable(pieces: Iterable<Buffer>): Generator<Buffer> {
  let gathered: Buffer[] = [];
  let length = 0;
  for (const piece of pieces) {
    const isSmall = piece.length < smallPiece;
    if (length > 0 && (!isSmall || length + piece.length > sliceSize)) {
      yield Buffer.concat(gathered, length);
      gathered = [];
      length = 0;
    }
    if (isSmall) {
      gathered.push(piece);
      length += piece.length;
    } else {
      for (let at = 0; at < piece.length; at += sliceSize) yield piece.subarray(at, at + sliceSize);
    }
  }
  if (length > 0) yield Buffer.concat(gathered, length);
}

/** Resolves when the client took what was written, or went away. @throws KindredError RequestTimeout when it does neither for this many milliseconds */
export function drained(response: ServerResponse, timeout: number): Promise<void> {
  if (response.destroyed || !response.writableNeedDrain) return Promise.resolve();
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    const begin = (): void => {
      timer = setTimeout(() => {
        response.off('drain', done).off('close', done);
        reject(requestTimeout(timeout));
      }, timeout);
    };
    const done = (): void => {
      clearTimeout(timer);
      response.off('drain', done).off('close', done).off('socket', begin);
      resolve();
    };
    response.on('drain', done).on('close', done);
    // A response behind others of its connection has no socket before its turn.
    if (response.socket) begin();
    else response.once('socket', begin);
  });
}
