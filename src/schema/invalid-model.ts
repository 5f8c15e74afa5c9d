/** Every error of a declaration goes through here: code `InvalidModel`, the rule and the value in the message. */

import type { Text } from '../errors.ts';
import { KindredError } from '../errors.ts';
import { localized } from '../locales/localized.ts';

/** Throws KindredError `InvalidModel`. */
export function invalidModel(text: Text, params: Readonly<Record<string, unknown>> = {}): never {
  throw new KindredError('InvalidModel', text, { params });
}

/** More are not looked for: a schema that contains itself has no end of them. */
const mistakeLimit = 20;

const several: Text = localized('{count} mistakes: {en}');

/** More than one mistake of a declaration. */
class SeveralMistakes extends KindredError {
  readonly mistakes: readonly KindredError[];

  constructor(mistakes: readonly KindredError[]) {
    const list = (locale: 'en' | 'zh') =>
      mistakes.map((one, i) => `(${i + 1}) ${String(one.problem(locale).detail)}`).join('; ');
    super('InvalidModel', several, { params: { count: mistakes.length, en: list('en'), zh: list('zh') } });
    this.mistakes = mistakes;
  }
}

/** Goes on after a mistake in one part of a declaration, so that all of them are told at once. */
export class Mistakes {
  readonly #found: KindredError[] = [];

  /** What the part gives; undefined when it is mistaken. Throws once the limit is reached. */
  in<T>(part: () => T): T | undefined {
    try {
      return part();
    } catch (error) {
      if (!(error instanceof KindredError) || error.code !== 'InvalidModel' || this.#isFull) throw error;
      this.#found.push(...((error as Partial<SeveralMistakes>).mistakes ?? [error]));
      if (this.#isFull) this.throw();
      return undefined;
    }
  }

  /** Throws what was found: one mistake as it is. */
  throw(): void {
    if (this.#found.length === 1) throw this.#found[0];
    if (this.#found.length > 1) throw new SeveralMistakes(this.#found.slice(0, mistakeLimit));
  }

  get #isFull(): boolean {
    return this.#found.length >= mistakeLimit;
  }
}
