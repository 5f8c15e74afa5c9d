/** What HTTP/1.1 asks of every request and Node's parser lets pass (RFC 9112, sections 2.3 and 3.2; RFC 9110, section 5.3). */
import type { IncomingMessage } from 'node:http';
import { noHost, severalHeaders, unsupportedVersion } from './problem.ts';

/** @throws KindredError BadRequest for a version other than 1.0 and 1.1, for more than one Host or Authorization, and for no Host in 1.1 */
export function checkProtocol(request: IncomingMessage): void {
  if (request.httpVersionMajor !== 1) throw unsupportedVersion(request.httpVersion);
  const { rawHeaders } = request;
  let hosts = 0;
  let credentials = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++;
    else if (name.length === 13 && name.toLowerCase() === 'authorization') credentials++;
  }
  // Of several, `request.headers` has the first alone, and a proxy in front may go by another one.
  if (hosts > 1) throw severalHeaders('Host');
  if (credentials > 1) throw severalHeaders('Authorization');
  if (hosts === 0 && request.httpVersionMinor === 1) throw noHost();
}
