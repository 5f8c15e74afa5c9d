import { Command } from 'commander';
import { shownUrl } from '../runtime/shown-url.ts';
import { countOf } from './count.ts';
import { databaseUrl } from './database.ts';
import type { Io } from './io.ts';
import { Exit } from './io.ts';
import type { Format } from './output.ts';
import { formatOption, print, valueFormats } from './output.ts';
import { checkPluginFolder, checkPluginPaths } from './plugin-paths.ts';
import { startProgress } from './progress.ts';
import { repeatable } from './select.ts';
import { settings } from './settings.ts';
import { table } from './table.ts';

interface Flags {
  database: string;
  plugin?: string[];
  plugins?: string;
  dev?: boolean;
  output: Format;
}

export function checkCommand(io: Io): Command {
  return new Command('check')
    .description(
      'compare stored objects with the models of the plugins, and unique values with the objects; changes nothing',
    )
    .requiredOption('--database <url>', 'the database, which no service on SQLite may use meanwhile')
    .addOption(repeatable('--plugin <path>', `${settings.plugin.help}; repeatable`))
    .option('--plugins <dir>', settings.pluginsDir.help)
    .option('--dev', 'plugins in TypeScript that needs more than its types taken out: decorators, enums')
    .addOption(formatOption(valueFormats, 'table'))
    .action(async ({ plugin = [], plugins, dev = false, output, ...flags }: Flags) => {
      const database = databaseUrl('--database', flags.database);
      const { check } = await import('../maintenance.ts');
      const { findPackage } = await import('../plugin/loader.ts');
      checkPluginPaths(plugin, (source) => findPackage(source, process.cwd()));
      if (plugins !== undefined) checkPluginFolder(plugins);
      const progress = startProgress(io, `Checking ${shownUrl(database)}`, undefined);
      const report = await check(
        { database, plugins: plugin, ...(plugins !== undefined && { pluginFolder: plugins }), pluginHost: { dev } },
        (done, total) => progress.update(done, `${done} of ${countOf(total, 'object')}`),
      ).catch((error: unknown) => {
        progress.abort('Stopped');
        throw error;
      });
      const { models, problems } = report;
      const objects = models.reduce((sum, model) => sum + model.objects, 0);
      progress.stop(`${countOf(objects, 'object')}, ${countOf(problems.length, 'problem')}`);
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
