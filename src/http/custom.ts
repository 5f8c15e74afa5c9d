/** The registry of custom routes: registration, finding a route for a request, per-owner pause (contract section 10). */
import type { Access } from '../resource/access.ts';
import type { SchemeRegistry } from '../model/registry.ts';
import type { CustomEndpoint, Handler, OperationDescription, CustomMethod } from './custom-route.ts';

/** One registered route. */
export interface CustomRoute {
  /** Name of the plugin, '' for the service itself. */
  readonly owner: string;
  readonly method: CustomMethod;
  readonly group: string;
  readonly version: string;
  /** With its prefix, parameters as `{name}`. */
  readonly path: string;
  readonly handler: Handler;
  readonly operation: OperationDescription;
  /** What the authoriser is asked for by the shape of the path; the name of a request's own path is in `CustomMatch.access`. */
  readonly access: Access;
}

export interface CustomMatch {
  readonly route: CustomRoute;
  readonly params: Readonly<Record<string, string>>;
  /** For the authoriser (contract section 12), of the path as requested. */
  readonly access: Access;
}

export interface CustomRoutesOptions {
  registry: SchemeRegistry;
  reservedDomain: string;
  warn(message: string): void;
}

export declare class CustomRoutes {
  constructor(options: CustomRoutesOptions);
  /** A `CustomEndpoint`, or an annotated controller as class or instance. Throws `InvalidPlugin`; then nothing of it is registered. */
  register(owner: string, endpoint: CustomEndpoint | object): void;
  /** At once: the next request finds none of them. */
  remove(owner: string): void;
  /** Requests to the owner's routes get 503 with `progress()` (0 to 1) until `ready`. May be called before `register`. */
  pause(owner: string, progress: () => number): void;
  ready(owner: string): void;
  /** Progress 0 to 1 while paused. */
  paused(owner: string): number | undefined;
  /** `path` as it came, still percent-encoded, without the query. HEAD finds GET. `allow`: the path is there, the method is not. */
  find(method: string, path: string): CustomMatch | { readonly allow: readonly string[] } | undefined;
  /** Sorted by path, then method. */
  all(): readonly CustomRoute[];
  onChange(listener: () => void): () => void;
}
