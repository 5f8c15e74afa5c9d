/** What a declaration promises to stored objects and to clients, as data (docs/guide/changing-models.md). */
import { createHash } from 'node:crypto';
import type { ChangeClass, SchemaChange } from '../schema/compare.ts';
import { changeClasses, compareRules, compareSchemas } from '../schema/compare.ts';
import { canonicalText, isEqual } from '../schema/json-value.ts';
import type { JsonSchema } from '../schema/keywords.ts';
import type { ValidationRule } from './attributes.ts';
import { defineModel } from './define.ts';
import type { IndexDefinition } from './index-entry.ts';
import { namespacedIndexes } from './index-spec.ts';
import { Scheme } from './scheme.ts';

/** Schemas of one version, each a document of its own. */
interface ContractVersion {
  readonly spec?: JsonSchema;
  readonly status?: JsonSchema;
  /** In place of `spec` and `status`: everything beside `apiVersion`, `kind` and `metadata`. */
  readonly schema?: JsonSchema;
  readonly specRequired: boolean;
  /** Of whole objects. Absent: none. */
  readonly rules?: readonly ValidationRule[];
  /** Absent: clients can use it. */
  readonly served?: false;
  /** Names of indexes for clients of this version, with those that they have in the hub. Absent: the same. */
  readonly indexNames?: Readonly<Record<string, string>>;
}

interface ContractIndex {
  readonly name: string;
  readonly keyType: string;
  readonly multi: boolean;
  readonly unique: boolean;
  readonly nullable: boolean;
  readonly order: string;
  /** SHA-256 of its text, and of the texts of a key type of its own. */
  readonly function: string;
}

/** A declaration as JSON. */
export interface Contract {
  readonly group: string;
  readonly kind: string;
  readonly singular: string;
  readonly plural: string;
  /** The version that index functions and controllers speak. */
  readonly hub: string;
  /** The version in which objects are to be written, once the model is finalized. */
  readonly storageVersion: string;
  readonly versions: Readonly<Record<string, ContractVersion>>;
  /** By name. */
  readonly indexes: readonly ContractIndex[];
  readonly subresources: { readonly status: boolean };
  /** Absent: cluster-scoped. */
  readonly scope?: 'Namespaced';
  /** Absent: strict. */
  readonly naming?: 'kubernetes';
  /** SHA-256 of the text of the function that changes stored objects. Absent: there is none. */
  readonly migrate?: string;
}

export function contractOf(scheme: Scheme): Contract {
  const { groupVersionKind: gvk, singular, plural, subresources, scope, naming, migrate } = scheme;
  return {
    group: gvk.group,
    kind: gvk.kind,
    singular,
    plural,
    hub: gvk.version,
    storageVersion: gvk.version,
    versions: Object.fromEntries([
      [gvk.version, versionOf(scheme)],
      ...scheme.spokes.map(({ scheme: spoke, indexNames }) => [
        spoke.groupVersionKind.version,
        { ...versionOf(spoke), ...(Object.keys(indexNames).length > 0 && { indexNames }) },
      ]),
    ]),
    indexes: scheme.indexes
      .filter((one) => !namespacedIndexes.includes(one))
      .map(indexOf)
      .sort((a, b) => (a.name < b.name ? -1 : 1)),
    subresources: { status: subresources.status },
    ...(scope !== 'Cluster' && { scope }),
    ...(naming !== 'strict' && { naming }),
    ...(migrate && { migrate: sha256(migrate.toString()) }),
  };
}

function versionOf({ documents, specRequired, rules, isServed }: Scheme): ContractVersion {
  return { ...documents, specRequired, ...(rules.length > 0 && { rules }), ...(!isServed && { served: false }) };
}

function indexOf({
  name,
  codec,
  multi,
  unique,
  nullable,
  order,
  indexFunc,
  source = indexFunc,
}: IndexDefinition): ContractIndex {
  const text = [source.toString(), ...(codec.source ?? [])].join('\n');
  return { name, keyType: codec.type, multi, unique, nullable, order, function: sha256(text) };
}

/** The same for contracts that say the same. */
export function contractHash(contract: Contract): string {
  return sha256(canonicalText(contract));
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/**
 * The model that a contract describes in one version, without its indexes: their functions are code.
 * @param version by default the hub
 * Throws `InvalidModel`.
 */
export function schemeOfContract(contract: Contract, version = contract.hub): Scheme {
  const { group, kind, singular, plural, versions, subresources, scope, naming } = contract;
  const { specRequired, spec, status, schema, rules } = versions[version]!;
  const names = { group, version, kind, singular, plural, ...(rules && { rules }) };
  const gvk = { ...names, subresources, ...(scope && { scope }), ...(naming && { naming }) };
  if (schema !== undefined) return Scheme.buildFromType(defineModel({ gvk, schema: schema as object }));
  const optional = typeof spec === 'object' && !specRequired ? { ...spec, '~optional': true } : spec;
  return Scheme.buildFromType(
    defineModel({
      gvk,
      ...(optional !== undefined && { spec: optional as object }),
      ...(status !== undefined && { status: status as object }),
    }),
  );
}

export interface ContractChange {
  /** A version, `index <name>`, a pointer into objects, or `names`. */
  readonly place: string;
  readonly what: string;
  readonly class: ChangeClass;
}

/** What a class means for stored objects: whether the new declaration accepts them. */
export const storedMeaning: Readonly<Record<ChangeClass, string>> = {
  docs: 'yes',
  widening: 'yes',
  behaviour: 'yes',
  index: 'yes',
  'needs-default': 'after a write',
  narrowing: 'the data decide',
  unknown: 'the data decide',
  breaking: 'the data decide, mostly no',
};

/** What a class means for clients that know the old declaration. */
export const clientsMeaning: Readonly<Record<ChangeClass, string>> = {
  docs: 'yes',
  widening: 'may meet what they do not know',
  behaviour: 'get other results',
  index: 'selectors on it fail while it is built, or for ever',
  'needs-default': 'yes',
  narrowing: 'writes may be refused',
  unknown: 'unknown',
  breaking: 'no',
};

/** Every difference of two contracts of one model. */
export function compareContracts(before: Contract, after: Contract): ContractChange[] {
  const changes: ContractChange[] = [];
  const add = (place: string, what: string, of: ChangeClass) => changes.push({ place, what, class: of });
  for (const name of ['singular', 'plural'] as const) {
    if (before[name] === after[name]) continue;
    add('names', `${name} ${before[name]} → ${after[name]}`, name === 'plural' ? 'breaking' : 'behaviour');
  }
  for (const [version, is] of Object.entries(after.versions)) {
    const was = before.versions[version];
    const isNewHub = version === after.hub && before.hub in after.versions;
    if (!was) add(version, isNewHub ? 'new version, hub' : 'new version', 'widening');
    else if (version === after.hub && version !== before.hub) add(version, 'hub', 'docs');
    if (!was) continue;
    if ((was.served ?? true) !== (is.served ?? true))
      add(version, is.served === false ? 'no longer served' : 'served', is.served === false ? 'breaking' : 'widening');
    if (!isEqual(was.indexNames ?? {}, is.indexNames ?? {})) add(version, 'other names of indexes', 'index');
    if (version === after.hub && version === before.hub) continue;
    compareVersions(was, is, ({ pointer, what, class: of }) => add(`${version} ${pointer || 'the object'}`, what, of));
  }
  for (const version of Object.keys(before.versions)) {
    if (!(version in after.versions)) add(version, 'no longer served', 'breaking');
  }
  if (before.scope !== after.scope) {
    const [was, is] = [before, after].map(({ scope }) => (scope ? 'namespaced' : 'cluster-scoped'));
    add('scope', `${was} → ${is}`, 'breaking');
  }
  if (before.naming !== after.naming) {
    add(
      'naming',
      after.naming ? 'strict → kubernetes' : 'kubernetes → strict',
      after.naming ? 'widening' : 'narrowing',
    );
  }
  const [was, is] = [before.subresources.status, after.subresources.status];
  if (was !== is) add('status', is ? 'has a route of its own' : 'has no route any more', is ? 'behaviour' : 'breaking');
  // Of two hubs that are both declared, a conversion stands between the schemas.
  if (before.hub === after.hub || !(before.hub in after.versions))
    compareVersions(before.versions[before.hub]!, after.versions[after.hub]!, ({ pointer, what, class: of }) =>
      add(pointer === '' ? 'the object' : pointer, what, of),
    );
  else add('the object', `converted from ${before.hub} to ${after.hub}`, 'unknown');
  compareIndexes(before, after, add);
  if (before.migrate !== after.migrate) {
    const what = after.migrate === undefined ? 'removed' : before.migrate === undefined ? 'added' : 'changed';
    add('migrate', what, after.migrate === undefined ? 'docs' : 'behaviour');
  }
  return changes;
}

function compareVersions(before: ContractVersion, after: ContractVersion, add: (change: SchemaChange) => void): void {
  for (const member of ['spec', 'status', 'schema'] as const) {
    const pointer = member === 'schema' ? '' : `/${member}`;
    const [was, is] = [before[member], after[member]];
    if (was !== undefined && is !== undefined) for (const one of compareSchemas(was, is, pointer)) add(one);
    else if (was !== undefined) add({ pointer, what: `${member} removed`, class: 'breaking' });
    else if (is !== undefined && !(member === 'spec' && after.specRequired))
      add({ pointer, what: `${member} added`, class: member === 'schema' ? 'unknown' : 'widening' });
  }
  for (const one of compareRules(before.rules, after.rules, '')) add(one);
  if (before.specRequired === after.specRequired) return;
  if (after.specRequired) add({ pointer: '/spec', what: 'required member added', class: 'narrowing' });
  else if (after.spec !== undefined) add({ pointer: '/spec', what: 'required → optional', class: 'widening' });
}

function compareIndexes(
  before: Contract,
  after: Contract,
  add: (place: string, what: string, of: ChangeClass) => void,
): void {
  for (const was of before.indexes) {
    if (!after.indexes.some(({ name }) => name === was.name)) add(`index ${was.name}`, 'removed', 'index');
  }
  for (const is of after.indexes) {
    const place = `index ${is.name}`;
    const was = before.indexes.find(({ name }) => name === is.name);
    if (!was) add(place, 'added', 'index');
    else {
      // Other keys may be shared, or missing.
      const ofKeys = is.unique || !is.nullable ? 'narrowing' : 'index';
      if (was.keyType !== is.keyType) add(place, `key type ${was.keyType} → ${is.keyType}`, ofKeys);
      if (was.multi !== is.multi) add(place, is.multi ? 'has many values now' : 'has one value now', ofKeys);
      if (was.order !== is.order) add(place, `order ${was.order} → ${is.order}`, 'behaviour');
      if (was.function !== is.function) add(place, 'function changed', ofKeys);
    }
    if (is.unique !== (was?.unique ?? false)) {
      add(place, is.unique ? 'unique added' : 'unique removed', is.unique ? 'narrowing' : 'widening');
    }
    if (is.nullable !== (was?.nullable ?? true)) {
      add(place, is.nullable ? 'nullable' : 'no longer nullable', is.nullable ? 'widening' : 'narrowing');
    }
  }
}

/** The class that asks the most; undefined without a change. */
export function strongest(changes: readonly { readonly class: ChangeClass }[]): ChangeClass | undefined {
  return changeClasses.findLast((one) => changes.some((change) => change.class === one));
}

/** Whether stored objects may violate the new declaration, so that they have to be looked at. */
export function needsData(changes: readonly { readonly class: ChangeClass }[]): boolean {
  return changes.some((change) => !['docs', 'widening', 'behaviour', 'index'].includes(change.class));
}

/** Whether an index takes the same keys from every object. */
export function hasFunctionOf(before: ContractIndex, after: ContractIndex): boolean {
  return before.function === after.function && before.keyType === after.keyType && before.multi === after.multi;
}

/**
 * Why replicas with the next declaration cannot serve by the active contract, in the words of `ContractChange`: they
 * begin when no replica with the active one is left. Empty: both can run side by side.
 */
export function obstaclesTo(active: Contract, next: Contract): string[] {
  const obstacles: string[] = [];
  if (active.plural !== next.plural) obstacles.push('plural changed');
  if (Object.keys(active.versions).some((version) => !(version in next.versions))) obstacles.push('version changed');
  if (active.scope !== next.scope) obstacles.push('scope changed');
  if (active.naming !== next.naming) obstacles.push('rules of names changed');
  for (const was of active.indexes) {
    if (!was.unique) continue;
    const is = next.indexes.find(({ name }) => name === was.name);
    if (!is) obstacles.push(`unique index ${was.name} removed`);
    else if (!hasFunctionOf(was, is)) obstacles.push(`function of the unique index ${was.name} changed`);
  }
  return obstacles;
}

/** Whether an index gives an object what it gave before. */
export function keepsIndex(before: Contract, after: Contract, name: string): boolean {
  const of = ({ indexes }: Contract) => indexes.find((one) => one.name === name);
  const was = of(before);
  return was !== undefined && isEqual(was, of(after));
}

/** Whether an index gives all stored objects what it gave before: in another hub it is given other objects. */
export function keepsKeys(before: Contract, after: Contract, name: string): boolean {
  return before.hub === after.hub && keepsIndex(before, after, name);
}
