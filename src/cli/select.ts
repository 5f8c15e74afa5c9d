import type { Command } from 'commander';
import { InvalidArgumentError, Option } from 'commander';
import type { SelectQuery } from '../client/client.ts';
import type { NamespaceFlags } from './namespace.ts';
import { withNamespaces } from './namespace.ts';

export interface SelectFlags extends NamespaceFlags {
  labelSelector?: string[];
  /** As kubectl calls it. */
  selector?: string[];
  fieldSelector?: string[];
}

export interface ListFlags extends SelectFlags {
  sort?: string[];
  /** As kubectl writes a sort key: a JSONPath. */
  sortBy?: string;
  page?: number;
  size?: number;
  limit?: number;
}

/** Adds the namespace and the repeatable selectors of a list to a command. */
export function withSelectors(command: Command): Command {
  return withNamespaces(command)
    .addOption(
      repeatable(
        '-l, --label-selector <terms>',
        'objects whose labels match, such as "env=prod,team in (a,b)"; repeatable',
      ),
    )
    .addOption(
      repeatable('--field-selector <terms>', 'objects whose indexed fields match, such as "spec.age>=18"; repeatable'),
    )
    .addOption(repeatable('--selector <terms>', 'as --label-selector').hideHelp());
}

/** The selectors, the order and the page of a list. */
export function withList(command: Command): Command {
  return withSelectors(command)
    .addOption(
      repeatable('--sort <key>', 'an index, or "<index>,asc" or "<index>,desc" (default: by name); repeatable'),
    )
    .addOption(
      new Option('--sort-by <path>', 'as --sort, as kubectl writes it: ".spec.age"').argParser(sortKeyOf).hideHelp(),
    )
    .option('--page <number>', 'only this page, from 1', wholeNumber)
    .option('--size <number>', 'only a page of so many objects (default with --page: 20)', wholeNumber)
    .option('--limit <number>', 'only the first so many objects of the whole list', positiveNumber);
}

/** `{.spec.age}` and `.spec.age` are the index `spec.age`, in ascending order whatever the index's own is. */
function sortKeyOf(path: string): string {
  return `${path.replace(/^\{(.*)\}$/s, '$1').replace(/^\./, '')},asc`;
}

function positiveNumber(text: string): number {
  if (!/^\d*[1-9]\d*$/.test(text)) throw new InvalidArgumentError('It needs a whole number above 0.');
  return Number(text);
}

function wholeNumber(text: string): number {
  if (!/^-?\d+$/.test(text)) throw new InvalidArgumentError('It needs a whole number.');
  return Number(text);
}

export function repeatable(flags: string, description: string): Option {
  return new Option(flags, description).argParser((value: string, all: string[] | undefined) => [
    ...(all ?? []),
    value,
  ]);
}

export function selectOf({ labelSelector = [], selector = [], fieldSelector }: SelectFlags): SelectQuery {
  const labels = [...labelSelector, ...selector];
  return { ...(labels.length > 0 && { labelSelector: labels }), ...(fieldSelector && { fieldSelector }) };
}

/** Whether only some objects are meant. */
export function isSelecting(flags: SelectFlags): boolean {
  return Object.keys(selectOf(flags)).length > 0;
}
