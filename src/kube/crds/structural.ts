/**
 * The schema of a definition as a tree in which each member of an object is declared at one place (KEP-1979): what is known
 * there can be told without looking at alternatives.
 */
import { isRecord } from '../../model/object.ts';
import type { Parts } from '../../runtime/parts.ts';
import type { SchemaObject } from '../../schema/keywords.ts';
import type { DefinitionMistakes, FieldPath } from './path.ts';
import type { Structural } from './structural-type.ts';

const preserveUnknown = 'x-kubernetes-preserve-unknown-fields';
const intOrString = 'x-kubernetes-int-or-string';
const embeddedResource = 'x-kubernetes-embedded-resource';
const listType = 'x-kubernetes-list-type';
const listMapKeys = 'x-kubernetes-list-map-keys';
const mapType = 'x-kubernetes-map-type';
const validations = 'x-kubernetes-validations';

type Level = 'root' | 'item' | 'field';

const types = ['array', 'boolean', 'integer', 'number', 'object', 'string'];
const deepest = 100;

const unsupported = [
  '$ref',
  'additionalItems',
  'definitions',
  'dependencies',
  'deprecated',
  'discriminator',
  'id',
  'patternProperties',
  'readOnly',
  'writeOnly',
  'xml',
];

/** What says nothing but where a value may be, so that it stands outside of alternatives alone. */
const outsideOnly: readonly (readonly [string, string])[] = [
  ['type', 'must be empty to be structural'],
  ['title', 'must be empty to be structural'],
  ['description', 'must be empty to be structural'],
  ['default', 'must be undefined to be structural'],
  ['additionalProperties', 'must be undefined to be structural'],
  ['nullable', 'must be false to be structural'],
  [preserveUnknown, 'must be false to be structural'],
  [embeddedResource, 'must be false to be structural'],
  [intOrString, 'must be false to be structural'],
  [listType, 'must be undefined to be structural'],
  [listMapKeys, 'must be empty to be structural'],
  [mapType, 'must be undefined to be structural'],
  [validations, 'must be empty to be structural'],
];

const isAnything = (value: unknown): boolean => typeof value === 'object' && value !== null;
const isText = (value: unknown): boolean => typeof value === 'string';
const isFlag = (value: unknown): boolean => typeof value === 'boolean';
const isNumber = (value: unknown): boolean => typeof value === 'number';
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;
const isTexts = (value: unknown): boolean => Array.isArray(value) && value.every(isText);

/** What keywords must be; what is not here may be anything and means nothing. */
const shapes: Readonly<Record<string, readonly [(value: unknown) => boolean, string]>> = {
  type: [isText, 'must be a string'],
  format: [isText, 'must be a string'],
  title: [isText, 'must be a string'],
  description: [isText, 'must be a string'],
  pattern: [isText, 'must be a string'],
  nullable: [isFlag, 'must be true or false'],
  uniqueItems: [isFlag, 'must be true or false'],
  exclusiveMinimum: [isFlag, 'must be true or false'],
  exclusiveMaximum: [isFlag, 'must be true or false'],
  [preserveUnknown]: [isFlag, 'must be true or undefined'],
  [embeddedResource]: [isFlag, 'must be true or false'],
  [intOrString]: [isFlag, 'must be true or false'],
  minimum: [isNumber, 'must be a number'],
  maximum: [isNumber, 'must be a number'],
  multipleOf: [(value) => isNumber(value) && (value as number) > 0, 'must be greater than 0'],
  minLength: [isCount, 'must be an integer, 0 or more'],
  maxLength: [isCount, 'must be an integer, 0 or more'],
  minItems: [isCount, 'must be an integer, 0 or more'],
  maxItems: [isCount, 'must be an integer, 0 or more'],
  minProperties: [isCount, 'must be an integer, 0 or more'],
  maxProperties: [isCount, 'must be an integer, 0 or more'],
  required: [isTexts, 'must be a list of strings'],
  enum: [Array.isArray, 'must be a list'],
  properties: [isRecord, 'must be an object'],
  items: [isAnything, 'must be a schema'],
  allOf: [Array.isArray, 'must be a list'],
  anyOf: [Array.isArray, 'must be a list'],
  oneOf: [Array.isArray, 'must be a list'],
  not: [isRecord, 'must be a schema'],
  [listMapKeys]: [isTexts, 'must be a list of strings'],
};

/** The tree, with everything that is wrong with it added to the mistakes. */
export function readStructural(schema: unknown, path: FieldPath, mistakes: DefinitionMistakes): Parts<Structural> {
  return new Reader(mistakes).read(schema, path, 'root', 0);
}

class Reader {
  readonly #mistakes: DefinitionMistakes;

  constructor(mistakes: DefinitionMistakes) {
    this.#mistakes = mistakes;
  }

  *read(given: unknown, path: FieldPath, level: Level, depth: number): Parts<Structural> {
    const mistakes = this.#mistakes;
    if (!isRecord(given)) mistakes.invalid(path, given, 'must be a schema');
    if (depth > deepest) mistakes.invalid(path, given, `must not be nested more than ${deepest} deep`);
    const schema = (isRecord(given) && depth <= deepest ? given : {}) as SchemaObject;
    this.#checkShapes(schema, path);
    const { type, properties, additionalProperties, items } = schema;
    const below = (one: unknown, at: FieldPath, of: Level) => this.read(one, at, of, depth + 1);
    const members = new Map<string, Structural>();
    const at = path.child('properties');
    for (const [name, one] of Object.entries(isRecord(properties) ? properties : {})) {
      members.set(name, yield* below(one, at.key(name), 'field'));
    }
    let additional: Structural | true | undefined;
    if (additionalProperties === true) additional = true;
    else if (additionalProperties !== undefined && additionalProperties !== null && additionalProperties !== false) {
      additional = yield* below(additionalProperties, path.child('additionalProperties'), 'field');
    }
    const node: Structural = {
      schema,
      type: typeof type === 'string' && type !== '' ? type : undefined,
      nullable: schema.nullable === true,
      isIntOrString: schema[intOrString] === true,
      preserves: schema[preserveUnknown] === true,
      isEmbedded: schema[embeddedResource] === true,
      properties: members,
      additional,
      items: isRecord(items) ? yield* below(items, path.child('items'), 'item') : undefined,
      defaultText: schema.default === undefined || schema.default === null ? undefined : JSON.stringify(schema.default),
    };
    this.#checkType(node, path, level);
    this.#checkMembers(node, path, level);
    this.#checkList(node, path);
    const skipsFirst = isIntOrStringPattern(schema);
    this.#checkAlternatives(node, schema, path, skipsFirst);
    yield;
    return node;
  }

  #checkShapes(schema: SchemaObject, path: FieldPath): void {
    for (const [keyword, value] of Object.entries(schema)) {
      if (value === undefined || value === null) continue;
      const shape = Object.hasOwn(shapes, keyword) ? shapes[keyword] : undefined;
      if (shape && !shape[0](value)) this.#mistakes.invalid(path.child(keyword), value, shape[1]);
      if (unsupported.includes(keyword)) this.#mistakes.forbidden(path.child(keyword), `${keyword} is not supported`);
    }
    if (schema.uniqueItems === true) {
      const text = 'uniqueItems cannot be set to true since the runtime complexity becomes quadratic';
      this.#mistakes.forbidden(path.child('uniqueItems'), text);
    }
    if (schema[preserveUnknown] === false) {
      this.#mistakes.invalid(path.child(preserveUnknown), false, 'must be true or undefined');
    }
    if (Array.isArray(schema.items)) {
      this.#mistakes.forbidden(path.child('items'), 'items must be a schema object and not an array');
    }
  }

  #checkType({ type, schema, isIntOrString, preserves, isEmbedded }: Structural, path: FieldPath, level: Level): void {
    const mistakes = this.#mistakes;
    const at = path.child('type');
    if (type === 'null') mistakes.forbidden(at, 'type cannot be set to null, use nullable as an alternative');
    else if (type !== undefined && !types.includes(type)) mistakes.unsupported(at, type, types);
    if (isEmbedded && type !== 'object') {
      const text = 'must be object if x-kubernetes-embedded-resource is true';
      if (type === undefined) mistakes.required(at, text);
      else mistakes.invalid(at, type, text);
    } else if (type === undefined && !isIntOrString && !preserves) {
      mistakes.required(at, missingType[level]);
    }
    if (level === 'root' && type !== undefined && type !== 'object') {
      mistakes.invalid(at, type, 'must be object at the root');
    }
    if (isIntOrString && type !== undefined) {
      mistakes.invalid(at, type, 'must be empty if x-kubernetes-int-or-string is true');
    }
    if (level === 'root' && schema.nullable === true) {
      mistakes.forbidden(path.child('nullable'), 'nullable cannot be true at the root');
    }
    if (type === 'array' && !isRecord(schema.items)) mistakes.required(path.child('items'), 'must be specified');
    if (preserves && type !== undefined && type !== 'object') {
      mistakes.invalid(at, type, 'must be object if x-kubernetes-preserve-unknown-fields is true');
    }
  }

  #checkMembers(node: Structural, path: FieldPath, level: Level): void {
    const mistakes = this.#mistakes;
    const { schema, properties, isEmbedded } = node;
    const at = path.child('additionalProperties');
    if (schema.additionalProperties === false) {
      mistakes.forbidden(at, 'additionalProperties cannot be set to false');
    } else if (node.additional !== undefined) {
      if (level === 'root') mistakes.forbidden(at, 'must not be used at the root');
      if (properties.size > 0) mistakes.forbidden(at, 'additionalProperties and properties are mutual exclusive');
      if (isEmbedded) mistakes.forbidden(at, 'must not be used if x-kubernetes-embedded-resource is set');
    }
    if (isEmbedded && !node.preserves && properties.size === 0) {
      const text =
        'must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields';
      mistakes.required(path.child('properties'), text);
    }
    if (level !== 'root' && !isEmbedded) return;
    for (const name of ['kind', 'apiVersion'] as const) {
      const { type } = properties.get(name) ?? { type: 'string' };
      if (type !== 'string') {
        mistakes.invalid(path.child('properties').key(name).child('type'), type ?? '', 'must be string');
      }
    }
    const metadata = properties.get('metadata');
    if (metadata) this.#checkMetadata(metadata, path.child('properties').key('metadata'), level);
  }

  #checkMetadata({ schema, type, properties }: Structural, path: FieldPath, level: Level): void {
    if (type !== 'object') this.#mistakes.invalid(path.child('type'), type ?? '', 'must be object');
    if (level !== 'root') return;
    const isPlain = Object.keys(schema).every((one) => ['type', 'description', 'properties'].includes(one));
    if (isPlain && [...properties.keys()].every((name) => name === 'name' || name === 'generateName')) return;
    const text = 'must not specify anything other than name and generateName, but metadata is implicitly specified';
    this.#mistakes.forbidden(path, text);
  }

  #checkList({ schema, type, items }: Structural, path: FieldPath): void {
    const mistakes = this.#mistakes;
    const kind = schema[listType];
    const keys = schema[listMapKeys];
    if (kind !== undefined) {
      if (!['atomic', 'set', 'map'].includes(kind as string)) {
        mistakes.unsupported(path.child(listType), kind, ['atomic', 'map', 'set']);
      }
      if (type !== 'array') {
        mistakes.invalid(path.child('type'), type ?? '', 'must be array if x-kubernetes-list-type is specified');
      }
    }
    if (schema[mapType] !== undefined) {
      if (!['atomic', 'granular'].includes(schema[mapType] as string)) {
        mistakes.unsupported(path.child(mapType), schema[mapType], ['atomic', 'granular']);
      }
      if (type !== 'object') {
        mistakes.invalid(path.child('type'), type ?? '', 'must be object if x-kubernetes-map-type is specified');
      }
    }
    if (kind === 'set' && items && !isOneValue(items)) {
      const text = 'must be scalar, or an atomic list or map, as item of a list with x-kubernetes-list-type=set';
      mistakes.invalid(path.child('items'), items.schema, text);
    }
    if (kind !== 'map') {
      if (keys !== undefined) {
        mistakes.forbidden(path.child(listMapKeys), 'must not be specified if x-kubernetes-list-type is not map');
      }
      return;
    }
    if (!Array.isArray(keys) || keys.length === 0) {
      mistakes.required(path.child(listMapKeys), 'must not be empty if x-kubernetes-list-type is map');
      return;
    }
    if (new Set(keys).size < keys.length) mistakes.duplicate(path.child(listMapKeys), keys);
    if (items && items.type !== 'object') {
      const text = "must be object if parent array's x-kubernetes-list-type is map";
      mistakes.invalid(path.child('items', 'type'), items.type ?? '', text);
    }
    const required = Array.isArray(items?.schema.required) ? (items.schema.required as unknown[]) : [];
    for (const name of keys.map(String)) {
      const member = items?.properties.get(name);
      const at = path.child('items', 'properties').key(name);
      if (!member) {
        mistakes.invalid(path.child(listMapKeys), keys, 'entries must all be names of item properties');
        continue;
      }
      if (member.type === 'object' || member.type === 'array' || (member.type === undefined && !member.isIntOrString)) {
        const text = "must be a scalar type if parent array's x-kubernetes-list-type is map";
        mistakes.invalid(at.child('type'), member.type ?? '', text);
      }
      if (!required.includes(name) && member.defaultText === undefined) {
        const text =
          'this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property';
        mistakes.required(at.child('default'), text);
      }
    }
  }

  /** Below alternatives stand only constraints of what is declared outside. */
  #checkAlternatives(node: Structural, schema: SchemaObject, path: FieldPath, skipsFirst = false): void {
    for (const keyword of ['allOf', 'anyOf', 'oneOf'] as const) {
      const list = schema[keyword];
      if (!Array.isArray(list)) continue;
      if (skipsFirst && keyword === 'anyOf' && isEither({ anyOf: list })) continue;
      for (const [i, one] of list.entries()) {
        if (skipsFirst && keyword === 'allOf' && i === 0 && isEither(one)) continue;
        this.#checkNested(node, one, path.child(keyword).key(i));
      }
    }
    if (isRecord(schema.not)) this.#checkNested(node, schema.not, path.child('not'));
  }

  #checkNested(node: Structural, given: unknown, path: FieldPath): void {
    const mistakes = this.#mistakes;
    if (!isRecord(given)) return mistakes.invalid(path, given, 'must be a schema');
    this.#checkShapes(given, path);
    for (const [keyword, text] of outsideOnly) {
      const value = given[keyword];
      const isSet = value !== undefined && value !== null && value !== '' && value !== false;
      if (isSet) mistakes.forbidden(path.child(keyword), text);
    }
    for (const [name, one] of Object.entries(isRecord(given.properties) ? given.properties : {})) {
      const at = path.child('properties').key(name);
      if (name === 'metadata' && node.properties.get(name) === undefined && !node.additional) {
        mistakes.forbidden(at, 'must not be specified in a nested context');
        continue;
      }
      const member = node.properties.get(name) ?? (typeof node.additional === 'object' ? node.additional : undefined);
      if (member) this.#checkNested(member, one, at);
      else if (!node.preserves) mistakes.required(at, `because it is not defined outside of ${path.text}`);
    }
    if (isRecord(given.items)) {
      if (node.items) this.#checkNested(node.items, given.items, path.child('items'));
      else if (!node.preserves) mistakes.required(path.child('items'), 'because it is not defined outside');
    }
    this.#checkAlternatives(node, given, path);
  }
}

const missingType: Readonly<Record<Level, string>> = {
  root: 'must not be empty at the root',
  item: 'must not be empty for specified array items',
  field: 'must not be empty for specified object fields',
};

/** `anyOf: [{ type: integer }, { type: string }]`, with which definitions say int-or-string to other tools. */
export function isEither(given: unknown): boolean {
  if (!isRecord(given) || !Array.isArray(given.anyOf) || given.anyOf.length !== 2) return false;
  const [first, second] = given.anyOf as unknown[];
  const is = (one: unknown, type: string) => isRecord(one) && one.type === type && Object.keys(one).length === 1;
  return is(first, 'integer') && is(second, 'string');
}

function isIntOrStringPattern(schema: SchemaObject): boolean {
  if (schema[intOrString] !== true) return false;
  return isEither({ anyOf: schema.anyOf }) || (Array.isArray(schema.allOf) && isEither(schema.allOf[0]));
}

function isOneValue({ type, schema, isIntOrString }: Structural): boolean {
  if (type === 'array') return schema[listType] === undefined || schema[listType] === 'atomic';
  if (type === 'object') return schema[mapType] === 'atomic';
  return type !== undefined || isIntOrString;
}
