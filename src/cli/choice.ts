/** Objects that a command does something to: by names, by files, by selectors, or all of a type. */
import type { Command } from 'commander';
import type { KindredClient } from '../client/client.ts';
import type { Io } from './io.ts';
import { UsageError } from './io.ts';
import { namespaceOf, orderOf } from './namespace.ts';
import type { SelectFlags } from './select.ts';
import { isSelecting, selectOf, withSelectors } from './select.ts';
import type { Target } from './targets.ts';
import { filesOption, targetHelp, targetsFrom } from './targets.ts';
import { Types } from './types.ts';

export interface ChoiceFlags extends SelectFlags {
  filename?: string[];
  all?: boolean;
}

/** Adds the arguments and the options that choose objects. */
export function withChoice(command: Command, help: string = targetHelp): Command {
  return withSelectors(
    command.argument('[what...]', help).addOption(filesOption()).option('--all', 'all objects of the type'),
  );
}

/**
 * The objects that are meant, by name.
 * @returns also how many documents of the files are no objects of the service; they are reported
 * @throws UsageError unless exactly one of the ways is taken
 */
export async function chosenTargets(
  io: Io,
  client: KindredClient,
  what: readonly string[],
  { command, purpose = command, filename, all, ...flags }: ChoiceFlags & { command: string; purpose?: string },
): Promise<{ targets: readonly Target[]; refused: number }> {
  const { targets, refused } = await targetsFrom(io, new Types(client), what, filename, flags);
  const isNamed = filename !== undefined || targets.some(({ names }) => names.length > 0);
  const ways = [isNamed, isSelecting(flags), all].filter(Boolean).length;
  if (ways !== 1) {
    throw new UsageError(
      `${command} needs names, or selectors (-l, --field-selector), or --all, and one of these alone`,
    );
  }
  if (isNamed) return { targets, refused };
  const chosen = await Promise.all(
    targets.map(async ({ type }): Promise<Target> => {
      const select = { ...namespaceOf(type, flags), ...selectOf(flags), sort: orderOf(type, flags) };
      const names = await client.for(type.model).listNames(select);
      if (names.length === 0) io.stderr.write(`There are no ${type.label} to ${purpose}\n`);
      return { type, names };
    }),
  );
  return { targets: chosen, refused };
}
