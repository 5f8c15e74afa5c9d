/** A registered or registrable model: the one result of both forms of declaration (docs/reference/declaration.md). */

import { localized } from '../locales/localized.ts';
import { invalidModel } from '../schema/invalid-model.ts';
import type { JsonSchema } from '../schema/keywords.ts';
import type { Column, Naming, Scale, Scope, ValidationRule } from './attributes.ts';
import type { Declaration, DeclaredVersion, Definition } from './declaration.ts';
import { deepFreeze } from './declaration.ts';
import { classDeclaration } from './decorators.ts';
import { modelDeclaration } from './define.ts';
import { parseDuration } from './duration.ts';
import type { Evolution, GroupVersionKind } from './gvk.ts';
import { apiVersionOf, describeGvk } from './gvk.ts';
import type { IndexDefinition } from './index-entry.ts';
import { checkIndexes, IndexSpecs, namespacedIndexes } from './index-spec.ts';
import type { ModelType } from './model-type.ts';
import type { ExtensionObject } from './object.ts';
import type { Presentation } from './presentation.ts';
import { checkPresentation } from './presentation.ts';
import type { Validator } from './validator.ts';
import { createValidator } from './validator.ts';

const builtInText = localized('The index "{name}" is built in for namespaced models and cannot be declared again');

/**
 * A model as the service knows it: names, JSON Schema, indexes. Made by `register` or `Scheme.buildFromType`.
 *
 * @example
 * ```ts
 * const { apiVersion, jsonSchema } = Scheme.buildFromType(Book);
 * console.log(apiVersion, jsonSchema);
 * ```
 */
export class Scheme {
  readonly groupVersionKind: GroupVersionKind;
  readonly singular: string;
  readonly plural: string;
  /** The whole object as JSON Schema 2020-12, its references relative to its own root; frozen. */
  readonly jsonSchema: object;
  /** Declared indexes, in order; of the built-in ones only those that a namespaced model has besides. */
  readonly indexes: readonly IndexDefinition[];
  readonly subresources: { readonly status: boolean; readonly scale?: Readonly<Scale> };
  readonly scope: Scope;
  /** The rules of its metadata. */
  readonly naming: Naming;
  /** Names that stand for the model on the command line. */
  readonly shortNames: readonly string[];
  /** Groups of models that are asked for together. */
  readonly categories: readonly string[];
  /** What clients print of each object; undefined: not declared. */
  readonly columns: readonly Readonly<Column>[] | undefined;
  /** Of whole objects; those of their parts stand in the schema. */
  readonly rules: readonly Readonly<ValidationRule>[];
  /** How people see the model. */
  readonly presentation: Presentation | undefined;
  /** What becomes of the plugin when stored objects would be invalid by this declaration. */
  readonly onInvalid: 'refuse' | 'degrade';
  /** Milliseconds for which objects are stored in the version of before. */
  readonly finalizeAfter: number;
  /** What a stored object in the hub is to be; undefined: nothing is changed. */
  readonly migrate: Evolution['migrate'];
  /** The model in the version that its plugin speaks; this one itself but for other versions. */
  readonly hub: Scheme;
  /** Of a hub: the model in its other versions. */
  readonly spokes: readonly Spoke[];
  /** Whether clients can use this version. */
  readonly isServed: boolean;
  /** What clients of this version are told. */
  readonly deprecated: string | undefined;
  /** True when an object must have a `spec`. */
  readonly specRequired: boolean;
  /** `<group>/<version>`, or the version alone in the empty group. */
  readonly apiVersion: string;
  /** What is accepted but worth saying at registration, such as a format that is not checked. */
  readonly warnings: readonly string[];
  /** Undefined: the model is declared by code. */
  readonly definition: Definition | undefined;
  readonly #declaration: Declaration;
  #validator: Validator | undefined;

  /** @param hub of which this is another version */
  constructor(declaration: Declaration, indexes: readonly IndexDefinition[], hub?: Scheme) {
    const { group, version, kind, singular, plural, presentation } = declaration.gvk;
    const {
      scope = 'Cluster',
      naming = 'strict',
      shortNames = [],
      categories = [],
      columns,
      rules = [],
    } = declaration.gvk;
    const { status = false, scale } = declaration.gvk.subresources ?? {};
    this.groupVersionKind = Object.freeze({ group, version, kind });
    this.singular = singular;
    this.plural = plural;
    this.jsonSchema = declaration.jsonSchema;
    this.scope = scope;
    this.indexes = Object.freeze(this.isNamespaced ? [...namespacedIndexes, ...indexes] : indexes);
    this.subresources = deepFreeze({ status, ...(scale && { scale }) });
    this.naming = naming;
    this.shortNames = deepFreeze(shortNames);
    this.categories = deepFreeze(categories);
    this.columns = deepFreeze(columns);
    this.rules = deepFreeze(rules);
    const model = describeGvk(declaration.gvk);
    const taken = namespacedIndexes.find(({ name }) => this.isNamespaced && indexes.some((one) => one.name === name));
    if (taken) invalidModel(builtInText, { name: taken.name });
    this.presentation = checkPresentation(presentation, {
      model,
      jsonSchema: declaration.jsonSchema,
      indexes: this.indexes,
    });
    const { onInvalid = 'refuse', finalizeAfter = '1h', migrate } = declaration.gvk.evolution ?? {};
    this.onInvalid = onInvalid;
    this.migrate = migrate;
    this.finalizeAfter = parseDuration(finalizeAfter)!;
    this.hub = hub ?? this;
    this.isServed = declaration.served;
    this.deprecated = declaration.deprecated;
    this.specRequired = declaration.specRequired;
    this.apiVersion = apiVersionOf(declaration.gvk);
    this.warnings = declaration.warnings;
    this.definition = declaration.definition;
    this.#declaration = declaration;
    this.spokes = Object.freeze(declaration.versions.map((version) => spokeOf(version, indexes, this)));
  }

  /**
   * The scheme of a model or a decorated class.
   * @param indexes adds indexes to those of the declaration, as in `register`
   * Throws KindredError `InvalidModel`.
   */
  static buildFromType(type: ModelType, indexes?: (indexSpecs: IndexSpecs) => void): Scheme {
    const declaration = modelDeclaration(type) ?? classDeclaration(type);
    if (!declaration) {
      return invalidModel(localized('A model is the result of defineModel or a class with @GVK; got {value}'), {
        value: typeof type === 'function' ? `class ${type.name}` : type,
      });
    }
    if (!indexes) return new Scheme(declaration, declaration.indexes);
    const added = new IndexSpecs();
    indexes(added);
    return new Scheme(declaration, checkIndexes([...declaration.indexSpecs, ...added.all()]));
  }

  /** The hub and its other versions, those that are served. */
  get servedVersions(): readonly Scheme[] {
    return [this, ...this.spokes.map(({ scheme }) => scheme)].filter(({ isServed }) => isServed);
  }

  /** The model in a version; undefined when it has no such version. */
  inVersion(version: string): Scheme | undefined {
    if (this.groupVersionKind.version === version) return this;
    return this.spokes.find(({ scheme }) => scheme.groupVersionKind.version === version)?.scheme;
  }

  /** Every object belongs to a namespace. */
  get isNamespaced(): boolean {
    return this.scope === 'Namespaced';
  }

  /** The schemas as they were declared, each a document of its own. */
  get documents(): { readonly spec?: JsonSchema; readonly status?: JsonSchema; readonly schema?: JsonSchema } {
    const { spec, status, fields } = this.#declaration.documents;
    return {
      ...(spec && { spec: spec.root }),
      ...(status && { status: status.root }),
      ...(fields && { schema: fields.root }),
    };
  }

  /** Compiled at first use. */
  get validator(): Validator {
    this.#validator ??= this.definition?.validator ?? createValidator(this.#declaration);
    return this.#validator;
  }

  /**
   * A stored object of a model that a definition declares, which may be older than the schema: in place, without what that does not
   * know, and with its defaults.
   */
  conform(object: ExtensionObject): ExtensionObject {
    if (!this.definition) return object;
    object.apiVersion = this.apiVersion;
    this.validator.prune?.(object);
    this.validator.applyDefaults(object);
    return object;
  }

  /** True when the other scheme declares the same: attributes, schema, and indexes by name, type, options and function text. */
  sameAs(other: Scheme): boolean {
    // A definition's code covers everything, and its schema may be large.
    if (this.definition && other.definition) return this.definition.code === other.definition.code;
    return this.#fingerprint() === other.#fingerprint();
  }

  #fingerprint(): string {
    const { gvk, jsonSchema } = this.#declaration;
    const indexes = this.indexes.map(
      ({ name, codec, multi, unique, nullable, order, indexFunc, source = indexFunc }) => {
        return [name, codec.type, multi, unique, nullable, order, source.toString()];
      },
    );
    const migrate = this.migrate && [this.migrate.toString()];
    const versions = this.#declaration.versions.map(({ declaration, served, deprecated, sources, indexNames }) => {
      return [declaration.gvk, declaration.jsonSchema, served, deprecated, sources, indexNames];
    });
    return JSON.stringify([gvk, jsonSchema, indexes, ...(versions.length > 0 ? [versions] : []), migrate]);
  }
}

/** A version beside the hub, and how content goes from one to the other. */
export interface Spoke extends Pick<DeclaredVersion, 'toHub' | 'fromHub' | 'indexNames'> {
  readonly scheme: Scheme;
}

const unknownIndexText = localized(
  '"indexNames" of the version {version} names the index "{name}", which the model does not have',
);
const takenNameText = localized('"indexNames" of the version {version} gives the name "{name}" to two indexes');

function spokeOf(declared: DeclaredVersion, indexes: readonly IndexDefinition[], hub: Scheme): Spoke {
  const { declaration, indexNames, version, toHub, fromHub } = declared;
  const names = new Map<string, string>();
  for (const [own, name] of Object.entries(indexNames)) {
    if (!indexes.some((one) => one.name === name)) invalidModel(unknownIndexText, { version, name });
    if (names.has(name)) invalidModel(takenNameText, { version, name });
    names.set(name, own);
  }
  const renamed = indexes.map((one) => (names.has(one.name) ? { ...one, name: names.get(one.name)! } : one));
  const taken = renamed.find(({ name }, i) => renamed.findIndex((one) => one.name === name) !== i);
  if (taken) invalidModel(takenNameText, { version, name: taken.name });
  return { scheme: new Scheme(declaration, renamed, hub), toHub, fromHub, indexNames };
}

/** A model as people name it: `plural.group`, the plural alone in the empty group. */
export function typeNameOf({
  plural,
  groupVersionKind: { group },
}: Pick<Scheme, 'plural' | 'groupVersionKind'>): string {
  return group === '' ? plural : `${plural}.${group}`;
}

/** The version of a model that a text such as `persons.v1.demo.example.com` names. */
export function versionNamed(
  text: string,
  { plural, groupVersionKind: gvk, servedVersions }: Scheme,
): string | undefined {
  if (!text.startsWith(`${plural}.`)) return undefined;
  const versions = servedVersions.map(({ groupVersionKind: { version } }) => version);
  return versions.find((version) => text === `${plural}.${version}${gvk.group && `.${gvk.group}`}`);
}
