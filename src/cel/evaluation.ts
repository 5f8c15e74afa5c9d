/** Evaluates the rules of a value and of those below it. */
import type { Text, Violations } from '../errors.ts';
import { escapeToken, violation } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import { canonicalText, isEqual } from '../schema/json-value.ts';
import { isObject } from '../schema/keywords.ts';
import { CelError, Frame, TooCostly } from './frame.ts';
import type { Place, Rule } from './place.ts';
import { limits, rulesKeyword } from './rule-compiler.ts';
import type { CelType } from './types.ts';
import type { Value } from './values.ts';
import { fromJson, Optional } from './values.ts';

/** What a violation of a rule carries as `params`, besides what its text shows. */
export interface RuleParams {
  readonly rule: string;
  /** `FieldValueInvalid` unless the rule says another one. */
  readonly reason: string;
  /** Of the value that the rule stands at, in the words of its schema. */
  readonly type: string;
  /** What Kubernetes says behind `Invalid value: "<type>": `. */
  readonly detail: string;
}

/** What rules find. */
export interface Findings {
  readonly made: Violations;
  /**
   * Violations that the stored value has too: all that the rule reads is as it was. Those of rules about changes are
   * never among them.
   */
  readonly kept: Violations;
}

const texts = {
  own: localized('{message}'),
  broken: localized('does not satisfy the rule {rule}'),
  failed: localized('{error} evaluating rule: {message}'),
};

/** A value at a place. */
interface Visit {
  readonly place: Place;
  readonly next: unknown;
  /** What it takes the place of; undefined for none. */
  readonly stored: unknown;
  /** Stored values that may be the same one: of an item without keys every item of the stored list. */
  readonly before: readonly unknown[];
  readonly pointer: string;
}

/** Yields after each rule. */
export function* evaluations(
  root: Place,
  next: unknown,
  stored: unknown,
  base: string,
  findings: Findings,
): Generator<void, void, void> {
  let left = limits.object;
  const unchanged = new Unchanged();
  const waiting: Visit[] = [{ place: root, next, stored, before: present(stored), pointer: base }];
  for (let one = waiting.pop(); one; one = waiting.pop()) {
    const { place } = one;
    if (one.next === undefined || one.next === null) continue;
    for (const rule of place.rules) {
      if (findings.made.isFull) return;
      const hasStored = one.stored !== undefined && one.stored !== null;
      if (rule.isTransition && !rule.isOptional && !hasStored) continue;
      left -= evaluate(rule, one, hasStored ? one.stored : undefined, Math.min(left, limits.rule), findings, unchanged);
      yield;
    }
    waiting.push(...below(one).toReversed());
    for (const same of place.also) waiting.push({ ...one, place: same });
  }
}

function present(value: unknown): unknown[] {
  return value === undefined || value === null ? [] : [value];
}

function below({ place, next, stored, before, pointer }: Visit): Visit[] {
  const found: Visit[] = [];
  if (Array.isArray(next)) {
    const { items, keys } = place;
    if (!items) return found;
    const keyOf = (item: unknown) => canonicalText(keys!.map((name) => (isObject(item) ? (item[name] ?? null) : null)));
    const known = new Map(keys && Array.isArray(stored) ? stored.map((item) => [keyOf(item), item as unknown]) : []);
    const all = keys ? [] : before.flatMap((one) => (Array.isArray(one) ? (one as unknown[]) : []));
    for (const [i, item] of next.entries()) {
      if (i < items.from) continue;
      const same = keys && known.get(keyOf(item));
      const at = `${pointer}/${i}`;
      found.push({ place: items.place, next: item, stored: same, before: keys ? present(same) : all, pointer: at });
    }
    return found;
  }
  if (!isObject(next)) return found;
  const add = (name: string, at: Place) => {
    found.push({
      place: at,
      next: next[name],
      stored: memberOf(stored, name),
      before: before.flatMap((one) => present(memberOf(one, name))),
      pointer: `${pointer}/${escapeToken(name)}`,
    });
  };
  for (const [name, at] of place.properties) if (Object.hasOwn(next, name)) add(name, at);
  const { others } = place;
  if (!others) return found;
  for (const name of Object.keys(next)) {
    const matching = others.patterns.filter(({ pattern }) => pattern.test(name));
    for (const { place: at } of matching) if (at) add(name, at);
    if (others.place && matching.length === 0 && !others.named.has(name)) add(name, others.place);
  }
  return found;
}

function memberOf(holder: unknown, name: string): unknown {
  return isObject(holder) && Object.hasOwn(holder, name) ? holder[name] : undefined;
}

/** The steps that it took. */
function evaluate(
  rule: Rule,
  { place: { type }, next, before, pointer }: Visit,
  stored: unknown,
  steps: number,
  { made, kept }: Findings,
  unchanged: Unchanged,
): number {
  const frame = new Frame<Value>(steps);
  const add = (text: Text, params: Readonly<Record<string, unknown>>, detail: string) => {
    const { source, reason, typeName, at } = rule;
    const all = { ...params, rule: source, reason, type: typeName, detail };
    const found = unchanged.has(rule, next, before) ? kept : made;
    found.take(violation(`${pointer}${at}`, rulesKeyword, text, all));
  };
  try {
    frame.variables[0] = fromJson(next, type, frame);
    frame.variables[1] = oldSelf(rule, type, stored, frame);
    if (rule.expression.run(frame) === true) return steps - frame.left;
    const message = ownMessage(rule, frame);
    if (message === undefined) add(texts.broken, {}, `failed rule: ${rule.source}`);
    else add(texts.own, { message }, message);
  } catch (error) {
    const reason = error instanceof TooCostly ? `more than ${limits.rule} steps` : messageFrom(error);
    const message = rule.message ?? rule.source;
    add(texts.failed, { error: reason, message }, `${reason} evaluating rule: ${message}`);
  }
  return steps - Math.max(frame.left, 0);
}

/** Tells whether all that a rule reads is as it was: then the stored value violates the rule as the next one does. */
class Unchanged {
  /** By list of stored values and by rule, what the rule reads of each. */
  readonly #texts = new WeakMap<readonly unknown[], Map<Rule, ReadonlySet<string>>>();

  has(rule: Rule, next: unknown, before: readonly unknown[]): boolean {
    if (rule.isTransition || rule.isOptional || before.length === 0) return false;
    const read = readBy(rule, next);
    if (before.length === 1) return isEqual(read, readBy(rule, before[0]));
    const byRule = this.#texts.get(before) ?? new Map<Rule, ReadonlySet<string>>();
    const texts = byRule.get(rule) ?? new Set(before.map((one) => canonicalText(readBy(rule, one))));
    this.#texts.set(before, byRule.set(rule, texts));
    return texts.has(canonicalText(read));
  }
}

/** A member that is null is as one that is not there. */
function readBy({ expression }: Rule, value: unknown): unknown[] {
  return expression.reads.map((path) => path.reduce<unknown>(memberOf, value) ?? null);
}

function messageFrom(error: unknown): string {
  if (error instanceof CelError) return error.message;
  // A text or a list that the process cannot make, and an expression on values that are nested too deeply.
  if (error instanceof RangeError) return 'no such value: too large';
  throw error;
}

function oldSelf(rule: Rule, type: CelType, stored: unknown, frame: Frame<Value>): Value {
  if (!rule.isTransition) return null;
  const value = stored === undefined ? undefined : fromJson(stored, type, frame);
  return rule.isOptional ? (value === undefined ? Optional.none : new Optional(value)) : value!;
}

/** What the rule says itself: the expression of its message when that gives one line, or its message. */
function ownMessage({ messageExpression, message }: Rule, frame: Frame<Value>): string | undefined {
  try {
    const text = messageExpression?.run(frame);
    if (typeof text === 'string' && text.trim() !== '' && !text.includes('\n')) return text.trim();
  } catch (error) {
    if (!(error instanceof CelError) && !(error instanceof TooCostly)) throw error;
  }
  return message;
}
