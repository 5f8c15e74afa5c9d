/** What operators do with a database beside a service: checks, moves, copies. Nothing listens. */
import { existsSync } from 'node:fs';
import { pino } from 'pino';
import { definedSchemes } from './kube/crds/stored.ts';
import { isServiceGroup } from './kube/kinds.ts';
import type { Scheme } from './model/scheme.ts';
import type { ServiceOptions } from './options.ts';
import { resolveOptions } from './options.ts';
import { modelStateKind, modelStateName } from './plugin/kind.ts';
import type { ModelStateObject } from './plugin/model-state.ts';
import type { CheckProgress, CheckReport } from './resource/check.ts';
import { checkStore } from './resource/check.ts';
import type { MoveOptions, MoveResult } from './resource/move.ts';
import { moveModel } from './resource/move.ts';
import { createService } from './service.ts';
import { openStore } from './store/open.ts';
import { defaultStore } from './store/options.ts';
import { sqliteFile } from './store/sqlite-file.ts';
import type { Store } from './store/store.ts';

export type { CheckReport } from './resource/check.ts';
export { type ConversionReport, tryConversions } from './resource/conversion-trial.ts';
export { checkObjects, type ObjectReport } from './resource/object-check.ts';
export { type MigrateProgress, migrate } from './store/migrate.ts';
/** Copies of a database: a SQLite file at one moment, and back; from one database into another. */
export { afterRestore, backup, restore } from './store/sqlite/backup.ts';

/**
 * Compares what a database holds with the models of these plugins and of the service, and changes nothing: objects with
 * their schemas and index functions, unique values with the objects that have them. No service may use a SQLite file
 * meanwhile. The plugins are started on an empty database in memory, which is how their models become known.
 */
export async function check(
  options: Declaring & Pick<ServiceOptions, 'database'>,
  onProgress?: CheckProgress,
): Promise<CheckReport> {
  const { database, reservedDomain } = resolveOptions(options);
  if (typeof database === 'string' && database.startsWith('sqlite:') && !existsSync(sqliteFile(database))) {
    throw new Error(`there is no database ${sqliteFile(database)}`);
  }
  return withModels(options, async (schemes) => {
    const store = await openStore(database);
    try {
      return await checkStore(store, [...schemes, ...(await definedSchemes(store, reservedDomain))], onProgress);
    } finally {
      await store.close();
    }
  });
}

/** Of a move: what `moveModel` takes, with the stores as the service is configured. */
export type MoveRequest = Pick<ServiceOptions, 'database' | 'stores' | 'allowUnsafeDurability' | 'reservedDomain'> &
  Pick<MoveOptions, 'model' | 'to' | 'onProgress' | 'attempt' | 'signal' | 'settling'> & {
    /** As the model names it; default: that of the model in the store. */
    readonly kind?: string | undefined;
    /** Told of what an operator should know. */
    readonly warn?: (message: string) => void;
  };

/** Moves the objects of a model to another store, while replicas serve it from database servers. */
export async function move(request: MoveRequest): Promise<MoveResult> {
  const { model, to, kind, onProgress, attempt, signal, settling, warn, ...options } = request;
  const { database, stores: others, allowUnsafeDurability, reservedDomain } = resolveOptions(options);
  const stores = new Map<string, Store>();
  try {
    for (const [name, one] of Object.entries({ [defaultStore]: { database }, ...others }))
      stores.set(name, await openStore(one.database, { allowUnsafeDurability, ...(warn && { warn }) }));
    return await moveModel({
      model,
      to,
      stores,
      kind: kind ?? (await storedKind(stores.values(), model, reservedDomain)),
      now: Date.now,
      ...(onProgress && { onProgress }),
      ...(attempt && { attempt }),
      ...(signal && { signal }),
      ...(settling !== undefined && { settling }),
    });
  } finally {
    await Promise.all([...stores.values()].map((store) => store.close()));
  }
}

/** @param stores the default one first. Throws a plain error when it cannot be known */
async function storedKind(stores: Iterable<Store>, model: string, reservedDomain: string): Promise<string> {
  const dot = model.indexOf('.');
  const [plural, group] = [model.slice(0, dot), model.slice(dot + 1)];
  const [main] = stores;
  const { kind, group: own } = modelStateKind(reservedDomain);
  const models = await main!.models();
  const states = models.find((row) => row.kind === kind && row.group === own);
  for (let after = 0; states !== undefined; ) {
    const rows = await main!.scan(states.number, after, 500);
    const found = rows.find(({ name }) => name === modelStateName(plural, group));
    if (found) return (JSON.parse(Buffer.from(found.bytes).toString()) as ModelStateObject).status!.model.kind;
    if (rows.length === 0) break;
    after = rows.at(-1)!.id;
  }
  const kinds = models.filter((row) => row.group === group).map((row) => row.kind);
  if (kinds.length === 1) return kinds[0]!;
  if (kinds.length === 0) throw new Error(`no store has a model of the group "${group}"`);
  throw new Error(`the group "${group}" has several models (${kinds.join(', ')}): name the one with --kind`);
}

/** The models of plugins, without those of the service. The plugins are started on an empty database in memory. */
export function declaredModels(options: Declaring): Promise<readonly Scheme[]> {
  const { reservedDomain } = resolveOptions(options);
  return withModels(options, async (schemes) =>
    schemes.filter(({ groupVersionKind: { group } }) => !isServiceGroup(group, reservedDomain)),
  );
}

type Declaring = Pick<ServiceOptions, 'plugins' | 'pluginFolder' | 'pluginConfig' | 'pluginHost' | 'reservedDomain'>;

/** Starts plugins on an empty database in memory, which is how their models become known. */
async function withModels<T>(options: Declaring, use: (schemes: readonly Scheme[]) => Promise<T>): Promise<T> {
  const { plugins, pluginFolder, pluginConfig, pluginHost, reservedDomain } = options;
  const declaring = await createService({
    ...(plugins && { plugins }),
    ...(pluginFolder !== undefined && { pluginFolder }),
    ...(pluginConfig && { pluginConfig }),
    ...(pluginHost && { pluginHost }),
    ...(reservedDomain !== undefined && { reservedDomain }),
    database: 'sqlite::memory:',
    port: 0,
    auth: false,
    logger: pino({ level: 'silent' }),
  });
  try {
    await declaring.start();
    const failed = declaring.readiness().plugins.find(({ state }) => state === 'FAILED');
    if (failed) throw new Error(`the plugin ${failed.name} cannot be started: ${failed.message ?? failed.reason}`);
    return await use(declaring.schemeManager.schemes());
  } finally {
    await declaring.stop();
  }
}
