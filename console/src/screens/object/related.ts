/** What an object refers to and what refers to it, as the models say (`x-reference`), and the service's own references. */

import type { ModelDetails, ModelSummary } from '../../api/models.ts';
import { typeOf } from '../../api/models.ts';
import { below, isObject } from '../../diff/pointer.ts';

export interface Reference {
  readonly pointer: string;
  readonly type: string;
  readonly name: string;
}

export function modelOfType(models: readonly ModelSummary[] | undefined, type: string): ModelSummary | undefined {
  return models?.find((model) => typeOf(model) === type);
}

/** Where a schema says that a text, or each text of a list, is the name of an object: dotted path and type. */
export function referencesOf(
  schema: unknown,
  path: readonly string[] = [],
  depth = 0,
): { path: string; type: string }[] {
  if (!isObject(schema) || depth > 16) return [];
  const found: { path: string; type: string }[] = [];
  const { 'x-reference': type, properties, items, allOf } = schema;
  if (typeof type === 'string') found.push({ path: path.join('.'), type });
  if (isObject(items)) found.push(...referencesOf(items, path, depth + 1));
  for (const one of Array.isArray(allOf) ? allOf : []) found.push(...referencesOf(one, path, depth + 1));
  for (const [name, one] of Object.entries(isObject(properties) ? properties : {})) {
    found.push(...referencesOf(one, [...path, name], depth + 1));
  }
  return found;
}

/** The objects that one refers to. */
export function refersTo(model: ModelDetails, object: unknown): Reference[] {
  const named = referencesOf(model.schema).flatMap(({ path, type }) => {
    const walk = (value: unknown, tokens: readonly string[], pointer: string): Reference[] => {
      if (Array.isArray(value)) return value.flatMap((one, i) => walk(one, tokens, below(pointer, i)));
      const [token, ...rest] = tokens;
      if (token === undefined) return typeof value === 'string' && value !== '' ? [{ pointer, type, name: value }] : [];
      return isObject(value) && Object.hasOwn(value, token) ? walk(value[token], rest, below(pointer, token)) : [];
    };
    return walk(object, path.split('.'), '');
  });
  return [...named, ...ownReferences(object)];
}

/** Those of the service's own models: the role and the subjects of a binding, the secret of a webhook. */
function ownReferences(object: unknown): Reference[] {
  if (!isObject(object)) return [];
  const found: Reference[] = [];
  const { roleRef, subjects, spec } = object;
  const own: Readonly<Record<string, string>> = { Role: 'roles', User: 'users' };
  const add = (reference: unknown, pointer: string) => {
    if (!isObject(reference) || typeof reference.name !== 'string') return;
    const plural = own[String(reference.kind)];
    if (plural) found.push({ pointer, type: plural, name: reference.name });
  };
  add(roleRef, '/roleRef');
  for (const [i, subject] of (Array.isArray(subjects) ? subjects : []).entries()) add(subject, `/subjects/${i}`);
  if (isObject(spec) && typeof spec.secretName === 'string') {
    found.push({ pointer: '/spec/secretName', type: 'secrets', name: spec.secretName });
  }
  return found;
}
