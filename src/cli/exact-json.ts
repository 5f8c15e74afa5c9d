/** JSON with numbers kept as they are written, where a double would change them: what is only passed on must not change. */

import { readJson } from '../runtime/read-json.ts';

const raw = JSON as unknown as { rawJSON(text: string): unknown };

/** As `JSON.parse`; an integer that a double cannot hold becomes a raw number that `JSON.stringify` writes as it was. */
export function parseExact(text: string): unknown {
  return readJson(text, exactNumber);
}

function exactNumber(source: string): unknown {
  const value = Number(source);
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? raw.rawJSON(source) : value;
}

/** YAML's large integers, which come as bigints, as the same raw numbers; smaller ones as numbers. */
export function exactIntegers(value: unknown): unknown {
  if (typeof value === 'bigint')
    return Number.isSafeInteger(Number(value)) ? Number(value) : raw.rawJSON(String(value));
  if (Array.isArray(value)) return value.map(exactIntegers);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, exactIntegers(one)]));
}
