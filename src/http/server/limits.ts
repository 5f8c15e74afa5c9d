import type { JsonLimits } from './json.ts';
import type { LineGateLimits } from './line-gate.ts';

/** Members given more than once in one body that are reported, at most. */
export const mostDuplicates = 100;

/** Limits of the HTTP side; each is an option (docs/reference/api.md). */
export interface HttpLimits {
  /** Largest request body, and largest line of an NDJSON body, in bytes. Over it: 413. Default 1 MiB. */
  readonly body: number;
  /** Deepest nesting of a JSON body. Over it: 400. Default 64. */
  readonly depth: number;
  /** Members of all objects of a JSON body together, elements of arrays not counted. Over it: 400. Default 10,000. */
  readonly members: number;
  /** Objects and lists of a JSON body together. Over it: 400. Default 100,000. */
  readonly containers: number;
  /** Longest URL in bytes. Over it: 414. Default 16 KiB. */
  readonly url: number;
  /** Longest query string in bytes, without the question mark. Over it: 414. Default 8 KiB. */
  readonly query: number;
  /** All header lines together in bytes, the URL included. Over it: 431. Default 64 KiB. */
  readonly headers: number;
  /** Milliseconds for the header lines of a request. Default 10 s; a connection over it is gone within 15 s. */
  readonly headersTimeout: number;
  /**
   * Milliseconds for the body of a request; with NDJSON, without a byte in either direction. Over it: 408. Also for the
   * client to read an answer, a large one slice by slice (512 KiB). Over it: the connection is cut. Default 30 s.
   */
  readonly requestTimeout: number;
  /** Milliseconds that an idle connection is kept. Default 72 s. */
  readonly keepAlive: number;
  /**
   * Connections at the same time; one more is closed at once. Default three quarters of the files that the process may
   * open, at most 10,000.
   */
  readonly connections: number;
  /**
   * The same of one address, an IPv6 network of 64 bits counting as one; loopback addresses are not counted, because a
   * proxy may be there. Default half of `connections`.
   */
  readonly connectionsPerAddress: number;
  /** Objects of one bulk request that are written at the same time. Default 256. */
  readonly bulkConcurrency: number;
  /** Bytes of answers that wait for the client of a bulk request before no more of its lines are read. Default 8 MiB. */
  readonly bulkBuffer: number;
  /**
   * Bytes of all answers together that wait for their clients to read. Over it: 503 for pages and objects of more than
   * 512 KiB, exports and watches, before they are read. One identity, or one address without one (loopback not counted),
   * may have a quarter of it. Default 128 MiB.
   */
  readonly answerBuffer: number;
  /** Refused lines of one bulk request after which no more of it is read; names that are taken do not count. Default 1,000. */
  readonly bulkRefusals: number;
  /** Milliseconds that a stop waits for requests under way. Default 7 s: with what follows, a stop takes less than 10 s. */
  readonly stopTimeout: number;
}

export function jsonLimits({ depth, members, containers }: HttpLimits): JsonLimits {
  return { maxDepth: depth, maxMembers: members, maxContainers: containers };
}

/** Who waits and who is refused when there is too much to do. No options: see docs/decisions/overload.md. */
export interface AdmissionLimits {
  /** Milliseconds for which a turn of the event loop begins requests as they come, and again those that wait in line. */
  readonly slice: number;
  /** Milliseconds that a request may wait in line. Over it: 503. */
  readonly burst: number;
  /** The same, once the line has not been empty for longer than `burst`. */
  readonly standing: number;
  /** Milliseconds for which the oldest write may have waited for the store when one more is begun. Over it: 503. */
  readonly writes: number;
  /** So many requests in line, and so many writes that wait, are never too many, however long they take. */
  readonly crowd: number;
}

export const admissionLimits: AdmissionLimits = { slice: 20, burst: 1_000, standing: 500, writes: 1_000, crowd: 64 };

/** How much of bulk requests is worked on at the same time. No options: see docs/decisions/overload.md. */
export const lineGateLimits: LineGateLimits = { lines: 2_000, bytes: 16 * 1024 * 1024, few: 64, age: 500 };

/** @param files that the process may open; undefined: not known */
export function httpLimits(given: Partial<HttpLimits> = {}, files = Number.POSITIVE_INFINITY): HttpLimits {
  const connections = given.connections ?? Math.min(Math.floor((files * 3) / 4), 10_000);
  return { ...defaults, connections, connectionsPerAddress: Math.ceil(connections / 2), ...given };
}

const defaults: Omit<HttpLimits, 'connections' | 'connectionsPerAddress'> = {
  body: 1024 * 1024,
  depth: 64,
  members: 10_000,
  containers: 100_000,
  url: 16 * 1024,
  query: 8 * 1024,
  headers: 64 * 1024,
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  keepAlive: 72_000,
  bulkConcurrency: 256,
  bulkBuffer: 8 * 1024 * 1024,
  answerBuffer: 128 * 1024 * 1024,
  bulkRefusals: 1_000,
  stopTimeout: 7_000,
};
