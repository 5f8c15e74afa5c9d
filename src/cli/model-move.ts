import { Command } from 'commander';
import type { KindredError } from '../client/client.ts';
import { Patience } from '../client/client.ts';
import { retrying } from '../client/retry.ts';
import { isPassing } from '../errors.ts';
import type { ServiceOptions } from '../options.ts';
import type { RetryFlags } from './connection.ts';
import { withRetry } from './connection.ts';
import { countOf } from './count.ts';
import { onInterrupt } from './interrupt.ts';
import type { Io } from './io.ts';
import { Exit, UsageError, write } from './io.ts';
import { startProgress } from './progress.ts';
import { repeatable } from './select.ts';
import { nested, resolveSettings } from './settings.ts';

interface Flags extends RetryFlags {
  to: string;
  kind?: string;
  database?: string;
  config?: string;
  set?: string[];
}

const steps = {
  copy: (done: number, total: number) => `${done} of ${countOf(total, 'object')} copied`,
  follow: (done: number) => `${countOf(done, 'change')} followed`,
  sealed: () => 'nobody changes an object for a moment',
  remove: (done: number, total: number) => `${done} of ${countOf(total, 'object')} removed where they were`,
};

export function modelMoveCommand(io: Io): Command {
  const command = new Command('move')
    .description('move the objects of a model to another store, while replicas serve it; goes on after an interruption')
    .argument('<type>', 'the model: plural.group')
    .requiredOption('--to <store>', 'name of the target store; the former store cancels an unfinished move')
    .option('--kind <kind>', 'the kind of the model, when the stores do not tell')
    .option('--database <url>', 'the default store')
    .option('--config <file>', 'the config file of the service, with its "stores"; also KINDRED_CONFIG')
    .addOption(repeatable('--set <name=value>', 'a setting of the service; repeatable'))
    .addHelpText(
      'after',
      `
Works on the databases: it needs the settings "database" and "stores" as the service has them, and no service. Every
replica must have the store. Reads go on; writes get 503 for the last seconds. Objects get other uids and revisions.`,
    )
    .action(async (model: string, { to, kind, database, config, set, retryFor }: Flags) => {
      const file = config ?? (io.env.KINDRED_CONFIG || undefined);
      const { values } = await resolveSettings({
        flags: { ...(database !== undefined && { database }) },
        ...(set && { assignments: set }),
        env: io.env,
        ...(file !== undefined && { file }),
      });
      if (!/^[^.]+\../.test(model))
        throw new UsageError(`expected a model such as readings.telemetry.example.com, not "${model}"`);
      const options = nested(values) as ServiceOptions;
      const { move } = await import('../maintenance.ts');
      const progress = startProgress(io, `Moving ${model} to the store "${to}"`, undefined);
      const interrupt = onInterrupt();
      const patience = new Patience({
        patience: retryFor,
        stop: interrupt.stop,
        onWait: ({ message }: KindredError) => progress.notice(`${message}; trying again`),
      });
      const result = await move({
        model,
        to,
        kind,
        database: options.database,
        stores: options.stores,
        allowUnsafeDurability: options.allowUnsafeDurability,
        reservedDomain: options.reservedDomain,
        onProgress: ({ step, done, total }) => progress.update(done, steps[step](done, total)),
        attempt: (call) => retrying(call, isPassing, patience),
        signal: interrupt.stop,
        warn: (message) => progress.notice(message),
      } as Parameters<typeof move>[0])
        .catch((error: unknown) => {
          progress.abort('Stopped; the same command goes on from there');
          throw interrupt.stop.aborted ? new Exit(1) : error;
        })
        .finally(interrupt.release);
      progress.stop('Done');
      const { objects, claims, sealed, wasThere } = result;
      const uniques = claims > 0 ? `, ${claims} unique values` : '';
      const detail = wasThere ? '' : `${uniques}; no writes for ${(sealed / 1000).toFixed(1)} s`;
      await write(io.stdout, `${countOf(objects, 'object')} in the store "${to}"${detail}\n`);
    });
  return withRetry(command);
}
