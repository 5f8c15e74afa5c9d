/** Sends requests from a thread of its own, so that this thread's processor time is the service's alone. */
import { once } from 'node:events';
import type { Agent, IncomingHttpHeaders } from 'node:http';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

export interface RemoteRequest {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The answer is cut when its body has this text: for those that never end. */
  readonly until?: string;
}

export interface RemoteReply {
  /** 0: no answer. */
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The beginning of the body, see `kept`. */
  readonly text: string;
  /** Bytes of the body. */
  readonly length: number;
}

/** Bytes of a body that a reply has. */
const kept = 1024 * 1024;

export class Remote {
  readonly #worker: Worker;
  readonly #waiting: ((replies: readonly RemoteReply[]) => void)[] = [];

  constructor(url: string) {
    this.#worker = new Worker(new URL(import.meta.url), { workerData: { url } });
    this.#worker.on('message', (replies: readonly RemoteReply[]) => this.#waiting.shift()!(replies));
  }

  /** All at once; resolves when all are answered. */
  send(requests: readonly RemoteRequest[]): Promise<readonly RemoteReply[]> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#worker.postMessage(requests);
    });
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }
}

if (!isMainThread && parentPort && (workerData as { url?: string } | null)?.url) {
  const http = await import('node:http');
  const { url } = workerData as { url: string };
  const agent = new http.Agent({ keepAlive: true });
  const port = parentPort;
  let earlier: Promise<unknown> = Promise.resolve();
  port.on('message', (requests: readonly RemoteRequest[]) => {
    earlier = earlier.then(async () => {
      port.postMessage(await Promise.all(requests.map((one) => answerOf(http, agent, url, one))));
    });
  });
}

async function answerOf(
  http: typeof import('node:http'),
  agent: Agent,
  url: string,
  { method = 'GET', path, headers = {}, body, until }: RemoteRequest,
): Promise<RemoteReply> {
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  try {
    const request = http.request(`${url}${path}`, { method, agent, headers: { ...length, ...headers } });
    request.end(body);
    const [response] = (await once(request, 'response')) as [import('node:http').IncomingMessage];
    const chunks: Buffer[] = [];
    let bytes = 0;
    let last = '';
    for await (const chunk of response as AsyncIterable<Buffer>) {
      if (bytes < kept) chunks.push(chunk);
      bytes += chunk.length;
      if (until === undefined) continue;
      last = last.slice(-until.length) + chunk.toString('latin1');
      if (last.includes(until)) break;
    }
    const text = Buffer.concat(chunks).toString('utf8');
    return { status: response.statusCode!, headers: response.headers, text, length: bytes };
  } catch (error) {
    return { status: 0, headers: {}, text: String(error), length: 0 };
  }
}
