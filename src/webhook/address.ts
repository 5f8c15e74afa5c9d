/** Which addresses a delivery may be sent to: what a caller names must not lead into the network of the service. */
import type { LookupAddress } from 'node:dns';
import { lookup as systemLookup } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { BlockList, isIPv4, isIPv6 } from 'node:net';

/** RFC 6890 and its successors: private, shared, loopback, link-local, documentation, multicast, and forms that wrap an IPv4 address. */
const notPublic: readonly (readonly [network: string, prefix: number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
  // Only 2000::/3 is global unicast; of that, these lead elsewhere.
  ['::', 3],
  ['4000::', 2],
  ['8000::', 1],
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
];

// One list for each family: in a list of both, an IPv4 address is looked up in its form inside IPv6 too.
const blocked = { ipv4: new BlockList(), ipv6: new BlockList() };
for (const [network, prefix] of notPublic) {
  const family = network.includes(':') ? 'ipv6' : 'ipv4';
  blocked[family].addSubnet(network, prefix, family);
}

function familyOf(address: string): 'ipv4' | 'ipv6' | undefined {
  if (isIPv4(address)) return 'ipv4';
  return isIPv6(address) ? 'ipv6' : undefined;
}

/** Whether an address of the internet at large: no private, loopback, link-local, multicast or reserved one. */
export function isPublicAddress(address: string): boolean {
  const family = familyOf(address);
  return family !== undefined && !blocked[family].check(address, family);
}

/** The name leads to no address that may be used. */
export class AddressNotAllowed extends Error {
  constructor(host: string) {
    super(`${host} is, or leads to, an address that is not public`);
  }
}

export type Lookup = (hostname: string, options: { all: true }) => Promise<LookupAddress[]>;

const lookupAll: Lookup = (hostname, options) =>
  new Promise((resolve, reject) => {
    systemLookup(hostname, options, (error, addresses) => (error ? reject(error) : resolve(addresses)));
  });

/**
 * A `lookup` for sockets that gives public addresses only. The socket connects to just what was checked here, so a name
 * that is answered differently a moment later (DNS rebinding) gains nothing.
 */
export function publicLookup(lookup: Lookup = lookupAll): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { all: true }).then(
      (addresses) => {
        const usable = addresses.filter(({ address }) => isPublicAddress(address));
        const [first] = usable;
        if (!first) callback(new AddressNotAllowed(hostname), '', 0);
        else if (options.all) callback(null, usable);
        else callback(null, first.address, first.family);
      },
      (error: Error) => callback(error as NodeJS.ErrnoException, '', 0),
    );
  };
}
