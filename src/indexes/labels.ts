/** Which objects have a label, and which have it with a value: one set of slots for each key and for each pair. */
import { none } from './arrays.ts';
import type { IndexMemory } from './memory/index-memory.ts';
import { SlotSet } from './slot-set.ts';
import type { Pieces } from './snapshot/piece.ts';
import type { Sections } from './snapshot/texts.ts';
import { getTexts, sectionOf } from './snapshot/texts.ts';
import type { Steps } from './sort.ts';

interface LabelKey {
  readonly all: SlotSet;
  readonly values: Map<string, SlotSet>;
}

/** The labels of an object; objects with the same labels in the same order share one. */
interface LabelGroup {
  readonly id: string;
  readonly labels: readonly (readonly [key: string, value: string])[];
  objects: number;
}

export class Labels {
  readonly #keys = new Map<string, LabelKey>();
  readonly #groups = new Map<string, LabelGroup>();
  /** By slot. */
  readonly #groupOf: (LabelGroup | undefined)[] = [];
  readonly #memory: IndexMemory;

  constructor(memory: IndexMemory) {
    this.#memory = memory;
  }

  /** Sets, replaces or (undefined) removes the labels of an object. */
  set(slot: number, labels: Readonly<Record<string, string>> | undefined): void {
    const before = this.#groupOf[slot];
    const id = labels ? idOf(labels) : '';
    if (id === (before?.id ?? '')) {
      while (this.#groupOf.length <= slot) this.#groupOf.push(undefined);
      return;
    }
    if (before) this.#leave(slot, before);
    const group = id === '' ? undefined : this.#group(id, labels!);
    while (this.#groupOf.length <= slot) this.#groupOf.push(undefined);
    this.#groupOf[slot] = group;
    if (!group) return;
    group.objects++;
    for (const [key, value] of group.labels) {
      const known = this.#keys.get(key) ?? this.#emptyKey();
      const having = known.values.get(value) ?? new SlotSet(this.#memory);
      if (known.all.count === 0) this.#keys.set(key, known);
      if (having.count === 0) known.values.set(value, having);
      known.all.add(slot);
      having.add(slot);
    }
  }

  #emptyKey(): LabelKey {
    return { all: new SlotSet(this.#memory), values: new Map() };
  }

  #group(id: string, labels: Readonly<Record<string, string>>): LabelGroup {
    const group = this.#groups.get(id) ?? { id, labels: Object.entries(labels), objects: 0 };
    if (group.objects === 0) this.#groups.set(id, group);
    return group;
  }

  #leave(slot: number, group: LabelGroup): void {
    if (--group.objects === 0) this.#groups.delete(group.id);
    for (const [key, value] of group.labels) {
      const known = this.#keys.get(key)!;
      const having = known.values.get(value)!;
      having.remove(slot);
      if (having.count === 0) known.values.delete(value);
      known.all.remove(slot);
      if (known.all.count === 0) this.#keys.delete(key);
    }
  }

  /** Copies of each object its group, as a number from 1 on (0: no labels), and the labels of each group. */
  *pieces(limit: number, portion: number): Pieces {
    const numbers = new Map<LabelGroup, number>();
    const added: LabelGroup[] = [];
    for (let at = 0; at === 0 || at < limit; at += portion) {
      const values = new Uint32Array(Math.min(portion, limit - at));
      for (let i = 0; i < values.length; i++) {
        const group = this.#groupOf[at + i];
        if (!group) continue;
        const number = numbers.get(group) ?? numbers.size + 1;
        if (number > numbers.size) {
          numbers.set(group, number);
          added.push(group);
        }
        values[i] = number;
      }
      yield { of: 'labels.of', values };
      // One piece for each group.
      for (const { labels } of added.splice(0)) {
        const texts = labels.flat();
        const values = Uint32Array.from(texts, ({ length }) => length + 1);
        yield { of: 'labels.groups', values, text: texts.join('') };
      }
    }
  }

  *restore(sections: Sections): Steps {
    const texts: string[] = [];
    yield* getTexts(sections, 'labels.texts', (text) => texts.push(text!));
    const pairs = sectionOf(sections, 'labels.pairs');
    const objects = sectionOf(sections, 'labels.objects');
    const groups: (LabelGroup | undefined)[] = [undefined];
    let at = 0;
    for (const [group, end] of sectionOf(sections, 'labels.ends').entries()) {
      const labels: [string, string][] = [];
      for (; at < end; at += 2) labels.push([texts[pairs[at]!]!, texts[pairs[at + 1]!]!]);
      const made = { id: idOf(Object.fromEntries(labels)), labels, objects: objects[group]! };
      groups.push(made);
      if (made.objects > 0) this.#groups.set(made.id, made);
      if (group % 8_192 === 0) yield;
    }
    const groupOf = sectionOf(sections, 'labels.groups');
    for (let slot = 0; slot < groupOf.length; slot++) {
      this.#groupOf.push(groups[groupOf[slot]!]);
      if (slot % 65_536 === 0) yield;
    }
    yield* this.#restoreSets(sections, texts);
  }

  *#restoreSets(sections: Sections, texts: readonly string[]): Steps {
    const sets = sectionOf(sections, 'labels.sets');
    const starts = sectionOf(sections, 'labels.starts');
    const members = sectionOf<Uint32Array<ArrayBuffer>>(sections, 'labels.members');
    for (let set = 0; set * 2 < sets.length; set++) {
      const slots = SlotSet.ofSlots(this.#memory, members.slice(starts[set], starts[set + 1]));
      if (set % 256 === 0 || slots.count > 8_192) yield;
      if (slots.count === 0) continue;
      const key = texts[sets[set * 2]!]!;
      const value = sets[set * 2 + 1]!;
      const known = this.#keys.get(key) ?? this.#emptyKey();
      this.#keys.set(key, known);
      if (value === none) known.all.take(slots);
      else known.values.set(texts[value]!, slots);
    }
  }

  /** Whether an object has these labels and no others. */
  hasExactly(slot: number, labels: Readonly<Record<string, string>>): boolean {
    return (this.#groupOf[slot]?.id ?? '') === idOf(labels);
  }

  /** Objects with the label, or with the label and this value; undefined when there are none. */
  having(key: string, value?: string): SlotSet | undefined {
    const known = this.#keys.get(key);
    return value === undefined ? known?.all : known?.values.get(value);
  }
}

/** Different for different labels; empty for none. */
function idOf(labels: Readonly<Record<string, string>>): string {
  let id = '';
  for (const key of Object.keys(labels)) {
    const value = labels[key]!;
    id += `${key.length}:${key}${value.length}:${value}`;
  }
  return id;
}
