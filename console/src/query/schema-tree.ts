/** A schema as the nodes of a tree: members, items and branches, with what each must be. */
import type { JsonSchema, Titled } from '../api/models.ts';

export interface SchemaNode {
  /** Of the member in an object, `/spec/name`; branches and items have the pointer of their member with a suffix. */
  readonly pointer: string;
  readonly name: string;
  readonly kind: 'member' | 'items' | 'values' | 'branch';
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

const told = new Set(
  '$schema $id $ref $defs $comment $anchor definitions type properties required items prefixItems additionalProperties default examples description title x-titles x-descriptions x-reference x-multiline deprecated oneOf anyOf allOf readOnly writeOnly'.split(
    ' ',
  ),
);

export function rootsOf(schema: JsonSchema): SchemaNode[] {
  return typeof schema === 'object' ? childrenOf(nodeOf('', '', 'member', schema, false, schema), schema) : [];
}

/** @param root the whole schema, for references */
export function childrenOf({ pointer, schema }: SchemaNode, root: JsonSchema): SchemaNode[] {
  const resolved = resolve(schema, root);
  const required = (resolved.required ?? []) as string[];
  const children = Object.entries((resolved.properties ?? {}) as Record<string, JsonSchema>).map(([name, member]) =>
    nodeOf(
      `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`,
      name,
      'member',
      member,
      required.includes(name),
      root,
    ),
  );
  const { items, additionalProperties, prefixItems } = resolved;
  if (isSchema(items)) children.push(nodeOf(`${pointer}/-`, '', 'items', items, false, root));
  if (Array.isArray(prefixItems)) {
    children.push(...prefixItems.map((item, at) => nodeOf(`${pointer}/${at}`, String(at), 'items', item, false, root)));
  }
  if (isSchema(additionalProperties))
    children.push(nodeOf(`${pointer}/*`, '', 'values', additionalProperties, false, root));
  for (const keyword of ['oneOf', 'anyOf', 'allOf'] as const) {
    const branches = resolved[keyword];
    if (!Array.isArray(branches) || constantsOf(branches)) continue;
    children.push(
      ...branches.map((branch, at) =>
        nodeOf(`${pointer}#${keyword}/${at}`, `${keyword} ${at + 1}`, 'branch', branch, false, root),
      ),
    );
  }
  return children;
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
  const constraints = Object.entries(all)
    .filter(([keyword]) => !told.has(keyword))
    .map(([keyword, value]) => ({ keyword, value: Array.isArray(value) ? value.map(text).join(', ') : text(value) }));
  if (constants) constraints.push({ keyword: 'enum', value: constants.map(text).join(', ') });
  const description = (all['x-descriptions'] ?? all.description) as Titled | undefined;
  return {
    pointer,
    name: (kind === 'branch' && typeof all.title === 'string' && all.title) || name,
    kind,
    type: typeOf(all, constants !== undefined),
    required,
    constraints,
    ...(all.default !== undefined && { default: text(all.default) }),
    examples: Array.isArray(all.examples) ? all.examples.map(text) : [],
    ...(description !== undefined && { description }),
    ...(typeof all['x-reference'] === 'string' && { reference: all['x-reference'] }),
    isDeprecated: all.deprecated === true,
    isBranch:
      ['properties', 'prefixItems'].some((keyword) => all[keyword]) ||
      isSchema(all.items) ||
      isSchema(all.additionalProperties) ||
      (!constants && ['oneOf', 'anyOf', 'allOf'].some((keyword) => all[keyword])),
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
