// Exists so that the compiled kernels in src/indexes/memory/kernel-bytes.ts are what their text says: `npm run kernels` writes them, and `--check` fails when they differ.
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import openWabt from 'wabt';

const folder = resolve(import.meta.dirname, '../src/indexes/memory');
const features = { threads: true, simd: true, bulk_memory: true };

const { parseWat } = await openWabt();
const text = parseWat('kernels.wat', readFileSync(join(folder, 'kernels.wat'), 'utf8'), features);
const bytes = Buffer.from(text.toBinary({}).buffer).toString('base64');
const source = `/** \`kernels.wat\`, compiled by \`npm run kernels\`. */\nexport const kernelBytes =\n  '${bytes}';\n`;
const file = join(folder, 'kernel-bytes.ts');
if (!process.argv.includes('--check')) writeFileSync(file, source);
else if (readFileSync(file, 'utf8') !== source) {
  console.error('src/indexes/memory/kernel-bytes.ts is not what kernels.wat gives: npm run kernels');
  process.exitCode = 1;
}
