/** A list as NDJSON: every match, one object a line, in the order of the list (docs/reference/api.md). */
import type { ModelResource, Selection } from '../../resource/resource.ts';
import type { Exchange } from '../server/exchange.ts';
import { ndjson } from '../server/exchange.ts';
import { drained, sliceSize, writeSlices } from '../server/slices.ts';

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
  const writing = { timeout: limits.requestTimeout, slice: exchange.timeSlice() };
  exchange.assertRoom();
  const { revision, total, lines, close } = await resource.export(selection);
  try {
    const counts = ['Kindred-Revision', String(revision), 'Kindred-Total', String(total)];
    exchange.open(200, ['Content-Type', ndjson, ...counts]);
    if (!exchange.isHead) {
      for await (const portion of lines) {
        assertAllowed();
        if (typeof portion !== 'string') await writeSlices(response, portion, writing);
        else if (portion.length > sliceSize) await writeSlices(response, [Buffer.from(portion)], writing);
        else {
          response.write(portion);
          await drained(response, limits.requestTimeout);
        }
        if (response.destroyed) break;
      }
    }
  } finally {
    await close();
  }
  response.end();
  exchange.finish(response.destroyed ? 499 : 200);
}
