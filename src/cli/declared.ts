/** The models that plugins on this machine declare. */
import type { Command } from 'commander';
import type { Scheme } from '../model/scheme.ts';
import { UsageError } from './io.ts';
import { checkPluginPaths } from './plugin-paths.ts';
import { repeatable } from './select.ts';
import { settings } from './settings.ts';

export interface PluginFlags {
  plugin?: string[];
  dev?: boolean;
}

export function withPlugins(command: Command): Command {
  return command
    .addOption(repeatable('--plugin <path>', `${settings.plugin.help}; repeatable`))
    .option('--dev', 'plugins in TypeScript that needs more than its types taken out: decorators, enums');
}

/** @throws UsageError without a plugin */
export async function declaredBy({ plugin = [], dev = false }: PluginFlags): Promise<readonly Scheme[]> {
  if (plugin.length === 0) throw new UsageError('--plugin names the plugin whose models are meant');
  const { declaredModels } = await import('../maintenance.ts');
  const { findPackage } = await import('../plugin/loader.ts');
  checkPluginPaths(plugin, (source) => findPackage(source, process.cwd()));
  return declaredModels({ plugins: plugin, pluginHost: { dev } });
}
