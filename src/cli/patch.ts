import { readFile } from 'node:fs/promises';
import { Command, Option } from 'commander';
import type { KindredClient } from '../client/client.ts';
import { partsOf } from '../model/full-name.ts';
import type { ExtensionObject } from '../model/object.ts';
import { parseYaml } from '../runtime/yaml.ts';
import type { ConnectionFlags } from './connection.ts';
import { connect, withConnection } from './connection.ts';
import { eachObject } from './each-object.ts';
import { exactIntegers } from './exact-json.ts';
import type { Io } from './io.ts';
import { Exit, UsageError } from './io.ts';
import type { NamespaceFlags } from './namespace.ts';
import { withNamespace } from './namespace.ts';
import type { ResultFormat } from './output.ts';
import { formatOption, printResult, resultFormats } from './output.ts';
import { namedTargets, targetHelp } from './targets.ts';
import type { ResourceType } from './types.ts';
import { Types } from './types.ts';

interface Flags extends ConnectionFlags, NamespaceFlags {
  patch?: string;
  patchFile?: string;
  type?: 'merge' | 'json';
  subresource?: 'status';
  output: ResultFormat;
}

export function patchCommand(io: Io): Command {
  const command = new Command('patch')
    .description('change members of objects')
    .argument('[what...]', targetHelp)
    .option('-p, --patch <patch>', 'the patch, as JSON or YAML')
    .option('--patch-file <file>', 'a file with the patch')
    .addOption(
      new Option(
        '--type <type>',
        'kind of patch: merge (RFC 7396), in which null removes a member, or json (RFC 6902), a list of operations; default: json for a list, merge otherwise',
      ).choices(['merge', 'json']),
    )
    .addOption(new Option('--subresource <name>', 'patch this part, of models that have it').choices(['status']))
    .addOption(formatOption(resultFormats, 'table'))
    .addHelpText('after', '\nFor example: kindred patch countries fr -p \'{"spec":{"subregion":null}}\'')
    .action(async (what: string[], flags: Flags) => {
      const patch = await patchFrom(flags);
      const kind = flags.type ?? (Array.isArray(patch) ? 'json' : 'merge');
      const client = connect(flags, io);
      const targets = await namedTargets(new Types(client), what, flags);
      const failures = await eachObject(io, targets, async (type, name) => {
        const object = flags.subresource
          ? await patchPart(client, type, name, flags.subresource, patch, kind)
          : await client.patch(type.model, name, patch, kind);
        await printResult(io, flags.output, object, { label: type.label, done: 'patched' });
      });
      if (failures > 0) throw new Exit(1);
    });
  return withConnection(withNamespace(command), io);
}

async function patchFrom({ patch, patchFile }: Flags): Promise<object> {
  if ((patch === undefined) === (patchFile === undefined))
    throw new UsageError('give a patch with -p, or --patch-file');
  const text =
    patch ??
    (await readFile(patchFile!, 'utf8').catch((error: Error) => {
      throw new UsageError(`--patch-file ${patchFile} cannot be read: ${error.message}`);
    }));
  const from = patch === undefined ? patchFile! : '--patch';
  const { value: read, mistake } = parseYaml(text, from, { intAsBigInt: true });
  if (mistake !== undefined) throw new UsageError(mistake);
  const value = exactIntegers(read);
  if (typeof value !== 'object' || value === null)
    throw new UsageError('a patch is an object, or a list of operations');
  return value;
}

/** A sub-resource, which the client knows of models only that are declared in the same program. */
function patchPart(
  client: KindredClient,
  { model: { gvk } }: ResourceType,
  fullName: string,
  part: string,
  patch: object,
  kind: 'merge' | 'json',
): Promise<ExtensionObject> {
  const { group, version, plural } = gvk;
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  const contentType = kind === 'json' ? 'application/json-patch+json' : 'application/merge-patch+json';
  const { namespace, name } = partsOf(fullName);
  const where = namespace === undefined ? '' : `namespaces/${encodeURIComponent(namespace)}/`;
  return client.request('PATCH', `${root}/${where}${plural}/${encodeURIComponent(name)}/${part}`, {
    body: patch,
    headers: { 'content-type': contentType },
  });
}
