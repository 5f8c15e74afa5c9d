/** Options of `kindred serve` from flags, the environment and a config file, in that order (docs/reference/command-line.md). */
import { readFile } from 'node:fs/promises';
import { delimiter } from 'node:path';
import { formatDuration, parseDuration } from '../model/duration.ts';
import { isRecord } from '../model/object.ts';
import { resolveOptions } from '../options.ts';
import { parseYaml } from '../runtime/yaml.ts';
import { databaseForms, databaseMistake } from './database.ts';
import { UsageError } from './io.ts';
import { nearest } from './nearest.ts';

/** `count` and `duration` may be 0; `positive` and `period` may not: with 0 nothing would work any more. */
type Kind =
  | 'text'
  | 'count'
  | 'positive'
  | 'port'
  | 'database'
  | 'duration'
  | 'period'
  | 'switch'
  | 'level'
  | 'texts'
  | 'any';

interface Setting {
  readonly kind: Kind;
  readonly help: string;
  /** The default, where it is none of `resolveOptions`. */
  readonly preset?: string;
}

const s = (kind: Kind, help: string, preset?: string): Setting => ({
  kind,
  help,
  ...(preset !== undefined && { preset }),
});

/** Every setting by its name in the config file; `a.b` is member `b` of `a`. In the environment `KINDRED_A_B`. */
export const settings = {
  database: s('database', databaseForms),
  stores: s('any', 'further stores by name, each with its database; see below'),
  placement: s('any', 'models in other stores than that of "database"; see below'),
  models: s('texts', 'models that this process serves, as <group>/<plural> or <group>/*; others answer 421'),
  plugin: s('texts', 'plugin packages: folders, or names of installed npm packages'),
  pluginsDir: s('text', 'folder whose sub-folders are plugin packages'),
  host: s('text', 'address to listen on'),
  port: s('port', 'port to listen on, 0 for a free one'),
  workers: s('positive', 'processes that serve one port', '1'),
  insecureNoAuth: s('switch', 'no authentication; only on a loopback address', 'false'),
  dev: s('switch', 'reload plugins when their sources change', 'false'),
  reservedDomain: s('text', 'the domain of the service itself'),
  auth: s('any', 'token issuers, rate limits, audit log; see below'),
  cors: s('texts', 'origins that may call from a browser; see below'),
  'tls.cert': s('text', 'PEM file of the certificate to listen with over https; read again when it changes'),
  'tls.key': s('text', 'PEM file of its key'),
  hosts: s('texts', 'with --insecure-no-auth, names besides localhost by which the service may be called'),
  cacheDir: s('text', 'folder for snapshots of the indexes'),
  'log.level': s('level', 'lowest level that is logged: trace, debug, info, warn, error or silent', 'info'),
  'list.maxSize': s('positive', 'largest page'),
  'list.maxBytes': s('count', 'bytes that the objects of a page may have together'),
  'query.timeout': s('period', 'time limit of one query'),
  'watch.bookmarkInterval': s('period', 'longest silence of an idle watch'),
  'watch.maxBufferBytes': s('positive', 'bytes that wait for a watcher before it goes on at its own pace'),
  'watch.stallTimeout': s('period', 'longest time for which a watcher may take nothing of what waits for it'),
  'watch.livePageRows': s('positive', 'rows of all live pages together'),
  'watch.livePageRowsPerIdentity': s('positive', 'rows of the live pages of one identity'),
  'webhook.allowPrivateAddresses': s('switch', 'deliver webhooks to private, loopback and link-local addresses too'),
  'webhook.timeout': s('period', 'time that the receiver of a webhook has to answer'),
  'webhook.minDelay': s('duration', 'time before the second attempt at a delivery'),
  'webhook.maxDelay': s('duration', 'longest time between two attempts at a delivery'),
  'webhook.giveUpAfter': s('duration', 'how long a delivery is tried'),
  'webhook.concurrency': s('positive', 'attempts of one webhook at the same time'),
  'console.enabled': s('switch', 'serve the web page /console/'),
  'console.sessionTtl': s('period', 'how long a browser stays signed in'),
  'console.insecureCookie': s('switch', 'accept signing in over plain http on other machines'),
  'console.publicUrl': s('text', 'address with https at which people see the service, behind a proxy that ends TLS'),
  'kube.enabled': s('switch', 'serve Kubernetes clients below the path /kube'),
  'kube.path': s('text', 'path below which Kubernetes clients are served, in lower case'),
  'kube.maxBodyBytes': s('positive', 'bytes of a request body there'),
  'kube.maxMembers': s('positive', 'JSON members in a CustomResourceDefinition'),
  'kube.maxCrds': s('positive', 'definitions (CustomResourceDefinition) that there may be'),
  'kube.continueTtl': s('period', 'how long a paged Kubernetes list keeps its snapshot'),
  'kube.eventTtl': s('period', 'how long an Event is kept after it was seen last'),
  'mcp.enabled': s('switch', 'serve agents at /mcp, by the Model Context Protocol'),
  'mcp.readOnly': s('switch', 'offer agents no tool that changes objects'),
  'mcp.maxCalls': s('positive', 'calls of agents at the same time, of one caller a quarter of them'),
  'mcp.maxAnswerBytes': s('positive', 'bytes that the service gives to a tool of an agent at once'),
  'telemetry.traces': s('switch', 'spans and the W3C trace context, by OpenTelemetry'),
  'telemetry.metrics': s('switch', 'the metrics of /metrics by OpenTelemetry too'),
  'changeLog.maxCount': s('count', 'changes that are kept for watches to go on from'),
  'changeLog.maxAge': s('duration', 'how long they are kept at least'),
  'modelRewrite.rate': s('positive', 'objects that are rewritten to another storage version in a second'),
  'indexSnapshots.enabled': s('switch', 'keep snapshots of the indexes, from which the next start goes on'),
  'indexSnapshots.dir': s('text', 'the same as cacheDir, which wins'),
  'indexSnapshots.interval': s('period', 'time between two snapshots of a model, at least'),
  'indexSnapshots.minObjects': s('count', 'models with fewer objects have no snapshots'),
  'indexSnapshots.minChanges': s('count', 'changes since the last snapshot that call for another'),
  'indexSnapshots.idleAfter': s('duration', 'time after which a model that nobody asks for leaves memory; 0: never'),
  'indexSnapshots.shared': s('switch', 'leave snapshots in the database too, for processes whose disk is empty'),
  'write.timeout': s('period', 'time after which a write gets a response even if the database has not answered'),
  'cache.maxBytes': s('count', 'bytes of hot objects kept in memory'),
  'patch.maxOperations': s('count', 'operations of one JSON patch'),
  'patch.maxGrowth': s('count', 'bytes that one patch may add to an object'),
  'http.body': s('positive', 'bytes of a request body, and of a line of NDJSON'),
  'http.depth': s('positive', 'nesting of a JSON body'),
  'http.members': s('positive', 'members of all objects of a JSON body together'),
  'http.containers': s('positive', 'objects and lists of a JSON body together'),
  'http.url': s('positive', 'bytes of a URL'),
  'http.query': s('positive', 'bytes of a query string'),
  'http.headers': s('positive', 'bytes of all header lines together'),
  'http.headersTimeout': s('period', 'time limit of the header lines of a request'),
  'http.requestTimeout': s(
    'period',
    'time limit of a request body, with NDJSON without a byte, and of reading an answer',
  ),
  'http.keepAlive': s('period', 'how long an idle connection is kept'),
  'http.connections': s('count', 'connections at the same time'),
  'http.connectionsPerAddress': s('count', 'connections of one address at the same time, loopback not counted'),
  'http.bulkConcurrency': s('positive', 'objects of one bulk request that are written at the same time'),
  'http.bulkBuffer': s('positive', 'bytes of answers that wait for the client of a bulk request'),
  'http.answerBuffer': s('count', 'bytes of all answers together that wait to be read'),
  'http.bulkRefusals': s('count', 'refused lines after which a bulk request ends'),
  'http.stopTimeout': s('duration', 'how long a stop waits for requests under way'),
  'accessLog.success': s('level', 'log level of answers below 400'),
  'accessLog.refusal': s('level', 'log level of answers 4xx'),
  'accessLog.failure': s('level', 'log level of answers 5xx'),
  allowUnsafeDurability: s('switch', 'accept a database whose settings can lose acknowledged writes'),
  'plugins.startTimeout': s('period', "time limit of a plugin's start()"),
  'plugins.stopTimeout': s('duration', "time limit of a plugin's stop()"),
} as const satisfies Record<string, Setting>;

export type SettingName = keyof typeof settings;
export type SettingValues = { [name in SettingName]?: unknown };

export interface Resolved {
  readonly values: SettingValues;
  /** Where each of them was given. */
  readonly sources: Readonly<Partial<Record<SettingName, 'flag' | 'environment' | 'file'>>>;
  /** `plugins.<name>` of the config file. */
  readonly pluginConfigs: Readonly<Record<string, unknown>>;
}

/** The default as `--help` shows it, in the form in which it could be given; empty when there is none. */
export function defaultOf(name: SettingName): string {
  const { kind, preset }: Setting = settings[name];
  if (preset !== undefined) return preset;
  const [head = '', member] = name.replace(/^plugins\./, 'pluginHost.').split('.');
  const group = (resolveOptions({}) as Readonly<Record<string, unknown>>)[head];
  const value = member === undefined ? group : (group as Readonly<Record<string, unknown>>)[member];
  if (kind === 'duration' || kind === 'period') return formatDuration(value as number);
  return typeof value === 'object' || value === undefined ? '' : String(value);
}

export interface Given {
  /** By the name of the setting, as commander parsed them. */
  readonly flags?: SettingValues;
  /** `name=value` of each `--set`. */
  readonly assignments?: readonly string[];
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly file?: string;
}

/**
 * Flags win over the environment, the environment over the file. Values are checked and have their types.
 * @throws UsageError with every mistake
 */
export async function resolveSettings({ flags = {}, assignments = [], env = {}, file }: Given): Promise<Resolved> {
  const mistakes: string[] = [];
  const { values, pluginConfigs } =
    file === undefined ? { values: {} as SettingValues, pluginConfigs: {} } : await readConfig(file, mistakes);
  const assigned = assignedBy(assignments, mistakes);
  const merged: SettingValues = {};
  const sources: Partial<Record<SettingName, 'flag' | 'environment' | 'file'>> = {};
  for (const name of Object.keys(settings) as SettingName[]) {
    const variable = variableOf(name);
    const fromEnv = env[variable];
    const given: [string, unknown] =
      flags[name] !== undefined
        ? [flagOf(name), flags[name]]
        : assigned[name] !== undefined
          ? [`--set ${name}`, split(name, assigned[name], mistakes)]
          : fromEnv !== undefined && fromEnv !== ''
            ? [variable, split(name, fromEnv, mistakes)]
            : [`${file}: ${name}`, values[name]];
    const [place, value] = given;
    if (value === undefined) continue;
    const checked = check(name, value);
    sources[name] = place.startsWith('--') ? 'flag' : place === variable ? 'environment' : 'file';
    if ('value' in checked) merged[name] = checked.value;
    else mistakes.push(`${place} needs ${checked.expected}`);
  }
  if (mistakes.length > 0) throw new UsageError(mistakes);
  return { values: merged, sources, pluginConfigs };
}

/** `list.maxSize` as `KINDRED_LIST_MAX_SIZE`; `pluginsDir` has the flag's name. */
export function variableOf(name: SettingName): string {
  if (name === 'pluginsDir') return 'KINDRED_PLUGINS';
  return `KINDRED_${name
    .replace(/[A-Z]/g, (letter) => `_${letter}`)
    .replaceAll('.', '_')
    .toUpperCase()}`;
}

function flagOf(name: SettingName): string {
  if (name === 'pluginsDir') return '--plugins';
  return `--${name.replace('.', '-').replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** The dotted names below `log`, `list` … as one nested object. */
export function nested(values: SettingValues): Record<string, unknown> {
  const result: Record<string, Record<string, unknown> | unknown> = {};
  for (const [name, value] of Object.entries(values)) {
    const [head = '', member] = name.split('.');
    if (member === undefined) result[head] = value;
    else result[head] = { ...(result[head] as object | undefined), [member]: value };
  }
  return result;
}

function assignedBy(assignments: readonly string[], mistakes: string[]): { [name in SettingName]?: string } {
  const assigned: { [name in SettingName]?: string } = {};
  for (const text of assignments) {
    const at = text.indexOf('=');
    const name = text.slice(0, at);
    if (at < 0) mistakes.push(`--set needs <name>=<value>, not "${text}"`);
    else if (isSetting(name)) assigned[name] = text.slice(at + 1);
    else mistakes.push(`--set: ${unknownName(name)}`);
  }
  return assigned;
}

function unknownName(name: string): string {
  const meant = nearest(name, [...Object.keys(settings), 'plugins']);
  return `unknown name ${name}; ${meant === undefined ? '"kindred serve --help" lists all names' : `did you mean ${meant}?`}`;
}

function isSetting(name: string): name is SettingName {
  return Object.hasOwn(settings, name);
}

function split(name: SettingName, text: string, mistakes: string[]): unknown {
  const { kind } = settings[name];
  if (kind === 'texts') return text.split(name === 'plugin' ? delimiter : ',').filter((one) => one !== '');
  if (kind !== 'any') return text;
  const { value, mistake } = parseYaml(text, name);
  if (mistake !== undefined) mistakes.push(mistake);
  return value;
}

const levels = ['trace', 'debug', 'info', 'warn', 'error', 'silent'];

type Checked = { readonly value: unknown } | { readonly expected: string };

function check(name: SettingName, value: unknown): Checked {
  const { kind } = settings[name];
  const accept = (one: unknown): Checked => ({ value: one });
  const refuse = (expected: string): Checked => ({ expected: `${expected}, not ${JSON.stringify(value)}` });
  switch (kind) {
    case 'text':
      return typeof value === 'string' && value !== '' ? accept(value) : refuse('a text');
    case 'database': {
      const mistake = databaseMistake(value);
      return mistake === undefined ? accept(value) : { expected: mistake };
    }
    case 'texts': {
      const list = [value].flat();
      return list.every((one) => typeof one === 'string') ? accept(list) : refuse('a list of texts');
    }
    case 'count':
    case 'positive': {
      const number = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
      const least = kind === 'positive' ? 1 : 0;
      return Number.isSafeInteger(number) && (number as number) >= least
        ? accept(number)
        : refuse(`a whole number${least > 0 ? ` of at least ${least}` : ''}`);
    }
    case 'port': {
      const port = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
      return Number.isInteger(port) && (port as number) >= 0 && (port as number) <= 65_535
        ? accept(port)
        : refuse('a whole number from 0 to 65535');
    }
    case 'duration':
    case 'period': {
      const duration = parseDuration(value);
      return duration !== undefined && (duration > 0 || kind === 'duration')
        ? accept(duration)
        : refuse(`a duration ${kind === 'period' ? 'above 0 ' : ''}such as 15s or 1h, or milliseconds`);
    }
    case 'level':
      return levels.includes(value as string) ? accept(value) : refuse(`one of ${levels.join(', ')}`);
    case 'switch': {
      if (typeof value === 'boolean') return accept(value);
      if (value === 'true' || value === '1') return accept(true);
      return value === 'false' || value === '0' ? accept(false) : refuse('true or false');
    }
    case 'any':
      return accept(value);
  }
}

async function readConfig(file: string, mistakes: string[]): Promise<Omit<Resolved, 'sources'>> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(
      `the config file ${file} cannot be read: ${error.code === 'ENOENT' ? 'there is no such file' : error.message}`,
    );
  });
  const values: Record<string, unknown> = {};
  const pluginConfigs: Record<string, unknown> = {};
  const { value: content = {}, mistake } = parseYaml(text, file);
  if (mistake !== undefined) mistakes.push(mistake);
  else if (!isRecord(content))
    mistakes.push(`${file}: the config file must hold names with values, not ${JSON.stringify(content)}`);
  const take = (name: string, value: unknown): void => {
    if (isSetting(name)) values[name] = value;
    else mistakes.push(`${file}: ${unknownName(name)}`);
  };
  for (const [name, value] of isRecord(content) ? Object.entries(content) : []) {
    if (name === 'plugins' && typeof value === 'string') values.pluginsDir = value;
    else if (isSetting(name) || !isGroup(name)) take(name, value);
    else if (typeof value === 'boolean' && isSetting(`${name}.enabled`)) values[`${name}.enabled`] = value;
    else if (!isRecord(value)) mistakes.push(`${file}: ${name} needs names with values, not ${JSON.stringify(value)}`);
    else {
      for (const [member, one] of Object.entries(value)) {
        // Names of plugins have no capital letters, so they cannot meet a setting's name.
        if (name === 'plugins' && /^[a-z0-9-]+$/.test(member)) pluginConfigs[member] = one;
        else take(`${name}.${member}`, one);
      }
    }
  }
  return { values, pluginConfigs };
}

function isGroup(name: string): boolean {
  return name === 'plugins' || Object.keys(settings).some((one) => one.startsWith(`${name}.`));
}
