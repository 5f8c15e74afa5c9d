import { Command } from 'commander';
import { shownUrl } from '../runtime/shown-url.ts';
import { countOf } from './count.ts';
import { databaseUrl } from './database.ts';
import type { Io } from './io.ts';
import { UsageError, write } from './io.ts';

export function restoreCommand(io: Io): Command {
  return new Command('restore')
    .description('restore a SQLite backup; new revisions start above every revision that clients have seen')
    .argument('[file]', 'a file that "kindred backup" made')
    .requiredOption(
      '--database <url>',
      'URL of the new database, which must not exist; with --after: URL of the restored one',
    )
    .option('--after', 'instead of a file: the database was put back by its own tools; no service may use it meanwhile')
    .action(async (file: string | undefined, { after, ...flags }: { database: string; after?: boolean }) => {
      const database = databaseUrl('--database', flags.database);
      if ((file === undefined) !== (after === true)) {
        throw new UsageError('restore takes a file, or --after for a database that its own tools have put back');
      }
      const { afterRestore, restore } = await import('../maintenance.ts');
      if (file === undefined) {
        await write(io.stdout, `${shownUrl(database)} goes on after revision ${await afterRestore(database)}\n`);
        return;
      }
      const { revision, objects } = await restore(file, database);
      const holds = `${shownUrl(database)} holds ${countOf(objects, 'object')}`;
      await write(io.stdout, `${holds} and goes on after revision ${revision}\n`);
    });
}
