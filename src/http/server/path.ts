/** The path rule `/apis/<group>/<version>/<resource>/{name}/<sub-resource>` (specification, "Endpoints"), `/api/<version>/…` for the empty group. */
import type { Access } from '../../resource/access.ts';
import { badPath } from './problem.ts';

/** The segments of a path, percent-decoded. @throws KindredError BadRequest when it is not well-formed */
export function segmentsOf(path: string): string[] {
  const segments = path.slice(1).split('/');
  if (!path.includes('%')) return segments;
  try {
    return segments.map(decodeURIComponent);
  } catch {
    throw badPath(path);
  }
}

const writeVerbs: Readonly<Record<string, string>> = {
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};

/** The verb of contract section 12 for a request; an unknown method is its own verb. */
export function verbOf(method: string, named: boolean): string {
  if (method === 'GET' || method === 'HEAD') return named ? 'get' : 'list';
  return writeVerbs[method] ?? method.toLowerCase();
}

/** What the authoriser is asked about a path that no route answers, or that is no resource. */
export function accessOfPath(method: string, path: string, segments: readonly string[]): Access {
  const core = segments[0] === 'api';
  const [group, version, resource, name, sub] = core ? ['', ...segments.slice(1)] : segments.slice(1);
  if ((segments[0] !== 'apis' && !core) || group === undefined || (group === '' && !core) || !version || !resource) {
    return { verb: method === 'HEAD' ? 'get' : method.toLowerCase(), path };
  }
  const named = name !== undefined && name !== '' && name !== '-';
  const full = sub ? `${resource}/${sub}` : resource;
  return { verb: verbOf(method, named), group, resource: full, ...(named && { name }) };
}
