import type { Scheme } from '../../model/scheme.ts';

/** The operationIds of a model's generated API. */
export function operationIds(scheme: Scheme, suffix: string): string[] {
  const { kind } = scheme.groupVersionKind;
  const verbs = ['list', 'get', 'create', 'update', 'patch', 'delete'].map((verb) => `${verb}${kind}${suffix}`);
  const status = ['get', 'update', 'patch'].map((verb) => `${verb}${kind}Status${suffix}`);
  return scheme.subresources.status ? [...verbs, ...status] : verbs;
}
