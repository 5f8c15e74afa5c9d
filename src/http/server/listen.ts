/** The listening socket: what is answered before there is a request, and how it stops. */
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { KindredError } from '../../errors.ts';
import { http } from '../../runtime/node-http.ts';
import type { AnswerQueue } from './answer-queue.ts';
import type { HttpLimits } from './limits.ts';
import {
  headersTooLarge,
  malformedRequest,
  methodNotAllowed,
  problemBytes,
  requestTimeout,
  urlTooLong,
} from './problem.ts';

export interface Address {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
}

/** Rejects with the system's error when the address cannot be used. */
export async function listen(
  server: Server,
  { host, port }: Address,
  scheme: 'http' | 'https',
): Promise<{ url: string }> {
  server.listen({ host, port });
  await once(server, 'listening');
  const address = server.address() as AddressInfo;
  const name = host.includes(':') ? `[${host}]` : host;
  return { url: `${scheme}://${name}:${address.port}` };
}

/** Milliseconds between looks for connections that became idle during a stop. */
const idleCheck = 50;

/**
 * Stops accepting, lets requests under way finish for at most `timeout` milliseconds, then closes what is left.
 * @param closeAll closes every connection, those too on which no request can begin yet
 */
export async function stop(server: Server, timeout: number, closeAll: () => void): Promise<void> {
  const idle = setInterval(() => server.closeIdleConnections(), idleCheck);
  const end = setTimeout(closeAll, timeout);
  // A server that never listened is closed already, which `close` calls an error.
  await new Promise<void>((resolve) => server.close(() => resolve()));
  clearInterval(idle);
  clearTimeout(end);
}

export interface ConnectionDependencies {
  readonly limits: HttpLimits;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly makeId: () => string;
  readonly answers: AnswerQueue;
}

/** What Node's parser reports with `clientError`. */
type ParserError = Error & { code?: string; reason?: string; rawPacket?: unknown };

/** Answers what never becomes a request with problem documents too: malformed, too large, too slow, CONNECT. */
export function clientErrorHandler(parts: ConnectionDependencies): (error: ParserError, socket: Socket) => void {
  return (error, socket) => {
    // What came before the bad bytes on the same connection has its answer.
    parts.answers.flush();
    const inAnswer = (socket as Socket & { _httpMessage?: { headersSent: boolean } })._httpMessage?.headersSent;
    if (error.code === 'ECONNRESET' || !socket.writable || inAnswer) socket.destroy();
    else refuse(socket, clientError(error, parts.limits), parts);
  };
}

/** CONNECT has no path that could be routed, and Node does not make a request with an answer of it. */
export function refuseConnect(server: Server, parts: ConnectionDependencies): void {
  server.on('connect', (request, socket) => {
    refuse(
      socket as Socket,
      methodNotAllowed('CONNECT', request.url ?? '', ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']),
      parts,
    );
  });
  // RFC 9110, section 10.1.1: an expectation that is not known may be passed over; Node would answer 417 without a body.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
}

function clientError(error: ParserError, limits: HttpLimits): KindredError {
  if (error.code === 'HPE_HEADER_OVERFLOW') {
    return isRequestLine(error.rawPacket) ? urlTooLong(limits.url) : headersTooLarge(limits.headers);
  }
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return requestTimeout(limits.headersTimeout);
  return malformedRequest(error.reason ?? error.message);
}

/** Whether the bytes begin a request whose first line does not end. */
function isRequestLine(packet: unknown): boolean {
  if (!Buffer.isBuffer(packet)) return false;
  const space = packet.indexOf(0x20);
  return http.METHODS.includes(packet.toString('latin1', 0, Math.max(space, 0))) && !packet.includes(0x0a);
}

function refuse(socket: Socket, error: KindredError, { now, makeId }: ConnectionDependencies): void {
  const requestId = makeId();
  const body = problemBytes(error, { instance: '', requestId, time: now(), locale: 'en' });
  const head = [
    `HTTP/1.1 ${error.status} ${http.STATUS_CODES[error.status]}`,
    'Content-Type: application/problem+json',
    'Content-Language: en',
    `Content-Length: ${body.length}`,
    `X-Request-Id: ${requestId}`,
    'X-Content-Type-Options: nosniff',
    ...Object.entries({ ...error.headers, Connection: 'close' }).map(([name, value]) => `${name}: ${value}`),
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  socket.end(body);
  // What the client still sends is dropped for a moment, or the reset would overtake the answer.
  const timer = setTimeout(() => socket.destroy(), 1_000);
  socket.once('close', () => clearTimeout(timer));
  socket.on('error', () => {});
  socket.resume();
}
