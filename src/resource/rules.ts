/**
 * By what the objects of a model are written: the contract that is active, with the index functions of the declaration that
 * this process has. While replicas with different versions of a plugin run side by side, the two differ.
 */
import type { Violation } from '../errors.ts';
import { KindredError } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import type { Contract } from '../model/contract.ts';
import { hasFunctionOf, obstaclesTo, schemeOfContract } from '../model/contract.ts';
import type { IndexDefinition, IndexEntry } from '../model/index-entry.ts';
import type { ExtensionObject } from '../model/object.ts';
import type { Scheme } from '../model/scheme.ts';
import type { Validator } from '../model/validator.ts';
import { lenientEntry } from './entries.ts';

export interface Rules {
  /** The model generation that they are those of; undefined for a model that has none. */
  readonly generation?: number;
  readonly validator: Validator;
  /** Of whole objects. */
  readonly jsonSchema: object;
  readonly hasStatus: boolean;
  /** In which writes are computed: `apiVersion` of the active contract's hub. */
  readonly apiVersion: string;
  /** In which objects are stored, as `apiVersion`. */
  readonly storage: string;
  /** What clients see of a version: its names, schema and sub-resources. Undefined for one that they cannot use. */
  readonly shown: (version: string) => Scheme | undefined;
  /** Those of the declaration, in its order, with the options of the active contract. */
  readonly indexes: readonly IndexDefinition[];
  /** Those of the declaration: tells in whose order the entries are. */
  readonly layout: readonly IndexDefinition[];
  readonly uniques: readonly IndexDefinition[];
  /** Names of unique indexes whose values older objects may not have claimed. */
  readonly claiming: ReadonlySet<string>;
  /** Names of indexes that the active contract does not have: what they refuse does not count. */
  readonly unknown: ReadonlySet<string>;
  /** Another contract is active than the declared one. */
  readonly isEmulated: boolean;
  /** It has another hub, so that its objects have other keys, and other unique values, than those in memory here. */
  readonly hasOtherHub: boolean;
  /** Another contract is active, and cannot be followed with these index functions: nothing is written. */
  readonly isBlocked: boolean;
}

const none: ReadonlySet<string> = new Set();

const texts = {
  waits: localized('{kind} takes no writes before replicas with another version of the plugin are gone'),
};

/** What the store says of a model. */
interface ActiveModel {
  readonly generation?: number | undefined;
  readonly claiming?: ReadonlySet<string>;
  readonly storageVersion?: string | undefined;
}

/** Of the declaration itself. */
export function ownRules(scheme: Scheme, { generation, claiming = none, storageVersion }: ActiveModel = {}): Rules {
  const { indexes, jsonSchema, subresources, apiVersion } = scheme;
  return {
    ...(generation !== undefined && { generation }),
    get validator() {
      return scheme.validator;
    },
    jsonSchema,
    hasStatus: subresources.status,
    apiVersion,
    storage: (storageVersion !== undefined && scheme.inVersion(storageVersion)?.apiVersion) || apiVersion,
    shown: (version) => {
      const known = scheme.inVersion(version);
      return known?.isServed ? known : undefined;
    },
    indexes,
    layout: indexes,
    uniques: indexes.filter(({ unique }) => unique),
    claiming,
    unknown: none,
    isEmulated: false,
    hasOtherHub: false,
    isBlocked: false,
  };
}

/**
 * Of another contract that is active. Blocked when the declaration cannot stand in for it.
 * @param next the contract of the declaration
 */
export function emulatedRules(
  scheme: Scheme,
  next: Contract,
  { contract, generation, claiming = none, storageVersion }: ActiveModel & { contract: Contract },
): Rules {
  const active = obstaclesTo(contract, next).length === 0 ? schemeOf(contract) : undefined;
  if (!active) return { ...ownRules(scheme, { generation }), isBlocked: true };
  const unknown = new Set<string>();
  const indexes = scheme.indexes.map((definition) => {
    const was = contract.indexes.find(({ name }) => name === definition.name);
    const is = next.indexes.find(({ name }) => name === definition.name)!;
    if (was && hasFunctionOf(was, is)) return { ...definition, unique: was.unique, nullable: was.nullable };
    unknown.add(definition.name);
    return { ...definition, unique: false, nullable: true };
  });
  const stored = storageVersion ?? contract.hub;
  const versions = new Map<string, Scheme | undefined>([[contract.hub, active]]);
  return {
    ...(generation !== undefined && { generation }),
    validator: active.validator,
    jsonSchema: active.jsonSchema,
    hasStatus: active.subresources.status,
    apiVersion: active.apiVersion,
    storage: scheme.inVersion(stored)?.apiVersion ?? active.apiVersion,
    shown: (version) => {
      const served = contract.versions[version];
      if (!served || served.served === false) return undefined;
      if (!versions.has(version)) versions.set(version, schemeOf(contract, version));
      return versions.get(version);
    },
    indexes,
    layout: scheme.indexes,
    uniques: indexes.filter(({ unique }) => unique),
    claiming,
    unknown,
    isEmulated: true,
    hasOtherHub: active.apiVersion !== scheme.apiVersion,
    isBlocked: false,
  };
}

/** A write that only replicas with the active contract can make. */
export function waitsForReplicas(kind: string): KindredError {
  return new KindredError('NotReady', texts.waits, { params: { kind }, headers: { 'retry-after': '1' } });
}

/** Undefined for a contract that this version of the service does not understand. */
function schemeOf(contract: Contract, version = contract.hub): Scheme | undefined {
  try {
    return schemeOfContract(contract, version);
  } catch {
    return undefined;
  }
}

/** The entry of an object that is about to be stored, and what the indexes of the active contract refuse. */
export function entryBy(
  rules: Rules,
  object: ExtensionObject,
  name: string,
): { entry: IndexEntry; violations: readonly Violation[] } {
  const { entry, violations } = lenientEntry(rules, object, name);
  if (rules.unknown.size === 0 || violations.length === 0) return { entry, violations };
  const counts = ({ params }: Violation) => !rules.unknown.has(String((params as { index?: unknown }).index));
  return { entry, violations: violations.filter(counts) };
}
