/** A reader of one watch over HTTP, as a client would be: it can stop reading, and go away. */
import type { IncomingMessage } from 'node:http';
import { Agent, get } from 'node:http';
import { until } from 'kindred/testing';

export interface StreamEvent {
  type: string;
  revision: number;
  object?: any;
  initial?: true;
  error?: any;
  /** `id` of a server-sent event. */
  id?: string;
}

export interface StreamOptions {
  sse?: boolean;
  headers?: Readonly<Record<string, string>>;
}

/** Frames of server-sent events or lines, as they come. */
export class Frames {
  readonly #sse: boolean;
  #rest = '';

  constructor(sse: boolean) {
    this.#sse = sse;
  }

  take(text: string): StreamEvent[] {
    // A large frame comes in many pieces.
    if (!text.includes('\n')) {
      this.#rest += text;
      return [];
    }
    const parts = (this.#rest + text).split(this.#sse ? '\n\n' : '\n');
    this.#rest = parts.pop()!;
    return parts.map((part) => (this.#sse ? fromFrame(part) : (JSON.parse(part) as StreamEvent)));
  }
}

function fromFrame(frame: string): StreamEvent {
  const fields = new Map(
    frame.split('\n').map((line) => [line.slice(0, line.indexOf(': ')), line.slice(line.indexOf(': ') + 2)]),
  );
  const event = JSON.parse(fields.get('data')!) as StreamEvent;
  if (fields.get('event') !== event.type) throw new Error(`the frame is not of its type: ${frame}`);
  const id = fields.get('id');
  return id === undefined ? event : { ...event, id };
}

export class Stream {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly events: StreamEvent[] = [];
  /** What came as it came. */
  text = '';
  /** The service ended the stream as it should: `end`; else the error. */
  ended: 'end' | Error | undefined;
  readonly #response: IncomingMessage;

  private constructor(response: IncomingMessage, sse: boolean) {
    this.#response = response;
    this.status = response.statusCode!;
    this.headers = response.headers;
    const frames = new Frames(sse);
    response.setEncoding('utf8');
    response.on('data', (chunk: string) => {
      this.text += chunk;
      if (this.status === 200) this.events.push(...frames.take(chunk));
    });
    response.on('end', () => {
      this.ended = 'end';
    });
    response.on('error', (error) => {
      this.ended ??= error;
    });
  }

  /** Resolves with the head. */
  static open(url: string, { sse = false, headers = {} }: StreamOptions = {}): Promise<Stream> {
    return new Promise((resolve, reject) => {
      const accept = sse ? 'text/event-stream' : 'application/x-ndjson';
      const request = get(url, { agent: new Agent(), headers: { accept, ...headers } });
      request.on('error', reject);
      request.on('response', (response) => resolve(new Stream(response, sse)));
    });
  }

  /** All events but bookmarks, once there are so many. */
  async changes(count: number): Promise<StreamEvent[]> {
    const list = () => this.events.filter(({ type }) => type !== 'BOOKMARK');
    await until(() => list().length >= count || this.ended !== undefined);
    if (list().length < count) throw new Error(`the stream ended after ${list().length} of ${count}: ${this.text}`);
    return list();
  }

  async bookmark(reaches: (event: StreamEvent) => boolean = () => true): Promise<StreamEvent> {
    const find = () => this.events.find((event) => event.type === 'BOOKMARK' && reaches(event));
    await until(() => find() !== undefined || this.ended !== undefined);
    return find()!;
  }

  /** The last event of a stream that the service ended. */
  async last(): Promise<StreamEvent> {
    await until(() => this.ended !== undefined, { timeout: 30_000 });
    if (this.ended !== 'end') throw this.ended;
    return this.events.at(-1)!;
  }

  pause(): void {
    this.#response.pause();
  }

  resume(): void {
    this.#response.resume();
  }

  close(): void {
    this.#response.destroy();
  }
}
