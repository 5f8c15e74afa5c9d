/**
 * `JSON.parse`, and a way around a fault of V8 in Node.js 24 and 26 (nodejs/node#63785): it compares a name that has an
 * escape as it is written, cut to the length that it has without escapes, with the names of objects that it knows. So it
 * can take `"\n"` for a name that is one backslash. What it reads instead always has a backslash.
 */

/** What a number becomes, from its text. */
type NumberOf = (source: string) => unknown;

/**
 * The value of a JSON text, with the names that are written there.
 * @throws SyntaxError as `JSON.parse`
 */
export function readJson(text: string, numberOf: NumberOf = Number): unknown {
  const value: unknown = numberOf === Number ? JSON.parse(text) : JSON.parse(text, reviver(numberOf));
  return hasEscapedName(text) && hasBackslashInName(value) ? new Reader(text, numberOf).value() : value;
}

/** TypeScript knows revivers without their third argument only. */
function reviver(numberOf: NumberOf): (name: string, value: unknown) => unknown {
  const revive = (_name: string, value: unknown, { source }: { source: string }) =>
    typeof value === 'number' ? numberOf(source) : value;
  return revive as (name: string, value: unknown) => unknown;
}

function hasEscapedName(text: string): boolean {
  for (let at = text.indexOf('\\'); at >= 0; at = text.indexOf('\\', at)) {
    at = endOfString(text, at);
    while (isSpace(text.charCodeAt(at))) at++;
    if (text.charCodeAt(at) === 0x3a) return true;
  }
  return false;
}

function hasBackslashInName(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return value.some(hasBackslashInName);
  for (const [name, one] of Object.entries(value)) if (name.includes('\\') || hasBackslashInName(one)) return true;
  return false;
}

/** The index behind the string that `at` is in. */
function endOfString(text: string, at: number): number {
  let end = at;
  for (let code = text.charCodeAt(end); code !== 0x22; code = text.charCodeAt(end)) end += code === 0x5c ? 2 : 1;
  return end + 1;
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

/** Reads a text that `JSON.parse` has accepted token by token. */
class Reader {
  readonly #text: string;
  readonly #numberOf: NumberOf;
  #at = 0;

  constructor(text: string, numberOf: NumberOf) {
    this.#text = text;
    this.#numberOf = numberOf;
  }

  value(): unknown {
    switch (this.#next()) {
      case '{':
        return this.#object();
      case '[':
        return this.#array();
      case '"':
        return this.#string();
      default:
        return this.#word();
    }
  }

  #object(): object {
    const members: [string, unknown][] = [];
    this.#at++;
    while (this.#next() !== '}') {
      if (this.#next() === ',') this.#at++;
      this.#next();
      const name = this.#string();
      this.#next();
      this.#at++;
      members.push([name, this.value()]);
    }
    this.#at++;
    return Object.fromEntries(members);
  }

  #array(): unknown[] {
    const items: unknown[] = [];
    this.#at++;
    while (this.#next() !== ']') {
      if (this.#next() === ',') this.#at++;
      items.push(this.value());
    }
    this.#at++;
    return items;
  }

  #string(): string {
    const start = this.#at;
    this.#at = endOfString(this.#text, start + 1);
    return JSON.parse(this.#text.slice(start, this.#at)) as string;
  }

  /** A number, `true`, `false` or `null`. */
  #word(): unknown {
    const start = this.#at;
    while (/[\w.+-]/.test(this.#text.charAt(this.#at))) this.#at++;
    const word = this.#text.slice(start, this.#at);
    return /^[-\d]/.test(word) ? this.#numberOf(word) : (JSON.parse(word) as unknown);
  }

  /** The first character of the next token, which it stands at then; empty at the end. */
  #next(): string {
    while (isSpace(this.#text.charCodeAt(this.#at))) this.#at++;
    return this.#text.charAt(this.#at);
  }
}
