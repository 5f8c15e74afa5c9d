/** One attempt at one delivery: a POST, no redirects, bounded in time and bytes. */
import type { Agent, AgentOptions, IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { http, https } from '../runtime/node-http.ts';
import type { Lookup } from './address.ts';
import { AddressNotAllowed, isPublicAddress, publicLookup } from './address.ts';

export interface Posted {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly signal: AbortSignal;
}

export interface SenderOptions {
  /** Milliseconds for the whole exchange. */
  readonly timeout: number;
  readonly allowPrivateAddresses: boolean;
  /** Stands in for the system's name resolution. */
  readonly lookup?: Lookup;
}

/** The receiver did not take it. */
export class Refused extends Error {
  readonly status: number;
  /** Milliseconds that the receiver asks to wait (`Retry-After`). */
  readonly retryAfter: number | undefined;

  constructor(status: number, retryAfter: number | undefined) {
    super(`the receiver answered ${status}`);
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

/** Bytes of an answer that are read, so that its connection can be used again. */
const answerLimit = 64 * 1024;
/** Milliseconds that an idle connection is kept. */
const idle = 5_000;

export class Sender {
  readonly #options: SenderOptions;
  readonly #agentOptions: AgentOptions;
  /** By protocol, from the first delivery on. */
  readonly #agents = new Map<string, Agent>();

  constructor(options: SenderOptions) {
    this.#options = options;
    const lookup = options.allowPrivateAddresses ? {} : { lookup: publicLookup(options.lookup) };
    this.#agentOptions = { keepAlive: true, timeout: idle, ...lookup };
  }

  /** Resolves with the status when the receiver answered 2xx. @throws Refused, AddressNotAllowed, or the error of the connection */
  async post({ url, headers, body, signal }: Posted): Promise<number> {
    const target = new URL(url);
    const host = target.hostname.replace(/^\[|\]$/g, '');
    // A socket asks no lookup about an address.
    if (isIP(host) && !this.#options.allowPrivateAddresses && !isPublicAddress(host)) throw new AddressNotAllowed(host);
    const { Agent, request: send } = target.protocol === 'https:' ? https() : http;
    const agent = this.#agents.get(target.protocol) ?? new Agent(this.#agentOptions);
    this.#agents.set(target.protocol, agent);
    const late = AbortSignal.timeout(this.#options.timeout);
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const request = send(target, {
      method: 'POST',
      agent,
      headers: { ...headers, 'content-length': body.byteLength },
      signal: AbortSignal.any([signal, late]),
    });
    request.on('error', (error) => {
      reject(late.aborted ? new Error(`no answer within ${this.#options.timeout} ms`) : error);
    });
    request.on('response', (response) => {
      const status = response.statusCode!;
      if (status >= 200 && status < 300) resolve(status);
      else reject(new Refused(status, retryAfterOf(response)));
      drain(response);
    });
    request.end(body);
    return promise;
  }

  close(): void {
    for (const agent of this.#agents.values()) agent.destroy();
  }
}

function drain(response: IncomingMessage): void {
  let read = 0;
  response.on('error', () => {});
  response.on('data', (chunk: Buffer) => {
    read += chunk.byteLength;
    if (read > answerLimit) response.destroy();
  });
}

/** `Retry-After` in seconds; a date there is passed over. */
function retryAfterOf(response: IncomingMessage): number | undefined {
  const text = response.headers['retry-after'];
  return text !== undefined && /^\d{1,6}$/.test(text) ? Number(text) * 1_000 : undefined;
}
