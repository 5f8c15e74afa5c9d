import { setFlagsFromString } from 'node:v8';

/**
 * Resolves to what `load` gives. While it loads modules, nothing is optimized and the young generation does not grow: some 300
 * modules make the loader's own functions hot, and both optimizing compilers come into memory for them; and V8 does not give a young
 * generation back that grew. 10 MiB less at rest, and not later (docs/decisions/performance.md). Flags that switch a compiler
 * off and on again would be shorter, but crash a Node that runs without compilers.
 */
export async function loading<T>(load: () => Promise<T>): Promise<T> {
  setFlagsFromString('--max-optimized-bytecode-size=0');
  setFlagsFromString('--semi-space-growth-factor=1');
  try {
    return await load();
  } finally {
    // V8's defaults.
    setFlagsFromString('--max-optimized-bytecode-size=61440');
    setFlagsFromString('--semi-space-growth-factor=2');
  }
}
