/** A list as NDJSON: every match, one object a line, in the order of the list (contract section 3). */
import type { ServerResponse } from 'node:http';
import type { ModelResource, Selection } from '../resource/resource.ts';
import type { Exchange } from './exchange.ts';
import { ndjson } from './exchange.ts';
import { requestTimeout } from './problem.ts';

const lineEnd = Buffer.from('\n');

export interface ExportLimits {
  /** Milliseconds that the client may leave sent bytes unread. */
  readonly requestTimeout: number;
}

/**
 * Holds one portion of objects in memory at a time and reads the next when the client took it. A failure midway resets
 * the connection: an answer that ends properly is complete.
 * @param assertAllowed throws when the caller may no longer list the same objects; asked for each portion
 */
export async function exportObjects(
  exchange: Exchange,
  resource: ModelResource,
  selection: Selection,
  assertAllowed: () => void,
  limits: ExportLimits,
): Promise<void> {
  const { response } = exchange;
  const { revision, total, objects } = await resource.export(selection);
  try {
    const counts = ['Kindred-Revision', String(revision), 'Kindred-Total', String(total)];
    exchange.open(200, ['Content-Type', ndjson, ...counts]);
    if (!exchange.isHead) {
      for await (const portion of objects) {
        assertAllowed();
        const parts: Buffer[] = [];
        for (const bytes of portion) parts.push(bytes, lineEnd);
        if (!response.write(Buffer.concat(parts))) await drained(response, limits.requestTimeout);
        if (response.destroyed) break;
      }
    }
  } finally {
    await objects[Symbol.asyncIterator]().return?.(undefined);
  }
  response.end();
  exchange.finish(response.destroyed ? 499 : 200);
}

/** Resolves when the client took what was written, or went away. @throws KindredError RequestTimeout when it does neither for this many milliseconds */
export function drained(response: ServerResponse, timeout: number): Promise<void> {
  if (response.destroyed || !response.writableNeedDrain) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      response.off('drain', done).off('close', done);
      reject(requestTimeout(timeout));
    }, timeout);
    const done = (): void => {
      clearTimeout(timer);
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.on('drain', done).on('close', done);
  });
}
