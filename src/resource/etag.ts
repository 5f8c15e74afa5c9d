/**
 * Entity tags (RFC 9110): made of the incarnation and its last change, so never the same for two states of a name. What is shown in
 * another form than it is stored may change without a write, when a schema or a conversion does; such a tag has the version and a hash.
 */
import { hash } from 'node:crypto';
import type { Stored } from './registered-model.ts';

/** Quotes included. */
export function etagOf({ id, revision }: Pick<Stored, 'id' | 'revision'>): string {
  return `"${id.toString(36)}-${revision.toString(36)}"`;
}

/** Of an object that is shown in another form than it is stored. */
export function shownEtagOf(stored: Stored, version: string): string {
  const content = hash('sha256', stored.bytes, 'base64url').slice(0, 22);
  return `${etagOf(stored).slice(0, -1)}-${version}-${content}"`;
}

/** The tags of an object in whatever form it was shown. */
export function withoutForms(tags: readonly string[] | '*'): readonly string[] | '*' {
  return tags === '*' ? tags : tags.map((tag) => tag.replace(/^("[^"-]+-[^"-]+)-[^"]+"$/, '$1"'));
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
