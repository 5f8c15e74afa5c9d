import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { encoded, ownBytes, separate } from './bytes.ts';

describe('memory of changes', () => {
  it('holds every text as it was written, whatever came after it', () => {
    const texts = Array.from({ length: 2_000 }, (_, i) => `${i}:${'aé漢😀'.repeat(i % 40)}`);
    const pieces = texts.map(encoded);
    const copies = pieces.map((piece) => ownBytes(Buffer.from(piece)));
    assert.deepEqual(pieces.map(String), texts);
    assert.deepEqual(copies.map(String), texts);
  });

  it('has blocks of 8 KiB for small pieces, and memory of their own for large ones', () => {
    const sizes = [1, 900, 2_048, 2_049, 100_000];
    const memory = sizes.map((size) => encoded('x'.repeat(size)).buffer.byteLength);
    assert.deepEqual(memory, [8_192, 8_192, 8_192, 2_049, 100_000]);
    const used = new Set(Array.from({ length: 800 }, () => encoded('x'.repeat(1_000)).buffer)).size;
    assert.ok(used >= 100 && used <= 102, `${used} blocks`);
  });

  it('copies what would keep a larger piece, and only that', () => {
    const cache = Buffer.alloc(256 * 1024, 'y');
    const copy = ownBytes(cache.subarray(5, 1_005));
    assert.equal(copy.buffer.byteLength, 8_192);
    assert.equal(String(copy), 'y'.repeat(1_000));
    assert.equal(ownBytes(copy), copy);
    assert.equal(separate(copy).buffer.byteLength, 1_000);
    assert.deepEqual(separate(copy), copy);
    const own = Buffer.allocUnsafeSlow(70_000);
    assert.equal(ownBytes(own), own);
    assert.equal(ownBytes(cache.subarray(0, 5_000)).buffer.byteLength, 5_000);
  });
});
