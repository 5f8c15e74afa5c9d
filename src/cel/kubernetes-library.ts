/** The functions that Kubernetes adds to CEL: addresses, URLs, quantities, formats of names. */
import { Cidr, cidrOf, Ip, ipOf } from './address.ts';
import { NamedFormat } from './formats.ts';
import { fail } from './frame.ts';
import type { Library } from './functions.ts';
import { Quantity } from './quantity.ts';
import { CelUrl } from './url.ts';
import { List, MapValue, Optional } from './values.ts';

function quantityOf(text: string): Quantity {
  return Quantity.parse(text) ?? fail(`quantities must match the regular expression of a quantity: ${text}`);
}

const whole = (value: bigint) => new Quantity(value * 1_000_000_000n);

function formatFunctions(): Library {
  return Object.fromEntries(
    NamedFormat.names.map((name) => [`format::${name}(): format`, () => NamedFormat.named(name)!]),
  );
}

export const kubernetesLibrary = (): Library => ({
  'isIP(string): bool': (_, text: string) => Ip.parse(text) !== undefined,
  'ip(string): ip': (_, text: string) => ipOf(text),
  'ip::isCanonical(string): bool': (_, text: string) => String(ipOf(text)) === text,
  'ip.family(): int': (_, { family }: Ip) => BigInt(family),
  'ip.isUnspecified(): bool': (_, ip: Ip) => ip.isUnspecified,
  'ip.isLoopback(): bool': (_, ip: Ip) => ip.isLoopback,
  'ip.isLinkLocalMulticast(): bool': (_, ip: Ip) => ip.isLinkLocalMulticast,
  'ip.isLinkLocalUnicast(): bool': (_, ip: Ip) => ip.isLinkLocalUnicast,
  'ip.isGlobalUnicast(): bool': (_, ip: Ip) => ip.isGlobalUnicast,
  'isCIDR(string): bool': (_, text: string) => Cidr.parse(text) !== undefined,
  'cidr(string): cidr': (_, text: string) => cidrOf(text),
  'cidr.containsIP(ip): bool': (_, cidr: Cidr, ip: Ip) => cidr.containsIp(ip),
  'cidr.containsIP(string): bool': (_, cidr: Cidr, text: string) => cidr.containsIp(ipOf(text)),
  'cidr.containsCIDR(cidr): bool': (_, cidr: Cidr, other: Cidr) => cidr.containsCidr(other),
  'cidr.containsCIDR(string): bool': (_, cidr: Cidr, text: string) => cidr.containsCidr(cidrOf(text)),
  'cidr.ip(): ip': (_, { ip }: Cidr) => ip,
  'cidr.masked(): cidr': (_, cidr: Cidr) => cidr.masked(),
  'cidr.prefixLength(): int': (_, { length }: Cidr) => BigInt(length),
  'isURL(string): bool': (_, text: string) => CelUrl.parse(text) !== undefined,
  'url(string): url': (_, text: string) =>
    CelUrl.parse(text) ?? fail(`URL parse error during conversion from string: ${text}`),
  'url.getScheme(): string': (_, { scheme }: CelUrl) => scheme,
  'url.getHost(): string': (_, { host }: CelUrl) => host,
  'url.getHostname(): string': (_, { hostname }: CelUrl) => hostname,
  'url.getPort(): string': (_, { port }: CelUrl) => port,
  'url.getEscapedPath(): string': (_, { escapedPath }: CelUrl) => escapedPath,
  'url.getQuery(): map<string, list<string>>': (frame, url: CelUrl) => {
    frame.spend(url.query.length);
    return new MapValue(new Map([...url.values].map(([name, values]) => [name, new List(values)])));
  },
  'isQuantity(string): bool': (_, text: string) => Quantity.parse(text) !== undefined,
  'quantity(string): quantity': (_, text: string) => quantityOf(text),
  'quantity.sign(): int': (_, { nanos }: Quantity) => (nanos === 0n ? 0n : nanos < 0n ? -1n : 1n),
  'quantity.isInteger(): bool': (_, { isInteger }: Quantity) => isInteger,
  'quantity.asInteger(): int': (_, quantity: Quantity) => quantity.asInteger(),
  'quantity.asApproximateFloat(): double': (_, quantity: Quantity) => quantity.asNumber(),
  'quantity.add(quantity): quantity': (_, a: Quantity, b: Quantity) => new Quantity(a.nanos + b.nanos),
  'quantity.add(int): quantity': (_, a: Quantity, b: bigint) => new Quantity(a.nanos + whole(b).nanos),
  'quantity.sub(quantity): quantity': (_, a: Quantity, b: Quantity) => new Quantity(a.nanos - b.nanos),
  'quantity.sub(int): quantity': (_, a: Quantity, b: bigint) => new Quantity(a.nanos - whole(b).nanos),
  'quantity.isLessThan(quantity): bool': (_, a: Quantity, b: Quantity) => a.nanos < b.nanos,
  'quantity.isGreaterThan(quantity): bool': (_, a: Quantity, b: Quantity) => a.nanos > b.nanos,
  'quantity.compareTo(quantity): int': (_, a: Quantity, b: Quantity) =>
    a.nanos === b.nanos ? 0n : a.nanos < b.nanos ? -1n : 1n,
  'format::named(string): optional<format>': (_, name: string) => new Optional(NamedFormat.named(name)),
  ...formatFunctions(),
  'format.validate(string): optional<list<string>>': (frame, format: NamedFormat, text: string) => {
    frame.spend(10 + text.length);
    const problems = format.problems(text);
    return new Optional(problems.length === 0 ? undefined : new List(problems));
  },
});
