/**
 * The file of a snapshot: a mark, a header as JSON with its SHA-256, and arrays at multiples of 64 bytes, each with a CRC-32 over its
 * bytes and the gap behind it. Every byte is covered by a check. The numbers are in the byte order of the machine, which the
 * header's `runtime` names.
 */
import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Numbers } from '../indexes/snapshot/piece.ts';

const mark = Buffer.from('KINDRED\x01', 'latin1');
const unit = 64;
/** The mark, the length of the header, its SHA-256, zeros. */
const places = { length: mark.length, hash: 16, header: unit };
const mostHeader = 64 * 2 ** 20;

const types = {
  u8: Uint8Array<ArrayBuffer>,
  u16: Uint16Array<ArrayBuffer>,
  u32: Uint32Array<ArrayBuffer>,
  f64: Float64Array<ArrayBuffer>,
};
type TypeName = keyof typeof types;

interface Section {
  readonly name: string;
  readonly type: TypeName;
  readonly at: number;
  /** Bytes. */
  readonly length: number;
  readonly crc: number;
}

/** The bytes of a file are not those that were written. */
export class DamagedError extends Error {}

/** The file, in parts. */
export function encode(content: object, arrays: ReadonlyMap<string, Numbers>): Buffer[] {
  const sections: Section[] = [];
  const parts: Buffer[] = [];
  let at = 0;
  for (const [name, array] of arrays) {
    const bytes = Buffer.from(array.buffer, array.byteOffset, array.byteLength);
    const gap = Buffer.alloc(gapAfter(bytes.length));
    const type = (Object.keys(types) as TypeName[]).find((one) => array.constructor === types[one])!;
    sections.push({ name, type, at, length: bytes.length, crc: crc32(gap, crc32(bytes)) });
    parts.push(bytes, gap);
    at += bytes.length + gap.length;
  }
  const header = Buffer.from(JSON.stringify({ content, sections }));
  const head = Buffer.alloc(unit);
  mark.copy(head);
  head.writeUInt32LE(header.length, places.length);
  hash('sha256', header, 'buffer').copy(head, places.hash);
  return [head, header, Buffer.alloc(gapAfter(header.length)), ...parts];
}

/** Where the bytes come from. */
export interface Source {
  readonly size: number;
  /** Memory of its own with these bytes, fewer when the source ends before; and their CRC-32, which goes on with the one given. */
  read(at: number, length: number, crc?: number): { readonly bytes: Uint8Array<ArrayBuffer>; readonly crc: number };
}

/** @throws DamagedError */
export function readHeader<C>(source: Source): { content: C; sections: readonly Section[]; start: number } {
  const head = Buffer.from(source.read(0, unit).bytes.buffer);
  if (head.length < unit || !head.subarray(0, mark.length).equals(mark)) throw new DamagedError('it is no snapshot');
  const length = head.readUInt32LE(places.length);
  if (length > mostHeader || head.subarray(places.hash + 32).some((byte) => byte !== 0) || head.readUInt32LE(12) !== 0)
    throw new DamagedError('its head is damaged');
  const padded = length + gapAfter(length);
  const bytes = Buffer.from(source.read(places.header, padded).bytes.buffer);
  const header = bytes.subarray(0, length);
  const expected = head.subarray(places.hash, places.hash + 32);
  if (bytes.length < padded || !hash('sha256', header, 'buffer').equals(expected) || !isZero(bytes.subarray(length)))
    throw new DamagedError('its header is damaged');
  const { content, sections } = JSON.parse(header.toString()) as { content: C; sections: Section[] };
  const start = places.header + padded;
  const last = sections.at(-1);
  const end = start + (last ? last.at + last.length + gapAfter(last.length) : 0);
  if (end !== source.size) throw new DamagedError(`it has ${source.size} bytes instead of ${end}`);
  return { content, sections, start };
}

/** @throws DamagedError */
export function readSections(
  source: Source,
  { sections, start }: { sections: readonly Section[]; start: number },
): Map<string, Numbers> {
  const arrays = new Map<string, Numbers>();
  for (const { name, type, at, length, crc } of sections) {
    const { bytes, crc: ofBytes } = source.read(start + at, length);
    const gap = source.read(start + at + length, gapAfter(length), ofBytes);
    if (bytes.length < length || gap.crc !== crc) throw new DamagedError(`its section "${name}" is damaged`);
    arrays.set(name, new types[type](bytes.buffer, 0, length / types[type].BYTES_PER_ELEMENT) as Numbers);
  }
  return arrays;
}

/** @throws DamagedError */
export function decode<C>(file: Buffer): { content: C; sections: Map<string, Numbers> } {
  const source = {
    size: file.length,
    read: (at: number, length: number, crc?: number) => {
      const bytes = Uint8Array.from(file.subarray(at, at + length));
      return { bytes, crc: crc32(bytes, crc) };
    },
  };
  const header = readHeader<C>(source);
  return { content: header.content, sections: readSections(source, header) };
}

function gapAfter(length: number): number {
  return (unit - (length % unit)) % unit;
}

function isZero(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0);
}
