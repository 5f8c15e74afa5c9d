/** What stands below the prefix of the façade: the path of an object or of a collection, as Kubernetes writes it. */

/** Without a name it is a collection. */
export interface ResourcePath {
  /** As shown: '' for the core group. */
  readonly group: string;
  readonly version: string;
  readonly namespace?: string;
  readonly plural: string;
  readonly name?: string;
  /** `status`, `scale` or what is no sub-resource of anything. */
  readonly sub?: string;
}

/** Sub-resources of a Namespace: behind `namespaces/<name>`, every other word is a plural. */
const ofNamespaces: ReadonlySet<string> = new Set(['status', 'finalize']);

/** @param segments decoded, behind the prefix. Undefined for what is no path of a resource */
export function resourcePath(segments: readonly string[]): ResourcePath | undefined {
  if (segments.includes('')) return undefined;
  const [root, ...behind] = segments;
  const rest = root === 'api' ? ['', ...behind] : root === 'apis' ? behind : [];
  const [group, version, first, ...more] = rest;
  if (group === undefined || version === undefined || first === undefined) return undefined;
  const at = { group, version };
  const [second, third, ...others] = more;
  if (first === 'namespaces' && second !== undefined && third !== undefined && !ofNamespaces.has(third)) {
    const [name, sub, ...beyond] = others;
    return beyond.length > 0 ? undefined : placed({ ...at, namespace: second, plural: third }, name, sub);
  }
  return others.length > 0 ? undefined : placed({ ...at, plural: first }, second, third);
}

function placed(collection: ResourcePath, name: string | undefined, sub: string | undefined): ResourcePath {
  return { ...collection, ...(name !== undefined && { name }), ...(sub !== undefined && { sub }) };
}

/** `widgets.example.com`, or `pods` alone in the core group. */
export function qualified(plural: string, group: string): string {
  return group === '' ? plural : `${plural}.${group}`;
}

/** `example.com/v1`, or `v1` alone in the core group. */
export function apiVersionOf(group: string, version: string): string {
  return group === '' ? version : `${group}/${version}`;
}
