/** Many texts as arrays of numbers: their lengths, and their units one behind the other in parts that are texts of their own. */
import type { Numbers } from './piece.ts';

/** The arrays of a snapshot by name. */
export type Sections = ReadonlyMap<string, Numbers>;

/** Units of a part, about: what is cut out of a text keeps all of it in memory. */
const partUnits = 2 ** 18;
/** Texts between two yields. */
const step = 8_192;

const beyondLatin1 = /[^\0-\xff]/;

/** @param textOf undefined: no text */
export function putTexts(
  sections: Map<string, Numbers>,
  of: string,
  count: number,
  textOf: (at: number) => string | undefined,
): void {
  const lengths = new Uint32Array(count);
  const parts: number[] = [];
  const bytes: Buffer[] = [];
  let texts: string[] = [];
  let units = 0;
  let longest = 0;
  let begin = 0;
  const close = (end: number): void => {
    const text = texts.join('');
    const isWide = beyondLatin1.test(text);
    bytes.push(Buffer.from(text, isWide ? 'utf16le' : 'latin1'));
    parts.push(end - begin, units, Number(isWide));
    texts = [];
    units = 0;
    begin = end;
  };
  for (let at = 0; at < count; at++) {
    const text = textOf(at);
    if (text !== undefined) {
      lengths[at] = text.length + 1;
      if (text.length >= longest) longest = text.length + 1;
      if (units > 0 && units + text.length > partUnits) close(at);
      texts.push(text);
      units += text.length;
    }
  }
  close(count);
  sections.set(`${of}.lengths`, narrowed(lengths, longest));
  sections.set(`${of}.parts`, Uint32Array.from(parts));
  sections.set(`${of}.units`, joined(bytes));
}

/** Gives the texts in order. */
export function* getTexts(
  sections: Sections,
  of: string,
  visit: (text: string | undefined) => void,
): Generator<void, void, void> {
  const lengths = sectionOf(sections, `${of}.lengths`);
  const parts = sectionOf(sections, `${of}.parts`);
  const units = sectionOf(sections, `${of}.units`) as Uint8Array<ArrayBuffer>;
  const bytes = Buffer.from(units.buffer, units.byteOffset, units.byteLength);
  let next = 0;
  for (let part = 0, from = 0; part < parts.length; part += 3) {
    const isWide = parts[part + 2] === 1;
    const end = from + parts[part + 1]! * (isWide ? 2 : 1);
    const text = bytes.toString(isWide ? 'utf16le' : 'latin1', from, end);
    from = end;
    let at = 0;
    for (const last = next + parts[part]!; next < last; next++) {
      const length = lengths[next]!;
      if (length === 0) visit(undefined);
      else {
        visit(text.substring(at, at + length - 1));
        at += length - 1;
      }
      if (next % step === 0) yield;
    }
  }
}

/** The same numbers in the smallest type that holds them. */
export function narrowed(values: Uint32Array<ArrayBuffer>, largest: number): Numbers {
  if (largest <= 0xff) return Uint8Array.from(values);
  return largest <= 0xffff ? Uint16Array.from(values) : values;
}

export function sectionOf<A extends Numbers = Numbers>(sections: Sections, name: string): A {
  const section = sections.get(name);
  if (!section) throw new Error(`the snapshot has no "${name}"`);
  return section as A;
}

function joined(parts: readonly Buffer[]): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
