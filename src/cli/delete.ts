import { Command } from 'commander';
import type { ConnectionFlags } from './connection.ts';
import { connect, withConnection } from './connection.ts';
import type { Io } from './io.ts';
import type { Format } from './output.ts';
import { formatOption, print } from './output.ts';
import { Types } from './types.ts';

interface Flags extends ConnectionFlags {
  output: Format;
}

export function deleteCommand(io: Io): Command {
  const command = new Command('delete')
    .description('delete one object')
    .argument('<type>', 'plural, plural.group or plural.version.group')
    .argument('<name>', 'name of the object')
    .addOption(formatOption('table'))
    .action(async (text: string, name: string, flags: Flags) => {
      const client = connect(flags, io);
      const { model, label } = await new Types(client).resolve(text);
      const object = await client.delete(model, name);
      const { finalizers = [] } = object.metadata;
      await print(io, flags.output, object, () =>
        finalizers.length > 0
          ? `${label}/${name} is being deleted, waiting for ${finalizers.join(', ')}\n`
          : `${label}/${name} deleted\n`,
      );
    });
  return withConnection(command, io);
}
