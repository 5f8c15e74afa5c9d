/** What a structural schema does to values before they are checked: members that it does not know go, defaults come. */
import { escapeToken } from '../../errors.ts';
import { readJson, setMember } from '../../runtime/read-json.ts';
import type { DefaultLimits } from '../../schema/defaults.ts';
import { DefaultBudget } from '../../schema/defaults.ts';
import { ofClients, ofService } from '../metadata-names.ts';
import type { Structural } from './structural-type.ts';

type Members = Record<string, unknown>;

const ofEveryObject: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata']);

/** Metadata of embedded objects that is kept. */
const ofMetadata: ReadonlySet<string> = new Set([...ofClients, ...ofService]);

/**
 * Takes away in place what the schema does not know.
 * @param isObject the value is a whole object, which has `apiVersion`, `kind` and `metadata` whatever its schema says
 * @returns pointers to what is gone
 */
export function pruneUnknown(value: unknown, schema: Structural, isObject = false): string[] {
  const gone: string[] = [];
  prune(value, schema, isObject, '', gone);
  return gone;
}

function prune(
  value: unknown,
  schema: Structural | undefined,
  isObject: boolean,
  pointer: string,
  gone: string[],
): void {
  if (typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    if (schema?.preserves && !schema.items) return;
    for (let i = 0; i < value.length; i++) prune(value[i], schema?.items, false, `${pointer}/${i}`, gone);
    return;
  }
  const members = value as Members;
  const keepsBase = isObject || schema?.isEmbedded === true;
  for (const name of Object.keys(members)) {
    const at = `${pointer}/${escapeToken(name)}`;
    if (keepsBase && ofEveryObject.has(name)) {
      if (name === 'metadata' && !isObject) pruneMetadata(members[name], at, gone);
      continue;
    }
    const known = schema?.properties.get(name);
    if (known) prune(members[name], known, false, at, gone);
    else if (schema?.additional !== undefined) {
      if (schema.additional !== true) prune(members[name], schema.additional, false, at, gone);
    } else if (!schema?.preserves) {
      delete members[name];
      gone.push(at);
    }
  }
}

function pruneMetadata(value: unknown, pointer: string, gone: string[]): void {
  if (typeof value !== 'object' || value === null) return;
  for (const name of Object.keys(value)) {
    if (ofMetadata.has(name)) continue;
    delete (value as Members)[name];
    gone.push(`${pointer}/${escapeToken(name)}`);
  }
}

/**
 * Sets in place the defaults of what is absent, parents before children. `null` where that is not allowed counts as absent,
 * but for an item of a list, which has a place.
 * @throws PayloadTooLarge when they are too many for one object
 */
export function setDefaults(value: unknown, schema: Structural, limits?: DefaultLimits): void {
  fill(value, schema, new DefaultBudget(limits));
}

function fill(value: unknown, schema: Structural | undefined, budget: DefaultBudget): void {
  if (!schema || typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    if (!schema.items) return;
    for (let i = 0; i < value.length; i++) {
      const { defaultText, nullable } = schema.items;
      if (value[i] === null && !nullable && defaultText !== undefined) value[i] = made(defaultText, budget);
      fill(value[i], schema.items, budget);
    }
    return;
  }
  const members = value as Members;
  for (const [name, { defaultText }] of schema.properties) {
    const isThere = Object.hasOwn(members, name) && members[name] !== undefined;
    if (!isThere && defaultText !== undefined) setMember(members, name, made(defaultText, budget));
  }
  for (const name of Object.keys(members)) {
    const known = schema.properties.get(name) ?? schema.additional;
    if (typeof known !== 'object') continue;
    const { defaultText, nullable } = known;
    if (members[name] !== null || nullable) fill(members[name], known, budget);
    else if (defaultText === undefined) delete members[name];
    else {
      setMember(members, name, made(defaultText, budget));
      fill(members[name], known, budget);
    }
  }
}

function made(text: string, budget: DefaultBudget): unknown {
  budget.add(text);
  return readJson(text);
}
