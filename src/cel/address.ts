/** IP addresses and networks, in their strict forms: no leading zeros, no zones, no IPv4 within IPv6. */
import { isIPv4, isIPv6 } from 'node:net';
import { fail } from './frame.ts';

export class Ip {
  readonly kind = 'ip';
  readonly family: 4 | 6;
  readonly bits: bigint;

  constructor(family: 4 | 6, bits: bigint) {
    this.family = family;
    this.bits = bits;
  }

  static parse(text: string): Ip | undefined {
    if (isIPv4(text)) return new Ip(4, bytesToBits(text.split('.').map(Number)));
    if (!isIPv6(text) || text.includes('%') || text.includes('.')) return undefined;
    const [head = '', tail] = text.split('::');
    const groups = (part: string) => (part === '' ? [] : part.split(':').map((one) => Number.parseInt(one, 16)));
    const [before, after] = [groups(head), groups(tail ?? '')];
    const zeros = Array<number>(tail === undefined ? 0 : 8 - before.length - after.length).fill(0);
    const bits = [...before, ...zeros, ...after].reduce((sum, group) => (sum << 16n) | BigInt(group), 0n);
    return bits >> 32n === 0xffffn ? undefined : new Ip(6, bits);
  }

  get width(): number {
    return this.family === 4 ? 32 : 128;
  }

  /** Whether the address begins with the first bits of another one. */
  isIn(first: string, length: number): boolean {
    const other = Ip.parse(first)!;
    const rest = BigInt(this.width - length);
    return other.family === this.family && other.bits >> rest === this.bits >> rest;
  }

  get isUnspecified(): boolean {
    return this.bits === 0n;
  }

  get isLoopback(): boolean {
    return this.family === 4 ? this.isIn('127.0.0.0', 8) : this.bits === 1n;
  }

  get isLinkLocalMulticast(): boolean {
    if (this.family === 4) return this.isIn('224.0.0.0', 24);
    return this.bits >> 120n === 0xffn && ((this.bits >> 112n) & 0xfn) === 2n;
  }

  get isLinkLocalUnicast(): boolean {
    return this.family === 4 ? this.isIn('169.254.0.0', 16) : this.isIn('fe80::', 10);
  }

  get isGlobalUnicast(): boolean {
    const isMulticast = this.family === 4 ? this.isIn('224.0.0.0', 4) : this.isIn('ff00::', 8);
    const isBroadcast = this.family === 4 && this.bits === 0xffffffffn;
    return !isBroadcast && !isMulticast && !this.isUnspecified && !this.isLoopback && !this.isLinkLocalUnicast;
  }

  equals(other: Ip): boolean {
    return this.family === other.family && this.bits === other.bits;
  }

  /** The canonical form, for IPv6 that of RFC 5952. */
  toString(): string {
    if (this.family === 4) return [24n, 16n, 8n, 0n].map((shift) => (this.bits >> shift) & 0xffn).join('.');
    const groups = Array.from({ length: 8 }, (_, i) => ((this.bits >> BigInt(112 - 16 * i)) & 0xffffn).toString(16));
    const text = groups.join(':');
    const runs = text.match(/(?<![0-9a-f])0(:0)+(?![0-9a-f])/g) ?? [];
    const longest = runs.reduce((best, run) => (run.length > best.length ? run : best), '');
    if (longest === '') return text;
    const at = text.search(new RegExp(`(?<![0-9a-f])${longest}(?![0-9a-f])`));
    return `${text.slice(0, at).replace(/:$/, '')}::${text.slice(at + longest.length).replace(/^:/, '')}`;
  }
}

function bytesToBits(bytes: readonly number[]): bigint {
  return bytes.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
}

export class Cidr {
  readonly kind = 'cidr';
  readonly ip: Ip;
  readonly length: number;

  constructor(ip: Ip, length: number) {
    this.ip = ip;
    this.length = length;
  }

  static parse(text: string): Cidr | undefined {
    const match = /^([^/]+)\/(0|[1-9]\d{0,2})$/.exec(text);
    const ip = match ? Ip.parse(match[1]!) : undefined;
    const length = Number(match?.[2]);
    return ip && length <= ip.width ? new Cidr(ip, length) : undefined;
  }

  get #rest(): bigint {
    return BigInt(this.ip.width - this.length);
  }

  masked(): Cidr {
    return new Cidr(new Ip(this.ip.family, (this.ip.bits >> this.#rest) << this.#rest), this.length);
  }

  containsIp(ip: Ip): boolean {
    return ip.family === this.ip.family && ip.bits >> this.#rest === this.ip.bits >> this.#rest;
  }

  containsCidr(other: Cidr): boolean {
    return other.length >= this.length && this.containsIp(other.ip);
  }

  equals(other: Cidr): boolean {
    return this.length === other.length && this.ip.equals(other.ip);
  }

  toString(): string {
    return `${this.ip}/${this.length}`;
  }
}

export function ipOf(text: string): Ip {
  return Ip.parse(text) ?? fail(`IP Address "${text}" parse error during conversion from string`);
}

export function cidrOf(text: string): Cidr {
  return Cidr.parse(text) ?? fail(`network address "${text}" parse error during conversion from string`);
}
