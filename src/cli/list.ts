import { Command, InvalidArgumentError } from 'commander';
import type { ConnectionFlags } from './connection.ts';
import { connect, withConnection } from './connection.ts';
import type { Io } from './io.ts';
import type { Format } from './output.ts';
import { formatOption, objectTable, print } from './output.ts';
import type { SelectFlags } from './select.ts';
import { selectOf, withSelectors } from './select.ts';
import { Types } from './types.ts';

interface Flags extends ConnectionFlags, SelectFlags {
  output: Format;
  page?: number;
  size?: number;
}

export function listCommand(io: Io): Command {
  const command = new Command('list')
    .description('print a page of the objects of a type')
    .argument('<type>', 'plural, plural.group or plural.version.group')
    .option('--page <number>', 'from 1 (default 1)', integer)
    .option('--size <number>', 'objects on a page (default 20)', integer)
    .addOption(formatOption('table'))
    .action(async (text: string, flags: Flags) => {
      const client = connect(flags, io);
      const { model } = await new Types(client).resolve(text);
      const { page, size } = flags;
      const found = await client.for(model).list({
        ...selectOf(flags),
        ...(page !== undefined && { page }),
        ...(size !== undefined && { size }),
      });
      await print(io, flags.output, found, () => objectTable(found.items, Date.now()));
      if (flags.output !== 'table') return;
      io.stderr.write(
        `${found.items.length} of ${found.total}${found.totalPages > 1 ? `, page ${found.page} of ${found.totalPages}` : ''}\n`,
      );
    });
  return withConnection(withSelectors(command, { sort: true }), io);
}

function integer(text: string): number {
  if (!/^-?\d+$/.test(text)) throw new InvalidArgumentError('It needs a whole number.');
  return Number(text);
}
