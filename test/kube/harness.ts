/** A service with models of both scopes, and requests to it as Kubernetes clients send them. */
import { Type } from 'typebox';
import { defineModel } from '../../src/model/define.ts';
import type { ServiceOptions } from '../../src/options.ts';
import type { Service } from '../../src/service.ts';
import { createService } from '../../src/service.ts';

/** Cluster-scoped, with the rules of the service. */
export const Gadget = defineModel({
  gvk: { group: 'shop.example.com', version: 'v1', kind: 'Gadget', singular: 'gadget', plural: 'gadgets' },
  spec: Type.Object({
    color: Type.Optional(Type.String({ pattern: '^[a-z]*$' })),
    size: Type.Optional(Type.Integer({ minimum: 0, maximum: 100 })),
    serial: Type.Optional(Type.String()),
    note: Type.Optional(Type.String()),
    ports: Type.Optional(Type.Array(Type.Object({ name: Type.String(), port: Type.Integer() }))),
  }),
  indexes: (index) => [
    index.single('spec.color', String, (gadget) => gadget.spec.color),
    index.single('spec.size', Number, (gadget) => gadget.spec.size),
    index.single('spec.serial', String, (gadget) => gadget.spec.serial, { unique: true }),
  ],
});

/** Namespaced, with everything that clients of Kubernetes know. */
export const Widget = defineModel({
  gvk: { group: 'shop.example.com', version: 'v1', kind: 'Widget', singular: 'widget', plural: 'widgets' },
  scope: 'Namespaced',
  naming: 'kubernetes',
  shortNames: ['wd'],
  categories: ['all'],
  spec: Type.Object({ replicas: Type.Optional(Type.Integer({ minimum: 0 })), color: Type.Optional(Type.String()) }),
  status: Type.Object({
    replicas: Type.Optional(Type.Integer()),
    selector: Type.Optional(Type.String()),
    conditions: Type.Optional(Type.Array(Type.Object({ type: Type.String(), status: Type.String() }))),
  }),
  subresources: {
    status: true,
    scale: {
      specReplicasPath: '.spec.replicas',
      statusReplicasPath: '.status.replicas',
      labelSelectorPath: '.status.selector',
    },
  },
  columns: [
    { name: 'Replicas', type: 'integer', path: '.spec.replicas' },
    { name: 'Ready', type: 'string', path: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'Color', type: 'string', path: '.spec.color', priority: 1 },
  ],
  indexes: (index) => [index.single('spec.color', String, (widget) => widget.spec?.color)],
});

export const gadgets = '/apis/shop.example.com/v1/gadgets';
export const widgets = '/apis/shop.example.com/v1/namespaces/default/widgets';
export const allWidgets = '/apis/shop.example.com/v1/widgets';

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The parsed body; undefined when it is no JSON. */
  readonly json: any;
}

export interface Call {
  /** GET unless there is a body, then POST. */
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON, a text as it is. */
  readonly body?: unknown;
}

export class Facade {
  readonly options: ServiceOptions;
  service!: Service;
  url = '';
  token: string | undefined;

  constructor(options: ServiceOptions = {}) {
    this.options = options;
  }

  async start(): Promise<void> {
    this.service = await createService({ database: 'sqlite::memory:', port: 0, auth: false, ...this.options });
    this.service.schemeManager.register(Gadget);
    this.service.schemeManager.register(Widget);
    const { url, administratorToken } = await this.service.start();
    this.url = url;
    this.token = administratorToken;
  }

  stop(): Promise<void> {
    return this.service.stop();
  }

  /** @param path behind the prefix */
  kube(path: string, call: Call = {}): Promise<Reply> {
    return this.send(`/kube${path}`, call);
  }

  async send(path: string, { method, headers = {}, body }: Call = {}): Promise<Reply> {
    const isText = typeof body === 'string';
    const response = await fetch(`${this.url}${path}`, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers: {
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(this.token !== undefined && { authorization: `Bearer ${this.token}` }),
        ...headers,
      },
      ...(body !== undefined && { body: isText ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, json: parsed(text) };
  }

  /** The events of a watch as they come. */
  async watch(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Stream> {
    const abort = new AbortController();
    const response = await fetch(`${this.url}/kube${path}`, { headers, signal: abort.signal });
    return new Stream(response, abort);
  }
}

export class Stream {
  readonly status: number;
  readonly type: string | null;
  readonly events: any[] = [];
  /** Blank lines. */
  blank = 0;
  /** Resolves when the service ends it. */
  readonly ended: Promise<void>;
  readonly #abort: AbortController;

  constructor(response: Response, abort: AbortController) {
    this.status = response.status;
    this.type = response.headers.get('content-type');
    this.#abort = abort;
    this.ended = this.#read(response).catch(() => {});
  }

  close(): void {
    this.#abort.abort();
  }

  /** Types and names, in order. */
  get told(): string[] {
    return this.events.map(({ type, object }) => `${type} ${object.metadata?.name ?? ''}`.trim());
  }

  async #read(response: Response): Promise<void> {
    const decoder = new TextDecoder();
    let text = '';
    for await (const chunk of response.body!) {
      text += decoder.decode(chunk as Uint8Array, { stream: true });
      const lines = text.split('\n');
      text = lines.pop()!;
      for (const line of lines) {
        if (line === '') this.blank++;
        else this.events.push(JSON.parse(line));
      }
    }
  }
}

function parsed(text: string): any {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
