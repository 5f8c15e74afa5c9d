/**
 * `/mcp`: the tools over "streamable HTTP" of the Model Context Protocol. Each request is complete in itself: there are no
 * sessions that could be lost or pile up, so any replica answers any request, and an answer is one JSON text. The tools send
 * requests of their own to the service, with the caller's token.
 */
import type { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import { anonymous, isAnonymous, unauthenticated } from '../auth/authentication/identity.ts';
import type { KindredClient } from '../client/client.ts';
import { KindredError } from '../errors.ts';
import { isJson } from '../http/custom/handler.ts';
import { readBody } from '../http/server/body.ts';
import type { Exchange } from '../http/server/exchange.ts';
import { parseJson } from '../http/server/json.ts';
import type { HttpLimits } from '../http/server/limits.ts';
import { jsonLimits } from '../http/server/limits.ts';
import { clientGone, methodNotAllowed, unsupportedType } from '../http/server/problem.ts';
import { localized } from '../locales/localized.ts';
import type { Identity } from '../resource/access.ts';
import { createMcpServer, isSdkMissing } from './server.ts';

export interface McpEndpointOptions {
  readonly version: string;
  /** Only tools that change nothing. */
  readonly readOnly: boolean;
  /** Requests under way at the same time; one caller may have a quarter of them. */
  readonly maxCalls: number;
  readonly limits: HttpLimits;
  /** Origins of web pages that may call, besides the service's own; `*` for all. */
  readonly cors: readonly string[];
  /** A client that asks this service in the caller's place. */
  readonly clientOf: (exchange: Exchange) => KindredClient;
}

const mcpPath = '/mcp';

const texts = {
  token: localized('agents need a token of their own'),
  origin: localized(
    'Web pages of another origin, here {origin}, may not call {path}. Add the origin to the setting "cors"',
  ),
  several: localized('Expected one message of JSON-RPC, not a list of them'),
  crowd: localized('Too many calls of agents are under way; try again in a moment'),
};

export class McpEndpoint {
  readonly #options: McpEndpointOptions;
  #Transport: typeof WebStandardStreamableHTTPServerTransport | undefined;
  /** By the caller's name, those under way. */
  readonly #calls = new Map<string, number>();
  #underWay = 0;

  readonly path = mcpPath;

  constructor(options: McpEndpointOptions) {
    this.#options = options;
  }

  /** To be called before the first request. @throws a plain error when the SDK is not installed */
  async load(): Promise<void> {
    try {
      const sdk = await import('@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js');
      this.#Transport = sdk.WebStandardStreamableHTTPServerTransport;
    } catch (error) {
      if (!isSdkMissing(error)) throw error;
      throw new Error(
        'the option "mcp.enabled" needs the package @modelcontextprotocol/sdk: npm install @modelcontextprotocol/sdk',
      );
    }
  }

  get underWay(): number {
    return this.#underWay;
  }

  /**
   * @throws KindredError Forbidden for another origin, Unauthenticated, MethodNotAllowed, UnsupportedMediaType, BadRequest,
   *   TooManyRequests
   */
  async serve(exchange: Exchange): Promise<void> {
    const { method, request } = exchange;
    exchange.route = mcpPath;
    this.#checkOrigin(exchange);
    const identity: Identity & { isSession?: true } = exchange.identity ?? anonymous;
    // A cookie comes with any request of a browser, and the tools could not show it.
    if (isAnonymous(identity) || identity.isSession) throw unauthenticated(texts.token);
    exchange.access = { verb: method.toLowerCase(), path: mcpPath };
    if (method !== 'POST') throw methodNotAllowed(method, mcpPath, ['POST']);
    const type = request.headers['content-type'];
    if (!isJson(type)) throw unsupportedType(type, ['application/json'], false);
    const leave = this.#enter(identity.name);
    try {
      await this.#answer(exchange);
    } finally {
      leave();
    }
  }

  async #answer(exchange: Exchange): Promise<void> {
    const { request, response } = exchange;
    const { version, readOnly, limits, clientOf } = this.#options;
    const parsedBody = parseJson(await readBody(request, limits), jsonLimits(limits));
    if (Array.isArray(parsedBody)) throw new KindredError('BadRequest', texts.several);
    const server = await createMcpServer(clientOf(exchange), { version, readOnly });
    const transport = new this.#Transport!({ enableJsonResponse: true });
    const gone = Promise.withResolvers<never>();
    // Ends what the tool has under way.
    const stop = (): void => {
      gone.reject(clientGone());
      void server.close();
    };
    response.once('close', stop);
    try {
      await server.connect(transport);
      const headers = new Headers();
      for (const name of ['accept', 'content-type', 'mcp-protocol-version']) {
        const value = request.headers[name];
        if (typeof value === 'string') headers.set(name, value);
      }
      const asked = new Request(`http://localhost${mcpPath}`, { method: 'POST', headers });
      const answer = await Promise.race([transport.handleRequest(asked, { parsedBody }), gone.promise]);
      const body = Buffer.from(await answer.arrayBuffer());
      exchange.send(answer.status, [...answer.headers].flat(), body.length > 0 ? body : undefined);
    } finally {
      response.off('close', stop);
      await server.close();
    }
  }

  /** The protocol asks for this, so that no web page reaches a server on its reader's machine. */
  #checkOrigin({ request, authority }: Exchange): void {
    const { origin } = request.headers;
    const { cors } = this.#options;
    if (origin === undefined || cors.includes('*') || cors.includes(origin)) return;
    if (origin === `http://${authority}` || origin === `https://${authority}`) return;
    throw new KindredError('Forbidden', texts.origin, { params: { origin, path: mcpPath } });
  }

  #enter(name: string): () => void {
    const { maxCalls } = this.#options;
    const own = this.#calls.get(name) ?? 0;
    if (this.#underWay >= maxCalls || own >= Math.ceil(maxCalls / 4)) {
      throw new KindredError('TooManyRequests', texts.crowd, { headers: { 'Retry-After': '1' } });
    }
    this.#underWay++;
    this.#calls.set(name, own + 1);
    return () => {
      this.#underWay--;
      const left = this.#calls.get(name)! - 1;
      if (left > 0) this.#calls.set(name, left);
      else this.#calls.delete(name);
    };
  }
}
