/** Problem documents (RFC 9457, docs/reference/errors.md) and the texts of the errors that only the HTTP side knows. */

import type { Locale, Text } from '../../errors.ts';
import { KindredError } from '../../errors.ts';

/** Where and when a failure happened. */
export interface ProblemContext {
  /** Path of the request. */
  readonly instance: string;
  readonly requestId: string;
  /** Milliseconds since the epoch. */
  readonly time: number;
  readonly locale: Locale;
}

const internal: Text = {
  en: 'Unexpected error in the service. The log has the reason under the request ID of this response',
  zh: '服务发生意外错误。可凭此应答的请求编号在服务日志中查找原因',
};

/** What the caller is told: a KindredError itself, anything else as InternalError without its text. */
export function asKindredError(error: unknown): KindredError {
  if (error instanceof KindredError) return error;
  return new KindredError('InternalError', internal, {}, {}, { cause: error });
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
  return new KindredError('NotFound', { en: 'No route matches {path}', zh: '{path} 处没有任何资源' }, { path });
}

/** 405 with `Allow`. */
export function methodNotAllowed(method: string, path: string, allow: readonly string[]): KindredError {
  const allowed = allow.join(', ');
  return new KindredError(
    'MethodNotAllowed',
    { en: '{path} does not support {method}; it supports {allowed}', zh: '{path} 不支持 {method}；支持 {allowed}' },
    { method, path, allowed },
    {},
    { headers: { Allow: allowed } },
  );
}

/** 400 for a query parameter that the route does not know; `allowed` are those that it knows. */
export function unknownParameter(parameter: string, allowed: readonly string[]): KindredError {
  const text =
    allowed.length === 0
      ? {
          en: 'Unknown parameter "{parameter}": this request has no parameters',
          zh: '未知参数 "{parameter}"：该请求不接受参数',
        }
      : {
          en: 'Unknown parameter "{parameter}": this request takes {allowed}',
          zh: '未知参数 "{parameter}"：该请求接受 {allowed}',
        };
  return new KindredError('InvalidParameter', text, { parameter, allowed: allowed.join(', ') }, { parameter, allowed });
}

/** 415; on PATCH with `Accept-Patch`. */
export function unsupportedType(given: string | undefined, allowed: readonly string[], patch: boolean): KindredError {
  return new KindredError(
    'UnsupportedMediaType',
    given === undefined
      ? { en: 'The request has no Content-Type; expected {allowed}', zh: '请求缺少 Content-Type；应为 {allowed}' }
      : {
          en: 'The Content-Type {given} is not supported here; expected {allowed} (in UTF-8)',
          zh: '此处不支持 Content-Type {given}；应为 {allowed}（UTF-8 编码）',
        },
    { given, allowed: allowed.join(', ') },
    {},
    { headers: patch ? { 'Accept-Patch': allowed.join(', ') } : { Accept: allowed.join(', ') } },
  );
}

export function unsupportedEncoding(given: string): KindredError {
  return new KindredError(
    'UnsupportedMediaType',
    {
      en: 'The Content-Encoding {given} is not supported; send the body without one',
      zh: '不支持 Content-Encoding {given}；请求体不应使用内容编码',
    },
    { given },
    {},
    { headers: { 'Accept-Encoding': 'identity' } },
  );
}

export function bodyTooLarge(limit: number): KindredError {
  return new KindredError(
    'PayloadTooLarge',
    { en: 'The request body is larger than {limit} bytes', zh: '请求体超过 {limit} 字节' },
    { limit },
  );
}

export function lineTooLarge(limit: number): KindredError {
  return new KindredError(
    'PayloadTooLarge',
    { en: 'The line is larger than {limit} bytes', zh: '该行超过 {limit} 字节' },
    { limit },
  );
}

/** 400: the last line of a bulk answer that ends before its body does. */
export function tooManyRefused(count: number): KindredError {
  return new KindredError(
    'BadRequest',
    {
      en: 'The request ends here: {count} lines were refused. This line and the lines after it were not processed',
      zh: '请求到此结束：已有 {count} 行被拒绝。未读取该行及其后各行，也未对其执行任何操作',
    },
    { count },
    { unread: true },
  );
}

export function urlTooLong(limit: number): KindredError {
  return new KindredError(
    'UriTooLong',
    { en: 'The URL is longer than {limit} bytes', zh: 'URL 超过 {limit} 字节' },
    { limit },
  );
}

export function queryTooLong(limit: number): KindredError {
  return new KindredError(
    'UriTooLong',
    { en: 'The query string is longer than {limit} bytes', zh: '查询字符串超过 {limit} 字节' },
    { limit },
  );
}

export function headersTooLarge(limit: number): KindredError {
  return new KindredError(
    'HeadersTooLarge',
    { en: 'The request headers are larger than {limit} bytes', zh: '请求头超过 {limit} 字节' },
    { limit },
  );
}

export function badPath(path: string): KindredError {
  return new KindredError(
    'BadRequest',
    {
      en: 'The path {path} is not percent-encoded correctly: every % is followed by two hexadecimal digits of UTF-8 bytes',
      zh: '路径 {path} 的百分号编码有误：每个 % 之后应为表示 UTF-8 字节的两位十六进制数',
    },
    { path },
  );
}

export function noHost(): KindredError {
  return new KindredError('BadRequest', {
    en: 'The request has no Host header; HTTP/1.1 asks for one',
    zh: '请求缺少 Host 头；HTTP/1.1 要求提供',
  });
}

export function severalHeaders(name: string): KindredError {
  return new KindredError(
    'BadRequest',
    { en: 'The request has more than one {name} header', zh: '请求包含多个 {name} 头' },
    { name },
  );
}

/** The connection ends with it: what else comes there follows other rules. */
export function unsupportedVersion(version: string): KindredError {
  return new KindredError(
    'BadRequest',
    { en: 'HTTP/{version} is not supported; use HTTP/1.1', zh: '不支持 HTTP/{version}；请使用 HTTP/1.1' },
    { version },
    {},
    { headers: { Connection: 'close' } },
  );
}

export function malformedRequest(reason: string): KindredError {
  return new KindredError(
    'BadRequest',
    { en: 'The request is not well-formed HTTP: {reason}', zh: '请求不是有效的 HTTP：{reason}' },
    { reason },
  );
}

/** 408: the client was too slow. */
export function requestTimeout(milliseconds: number): KindredError {
  return new KindredError(
    'RequestTimeout',
    {
      en: 'The request did not arrive within {seconds} s',
      zh: '请求未能在 {seconds} 秒内到达',
    },
    { seconds: milliseconds / 1000 },
    {},
    { headers: { Connection: 'close' } },
  );
}

/** 403 in the middle of an export, which breaks off. */
export function rightsChanged(): KindredError {
  return new KindredError('Forbidden', {
    en: 'What the caller may see has changed; export again',
    zh: '调用者可见的内容已变化；请重新导出',
  });
}

/** Nobody gets this as an answer: it ends the work of a request whose client is not there any more. */
export function clientGone(): KindredError {
  return new KindredError('BadRequest', {
    en: 'The client went away before the answer',
    zh: '客户端在响应之前已断开连接',
  });
}

export function shuttingDown(): KindredError {
  return new KindredError(
    'NotReady',
    { en: 'The service is shutting down; nothing was done', zh: '服务正在关闭；未执行任何操作' },
    {},
    {},
    { headers: { 'Retry-After': '5', Connection: 'close' } },
  );
}

/** 503: there is more to do than can be done. One for all, since making an error costs more than the rest of a refusal. */
export const overloaded = new KindredError(
  'NotReady',
  {
    en: 'The service is overloaded; the request was not executed. Retry after one second, with back-off',
    zh: '服务过载；未执行任何操作。请在一秒后重试，若再次被拒绝则逐次延长等待时间',
  },
  {},
  {},
  { headers: { 'Retry-After': '1' } },
);

/** 503: so much waits to be read by clients that nothing large is begun. */
export function noRoomForAnswers(): KindredError {
  return new KindredError('NotReady', {
    en: 'Too many bytes of other responses are waiting for their clients; the request was not executed. Retry after one second, or request less',
    zh: '等待客户端读取的其他响应数据过多；未执行任何操作。请在一秒后重试，或减少请求的数据量',
  });
}

/** 400 for a parameter that only means something together with `watch=true`, or a `watch` that is not `true` or `false`. */
export function onlyWithWatch(parameter: string): KindredError {
  const text =
    parameter === 'watch'
      ? { en: '"watch" is given once, as true or false', zh: '"watch" 只能给出一次，值为 true 或 false' }
      : { en: '"{parameter}" is for requests with watch=true', zh: '"{parameter}" 仅用于 watch=true 的请求' };
  return new KindredError('InvalidParameter', text, { parameter }, { parameter });
}

export function conflictingParameters(parameter: string, other: string): KindredError {
  return new KindredError(
    'InvalidParameter',
    { en: '"{parameter}" cannot be given together with "{other}"', zh: '"{parameter}" 不能与 "{other}" 同时给出' },
    { parameter, other },
    { parameter },
  );
}

/** 400: an export has no pages. */
export function notForExport(parameter: 'page' | 'size'): KindredError {
  return new KindredError(
    'InvalidParameter',
    {
      en: '"{parameter}" is not for application/x-ndjson, which answers every match; leave it out, or accept application/json',
      zh: '"{parameter}" 不适用于 application/x-ndjson，它会返回全部匹配对象；请去掉该参数，或接受 application/json',
    },
    { parameter },
    { parameter },
  );
}
