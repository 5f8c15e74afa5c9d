/** The client inside the service: the same interface as over HTTP, acting as one caller, through the one authoriser. */

import { KindredError, messageOf, violation } from '../errors.ts';
import { fieldNames } from '../indexes/field.ts';
import { localized } from '../locales/localized.ts';
import { fullNameOf, partsOf } from '../model/full-name.ts';
import type { ModelType } from '../model/model-type.ts';
import type { ExtensionObject } from '../model/object.ts';
import type { SchemeRegistry } from '../model/registry.ts';
import type { Scheme } from '../model/scheme.ts';
import { sortTerms } from '../query/list-parameters.ts';
import type { Condition, ListOptions, Sort } from '../query/query.ts';
import { Queries } from '../query/query.ts';
import { readJson } from '../runtime/read-json.ts';
import type { Authorizer, Caller, Decision } from './access.ts';
import type { ExtensionClient, ListResult, WatchEvent } from './extension-client.ts';
import { answered, checkPatch } from './hidden.ts';
import type { Stored } from './registered-model.ts';
import type { ResourceRegistry } from './registry.ts';
import type { ModelResource } from './resource.ts';
import { limited, within } from './visible.ts';
import type { WatchEvent as ResourceEvent, Sink } from './watch/events.ts';
import { followRights, seenNames } from './watch/rights.ts';
import type { Answer, WriteOptions } from './write.ts';

export interface LocalClientDependencies {
  readonly resources: ResourceRegistry;
  readonly registry: SchemeRegistry;
  readonly authorizer: Authorizer;
  readonly caller: Caller;
  /** Writes fail unless this lease is held: a controller's client (docs/reference/controllers.md). */
  readonly fence?: () => WriteOptions['fence'];
  /** Also what only the service itself may do: its own kinds of access, without asking the authoriser. */
  readonly unchecked?: boolean;
}

const forbidden = localized('"{identity}" may not {verb} {resource}{name}: {reason}');

const invalidRevision = localized('"since" is a revision, a decimal number, not "{value}"');

const notJson = localized('The object cannot be written as JSON: {reason}');

const defaultSize = 20;

export function createLocalClient(dependencies: LocalClientDependencies): ExtensionClient {
  const { registry, resources, authorizer, caller } = dependencies;

  /** The model's objects once their indexes are built, if the caller may do this. */
  async function open(
    type: ModelType,
    verb: string,
    place: Place = {},
    subresource?: string,
  ): Promise<{ resource: ModelResource; decision: Decision & { allowed: true } }> {
    const scheme = registry.schemeOf(type);
    const decision = permit(scheme, verb, place, subresource);
    if (!dependencies.unchecked) registry.assertOpen(scheme, caller.plugin);
    const resource = resources.model(scheme);
    // A plugin that is loaded again finds its models as it declares them.
    if (registry.isStarting(scheme, caller.plugin)) await resource.indexed.settled;
    else if (!resource.isReady) await resource.ready;
    return { resource, decision };
  }

  function permit(scheme: Scheme, verb: string, place: Place, subresource?: string): Decision & { allowed: true } {
    if (dependencies.unchecked) return { allowed: true, reason: 'the service itself' };
    const resource = subresource ? `${scheme.plural}/${subresource}` : scheme.plural;
    const { group } = scheme.groupVersionKind;
    const decision = authorizer.decide(caller.identity, { verb, group, resource, ...place });
    if (decision.allowed) return decision;
    const { name } = place;
    const params = {
      identity: caller.identity.name,
      verb,
      resource,
      name: name ? ` "${name}"` : '',
      reason: decision.reason,
    };
    throw new KindredError('Forbidden', forbidden, { params });
  }

  const mayGet =
    (resource: ModelResource) =>
    (name: string): boolean => {
      if (dependencies.unchecked) return true;
      const { plural, groupVersionKind } = resource.scheme;
      const access = { verb: 'get', group: groupVersionKind.group, resource: plural, ...partsOf(name) };
      return authorizer.decide(caller.identity, access).allowed;
    };
  const written = <T>(resource: ModelResource, { stored }: Answer): T =>
    objectOf<T>(answered(resource, stored, mayGet(resource)));

  const writeOptions = (): WriteOptions => ({ caller, fence: dependencies.fence?.() });

  /** The objects of a list, as far as the caller sees them. */
  async function openList(type: ModelType, options: ListOptions | undefined) {
    const place = placeOfList(options);
    const { resource, decision } = await open(type, 'list', place);
    const visible = { namespace: place.namespace, names: decision.names };
    return { resource, selection: limited(resource.scheme, whereOf(options), visible) };
  }

  async function list<T>(
    type: ModelType<T>,
    options?: ListOptions,
    page?: { page: number; size: number; sort: Sort },
  ): Promise<ListResult<T>> {
    const { resource, selection } = await openList(type, options);
    const request = {
      ...selection,
      sort: sortTerms(page?.sort ?? [], indexNames(resource)),
      page: page?.page ?? 1,
      size: page?.size ?? defaultSize,
    };
    const { total, items, revision } = await resource.list(request);
    return {
      ...pageFlags(request.page, request.size, total),
      items: items.map((bytes) => parse<T>(bytes)),
      revision: String(revision),
    };
  }

  async function names(type: ModelType, options?: ListOptions, sort?: Sort): Promise<string[]> {
    const { resource, selection } = await openList(type, options);
    return resource.names({ ...selection, sort: sortTerms(sort ?? [], indexNames(resource)) });
  }

  async function get<T>(type: ModelType<T>, name: string): Promise<T> {
    const { resource } = await open(type, 'get', partsOf(name));
    return objectOf<T>((await resource.get(name)).stored);
  }

  return {
    get,

    async fetch<T>(type: ModelType<T>, name: string): Promise<T | undefined> {
      try {
        return await get(type, name);
      } catch (error) {
        if (error instanceof KindredError && error.code === 'NotFound' && registry.schemeOf(type)) return undefined;
        throw error;
      }
    },

    list,

    async *listAll<T>(type: ModelType<T>, options?: ListOptions, sort?: Sort): AsyncGenerator<T> {
      const { resource, selection } = await openList(type, options);
      const { objects, close } = await resource.export({
        ...selection,
        sort: sortTerms(sort ?? [], indexNames(resource)),
      });
      try {
        for await (const portion of objects) for (const { bytes } of portion) yield parse<T>(bytes);
      } finally {
        await close();
      }
    },

    listNames: names,

    async count(type: ModelType, options?: ListOptions): Promise<number> {
      const { resource, selection } = await openList(type, options);
      return resource.count(selection);
    },

    async create<T>(type: ModelType<T>, object: unknown): Promise<T> {
      const { resource } = await open(type, 'create', placeOf(object));
      return written<T>(resource, await resource.create(plain(object), writeOptions()));
    },

    async update<T>(type: ModelType<T>, object: T): Promise<T> {
      const place = placeOf(object);
      const { resource } = await open(type, 'update', place);
      return written<T>(resource, await resource.update(fullName(place), plain(object), writeOptions()));
    },

    async updateStatus<T>(type: ModelType<T>, object: T): Promise<T> {
      const place = placeOf(object);
      const name = fullName(place);
      const hasRoute = resources.model(registry.schemeOf(type)).hasStatus;
      const { resource } = await open(type, 'update', place, hasRoute ? 'status' : undefined);
      return written<T>(
        resource,
        await resource.update(name, plain(object), { ...writeOptions(), subresource: 'status' }),
      );
    },

    async patch<T>(
      type: ModelType<T>,
      name: string,
      patch: object | readonly object[],
      kind: 'merge' | 'json' = Array.isArray(patch) ? 'json' : 'merge',
    ): Promise<T> {
      const { resource } = await open(type, 'patch', partsOf(name));
      checkPatch(resource, name, patch, mayGet(resource));
      return written<T>(resource, await resource.patch(name, plain(patch), { ...writeOptions(), kind }));
    },

    async delete<T>(type: ModelType<T>, name: string, options: { version?: number } = {}): Promise<T> {
      const { resource } = await open(type, 'delete', partsOf(name));
      return written<T>(resource, await resource.delete(name, { ...writeOptions(), version: options.version }));
    },

    async *watch<T>(
      type: ModelType<T>,
      options: Parameters<ExtensionClient['watch']>[1] = {},
    ): AsyncGenerator<WatchEvent<T>> {
      const place = placeOfList(options.select);
      const { resource, decision: listed } = await open(type, 'list', place);
      const { decision: watched } = await open(type, 'watch', place);
      const visible = { namespace: place.namespace, names: seenNames(listed, watched) };
      const { since } = options;
      if (since !== undefined && !/^\d+$/.test(since)) {
        throw new KindredError('InvalidParameter', invalidRevision, { params: { value: since }, parameter: 'since' });
      }
      const sink = new QueueSink();
      const watch = await resources.watches.open(
        resource,
        {
          ...limited(resource.scheme, whereOf(options.select), visible),
          sort: [],
          identity: caller.identity.name,
          since: since === undefined ? undefined : Number(since),
          sendInitial: options.sendInitial,
        },
        sink,
      );
      const unfollow = dependencies.unchecked
        ? undefined
        : followRights({ authorizer, identity: caller.identity, resource, ...visible }, (error) => sink.end(error));
      const stop = () => sink.close();
      options.signal?.addEventListener('abort', stop);
      try {
        if (options.signal?.aborted) return;
        watch.start();
        for (;;) {
          const event = await sink.next();
          if (!event) return;
          const revision = String(event.revision);
          const initial = event.initial ? { initial: true as const } : {};
          if (event.type === 'BOOKMARK') yield { type: 'BOOKMARK', revision, ...initial };
          else yield { type: event.type, revision, object: parse<T>(event.bytes), ...initial };
        }
      } finally {
        options.signal?.removeEventListener('abort', stop);
        unfollow?.();
        watch.close();
      }
    },
  };
}

/** What may wait for a reader inside the process before its watch goes on by a replay, which waits for the reader. */
const queueLimit = { events: 1_024, bytes: 8 * 2 ** 20 };
/** What a replay puts in before it waits. */
const replayLimit = { events: 256, bytes: 2 ** 20 };

/** Holds the events of a watch until its reader asks for them. */
class QueueSink implements Sink {
  #events: ResourceEvent[] = [];
  #bytes = 0;
  #error: KindredError | undefined;
  #closed = false;
  #wake: (() => void) | undefined;
  #taken: (() => void) | undefined;

  event(event: ResourceEvent): void {
    if (this.#error) return;
    this.#events.push(event);
    if (event.type !== 'BOOKMARK') this.#bytes += event.bytes.byteLength;
    this.#wake?.();
  }

  get isBehind(): boolean {
    return this.#holds(replayLimit);
  }

  get isFull(): boolean {
    return this.#holds(queueLimit);
  }

  async drained(): Promise<void> {
    if (!this.isBehind || this.#closed || this.#error) return;
    await new Promise<void>((resolve) => {
      this.#taken = resolve;
    });
  }

  end(error: KindredError): void {
    this.#error ??= error;
    this.#wake?.();
    this.#taken?.();
  }

  close(): void {
    this.#closed = true;
    this.#wake?.();
    this.#taken?.();
  }

  /** The next event; undefined when closed. Throws what the watch was ended with, after the events before it. */
  async next(): Promise<ResourceEvent | undefined> {
    while (this.#events.length === 0) {
      if (this.#closed) return undefined;
      if (this.#error) throw this.#error;
      this.#taken?.();
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    const event = this.#events.shift()!;
    if (event.type !== 'BOOKMARK') this.#bytes -= event.bytes.byteLength;
    return this.#closed ? undefined : event;
  }

  #holds({ events, bytes }: typeof queueLimit): boolean {
    return this.#events.length >= events || this.#bytes >= bytes;
  }
}

/** The envelope of a list without its items (docs/reference/api.md). */
function pageFlags(page: number, size: number, total: number): Omit<ListResult<never>, 'items'> {
  const totalPages = Math.ceil(total / size);
  const hasNext = page < totalPages;
  return { page, size, total, first: page === 1, last: !hasNext, hasNext, hasPrevious: page > 1, totalPages };
}

function indexNames({ scheme }: ModelResource): string[] {
  return fieldNames(scheme.indexes);
}

function whereOf(options: ListOptions | undefined): Condition {
  return within(options?.condition ?? Queries.all(), options?.namespace);
}

/** What an access names of an object. */
interface Place {
  readonly namespace?: string;
  readonly name?: string;
}

function placeOfList(options: ListOptions | undefined): Place {
  return options?.namespace === undefined ? {} : { namespace: options.namespace };
}

function placeOf(object: unknown): Place {
  const { namespace, name } = (object as Partial<ExtensionObject> | undefined)?.metadata ?? {};
  return {
    ...(typeof namespace === 'string' && namespace !== '' && { namespace }),
    ...(typeof name === 'string' && { name }),
  };
}

function fullName({ namespace, name = '' }: Place): string {
  return fullNameOf(namespace === undefined ? { name } : { namespace, name });
}

/** As it would come over the wire: members that are undefined go, dates become texts, classes plain objects. */
function plain(object: unknown): unknown {
  try {
    return readJson(JSON.stringify(object) ?? 'null');
  } catch (cause) {
    const params = { reason: messageOf(cause) };
    throw new KindredError('Invalid', notJson, { params, errors: [violation('', 'type', notJson, params)], cause });
  }
}

function parse<T>(bytes: Buffer): T {
  return readJson(bytes.toString()) as T;
}

function objectOf<T>(stored: Stored): T {
  return parse<T>(stored.bytes);
}
