/**
 * Makes of the pieces of an index the arrays with which it begins again, as they stand in memory, so that a start copies and
 * computes little. It reads nothing of the live index and so runs in any thread. What was touched while the pieces were copied is
 * left out: none of its pieces need fit together. All other objects are as they were at the first piece.
 */
import { none } from '../arrays.ts';
import { NameTable } from '../name-table.ts';
import { bulkFill } from '../order.ts';
import { TextColumn } from '../text-column.ts';
import type { Numbers, Piece } from './piece.ts';
import { fieldPrefix } from './piece.ts';
import { narrowed, putTexts } from './texts.ts';

/** What is known of a field without its keys. */
export interface FieldShape {
  readonly multi: boolean;
  readonly unique: boolean;
  /** What the pieces have of its keys: numbers, the keys themselves, or texts for keys of another type. */
  readonly keys: 'numbers' | 'texts' | 'formatted';
}

export interface Arranged {
  /** Slots, with those that are free. */
  readonly limit: number;
  readonly size: number;
  readonly sections: Map<string, Numbers>;
}

/** Takes the pieces over. Throws when they contradict each other. */
export function arrange(pieces: readonly Piece[], fields: readonly FieldShape[], touched: Iterable<number>): Arranged {
  const copies = new Copies(pieces);
  const sections = new Map<string, Numbers>();
  const ids = copies.numbers('ids');
  const limit = ids.length;
  const texts = copies.column('names');
  const dropped = new Set(touched);
  const names = new TextColumn();
  const isLive = new Uint8Array(limit);
  let size = 0;
  for (let slot = 0; slot < limit; slot++) {
    if (dropped.has(slot) || !texts.has(slot)) {
      ids[slot] = 0;
      continue;
    }
    names.copy(slot, texts, slot);
    isLive[slot] = 1;
    size++;
  }
  sections.set('ids', ids);
  sections.set('revisions', copies.numbers('revisions'));
  sections.set('lengths', copies.numbers('lengths'));
  for (const [name, values] of names.sections('names', limit)) sections.set(name, values);
  const owners = copies.texts('owners');
  putTexts(sections, 'owners', limit, (slot) => (isLive[slot] ? owners.at(slot) : undefined));
  const table = new NameTable(names);
  for (const _ of table.addAll());
  for (const [name, values] of table.sections()) sections.set(name, values);
  putLabels(sections, copies, isLive);
  for (const [field, shape] of fields.entries()) {
    const of = fieldPrefix(field);
    const isItem = shape.multi ? putOwners(sections, copies, of, isLive) : isLive;
    const hasKey = putKeys(sections, copies, of, shape, isItem, field === 0 ? names : undefined);
    if (!shape.multi) putWithout(sections, of, isLive, (slot) => hasKey(slot));
    copies.forget(of);
  }
  return { limit, size, sections };
}

/** Which item is whose: the items of an object are a chain, and those in no chain of a live object are free. */
function putOwners(sections: Map<string, Numbers>, copies: Copies, of: string, isLive: Uint8Array): Uint8Array {
  const first = copies.numbers(`${of}first`) as Uint32Array<ArrayBuffer>;
  const next = copies.numbers(`${of}next`) as Uint32Array<ArrayBuffer>;
  const used = next.length;
  const owners = new Uint32Array(used);
  const last = new Uint32Array(isLive.length).fill(none);
  const isItem = new Uint8Array(used);
  for (let slot = 0; slot < isLive.length; slot++) {
    if (!isLive[slot]) first[slot] = none;
    for (let item = first[slot]!; item !== none; item = next[item]!) {
      if (item >= used || isItem[item]) throw new Error(`${of}: the item ${item} is not that of one object`);
      isItem[item] = 1;
      owners[item] = slot;
      last[slot] = item;
    }
  }
  sections.set(`${of}first`, first);
  sections.set(`${of}last`, last);
  sections.set(`${of}next`, next);
  sections.set(`${of}owners`, owners);
  putWithout(sections, of, isLive, (slot) => first[slot] !== none);
  return isItem;
}

/** The order, the keys and what is shared of them. Gives which items have a key. */
function putKeys(
  sections: Map<string, Numbers>,
  copies: Copies,
  of: string,
  { unique, keys: kind }: FieldShape,
  isItem: Uint8Array,
  names: TextColumn | undefined,
): (item: number) => boolean {
  const order = copies.numbers(`${of}order`);
  const items = new Uint32Array(order.length);
  let count = 0;
  for (const item of order) if (item < isItem.length && isItem[item]) items[count++] = item;
  const sorted = items.slice(0, count);
  putOrder(sections, of, sorted, isItem.length);
  if (kind === 'texts') {
    const texts = names ?? copies.column(`${of}keys`);
    const hasKey = (item: number) => isItem[item] === 1 && texts.has(item);
    assertComplete(of, sorted, isItem.length, hasKey);
    const runs = runsOf(sorted, (a, b) => texts.compare(a, b) === 0);
    if (!names) putTextKeys(sections, of, sorted, runs, { items: isItem.length, texts });
    if (unique) putConflicts(sections, of, sorted, runs);
    return hasKey;
  }
  if (kind === 'formatted') {
    const texts = copies.texts(`${of}keys`);
    const hasKey = (item: number) => isItem[item] === 1 && texts.at(item) !== undefined;
    assertComplete(of, sorted, isItem.length, hasKey);
    const runs = runsOf(sorted, (a, b) => texts.at(a) === texts.at(b));
    sections.set(`${of}codes`, narrowed(codesOf(sorted, runs, isItem.length), runs.length));
    putTexts(sections, `${of}keys`, runs.length, (run) => texts.at(sorted[runs[run]!]!));
    if (unique) putConflicts(sections, of, sorted, runs);
    return hasKey;
  }
  const keys = copies.numbers(`${of}keys`);
  if (keys.length !== isItem.length) throw new Error(`${of}: ${keys.length} keys of ${isItem.length} items`);
  for (let item = 0; item < keys.length; item++) if (!isItem[item]) keys[item] = Number.NaN;
  const hasKey = (item: number) => !Number.isNaN(keys[item]!);
  assertComplete(of, sorted, keys.length, hasKey);
  sections.set(`${of}keys`, keys);
  if (unique) {
    const runs = runsOf(sorted, (a, b) => keys[a] === keys[b]);
    putConflicts(sections, of, sorted, runs);
  }
  return hasKey;
}

function assertComplete(of: string, sorted: Uint32Array, count: number, hasKey: (item: number) => boolean): void {
  let expected = 0;
  for (let item = 0; item < count; item++) if (hasKey(item)) expected++;
  if (expected !== sorted.length || !sorted.every(hasKey))
    throw new Error(`${of}: ${sorted.length} items in order, ${expected} with a key`);
}

/** Places in the order at which a run of equal keys begins. */
function runsOf(sorted: Uint32Array, areEqual: (a: number, b: number) => boolean): Uint32Array<ArrayBuffer> {
  const starts = new Uint32Array(sorted.length);
  let runs = 0;
  for (let rank = 0; rank < sorted.length; rank++) {
    if (rank === 0 || !areEqual(sorted[rank - 1]!, sorted[rank]!)) starts[runs++] = rank;
  }
  return starts.slice(0, runs);
}

function putOrder(sections: Map<string, Numbers>, of: string, sorted: Uint32Array<ArrayBuffer>, items: number): void {
  const leafOf = new Uint32Array(items);
  for (let rank = 0; rank < sorted.length; rank++) leafOf[sorted[rank]!] = Math.floor(rank / bulkFill);
  sections.set(`${of}order`, sorted);
  const isLong = sorted.length > bulkFill * 0x10000;
  sections.set(`${of}leaves`, isLong ? leafOf : Uint16Array.from(leafOf));
}

/** By item the number of its run, from 1 on; 0: none. */
function codesOf(sorted: Uint32Array, runs: Uint32Array, items: number): Uint32Array<ArrayBuffer> {
  const codes = new Uint32Array(items);
  for (let run = 0; run < runs.length; run++) {
    const end = runs[run + 1] ?? sorted.length;
    for (let rank = runs[run]!; rank < end; rank++) codes[sorted[rank]!] = run + 1;
  }
  return codes;
}

/** Equal texts are there once, and all where their first item is. */
function putTextKeys(
  sections: Map<string, Numbers>,
  of: string,
  sorted: Uint32Array,
  runs: Uint32Array,
  { items, texts }: { items: number; texts: TextColumn },
): void {
  const codes = codesOf(sorted, runs, items);
  const itemOf = new Uint32Array(runs.length + 1).fill(none);
  const kept = new TextColumn();
  for (let item = 0; item < items; item++) {
    const run = codes[item]!;
    if (run === 0) continue;
    if (itemOf[run] === none) {
      itemOf[run] = item;
      kept.copy(item, texts, item);
    } else kept.share(item, itemOf[run]!);
  }
  for (const [name, values] of kept.sections(`${of}keys`, items)) sections.set(name, values);
}

/** An item of each key that several objects have. */
function putConflicts(
  sections: Map<string, Numbers>,
  of: string,
  sorted: Uint32Array<ArrayBuffer>,
  runs: Uint32Array,
): void {
  const shared: number[] = [];
  for (let run = 0; run < runs.length; run++) {
    if ((runs[run + 1] ?? sorted.length) - runs[run]! > 1) shared.push(sorted[runs[run]!]!);
  }
  sections.set(`${of}conflicts`, Uint32Array.from(shared));
}

function putWithout(
  sections: Map<string, Numbers>,
  of: string,
  isLive: Uint8Array,
  hasKey: (slot: number) => boolean,
): void {
  const words = new Uint32Array((isLive.length >>> 5) + 1);
  for (let slot = 0; slot < isLive.length; slot++) {
    if (isLive[slot] && !hasKey(slot)) words[slot >>> 5]! |= 1 << (slot & 31);
  }
  sections.set(`${of}without`, words);
}

/** Groups of labels, and of each label and each of its values the slots. */
function putLabels(sections: Map<string, Numbers>, copies: Copies, isLive: Uint8Array): void {
  const groupOf = copies.numbers('labels.of') as Uint32Array<ArrayBuffer>;
  const groups = copies.lists('labels.groups');
  const numbers = new Map<string, number>();
  const numberOf = (text: string): number => {
    const number = numbers.get(text) ?? numbers.size;
    if (number === numbers.size) numbers.set(text, number);
    return number;
  };
  /** By key and value, or by the key alone. */
  const sets = new Map<string, { key: number; value: number; number: number }>();
  const setOf = (key: number, value: number): number => {
    const id = `${key} ${value}`;
    const known = sets.get(id) ?? { key, value, number: sets.size };
    if (known.number === sets.size) sets.set(id, known);
    return known.number;
  };
  const pairs: number[] = [];
  const ends: number[] = [];
  const setsOfGroup = groups.map((labels) => {
    const found: number[] = [];
    for (let i = 0; i < labels.length; i += 2) {
      const [key, value] = [numberOf(labels[i]!), numberOf(labels[i + 1]!)];
      pairs.push(key, value);
      found.push(setOf(key, none), setOf(key, value));
    }
    ends.push(pairs.length);
    return found;
  });
  const objects = new Uint32Array(groups.length);
  const counts = new Uint32Array(sets.size);
  for (let slot = 0; slot < isLive.length; slot++) {
    if (!isLive[slot]) groupOf[slot] = 0;
    if (groupOf[slot] === 0) continue;
    const group = groupOf[slot]! - 1;
    objects[group]!++;
    for (const set of setsOfGroup[group]!) counts[set]!++;
  }
  const starts = new Uint32Array(sets.size + 1);
  for (let set = 0; set < sets.size; set++) starts[set + 1] = starts[set]! + counts[set]!;
  const members = new Uint32Array(starts[sets.size]!);
  const filled = starts.slice();
  for (let slot = 0; slot < isLive.length; slot++) {
    if (groupOf[slot] === 0) continue;
    for (const set of setsOfGroup[groupOf[slot]! - 1]!) members[filled[set]!++] = slot;
  }
  const texts = [...numbers.keys()];
  putTexts(sections, 'labels.texts', texts.length, (at) => texts[at]);
  sections.set('labels.pairs', Uint32Array.from(pairs));
  sections.set('labels.ends', Uint32Array.from(ends));
  sections.set('labels.objects', objects);
  sections.set('labels.groups', narrowed(groupOf, groups.length));
  sections.set('labels.sets', Uint32Array.from([...sets.values()].flatMap(({ key, value }) => [key, value])));
  sections.set('labels.starts', starts);
  sections.set('labels.members', members);
}

/** The pieces of each array, put together when they are asked for. */
class Copies {
  readonly #pieces = new Map<string, Piece[]>();

  constructor(pieces: readonly Piece[]) {
    for (const piece of pieces) {
      const known = this.#pieces.get(piece.of);
      if (known) known.push(piece);
      else this.#pieces.set(piece.of, [piece]);
    }
  }

  numbers(of: string): Numbers {
    const pieces = this.#pieces.get(of) ?? [];
    this.#pieces.delete(of);
    const length = pieces.reduce((sum, { values }) => sum + values.length, 0);
    const type = (pieces[0]?.values.constructor ?? Uint32Array) as new (size: number) => Numbers;
    const all = new type(length);
    let at = 0;
    for (const { values } of pieces) {
      all.set(values as never, at);
      at += values.length;
    }
    return all;
  }

  column(of: string): TextColumn {
    const pieces = this.#pieces.get(of) ?? [];
    this.#pieces.delete(of);
    return TextColumn.ofPieces(pieces);
  }

  texts(of: string): { at(index: number): string | undefined } {
    const pieces = this.#pieces.get(of) ?? [];
    const portion = pieces[0]?.values.length || 1;
    const starts = pieces.map(({ values }) => {
      const offsets = new Uint32Array(values.length);
      for (let i = 1; i < values.length; i++) offsets[i] = offsets[i - 1]! + Math.max(0, values[i - 1]! - 1);
      return offsets;
    });
    return {
      at: (index) => {
        const part = Math.floor(index / portion);
        const at = index - part * portion;
        const length = pieces[part]?.values[at] ?? 0;
        if (length === 0) return undefined;
        const start = starts[part]![at]!;
        return pieces[part]!.text!.substring(start, start + length - 1);
      },
    };
  }

  /** Of each piece its texts. */
  lists(of: string): string[][] {
    return (this.#pieces.get(of) ?? []).map(({ values, text }) => {
      let end = 0;
      return Array.from(values, (length) => {
        end += length - 1;
        return text!.substring(end - length + 1, end);
      });
    });
  }

  forget(prefix: string): void {
    for (const of of this.#pieces.keys()) if (of.startsWith(prefix)) this.#pieces.delete(of);
  }
}
