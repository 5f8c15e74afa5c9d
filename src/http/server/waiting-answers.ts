/**
 * Answers that wait for their clients: how many bytes all of them have in memory, what is not begun when these are too many,
 * and the end of those that nobody reads.
 */
import type { ServerResponse } from 'node:http';
import { noRoomForAnswers } from './problem.ts';

export interface WaitingAnswersLimits {
  /** Bytes that wait before nothing large is begun. */
  readonly answerBuffer: number;
  /** Milliseconds that a client has to take what was written. */
  readonly requestTimeout: number;
}

export class WaitingAnswers {
  readonly #limits: WaitingAnswersLimits;
  /** Streams, and complete answers that were not taken at once. */
  readonly #responses = new Set<ServerResponse>();
  #held = 0;

  constructor(limits: WaitingAnswersLimits) {
    this.#limits = limits;
  }

  /** What was written and not taken yet, and what is about to be written. */
  get bytes(): number {
    let bytes = this.#held;
    for (const response of this.#responses) bytes += response.writableLength;
    return bytes;
  }

  /**
   * A single answer may have more than there is room for, when it is alone.
   * @throws KindredError NotReady when so many bytes more would be too many
   */
  assertRoom(bytes = 0): void {
    const waiting = this.bytes;
    if (waiting > 0 && waiting + bytes > this.#limits.answerBuffer) throw noRoomForAnswers();
  }

  /** Counts what waits of an answer, until it ends. */
  follow(response: ServerResponse): void {
    if (this.#responses.has(response) || response.destroyed) return;
    this.#responses.add(response);
    response.once('close', () => this.#responses.delete(response));
  }

  /** A complete answer of which something waits. Whoever does not take it in time is cut off. */
  await(response: ServerResponse): void {
    this.follow(response);
    const begin = (): void => {
      const timer = setTimeout(() => response.destroy(), this.#limits.requestTimeout);
      response.once('close', () => clearTimeout(timer));
    };
    // On a connection with several requests its turn may still be to come.
    if (response.socket) begin();
    else response.once('socket', begin);
  }

  /** For bytes of an answer that are not written yet. */
  hold(response: ServerResponse): Hold {
    return new Hold(response, this, (more) => {
      this.#held += more;
    });
  }
}

/** Bytes that are in memory for an answer, or will be in a moment; none once it has ended. */
export class Hold {
  readonly #waiting: WaitingAnswers;
  readonly #add: (more: number) => void;
  #bytes = 0;
  #isOver = false;

  constructor(response: ServerResponse, waiting: WaitingAnswers, add: (more: number) => void) {
    this.#waiting = waiting;
    this.#add = add;
    if (response.destroyed) this.#isOver = true;
    else
      response.once('close', () => {
        this.set(0);
        this.#isOver = true;
      });
  }

  /** @throws KindredError NotReady when there is no room for what is more than before */
  ask(bytes: number): void {
    const more = bytes - this.#bytes;
    if (more > 0 && !this.#isOver) this.#waiting.assertRoom(more);
    this.set(bytes);
  }

  /** Whether there is room or not. */
  set(bytes: number): void {
    if (this.#isOver) return;
    this.#add(bytes - this.#bytes);
    this.#bytes = bytes;
  }
}
