/**
 * Requests of the service to itself, such as those of an agent's tools: they take the way of every request, with a pair of
 * streams in the place of a socket. Nothing listens for them.
 */
import type { IncomingMessage, RequestOptions, Server } from 'node:http';
import { duplexPair } from 'node:stream';
import { KindredError } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import { http } from '../runtime/node-http.ts';

export interface InnerCaller {
  /** In whose place the service asks; rate limits and the audit log know the caller by it. */
  readonly address: string | undefined;
  /** Bytes of one answer. Over it: QueryLimit. */
  readonly maxAnswerBytes: number;
}

const tooLarge = localized(
  'The answer has more than {limit} bytes: ask for fewer objects with "size", or for one object alone',
);

/** Stands in for `fetch` in a client: method, headers, a body of text, a signal. The answer is there as a whole. */
export function innerFetch(server: Server, { address, maxAnswerBytes }: InnerCaller): typeof globalThis.fetch {
  return async (input, init = {}) => {
    const [near, far] = duplexPair();
    server.emit('connection', Object.assign(far, { remoteAddress: address }));
    try {
      const response = await sent(String(input), init, () => near as never);
      const { statusCode: status = 0, headersDistinct } = response;
      const body = await bodyOf(response, maxAnswerBytes);
      const headers = Object.entries(headersDistinct).flatMap(([name, values]) =>
        values!.map((value): [string, string] => [name, value]),
      );
      return new Response(body.length === 0 ? null : new Uint8Array(body), { status, headers });
    } finally {
      near.destroy();
      far.destroy();
    }
  };
}

function sent(
  url: string,
  { method, headers, body, signal }: RequestInit,
  createConnection: NonNullable<RequestOptions['createConnection']>,
): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const request = http.request(url, {
    ...(method !== undefined && { method }),
    headers: { ...(headers as Record<string, string>), connection: 'close' },
    ...(signal && { signal }),
    createConnection,
  });
  request.on('error', reject);
  request.on('response', resolve);
  request.end(body ?? undefined);
  return promise;
}

async function bodyOf(response: IncomingMessage, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > limit) throw new KindredError('QueryLimit', tooLarge, { params: { limit } });
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, length);
}
