/**
 * Ratcheting: an update answers for the violations that it makes, not for those that the stored object has already
 * (docs/reference/objects.md). By value, as a schema alone cannot say which change made a violation.
 */

import type { Violation } from '../errors.ts';
import { countedViolations, unescapeToken, Violations } from '../errors.ts';
import type { ExtensionObject } from '../model/object.ts';
import type { Validator } from '../model/validator.ts';
import { isTooWrong } from '../model/validator.ts';
import type { TimeSlice } from '../runtime/time-slice.ts';
import { canonicalText, isEqual } from '../schema/json-value.ts';
import type { MaybePromise } from '../store/store.ts';
import { contentOnly } from './three-way.ts';

/** The violations of an object that is to take the place of a stored one. */
export interface Ratcheted {
  readonly made: readonly Violation[];
  /** Those of the stored object, at values that stay as they are. */
  readonly kept: readonly Violation[];
}

/** Adds what a model finds wrong with a new object. */
export function checkNew(
  validator: Validator,
  object: ExtensionObject,
  violations: Violations,
  slice: TimeSlice,
): Promise<void> | undefined {
  const rest = validator.validateInParts(object, violations, slice);
  const checkRules = (): Promise<void> | undefined => {
    const { rules } = validator;
    if (!rules || isTooWrong(violations)) return undefined;
    return rules.checkInParts(object, undefined, { made: violations, kept: violations }, slice);
  };
  return rest ? rest.then(checkRules) : checkRules();
}

/**
 * Adds the violations that an update makes. Gives those that the stored object has too.
 * @param stored with today's defaults
 */
export function checkUpdate(
  validator: Validator,
  stored: () => ExtensionObject,
  next: ExtensionObject,
  violations: Violations,
  slice: TimeSlice,
): MaybePromise<readonly Violation[]> {
  const found = new Violations(countedViolations);
  const compare = () => compared(validator, stored, next, { found, violations }, slice);
  const rest = validator.validateInParts(next, found, slice);
  if (rest) return rest.then(compare);
  return found.count > 0 || validator.rules ? compare() : nothing.kept;
}

/** @param found what today's schema finds wrong with `next` */
async function compared(
  validator: Validator,
  stored: () => ExtensionObject,
  next: ExtensionObject,
  { found, violations }: { readonly found: Violations; readonly violations: Violations },
  slice: TimeSlice,
): Promise<readonly Violation[]> {
  const { made, kept } = found.count > 0 ? await ratchet(validator, stored(), next, found, slice) : nothing;
  for (const one of made) violations.take(one);
  const { rules } = validator;
  if (!rules || isTooWrong(violations)) return kept;
  if (!rules.seeStored) {
    const broken = new Violations();
    const more = rules.checkInParts(next, undefined, { made: broken, kept: broken }, slice);
    if (more) await more;
    if (broken.count === 0) return kept;
  }
  const known = new Violations(countedViolations);
  const more = rules.checkInParts(next, stored(), { made: violations, kept: known }, slice);
  if (more) await more;
  return [...kept, ...known.listed];
}

const nothing: Ratcheted = { made: [], kept: [] };

/**
 * @param stored with today's defaults
 * @param found what today's schema finds wrong with `next`, every violation listed
 */
async function ratchet(
  validator: Validator,
  stored: ExtensionObject,
  next: ExtensionObject,
  found: Violations,
  slice: TimeSlice,
): Promise<Ratcheted> {
  const [before, after] = [contentOnly(stored), contentOnly(next)];
  if (isEqual(before, after)) return { made: [], kept: found.listed };
  // Of what was not looked at, nobody can say who made it.
  if (found.isFull) return { made: found.listed, kept: [] };
  if (slice.isOver) await slice.renew();
  const known = new Violations(Number.POSITIVE_INFINITY);
  await validator.validateInParts(stored, known, slice);
  const places = new StoredPlaces(before, known.listed);
  const made: Violation[] = [];
  const kept: Violation[] = [];
  for (const violation of found.listed) {
    if (slice.isOver) await slice.renew();
    (places.have(after, violation) ? kept : made).push(violation);
  }
  return { made, kept };
}

/** Of index rules: an index that refuses both objects for the same reason, which its message names. */
export function ratchetIndexes(before: readonly Violation[], after: readonly Violation[]): Ratcheted {
  const isKept = (one: Violation): boolean => before.some((stored) => stored.message === one.message);
  return { made: after.filter((one) => !isKept(one)), kept: after.filter(isKept) };
}

/** Of content that the version in which objects are stored cannot say: what the update makes. */
export function ratchetLosses(
  stored: ExtensionObject,
  before: readonly Violation[],
  next: ExtensionObject,
  after: readonly Violation[],
): readonly Violation[] {
  const places = new StoredPlaces(contentOnly(stored), before);
  const content = contentOnly(next);
  return after.filter((one) => !places.have(content, one));
}

/** Pointers that a warning names. */
const namedPlaces = 3;

/** Value of the header `Kindred-Warning`; undefined when the stored object has no violation. */
export function warningOf(kept: readonly Violation[]): string | undefined {
  if (kept.length === 0) return undefined;
  const places = [...new Set(kept.map(({ pointer }) => (pointer === '' ? 'the object' : headerText(pointer))))];
  const shown = places.slice(0, namedPlaces).join(', ');
  const more = places.length > namedPlaces ? ' and others' : '';
  return `${kept.length} stored violation${kept.length === 1 ? '' : 's'} at ${shown}${more}`;
}

/** A header holds printable ASCII alone. */
function headerText(pointer: string): string {
  return pointer.toWellFormed().replaceAll(/[^!-~]+/g, encodeURIComponent);
}

/** Where the stored object violates its model. */
class StoredPlaces {
  readonly #stored: unknown;
  readonly #violations: readonly Violation[];
  readonly #exact: ReadonlySet<string>;
  /** Of violations within arrays: by keyword and pointer without positions, the values that have them. */
  #anywhere: Map<string, Set<string>> | undefined;

  constructor(stored: unknown, violations: readonly Violation[]) {
    this.#stored = stored;
    this.#violations = violations;
    this.#exact = new Set(violations.map(keyOf));
  }

  /** Whether the stored object has this violation of another one, at a value that is the same in both. */
  have(next: unknown, violation: Violation): boolean {
    const place = placeOf(next, violation);
    if (this.#exact.has(keyOf(violation)) && isEqual(place.value, placeOf(this.#stored, violation).value)) return true;
    if (!place.isInArray) return false;
    this.#anywhere ??= this.#byPlace();
    return this.#anywhere.get(place.key)?.has(place.text()) === true;
  }

  #byPlace(): Map<string, Set<string>> {
    const byPlace = new Map<string, Set<string>>();
    for (const violation of this.#violations) {
      const place = placeOf(this.#stored, violation);
      if (!place.isInArray) continue;
      const texts = byPlace.get(place.key) ?? new Set();
      byPlace.set(place.key, texts.add(place.text()));
    }
    return byPlace;
  }
}

interface Place {
  /** Undefined for a missing member. */
  readonly value: unknown;
  readonly isInArray: boolean;
  /** Keyword and pointer, without positions in arrays. */
  readonly key: string;
  /** The value, or the object that lacks it. */
  text(): string;
}

function placeOf(root: unknown, { pointer, keyword }: Violation): Place {
  let value = root;
  let holder: unknown;
  let isInArray = false;
  let key = keyword;
  for (const token of pointer.split('/').slice(1)) {
    holder = value;
    const isItem = Array.isArray(holder);
    isInArray ||= isItem;
    key += isItem ? '\n' : `\n/${token}`;
    const name = unescapeToken(token);
    const hasMember = typeof holder === 'object' && holder !== null && Object.hasOwn(holder, name);
    value = hasMember ? (holder as Record<string, unknown>)[name] : undefined;
  }
  const text = () => (value === undefined ? `absent in ${canonicalText(holder)}` : canonicalText(value));
  return { value, isInArray, key, text };
}

function keyOf({ pointer, keyword }: Violation): string {
  return `${keyword}\n${pointer}`;
}
