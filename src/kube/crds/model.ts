/** The model that a definition declares. */
import { createHash } from 'node:crypto';
import { compileRules } from '../../cel/rules.ts';
import type { Column } from '../../model/attributes.ts';
import { deepFreeze } from '../../model/declaration.ts';
import { declaredModel } from '../../model/define.ts';
import type { GVKAttributes } from '../../model/gvk.ts';
import { apiVersionOf } from '../../model/gvk.ts';
import { checkIndexes } from '../../model/index-spec.ts';
import { metadataSchema, namespacedMetadataSchema } from '../../model/metadata.ts';
import type { Model } from '../../model/model-type.ts';
import type { ExtensionObject } from '../../model/object.ts';
import { SchemaDocument } from '../../schema/document.ts';
import type { SchemaObject } from '../../schema/keywords.ts';
import { nodeLoader } from '../../schema/node-loader.ts';
import { kubernetesFormats } from './formats.ts';
import { indexesOf } from './indexes.ts';
import { jsonSchemaOf } from './json-schema.ts';
import type { DefinitionObject, DefinitionVersion } from './kind.ts';
import { DefinitionMistakes, FieldPath } from './path.ts';
import { compileGoPattern } from './pattern.ts';
import type { Structural } from './structural.ts';
import { readStructural } from './structural.ts';
import { structuralValidator } from './validator.ts';

/** A version of a definition, read. */
export interface DeclaredVersion {
  readonly structural: Structural;
  /** Of everything but `apiVersion`, `kind` and `metadata`. */
  readonly content: SchemaObject;
  readonly document: SchemaDocument;
  /** What each part of the tree is in the document. */
  readonly schemas: ReadonlyMap<Structural, SchemaObject>;
  readonly metadata: SchemaObject | undefined;
}

export function readVersion(
  version: DefinitionVersion,
  path: FieldPath,
  mistakes: DefinitionMistakes,
): DeclaredVersion {
  const structural = readStructural(version.schema?.openAPIV3Schema, path, mistakes);
  const schemas = new Map<Structural, SchemaObject>();
  const whole = jsonSchemaOf(structural, (node, schema) => schemas.set(node, schema));
  const { apiVersion: _apiVersion, kind: _kind, metadata, ...properties } = (whole.properties ?? {}) as SchemaObject;
  const required = ((whole.required ?? []) as string[]).filter((name) => !ofEveryObject.includes(name));
  const { required: _required, ...rest } = whole;
  const content: SchemaObject = { ...rest, properties, ...(required.length > 0 && { required }) };
  schemas.set(structural, content);
  const restrictions = (metadata as SchemaObject | undefined)?.properties ? (metadata as SchemaObject) : undefined;
  const document = new SchemaDocument(
    { ...content, ...(restrictions && { $defs: { metadata: restrictions } }) },
    {
      model: version.name,
      path: '',
      closed: false,
      loader: nodeLoader,
      patternOf: compileGoPattern,
      formats: kubernetesFormats,
    },
  );
  return { structural, content, document, schemas, metadata: restrictions };
}

const ofEveryObject = ['apiVersion', 'kind', 'metadata'];

export function storageVersionOf({ spec }: DefinitionObject): DefinitionVersion {
  return spec.versions.find(({ storage }) => storage)!;
}

/**
 * @param since revision of the definition
 * @throws KindredError Invalid, InvalidModel for what admission would not accept
 */
export function modelOf(
  definition: DefinitionObject,
  since: number,
  version = storageVersionOf(definition),
): Model<ExtensionObject> {
  const { spec, metadata } = definition;
  const mistakes = new DefinitionMistakes();
  const read = readVersion(version, FieldPath.of('spec'), mistakes);
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
  const indexSpecs = indexesOf(definition, version, read.structural);
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
  const { structural, document, metadata: restrictions } = read;
  const annotation = Object.entries(metadata.annotations ?? {}).filter(([name]) => name.startsWith('kube.'));
  const code = createHash('sha256')
    .update(JSON.stringify([spec, version.name, annotation]))
    .digest('hex');
  return declaredModel({
    gvk,
    documents: { fields: document },
    specRequired: false,
    indexes: checkIndexes(indexSpecs),
    indexSpecs,
    jsonSchema,
    warnings: [],
    served: true,
    deprecated: undefined,
    versions: [],
    definition: {
      listKind: names.listKind ?? `${names.kind}List`,
      code,
      since,
      versions: spec.versions
        .filter(({ served }) => served)
        .map((one) => ({
          name: one.name,
          ...(one.deprecated && {
            warning: one.deprecationWarning ?? `${group}/${one.name} ${names.kind} is deprecated`,
          }),
          model: () => modelOf(definition, since, one),
        })),
      validator: () =>
        structuralValidator({
          structural,
          document,
          metadata: restrictions,
          rules: compileRules(jsonSchema as SchemaObject, { isObject: true }),
        }),
    },
  }) as Model<ExtensionObject>;
}

export function columnsOf({ additionalPrinterColumns = [] }: DefinitionVersion): Column[] {
  return additionalPrinterColumns.map(({ jsonPath, type, ...column }) => ({
    ...column,
    type: type as Column['type'],
    path: jsonPath,
  }));
}
