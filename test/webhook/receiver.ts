/** A receiver of webhooks on loopback that can be slow, refuse, be down and come back on the same port. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders, Server } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly event: { type: string; revision: number; timestamp: string; resource: string; object: any };
}

export interface Reply {
  status?: number;
  headers?: Record<string, string>;
  /** Waited for before the answer. */
  until?: Promise<unknown>;
}

export class Receiver {
  /** In the order of arrival, refused ones included. */
  readonly attempts: Received[] = [];
  readonly accepted: Received[] = [];
  /** Requests that are not answered yet, and the most there ever were at once for one object. */
  open = 0;
  mostOpen = 0;
  overlapped = false;
  reply: (received: Received) => Reply = () => ({});
  readonly #openObjects = new Set<string>();
  #server: Server | undefined;
  #port = 0;

  get url(): string {
    return `http://127.0.0.1:${this.#port}/hook`;
  }

  async start(): Promise<void> {
    const server = createServer(async (request, response) => {
      let body = '';
      for await (const chunk of request) body += chunk;
      const received: Received = { headers: request.headers, body, event: JSON.parse(body) };
      const object = `${received.event.resource}/${received.event.object?.metadata.name}`;
      this.overlapped ||= this.#openObjects.has(object);
      this.#openObjects.add(object);
      this.mostOpen = Math.max(this.mostOpen, ++this.open);
      this.attempts.push(received);
      const { status = 204, headers = {}, until } = this.reply(received);
      await until;
      this.#openObjects.delete(object);
      this.open--;
      if (response.destroyed) return;
      if (status < 300) this.accepted.push(received);
      response.writeHead(status, headers).end();
    });
    this.#server = server;
    await new Promise<void>((resolve) => server.listen(this.#port, '127.0.0.1', resolve));
    this.#port = (server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    server?.closeAllConnections();
    await new Promise((resolve) => (server ? server.close(resolve) : resolve(undefined)));
  }
}

/** As a receiver checks it, by the documentation alone. */
export function isSigned({ headers, body }: Received, key: Buffer): boolean {
  const content = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
  const expected = createHmac('sha256', key).update(content).digest();
  return String(headers['webhook-signature'])
    .split(' ')
    .some((signature) => {
      const [version, text = ''] = signature.split(',');
      const given = Buffer.from(text, 'base64');
      return version === 'v1' && given.length === expected.length && timingSafeEqual(given, expected);
    });
}
