import type { Command } from 'commander';
import { fullNameOf } from '../model/full-name.ts';
import type { ExtensionObject } from '../model/object.ts';
import { isRecord } from '../model/object.ts';
import type { Io } from './io.ts';
import { UsageError } from './io.ts';
import type { Apply, Change } from './write-documents.ts';
import { writeCommand } from './write-documents.ts';

export function applyCommand(io: Io): Command {
  const description = 'create the objects of files, or change what the files say of those that are there already';
  const merge: Change = (client, model, object, before) =>
    client.patch(model, fullNameOf(before.metadata), patchFor(object, before), 'merge');
  return writeCommand(io, 'apply', description, merge, serverSide)
    .option(
      '--server-side',
      'let the service merge: the fields of the file belong to you, and those you leave out later go',
    )
    .option('--field-manager <name>', 'with --server-side: who owns the fields (default: kindred-cli)')
    .option('--force-conflicts', 'with --server-side: take fields that others own with other values')
    .option('--dry-run', 'with --server-side: show what would become of the objects, and store nothing');
}

/** Server-side apply, where it is asked for. */
const serverSide: Apply = (client, model, object, flags) => {
  if (!flags.serverSide) {
    const [flag] = (['fieldManager', 'forceConflicts', 'dryRun'] as const).filter((name) => flags[name] !== undefined);
    if (flag === undefined) return undefined;
    throw new UsageError(`--${flag.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)} needs --server-side`);
  }
  if (!object.metadata.name) throw new UsageError('--server-side needs metadata.name in every object');
  return client.apply(model, object, {
    fieldManager: flags.fieldManager ?? 'kindred-cli',
    ...(flags.forceConflicts && { force: true }),
    ...(flags.dryRun && { dryRun: true }),
  });
};

/**
 * The merge patch (RFC 7396) that makes an object what a file says: members that the file does not mention stay, lists
 * are replaced whole, `null` takes a member away. Finalizers are added to those that are there; the patch is conditional
 * then, so that one that somebody adds in between is not lost.
 */
export function patchFor(file: ExtensionObject, before: ExtensionObject): object {
  const { apiVersion, kind, metadata, ...members } = file;
  const { name, generateName, creationTimestamp, deletionTimestamp, finalizers, ...rest } = metadata;
  // In metadata `null` counts as absent.
  const said = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== null));
  const { finalizers: there = [], version } = before.metadata;
  const isUnion = Array.isArray(finalizers) && finalizers.some((one) => !there.includes(one));
  const added = isUnion && { version, finalizers: [...new Set([...there, ...finalizers])] };
  // What is no list is for the service to refuse.
  const wrong = finalizers && !Array.isArray(finalizers) && { finalizers };
  return { metadata: { ...added, ...wrong, ...said }, ...(withoutKnownNulls(members, before) as object) };
}

/** Without `null` where `null` is stored: a patch would take the member away. */
function withoutKnownNulls(patch: unknown, stored: unknown): unknown {
  if (!isObject(patch) || !isObject(stored)) return patch;
  const changes = Object.entries(patch).filter(([member, value]) => value !== null || stored[member] !== null);
  return Object.fromEntries(changes.map(([member, value]) => [member, withoutKnownNulls(value, stored[member])]));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return isRecord(value) && !isRawNumber(value);
}

/** A number kept as it was written, see `parseExact`. */
function isRawNumber(value: object): boolean {
  return (JSON as unknown as { isRawJSON(value: unknown): boolean }).isRawJSON(value);
}
