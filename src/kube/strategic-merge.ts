/**
 * Strategic merge patches of the kinds of Kubernetes itself, for which its clients send nothing else: a merge patch that
 * knows which lists are sets of values or of items with a key (strategic-merge-patch.md of Kubernetes' sig-api-machinery).
 * Of the kinds that there are here only lists in `metadata` are; other lists are replaced. Orders of lists are not kept
 * (`$setElementOrder`): they mean nothing here.
 */
import { isRecord } from '../model/object.ts';
import { quoted } from './parameters.ts';
import { badRequest } from './status.ts';

export const strategicPatchType = 'application/strategic-merge-patch+json';

type Members = Readonly<Record<string, unknown>>;

/** @throws KindredError BadRequest */
export function assertMergePatch(patch: unknown): asserts patch is Members {
  if (!isRecord(patch)) throw badRequest('the body of a merge patch is an object');
}

/** Lists that are merged, by their place: the member that tells items apart, or undefined for a set of values. */
const lists: ReadonlyMap<string, string | undefined> = new Map([
  ['metadata.finalizers', undefined],
  ['metadata.ownerReferences', 'uid'],
]);

const directive = '$patch';
const retained = '$retainKeys';
const ofPrimitives = '$deleteFromPrimitiveList/';
const ofOrder = '$setElementOrder/';

/** What an object becomes; it shares what the patch does not touch. @throws KindredError BadRequest */
export function strategicMerge(target: unknown, patch: unknown): unknown {
  assertMergePatch(patch);
  return merged(isRecord(target) ? target : {}, patch, '');
}

function merged(target: Members, patch: Members, at: string): unknown {
  const { [directive]: how = 'merge', [retained]: kept, ...members } = patch;
  if (how === 'delete') return {};
  if (how !== 'merge' && how !== 'replace') {
    throw badRequest(`unknown patch type ${quoted(JSON.stringify(how))} found in ${quoted(directive)}`);
  }
  const names = Array.isArray(kept) ? new Set<unknown>(kept) : undefined;
  const base = how === 'replace' ? [] : Object.entries(target).filter(([name]) => !names || names.has(name));
  const result = new Map<string, unknown>(base);
  for (const [name, value] of Object.entries(members)) {
    if (name.startsWith(ofPrimitives)) remove(result, name.slice(ofPrimitives.length), value);
    else if (value === null) result.delete(name);
    else if (!name.startsWith(ofOrder)) result.set(name, mergedMember(result.get(name), value, pathOf(at, name)));
  }
  return Object.fromEntries(result);
}

function pathOf(at: string, name: string): string {
  return at === '' ? name : `${at}.${name}`;
}

function mergedMember(before: unknown, value: unknown, at: string): unknown {
  if (isRecord(value)) return merged(isRecord(before) ? before : {}, value, at);
  if (!Array.isArray(value) || !lists.has(at)) return value;
  const key = lists.get(at);
  const items: unknown[] = Array.isArray(before) ? before : [];
  return key === undefined ? [...new Set([...items, ...value])] : mergedItems(items, value, key, at);
}

function mergedItems(before: readonly unknown[], patches: readonly unknown[], key: string, at: string): unknown[] {
  const replaces = patches.some((one) => isRecord(one) && one[directive] === 'replace');
  const items = new Map((replaces ? [] : before).map((one) => [(one as Members)[key], one]));
  for (const patch of patches) {
    if (!isRecord(patch)) throw badRequest(`an item of ${at} is an object`);
    const { [directive]: how, ...members } = patch;
    const value = members[key];
    if (how === 'replace' && value === undefined) continue;
    if (value === undefined) throw badRequest(`map: ${at} does not contain declared merge key: ${key}`);
    if (how === 'delete') items.delete(value);
    else items.set(value, merged((items.get(value) ?? {}) as Members, members, at));
  }
  return [...items.values()];
}

function remove(result: Map<string, unknown>, name: string, values: unknown): void {
  const list = result.get(name);
  if (!Array.isArray(list) || !Array.isArray(values)) return;
  const gone = new Set(values);
  result.set(
    name,
    list.filter((one) => !gone.has(one)),
  );
}
