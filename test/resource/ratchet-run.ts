/**
 * Random updates of stored objects that a newer schema refuses, each compared with an oracle: an update is accepted when
 * every violation of it is one of the stored object too, at a value that the update leaves as it is.
 */
import { isDeepStrictEqual, parseArgs } from 'node:util';
import type { Violation } from '../../src/errors.ts';
import { KindredError, Violations } from '../../src/errors.ts';
import { createService, defineModel, Scheme } from '../../src/index.ts';
import type { ExtensionObject } from '../../src/model/object.ts';
import { Random } from '../query/random.ts';

const gvk = { group: 'ratchet.example.com', version: 'v1', kind: 'Thing', singular: 'thing', plural: 'things' };
const Anything = defineModel({ gvk, spec: {} });

interface Json {
  [member: string]: any;
}

export interface RatchetResult {
  readonly cases: number;
  readonly accepted: number;
  readonly refused: number;
  /** Accepted although the object violates its model. */
  readonly ratcheted: number;
  readonly differences: readonly string[];
}

const names = ['a', 'b', 'c', 'd'];

function randomSchema(random: Random, depth = 0): Json {
  const kinds = ['string', 'integer', 'boolean', 'list', 'enum', 'any', 'one', 'not', 'if'];
  const kind = depth === 0 || random.chance(depth < 3 ? 0.35 : 0) ? 'object' : random.pick(kinds);
  switch (kind) {
    case 'object': {
      const properties = Object.fromEntries(
        names.filter(() => random.chance(0.7)).map((name) => [name, randomSchema(random, depth + 1)]),
      );
      return {
        type: 'object',
        properties,
        required: Object.keys(properties).filter(() => random.chance(0.3)),
        ...(random.chance(0.2) && { maxProperties: 2 }),
        ...(random.chance(0.2) && { additionalProperties: random.pick([true, { type: 'integer' }]) }),
        ...(random.chance(0.1) && { dependentRequired: { a: ['b'] } }),
        ...(random.chance(0.1) && { propertyNames: { enum: names.slice(0, 3) } }),
      };
    }
    case 'string':
      return { type: 'string', ...random.pick([{ maxLength: 2 }, { pattern: '^a' }, { minLength: 2 }, {}]) };
    case 'integer':
      return { type: 'integer', ...random.pick([{ minimum: 2 }, { maximum: 2 }, { multipleOf: 2 }, {}]) };
    case 'boolean':
      return { type: 'boolean', ...(random.chance(0.3) && { const: true }) };
    case 'enum':
      return { enum: ['a', 1, { a: 1 }] };
    case 'list':
      return {
        type: 'array',
        items: randomSchema(random, depth + (random.chance(0.5) ? 1 : 2)),
        ...random.pick([{ maxItems: 2 }, { uniqueItems: true }, { minItems: 2 }, {}, {}]),
      };
    case 'any':
      return { anyOf: [randomSchema(random, depth + 2), randomSchema(random, depth + 2)] };
    case 'one':
      return { oneOf: [randomSchema(random, depth + 2), randomSchema(random, depth + 2)] };
    case 'not':
      return { not: { enum: ['a', 2, []] } };
    default:
      return JSON.parse('{ "if": { "type": "string" }, "then": { "maxLength": 1 }, "else": { "type": "integer" } }');
  }
}

/** Often near to what the schema asks for. */
function randomValue(random: Random, schema: Json | undefined, depth = 0): any {
  if (schema && random.chance(0.85)) {
    if (schema.enum) return random.pick(schema.enum);
    if (schema.anyOf ?? schema.oneOf) return randomValue(random, random.pick(schema.anyOf ?? schema.oneOf), depth);
    if (schema.type === 'object') {
      const members = random.chance(0.15) ? names : Object.keys(schema.properties);
      const given = members.filter(() => random.chance(0.75));
      return Object.fromEntries(given.map((name) => [name, randomValue(random, schema.properties[name], depth + 1)]));
    }
    if (schema.type === 'array')
      return Array.from({ length: random.below(4) }, () => randomValue(random, schema.items, depth + 1));
    if (schema.type === 'string') return random.pick(['a', 'ab', 'abc', 'b', '']);
    if (schema.type === 'integer') return random.below(5);
    if (schema.type === 'boolean') return random.chance(0.5);
  }
  const scalars = ['a', 'xyz', 1, 2.5, true, null];
  if (depth > 4 || random.chance(0.7)) return random.pick(scalars);
  return random.chance(0.5) ? [random.pick(scalars)] : { [random.pick(names)]: random.pick(scalars) };
}

/** A copy with some of it changed: members set, removed and moved, items added, removed and swapped. */
function changed(random: Random, value: any, schema: Json | undefined, depth = 0): any {
  if (random.chance(depth === 0 ? 0 : 0.15)) return randomValue(random, schema, depth);
  if (Array.isArray(value)) {
    const items = value.map((item) => (random.chance(0.3) ? changed(random, item, schema?.items, depth + 1) : item));
    if (random.chance(0.3)) items.reverse();
    if (random.chance(0.3))
      items.splice(random.below(items.length + 1), 0, randomValue(random, schema?.items, depth + 1));
    if (random.chance(0.2)) items.splice(random.below(items.length + 1), 1);
    if (items.length > 0 && random.chance(0.1)) items.push(structuredClone(items[0]));
    return items;
  }
  if (typeof value !== 'object' || value === null) return value;
  const copy: Json = {};
  for (const [name, member] of Object.entries(value)) {
    if (random.chance(0.1)) continue;
    copy[name] = random.chance(0.3) ? changed(random, member, schema?.properties?.[name], depth + 1) : member;
  }
  const name = random.pick(names);
  if (random.chance(0.15)) copy[name] = randomValue(random, schema?.properties?.[name], depth + 1);
  return copy;
}

/** What stands at each place of a value, by pointer; member names here need no escape. */
function places(value: unknown, at = '', all = new Map<string, unknown>()): Map<string, unknown> {
  all.set(at, value);
  if (typeof value === 'object' && value !== null)
    for (const [token, one] of Object.entries(value)) places(one, `${at}/${token}`, all);
  return all;
}

function parentOf(pointer: string): string {
  return pointer.slice(0, pointer.lastIndexOf('/'));
}

/** Whether two pointers differ in positions of items alone, and have one. */
function sameButPositions(a: string, inA: ReadonlyMap<string, unknown>, b: string, inB: ReadonlyMap<string, unknown>) {
  const [one, two] = [a.split('/'), b.split('/')];
  let hasPosition = false;
  const isSame = one.every((token, i) => {
    const isItem = (tokens: string[], all: ReadonlyMap<string, unknown>) =>
      i > 0 && Array.isArray(all.get(tokens.slice(0, i).join('/')));
    const [itemA, itemB] = [isItem(one, inA), isItem(two, inB)];
    hasPosition ||= itemA;
    return itemA === itemB && (itemA || token === two[i]);
  });
  return one.length === two.length && isSame && hasPosition;
}

function mayUpdate(
  stored: ExtensionObject,
  next: ExtensionObject,
  violationsOf: (one: ExtensionObject) => readonly Violation[],
) {
  const [before, after] = [places({ spec: stored.spec }), places({ spec: next.spec })];
  const known = violationsOf(stored);
  return violationsOf(next).every(({ pointer, keyword }) =>
    known.some((one) => {
      if (one.keyword !== keyword) return false;
      if (one.pointer === pointer && isDeepStrictEqual(before.get(pointer), after.get(pointer))) return true;
      if (!sameButPositions(one.pointer, before, pointer, after)) return false;
      const [was, is] = [before.get(one.pointer), after.get(pointer)];
      if (was === undefined && is === undefined)
        return isDeepStrictEqual(before.get(parentOf(one.pointer)), after.get(parentOf(pointer)));
      return was !== undefined && isDeepStrictEqual(was, is);
    }),
  );
}

const objectsPerSchema = 20;
const updatesPerObject = 10;

export async function compareRatchet(options: {
  readonly cases: number;
  readonly seed: number;
  readonly onProgress?: (done: number) => void;
}): Promise<RatchetResult> {
  const random = new Random(options.seed);
  const service = await createService({ database: 'sqlite::memory:', auth: false, port: 0 });
  const differences: string[] = [];
  let [cases, accepted, refused, ratcheted] = [0, 0, 0, 0];
  try {
    await service.start();
    for (let round = 0; cases < options.cases; round++) {
      const spec = randomSchema(random);
      const Newer = defineModel({ gvk, spec });
      const { validator } = Scheme.buildFromType(Newer);
      const violationsOf = (object: ExtensionObject) =>
        validator.validate(structuredClone(object), new Violations(1_000)).listed;
      const created = Array.from({ length: objectsPerSchema }, (_, i) => `r${round}-${i}`);
      const older = service.schemeManager.register(Anything);
      await Promise.all(
        created.map((name) => {
          const value = randomValue(random, spec);
          const given = typeof value === 'object' && value !== null ? value : { a: value };
          return service.client.create(Anything, { metadata: { name }, spec: given });
        }),
      );
      service.schemeManager.unregister(older);
      const newer = service.schemeManager.register(Newer);
      const one = async (name: string): Promise<void> => {
        for (let i = 0; i < updatesPerObject; i++) {
          const stored = await service.client.get<ExtensionObject>(Newer, name);
          const next = structuredClone({ ...stored, spec: changed(random, stored.spec, spec) });
          next.metadata.labels = { 'example.com/round': String(i) };
          const expected = mayUpdate(stored, next, violationsOf);
          const isAccepted = await service.client.update(Newer, next).then(
            () => true,
            (error: unknown) => {
              if (error instanceof KindredError && error.code === 'Invalid') return false;
              throw error;
            },
          );
          cases++;
          if (isAccepted) accepted++;
          else refused++;
          if (isAccepted && violationsOf(next).length > 0) ratcheted++;
          if (isAccepted !== expected)
            differences.push(
              JSON.stringify({ expected, spec, stored: stored.spec, next: next.spec, found: violationsOf(next) }),
            );
        }
      };
      // One after another: what the seed gives does not depend on the order of commits.
      for (const name of created) await one(name);
      for (const name of created) await service.client.delete(Newer, name);
      service.schemeManager.unregister(newer);
      options.onProgress?.(cases);
    }
  } finally {
    await service.stop();
  }
  return { cases, accepted, refused, ratcheted, differences };
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { cases: { type: 'string', default: '100000' }, seed: { type: 'string' } },
  });
  const seed = Number(values.seed ?? Date.now() % 1e9);
  console.log(`seed ${seed}`);
  let shown = 0;
  const onProgress = (done: number) => {
    if (done < shown + 10_000) return;
    shown = done;
    console.log(`${done} updates`);
  };
  const { differences, ...counts } = await compareRatchet({ cases: Number(values.cases), seed, onProgress });
  console.log({ ...counts, differences: differences.length });
  for (const difference of differences.slice(0, 10)) console.log(difference);
  if (differences.length > 0) process.exitCode = 1;
}
