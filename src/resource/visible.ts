/** The objects of a model that a request is about, and those among them that its caller sees. */
import { namespacedIndexes } from '../model/index-spec.ts';
import type { Scheme } from '../model/scheme.ts';
import type { Condition } from '../query/condition.ts';
import { Queries } from '../query/condition.ts';

/** By the path of a request and the decision about its caller. */
export interface Visible {
  /** Undefined: all of them. */
  readonly namespace: string | undefined;
  /** As rules have them, without a namespace. Undefined: every name. */
  readonly names: ReadonlySet<string> | undefined;
}

const [namespaceIndex, nameIndex] = namespacedIndexes.map(({ name }) => name) as [string, string];

/** The condition on the objects of one namespace, too. */
export function within(where: Condition, namespace: string | undefined): Condition {
  return namespace === undefined ? where : Queries.equal(namespaceIndex, namespace).and(where);
}

/** Of a namespaced model: the objects that a request is limited to, when it is not about all. */
export function visible({ isNamespaced }: Scheme, { namespace, names }: Visible): Condition | undefined {
  if (!isNamespaced) return undefined;
  if (namespace !== undefined) return within(Queries.all(), namespace);
  return names && Queries.in(nameIndex, names);
}

/**
 * What a list or a watch is limited to; `where` says already which namespace.
 * @returns full names, or a condition: over all namespaces a name stands for many objects
 */
export function limited(
  { isNamespaced }: Scheme,
  where: Condition,
  { namespace, names }: Visible,
): { readonly where: Condition; readonly names?: ReadonlySet<string> } {
  if (!names) return { where };
  if (!isNamespaced) return { where, names };
  if (namespace === undefined) return { where: Queries.in(nameIndex, names).and(where) };
  return { where, names: new Set([...names].map((name) => `${namespace}/${name}`)) };
}
