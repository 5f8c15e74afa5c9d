import { Command } from 'commander';
import { retryOnConflict } from '../client/client.ts';
import type { ConnectionFlags } from './connection.ts';
import { connect, withConnection } from './connection.ts';
import type { Io } from './io.ts';
import { UsageError } from './io.ts';
import type { NamespaceFlags } from './namespace.ts';
import { fullNameIn, withNamespace } from './namespace.ts';
import type { ResultFormat } from './output.ts';
import { formatOption, printResult, resultFormats } from './output.ts';
import { Types } from './types.ts';

export function finalizerCommand(io: Io): Command {
  return new Command('finalizer').description('what deleted objects wait for').addCommand(removeCommand(io));
}

interface Flags extends ConnectionFlags, NamespaceFlags {
  all?: boolean;
  output: ResultFormat;
}

function removeCommand(io: Io): Command {
  const command = new Command('remove')
    .description('remove finalizers, so that a deletion can complete')
    .argument('<type>', 'plural, plural.group or plural.version.group')
    .argument('<name>', 'name of the object')
    .argument('[finalizers...]', 'finalizers to remove')
    .option('--all', 'remove all finalizers')
    .addOption(formatOption(resultFormats, 'table'))
    .action(async (text: string, plainName: string, finalizers: string[], { all = false, ...flags }: Flags) => {
      const client = connect(flags, io);
      const type = await new Types(client).resolve(text);
      const { model, label } = type;
      const name = fullNameIn(type, plainName, flags);
      const left = await retryOnConflict(async () => {
        const { metadata } = await client.get(model, name);
        const { finalizers: there = [], version } = metadata;
        const known = there.length > 0 ? `its finalizers are ${there.join(', ')}` : 'it has no finalizers';
        if (all === finalizers.length > 0) throw new UsageError(`name finalizers, or give --all; ${known}`);
        const missing = finalizers.filter((one) => !there.includes(one));
        if (missing.length > 0) throw new Error(`${label}/${name} does not have ${missing.join(', ')}; ${known}`);
        const rest = all ? [] : there.filter((one) => !finalizers.includes(one));
        // With the version: somebody may be putting another one there.
        return client.patch(model, name, { metadata: { version, finalizers: rest } });
      });
      const { deletionTimestamp, finalizers: rest = [] } = left.metadata;
      const waiting = rest.length > 0 ? `has the finalizers ${rest.join(', ')}` : 'has no finalizers';
      await printResult(io, flags.output, left, {
        label,
        done: deletionTimestamp && rest.length === 0 ? 'is gone' : waiting,
      });
    });
  return withConnection(withNamespace(command), io);
}
