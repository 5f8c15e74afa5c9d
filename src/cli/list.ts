import { Command } from 'commander';
import type { KindredClient, ModelClient, SelectQuery } from '../client/client.ts';
import type { ExtensionObject } from '../model/object.ts';
import type { ConnectionFlags } from './connection.ts';
import { connect, withConnection } from './connection.ts';
import type { Io } from './io.ts';
import { UsageError } from './io.ts';
import { namespaceOf, orderOf } from './namespace.ts';
import { objectFormatOption } from './output.ts';
import type { PageFacts, TargetFormat } from './print-objects.ts';
import { isTable, labelColumnsOption, printTargets, wholePage } from './print-objects.ts';
import type { ListFlags } from './select.ts';
import { isSelecting, selectOf, withList } from './select.ts';
import type { Target } from './targets.ts';
import { targetsOf } from './targets.ts';
import type { ResourceType } from './types.ts';
import { Types } from './types.ts';

interface Flags extends ConnectionFlags, ListFlags, TargetFormat {}

export function listCommand(io: Io): Command {
  const command = new Command('list')
    .description('print all objects of a type by name, in another order, or a page of them')
    .argument('[type]', 'TYPE: plural, plural.group or plural.version.group; several with commas')
    .addOption(objectFormatOption('table'))
    .option('--no-headers', 'a table without its line of heads')
    .addOption(labelColumnsOption())
    .option('--show-labels', 'a table with the labels')
    .option('--show-managed-fields', 'JSON and YAML: say who owns which field')
    .action(async (text: string | undefined, flags: Flags) => {
      const client = connect(flags, io);
      const targets = await targetsOf(new Types(client), text === undefined ? [] : [text], flags);
      if (targets.some(({ names }) => names.length > 0)) {
        throw new UsageError(`list takes a TYPE alone; "kindred get ${text}" prints an object`);
      }
      await printLists(io, client, targets, flags);
    });
  return withConnection(withList(command), io);
}

/** All objects of each target's type that the flags select. */
export async function printLists(
  io: Io,
  client: KindredClient,
  targets: readonly Target[],
  flags: ListFlags & TargetFormat,
): Promise<void> {
  await printTargets(io, targets, flags, async ({ type }, printer) => {
    const { model, label } = type;
    const { items, page } = await found(type, client.for(model), flags);
    let shown = 0;
    for await (const object of items) {
      await printer.add(object);
      shown++;
    }
    const line = isTable(flags.output)
      ? { line: summary(shown, page ?? wholePage(shown), isSelecting(flags) ? `${label} that match` : label) }
      : {};
    return { ...(page && { page }), ...line };
  });
}

/** A page when one is asked for, in the order of the service's own lists; otherwise all objects as they arrive, by name. */
async function found(
  type: ResourceType,
  objects: ModelClient<ExtensionObject>,
  { page, size, sort: keys, sortBy, limit, ...flags }: ListFlags,
): Promise<{ items: Iterable<ExtensionObject> | AsyncIterable<ExtensionObject>; page?: PageFacts }> {
  const sort = sortBy === undefined ? keys : [...(keys ?? []), sortBy];
  // As it was typed: what is no sort key is the service's to refuse.
  const place = namespaceOf(type, flags);
  const query: SelectQuery = { ...place, ...selectOf(flags), ...(sort && { sort: sort as SelectQuery['sort'] & {} }) };
  if (page === undefined && size === undefined) {
    const items = objects.listAll({ sort: orderOf(type, flags), ...query });
    if (limit === undefined) return { items };
    const total = await objects.count(query);
    return { items: first(items, limit), page: pageOf(limit, total) };
  }
  if (limit !== undefined) throw new UsageError('--limit is for the whole list; --size is for a page');
  const {
    items,
    revision: _revision,
    ...facts
  } = await objects.list({
    ...query,
    ...(page !== undefined && { page }),
    ...(size !== undefined && { size }),
  });
  return { items, page: facts };
}

async function* first<T>(items: AsyncIterable<T>, limit: number): AsyncGenerator<T> {
  let count = 0;
  for await (const item of items) {
    yield item;
    if (++count === limit) return;
  }
}

function pageOf(size: number, total: number): PageFacts {
  const last = total <= size;
  const totalPages = Math.ceil(total / size);
  return { page: 1, size, total, first: true, last, hasNext: !last, hasPrevious: false, totalPages };
}

/** @param what they are */
function summary(shown: number, { total, page, totalPages }: PageFacts, what: string): string {
  if (total === 0) return `There are no ${what}`;
  return `${shown} of ${total}${totalPages > 1 ? `, page ${page} of ${totalPages}` : ''}`;
}
