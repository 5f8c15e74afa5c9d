/** A schema as the nodes of a tree: members, items and branches, with what each must be. */
import type { JsonSchema } from '../../../src/schema/keywords.ts';
import type { Titled } from '../text/titled.ts';

export interface SchemaNode {
  /** Of the member in an object, `/spec/name`; branches and items have the pointer of their member with a suffix. */
  readonly pointer: string;
  readonly name: string;
  readonly kind: 'member' | 'items' | 'values' | 'branch' | 'beside';
  readonly type: string;
  readonly required: boolean;
  readonly constraints: readonly Constraint[];
  readonly default?: string;
  readonly examples: readonly string[];
  readonly description?: Titled;
  readonly reference?: string;
  readonly isDeprecated: boolean;
  /** Whether `childrenOf` gives any. */
  readonly isBranch: boolean;
  readonly schema: Members;
}

export interface Constraint {
  readonly keyword: string;
  readonly value: string;
}

type Members = { readonly [keyword: string]: unknown };

/** Schemas that are a node each. */
const single = ['not', 'if', 'then', 'else', 'contains', 'propertyNames'];
const alternatives = ['oneOf', 'anyOf', 'allOf'];

const told = new Set([
  ...'$schema $id $ref $defs $comment $anchor definitions type properties prefixItems patternProperties'.split(' '),
  ...'dependentSchemas default examples description title x-titles x-descriptions x-reference x-multiline'.split(' '),
  ...'deprecated'.split(' '),
  ...single,
  ...alternatives,
]);

/** Keywords that say something by one value alone, with the constraint that it is. */
const flags: Readonly<Record<string, readonly [value: boolean, constraint: string]>> = {
  additionalProperties: [false, 'closed'],
  unevaluatedProperties: [false, 'closed'],
  items: [false, 'noMoreItems'],
  unevaluatedItems: [false, 'noMoreItems'],
  uniqueItems: [true, 'uniqueItems'],
  readOnly: [true, 'readOnly'],
  writeOnly: [true, 'writeOnly'],
};

export function rootsOf(schema: JsonSchema): SchemaNode[] {
  return typeof schema === 'object' ? childrenOf(nodeOf('', '', 'member', schema, false, schema), schema) : [];
}

/** @param root the whole schema, for references */
export function childrenOf({ pointer, schema }: SchemaNode, root: JsonSchema): SchemaNode[] {
  const resolved = resolve(schema, root);
  const required = (resolved.required ?? []) as string[];
  return partsOf(resolved).map(({ suffix, name, kind, schema: part }) =>
    nodeOf(`${pointer}${suffix}`, name, kind, part, kind === 'member' && required.includes(name), root),
  );
}

interface Part {
  /** Behind the pointer of the whole. */
  readonly suffix: string;
  readonly name: string;
  readonly kind: SchemaNode['kind'];
  readonly schema: JsonSchema;
}

/** The schemas that one is made of: members, items, other members, and what its keywords combine. */
function partsOf(schema: Members): Part[] {
  const each = (keyword: string): [string, JsonSchema][] =>
    isSchema(schema[keyword]) ? (Object.entries(schema[keyword]) as [string, JsonSchema][]) : [];
  const list = (keyword: string) => (Array.isArray(schema[keyword]) ? (schema[keyword] as JsonSchema[]) : []);
  const one = (keyword: string) => (isSchema(schema[keyword]) ? [schema[keyword]] : []);
  return [
    ...each('properties').map(
      ([name, part]): Part => ({ suffix: `/${escaped(name)}`, name, kind: 'member', schema: part }),
    ),
    ...one('items').map((part): Part => ({ suffix: '/-', name: '', kind: 'items', schema: part })),
    ...list('prefixItems').map(
      (part, at): Part => ({ suffix: `/${at}`, name: String(at), kind: 'items', schema: part }),
    ),
    ...each('patternProperties').map(
      ([name, part]): Part => ({ suffix: `/*${escaped(name)}`, name, kind: 'values', schema: part }),
    ),
    ...['additionalProperties', 'unevaluatedProperties'].flatMap((keyword) =>
      one(keyword).map((part): Part => ({ suffix: '/*', name: '', kind: 'values', schema: part })),
    ),
    ...alternatives.flatMap((keyword) =>
      constantsOf(schema[keyword])
        ? []
        : list(keyword).map(
            (part, at): Part => ({
              suffix: `#${keyword}/${at}`,
              name: `${keyword} ${at + 1}`,
              kind: 'branch',
              schema: part,
            }),
          ),
    ),
    ...single.flatMap((keyword) =>
      one(keyword).map((part): Part => ({ suffix: `#${keyword}`, name: keyword, kind: 'branch', schema: part })),
    ),
    ...each('dependentSchemas').map(
      ([name, part]): Part => ({ suffix: `#with/${escaped(name)}`, name, kind: 'beside', schema: part }),
    ),
  ];
}

const escaped = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');

/** What a value must be, without its parts. */
function constraintsOf(schema: Members, constants: readonly unknown[] | undefined): Constraint[] {
  const found = Object.entries(schema).flatMap(([keyword, value]): Constraint[] => {
    const flag = flags[keyword];
    if (flag) return value === flag[0] ? [{ keyword: flag[1], value: '' }] : [];
    if (keyword === 'dependentRequired' && isSchema(value)) {
      const each = Object.entries(value).map(([name, members]) => `${name}: ${(members as string[]).join(', ')}`);
      return [{ keyword, value: each.join('; ') }];
    }
    if (keyword === 'required') {
      // The others are shown at their members.
      const others = (value as string[]).filter((name) => !isSchema(schema.properties) || !(name in schema.properties));
      return others.length > 0 ? [{ keyword, value: others.join(', ') }] : [];
    }
    if (told.has(keyword)) return [];
    return [{ keyword, value: Array.isArray(value) ? value.map(text).join(', ') : text(value) }];
  });
  if (constants) found.push({ keyword: 'enum', value: constants.map(text).join(', ') });
  return [...new Map(found.map((one) => [one.keyword, one])).values()];
}

function nodeOf(
  pointer: string,
  name: string,
  kind: SchemaNode['kind'],
  schema: JsonSchema,
  required: boolean,
  root: JsonSchema,
): SchemaNode {
  const own: Members = typeof schema === 'object' ? schema : {};
  const all = { ...resolve(own, root), ...own };
  const constants = constantsOf(all.oneOf ?? all.anyOf);
  const description = (all['x-descriptions'] ?? all.description) as Titled | undefined;
  return {
    pointer,
    name: (kind === 'branch' && typeof all.title === 'string' && all.title) || name,
    kind,
    type: typeOf(all, constants !== undefined),
    required,
    constraints: constraintsOf(all, constants),
    ...(all.default !== undefined && { default: text(all.default) }),
    examples: Array.isArray(all.examples) ? all.examples.map(text) : [],
    ...(description !== undefined && { description }),
    ...(typeof all['x-reference'] === 'string' && { reference: all['x-reference'] }),
    isDeprecated: all.deprecated === true,
    isBranch: partsOf(all).length > 0,
    schema: own,
  };
}

function typeOf(schema: Members, isEnum: boolean): string {
  if (schema.type !== undefined) return [schema.type].flat().join(' | ');
  if (schema.enum || schema.const !== undefined || isEnum) return '';
  return ['oneOf', 'anyOf', 'allOf'].find((keyword) => schema[keyword]) ?? 'any';
}

/** The constants, when every branch is one. */
function constantsOf(branches: unknown): unknown[] | undefined {
  if (!Array.isArray(branches) || branches.length === 0) return undefined;
  const isConstant = (branch: unknown) => typeof branch === 'object' && branch !== null && 'const' in branch;
  return branches.every(isConstant) ? branches.map((branch: { const: unknown }) => branch.const) : undefined;
}

const furthest = 20;

/** Follows references within the schema. */
function resolve(schema: Members, root: JsonSchema): Members {
  let at: Members = schema;
  for (let steps = 0; steps < furthest && typeof at.$ref === 'string' && at.$ref.startsWith('#'); steps++) {
    let target: unknown = root;
    for (const part of decodeURIComponent(at.$ref.slice(1)).split('/').slice(1)) {
      target = (target as Members | undefined)?.[part.replaceAll('~1', '/').replaceAll('~0', '~')];
    }
    if (typeof target !== 'object' || target === null) break;
    at = target as Members;
  }
  return at;
}

const isSchema = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const text = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
