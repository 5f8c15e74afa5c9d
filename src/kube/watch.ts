/**
 * `watch=true` on a collection: one JSON line for each event, over the watches of `resource/`. A change is turned into its
 * line once for all streams that see it in the same form. What fails after the request was accepted is the last event of a
 * stream with the status 200, because clients look for it there.
 */
import type { KindredError } from '../errors.ts';
import { BurstQueue } from '../http/api/bursts.ts';
import type { StreamDependencies } from '../http/api/event-stream.ts';
import { FrameStream } from '../http/api/event-stream.ts';
import type { Exchange, HeaderList } from '../http/server/exchange.ts';
import { json } from '../http/server/exchange.ts';
import type { Authorizer } from '../resource/access.ts';
import type { AppliedChange } from '../resource/change.ts';
import type { Feed } from '../resource/feed.ts';
import type { Stored } from '../resource/registered-model.ts';
import { limited } from '../resource/visible.ts';
import type { ChangeEvent, Sink, WatchEvent } from '../resource/watch/events.ts';
import type { PlacedWatches } from '../resource/watch/placed-watches.ts';
import { followRights } from '../resource/watch/rights.ts';
import type { Shown } from './form.ts';
import { orderField } from './listing.ts';
import { partialText, shownBytes } from './metadata.ts';
import { formOf } from './negotiate.ts';
import { count, flag, revision } from './parameters.ts';
import { conditionOf } from './selection.ts';
import { failure, invalidFields, StatusError } from './status.ts';
import { includeObject, tableColumns, tableRow } from './table.ts';
import type { ResourceTarget } from './target.ts';

export interface WatchDependencies {
  readonly watches: PlacedWatches;
  readonly authorizer: Authorizer;
  /** Bytes that may wait for a client before it goes on at its own pace (option `watch.maxBufferBytes`). */
  readonly maxBufferBytes: number;
  /** Milliseconds for which a client may take nothing of what waits for it (option `watch.stallTimeout`). */
  readonly stallTimeout: number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Milliseconds, never going back. */
  readonly monotonicNow: () => number;
  /** A number from 0 (included) to 1 (excluded). */
  readonly random: () => number;
}

/** Milliseconds between two looks at which streams were silent: one without bookmarks is silent for two of them at most. */
const heartbeat = 5_000;
/** Seconds after which a stream ends when the client names none: so much, or up to twice as much. */
const usualTimeout = 1_800;
/** Most that a timer takes. */
const longestTimeout = 2_000_000;

export class KubeWatches {
  readonly #dependencies: WatchDependencies;
  readonly #bursts: BurstQueue<string>;
  readonly #lines = new Lines();
  readonly #silent = new Set<WatchLines>();
  #timer: NodeJS.Timeout | undefined;

  constructor(dependencies: WatchDependencies) {
    this.#dependencies = dependencies;
    this.#bursts = new BurstQueue(dependencies.monotonicNow);
    dependencies.watches.onStop(() => this.#stopHeartbeat());
  }

  /** @param names of an authorised caller who may see these alone */
  async watch(exchange: Exchange, target: ResourceTarget, names: ReadonlySet<string> | undefined): Promise<void> {
    const { watches, authorizer, now, random, maxBufferBytes, stallTimeout } = this.#dependencies;
    const { namespace } = target;
    const { resource } = target.model;
    const query = new URLSearchParams(exchange.query);
    const form = formOf(exchange.request.headers.accept);
    const where = conditionOf(query, target);
    const position = positionOf(query);
    const withBookmarks = flag(query, 'allowWatchBookmarks') ?? false;
    const seconds = count(query, 'timeoutSeconds') || usualTimeout * (1 + random());
    const shown = { form: { ...form, type: json }, includeObject: includeObject(query), now } as const;
    resource.indexed.assertReady();
    exchange.assertRoom();

    const streams = { bursts: this.#bursts, maxBufferBytes, stallTimeout, onStop: watches.onStop.bind(watches) };
    const stream = new WatchLines(
      exchange,
      target,
      this.#lines,
      { ...shown, withBookmarks, marksEnd: position.marksEnd },
      streams,
    );
    const identity = exchange.identity!;
    let watch: Awaited<ReturnType<PlacedWatches['open']>>;
    try {
      if (position.wanted !== undefined) await assertReached(resource.place.feed, position.wanted);
      const sort = [{ field: orderField(resource.scheme), direction: 'asc' } as const];
      const seen = limited(resource.scheme, where, { namespace, names });
      const request = { ...seen, sort, withValues: true, identity: identity.name, ...position.request };
      watch = await watches.open(resource, request, stream);
    } catch (error) {
      if (!isExpired(error) || !stream.open()) throw error;
      return stream.end(
        new StatusError('Expired', `too old resource version: ${position.wanted} (${resource.revision})`),
      );
    }
    if (!stream.open()) return watch.close();
    watch.start();
    stream.onClose(watch);
    const timer = setTimeout(() => stream.close(), Math.min(seconds, longestTimeout) * 1_000).unref();
    stream.onClose({ close: () => clearTimeout(timer) });
    this.#follow(stream, withBookmarks);
    const watcher = { authorizer, identity, resource, namespace, names, verbs: ['watch'] as const };
    stream.onClose({ close: followRights(watcher, (error) => stream.end(error)) });
  }

  /** Clients take a stream for broken that is silent for long. */
  #follow(stream: WatchLines, withBookmarks: boolean): void {
    if (withBookmarks) return;
    this.#silent.add(stream);
    this.#timer ??= setInterval(() => {
      for (const one of this.#silent) one.beat();
    }, heartbeat).unref();
    stream.onClose({
      close: () => {
        this.#silent.delete(stream);
        if (this.#silent.size === 0) this.#stopHeartbeat();
      },
    });
  }

  #stopHeartbeat(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

/** @throws Expired when there is no such state yet */
async function assertReached(feed: Feed, wanted: number): Promise<void> {
  if (wanted > feed.applied) await feed.newest();
  if (wanted > feed.applied) throw new StatusError('Expired', `Too large resource version: ${wanted}`);
}

interface Position {
  /** The state that the client knows; undefined: none. */
  readonly wanted: number | undefined;
  readonly request: { readonly since?: number; readonly sendInitial?: boolean };
  /** A bookmark tells the end of the present objects. */
  readonly marksEnd: boolean;
}

/** @throws KindredError BadRequest, Invalid */
function positionOf(query: URLSearchParams): Position {
  const wanted = revision(query.get('resourceVersion')) || undefined;
  const match = query.get('resourceVersionMatch') ?? '';
  const sendInitialEvents = flag(query, 'sendInitialEvents');
  if (sendInitialEvents === undefined) {
    if (match !== '')
      throw forbidden('resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided');
    return { wanted, request: wanted === undefined ? { sendInitial: true } : { since: wanted }, marksEnd: false };
  }
  if (match !== 'NotOlderThan') {
    throw forbidden('sendInitialEvents requires setting resourceVersionMatch to NotOlderThan');
  }
  if (!sendInitialEvents) return { wanted, request: wanted === undefined ? {} : { since: wanted }, marksEnd: false };
  return { wanted, request: { sendInitial: true }, marksEnd: true };
}

function forbidden(text: string): StatusError {
  const cause = { reason: 'FieldValueForbidden', message: `Forbidden: ${text}`, field: 'resourceVersionMatch' };
  return invalidFields([cause]);
}

function isExpired(error: unknown): error is KindredError {
  return (error as Partial<KindredError>).code === 'Expired';
}

interface LineForm extends Omit<Shown, 'now'> {
  readonly now: () => number;
  readonly withBookmarks: boolean;
  readonly marksEnd: boolean;
}

const newLine = Buffer.from('\n');

/** The stream of one watch. */
class WatchLines extends FrameStream<string> implements Sink {
  readonly #target: ResourceTarget;
  readonly #lines: Lines;
  readonly #form: LineForm;
  /** A table has its columns in the first event alone. */
  #hasColumns = false;
  #wasSilent = false;

  constructor(
    exchange: Exchange,
    target: ResourceTarget,
    lines: Lines,
    form: LineForm,
    dependencies: StreamDependencies<string>,
  ) {
    const { shape, version } = form.form;
    const key = `${target.model.apiVersion} ${target.model.plural} ${shape} ${version} ${form.includeObject}`;
    super(exchange, key, dependencies);
    this.#target = target;
    this.#lines = lines;
    this.#form = form;
  }

  event(event: WatchEvent): void {
    const { model } = this.#target;
    if (event.type === 'BOOKMARK') {
      const isEnd = event.initial === true && this.#form.marksEnd;
      if (!this.#form.withBookmarks || (event.initial && !isEnd)) return;
      this.#wasSilent = false;
      this.add(lineOf('BOOKMARK', bookmarkOf(this.#target, event.revision, isEnd, this.#form)), event.revision);
      return;
    }
    this.#wasSilent = false;
    const { shape } = this.#form.form;
    const withColumns = shape === 'table' && !this.#hasColumns;
    const make = (): Buffer => lineOf(event.type, objectOf(model, storedOf(event), this.#form, withColumns));
    this.#hasColumns = true;
    const frame = withColumns || !event.change ? make() : this.#lines.of(event.change, event.type, this.format, make);
    this.add(frame, event.revision);
  }

  /** Called now and then: says something where nothing was said since the last time. */
  beat(): void {
    if (this.#wasSilent && !this.isBehind) this.add(newLine);
    this.#wasSilent = true;
  }

  override headers(): HeaderList {
    return ['Content-Type', json, 'Cache-Control', 'no-store, no-transform', 'X-Accel-Buffering', 'no'];
  }

  /** A service that stops, and a model that goes, end the stream without a word; the client asks again. */
  override lastFrame(error: KindredError): Buffer | undefined {
    if (error.code === 'ShuttingDown' || error.code === 'NotFound') return undefined;
    if (error.code === 'InternalError') this.exchange.problem(error);
    const told = ended.has(error.code) ? new StatusError('Expired', error.message) : error;
    return lineOf('ERROR', Buffer.from(JSON.stringify(failure(told))));
  }
}

/** After these a client lists again. */
const ended: ReadonlySet<string> = new Set(['SlowConsumer', 'Expired', 'Forbidden']);

/** Of a deletion, the object has the revision of that. The values of Secrets are left out of native watches alone. */
function storedOf({ change, stored, bytes }: ChangeEvent): Stored {
  if (stored) return stored;
  const { id, revision, name, model } = change!;
  return { id, revision, name, bytes: model.hooks?.hidesValues ? change!.bytes : bytes };
}

function lineOf(type: string, object: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`{"type":"${type}","object":`), object, lineEnd]);
}

const lineEnd = Buffer.from('}\n');

function objectOf(model: ResourceTarget['model'], stored: Stored, form: LineForm, withColumns: boolean): Buffer {
  const { shape, version } = form.form;
  switch (shape) {
    case 'objects':
      return shownBytes(model, stored);
    case 'metadata':
      return Buffer.from(partialText(model, stored, { version }));
    case 'table': {
      const row = tableRow(model, stored, { includeObject: form.includeObject, now: form.now(), version });
      return tableOf(model, String(stored.revision), version, row, withColumns);
    }
    default:
      return shape satisfies never;
  }
}

function tableOf(
  model: ResourceTarget['model'],
  resourceVersion: string,
  version: string,
  row: Buffer,
  withColumns: boolean,
): Buffer {
  const columns = withColumns ? JSON.stringify(tableColumns(model)) : 'null';
  const metadata = JSON.stringify({ resourceVersion });
  const head = `{"kind":"Table","apiVersion":"meta.k8s.io/${version}","metadata":${metadata},"columnDefinitions":${columns}`;
  return Buffer.concat([Buffer.from(`${head},"rows":[`), row, Buffer.from(']}')]);
}

function bookmarkOf({ model }: ResourceTarget, at: number, isEnd: boolean, { form }: LineForm): Buffer {
  const metadata = {
    resourceVersion: String(at),
    creationTimestamp: null,
    ...(isEnd && { annotations: { 'k8s.io/initial-events-end': 'true' } }),
  };
  const meta = `meta.k8s.io/${form.version}`;
  if (form.shape === 'objects') {
    return Buffer.from(JSON.stringify({ kind: model.kind, apiVersion: model.apiVersion, metadata }));
  }
  const object = JSON.stringify({ kind: 'PartialObjectMetadata', apiVersion: meta, metadata });
  if (form.shape === 'metadata') return Buffer.from(object);
  return tableOf(model, String(at), form.version, Buffer.from(`{"cells":[],"object":${object}}`), false);
}

/** Lines of changes, made once for all streams that send the same. */
class Lines {
  readonly #made = new WeakMap<AppliedChange, Map<string, Buffer>>();

  of(change: AppliedChange, type: string, format: string, make: () => Buffer): Buffer {
    const lines = this.#made.get(change) ?? new Map<string, Buffer>();
    this.#made.set(change, lines);
    const key = `${type} ${format}`;
    const line = lines.get(key) ?? make();
    lines.set(key, line);
    return line;
  }
}
