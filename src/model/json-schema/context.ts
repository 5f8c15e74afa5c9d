import type { Text, Violation } from '../../errors.ts';
import { escapeToken, invalid, violation } from '../../errors.ts';
import type { Check } from './check.ts';
import { isContainer } from './keywords.ts';
import type { Marks } from './marks.ts';
import { messages } from './messages.ts';
import type { Resource } from './references.ts';

/** Most violations collected of one value: an answer must stay readable, and smaller than its weight in memory. */
const violationLimit = 10_000;

/** Members and items compared in one run, far more than the largest body has: bounds alternatives within alternatives. */
const stepLimit = 30_000_000;
const alternativeSteps = 20;

/** The state of one validation: first silent (true or false only), then, for what is invalid, collecting. */
export class Context {
  readonly scopes: Resource[];
  readonly #base: string;
  readonly #path: (string | number)[] = [];
  #violations: Violation[] | undefined;
  #seen: Set<string> | undefined;
  #steps = 0;
  silent = true;

  constructor(base: string, scope: Resource) {
    this.#base = base;
    this.scopes = [scope];
  }

  collect(run: () => unknown): Violation[] {
    const violations: Violation[] = [];
    this.#violations = violations;
    this.#seen = new Set();
    this.silent = false;
    run();
    this.silent = true;
    this.#violations = undefined;
    return violations;
  }

  silently(run: () => boolean): boolean {
    const before = this.silent;
    this.silent = true;
    const result = run();
    this.silent = before;
    return result;
  }

  /** One alternative; costs far more than one member. */
  tried(run: () => boolean): boolean {
    this.#count(alternativeSteps);
    return this.silently(run);
  }

  #count(steps: number): void {
    this.#steps += steps;
    if (this.#steps > stepLimit) throw invalid([violation(this.#base, 'limit', messages.steps, { limit: stepLimit })]);
  }

  /** The violations of a trial run, without reporting them. */
  trial(run: () => unknown): Violation[] {
    const { silent } = this;
    const violations = this.#violations;
    const seen = this.#seen;
    const result = this.collect(run);
    this.silent = silent;
    this.#violations = violations;
    this.#seen = seen;
    return result;
  }

  reasons(run: () => unknown): string {
    return this.trial(run)
      .map((one) => one.message)
      .join('; ');
  }

  get pointer(): string {
    return this.#path.reduce<string>((text, token) => `${text}/${escapeToken(String(token))}`, this.#base);
  }

  report(keyword: string, text: Text, params?: Readonly<Record<string, unknown>>): false {
    if (!this.silent) this.#push(violation(this.pointer, keyword, text, params));
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
    this.#count(1);
    const marks = shared !== undefined && isContainer(value) ? shared.child(token) : undefined;
    if (this.silent) return check(value, this, marks);
    this.#path.push(token);
    const ok = check(value, this, marks);
    this.#path.pop();
    return ok;
  }

  #push(one: Violation): void {
    const violations = this.#violations!;
    if (violations.length >= violationLimit) return;
    const key = `${one.pointer}\n${one.keyword}\n${one.message}`;
    if (this.#seen!.has(key)) return;
    this.#seen!.add(key);
    violations.push(one);
  }
}
