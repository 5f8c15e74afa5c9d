import { createHash } from 'node:crypto';
import type { GVKAttributes } from '../model/gvk.ts';
import { nameLimit } from '../model/names.ts';

/** The names of the model of what is active of other models, which the command line asks for too; `model-state.ts` declares it. */
export function modelStateKind(reservedDomain: string): GVKAttributes {
  return {
    ...pluginKind(reservedDomain),
    kind: 'ModelState',
    singular: 'modelstate',
    plural: 'modelstates',
  };
}

/** The object of a model: `<plural>.<group>`, with the SHA-256 of the group in its place where that is too long for a name. */
export function modelStateName(plural: string, group: string): string {
  const name = group === '' ? plural : `${plural}.${group}`;
  if (name.length <= nameLimit) return name;
  return `${plural}.${createHash('sha256').update(group).digest('hex')}`;
}

/** The names of the model of plugins, which the command line asks for too; `model.ts` declares it. */
export function pluginKind(reservedDomain: string): GVKAttributes {
  const group = `plugin.${reservedDomain}`;
  return { group, version: 'v1alpha1', kind: 'Plugin', singular: 'plugin', plural: 'plugins' };
}
