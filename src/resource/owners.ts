/** The objects that `metadata.ownerReferences` names: a reference that leaves the uid out means the object which has the name now. */
import type { Text, Violations } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import type { Metadata, OwnerReference } from '../model/object.ts';
import type { MaybePromise } from '../store/store.ts';
import type { Caller } from './access.ts';

export interface Owners {
  /**
   * Uid of the object; undefined when there is none, or when the caller may not get it.
   * @throws NotReady while the indexes of its model are being built
   */
  uidOf(reference: OwnerReference, namespace: string | undefined, caller: Caller): MaybePromise<string | undefined>;
}

const absentText: Text = localized('there is no {kind} ({apiVersion}) "{name}": give the uid of an owner that is gone');

/** The references with every uid; adds those that name nothing to the violations. */
export async function identified(
  { ownerReferences = [], namespace }: Metadata,
  owners: Owners,
  caller: Caller,
  violations: Violations,
): Promise<OwnerReference[]> {
  const found: OwnerReference[] = [];
  for (const [i, reference] of ownerReferences.entries()) {
    const { apiVersion, kind, name, uid: given, ...rest } = reference;
    const uid = given || (await owners.uidOf(reference, namespace, caller));
    if (uid !== undefined) found.push({ apiVersion, kind, name, uid, ...rest });
    else violations.add(`/metadata/ownerReferences/${i}`, 'reference', absentText, { kind, apiVersion, name });
  }
  return found;
}
