/** Which definitions are accepted. */
import { compilingRules } from '../../cel/rules.ts';
import { Violations } from '../../errors.ts';
import { isSubdomain } from '../../model/names.ts';
import type { Parts } from '../../runtime/parts.ts';
import { isEqual } from '../../schema/json-value.ts';
import { JsonPath } from '../jsonpath.ts';
import { fieldAt, readAnnotation } from './indexes.ts';
import type { DefinitionNames, DefinitionObject, DefinitionVersion } from './kind.ts';
import type { ReadVersion } from './model.ts';
import { readVersion } from './model.ts';
import { DefinitionMistakes, FieldPath } from './path.ts';
import type { GoPatterns } from './pattern.ts';
import type { Structural } from './structural-type.ts';
import { pruneUnknown, setDefaults } from './values.ts';

const labelText =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const label = /^[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?$/;
const approval = 'api-approved.kubernetes.io';
const mostSelectable = 8;
const columnTypes = ['boolean', 'date', 'integer', 'number', 'string'];
/** Mean something else in paths. */
const takenPlurals = ['namespaces', 'proxy', 'watch'];

/** The definition with the names that follow from others. */
export function withDefaults(definition: DefinitionObject): DefinitionObject {
  const { names } = definition.spec;
  const { kind } = names;
  return {
    ...definition,
    spec: {
      ...definition.spec,
      names: { ...names, singular: names.singular ?? kind.toLowerCase(), listKind: names.listKind ?? `${kind}List` },
      conversion: { ...definition.spec.conversion, strategy: definition.spec.conversion?.strategy ?? 'None' },
    },
  };
}

/** @throws KindredError Invalid with everything that is wrong */
export function* checkDefinition(
  definition: DefinitionObject,
  before: DefinitionObject | undefined,
  reservedDomain: string,
): Parts<void> {
  const mistakes = new DefinitionMistakes();
  const { spec, metadata } = definition;
  const at = FieldPath.of('spec');
  const { group, names, scope, versions } = spec;
  if (metadata.name !== `${names.plural}.${group}`) {
    mistakes.invalid(FieldPath.of('metadata', 'name'), metadata.name, 'must be spec.names.plural+"."+spec.group');
  }
  checkGroup(definition, reservedDomain, mistakes);
  if (scope !== 'Cluster' && scope !== 'Namespaced') {
    mistakes.unsupported(at.child('scope'), scope, ['Cluster', 'Namespaced']);
  }
  if (before && before.spec.scope !== scope) mistakes.invalid(at.child('scope'), scope, 'field is immutable');
  if (before && before.spec.names.kind !== names.kind && isEstablished(before)) {
    mistakes.invalid(at.child('names', 'kind'), names.kind, 'field is immutable');
  }
  checkNames(names, at.child('names'), mistakes);
  const strategy = spec.conversion?.strategy;
  if (strategy !== undefined && strategy !== 'None' && strategy !== 'Webhook') {
    mistakes.unsupported(at.child('conversion', 'strategy'), strategy, ['None', 'Webhook']);
  }
  if (spec.preserveUnknownFields === true) {
    const text =
      'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead';
    mistakes.invalid(at.child('preserveUnknownFields'), true, text);
  }
  yield* checkVersions(versions, at.child('versions'), mistakes);
  for (const [i, stored] of (before?.status?.storedVersions ?? []).entries()) {
    if (versions.some(({ name }) => name === stored)) continue;
    const text = `missing from spec.versions; ${stored} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${stored} and removes ${stored} from status.storedVersions`;
    mistakes.invalid(FieldPath.of('status', 'storedVersions').key(i), stored, text);
  }
  readAnnotation(definition, reservedDomain, mistakes);
  mistakes.refuse();
}

function isEstablished({ status }: DefinitionObject): boolean {
  return status?.conditions?.some(({ type, status }) => type === 'Established' && status === 'True') === true;
}

function checkGroup({ spec: { group }, metadata }: DefinitionObject, domain: string, mistakes: DefinitionMistakes) {
  const at = FieldPath.of('spec', 'group');
  if (!isSubdomain(group)) {
    return mistakes.invalid(at, group, 'must be a lowercase RFC 1123 subdomain such as example.com');
  }
  if (!group.includes('.')) return mistakes.invalid(at, group, 'should be a domain with at least one dot');
  if (group === domain || group.endsWith(`.${domain}`)) {
    return mistakes.invalid(at, group, `is reserved: ${domain} belongs to the service itself`);
  }
  const isProtected = /(?:^|\.)(?:k8s|kubernetes)\.io$/.test(group);
  if (!isProtected || metadata.annotations?.[approval]) return;
  const text = `protected groups must have approval annotation "${approval}", see https://github.com/kubernetes/enhancements/pull/1111`;
  mistakes.required(FieldPath.of('metadata', 'annotations').key(approval), text);
}

function checkNames(names: DefinitionNames, at: FieldPath, mistakes: DefinitionMistakes): void {
  const check = (name: string, path: FieldPath): void => {
    if (name === '') mistakes.required(path);
    else if (!label.test(name)) mistakes.invalid(path, name, labelText);
  };
  const { plural, singular, kind, listKind, shortNames = [], categories = [] } = names;
  check(plural, at.child('plural'));
  if (takenPlurals.includes(plural)) mistakes.invalid(at.child('plural'), plural, 'is taken for paths');
  if (singular !== undefined) check(singular, at.child('singular'));
  for (const [member, value] of [
    ['kind', kind],
    ['listKind', listKind],
  ] as const) {
    if (value === undefined) continue;
    const text = `may have mixed case, but should otherwise match: ${labelText}`;
    if (value === '') mistakes.required(at.child(member));
    else if (!label.test(value.toLowerCase())) mistakes.invalid(at.child(member), value, text);
  }
  if (kind === listKind) mistakes.invalid(at.child('listKind'), listKind, 'kind and listKind may not be the same');
  for (const [i, name] of shortNames.entries()) check(name, at.child('shortNames').key(i));
  for (const [i, name] of categories.entries()) check(name, at.child('categories').key(i));
}

function* checkVersions(
  versions: readonly DefinitionVersion[],
  at: FieldPath,
  mistakes: DefinitionMistakes,
): Parts<void> {
  if (versions.length === 0) mistakes.required(at, 'must have at least one version');
  else if (versions.filter(({ storage }) => storage).length !== 1) {
    mistakes.invalid(at, versions, 'must have exactly one version marked as storage version');
  }
  const seen = new Set<string>();
  for (const [i, version] of versions.entries()) {
    const path = at.key(i);
    if (!label.test(version.name)) mistakes.invalid(path.child('name'), version.name, labelText);
    if (seen.has(version.name)) mistakes.invalid(at, versions, 'must contain unique version names');
    seen.add(version.name);
    if (version.deprecationWarning !== undefined && !version.deprecated) {
      const text = 'can only be set for deprecated versions';
      mistakes.invalid(path.child('deprecationWarning'), version.deprecationWarning, text);
    }
    yield* checkVersion(version, path, mistakes);
  }
}

function* checkVersion(version: DefinitionVersion, path: FieldPath, mistakes: DefinitionMistakes): Parts<void> {
  const at = path.child('schema', 'openAPIV3Schema');
  if (version.schema?.openAPIV3Schema === undefined) return mistakes.required(at, 'schemas are required');
  const before = mistakes.count;
  const read = yield* readVersion(version, at, mistakes);
  checkColumns(version, path, mistakes);
  checkScale(version, path, mistakes);
  checkSelectable(version, read, path, mistakes);
  if (mistakes.count > before) return;
  yield* checkPatterns(version.schema.openAPIV3Schema, at, read.patterns, mistakes);
  if (mistakes.count > before) return;
  yield* checkDefaults(read, at, mistakes);
  const { problems } = yield* compilingRules(
    { ...read.content, properties: { ...(read.content.properties as object), metadata: { type: 'object' } } },
    { isObject: true },
  );
  for (const { path: pointer, message, params } of problems)
    mistakes.invalid(placeOf(at, pointer), params.rule ?? '', message);
}

/** A pointer into a schema, as a place in the definition. */
function placeOf(at: FieldPath, pointer: string): FieldPath {
  let path = at;
  let isKey = false;
  for (const token of pointer.split('/').slice(1)) {
    path = isKey || /^\d+$/.test(token) ? path.key(token) : path.child(token);
    isKey = !isKey && token === 'properties';
  }
  return path;
}

function* checkPatterns(
  schema: unknown,
  at: FieldPath,
  patterns: GoPatterns,
  mistakes: DefinitionMistakes,
): Parts<void> {
  if (typeof schema !== 'object' || schema === null) return;
  for (const [name, value] of Object.entries(schema)) {
    if (name === 'default' || name === 'enum' || name === 'example') continue;
    const path = Array.isArray(schema) ? at.key(name) : at.child(name);
    if (name === 'pattern' && typeof value === 'string') {
      try {
        patterns.of(value);
      } catch (error) {
        mistakes.invalid(path, value, `must be a valid regular expression, but isn't: ${(error as Error).message}`);
      }
      yield;
    } else if (name === 'properties' && typeof value === 'object' && value !== null) {
      for (const [key, one] of Object.entries(value)) yield* checkPatterns(one, path.key(key), patterns, mistakes);
    } else if (typeof value === 'object') yield* checkPatterns(value, path, patterns, mistakes);
  }
  yield;
}

function checkColumns(
  { additionalPrinterColumns = [] }: DefinitionVersion,
  path: FieldPath,
  mistakes: DefinitionMistakes,
) {
  for (const [i, { name, type, jsonPath }] of additionalPrinterColumns.entries()) {
    const at = path.child('additionalPrinterColumns').key(i);
    if (name === '') mistakes.required(at.child('name'));
    if (!columnTypes.includes(type)) {
      mistakes.invalid(at.child('type'), type, `must be one of ${columnTypes.join(',')}`);
    }
    if (jsonPath === '') mistakes.required(at.child('jsonPath'));
    else if (!JsonPath.parse(jsonPath)) mistakes.invalid(at.child('jsonPath'), jsonPath, 'is an invalid JSON path');
  }
}

const scalePath = /^(?:\.[\w-]+){2,}$/;

function checkScale({ subresources }: DefinitionVersion, path: FieldPath, mistakes: DefinitionMistakes): void {
  const { scale } = subresources ?? {};
  if (!scale) return;
  const at = path.child('subresources', 'scale');
  for (const [member, starts] of [
    ['specReplicasPath', ['.spec.']],
    ['statusReplicasPath', ['.status.']],
    ['labelSelectorPath', ['.status.', '.spec.']],
  ] as const) {
    const value = scale[member];
    if (value === undefined || value === '') {
      if (member !== 'labelSelectorPath') mistakes.required(at.child(member));
    } else if (!scalePath.test(value)) {
      mistakes.invalid(at.child(member), value, 'should be a json path without array notation');
    } else if (!starts.some((start) => value.startsWith(start))) {
      const [start] = starts;
      mistakes.invalid(at.child(member), value, `should be a json path under ${start.slice(0, -1)}`);
    }
  }
}

function checkSelectable(
  { selectableFields = [] }: DefinitionVersion,
  { structural }: ReadVersion,
  path: FieldPath,
  mistakes: DefinitionMistakes,
): void {
  const at = path.child('selectableFields');
  if (selectableFields.length > mostSelectable) mistakes.tooMany(at, selectableFields.length, mostSelectable);
  for (const [i, { jsonPath }] of selectableFields.entries()) {
    const place = at.key(i).child('jsonPath');
    if (jsonPath === '') mistakes.required(place);
    else if (!/^(?:\.[\w-]+)+$/.test(jsonPath)) {
      mistakes.invalid(place, jsonPath, 'is an invalid path: must be a simple json path with a leading dot');
    } else if (jsonPath.startsWith('.metadata'))
      mistakes.invalid(place, jsonPath, 'must not point to fields in metadata');
    else if (!['string', 'integer', 'boolean'].includes(fieldAt(structural, jsonPath)?.type ?? '')) {
      mistakes.invalid(place, jsonPath, 'must point to a field of type string, boolean or integer');
    } else if (selectableFields.findIndex((one) => one.jsonPath === jsonPath) < i) mistakes.duplicate(place, jsonPath);
  }
}

/** A default must be what an object may have. */
function* checkDefaults(
  { structural, document, schemas }: ReadVersion,
  at: FieldPath,
  mistakes: DefinitionMistakes,
): Parts<void> {
  function* visit(node: Structural, path: FieldPath): Parts<void> {
    if (node.defaultText !== undefined) {
      const value: unknown = JSON.parse(node.defaultText);
      const place = path.child('default');
      if (pruneUnknown(value, node).length > 0) {
        mistakes.invalid(place, node.schema.default, 'must not have unknown fields');
      } else {
        setDefaults(value, node);
        const found = new Violations();
        document.validatePart(schemas.get(node)!, value, '', found);
        const [first] = found.listed;
        if (first)
          mistakes.invalid(place, node.schema.default, `must be valid: at "${first.pointer}" it ${first.message}`);
      }
    }
    for (const [name, one] of node.properties) yield* visit(one, path.child('properties').key(name));
    if (node.items) yield* visit(node.items, path.child('items'));
    if (typeof node.additional === 'object') yield* visit(node.additional, path.child('additionalProperties'));
    yield;
  }
  yield* visit(structural, at);
}

/** Whether anything changed that the definition declares. */
export function declaresTheSame(a: DefinitionObject, b: DefinitionObject): boolean {
  return isEqual(a.spec, b.spec) && isEqual(a.metadata.annotations ?? {}, b.metadata.annotations ?? {});
}
