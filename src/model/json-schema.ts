/**
 * JSON Schema 2020-12: one document compiled to functions. A *node* is one schema object in it, a *resource* what `$id`
 * makes (its own base for references), *marks* what the schemas applied to one place of an object know of its members.
 *
 * Why not a library: closedness (contract section 2) counts the members that all schemas of one place know, which no
 * keyword can express; see docs/decisions/validation.md.
 */
import { createRequire } from 'node:module';
import type { Text, Violation } from '../errors.ts';
import { escapeToken, invalid, unescapeToken, violation } from '../errors.ts';
import { formats } from './formats.ts';
import { invalidModel } from './invalid-model.ts';
import { canonicalText, isMultipleOf } from './json-value.ts';
import { compilePattern } from './pattern.ts';

export type JsonSchema = boolean | SchemaObject;
export type SchemaObject = { readonly [keyword: string]: unknown };

/** Most violations collected of one value: an answer must stay readable, and smaller than its weight in memory. */
const violationLimit = 10_000;

/** Members and items compared in one run, far more than the largest body has: bounds alternatives within alternatives. */
const stepLimit = 30_000_000;
const alternativeSteps = 20;

interface Resource {
  readonly base: string;
  readonly root: JsonSchema;
  readonly anchors: Map<string, SchemaObject>;
  readonly dynamicAnchors: Map<string, SchemaObject>;
}

interface Place {
  readonly resource: Resource;
  /** Pointer from the root of the document. */
  readonly path: string;
}

/** `value` and, where members are counted, the marks of its place; true when it holds. */
type Check = (value: unknown, context: Context, marks: Marks | undefined) => boolean;

/**
 * How members are counted. `inline`: no other schema applies to the place, it closes itself. `shared`: several schemas
 * apply, marks are collected for all depths below. `marked`: marks for `unevaluated…` alone. `open`: nothing.
 */
type Mode = 'inline' | 'shared' | 'marked' | 'open';

export interface DocumentOptions {
  /** The model, for messages. */
  readonly model: string;
  /** Where the document stands in it: `/spec`, `/status` or ``. */
  readonly path: string;
  /** An object schema with `properties` that does not say `additionalProperties` admits no other members, at every depth. */
  readonly closed: boolean;
}

const schemaKeywords = [
  'not',
  'if',
  'then',
  'else',
  'contains',
  'propertyNames',
  'items',
  'additionalProperties',
  'unevaluatedItems',
  'unevaluatedProperties',
  'contentSchema',
] as const;
const listKeywords = ['allOf', 'anyOf', 'oneOf', 'prefixItems'] as const;
const mapKeywords = [
  'properties',
  'patternProperties',
  'dependentSchemas',
  '$defs',
  'definitions',
  'dependencies',
] as const;

/** Every direct sub-schema of a schema, with its pointer from there. */
export function subschemas(schema: SchemaObject): { path: string; keyword: string; schema: JsonSchema }[] {
  const found: { path: string; keyword: string; schema: JsonSchema }[] = [];
  for (const keyword of schemaKeywords) {
    if (isSchema(schema[keyword])) found.push({ path: `/${keyword}`, keyword, schema: schema[keyword] });
  }
  for (const keyword of listKeywords) {
    if (!Array.isArray(schema[keyword])) continue;
    for (const [i, one] of schema[keyword].entries()) {
      if (isSchema(one)) found.push({ path: `/${keyword}/${i}`, keyword, schema: one });
    }
  }
  for (const keyword of mapKeywords) {
    const map = schema[keyword];
    if (!isObject(map)) continue;
    for (const [name, one] of Object.entries(map)) {
      if (isSchema(one)) found.push({ path: `/${keyword}/${escapeToken(name)}`, keyword, schema: one });
    }
  }
  return found;
}

/** Keywords whose sub-schemas apply to the same place of the object as the schema itself. */
const inPlaceKeywords: readonly string[] = [
  'allOf',
  'anyOf',
  'oneOf',
  'not',
  'if',
  'then',
  'else',
  'dependentSchemas',
  'dependencies',
];
/** Those of them that make several schemas count members together. */
const sharingKeywords = ['$ref', '$dynamicRef', 'allOf', 'anyOf', 'oneOf', 'if', 'dependentSchemas', 'dependencies'];
const unevaluatedKeywords = ['unevaluatedItems', 'unevaluatedProperties'];

const dialect = 'https://json-schema.org/draft/2020-12/';

export class SchemaDocument {
  readonly root: JsonSchema;
  readonly #options: DocumentOptions;
  readonly #resources = new Map<string, Resource>();
  readonly #places = new Map<SchemaObject, Place>();
  readonly #checks = new Map<SchemaObject, Map<Mode, Check>>();
  readonly #rootResource: Resource;
  #dynamic = false;

  /** Throws `InvalidModel`: references that lead nowhere or in a circle without a step into the object. */
  constructor(root: JsonSchema, options: DocumentOptions) {
    this.root = root;
    this.#options = options;
    this.#rootResource = this.#add(root, 'kindred://model/', '');
    this.#resolveAll();
    this.#refuseCircles();
  }

  /**
   * All violations of a value, none when it is valid. Throws `Invalid` when alternatives within alternatives would take
   * too long to compare.
   * @param pointer of the value, the beginning of the violations' pointers
   */
  validate(value: unknown, pointer: string): Violation[] {
    const check = this.#checkOf(this.root, this.#options.closed ? 'inline' : 'open');
    const context = new Context(pointer, this.#rootResource);
    if (check(value, context, undefined)) return noViolations;
    return context.collect(() => check(value, context, undefined));
  }

  /** What sets the defaults below a value, in place; undefined when the document has none. */
  defaults(): ((value: unknown) => void) | undefined {
    if (![...this.#places.keys()].some((schema) => 'default' in schema)) return undefined;
    const set = this.#defaultsOf(this.root);
    return set && ((value) => set(value, 0));
  }

  /** The default of the document as a whole, a new copy each time; undefined when it has none. */
  initial(): unknown {
    const text = this.#defaultText(this.root);
    return text === undefined ? undefined : JSON.parse(text);
  }

  /** Throws `InvalidModel` when a default does not satisfy its own schema. */
  checkDefaults(): void {
    for (const [schema, { path, resource }] of this.#places) {
      if (!('default' in schema) || resource.base.startsWith(dialect)) continue;
      const value: unknown = JSON.parse(JSON.stringify(schema.default));
      try {
        this.#defaultsOf(schema)?.(value, 0);
      } catch (error) {
        if (!(error instanceof EndlessDefault)) throw error;
        this.#refuse(`${path}/default`, {
          en: 'is set again within itself, without end',
          zh: '在自身内部无限重复设置',
        });
      }
      const check = this.#checkOf(schema, this.#options.closed ? 'inline' : 'open');
      const context = new Context('', resource);
      if (check(value, context, undefined)) continue;
      const [first] = context.collect(() => check(value, context, undefined));
      this.#refuse(
        `${path}/default`,
        {
          en: 'does not satisfy its own schema: at "{at}" it {reason}',
          zh: '不符合自身的模式：在 "{at}" 处，{reason}',
        },
        { at: first?.pointer, reason: first?.message },
      );
    }
  }

  /** The document as part of a larger one, its references made relative to that one. @param at its pointer there */
  embedded(at: string, self = at): JsonSchema {
    return rewritten(
      this.root,
      (ref) => (ref === '#' ? self : ref.startsWith('#/') ? `${at}${ref.slice(1)}` : ref),
      true,
    );
  }

  /** True when members can be added to the root's `properties` without changing what the rest of it says. */
  get canBeMerged(): boolean {
    const { root } = this;
    if (typeof root !== 'object') return false;
    const inTheWay = [
      '$id',
      'not',
      'minProperties',
      'maxProperties',
      'propertyNames',
      'patternProperties',
      'enum',
      'const',
    ];
    return ![...sharingKeywords, ...unevaluatedKeywords, ...inTheWay].some((keyword) => keyword in root);
  }

  #refuse(path: string, rule: Text, params: Readonly<Record<string, unknown>> = {}): never {
    const { model, path: start } = this.#options;
    return invalidModel(
      { en: `{model}: the schema at {path} ${rule.en}`, zh: `{model}：{path} 处的模式${rule.zh}` },
      { model, path: `${start}${path}` || '/', ...params },
    );
  }

  // ── references ────────────────────────────────────────────────────────────────────────────────────────────

  #add(root: JsonSchema, base: string, path: string): Resource {
    const id = typeof root === 'object' && typeof root.$id === 'string' ? root.$id : '';
    const uri = withoutFragment(this.#url(id, base, path).href);
    const resource: Resource = { base: uri, root, anchors: new Map(), dynamicAnchors: new Map() };
    if (!this.#resources.has(base)) this.#resources.set(base, resource);
    this.#resources.set(uri, resource);
    if (typeof root === 'object') this.#index(root, resource, path, true);
    return resource;
  }

  #index(schema: SchemaObject, resource: Resource, path: string, isRoot = false): void {
    if (!isRoot && typeof schema.$id === 'string') {
      this.#add(schema, resource.base, path);
      return;
    }
    this.#places.set(schema, { resource, path });
    if (typeof schema.$anchor === 'string') resource.anchors.set(schema.$anchor, schema);
    if (typeof schema.$dynamicAnchor === 'string') {
      resource.anchors.set(schema.$dynamicAnchor, schema);
      resource.dynamicAnchors.set(schema.$dynamicAnchor, schema);
    }
    if (typeof schema.$dynamicRef === 'string') this.#dynamic = true;
    for (const part of subschemas(schema)) {
      if (typeof part.schema === 'object') this.#index(part.schema, resource, path + part.path);
    }
  }

  /** Loads what references need, until nothing new turns up. */
  #resolveAll(): void {
    const done = new Set<SchemaObject>();
    for (let before = -1; before !== done.size; ) {
      before = done.size;
      for (const schema of [...this.#places.keys()]) {
        if (done.has(schema)) continue;
        done.add(schema);
        if (typeof schema.$ref === 'string') this.#target(schema, '$ref');
        if (typeof schema.$dynamicRef === 'string') this.#target(schema, '$dynamicRef');
      }
    }
  }

  /** The schema that `$ref` or, to begin with, `$dynamicRef` means, with the plain name in its fragment. */
  #target(
    schema: SchemaObject,
    keyword: '$ref' | '$dynamicRef',
  ): { schema: JsonSchema; resource: Resource; anchor?: string } {
    const { resource, path } = this.#places.get(schema)!;
    const ref = schema[keyword] as string;
    const url = this.#url(ref, resource.base, `${path}/${keyword}`);
    const uri = withoutFragment(url.href);
    const found = this.#resources.get(uri) ?? this.#published(uri);
    const fragment = fragmentOf(url);
    let target: { schema: JsonSchema; resource: Resource; anchor?: string } | undefined;
    if (found && fragment === '') target = { schema: found.root, resource: found };
    else if (found && fragment?.startsWith('/')) target = this.#follow(found, fragment);
    else if (found && fragment !== undefined) {
      const anchored = found.anchors.get(fragment);
      if (anchored) target = { schema: anchored, resource: found, anchor: fragment };
    }
    return (
      target ??
      this.#refuse(
        `${path}/${keyword}`,
        {
          en: 'refers to "{ref}", which is not in this document; schemas elsewhere are not fetched',
          zh: '引用了 "{ref}"，但它不在此文档中；不会获取其他位置的模式',
        },
        { ref },
      )
    );
  }

  #follow(resource: Resource, pointer: string): { schema: JsonSchema; resource: Resource } | undefined {
    let current: unknown = resource.root;
    let owner = resource;
    for (const token of pointer.slice(1).split('/').map(unescapeToken)) {
      if (typeof current !== 'object' || current === null || !Object.hasOwn(current, token)) return undefined;
      current = (current as SchemaObject)[token];
      owner = this.#places.get(current as SchemaObject)?.resource ?? owner;
    }
    if (!isSchema(current)) return undefined;
    if (typeof current === 'object' && !this.#places.has(current)) this.#index(current, owner, pointer);
    return { schema: current, resource: typeof current === 'object' ? this.#places.get(current)!.resource : owner };
  }

  /** The published meta-schemas of the dialect, for models whose fields hold schemas. */
  #published(uri: string): Resource | undefined {
    if (!/^https:\/\/json-schema\.org\/draft\/2020-12\/(?:schema|meta\/[a-z-]+)$/.test(uri)) return undefined;
    const file = `ajv/dist/refs/json-schema-2020-12/${uri.slice(dialect.length)}.json`;
    try {
      return this.#add(createRequire(import.meta.url)(file) as SchemaObject, uri, '');
    } catch {
      return undefined;
    }
  }

  #url(ref: string, base: string, path: string): URL {
    try {
      return new URL(ref, base);
    } catch {
      return this.#refuse(
        path,
        { en: 'has the malformed reference "{ref}"', zh: '包含格式错误的引用 "{ref}"' },
        { ref },
      );
    }
  }

  #refuseCircles(): void {
    const state = new Map<SchemaObject, 'open' | 'done'>();
    const visit = (schema: JsonSchema): void => {
      if (typeof schema !== 'object' || state.get(schema) === 'done') return;
      const { path } = this.#places.get(schema)!;
      if (state.get(schema) === 'open') {
        this.#refuse(path, {
          en: 'refers to itself without a step into the object',
          zh: '在未进入下级成员的情况下引用了自身',
        });
      }
      state.set(schema, 'open');
      for (const next of this.#inPlace(schema)) visit(next);
      state.set(schema, 'done');
    };
    for (const schema of this.#places.keys()) visit(schema);
  }

  #inPlace(schema: SchemaObject): JsonSchema[] {
    const next = subschemas(schema)
      .filter(({ keyword }) => inPlaceKeywords.includes(keyword))
      .map((part) => part.schema);
    if (typeof schema.$ref === 'string') next.push(this.#target(schema, '$ref').schema);
    if (typeof schema.$dynamicRef === 'string') {
      const { schema: target, anchor } = this.#target(schema, '$dynamicRef');
      next.push(target);
      if (anchor !== undefined && typeof target === 'object' && target.$dynamicAnchor === anchor) {
        for (const { dynamicAnchors } of this.#resources.values()) {
          const other = dynamicAnchors.get(anchor);
          if (other) next.push(other);
        }
      }
    }
    return next;
  }

  // ── compiling ─────────────────────────────────────────────────────────────────────────────────────────────

  #checkOf(schema: JsonSchema, mode: Mode): Check {
    if (schema === true) return holds;
    if (schema === false) return refuses;
    let byMode = this.#checks.get(schema);
    if (!byMode) {
      byMode = new Map();
      this.#checks.set(schema, byMode);
    }
    const known = byMode.get(mode);
    if (known) return known;
    // Stands in while the schema is compiled, for schemas that contain themselves.
    const modes = byMode;
    modes.set(mode, (value, context, marks) => modes.get(mode)!(value, context, marks));
    const check = this.#inResource(schema, this.#compile(schema, mode));
    modes.set(mode, check);
    return check;
  }

  #inResource(schema: SchemaObject, check: Check): Check {
    if (!this.#dynamic || typeof schema.$id !== 'string') return check;
    return within(this.#places.get(schema)!.resource, check);
  }

  #compile(schema: SchemaObject, mode: Mode): Check {
    const unevaluated = unevaluatedKeywords.some((keyword) => keyword in schema);
    const shares = sharingKeywords.some((keyword) => keyword in schema);
    if (mode === 'inline' && (shares || unevaluated)) {
      if (!unevaluated && isPureReference(schema)) return this.#reference(schema, 'inline');
      return this.#counting(schema);
    }
    if (unevaluated && mode === 'open') {
      const marked = this.#checkOf(schema, 'marked');
      return (value, context) => marked(value, context, isContainer(value) ? new Marks() : undefined);
    }
    const check = this.#assertions(schema, mode);
    if (!unevaluated) return check;
    const rest = this.#unevaluated(schema, mode);
    return (value, context, marks) => {
      if (!isContainer(value)) return check(value, context, undefined);
      const own = new Marks();
      let ok = check(value, context, own);
      if (!ok && context.silent) return false;
      ok = rest(value, context, own) && ok;
      marks?.merge(own);
      return ok;
    };
  }

  /** Where several schemas apply to one place: each marks what it knows, then what nobody knows is refused. */
  #counting(schema: SchemaObject): Check {
    const plain = this.#checkOf(schema, 'open');
    const shared = this.#checkOf(schema, 'shared');
    return (value, context) => {
      if (!isContainer(value)) return plain(value, context, undefined);
      const marks = new Marks();
      const ok = shared(value, context, marks);
      if (!ok && context.silent) return false;
      return refuseUnknown(value, context, marks) && ok;
    };
  }

  #reference(schema: SchemaObject, mode: Mode): Check {
    const { schema: target, resource } = this.#target(schema, '$ref');
    const check = this.#checkOf(target, mode);
    return this.#dynamic ? within(resource, check) : check;
  }

  #dynamicReference(schema: SchemaObject, mode: Mode): Check {
    const { schema: target, resource, anchor } = this.#target(schema, '$dynamicRef');
    const first = within(resource, this.#checkOf(target, mode));
    if (anchor === undefined || typeof target !== 'object' || target.$dynamicAnchor !== anchor) return first;
    return (value, context, marks) => {
      for (const scope of context.scopes) {
        const outer = scope.dynamicAnchors.get(anchor);
        if (outer) return within(scope, this.#checkOf(outer, mode))(value, context, marks);
      }
      return first(value, context, marks);
    };
  }

  #assertions(schema: SchemaObject, mode: Mode): Check {
    const type = typeCheck(schema.type);
    const checks = this.#anyChecks(schema, mode);
    const strings = stringChecks(schema);
    const numbers = numberChecks(schema);
    const arrays = this.#arrayCheck(schema, mode);
    const objects = this.#objectCheck(schema, mode);
    const names = Array.isArray(schema.type) ? schema.type.join(', ') : schema.type;
    return (value, context, marks) => {
      if (type !== undefined && !type(value)) {
        return context.report('type', texts.type, { type: names, actual: typeName(value) });
      }
      let ok = true;
      switch (typeof value) {
        case 'string':
          for (let i = 0; i < strings.length; i++) if (!strings[i]!(value, context)) ok = false;
          break;
        case 'number':
          for (let i = 0; i < numbers.length; i++) if (!numbers[i]!(value, context)) ok = false;
          break;
        case 'object':
          if (value === null) break;
          if (Array.isArray(value)) {
            if (arrays !== undefined && !arrays(value, context, marks)) ok = false;
          } else if (objects !== undefined && !objects(value as SchemaObject, context, marks)) ok = false;
      }
      if (!ok && context.silent) return false;
      for (let i = 0; i < checks.length; i++) {
        if (!checks[i]!(value, context, marks)) {
          if (context.silent) return false;
          ok = false;
        }
      }
      return ok;
    };
  }

  /** Keywords for values of every type. */
  #anyChecks(schema: SchemaObject, mode: Mode): Check[] {
    const checks: Check[] = [];
    if (Array.isArray(schema.enum)) checks.push(enumCheck(schema.enum));
    if ('const' in schema) checks.push(constCheck(schema.const));
    if (typeof schema.$ref === 'string') checks.push(this.#reference(schema, mode));
    if (typeof schema.$dynamicRef === 'string') checks.push(this.#dynamicReference(schema, mode));
    if (Array.isArray(schema.allOf)) for (const one of schema.allOf) checks.push(this.#checkOf(one, mode));
    if (Array.isArray(schema.anyOf)) checks.push(this.#anyOf(schema.anyOf, mode));
    if (Array.isArray(schema.oneOf)) checks.push(this.#oneOf(schema.oneOf, mode));
    if (isSchema(schema.not)) checks.push(this.#not(schema.not));
    if (isSchema(schema.if)) checks.push(this.#conditional(schema, mode));
    return checks;
  }

  #branch(schema: JsonSchema, mode: Mode): Branch {
    return { check: this.#checkOf(schema, mode), fits: this.#shape(schema, mode) };
  }

  #shape(schema: JsonSchema, mode: Mode): Branch['fits'] {
    if (typeof schema !== 'object') return () => schema;
    const type = typeCheck(schema.type);
    const constant = 'const' in schema ? constCheck(schema.const) : holds;
    const members = Object.entries(isObject(schema.properties) ? schema.properties : {})
      .filter(([, one]) => tellsApart(one))
      .map(([name, one]) => ({ name, check: this.#checkOf(one as JsonSchema, mode) }));
    const target = typeof schema.$ref === 'string' ? this.#shape(this.#target(schema, '$ref').schema, mode) : undefined;
    return (value, context) => {
      if (type && !type(value)) return false;
      if (!constant(value, context, undefined)) return false;
      if (isObject(value)) {
        for (const { name, check } of members) {
          if (Object.hasOwn(value, name) && !check(value[name], context, undefined)) return false;
        }
      }
      return !target || target(value, context);
    };
  }

  #anyOf(schemas: readonly JsonSchema[], mode: Mode): Check {
    const branches = schemas.map((one) => this.#branch(one, mode));
    return (value, context, marks) => {
      let passed = false;
      for (const { check } of branches) {
        const own = marks && new Marks();
        if (!context.tried(() => check(value, context, own))) continue;
        passed = true;
        if (!marks) break;
        marks.merge(own!);
      }
      return passed || reportBranches('anyOf', texts.anyOf, branches, value, context, marks);
    };
  }

  #oneOf(schemas: readonly JsonSchema[], mode: Mode): Check {
    const branches = schemas.map((one) => this.#branch(one, mode));
    return (value, context, marks) => {
      const passing: number[] = [];
      for (const [i, { check }] of branches.entries()) {
        const own = marks && new Marks();
        if (!context.tried(() => check(value, context, own))) continue;
        passing.push(i);
        if (own) marks!.merge(own);
      }
      if (passing.length === 1) return true;
      if (passing.length > 1) return context.report('oneOf', texts.oneOfMany, { passing });
      return reportBranches('oneOf', texts.oneOf, branches, value, context, marks);
    };
  }

  #not(schema: JsonSchema): Check {
    const check = this.#checkOf(schema, 'open');
    return (value, context) => {
      return !context.silently(() => check(value, context, undefined)) || context.report('not', texts.not);
    };
  }

  #conditional(schema: SchemaObject, mode: Mode): Check {
    const condition = this.#checkOf(schema.if as JsonSchema, mode);
    const yes = isSchema(schema.then) ? this.#checkOf(schema.then, mode) : holds;
    const no = isSchema(schema.else) ? this.#checkOf(schema.else, mode) : holds;
    return (value, context, marks) => {
      const own = marks && new Marks();
      if (!context.silently(() => condition(value, context, own))) return no(value, context, marks);
      if (own) marks!.merge(own);
      return yes(value, context, marks);
    };
  }

  #arrayCheck(
    schema: SchemaObject,
    mode: Mode,
  ): ((value: readonly unknown[], context: Context, marks: Marks | undefined) => boolean) | undefined {
    const { minItems, maxItems, uniqueItems } = schema as Record<string, number | undefined>;
    const below = modeBelow(mode);
    const prefix = Array.isArray(schema.prefixItems) ? schema.prefixItems.map((one) => this.#checkOf(one, below)) : [];
    const items = isSchema(schema.items) ? this.#checkOf(schema.items, below) : undefined;
    const contains = isSchema(schema.contains) ? this.#contains(schema) : undefined;
    if (
      minItems === undefined &&
      maxItems === undefined &&
      !uniqueItems &&
      prefix.length === 0 &&
      !items &&
      !contains
    ) {
      return undefined;
    }
    return (value, context, marks) => {
      let ok = true;
      if (minItems !== undefined && value.length < minItems) {
        ok = context.report('minItems', texts.minItems, { limit: minItems, count: value.length });
      }
      if (maxItems !== undefined && value.length > maxItems) {
        ok = context.report('maxItems', texts.maxItems, { limit: maxItems, count: value.length });
      }
      if (!ok && context.silent) return false;
      const checked = items ? value.length : Math.min(prefix.length, value.length);
      for (let i = 0; i < checked; i++) {
        const check = i < prefix.length ? prefix[i]! : items!;
        if (!context.below(i, check, value[i], mode === 'shared' ? marks : undefined)) {
          if (context.silent) return false;
          ok = false;
        }
      }
      if (marks) marks.items = Math.max(marks.items, checked);
      if (contains !== undefined && !contains(value, context, marks)) ok = false;
      if (uniqueItems && !allDistinct(value, context)) ok = false;
      return ok;
    };
  }

  #contains(schema: SchemaObject): (value: readonly unknown[], context: Context, marks: Marks | undefined) => boolean {
    const check = this.#checkOf(schema.contains as JsonSchema, 'open');
    const { minContains = 1, maxContains = Number.POSITIVE_INFINITY } = schema as Record<string, number | undefined>;
    return (value, context, marks) => {
      let count = 0;
      for (let i = 0; i < value.length; i++) {
        if (!context.silently(() => check(value[i], context, undefined))) continue;
        count++;
        if (marks) {
          marks.indexes ??= new Set();
          marks.indexes.add(i);
        }
      }
      if (count < minContains) return context.report('contains', texts.contains, { limit: minContains, count });
      return count <= maxContains || context.report('maxContains', texts.maxContains, { limit: maxContains, count });
    };
  }

  #objectCheck(
    schema: SchemaObject,
    mode: Mode,
  ): ((value: SchemaObject, context: Context, marks: Marks | undefined) => boolean) | undefined {
    const below = modeBelow(mode);
    const declared = isObject(schema.properties) ? Object.entries(schema.properties) : [];
    const properties = new Map(declared.map(([name, one]) => [name, this.#checkOf(one as JsonSchema, below)]));
    const patterns = Object.entries(isObject(schema.patternProperties) ? schema.patternProperties : {}).map(
      ([source, one]) => ({ pattern: compilePattern(source), check: this.#checkOf(one as JsonSchema, below) }),
    );
    const saysAdditional = isSchema(schema.additionalProperties);
    const closes = isObject(schema.properties) && !saysAdditional && !('unevaluatedProperties' in schema);
    const additional =
      schema.additionalProperties === false || (closes && mode === 'inline')
        ? undefined
        : this.#checkOf(saysAdditional ? (schema.additionalProperties as JsonSchema) : true, below);
    const names = [...properties.keys()];
    const allowed = names.join(', ');
    const required = Array.isArray(schema.required) ? (schema.required as string[]) : [];
    const others = this.#objectLimits(schema, mode);
    // Members that tell alternatives apart come first: a recursive union would else try every combination.
    const telling = mode === 'inline' ? [] : declared.filter(([, one]) => tellsApart(one)).map(([name]) => name);
    const eachMember = isObject(schema.properties) || patterns.length > 0 || saysAdditional;
    const closesShared = closes && mode === 'shared';
    if (!eachMember && required.length === 0 && others.length === 0) return undefined;

    return (value, context, marks) => {
      let ok = true;
      if (context.silent) {
        for (let i = 0; i < telling.length; i++) {
          const name = telling[i]!;
          if (Object.hasOwn(value, name) && !properties.get(name)!(value[name], context, undefined)) return false;
        }
      }
      for (let i = 0; i < required.length; i++) {
        const name = required[i]!;
        if (Object.hasOwn(value, name) && value[name] !== undefined) continue;
        if (context.silent) return false;
        ok = context.reportAt(name, 'required', texts.required);
      }
      if (eachMember) {
        const shared = mode === 'shared' ? marks : undefined;
        for (const name in value) {
          const member = value[name];
          if (member === undefined) continue;
          const check = properties.get(name);
          let known = check !== undefined;
          if (check !== undefined && !context.below(name, check, member, shared)) {
            if (context.silent) return false;
            ok = false;
          }
          for (let i = 0; i < patterns.length; i++) {
            if (!patterns[i]!.pattern.test(name)) continue;
            known = true;
            if (!context.below(name, patterns[i]!.check, member, shared)) {
              if (context.silent) return false;
              ok = false;
            }
          }
          if (!known) {
            if (additional === undefined) {
              if (context.silent) return false;
              ok = context.reportAt(name, 'additionalProperties', texts.additionalProperties, { allowed });
            } else if (saysAdditional && !context.below(name, additional, member, shared)) {
              if (context.silent) return false;
              ok = false;
            }
          }
          if (marks && (known || saysAdditional)) marks.names.add(name);
        }
        if (closesShared && marks) marks.close(names);
      }
      for (let i = 0; i < others.length; i++) {
        if (!others[i]!(value, context, marks)) {
          if (context.silent) return false;
          ok = false;
        }
      }
      return ok;
    };
  }

  #objectLimits(
    schema: SchemaObject,
    mode: Mode,
  ): ((value: SchemaObject, context: Context, marks: Marks | undefined) => boolean)[] {
    const checks: ((value: SchemaObject, context: Context, marks: Marks | undefined) => boolean)[] = [];
    const { minProperties, maxProperties } = schema as Record<string, number | undefined>;
    if (minProperties !== undefined) {
      checks.push((value, context) => {
        const count = Object.keys(value).length;
        return (
          count >= minProperties ||
          context.report('minProperties', texts.minProperties, { limit: minProperties, count })
        );
      });
    }
    if (maxProperties !== undefined) {
      checks.push((value, context) => {
        const count = Object.keys(value).length;
        return (
          count <= maxProperties ||
          context.report('maxProperties', texts.maxProperties, { limit: maxProperties, count })
        );
      });
    }
    if (isSchema(schema.propertyNames)) {
      const check = this.#checkOf(schema.propertyNames, 'open');
      checks.push((value, context) => {
        let ok = true;
        for (const name of Object.keys(value)) {
          if (context.silently(() => check(name, context, undefined))) continue;
          if (context.silent) return false;
          const reasons = context.reasons(() => check(name, context, undefined));
          ok = context.reportAt(name, 'propertyNames', texts.propertyNames, { reason: reasons });
        }
        return ok;
      });
    }
    const dependencies = [schema.dependencies, schema.dependentRequired].filter(isObject);
    for (const [name, needed] of dependencies.flatMap((map) => Object.entries(map))) {
      if (!Array.isArray(needed)) continue;
      checks.push((value, context) => {
        if (!Object.hasOwn(value, name)) return true;
        let ok = true;
        for (const other of needed as string[]) {
          if (!Object.hasOwn(value, other))
            ok = context.reportAt(other, 'dependentRequired', texts.dependentRequired, { name });
        }
        return ok;
      });
    }
    for (const map of [schema.dependencies, schema.dependentSchemas]) {
      if (!isObject(map)) continue;
      for (const [name, one] of Object.entries(map)) {
        if (!isSchema(one)) continue;
        const check = this.#checkOf(one, mode);
        checks.push((value, context, marks) => !Object.hasOwn(value, name) || check(value, context, marks));
      }
    }
    return checks;
  }

  #unevaluated(schema: SchemaObject, mode: Mode): Check {
    const below = modeBelow(mode);
    const items = isSchema(schema.unevaluatedItems) ? this.#checkOf(schema.unevaluatedItems, below) : undefined;
    const properties = isSchema(schema.unevaluatedProperties)
      ? this.#checkOf(schema.unevaluatedProperties, below)
      : undefined;
    return (value, context, marks) => {
      let ok = true;
      const shared = mode === 'shared' ? marks : undefined;
      if (Array.isArray(value)) {
        if (!items) return true;
        for (let i = marks!.items; i < value.length; i++) {
          if (marks!.indexes?.has(i)) continue;
          ok =
            (schema.unevaluatedItems === false
              ? context.reportAt(i, 'unevaluatedItems', texts.unevaluatedItems)
              : context.below(i, items, value[i], shared)) && ok;
        }
        marks!.items = value.length;
        return ok;
      }
      if (!properties) return true;
      for (const name in value as SchemaObject) {
        if (marks!.names.has(name)) continue;
        marks!.names.add(name);
        ok =
          (schema.unevaluatedProperties === false
            ? context.reportAt(name, 'unevaluatedProperties', texts.additionalProperties, { allowed: marks!.known() })
            : context.below(name, properties, (value as SchemaObject)[name], shared)) && ok;
      }
      return ok;
    };
  }

  // ── defaults ──────────────────────────────────────────────────────────────────────────────────────────────

  /** Only through what always applies: conditional branches set nothing, but for "this or null". */
  #defaultsOf(root: JsonSchema): SetDefaults | undefined {
    const made = new Map<SchemaObject, SetDefaults>();
    const of = (schema: unknown): SetDefaults | undefined => {
      if (!isObject(schema) || !this.#reachesDefault(schema, new Set())) return undefined;
      const known = made.get(schema);
      if (known) return known;
      const steps: SetDefaults[] = [];
      const apply: SetDefaults = (value, depth) => {
        if (!isContainer(value)) return;
        if (depth > deepestDefault) throw new EndlessDefault();
        for (const step of steps) step(value, depth);
      };
      made.set(schema, apply);
      for (const next of this.#always(schema)) {
        const step = of(next);
        if (step) steps.push(step);
      }
      steps.push(...memberDefaults(schema, of, (one) => this.#defaultText(one)), ...itemDefaults(schema, of));
      return apply;
    };
    return of(root);
  }

  #always(schema: SchemaObject): JsonSchema[] {
    const next: JsonSchema[] = Array.isArray(schema.allOf) ? [...schema.allOf] : [];
    if (typeof schema.$ref === 'string') next.push(this.#target(schema, '$ref').schema);
    for (const branches of [schema.anyOf, schema.oneOf]) {
      if (!Array.isArray(branches)) continue;
      const others = branches.filter((one) => !(isObject(one) && one.type === 'null'));
      if (others.length === 1) next.push(others[0]);
    }
    return next;
  }

  /** The default that a schema gives to what is absent: its own, else that of what always applies beside it. */
  #defaultText(schema: unknown, seen = new Set<SchemaObject>()): string | undefined {
    if (!isObject(schema) || seen.has(schema)) return undefined;
    seen.add(schema);
    if (schema.default !== undefined) return JSON.stringify(schema.default);
    for (const next of this.#always(schema)) {
      const text = this.#defaultText(next, seen);
      if (text !== undefined) return text;
    }
    return undefined;
  }

  #reachesDefault(schema: JsonSchema, seen: Set<SchemaObject>): boolean {
    if (typeof schema !== 'object' || seen.has(schema)) return false;
    seen.add(schema);
    const members = Object.values(isObject(schema.properties) ? schema.properties : {});
    if (members.some((one) => this.#defaultText(one) !== undefined)) return true;
    const next = subschemas(schema).map((part) => part.schema);
    return [...next, ...this.#always(schema)].some((one) => this.#reachesDefault(one, seen));
  }
}

/** Sets the defaults below a value, in place. `depth`: of the value below the one that was handed in. */
type SetDefaults = (value: unknown, depth: number) => void;
type DefaultsOf = (schema: unknown) => SetDefaults | undefined;

/** Deeper than any body: only a default that is set again within itself gets there. */
const deepestDefault = 1000;

class EndlessDefault extends Error {}

function memberDefaults(
  schema: SchemaObject,
  of: DefaultsOf,
  defaultText: (schema: unknown) => string | undefined,
): SetDefaults[] {
  const steps: SetDefaults[] = [];
  const properties = isObject(schema.properties) ? schema.properties : {};
  for (const [name, one] of Object.entries(properties)) {
    const text = defaultText(one);
    const inner = of(one);
    if (text === undefined && !inner) continue;
    steps.push((value, depth) => {
      if (Array.isArray(value)) return;
      const object = value as Record<string, unknown>;
      if (text !== undefined && (!Object.hasOwn(object, name) || object[name] === undefined)) {
        Object.defineProperty(object, name, {
          value: JSON.parse(text),
          enumerable: true,
          configurable: true,
          writable: true,
        });
      }
      if (inner && Object.hasOwn(object, name)) inner(object[name], depth + 1);
    });
  }
  const patterns = Object.entries(isObject(schema.patternProperties) ? schema.patternProperties : {}).map(
    ([source, one]) => ({ pattern: compilePattern(source), inner: of(one) }),
  );
  const additional = of(schema.additionalProperties);
  if (additional || patterns.some(({ inner }) => inner)) {
    steps.push((value, depth) => {
      if (Array.isArray(value)) return;
      for (const [name, member] of Object.entries(value as object)) {
        const matching = patterns.filter(({ pattern }) => pattern.test(name));
        for (const { inner } of matching) inner?.(member, depth + 1);
        if (matching.length === 0 && !Object.hasOwn(properties, name)) additional?.(member, depth + 1);
      }
    });
  }
  return steps;
}

function itemDefaults(schema: SchemaObject, of: DefaultsOf): SetDefaults[] {
  const prefix = Array.isArray(schema.prefixItems) ? schema.prefixItems.map(of) : [];
  const items = of(schema.items);
  if (!items && !prefix.some(Boolean)) return [];
  return [
    (value, depth) => {
      if (!Array.isArray(value)) return;
      for (const [i, one] of value.entries()) (i < prefix.length ? prefix[i] : items)?.(one, depth + 1);
    },
  ];
}

// ── one run ───────────────────────────────────────────────────────────────────────────────────────────────────

const noViolations: Violation[] = [];

/** The state of one validation: first silent (true or false only), then, for what is invalid, collecting. */
class Context {
  readonly scopes: Resource[];
  readonly #base: string;
  readonly #path: (string | number)[] = [];
  #violations: Violation[] | undefined;
  #seen: Set<string> | undefined;
  #steps = 0;
  silent = true;

  constructor(base: string, scope: Resource) {
    this.#base = base;
    this.scopes = [scope];
  }

  collect(run: () => unknown): Violation[] {
    const violations: Violation[] = [];
    this.#violations = violations;
    this.#seen = new Set();
    this.silent = false;
    run();
    this.silent = true;
    this.#violations = undefined;
    return violations;
  }

  silently(run: () => boolean): boolean {
    const before = this.silent;
    this.silent = true;
    const result = run();
    this.silent = before;
    return result;
  }

  /** One alternative; costs far more than one member. */
  tried(run: () => boolean): boolean {
    this.#count(alternativeSteps);
    return this.silently(run);
  }

  #count(steps: number): void {
    this.#steps += steps;
    if (this.#steps > stepLimit) throw invalid([violation(this.#base, 'limit', texts.steps, { limit: stepLimit })]);
  }

  /** The violations of a trial run, without reporting them. */
  trial(run: () => unknown): Violation[] {
    const { silent } = this;
    const violations = this.#violations;
    const seen = this.#seen;
    const result = this.collect(run);
    this.silent = silent;
    this.#violations = violations;
    this.#seen = seen;
    return result;
  }

  reasons(run: () => unknown): string {
    return this.trial(run)
      .map((one) => one.message)
      .join('; ');
  }

  get pointer(): string {
    return this.#path.reduce<string>((text, token) => `${text}/${escapeToken(String(token))}`, this.#base);
  }

  report(keyword: string, text: Text, params?: Readonly<Record<string, unknown>>): false {
    if (!this.silent) this.#push(violation(this.pointer, keyword, text, params));
    return false;
  }

  /** At a member or an item of the current value. */
  reportAt(token: string | number, keyword: string, text: Text, params?: Readonly<Record<string, unknown>>): false {
    if (this.silent) return false;
    return this.at(token, () => this.report(keyword, text, params));
  }

  at<T>(token: string | number, run: () => T): T {
    this.#path.push(token);
    const result = run();
    this.#path.pop();
    return result;
  }

  below(token: string | number, check: Check, value: unknown, shared: Marks | undefined): boolean {
    this.#count(1);
    const marks = shared !== undefined && isContainer(value) ? shared.child(token) : undefined;
    if (this.silent) return check(value, this, marks);
    this.#path.push(token);
    const ok = check(value, this, marks);
    this.#path.pop();
    return ok;
  }

  #push(one: Violation): void {
    const violations = this.#violations!;
    if (violations.length >= violationLimit) return;
    const key = `${one.pointer}\n${one.keyword}\n${one.message}`;
    if (this.#seen!.has(key)) return;
    this.#seen!.add(key);
    violations.push(one);
  }
}

class Marks {
  /** Known members of an object. */
  readonly names = new Set<string>();
  /** Known items of an array: all below this number, and these. */
  items = 0;
  indexes: Set<number> | undefined;
  #closed: Set<string> | undefined;
  #children: Map<string | number, Marks> | undefined;

  get closed(): boolean {
    return this.#closed !== undefined;
  }

  get children(): ReadonlyMap<string | number, Marks> | undefined {
    return this.#children;
  }

  close(names: readonly string[]): void {
    this.#closed ??= new Set();
    for (const name of names) this.#closed.add(name);
  }

  /** Nothing of the value counts as unknown. */
  knowAll(value: object): void {
    for (const name of Object.keys(value)) this.names.add(name);
    if (Array.isArray(value)) this.items = value.length;
  }

  /** Declared names, for messages. */
  known(): string {
    return [...(this.#closed ?? this.names)].join(', ');
  }

  child(token: string | number): Marks {
    this.#children ??= new Map();
    let child = this.#children.get(token);
    if (!child) {
      child = new Marks();
      this.#children.set(token, child);
    }
    return child;
  }

  merge(other: Marks): void {
    for (const name of other.names) this.names.add(name);
    if (other.items > this.items) this.items = other.items;
    if (other.indexes) {
      this.indexes ??= new Set();
      for (const index of other.indexes) this.indexes.add(index);
    }
    if (other.#closed) this.close([...other.#closed]);
    if (other.#children) for (const [token, child] of other.#children) this.child(token).merge(child);
  }
}

function refuseUnknown(value: object, context: Context, marks: Marks): boolean {
  let ok = true;
  if (marks.closed && !Array.isArray(value)) {
    for (const name in value) {
      if (marks.names.has(name) || (value as SchemaObject)[name] === undefined) continue;
      if (context.silent) return false;
      ok = context.reportAt(name, 'additionalProperties', texts.additionalProperties, { allowed: marks.known() });
    }
  }
  for (const [token, child] of marks.children ?? []) {
    const below = (value as SchemaObject)[token];
    if (!isContainer(below)) continue;
    if (!context.at(token, () => refuseUnknown(below, context, child))) {
      if (context.silent) return false;
      ok = false;
    }
  }
  return ok;
}

interface Branch {
  readonly check: Check;
  /** True for a value of the branch's shape: its type, and the members that tell alternatives apart. */
  readonly fits: (value: unknown, context: Context) => boolean;
}

/** Reports that no branch holds; with it, when one branch alone is of the value's shape, what is wrong there. */
function reportBranches(
  keyword: string,
  text: Text,
  branches: readonly Branch[],
  value: unknown,
  context: Context,
  marks: Marks | undefined,
): false {
  if (context.silent) return false;
  context.report(keyword, text);
  const fitting = branches.filter(({ fits }) => context.silently(() => fits(value, context)));
  if (fitting.length === 1) fitting[0]!.check(value, context, marks);
  // Which members are unknown depends on the branch that was meant.
  else if (isContainer(value)) marks?.knowAll(value);
  return false;
}

const holds: Check = () => true;
const refuses: Check = (_value, context) => context.report('false schema', texts.false);

function within(resource: Resource, check: Check): Check {
  return (value, context, marks) => {
    context.scopes.push(resource);
    const ok = check(value, context, marks);
    context.scopes.pop();
    return ok;
  };
}

/** Below a shared place everything is shared; where only `unevaluated…` counts, members start anew. */
function modeBelow(mode: Mode): Mode {
  return mode === 'marked' ? 'open' : mode;
}

/** A `$ref` beside which nothing else says anything about the value. */
function isPureReference(schema: SchemaObject): boolean {
  const silent = [
    '$ref',
    '$defs',
    'definitions',
    'title',
    'description',
    'default',
    'example',
    'examples',
    'deprecated',
    '$comment',
    '$schema',
    '$id',
    'readOnly',
    'writeOnly',
  ];
  return typeof schema.$ref === 'string' && Object.keys(schema).every((keyword) => silent.includes(keyword));
}

// ── keywords without sub-schemas ──────────────────────────────────────────────────────────────────────────────

const typeChecks: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number' && Number.isFinite(value),
  integer: (value) => Number.isInteger(value),
  boolean: (value) => typeof value === 'boolean',
  null: (value) => value === null,
  array: (value) => Array.isArray(value),
  object: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
};

function typeCheck(type: unknown): ((value: unknown) => boolean) | undefined {
  if (typeof type === 'string') return typeChecks[type];
  if (!Array.isArray(type)) return undefined;
  const checks = (type as string[]).map((name) => typeChecks[name]!);
  return (value) => checks.some((check) => check(value));
}

function typeName(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value;
}

function enumCheck(values: readonly unknown[]): Check {
  const simple = new Set(values.filter((one) => !isContainer(one)));
  const composed = new Set(values.filter(isContainer).map(canonicalText));
  const allowed = values.map((one) => JSON.stringify(one)).join(', ');
  return (value, context) => {
    if (isContainer(value) ? composed.size > 0 && composed.has(canonicalText(value)) : simple.has(value)) return true;
    return context.report('enum', texts.enum, { allowed, value });
  };
}

function constCheck(expected: unknown): Check {
  const text = canonicalText(expected);
  const composed = isContainer(expected);
  return (value, context) => {
    if (composed ? isContainer(value) && canonicalText(value) === text : value === expected) return true;
    return context.report('const', texts.const, { expected: JSON.stringify(expected) });
  };
}

function stringChecks(schema: SchemaObject): ((value: string, context: Context) => boolean)[] {
  const checks: ((value: string, context: Context) => boolean)[] = [];
  const { minLength, maxLength } = schema as Record<string, number | undefined>;
  if (minLength !== undefined) {
    checks.push((value, context) => {
      // A code point takes one or two UTF-16 code units.
      if (value.length >= minLength * 2 || codePoints(value) >= minLength) return true;
      return context.report('minLength', texts.minLength, { limit: minLength, length: codePoints(value) });
    });
  }
  if (maxLength !== undefined) {
    checks.push((value, context) => {
      if (value.length <= maxLength || codePoints(value) <= maxLength) return true;
      return context.report('maxLength', texts.maxLength, { limit: maxLength, length: codePoints(value) });
    });
  }
  if (typeof schema.pattern === 'string') {
    const pattern = compilePattern(schema.pattern);
    checks.push(
      (value, context) => pattern.test(value) || context.report('pattern', texts.pattern, { pattern: schema.pattern }),
    );
  }
  const format = formats.get(String(schema.format));
  if (format?.string) {
    const { string, expected } = format;
    checks.push(
      (value, context) => string(value) || context.report('format', texts.format, { format: schema.format, expected }),
    );
  }
  return checks;
}

function codePoints(text: string): number {
  let count = text.length;
  for (let i = 0; i < text.length - 1; i++) {
    if ((text.charCodeAt(i) & 0xfc00) !== 0xd800 || (text.charCodeAt(i + 1) & 0xfc00) !== 0xdc00) continue;
    count--;
    i++;
  }
  return count;
}

function numberChecks(schema: SchemaObject): ((value: number, context: Context) => boolean)[] {
  const checks: ((value: number, context: Context) => boolean)[] = [];
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema as Record<
    string,
    number | undefined
  >;
  const add = (
    keyword: string,
    limit: number | undefined,
    text: Text,
    holdsFor: (value: number, limit: number) => boolean,
  ): void => {
    if (limit === undefined) return;
    checks.push((value, context) => holdsFor(value, limit) || context.report(keyword, text, { limit, value }));
  };
  add('minimum', minimum, texts.minimum, (value, limit) => value >= limit);
  add('maximum', maximum, texts.maximum, (value, limit) => value <= limit);
  add('exclusiveMinimum', exclusiveMinimum, texts.exclusiveMinimum, (value, limit) => value > limit);
  add('exclusiveMaximum', exclusiveMaximum, texts.exclusiveMaximum, (value, limit) => value < limit);
  add('multipleOf', multipleOf, texts.multipleOf, isMultipleOf);
  const format = formats.get(String(schema.format));
  if (format?.number) {
    const { number, expected } = format;
    checks.push(
      (value, context) => number(value) || context.report('format', texts.format, { format: schema.format, expected }),
    );
  }
  return checks;
}

function allDistinct(items: readonly unknown[], context: Context): boolean {
  const simple = new Map<unknown, number>();
  const composed = new Map<string, number>();
  for (const [i, item] of items.entries()) {
    const seen: Map<unknown, number> = isContainer(item) ? composed : simple;
    const key = isContainer(item) ? canonicalText(item) : item;
    const first = seen.get(key);
    if (first !== undefined) return context.report('uniqueItems', texts.uniqueItems, { first, second: i });
    seen.set(key, i);
  }
  return true;
}

// ── shapes ────────────────────────────────────────────────────────────────────────────────────────────────────

export function isObject(value: unknown): value is SchemaObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A schema that only certain values satisfy, as in a member that names the alternative. */
function tellsApart(schema: unknown): boolean {
  return isObject(schema) && ('const' in schema || 'enum' in schema);
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'boolean' || isObject(value);
}

function withoutFragment(uri: string): string {
  const hash = uri.indexOf('#');
  return hash < 0 ? uri : uri.slice(0, hash);
}

function fragmentOf(url: URL): string | undefined {
  try {
    return decodeURIComponent(url.hash.slice(1));
  } catch {
    return undefined;
  }
}

function rewritten(schema: JsonSchema, change: (ref: string) => string, isRoot: boolean): JsonSchema {
  // Below an $id references are relative to it.
  if (typeof schema !== 'object' || typeof schema.$id === 'string') return schema;
  const copy: Record<string, unknown> = { ...schema };
  if (isRoot) delete copy.$schema;
  if (typeof copy.$ref === 'string') copy.$ref = change(copy.$ref);
  const map = (value: unknown): unknown => (isSchema(value) ? rewritten(value, change, false) : value);
  for (const keyword of schemaKeywords) if (keyword in copy) copy[keyword] = map(copy[keyword]);
  for (const keyword of listKeywords) if (Array.isArray(copy[keyword])) copy[keyword] = copy[keyword].map(map);
  for (const keyword of mapKeywords) {
    const value = copy[keyword];
    if (isObject(value))
      copy[keyword] = Object.fromEntries(Object.entries(value).map(([name, one]) => [name, map(one)]));
  }
  return copy;
}

const texts = {
  type: { en: 'must be {type}, got {actual}', zh: '类型必须为 {type}，实际为 {actual}' },
  enum: { en: 'must be one of {allowed}', zh: '必须为以下值之一：{allowed}' },
  const: { en: 'must be {expected}', zh: '必须为 {expected}' },
  required: { en: 'is required', zh: '为必填项' },
  additionalProperties: {
    en: 'is not a field of the model; known here are: {allowed}',
    zh: '不是模型的字段；此处已知的字段为：{allowed}',
  },
  minLength: {
    en: 'must have at least {limit} characters, has {length}',
    zh: '至少需要 {limit} 个字符，实际为 {length} 个',
  },
  maxLength: {
    en: 'must have at most {limit} characters, has {length}',
    zh: '最多 {limit} 个字符，实际为 {length} 个',
  },
  pattern: { en: 'must match the pattern {pattern}', zh: '必须匹配模式 {pattern}' },
  format: { en: 'must be of the format {format}: {expected}', zh: '必须符合格式 {format}：{expected}' },
  minimum: { en: 'must be at least {limit}', zh: '必须大于或等于 {limit}' },
  maximum: { en: 'must be at most {limit}', zh: '必须小于或等于 {limit}' },
  exclusiveMinimum: { en: 'must be greater than {limit}', zh: '必须大于 {limit}' },
  exclusiveMaximum: { en: 'must be less than {limit}', zh: '必须小于 {limit}' },
  multipleOf: { en: 'must be a multiple of {limit}', zh: '必须为 {limit} 的倍数' },
  minItems: { en: 'must have at least {limit} items, has {count}', zh: '至少需要 {limit} 项，实际为 {count} 项' },
  maxItems: { en: 'must have at most {limit} items, has {count}', zh: '最多 {limit} 项，实际为 {count} 项' },
  uniqueItems: {
    en: 'must not have equal items: {first} and {second} are equal',
    zh: '不能包含相同的项：第 {first} 项与第 {second} 项相同',
  },
  contains: {
    en: 'must have at least {limit} items of the kind it has to contain, has {count}',
    zh: '至少需要包含 {limit} 个符合要求的项，实际为 {count} 个',
  },
  maxContains: {
    en: 'must have at most {limit} items of the kind it has to contain, has {count}',
    zh: '最多只能包含 {limit} 个符合要求的项，实际为 {count} 个',
  },
  unevaluatedItems: { en: 'is an item that the model does not allow', zh: '是模型不允许的项' },
  minProperties: {
    en: 'must have at least {limit} members, has {count}',
    zh: '至少需要 {limit} 个成员，实际为 {count} 个',
  },
  maxProperties: { en: 'must have at most {limit} members, has {count}', zh: '最多 {limit} 个成员，实际为 {count} 个' },
  propertyNames: { en: 'is not an allowed name: {reason}', zh: '不是允许的名称：{reason}' },
  dependentRequired: { en: 'is required beside "{name}"', zh: '存在 "{name}" 时为必填项' },
  anyOf: { en: 'must satisfy at least one of the alternatives', zh: '必须至少符合其中一个备选模式' },
  oneOf: { en: 'must satisfy one of the alternatives, satisfies none', zh: '必须符合其中一个备选模式，实际均不符合' },
  oneOfMany: {
    en: 'must satisfy exactly one of the alternatives, satisfies {passing}',
    zh: '必须恰好符合一个备选模式，实际符合 {passing}',
  },
  not: { en: 'must not satisfy the excluded schema', zh: '不得符合被排除的模式' },
  false: { en: 'is not allowed', zh: '不允许出现' },
  steps: {
    en: 'takes more than {limit} comparisons: alternatives within alternatives, nested too deep',
    zh: '需要超过 {limit} 次比较：备选模式嵌套过深',
  },
} as const satisfies Record<string, Text>;
