/** Regular expressions of CEL: RE2's syntax, in time linear in the length of the text. */
import { createRequire } from 'node:module';
import type { RE2JS } from 're2js';
import type { Frame } from './frame.ts';
import { fail } from './frame.ts';

const require = createRequire(import.meta.url);

/** What compiling an expression takes, in steps. */
const compileSteps = { once: 2_000, character: 50 };
const knownExpressions = 200;
const longestExpression = 10_000;
const known = new Map<string, RE2JS>();

/** Throws `CelError`. */
export function expressionOf(source: string, frame?: Frame): RE2JS {
  const before = known.get(source);
  if (before) return before;
  if (source.length > longestExpression) fail('regular expression too long');
  frame?.spend(compileSteps.once + source.length * compileSteps.character);
  const engine = (require('re2js') as typeof import('re2js')).RE2JS;
  let made: RE2JS;
  try {
    made = engine.compile(source);
  } catch (error) {
    return fail(`error parsing regexp: ${(error as Error).message}`);
  }
  if (known.size >= knownExpressions) known.delete(known.keys().next().value!);
  known.set(source, made);
  return made;
}

function spend(expression: RE2JS, text: string, frame: Frame): void {
  frame.spend(5 + text.length * (1 + (expression.programSize() >> 5)));
}

export function matches(text: string, source: string, frame: Frame): boolean {
  const expression = expressionOf(source, frame);
  spend(expression, text, frame);
  return expression.test(text);
}

/** The texts that match, one after another, at most `limit`. */
export function findAll(text: string, source: string, limit: number, frame: Frame): string[] {
  const expression = expressionOf(source, frame);
  const found: string[] = [];
  const matcher = expression.matcher(text);
  spend(expression, text, frame);
  while (found.length < limit && matcher.find()) {
    frame.spend(5);
    found.push(matcher.group() ?? '');
  }
  return found;
}
