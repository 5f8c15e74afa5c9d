/** The newest attempts of one webhook, in the memory of the replica that delivers. */
import type { WebhookEvent } from './model.ts';

/** One attempt at a delivery. */
export interface Attempt {
  readonly id: string;
  /** `replay` and `test` were asked for by somebody. */
  readonly kind: 'change' | 'replay' | 'test';
  /** `webhook-id` of the request. */
  readonly webhookId: string;
  /** When it began, milliseconds since the epoch. */
  readonly time: number;
  /** Milliseconds. */
  readonly duration: number;
  /** `refused`: the receiver answered with another status than 2xx. */
  readonly outcome: 'accepted' | 'refused' | 'failed';
  readonly status?: number;
  readonly error?: string;
  readonly type: WebhookEvent | 'TEST';
  /** Of the change; of a test that of the store. */
  readonly revision: number;
  /** Absent of a test. */
  readonly resource?: string;
  readonly name?: string;
}

const most = 200;

export class History {
  readonly #prefix: string;
  readonly #attempts: Attempt[] = [];
  #made = 0;

  /** @param now milliseconds since the epoch: ids of an earlier life mean nothing here */
  constructor(now: number) {
    this.#prefix = now.toString(36);
  }

  /** Newest first. */
  get attempts(): readonly Attempt[] {
    return this.#attempts.toReversed();
  }

  find(id: string): Attempt | undefined {
    return this.#attempts.find((one) => one.id === id);
  }

  add(attempt: Omit<Attempt, 'id'>): Attempt {
    const made = { id: `${this.#prefix}-${this.#made++}`, ...attempt };
    this.#attempts.push(made);
    if (this.#attempts.length > most) this.#attempts.shift();
    return made;
  }
}
