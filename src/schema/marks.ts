/** What the schemas that apply to one place of an object know of its members (closedness, docs/reference/objects.md). */

export class Marks {
  #names: Set<string> | undefined;
  /** Known items of an array: all below this number, and these. */
  items = 0;
  indexes: Set<number> | undefined;
  #closed: Set<string> | undefined;
  #children: Map<string | number, Marks> | undefined;

  /** Known members of an object. */
  get names(): Set<string> {
    this.#names ??= new Set();
    return this.#names;
  }

  get closed(): boolean {
    return this.#closed !== undefined;
  }

  get children(): ReadonlyMap<string | number, Marks> | undefined {
    return this.#children;
  }

  close(names: readonly string[]): void {
    this.#closed ??= new Set();
    for (const name of names) this.#closed.add(name);
  }

  /** Nothing of the value counts as unknown. */
  knowAll(value: object): void {
    if (Array.isArray(value)) this.items = value.length;
    else for (const name in value) this.names.add(name);
  }

  /** Declared names, for messages. */
  known(): string {
    return [...(this.#closed ?? this.names)].join(', ');
  }

  child(token: string | number): Marks {
    this.#children ??= new Map();
    let child = this.#children.get(token);
    if (!child) {
      child = new Marks();
      this.#children.set(token, child);
    }
    return child;
  }

  merge(other: Marks, context: { spendMarks(count: number): void }): void {
    context.spendMarks(1);
    if (other.#names) {
      context.spendMarks(other.#names.size);
      for (const name of other.#names) this.names.add(name);
    }
    if (other.items > this.items) this.items = other.items;
    if (other.indexes) {
      this.indexes ??= new Set();
      context.spendMarks(other.indexes.size);
      for (const index of other.indexes) this.indexes.add(index);
    }
    if (other.#closed) this.close([...other.#closed]);
    if (other.#children) for (const [token, child] of other.#children) this.child(token).merge(child, context);
  }
}
