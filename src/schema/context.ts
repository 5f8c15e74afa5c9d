import type { Text } from '../errors.ts';
import { escapeToken, pointerLimit, Violations } from '../errors.ts';
import { isContainer } from './keywords.ts';
import type { Marks } from './marks.ts';
import { messages } from './messages.ts';
import type { Resource } from './references.ts';

/**
 * What a validation may cost at once, and in all its parts; one step is about twenty nanoseconds. A body of the largest
 * size takes less, unless it is alternatives within alternatives, or long texts for a pattern that has no small automaton.
 */
const stepLimits = { atOnce: 1_000_000, together: 10_000_000 };
/** What is tried at once; what costs more is done anew, in a turn of its own. */
const quickSteps = 20_000;
/** What costs more than one step. */
const costs = { alternative: 3, mark: 5, violation: 500 };
/** Items from which on a list is checked in parts. */
const longList = 500;
/** Items between two looks at the clock. */
const portion = 64;

/** Ends a run that found enough, or that costs too much. */
class Enough extends Error {}
class TooCostly extends Error {}

/** Of the event loop, between the parts of a long validation: see `runtime/time-slice.ts`. */
export interface TimeSlice {
  readonly isOver: boolean;
  renew(): Promise<void>;
}

/** A schema compiled for one value: true when the value holds. `marks`: of its place, where members are counted. */
export type Check = (value: unknown, context: Context, marks: Marks | undefined) => boolean;

/** Items that are checked later. */
export interface Deferred {
  readonly items: readonly unknown[];
  readonly from: number;
  readonly to: number;
  readonly check: Check;
  readonly path: readonly (string | number)[];
}

/** The state of one validation: first silent (true or false only), then, for what is invalid, collecting. */
export class Context {
  readonly scopes: Resource[];
  readonly #base: string;
  /** Of the value that is checked: member names and indexes. */
  #path: (string | number)[] = [];
  #found: Violations | undefined;
  #deferred: Deferred[] | undefined;
  /** Greater than 0 while what is checked need not hold. */
  #alternatives = 0;
  #atOnce: number;
  #steps = 0;
  #before = 0;
  silent = true;

  /** @param isQuick given up where it costs more than a quick attempt may */
  constructor(base: string, scope: Resource, isQuick = false) {
    this.#base = base;
    this.scopes = [scope];
    this.#atOnce = isQuick ? quickSteps : stepLimits.atOnce;
  }

  /** Adds what is wrong with a value. */
  validate(check: Check, value: unknown, found: Violations): void {
    this.#limited(found, () => {
      if (!check(value, this, undefined)) this.#collect(check, value, found);
    });
  }

  /** Whether a value holds; false too where that costs too much. */
  satisfies(check: Check, value: unknown): boolean {
    let holds = false;
    this.#limited(new Violations(), () => {
      holds = check(value, this, undefined);
    });
    return holds;
  }

  /** Adds what is wrong with a value but for long lists, which are given; undefined when it cost too much. */
  validateButLists(check: Check, value: unknown, found: Violations): Deferred[] | undefined {
    const deferred: Deferred[] = [];
    this.#deferred = deferred;
    const isWithin = this.#limited(found, () => {
      if (check(value, this, undefined)) return;
      deferred.length = 0;
      this.#collect(check, value, found);
    });
    return isWithin ? deferred : undefined;
  }

  async validateLists(deferred: Deferred[], found: Violations, slice: TimeSlice): Promise<void> {
    this.#atOnce = stepLimits.atOnce;
    for (let next = deferred.pop(); next; next = deferred.pop()) {
      const { items, to, check, path } = next;
      for (let at = next.from; at < to && !found.isFull; ) {
        if (slice.isOver) await slice.renew();
        this.#before += this.#steps;
        this.#steps = 0;
        const end = Math.min(at + portion, to);
        this.#path = [...path, at];
        const isWithin = this.#limited(found, () => {
          for (; at < end && !found.isFull; at++) {
            this.spend(1);
            this.#path[path.length] = at;
            if (!check(items[at], this, undefined)) this.#collect(check, items[at], found);
          }
        });
        if (!isWithin) return;
      }
    }
  }

  /** False, with a violation, when it costs too much. */
  #limited(found: Violations, run: () => void): boolean {
    try {
      run();
      return true;
    } catch (error) {
      if (!(error instanceof TooCostly)) throw error;
      found.add(this.#base, 'limit', messages.steps, { limit: stepLimits.atOnce });
      return false;
    }
  }

  #collect(check: Check, value: unknown, found: Violations): void {
    const { silent } = this;
    const before = this.#found;
    const [depth, scopes] = [this.#path.length, this.scopes.length];
    this.#found = found;
    this.silent = false;
    try {
      check(value, this, undefined);
    } catch (error) {
      if (!(error instanceof Enough)) throw error;
      this.#path.length = depth;
      this.scopes.length = scopes;
    }
    this.silent = silent;
    this.#found = before;
  }

  /** True when the items of the current value, from one up to another, are checked later: as for a list that must hold whatever else does. */
  defers(items: readonly unknown[], from: number, to: number, check: Check): boolean {
    const isSure = this.#alternatives === 0 && this.scopes.length === 1;
    if (!this.#deferred || to - from < longList || !isSure) return false;
    this.#deferred.push({ items, from, to, check, path: [...this.#path] });
    return true;
  }

  /** Whether a check holds, without a report. */
  holds(check: Check, value: unknown, marks?: Marks): boolean {
    this.spend(costs.alternative);
    const before = this.silent;
    this.silent = true;
    this.#alternatives++;
    const result = check(value, this, marks);
    this.#alternatives--;
    this.silent = before;
    return result;
  }

  spend(steps: number): void {
    this.#steps += steps;
    if (this.#steps > this.#atOnce || this.#before + this.#steps > stepLimits.together) throw new TooCostly();
  }

  /** For so many marks that are made or looked at. */
  spendMarks(count: number): void {
    this.spend(costs.mark * count);
  }

  /** Why a check does not hold, in words. */
  reasons(check: Check, value: unknown): string {
    const found = new Violations();
    this.#collect(check, value, found);
    return found.listed.map((one) => one.message).join('; ');
  }

  /** Of the current value; of what it is in, where that would be long. */
  get #pointer(): string {
    let text = this.#base;
    for (const token of this.#path) {
      const name = String(token);
      if (text.length + name.length > pointerLimit) break;
      text += `/${escapeToken(name)}`;
    }
    return text;
  }

  report(keyword: string, text: Text, params?: Readonly<Record<string, unknown>>): false {
    if (this.silent) return false;
    this.spend(costs.violation);
    const found = this.#found!;
    found.add(this.#pointer, keyword, text, params);
    if (found.isFull) throw new Enough();
    return false;
  }

  /** At a member or an item of the current value. */
  reportAt(token: string | number, keyword: string, text: Text, params?: Readonly<Record<string, unknown>>): false {
    if (this.silent) return false;
    return this.at(token, () => this.report(keyword, text, params));
  }

  at<T>(token: string | number, run: () => T): T {
    this.#path.push(token);
    const result = run();
    this.#path.pop();
    return result;
  }

  below(token: string | number, check: Check, value: unknown, shared: Marks | undefined): boolean {
    this.spend(1);
    let marks: Marks | undefined;
    if (shared !== undefined && isContainer(value)) {
      this.spendMarks(1);
      marks = shared.child(token);
    }
    this.#path.push(token);
    const ok = check(value, this, marks);
    this.#path.pop();
    return ok;
  }
}
