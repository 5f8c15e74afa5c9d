import { Command } from 'commander';
import { KindredError } from '../client/client.ts';
import type { ConnectionFlags } from './connection.ts';
import { connect, withConnection } from './connection.ts';
import { eachObject } from './each-object.ts';
import type { Io } from './io.ts';
import { Exit, UsageError } from './io.ts';
import type { ResultFormat } from './output.ts';
import { formatOption, printResult, resultFormats } from './output.ts';
import type { SelectFlags } from './select.ts';
import { isSelecting, selectOf, withSelectors } from './select.ts';
import type { Target } from './targets.ts';
import { filesOption, targetHelp, targetsFrom } from './targets.ts';
import { Types } from './types.ts';

interface Flags extends ConnectionFlags, SelectFlags {
  output: ResultFormat;
  filename?: string[];
  all?: boolean;
  ignoreNotFound?: boolean;
}

export function deleteCommand(io: Io): Command {
  const command = new Command('delete')
    .description('delete objects: those of the names, those that match, or all of a type')
    .argument('[what...]', targetHelp)
    .addOption(filesOption())
    .option('--all', 'all objects of the type')
    .option('--ignore-not-found', 'pass over names that are not there')
    .addOption(formatOption(resultFormats, 'table'))
    .action(async (what: string[], { filename, ...flags }: Flags) => {
      const client = connect(flags, io);
      const { targets, refused } = await targetsFrom(io, new Types(client), what, filename);
      const isNamed = filename !== undefined || targets.some(({ names }) => names.length > 0);
      const ways = [isNamed, isSelecting(flags), flags.all].filter(Boolean).length;
      if (ways !== 1) {
        throw new UsageError(
          'delete needs names, or selectors (-l, --field-selector), or --all, and one of these alone',
        );
      }
      const chosen = isNamed
        ? targets
        : await Promise.all(
            targets.map(async ({ type }): Promise<Target> => {
              const names = await client.for(type.model).listNames({ ...selectOf(flags), sort: ['metadata.name,asc'] });
              if (names.length === 0) io.stderr.write(`There are no ${type.label} to delete\n`);
              return { type, names };
            }),
          );
      const failures = await eachObject(io, chosen, async ({ model, label }, name) => {
        const object = await client.delete(model, name).catch((error: unknown) => {
          if (flags.ignoreNotFound && error instanceof KindredError && error.code === 'NotFound') return undefined;
          throw error;
        });
        if (!object) return;
        const { finalizers = [] } = object.metadata;
        const done =
          finalizers.length > 0 ? `is being deleted, waiting for the finalizers ${finalizers.join(', ')}` : 'deleted';
        await printResult(io, flags.output, object, { label, done });
      });
      if (refused + failures > 0) throw new Exit(1);
    });
  return withConnection(withSelectors(command), io);
}
