/** The loops of `kernels.wat` in JavaScript: for short arrays, for a machine that has no such memory, and for tests to compare with. */

/** What is in all three, into `result`, which may be one of them; gives the count. */
export function intersect(a: Uint32Array, b: Uint32Array, c: Uint32Array, result: Uint32Array): number {
  const length = Math.min(a.length, b.length, c.length, result.length);
  let count = 0;
  for (let i = 0; i < length; i++) {
    const word = a[i]! & b[i]! & c[i]!;
    result[i] = word;
    count += bitsOf(word);
  }
  return count;
}

/** What is in the first and not in the second, into `result`, which may be the first; gives the count. */
export function subtract(a: Uint32Array, b: Uint32Array, result: Uint32Array): number {
  const length = Math.min(a.length, b.length, result.length);
  let count = 0;
  for (let i = 0; i < length; i++) {
    const word = a[i]! & ~b[i]!;
    result[i] = word;
    count += bitsOf(word);
  }
  return count;
}

/** Adds to the first what is in the second. */
export function unite(words: Uint32Array, others: Uint32Array): void {
  const length = Math.min(words.length, others.length);
  for (let i = 0; i < length; i++) words[i]! |= others[i]!;
}

export function count(words: Uint32Array): number {
  let found = 0;
  for (let i = 0; i < words.length; i++) found += bitsOf(words[i]!);
  return found;
}

/**
 * The slots that are in all three, ascending, into `slots`, which has room for three more; gives the count.
 * The first two bits of a word are extracted branch-free: these branches mispredict about half the time.
 * @param from the word to begin with; `to` is the one to end before
 */
export function slots(
  a: Uint32Array,
  b: Uint32Array,
  c: Uint32Array,
  from: number,
  to: number,
  slots: Uint32Array,
): number {
  let count = 0;
  for (let at = from; at < to; at++) {
    let word = (a[at]! & b[at]! & c[at]!) | 0;
    slots[count] = at * 32 + 31 - Math.clz32(word & -word);
    count += (word | -word) >>> 31;
    word &= word - 1;
    slots[count] = at * 32 + 31 - Math.clz32(word & -word);
    count += (word | -word) >>> 31;
    word &= word - 1;
    for (; word !== 0; word &= word - 1) slots[count++] = at * 32 + 31 - Math.clz32(word & -word);
  }
  return count;
}

/** Adds the slots of a bitmap to the counts of their leaves. */
export function countByLeaf(words: Uint32Array, leafOf: Uint16Array | Uint32Array, counts: Uint32Array): void {
  for (let at = 0; at < words.length; at++) {
    for (let word = words[at]! | 0; word !== 0; word &= word - 1)
      counts[leafOf[at * 32 + 31 - Math.clz32(word & -word)]!]!++;
  }
}

/** How many items from a place up to another are in the bitmap. */
export function countAmong(words: Uint32Array, items: Uint32Array, from: number, to: number): number {
  let found = 0;
  for (let at = from; at < to; at++) {
    const item = items[at]!;
    found += (words[item >>> 5]! >>> (item & 31)) & 1;
  }
  return found;
}

/** Place of an item from one place up to another, counted from the first; -1 when it is not there. */
export function find(items: Uint32Array, from: number, to: number, item: number): number {
  for (let at = from; at < to; at++) if (items[at] === item) return at - from;
  return -1;
}

function bitsOf(word: number): number {
  let v = word - ((word >>> 1) & 0x55555555);
  v = (v & 0x33333333) + ((v >>> 2) & 0x33333333);
  return Math.imul((v + (v >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
