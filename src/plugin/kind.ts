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

/** The object of a model: `<plural>-<group with - for .>`; with 8 hex digits where that would not tell two models apart. */
export function modelStateName(plural: string, group: string): string {
  const name = `${plural}-${group.replaceAll('.', '-')}`;
  if (!`${plural}${group}`.includes('-') && name.length <= nameLimit) return name;
  const hash = createHash('sha256').update(`${plural}.${group}`).digest('hex').slice(0, 8);
  return `${name.slice(0, nameLimit - 9)}-${hash}`;
}

/** The names of the model of plugins, which the command line asks for too; `model.ts` declares it. */
export function pluginKind(reservedDomain: string): GVKAttributes {
  const group = `plugin.${reservedDomain}`;
  return { group, version: 'v1alpha1', kind: 'Plugin', singular: 'plugin', plural: 'plugins' };
}
