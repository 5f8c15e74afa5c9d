import { createRequire } from 'node:module';
import type { SchemaObject } from './keywords.ts';
import type { Loader } from './loader.ts';

const require = createRequire(import.meta.url);

/** Loads at the first use, from the package itself. */
export const nodeLoader: Loader = {
  linearEngine: () => (require('re2js') as typeof import('re2js')).RE2JS,
  metaSchema(name) {
    try {
      return require(`./meta-schemas/${name}.json`) as SchemaObject;
    } catch {
      return undefined;
    }
  },
};
