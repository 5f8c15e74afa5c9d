/**
 * `kindred/client`: the interface to objects over HTTP, for Node.js and for browsers. Types come from the model; there
 * is no generation step.
 *
 * ```ts
 * const client = createClient({ url: 'http://127.0.0.1:8090', token });
 * const page = await client.for(City).list({ fields: { 'spec.country': 'FR' }, sort: ['spec.population,desc'], size: 10 });
 * ```
 */
import type { Text } from '../errors.ts';
import { ifFound, KindredError } from '../errors.ts';
import { fullNameOf, partsOf } from '../model/full-name.ts';
import type { GVKAttributes } from '../model/gvk.ts';
import type { ValuesOf } from '../model/key.ts';
import type { Model, ModelType, New, NewOf, ObjectOf } from '../model/model-type.ts';
import type { ExtensionObject, Metadata } from '../model/object.ts';
import type { Plan } from '../query/execute.ts';
import type { ListOptions, PageRequest, Sort } from '../query/query.ts';
import type { ExtensionClient, ListResult, WatchEvent, WatchOptions } from '../resource/extension-client.ts';
import { readJson } from '../runtime/read-json.ts';
import type { Call, ConnectionOptions } from './connection.ts';
import { Connection, Silence } from './connection.ts';
import type { ImportOptions, ImportResult } from './import.ts';
import { importObjects } from './import.ts';
import type { PageEvent, WatchPageOptions } from './live-page.ts';
import { watchPage } from './live-page.ts';
import { lines } from './ndjson.ts';
import type { ListQuery, SelectQuery } from './parameters.ts';
import { listParameters } from './parameters.ts';
import type { SessionCalls } from './session.ts';
import { sessionCalls } from './session.ts';
import { gvkOf } from './type.ts';
import type { ResumeOptions } from './watch.ts';
import { watch } from './watch.ts';

export type { ErrorCode, FieldConflict, Violation } from '../errors.ts';
export { KindredError } from '../errors.ts';
export type { New, NewOf, ObjectOf } from '../model/model-type.ts';
export type { Plan } from '../query/execute.ts';
export type { ExtensionClient, ListResult, WatchEvent } from '../resource/extension-client.ts';
export type { ConnectionOptions } from './connection.ts';
export type { ImportOptions, ImportResult } from './import.ts';
export { apply, type PageEvent, type PageWindow, type WatchPageOptions } from './live-page.ts';
export type { Comparison, FieldFilters, LabelFilters, ListQuery, SelectQuery, SortKey } from './parameters.ts';
export { type BackoffOptions, Patience, type RetryOptions, type RetryPolicy, retryOnConflict } from './retry.ts';
export type { SessionCalls, SessionState } from './session.ts';
export type { ResumeOptions } from './watch.ts';

/** Names of the indexes that a model's type declares; any text where it does not say. */
export type IndexNames<M> = M extends { readonly $indexes?: infer I extends string } ? I : string;

/** By name, the types of the values of the indexes that a model's type declares; any value where it does not say. */
export type IndexValues<M> = M extends { $keys?(keys: infer K): void } ? K : ValuesOf<string>;

/** Of `request`. */
export interface CallOptions {
  query?: URLSearchParams | Readonly<Record<string, string | readonly string[]>>;
  /** Sent as JSON. */
  body?: unknown;
  headers?: Readonly<Record<string, string>>;
  signal?: AbortSignal;
}

/** What one manager wants of an object: any part of it. Items of lists may be parts too, where the model merges them by key. */
export type Applied<T> = { metadata: { name: string } & Part<Omit<Metadata, 'name'>> } & Part<Omit<T, 'metadata'>>;

type Part<T> = T extends readonly (infer I)[]
  ? readonly Part<I>[]
  : T extends object
    ? { [K in keyof T]?: Part<T[K]> }
    : T;

/** Of `apply`. */
export interface ApplyOptions {
  /** Owns the fields that are sent. */
  fieldManager: string;
  /** Take fields that others own with other values. Default false: FieldConflict. */
  force?: boolean;
  /** Give the object as it would become, and store nothing. Default false. */
  dryRun?: boolean;
}

/**
 * `ExtensionClient` over HTTP. Every failure is a `KindredError` with the code and the members of the service's answer;
 * a call that a signal ended throws the signal's reason. What certainly was not applied is sent again (option `retry`).
 */
export interface KindredClient extends ExtensionClient {
  /**
   * The same client with other options, such as a signal, a `timeout` or no `retry` for some of the calls.
   *
   * ```ts
   * await client.with({ signal: AbortSignal.timeout(5_000) }).create(City, city);
   * ```
   */
  with(options: Partial<Omit<ConnectionOptions, 'url'>>): KindredClient;
  /** The same operations for one model, with its selectors, sort keys and index names typed. */
  for<M extends ModelType>(type: M): ModelClient<ObjectOf<M>, IndexNames<M>, NewOf<M>, IndexValues<M>>;
  watch<T>(type: ModelType<T>, options?: WatchOptions & ResumeOptions): AsyncIterable<WatchEvent<T>>;
  /**
   * One page of a sorted list and how it changes: a SNAPSHOT, then WINDOW events, which `apply` puts into the page. It comes
   * back by itself after a break, with a new SNAPSHOT. @throws Forbidden, NotFound, QueryLimit and whatever else stays wrong
   */
  watchPage<T>(
    type: ModelType<T>,
    query?: ListQuery<string> | ListOptions,
    page?: PageRequest,
    options?: WatchPageOptions,
  ): AsyncIterable<PageEvent<T>>;
  /** How a list would be found, instead of the list. */
  explain(type: ModelType, query?: ListQuery<string> | ListOptions, page?: PageRequest): Promise<Plan>;
  /**
   * Server-side apply: sets the fields of one manager, and takes away those that it sent before and does not now. An object
   * that is not there is created. @throws FieldConflict with `conflicts`: who owns which field
   */
  apply<T>(type: ModelType<T>, object: Applied<NoInfer<T>>, options: ApplyOptions): Promise<T>;
  /** Signing in and out, for pages of the service itself. */
  readonly session: SessionCalls;
  /** Bulk creation; takes objects or their JSON texts. One result for each in their order, refused ones among them. */
  import(
    type: ModelType,
    objects: Iterable<object | string> | AsyncIterable<object | string>,
    options?: ImportOptions,
  ): AsyncIterable<ImportResult>;
  /**
   * As `listAll`, each object as the JSON text that is stored: nothing is lost in numbers, nothing is parsed. Complete, or it throws.
   * @param onRevision told of the revision at which the objects are read, before the first of them
   */
  exportLines(
    type: ModelType,
    options?: SelectQuery | ListOptions,
    onRevision?: (revision: string) => void,
  ): AsyncIterable<string>;
  /**
   * Any other route: custom API, discovery. JSON in and out; undefined for 204.
   * @param path from the root of the service, `/apis/…`
   */
  request<R>(method: string, path: string, options?: CallOptions): Promise<R>;
}

/** What `client.for(type)` gives. `I`: the names of the model's indexes, `N`: an object to be created, `K`: the values of the indexes. */
export interface ModelClient<T, I extends string = string, N = New<T>, K = ValuesOf<I>> {
  get(name: string): Promise<T>;
  fetch(name: string): Promise<T | undefined>;
  list(options?: ListQuery<I, K> | ListOptions, page?: PageRequest): Promise<ListResult<T>>;
  listAll(options?: SelectQuery<I, K> | ListOptions, sort?: Sort): AsyncIterable<T>;
  listNames(options?: SelectQuery<I, K> | ListOptions, sort?: Sort): Promise<string[]>;
  count(options?: SelectQuery<I, K> | ListOptions): Promise<number>;
  create(object: N): Promise<T>;
  update(object: T): Promise<T>;
  updateStatus(object: T): Promise<T>;
  patch(name: string, patch: object | readonly object[], kind?: 'merge' | 'json'): Promise<T>;
  apply(object: Applied<T>, options: ApplyOptions): Promise<T>;
  delete(name: string, options?: { version?: number }): Promise<T>;
  watch(
    options?: Omit<WatchOptions, 'select'> & ResumeOptions & { select?: SelectQuery<I, K> | ListOptions },
  ): AsyncIterable<WatchEvent<T>>;
  watchPage(
    query?: ListQuery<I, K> | ListOptions,
    page?: PageRequest,
    options?: WatchPageOptions,
  ): AsyncIterable<PageEvent<T>>;
  explain(query?: ListQuery<I, K> | ListOptions, page?: PageRequest): Promise<Plan>;
  import(
    objects: Iterable<N | string> | AsyncIterable<N | string>,
    options?: ImportOptions,
  ): AsyncIterable<ImportResult>;
}

const differs: Text = {
  en: '{kind} "{name}" has version {current}, not {version}',
  zh: '{kind} "{name}" 的版本是 {current}，而不是 {version}',
};
const absent: Text = { en: 'There is no {kind} "{name}"', zh: '不存在名为 "{name}" 的 {kind}' };
const unnamed: Text = { en: 'The object has no metadata.name', zh: '对象缺少 metadata.name' };

/**
 * Opens no connection before the first call.
 *
 * @example
 * ```ts
 * const client = createClient({ url: 'http://127.0.0.1:8090', token: process.env['KINDRED_TOKEN'] });
 * const books = client.for(Book);
 * const { items, total } = await books.list({ fields: { 'spec.year': { '>=': 1900 } }, sort: ['spec.title'] });
 * console.log(items, total);
 * ```
 */
export function createClient(options: ConnectionOptions): KindredClient {
  return new HttpClient(new Connection(options));
}

type Select = SelectQuery<string> | ListOptions;

class HttpClient implements KindredClient {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  with(options: Partial<Omit<ConnectionOptions, 'url'>>): KindredClient {
    return new HttpClient(this.#connection.with(options));
  }

  for<M extends ModelType>(type: M): ModelClient<ObjectOf<M>, IndexNames<M>, NewOf<M>, IndexValues<M>> {
    type T = ObjectOf<M>;
    const bound: ModelClient<T> = {
      get: (name) => this.get<T>(type, name),
      fetch: (name) => this.fetch<T>(type, name),
      list: (options, page) => this.list<T>(type, options as ListOptions, page),
      listAll: (options, sort) => this.listAll<T>(type, options as ListOptions, sort),
      listNames: (options, sort) => this.listNames(type, options as ListOptions, sort),
      count: (options) => this.count(type, options as ListOptions),
      create: (object) => this.create<T>(type, object),
      update: (object) => this.update<T>(type, object),
      updateStatus: (object) => this.updateStatus<T>(type, object),
      patch: (name, patch, kind) => this.patch<T>(type, name, patch, kind),
      apply: (object, options) => this.apply<T>(type, object as Applied<T>, options),
      delete: (name, options) => this.delete<T>(type, name, options),
      watch: (options) => this.watch<T>(type, options as WatchOptions),
      watchPage: (query, page, options) => this.watchPage<T>(type, query as ListOptions, page, options),
      explain: (query, page) => this.explain(type, query as ListOptions, page),
      import: (objects, options) => this.import(type, objects as Iterable<object>, options),
    };
    return bound as unknown as ModelClient<T, IndexNames<M>, NewOf<M>, IndexValues<M>>;
  }

  get<T = ExtensionObject>(type: ModelType<T>, name: string): Promise<T> {
    return this.#connection.json('GET', objectPath(type, name));
  }

  fetch<T>(type: ModelType<T>, name: string): Promise<T | undefined> {
    return ifFound(() => this.get(type, name));
  }

  list<T>(type: ModelType<T>, options?: ListOptions | ListQuery<string>, page?: PageRequest): Promise<ListResult<T>> {
    const query = listParameters(options, page);
    return this.#list(listPath(type, options?.namespace), query);
  }

  async #list<T>(path: string, query: URLSearchParams): Promise<ListResult<T>> {
    let revision: string | null = null;
    const onHead = (headers: Headers) => {
      revision = headers.get('kindred-revision');
    };
    const page = await this.#connection.json<ListResult<T>>('GET', path, { query, onHead });
    return { ...page, ...(revision !== null && { revision }) };
  }

  explain(type: ModelType, options?: ListOptions | ListQuery<string>, page?: PageRequest): Promise<Plan> {
    const query = listParameters(options, page);
    query.set('explain', 'true');
    return this.#connection.json('GET', listPath(type, options?.namespace), { query });
  }

  watchPage<T>(
    type: ModelType<T>,
    query?: ListOptions | ListQuery<string>,
    page?: PageRequest,
    options: WatchPageOptions = {},
  ): AsyncIterable<PageEvent<T>> {
    const parameters = listParameters(query, page);
    // Without either the service would send every change of the model.
    if (!parameters.has('page')) parameters.set('page', '1');
    return watchPage<T>(this.#connection, { ...options, path: listPath(type, query?.namespace), parameters });
  }

  get session(): SessionCalls {
    return sessionCalls(this.#connection);
  }

  async *listAll<T>(type: ModelType<T>, options?: Select, sort?: Sort): AsyncGenerator<T, void, undefined> {
    const query = listParameters(options, sort && { sort });
    for await (const line of this.#lines(listPath(type, options?.namespace), query)) yield readJson(line) as T;
  }

  exportLines(type: ModelType, options?: Select, onRevision?: (revision: string) => void): AsyncIterable<string> {
    return this.#lines(listPath(type, options?.namespace), listParameters(options), onRevision);
  }

  async listNames(type: ModelType, options?: Select, sort?: Sort): Promise<string[]> {
    const names: string[] = [];
    for await (const { metadata } of this.listAll<ExtensionObject>(type, options, sort))
      names.push(fullNameOf(metadata));
    return names;
  }

  async count(type: ModelType, options?: Select): Promise<number> {
    const { total } = await this.list(type, options as ListOptions, { page: 1, size: 1, sort: [] });
    return total;
  }

  create<T, N = New<T>>(type: ModelType<T, N>, object: NoInfer<N>): Promise<T> {
    return this.#write('POST', listPath(type, namespaceOf(object)), object);
  }

  update<T>(type: ModelType<T>, object: T): Promise<T> {
    return this.#write('PUT', objectPath(type, nameOf(object)), object);
  }

  updateStatus<T>(type: ModelType<T>, object: T): Promise<T> {
    const name = nameOf(object);
    const path = objectPath(type, name);
    if (gvkOf(type).subresources?.status) return this.#write('PUT', `${path}/status`, object);
    const { metadata, status } = object as { metadata: Metadata; status?: unknown };
    // A JSON Patch replaces the whole status where a merge would keep members; `add` of a member that is there replaces it.
    if (status === undefined) {
      return this.patch(type, name, { metadata: { version: metadata.version }, status: null }, 'merge');
    }
    const version =
      metadata.version === undefined ? [] : [{ op: 'add', path: '/metadata/version', value: metadata.version }];
    return this.patch(type, name, [...version, { op: 'add', path: '/status', value: status }], 'json');
  }

  patch<T>(
    type: ModelType<T>,
    name: string,
    patch: object | readonly object[],
    kind: 'merge' | 'json' = Array.isArray(patch) ? 'json' : 'merge',
  ): Promise<T> {
    const contentType = kind === 'json' ? 'application/json-patch+json' : 'application/merge-patch+json';
    return this.#write('PATCH', objectPath(type, name), patch, contentType);
  }

  apply<T>(type: ModelType<T>, object: Applied<NoInfer<T>>, options: ApplyOptions): Promise<T> {
    const { group, version, kind } = gvkOf(type);
    const { fieldManager, force, dryRun } = options;
    const body = { apiVersion: group === '' ? version : `${group}/${version}`, kind, ...object };
    return this.#connection.json('PATCH', objectPath(type, nameOf(object)), {
      query: new URLSearchParams({ fieldManager, ...(force && { force: 'true' }), ...(dryRun && { dryRun: 'true' }) }),
      // JSON is YAML.
      headers: { 'content-type': 'application/apply-patch+yaml' },
      body: JSON.stringify(body),
    });
  }

  async delete<T>(type: ModelType<T>, name: string, options: { version?: number } = {}): Promise<T> {
    const path = objectPath(type, name);
    const { version } = options;
    if (version === undefined) return this.#connection.json('DELETE', path);
    // The route knows entity tags only, so the version is compared with the state whose tag is sent along.
    const { object, tag } = await this.#connection.retrying(async () => {
      const response = await this.#connection.send('GET', path);
      return { object: readJson(await response.text()) as ExtensionObject, tag: response.headers.get('etag')! };
    });
    const { metadata } = object;
    if (metadata.version !== version) throw this.#differs(type, name, metadata.version!, version);
    try {
      return await this.#connection.json('DELETE', path, { headers: { 'if-match': tag } });
    } catch (error) {
      if (!(error instanceof KindredError) || error.code !== 'PreconditionFailed') throw error;
      const now = (await this.get(type, name)) as ExtensionObject;
      throw this.#differs(type, name, now.metadata.version!, version);
    }
  }

  watch<T>(
    type: ModelType<T>,
    options: Omit<WatchOptions, 'select'> & ResumeOptions & { select?: Select } = {},
  ): AsyncIterable<WatchEvent<T>> {
    const { select, ...request } = options;
    return watch<T>(this.#connection, {
      ...request,
      path: listPath(type, select?.namespace),
      parameters: listParameters(select),
    });
  }

  import(
    type: ModelType,
    objects: Iterable<object | string> | AsyncIterable<object | string>,
    options?: ImportOptions,
  ): AsyncIterable<ImportResult> {
    return importObjects(this.#connection, listPath(type, options?.namespace), objects, options);
  }

  request<R>(method: string, path: string, options: CallOptions = {}): Promise<R> {
    const { query, body, headers, signal } = options;
    const call: Call = {
      headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
      ...(query && { query: parametersOf(query) }),
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    };
    return this.#connection.json(method, path, call);
  }

  /** The NDJSON export of a list: complete when it ends, otherwise it throws. */
  async *#lines(
    path: string,
    query: URLSearchParams,
    onRevision?: (revision: string) => void,
  ): AsyncGenerator<string, void, undefined> {
    const { signal, timeout } = this.#connection;
    const headers = { accept: 'application/x-ndjson' };
    const { response, silence } = await this.#connection.retrying(async () => {
      const silence = new Silence(timeout);
      return { response: await this.#connection.send('GET', path, { query, headers, silence }), silence };
    });
    const total = response.headers.get('kindred-total');
    const revision = response.headers.get('kindred-revision');
    if (revision !== null) onRevision?.(revision);
    const found = lines(response.body!, silence);
    let count = 0;
    try {
      for (;;) {
        const next = await found.next().catch((error: unknown) => {
          throw signal?.aborted ? signal.reason : this.#connection.broken(error);
        });
        if (next.done) break;
        count++;
        yield next.value;
      }
    } finally {
      await found.return();
    }
    if (total !== null && count !== Number(total)) {
      throw this.#connection.broken(new Error(`${count} of ${total} objects arrived`));
    }
  }

  #write<T>(method: string, path: string, body: unknown, contentType = 'application/json'): Promise<T> {
    return this.#connection.json(method, path, {
      headers: { 'content-type': contentType },
      body: JSON.stringify(body),
    });
  }

  #differs(type: ModelType, name: string, current: number, version: number): KindredError {
    const { kind } = gvkOf(type);
    return new KindredError('VersionConflict', differs, {
      params: { kind, name, current, version },
      currentVersion: current,
    });
  }
}

/**
 * A model for what is known of it only by name, as the discovery routes describe it. With the type of the model it is typed as
 * that one, while nothing of the module that declares it is loaded: for browsers.
 *
 * @example
 * ```ts
 * const book = modelOf<typeof Book>({ group: 'library.example.com', version: 'v1alpha1', kind: 'Book', singular: 'book', plural: 'books' });
 * const emma = await client.get(book, 'emma');
 * console.log(emma.spec.title);
 * ```
 */
export function modelOf<M extends ModelType = Model<ExtensionObject>>(
  gvk: GVKAttributes,
): M extends Model<any, any, any, any> ? M : Model<ObjectOf<M>> {
  return { gvk, schema: { type: 'object' } } as Model<ExtensionObject> as any;
}

function listPath(type: ModelType, namespace?: string): string {
  const { group, version, plural } = gvkOf(type);
  const base = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  if (namespace === undefined) return `${base}/${plural}`;
  return `${base}/namespaces/${encodeURIComponent(namespace)}/${plural}`;
}

/** @param fullName in a namespaced model `<namespace>/<name>` */
function objectPath(type: ModelType, fullName: string): string {
  const { namespace, name } = gvkOf(type).scope === 'Namespaced' ? partsOf(fullName) : { name: fullName };
  // In a URL these are no names: they lead to other paths.
  if ([name, namespace].some((part) => part !== undefined && ['', '.', '..'].includes(part)))
    throw new KindredError('NotFound', absent, { params: { kind: gvkOf(type).kind, name } });
  return `${listPath(type, namespace)}/${encodeURIComponent(name)}`;
}

function nameOf(object: unknown): string {
  const { name, namespace } = (object as { metadata?: { name?: string; namespace?: string } } | null)?.metadata ?? {};
  if (!name) throw new KindredError('Invalid', unnamed);
  return fullNameOf({ name, ...(namespace && { namespace }) });
}

function namespaceOf(object: unknown): string | undefined {
  return (object as { metadata?: { namespace?: string } } | null)?.metadata?.namespace || undefined;
}

function parametersOf(query: NonNullable<CallOptions['query']>): URLSearchParams {
  if (query instanceof URLSearchParams) return query;
  const parameters = new URLSearchParams();
  for (const [name, values] of Object.entries(query)) {
    for (const value of [values].flat()) parameters.append(name, value as string);
  }
  return parameters;
}
