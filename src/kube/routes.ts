/** The routes of the façade that are no objects: each part of it has a table of them, `kube.ts` puts these together. */
import type { Exchange } from '../http/server/exchange.ts';
import type { MaybePromise } from '../store/store.ts';

export interface FacadeRoute {
  /** Behind the prefix; a segment in braces stands for any: `/apis/{group}`. */
  readonly path: string;
  /** `GET` answers HEAD too. */
  readonly method: 'GET' | 'POST';
  /** Answered without a token, however much there is to do, and while the service starts. Others are for known callers. */
  readonly open?: true;
  /** @param segments what stands for those in braces, in order */
  serve(exchange: Exchange, segments: readonly string[]): MaybePromise<void>;
}

/** A route that was found, or the methods that there are at its path. */
export type RouteMatch =
  | { readonly route: FacadeRoute; readonly segments: readonly string[] }
  | { readonly allow: readonly string[] };

export class FacadeRoutes {
  readonly #routes: readonly { readonly route: FacadeRoute; readonly pattern: readonly string[] }[];
  readonly #open: ReadonlySet<string>;

  constructor(routes: readonly FacadeRoute[]) {
    this.#routes = routes.map((route) => ({ route, pattern: route.path.slice(1).split('/') }));
    this.#open = new Set(routes.filter(({ open }) => open).map(({ path }) => path));
  }

  /** @param path behind the prefix, as it came */
  isOpen(path: string): boolean {
    return this.#open.has(path);
  }

  /** @param segments decoded, behind the prefix */
  find(method: string, segments: readonly string[]): RouteMatch | undefined {
    const found = this.#routes.filter(({ pattern }) => fits(pattern, segments));
    if (found.length === 0) return undefined;
    const wanted = method === 'HEAD' ? 'GET' : method;
    const match = found.find(({ route }) => route.method === wanted);
    if (!match) return { allow: found.map(({ route }) => route.method) };
    return { route: match.route, segments: segments.filter((_, i) => match.pattern[i]!.startsWith('{')) };
  }
}

function fits(pattern: readonly string[], segments: readonly string[]): boolean {
  if (pattern.length !== segments.length) return false;
  return pattern.every((one, i) => (one.startsWith('{') ? segments[i] !== '' : one === segments[i]));
}
