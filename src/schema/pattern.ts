/**
 * Patterns that cannot stall the service (docs/reference/objects.md): ECMA 262 with the `u` flag. A pattern whose every choice is
 * decided by the next character runs as `RegExp`, which then never goes back far; any other is translated for a
 * linear-time engine (RE2), its character classes written out so that they mean what ECMA 262 says; what neither can run
 * safely is refused. The argument is in docs/decisions/validation.md.
 */

import type { Text } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import type { LinearEngine } from './loader.ts';
import { hasSmallAutomaton } from './pattern-automaton.ts';
import type { CharacterSet, PatternNode } from './pattern-syntax.ts';
import { anyCharacter, intersects, parsePattern, union } from './pattern-syntax.ts';

export interface Pattern {
  readonly engine: 'RegExp' | 'RE2';
  /** What a character of a text costs at most, in steps of about twenty nanoseconds. */
  readonly cost: number;
  /** True when the pattern matches anywhere in the text. */
  test(text: string): boolean;
}

/** Why a pattern is refused; `{pattern}` and `{reason}` are parameters of the text. */
export class PatternError extends Error {
  readonly text: Text;
  readonly reason: string;

  constructor(text: Text, reason = '') {
    super(text.en);
    this.text = text;
    this.reason = reason;
  }
}

const malformed: Text = localized('is not a regular expression of ECMA 262 with the u flag: {reason}');
const unsafe: Text = localized(
  'could take very long on some texts, and needs look-around, back-references or modifiers, which the linear-time engine does not have: {pattern}',
);
const tooLarge: Text = localized('is too large: its repetitions written out have more than {reason} parts: {pattern}');

/** Parts of a pattern with its repetitions written out; the engine's time is at most this times the length of the text. */
const sizeLimit = 1000;
/** Longest match of what may be tried again at every position of the text. */
const retryLimit = 32;

/** Steps for a character: gone through once; compared again at a later position; by an automaton; for each part of a pattern without one. */
const costs = { once: 0.25, again: 0.25, automaton: 1.5, part: 5 };
/** Up to this cost `RegExp` is taken, which needs little time for a short text. */
const quickCost = 4;

/** Throws `PatternError`. @param load gives the engine, for the few patterns that need it */
export function compilePattern(source: string, load: () => LinearEngine): Pattern {
  let native: RegExp;
  try {
    native = new RegExp(source, 'u');
  } catch (error) {
    throw new PatternError(malformed, (error as Error).message);
  }
  const node = parsePattern(source);
  const retries = node && nativeCost(node);
  const asRegExp = retries !== undefined && {
    engine: 'RegExp' as const,
    cost: retries,
    test: (text: string) => native.test(text),
  };
  if (asRegExp && retries <= quickCost) return asRegExp;
  const translated = node && translate(node);
  if (translated === undefined || sizeOf(node!) > sizeLimit) {
    if (asRegExp) return asRegExp;
    throw translated === undefined ? new PatternError(unsafe) : new PatternError(tooLarge, String(sizeLimit));
  }
  const cost = hasSmallAutomaton(node!) ? costs.automaton : sizeOf(node!) * costs.part;
  if (asRegExp && retries <= cost) return asRegExp;
  const linear = load();
  try {
    const engine = linear.compile(translated);
    return { engine: 'RE2', cost, test: (text) => engine.test(text) };
  } catch {
    throw new PatternError(tooLarge, String(sizeLimit));
  }
}

const none: CharacterSet = [];

/** What `RegExp` needs for each character of a text, in steps; undefined when that has no bound. */
function nativeCost(node: PatternNode): number | undefined {
  const items = node.type === 'sequence' ? node.items : [node];
  if (items[0]?.type === 'start') {
    let i = 1;
    while (items[i]?.type === 'look' && isStraightAhead(items[i]!)) i++;
    return isDecided({ type: 'sequence', items: items.slice(i) }, none) ? costs.once * i : undefined;
  }
  if (node.type === 'choice') {
    const options = node.options.map(nativeCost);
    if (options.length <= 16 && options.every((one) => one !== undefined)) {
      return options.reduce((sum, one) => sum + one, 0);
    }
  }
  const length = longest(node);
  return length <= retryLimit && isDecided(node, none) ? costs.once + costs.again * length : undefined;
}

/** A look-ahead that is tried once: decided, or one run of characters and something short after it, as in `(?=.*\d)`. */
function isStraightAhead(look: PatternNode): boolean {
  if (look.type !== 'look' || !look.ahead) return false;
  const { body } = look;
  if (isDecided(body, none)) return true;
  if (body.type !== 'sequence') return false;
  const [run, ...rest] = body.items;
  const short: PatternNode = { type: 'sequence', items: rest };
  return (
    run?.type === 'repeat' && run.body.type === 'characters' && longest(short) <= retryLimit && isDecided(short, none)
  );
}

/**
 * True when at every choice the next character decides, so that going back fails at once: the ways to go on begin with
 * different characters. @param follow what may come after the node
 */
function isDecided(node: PatternNode, follow: CharacterSet): boolean {
  switch (node.type) {
    case 'sequence': {
      let after = follow;
      for (const item of node.items.toReversed()) {
        if (!isDecided(item, after)) return false;
        after = isNullable(item) ? union(firstOf(item), after) : firstOf(item);
      }
      return true;
    }
    case 'choice': {
      const starts = node.options.map((one) => (isNullable(one) ? union(firstOf(one), follow) : firstOf(one)));
      return (
        node.options.filter(isNullable).length <= 1 &&
        starts.every((start, i) => starts.slice(i + 1).every((other) => !intersects(start, other))) &&
        node.options.every((one) => isDecided(one, follow))
      );
    }
    case 'repeat': {
      const { body, min, max } = node;
      const first = firstOf(body);
      if (max > 1 && isNullable(body)) return false;
      if (min !== max && (isNullable(body) || intersects(first, follow))) return false;
      return isDecided(body, max > 1 ? union(first, follow) : follow);
    }
    case 'look':
      return longest(node.body) <= retryLimit && isDecided(node.body, none);
    case 'unsupported':
      return false;
    default:
      return true;
  }
}

function isNullable(node: PatternNode): boolean {
  switch (node.type) {
    case 'characters':
      return false;
    case 'sequence':
      return node.items.every(isNullable);
    case 'choice':
      return node.options.some(isNullable);
    case 'repeat':
      return node.min === 0 || isNullable(node.body);
    default:
      return true;
  }
}

function firstOf(node: PatternNode): CharacterSet {
  switch (node.type) {
    case 'characters':
      return node.set;
    case 'sequence': {
      let first = none;
      for (const item of node.items) {
        first = union(first, firstOf(item));
        if (!isNullable(item)) break;
      }
      return first;
    }
    case 'choice':
      return node.options.map(firstOf).reduce(union, none);
    case 'repeat':
      return node.max === 0 ? none : firstOf(node.body);
    case 'unsupported':
      return anyCharacter;
    default:
      return none;
  }
}

/** Length of the longest match, in characters. */
function longest(node: PatternNode): number {
  switch (node.type) {
    case 'characters':
      return 1;
    case 'sequence':
      return node.items.reduce((sum, item) => sum + longest(item), 0);
    case 'choice':
      return Math.max(...node.options.map(longest));
    case 'repeat':
      return node.max === 0 ? 0 : longest(node.body) * node.max || 0;
    case 'look':
      return longest(node.body);
    case 'unsupported':
      return Number.POSITIVE_INFINITY;
    default:
      return 0;
  }
}

function sizeOf(node: PatternNode): number {
  switch (node.type) {
    case 'sequence':
      return node.items.reduce((sum, item) => sum + sizeOf(item), 1);
    case 'choice':
      return node.options.reduce((sum, one) => sum + sizeOf(one), 1);
    case 'repeat':
      return sizeOf(node.body) * Math.max(1, node.max === Number.POSITIVE_INFINITY ? node.min + 1 : node.max);
    default:
      return 1;
  }
}

/** In RE2's syntax; undefined when it has no words for it. */
function translate(node: PatternNode): string | undefined {
  switch (node.type) {
    case 'characters':
      return node.set.length === 0
        ? '[^\\x00-\\x{10FFFF}]'
        : `[${node.set.map(([from, to]) => `${hex(from)}-${hex(to)}`).join('')}]`;
    case 'start':
      return '\\A';
    case 'end':
      return '\\z';
    case 'boundary':
      return node.negated ? '\\B' : '\\b';
    case 'sequence':
    case 'choice': {
      const parts = (node.type === 'sequence' ? node.items : node.options).map(translate);
      return parts.includes(undefined) ? undefined : `(?:${parts.join(node.type === 'choice' ? '|' : '')})`;
    }
    case 'repeat': {
      const body = translate(node.body);
      const max = node.max === Number.POSITIVE_INFINITY ? '' : node.max;
      if (node.min === 0 && max === '') return body && `(?:${body})*`;
      if (node.min === 1 && max === '') return body && `(?:${body})+`;
      return node.min > sizeLimit || (max !== '' && max > sizeLimit)
        ? undefined
        : body && `(?:${body}){${node.min},${max}}`;
    }
    default:
      return undefined;
  }
}

function hex(point: number): string {
  return `\\x{${point.toString(16)}}`;
}
