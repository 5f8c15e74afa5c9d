import { Command } from 'commander';
import type { MigrateProgress } from '../service.ts';
import { databaseUrl } from './database.ts';
import type { Io } from './io.ts';
import { write } from './io.ts';
import { startProgress } from './progress.ts';

const stepTexts: Readonly<Record<MigrateProgress['step'], string>> = {
  rows: 'objects',
  claims: 'unique values',
  changes: 'changes',
  verify: 'compared',
};

export function migrateCommand(io: Io): Command {
  return new Command('migrate')
    .description('move everything from one database into another and compare both; goes on after an interruption')
    .requiredOption('--from <url>', 'the database to read; no service may use it meanwhile')
    .requiredOption('--to <url>', 'the database to fill; empty, or what an interrupted run left')
    .action(async (flags: { from: string; to: string }) => {
      const from = databaseUrl('--from', flags.from);
      const to = databaseUrl('--to', flags.to);
      const { migrate, shownUrl } = await import('../service.ts');
      const progress = startProgress(io, `Moving ${shownUrl(from)} to ${shownUrl(to)}`, undefined);
      const result = await migrate(from, to, {
        onProgress: ({ step, done, total }) =>
          progress.update(done, `${done}${total > 0 ? ` of ${total}` : ''} ${stepTexts[step]}`),
      }).catch((error: unknown) => {
        progress.abort('Stopped; the same command goes on from there');
        throw error;
      });
      progress.stop('Both are equal');
      const { rows, claims, changes, revision, hash } = result;
      await write(
        io.stdout,
        `${rows} objects, ${claims} unique values, ${changes} changes, revision ${revision}, SHA-256 ${hash}\n`,
      );
    });
}
