/** What a failure says, for people: code, text, the request, and how long to wait. */
import type { ErrorCode, Violation } from 'kindred/client';
import { KindredError } from 'kindred/client';

export interface Problem {
  readonly code: ErrorCode;
  readonly detail: string;
  readonly requestId?: string;
  readonly errors?: readonly Violation[];
  /** Seconds that the service asks to wait. */
  readonly retryAfter?: number;
  /** Further members of the problem document: `column`, `allowed`, `index`, `currentVersion` … */
  readonly [member: string]: unknown;
}

/** The problem that the service answered with, or one made of any other failure. */
export function problemOf(error: unknown): Problem {
  if (!(error instanceof KindredError)) {
    return { code: 'InternalError', detail: error instanceof Error ? error.message : String(error) };
  }
  const { code, message, headers } = error;
  const { name: _, status: _status, headers: _headers, revision: _revision, ...members } = { ...error };
  const wait = Number(headers?.['Retry-After']);
  return { ...members, code, detail: message, ...(wait > 0 && { retryAfter: wait }) };
}
