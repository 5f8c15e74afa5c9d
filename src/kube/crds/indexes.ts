/** The indexes of a definition: what field selectors can name, what columns show, and what an annotation asks for. */
import type { ValueIndexSpec } from '../../model/index-spec.ts';
import { indexFactory } from '../../model/index-spec.ts';
import { isRecord } from '../../model/object.ts';
import { JsonPath } from '../jsonpath.ts';
import type { DefinitionObject, DefinitionVersion } from './kind.ts';
import { DefinitionMistakes, FieldPath } from './path.ts';
import type { Structural } from './structural-type.ts';

/** Indexes of one model. */
const mostIndexes = 32;
/** Longest text that is a key; a longer one is in no index. */
const longestKey = 1_024;

const keyTypes = { string: String, number: Number, integer: Number, boolean: Boolean, date: Date } as const;
type KeyName = keyof typeof keyTypes;

export interface Wanted {
  readonly name: string;
  readonly path: string;
  readonly type: KeyName;
  readonly unique?: boolean;
  readonly multi?: boolean;
  readonly order?: 'ASC' | 'DESC';
}

export function indexesOf(
  definition: DefinitionObject,
  version: DefinitionVersion,
  schema: Structural,
  reservedDomain: string,
): readonly ValueIndexSpec[] {
  return wantedIndexes(definition, version, schema, reservedDomain).map(specOf);
}

/** Columns are left out first when there are too many. */
export function wantedIndexes(
  definition: DefinitionObject,
  version: DefinitionVersion,
  schema: Structural,
  reservedDomain: string,
): readonly Wanted[] {
  const wanted = new Map<string, Wanted>();
  const add = (one: Wanted): void => {
    if (!wanted.has(one.name) && wanted.size < mostIndexes && isNew(one.name)) wanted.set(one.name, one);
  };
  for (const one of readAnnotation(definition, reservedDomain, new DefinitionMistakes())) add(one);
  for (const { selectableFields = [] } of definition.spec.versions) {
    for (const { jsonPath: path } of selectableFields) add({ name: nameOf(path)!, path, type: typeAt(schema, path) });
  }
  for (const { jsonPath: path, type } of version.additionalPrinterColumns ?? []) {
    const name = nameOf(path);
    if (name !== undefined) add({ name, path, type: type === 'date' ? 'date' : typeAt(schema, path, type) });
  }
  return [...wanted.values()];
}

function isNew(name: string): boolean {
  return !name.startsWith('metadata.') && name !== 'name' && /^[A-Za-z0-9_.-]{1,253}$/.test(name);
}

const plain = /^(?:\.[\w-]+)+$/;
const picking = /^((?:\.[\w-]+)+)\[\?\(\s*@(\.[\w-]+)\s*==\s*["']([\w.-]+)["']\s*\)\]((?:\.[\w-]+)+)$/;

/** A path, and perhaps which item of the list there has what is meant. */
interface SimplePath {
  readonly path: string;
  readonly pick?: { readonly by: string; readonly value: string; readonly rest: string };
}

/** Undefined for what is no one value. */
export function plainOrPicking(path: string): SimplePath | undefined {
  if (plain.test(path)) return { path };
  const [, list, by, value, rest] = picking.exec(path) ?? [];
  return list === undefined ? undefined : { path: list, pick: { by: by!, value: value!, rest: rest! } };
}

/** `.status.conditions[?(@.type=="Ready")].status` is `status.conditions.Ready.status`; undefined for what is no one value. */
function nameOf(path: string): string | undefined {
  const found = plainOrPicking(path);
  const pick = found?.pick;
  return found && `${found.path.slice(1)}${pick ? `.${pick.value}${pick.rest}` : ''}`;
}

/** By the schema at a plain path. */
export function fieldAt(schema: Structural, path: string): Structural | undefined {
  let node: Structural | undefined = schema;
  for (const name of path.split('.').slice(1)) node = node?.properties.get(name);
  return node;
}

function typeAt(schema: Structural, path: string, otherwise = 'string'): KeyName {
  const type = (plain.test(path) ? fieldAt(schema, path)?.type : undefined) ?? otherwise;
  return Object.hasOwn(keyTypes, type) ? (type as KeyName) : 'string';
}

function specOf({ name, path, type, unique = false, multi = false, order = 'ASC' }: Wanted): ValueIndexSpec {
  const jsonPath = JsonPath.parse(path)!;
  const valid = (value: unknown): boolean => isKey(value, type);
  const of = multi
    ? (object: unknown) => jsonPath.values(object).flat().filter(valid)
    : (object: unknown) => {
        const value = jsonPath.value(object);
        return valid(value) ? value : undefined;
      };
  // What tells this function from that of another path.
  Object.defineProperty(of, 'toString', { value: () => `${type} ${path}` });
  const make = multi ? indexFactory.multi : indexFactory.single;
  return make(name, keyTypes[type] as StringConstructor, of as () => any, { unique, order });
}

function isKey(value: unknown, type: KeyName): boolean {
  switch (type) {
    case 'string':
      return typeof value === 'string' && value.length <= longestKey;
    case 'boolean':
      return typeof value === 'boolean';
    case 'date':
      return typeof value === 'string' && dateTime.test(value) && !Number.isNaN(Date.parse(value));
    default:
      return typeof value === 'number';
  }
}

const dateTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/;

/** `[{ "name", "path", "type"?, "unique"?, "multi"?, "order"? }]` */
export function readAnnotation(
  { metadata }: DefinitionObject,
  reservedDomain: string,
  mistakes: DefinitionMistakes,
): readonly Wanted[] {
  const annotation = `kube.${reservedDomain}/indexes`;
  const text = metadata.annotations?.[annotation];
  if (text === undefined) return [];
  const at = FieldPath.of('metadata', 'annotations').key(annotation);
  const refuse = (reason: string): readonly Wanted[] => {
    mistakes.invalid(at, text, reason);
    return [];
  };
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch {
    return refuse('must be JSON');
  }
  if (!Array.isArray(list)) return refuse('must be a list of indexes');
  const wanted: Wanted[] = [];
  for (const [i, one] of list.entries()) {
    const {
      name,
      path,
      type = 'string',
      unique = false,
      multi = false,
      order = 'ASC',
      ...more
    } = isRecord(one) ? one : {};
    const holds =
      typeof name === 'string' &&
      isNew(name) &&
      typeof path === 'string' &&
      JsonPath.parse(path) !== undefined &&
      Object.hasOwn(keyTypes, String(type)) &&
      typeof unique === 'boolean' &&
      typeof multi === 'boolean' &&
      (order === 'ASC' || order === 'DESC') &&
      Object.keys(more).length === 0 &&
      wanted.every((other) => other.name !== name);
    if (!holds) return refuse(`index ${i} needs a name of its own, a path, and perhaps type, unique, multi and order`);
    wanted.push({ name, path, type: type as KeyName, unique, multi, order });
  }
  return wanted.length > mostIndexes ? refuse(`must have at most ${mostIndexes} indexes`) : wanted;
}
