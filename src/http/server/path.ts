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
