import { Command } from 'commander';
import { ifFound } from '../errors.ts';
import type { ChoiceFlags } from './choice.ts';
import { chosenTargets, withChoice } from './choice.ts';
import type { ConnectionFlags } from './connection.ts';
import { connect, withConnection } from './connection.ts';
import { eachObject } from './each-object.ts';
import type { Io } from './io.ts';
import { Exit } from './io.ts';
import type { ResultFormat } from './output.ts';
import { formatOption, printResult, resultFormats } from './output.ts';

interface Flags extends ConnectionFlags, ChoiceFlags {
  output: ResultFormat;
  ignoreNotFound?: boolean;
}

export function deleteCommand(io: Io): Command {
  const command = new Command('delete')
    .description('delete objects: those of the names, those that match, or all of a type')
    .option('--ignore-not-found', 'pass over names that are not there')
    .addOption(formatOption(resultFormats, 'table'))
    .addHelpText('after', '\nFor example: kindred delete countries -l visited=yes')
    .action(async (what: string[], flags: Flags) => {
      const client = connect(flags, io);
      const { targets, refused } = await chosenTargets(io, client, what, { ...flags, command: 'delete' });
      // A file has first what the rest of it needs, such as the definition of a type before its objects.
      const inTurn = flags.filename ? targets.toReversed() : targets;
      const failures = await eachObject(io, inTurn, async ({ model, label }, name) => {
        const remove = () => client.delete(model, name);
        const object = await (flags.ignoreNotFound ? ifFound(remove) : remove());
        if (!object) return;
        const { finalizers = [] } = object.metadata;
        const done =
          finalizers.length > 0 ? `is being deleted, waiting for the finalizers ${finalizers.join(', ')}` : 'deleted';
        await printResult(io, flags.output, object, { label, done });
      });
      if (refused + failures > 0) throw new Exit(1);
    });
  return withConnection(withChoice(command), io);
}
