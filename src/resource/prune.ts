/** Members that a model does not know, left out of what clients send where the model follows the rules of Kubernetes. */
import { countedViolations, unescapeToken, Violations } from '../errors.ts';
import { checkMetadata } from '../model/metadata.ts';
import type { ExtensionObject, Metadata } from '../model/object.ts';
import { isRecord } from '../model/object.ts';
import type { Scheme } from '../model/scheme.ts';
import type { Validator } from '../model/validator.ts';
import type { TimeSlice } from '../runtime/time-slice.ts';

/** Times that an object is looked through: each finds some thousand members. What is left then is refused. */
const mostRounds = 20;

/**
 * Takes them away in place.
 * @param validator of the contract that is active, when that is not the declared one
 * @returns warnings about what is left out, and about finalizers without a domain; undefined where both are refused
 */
export function pruned(
  scheme: Scheme,
  object: ExtensionObject,
  slice: TimeSlice,
  validator = scheme.validator,
): Promise<readonly string[]> | undefined {
  if (scheme.naming === 'strict') return undefined;
  return prune(scheme, object, slice, validator).then((paths) => [
    ...paths.map((path) => `unknown field ${JSON.stringify(path)}`),
    ...plainFinalizers(object.metadata).map((one) => `the finalizer ${JSON.stringify(one)} has no domain in front`),
  ]);
}

function plainFinalizers({ finalizers }: Metadata): readonly string[] {
  return Array.isArray(finalizers) ? finalizers.filter((one) => typeof one === 'string' && !one.includes('/')) : [];
}

/**
 * As `pruned`, whatever rules the model follows.
 * @returns where the members were, as `spec.ports[0].name`
 */
export async function prune(
  scheme: Scheme,
  object: ExtensionObject,
  slice: TimeSlice,
  validator = scheme.validator,
): Promise<string[]> {
  const paths: string[] = validator.prune?.(object).map(fieldPath) ?? [];
  for (let round = 0; round < mostRounds; round++) {
    const found = await unknownIn(scheme, validator, object, slice);
    if (found.length === 0) break;
    for (const pointer of found) {
      if (slice.isOver) await slice.renew();
      removeAt(object, pointer);
      paths.push(fieldPath(pointer));
    }
  }
  return paths;
}

async function unknownIn(
  { isNamespaced, naming }: Scheme,
  validator: Validator,
  object: ExtensionObject,
  slice: TimeSlice,
): Promise<string[]> {
  const found = new Violations(countedViolations);
  checkMetadata(object.metadata, { isNamespaced, naming, nameRequired: false }, found);
  const rest = validator.validateInParts(object, found, slice);
  if (rest) await rest;
  return found.listed.flatMap(({ pointer, keyword }) => (keyword === 'additionalProperties' ? [pointer] : []));
}

function removeAt(object: object, pointer: string): void {
  const tokens = pointer.split('/').slice(1).map(unescapeToken);
  const last = tokens.pop()!;
  let parent: unknown = object;
  for (const token of tokens) parent = (parent as Record<string, unknown> | undefined)?.[token];
  if (isRecord(parent)) delete parent[last];
}

const plainName = /^[A-Za-z_][A-Za-z0-9_-]*$/;

/** `spec.ports[0].name` of a pointer; keys of maps as `metadata.labels[a/b]`. */
export function fieldPath(pointer: string): string {
  let path = '';
  let parent = '';
  for (const token of pointer.split('/').slice(1).map(unescapeToken)) {
    const inMap = parent === 'metadata.labels' || parent === 'metadata.annotations';
    if (/^\d+$/.test(token) || inMap || !plainName.test(token)) path += `[${token}]`;
    else path += path === '' ? token : `.${token}`;
    parent = path;
  }
  return path;
}
