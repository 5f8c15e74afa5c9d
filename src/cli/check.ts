import { Command } from 'commander';
import type { Io } from './io.ts';
import { Exit } from './io.ts';
import type { Format } from './output.ts';
import { formatOption, print, table } from './output.ts';
import { startProgress } from './progress.ts';
import { repeatable } from './select.ts';

interface Flags {
  database: string;
  plugin?: string[];
  plugins?: string;
  output: Format;
}

export function checkCommand(io: Io): Command {
  return new Command('check')
    .description(
      'compare stored objects with the models of the plugins, and unique values with the objects; changes nothing',
    )
    .requiredOption('--database <url>', 'the database, which no service on SQLite may use meanwhile')
    .addOption(repeatable('--plugin <path>', 'folder of a plugin package; repeatable'))
    .option('--plugins <dir>', 'folder whose sub-folders are plugin packages')
    .addOption(formatOption('table'))
    .action(async ({ database, plugin, plugins, output }: Flags) => {
      const { check, shownUrl } = await import('../service.ts');
      const progress = startProgress(io, `Checking ${shownUrl(database)}`, undefined);
      const report = await check(
        { database, ...(plugin && { plugins: plugin }), ...(plugins !== undefined && { pluginFolder: plugins }) },
        (done, total) => progress.update(done, `${done} of ${total} objects`),
      ).catch((error: unknown) => {
        progress.abort('Stopped');
        throw error;
      });
      const { models, problems } = report;
      progress.stop(`${models.reduce((sum, { objects }) => sum + objects, 0)} objects, ${problems.length} problems`);
      await print(io, output, report, () => {
        const rows = models.map(({ group, kind, objects, known }) => [
          kind,
          group || '-',
          String(objects),
          known ? String(problems.filter((one) => one.kind === kind && one.group === group).length) : 'no model',
        ]);
        const lines = problems.map(({ kind, name, reason }) => `${kind} ${name} ${reason}\n`);
        return table(['KIND', 'GROUP', 'OBJECTS', 'PROBLEMS'], rows) + lines.join('');
      });
      if (problems.length > 0) throw new Exit(1);
    });
}
