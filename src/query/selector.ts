/**
 * Label and field selectors (specification, "Label selector forms" and "Field selector forms"; docs/reference/lists.md):
 * text to conditions; `client/parameters.ts` writes them. A *term* is what stands between two commas; all terms must hold.
 */

import type { Text } from '../errors.ts';
import { KindredError } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import { isLabelKey, isLabelValue } from '../model/names.ts';
import type { Condition, Source } from './condition.ts';
import { condition, Queries } from './condition.ts';

export interface SelectorLimits {
  /** Terms of all selectors of one kind in a request; default 200. */
  readonly maxTerms: number;
  /** Values in one list; default 1,000. */
  readonly maxValues: number;
}

export const defaultSelectorLimits: SelectorLimits = { maxTerms: 200, maxValues: 1000 };

/**
 * Throws InvalidSelector with `term`, `column` (from 1) and `expected`. Several texts are ANDed; an empty one is no condition.
 * Keys and values that no label could have are refused.
 */
export function parseLabelSelector(text: string | readonly string[], limits = defaultSelectorLimits): Condition {
  return parse(text, 'label', limits);
}

/** As `parseLabelSelector`; values stay text until the condition is bound to a model. `name` is short for `metadata.name`. */
export function parseFieldSelector(text: string | readonly string[], limits = defaultSelectorLimits): Condition {
  return parse(text, 'field', limits);
}

const malformed: Text = localized('The selector term "{term}" is malformed at column {column}: expected {expected}');

/** What is wrong with a term, with the members of docs/reference/errors.md; the member `expected` is in English. */
export function invalidTerm(source: Source, expected: Text): KindredError {
  const { term, column } = source;
  const text = {
    en: malformed.en.replace('{expected}', () => expected.en),
    zh: malformed.zh.replace('{expected}', () => expected.zh),
  };
  return new KindredError('InvalidSelector', text, { params: { term, column }, term, column, expected: expected.en });
}

/** The same in every language. */
const same = (text: string): Text => ({ en: text, zh: text });

const expectations = {
  labelKey: localized('a label key'),
  index: localized('the name of an index'),
  labelKeyForm: localized(
    'a label key: an optional DNS prefix and "/", then at most 63 letters, digits, ".", "_", "-"',
  ),
  labelValue: localized(
    'a label value: at most 63 letters, digits, ".", "_", "-", with a letter or digit at both ends',
  ),
  labelOperator: localized('"=", "==", "!=", "in (…)", "notin (…)", "," or the end'),
  fieldOperator: localized(
    '"=", "==", "!=", ">", ">=", "<", "<=", "^=", "$=", "*=", "in (…)", "notin (…)", "," or the end',
  ),
  list: same('"("'),
  oneValue: localized('at least one value'),
  endOfValue: localized('"," or ")"'),
  endOfText: localized('a closing "'),
  escaped: localized('\\" or \\\\'),
  endOfTerm: localized('"," or the end'),
} satisfies Record<string, Text>;

const atMost = (limit: number, en: string, zh: string): Text => ({
  en: `at most ${limit} ${en}`,
  zh: `最多 ${limit} ${zh}`,
});

type Kind = 'label' | 'field';

function parse(text: string | readonly string[], kind: Kind, limits: SelectorLimits): Condition {
  const terms: Condition[] = [];
  for (const one of typeof text === 'string' ? [text] : text) {
    if (one.trim() !== '') new Parser(one, kind, limits, terms).parse();
  }
  return Queries.and(...terms);
}

/** Longest first, so that `=` does not hide `==`. */
const symbols = ['==', '!=', '>=', '<=', '^=', '$=', '*=', '=', '>', '<'] as const;
type Operator = (typeof symbols)[number] | 'in' | 'notin';

const keyCharacters = /[^\s,=!<>^$*()"]*/y;
const word = /(?:notin|in)(?![^\s(])/y;
const spaces = /\s*/y;

class Parser {
  readonly #text: string;
  readonly #kind: Kind;
  readonly #limits: SelectorLimits;
  readonly #terms: Condition[];
  #at = 0;
  #termStart = 0;

  constructor(text: string, kind: Kind, limits: SelectorLimits, terms: Condition[]) {
    this.#text = text;
    this.#kind = kind;
    this.#limits = limits;
    this.#terms = terms;
  }

  parse(): void {
    for (;;) {
      this.#skip(spaces);
      this.#termStart = this.#at;
      if (this.#terms.length >= this.#limits.maxTerms) this.#fail(atMost(this.#limits.maxTerms, 'terms', '个条件'));
      this.#terms.push(this.#term());
      if (this.#at === this.#text.length) return;
      this.#at++;
    }
  }

  #term(): Condition {
    if (this.#next() === '!' && this.#text[this.#at + 1] !== '=') {
      this.#at++;
      this.#skip(spaces);
      const absent = this.#present(this.#key()).not();
      this.#endOfTerm();
      return absent;
    }
    const key = this.#key();
    this.#skip(spaces);
    const operator = this.#operator();
    if (operator === undefined) {
      this.#endOfTerm();
      return this.#present(key);
    }
    this.#skip(spaces);
    const result = this.#comparison(key, operator);
    this.#endOfTerm();
    return result;
  }

  #comparison(key: string, operator: Operator): Condition {
    const field = key;
    switch (operator) {
      case 'in':
        return this.#oneOf(key, this.#list());
      case 'notin':
        return this.#oneOf(key, this.#list()).not();
      case '=':
      case '==':
        return this.#next() === '(' ? this.#oneOf(key, this.#list()) : this.#equal(key, this.#value(','));
      case '!=':
        return (this.#next() === '(' ? this.#oneOf(key, this.#list()) : this.#equal(key, this.#value(','))).not();
      case '^=':
        return condition({ op: 'startsWith', field, text: this.#value(','), source: this.#source() });
      case '$=':
        return condition({ op: 'endsWith', field, text: this.#value(','), source: this.#source() });
      case '*=':
        return condition({ op: 'contains', field, text: this.#value(','), source: this.#source() });
      case '>':
      case '>=': {
        const inclusive = { from: operator === '>=', to: true };
        return condition({ op: 'between', field, from: this.#value(','), inclusive, source: this.#source() });
      }
      case '<':
      case '<=': {
        const inclusive = { from: true, to: operator === '<=' };
        return condition({ op: 'between', field, to: this.#value(','), inclusive, source: this.#source() });
      }
    }
  }

  #present(key: string): Condition {
    if (this.#kind === 'label') return Queries.labelExists(key);
    return condition({ op: 'isNull', field: key, source: this.#source() }).not();
  }

  #equal(key: string, value: string): Condition {
    if (this.#kind === 'label') return Queries.labelEqual(key, value);
    return condition({ op: 'equal', field: key, value, source: this.#source() });
  }

  #oneOf(key: string, values: string[]): Condition {
    if (this.#kind === 'label') return Queries.labelIn(key, values);
    return condition({ op: 'in', field: key, values, source: this.#source() });
  }

  #key(): string {
    const start = this.#at;
    this.#skip(keyCharacters);
    const key = this.#text.slice(start, this.#at);
    if (key === '') this.#fail(this.#kind === 'label' ? expectations.labelKey : expectations.index);
    if (this.#kind === 'label' && !isLabelKey(key)) {
      this.#at = start;
      this.#fail(expectations.labelKeyForm);
    }
    return key;
  }

  #operator(): Operator | undefined {
    if (this.#at === this.#text.length || this.#next() === ',') return undefined;
    const inWords = this.#skip(word);
    if (inWords) return inWords as Operator;
    const symbol = symbols.find((one) => this.#text.startsWith(one, this.#at));
    const known = this.#kind === 'field' || symbol === '=' || symbol === '==' || symbol === '!=';
    if (!symbol || !known) {
      this.#fail(this.#kind === 'field' ? expectations.fieldOperator : expectations.labelOperator);
    }
    this.#at += symbol.length;
    return symbol;
  }

  #list(): string[] {
    if (this.#next() !== '(') this.#fail(expectations.list);
    this.#at++;
    this.#skip(spaces);
    if (this.#next() === ')') this.#fail(expectations.oneValue);
    const values: string[] = [];
    for (;;) {
      this.#skip(spaces);
      if (values.length >= this.#limits.maxValues)
        this.#fail(atMost(this.#limits.maxValues, 'values in a list', '个列表值'));
      values.push(this.#value(')'));
      const end = this.#next();
      if (end !== ',' && end !== ')') this.#fail(expectations.endOfValue);
      this.#at++;
      if (end === ')') return values;
    }
  }

  /** A value up to `,` or, in a list, `)`; white space after it is skipped too. */
  #value(end: ',' | ')'): string {
    const start = this.#at;
    const value = this.#next() === '"' ? this.#quoted() : this.#unquoted(end);
    if (this.#kind === 'label' && !isLabelValue(value)) {
      this.#at = start;
      this.#fail(expectations.labelValue);
    }
    this.#skip(spaces);
    return value;
  }

  #quoted(): string {
    let value = '';
    for (;;) {
      const character = this.#text[++this.#at];
      if (character === undefined) this.#fail(expectations.endOfText);
      if (character === '"') break;
      if (character !== '\\') {
        value += character;
        continue;
      }
      const escaped = this.#text[++this.#at];
      if (escaped !== '"' && escaped !== '\\') this.#fail(expectations.escaped);
      value += escaped;
    }
    this.#at++;
    return value;
  }

  #unquoted(end: ',' | ')'): string {
    const start = this.#at;
    while (this.#at < this.#text.length) {
      const character = this.#next();
      if (character === ',' || character === end) break;
      this.#at++;
    }
    return this.#text.slice(start, this.#at).trimEnd();
  }

  #endOfTerm(): void {
    this.#skip(spaces);
    if (this.#at < this.#text.length && this.#next() !== ',') this.#fail(expectations.endOfTerm);
  }

  #next(): string | undefined {
    return this.#text[this.#at];
  }

  #skip(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0] ?? '';
    this.#at += found.length;
    return found;
  }

  #source(): Source {
    return { term: this.#text.slice(this.#termStart, this.#at).trimEnd(), column: this.#termStart + 1 };
  }

  #fail(expected: Text): never {
    const column = this.#at + 1;
    throw invalidTerm({ term: this.#text.slice(this.#termStart, this.#endOfMalformed()).trimEnd(), column }, expected);
  }

  /** Up to the next comma that is neither quoted nor in a list, as far as that can be told of a malformed term. */
  #endOfMalformed(): number {
    let quoted = false;
    let inList = false;
    for (let at = this.#termStart; at < this.#text.length; at++) {
      const character = this.#text[at];
      if (quoted && character === '\\') at++;
      else if (character === '"') quoted = !quoted;
      else if (quoted) continue;
      else if (character === '(') inList = true;
      else if (character === ')') inList = false;
      else if (character === ',' && !inList) return at;
    }
    return this.#text.length;
  }
}
