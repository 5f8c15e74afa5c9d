import type { Command } from 'commander';
import { Option } from 'commander';
import type { SelectQuery } from '../client/client.ts';

export interface SelectFlags {
  sort?: string[];
  labelSelector?: string[];
  fieldSelector?: string[];
}

/** Adds the repeatable selectors of a list to a command, and with `sort` its order. */
export function withSelectors(command: Command, { sort }: { sort: boolean }): Command {
  command
    .addOption(
      repeatable(
        '--label-selector <terms>',
        'objects whose labels match, such as "env=prod,team in (a,b)"; repeatable',
      ),
    )
    .addOption(
      repeatable('--field-selector <terms>', 'objects whose indexed fields match, such as "spec.age>=18"; repeatable'),
    );
  if (sort) command.addOption(repeatable('--sort <key>', 'an index, or "<index>,asc" or "<index>,desc"; repeatable'));
  return command;
}

export function repeatable(flags: string, description: string): Option {
  return new Option(flags, description).argParser((value: string, all: string[] | undefined) => [
    ...(all ?? []),
    value,
  ]);
}

export function selectOf({ sort, labelSelector, fieldSelector }: SelectFlags): SelectQuery {
  return {
    ...(labelSelector && { labelSelector }),
    ...(fieldSelector && { fieldSelector }),
    // As it was typed: what is no sort key is the service's to refuse.
    ...(sort && { sort: sort as SelectQuery['sort'] }),
  };
}
