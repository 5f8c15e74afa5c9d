import type { GVKAttributes } from '../model/gvk.ts';

/** The names of the model of plugins, which the command line asks for too; `model.ts` declares it. */
export function pluginKind(reservedDomain: string): GVKAttributes {
  const group = `plugin.${reservedDomain}`;
  return { group, version: 'v1alpha1', kind: 'Plugin', singular: 'plugin', plural: 'plugins' };
}
