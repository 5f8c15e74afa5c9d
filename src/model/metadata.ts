/** Rules of `metadata` (specification, "Metadata" and "Naming rules"; docs/reference/objects.md). */

import type { Text } from '../errors.ts';
import { escapeToken, Violations } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import type { NamingProblem } from './names.ts';
import { labelKeyProblem, labelValueProblem, nameLimit, nameProblem, prefixOf } from './names.ts';
import type { Metadata } from './object.ts';
import { isRecord } from './object.ts';

/** Annotations of one object together: keys and values, bytes of UTF-8. */
export const annotationsLimit = 256 * 1024;

const timestamp = { type: 'string', format: 'date-time' } as const;
const texts = { type: 'object', additionalProperties: { type: 'string' } } as const;

/** Finalizers of one object. */
const finalizersLimit = 1_000;

/** `metadata` for the API description and for objects nested in objects. */
export const metadataSchema = {
  type: 'object',
  description: 'Standard metadata of every object',
  properties: {
    name: { type: 'string', maxLength: nameLimit, description: 'Unique among the objects of the model; never changes' },
    generateName: {
      type: 'string',
      description: 'Used when name is absent: followed by 8 random lower-case letters or digits',
    },
    creationTimestamp: { ...timestamp, description: 'Set by the service; RFC 3339 UTC with milliseconds' },
    deletionTimestamp: { ...timestamp, description: 'Set by the service while the object is being deleted' },
    version: {
      type: 'integer',
      minimum: 0,
      description: 'Raised by every stored change; an update that carries another one than the current is refused',
    },
    finalizers: {
      type: 'array',
      items: { type: 'string', minLength: 1, maxLength: nameLimit },
      maxItems: finalizersLimit,
      description: 'A deleted object stays until this set is empty',
    },
    labels: { ...texts, description: 'For selection; every label is indexed' },
    annotations: { ...texts, description: 'Not indexed; at most 256 KiB together' },
  },
  additionalProperties: false,
} as const;

const members = Object.keys(metadataSchema.properties);

const typeText: Text = localized('must be {expected}; got {actual}');
const unknownText: Text = localized('is not a field of metadata; its fields are {allowed}');
const requiredText: Text = localized('is required: give metadata.name or metadata.generateName');
const metadataRequiredText: Text = localized('is required');
const generatedText: Text = localized(
  'must start with a lower-case letter or digit, consist of lower-case letters, digits and "-", and have at most {limit} characters, so that 8 more can follow; got "{value}"',
);
const integerText: Text = localized('must be an integer from 0 to 2^53 - 1; got {actual}');
const annotationsText: Text = localized('annotations have at most {limit} bytes together, these have {size}');
const finalizersText: Text = localized('an object has at most {limit} finalizers, these are {count}');
const finalizerEmptyText: Text = localized('a finalizer must not be empty');
const finalizerLongText: Text = localized('a finalizer is at most {limit} characters long, this one has {length}');

/** Characters that the service appends to `generateName`. */
const generatedSuffixLength = 8;
const generateNameSyntax = /^[a-z0-9][-a-z0-9]*$/;

export interface MetadataRules {
  /** A `name`, or a `generateName` instead, must be there. Default true. */
  readonly nameRequired?: boolean;
}

/**
 * Everything that is wrong with an object's `metadata` as it came in: types, unknown members, names, keys and values of
 * labels and annotations, sizes. `null` for a member counts as absent. Reserved keys are `checkReservedKeys`'s.
 * @param found where it is added
 */
export function checkMetadata(metadata: unknown, rules: MetadataRules = {}, found = new Violations()): Violations {
  const nameRequired = rules.nameRequired !== false;
  if (metadata === undefined || metadata === null) {
    if (nameRequired) found.add('/metadata', 'required', metadataRequiredText);
    return found;
  }
  if (!isRecord(metadata)) {
    wrongType('/metadata', 'object', metadata, found);
    return found;
  }
  for (const name of Object.keys(metadata)) {
    if (found.isFull) break;
    if (members.includes(name)) continue;
    const pointer = `/metadata/${escapeToken(name)}`;
    found.add(pointer, 'additionalProperties', unknownText, { allowed: members.join(', ') });
  }
  checkNames(metadata, nameRequired, found);
  for (const member of ['creationTimestamp', 'deletionTimestamp'] as const) {
    const value = metadata[member] ?? undefined;
    if (value !== undefined && typeof value !== 'string') wrongType(`/metadata/${member}`, 'string', value, found);
  }
  const version = metadata.version ?? undefined;
  if (version !== undefined && !(Number.isSafeInteger(version) && (version as number) >= 0)) {
    found.add('/metadata/version', 'type', integerText, { actual: version });
  }
  checkFinalizers(metadata.finalizers ?? undefined, found);
  checkTexts('labels', metadata.labels ?? undefined, found);
  checkTexts('annotations', metadata.annotations ?? undefined, found);
  return found;
}

function checkNames(metadata: Record<string, unknown>, nameRequired: boolean, found: Violations): void {
  const generateName = metadata.generateName ?? undefined;
  const given = metadata.name ?? undefined;
  const name = given === '' && generateName !== undefined ? undefined : given;
  if (generateName !== undefined) {
    const pointer = '/metadata/generateName';
    const limit = nameLimit - generatedSuffixLength;
    if (typeof generateName !== 'string') wrongType(pointer, 'string', generateName, found);
    else if (generateName.length > limit || !generateNameSyntax.test(generateName)) {
      const keyword = generateName.length > limit ? 'maxLength' : 'pattern';
      found.add(pointer, keyword, generatedText, { limit, value: generateName });
    }
  }
  if (name === undefined) {
    if (nameRequired && generateName === undefined) found.add('/metadata/name', 'required', requiredText);
  } else if (typeof name !== 'string') {
    wrongType('/metadata/name', 'string', name, found);
  } else {
    add('/metadata/name', name, nameProblem(name), found);
  }
}

function checkFinalizers(finalizers: unknown, found: Violations): void {
  if (finalizers === undefined) return;
  if (!Array.isArray(finalizers)) {
    wrongType('/metadata/finalizers', 'array', finalizers, found);
    return;
  }
  if (finalizers.length > finalizersLimit) {
    const params = { limit: finalizersLimit, count: finalizers.length };
    found.add('/metadata/finalizers', 'maxItems', finalizersText, params);
    return;
  }
  finalizers.forEach((one: unknown, i) => {
    const pointer = `/metadata/finalizers/${i}`;
    if (typeof one !== 'string') wrongType(pointer, 'string', one, found);
    else if (one === '') found.add(pointer, 'minLength', finalizerEmptyText);
    else if (one.length > nameLimit) {
      found.add(pointer, 'maxLength', finalizerLongText, { limit: nameLimit, length: one.length });
    }
  });
}

function checkTexts(member: 'labels' | 'annotations', map: unknown, found: Violations): void {
  if (map === undefined) return;
  if (!isRecord(map)) {
    wrongType(`/metadata/${member}`, 'object', map, found);
    return;
  }
  let size = 0;
  for (const key of Object.keys(map)) {
    if (found.isFull) return;
    const pointer = `/metadata/${member}/${escapeToken(key)}`;
    const value = map[key];
    add(pointer, key, labelKeyProblem(key), found);
    if (typeof value !== 'string') wrongType(pointer, 'string', value, found);
    else if (member === 'labels') add(pointer, value, labelValueProblem(value), found);
    else size += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (size > annotationsLimit) {
    found.add('/metadata/annotations', 'maxLength', annotationsText, { limit: annotationsLimit, size });
  }
}

function add(pointer: string, value: string, problem: NamingProblem | undefined, found: Violations): void {
  if (!problem) return;
  const { keyword, text, limit } = problem;
  found.add(pointer, keyword, text, { value, limit, length: problem.length ?? value.length });
}

function wrongType(pointer: string, expected: string, value: unknown, found: Violations): void {
  const actual = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
  found.add(pointer, 'type', typeText, { expected, actual });
}

/** Reserved by their prefix, yet everybody's to use (docs/reference/objects.md): name parts below the domain itself and below `rbac.`. */
const exempt: readonly RegExp[] = [/^do-not-overwrite$/];
const exemptRbac: readonly RegExp[] = [/^dependencies$/, /^aggregate-to-.+$/, /^role-template$/];

const reservedText: Text = localized(
  'the key "{key}" is reserved: keys with the prefix "{domain}" or below it are the service\'s own, and cannot be added or changed',
);
const unprefixedText: Text = localized(
  'the key "{key}" has no prefix: such keys are reserved for users, a plugin uses its own prefix, as in "demo.example.com/{key}"',
);

/**
 * Label and annotation keys that this origin may not add or change. What is stored passes unchanged and may be removed,
 * but for `plugin.<reserved domain>/plugin-name`, which callers carry over themselves before this check.
 * @param origin `host`: everything is allowed
 * @param found where they are added
 */
export function checkReservedKeys(
  next: Metadata,
  stored: Metadata | undefined,
  origin: 'http' | 'plugin' | 'host',
  reservedDomain: string,
  found = new Violations(),
): Violations {
  if (origin === 'host') return found;
  for (const member of ['labels', 'annotations'] as const) {
    const map = next[member];
    if (!map) continue;
    const before = stored?.[member];
    for (const key of Object.keys(map)) {
      if (found.isFull) return found;
      if (before && Object.hasOwn(before, key) && before[key] === map[key]) continue;
      const prefix = prefixOf(key);
      if (prefix === undefined ? origin === 'http' : !isReservedPrefix(prefix, reservedDomain)) continue;
      if (prefix !== undefined && isExempt(key.slice(prefix.length + 1), prefix, reservedDomain)) continue;
      const text = prefix === undefined ? unprefixedText : reservedText;
      const pointer = `/metadata/${member}/${escapeToken(key)}`;
      found.add(pointer, 'reserved', text, { key, domain: reservedDomain });
    }
  }
  return found;
}

function isReservedPrefix(prefix: string, reservedDomain: string): boolean {
  return prefix === reservedDomain || prefix.endsWith(`.${reservedDomain}`);
}

function isExempt(part: string, prefix: string, reservedDomain: string): boolean {
  const patterns = prefix === reservedDomain ? exempt : prefix === `rbac.${reservedDomain}` ? exemptRbac : [];
  return patterns.some((pattern) => pattern.test(part));
}
