/**
 * Memory that the bytes of several changes share. A separate allocation for each takes up to 4 µs, a hundred times as long as copying
 * the bytes. A block is freed when none of its bytes is in use, so it is small, and holds changes that follow one another
 * (docs/decisions/performance.md).
 */
class Block extends ArrayBuffer {
  /** Bytes that are in use. */
  used = 0;
}

const blockBytes = 8 * 1024;
/** What is larger has memory of its own. */
const mostInBlock = blockBytes / 4;

let block = new Block(blockBytes);

function piece(length: number): Buffer {
  if (length > mostInBlock) return Buffer.allocUnsafeSlow(length);
  if (block.used + length > blockBytes) block = new Block(blockBytes);
  const bytes = Buffer.from(block, block.used, length);
  block.used += length;
  return bytes;
}

/** UTF-8, in memory as `ownBytes` gives. */
export function encoded(text: string): Buffer {
  const bytes = piece(Buffer.byteLength(text));
  bytes.write(text);
  return bytes;
}

/**
 * The bytes in memory that may be kept. A change that is kept would keep all of a much larger piece with it: a segment of the cache,
 * Node's pool, what came from a database server in one packet.
 */
export function ownBytes(bytes: Uint8Array): Buffer {
  const { buffer, length } = bytes;
  if (buffer instanceof Block || buffer.byteLength <= length + 64) return asBuffer(bytes);
  const copy = piece(length);
  copy.set(bytes);
  return copy;
}

/** A copy with nothing else in its memory, for what is kept longer than the changes before and after it. */
export function separate(bytes: Uint8Array): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  copy.set(bytes);
  return copy;
}

export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
