/**
 * `apply` states the fields that a file wants, as server-side apply does: those that the file named before and leaves out now
 * go. Without `--server-side` it takes fields that others edited, and leaves alone what others applied; with it, both are
 * conflicts, as for Kubernetes.
 */
import type { Command } from 'commander';
import { InvalidArgumentError, Option } from 'commander';
import { KindredError } from '../client/client.ts';
import type { ExtensionObject } from '../model/object.ts';
import type { Io } from './io.ts';
import { UsageError } from './io.ts';
import { withoutManagedFields } from './output.ts';
import { repeatable } from './select.ts';
import type { Change } from './write-documents.ts';
import { defaultManager, writeCommand } from './write-documents.ts';

export function applyCommand(io: Io): Command {
  const description = 'create or update objects from files; fields that you applied earlier and now omit are removed';
  return writeCommand(io, 'apply', description, applied)
    .option('--server-side', 'report fields set by others, in any way, as conflicts')
    .option('--field-manager <name>', `who owns the fields (default: ${defaultManager})`)
    .option('--force-conflicts', 'take fields that others own with other values')
    .addOption(
      new Option('--dry-run [mode]', 'show what the service would make of the objects, and store nothing').argParser(
        dryRunOf,
      ),
    )
    .option(
      '--prune',
      'afterwards delete the objects that you applied before, that match -l, and that are in no file; of the types in the files',
    )
    .addOption(
      repeatable(
        '-l, --label-selector <terms>',
        'with --prune: objects whose labels match, such as "app=shop"; repeatable',
      ),
    )
    .addOption(repeatable('--selector <terms>', 'as --label-selector').hideHelp())
    .option('--all', 'with --prune: whatever their labels are');
}

/** As kubectl spells it. Both modes ask the service: it alone has the schema, the defaults and the owners. */
function dryRunOf(mode: string): boolean {
  if (!['server', 'client', 'none'].includes(mode))
    throw new InvalidArgumentError('Allowed are server, client and none.');
  return mode !== 'none';
}

/** One apply. An object without a name is created each time. */
export const applied: Change = async (client, model, object, before, flags) => {
  // A document may lack anything.
  if (!object.metadata?.name) {
    if (flags.serverSide) throw new UsageError('--server-side needs metadata.name in every object');
    return client.create(model, object);
  }
  // No URL leads to it. The answer to a creation says what is wrong with the name.
  if (/^\.\.?$/.test(object.metadata.name)) return client.create(model, object);
  const options = { fieldManager: flags.fieldManager ?? defaultManager, ...(flags.dryRun && { dryRun: true }) };
  const wanted = applicable(object);
  try {
    return await client.apply(model, wanted, { ...options, ...(flags.forceConflicts && { force: true }) });
  } catch (error) {
    if (flags.serverSide || !before || !isOnlyEdited(error)) throw error;
    // As it was read: nobody may have applied one of these fields since.
    const { version = before.metadata.version } = wanted.metadata;
    return client.apply(model, { ...wanted, metadata: { ...wanted.metadata, version } }, { ...options, force: true });
  }
};

/** Whether the fields in the way were all edited, and none of them applied. */
function isOnlyEdited(error: unknown): boolean {
  if (!(error instanceof KindredError) || error.code !== 'FieldConflict') return false;
  const { conflicts = [], omitted = 0 } = error;
  return conflicts.length > 0 && omitted === 0 && conflicts.every(({ operation }) => operation === 'Update');
}

/** Without what the service alone says, so that what `get` printed can be applied. */
function applicable(object: ExtensionObject): ExtensionObject {
  const { creationTimestamp: _created, deletionTimestamp: _deleted, ...rest } = withoutManagedFields(object).metadata;
  return { ...object, metadata: rest };
}
