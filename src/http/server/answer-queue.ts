import type { ServerResponse } from 'node:http';

/** For whom an answer is. */
interface Owned {
  readonly owner: string | undefined;
}

interface PendingAnswer {
  readonly response: ServerResponse;
  readonly from: Owned;
  readonly body: Buffer | undefined;
  readonly written: ((error?: Error | null) => void) | undefined;
}

/** Answers that may wait for one another; with more the first ones would wait too long. */
const most = 64;

/** Bodies of up to this many bytes go out as one string with the head, which spares the kernel a second piece. */
const smallBody = 4 * 1024;

/**
 * Writes complete answers together, once in a turn of the event loop: requests that came at the same time are all
 * computed before the first answer wakes the process at the other end, which then finds the others written too.
 */
export class AnswerQueue {
  #waiting: PendingAnswer[] = [];
  #isEndAwaited = false;
  readonly #end: () => void;
  readonly #left: (response: ServerResponse, from: Owned) => void;

  /**
   * @param ended called at the end of every turn with an answer, and of those that `awaitEnd` asked for
   * @param left called with an answer that the operating system did not take whole, because its client does not read
   */
  constructor(ended: () => void, left: (response: ServerResponse, from: Owned) => void) {
    this.#left = left;
    this.#end = () => {
      this.#isEndAwaited = false;
      this.flush();
      ended();
    };
  }

  /** @param written called when the bytes are no longer read; never when the connection breaks before that */
  end(response: ServerResponse, from: Owned, body?: Buffer, written?: (error?: Error | null) => void): void {
    this.awaitEnd();
    this.#waiting.push({ response, from, body, written });
    if (this.#waiting.length >= most) this.flush();
  }

  /** Asks for the end of this turn, which comes when the I/O that is at hand has been dealt with. */
  awaitEnd(): void {
    if (this.#isEndAwaited) return;
    this.#isEndAwaited = true;
    setImmediate(this.#end);
  }

  /** Writes what waits now. */
  flush(): void {
    const answers = this.#waiting;
    this.#waiting = [];
    for (const { response, from, body, written } of answers) {
      if (!body) response.end(written);
      else if (body.length <= smallBody) response.end(body.toString('latin1'), 'latin1', written);
      else response.end(body, written);
      if (response.writableLength > 0) this.#left(response, from);
    }
  }
}
