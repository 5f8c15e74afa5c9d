import type { KindredError } from '../client/client.ts';
import { describe } from './describe.ts';
import type { Document } from './documents.ts';
import type { Io } from './io.ts';

/** Refused objects that are reported with the reason; of the rest the places are named. */
const reportLimit = 100;

interface Entry {
  readonly place: string;
  /** Its place in the order of reading. */
  readonly index: number;
  /** It may be stored. */
  isSent: boolean;
}

/** What was read, and what became of it: in the end every object is in one of the counts, or among those that are left and are named. */
export class Ledger {
  read = 0;
  acknowledged = 0;
  skipped = 0;
  refused = 0;
  readonly #left = new Map<Document, Entry>();
  readonly #reports: string[] = [];
  readonly #alsoRefused = new Places();
  #reason: string | undefined;

  /** Objects that were read and have no answer. */
  get left(): number {
    return this.#left.size;
  }

  get isComplete(): boolean {
    return this.acknowledged + this.skipped === this.read;
  }

  add(document: Document): void {
    this.#left.set(document, { place: document.place, index: this.read++, isSent: false });
  }

  /** From here on it may be stored, until an answer says what became of it. */
  send(document: Document): void {
    this.#entry(document).isSent = true;
  }

  /** It certainly is not stored, and will not be. */
  keep(document: Document): void {
    this.#entry(document).isSent = false;
  }

  /** Whether it is stored could not be learnt. */
  lose(document: Document, error: KindredError): void {
    this.#entry(document).isSent = true;
    this.#reason ??= error.message;
  }

  acknowledge(document: Document): void {
    this.#close(document);
    this.acknowledged++;
  }

  skip(document: Document): void {
    this.#close(document);
    this.skipped++;
  }

  refuse(document: Document, error: KindredError): void {
    const entry = this.#close(document);
    if (this.refused++ < reportLimit) this.#reports.push(describe(error, entry.place));
    else this.#alsoRefused.add(entry);
  }

  /** Says why objects were refused, and which have no answer. */
  report({ stderr }: Io): void {
    for (const text of this.#reports) stderr.write(text);
    const [absent, unknown] = [new Places(), new Places()];
    for (const entry of this.#left.values()) (entry.isSent ? unknown : absent).add(entry);
    const groups = {
      'refused too': this.#alsoRefused,
      'not stored': absent,
      'stored or not, which is not known': unknown,
    };
    for (const [title, places] of Object.entries(groups)) {
      if (places.isEmpty) continue;
      const reason = places === unknown && this.#reason ? ` (${this.#reason})` : '';
      stderr.write(`${title}: ${places}${reason}\n`);
    }
  }

  #entry(document: Document): Entry {
    const entry = this.#left.get(document);
    if (!entry) throw new Error(`${document.place} was answered twice`);
    return entry;
  }

  #close(document: Document): Entry {
    const entry = this.#entry(document);
    this.#left.delete(document);
    return entry;
  }
}

/** `cities.ndjson:1001-2000, 2500`: ranges of lines that follow one another. */
class Places {
  readonly #ranges: { readonly first: Entry; last: Entry }[] = [];

  get isEmpty(): boolean {
    return this.#ranges.length === 0;
  }

  add(entry: Entry): void {
    const range = this.#ranges.at(-1);
    if (range && range.last.index + 1 === entry.index) range.last = entry;
    else this.#ranges.push({ first: entry, last: entry });
  }

  toString(): string {
    const texts = this.#ranges.map(({ first, last }, i) => {
      const begin = i === 0 ? first.place : lineOf(first);
      return lineOf(first) === lineOf(last) ? begin : `${begin}-${lineOf(last)}`;
    });
    return texts.join(', ');
  }
}

function lineOf({ place }: Entry): string {
  return place.slice(place.lastIndexOf(':') + 1);
}
