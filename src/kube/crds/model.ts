/** The model that a definition declares. */
import { createHash } from 'node:crypto';
import { compilingRules } from '../../cel/rules.ts';
import type { Column } from '../../model/attributes.ts';
import type { Declaration, DeclaredVersion, Definition } from '../../model/declaration.ts';
import { deepFreeze } from '../../model/declaration.ts';
import { declaredModel } from '../../model/define.ts';
import type { GVKAttributes } from '../../model/gvk.ts';
import { apiVersionOf } from '../../model/gvk.ts';
import { checkIndexes } from '../../model/index-spec.ts';
import { metadataSchema, namespacedMetadataSchema } from '../../model/metadata.ts';
import type { Model } from '../../model/model-type.ts';
import type { ExtensionObject } from '../../model/object.ts';
import type { Validator } from '../../model/validator.ts';
import type { Content } from '../../model/versions.ts';
import type { Parts } from '../../runtime/parts.ts';
import { SchemaDocument } from '../../schema/document.ts';
import type { SchemaObject } from '../../schema/keywords.ts';
import { nodeLoader } from '../../schema/node-loader.ts';
import { kubernetesFormats } from './formats.ts';
import { indexesOf } from './indexes.ts';
import { jsonSchemaOf } from './json-schema.ts';
import type { DefinitionObject, DefinitionVersion } from './kind.ts';
import { DefinitionMistakes, FieldPath } from './path.ts';
import { GoPatterns } from './pattern.ts';
import { readStructural } from './structural.ts';
import type { Structural } from './structural-type.ts';
import { structuralValidator } from './validator.ts';

/** A version of a definition, read. */
export interface ReadVersion {
  readonly structural: Structural;
  /** Of everything but `apiVersion`, `kind` and `metadata`. */
  readonly content: SchemaObject;
  readonly document: SchemaDocument;
  /** What each part of the tree is in the document. */
  readonly schemas: ReadonlyMap<Structural, SchemaObject>;
  readonly metadata: SchemaObject | undefined;
  readonly patterns: GoPatterns;
}

export function* readVersion(
  version: DefinitionVersion,
  path: FieldPath,
  mistakes: DefinitionMistakes,
): Parts<ReadVersion> {
  const structural = yield* readStructural(version.schema?.openAPIV3Schema, path, mistakes);
  const schemas = new Map<Structural, SchemaObject>();
  const whole = yield* jsonSchemaOf(structural, (node, schema) => schemas.set(node, schema));
  const { apiVersion: _apiVersion, kind: _kind, metadata, ...properties } = (whole.properties ?? {}) as SchemaObject;
  const required = ((whole.required ?? []) as string[]).filter((name) => !ofEveryObject.includes(name));
  const { required: _required, ...rest } = whole;
  const content: SchemaObject = { ...rest, properties, ...(required.length > 0 && { required }) };
  schemas.set(structural, content);
  const restrictions = (metadata as SchemaObject | undefined)?.properties ? (metadata as SchemaObject) : undefined;
  const patterns = new GoPatterns();
  const document = new SchemaDocument(
    { ...content, ...(restrictions && { $defs: { metadata: restrictions } }) },
    {
      model: version.name,
      path: '',
      closed: false,
      loader: nodeLoader,
      patternOf: (source) => patterns.of(source),
      formats: kubernetesFormats,
      isPlain: true,
    },
  );
  return { structural, content, document, schemas, metadata: restrictions, patterns };
}

const ofEveryObject = ['apiVersion', 'kind', 'metadata'];

export function storageVersionOf({ spec }: Pick<DefinitionObject, 'spec'>): DefinitionVersion {
  return spec.versions.find(({ storage }) => storage)!;
}

/** @throws KindredError Invalid, InvalidModel for what admission would not accept */
export function* modelOf(definition: DefinitionObject, reservedDomain: string): Parts<Model<ExtensionObject>> {
  const storage = storageVersionOf(definition);
  const hub = yield* declarationOf(definition, storage, reservedDomain);
  const toHub = conforming(hub.definition.validator);
  const versions: DeclaredVersion[] = [];
  for (const version of definition.spec.versions) {
    // Objects that are stored in one that is not served conform to the hub like all others.
    if (version === storage || !version.served) continue;
    const declaration = yield* declarationOf(definition, version, reservedDomain);
    const { served, deprecated } = declaration;
    const fromHub = conforming(declaration.definition.validator);
    versions.push({
      version: version.name,
      declaration,
      served,
      deprecated,
      toHub,
      fromHub,
      indexNames: {},
      sources: [],
    });
  }
  return declaredModel({ ...hub, versions }) as Model<ExtensionObject>;
}

/** All that there is between two versions. */
function conforming(validator: Validator): (content: Content) => Content {
  return (content) => {
    const object = structuredClone(content) as unknown as ExtensionObject;
    validator.prune?.(object);
    validator.applyDefaults(object);
    return object as unknown as Content;
  };
}

/** One version as a declaration of its own. Indexes are those of the version in which objects are stored. */
function* declarationOf(
  definition: DefinitionObject,
  version: DefinitionVersion,
  reservedDomain: string,
): Parts<Declaration & { readonly definition: Definition }> {
  const { spec } = definition;
  const mistakes = new DefinitionMistakes();
  const read = yield* readVersion(version, FieldPath.of('spec'), mistakes);
  mistakes.refuse();
  const { names, group, scope } = spec;
  const { status, scale } = version.subresources ?? {};
  const gvk: GVKAttributes = {
    group,
    version: version.name,
    kind: names.kind,
    singular: names.singular ?? names.kind.toLowerCase(),
    plural: names.plural,
    naming: 'kubernetes',
    ...(scope === 'Namespaced' && { scope }),
    shortNames: names.shortNames ?? [],
    categories: names.categories ?? [],
    ...(version.additionalPrinterColumns?.length && { columns: columnsOf(version) }),
    subresources: { status: status !== undefined, ...(scale && { scale }) },
  };
  const indexSpecs = version.storage ? indexesOf(definition, version, read.structural, reservedDomain) : [];
  const { properties = {}, required = [], ...rest } = read.content as { properties?: object; required?: string[] };
  const jsonSchema = deepFreeze({
    ...rest,
    type: 'object',
    properties: {
      apiVersion: { type: 'string', const: apiVersionOf(gvk), description: 'Group and version of the model' },
      kind: { type: 'string', const: gvk.kind, description: 'Kind of the model' },
      metadata: scope === 'Namespaced' ? namespacedMetadataSchema : metadataSchema,
      ...properties,
    },
    required: [...ofEveryObject, ...required],
  });
  yield;
  const rules = yield* compilingRules(jsonSchema as SchemaObject, { isObject: true });
  const { structural, document, metadata } = read;
  return {
    gvk,
    documents: { fields: document },
    specRequired: false,
    indexes: checkIndexes(indexSpecs),
    indexSpecs,
    jsonSchema,
    warnings: [],
    served: version.served,
    deprecated: deprecationOf(definition, version),
    versions: [],
    definition: {
      listKind: names.listKind ?? `${names.kind}List`,
      code: codeOf(definition),
      validator: structuralValidator({ structural, document, metadata, rules }),
    },
  };
}

/** What clients of a deprecated version are told. */
export function deprecationOf(
  { spec: { group, names } }: DefinitionObject,
  version: DefinitionVersion,
): string | undefined {
  if (!version.deprecated) return undefined;
  return version.deprecationWarning ?? `${group}/${version.name} ${names.kind} is deprecated`;
}

/** The same for definitions that declare the same. */
export function codeOf({ spec, metadata }: DefinitionObject): string {
  const annotation = Object.entries(metadata.annotations ?? {}).filter(([name]) => name.startsWith('kube.'));
  return createHash('sha256')
    .update(JSON.stringify([spec, annotation]))
    .digest('hex');
}

export function columnsOf({ additionalPrinterColumns = [] }: DefinitionVersion): Column[] {
  return additionalPrinterColumns.map(({ jsonPath, type, ...column }) => ({
    ...column,
    type: type as Column['type'],
    path: jsonPath,
  }));
}
