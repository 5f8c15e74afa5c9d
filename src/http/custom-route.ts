/**
 * How a plugin writes routes of its own (specification, "Custom API"; contract section 10).
 *
 * Three words: a *route* is one method and path with its handler; a *router function* is what one endpoint gives,
 * paths still without prefix; a *group version* is the prefix.
 */
import type { ModelType } from '../model/define.ts';
import type { Identity } from '../resource/access.ts';
import { KindredError } from '../errors.ts';

/** The client that a route acts with; `ExtensionClient` of the package, kept open here so that `http/` needs no more of it. */
export interface CustomRequest<Client = any> {
  readonly method: string;
  readonly url: URL;
  readonly headers: Headers;
  /** Aborted when the client goes away or the time limit of the route is over. */
  readonly signal: AbortSignal;
  /** Values of `{name}` segments, decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** The parsed JSON body when there is one, else undefined; validated when the route declares a schema. */
  readonly body: any;
  /** The same request as a web-standard one, for streams and forms. */
  readonly web: globalThis.Request;
  readonly identity: Identity;
  /** Language of the request: `en` or `zh`. */
  readonly locale: string;
  /** Acts as the caller. */
  readonly client: Client;
}

/**
 * A returned value is sent as JSON with 200 (undefined: 204, a string: text/plain); a `Response` goes as it is;
 * a `ReadableStream` or an async iterable is streamed. A thrown `KindredError` becomes its problem document, any other error a 500.
 */
export type Handler = (request: CustomRequest) => unknown;

export type CustomMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface Parameter {
  name: string;
  in: 'query' | 'path' | 'header';
  /** Default false; a path parameter is always required. */
  required?: boolean;
  description?: string;
  /** JSON Schema; the text is converted by its `type` before it is checked, an array is one value for each time the parameter is given. */
  schema: object;
}

/** What the description of a route says. */
export interface OperationDescription {
  operationId?: string;
  description?: string;
  readonly tags: string[];
  readonly parameters: Parameter[];
  body?: { schema: object; description?: string; required: boolean };
  readonly responses: { status: number; schema: object | ModelType; description?: string }[];
}

/** One route of an endpoint; `path` without the prefix. */
export interface Route {
  readonly method: CustomMethod;
  readonly path: string;
  readonly handler: Handler;
  readonly operation: OperationDescription;
}

export interface RouterFunction {
  readonly routes: readonly Route[];
}

export interface CustomEndpoint {
  endpoint(): RouterFunction;
  groupVersion(): GroupVersion;
}

/** `<group>/<version>`, the prefix of a custom API below `/apis/`. */
export class GroupVersion {
  readonly group: string;
  readonly version: string;

  private constructor(group: string, version: string) {
    this.group = group;
    this.version = version;
  }

  /** Throws `InvalidPlugin` when the text is not `<group>/<version>` with a DNS sub-domain and a version such as `v1alpha1`. */
  static parse(_text: string): GroupVersion {
    throw new KindredError('InvalidPlugin', { en: '', zh: '' });
  }

  toString(): string {
    return `${this.group}/${this.version}`;
  }
}

export declare class OperationBuilder {
  /** Name of the operation in generated clients, recommended in capitalised camel case; letters, digits, `_ . -`. */
  operationId(id: string): this;
  description(text: string): this;
  /** Recommended form: `<Kind><Version><Scope>`, for example `PersonV1alpha1Console`. */
  tag(tag: string): this;
  parameter(parameter: Parameter): this;
  requestBody(schema: object, options?: { description?: string; required?: boolean }): this;
  response(schema: object | ModelType, options?: { status?: number; description?: string }): this;
}

export declare class RouteBuilder {
  GET(path: string, handler: Handler, describe?: (d: OperationBuilder) => void): this;
  POST(path: string, handler: Handler, describe?: (d: OperationBuilder) => void): this;
  PUT(path: string, handler: Handler, describe?: (d: OperationBuilder) => void): this;
  PATCH(path: string, handler: Handler, describe?: (d: OperationBuilder) => void): this;
  DELETE(path: string, handler: Handler, describe?: (d: OperationBuilder) => void): this;
  build(): RouterFunction;
}

export declare function route(): RouteBuilder;
