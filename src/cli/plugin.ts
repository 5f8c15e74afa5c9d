import { Command } from 'commander';
import type { KindredClient } from '../client/client.ts';
import { modelOf } from '../client/client.ts';
import type { Model } from '../model/model-type.ts';
import type { ExtensionObject } from '../model/object.ts';
import { pluginKind } from '../plugin/kind.ts';
import type { ConnectionFlags } from './connection.ts';
import { connect, withConnection } from './connection.ts';
import type { Io } from './io.ts';
import { write } from './io.ts';
import type { Format } from './output.ts';
import { formatOption, print, valueFormats } from './output.ts';
import { ownManifest } from './own-manifest.ts';
import { newPlugin } from './plugin-new.ts';
import { wholePage } from './print-objects.ts';
import { table } from './table.ts';
import { Types } from './types.ts';

interface PluginObject extends ExtensionObject {
  spec: { enabled?: boolean; displayName?: string; version?: string };
  status?: { state?: string; reason?: string; message?: string };
}

async function pluginsOf(client: KindredClient): Promise<Model<ExtensionObject>> {
  return modelOf(pluginKind(await new Types(client).reservedDomain()));
}

export function pluginCommand(io: Io): Command {
  return new Command('plugin')
    .description('plugins of a running service, and new ones')
    .addCommand(newCommand(io))
    .addCommand(listCommand(io))
    .addCommand(switchCommand(io, true))
    .addCommand(switchCommand(io, false));
}

function newCommand(io: Io): Command {
  return new Command('new')
    .description('make the folder of a new plugin: model, index, controller, endpoint, object and test')
    .argument('<name>', 'lower-case letters, digits and "-", at most 63; also the name of the folder')
    .option('--group <group>', 'group of its model (default: <name>.example.com)')
    .action(async (name: string, { group }: { group?: string }) => {
      const files = await newPlugin(name, group, ownManifest());
      const next = [`cd ${name}`, 'npm install', 'npm test', 'npm start'];
      await write(io.stdout, `${[...files, '', ...next].join('\n')}\n`);
    });
}

function listCommand(io: Io): Command {
  const command = new Command('list')
    .description('print the plugins with their states')
    .addOption(formatOption(valueFormats, 'table'))
    .action(async (flags: ConnectionFlags & { output: Format }) => {
      const found: PluginObject[] = [];
      const client = connect(flags, io);
      const all = client.for(await pluginsOf(client)).listAll({ sort: ['metadata.name,asc'] });
      for await (const plugin of all) found.push(plugin as PluginObject);
      await print(io, flags.output, { items: found, ...wholePage(found.length) }, () => pluginTable(found));
    });
  return withConnection(command, io);
}

/** A message can be as long as the output of a compiler: it stands below the table, whole. */
function pluginTable(plugins: readonly PluginObject[]): string {
  const rows = plugins.map(({ metadata, spec, status }) => [
    metadata.name,
    spec.version ?? '-',
    String(spec.enabled ?? true),
    status?.state ?? '-',
    status?.reason ?? '-',
  ]);
  const messages = plugins.flatMap(({ metadata, status }) =>
    status?.message === undefined ? [] : `\n${metadata.name}: ${status.message.trimEnd().replace(/\n/g, '\n  ')}\n`,
  );
  return table(['NAME', 'VERSION', 'ENABLED', 'STATE', 'REASON'], rows) + messages.join('');
}

function switchCommand(io: Io, enabled: boolean): Command {
  const verb = enabled ? 'enable' : 'disable';
  const command = new Command(verb)
    .description(enabled ? 'start a plugin, now and after every restart' : 'stop a plugin until it is enabled again')
    .argument('<name>', 'name of the plugin')
    .action(async (name: string, flags: ConnectionFlags) => {
      const client = connect(flags, io);
      await client.patch(await pluginsOf(client), name, { spec: { enabled } });
      await write(io.stdout, `${name} ${verb}d\n`);
    });
  return withConnection(command, io);
}
