/** Every option of the service with its default, in one place (docs/reference/command-line.md and the limits of the HTTP side). */
import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import type { Logger } from 'pino';
import type { AuthOptions } from './auth/options.ts';
import type { AccessLogOptions } from './http/server/access-log.ts';
import type { HttpLimits } from './http/server/limits.ts';
import { httpLimits } from './http/server/limits.ts';
import type { TlsFiles } from './http/server/tls.ts';
import type { PluginSource } from './plugin/source.ts';
import { hidden } from './runtime/redact.ts';
import { shownUrl } from './runtime/shown-url.ts';
import type { Timers } from './runtime/timers.ts';
import { systemTimers } from './runtime/timers.ts';
import type { PlacementRule, StoreOpener } from './store/options.ts';
import type { TelemetryOptions } from './telemetry/options.ts';
import type { WebhookOptions } from './webhook/webhooks.ts';

/** Options of `createService`; every one may be left out. Times are milliseconds, sizes bytes. */
export interface ServiceOptions {
  /** `sqlite:<file>`, `sqlite::memory:`, `postgres://…` or `mysql://…`, or what opens a store of your own. Default `sqlite:./kindred.db`. */
  database?: string | StoreOpener;
  /** Further stores by name, for the models that `placement` names. All are SQLite files, or all are on database servers. Default none. */
  stores?: Readonly<Record<string, { readonly database: string | StoreOpener }>>;
  /** Models in other stores than the default one: the first that fits counts. Default none. */
  placement?: readonly PlacementRule[];
  /**
   * The models of plugins and definitions that this process serves, as `<group>/<plural>` or `<group>/*`; a request for another one is answered
   * `MisdirectedRequest`. Default all.
   */
  models?: readonly string[];
  /** Default none. */
  plugins?: readonly PluginSource[];
  /** Every folder in this one that has a `package.json` is a plugin too. Default none. */
  pluginFolder?: string;
  /** Default `127.0.0.1`. */
  host?: string;
  /** 0 takes a free one. Default 8090. */
  port?: number;
  /**
   * Listen when everything is ready, for a port that others serve meanwhile. Default false: `/livez` and `/readyz` answer
   * from the beginning, the rest `NotReady`.
   */
  listenWhenReady?: boolean;
  /** `false`: everybody may do everything. */
  auth?: false | AuthOptions;
  /** Domain of the service's own groups, labels and annotations. Default `platform.run`. */
  reservedDomain?: string;
  list?: {
    /** Largest `size` of a page. Default 1,000. */
    maxSize?: number;
    /** Bytes that the objects of a page may have together. Over it: 503 `QueryLimit`. Default 32 MiB. */
    maxBytes?: number;
  };
  query?: {
    /** Milliseconds that one query may take. Default 1 s. */
    timeout?: number;
  };
  watch?: {
    /** Milliseconds between bookmarks on an idle stream, at most. Default 15 s. */
    bookmarkInterval?: number;
    /** Bytes that may wait for a client; with more it is sent the rest at its own pace, from the change log. Default 1 MiB. */
    maxBufferBytes?: number;
    /** Milliseconds for which a client may take nothing of what waits for it before it is cut off. Default 60 s. */
    stallTimeout?: number;
    /** Rows (`size`) of all live pages together; one more page is refused with QueryLimit. Default 1,000,000. */
    livePageRows?: number;
    /** Rows of the live pages of one identity. Default 300,000. */
    livePageRowsPerIdentity?: number;
  };
  webhook?: WebhookOptions;
  /** The web page at `/console/`, and the sessions of browsers. */
  console?: {
    /** Whether the page is served. Default true. */
    enabled?: boolean;
    /** Milliseconds that a browser stays signed in; never longer than its token is valid. Default 12 h. */
    sessionTtl?: number;
    /** Accept signing in over plain http on other machines too. Default false. */
    insecureCookie?: boolean;
    /** The address at which people see the service, such as `https://kindred.example.com`, behind a proxy that ends TLS. Default: where it listens. */
    publicUrl?: string;
  };
  /** The service in the form of the Kubernetes API. */
  kube?: {
    /** Whether it is served. Default true. */
    enabled?: boolean;
    /** Path below which it is served: lower-case segments. Default `/kube`. */
    path?: string;
    /** Bytes of a request body there. Default 3 MiB. */
    maxBodyBytes?: number;
    /** Members of all objects of a body that declares a kind; other bodies have those of `http.members`. Default 200,000. */
    maxMembers?: number;
    /** Definitions (`CustomResourceDefinition`) at most; one more is refused with `Forbidden`. Default 1,000. */
    maxCrds?: number;
    /** Milliseconds for which the pages of a list, read by `continue`, show one moment. Default 5 min. */
    continueTtl?: number;
    /** Milliseconds that an Event is kept after it was seen last. Default 1 h. */
    eventTtl?: number;
  };
  /** Tools for agents at `/mcp`, by the Model Context Protocol; needs the package `@modelcontextprotocol/sdk`. */
  mcp?: {
    /** Whether it is served. Default false. */
    enabled?: boolean;
    /** Offer no tool that changes objects. Default false. */
    readOnly?: boolean;
    /** Calls under way at the same time, of one caller a quarter of them; one more is refused with TooManyRequests. Default 64. */
    maxCalls?: number;
    /** Bytes that the service gives to a tool at once; more is refused with QueryLimit. Default 1 MiB. */
    maxAnswerBytes?: number;
  };
  /** OpenTelemetry; needs the package `@opentelemetry/api`, and an SDK that the program registers before. */
  telemetry?: TelemetryOptions;
  changeLog?: {
    /** Changes that are kept at least. Default 100,000. */
    maxCount?: number;
    /** Milliseconds that a change is kept at least. Default 1 h. */
    maxAge?: number;
  };
  /** The rewrite of stored objects to another storage version. */
  modelRewrite?: {
    /** Objects in a second, at most. Default 2,000. */
    rate?: number;
  };
  /** Copies of the indexes on the disk, from which the next start goes on; deleting them costs one slow start. `false`: none. */
  indexSnapshots?:
    | false
    | {
        /** Default true. */
        enabled?: boolean;
        /** The folder; below it each database has one of its own. Default: `<file>.index` beside a SQLite file; with a database server none, and no snapshots. */
        dir?: string;
        /** Says when index functions that are given in code, and not as packages, are others: without it, their models have no snapshots. */
        codeVersion?: string;
        /** Milliseconds between two snapshots of a model, at least. Default 60 s. */
        interval?: number;
        /** Models with fewer objects have none. Default 1,000. */
        minObjects?: number;
        /** Changes since the last snapshot that call for another, where they are more than a hundredth of the objects. Default 5,000. */
        minChanges?: number;
        /** Milliseconds after which a model that nobody asks for leaves memory, until somebody does; it needs ten times `minObjects`. 0: never. Default 1 h. */
        idleAfter?: number;
        /** With a database server: also in the database, at most once an hour, for processes whose disk is empty. Default true. */
        shared?: boolean;
      };
  write?: {
    /** Milliseconds until a write is answered even when the database does not. Default 10 s. */
    timeout?: number;
  };
  cache?: {
    /** Bytes of hot objects kept in memory. Default a 256th of the memory that the process may use, at least 40 MiB. */
    maxBytes?: number;
  };
  patch?: {
    /** Operations of one JSON patch. Default 1,000. */
    maxOperations?: number;
    /** Bytes that one patch may add to an object. Default 1 MiB. */
    maxGrowth?: number;
  };
  pluginHost?: {
    /** Milliseconds that `start()` of a plugin may take, index building not counted. Default 60 s. */
    startTimeout?: number;
    /** Milliseconds that `stop()` of a plugin may take. Default 10 s. */
    stopTimeout?: number;
    /** Watch the sources of plugins and load them again when they change. Default false. */
    dev?: boolean;
  };
  /** What each plugin finds as `context.config`, by its name. */
  pluginConfig?: Readonly<Record<string, unknown>>;
  /** Time itself, for timestamps, leases and controllers; tests hand in a fake one. Default the machine's. */
  timers?: Timers;
  http?: Partial<HttpLimits>;
  /** Origins that browsers may call from, `*` for all. Default none. */
  cors?: readonly string[];
  /**
   * Without authentication: names by which clients may call the service besides `localhost`, `127.0.0.1`, `[::1]` and
   * `host`, without a port; `*` for any. Requests for another name are refused. Default none.
   */
  hosts?: readonly string[];
  /** Files in PEM with which the service listens over https; read again when they change. Default plain http. */
  tls?: TlsFiles;
  accessLog?: AccessLogOptions;
  /** Accept a database whose settings can lose acknowledged writes. Default false. */
  allowUnsafeDurability?: boolean;
  /** Where the service writes its log. Default: warnings and errors to stderr. */
  logger?: Logger;
  /** Where options were given, by name (`list.maxSize`), for `/v3/options`. Default: `code` for every one that is given. */
  optionSources?: Readonly<Record<string, OptionSource>>;
}

type OptionSource = 'default' | 'code' | 'flag' | 'environment' | 'file';

/** One option as it is shown to operators. */
export interface ShownOption {
  /** `list.maxSize` */
  readonly name: string;
  /** Without secrets; undefined: there is none. */
  readonly value: unknown;
  readonly source: OptionSource;
  readonly default: unknown;
}

const accessLevels: Required<AccessLogOptions> = { success: 'debug', refusal: 'info', failure: 'error' };

export type ResolvedOptions = ReturnType<typeof resolveOptions>;

const mebibyte = 2 ** 20;
const second = 1_000;

/** @throws a plain error that names every option that is not known */
export function resolveOptions(options: ServiceOptions) {
  checkNames(options);
  const resolved = withDefaults(options);
  checkPublicUrl(resolved.console.publicUrl);
  checkTls(resolved.tls);
  checkKubePath(resolved.kube.path);
  checkPlacement(resolved);
  checkModels(resolved.models);
  return resolved;
}

function withDefaults(options: ServiceOptions) {
  return {
    database: options.database ?? 'sqlite:./kindred.db',
    stores: options.stores ?? {},
    placement: options.placement ?? [],
    models: options.models ?? [],
    plugins: options.plugins ?? [],
    pluginFolder: options.pluginFolder,
    host: options.host ?? '127.0.0.1',
    port: options.port ?? 8090,
    listenWhenReady: options.listenWhenReady ?? false,
    auth: options.auth ?? {},
    reservedDomain: options.reservedDomain ?? 'platform.run',
    list: { maxSize: 1_000, maxBytes: 32 * mebibyte, ...options.list },
    query: { timeout: second, ...options.query },
    watch: {
      bookmarkInterval: 15 * second,
      maxBufferBytes: mebibyte,
      stallTimeout: 60 * second,
      livePageRows: 1_000_000,
      livePageRowsPerIdentity: 300_000,
      ...options.watch,
    },
    webhook: {
      allowPrivateAddresses: false,
      timeout: 10 * second,
      minDelay: second,
      maxDelay: 300 * second,
      giveUpAfter: 86_400 * second,
      concurrency: 8,
      ...options.webhook,
    },
    console: {
      enabled: true,
      sessionTtl: 43_200 * second,
      insecureCookie: false,
      publicUrl: undefined as string | undefined,
      ...options.console,
    },
    kube: {
      enabled: true,
      path: '/kube',
      maxBodyBytes: 3 * mebibyte,
      maxMembers: 200_000,
      maxCrds: 1_000,
      continueTtl: 300 * second,
      eventTtl: 3_600 * second,
      ...options.kube,
    },
    mcp: { enabled: false, readOnly: false, maxCalls: 64, maxAnswerBytes: mebibyte, ...options.mcp },
    telemetry: { traces: false, metrics: false, ...options.telemetry },
    changeLog: { maxCount: 100_000, maxAge: 3_600 * second, ...options.changeLog },
    modelRewrite: { rate: 2_000, ...options.modelRewrite },
    indexSnapshots: {
      enabled: true,
      dir: undefined as string | undefined,
      codeVersion: undefined as string | undefined,
      interval: 60 * second,
      minObjects: 1_000,
      minChanges: 5_000,
      idleAfter: 3_600 * second,
      shared: true,
      ...(options.indexSnapshots === false ? { enabled: false } : options.indexSnapshots),
    },
    write: { timeout: 10 * second, ...options.write },
    cache: { maxBytes: Math.max(40 * mebibyte, Math.floor(usableMemory() / 256)), ...options.cache },
    patch: { maxOperations: 1_000, maxGrowth: mebibyte, ...options.patch },
    pluginHost: { startTimeout: 60 * second, stopTimeout: 10 * second, dev: false, ...options.pluginHost },
    pluginConfig: options.pluginConfig ?? {},
    timers: options.timers ?? systemTimers,
    http: httpLimits(options.http, openFiles()),
    cors: options.cors ?? [],
    hosts: options.hosts ?? [],
    tls: { cert: undefined as string | undefined, key: undefined as string | undefined, ...options.tls },
    accessLog: { ...accessLevels, ...options.accessLog },
    allowUnsafeDurability: options.allowUnsafeDurability ?? false,
    logger: options.logger,
    optionSources: options.optionSources ?? {},
  };
}

/** Parts of the program rather than settings, and what `/v3/plugins/<name>` shows. */
const unlisted = ['timers', 'logger', 'optionSources', 'pluginConfig'];

/** Every option with its value, where that comes from, and its default. */
export function listOptions(options: ServiceOptions): ShownOption[] {
  const values = new Map(flat(withDefaults(options)));
  const given = new Map(flat(options));
  const defaults = new Map(flat(withDefaults({})));
  return [...values].map(([name, value]) => {
    const isGiven = given.get(name) !== undefined;
    const source = isGiven ? (options.optionSources?.[name] ?? 'code') : 'default';
    return { name, value: shownOption(name, value), source, default: shownOption(name, defaults.get(name)) };
  });
}

/** `auth` is one option: most of it has no default here. */
function flat(options: object): [string, unknown][] {
  return Object.entries(options).flatMap(([name, value]): [string, unknown][] => {
    if (unlisted.includes(name)) return [];
    if (name === 'auth' || name === 'stores' || !isGroup(value)) return [[name, value]];
    return Object.entries(value).map(([member, one]) => [`${name}.${member}`, one]);
  });
}

function shownOption(name: string, value: unknown): unknown {
  if (name === 'plugins')
    return (value as readonly PluginSource[]).map((one) => (typeof one === 'string' ? one : one.name));
  if (name === 'stores') {
    const stores = Object.entries(value as NonNullable<ServiceOptions['stores']>);
    return Object.fromEntries(stores.map(([store, { database }]) => [store, shownOption('database', database)]));
  }
  if (name !== 'auth')
    return typeof value === 'string' ? shownUrl(value) : typeof value === 'function' ? '(code)' : value;
  if (value === undefined) return undefined;
  return JSON.parse(JSON.stringify(value), (member, one: unknown) => (member === 'clientSecret' ? hidden : one));
}

function checkPublicUrl(text: string | undefined): void {
  if (text === undefined) return;
  const url = URL.parse(text);
  const isOrigin = url !== null && /^https?:$/.test(url.protocol) && `${url.origin}/` === url.href;
  if (isOrigin) return;
  throw new TypeError(
    `the option "console.publicUrl" needs an address such as https://kindred.example.com, not "${text}"`,
  );
}

/** One client writes the whole path in lower case. */
function checkKubePath(path: string): void {
  const isOwn = /^(?:\/[a-z0-9][a-z0-9._-]*)+$/.test(path);
  if (isOwn && !/^\/(?:apis?|v3|swagger-ui|console|livez|readyz|metrics)(?:\/|$)/.test(path)) return;
  throw new TypeError(`the option "kube.path" needs a lower-case path of its own such as /kube, not "${path}"`);
}

function checkPlacement({ stores, placement }: Pick<ResolvedOptions, 'stores' | 'placement'>): void {
  if (!isGroup(stores)) throw new TypeError('the option "stores" needs an object of names, each with its "database"');
  for (const [name, store] of Object.entries(stores)) {
    if (!/^[a-z][a-z0-9-]{0,62}$/.test(name) || name === 'default')
      throw new TypeError(`a store needs a lower-case name other than "default", such as telemetry, not "${name}"`);
    if (!isGroup(store) || !['string', 'function'].includes(typeof store.database))
      throw new TypeError(`the store "${name}" needs a "database"`);
  }
  if (!Array.isArray(placement)) throw new TypeError('the option "placement" needs a list of { model, store }');
  for (const rule of placement as readonly Partial<PlacementRule>[]) {
    const { model, store, ...others } = rule ?? {};
    if (typeof model !== 'string' || typeof store !== 'string' || Object.keys(others).length > 0)
      throw new TypeError(`the option "placement" needs a list of { model, store }, not ${JSON.stringify(rule)}`);
    if (!/^(?:\*|[a-z0-9-]+)(?:\.[a-z0-9-]+)+$/.test(model))
      throw new TypeError(
        `a model is placed by its name such as books.library.example.com or *.example.com, not "${model}"`,
      );
    if (store !== 'default' && !Object.hasOwn(stores, store))
      throw new TypeError(
        `the option "placement" puts "${model}" into the store "${store}", which "stores" does not name`,
      );
  }
}

function checkModels(models: readonly string[]): void {
  const isPattern = (one: unknown) => typeof one === 'string' && /^[a-z0-9][a-z0-9.-]*\/(?:\*|[a-z0-9-]+)$/.test(one);
  for (const one of models) {
    if (!isPattern(one))
      throw new TypeError(
        `the option "models" needs names such as telemetry.example.com/* or telemetry.example.com/readings, not "${one}"`,
      );
  }
}

function checkTls({ cert, key }: Partial<TlsFiles>): void {
  if ((cert === undefined) === (key === undefined)) return;
  const [given, missing] = cert === undefined ? ['key', 'cert'] : ['cert', 'key'];
  throw new TypeError(`the option "tls.${given}" needs "tls.${missing}" beside it`);
}

/** Files that the process may open; undefined where the system does not say so in a file. */
function openFiles(): number | undefined {
  try {
    const limit = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'));
    return limit ? Number(limit[1]) : undefined;
  } catch {
    return undefined;
  }
}

/** Bytes of the machine, or of the container when that has less. */
function usableMemory(): number {
  return Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);
}

/** Settings of the command line that have other names here. */
const otherNames: Readonly<Record<string, string>> = {
  insecureNoAuth: '"auth: false" switches authentication off',
  plugin: 'plugins are given as "plugins"',
  pluginsDir: 'a folder of plugins is given as "pluginFolder"',
  dev: 'it is "pluginHost: { dev: true }"',
  log: 'the level is that of the "logger"',
  workers: 'the command line alone starts several processes',
  cacheDir: 'the folder of the index snapshots is "indexSnapshots: { dir }"',
};

/** With members that are no options of ours, or that are checked elsewhere. */
const unchecked = ['auth', 'pluginConfig', 'timers', 'optionSources', 'stores'];

/** A name that is not known could be a typing error that opens a door. */
function checkNames(options: ServiceOptions): void {
  const known = withDefaults({}) as Readonly<Record<string, unknown>>;
  const mistakes: string[] = [];
  const check = (name: string, among: object): void => {
    if (Object.hasOwn(among, name.slice(name.indexOf('.') + 1))) return;
    const hint = Object.hasOwn(otherNames, name) ? `: ${otherNames[name]}` : '';
    mistakes.push(`there is no option "${name}"${hint}`);
  };
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined) continue;
    check(name, known);
    const group = known[name];
    if (!isGroup(group) || unchecked.includes(name) || (name === 'indexSnapshots' && value === false)) continue;
    if (!isGroup(value)) mistakes.push(`the option "${name}" needs an object`);
    else for (const member of Object.keys(value)) check(`${name}.${member}`, group);
  }
  if (mistakes.length > 0) throw new TypeError(mistakes.join('; '));
}

function isGroup(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
