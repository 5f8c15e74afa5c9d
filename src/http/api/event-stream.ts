/** The answer of a watch, to a client that may be slow: a stream of frames, and of those the server-sent events and NDJSON. */

import { KindredError } from '../../errors.ts';
import { localized } from '../../locales/localized.ts';
import type { Exchange, HeaderList } from '../server/exchange.ts';
import { ndjson } from '../server/exchange.ts';
import { asKindredError } from '../server/problem.ts';
import type { Burst, BurstQueue } from './bursts.ts';

export type Format = 'sse' | 'ndjson';

export interface StreamDependencies<F extends string> {
  readonly bursts: BurstQueue<F>;
  /** Bytes that may wait for a client before it goes on at its own pace (option `watch.maxBufferBytes`). */
  readonly maxBufferBytes: number;
  /** Milliseconds for which a client may take nothing of what waits for it (option `watch.stallTimeout`). */
  readonly stallTimeout: number;
  /** Called back when the service stops. */
  readonly onStop: (callback: () => void) => () => void;
}

export type EventStreamDependencies = StreamDependencies<Format>;

interface Closing {
  close(): void;
}

const stalledText = localized('The client has read nothing for {seconds} s');

const eventStream = 'text/event-stream';
/** Milliseconds that a client has to take the last event of its stream; the second when the service stops. */
const farewell = { usual: 20_000, stopping: 4_000 };

/** Server-sent events for whoever asks for them by name; whoever takes anything gets NDJSON. */
export function formatFor({ request }: Exchange): Format {
  const { accept } = request.headers;
  const isAsked =
    accept !== undefined && /(?:^|,)\s*text\/event-stream\s*(?:$|,|;(?!\s*q=0(?:\.0*)?\s*(?:$|,)))/i.test(accept);
  return isAsked ? 'sse' : 'ndjson';
}

/** Frames are written at the end of the turn, and do not wait without end. */
export abstract class FrameStream<F extends string> {
  readonly exchange: Exchange;
  /** Streams of one format share what is written to them. */
  readonly format: F;
  readonly #dependencies: StreamDependencies<F>;
  #atClose: Closing[] = [];
  #isClosed = false;
  /** Revision of the last event; none where events have none. */
  #delivered: number | undefined;
  /** What is written at the end of the turn; frames go into the last one. */
  #bursts: Burst[] = [];
  #burstBytes = 0;
  /** Bytes that the client had not taken when something was written last: no more wait now. */
  #untaken = 0;
  /** While the client has to take what was written. */
  #stall: { end(): void } | undefined;
  /** While somebody waits for that. */
  #drained: PromiseWithResolvers<void> | undefined;

  constructor(exchange: Exchange, format: F, dependencies: StreamDependencies<F>) {
    this.exchange = exchange;
    this.format = format;
    this.#dependencies = dependencies;
  }

  /** Headers of the answer. */
  abstract headers(revision: number | undefined): HeaderList;

  /** What ends a stream that cannot go on. @param delivered revision of the last event */
  abstract lastFrame(error: KindredError, delivered: number | undefined): Buffer | undefined;

  /** Sends the head; false when there is no body to send, or nobody to send it to. */
  open(revision?: number): boolean {
    this.#delivered = revision;
    const { response, isHead } = this.exchange;
    if (response.destroyed) {
      this.exchange.finish(499);
      return false;
    }
    if (!isHead) response.once('close', () => this.#close());
    this.exchange.open(200, this.headers(revision));
    if (!isHead) return true;
    response.end();
    this.exchange.finish(200);
    return false;
  }

  /** Closed once the stream has ended, for whatever reason. */
  onClose(closing: Closing): void {
    if (this.#isClosed) closing.close();
    else this.#atClose.push(closing);
  }

  add(frame: Buffer, revision?: number): void {
    if (this.#isClosed) return;
    this.#delivered = revision;
    const bursts = this.#bursts;
    if (bursts.length === 0) this.#dependencies.bursts.add(this);
    const last = bursts.at(-1);
    if (last?.hasRoomFor(frame)) bursts[bursts.length - 1] = last.with(frame);
    else bursts.push(this.#dependencies.bursts.empty(this.format).with(frame));
    this.#burstBytes += frame.length;
  }

  /** At once, behind what waits. */
  addLarge(pieces: readonly Buffer[], revision: number): void {
    if (this.#isClosed) return;
    this.#delivered = revision;
    this.#write(pieces);
  }

  flush(): void {
    if (this.#bursts.length > 0) this.#write([]);
  }

  /** @param pieces what comes after that which waits */
  #write(pieces: readonly Buffer[]): void {
    const { response } = this.exchange;
    const bursts = this.#bursts;
    this.#bursts = [];
    this.#burstBytes = 0;
    const isInPieces = bursts.length + pieces.length > 1;
    if (isInPieces) response.cork();
    for (const burst of bursts) response.write(burst.bytes);
    for (const piece of pieces) response.write(piece);
    if (isInPieces) response.uncork();
    this.#untaken = response.writableLength;
    if (response.writableNeedDrain) this.#awaitDrain();
    else this.#wasDrained();
  }

  #wasDrained(): void {
    this.#drained?.resolve();
    this.#drained = undefined;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  get isBehind(): boolean {
    const { response } = this.exchange;
    return !this.#isClosed && (response.writableNeedDrain || this.#burstBytes >= response.writableHighWaterMark);
  }

  get isFull(): boolean {
    const { maxBufferBytes } = this.#dependencies;
    if (this.#isClosed || this.#untaken + this.#burstBytes < maxBufferBytes) return false;
    return this.exchange.response.writableLength + this.#burstBytes >= maxBufferBytes;
  }

  async drained(): Promise<void> {
    if (!this.isBehind) return;
    this.#drained ??= Promise.withResolvers();
    await this.#drained.promise;
  }

  /** Ends the stream when its client takes nothing for too long of what waits for it. */
  #awaitDrain(): void {
    if (this.#stall) return;
    const { response } = this.exchange;
    const { stallTimeout } = this.#dependencies;
    const stalled = () => {
      this.end(new KindredError('SlowConsumer', stalledText, { params: { seconds: stallTimeout / 1_000 } }));
    };
    const end = () => {
      this.#stall = undefined;
      response.setTimeout(0).off('timeout', stalled).off('drain', end);
      this.#wasDrained();
    };
    this.#stall = { end };
    // While something is being written, a socket times out when not one byte of it was taken for so long.
    response.setTimeout(stallTimeout, stalled).on('drain', end);
  }

  /** The last event, then the end. */
  end(error: unknown): void {
    if (this.#isClosed) return;
    const known = asKindredError(error);
    const { response } = this.exchange;
    this.flush();
    response.end(this.lastFrame(known, this.#delivered));
    const cut = () => response.destroy();
    let timer = setTimeout(cut, known.code === 'ShuttingDown' ? farewell.stopping : farewell.usual).unref();
    const forget = this.#dependencies.onStop(() => {
      clearTimeout(timer);
      timer = setTimeout(cut, farewell.stopping).unref();
    });
    response.once('close', () => {
      clearTimeout(timer);
      forget();
    });
    this.#close();
  }

  /** The end, without a last event. */
  close(): void {
    if (this.#isClosed) return;
    this.flush();
    this.exchange.response.end();
    this.#close();
  }

  #close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#bursts = [];
    this.#stall?.end();
    this.#wasDrained();
    for (const closing of this.#atClose) closing.close();
    this.#atClose = [];
    this.exchange.finish(200);
  }
}

export class EventStream extends FrameStream<Format> {
  override headers(revision: number | undefined): HeaderList {
    const type = this.format === 'sse' ? eventStream : ndjson;
    const headers = ['Content-Type', type, 'Cache-Control', 'no-store, no-transform', 'X-Accel-Buffering', 'no'];
    if (revision !== undefined) headers.push('Kindred-Revision', String(revision));
    return headers;
  }

  override lastFrame(error: KindredError, revision: number | undefined): Buffer {
    const body = { type: 'ERROR', error: this.exchange.problem(error), revision };
    return frameOf(this.format, 'ERROR', Buffer.from(JSON.stringify(body)), undefined);
  }
}

const newLine = Buffer.from('\n');
const blankLine = Buffer.from('\n\n');
const nothing = Buffer.alloc(0);

export function frameOf(format: Format, type: string, json: Buffer, id: number | string | undefined): Buffer {
  const [start, end] = aroundFrame(format, type, id);
  return Buffer.concat([start, json, end]);
}

/** What stands before and after the JSON of an event. */
export function aroundFrame(format: Format, type: string, id: number | string | undefined): readonly [Buffer, Buffer] {
  if (format === 'ndjson') return [nothing, newLine];
  return [Buffer.from(`event: ${type}\n${id === undefined ? '' : `id: ${id}\n`}data: `), blankLine];
}
