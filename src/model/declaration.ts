/**
 * What both forms of declaring a model (`defineModel`, decorated classes) come down to. A *document* is one schema of its
 * own, against which its `#` references resolve: `spec` and `status`, or `fields` for everything beside `apiVersion`,
 * `kind` and `metadata` (the 2.12 form).
 */

import { rulesKeyword } from '../cel/rule-compiler.ts';
import type { CompiledRules } from '../cel/rules.ts';
import { compileRules } from '../cel/rules.ts';
import { localized } from '../locales/localized.ts';
import { SchemaDocument } from '../schema/document.ts';
import { invalidModel, Mistakes } from '../schema/invalid-model.ts';
import type { JsonSchema, SchemaObject } from '../schema/keywords.ts';
import { nodeLoader } from '../schema/node-loader.ts';
import { normalizeSchema } from '../schema/read.ts';
import { takesNothing } from '../schema/standard-schema.ts';
import type { GVKAttributes } from './gvk.ts';
import { apiVersionOf, checkGvk, describeGvk, isVersion } from './gvk.ts';
import type { IndexDefinition } from './index-entry.ts';
import type { ValueIndexSpec } from './index-spec.ts';
import { checkIndexes } from './index-spec.ts';
import { metadataSchema, namespacedMetadataSchema } from './metadata.ts';
import type { Validator } from './validator.ts';
import type { CheckedVersion, Versions } from './versions.ts';
import { checkVersions } from './versions.ts';

interface Documents {
  readonly spec?: SchemaDocument;
  readonly status?: SchemaDocument;
  readonly fields?: SchemaDocument;
}

/** A checked declaration. */
export interface Declaration {
  readonly gvk: GVKAttributes;
  readonly documents: Documents;
  readonly specRequired: boolean;
  readonly indexes: readonly IndexDefinition[];
  readonly indexSpecs: readonly ValueIndexSpec[];
  /** The whole object as one JSON Schema 2020-12. */
  readonly jsonSchema: object;
  /** Absent: it has none. */
  readonly rules?: CompiledRules;
  /** What is accepted but worth saying, such as a format that is not checked. */
  readonly warnings: readonly string[];
  readonly served: boolean;
  readonly deprecated: string | undefined;
  /** The versions beside this one. */
  readonly versions: readonly DeclaredVersion[];
  /** As in `Validator`: what is unknown besides what the schema says. */
  readonly prune?: Validator['prune'];
  /** Of a model that is declared by an object instead of code. */
  readonly definition?: Definition;
}

/** What a definition of Kubernetes says of a model besides. */
export interface Definition {
  readonly listKind: string;
  /** The same for definitions whose schema and indexes are the same. */
  readonly code: string;
  /** By the rules of Kubernetes. */
  readonly validator: Validator;
}

/** A version beside the hub. */
export interface DeclaredVersion extends CheckedVersion {
  /** Without indexes: those of the model count. */
  readonly declaration: Declaration;
}

export interface RawDeclaration {
  /** What was found wrong before. */
  mistakes: Mistakes;
  gvk: GVKAttributes;
  spec?: unknown;
  status?: unknown;
  schema?: unknown;
  specRequired: boolean;
  indexSpecs: () => readonly ValueIndexSpec[];
  versions?: unknown;
}

/** Throws `InvalidModel` with every mistake in GVK attributes, schemas, indexes. */
export function declare(raw: RawDeclaration): Declaration {
  const { mistakes } = raw;
  const checked = mistakes.in(() => Object.freeze(checkGvk(raw.gvk)));
  const model = checked ? describeGvk(checked) : `The model ${shownKind(raw.gvk)}`;
  const warnings: string[] = [];
  const readDocument = (schema: unknown, path: string): SchemaDocument => {
    const document = new SchemaDocument(normalizeSchema(schema, { model, path, warnings }), {
      model,
      path,
      closed: true,
      loader: nodeLoader,
    });
    document.checkDefaults();
    document.checkListTypes();
    return document;
  };
  const read = (name: 'spec' | 'status' | 'schema', path: string) =>
    raw[name] === undefined ? undefined : mistakes.in(() => readDocument(raw[name], path));

  if (raw.schema !== undefined && (raw.spec !== undefined || raw.status !== undefined)) {
    mistakes.in(() =>
      invalidModel(localized('{model} declares "schema" besides "spec" or "status": use one form'), { model }),
    );
  }
  const [spec, status, fields] = [read('spec', '/spec'), read('status', '/status'), read('schema', '')];
  if (fields) mistakes.in(() => checkFields(fields, model));
  if (checked?.subresources?.status && raw.status === undefined && raw.schema === undefined) {
    mistakes.in(() => lacksStatus(model));
  } else if (checked?.subresources?.status && fields && !declaresStatus(fields)) {
    mistakes.in(() => lacksStatus(model));
  }
  const indexSpecs = mistakes.in(raw.indexSpecs);
  const indexes = indexSpecs && mistakes.in(() => checkIndexes(indexSpecs));
  const form = raw.schema === undefined ? 'spec' : 'schema';
  const versions = mistakes.in(() => checkVersions(raw.versions, { hub: raw.gvk?.version, isVersion, form }));
  const others = checked && versions && mistakes.in(() => declareVersions(raw, checked, versions.others));
  mistakes.throw();
  const gvk = checked!;
  const documents: Documents = { ...(spec && { spec }), ...(status && { status }), ...(fields && { fields }) };
  const specRequired = raw.specRequired && spec !== undefined;
  const jsonSchema = deepFreeze(wholeSchema(gvk, documents, specRequired));
  const rules = checkedRules(jsonSchema, model, { own: gvk.rules?.length ?? 0, form: fields ? 'schema' : 'spec' });
  return {
    gvk,
    documents,
    specRequired,
    indexes: indexes!,
    indexSpecs: indexSpecs!,
    jsonSchema,
    ...(!rules.isEmpty && { rules }),
    warnings: [...warnings, ...others!.flatMap(({ declaration }) => declaration.warnings)],
    ...versions!.hub,
    versions: others!,
  };
}

/** Each version as a declaration of its own, with the names of the model. Throws `InvalidModel` with every mistake. */
function declareVersions(
  { specRequired, versions }: RawDeclaration,
  hub: GVKAttributes,
  checked: readonly CheckedVersion[],
): DeclaredVersion[] {
  const mistakes = new Mistakes();
  const declared = checked.map((one) => {
    const { spec, status, schema, columns, scale } = (versions as Versions)[one.version]!;
    const { presentation: _presentation, columns: _columns, evolution: _evolution, rules: _rules, ...names } = hub;
    const subresources = { ...(hub.subresources?.status && { status: true }), ...(scale && { scale }) };
    return mistakes.in(() => ({
      ...one,
      declaration: {
        ...declare({
          mistakes: new Mistakes(),
          gvk: { ...names, version: one.version, subresources, ...(columns && { columns }) },
          spec,
          status,
          schema,
          specRequired: specRequired && isRequired(spec),
          indexSpecs: () => [],
        }),
        served: one.served,
        deprecated: one.deprecated,
      },
    }));
  });
  mistakes.throw();
  return declared.map((one) => one!);
}

/** Throws `InvalidModel` with everything that is wrong with rules. @param own rules of the model, which stand first */
function checkedRules(
  jsonSchema: object,
  model: string,
  { own, form }: { own: number; form: 'spec' | 'schema' },
): CompiledRules {
  const rules = compileRules(jsonSchema as SchemaObject, { isObject: true, isDeclared: true });
  const mistakes = new Mistakes();
  for (const { path, text, params } of rules.problems) {
    const [, first, index, ...rest] = path.split('/');
    const isAtRoot = first === rulesKeyword;
    const isOfModel = isAtRoot && Number(index) < own;
    const tail = rest.map((one) => `/${one}`).join('');
    let place = form === 'spec' ? path.replace('/properties', '') : path.replace('/$defs/fields', '');
    if (isOfModel) place = `rules/${index}${tail}`;
    else if (isAtRoot) place = `/${rulesKeyword}/${Number(index) - own}${tail}`;
    const told = isOfModel
      ? { en: `{model}: {place}: ${text.en}`, zh: `{model}：{place}：${text.zh}` }
      : { en: `{model}: the schema at {place}: ${text.en}`, zh: `{model}：{place} 处的模式：${text.zh}` };
    mistakes.in(() => invalidModel(told, { model, place, ...params }));
  }
  mistakes.throw();
  return rules;
}

/** Whether an object must have a member with this schema, unless the declaration says otherwise. */
export function isRequired(schema: unknown): boolean {
  return (schema as { '~optional'?: true } | undefined)?.['~optional'] !== true && !takesNothing(schema);
}

/** The kind of attributes that do not hold, as far as there is one. */
function shownKind(gvk: Partial<GVKAttributes> | undefined): string {
  return typeof gvk?.kind === 'string' && gvk.kind !== '' ? `"${gvk.kind}"` : 'without a kind';
}

function lacksStatus(model: string): never {
  return invalidModel(localized('{model} has the sub-resource status but no field "status"'), { model });
}

const baseMembers = ['apiVersion', 'kind', 'metadata'] as const;

function checkFields({ root }: SchemaDocument, model: string): void {
  const types = typeof root === 'object' ? root.type : undefined;
  if (root === false || (types !== undefined && types !== 'object' && !(types as string[]).includes('object'))) {
    invalidModel(
      localized('{model}: "schema" describes the members of an object, so its type must be "object"; got {value}'),
      { model, value: root === false ? false : types },
    );
  }
  for (const name of baseMembers) {
    if (typeof root === 'object' && root.properties && Object.hasOwn(root.properties as object, name)) {
      invalidModel(localized('{model}: /properties/{name} cannot be declared: every object has it already'), {
        model,
        name,
      });
    }
  }
}

function declaresStatus({ root }: SchemaDocument): boolean {
  return typeof root === 'object' && Object.hasOwn((root.properties as object | undefined) ?? {}, 'status');
}

function wholeSchema(gvk: GVKAttributes, { spec, status, fields }: Documents, specRequired: boolean): object {
  const base = {
    apiVersion: { type: 'string', const: apiVersionOf(gvk), description: 'Group and version of the model' },
    kind: { type: 'string', const: gvk.kind, description: 'Kind of the model' },
    metadata: gvk.scope === 'Namespaced' ? namespacedMetadataSchema : metadataSchema,
  };
  const required = ['apiVersion', 'kind', 'metadata'];
  const rules = [...(gvk.rules ?? []), ...rulesAt(fields?.root)];
  const ruled = rules.length > 0 && { [rulesKeyword]: rules };
  if (!fields) {
    return {
      ...ruled,
      type: 'object',
      properties: {
        ...base,
        ...(spec && { spec: spec.embedded('#/properties/spec') }),
        ...(status && { status: status.embedded('#/properties/status') }),
      },
      required: specRequired ? [...required, 'spec'] : required,
      additionalProperties: false,
    };
  }
  const { root } = fields;
  if (typeof root === 'object' && fields.canBeMerged) {
    const own = fields.embedded('#', '#/$defs/fields') as SchemaObject;
    const closes = root.properties !== undefined && root.additionalProperties === undefined;
    const { $defs: _, ...definition } = own;
    return {
      ...own,
      type: 'object',
      properties: { ...base, ...(own.properties as object | undefined) },
      required: [...required, ...((own.required as string[] | undefined) ?? [])],
      ...ruled,
      ...(closes && { additionalProperties: false }),
      ...(JSON.stringify(own).includes('"#/$defs/fields"') && {
        $defs: { ...(own.$defs as object | undefined), fields: definition },
      }),
    };
  }
  const embedded = fields.embedded('#/$defs/fields');
  return {
    type: 'object',
    properties: base,
    required,
    ...ruled,
    allOf: [{ $ref: '#/$defs/fields' }],
    $defs: { fields: typeof embedded === 'object' ? withoutRules(embedded) : embedded },
  };
}

function withoutRules({ [rulesKeyword]: _rules, ...schema }: SchemaObject): SchemaObject {
  return schema;
}

/** Those at the root of a schema. */
function rulesAt(root: JsonSchema | undefined): readonly unknown[] {
  return typeof root === 'object' ? ((root[rulesKeyword] ?? []) as readonly unknown[]) : [];
}

/** Freezes a JSON value at every depth, and gives it back. Each write and each build does it: no array of the members is made. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) freezeMember(value[i]);
  } else {
    for (const name in value) freezeMember(value[name]);
  }
  return Object.freeze(value);
}

function freezeMember(member: unknown): void {
  if (typeof member === 'object' && member !== null) deepFreeze(member);
}
