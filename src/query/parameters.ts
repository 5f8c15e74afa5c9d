/** The query string of a request: what is given by name, and values that have a form. */

import type { Parameters, ProblemMembers, Text } from '../errors.ts';
import { KindredError } from '../errors.ts';
import { localized } from '../locales/localized.ts';

/** Every value of a parameter, in order. */
export type Given = ReadonlyMap<string, readonly string[]>;

const texts = {
  unknown: localized('There is no query parameter "{parameter}" here; there are {allowed}'),
  twice: localized('The query parameter "{parameter}" is given twice'),
  encoding: localized('The query parameter "{parameter}" is not percent-encoded UTF-8'),
  whole: localized('"{parameter}" is a whole number from 1 to {most}, not "{value}"'),
  flag: localized('"{parameter}" is true or false, not "{value}"'),
  among: localized('"{parameter}" is one of {allowed}, not "{value}"'),
} satisfies Record<string, Text>;

export function refuse(text: Text, parameter: string, params: Parameters = {}, members: ProblemMembers = {}): never {
  throw new KindredError('InvalidParameter', text, { params: { parameter, ...params }, parameter, ...members });
}

/**
 * @param query the text behind the question mark, or its decoded pairs
 * @throws InvalidParameter for a name that is not known
 */
export function readParameters(
  query: string | Iterable<readonly [string, string]>,
  known: readonly string[],
): Map<string, string[]> {
  const given = new Map<string, string[]>();
  for (const [name, value] of typeof query === 'string' ? decode(query) : query) {
    if (!known.includes(name)) refuse(texts.unknown, name, { allowed: known.join(', ') }, { allowed: known });
    const values = given.get(name);
    if (values) values.push(value);
    else given.set(name, [value]);
  }
  return given;
}

/** Pairs of an `application/x-www-form-urlencoded` text, `+` as a space; a malformed escape is refused. */
function* decode(query: string): Generator<[string, string]> {
  for (const pair of query.split('&')) {
    if (pair === '') continue;
    const split = pair.indexOf('=');
    const name = split < 0 ? pair : pair.slice(0, split);
    yield [decodePart(name, name), split < 0 ? '' : decodePart(pair.slice(split + 1), name)];
  }
}

function decodePart(text: string, parameter: string): string {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text;
  if (!spaced.includes('%')) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    return refuse(texts.encoding, parameter);
  }
}

export function once(given: Given, parameter: string): string | undefined {
  const values = given.get(parameter);
  if (values && values.length > 1) refuse(texts.twice, parameter);
  return values?.[0];
}

export function wholeNumber(given: Given, parameter: string, most: number): number | undefined {
  const text = once(given, parameter);
  if (text === undefined) return undefined;
  const value = /^\d{1,16}$/.test(text) ? Number(text) : 0;
  if (value < 1 || value > most) refuse(texts.whole, parameter, { value: text, most });
  return value;
}

export function flag(given: Given, parameter: string): boolean {
  const text = once(given, parameter) ?? 'false';
  if (text !== 'true' && text !== 'false') refuse(texts.flag, parameter, { value: text });
  return text === 'true';
}

/** @throws InvalidParameter */
export function oneOf<T extends string>(given: Given, parameter: string, allowed: readonly T[]): T | undefined {
  const value = once(given, parameter);
  const known = allowed.find((one) => one === value);
  if (value !== undefined && known === undefined) {
    refuse(texts.among, parameter, { value, allowed: allowed.join(', ') }, { allowed });
  }
  return known;
}
