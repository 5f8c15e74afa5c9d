/** What few schemas need, and what Node.js and a browser load in different ways. */

import type { SchemaObject } from './keywords.ts';

/** A regular-expression engine whose time is linear in the length of the text, in RE2's syntax. */
export interface LinearEngine {
  /** Throws when the pattern needs more than the engine allows. */
  compile(pattern: string): { test(text: string): boolean };
}

export interface Loader {
  linearEngine(): LinearEngine;
  /** The published meta-schema of a name below the dialect, such as `meta/core`; undefined when there is none. */
  metaSchema(name: string): SchemaObject | undefined;
}
