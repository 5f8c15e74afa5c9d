import { Command } from 'commander';
import type { ConnectionFlags } from './connection.ts';
import { connect, withConnection } from './connection.ts';
import type { Io } from './io.ts';
import type { Format } from './output.ts';
import { formatOption, objectTable, print } from './output.ts';
import { Types } from './types.ts';

interface Flags extends ConnectionFlags {
  output: Format;
}

export function getCommand(io: Io): Command {
  const command = new Command('get')
    .description('print one object')
    .argument('<type>', 'plural, plural.group or plural.version.group')
    .argument('<name>', 'name of the object')
    .addOption(formatOption('yaml'))
    .action(async (text: string, name: string, flags: Flags) => {
      const client = connect(flags, io);
      const { model } = await new Types(client).resolve(text);
      const object = await client.get(model, name);
      await print(io, flags.output, object, () => objectTable([object], Date.now()));
    });
  return withConnection(command, io);
}
