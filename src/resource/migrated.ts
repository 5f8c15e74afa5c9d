/** What a declaration makes of a stored object (`evolution.migrate`, docs/guide/changing-models.md). */
import { localized } from '../locales/localized.ts';
import { deepFreeze } from '../model/declaration.ts';
import type { ExtensionObject } from '../model/object.ts';
import { isRecord } from '../model/object.ts';
import type { Scheme } from '../model/scheme.ts';
import { readJson } from '../runtime/read-json.ts';
import { isEqual } from '../schema/json-value.ts';

const texts = {
  notAnObject: localized('"migrate" must return an object, or nothing'),
  notDone: localized('"migrate" changes what it has made'),
};

/**
 * The object that is to take its place; undefined: it is as it should be.
 * @param object in the hub; it is frozen
 * @throws what the function throws, and an Error when it gives no object or would change the same object again
 */
export function migrated({ migrate }: Pick<Scheme, 'migrate'>, object: ExtensionObject): ExtensionObject | undefined {
  if (!migrate) return undefined;
  const next = changed(migrate, object);
  if (next && changed(migrate, next)) throw new Error(texts.notDone.en);
  return next;
}

function changed(migrate: NonNullable<Scheme['migrate']>, object: ExtensionObject): ExtensionObject | undefined {
  const result: unknown = migrate(deepFreeze(object));
  if (result === undefined) return undefined;
  if (!isRecord(result) || result instanceof Promise || !isRecord(result.metadata))
    throw new TypeError(texts.notAnObject.en);
  // As it would be stored: without members that are undefined.
  const next = readJson(JSON.stringify(result)) as ExtensionObject;
  return isEqual(next, object) ? undefined : next;
}
