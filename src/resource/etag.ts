/** Entity tags (RFC 9110): made of the incarnation and its last change, so never the same for two states of a name. */

/** Quotes included. @param version in which the object is shown, of a model that has several */
export function etagOf(stored: { readonly id: number; readonly revision: number }, version?: string): string {
  const state = `${stored.id.toString(36)}-${stored.revision.toString(36)}`;
  return version === undefined ? `"${state}"` : `"${state}-${version}"`;
}

/** The tags of an object in whatever version it was shown. */
export function withoutVersions(tags: readonly string[] | '*'): readonly string[] | '*' {
  return tags === '*' ? tags : tags.map((tag) => tag.replace(/^("[^"-]+-[^"-]+)-[^"-]+"$/, '$1"'));
}

/** The tags of an If-Match or If-None-Match header: `*`, or each with its quotes (and `W/`). */
export function parseEtags(header: string): readonly string[] | '*' {
  return header.trim() === '*' ? '*' : (header.match(/(?:W\/)?"[^"]*"/g) ?? []);
}

/** `strong` for If-Match, where a weak tag never matches; `weak` for If-None-Match. */
export function matchesEtag(tags: readonly string[] | '*', etag: string, comparison: 'strong' | 'weak'): boolean {
  if (tags === '*') return true;
  return tags.some((tag) => tag === etag || (comparison === 'weak' && tag === `W/${etag}`));
}
