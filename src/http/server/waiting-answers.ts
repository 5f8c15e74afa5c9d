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
  /** Streams, and complete answers that were not taken at once; for whom they are. */
  readonly #responses = new Map<ServerResponse, string | undefined>();
  readonly #held = new Map<string | undefined, number>();

  constructor(limits: WaitingAnswersLimits) {
    this.#limits = limits;
  }

  /** What was written and not taken yet, and what is about to be written. */
  get bytes(): number {
    let bytes = 0;
    for (const held of this.#held.values()) bytes += held;
    for (const response of this.#responses.keys()) bytes += response.writableLength;
    return bytes;
  }

  /** The same of one client. */
  #bytesOf(owner: string): number {
    let bytes = this.#held.get(owner) ?? 0;
    for (const [response, one] of this.#responses) if (one === owner) bytes += response.writableLength;
    return bytes;
  }

  /**
   * A single answer may have more than there is room for, when it is alone.
   * @param owner the caller that the bytes count for: one caller may have a quarter of all. Undefined: no limit for one caller
   * @throws KindredError NotReady when so many bytes more would be too many
   */
  assertRoom(bytes = 0, owner?: string): void {
    const isTooMuch = (waiting: number, limit: number): boolean => waiting > 0 && waiting + bytes > limit;
    const { answerBuffer } = this.#limits;
    if (isTooMuch(this.bytes, answerBuffer)) throw noRoomForAnswers();
    if (owner !== undefined && isTooMuch(this.#bytesOf(owner), answerBuffer / 4)) throw noRoomForAnswers();
  }

  /** Counts what waits of an answer, until it ends. */
  follow(response: ServerResponse, owner?: string): void {
    if (this.#responses.has(response) || response.destroyed) return;
    this.#responses.set(response, owner);
    response.once('close', () => this.#responses.delete(response));
  }

  /** A complete answer of which something waits. Whoever does not take it in time is cut off. */
  await(response: ServerResponse, owner?: string): void {
    this.follow(response, owner);
    const begin = (): void => {
      const timer = setTimeout(() => response.destroy(), this.#limits.requestTimeout);
      response.once('close', () => clearTimeout(timer));
    };
    // On a connection with several requests its turn may still be to come.
    if (response.socket) begin();
    else response.once('socket', begin);
  }

  /** For bytes of an answer that are not written yet. */
  hold(response: ServerResponse, owner?: string): Hold {
    return new Hold(response, {
      assertRoom: (bytes) => this.assertRoom(bytes, owner),
      add: (more) => {
        const bytes = (this.#held.get(owner) ?? 0) + more;
        if (bytes > 0) this.#held.set(owner, bytes);
        else this.#held.delete(owner);
      },
    });
  }
}

interface Account {
  /** @throws KindredError NotReady */
  assertRoom(bytes: number): void;
  add(bytes: number): void;
}

/** Bytes that are in memory for an answer, or will be in a moment; none once it has ended. */
export class Hold {
  readonly #account: Account;
  #bytes = 0;
  #isOver = false;

  constructor(response: ServerResponse, account: Account) {
    this.#account = account;
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
    if (more > 0 && !this.#isOver) this.#account.assertRoom(more);
    this.set(bytes);
  }

  /** Whether there is room or not. */
  set(bytes: number): void {
    if (this.#isOver) return;
    this.#account.add(bytes - this.#bytes);
    this.#bytes = bytes;
  }
}
