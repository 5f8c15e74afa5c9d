/** Bulk creation: one object a line in, one line out each, in order, streamed both ways, not atomic (docs/reference/api.md). */
import type { KindredError } from '../../errors.ts';
import { partsOf } from '../../model/full-name.ts';
import type { Answer } from '../../resource/write.ts';
import type { Line } from '../server/body.ts';
import { LineSplitter } from '../server/body.ts';
import type { Exchange } from '../server/exchange.ts';
import { ndjson } from '../server/exchange.ts';
import type { LineGate } from '../server/line-gate.ts';
import { asKindredError, lineTooLarge, requestTimeout, tooManyRefused } from '../server/problem.ts';

interface BulkLimits {
  /** Bytes of one line. */
  readonly body: number;
  /** Milliseconds without a byte in either direction while the client is the one waited for. */
  readonly requestTimeout: number;
  /** Lines worked on at the same time, so that many share one commit. */
  readonly bulkConcurrency: number;
  /** Bytes of lines that are worked on, and bytes of answers not yet taken, before reading pauses. */
  readonly bulkBuffer: number;
  /** Refused lines after which no more are begun. */
  readonly bulkRefusals: number;
}

export interface BulkDependencies {
  /** @param onHanded called when the object is handed to the store */
  readonly create: (line: Buffer, onHanded: () => void) => Promise<Answer>;
  readonly limits: BulkLimits;
  /** Shared by all bulk requests. */
  readonly gate: LineGate;
}

/** Slots that are answered and kept before their list is made anew. */
const mostAnswered = 4_096;

/**
 * A client may send everything before it reads the first answer, as long as the answers fit `bulkBuffer`. A body that
 * breaks off leaves what was acknowledged, and never half a line.
 * @param revision for the head, which is sent before the first line is read
 */
export async function bulkCreate(exchange: Exchange, revision: number, dependencies: BulkDependencies): Promise<void> {
  const bulk = new Bulk(exchange, dependencies);
  try {
    exchange.open(200, ['Content-Type', ndjson, 'Kindred-Revision', String(revision)]);
    await bulk.run();
  } catch (error) {
    // A request is destroyed too when all of it was read.
    const isGone = exchange.response.destroyed || (exchange.request.destroyed && !exchange.request.complete);
    if (!isGone) throw error;
    exchange.finish(499);
  } finally {
    bulk.close();
  }
}

interface Slot {
  /** The line that answers it, once it is known. */
  text: string | undefined;
}

class Bulk {
  readonly #exchange: Exchange;
  readonly #dependencies: BulkDependencies;
  /** Of every line begun, in order; those before `#first` are written. */
  #slots: Slot[] = [];
  #first = 0;
  #running = 0;
  #runningBytes = 0;
  #refused = 0;
  #isFlushing = false;
  #isClientAwaited = false;
  #wake: (() => void) | undefined;
  readonly #idle: NodeJS.Timeout;
  readonly #onDrain = () => {
    this.#idle.refresh();
    this.#wake?.();
  };

  constructor(exchange: Exchange, dependencies: BulkDependencies) {
    this.#exchange = exchange;
    this.#dependencies = dependencies;
    exchange.response.on('drain', this.#onDrain).on('close', this.#onDrain);
    this.#idle = setTimeout(() => this.#timedOut(), dependencies.limits.requestTimeout);
  }

  async run(): Promise<void> {
    const { request, response } = this.#exchange;
    const { limits } = this.#dependencies;
    const splitter = new LineSplitter(limits.body);
    const chunks = request.iterator({ destroyOnReturn: false });
    for (let isOver = false; !isOver; ) {
      const { done, value: chunk } = await this.#fromClient(chunks.next());
      isOver = (await this.#begin(done ? splitter.end() : splitter.push(chunk))) || done === true;
      if (response.writableLength >= limits.bulkBuffer) await this.#room();
    }
    await chunks.return!();
    while (this.#first < this.#slots.length) await this.#woken();
    response.end();
    this.#exchange.finish(response.destroyed ? 499 : 200);
  }

  close(): void {
    clearTimeout(this.#idle);
    this.#exchange.response.off('drain', this.#onDrain).off('close', this.#onDrain);
  }

  /** True when no more lines are wanted. */
  async #begin(lines: readonly Line[]): Promise<boolean> {
    const { gate, limits } = this.#dependencies;
    const slice = this.#exchange.timeSlice();
    for (const line of lines) {
      if (this.#isFull()) await this.#room();
      const bytes = line?.length ?? 0;
      const entered = gate.enter(bytes);
      if (entered) await entered;
      if (slice.isOver) await slice.renew();
      const isRefused = this.#refused >= limits.bulkRefusals;
      if (isRefused || this.#exchange.response.destroyed) {
        gate.leave(bytes);
        if (isRefused) this.#slots.push({ text: this.#textOf(tooManyRefused(this.#refused)) });
        if (isRefused) this.#flushSoon();
        return true;
      }
      // Of two lines with the same name the first one wins, however long it takes to read it.
      await this.#start(line, bytes);
    }
    return false;
  }

  /** Resolves when the object is handed to the store, or refused. */
  #start(line: Line, bytes: number): Promise<void> {
    const { create, limits, gate } = this.#dependencies;
    const { promise: handed, resolve: onHanded } = Promise.withResolvers<void>();
    const slot: Slot = { text: undefined };
    this.#slots.push(slot);
    this.#running++;
    this.#runningBytes += bytes;
    const work = line ? Promise.try(create, line, onHanded) : Promise.reject(lineTooLarge(limits.body));
    const answered = (text: string): void => {
      slot.text = text;
      this.#running--;
      this.#runningBytes -= bytes;
      gate.leave(bytes);
      this.#flushSoon();
      onHanded();
    };
    work.then(
      ({ stored }) => answered(`${JSON.stringify({ status: 201, name: partsOf(stored.name).name, version: 0 })}\n`),
      (error: unknown) => {
        const known = asKindredError(error);
        // Who sends again what was cut off meets all the names that the first attempt left.
        if (known.code !== 'AlreadyExists') this.#refused++;
        answered(this.#textOf(error));
      },
    );
    return handed;
  }

  #textOf(error: unknown): string {
    return `${JSON.stringify(this.#exchange.problem(error))}\n`;
  }

  #flushSoon(): void {
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    setImmediate(() => this.#flush());
  }

  #flush(): void {
    this.#isFlushing = false;
    const slots = this.#slots;
    let text = '';
    while (this.#first < slots.length && slots[this.#first]!.text !== undefined) text += slots[this.#first++]!.text;
    if (this.#first === slots.length || this.#first > mostAnswered) {
      this.#slots = slots.slice(this.#first);
      this.#first = 0;
    }
    const { response } = this.#exchange;
    if (text !== '' && !response.destroyed) response.write(text);
    this.#wake?.();
  }

  /** So many lines are worked on that no more are begun. */
  #isFull(): boolean {
    const { bulkConcurrency, bulkBuffer } = this.#dependencies.limits;
    return this.#running >= bulkConcurrency || this.#runningBytes >= bulkBuffer;
  }

  /** Resolves when there is room for one more line, and for its answer. */
  async #room(): Promise<void> {
    const { response } = this.#exchange;
    while (this.#isFull()) await this.#woken();
    while (response.writableLength >= this.#dependencies.limits.bulkBuffer && !response.destroyed)
      await this.#fromClient(this.#woken());
  }

  /** Resolves when something changed. */
  #woken(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = undefined;
        resolve();
      };
    });
  }

  /** What the client has to do in time. */
  async #fromClient<T>(what: Promise<T>): Promise<T> {
    this.#isClientAwaited = true;
    const result = await what;
    this.#isClientAwaited = false;
    this.#idle.refresh();
    return result;
  }

  #timedOut(): void {
    if (!this.#isClientAwaited) {
      this.#idle.refresh();
      return;
    }
    const error: KindredError = requestTimeout(this.#dependencies.limits.requestTimeout);
    this.#exchange.fail(error);
    this.#exchange.request.destroy();
  }
}
