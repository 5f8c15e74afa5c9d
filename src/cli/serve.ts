import { BlockList, isIP } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { Command } from 'commander';
import type { ServiceOptions } from '../options.ts';
import type { Service } from '../service.ts';
import type { Io } from './io.ts';
import { UsageError, write } from './io.ts';
import { loading } from './loading.ts';
import { openLog } from './log.ts';
import type { Progress } from './progress.ts';
import { startProgress } from './progress.ts';
import { repeatable } from './select.ts';
import type { Resolved, SettingName, SettingValues } from './settings.ts';
import { nested, parseAssignment, resolveSettings, settings, variableOf } from './settings.ts';

interface Flags {
  database?: string;
  plugin?: string[];
  plugins?: string;
  host?: string;
  port?: string;
  workers?: string;
  insecureNoAuth?: boolean;
  dev?: boolean;
  config?: string;
  set?: string[];
}

const defaultHost = '127.0.0.1';
const defaultDatabase = 'sqlite:./kindred.db';
/** A stop that takes longer is cut off: what was acknowledged is durable at any moment. */
const stopLimit = 9_500;

export function serveCommand(io: Io): Command {
  return new Command('serve')
    .description('run the service')
    .option('--database <url>', `where objects are stored: ${settings.database.help} (default: ${defaultDatabase})`)
    .addOption(repeatable('--plugin <path>', 'folder of a plugin package; repeatable'))
    .option('--plugins <dir>', settings.pluginsDir.help)
    .option('--host <address>', `${settings.host.help} (default: ${defaultHost})`)
    .option('--port <number>', `${settings.port.help} (default: 8090)`)
    .option('--workers <number>', `${settings.workers.help}; not with SQLite (default: 1)`)
    .option('--insecure-no-auth', settings.insecureNoAuth.help)
    .option('--dev', settings.dev.help)
    .option('--config <file>', 'YAML or JSON file of settings, also KINDRED_CONFIG')
    .addOption(repeatable('--set <name=value>', 'any setting below; repeatable'))
    .addHelpText('after', settingsHelp)
    .action(async (flags: Flags) => {
      const config = flags.config ?? (io.env.KINDRED_CONFIG || undefined);
      await serve(io, await resolveSettings(valuesOf(flags), io.env, config));
    });
}

function settingsHelp(): string {
  const names = Object.keys(settings) as SettingName[];
  const width = Math.max(...names.map((name) => name.length));
  const lines = names.map((name) => `  ${name.padEnd(width)}  ${settings[name].help} (${variableOf(name)})`);
  return `\nSettings, by --set, by environment and in the config file (a flag wins over the environment, that over the file;\ndurations are texts such as 15s or 1h, or milliseconds):\n${lines.join('\n')}\n  ${'plugins.<plugin>'.padEnd(width)}  what the plugin finds as its configuration (config file only)\n`;
}

function valuesOf({ plugins, config, set, ...flags }: Flags): SettingValues {
  const assigned = Object.assign({}, ...(set ?? []).map(parseAssignment)) as SettingValues;
  return { ...assigned, ...flags, ...(plugins !== undefined && { pluginsDir: plugins }) };
}

async function serve(io: Io, resolved: Resolved): Promise<void> {
  const { values } = resolved;
  const { host = defaultHost, insecureNoAuth } = values as { host?: string; insecureNoAuth?: boolean };
  if (insecureNoAuth && !isLoopback(host)) {
    throw new UsageError(
      `--insecure-no-auth is for loopback addresses only (127.0.0.1, ::1, localhost), not for ${host}`,
    );
  }
  const workers = (values.workers as number | undefined) ?? 1;
  if (workers > 1 && /^sqlite:/.test((values.database as string | undefined) ?? defaultDatabase)) {
    throw new UsageError('--workers needs PostgreSQL or MySQL: a SQLite file is served by one process');
  }
  if (workers > 1) await (await import('./workers.ts')).serveWithWorkers(io, workers);
  else await serveHere(io, optionsOf(resolved), String(values['log.level'] ?? 'info'));
}

function optionsOf({ values, pluginConfigs }: Resolved): ServiceOptions {
  const { plugin, pluginsDir, workers, insecureNoAuth, dev, log, plugins, ...rest } = nested(values);
  return {
    ...rest,
    ...(plugin !== undefined && { plugins: plugin }),
    ...(pluginsDir !== undefined && { pluginFolder: pluginsDir }),
    pluginConfig: pluginConfigs,
    pluginHost: { ...(plugins as object | undefined), ...(dev !== undefined && { dev: dev as boolean }) },
    ...(insecureNoAuth === true && { auth: false }),
  } as ServiceOptions;
}

async function serveHere(io: Io, options: ServiceOptions, level: string): Promise<void> {
  // Loaded here, so that the other commands start without the service's libraries.
  const { createService } = await loading(() => import('../service.ts'));
  const stopping = stopSignal();
  const logger = openLog(io.stderr, level);
  const service = await createService({ ...options, logger });
  try {
    const started = service.start();
    // A signal during the start stops it; what the start then says no longer matters.
    started.catch(() => {});
    const stopShowing = io.stderr.isTTY ? showBuilding(io, service) : () => undefined;
    const ready = await Promise.race([started, stopping]).finally(stopShowing);
    if (ready === undefined) return;
    // By itself the heap may grow to several times what lives in it: after an import of 135,000 objects (bench/import.ts)
    // the process then holds a quarter more. Not before: building indexes would take a fifth longer.
    setFlagsFromString('--heap-growing-percent=30');
    const { url, administratorToken } = ready;
    if (administratorToken !== undefined) await write(io.stdout, `Administrator token: ${administratorToken}\n`);
    const told = process.connected && (await import('./workers.ts')).workerReady(url);
    if (!told) await write(io.stdout, `Kindred is ready at ${url}\n`);
    await stopping;
  } finally {
    // Also keeps the process until the stop is done: what it waits for may be a timer that does not.
    const limit = setTimeout(() => process.exit(0), stopLimit);
    await service.stop();
    clearTimeout(limit);
  }
}

const look = 100;

/** A bar for the indexes while they are built, if that takes long enough to be seen. */
function showBuilding(io: Io, service: Service): () => void {
  let progress: Progress | undefined;
  const timer = setInterval(() => {
    const { models } = service.readiness();
    const building = models.filter(({ state }) => state === 'building');
    if (building.length === 0) return;
    progress ??= startProgress(io, 'Building indexes', 1);
    const part = models.reduce((sum, model) => sum + model.progress, 0) / models.length;
    progress.update(part, building.map(({ kind, progress }) => `${kind} ${Math.floor(progress * 100)} %`).join(', '));
  }, look);
  return () => {
    clearInterval(timer);
    progress?.stop('Indexes built');
  };
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
