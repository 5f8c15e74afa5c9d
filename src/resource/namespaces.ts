/** Where objects of namespaced models may be made. */
export interface Namespaces {
  /** @throws Forbidden for a namespace that is being deleted */
  assertOpen(name: string): Promise<void>;
}
