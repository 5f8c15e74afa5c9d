/** Which objects of a model name which owners, by uid. Takes memory for those alone that name any. */
export class Dependents {
  readonly #byOwner = new Map<string, Set<string>>();
  readonly #owners = new Map<string, readonly string[]>();

  /** Full names of objects that name an owner. */
  get names(): Iterable<string> {
    return this.#owners.keys();
  }

  of(owner: string): ReadonlySet<string> {
    return this.#byOwner.get(owner) ?? noNames;
  }

  /** Undefined: none. */
  ownersOf(name: string): readonly string[] | undefined {
    return this.#owners.get(name);
  }

  /** @param owners undefined, or empty: it names none, or is gone */
  set(name: string, owners: readonly string[] = noOwners): void {
    // Most models have no dependents: their names are not looked for.
    const before = this.#owners.size > 0 ? this.#owners.get(name) : undefined;
    if (!before && owners.length === 0) return;
    for (const owner of before ?? noOwners) {
      const names = this.#byOwner.get(owner)!;
      names.delete(name);
      if (names.size === 0) this.#byOwner.delete(owner);
    }
    if (owners.length === 0) {
      this.#owners.delete(name);
      return;
    }
    this.#owners.set(name, owners);
    for (const owner of owners) {
      const names = this.#byOwner.get(owner);
      if (names) names.add(name);
      else this.#byOwner.set(owner, new Set([name]));
    }
  }
}

const noNames: ReadonlySet<string> = new Set();
const noOwners: readonly string[] = [];
