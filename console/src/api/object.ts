import { withValue } from '../diff/pointer.ts';

/** Any object as plain JSON. */
export interface ApiObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly version?: number;
    /** Counts changes of all but metadata and status; absent: 1. */
    readonly generation?: number;
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

/** Counts and owners of fields: they say nothing of what was changed. */
const bookkeeping = ['/metadata/version', '/metadata/generation', '/metadata/managedFields'];

/** Pointers of what the service sets, whatever is sent. */
export const setByService: readonly string[] = [
  ...bookkeeping,
  '/metadata/creationTimestamp',
  '/metadata/deletionTimestamp',
];

export function withoutBookkeeping(object: unknown): unknown {
  return bookkeeping.reduce((rest, pointer) => withValue(rest, pointer, undefined), object);
}
