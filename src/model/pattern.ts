import type { Text } from '../errors.ts';

export class PatternError extends Error {
  readonly text: Text;
  readonly reason: string;

  constructor(text: Text, reason: string) {
    super(text.en);
    this.text = text;
    this.reason = reason;
  }
}

export function compilePattern(source: string): { test(text: string): boolean } {
  return new RegExp(source, 'u');
}
