import { Command } from 'commander';
import { shownUrl } from '../runtime/shown-url.ts';
import { databaseUrl } from './database.ts';
import type { Io } from './io.ts';
import { startProgress } from './progress.ts';

export function backupCommand(io: Io): Command {
  return new Command('backup')
    .description('copy a SQLite database into a file as it is at one moment, also while a service uses it')
    .requiredOption('-o, --output <file>', 'file to write; it must not be there')
    .option('--database <url>', 'the database (default: KINDRED_DATABASE, or sqlite:./kindred.db)')
    .action(async (flags: { output: string; database?: string }) => {
      const { backup } = await import('../maintenance.ts');
      const database = databaseUrl(
        flags.database === undefined && io.env.KINDRED_DATABASE ? 'KINDRED_DATABASE' : '--database',
        flags.database ?? (io.env.KINDRED_DATABASE || 'sqlite:./kindred.db'),
      );
      const percent = 100;
      const progress = startProgress(io, `Copying ${shownUrl(database)}`, percent);
      try {
        await backup(database, flags.output, (done, total) => {
          const part = Math.floor((done / Math.max(total, 1)) * percent);
          progress.update(part, `${part} %`);
        });
      } catch (error) {
        progress.abort('Stopped');
        throw error;
      }
      progress.stop(`Copied into ${flags.output}`);
    });
}
