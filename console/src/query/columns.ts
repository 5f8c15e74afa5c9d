/** The columns of a list: which there are, which are shown at first, and what stands in their cells. */
import type { IndexInfo, JsonSchema, ModelDetails } from '../api/models.ts';

export interface Column {
  /** The name of the index, or the path of the member. */
  readonly path: string;
  /** What it sorts by; undefined where there is no index. */
  readonly index: IndexInfo | undefined;
  readonly kind: 'text' | 'number' | 'time';
}

const firstIndexes = 4;
const longest = 200;
const created = 'metadata.creationTimestamp';
const namespace = 'metadata.namespace';

/** Every index that a sort may name, and every scalar member of the schema. */
export function allColumns({ indexes, schema }: ModelDetails): Column[] {
  const members = new Map(scalarsOf(schema).map((member) => [member.path, member]));
  const columns = indexes
    .filter(({ name }) => name !== 'metadata.labels' && name !== 'metadata.name')
    .map((index): Column => ({ path: index.name, index, kind: kindOf(index, members.get(index.name)?.type) }));
  const named = new Set(columns.map(({ path }) => path));
  for (const { path, type } of members.values()) {
    if (named.has(path) || path === 'metadata.name') continue;
    columns.push({ path, index: undefined, kind: type === 'integer' || type === 'number' ? 'number' : 'text' });
  }
  return columns;
}

/** The namespace where there is one; those of `presentation`, else the first indexes that are members of the object; then the time of creation. */
export function firstColumns(model: ModelDetails): string[] {
  const members = new Set(scalarsOf(model.schema).map(({ path }) => path));
  const declared = model.indexes.filter(({ name, builtIn }) => !builtIn && members.has(name)).map(({ name }) => name);
  const chosen = model.presentation?.columns ?? declared.slice(0, firstIndexes);
  const first = model.scope === 'Namespaced' ? [namespace, ...chosen.filter((path) => path !== namespace)] : chosen;
  return [...first.filter((path) => path !== created), created];
}

function kindOf({ name, keyType }: IndexInfo, type: string | undefined): Column['kind'] {
  if (keyType === 'date' || /Timestamp$/.test(name)) return 'time';
  return keyType === 'number' || keyType === 'bigint' || type === 'number' ? 'number' : 'text';
}

interface Member {
  readonly path: string;
  readonly type: string;
}

const scalars = ['string', 'number', 'integer', 'boolean'];
const deepest = 8;

/** The members of an object that hold one value, through the objects in it. */
function scalarsOf(schema: JsonSchema, path = '', depth = 0): Member[] {
  if (typeof schema !== 'object' || depth > deepest) return [];
  const properties = (schema.properties ?? {}) as Record<string, JsonSchema>;
  return Object.entries(properties).flatMap(([name, member]) => {
    if (typeof member !== 'object' || (depth === 0 && (name === 'apiVersion' || name === 'kind'))) return [];
    const at = path ? `${path}.${name}` : name;
    const type = [member.type].flat().find((one) => one !== 'null');
    if (typeof type === 'string' && scalars.includes(type)) return [{ path: at, type }];
    if (member.enum && Array.isArray(member.enum)) return [{ path: at, type: typeof member.enum[0] }];
    return scalarsOf(member, at, depth + 1);
  });
}

/** What stands at a path of an object. Members whose names have dots are found too. */
export function valueAt(object: unknown, path: string): unknown {
  if (path === '' || object === undefined) return object;
  if (typeof object !== 'object' || object === null) return undefined;
  const members = object as Record<string, unknown>;
  for (let at = path.length; at > 0; at = path.lastIndexOf('.', at - 1)) {
    const name = path.slice(0, at);
    if (Object.hasOwn(members, name)) return valueAt(members[name], path.slice(at + 1));
  }
  return undefined;
}

export function wholeText(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'object' ? JSON.stringify(value, undefined, 2) : String(value);
}

/** A value on one line, cut where it gets long. */
export function cellText(value: unknown): { text: string; isCut: boolean } {
  const text = typeof value === 'object' && value !== null ? JSON.stringify(value) : wholeText(value);
  const isCut = text.length > longest;
  return { text: isCut ? `${text.slice(0, longest)}…` : text, isCut };
}

/** The constants that a member may have, when its schema lists them. */
export function choicesAt(schema: JsonSchema, path: string): string[] | undefined {
  let at: JsonSchema | undefined = schema;
  for (const name of path.split('.')) {
    at = typeof at === 'object' ? (at.properties as Record<string, JsonSchema> | undefined)?.[name] : undefined;
  }
  if (typeof at !== 'object') return undefined;
  if (Array.isArray(at.enum)) return at.enum.map(String);
  const branches = at.anyOf ?? at.oneOf;
  const all = Array.isArray(branches) && branches.length > 0 && branches.every((one) => Object.hasOwn(one, 'const'));
  return all ? (branches as { const: unknown }[]).map((one) => String(one.const)) : undefined;
}
