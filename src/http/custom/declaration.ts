/**
 * How a plugin writes routes of its own (specification, "Custom API"; docs/reference/custom-routes.md).
 *
 * Three words: a *route* is one method and path with its handler; a *router function* is what one endpoint gives, its
 * paths still without the prefix; a *group version* is that prefix.
 */

import { KindredError } from '../../errors.ts';
import { localized } from '../../locales/localized.ts';
import { isVersion } from '../../model/gvk.ts';
import type { ModelType } from '../../model/model-type.ts';
import type { DisplayText } from '../../model/presentation.ts';
import type { Identity } from '../../resource/access.ts';
import type { ExtensionClient } from '../../resource/extension-client.ts';

/** What a handler gets. */
export interface CustomRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Headers;
  /** Aborted when the client goes away or the route's time limit is over. */
  readonly signal: AbortSignal;
  /** Values of the `{name}` segments, decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /**
   * Values of the declared parameters by name, as their schemas have them: a number for an integer, a list for an array, the
   * `default` where none was given. Where two have one name, that of the path.
   */
  readonly parameters: Readonly<Record<string, any>>;
  /** The parsed JSON body when there is one, else undefined; validated when the route declares a schema. */
  readonly body: any;
  /** The same request as a web-standard one, for streams and forms. */
  readonly web: globalThis.Request;
  /** The caller. */
  readonly identity: Identity;
  /** Language of the request: `en` or `zh`. */
  readonly locale: string;
  /** Acts as the caller. */
  readonly client: ExtensionClient;
}

/**
 * What it returns is sent: undefined as 204, a string as text/plain, a `Response` as it is, bytes as
 * application/octet-stream, a `ReadableStream` or an async iterable as a stream (objects in it as lines of NDJSON),
 * anything else as JSON with 200. A thrown `KindredError` becomes its problem document, any other error a 500.
 */
export type Handler = (request: CustomRequest) => unknown;

export const customMethods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

export type CustomMethod = (typeof customMethods)[number];

export interface Parameter {
  name: string;
  in: 'query' | 'path' | 'header';
  /** Default false; a path parameter is always required. */
  required?: boolean;
  description?: string;
  /**
   * JSON Schema. The text is converted by its `type` before it is checked; with `array`, each time that the parameter is
   * given is one item. `request.parameters` has the value, `query`, `params` and `headers` the text.
   */
  schema: object;
}

/** What the description of a route says. */
export interface OperationDescription {
  operationId?: string;
  description?: string;
  readonly tags: string[];
  readonly parameters: Parameter[];
  body?: { readonly schema: object; readonly description?: string; readonly required: boolean };
  action?: Action;
  readonly responses: { readonly status: number; readonly schema: object | ModelType; readonly description?: string }[];
}

/** A route that people call by a button. */
export interface Action {
  /** A text, or one for each language. */
  title: DisplayText;
  /** Beside one object, or above the list of them. */
  on: 'object' | 'list';
  /** What is asked before. */
  confirm?: DisplayText;
}

/** One route of an endpoint; `path` without the prefix. */
export interface Route {
  readonly method: CustomMethod;
  readonly path: string;
  readonly handler: Handler;
  readonly operation: OperationDescription;
}

/** What `route()….build()` gives. */
export interface RouterFunction {
  readonly routes: readonly Route[];
}

/** The group version is the prefix of every route, so paths are written without it. */
export interface CustomEndpoint {
  endpoint(): RouterFunction;
  groupVersion(): GroupVersion;
}

const groupSyntax = /^(?=.{1,253}$)[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$/;

/**
 * `<group>/<version>`, the prefix of a custom API below `/apis/`. The group says for whom: `console.api.<group>` for the
 * administration client, `uc.api.<group>` for users, `api.<group>` for the public.
 *
 * @example
 * ```ts
 * GroupVersion.parse('api.library.example.com/v1alpha1');
 * ```
 */
export class GroupVersion {
  readonly group: string;
  readonly version: string;

  private constructor(group: string, version: string) {
    this.group = group;
    this.version = version;
  }

  /** Throws `InvalidPlugin` unless the text is a DNS sub-domain and a version such as `v1alpha1`, with a `/` between. */
  static parse(text: string): GroupVersion {
    const [group = '', version = '', ...more] = text.split('/');
    if (!groupSyntax.test(group) || !isVersion(version) || more.length > 0) {
      throw new KindredError(
        'InvalidPlugin',
        localized(
          '"{text}" is not a group version: write <group>/<version>, for example "api.demo.example.com/v1alpha1"',
        ),
        { params: { text } },
      );
    }
    return new GroupVersion(group, version);
  }

  toString(): string {
    return `${this.group}/${this.version}`;
  }
}

/** Describes one route; what is declared here is in the API description and is checked before the handler is called. */
export class OperationBuilder {
  readonly operation: OperationDescription = { tags: [], parameters: [], responses: [] };

  /**
   * Name in generated clients, recommended in capitalised camel case. Without one it is made of method and path. One that
   * differs from another only in case, such as that of a generated route, gets version and group appended in the API description.
   */
  operationId(id: string): this {
    this.operation.operationId = id;
    return this;
  }

  description(text: string): this {
    this.operation.description = text;
    return this;
  }

  /** Recommended form: `<Kind><Version><Scope>`, for example `PersonV1alpha1Console`. */
  tag(tag: string): this {
    this.operation.tags.push(tag);
    return this;
  }

  /** A value that does not hold is a 400 `InvalidParameter`. The same name and place again replaces what was declared. */
  parameter(parameter: Parameter): this {
    const { parameters } = this.operation;
    const at = parameters.findIndex((one) => one.name === parameter.name && one.in === parameter.in);
    parameters.splice(at < 0 ? parameters.length : at, at < 0 ? 0 : 1, parameter);
    return this;
  }

  /**
   * A JSON body of this schema: JSON Schema (TypeBox too) or any Standard Schema validator, such as Zod's; a violation is a
   * 422. In a JSON Schema, objects with `properties` are closed unless they say `additionalProperties`, as in models.
   * `required` is true by default.
   */
  requestBody(schema: object, options: { description?: string; required?: boolean } = {}): this {
    this.operation.body = { schema, required: options.required ?? true, description: options.description };
    return this;
  }

  /**
   * Makes the route a button of the console, which runs it as the caller, with a form made of the schema of its body. The path
   * tells the model: `/cities/{name}/check` of `console.api.atlas.example.com` is beside each City of `atlas.example.com`.
   */
  action(action: Action): this {
    this.operation.action = action;
    return this;
  }

  /** `status` is 200 by default; a model type stands for its objects, `pageOf(type)` for a page of them. */
  response(schema: object | ModelType, options: { status?: number; description?: string } = {}): this {
    this.operation.responses.push({ schema, status: options.status ?? 200, description: options.description });
    return this;
  }
}

// Symbol.for: a plugin may have another copy of this module.
const pageBrand = Symbol.for('kindred.page-of');

/**
 * Stands for a page of a model's objects in the description of a route: the list envelope, as `client.list` gives it.
 *
 * @example
 * ```ts
 * route().GET('/novels', (request) => request.client.list(Book), (d) => d.response(pageOf(Book))).build();
 * ```
 */
export function pageOf(type: ModelType): object {
  return Object.freeze({ [pageBrand]: type });
}

/** The model type of what `pageOf` gave; undefined for anything else. */
export function pagedType(schema: object): ModelType | undefined {
  return (schema as { [pageBrand]?: ModelType })[pageBrand];
}

type Describe = (d: OperationBuilder) => void;

/** Collects the routes of one endpoint. `{name}` in a path is one segment, found in `params`; paths begin with `/`. */
export class RouteBuilder {
  readonly #routes: Route[] = [];

  GET(path: string, handler: Handler, describe?: Describe): this {
    return this.#add('GET', path, handler, describe);
  }

  POST(path: string, handler: Handler, describe?: Describe): this {
    return this.#add('POST', path, handler, describe);
  }

  PUT(path: string, handler: Handler, describe?: Describe): this {
    return this.#add('PUT', path, handler, describe);
  }

  PATCH(path: string, handler: Handler, describe?: Describe): this {
    return this.#add('PATCH', path, handler, describe);
  }

  DELETE(path: string, handler: Handler, describe?: Describe): this {
    return this.#add('DELETE', path, handler, describe);
  }

  build(): RouterFunction {
    return { routes: [...this.#routes] };
  }

  #add(method: CustomMethod, path: string, handler: Handler, describe?: Describe): this {
    const builder = new OperationBuilder();
    describe?.(builder);
    this.#routes.push({ method, path, handler, operation: builder.operation });
    return this;
  }
}

/**
 * The description-aware builder.
 *
 * @example
 * ```ts
 * route()
 *   .GET('/shelves/{name}', (request) => ({ shelf: request.params['name'] }), (d) => d.operationId('GetShelf'))
 *   .build();
 * ```
 */
export function route(): RouteBuilder {
  return new RouteBuilder();
}
