import { lookup } from 'node:dns';
import type { IncomingMessage } from 'node:http';
import { get as httpGet } from 'node:http';
import { get as httpsGet } from 'node:https';
import type { LookupFunction } from 'node:net';
import { BlockList, isIP } from 'node:net';
import type { Condition } from './link.ts';

export interface RequestOptions {
  /** Also addresses of this machine and of private networks. */
  allowPrivateAddresses: boolean;
  /** Milliseconds. */
  timeout: number;
  signal: AbortSignal;
}

export type Outcome = Pick<Condition, 'status' | 'reason' | 'message'>;

const redirectLimit = 5;

/** Addresses that lead to this machine, to its network, or nowhere (IANA's special-purpose registries). */
const special = new BlockList();
for (const [net, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const) {
  special.addSubnet(net, prefix, 'ipv4');
}
// Of IPv6 only what is global unicast today is requested; tunnels and documentation inside of it are not.
const global = new BlockList();
global.addSubnet('2000::', 3, 'ipv6');
for (const [net, prefix] of [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const) {
  special.addSubnet(net, prefix, 'ipv6');
}

export function isPublicAddress(address: string): boolean {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped) return isPublicAddress(mapped);
  if (isIP(address) === 4) return !special.check(address, 'ipv4');
  return isIP(address) === 6 && global.check(address, 'ipv6') && !special.check(address, 'ipv6');
}

class Refused extends Error {}

/** Requests a URL as far as the head of the answer and says what came of it; throws only when the signal is aborted. */
export async function request(url: string, options: RequestOptions): Promise<Outcome> {
  const timeout = AbortSignal.timeout(options.timeout);
  const signal = AbortSignal.any([options.signal, timeout]);
  try {
    let at = new URL(url);
    for (let redirects = 0; redirects <= redirectLimit; redirects += 1) {
      const { statusCode = 0, headers } = await head(at, options.allowPrivateAddresses, signal);
      const isRedirect = [301, 302, 303, 307, 308].includes(statusCode) && headers.location !== undefined;
      if (!isRedirect) {
        return statusCode < 400
          ? { status: 'True', reason: 'Answered', message: `answered with ${statusCode}` }
          : { status: 'False', reason: 'ErrorStatus', message: `answered with ${statusCode}` };
      }
      at = new URL(headers.location!, at);
    }
    return { status: 'False', reason: 'Failed', message: `more than ${redirectLimit} redirects` };
  } catch (error) {
    if (options.signal.aborted) throw error;
    if (timeout.aborted)
      return { status: 'False', reason: 'TimedOut', message: `no answer within ${options.timeout} ms` };
    const { message } = error as Error;
    return { status: 'False', reason: error instanceof Refused ? 'Refused' : 'Failed', message };
  }
}

function head(url: URL, allowPrivate: boolean, signal: AbortSignal): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const refuse = (address: string) => new Refused(`${address} is no public address`);
    if (url.protocol !== 'http:' && url.protocol !== 'https:')
      throw new Refused(`${url.protocol} is neither http: nor https:`);
    const literal = url.hostname.replace(/^\[|\]$/g, '');
    if (!allowPrivate && isIP(literal) !== 0 && !isPublicAddress(literal)) throw refuse(literal);
    // The address that is looked at is the one that is connected to: no second answer of the name server comes between.
    const checked: LookupFunction = (host, wanted, done) => {
      lookup(host, { ...wanted, all: true }, (error, addresses) => {
        if (error) return done(error, []);
        const bad = allowPrivate ? undefined : addresses.find(({ address }) => !isPublicAddress(address));
        if (bad) return done(refuse(bad.address), []);
        if (wanted.all) return done(null, addresses);
        done(null, addresses[0]!.address, addresses[0]!.family);
      });
    };
    const get = url.protocol === 'https:' ? httpsGet : httpGet;
    const sent = get(url, { signal, lookup: checked, agent: false, headers: { 'user-agent': 'kindred-link-checker' } });
    sent.on('response', (response) => {
      response.destroy();
      resolve(response);
    });
    sent.on('error', reject);
  });
}
