/** Scheme, authority, and the rest of an absolute request target (RFC 9112, section 3.2.2). */
const absolute = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)(.*)$/i;

/**
 * The whole URL of a request, without user name and password. Host header and request target are the client's own words:
 * they are taken only as far as they make a URL, with the host `localhost` instead of one that makes none.
 * @param target as it came: path and query, or an absolute URL, or `*`
 */
export function requestUrl(target: string, host: string | readonly string[] | undefined): URL {
  const [, authority = typeof host === 'string' ? host : '', rest = target] = absolute.exec(target) ?? [];
  const origin = URL.parse(`http://${authority}`)?.origin ?? 'http://localhost';
  return new URL(rest.startsWith('/') ? origin + rest : `${origin}/${rest}`);
}
