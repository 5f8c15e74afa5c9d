/** Problem documents (RFC 9457, docs/reference/errors.md) and the texts of the errors that only the HTTP side knows. */

import type { Locale, Text } from '../../errors.ts';
import { KindredError } from '../../errors.ts';
import { localized } from '../../locales/localized.ts';

/** Where and when a failure happened. */
export interface ProblemContext {
  /** Path of the request. */
  readonly instance: string;
  readonly requestId: string;
  /** Milliseconds since the epoch. */
  readonly time: number;
  readonly locale: Locale;
}

const internal: Text = localized(
  'Unexpected error in the service. The log has the reason under the request ID of this response',
);

/** What the caller is told: a KindredError itself, anything else as InternalError without its text. */
export function asKindredError(error: unknown): KindredError {
  if (error instanceof KindredError) return error;
  return new KindredError('InternalError', internal, { cause: error });
}

/** The members of a problem document, in the order of docs/reference/errors.md. */
export function problemOf(error: KindredError, context: ProblemContext): Record<string, unknown> {
  const { type, title, status, detail, code, ...members } = error.problem(context.locale);
  return {
    type,
    title,
    status,
    detail,
    instance: context.instance,
    code,
    requestId: context.requestId,
    timestamp: new Date(context.time).toISOString(),
    ...members,
  };
}

export function problemBytes(error: KindredError, context: ProblemContext): Buffer {
  return Buffer.from(JSON.stringify(problemOf(error, context)));
}

export function noRoute(path: string): KindredError {
  return new KindredError('NotFound', localized('No route matches {path}'), { params: { path } });
}

/** 405 with `Allow`. */
export function methodNotAllowed(method: string, path: string, allow: readonly string[]): KindredError {
  const allowed = allow.join(', ');
  return new KindredError('MethodNotAllowed', localized('{path} does not support {method}; it supports {allowed}'), {
    params: { method, path, allowed },
    headers: { Allow: allowed },
  });
}

/** 400 for a query parameter that the route does not know; `allowed` are those that it knows. */
export function unknownParameter(parameter: string, allowed: readonly string[]): KindredError {
  const text =
    allowed.length === 0
      ? localized('Unknown parameter "{parameter}": this request has no parameters')
      : localized('Unknown parameter "{parameter}": this request takes {allowed}');
  return new KindredError('InvalidParameter', text, {
    params: { parameter, allowed: allowed.join(', ') },
    parameter,
    allowed,
  });
}

/** 415; on PATCH with `Accept-Patch`. */
export function unsupportedType(given: string | undefined, allowed: readonly string[], patch: boolean): KindredError {
  return new KindredError(
    'UnsupportedMediaType',
    given === undefined
      ? localized('The request has no Content-Type; expected {allowed}')
      : localized('The Content-Type {given} is not supported here; expected {allowed} (in UTF-8)'),
    {
      params: { given, allowed: allowed.join(', ') },
      headers: patch ? { 'Accept-Patch': allowed.join(', ') } : { Accept: allowed.join(', ') },
    },
  );
}

export function unsupportedEncoding(given: string): KindredError {
  return new KindredError(
    'UnsupportedMediaType',
    localized('The Content-Encoding {given} is not supported; send the body without one'),
    { params: { given }, headers: { 'Accept-Encoding': 'identity' } },
  );
}

export function bodyTooLarge(limit: number): KindredError {
  return new KindredError('PayloadTooLarge', localized('The request body is larger than {limit} bytes'), {
    params: { limit },
  });
}

export function lineTooLarge(limit: number): KindredError {
  return new KindredError('PayloadTooLarge', localized('The line is larger than {limit} bytes'), { params: { limit } });
}

/** 400: the last line of a bulk answer that ends before its body does. */
export function tooManyRefused(count: number): KindredError {
  return new KindredError(
    'BadRequest',
    localized('The request ends here: {count} lines were refused. This line and the lines after it were not processed'),
    { params: { count }, unread: true },
  );
}

export function urlTooLong(limit: number): KindredError {
  return new KindredError('UriTooLong', localized('The URL is longer than {limit} bytes'), { params: { limit } });
}

export function queryTooLong(limit: number): KindredError {
  return new KindredError('UriTooLong', localized('The query string is longer than {limit} bytes'), {
    params: { limit },
  });
}

export function headersTooLarge(limit: number): KindredError {
  return new KindredError('HeadersTooLarge', localized('The request headers are larger than {limit} bytes'), {
    params: { limit },
  });
}

export function badPath(path: string): KindredError {
  return new KindredError(
    'BadRequest',
    localized(
      'The path {path} is not percent-encoded correctly: every % is followed by two hexadecimal digits of UTF-8 bytes',
    ),
    { params: { path } },
  );
}

export function noHost(): KindredError {
  return new KindredError('BadRequest', localized('The request has no Host header; HTTP/1.1 asks for one'));
}

export function severalHeaders(name: string): KindredError {
  return new KindredError('BadRequest', localized('The request has more than one {name} header'), { params: { name } });
}

/** The connection ends with it: what else comes there follows other rules. */
export function unsupportedVersion(version: string): KindredError {
  return new KindredError('BadRequest', localized('HTTP/{version} is not supported; use HTTP/1.1'), {
    params: { version },
    headers: { Connection: 'close' },
  });
}

export function malformedRequest(reason: string): KindredError {
  return new KindredError('BadRequest', localized('The request is not well-formed HTTP: {reason}'), {
    params: { reason },
  });
}

/** 408: the client was too slow. */
export function requestTimeout(milliseconds: number): KindredError {
  return new KindredError('RequestTimeout', localized('The request did not arrive within {seconds} s'), {
    params: { seconds: milliseconds / 1000 },
    headers: { Connection: 'close' },
  });
}

/** 403 in the middle of an export, which breaks off. */
export function rightsChanged(): KindredError {
  return new KindredError('Forbidden', localized('What the caller may see has changed; export again'));
}

/** Nobody gets this as an answer: it ends the work of a request whose client is not there any more. */
export function clientGone(): KindredError {
  return new KindredError('BadRequest', localized('The client went away before the answer'));
}

export function shuttingDown(): KindredError {
  return new KindredError('NotReady', localized('The service is shutting down; nothing was done'), {
    headers: { 'Retry-After': '5', Connection: 'close' },
  });
}

/** 503: there is more to do than can be done. One for all, since making an error costs more than the rest of a refusal. */
export const overloaded = new KindredError(
  'NotReady',
  localized('The service is overloaded; the request was not executed. Retry after one second, with back-off'),
  { headers: { 'Retry-After': '1' } },
);

/** 503: so much waits to be read by clients that nothing large is begun. */
export function noRoomForAnswers(): KindredError {
  return new KindredError(
    'NotReady',
    localized(
      'Too many bytes of other responses are waiting for their clients; the request was not executed. Retry after one second, or request less',
    ),
  );
}

/** 400 for a parameter that only means something together with `watch=true`, or a `watch` that is not `true` or `false`. */
export function onlyWithWatch(parameter: string): KindredError {
  const text =
    parameter === 'watch'
      ? localized('"watch" is given once, as true or false')
      : localized('"{parameter}" is for requests with watch=true');
  return new KindredError('InvalidParameter', text, { params: { parameter }, parameter });
}

export function conflictingParameters(parameter: string, other: string): KindredError {
  return new KindredError('InvalidParameter', localized('"{parameter}" cannot be given together with "{other}"'), {
    params: { parameter, other },
    parameter,
  });
}

/** 400: an export has no pages. */
export function notForExport(parameter: 'page' | 'size'): KindredError {
  return new KindredError(
    'InvalidParameter',
    localized(
      '"{parameter}" is not for application/x-ndjson, which answers every match; leave it out, or accept application/json',
    ),
    { params: { parameter }, parameter },
  );
}
