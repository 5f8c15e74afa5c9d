import { accessSync, constants, mkdirSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { BlockList, isIP } from 'node:net';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { Command } from 'commander';
import type { ServiceOptions } from '../options.ts';
import { resolveOptions } from '../options.ts';
import { beginReading } from '../snapshots/folder.ts';
import { snapshotPath } from '../snapshots/place.ts';
import { beginWriter } from '../store/sqlite/thread.ts';
import type { Address } from './address.ts';
import { listenError, tryAddress } from './address.ts';
import { logged, showBuilding } from './building.ts';
import { useCompiledCode } from './compiled-code.ts';
import { consoleLink } from './console.ts';
import { describe } from './describe.ts';
import { optimizeEarly } from './early-optimization.ts';
import { limitHeapGrowth } from './heap-growth.ts';
import type { Io } from './io.ts';
import { UsageError, write } from './io.ts';
import { loading } from './loading.ts';
import { openLog } from './log.ts';
import { checkPluginFolder, checkPluginPaths } from './plugin-paths.ts';
import { startProgress } from './progress.ts';
import { repeatable } from './select.ts';
import type { Resolved, SettingName } from './settings.ts';
import { defaultOf, nested, resolveSettings, settings, variableOf } from './settings.ts';
import { collectStartGarbage } from './start-garbage.ts';

interface Flags {
  database?: string;
  models?: string[];
  plugin?: string[];
  plugins?: string;
  host?: string;
  port?: string;
  workers?: string;
  tlsCert?: string;
  tlsKey?: string;
  insecureNoAuth?: boolean;
  dev?: boolean;
  kube: boolean;
  cacheDir?: string;
  config?: string;
  set?: string[];
}

/** Milliseconds after the service is ready. */
const collectAfter = 1_000;
/** A stop that takes longer is cut off: what was acknowledged is durable at any moment. */
const stopLimit = 9_500;

export function serveCommand(io: Io): Command {
  const flag = (name: SettingName) => `${settings[name].help} (default: ${defaultOf(name)})`;
  return new Command('serve')
    .description('run the service')
    .option('--database <url>', `where objects are stored: ${flag('database')}`)
    .addOption(repeatable('--models <pattern>', `${settings.models.help}; repeatable (default: all)`))
    .addOption(repeatable('--plugin <path>', `${settings.plugin.help}; repeatable`))
    .option('--plugins <dir>', settings.pluginsDir.help)
    .option('--host <address>', flag('host'))
    .option('--port <number>', flag('port'))
    .option('--workers <number>', `${settings.workers.help}; not with SQLite (default: ${defaultOf('workers')})`)
    .option('--tls-cert <file>', settings['tls.cert'].help)
    .option('--tls-key <file>', settings['tls.key'].help)
    .option('--insecure-no-auth', settings.insecureNoAuth.help)
    .option('--dev', settings.dev.help)
    .option('--no-kube', 'do not serve Kubernetes clients')
    .option('--cache-dir <dir>', `${settings.cacheDir.help} (default: beside a SQLite file; else in the user's cache)`)
    .option('--config <file>', 'YAML or JSON file of settings, also KINDRED_CONFIG')
    .addOption(repeatable('--set <name=value>', 'any setting below; repeatable'))
    .addHelpText('after', settingsHelp)
    .action(async ({ config, set, plugins, kube, tlsCert, tlsKey, ...flags }: Flags) => {
      const file = config ?? (io.env.KINDRED_CONFIG || undefined);
      const resolved = await resolveSettings({
        flags: {
          ...flags,
          ...(plugins !== undefined && { pluginsDir: plugins }),
          ...(!kube && { 'kube.enabled': false }),
          ...(tlsCert !== undefined && { 'tls.cert': tlsCert }),
          ...(tlsKey !== undefined && { 'tls.key': tlsKey }),
        },
        ...(set && { assignments: set }),
        env: io.env,
        ...(file !== undefined && { file }),
      });
      await serve(io, resolved);
    });
}

function settingsHelp(): string {
  const names = Object.keys(settings) as SettingName[];
  const width = Math.max(...names.map((name) => name.length));
  const lines = names.map((name) => {
    const preset = defaultOf(name);
    const shown = preset === '' ? '' : `; default ${preset}`;
    return `  ${name.padEnd(width)}  ${settings[name].help} (${variableOf(name)}${shown})`;
  });
  return `
Settings, by --set, by environment and in the config file (a flag wins over the environment, that over the file;
durations are texts such as 15s or 1h, or milliseconds):
${lines.join('\n')}
  ${'plugins.<plugin>'.padEnd(width)}  what the plugin finds as its configuration (config file only)

"auth" is YAML or JSON in a flag and a variable too. All of it is optional; for example, in the config file:
  auth:
    issuers:
      - url: https://login.example.com
        audience: kindred
        claims: { user: preferred_username, roles: groups }
        userPrefix: "sso:"
    rateLimit: { perIdentity: { perSecond: 500, burst: 2000 }, perAddress: false }
    audit: { file: ./audit.ndjson, reads: false, keep: 10000 }
"stores" and "placement" are YAML or JSON in a flag and a variable too; in the config file:
  stores: { telemetry: { database: 'postgres://telemetry.db.example.com/kindred' } }
  placement:
    - { model: readings.telemetry.example.com, store: telemetry }
"cors" is a list, with commas in a flag and a variable: https://console.example.com,https://app.example.com; * is every origin.
`;
}

async function serve(io: Io, resolved: Resolved): Promise<void> {
  const { values } = resolved;
  const { host, port, database } = { ...resolveOptions({}), ...values } as Address & { database: string };
  if (values.insecureNoAuth && !isLoopback(host)) {
    throw new UsageError(
      `--insecure-no-auth is for loopback addresses only (127.0.0.1, ::1, localhost), not for ${host}`,
    );
  }
  const workers = (values.workers as number | undefined) ?? 1;
  if (workers > 1 && isSqlite(database)) {
    throw new UsageError('--workers needs PostgreSQL or MySQL: a SQLite file is served by one process');
  }
  if (workers > 1) await (await import('./workers.ts')).serveWithWorkers(io, workers);
  else await serveHere(io, { host, port }, optionsOf(resolved), String(values['log.level'] ?? 'info'));
}

/** Settings whose options have other names. */
const optionNames: Readonly<Record<string, string>> = {
  plugin: 'plugins',
  pluginsDir: 'pluginFolder',
  insecureNoAuth: 'auth',
  cacheDir: 'indexSnapshots.dir',
  dev: 'pluginHost.dev',
  'plugins.startTimeout': 'pluginHost.startTimeout',
  'plugins.stopTimeout': 'pluginHost.stopTimeout',
};

function optionsOf({ values, sources, pluginConfigs }: Resolved): ServiceOptions {
  const { plugin, pluginsDir, workers, insecureNoAuth, dev, log, plugins, cacheDir, indexSnapshots, ...rest } =
    nested(values);
  return {
    ...rest,
    ...(plugin !== undefined && { plugins: plugin }),
    ...(pluginsDir !== undefined && { pluginFolder: pluginsDir }),
    optionSources: Object.fromEntries(
      Object.entries(sources).map(([name, source]) => [optionNames[name] ?? name, source]),
    ),
    pluginConfig: pluginConfigs,
    pluginHost: { ...(plugins as object | undefined), ...(dev !== undefined && { dev: dev as boolean }) },
    indexSnapshots: { ...(indexSnapshots as object | undefined), ...(cacheDir !== undefined && { dir: cacheDir }) },
    ...(insecureNoAuth === true && { auth: false }),
  } as ServiceOptions;
}

async function serveHere(io: Io, address: Address, given: ServiceOptions, level: string): Promise<void> {
  const indexSnapshots = given.indexSnapshots || { enabled: false };
  const cache = indexSnapshots.dir ?? userCache(io);
  const dir = isSqlite(given.database) ? indexSnapshots.dir : cache;
  const options = { ...given, indexSnapshots: { ...indexSnapshots, dir } };
  // Threads read the snapshots and get ready to write while the modules are being loaded.
  const { database } = { ...resolveOptions({}), ...options };
  const { enabled = true } = options.indexSnapshots;
  const snapshots = enabled && typeof database === 'string' ? snapshotPath(database, dir) : undefined;
  if (snapshots !== undefined) beginReading(snapshots, options.models);
  if (isSqlite(options.database)) beginWriter();
  if (cache !== undefined) useCompiledCode(join(cache, 'code'));
  // After a burst of writes, V8 would allocate in the old generation what a write needs for a moment only.
  setFlagsFromString('--no-allocation-site-pretenuring');
  // Loaded here, so that the other commands start without the service's libraries.
  const { createService } = await loading(() => import('../service.ts'));
  const { findPackage } = await import('../plugin/loader.ts');
  const packages = (options.plugins ?? []) as readonly string[];
  checkPluginPaths(packages, (source) => findPackage(source, process.cwd()));
  if (options.pluginFolder !== undefined) checkPluginFolder(options.pluginFolder);
  const refuse = (error: unknown): never => {
    throw listenError(error, address, io.env);
  };
  // Before there is a file: a start that comes to nothing leaves none behind.
  if (isSqlite(options.database)) await tryAddress(address).catch(refuse);
  const stopping = stopSignal();
  const joins = process.connected && (await import('./workers.ts')).joinsOthers();
  const logger = openLog(io.stderr, level);
  if (enabled && !isSqlite(options.database) && dir === undefined) {
    logger.warn('Index snapshots are off: there is no cache folder that can be written to (--cache-dir gives one)');
  }
  const service = await createService({ ...options, listenWhenReady: joins, logger });
  let failure: unknown;
  try {
    const started = service.start().catch(refuse);
    // A signal during the start stops it; what the start then says no longer matters.
    started.catch(() => {});
    const stopShowing = showBuilding(
      () => service.building(),
      io.stderr.isTTY ? (title) => startProgress(io, title, 1) : logged((text) => logger.info(text)),
    );
    const ready = await Promise.race([started, stopping]).finally(stopShowing);
    if (ready === undefined) return;
    optimizeEarly();
    // Not before: building indexes would take a fifth longer.
    limitHeapGrowth();
    const { url, administratorToken } = ready;
    if (administratorToken !== undefined) {
      await write(io.stdout, `Administrator token: ${administratorToken}\n`);
      if (options.console?.enabled !== false) {
        await write(io.stdout, `Open the console: ${await consoleLink(url, administratorToken)}\n`);
      }
    }
    const told = process.connected && (await import('./workers.ts')).workerReady(url);
    if (!told) await write(io.stdout, `Kindred is ready at ${url}\n`);
    // Not only at the end, since many processes are killed. Takes 70 ms when the folder is new or the code changed, otherwise none.
    flushCompileCache();
    setTimeout(collectStartGarbage, collectAfter).unref();
    await stopping;
  } catch (error) {
    failure = error;
    throw error;
  } finally {
    // Also keeps the process until the stop is done: what it waits for may be a timer that does not.
    const limit = setTimeout(() => {
      if (failure === undefined) process.exit(0);
      io.stderr.write(describe(failure));
      process.exit(1);
    }, stopLimit);
    await service.stop();
    clearTimeout(limit);
  }
}

/** Resolves at the first SIGTERM or SIGINT; the second one ends the process at once. */
function stopSignal(): Promise<undefined> {
  return new Promise((resolve) => {
    let seen = false;
    const signals = { SIGTERM: 15, SIGINT: 2 } as const;
    for (const [signal, number] of Object.entries(signals)) {
      process.on(signal, () => {
        if (seen) process.exit(128 + number);
        seen = true;
        resolve(undefined);
      });
    }
  });
}

/** The folder of this service in the user's cache; undefined when it cannot be written to. */
function userCache({ env }: Io): string | undefined {
  const home = env.HOME || env.USERPROFILE;
  const cache = env.XDG_CACHE_HOME || (home && join(home, '.cache'));
  if (!cache) return undefined;
  const folder = join(cache, 'kindred');
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    accessSync(folder, constants.W_OK);
    return folder;
  } catch {
    return undefined;
  }
}

function isSqlite(database: ServiceOptions['database']): boolean {
  return database === undefined || (typeof database === 'string' && database.startsWith('sqlite:'));
}

/** Only what names or is a loopback address; any other name could lead anywhere. */
function isLoopback(host: string): boolean {
  const address = host.replace(/^\[(.*)\]$/, '$1');
  if (address === 'localhost') return true;
  const loopback = new BlockList();
  loopback.addSubnet('127.0.0.0', 8, 'ipv4');
  loopback.addAddress('::1', 'ipv6');
  const family = isIP(address);
  return family !== 0 && loopback.check(address, family === 6 ? 'ipv6' : 'ipv4');
}
