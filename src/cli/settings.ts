/** Options of `kindred serve` from flags, the environment and a config file, in that order (contract section 14). */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { delimiter } from 'node:path';
import { parseDuration } from './duration.ts';
import { UsageError } from './io.ts';

/** For what few starts need. */
const require = createRequire(import.meta.url);

type Kind = 'text' | 'count' | 'port' | 'database' | 'duration' | 'switch' | 'texts' | 'any';

interface Setting {
  readonly kind: Kind;
  readonly help: string;
}

const s = (kind: Kind, help: string): Setting => ({ kind, help });

/** Every setting by its name in the config file; `a.b` is member `b` of `a`. In the environment `KINDRED_A_B`. */
export const settings = {
  database: s('database', 'sqlite:<file>, sqlite::memory:, postgres://… or mysql://…'),
  plugin: s('texts', 'folders of plugin packages'),
  pluginsDir: s('text', 'folder whose sub-folders are plugin packages (--plugins)'),
  host: s('text', 'address to listen on'),
  port: s('port', 'port to listen on, 0 for a free one'),
  workers: s('count', 'processes that serve one port'),
  insecureNoAuth: s('switch', 'no authentication; only on a loopback address'),
  dev: s('switch', 'reload plugins when their sources change'),
  reservedDomain: s('text', 'the domain of the service itself, platform.run by default'),
  auth: s('any', 'token issuers and their audience'),
  cors: s('texts', 'origins that may call from a browser'),
  hosts: s('texts', 'with --insecure-no-auth, names besides localhost by which the service may be called'),
  'log.level': s('text', 'trace, debug, info, warn, error or silent'),
  'list.maxSize': s('count', 'largest page'),
  'query.timeout': s('duration', 'time limit of one query'),
  'watch.bookmarkInterval': s('duration', 'longest silence of an idle watch'),
  'watch.maxBufferBytes': s('count', 'bytes that wait for a slow watcher before it is cut off'),
  'webhook.allowPrivateAddresses': s('switch', 'deliver webhooks to private, loopback and link-local addresses too'),
  'webhook.timeout': s('duration', 'time that the receiver of a webhook has to answer'),
  'webhook.minDelay': s('duration', 'time before the second attempt at a delivery'),
  'webhook.maxDelay': s('duration', 'longest time between two attempts at a delivery'),
  'webhook.giveUpAfter': s('duration', 'how long a delivery is tried'),
  'webhook.concurrency': s('count', 'attempts of one webhook at the same time'),
  'changeLog.maxCount': s('count', 'changes that are kept for watches to go on from'),
  'changeLog.maxAge': s('duration', 'how long they are kept at least'),
  'write.timeout': s('duration', 'time until a write is answered even when the database does not'),
  'cache.maxBytes': s('count', 'bytes of hot objects kept in memory'),
  'patch.maxOperations': s('count', 'operations of one JSON patch'),
  'patch.maxGrowth': s('count', 'bytes that one patch may add to an object'),
  'http.body': s('count', 'bytes of a request body, and of a line of NDJSON'),
  'http.depth': s('count', 'nesting of a JSON body'),
  'http.members': s('count', 'members of all objects of a JSON body together'),
  'http.url': s('count', 'bytes of a URL'),
  'http.query': s('count', 'bytes of a query string'),
  'http.headers': s('count', 'bytes of all header lines together'),
  'http.headersTimeout': s('duration', 'time limit of the header lines of a request'),
  'http.requestTimeout': s('duration', 'time limit of a request body; with NDJSON, without a byte'),
  'http.keepAlive': s('duration', 'how long an idle connection is kept'),
  'http.bulkConcurrency': s('count', 'objects of one bulk request that are written at the same time'),
  'http.bulkBuffer': s('count', 'bytes of answers that wait for the client of a bulk request'),
  'http.stopTimeout': s('duration', 'how long a stop waits for requests under way'),
  'accessLog.success': s('text', 'log level of answers below 400'),
  'accessLog.refusal': s('text', 'log level of answers 4xx'),
  'accessLog.failure': s('text', 'log level of answers 5xx'),
  allowUnsafeDurability: s('switch', 'accept a database whose settings can lose acknowledged writes'),
  'plugins.startTimeout': s('duration', "time limit of a plugin's start()"),
  'plugins.stopTimeout': s('duration', "time limit of a plugin's stop()"),
} as const satisfies Record<string, Setting>;

export type SettingName = keyof typeof settings;
export type SettingValues = { [name in SettingName]?: unknown };

export interface Resolved {
  readonly values: SettingValues;
  /** `plugins.<name>` of the config file. */
  readonly pluginConfigs: Readonly<Record<string, unknown>>;
}

/** Flags win over the environment, the environment over the file. Values are checked and have their types. */
export async function resolveSettings(
  flags: SettingValues,
  env: Readonly<Record<string, string | undefined>>,
  file: string | undefined,
): Promise<Resolved> {
  const { values, pluginConfigs } = file === undefined ? { values: {}, pluginConfigs: {} } : await readConfig(file);
  const merged: SettingValues = {};
  for (const name of Object.keys(settings) as SettingName[]) {
    const variable = variableOf(name);
    const flag = flags[name];
    const fromEnv = env[variable];
    if (flag !== undefined) merged[name] = checked(name, flag, 'the command line');
    else if (fromEnv !== undefined && fromEnv !== '') merged[name] = checked(name, split(name, fromEnv), variable);
    else if (values[name] !== undefined) merged[name] = checked(name, values[name], file!);
  }
  return { values: merged, pluginConfigs };
}

/** `list.maxSize` as `KINDRED_LIST_MAX_SIZE`; `pluginsDir` has the flag's name. */
export function variableOf(name: SettingName): string {
  if (name === 'pluginsDir') return 'KINDRED_PLUGINS';
  return `KINDRED_${name
    .replace(/[A-Z]/g, (letter) => `_${letter}`)
    .replaceAll('.', '_')
    .toUpperCase()}`;
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

/** `name=value` of `--set`. */
export function parseAssignment(text: string): SettingValues {
  const at = text.indexOf('=');
  const name = at < 0 ? text : text.slice(0, at);
  if (at < 0 || !isSetting(name)) {
    throw new UsageError(`--set needs <name>=<value> with one of ${Object.keys(settings).join(', ')}; got "${text}"`);
  }
  return { [name]: split(name, text.slice(at + 1)) };
}

function isSetting(name: string): name is SettingName {
  return Object.hasOwn(settings, name);
}

function split(name: SettingName, text: string): unknown {
  const { kind } = settings[name];
  if (kind === 'texts') return text.split(name === 'plugin' ? delimiter : ',').filter((one) => one !== '');
  if (kind === 'any') return parseYaml(text, name);
  return text;
}

function checked(name: SettingName, value: unknown, from: string): unknown {
  const { kind } = settings[name];
  const refuse = (expected: string, shown = JSON.stringify(value)): never => {
    throw new UsageError(`${from}: ${name} needs ${expected}, not ${shown}`);
  };
  switch (kind) {
    case 'text':
      return typeof value === 'string' && value !== '' ? value : refuse('a text');
    case 'database':
      // Not shown again: it may hold a password.
      return typeof value === 'string' && /^(?:sqlite|postgres|postgresql|mysql|mariadb):/.test(value)
        ? value
        : refuse(settings.database.help, 'what was given');
    case 'texts': {
      const list = [value].flat();
      return list.every((one) => typeof one === 'string') ? list : refuse('a list of texts');
    }
    case 'count': {
      const number = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
      return Number.isSafeInteger(number) && (number as number) >= 0 ? number : refuse('a whole number');
    }
    case 'port': {
      const port = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
      return Number.isInteger(port) && (port as number) >= 0 && (port as number) <= 65_535
        ? port
        : refuse('a whole number from 0 to 65535');
    }
    case 'duration':
      return parseDuration(value) ?? refuse('a duration such as 15s or 1h, or milliseconds');
    case 'switch': {
      if (typeof value === 'boolean') return value;
      return value === 'true' || value === '1'
        ? true
        : value === 'false' || value === '0'
          ? false
          : refuse('true or false');
    }
    case 'any':
      return value;
  }
}

async function readConfig(file: string): Promise<Resolved> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(
      `the config file ${file} cannot be read: ${error.code === 'ENOENT' ? 'there is no such file' : error.message}`,
    );
  });
  const content = parseYaml(text, file) ?? {};
  if (!isRecord(content))
    throw new UsageError(`${file}: the config file must hold names with values, not ${JSON.stringify(content)}`);
  const values: Record<string, unknown> = {};
  const pluginConfigs: Record<string, unknown> = {};
  const unknown: string[] = [];
  const take = (name: string, value: unknown): void => {
    if (isSetting(name)) values[name] = value;
    else unknown.push(name);
  };
  for (const [name, value] of Object.entries(content)) {
    if (name === 'plugins' && typeof value === 'string') values.pluginsDir = value;
    else if (isSetting(name) || !isGroup(name)) take(name, value);
    else if (!isRecord(value))
      throw new UsageError(`${file}: ${name} needs names with values, not ${JSON.stringify(value)}`);
    else {
      for (const [member, one] of Object.entries(value)) {
        // Names of plugins have no capital letters, so they cannot meet a setting's name.
        if (name === 'plugins' && /^[a-z0-9-]+$/.test(member)) pluginConfigs[member] = one;
        else take(`${name}.${member}`, one);
      }
    }
  }
  if (unknown.length > 0) {
    throw new UsageError(
      `${file}: unknown ${unknown.length === 1 ? 'name' : 'names'} ${unknown.join(', ')}; known are ${Object.keys(settings).join(', ')} and plugins.<plugin>`,
    );
  }
  return { values, pluginConfigs };
}

function isGroup(name: string): boolean {
  return name === 'plugins' || Object.keys(settings).some((one) => one.startsWith(`${name}.`));
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** JSON is YAML too. */
function parseYaml(text: string, from: string): unknown {
  const { parseDocument } = require('yaml') as typeof import('yaml');
  const document = parseDocument(text, { uniqueKeys: true });
  const problem = document.errors[0];
  if (problem) {
    const line = problem.linePos?.[0].line;
    throw new UsageError(
      `${from}${line === undefined ? '' : `:${line}`} is neither YAML nor JSON: ${problem.message.split('\n')[0]}`,
    );
  }
  return document.toJS({ maxAliasCount: 100 });
}
