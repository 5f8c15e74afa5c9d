/** Annotated controllers (specification, "Custom API" 3 and 5). */

import { KindredError } from '../../errors.ts';
import { localized } from '../../locales/localized.ts';
import type { ModelType } from '../../model/model-type.ts';
import type { CustomMethod, Route } from './declaration.ts';
import { OperationBuilder } from './declaration.ts';

/** What the description of an annotated route says; its parts are those of `OperationBuilder`. */
export interface MappingOptions {
  /** Schema of the JSON body; the method gets the body as its second argument, with or without one. */
  body?: object;
  operationId?: string;
  description?: string;
  tag?: string;
  /** Of the answer with 200. */
  response?: object | ModelType;
  /** For everything else that the route builder can describe. */
  describe?: (d: OperationBuilder) => void;
}

interface Mapping {
  readonly method: CustomMethod;
  readonly path: string;
  readonly options: MappingOptions;
}

type MethodDecorator = (method: any, context: ClassMethodDecoratorContext) => void;

// Symbol.for: a plugin may have been compiled against another copy of this module.
const versionBrand = Symbol.for('kindred.api-version');
const mappingBrand = Symbol.for('kindred.mapping');

/**
 * `<group>/<version>`, or the older form: the version alone. A controller without it is not registered.
 *
 * @example
 * ```ts
 * @ApiVersion('api.library.example.com/v1alpha1')
 * class Shelves {
 *   @GetMapping('/shelves')
 *   list() {
 *     return ['poetry', 'travel'];
 *   }
 * }
 * void Shelves;
 * ```
 */
export function ApiVersion(groupVersionOrVersion: string): (type: any, context: ClassDecoratorContext) => void {
  return (type) => {
    Object.defineProperty(type, versionBrand, { value: groupVersionOrVersion });
  };
}

function mapping(method: CustomMethod): (path: string, options?: MappingOptions) => MethodDecorator {
  return (path, options = {}) =>
    (target, context) => {
      if (context.static || context.private) {
        throw new KindredError(
          'InvalidPlugin',
          localized('{method} {path} is mapped to "{name}": only public instance methods can be mapped'),
          { params: { method, path, name: String(context.name) } },
        );
      }
      if (!Object.hasOwn(target, mappingBrand)) Object.defineProperty(target, mappingBrand, { value: [] });
      target[mappingBrand].push({ method, path, options } satisfies Mapping);
    };
}

/**
 * The method gets the `CustomRequest`.
 *
 * @example
 * ```ts
 * @ApiVersion('api.library.example.com/v1alpha1')
 * class Shelves {
 *   @GetMapping('/shelves/{name}')
 *   get(request: CustomRequest) {
 *     return { name: request.params['name'] };
 *   }
 * }
 * void Shelves;
 * ```
 */
export const GetMapping = mapping('GET');
/**
 * The method gets the `CustomRequest` and the body.
 *
 * @example
 * ```ts
 * @ApiVersion('api.library.example.com/v1alpha1')
 * class Loans {
 *   @PostMapping('/loans')
 *   lend(request: CustomRequest, body: { book: string }) {
 *     return request.client.get(Book, body.book);
 *   }
 * }
 * void Loans;
 * ```
 */
export const PostMapping = mapping('POST');
/**
 * The method gets the `CustomRequest` and the body.
 *
 * @example
 * ```ts
 * @ApiVersion('api.library.example.com/v1alpha1')
 * class Shelves {
 *   @PutMapping('/shelves/{name}')
 *   replace(request: CustomRequest, body: { books: string[] }) {
 *     return { name: request.params['name'], count: body.books.length };
 *   }
 * }
 * void Shelves;
 * ```
 */
export const PutMapping = mapping('PUT');
/**
 * The method gets the `CustomRequest` and the body.
 *
 * @example
 * ```ts
 * @ApiVersion('api.library.example.com/v1alpha1')
 * class Books {
 *   @PatchMapping('/books/{name}/year')
 *   setYear(request: CustomRequest, body: { year: number }) {
 *     return request.client.patch(Book, request.params['name']!, { spec: { year: body.year } });
 *   }
 * }
 * void Books;
 * ```
 */
export const PatchMapping = mapping('PATCH');
/**
 * The method gets the `CustomRequest` and the body.
 *
 * @example
 * ```ts
 * @ApiVersion('api.library.example.com/v1alpha1')
 * class Books {
 *   @DeleteMapping('/books/{name}')
 *   remove(request: CustomRequest) {
 *     return request.client.delete(Book, request.params['name']!);
 *   }
 * }
 * void Books;
 * ```
 */
export const DeleteMapping = mapping('DELETE');

export interface Controller {
  readonly name: string;
  /** Value of `ApiVersion` on the class itself; undefined: it carries none. */
  readonly apiVersion: string | undefined;
  readonly routes: readonly Route[];
}

/** Reads a class or an instance; a class is made without arguments. Undefined when nothing in it is annotated. */
export function controllerOf(candidate: object): Controller | undefined {
  const type: any = typeof candidate === 'function' ? candidate : candidate.constructor;
  if (typeof type !== 'function') return undefined;
  const methods = mappedMethods(typeof candidate === 'function' ? type.prototype : Object.getPrototypeOf(candidate));
  const apiVersion: string | undefined = Object.hasOwn(type, versionBrand) ? type[versionBrand] : undefined;
  if (methods.length === 0 && apiVersion === undefined) return undefined;
  const instance = apiVersion !== undefined && typeof candidate === 'function' ? new type() : candidate;
  const routes = methods.flatMap((method) =>
    method[mappingBrand].map((one: Mapping) => routeOf(instance, method, one)),
  );
  return { name: type.name, apiVersion, routes };
}

function mappedMethods(prototype: any): any[] {
  const found = new Map<PropertyKey, unknown>();
  for (let at = prototype; at && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    for (const key of Reflect.ownKeys(at)) {
      if (!found.has(key)) found.set(key, Object.getOwnPropertyDescriptor(at, key)!.value);
    }
  }
  return [...found.values()].filter((value) => typeof value === 'function' && Object.hasOwn(value, mappingBrand));
}

function routeOf(instance: object, target: any, { method, path, options }: Mapping): Route {
  const builder = new OperationBuilder();
  if (options.operationId !== undefined) builder.operationId(options.operationId);
  if (options.description !== undefined) builder.description(options.description);
  if (options.tag !== undefined) builder.tag(options.tag);
  if (options.body !== undefined) builder.requestBody(options.body);
  if (options.response !== undefined) builder.response(options.response);
  options.describe?.(builder);
  return {
    method,
    path,
    operation: builder.operation,
    handler: (request) => target.call(instance, request, request.body),
  };
}
