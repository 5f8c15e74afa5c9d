/** `watch=true` on a list (docs/reference/watch.md): server-sent events or NDJSON, over the watches of `resource/`. */

import { KindredError } from '../../errors.ts';
import { localized } from '../../locales/localized.ts';
import type { Authorizer } from '../../resource/access.ts';
import type { Page } from '../../resource/resource.ts';
import { limited } from '../../resource/visible.ts';
import type { Bookmark, Sink, WatchEvent } from '../../resource/watch/events.ts';
import type { LivePageSink, LivePages, WindowContent } from '../../resource/watch/live-page.ts';
import type { PlacedWatches } from '../../resource/watch/placed-watches.ts';
import { followRights } from '../../resource/watch/rights.ts';
import type { Exchange } from '../server/exchange.ts';
import { conflictingParameters } from '../server/problem.ts';
import { BurstQueue } from './bursts.ts';
import { Envelope } from './envelope.ts';
import type { EventStreamDependencies, Format } from './event-stream.ts';
import { aroundFrame, EventStream, formatFor, frameOf } from './event-stream.ts';
import type { WatchContext } from './resources.ts';

export interface WatchRouteDependencies extends Omit<EventStreamDependencies, 'bursts' | 'onStop'> {
  readonly watches: PlacedWatches;
  readonly livePages: LivePages;
  readonly authorizer: Authorizer;
  /** Bytes that the objects of a live page may have together (option `list.maxBytes`). */
  readonly maxListBytes: number;
  /** Milliseconds, never going back. */
  readonly monotonicNow: () => number;
}

const texts = {
  revision: localized('"{parameter}" is a revision, a decimal number, not "{value}"'),
  flag: localized('"sendInitial" is true or false, not "{value}"'),
};

export function createWatchRoute(parts: WatchRouteDependencies): (context: WatchContext) => Promise<void> {
  const bursts = new BurstQueue<Format>(parts.monotonicNow);
  const onStop = (callback: () => void) => parts.watches.onStop(callback);
  const streams = { ...parts, frames: new Frames(), bursts, onStop };
  return async (context) => {
    const { exchange, resource, parameters, namespace } = context;
    const { sort } = parameters;
    const { where, names } = limited(resource.scheme, parameters.where, context);
    const { since, sendInitial } = readPosition(context);
    const stream = new WatchStream(exchange, formatFor(exchange), streams);

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
    const { authorizer } = parts;
    const watcher = { authorizer, identity: exchange.identity!, resource, namespace, names: context.names };
    stream.onClose({ close: followRights(watcher, (error) => stream.end(error)) });
  };
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

interface StreamDependencies extends WatchRouteDependencies, EventStreamDependencies {
  readonly frames: Frames;
}

class WatchStream extends EventStream implements Sink {
  readonly #frames: Frames;

  constructor(exchange: Exchange, format: Format, dependencies: StreamDependencies) {
    super(exchange, format, dependencies);
    this.#frames = dependencies.frames;
  }

  event(event: WatchEvent): void {
    this.add(this.#frames.of(event, this.format), event.revision);
  }

  /** First of a live page. */
  snapshot(revision: number, envelope: Envelope): void {
    const [start, end] = aroundFrame(this.format, 'SNAPSHOT', revision);
    const pieces = [start, startOf('SNAPSHOT', revision), ...envelope.pieces(), objectEnd, end];
    // Copying those of a large page would hold the event loop; there is no need to, they are in memory that may be kept.
    if (envelope.isLarge) this.addLarge(pieces, revision);
    else this.add(Buffer.concat(pieces), revision);
  }

  window(revision: number, content: WindowContent): void {
    this.add(this.#frames.ofWindow(revision, content, this.format), revision);
  }
}

/** Live pages: SNAPSHOT, then WINDOW events. */
class LivePage implements LivePageSink {
  readonly #stream: WatchStream;
  readonly #page: { readonly page: number; readonly size: number };

  constructor(stream: WatchStream, page: { readonly page: number; readonly size: number }) {
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

/** Frames, made once for all the streams that send the same: the bytes of a change are one buffer for each version of its model. */
class Frames {
  readonly #made = new WeakMap<Buffer | WindowContent, Map<string, Buffer>>();
  readonly #bookmarks: Partial<Record<Format, { readonly revision: number; readonly frame: Buffer }>> = {};
  /** A change goes to one stream after another. */
  readonly #last: Partial<Record<Format, { readonly bytes: Buffer; readonly type: string; readonly frame: Buffer }>> =
    {};

  of(event: WatchEvent, format: Format): Buffer {
    if (event.type === 'BOOKMARK') return this.#bookmark(event, format);
    const { type, revision, bytes, change, initial } = event;
    const last = this.#last[format];
    if (change && last?.bytes === bytes && last.type === type) return last.frame;
    const make = () => frameOf(format, type, eventJson(type, revision, bytes, initial), initial ? undefined : revision);
    if (!change) return make();
    const frame = this.#once(bytes, `${format} ${type}`, make);
    this.#last[format] = { bytes, type, frame };
    return frame;
  }

  ofWindow(revision: number, content: WindowContent, format: Format): Buffer {
    return this.#once(content, format, () =>
      frameOf(format, 'WINDOW', eventJson('WINDOW', revision, windowBytes(content)), revision),
    );
  }

  #once(source: Buffer | WindowContent, key: string, make: () => Buffer): Buffer {
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

const objectEnd = Buffer.from('}');

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
