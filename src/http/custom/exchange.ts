/** Between the wire and `custom-handler.ts`: the body of a request to a custom route, and its answer, streamed or whole. */
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { requestUrl } from '../../auth/authentication/request-url.ts';
import type { Caller } from '../../resource/access.ts';
import type { ExtensionClient } from '../../resource/extension-client.ts';
import { hasBody, readBody } from '../server/body.ts';
import type { Exchange, HeaderList } from '../server/exchange.ts';
import type { HttpLimits } from '../server/limits.ts';
import { jsonLimits } from '../server/limits.ts';
import { bodyTooLarge, clientGone } from '../server/problem.ts';
import { drained } from '../server/slices.ts';
import type { CustomAnswer } from './handler.ts';
import { handleCustom, isJson } from './handler.ts';
import type { CustomMatch, CustomRoutes } from './routes.ts';

export interface CustomDependencies {
  readonly custom: CustomRoutes;
  readonly clientOf: (caller: Caller) => ExtensionClient;
  readonly limits: HttpLimits;
  /** Largest `size` of a page. */
  readonly maxListSize: number;
}

export async function serveCustom(
  exchange: Exchange,
  match: CustomMatch,
  dependencies: CustomDependencies,
): Promise<void> {
  const { request, response, method } = exchange;
  const { limits, maxListSize } = dependencies;
  const gone = new AbortController();
  response.once('close', () => gone.abort(clientGone()));
  const json = hasBody(request) && isJson(request.headers['content-type']);
  const rawBody = json ? await readBody(request, limits) : undefined;
  const answer = await handleCustom(
    dependencies.custom,
    match,
    {
      method,
      url: request.url!,
      headers: request.headers,
      rawBody,
      identity: exchange.identity!,
      locale: exchange.locale,
      signal: gone.signal,
      client: dependencies.clientOf(exchange.caller),
      web: () => webRequest(exchange, rawBody, gone.signal, limits.body),
    },
    { timeLimit: limits.requestTimeout, json: jsonLimits(limits), maxListSize },
  );
  await send(exchange, answer, limits.requestTimeout);
}

function webRequest(exchange: Exchange, rawBody: Buffer | undefined, signal: AbortSignal, limit: number): Request {
  const { request, method } = exchange;
  const headers = new Headers();
  for (const [name, values] of Object.entries(request.headersDistinct)) {
    for (const value of values ?? []) headers.append(name, value);
  }
  const url = requestUrl(request.url!, request.headers.host);
  const bodyless = method === 'GET' || method === 'HEAD' || !hasBody(request);
  const body = bodyless ? null : (rawBody ?? bounded(request, limit));
  return new Request(url, { method, headers, signal, ...(body && { body, duplex: 'half' }) });
}

/** The body as a stream that fails with PayloadTooLarge at the limit. */
function bounded(request: IncomingMessage, limit: number): ReadableStream<Uint8Array> {
  if (Number(request.headers['content-length'] ?? 0) > limit) throw bodyTooLarge(limit);
  async function* chunks(): AsyncGenerator<Uint8Array> {
    let length = 0;
    for await (const chunk of request as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > limit) throw bodyTooLarge(limit);
      yield chunk;
    }
  }
  return Readable.toWeb(Readable.from(chunks(), { objectMode: false })) as unknown as ReadableStream<Uint8Array>;
}

async function send(exchange: Exchange, { status, headers, body }: CustomAnswer, timeout: number): Promise<void> {
  const list: HeaderList = [];
  for (const [name, value] of Object.entries(headers)) {
    // The connection and the framing of the answer are the service's business, and what every answer carries.
    if (/^(?:content-length|transfer-encoding|connection|keep-alive|x-request-id|x-content-type-options)$/i.test(name))
      continue;
    for (const one of [value].flat()) list.push(name, one);
  }
  if (body === null || typeof body === 'string' || Buffer.isBuffer(body)) {
    exchange.send(status, list, typeof body === 'string' ? Buffer.from(body) : (body ?? undefined));
    return;
  }
  const { response } = exchange;
  exchange.open(status, list);
  const chunks = (body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
  const leave = (): void => void chunks.return?.().catch(() => {});
  response.once('close', leave);
  try {
    while (!exchange.isHead && !response.destroyed) {
      const { done, value } = await chunks.next();
      if (done) break;
      if (!response.write(value)) await drained(response, timeout);
    }
  } finally {
    response.off('close', leave);
    leave();
  }
  response.end();
  exchange.finish(response.destroyed ? 499 : status);
}
