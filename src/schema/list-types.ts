/** Lists whose items are told apart, and objects that are one value (`x-kubernetes-list-type`, `…-list-map-keys`, `…-map-type`). */

import type { Text } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import type { Context } from './context.ts';
import { canonicalText } from './json-value.ts';
import type { JsonSchema, SchemaObject } from './keywords.ts';
import { isContainer, isObject } from './keywords.ts';
import { messages } from './messages.ts';

const listType = 'x-kubernetes-list-type';
const mapKeys = 'x-kubernetes-list-map-keys';
const mapType = 'x-kubernetes-map-type';

export const listTypeKeywords: readonly string[] = [listType, mapKeys, mapType];

/** What one of these keywords must be; undefined when it is. */
export function expectedListType(keyword: string, value: unknown): Text | undefined {
  const isNames = Array.isArray(value) && value.length > 0 && value.every((name) => typeof name === 'string');
  switch (keyword) {
    case listType:
      return ['atomic', 'set', 'map'].includes(value as string) ? undefined : localized('atomic, set or map');
    case mapType:
      return ['atomic', 'granular'].includes(value as string) ? undefined : localized('atomic or granular');
    default:
      return isNames && new Set(value).size === value.length
        ? undefined
        : localized('a list with the names of at least one member, each once');
  }
}

const scalars = ['string', 'number', 'integer', 'boolean'];

/**
 * Why a schema cannot have the type of list or of object that it says; undefined when it can.
 * @param resolve what a schema without references is
 */
export function listTypeProblem(
  schema: SchemaObject,
  resolve: (schema: JsonSchema) => SchemaObject | undefined,
): { readonly keyword: string; readonly text: Text; readonly params?: Readonly<Record<string, unknown>> } | undefined {
  const type = schema[listType];
  const typesOf = ({ type }: SchemaObject) => (type === undefined ? [] : [type].flat());
  if (type !== undefined && !typesOf(schema).includes('array')) {
    return { keyword: listType, text: localized('needs "type": "array" beside it') };
  }
  if (schema[mapType] !== undefined && !typesOf(schema).includes('object')) {
    return { keyword: mapType, text: localized('needs "type": "object" beside it') };
  }
  if ((type === 'map') !== (schema[mapKeys] !== undefined)) {
    return { keyword: mapKeys, text: localized('stands beside a list type of "map", and beside no other') };
  }
  const items = resolve(schema.items as JsonSchema);
  if (type === 'set' && !isOneValue(items, typesOf)) {
    return { keyword: listType, text: localized('needs items that are strings, numbers, booleans or atomic') };
  }
  if (type !== 'map') return undefined;
  for (const name of schema[mapKeys] as readonly string[]) {
    const properties = isObject(items?.properties) ? items.properties : {};
    const member = Object.hasOwn(properties, name) ? resolve(properties[name] as JsonSchema) : undefined;
    const isRequired = Array.isArray(items?.required) && items.required.includes(name);
    const types = member ? typesOf(member) : [];
    if (types.length === 0 || !types.every((one) => scalars.includes(one as string))) {
      return {
        keyword: mapKeys,
        text: localized('names "{name}", which is no string, number or boolean of the items'),
        params: { name },
      };
    }
    if (!isRequired && member?.default === undefined) {
      return {
        keyword: mapKeys,
        text: localized('names "{name}", which the items neither require nor have a default for'),
        params: { name },
      };
    }
  }
  return undefined;
}

function isOneValue(items: SchemaObject | undefined, typesOf: (schema: SchemaObject) => readonly unknown[]): boolean {
  if (!items) return false;
  if (items[mapType] === 'atomic' || items[listType] === 'atomic') return true;
  const types = typesOf(items);
  return types.length > 0 && types.every((one) => scalars.includes(one as string));
}

/** Refuses a list that has an item twice; undefined for a list that may. */
export function distinctCheck(
  schema: SchemaObject,
): ((value: readonly unknown[], context: Context) => boolean) | undefined {
  const type = schema[listType];
  if (type !== 'set' && type !== 'map') return undefined;
  const keys = (schema[mapKeys] ?? []) as readonly string[];
  return (value, context) => {
    const seen = new Map<string, number>();
    for (let i = 0; i < value.length; i++) {
      const item = value[i];
      // Anything else is refused for its type.
      if (type === 'map' && !isObject(item)) continue;
      const key = type === 'set' ? item : Object.fromEntries(keys.map((name) => [name, (item as SchemaObject)[name]]));
      const text = canonicalText(key);
      context.spend((isContainer(key) ? 15 : 5) + text.length / 2);
      const first = seen.get(text);
      if (first !== undefined) return context.reportAt(i, listType, messages.listItem, { value: key, first });
      seen.set(text, i);
    }
    return true;
  };
}
