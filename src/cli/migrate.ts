import { Command } from 'commander';
import type { KindredError } from '../client/client.ts';
import { Patience } from '../client/client.ts';
import { retrying } from '../client/retry.ts';
import { isPassing } from '../errors.ts';
import type { MigrateProgress } from '../maintenance.ts';
import { shownUrl } from '../runtime/shown-url.ts';
import type { RetryFlags } from './connection.ts';
import { withRetry } from './connection.ts';
import { databaseUrl } from './database.ts';
import { onInterrupt } from './interrupt.ts';
import type { Io } from './io.ts';
import { Exit, write } from './io.ts';
import { startProgress } from './progress.ts';

const stepTexts: Readonly<Record<MigrateProgress['step'], string>> = {
  rows: 'objects',
  claims: 'unique values',
  changes: 'changes',
  verify: 'compared',
};

export function migrateCommand(io: Io): Command {
  const command = new Command('migrate')
    .description('move everything from one database into another and compare both; goes on after an interruption')
    .requiredOption('--from <url>', 'the database to read; no service may use it meanwhile')
    .requiredOption('--to <url>', 'the database to fill; empty, or what an interrupted run left')
    .action(async (flags: { from: string; to: string } & RetryFlags) => {
      const from = databaseUrl('--from', flags.from);
      const to = databaseUrl('--to', flags.to);
      const { migrate } = await import('../maintenance.ts');
      const progress = startProgress(io, `Moving ${shownUrl(from)} to ${shownUrl(to)}`, undefined);
      const interrupt = onInterrupt();
      const onWait = ({ message }: KindredError) => progress.notice(`${message}; trying again`);
      const patience = new Patience({ patience: flags.retryFor, stop: interrupt.stop, onWait });
      const result = await migrate(from, to, {
        onProgress: ({ step, done, total }) =>
          progress.update(done, `${done}${total > 0 ? ` of ${total}` : ''} ${stepTexts[step]}`),
        // What was written twice is the same.
        attempt: (call) => retrying(call, isPassing, patience),
        signal: interrupt.stop,
      })
        .catch((error: unknown) => {
          progress.abort('Stopped; the same command goes on from there');
          throw interrupt.stop.aborted ? new Exit(1) : error;
        })
        .finally(interrupt.release);
      progress.stop('Both are equal');
      const { rows, claims, changes, revision, hash } = result;
      const uniques = claims > 0 ? `${claims} unique values, ` : '';
      await write(io.stdout, `${rows} objects, ${uniques}${changes} changes, revision ${revision}, SHA-256 ${hash}\n`);
    });
  return withRetry(command);
}
