/** `/v3/audit`: the newest entries of the audit log of this process, and those to come (docs/reference/console.md). */

import type { AuditFilter, AuditLog, KeptEntry } from '../../auth/audit.ts';
import { auditOutcomes, matches } from '../../auth/audit.ts';
import { KindredError } from '../../errors.ts';
import { localized } from '../../locales/localized.ts';
import { flag, once, oneOf, readParameters, wholeNumber } from '../../query/parameters.ts';
import type { Authorizer } from '../../resource/access.ts';
import { TimeSlice } from '../../runtime/time-slice.ts';
import type { Exchange } from '../server/exchange.ts';
import { authorise } from './authorise.ts';
import { BurstQueue } from './bursts.ts';
import type { EventStreamDependencies, Format } from './event-stream.ts';
import { EventStream, formatFor, frameOf } from './event-stream.ts';

export interface AuditRouteDependencies extends Omit<EventStreamDependencies, 'bursts'> {
  readonly log: AuditLog;
  readonly authorizer: Authorizer;
  /** Milliseconds between bookmarks. */
  readonly bookmarkInterval: number;
  /** Milliseconds, never going back. */
  readonly monotonicNow: () => number;
}

const texts = {
  slow: localized('Entries are made faster than the client reads them; watch again'),
  stopping: localized('The service is shutting down'),
};

const auditParameters = ['limit', 'identity', 'type', 'name', 'verb', 'outcome', 'watch'] as const;
export const mostEntries = 1_000;
const defaultEntries = 100;

export function createAuditRoute(dependencies: AuditRouteDependencies): (exchange: Exchange) => void {
  const { log } = dependencies;
  const streams = new AuditStreams(dependencies);
  return (exchange) => {
    const given = readParameters(exchange.query, auditParameters);
    const limit = wholeNumber(given, 'limit', mostEntries) ?? defaultEntries;
    const filter: AuditFilter = {
      identity: once(given, 'identity'),
      type: once(given, 'type'),
      name: once(given, 'name'),
      verb: once(given, 'verb'),
      outcome: oneOf(given, 'outcome', auditOutcomes),
    };
    if (flag(given, 'watch')) streams.open(exchange, filter, limit);
    else exchange.sendJson(200, { entries: log.newest(filter).take(limit).toArray(), keep: log.keep });
  };
}

class AuditStreams {
  readonly #dependencies: AuditRouteDependencies;
  readonly #bursts: BurstQueue<Format>;
  readonly #open = new Set<AuditStream>();
  readonly #frames = new Frames();
  #timer: NodeJS.Timeout | undefined;

  constructor(dependencies: AuditRouteDependencies) {
    this.#dependencies = dependencies;
    this.#bursts = new BurstQueue(dependencies.monotonicNow);
    dependencies.onStop(() => {
      for (const stream of [...this.#open]) stream.end(new KindredError('ShuttingDown', texts.stopping));
    });
  }

  open(exchange: Exchange, filter: AuditFilter, limit: number): void {
    const { log, authorizer, monotonicNow } = this.#dependencies;
    const parts = { ...this.#dependencies, bursts: this.#bursts };
    const stream = new AuditStream(exchange, formatFor(exchange), parts);
    if (!stream.open()) return;
    const access = exchange.access!;
    const look = () => {
      try {
        authorise(authorizer, exchange, access);
      } catch (error) {
        stream.end(error);
      }
    };
    const stops = [log.follow((entry) => stream.told(entry)), authorizer.onChange(look)];
    this.#open.add(stream);
    this.#sendBookmarks();
    const close = () => {
      for (const stop of stops) stop();
      this.#open.delete(stream);
      if (this.#open.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    };
    stream.onClose({ close });
    stream.begin({ log, filter, frames: this.#frames, monotonicNow, next: this.#start(exchange, filter, limit) });
  }

  /** Number of the first entry: behind the one that the client has seen last, else the first of the newest ones. */
  #start({ request }: Exchange, filter: AuditFilter, limit: number): number {
    const { log } = this.#dependencies;
    const seen = request.headers['last-event-id'];
    const known = typeof seen === 'string' ? log.numberOf(seen) : undefined;
    if (known !== undefined) return Math.max(log.oldest, Math.min(known + 1, log.end));
    const first = log.newest(filter).take(limit).toArray().at(-1);
    return first ? log.numberOf(first.id)! : log.end;
  }

  /** They tell a client that its connection is alive. */
  #sendBookmarks(): void {
    this.#timer ??= setInterval(() => {
      for (const stream of this.#open) stream.add(frameOf(stream.format, 'BOOKMARK', bookmark, undefined));
    }, this.#dependencies.bookmarkInterval).unref();
  }
}

interface Source {
  readonly log: AuditLog;
  readonly filter: AuditFilter;
  readonly frames: Frames;
  readonly monotonicNow: () => number;
  /** Number of the first entry. */
  readonly next: number;
}

/** Told of each entry as it is made; whenever its client is behind, it goes on with what is kept. */
class AuditStream extends EventStream {
  #source: Source | undefined;
  #next = 0;
  #isLive = false;

  begin(source: Source): void {
    this.#source = source;
    this.#next = source.next;
    void this.#catchUp(source);
  }

  told(entry: KeptEntry): void {
    if (!this.#isLive) return;
    this.#isLive = !this.isFull;
    if (this.#isLive) this.#send(entry, this.#source!);
    else void this.#catchUp(this.#source!);
  }

  #send(entry: KeptEntry, { filter, frames }: Source): void {
    if (matches(entry, filter)) this.add(frames.of(entry, this.format));
    this.#next++;
  }

  async #catchUp(source: Source): Promise<void> {
    const { log, monotonicNow } = source;
    const slice = new TimeSlice(monotonicNow);
    while (!this.isClosed && this.#next < log.end) {
      if (this.#next < log.oldest) return this.end(new KindredError('SlowConsumer', texts.slow));
      this.#send(log.at(this.#next), source);
      if (this.isFull) await this.drained();
      if (slice.isOver) await slice.renew();
    }
    this.#isLive = true;
  }
}

/** Made once for all the streams that an entry goes to. */
class Frames {
  /** Of the entry that was made. */
  #id: string | undefined;
  readonly #made = new Map<Format, Buffer>();

  of(entry: KeptEntry, format: Format): Buffer {
    if (this.#id !== entry.id) this.#made.clear();
    this.#id = entry.id;
    const known = this.#made.get(format);
    if (known) return known;
    const frame = frameOf(format, 'ENTRY', Buffer.from(JSON.stringify({ type: 'ENTRY', entry })), entry.id);
    this.#made.set(format, frame);
    return frame;
  }
}

const bookmark = Buffer.from('{"type":"BOOKMARK"}');
