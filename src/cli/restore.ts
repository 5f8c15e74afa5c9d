import { Command } from 'commander';
import type { Io } from './io.ts';
import { write } from './io.ts';

export function restoreCommand(io: Io): Command {
  return new Command('restore')
    .description('put a backup in the place of a SQLite database; revisions go on beyond all that were ever seen')
    .argument('<file>', 'a file that "kindred backup" made')
    .requiredOption('--database <url>', 'where the database is to be; there must be none')
    .action(async (file: string, { database }: { database: string }) => {
      const { restore } = await import('../service.ts');
      const { revision } = await restore(file, database);
      await write(io.stdout, `${database} goes on after revision ${revision}\n`);
    });
}
