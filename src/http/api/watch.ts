/** `watch=true` on a list (docs/reference/watch.md): server-sent events or NDJSON, over the watches of `resource/`. */

import { KindredError } from '../../errors.ts';
import { localized } from '../../locales/localized.ts';
import type { Authorizer } from '../../resource/access.ts';
import type { AppliedChange } from '../../resource/change.ts';
import type { Page } from '../../resource/resource.ts';
import type { Bookmark, Sink, WatchEvent } from '../../resource/watch/events.ts';
import type { LivePageSink, LivePages, WindowContent } from '../../resource/watch/live-page.ts';
import { followRights } from '../../resource/watch/rights.ts';
import type { Watches } from '../../resource/watch/watches.ts';
import type { Exchange } from '../server/exchange.ts';
import { ndjson } from '../server/exchange.ts';
import { asKindredError, conflictingParameters } from '../server/problem.ts';
import type { Burst } from './bursts.ts';
import { BurstQueue } from './bursts.ts';
import { Envelope } from './envelope.ts';
import type { WatchContext } from './resources.ts';

export interface WatchRouteDependencies {
  readonly watches: Watches;
  readonly livePages: LivePages;
  readonly authorizer: Authorizer;
  /** Bytes that may wait for a client before it goes on at its own pace (option `watch.maxBufferBytes`). */
  readonly maxBufferBytes: number;
  /** Milliseconds for which a client may take nothing of what waits for it (option `watch.stallTimeout`). */
  readonly stallTimeout: number;
  /** Bytes that the objects of a live page may have together (option `list.maxBytes`). */
  readonly maxListBytes: number;
  /** Milliseconds, never going back. */
  readonly monotonicNow: () => number;
}

const texts = {
  revision: localized('"{parameter}" is a revision, a decimal number, not "{value}"'),
  flag: localized('"sendInitial" is true or false, not "{value}"'),
  stalled: localized('The client has read nothing for {seconds} s'),
};

const eventStream = 'text/event-stream';
/** Milliseconds that a client has to take the last event of its stream; the second when the service stops. */
const farewell = { usual: 20_000, stopping: 4_000 };

type Format = 'sse' | 'ndjson';

export function createWatchRoute(parts: WatchRouteDependencies): (context: WatchContext) => Promise<void> {
  const streams = { ...parts, frames: new Frames(), bursts: new BurstQueue<Format>(parts.monotonicNow) };
  return async (context) => {
    const { exchange, resource, parameters, names } = context;
    const { where, sort } = parameters;
    const format: Format = acceptsEvents(exchange.request.headers.accept) ? 'sse' : 'ndjson';
    const { since, sendInitial } = readPosition(context);
    const stream = new EventStream(exchange, format, streams);

    const identity = exchange.identity!.name;
    if (parameters.paged) {
      const { page: number, size } = parameters;
      const request = { where, sort, names, page: number, size, maxBytes: parts.maxListBytes };
      const page = await parts.livePages.open(resource, request, identity, new LivePage(stream, request));
      if (!stream.open(page.revision)) return page.close();
      page.start();
      stream.onClose(page);
    } else {
      const watch = await parts.watches.open(resource, { where, sort, names, identity, since, sendInitial }, stream);
      if (!stream.open(watch.revision)) return;
      watch.start();
      stream.onClose(watch);
    }
    const watcher = { authorizer: parts.authorizer, identity: exchange.identity!, resource, names };
    stream.onClose({ close: followRights(watcher, (error) => stream.end(error)) });
  };
}

/** Whether server-sent events are asked for by name; whoever takes anything gets NDJSON. */
function acceptsEvents(accept: string | undefined): boolean {
  return accept !== undefined && /(?:^|,)\s*text\/event-stream\s*(?:$|,|;(?!\s*q=0(?:\.0*)?\s*(?:$|,)))/i.test(accept);
}

/** Where the watch begins: `Last-Event-ID`, which a browser sends when it connects again, wins over the query. */
function readPosition({ exchange, parameters }: WatchContext): { since: number | undefined; sendInitial: boolean } {
  const { others } = parameters;
  const initial = single(others, 'sendInitial') ?? 'false';
  if (initial !== 'true' && initial !== 'false') {
    throw new KindredError('InvalidParameter', texts.flag, { params: { value: initial }, parameter: 'sendInitial' });
  }
  const sendInitial = initial === 'true';
  const since = revisionOf('since', single(others, 'since'));
  if (since !== undefined && sendInitial) throw conflictingParameters('sendInitial', 'since');
  if (parameters.paged) {
    if (since !== undefined) throw conflictingParameters('since', 'page');
    if (sendInitial) throw conflictingParameters('sendInitial', 'page');
    // A live page begins with its window whatever its reader has seen.
    return { since, sendInitial };
  }
  const last = exchange.request.headers['last-event-id'];
  const resumed = revisionOf('Last-Event-ID', typeof last === 'string' && last !== '' ? last : undefined);
  return resumed === undefined ? { since, sendInitial } : { since: resumed, sendInitial: false };
}

function single(others: ReadonlyMap<string, readonly string[]>, parameter: string): string | undefined {
  const values = others.get(parameter);
  if (values && values.length > 1) throw conflictingParameters(parameter, parameter);
  return values?.[0];
}

function revisionOf(parameter: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d+$/.test(text)) {
    throw new KindredError('InvalidParameter', texts.revision, { params: { parameter, value: text }, parameter });
  }
  // Beyond what a number holds exactly it is greater than any revision, which is all that counts.
  return Number(text);
}

interface Closing {
  close(): void;
}

interface StreamDependencies extends WatchRouteDependencies {
  readonly frames: Frames;
  readonly bursts: BurstQueue<Format>;
}

/** The answer of a watch: frames are written at the end of the turn, and do not wait without end. */
class EventStream implements Sink {
  readonly #exchange: Exchange;
  readonly #format: Format;
  readonly #dependencies: StreamDependencies;
  #atClose: Closing[] = [];
  #isClosed = false;
  /** Revision of the last event. */
  #delivered = 0;
  /** What is written at the end of the turn; frames go into the last one. */
  #bursts: Burst[] = [];
  #burstBytes = 0;
  /** Bytes that the client had not taken when something was written last: no more wait now. */
  #untaken = 0;
  /** While the client has to take what was written. */
  #stall: { end(): void } | undefined;
  /** While somebody waits for that. */
  #drained: PromiseWithResolvers<void> | undefined;

  constructor(exchange: Exchange, format: Format, dependencies: StreamDependencies) {
    this.#exchange = exchange;
    this.#format = format;
    this.#dependencies = dependencies;
  }

  event(event: WatchEvent): void {
    this.#add(this.#dependencies.frames.of(event, this.#format), event.revision);
  }

  /** First of a live page. */
  snapshot(revision: number, envelope: Envelope): void {
    if (this.#isClosed) return;
    const [start, end] = aroundFrame(this.#format, 'SNAPSHOT', revision);
    const pieces = [start, startOf('SNAPSHOT', revision), ...envelope.pieces(), objectEnd, end];
    // Copying those of a large page would hold the event loop; there is no need to, they are in memory of their own.
    if (!envelope.isLarge) return this.#add(Buffer.concat(pieces), revision);
    this.#delivered = revision;
    this.#write(pieces);
  }

  window(revision: number, content: WindowContent): void {
    this.#add(this.#dependencies.frames.ofWindow(revision, content, this.#format), revision);
  }

  /** Sends the head; false when there is no body to send, or nobody to send it to. */
  open(revision: number): boolean {
    this.#delivered = revision;
    const { response, isHead } = this.#exchange;
    if (response.destroyed) {
      this.#exchange.finish(499);
      return false;
    }
    const type = this.#format === 'sse' ? eventStream : ndjson;
    const headers = ['Content-Type', type, 'Cache-Control', 'no-store, no-transform', 'X-Accel-Buffering', 'no'];
    headers.push('Kindred-Revision', String(revision));
    if (!isHead) response.once('close', () => this.#close());
    this.#exchange.open(200, headers);
    if (!isHead) return true;
    response.end();
    this.#exchange.finish(200);
    return false;
  }

  /** Closed once the stream has ended, for whatever reason. */
  onClose(closing: Closing): void {
    if (this.#isClosed) closing.close();
    else this.#atClose.push(closing);
  }

  #add(frame: Buffer, revision: number): void {
    if (this.#isClosed) return;
    this.#delivered = revision;
    const bursts = this.#bursts;
    if (bursts.length === 0) this.#dependencies.bursts.add(this);
    const last = bursts.at(-1);
    if (last?.hasRoomFor(frame)) bursts[bursts.length - 1] = last.with(frame);
    else bursts.push(this.#dependencies.bursts.empty(this.#format).with(frame));
    this.#burstBytes += frame.length;
  }

  flush(): void {
    if (this.#bursts.length > 0) this.#write([]);
  }

  /** @param pieces what comes after that which waits */
  #write(pieces: readonly Buffer[]): void {
    const { response } = this.#exchange;
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

  get isBehind(): boolean {
    const { response } = this.#exchange;
    return !this.#isClosed && (response.writableNeedDrain || this.#burstBytes >= response.writableHighWaterMark);
  }

  get isFull(): boolean {
    const { maxBufferBytes } = this.#dependencies;
    if (this.#isClosed || this.#untaken + this.#burstBytes < maxBufferBytes) return false;
    return this.#exchange.response.writableLength + this.#burstBytes >= maxBufferBytes;
  }

  async drained(): Promise<void> {
    if (!this.isBehind) return;
    this.#drained ??= Promise.withResolvers();
    await this.#drained.promise;
  }

  /** Ends the stream when its client takes nothing for too long of what waits for it. */
  #awaitDrain(): void {
    if (this.#stall) return;
    const { response } = this.#exchange;
    const { stallTimeout } = this.#dependencies;
    const stalled = () => {
      this.end(new KindredError('SlowConsumer', texts.stalled, { params: { seconds: stallTimeout / 1_000 } }));
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
    const problem = this.#exchange.problem(known);
    const body = Buffer.from(JSON.stringify({ type: 'ERROR', error: problem, revision: this.#delivered }));
    const { response } = this.#exchange;
    this.flush();
    response.end(frameOf(this.#format, 'ERROR', body, undefined));
    const cut = () => response.destroy();
    let timer = setTimeout(cut, known.code === 'ShuttingDown' ? farewell.stopping : farewell.usual).unref();
    const forget = this.#dependencies.watches.onStop(() => {
      clearTimeout(timer);
      timer = setTimeout(cut, farewell.stopping).unref();
    });
    response.once('close', () => {
      clearTimeout(timer);
      forget();
    });
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
    this.#exchange.finish(200);
  }
}

/** Live pages: SNAPSHOT, then WINDOW events. */
class LivePage implements LivePageSink {
  readonly #stream: EventStream;
  readonly #page: { readonly page: number; readonly size: number };

  constructor(stream: EventStream, page: { readonly page: number; readonly size: number }) {
    this.#stream = stream;
    this.#page = page;
  }

  snapshot(page: Page): void {
    this.#stream.snapshot(page.revision, new Envelope(this.#page.page, this.#page.size, page));
  }

  window(revision: number, content: WindowContent): void {
    this.#stream.window(revision, content);
  }

  bookmark(revision: number): void {
    this.#stream.event({ type: 'BOOKMARK', revision });
  }

  get isBehind(): boolean {
    return this.#stream.isBehind;
  }

  drained(): Promise<void> {
    return this.#stream.drained();
  }

  end(error: unknown): void {
    this.#stream.end(error);
  }
}

/** Frames, made once for all the streams that send the same. */
class Frames {
  readonly #made = new WeakMap<AppliedChange | WindowContent, Map<string, Buffer>>();
  readonly #bookmarks: Partial<Record<Format, { readonly revision: number; readonly frame: Buffer }>> = {};
  /** A change goes to one stream after another. */
  readonly #last: Partial<
    Record<Format, { readonly change: AppliedChange; readonly type: string; readonly frame: Buffer }>
  > = {};

  of(event: WatchEvent, format: Format): Buffer {
    if (event.type === 'BOOKMARK') return this.#bookmark(event, format);
    const { type, revision, bytes, change, initial } = event;
    const last = this.#last[format];
    if (change && last?.change === change && last.type === type) return last.frame;
    const make = () => frameOf(format, type, eventJson(type, revision, bytes, initial), initial ? undefined : revision);
    if (!change) return make();
    const frame = this.#once(change, `${format} ${type}`, make);
    this.#last[format] = { change, type, frame };
    return frame;
  }

  ofWindow(revision: number, content: WindowContent, format: Format): Buffer {
    return this.#once(content, format, () =>
      frameOf(format, 'WINDOW', eventJson('WINDOW', revision, windowBytes(content)), revision),
    );
  }

  #once(source: AppliedChange | WindowContent, key: string, make: () => Buffer): Buffer {
    const made = this.#made.get(source) ?? new Map<string, Buffer>();
    this.#made.set(source, made);
    const frame = made.get(key) ?? make();
    made.set(key, frame);
    return frame;
  }

  #bookmark({ revision, initial }: Bookmark, format: Format): Buffer {
    if (initial) return frameOf(format, 'BOOKMARK', bookmark(revision, initial), revision);
    const last = this.#bookmarks[format];
    if (last?.revision === revision) return last.frame;
    const frame = frameOf(format, 'BOOKMARK', bookmark(revision), revision);
    this.#bookmarks[format] = { revision, frame };
    return frame;
  }
}

const newLine = Buffer.from('\n');
const blankLine = Buffer.from('\n\n');
const objectEnd = Buffer.from('}');
const nothing = Buffer.alloc(0);

function frameOf(format: Format, type: string, json: Buffer, id: number | undefined): Buffer {
  const [start, end] = aroundFrame(format, type, id);
  return Buffer.concat([start, json, end]);
}

/** What stands before and after the JSON of an event. */
function aroundFrame(format: Format, type: string, id: number | undefined): readonly [Buffer, Buffer] {
  if (format === 'ndjson') return [nothing, newLine];
  return [Buffer.from(`event: ${type}\n${id === undefined ? '' : `id: ${id}\n`}data: `), blankLine];
}

function eventJson(type: string, revision: number, object: Buffer, initial?: true): Buffer {
  return Buffer.concat([startOf(type, revision, initial), object, objectEnd]);
}

/** Of the JSON of an event, up to its object. */
function startOf(type: string, revision: number, initial?: true): Buffer {
  return Buffer.from(`{"type":"${type}","revision":${revision},${initial ? '"initial":true,' : ''}"object":`);
}

function windowBytes({ total, removed, inserted, updated }: WindowContent): Buffer {
  const parts: (string | Buffer)[] = [`{"total":${total},"removed":${JSON.stringify(removed)},"inserted":[`];
  for (const [i, { index, object }] of inserted.entries()) {
    parts.push(`${i > 0 ? ',' : ''}{"index":${index},"object":`, object, '}');
  }
  parts.push('],"updated":[');
  for (const [i, object] of updated.entries()) parts.push(i > 0 ? ',' : '', object);
  parts.push(']}');
  return Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));
}

function bookmark(revision: number, initial?: true): Buffer {
  return Buffer.from(`{"type":"BOOKMARK","revision":${revision}${initial ? ',"initial":true' : ''}}`);
}
