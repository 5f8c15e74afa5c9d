/** By what the store and the indexes know an object: `<namespace>/<name>`, or the name alone. A name holds no `/`. */
export function fullNameOf({ namespace, name }: { readonly namespace?: string; readonly name: string }): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

/** The parts of a full name. */
export function partsOf(fullName: string): { readonly namespace?: string; readonly name: string } {
  const slash = fullName.indexOf('/');
  return slash < 0 ? { name: fullName } : { namespace: fullName.slice(0, slash), name: fullName.slice(slash + 1) };
}
