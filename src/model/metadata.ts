/** Rules of `metadata` (specification, "Metadata" and "Naming rules"; docs/reference/objects.md). */

import type { Text } from '../errors.ts';
import { escapeToken, Violations } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import type { Naming } from './attributes.ts';
import type { NamingProblem } from './names.ts';
import {
  isSubdomain,
  labelKeyProblem,
  labelValueProblem,
  nameLimit,
  nameProblem,
  namespaceLimit,
  namespaceProblem,
  prefixOf,
  subdomainProblem,
} from './names.ts';
import type { Metadata } from './object.ts';
import { isRecord } from './object.ts';

/** Annotations of one object together: keys and values, bytes of UTF-8. */
export const annotationsLimit = 256 * 1024;

const timestamp = { type: 'string', format: 'date-time' } as const;
const texts = { type: 'object', additionalProperties: { type: 'string' } } as const;

/** Finalizers of one object. */
const finalizersLimit = 1_000;

/** Owners of one object. */
const ownersLimit = 1_000;

const ownerReference = {
  type: 'object',
  properties: {
    apiVersion: { type: 'string', minLength: 1 },
    kind: { type: 'string', minLength: 1 },
    name: { type: 'string', minLength: 1 },
    uid: {
      type: 'string',
      minLength: 1,
      description: 'May be left out of what is sent: that of the object which has the name now',
    },
    controller: { type: 'boolean', description: 'At most one of the owners controls the object' },
    blockOwnerDeletion: { type: 'boolean', description: 'A foreground deletion of the owner waits for this object' },
  },
  required: ['apiVersion', 'kind', 'name'],
  additionalProperties: false,
} as const;

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
    generation: {
      type: 'integer',
      minimum: 1,
      description:
        'Raised by the service when more changes than metadata and a status with routes of its own; absent: 1',
    },
    finalizers: {
      type: 'array',
      items: { type: 'string', minLength: 1, maxLength: nameLimit },
      maxItems: finalizersLimit,
      description: 'A deleted object stays until this set is empty',
    },
    labels: { ...texts, description: 'For selection; every label is indexed' },
    annotations: { ...texts, description: 'Not indexed; at most 256 KiB together' },
    ownerReferences: {
      type: 'array',
      items: ownerReference,
      maxItems: ownersLimit,
      description: 'The object goes when none of its owners is left',
    },
    managedFields: {
      type: 'array',
      items: { type: 'object', additionalProperties: true },
      description: 'Which fields which manager has set; kept by the service, ignored in what is sent',
    },
  },
  additionalProperties: false,
} as const;

/** The same of a namespaced model. */
export const namespacedMetadataSchema = {
  ...metadataSchema,
  properties: {
    name: {
      ...metadataSchema.properties.name,
      description: 'Unique among the objects of the namespace; never changes',
    },
    namespace: { type: 'string', maxLength: namespaceLimit, description: 'Never changes' },
    ...Object.fromEntries(Object.entries(metadataSchema.properties).filter(([name]) => name !== 'name')),
  },
} as const;

const typeText: Text = localized('must be {expected}; got {actual}');
const unknownText: Text = localized('is not a field of metadata; its fields are {allowed}');
const requiredText: Text = localized('is required: give metadata.name or metadata.generateName');
const metadataRequiredText: Text = localized('is required');
const generatedText: Text = localized(
  'must start with a lower-case letter or digit, consist of lower-case letters, digits and "-", and have at most {limit} characters, so that 8 more can follow; got "{value}"',
);
const generatedDottedText: Text = localized(
  'must be the start of a name: lower-case letters, digits, "-" and ".", with a letter or digit at the start and at both sides of each ".", and at most {limit} characters, so that 8 more can follow; got "{value}"',
);
const namespaceText: Text = localized('is required: every object of this model belongs to a namespace');
const ownersText: Text = localized('an object has at most {limit} owners, these are {count}');
const unknownOwnerText: Text = localized('is not a field of an owner reference; its fields are {allowed}');
const controllersText: Text = localized('at most one owner controls the object');
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
  /** Of a namespaced model, whose objects must have a `namespace`. Default false. */
  readonly isNamespaced?: boolean;
  /** Default `strict`. */
  readonly naming?: Naming;
}

const membersOf = {
  cluster: Object.keys(metadataSchema.properties),
  namespaced: Object.keys(namespacedMetadataSchema.properties),
} as const;

/** Names of the members that the metadata of a model can have. */
function metadataMembers(isNamespaced: boolean): readonly string[] {
  return membersOf[isNamespaced ? 'namespaced' : 'cluster'];
}

/**
 * Everything that is wrong with an object's `metadata` as it came in: types, unknown members, names, keys and values of
 * labels and annotations, sizes. `null` for a member counts as absent. Reserved keys are `checkReservedKeys`'s.
 * @param found where it is added
 */
export function checkMetadata(metadata: unknown, rules: MetadataRules = {}, found = new Violations()): Violations {
  const { nameRequired = true, isNamespaced = false, naming = 'strict' } = rules;
  if (metadata === undefined || metadata === null) {
    if (nameRequired) found.add('/metadata', 'required', metadataRequiredText);
    return found;
  }
  if (!isRecord(metadata)) {
    wrongType('/metadata', 'object', metadata, found);
    return found;
  }
  const members = metadataMembers(isNamespaced);
  for (const name of Object.keys(metadata)) {
    if (found.isFull) break;
    if (members.includes(name)) continue;
    const pointer = `/metadata/${escapeToken(name)}`;
    found.add(pointer, 'additionalProperties', unknownText, { allowed: members.join(', ') });
  }
  checkNames(metadata, nameRequired, naming, found);
  if (isNamespaced) checkNamespace(metadata.namespace ?? undefined, nameRequired, found);
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
  // Server-owned, as the timestamps: whatever is sent has no effect.
  const { generation, managedFields } = metadata;
  if (generation !== undefined && generation !== null && !Number.isSafeInteger(generation))
    found.add('/metadata/generation', 'type', integerText, { actual: generation });
  if (managedFields !== undefined && managedFields !== null && !Array.isArray(managedFields))
    wrongType('/metadata/managedFields', 'array', managedFields, found);
  checkOwners(metadata.ownerReferences ?? undefined, found);
  return found;
}

function checkNamespace(namespace: unknown, isRequired: boolean, found: Violations): void {
  if (namespace === undefined || namespace === '') {
    if (isRequired) found.add('/metadata/namespace', 'required', namespaceText);
  } else if (typeof namespace !== 'string') {
    wrongType('/metadata/namespace', 'string', namespace, found);
  } else {
    add('/metadata/namespace', namespace, namespaceProblem(namespace), found);
  }
}

function checkNames(metadata: Record<string, unknown>, nameRequired: boolean, naming: Naming, found: Violations): void {
  const generateName = metadata.generateName ?? undefined;
  const given = metadata.name ?? undefined;
  const name = given === '' && generateName !== undefined ? undefined : given;
  if (generateName !== undefined) {
    const pointer = '/metadata/generateName';
    const limit = nameLimit - generatedSuffixLength;
    if (typeof generateName !== 'string') wrongType(pointer, 'string', generateName, found);
    else if (generateName.length > limit || !isGenerateName(generateName, naming)) {
      const keyword = generateName.length > limit ? 'maxLength' : 'pattern';
      const text = naming === 'strict' ? generatedText : generatedDottedText;
      found.add(pointer, keyword, text, { limit, value: generateName });
    }
  }
  if (name === undefined) {
    if (nameRequired && generateName === undefined) found.add('/metadata/name', 'required', requiredText);
  } else if (typeof name !== 'string') {
    wrongType('/metadata/name', 'string', name, found);
  } else {
    add('/metadata/name', name, naming === 'strict' ? nameProblem(name) : subdomainProblem(name), found);
  }
}

/** What follows is a letter or a digit. */
function isGenerateName(text: string, naming: Naming): boolean {
  return naming === 'strict' ? generateNameSyntax.test(text) : isSubdomain(`${text}a`);
}

const ownerMembers = Object.keys(ownerReference.properties);

function checkOwners(owners: unknown, found: Violations): void {
  if (owners === undefined) return;
  const pointer = '/metadata/ownerReferences';
  if (!Array.isArray(owners)) {
    wrongType(pointer, 'array', owners, found);
    return;
  }
  if (owners.length > ownersLimit) {
    found.add(pointer, 'maxItems', ownersText, { limit: ownersLimit, count: owners.length });
    return;
  }
  let controllers = 0;
  owners.forEach((owner: unknown, i) => {
    if (found.isFull) return;
    if (!isRecord(owner)) wrongType(`${pointer}/${i}`, 'object', owner, found);
    else {
      checkOwner(owner, `${pointer}/${i}`, found);
      if (owner.controller === true && ++controllers === 2)
        found.add(`${pointer}/${i}/controller`, 'const', controllersText);
    }
  });
}

function checkOwner(owner: Record<string, unknown>, pointer: string, found: Violations): void {
  for (const name of Object.keys(owner)) {
    if (!ownerMembers.includes(name))
      found.add(`${pointer}/${escapeToken(name)}`, 'additionalProperties', unknownOwnerText, {
        allowed: ownerMembers.join(', '),
      });
  }
  for (const name of ['apiVersion', 'kind', 'name'] as const) {
    const value = owner[name];
    if (value === undefined || value === '') found.add(`${pointer}/${name}`, 'required', metadataRequiredText);
    else if (typeof value !== 'string') wrongType(`${pointer}/${name}`, 'string', value, found);
  }
  if (owner.uid !== undefined && typeof owner.uid !== 'string') wrongType(`${pointer}/uid`, 'string', owner.uid, found);
  for (const name of ['controller', 'blockOwnerDeletion'] as const) {
    const value = owner[name];
    if (value !== undefined && typeof value !== 'boolean') wrongType(`${pointer}/${name}`, 'boolean', value, found);
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

/** Reserved by their prefix, yet everybody's to use (docs/reference/objects.md): by what stands before the domain, the name parts. */
const exempt: Readonly<Record<string, RegExp>> = {
  '': /^do-not-overwrite$/,
  'rbac.': /^(?:dependencies|aggregate-to-.+|role-template)$/,
  'kube.': /^indexes$/,
};

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
  naming: Naming = 'strict',
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
      const isFree =
        prefix === undefined ? origin === 'http' || naming === 'kubernetes' : !isReservedPrefix(prefix, reservedDomain);
      if (isFree) continue;
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
  const before = prefix.slice(0, -reservedDomain.length);
  return Object.hasOwn(exempt, before) && exempt[before]!.test(part);
}
