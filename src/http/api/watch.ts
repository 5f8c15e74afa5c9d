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
  const streams = { ...parts, frames: new Frames() };
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
    throw new KindredError('InvalidParameter', texts.flag, { value: initial }, { parameter: 'sendInitial' });
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
    throw new KindredError('InvalidParameter', texts.revision, { parameter, value: text }, { parameter });
  }
  // Beyond what a number holds exactly it is greater than any revision, which is all that counts.
  return Number(text);
}

interface Closing {
  close(): void;
}

/** The answer of a watch: frames go out at once, wait in the response's own buffer, and not without end. */
class EventStream implements Sink {
  readonly #exchange: Exchange;
  readonly #format: Format;
  readonly #parts: WatchRouteDependencies & { readonly frames: Frames };
  #atClose: Closing[] = [];
  #isClosed = false;
  /** Revision of the last event. */
  #delivered = 0;
  /** While the client has to take what waits for it. */
  #draining: { readonly promise: Promise<void>; stop(): void } | undefined;

  constructor(exchange: Exchange, format: Format, parts: WatchRouteDependencies & { readonly frames: Frames }) {
    this.#exchange = exchange;
    this.#format = format;
    this.#parts = parts;
  }

  event(event: WatchEvent): void {
    this.#send([this.#parts.frames.of(event, this.#format)], event.revision);
  }

  /** First of a live page. */
  snapshot(revision: number, envelope: Envelope): void {
    const [start, end] = aroundFrame(this.#format, 'SNAPSHOT', revision);
    const pieces = [start, startOf('SNAPSHOT', revision), ...envelope.pieces(), objectEnd, end];
    // Copying those of a large page would hold the event loop; there is no need to, they are in memory of their own.
    this.#send(envelope.isLarge ? pieces : [Buffer.concat(pieces)], revision);
  }

  window(revision: number, content: WindowContent): void {
    this.#send([this.#parts.frames.ofWindow(revision, content, this.#format)], revision);
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

  /** @param pieces of one event */
  #send(pieces: readonly Buffer[], revision: number): void {
    if (this.#isClosed) return;
    this.#delivered = revision;
    const { response } = this.#exchange;
    if (pieces.length > 1) response.cork();
    for (const piece of pieces) response.write(piece);
    if (pieces.length > 1) response.uncork();
    if (response.writableNeedDrain) this.#awaitDrain();
  }

  get isBehind(): boolean {
    return !this.#isClosed && this.#exchange.response.writableNeedDrain;
  }

  get isFull(): boolean {
    return !this.#isClosed && this.#exchange.response.writableLength >= this.#parts.maxBufferBytes;
  }

  async drained(): Promise<void> {
    if (this.isBehind) await this.#draining?.promise;
  }

  /** Ends the stream when its client takes nothing for too long of what waits for it. */
  #awaitDrain(): void {
    if (this.#draining) return;
    const { response } = this.#exchange;
    const { stallTimeout } = this.#parts;
    const { promise, resolve } = Promise.withResolvers<void>();
    const stalled = () => {
      this.end(new KindredError('SlowConsumer', texts.stalled, { seconds: stallTimeout / 1_000 }));
    };
    const stop = () => {
      this.#draining = undefined;
      response.setTimeout(0).off('timeout', stalled).off('drain', stop);
      resolve();
    };
    this.#draining = { promise, stop };
    // While something is being written, a socket times out when not one byte of it was taken for so long.
    response.setTimeout(stallTimeout, stalled).on('drain', stop);
  }

  /** The last event, then the end. */
  end(error: unknown): void {
    if (this.#isClosed) return;
    const known = asKindredError(error);
    const problem = this.#exchange.problem(known);
    const body = Buffer.from(JSON.stringify({ type: 'ERROR', error: problem, revision: this.#delivered }));
    const { response } = this.#exchange;
    response.end(frameOf(this.#format, 'ERROR', body, undefined));
    const cut = () => response.destroy();
    let timer = setTimeout(cut, known.code === 'ShuttingDown' ? farewell.stopping : farewell.usual).unref();
    const forget = this.#parts.watches.onStop(() => {
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
    this.#draining?.stop();
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

  of(event: WatchEvent, format: Format): Buffer {
    if (event.type === 'BOOKMARK') return this.#bookmark(event, format);
    const { type, revision, bytes, change, initial } = event;
    const make = () => frameOf(format, type, eventJson(type, revision, bytes, initial), initial ? undefined : revision);
    return change ? this.#once(change, `${format} ${type}`, make) : make();
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
