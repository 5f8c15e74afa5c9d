import { Command } from 'commander';
import type { ConnectionFlags } from './connection.ts';
import { connect, withConnection } from './connection.ts';
import { eachObject } from './each-object.ts';
import type { Io } from './io.ts';
import { Exit, UsageError } from './io.ts';
import { Template } from './jsonpath.ts';
import { printLists } from './list.ts';
import type { ObjectFormat } from './output.ts';
import { objectFormatOption } from './output.ts';
import { labelColumnsOption, printTargets } from './print-objects.ts';
import type { ListFlags } from './select.ts';
import { isSelecting, withList } from './select.ts';
import { filesOption, targetHelp, targetsFrom } from './targets.ts';
import { Types } from './types.ts';
import { watchTargets } from './watch.ts';

interface Flags extends ConnectionFlags, ListFlags {
  output?: ObjectFormat;
  headers: boolean;
  showManagedFields?: boolean;
  labelColumns?: string[];
  showLabels?: boolean;
  filename?: string[];
  ignoreNotFound?: boolean;
  watch?: boolean;
}

export function getCommand(io: Io): Command {
  const command = new Command('get')
    .description('print objects: those of the names, or all of a type')
    .argument('[what...]', targetHelp)
    .addOption(filesOption())
    .addOption(objectFormatOption())
    .option('--no-headers', 'a table without its line of heads')
    .addOption(labelColumnsOption())
    .option('--show-labels', 'a table with the labels')
    .option('--show-managed-fields', 'JSON and YAML: say who owns which field')
    .option('--ignore-not-found', 'pass over names that are not there')
    .option('-w, --watch', 'print what is there, and then every change until interrupted')
    .addHelpText(
      'after',
      '\nFor example:\n  kindred get cities -l atlas.example.com/rank=capital\n  kindred get cities -o jsonpath=\'{range .items[*]}{.metadata.name}{"\\n"}{end}\'',
    )
    .action(async (what: string[], { output = 'table', filename, ...flags }: Flags) => {
      const client = connect(flags, io);
      const { targets, refused } = await targetsFrom(io, new Types(client), what, filename, flags);
      const count = targets.reduce((sum, { names }) => sum + names.length, 0);
      if (filename || count > 0) assertNoList(flags);
      if (flags.watch) {
        await watchTargets(io, client, targets, { ...flags, output, rows: true, sendInitial: true });
        return;
      }
      if (!filename && count === 0) {
        await printLists(io, client, targets, { ...flags, output });
        return;
      }
      const isAlone = count === 1 && (output === 'json' || output === 'yaml' || output instanceof Template);
      let failures = refused;
      await printTargets(io, targets, { ...flags, output, isAlone }, async (target, printer) => {
        failures += await eachObject(io, [target], async ({ model }, name) => {
          const object = await (flags.ignoreNotFound ? client.fetch(model, name) : client.get(model, name));
          if (object) await printer.add(object);
        });
        return {};
      });
      if (failures > 0) throw new Exit(1);
    });
  return withConnection(withList(command), io);
}

function assertNoList(flags: ListFlags): void {
  const { sort, sortBy, page, size, limit } = flags;
  if (!isSelecting(flags) && [sort, sortBy, page, size, limit].every((one) => one === undefined)) return;
  throw new UsageError(
    'selectors, --sort, --page and --size choose among the objects of a TYPE; give no names with them',
  );
}
