import { KindredError } from '../errors.ts';
import { fullNameOf } from '../model/full-name.ts';
import type { WatchEvent } from '../resource/extension-client.ts';
import { readJson } from '../runtime/read-json.ts';
import type { Connection } from './connection.ts';
import { errorFrom } from './connection.ts';
import { lines } from './ndjson.ts';
import type { BackoffOptions } from './retry.ts';
import { sleep, waitAfter } from './retry.ts';

export interface ResumeOptions extends BackoffOptions {
  /** False: whatever ends the stream is thrown. Default true: it goes on from the last revision seen, on any replica. */
  resume?: boolean;
  /** A stream without a byte for so many milliseconds counts as broken (the service sends a bookmark every 15 s); default 60,000. */
  idleTimeout?: number;
}

/** What one watch asks for, as the query string has it. */
export interface WatchRequest extends ResumeOptions {
  path: string;
  parameters: URLSearchParams;
  since?: string;
  sendInitial?: boolean;
  signal?: AbortSignal;
}

interface WireEvent {
  type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  revision: number;
  object?: Named;
  initial?: true;
  error?: Record<string, unknown>;
}

interface Named {
  metadata: { namespace?: string; name: string; version?: number; creationTimestamp?: string };
}

/**
 * The events of a watch (docs/reference/watch.md), across broken connections, restarts and slow moments: after a break it
 * goes on with `since` = the last revision seen, so nothing is lost and nothing comes twice. A break while the initial
 * list is under way lists again and yields only the differences from what was already given.
 * @throws Expired when the service no longer keeps the changes since then: begin again with `sendInitial`
 */
export async function* watch<T>(
  connection: Connection,
  request: WatchRequest,
): AsyncGenerator<WatchEvent<T>, void, undefined> {
  const { resume = true } = request;
  const signal = connection.eitherSignal(request.signal);
  let since = request.since;
  let listing = request.sendInitial ? new InitialList() : undefined;
  let failures = 0;
  for (;;) {
    let failure: unknown;
    try {
      for await (const event of stream<WireEvent>(connection, request, since, listing !== undefined)) {
        if ('opened' in event) {
          since ??= listing ? undefined : event.opened;
          continue;
        }
        if (event.type === 'ERROR') throw errorFrom(event.error ?? {});
        failures = 0;
        const revision = String(event.revision);
        if (listing) {
          yield* listing.events<T>(event, revision);
          if (event.type !== 'BOOKMARK' || !event.initial) continue;
          listing = undefined;
        } else {
          yield (
            event.type === 'BOOKMARK'
              ? { type: 'BOOKMARK', revision }
              : { type: event.type, revision, object: event.object }
          ) as WatchEvent<T>;
        }
        since = revision;
      }
      if (!resume) return;
    } catch (error) {
      failure = error;
      if (signal?.aborted) return;
      const isListedAnew = listing !== undefined && error instanceof KindredError && error.code === 'Expired';
      if (!resume || !(isListedAnew || passing(error))) throw error;
    }
    if (signal?.aborted) return;
    listing?.restart();
    const stopped = await sleep(waitAfter(++failures, request, failure), signal).then(
      () => false,
      () => true,
    );
    if (stopped) return;
  }
}

/** One connection: first the revision it begins at, then its events. */
export async function* stream<E>(
  connection: Connection,
  request: WatchRequest,
  since?: string,
  initial = false,
): AsyncGenerator<E | { opened: string | undefined }, void, undefined> {
  const query = new URLSearchParams(request.parameters);
  query.set('watch', 'true');
  if (since !== undefined) query.set('since', since);
  else if (initial) query.set('sendInitial', 'true');
  const silence = new AbortController();
  const signals = [silence.signal, request.signal].filter((signal) => signal !== undefined);
  const idle = request.idleTimeout ?? 60_000;
  const alarm = () => silence.abort(new DOMException(`nothing arrived for ${idle} ms`, 'TimeoutError'));
  let timer = setTimeout(alarm, idle);
  try {
    const response = await connection.send('GET', request.path, {
      query,
      headers: { accept: 'application/x-ndjson' },
      signal: AbortSignal.any(signals),
    });
    yield { opened: response.headers.get('kindred-revision') ?? undefined };
    for await (const line of lines(response.body!)) {
      clearTimeout(timer);
      // While the consumer works on an event the clock stands still: only the service's silence counts.
      yield readJson(line) as E;
      timer = setTimeout(alarm, idle);
    }
  } finally {
    clearTimeout(timer);
  }
}

/** What the initial list gave so far, so that a second one after a break yields only what differs. */
class InitialList {
  readonly #given = new Map<string, Named>();
  #seen: Set<string> | undefined;

  restart(): void {
    this.#seen = new Set();
  }

  *events<T>(event: WireEvent, revision: string): Generator<WatchEvent<T>> {
    if (event.type === 'BOOKMARK') {
      if (!event.initial) return;
      for (const [name, object] of this.#seen ? this.#given : []) {
        if (!this.#seen!.has(name)) yield { type: 'DELETED', revision, object: object as T };
      }
      yield { type: 'BOOKMARK', revision, initial: true };
      return;
    }
    const object = event.object!;
    const { version, creationTimestamp } = object.metadata;
    const name = fullNameOf(object.metadata);
    const before = this.#given.get(name)?.metadata;
    this.#given.set(name, object);
    this.#seen?.add(name);
    if (before?.version === version && before?.creationTimestamp === creationTimestamp) return;
    yield { type: before ? 'MODIFIED' : 'ADDED', revision, object: object as T, initial: true };
  }
}

/** Failures that another attempt can mend: broken connections, restarts, a moment too slow, a service not ready. */
export function passing(error: unknown): boolean {
  if (!(error instanceof KindredError)) return true;
  return (
    error.status === 503 || error.status === 429 || error.code === 'UnknownOutcome' || error.code === 'InternalError'
  );
}
