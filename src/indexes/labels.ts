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

/** A list of labels, as objects have them in this order; those that have the same share one. */
interface LabelGroup {
  /** Without the last one; undefined for the empty list. */
  readonly shorter: LabelGroup | undefined;
  readonly key: string;
  readonly value: string;
  /** Objects with the last key, and with the last label. */
  readonly all: SlotSet;
  readonly having: SlotSet;
  /** With one more, by its key and value. */
  longer: Map<string, Map<string, LabelGroup>> | undefined;
  objects: number;
}

export class Labels {
  readonly #keys = new Map<string, LabelKey>();
  readonly #noLabels: LabelGroup;
  /** By slot; undefined where there are no labels. */
  #groupOf: (LabelGroup | undefined)[] = [];
  readonly #memory: IndexMemory;

  constructor(memory: IndexMemory) {
    this.#memory = memory;
    const none = new SlotSet(memory);
    this.#noLabels = { shorter: undefined, key: '', value: '', all: none, having: none, longer: undefined, objects: 0 };
  }

  /** Sets, replaces or (undefined) removes the labels of an object. */
  set(slot: number, labels: Readonly<Record<string, string>> = {}): void {
    const groupOf = this.#groupOf;
    const before = groupOf[slot];
    if (before) {
      if (this.#find(labels) === before) return;
      this.#leave(slot, before);
    }
    while (groupOf.length <= slot) groupOf.push(undefined);
    let group = this.#noLabels;
    for (const key of Object.keys(labels)) group = this.#longer(group, key, labels[key]!);
    groupOf[slot] = group.shorter && group;
    group.objects++;
    for (let one = group; one.shorter; one = one.shorter) {
      one.all.add(slot);
      one.having.add(slot);
    }
  }

  #find(labels: Readonly<Record<string, string>>): LabelGroup | undefined {
    let group: LabelGroup | undefined = this.#noLabels;
    for (const key of Object.keys(labels)) group = group?.longer?.get(key)?.get(labels[key]!);
    return group;
  }

  #longer(shorter: LabelGroup, key: string, value: string): LabelGroup {
    shorter.longer ??= new Map();
    const known = shorter.longer.get(key);
    const group = known?.get(value);
    if (group) return group;
    const { all, values } = this.#keyOf(key);
    const having = values.get(value) ?? new SlotSet(this.#memory);
    values.set(value, having);
    const made: LabelGroup = { shorter, key, value, all, having, longer: undefined, objects: 0 };
    if (known) known.set(value, made);
    else shorter.longer.set(key, new Map([[value, made]]));
    return made;
  }

  #keyOf(key: string): LabelKey {
    const known = this.#keys.get(key) ?? { all: new SlotSet(this.#memory), values: new Map() };
    this.#keys.set(key, known);
    return known;
  }

  #leave(slot: number, group: LabelGroup): void {
    this.#groupOf[slot] = undefined;
    group.objects--;
    for (let one = group; one.shorter; one = one.shorter) {
      const { key, value, all, having } = one;
      having.remove(slot);
      all.remove(slot);
      if (having.count === 0) this.#keys.get(key)!.values.delete(value);
      if (all.count === 0) this.#keys.delete(key);
    }
    // No object has the labels of what goes, so its sets are gone too.
    for (let one = group; one.shorter && one.objects === 0 && !one.longer; one = one.shorter) {
      const siblings = one.shorter.longer!;
      siblings.get(one.key)!.delete(one.value);
      if (siblings.get(one.key)!.size === 0) siblings.delete(one.key);
      if (siblings.size === 0) one.shorter.longer = undefined;
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
      for (const group of added.splice(0)) {
        const texts = textsOf(group);
        const values = Uint32Array.from(texts, ({ length }) => length + 1);
        yield { of: 'labels.groups', values, text: texts.join('') };
      }
    }
  }

  *restore(sections: Sections): Steps {
    const texts: string[] = [];
    yield* getTexts(sections, 'labels.texts', (text) => texts.push(text!));
    yield* this.#restoreSets(sections, texts);
    const pairs = sectionOf(sections, 'labels.pairs');
    const objects = sectionOf(sections, 'labels.objects');
    const groups: (LabelGroup | undefined)[] = [undefined];
    let at = 0;
    for (const [number, end] of sectionOf(sections, 'labels.ends').entries()) {
      const start = at;
      at = end;
      let group = this.#noLabels;
      for (let i = start; i < end && objects[number]! > 0; i += 2)
        group = this.#longer(group, texts[pairs[i]!]!, texts[pairs[i + 1]!]!);
      group.objects += objects[number]!;
      groups.push(group.shorter && group);
      if (number % 8_192 === 0) yield;
    }
    const groupOf = sectionOf(sections, 'labels.groups');
    for (let slot = 0; slot < groupOf.length; slot++) {
      this.#groupOf.push(groups[groupOf[slot]!]);
      if (slot % 65_536 === 0) yield;
    }
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
      const known = this.#keyOf(key);
      if (value === none) known.all.take(slots);
      else known.values.set(texts[value]!, slots);
    }
  }

  /** Whether an object has these labels and no others. */
  hasExactly(slot: number, labels: Readonly<Record<string, string>>): boolean {
    return this.#find(labels) === (this.#groupOf[slot] ?? this.#noLabels);
  }

  /** Objects with the label, or with the label and this value; undefined when there are none. */
  having(key: string, value?: string): SlotSet | undefined {
    const known = this.#keys.get(key);
    return value === undefined ? known?.all : known?.values.get(value);
  }
}

/** Key, value, key, value. */
function textsOf(group: LabelGroup): string[] {
  return group.shorter ? [...textsOf(group.shorter), group.key, group.value] : [];
}
