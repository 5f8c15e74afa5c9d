/** API cases are records; this runs them against a service of their own, over a real socket. */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { Type } from 'typebox';
import { defineModel } from '../../src/model/define.ts';
import type { ServiceOptions } from '../../src/options.ts';
import type { Service } from '../../src/service.ts';
import { createService } from '../../src/service.ts';
import type { ExpectedResponse, Scenario } from '../../src/testing/scenario.ts';
import { assertReply, runScenario } from '../../src/testing/scenario.ts';
import { LiveConformance } from '../openapi/conformance.ts';
import type { TestDatabase } from '../servers.ts';
import { databaseAdapters } from '../servers.ts';
import { assertTurns, LoopGuard } from './loop-guard.ts';

export const Person = defineModel({
  gvk: { group: 'demo.example.com', version: 'v1alpha1', kind: 'Person', singular: 'person', plural: 'persons' },
  spec: Type.Object({
    name: Type.String({ minLength: 1, maxLength: 60 }),
    age: Type.Optional(Type.Integer({ minimum: 0, maximum: 150 })),
    gender: Type.Optional(Type.Enum(['MALE', 'FEMALE'])),
    email: Type.Optional(Type.String({ format: 'email' })),
    born: Type.Optional(Type.String({ format: 'date-time' })),
    active: Type.Optional(Type.Boolean()),
    tags: Type.Optional(Type.Array(Type.String())),
    address: Type.Optional(
      Type.Object({ city: Type.String(), zip: Type.Optional(Type.String({ pattern: '^[0-9]{5}$' })) }),
    ),
    country: Type.Optional(Type.String({ default: 'nowhere' })),
  }),
  status: Type.Object({ phase: Type.Optional(Type.String()) }),
  indexes: (index) => [
    index.single('spec.name', String, (p) => p.spec.name, { unique: true }),
    index.single('spec.age', Number, (p) => p.spec.age, { order: 'DESC' }),
    index.single('spec.born', Date, (p) => p.spec.born),
    index.single('spec.active', Boolean, (p) => p.spec.active),
    index.multi('spec.tags', String, (p) => p.spec.tags),
  ],
});

export const Job = defineModel({
  gvk: { group: 'demo.example.com', version: 'v1alpha1', kind: 'Job', singular: 'job', plural: 'jobs' },
  spec: Type.Object({ command: Type.String() }),
  status: Type.Object({ phase: Type.Optional(Type.String()), tries: Type.Optional(Type.Integer()) }),
  subresources: { status: true },
});

/** In the service's own, empty group. */
export const Note = defineModel({
  gvk: { group: '', version: 'v1alpha1', kind: 'Note', singular: 'note', plural: 'notes' },
  schema: Type.Object({ text: Type.String(), extra: Type.Optional(Type.Unknown()) }),
});

export const persons = '/apis/demo.example.com/v1alpha1/persons';
export const jobs = '/apis/demo.example.com/v1alpha1/jobs';
export const notes = '/api/v1alpha1/notes';

export interface Request {
  /** GET unless there is a body, then POST. */
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object or list is sent as JSON, a text or bytes as they are; a function gives a stream, sent in chunks. */
  readonly body?: unknown;
}

export interface Expectation extends ExpectedResponse {
  /** `Kindred-Revision`, counted from the start of the service. */
  readonly revision?: number;
  /** For lists: `metadata.name` of the items, in order. */
  readonly names?: readonly string[];
}

/** Cases of one group run in order against one service: what one changes the next sees. */
export interface ApiCase extends Omit<Scenario, 'request'>, Expectation {
  readonly request: Request;
}

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The parsed body; undefined when it is no JSON. */
  readonly json: any;
}

/** The body, as it arrives. */
async function bytesOf(response: Response): Promise<Uint8Array[]> {
  const parts: Uint8Array[] = [];
  for await (const part of response.body ?? []) parts.push(part);
  return parts;
}

/** Of this process, in which the services under test run. */
const guard = new LoopGuard();

export class Api {
  readonly options: ServiceOptions;
  /** Every exchange of `send` is compared with the API description. */
  readonly #conformance = new LiveConformance(async () => {
    const url = `${this.url}/v3/api-docs/apis_aggregated.api_v1alpha1`;
    const headers = new Headers(this.token === undefined ? [] : [['authorization', `Bearer ${this.token}`]]);
    const response = await fetch(url, { headers }).catch(() => undefined);
    return response?.status === 200 ? ((await response.json()) as object) : undefined;
  });
  #service: Service | undefined;
  url = '';
  /** Of the administrator, with authentication. */
  token: string | undefined;
  /** Newest revision after the start: the service has written objects of its own by then. */
  firstRevision = 0;

  constructor(options: ServiceOptions = {}) {
    this.options = options;
  }

  get service(): Service {
    return this.#service!;
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  async start(register: (service: Service) => void = registerAll): Promise<void> {
    this.#service = await createService({ database: 'sqlite::memory:', port: 0, auth: false, ...this.options });
    register(this.#service);
    const { url, administratorToken } = await this.#service.start();
    this.url = url;
    this.token = administratorToken;
    // What is loaded for the first request is not measured.
    await (await fetch(`${url}/livez`)).text();
    const headers: Record<string, string> = administratorToken ? { authorization: `Bearer ${administratorToken}` } : {};
    const reply = await this.send({ path: '/api/v1alpha1/roles?size=1', headers });
    this.firstRevision = Number(reply.headers.get('kindred-revision'));
  }

  async stop(): Promise<void> {
    await this.#service?.stop();
  }

  fetch(request: Request): Promise<Response> {
    const { method, headers, body } = sentAs(request);
    return fetch(this.url + request.path, {
      method,
      headers,
      ...(body !== undefined && { body: body as string, duplex: 'half' }),
    });
  }

  /** Fails when the request holds the event loop for too long; one that only reads is tried again then. */
  async send(request: Request): Promise<Reply> {
    const { method, headers, body } = sentAs(request);
    guard.take();
    const response = await this.fetch(request);
    const bytes = await bytesOf(response);
    // Joining and decoding what came is the client's work.
    const longest = guard.take();
    const text = new TextDecoder().decode(Buffer.concat(bytes));
    await assertTurns(`${method} ${request.path.slice(0, 200)}`, longest, async () => {
      if (method !== 'GET' && method !== 'HEAD') return longest;
      guard.take();
      await bytesOf(await this.fetch(request));
      return guard.take();
    });
    if (!(body instanceof ReadableStream)) {
      const problems = await this.#conformance.check({
        method,
        path: request.path,
        requestHeaders: Object.entries(headers),
        requestBody: body,
        status: response.status,
        headers: [...response.headers],
        body: text,
      });
      assert.deepEqual(problems, []);
    }
    let json: unknown;
    try {
      json = JSON.parse(text);
    } catch {
      json = undefined;
    }
    return { status: response.status, headers: response.headers, text, json };
  }

  /** Writes bytes to a socket of its own and reads until the service closes it; functions are waited for, and given what came so far. */
  raw(...parts: readonly (string | Uint8Array | ((received: () => string) => Promise<unknown>))[]): Promise<string> {
    return new Promise((resolve, reject) => {
      const socket = connect(this.port, '127.0.0.1');
      let text = '';
      socket.on('data', (chunk) => {
        text += chunk.toString('latin1');
      });
      socket.on('close', () => resolve(text));
      socket.on('error', (error: NodeJS.ErrnoException) => (text === '' ? reject(error) : resolve(text)));
      void (async () => {
        for (const part of parts) {
          if (typeof part === 'function') await part(() => text);
          else if (!socket.destroyed) socket.write(part);
        }
      })();
    });
  }
}

/** Method, headers and body as they go over the wire. */
function sentAs({ method, headers = {}, body: given }: Request) {
  const body: unknown = typeof given === 'function' ? given() : given;
  const raw = typeof body === 'string' || body instanceof Uint8Array || body instanceof ReadableStream;
  const type =
    method === 'PATCH'
      ? Array.isArray(body)
        ? 'application/json-patch+json'
        : 'application/merge-patch+json'
      : 'application/json';
  return {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers: { ...(body !== undefined && { 'content-type': type }), ...headers },
    body: raw || body === undefined ? body : JSON.stringify(body),
  };
}

function registerAll({ schemeManager }: Service): void {
  for (const model of [Person, Job, Note]) schemeManager.register(model);
}

/** A service for the tests of one `describe`. */
export function withApi(options: ServiceOptions = {}, register?: (service: Service) => void): Api {
  const api = new Api(options);
  before(() => api.start(register));
  after(() => api.stop());
  return api;
}

const adapters = databaseAdapters();

/** One test for each case, on every kind of database. */
export function runCases(title: string, cases: readonly ApiCase[], prepare: readonly Request[] = []): void {
  for (const adapter of adapters) {
    describe(`${title}, on ${adapter.name}`, () => {
      let database: TestDatabase;
      let api: Api;
      before(async () => {
        database = await adapter.create();
        api = new Api({ database: database.url });
        await api.start();
        for (const request of prepare) {
          const reply = await api.send(request);
          assert.ok(reply.status < 300, `${JSON.stringify(request)}: ${reply.text}`);
        }
      });
      after(async () => {
        await api.stop();
        await database.drop();
      });
      for (const one of cases) {
        test(one.name, async () => {
          const replies: Reply[] = [];
          const harness = {
            async fetch(path: string, request?: object): Promise<Response> {
              const reply = await api.send({ ...request, path });
              checkForm(reply);
              replies.push(reply);
              return new Response(reply.text === '' ? null : reply.text, reply);
            },
          };
          await runScenario(harness, one as Scenario);
          checkMore(replies[0]!, one, api);
        });
      }
    });
  }
}

export function check(reply: Reply, expectation: Expectation, api?: Api): void {
  checkForm(reply);
  assertReply(reply, expectation);
  checkMore(reply, expectation, api);
}

function checkMore(reply: Reply, { names, revision }: Expectation, api?: Api): void {
  if (revision !== undefined) {
    assert.equal(Number(reply.headers.get('kindred-revision')), api!.firstRevision + revision, 'Kindred-Revision');
  }
  if (names)
    assert.deepEqual(
      reply.json?.items?.map((item: any) => item.metadata.name),
      names,
      reply.text.slice(0, 2000),
    );
}

/** What every response has. */
function checkForm(reply: Reply): void {
  assert.match(reply.headers.get('x-request-id') ?? '', /^[A-Za-z0-9._-]{1,128}$/);
  if (reply.status >= 400) checkProblem(reply);
}

/** docs/reference/errors.md: what every failure has. */
function checkProblem({ status, headers, json, text }: Reply): void {
  assert.equal(headers.get('content-type'), 'application/problem+json');
  assert.match(headers.get('content-language') ?? '', /^(en|zh)$/);
  if (text === '') return;
  assert.equal(json.status, status);
  for (const member of ['type', 'title', 'detail', 'instance', 'code', 'requestId', 'timestamp']) {
    assert.equal(typeof json[member], 'string', `${member} of ${text}`);
  }
  assert.match(json.code, /^[A-Z][A-Za-z]+$/);
  assert.equal(json.requestId, headers.get('x-request-id'));
  assert.match(json.timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
}

/** A valid person; `spec` is added to. */
export function person(name: string, spec: object = {}, metadata: object = {}): object {
  return { metadata: { name, ...metadata }, spec: { name: `Name of ${name}`, ...spec } };
}
