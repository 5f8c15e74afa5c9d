/** Bulk creation: one object a line in, one line out each, in order, streamed both ways, not atomic (contract section 3). */
import type { Answer } from '../resource/resource.ts';
import { LineSplitter } from './body.ts';
import type { Exchange } from './exchange.ts';
import { ndjson } from './exchange.ts';
import { lineTooLarge, requestTimeout } from './problem.ts';

export interface BulkLimits {
  /** Bytes of one line. */
  readonly body: number;
  /** Milliseconds without a byte in either direction while the client is the one waited for. */
  readonly requestTimeout: number;
  /** Lines worked on at the same time, so that many share one commit. */
  readonly bulkConcurrency: number;
  /** Bytes of lines that are worked on, and bytes of answers not yet taken, before reading pauses. */
  readonly bulkBuffer: number;
}

interface Slot {
  /** The line that answers it, once it is known. */
  text: string | undefined;
}

/**
 * A client may send everything before it reads the first answer, as long as the answers fit `bulkBuffer`. A body that
 * breaks off leaves what was acknowledged, and never half a line.
 * @param revision for the head, which is sent before the first line is read
 */
export async function bulkCreate(
  exchange: Exchange,
  create: (line: Buffer) => Promise<Answer>,
  revision: number,
  limits: BulkLimits,
): Promise<void> {
  const { request, response } = exchange;
  const slots: Slot[] = [];
  let first = 0;
  let running = 0;
  let runningBytes = 0;
  let flushing = false;
  let wake: (() => void) | undefined;
  let waitingForClient = false;

  const idle = setTimeout(() => {
    if (!waitingForClient) {
      idle.refresh();
      return;
    }
    exchange.fail(requestTimeout(limits.requestTimeout));
    request.destroy();
  }, limits.requestTimeout);

  const flush = (): void => {
    flushing = false;
    let text = '';
    while (first < slots.length && slots[first]!.text !== undefined) text += slots[first++]!.text;
    if (first === slots.length || first > 4096) {
      slots.splice(0, first);
      first = 0;
    }
    if (text !== '' && !response.destroyed) response.write(text);
    wake?.();
  };
  const answered = (slot: Slot, line: Record<string, unknown>, bytes: number): void => {
    slot.text = `${JSON.stringify(line)}\n`;
    running--;
    runningBytes -= bytes;
    if (flushing) return;
    flushing = true;
    setImmediate(flush);
  };
  const start = (line: Buffer | undefined): void => {
    const slot: Slot = { text: undefined };
    slots.push(slot);
    running++;
    const bytes = line?.length ?? 0;
    runningBytes += bytes;
    const work = line ? attempt(create, line) : Promise.reject(lineTooLarge(limits.body));
    work.then(
      ({ stored }) => answered(slot, { status: 201, name: stored.name, version: 0 }, bytes),
      (error: unknown) => answered(slot, exchange.problem(error), bytes),
    );
  };
  const woken = (): Promise<void> =>
    new Promise((resolve) => {
      wake = () => {
        wake = undefined;
        resolve();
      };
    });
  const room = async (): Promise<void> => {
    while (running >= limits.bulkConcurrency || runningBytes >= limits.bulkBuffer) await woken();
    waitingForClient = true;
    while (response.writableLength >= limits.bulkBuffer && !response.destroyed) await woken();
    waitingForClient = false;
  };
  const onDrain = (): void => {
    idle.refresh();
    wake?.();
  };
  response.on('drain', onDrain).on('close', onDrain);

  exchange.open(200, ['Content-Type', ndjson, 'Kindred-Revision', String(revision)]);
  try {
    const splitter = new LineSplitter(limits.body);
    const chunks = request[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
    for (;;) {
      waitingForClient = true;
      const { done, value: chunk } = await chunks.next();
      waitingForClient = false;
      idle.refresh();
      for (const line of done ? splitter.end() : splitter.push(chunk)) {
        if (running >= limits.bulkConcurrency || runningBytes >= limits.bulkBuffer) await room();
        start(line);
      }
      if (done) break;
      if (response.writableLength >= limits.bulkBuffer) await room();
    }
    while (first < slots.length) await woken();
    response.end();
    exchange.finish(response.destroyed ? 499 : 200);
  } catch (error) {
    if (!request.destroyed) throw error;
    exchange.finish(499);
  } finally {
    clearTimeout(idle);
    response.off('drain', onDrain).off('close', onDrain);
  }
}

async function attempt(create: (line: Buffer) => Promise<Answer>, line: Buffer): Promise<Answer> {
  return create(line);
}
