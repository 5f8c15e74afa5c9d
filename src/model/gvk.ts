/** Group, version and kind: the identity of a model, its rules (specification, "Model definition"; docs/reference/declaration.md). */

import type { Text } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import { invalidModel, Mistakes } from '../schema/invalid-model.ts';
import type { ModelAttributes } from './attributes.ts';
import { checkAttributes } from './attributes.ts';
import { parseDuration } from './duration.ts';
import { isSubdomain } from './names.ts';
import type { Presentation } from './presentation.ts';
import type { Versions } from './versions.ts';

/** Which model an object is of. */
export interface GroupVersionKind {
  /** A DNS sub-domain such as `demo.example.com`; the empty group is the service's own. */
  group: string;
  /** `v1`, `v1alpha1`, `v2beta3`. */
  version: string;
  /** In upper camel case. */
  kind: string;
}

/** What a model is called. */
export interface GVKAttributes extends GroupVersionKind, ModelAttributes {
  /** Singular name of the resource: `[a-z][a-z0-9-]*`, at most 63 characters. */
  singular: string;
  /** Plural name, used in paths; the same rule, and not `namespaces`, `proxy` or `watch`. */
  plural: string;
  /** How people see the model. */
  presentation?: Presentation;
  /** How the model takes the place of its earlier declaration. */
  evolution?: Evolution;
  /** The model in other versions. */
  versions?: Versions;
}

/** How a model takes the place of its earlier declaration. */
export interface Evolution<T = any> {
  /** `refuse` (default): the plugin does not start. `degrade`: it starts, and the objects are listed as degraded. */
  onInvalid?: 'refuse' | 'degrade';
  /**
   * How long objects are stored in the version of before, so that the earlier plugin can read them: from when every
   * replica declares the new version. Milliseconds, or a text such as `30m`; 0: not at all. Default `1h`.
   */
  finalizeAfter?: number | string;
  /**
   * What a stored object is to be: a pure, synchronous function of an object in the hub, which gives another one or, for one that
   * is as it should be, undefined. Once the declaration is active and the model is finalized, the service updates the objects
   * that it changes. What it gives must be left as it is when it is asked again.
   */
  migrate?: (object: T) => T | undefined;
}

const versionSyntax = /^v[1-9]\d*(?:(?:alpha|beta)[1-9]\d*)?$/;
const kindSyntax = /^[A-Z][A-Za-z0-9]*$/;
const resourceSyntax = /^[a-z][a-z0-9-]*$/;
const takenPlurals: readonly string[] = ['namespaces', 'proxy', 'watch'];
const resourceText: Text = localized(
  'The GVK attribute "{name}" must consist of lower-case letters, digits and "-", start with a letter, and have at most 63 characters; got "{value}"',
);
const attributeNames = ['group', 'version', 'kind', 'singular', 'plural'] as const;

/** `v1`, `v1alpha1`, `v2beta3`. */
export function isVersion(text: string): boolean {
  return versionSyntax.test(text);
}

/** `<group>/<version>`, or the version alone in the empty group. */
export function apiVersionOf({ group, version }: { group: string; version: string }): string {
  return group === '' ? version : `${group}/${version}`;
}

/** `Person (demo.example.com/v1alpha1)`, for messages. */
export function describeGvk(gvk: GroupVersionKind): string {
  return `${gvk.kind} (${apiVersionOf(gvk)})`;
}

/** True for the empty group, the reserved domain and every group below it. */
export function isReservedGroup(group: string, reservedDomain: string): boolean {
  return group === '' || group === reservedDomain || group.endsWith(`.${reservedDomain}`);
}

/** A checked copy of the attributes. Throws `InvalidModel` that names each mistaken attribute, its rule and the value. */
export function checkGvk(attributes: GVKAttributes): GVKAttributes {
  if (typeof attributes !== 'object' || attributes === null) {
    invalidModel(localized('A model needs the attributes group, version, kind, singular and plural'));
  }
  const mistakes = new Mistakes();
  for (const name of attributeNames) mistakes.in(() => checkAttribute(name, attributes[name]));
  // Of the service itself: the registry lets nobody else have it.
  if (attributes.kind !== 'Namespace') mistakes.in(() => checkPlural(attributes.plural));
  const further = mistakes.in(() => checkAttributes(attributes));
  const evolution = mistakes.in(() => checkEvolution(attributes.evolution));
  mistakes.throw();
  const { group, version, kind, singular, plural, presentation } = attributes;
  return {
    group,
    version,
    kind,
    singular,
    plural,
    ...further,
    ...(presentation !== undefined && { presentation }),
    ...(evolution && { evolution }),
  };
}

const rules: Readonly<Record<(typeof attributeNames)[number], { holds(value: string): boolean; text: Text }>> = {
  group: {
    holds: (group) => group === '' || isSubdomain(group),
    text: localized(
      'The GVK attribute "{name}" must be a DNS sub-domain of at most 253 characters, such as "demo.example.com"; got "{value}"',
    ),
  },
  version: {
    holds: (version) => isVersion(version) && version.length <= 63,
    text: localized('The GVK attribute "{name}" must be of the form v1, v1alpha1 or v2beta3; got "{value}"'),
  },
  kind: {
    holds: (kind) => kindSyntax.test(kind) && kind.length <= 63,
    text: localized(
      'The GVK attribute "{name}" must be in upper camel case, such as "Person", of at most 63 letters and digits; got "{value}"',
    ),
  },
  singular: { holds: isResourceName, text: resourceText },
  plural: { holds: isResourceName, text: resourceText },
};

function isResourceName(name: string): boolean {
  return resourceSyntax.test(name) && name.length <= 63;
}

function checkAttribute(name: (typeof attributeNames)[number], value: unknown): void {
  if (typeof value !== 'string') {
    invalidModel(
      localized(
        'The GVK attribute "{name}" is missing: group, version, kind, singular and plural are all needed, each a string',
      ),
      { name },
    );
  }
  const { holds, text } = rules[name];
  if (!holds(value)) invalidModel(text, { name, value });
}

/** Throws `InvalidModel` for a plural that means something else in paths. */
export function checkPlural(value: string): void {
  if (!takenPlurals.includes(value)) return;
  invalidModel(localized('The GVK attribute "plural" must not be one of {taken}; got "{value}"'), {
    taken: takenPlurals.join(', '),
    value,
  });
}

function checkEvolution(evolution: unknown): Evolution | undefined {
  if (evolution === undefined) return undefined;
  const isRecord = typeof evolution === 'object' && evolution !== null;
  const { onInvalid, finalizeAfter, migrate, ...others } = isRecord ? (evolution as Evolution) : {};
  const isTime = finalizeAfter === undefined || parseDuration(finalizeAfter) !== undefined;
  if (
    !isRecord ||
    Object.keys(others).length > 0 ||
    !isTime ||
    !(migrate === undefined || typeof migrate === 'function') ||
    !(onInvalid === undefined || onInvalid === 'refuse' || onInvalid === 'degrade')
  ) {
    invalidModel(
      localized(
        '"evolution" may have "onInvalid" ("refuse" or "degrade"), "finalizeAfter" (milliseconds or a text such as "1h") and the function "migrate"; got {value}',
      ),
      { value: evolution },
    );
  }
  return {
    ...(onInvalid && { onInvalid }),
    ...(finalizeAfter !== undefined && { finalizeAfter }),
    ...(migrate && { migrate }),
  };
}
