/** What HTTP/1.1 asks of every request and Node's parser lets pass (RFC 9112, sections 2.3 and 3.2). */
import type { IncomingMessage } from 'node:http';
import { noHost, severalHosts, unsupportedVersion } from './problem.ts';

/** @throws KindredError BadRequest for a version other than 1.0 and 1.1, for more than one Host, and for none in 1.1 */
export function checkProtocol(request: IncomingMessage): void {
  if (request.httpVersionMajor !== 1) throw unsupportedVersion(request.httpVersion);
  const hosts = countHosts(request.rawHeaders);
  if (hosts > 1) throw severalHosts();
  if (hosts === 0 && request.httpVersionMinor === 1) throw noHost();
}

/** Of the two, `request.headers` has the first alone, and a proxy in front may go by the second. */
function countHosts(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!;
    if (name.length === 4 && name.toLowerCase() === 'host') count++;
  }
  return count;
}
