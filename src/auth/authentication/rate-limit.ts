/** Token buckets (RFC 2697's meter in one colour) per identity and per address: 429 with Retry-After. An IPv6 address counts as its /64 network. */

import { LRUCache } from 'lru-cache';
import type { Text } from '../../errors.ts';
import { KindredError } from '../../errors.ts';
import { localized } from '../../locales/localized.ts';
import { isLoopback, sourceOf } from '../../runtime/source-address.ts';

export interface Bucket {
  /** Requests per second in the long run. */
  readonly perSecond: number;
  /** Requests at once after a pause. */
  readonly burst: number;
}

export interface RateLimitOptions {
  /** Default 500 per second, 2,000 at once; false: no limit. */
  readonly perIdentity?: Bucket | false;
  /** Counts before anybody is identified, so failed log-ins too. Default 1,000 per second, 4,000 at once; false: no limit. */
  readonly perAddress?: Bucket | false;
  /**
   * Attempts to sign in at `/v3/session` that fail; those from the own machine count too. Default one in three seconds, 20 at
   * once; false: no limit.
   */
  readonly signIn?: Bucket | false;
  /** Requests from the own machine are not limited, but for failed attempts to sign in. Default true. */
  readonly exemptLoopback?: boolean;
  /** Buckets kept; the one unused for longest goes first. Default 100,000. */
  readonly buckets?: number;
}

interface Level {
  tokens: number;
  at: number;
}

const tooMany: Text = localized('Too many requests from this {what}; try again in {seconds} s');

export class RateLimiter {
  readonly #levels: LRUCache<string, Level>;
  readonly #identity: Bucket | false;
  readonly #address: Bucket | false;
  readonly #signIn: Bucket | false;
  readonly #exemptLoopback: boolean;
  readonly #now: () => number;

  /** @param now milliseconds, never going back */
  constructor(options: RateLimitOptions, now: () => number) {
    this.#identity = options.perIdentity ?? { perSecond: 500, burst: 2_000 };
    this.#address = options.perAddress ?? { perSecond: 1_000, burst: 4_000 };
    this.#signIn = options.signIn ?? { perSecond: 1 / 3, burst: 20 };
    this.#exemptLoopback = options.exemptLoopback ?? true;
    // A bound by `max` would take the room for all of them at once, 3 MiB.
    this.#levels = new LRUCache({ maxSize: options.buckets ?? 100_000, sizeCalculation: () => 1 });
    this.#now = now;
  }

  /** Before anybody is identified. @throws TooManyRequests with `Retry-After` */
  admitAddress(address: string): void {
    if (!this.#address || this.#isExempt(address)) return;
    this.#take(`address ${sourceOf(address)}`, this.#address, 'address');
  }

  /** After identification; anonymous requests are counted by address alone. @throws TooManyRequests with `Retry-After` */
  admitIdentity(name: string, address: string): void {
    if (!this.#identity || this.#isExempt(address)) return;
    this.#take(`identity ${name}`, this.#identity, 'identity');
  }

  /** Before an attempt to sign in. @throws TooManyRequests with `Retry-After` */
  beginSignIn(address: string): void {
    if (this.#signIn) this.#take(`sign-in ${sourceOf(address)}`, this.#signIn, 'address');
  }

  /** The attempt did not fail, so it does not count. */
  signedIn(address: string): void {
    const level = this.#levels.get(`sign-in ${sourceOf(address)}`);
    if (level) level.tokens += 1;
  }

  #isExempt(address: string): boolean {
    return this.#exemptLoopback && isLoopback(address);
  }

  #take(key: string, { perSecond, burst }: Bucket, what: 'address' | 'identity'): void {
    const now = this.#now();
    let level = this.#levels.get(key);
    if (!level) {
      level = { tokens: burst, at: now };
      this.#levels.set(key, level);
    }
    level.tokens = Math.min(burst, level.tokens + ((now - level.at) / 1000) * perSecond);
    level.at = now;
    if (level.tokens >= 1) {
      level.tokens -= 1;
      return;
    }
    const seconds = Math.max(1, Math.ceil((1 - level.tokens) / perSecond));
    throw new KindredError('TooManyRequests', tooMany, {
      params: { what, seconds },
      headers: { 'Retry-After': String(seconds) },
    });
  }
}
