/** One request to a replica, by `node:http`: with `fetch`, a history takes about a tenth more processor time. */
import type { Agent } from 'node:http';
import { request as send } from 'node:http';

export interface Answer {
  readonly status: number;
  readonly revision: number | undefined;
  readonly body: unknown;
}

export class Broken extends Error {
  /** False when the service cannot have seen the request. */
  readonly isSent: boolean;

  constructor(isSent: boolean, cause: unknown) {
    super('the connection broke', { cause });
    this.isSent = isSent;
  }
}

/** Milliseconds; longer than any pause and than the service's own limits. */
export const timeout = 20_000;

/** @throws Broken when the connection breaks, or nothing is heard for `milliseconds` */
export function call(
  agent: Agent,
  port: number,
  method: string,
  path: string,
  body?: unknown,
  milliseconds = timeout,
): Promise<Answer> {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  return new Promise((resolve, reject) => {
    const headers = text === undefined ? {} : { 'content-type': type, 'content-length': Buffer.byteLength(text) };
    const request = send(
      { agent, host: '127.0.0.1', port, method, path, headers, timeout: milliseconds },
      (response) => {
        const parts: Buffer[] = [];
        response.on('data', (part: Buffer) => parts.push(part));
        response.once('error', (error) => reject(new Broken(true, error)));
        response.once('end', () => {
          const revision = response.headers['kindred-revision'];
          const status = response.statusCode!;
          try {
            const answered = JSON.parse(Buffer.concat(parts).toString()) as unknown;
            resolve({ status, revision: revision === undefined ? undefined : Number(revision), body: answered });
          } catch (error) {
            reject(new Broken(true, error));
          }
        });
      },
    );
    request.once('timeout', () => request.destroy(new Error('no answer in time')));
    request.once('error', (error: NodeJS.ErrnoException) => {
      reject(new Broken(error.code !== 'ECONNREFUSED', error));
    });
    request.end(text);
  });
}
