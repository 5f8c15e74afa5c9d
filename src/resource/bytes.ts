/**
 * The bytes in memory of their own. A change that is kept would keep all of a larger piece with it: a segment of the cache,
 * Node's pool, what came from a database server in one packet.
 */
export function ownBytes(bytes: Uint8Array): Buffer {
  if (bytes.buffer.byteLength <= bytes.length + 64) return asBuffer(bytes);
  const own = Buffer.allocUnsafeSlow(bytes.length);
  own.set(bytes);
  return own;
}

export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
