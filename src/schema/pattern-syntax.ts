/** The parts of a regular expression (ECMA 262 with the `u` flag), and sets of characters as ranges of code points. */

/** Ranges [from, to], ascending, not touching. */
export type CharacterSet = readonly (readonly [from: number, to: number])[];

export type PatternNode =
  | { readonly type: 'characters'; readonly set: CharacterSet }
  | { readonly type: 'sequence'; readonly items: readonly PatternNode[] }
  | { readonly type: 'choice'; readonly options: readonly PatternNode[] }
  | { readonly type: 'repeat'; readonly body: PatternNode; readonly min: number; readonly max: number }
  | { readonly type: 'start' | 'end' }
  | { readonly type: 'boundary'; readonly negated: boolean }
  | { readonly type: 'look'; readonly body: PatternNode; readonly ahead: boolean }
  /** Back-references and modifiers. */
  | { readonly type: 'unsupported' };

const lastPoint = 0x10ffff;
export const anyCharacter: CharacterSet = [[0, lastPoint]];

export function union(a: CharacterSet, b: CharacterSet): CharacterSet {
  if (a.length === 0) return b;
  if (b.length === 0) return a;
  const merged: [number, number][] = [];
  for (const [from, to] of [...a, ...b].sort((x, y) => x[0] - y[0])) {
    const last = merged.at(-1);
    if (last && from <= last[1] + 1) last[1] = Math.max(last[1], to);
    else merged.push([from, to]);
  }
  return merged;
}

export function intersects(a: CharacterSet, b: CharacterSet): boolean {
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    if (a[i]![1] < b[j]![0]) i++;
    else if (b[j]![1] < a[i]![0]) j++;
    else return true;
  }
  return false;
}

function complement(set: CharacterSet): CharacterSet {
  const result: [number, number][] = [];
  let next = 0;
  for (const [from, to] of set) {
    if (from > next) result.push([next, from - 1]);
    next = to + 1;
  }
  if (next <= lastPoint) result.push([next, lastPoint]);
  return result;
}

const digits: CharacterSet = [[48, 57]];
const words: CharacterSet = [
  [48, 57],
  [65, 90],
  [95, 95],
  [97, 122],
];
const lineEnds: CharacterSet = [
  [10, 10],
  [13, 13],
  [0x2028, 0x2029],
];
/** ECMA 262: WhiteSpace and LineTerminator. */
const spaces: CharacterSet = [
  [9, 13],
  [32, 32],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
  [0xfeff, 0xfeff],
];

/** Every code point that a property escape such as `\p{Lu}` means, asked of the engine's own tables. */
function propertySet(property: string): CharacterSet {
  const matcher = new RegExp(property, 'u');
  const result: [number, number][] = [];
  for (let point = 0; point <= lastPoint; point++) {
    if (!matcher.test(String.fromCodePoint(point))) continue;
    const last = result.at(-1);
    if (last && last[1] === point - 1) last[1] = point;
    else result.push([point, point]);
  }
  return result;
}

/** Parses what `new RegExp(source, 'u')` accepts; undefined for syntax that is newer than this parser. */
export function parsePattern(source: string): PatternNode | undefined {
  const parser = new Parser(source);
  try {
    const node = parser.choice();
    return parser.atEnd ? node : undefined;
  } catch (error) {
    if (error instanceof UnknownSyntax) return undefined;
    throw error;
  }
}

class UnknownSyntax extends Error {}

const controls: Readonly<Record<string, number>> = { t: 9, n: 10, v: 11, f: 12, r: 13 };

class Parser {
  readonly #points: readonly string[];
  #at = 0;

  constructor(source: string) {
    this.#points = Array.from(source);
  }

  get atEnd(): boolean {
    return this.#at >= this.#points.length;
  }

  choice(): PatternNode {
    const options = [this.#sequence()];
    while (this.#take('|')) options.push(this.#sequence());
    return options.length === 1 ? options[0]! : { type: 'choice', options };
  }

  #sequence(): PatternNode {
    const items: PatternNode[] = [];
    while (!this.atEnd && this.#peek() !== '|' && this.#peek() !== ')') items.push(this.#quantified());
    return items.length === 1 ? items[0]! : { type: 'sequence', items };
  }

  #quantified(): PatternNode {
    const body = this.#atom();
    const range = this.#quantifier();
    if (!range) return body;
    this.#take('?');
    return { type: 'repeat', body, ...range };
  }

  #quantifier(): { min: number; max: number } | undefined {
    if (this.#take('*')) return { min: 0, max: Number.POSITIVE_INFINITY };
    if (this.#take('+')) return { min: 1, max: Number.POSITIVE_INFINITY };
    if (this.#take('?')) return { min: 0, max: 1 };
    if (!this.#take('{')) return undefined;
    const [min, max = min] = this.#until('}').split(',');
    return { min: Number(min), max: max === '' ? Number.POSITIVE_INFINITY : Number(max) };
  }

  #atom(): PatternNode {
    const character = this.#next();
    switch (character) {
      case '^':
        return { type: 'start' };
      case '$':
        return { type: 'end' };
      case '.':
        return { type: 'characters', set: complement(lineEnds) };
      case '[':
        return { type: 'characters', set: this.#class() };
      case '(':
        return this.#group();
      case '\\':
        return this.#escape();
      default:
        return { type: 'characters', set: single(character) };
    }
  }

  #group(): PatternNode {
    let look: { ahead: boolean } | undefined;
    if (this.#take('?')) {
      if (this.#take('=') || this.#take('!')) look = { ahead: true };
      else if (this.#take('<')) {
        if (this.#take('=') || this.#take('!')) look = { ahead: false };
        else this.#until('>');
      } else if (!this.#take(':')) throw new UnknownSyntax();
    }
    const body = this.choice();
    if (!this.#take(')')) throw new UnknownSyntax();
    return look ? { type: 'look', body, ...look } : body;
  }

  #escape(): PatternNode {
    const character = this.#peek();
    if (character === 'b' || character === 'B') {
      this.#at++;
      return { type: 'boundary', negated: character === 'B' };
    }
    if (character === 'k' || /^[1-9]$/.test(character)) {
      this.#at++;
      if (character === 'k') this.#until('>');
      else while (/^\d$/.test(this.#peek())) this.#at++;
      return { type: 'unsupported' };
    }
    return { type: 'characters', set: this.#escapedSet() };
  }

  /** After the backslash, within a class or without. */
  #escapedSet(): CharacterSet {
    const character = this.#next();
    switch (character) {
      case 'd':
        return digits;
      case 'D':
        return complement(digits);
      case 'w':
        return words;
      case 'W':
        return complement(words);
      case 's':
        return spaces;
      case 'S':
        return complement(spaces);
      case 'p':
      case 'P':
        return propertySet(`\\${character}${this.#next()}${this.#until('}')}}`);
      case 'c':
        return single(String.fromCharCode(this.#next().charCodeAt(0) % 32));
      case 'x':
        return point(this.#digits(2));
      case 'u':
        return point(this.#unicodeEscape());
      case '0':
        return point(0);
      case 'b':
        return point(8);
    }
    return character in controls ? point(controls[character]!) : single(character);
  }

  #unicodeEscape(): number {
    if (this.#take('{')) return Number.parseInt(this.#until('}'), 16);
    const unit = this.#digits(4);
    const isHigh = unit >= 0xd800 && unit <= 0xdbff;
    if (!isHigh || this.#peek() !== '\\' || this.#points[this.#at + 1] !== 'u') return unit;
    const low = Number.parseInt(this.#points.slice(this.#at + 2, this.#at + 6).join(''), 16);
    if (!(low >= 0xdc00 && low <= 0xdfff)) return unit;
    this.#at += 6;
    return (unit - 0xd800) * 0x400 + (low - 0xdc00) + 0x10000;
  }

  #class(): CharacterSet {
    const negated = this.#take('^');
    let set: CharacterSet = [];
    while (!this.#take(']')) {
      const from = this.#classMember();
      if (this.#peek() === '-' && this.#points[this.#at + 1] !== ']') {
        this.#at++;
        set = union(set, [[from[0]![0], this.#classMember()[0]![1]]]);
      } else set = union(set, from);
    }
    return negated ? complement(set) : set;
  }

  #classMember(): CharacterSet {
    const character = this.#next();
    return character === '\\' ? this.#escapedSet() : single(character);
  }

  #peek(): string {
    return this.#points[this.#at] ?? '';
  }

  #next(): string {
    if (this.atEnd) throw new UnknownSyntax();
    return this.#points[this.#at++]!;
  }

  #take(character: string): boolean {
    if (this.#peek() !== character) return false;
    this.#at++;
    return true;
  }

  #until(character: string): string {
    const end = this.#points.indexOf(character, this.#at);
    if (end < 0) throw new UnknownSyntax();
    const text = this.#points.slice(this.#at, end).join('');
    this.#at = end + 1;
    return text;
  }

  #digits(count: number): number {
    const text = this.#points.slice(this.#at, this.#at + count).join('');
    this.#at += count;
    return Number.parseInt(text, 16);
  }
}

function single(character: string): CharacterSet {
  return point(character.codePointAt(0)!);
}

function point(code: number): CharacterSet {
  return [[code, code]];
}
