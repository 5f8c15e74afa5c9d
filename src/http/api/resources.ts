/** The generated routes of every registered model (docs/reference/api.md and lists.md). */
import { LRUCache } from 'lru-cache';
import { KindredError } from '../../errors.ts';
import { localized } from '../../locales/localized.ts';
import { partsOf } from '../../model/full-name.ts';
import type { SchemeRegistry } from '../../model/registry.ts';
import type { ListParameters } from '../../query/list-parameters.ts';
import { parseListParameters } from '../../query/list-parameters.ts';
import type { Access, Authorizer } from '../../resource/access.ts';
import { someNamespace } from '../../resource/access.ts';
import { matchesEtag, parseEtags } from '../../resource/etag.ts';
import { answered, checkPatch } from '../../resource/hidden.ts';
import type { Stored } from '../../resource/registered-model.ts';
import type { ResourceRegistry } from '../../resource/registry.ts';
import type { ModelResource, Page } from '../../resource/resource.ts';
import { limited, visible, within } from '../../resource/visible.ts';
import { sameNames, seenNames } from '../../resource/watch/rights.ts';
import type { Answer } from '../../resource/write.ts';
import { andThen } from '../../runtime/and-then.ts';
import type { MaybePromise } from '../../store/store.ts';
import { readBody } from '../server/body.ts';
import { BufferPool } from '../server/buffer-pool.ts';
import type { Exchange } from '../server/exchange.ts';
import { json, ndjson } from '../server/exchange.ts';
import { parseJson, parseLargeJson } from '../server/json.ts';
import type { HttpLimits } from '../server/limits.ts';
import { jsonLimits, lineGateLimits } from '../server/limits.ts';
import { LineGate } from '../server/line-gate.ts';
import { mediaType, preferredType } from '../server/negotiate.ts';
import { segmentsOf } from '../server/path.ts';
import {
  conflictingParameters,
  methodNotAllowed,
  noRoute,
  notForExport,
  onlyWithWatch,
  rightsChanged,
  unknownParameter,
  unsupportedEncoding,
  unsupportedType,
} from '../server/problem.ts';
import { sliceSize } from '../server/slices.ts';
import type { Hold } from '../server/waiting-answers.ts';
import { warningHeader } from '../server/warning.ts';
import type { YamlReader } from '../server/yaml-body.ts';
import { isJson } from '../server/yaml-body.ts';
import { authorise } from './authorise.ts';
import { bulkCreate } from './bulk.ts';
import { Envelope } from './envelope.ts';
import { exportObjects } from './export.ts';
import { PageCache } from './page-cache.ts';
import type { Place } from './routes.ts';
import { collectionPath, methodsOverNamespaces, places, verbOf, verbs } from './routes.ts';
import { applyParameters, isDryRun } from './write-parameters.ts';

/** A list request with `watch=true`, authorised for list and watch. The watch answers the exchange, and calls its `finish` at the end. */
export interface WatchContext {
  readonly exchange: Exchange;
  readonly resource: ModelResource;
  readonly parameters: ListParameters;
  /** The objects of this one alone; the parameters say so already. Undefined: all. */
  readonly namespace: string | undefined;
  /** Only objects of these names are seen. */
  readonly names: ReadonlySet<string> | undefined;
}

export interface ResourceRoutesDependencies {
  readonly registry: SchemeRegistry;
  readonly resources: ResourceRegistry;
  readonly limits: HttpLimits;
  readonly yaml: YamlReader;
  /** Largest `size` of a page (option `list.maxSize`). */
  readonly maxListSize: number;
  /** Bytes that the objects of a page may have together (option `list.maxBytes`). */
  readonly maxListBytes: number;
  /** Bytes of list pages that are kept while no change concerns them. */
  readonly keptPageBytes: number;
  readonly authorizer: Authorizer;
  readonly watch?: (context: WatchContext) => MaybePromise<void>;
}

/** One registered model as the routes see it. */
interface ModelRoutes {
  readonly resource: ModelResource;
  readonly group: string;
  readonly plural: string;
  readonly templates: Readonly<Record<Place, string>>;
  /** Of a namespaced model: the template of the collection of one namespace. */
  readonly namespaced: string | undefined;
  readonly lists: LRUCache<string, ListParameters>;
}

/** A request's place among the generated routes. */
export interface ResourceTarget {
  readonly model: ModelRoutes;
  readonly at: Place;
  /** Undefined for all of them, and for models that know none. */
  readonly namespace?: string;
  /** Undefined for the collection. */
  readonly name: string | undefined;
}

const mergePatch = 'application/merge-patch+json';
const jsonPatch = 'application/json-patch+json';
const applyPatch = 'application/apply-patch+yaml';

/** Query strings of lists that are kept with their meaning, for each model; longer ones than this many characters are not. */
const keptLists = 256;
const keptListLength = 512;

/** Bytes of a body from which on it is read in turns of its own. */
const largeBody = 64 * 1024;

/** Pages of lists are put together in buffers of this many bytes, of which so many wait for the next page. */
const pageBuffers = { size: 64 * 1024, most: 32 };

export class ResourceRoutes {
  readonly #dependencies: ResourceRoutesDependencies;
  readonly #byBase = new Map<string, ModelRoutes>();
  readonly #buffers = new BufferPool(pageBuffers.size, pageBuffers.most);
  readonly #pages: PageCache;
  /** By the name of the store. */
  readonly #gates: ReadonlyMap<string, LineGate>;
  readonly #stopListening: (() => void)[];

  constructor(dependencies: ResourceRoutesDependencies) {
    this.#dependencies = dependencies;
    this.#pages = new PageCache(dependencies.keptPageBytes);
    const lines = Math.max(lineGateLimits.lines, dependencies.limits.bulkConcurrency);
    this.#gates = new Map(
      dependencies.resources.places.map(({ name, queue }) => [name, new LineGate({ ...lineGateLimits, lines }, queue)]),
    );
    const forget = (): void => this.#byBase.clear();
    this.#stopListening = [
      dependencies.registry.onRegister(forget),
      dependencies.registry.onUnregister(forget),
      dependencies.registry.onReplace(forget),
    ];
  }

  close(): void {
    for (const stop of this.#stopListening) stop();
    this.#byBase.clear();
  }

  /**
   * Undefined when the path has another shape, or names no registered model.
   * @throws KindredError BadRequest when the path is not well-formed
   */
  find(path: string): ResourceTarget | undefined {
    const plural = path.startsWith('/apis/') ? 3 : path.startsWith('/api/') ? 2 : 0;
    if (plural === 0) return undefined;
    if (path.includes('%')) return this.#findDecoded(segmentsOf(path), plural);
    let end = 0;
    for (let i = 0; i <= plural; i++) {
      end = path.indexOf('/', end + 1);
      if (end < 0) {
        if (i < plural) return undefined;
        end = path.length;
      }
    }
    const base = path.slice(0, end);
    let model = this.#byBase.get(base);
    if (model === undefined || model.plural === 'namespaces') {
      const found = base.endsWith('/namespaces') ? this.#findNamespaced(path, base, end) : undefined;
      if (found) return found;
      model ??= this.#modelOf(base.split('/').slice(1), plural);
      if (!model) return undefined;
    }
    if (end === path.length) return { model, at: 'collection', name: undefined };
    if (model.namespaced !== undefined) return undefined;
    const next = path.indexOf('/', end + 1);
    if (next < 0) return target(model, path.slice(end + 1), undefined);
    return target(model, path.slice(end + 1, next), path.slice(next + 1));
  }

  /** `<base>/<namespace>/<plural>[/<name>[/status]]` */
  #findNamespaced(path: string, base: string, end: number): ResourceTarget | undefined {
    const [namespace = '', plural = '', name, ...rest] = path.slice(end + 1).split('/');
    return this.#inNamespace([...base.split('/').slice(1, -1), plural], namespace, name, rest);
  }

  /** @param segments those of the collection of all namespaces */
  #inNamespace(
    segments: readonly string[],
    namespace: string,
    name: string | undefined,
    rest: readonly string[],
  ): ResourceTarget | undefined {
    if (namespace === '' || namespace === someNamespace || segments.at(-1) === '') return undefined;
    const model = this.#modelOf(segments, segments.length - 1);
    if (model?.namespaced === undefined) return undefined;
    if (name === undefined) return { model, at: 'collection', namespace, name };
    const found = target(model, name, rest.length > 0 ? rest.join('/') : undefined);
    return found && { ...found, namespace };
  }

  /** What the authoriser is asked; for a list see `serve`. */
  access(method: string, { model, at, namespace, name }: ResourceTarget): Access {
    const resource = `${model.plural}${places[at].resource}`;
    const verb = verbOf(method, name !== undefined);
    if (namespace !== undefined)
      return { verb, group: model.group, resource, namespace, ...(name !== undefined && { name }) };
    return name === undefined ? { verb, group: model.group, resource } : { verb, group: model.group, resource, name };
  }

  /** Template of the route, for metrics. */
  template({ model, at, namespace }: ResourceTarget): string {
    return at === 'collection' && namespace !== undefined ? model.namespaced! : model.templates[at];
  }

  /** Authorises and answers. Throws (or rejects with) what becomes the problem document. */
  serve(exchange: Exchange, found: ResourceTarget): MaybePromise<void> {
    const { method } = exchange;
    const { model, at, namespace } = found;
    const verb = verbs[at].get(method);
    if (verb === 'list') return this.#list(exchange, model, namespace);
    authorise(this.#dependencies.authorizer, exchange, this.access(method, found));
    this.#dependencies.registry.assertOpen(model.resource.scheme);
    if (model.resource.version !== undefined) announceVersion(exchange, model.resource);
    if (at === 'status' && !model.resource.hasStatus) throw noRoute(exchange.path);
    const isOverNamespaces = model.namespaced !== undefined && namespace === undefined;
    if (!verb || isOverNamespaces) {
      throw methodNotAllowed(method, exchange.path, isOverNamespaces ? methodsOverNamespaces : [...verbs[at].keys()]);
    }
    const name = namespace === undefined ? found.name : `${namespace}/${found.name}`;
    if (verb === 'get') {
      if (exchange.query !== '') refuseParameters(exchange.query);
      return andThen(model.resource.get(name!), (read) => sendRead(exchange, model.resource, read));
    }
    model.resource.indexed.assertReadySoon();
    if (verb === 'patch' && mediaType(exchange.request.headers['content-type']) === applyPatch)
      return this.#apply(exchange, model, name!, at);
    const dryRun = exchange.query !== '' && isDryRun(exchange.query);
    switch (verb) {
      case 'create':
        return this.#create(exchange, model, namespace, dryRun);
      case 'update':
        return this.#update(exchange, model, name!, howWritten(at, dryRun));
      case 'patch':
        return this.#patch(exchange, model, name!, howWritten(at, dryRun));
      case 'delete':
        return this.#delete(exchange, model, name!, dryRun);
      default:
        return verb satisfies never;
    }
  }

  #findDecoded(segments: readonly string[], plural: number): ResourceTarget | undefined {
    if (segments.length <= plural) return undefined;
    if (segments[plural] === 'namespaces' && segments.length > plural + 2) {
      const [namespace, inner, name, ...rest] = segments.slice(plural + 1);
      const found = this.#inNamespace([...segments.slice(0, plural), inner!], namespace!, name, rest);
      if (found) return found;
    }
    const model = this.#modelOf(segments, plural);
    if (!model) return undefined;
    const [name, ...rest] = segments.slice(plural + 1);
    if (name !== undefined && model.namespaced !== undefined) return undefined;
    return name === undefined
      ? { model, at: 'collection', name }
      : target(model, name, rest.length > 0 ? rest.join('/') : undefined);
  }

  /** @param at place of the plural among the segments */
  #modelOf(segments: readonly string[], at: number): ModelRoutes | undefined {
    const isCore = at === 2;
    // The empty group has its own place, `/api/<version>`, and no other.
    if (!isCore && segments[1] === '') return undefined;
    const group = isCore ? '' : segments[1]!;
    const version = segments[at - 1]!;
    const plural = segments[at]!;
    const resource = this.#dependencies.resources.find(group, version, plural);
    if (!resource) return undefined;
    const base = collectionPath(group, version, plural);
    const known = this.#byBase.get(base);
    if (known) return known;
    const { isNamespaced } = resource.scheme;
    const inner = isNamespaced ? collectionPath(group, version, plural, '{namespace}') : base;
    const model: ModelRoutes = {
      resource,
      group,
      plural,
      templates: {
        collection: base,
        object: `${inner}${places.object.path}`,
        status: `${inner}${places.status.path}`,
      },
      namespaced: isNamespaced ? inner : undefined,
      lists: new LRUCache({ max: keptLists }),
    };
    this.#byBase.set(base, model);
    return model;
  }

  // ── reads ──────────────────────────────────────────────────────────────────────────────────────────────

  #list(exchange: Exchange, model: ModelRoutes, namespace: string | undefined): MaybePromise<void> {
    const access = (verb: string) => listAccess(model, verb, namespace);
    let parameters: ListParameters;
    try {
      parameters = this.#parameters(model, exchange.query, namespace);
    } catch (error) {
      authorise(this.#dependencies.authorizer, exchange, access('list'));
      throw error;
    }
    const { others, explain } = parameters;
    const watching = others.size > 0 && isWatch(others);
    const decision = authorise(
      this.#dependencies.authorizer,
      exchange,
      access(explain && !watching ? 'explain' : 'list'),
    );
    const names = watching
      ? seenNames(decision, authorise(this.#dependencies.authorizer, exchange, access('watch')))
      : decision.names;
    const { resource } = model;
    this.#dependencies.registry.assertOpen(resource.scheme);
    if (resource.version !== undefined) announceVersion(exchange, resource);
    if (watching) resource.indexed.assertReady();
    else resource.indexed.assertReadySoon();
    if (watching && this.#dependencies.watch) {
      exchange.assertRoom();
      if (explain) throw conflictingParameters('explain', 'watch');
      return this.#dependencies.watch({ exchange, resource, parameters, namespace, names });
    }
    const { sort, page, size } = parameters;
    const selection = { ...limited(resource.scheme, parameters.where, { namespace, names }), sort };
    const request = { ...selection, page, size };
    if (explain) {
      return andThen(resource.explain(request, visible(resource.scheme, { namespace, names })), (plan) => {
        const revision = String(resource.revision);
        exchange.sendJson(200, plan, ['Kindred-Revision', revision]);
      });
    }
    const { accept } = exchange.request.headers;
    if (accept?.includes('ndjson') && preferredType(accept, [json, ndjson]) === ndjson) {
      if (parameters.paged) throw notForExport(/(?:^|&)page=/.test(exchange.query) ? 'page' : 'size');
      const assertAllowed = () => {
        const decision = authorise(this.#dependencies.authorizer, exchange, access('list'));
        if (!sameNames(decision.names, names)) throw rightsChanged();
      };
      return exportObjects(exchange, resource, selection, assertAllowed, this.#dependencies.limits);
    }
    const isForAll = !names && exchange.query.length <= keptListLength && resource.isShownToAll;
    const kept = isForAll ? this.#pages.get(parameters, resource) : undefined;
    if (kept) return exchange.send(200, pageHeaders(resource.revision), kept);
    let hold: Hold | undefined;
    const reserve = (bytes: number): void => {
      if (bytes <= sliceSize) return;
      hold ??= exchange.hold();
      hold.ask(bytes);
    };
    const { moment } = resource;
    const listed = resource.list({ ...request, maxBytes: this.#dependencies.maxListBytes, reserve });
    return andThen(listed, (result) => {
      const isCurrent = isForAll && resource.isUnchanged(parameters.where, moment);
      const keep = isCurrent && this.#pages.isRepeated(parameters, resource);
      this.#sendPage(exchange, parameters, result, hold, keep ? resource : undefined);
    });
  }

  /** @param keptOf the page is kept, and is of this resource */
  #sendPage(
    exchange: Exchange,
    parameters: ListParameters,
    result: Page,
    hold: Hold | undefined,
    keptOf: ModelResource | undefined,
  ): void {
    const headers = pageHeaders(result.revision);
    const envelope = new Envelope(parameters.page, parameters.size, result);
    if (envelope.length > sliceSize) {
      const pieces = envelope.isLarge ? envelope.pieces() : [envelope.write(Buffer.allocUnsafeSlow(envelope.length))];
      exchange.sendLarge(200, headers, envelope.length, pieces, hold);
      return;
    }
    if (keptOf) {
      const body = envelope.write(Buffer.allocUnsafeSlow(envelope.length));
      this.#pages.keep(parameters, keptOf, body);
      return exchange.send(200, headers, body);
    }
    const buffer = this.#buffers.take(envelope.length);
    exchange.send(200, headers, envelope.write(buffer), () => this.#buffers.give(buffer));
  }

  #parameters(model: ModelRoutes, query: string, namespace: string | undefined): ListParameters {
    const key = namespace === undefined ? query : `${namespace}?${query}`;
    const kept = model.lists.get(key);
    if (kept) return kept;
    const indexes = model.resource.fieldNames;
    const parsed = parseListParameters(query, { maxSize: this.#dependencies.maxListSize, indexes });
    const parameters = namespace === undefined ? parsed : { ...parsed, where: within(parsed.where, namespace) };
    if (key.length <= keptListLength) model.lists.set(key, parameters);
    return parameters;
  }

  // ── writes ─────────────────────────────────────────────────────────────────────────────────────────────

  async #create(exchange: Exchange, model: ModelRoutes, namespace: string | undefined, dryRun: boolean): Promise<void> {
    const type = this.#bodyType(exchange, [json, ndjson]);
    if (type === ndjson) return this.#createAll(exchange, model, namespace, dryRun);
    const { resource } = model;
    const options = { caller: exchange.caller, dryRun, ...(namespace !== undefined && { namespace }) };
    const answer = await resource.create(await this.#body(exchange, resource), options);
    if (dryRun) return this.#sendWritten(exchange, model, 201, answer, dryRun);
    const { group, version } = resource.scheme.groupVersionKind;
    const { name } = partsOf(answer.stored.name);
    const location = `${collectionPath(group, version, model.plural, namespace)}/${encodeURIComponent(name)}`;
    this.#sendWritten(exchange, model, 201, answer, dryRun, ['Location', location]);
  }

  /** One object for each line of the body. */
  #createAll(exchange: Exchange, model: ModelRoutes, namespace: string | undefined, dryRun: boolean): Promise<void> {
    const { limits, authorizer } = this.#dependencies;
    const { resource } = model;
    const access = listAccess(model, 'create', namespace);
    const create = (line: Buffer, onHanded: () => void) => {
      // A right that is withdrawn while the lines come in counts at once.
      authorise(authorizer, exchange, access);
      const options = { caller: exchange.caller, onHanded, dryRun, ...(namespace !== undefined && { namespace }) };
      return andThen(this.#parse(line), (object) => resource.create(object, options));
    };
    if (dryRun) exchange.extra.push(...dryRunHeader);
    return bulkCreate(exchange, resource.revision, { create, limits, gate: this.#gates.get(resource.place.name)! });
  }

  async #update(exchange: Exchange, model: ModelRoutes, name: string, how: HowWritten): Promise<void> {
    this.#bodyType(exchange, [json]);
    const options = { ...writeOptions(exchange), ...how };
    const answer = await model.resource.update(name, await this.#body(exchange, model.resource), options);
    this.#sendWritten(exchange, model, 200, answer, how.dryRun);
  }

  async #patch(exchange: Exchange, model: ModelRoutes, name: string, how: HowWritten): Promise<void> {
    const type = this.#bodyType(exchange, [mergePatch, jsonPatch, applyPatch], true);
    const kind = type === jsonPatch ? 'json' : 'merge';
    const options = { ...writeOptions(exchange), ...how, kind } as const;
    const patch = await this.#body(exchange, model.resource);
    checkPatch(model.resource, name, patch, this.#mayGet(exchange, model));
    this.#sendWritten(exchange, model, 200, await model.resource.patch(name, patch, options), how.dryRun);
  }

  async #apply(exchange: Exchange, model: ModelRoutes, name: string, at: Place): Promise<void> {
    const { manager, force, dryRun } = applyParameters(exchange.query);
    this.#bodyType(exchange, [applyPatch], true);
    const { resource, group, plural } = model;
    if (resource.hidesValues && !this.#mayGet(exchange, model)(name))
      throw new KindredError('Forbidden', hiddenText, { params: { name } });
    const { namespace } = partsOf(name);
    const inNamespace = namespace === undefined ? {} : { namespace };
    const limits = this.#limits(resource);
    const bytes = await readBody(exchange.request, limits);
    const body = await this.#parse(isJson(bytes) ? bytes : await this.#dependencies.yaml.json(bytes), limits);
    const answer = await resource.apply(name, body, {
      ...writeOptions(exchange),
      ...howWritten(at, dryRun),
      manager,
      conflicts: force ? 'force' : 'fail',
      onCreate: () => {
        authorise(this.#dependencies.authorizer, exchange, { verb: 'create', group, resource: plural, ...inNamespace });
      },
    });
    this.#sendWritten(exchange, model, answer.created ? 201 : 200, answer, dryRun);
  }

  async #delete(exchange: Exchange, model: ModelRoutes, name: string, dryRun: boolean): Promise<void> {
    const answer = await model.resource.delete(name, { ...writeOptions(exchange), dryRun });
    this.#sendWritten(exchange, model, 200, answer, dryRun);
  }

  #mayGet(exchange: Exchange, { group, plural }: ModelRoutes): (name: string) => boolean {
    const { authorizer } = this.#dependencies;
    return (name) =>
      authorizer.decide(exchange.identity!, { verb: 'get', group, resource: plural, ...partsOf(name) }).allowed;
  }

  #sendWritten(
    exchange: Exchange,
    model: ModelRoutes,
    status: number,
    answer: Answer,
    dryRun: boolean,
    headers: string[] = [],
  ): void {
    const { resource } = model;
    const { bytes } = answered(resource, answer.stored, this.#mayGet(exchange, model));
    headers.push('Content-Type', json, 'Kindred-Revision', String(answer.revision));
    // What is not stored has no state that a later request could name.
    if (dryRun) headers.push(...dryRunHeader);
    else headers.push('ETag', resource.etagOf(answer.stored));
    if (answer.warning !== undefined) headers.push('Kindred-Warning', answer.warning);
    for (const text of answer.warnings?.slice(0, mostWarnings) ?? []) headers.push('Warning', warningHeader(text));
    if (resource.isConfidential) headers.push(...unkept);
    exchange.send(status, headers, bytes);
  }

  async #body(exchange: Exchange, resource: ModelResource): Promise<unknown> {
    const limits = this.#limits(resource);
    return this.#parse(await readBody(exchange.request, limits), limits);
  }

  /** Of a body that holds one object. */
  #limits({ model }: ModelResource): HttpLimits {
    const { limits } = this.#dependencies;
    const { bodyBytes: body = limits.body, members = limits.members } = model.hooks ?? {};
    return { ...limits, body, members };
  }

  #parse(bytes: Buffer, limits = this.#dependencies.limits): unknown {
    return bytes.length < largeBody ? parseJson(bytes, jsonLimits(limits)) : this.#parseLarge(bytes, limits);
  }

  async #parseLarge(bytes: Buffer, limits: HttpLimits): Promise<unknown> {
    const { turns } = this.#dependencies.resources;
    const body = await parseLargeJson(bytes, jsonLimits(limits), () => turns.next());
    await turns.next();
    return body;
  }

  /** @throws KindredError UnsupportedMediaType */
  #bodyType<const T extends string>(exchange: Exchange, types: readonly T[], patch = false): T {
    const { headers } = exchange.request;
    const encoding = headers['content-encoding'];
    if (encoding !== undefined && encoding.toLowerCase() !== 'identity') throw unsupportedEncoding(encoding);
    const given = mediaType(headers['content-type']);
    const type = types.find((one) => one === given);
    if (type === undefined) throw unsupportedType(headers['content-type'], types, patch);
    return type;
  }
}

/** Of one answer. */
const mostWarnings = 10;
/** Tells clients of a deprecated version. @throws NotFound for a version that is not there yet */
function announceVersion(exchange: Exchange, { shown, scheme }: ModelResource): void {
  if (!shown) throw noRoute(exchange.path);
  if (scheme.deprecated !== undefined)
    exchange.extra.push('Warning', warningHeader(scheme.deprecated), 'Deprecation', 'true');
}

function pageHeaders(revision: number): string[] {
  return ['Content-Type', json, 'Kindred-Revision', String(revision)];
}

function target(model: ModelRoutes, name: string, sub: string | undefined): ResourceTarget | undefined {
  if (name === '' || (sub !== undefined && sub !== 'status')) return undefined;
  return { model, at: sub === undefined ? 'object' : 'status', name };
}

function listAccess({ group, plural }: ModelRoutes, verb: string, namespace: string | undefined): Access {
  return namespace === undefined ? { verb, group, resource: plural } : { verb, group, resource: plural, namespace };
}

/** `watch`, `since` and `sendInitial` as given. */
function isWatch(others: ReadonlyMap<string, readonly string[]>): boolean {
  const values = others.get('watch');
  if (values?.length === 1 && values[0] === 'true') return true;
  if (values && (values.length > 1 || values[0] !== 'false')) throw onlyWithWatch('watch');
  for (const parameter of others.keys()) if (parameter !== 'watch') throw onlyWithWatch(parameter);
  return false;
}

function writeOptions(exchange: Exchange) {
  const ifMatch = exchange.request.headers['if-match'];
  return { caller: exchange.caller, ...(ifMatch !== undefined && { ifMatch: parseEtags(ifMatch) }) };
}

interface HowWritten {
  readonly subresource?: 'status';
  readonly dryRun: boolean;
}

function howWritten(at: Place, dryRun: boolean): HowWritten {
  return at === 'status' ? { subresource: 'status', dryRun } : { dryRun };
}

const hiddenText = localized('Whoever may not get "{name}" may not apply it: conflicts would tell its values');

const dryRunHeader = ['Kindred-Dry-Run', 'true'];

function refuseParameters(query: string): void {
  for (const pair of query.split('&')) if (pair !== '') throw unknownParameter(pair.split('=')[0]!, []);
}

/** For answers that may hold what nobody is to keep. */
const unkept = ['Cache-Control', 'no-store'];

function sendRead(
  exchange: Exchange,
  resource: ModelResource,
  { stored, revision }: { readonly stored: Stored; readonly revision: number },
): void {
  const etag = resource.etagOf(stored);
  const ifNoneMatch = exchange.request.headers['if-none-match'];
  if (ifNoneMatch !== undefined && matchesEtag(parseEtags(ifNoneMatch), etag, 'weak')) {
    exchange.send(304, ['ETag', etag, 'Kindred-Revision', String(revision)]);
    return;
  }
  const headers = ['Content-Type', json, 'ETag', etag, 'Kindred-Revision', String(revision)];
  if (resource.isConfidential) headers.push(...unkept);
  if (stored.bytes.length > sliceSize) exchange.assertRoom(stored.bytes.length);
  exchange.send(200, headers, stored.bytes);
}
