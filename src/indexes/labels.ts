/** Which objects have a label, and which have it with a value: one set of slots for each key and for each pair. */
import { SlotSet } from './slot-set.ts';

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
      const known = this.#keys.get(key) ?? { all: new SlotSet(), values: new Map<string, SlotSet>() };
      const having = known.values.get(value) ?? new SlotSet();
      if (known.all.count === 0) this.#keys.set(key, known);
      if (having.count === 0) known.values.set(value, having);
      known.all.add(slot);
      having.add(slot);
    }
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
