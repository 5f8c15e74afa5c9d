/** Addresses of clients, as Node.js gives them. */

const mapped = /^::ffff:(?=\d+\.)/;

export function isLoopback(address: string): boolean {
  return address === '::1' || address.replace(mapped, '').startsWith('127.');
}

/** Whose address it is: an IPv6 host has all the addresses of its 64 bits of network. */
export function sourceOf(address: string): string {
  const plain = address.replace(mapped, '');
  if (!plain.includes(':')) return plain;
  const [left = '', right] = plain.split('::');
  const groups = left === '' ? [] : left.split(':');
  if (right !== undefined) {
    const last = right === '' ? [] : right.split(':');
    groups.push(...Array<string>(8 - groups.length - last.length).fill('0'), ...last);
  }
  return `${groups.slice(0, 4).join(':')}::/64`;
}
