/** Regular expressions as Go reads them. */
import { nodeLoader } from '../../schema/node-loader.ts';
import type { Pattern } from '../../schema/pattern.ts';
import { compilePattern, PatternError } from '../../schema/pattern.ts';

/** Steps for a character of a text, in the linear engine. */
const linearCost = 20;

/**
 * A pattern that matches anywhere in a text, in the syntax of RE2. Where it means the same in ECMA 262, the quicker of
 * the two engines runs it.
 * @throws Error when it is malformed
 */
function compileGoPattern(source: string): Pattern {
  const linear = nodeLoader.linearEngine().compile(source);
  const shared = ecmaPattern(source);
  if (shared !== undefined) {
    try {
      return compilePattern(shared, nodeLoader.linearEngine);
    } catch (error) {
      if (!(error instanceof PatternError)) throw error;
    }
  }
  return { engine: 'RE2', cost: linearCost, test: (text) => linear.test(text) };
}

/** Those of one definition, where the same pattern stands at many places. */
export class GoPatterns {
  readonly #known = new Map<string, Pattern>();

  /** @throws as `compileGoPattern` */
  of(source: string): Pattern {
    const known = this.#known.get(source);
    if (known) return known;
    const pattern = compileGoPattern(source);
    this.#known.set(source, pattern);
    return pattern;
  }
}

const outside: Readonly<Record<string, string>> = {
  '.': '[^\\n]',
  '\\s': '[\\t\\n\\f\\r ]',
  '\\S': '[^\\t\\n\\f\\r ]',
};

/** The same for ECMA 262 with the `u` flag; undefined where that reads something else. */
export function ecmaPattern(source: string): string | undefined {
  // Classes by name, case folding and other flags.
  if (/\[:|\(\?(?!:)|\\[bBQEC]/.test(source)) return undefined;
  let isInClass = false;
  let isShared = true;
  const written = source.replace(/\\.|[.[\]]/gs, (token) => {
    if (token === '[') isInClass = true;
    else if (token === ']') isInClass = false;
    if (!isInClass) return Object.hasOwn(outside, token) ? outside[token]! : token;
    if (token === '\\S') isShared = false;
    return token === '\\s' ? '\\t\\n\\f\\r ' : token;
  });
  return isShared ? written : undefined;
}
