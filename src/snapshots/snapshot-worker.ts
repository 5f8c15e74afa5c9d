/** The thread that reads or writes snapshots; it ends with its task. */
import {
  closeSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writevSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { constants, crc32, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { arrange } from '../indexes/snapshot/arrange.ts';
import type { Piece } from '../indexes/snapshot/piece.ts';
import { DamagedError, encode, readHeader, readSections } from './format.ts';
import type { FileDamaged, FileRead, FromReader, Packed, Task, ToWriter, Written } from './message.ts';
import { runtimeHash } from './runtime.ts';

const port = parentPort!;
const task = workerData as Task;
const extension = '.index';
const partial = '.tmp';
/** Milliseconds after which a file that nobody finished was left by a process that is gone. */
const leftAfter = 60_000;
/** Bytes that are read at once: they stay in the cache of the processor. */
const readBytes = 2 ** 18;
/** Bytes of a file that are compressed as one part. */
const partBytes = 2 ** 20;

if (task.kind === 'read') readFiles(task.folder, task.files ?? filesOf(task.folder), (task.files?.length ?? 0) === 0);
else {
  const path = join(task.folder, task.file);
  if (task.kind === 'write') writeFile(path);
  else if (task.kind === 'pack') packFile(path);
  else unpackFile(path);
}

function readFiles(folder: string, files: readonly string[], withRuntime: boolean): void {
  port.postMessage({ runtime: withRuntime ? runtimeHash() : undefined, files } satisfies FromReader);
  for (const file of files) {
    const found = readOne(join(folder, file), file);
    const memory = 'sections' in found ? Array.from(found.sections.values(), ({ buffer }) => buffer) : [];
    port.postMessage(found, memory);
  }
}

/** The smallest first: nobody is to wait for a large one that he does not need. */
function filesOf(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((file) => file.endsWith(extension))
      .map((file) => ({ file, size: statSync(join(folder, file)).size }))
      .sort((a, b) => a.size - b.size)
      .map(({ file }) => file);
  } catch {
    return [];
  }
}

function readOne(path: string, file: string): FileRead | FileDamaged {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(path, 'r');
    const { size } = fstatSync(descriptor);
    const open = descriptor;
    // Each page of new memory is touched once, by the copy: filled by the kernel, it is touched again for the check.
    const part = new Uint8Array(Math.min(size, readBytes));
    const read = (at: number, length: number, crc = 0) => {
      const bytes = new Uint8Array(length);
      let done = 0;
      while (done < length) {
        const count = readSync(open, part, 0, Math.min(part.length, length - done), at + done);
        if (count === 0) return { bytes: bytes.slice(0, done), crc };
        const there = part.subarray(0, count);
        crc = crc32(there, crc);
        bytes.set(there, done);
        done += count;
      }
      return { bytes, crc };
    };
    const header = readHeader<object>({ size, read });
    return { file, content: header.content, sections: readSections({ size, read }, header) };
  } catch (error) {
    const { message } = error as Error;
    return { file, damaged: error instanceof DamagedError ? message : `it cannot be read: ${message}` };
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

function writeFile(path: string): void {
  const pieces: Piece[] = [];
  port.on('message', (message: ToWriter) => {
    if ('of' in message) {
      pieces.push(message);
      return;
    }
    const { content, fields, touched } = message.finish;
    const { limit, size, sections } = arrange(pieces.splice(0), fields, touched);
    const bytes = replace(path, encode({ ...content, limit, size }, sections));
    port.postMessage({ bytes } satisfies Written);
    port.close();
  });
}

/** As it is now, whatever takes its place meanwhile. */
function packFile(path: string): void {
  const descriptor = openSync(path, 'r');
  const bytes = Buffer.alloc(partBytes);
  port.on('message', () => {
    const count = readSync(descriptor, bytes);
    if (count === 0) {
      port.postMessage({} satisfies Packed);
      closeSync(descriptor);
      port.close();
      return;
    }
    const part = Uint8Array.from(zstdCompressSync(bytes.subarray(0, count), { params: level }));
    port.postMessage({ part } satisfies Packed, [part.buffer]);
  });
}

const level = { [constants.ZSTD_c_compressionLevel]: 1 };

function unpackFile(path: string): void {
  const parts: Buffer[] = [];
  port.on('message', ({ part }: Packed) => {
    if (part) {
      parts.push(zstdDecompressSync(part, { maxOutputLength: partBytes }));
      return;
    }
    port.postMessage({ bytes: replace(path, parts) } satisfies Written);
    port.close();
  });
}

/** On the disk when it returns; until then the file is the one from before. */
function replace(path: string, parts: readonly Buffer[]): number {
  const folder = dirname(path);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  removeLeftovers(folder);
  const written = `${path}.${process.pid}${partial}`;
  let bytes = 0;
  try {
    rmSync(written, { force: true });
    const descriptor = openSync(written, 'wx', 0o600);
    try {
      for (const part of parts) bytes += writeAll(descriptor, part);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    renameSync(written, path);
  } catch (error) {
    rmSync(written, { force: true });
    throw error;
  }
  // Windows opens no folders.
  if (process.platform !== 'win32') {
    const descriptor = openSync(folder, 'r');
    fsyncSync(descriptor);
    closeSync(descriptor);
  }
  return bytes;
}

function writeAll(descriptor: number, part: Buffer): number {
  for (let done = 0; done < part.length; ) done += writevSync(descriptor, [part.subarray(done)]);
  return part.length;
}

function removeLeftovers(folder: string): void {
  for (const file of readdirSync(folder)) {
    if (!file.endsWith(partial)) continue;
    const path = join(folder, file);
    const found = statSync(path, { throwIfNoEntry: false });
    if (found && Date.now() - found.mtimeMs > leftAfter) rmSync(path, { force: true });
  }
}
