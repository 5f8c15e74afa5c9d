/** What a client sends in one version of a model, in the version in which writes are computed. */

import type { Violations } from '../errors.ts';
import { partsOf } from '../model/full-name.ts';
import type { ExtensionObject } from '../model/object.ts';
import { copyOf } from '../model/object.ts';
import type { Scheme } from '../model/scheme.ts';
import type { Content } from '../model/versions.ts';
import type { TimeSlice } from '../runtime/time-slice.ts';
import type { PatchLimits } from './patch.ts';
import { pruned } from './prune.ts';
import { checkNew, checkUpdate } from './ratchet.ts';
import type { RegisteredModel, Stored } from './registered-model.ts';
import { readInTurns } from './registered-model.ts';
import type { Rules } from './rules.ts';
import { contentOnly, threeWay } from './three-way.ts';
import type { Versions } from './versions.ts';

interface Sent {
  readonly model: RegisteredModel;
  readonly versions: Versions;
  readonly rules: Rules;
  /** In the version of `via`. Its members are changed. */
  readonly object: ExtensionObject;
  readonly via: Scheme;
  readonly subresource: 'status' | 'scale' | undefined;
  /** Undefined: the object is new. */
  readonly stored: (Stored & { readonly object: ExtensionObject; readonly unconverted?: unknown }) | undefined;
  readonly limits: PatchLimits;
}

export interface Converted {
  readonly object: ExtensionObject;
  readonly warnings: readonly string[];
}

/**
 * What the version of the request cannot say stays as it is stored, unless the stored object cannot be converted.
 * @throws Invalid with what was found before too, InternalError when an object cannot be converted
 */
export async function convertSent(sent: Sent, violations: Violations, slice: TimeSlice): Promise<Converted> {
  const { model, versions, rules, object, via, subresource, stored, limits } = sent;
  const { validator } = via;
  const pruning = pruned(via, object, slice);
  const warnings = (pruning && (await pruning)) ?? [];
  const before = stored && model.objectIn(via.apiVersion, await readInTurns(stored.bytes, slice), stored.name);
  if (before) validator.applyDefaults(before, limits);
  const { metadata } = object;
  let own: ExtensionObject;
  if (subresource === 'status' && before) own = { ...before, metadata, status: object.status };
  else if (rules.hasStatus) own = { ...object, status: before?.status };
  else own = object;
  if (own.status === undefined) delete own.status;
  validator.applyDefaults(own, limits);
  if (before) await checkUpdate(validator, () => before, own, violations, slice);
  else await checkNew(validator, own, violations, slice);
  violations.refuse();
  const named = { ...own, metadata: { ...metadata, ...(stored && partsOf(stored.name)) } };
  const mine = versions.convert(copyOf(named), rules.apiVersion);
  if (!stored || stored.unconverted) return { object: mine, warnings };
  const base = versions.convert(before!, rules.apiVersion);
  const merged = threeWay(contentOnly(stored.object), contentOnly(base), contentOnly(mine)) as Content;
  // What is stored is frozen where its indexes have seen it, and defaults are set in place.
  return { object: { apiVersion: rules.apiVersion, kind: mine.kind, metadata, ...copyOf(merged) }, warnings };
}
