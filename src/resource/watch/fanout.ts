import { fieldAt, keysOf } from '../../indexes/field.ts';
import type { IndexDefinition, IndexEntry } from '../../model/index-entry.ts';
import type { Bound, KeyRange } from '../../query/bind.ts';
import type { AppliedChange } from '../change.ts';
import type { Reader } from './events.ts';
import type { Watch } from './watch.ts';

/**
 * Finds the watches that a change could concern without asking each: a watch whose condition demands one of a few
 * names, labels or keys is filed under these (its *anchors*), all others are asked every time.
 */
export class Fanout {
  readonly readers = new Set<Reader>();
  readonly #definitions: readonly IndexDefinition[];
  readonly #anchors = new Map<Watch, readonly string[]>();
  readonly #unanchored = new Set<Watch>();
  readonly #anchored = new Map<string, Set<Watch>>();
  /** How many anchors there are for each label key, and for each field. */
  readonly #labels = new Map<string, number>();
  readonly #fields = new Map<number, number>();

  constructor(definitions: readonly IndexDefinition[]) {
    this.#definitions = definitions;
  }

  get isEmpty(): boolean {
    return this.#anchors.size === 0 && this.#unanchored.size === 0 && this.readers.size === 0;
  }

  add(watch: Watch): void {
    const anchors = this.#anchorsOf(watch);
    if (!anchors) {
      this.#unanchored.add(watch);
      return;
    }
    const files = anchors.map((anchor) => anchor.file);
    this.#anchors.set(watch, files);
    for (const file of files) {
      const filed = this.#anchored.get(file);
      if (filed) filed.add(watch);
      else this.#anchored.set(file, new Set([watch]));
    }
    this.#count(anchors, 1);
  }

  remove(watch: Watch): void {
    this.#unanchored.delete(watch);
    const files = this.#anchors.get(watch);
    if (!files) return;
    this.#anchors.delete(watch);
    for (const file of files) {
      const filed = this.#anchored.get(file);
      filed?.delete(watch);
      if (filed?.size === 0) this.#anchored.delete(file);
    }
    this.#count(this.#anchorsOf(watch)!, -1);
  }

  deliver(change: AppliedChange): void {
    for (const reader of this.readers) reader.change(change);
    for (const watch of this.#unanchored) watch.deliver(change);
    if (this.#anchored.size === 0) return;
    const found = new Set(this.#anchored.get(nameFile(change.name)));
    for (const entry of [change.entry(), change.entryBefore()]) {
      if (!entry) continue;
      for (const file of this.#filesOf(entry)) for (const watch of this.#anchored.get(file) ?? []) found.add(watch);
    }
    for (const watch of found) watch.deliver(change);
  }

  #anchorsOf({ names, bound }: Watch): readonly Anchor[] | undefined {
    if (names) return [...names].map((name) => ({ file: nameFile(name) }));
    return anchorsOf(bound, this.#definitions);
  }

  #count(anchors: readonly Anchor[], by: number): void {
    for (const { label, field } of anchors) {
      if (label !== undefined) count(this.#labels, label, by);
      if (field !== undefined) count(this.#fields, field, by);
    }
  }

  *#filesOf(entry: IndexEntry): Generator<string> {
    for (const label of this.#labels.keys()) {
      if (Object.hasOwn(entry.labels, label)) yield labelFile(label, entry.labels[label]!);
    }
    for (const field of this.#fields.keys()) {
      const { codec } = fieldAt(this.#definitions, field);
      for (const key of keysOf(entry, field)) yield fieldFile(field, codec.format(key));
    }
  }
}

/** Where a watch is filed, and the label key or field that leads there. */
interface Anchor {
  readonly file: string;
  readonly label?: string;
  readonly field?: number;
}

/** Whatever the condition holds for has one of these; undefined when there are no such few. */
function anchorsOf(bound: Bound, definitions: readonly IndexDefinition[]): readonly Anchor[] | undefined {
  switch (bound.op) {
    case 'and': {
      const found = bound.of.flatMap((one) => {
        const anchors = anchorsOf(one, definitions);
        return anchors ? [anchors] : [];
      });
      return found.toSorted((a, b) => a.length - b.length)[0];
    }
    case 'or': {
      const found = bound.of.map((one) => anchorsOf(one, definitions));
      return found.some((anchors) => !anchors) ? undefined : found.flatMap((anchors) => anchors!);
    }
    case 'label':
      return (
        bound.values && [...bound.values].map((value) => ({ file: labelFile(bound.key, value), label: bound.key }))
      );
    case 'keys': {
      const { codec } = fieldAt(definitions, bound.field);
      const isPoint = ({ from, to }: KeyRange) =>
        from !== undefined && to !== undefined && codec.compare(from, to) === 0;
      if (bound.text || !bound.ranges.every(isPoint)) return undefined;
      return bound.ranges.map(({ from }) => ({ file: fieldFile(bound.field, codec.format(from)), field: bound.field }));
    }
    default:
      return undefined;
  }
}

function nameFile(name: string): string {
  return `n${name}`;
}

function labelFile(key: string, value: string): string {
  return `l${key}=${value}`;
}

function fieldFile(field: number, key: string): string {
  return `f${field}=${key}`;
}

function count<K>(counts: Map<K, number>, key: K, by: number): void {
  const now = (counts.get(key) ?? 0) + by;
  if (now === 0) counts.delete(key);
  else counts.set(key, now);
}
