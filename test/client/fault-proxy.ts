/** A proxy in front of a service that does to chosen requests what proxies and networks do: refuse, delay, cut, lose answers. */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Agent, createServer, request as requestTo } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout } from 'node:timers/promises';

export type Fault =
  /** Answered here; the service sees nothing of it. `problem`: with the document that the service itself would send. */
  | { kind: 'refuse'; status: 429 | 500 | 502 | 503 | 504; retryAfter?: string; problem?: boolean }
  /** The service does the work, and its answer is replaced. */
  | { kind: 'hide'; status: 502 | 503 | 504 }
  /** The connection breaks before the service sees the request. */
  | { kind: 'cutBefore' }
  /** The service gets the first `part` of the body (0 to 1), then both connections break. */
  | { kind: 'cutRequest'; part: number }
  /** The service does the work; the client gets the first `part` of the answer, then its connection breaks. */
  | { kind: 'cutAnswer'; part: number }
  /** The client gets the first `part` of the answer, cut at a line, as if that were all. */
  | { kind: 'truncate'; part: number }
  /** Bulk only: the lines for which this is true never reach the service and are answered NotReady or TooManyRequests. */
  | { kind: 'refuseLines'; status: 429 | 503; of: (index: number) => boolean }
  /** Bulk only: the service does the work, and these lines are answered UnknownOutcome. */
  | { kind: 'hideLines'; of: (index: number) => boolean }
  | { kind: 'delay'; milliseconds: number }
  /** The service restarts: every connection breaks, and new ones are refused for a while. */
  | { kind: 'away'; milliseconds: number };

export interface ProxiedRequest {
  readonly method: string;
  readonly path: string;
  readonly isBulk: boolean;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

export interface FaultProxy {
  readonly url: string;
  /** Requests that were passed on or refused so far. */
  readonly requests: readonly ProxiedRequest[];
  close(): Promise<void>;
}

const ndjson = 'application/x-ndjson';
const codes: Readonly<Record<number, string>> = { 429: 'TooManyRequests', 503: 'NotReady', 504: 'UnknownOutcome' };

/** @param faultOf what happens to a request; undefined: it is passed on and answered. A promise holds the request back. */
export async function startFaultProxy(
  target: string,
  faultOf: (request: ProxiedRequest) => Fault | undefined | Promise<Fault | undefined>,
): Promise<FaultProxy> {
  const requests: ProxiedRequest[] = [];
  const agent = new Agent({ keepAlive: true });
  const closed = new AbortController();
  const server = createServer((incoming, response) => {
    serve(incoming, response).catch(() => response.destroy());
  });
  const serve = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await bytesOf(incoming);
    const isBulk = incoming.method === 'POST' && incoming.headers['content-type'] === ndjson;
    const seen = { method: incoming.method!, path: incoming.url!, isBulk, headers: incoming.headers, body };
    requests.push(seen);
    const fault = await faultOf(seen);
    if (fault?.kind === 'cutBefore') return void incoming.socket.destroy();
    if (fault?.kind === 'refuse') return refuse(response, fault);
    if (fault?.kind === 'away') return away(fault.milliseconds);
    if (fault?.kind === 'cutRequest') {
      await sendPart(target, incoming, body.subarray(0, Math.floor(body.length * fault.part)));
      return void incoming.socket.destroy();
    }
    if (fault?.kind === 'delay') await setTimeout(fault.milliseconds, undefined, { signal: closed.signal });
    const lines = linesOf(body);
    const sent =
      fault?.kind === 'refuseLines'
        ? Buffer.from(
            lines
              .filter((_, i) => !fault.of(i))
              .map((one) => `${one}\n`)
              .join(''),
          )
        : body;
    const answer = await pass(target, incoming, sent, agent);
    if (fault?.kind === 'hide') return refuse(response, { kind: 'refuse', status: fault.status });
    const passed = linesOf(answer.body);
    if (fault?.kind === 'truncate') answer.body = joined(passed.slice(0, Math.floor(passed.length * fault.part)));
    if (fault?.kind === 'refuseLines') {
      answer.body = joined(lines.map((_, i) => (fault.of(i) ? problemLine(fault.status) : passed.shift()!)));
    }
    if (fault?.kind === 'hideLines')
      answer.body = joined(passed.map((one, i) => (fault.of(i) ? problemLine(504) : one)));
    response.writeHead(answer.status, answer.headers);
    if (fault?.kind !== 'cutAnswer') return void response.end(answer.body);
    response.flushHeaders();
    const part = answer.body.subarray(0, Math.floor(answer.body.length * fault.part));
    response.write(part, () => setImmediate(() => incoming.socket.destroy()));
  };
  const listen = (port: number) => new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  let absence: Promise<void> | undefined;
  const away = async (milliseconds: number): Promise<void> => {
    absence ??= (async () => {
      server.close();
      server.closeAllConnections();
      await setTimeout(milliseconds);
      await listen(port);
      absence = undefined;
    })();
    await absence;
  };
  await listen(0);
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    close: async () => {
      closed.abort();
      await absence;
      agent.destroy();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

async function bytesOf(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function linesOf(body: Buffer): string[] {
  return body
    .toString()
    .split('\n')
    .filter((line) => line !== '');
}

function joined(lines: readonly string[]): Buffer {
  return Buffer.from(lines.map((line) => `${line}\n`).join(''));
}

function problemLine(status: number): string {
  return JSON.stringify({
    type: 'about:blank',
    title: 'x',
    status,
    detail: `line answered ${status}`,
    code: codes[status],
  });
}

function refuse(response: ServerResponse, { status, retryAfter, problem }: Extract<Fault, { kind: 'refuse' }>): void {
  const type = problem ? 'application/problem+json' : 'text/plain';
  response.writeHead(status, { 'content-type': type, ...(retryAfter !== undefined && { 'retry-after': retryAfter }) });
  response.end(problem ? problemLine(status) : `proxy says ${status}`);
}

function headersOf(incoming: IncomingMessage): Record<string, string | string[]> {
  const { host: _host, connection: _connection, ...headers } = incoming.headers;
  return headers as Record<string, string | string[]>;
}

async function pass(
  target: string,
  incoming: IncomingMessage,
  body: Buffer,
  agent: Agent,
): Promise<{ status: number; headers: Record<string, string>; body: Buffer }> {
  const { 'transfer-encoding': _encoding, ...headers } = headersOf(incoming);
  const outgoing = requestTo(new URL(incoming.url!, target), {
    method: incoming.method!,
    headers: { ...headers, 'content-length': String(body.length) },
    agent,
  });
  outgoing.end(body);
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
  const kept = Object.entries(answer.headers).filter(([name]) => !hopByHop.has(name)) as [string, string][];
  return { status: answer.statusCode!, headers: Object.fromEntries(kept), body: await bytesOf(answer) };
}

const hopByHop = new Set(['connection', 'keep-alive', 'transfer-encoding', 'content-length']);

/** Sends the head and some of the body, waits until the service has had it for a moment, and breaks off. */
async function sendPart(target: string, incoming: IncomingMessage, part: Buffer): Promise<void> {
  const outgoing = requestTo(new URL(incoming.url!, target), {
    method: incoming.method!,
    headers: headersOf(incoming),
    agent: false,
  });
  outgoing.on('error', () => {});
  outgoing.on('response', (answer) => answer.on('error', () => {}).resume());
  outgoing.write(part);
  await setTimeout(10);
  outgoing.destroy();
}
