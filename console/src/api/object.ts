/** Any object as plain JSON. */
export interface ApiObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly version?: number;
    readonly creationTimestamp?: string;
    readonly deletionTimestamp?: string;
    readonly finalizers?: readonly string[];
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly [member: string]: unknown;
}

/** By what an object is known among those of its model: `<namespace>/<name>`, or the name alone. */
export function fullNameOf({ metadata: { namespace, name } }: Pick<ApiObject, 'metadata'>): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

export function partsOf(fullName: string): { readonly namespace?: string; readonly name: string } {
  const slash = fullName.indexOf('/');
  return slash < 0 ? { name: fullName } : { namespace: fullName.slice(0, slash), name: fullName.slice(slash + 1) };
}
