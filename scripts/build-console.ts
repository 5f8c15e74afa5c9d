// Builds console/ into dist/console/ (`npm run build` does it too): Vite's files, each text also compressed, and a list of them all.
import { createHash } from 'node:crypto';
import { appendFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { extname, join, relative, resolve } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.wasm': 'application/wasm',
};

/** One file of dist/console/manifest.json. */
export interface ConsoleFile {
  /** Below dist/console/, with `/`. */
  readonly path: string;
  readonly type: string;
  readonly size: number;
  /** In hexadecimal, of the file as it is. */
  readonly sha256: string;
  /** What stands beside it: `<path>.br` for `br`, `<path>.gz` for `gzip`. */
  readonly encodings: readonly ('br' | 'gzip')[];
}

export interface ConsoleManifest {
  readonly files: readonly ConsoleFile[];
  /** Of each module below console/src, the files that a browser loads before it runs, in bytes after gzip. */
  readonly loads: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

/** The icons are copied, not imported. */
const iconLicence = `
## Lucide icons (ISC)

Copyright (c) for portions of Lucide are held by Cole Bemis 2013-2022 as part of Feather (MIT). All other copyright (c) for
Lucide are held by Lucide Contributors.

Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is hereby granted,
provided that the above copyright notice and this permission notice appear in all copies.
`;

const root = resolve(import.meta.dirname, '..');
const folder = join(root, 'dist', 'console');

export async function buildConsole(): Promise<void> {
  const workspace = createRequire(join(root, 'console', 'package.json'));
  const { build } = (await import(workspace.resolve('vite'))) as typeof import('vite');
  const built = await build({ configFile: join(root, 'console', 'vite.config.ts'), logLevel: 'warn' });
  if (!('output' in built)) throw new Error('Vite made several builds of the console, or watches its sources');
  const chunks = new Map(built.output.flatMap((one) => (one.type === 'chunk' ? [[one.fileName, one]] : [])));
  appendFileSync(join(folder, 'licenses.txt'), iconLicence);

  const gzipped = new Map<string, number>();
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry): ConsoleFile => {
      const file = join(entry.parentPath, entry.name);
      const path = file.slice(folder.length + 1).replaceAll('\\', '/');
      const type = types[extname(path)];
      if (!type)
        throw new Error(`dist/console/${path}: a kind of file without a media type in scripts/build-console.ts`);
      const bytes = readFileSync(file);
      const zipped = gzipSync(bytes, { level: 9 });
      gzipped.set(path, zipped.length);
      writeFileSync(`${file}.gz`, zipped);
      const params = { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
      writeFileSync(`${file}.br`, brotliCompressSync(bytes, { params }));
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      return { path, type, size: bytes.length, sha256, encodings: ['br', 'gzip'] };
    })
    .sort((a, b) => (a.path < b.path ? -1 : 1));

  const loadsOf = (file: string, found: Record<string, number> = {}): Record<string, number> => {
    if (file in found) return found;
    const { imports, viteMetadata } = chunks.get(file)!;
    for (const path of [file, ...(viteMetadata?.importedCss ?? [])]) found[path] = gzipped.get(path)!;
    for (const next of imports) loadsOf(next, found);
    return found;
  };
  const sources = join(root, 'console', 'src');
  const loads = Object.fromEntries(
    [...chunks.values()].flatMap(({ fileName, moduleIds }) =>
      moduleIds
        .filter((id) => id.startsWith(sources) && !id.includes('?'))
        .map((id) => [relative(sources, id).replaceAll('\\', '/'), loadsOf(fileName)]),
    ),
  );
  const manifest: ConsoleManifest = { files, loads };
  writeFileSync(join(folder, 'manifest.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
}

if (import.meta.main) await buildConsole();
