/** Request bodies from the wire, with limits on size and time. */
import type { IncomingMessage } from 'node:http';
import type { KindredError } from '../../errors.ts';
import { bodyTooLarge, malformedRequest, requestTimeout } from './problem.ts';

/** Milliseconds that the rest of an unwanted body is read and dropped, so that the client gets to read the answer. */
const lingering = 5_000;

export interface BodyLimits {
  /** Bytes. */
  readonly body: number;
  /** Milliseconds for the whole body. */
  readonly requestTimeout: number;
}

/** Whether the request announces a body. */
export function hasBody(request: IncomingMessage): boolean {
  const { headers } = request;
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}

/**
 * The whole body; empty when there is none. After a refusal the rest is still unread: see `dropRest`.
 * @throws KindredError PayloadTooLarge, as soon as it is known, announced or not; RequestTimeout; BadRequest when it ends early
 */
export async function readBody(request: IncomingMessage, limits: BodyLimits): Promise<Buffer> {
  const announced = Number(request.headers['content-length'] ?? 0);
  if (announced > limits.body) throw bodyTooLarge(limits.body);
  // Node gives what came together with the head right after the head: of most bodies, all.
  await undefined;
  if (announced > 0 && request.readableLength === announced) {
    const body = request.read() as Buffer;
    // To its end, which Node waits for.
    request.resume();
    return body;
  }
  return readChunks(request, limits);
}

function readChunks(request: IncomingMessage, limits: BodyLimits): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    if (request.destroyed) {
      reject(endedEarly());
      return;
    }
    const chunks: Buffer[] = [];
    let length = 0;
    const timer = setTimeout(() => stop(requestTimeout(limits.requestTimeout)), limits.requestTimeout);
    const stop = (error: KindredError | undefined): void => {
      clearTimeout(timer);
      request.off('data', onData).off('end', onEnd).off('close', onClose).off('error', onClose);
      if (error) reject(error);
      else resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, length));
    };
    const onData = (chunk: Buffer): void => {
      length += chunk.length;
      if (length > limits.body) stop(bodyTooLarge(limits.body));
      else chunks.push(chunk);
    };
    const onEnd = (): void => stop(undefined);
    const onClose = (): void => stop(endedEarly());
    request.on('data', onData).on('end', onEnd).on('close', onClose).on('error', onClose);
  });
}

const endedEarly = (): KindredError => malformedRequest('the body ended early');

/** For a request that is answered already: reads and drops what is left of its body for a bounded time, then cuts the connection. */
export function dropRest(request: IncomingMessage): void {
  const { socket } = request;
  if (request.readableEnded || socket.destroyed) return;
  const timer = setTimeout(() => socket.destroy(), lingering);
  const done = (): void => {
    clearTimeout(timer);
    socket.off('close', done);
    request.off('end', done);
  };
  // Node forgets an answered request: it hears nothing of the end of its connection, the socket does.
  socket.on('close', done);
  request.on('end', done);
  request.on('error', () => {});
  request.resume();
}

/** One line of an NDJSON body without its line end; `undefined` for one that is longer than the limit. */
export type Line = Buffer | undefined;

/** Cuts chunks into lines. Blank lines are left out; CR LF ends a line too. */
export class LineSplitter {
  readonly #limit: number;
  #kept: Buffer[] = [];
  #length = 0;

  /** @param limit bytes of a line */
  constructor(limit: number) {
    this.#limit = limit;
  }

  push(chunk: Buffer): Line[] {
    const lines: Line[] = [];
    let start = 0;
    for (let end = chunk.indexOf(0x0a); end >= 0; end = chunk.indexOf(0x0a, start)) {
      this.#finish(chunk.subarray(start, end), lines);
      start = end + 1;
    }
    this.#keep(chunk.subarray(start));
    return lines;
  }

  /** The last line, when the body does not end with a line end. */
  end(): Line[] {
    const lines: Line[] = [];
    this.#finish(Buffer.alloc(0), lines);
    return lines;
  }

  #keep(part: Buffer): void {
    if (part.length === 0) return;
    this.#length += part.length;
    if (this.#length > this.#limit + 1) this.#kept = [];
    else this.#kept.push(part);
  }

  #finish(part: Buffer, lines: Line[]): void {
    let line: Buffer | undefined = part;
    if (this.#length > 0) {
      this.#keep(part);
      line = this.#length > this.#limit + 1 ? undefined : Buffer.concat(this.#kept);
      this.#kept = [];
      this.#length = 0;
    }
    if (line && line.at(-1) === 0x0d) line = line.subarray(0, -1);
    if (line && line.length > this.#limit) line = undefined;
    if (line === undefined || !isBlank(line)) lines.push(line);
  }
}

function isBlank(line: Buffer): boolean {
  return line.every((byte) => byte === 0x20 || byte === 0x09);
}
