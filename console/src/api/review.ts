/** What somebody may do or not. */
export interface Review {
  readonly verb: string;
  /** `plural.group`, with a sub-resource behind a slash. */
  readonly type?: string;
  readonly name?: string;
  readonly namespace?: string;
  /** Of a route that is no resource. */
  readonly path?: string;
  readonly user?: string;
}

const resource = /^\/(?:api|apis\/([^/]+))\/[^/]+\/(?:namespaces\/([^/]+)\/)?([^/]+)(?:\/([^/]+))?(\/.+)?$/;
const changes: Readonly<Record<string, string>> = { POST: 'create', PUT: 'update', PATCH: 'patch', DELETE: 'delete' };

/** What a request asks to be allowed to do. */
export function reviewOf(method: string, { pathname, searchParams }: URL): Review {
  const [found, group, namespace, plural, name, below = ''] = resource.exec(pathname) ?? [];
  if (!found) return { verb: method.toLowerCase(), path: pathname };
  const many = ['watch', 'explain'].find((one) => searchParams.get(one) === 'true') ?? 'list';
  return {
    verb: changes[method] ?? (name === undefined ? many : 'get'),
    type: [plural, group].filter(Boolean).join('.') + below,
    ...(name !== undefined && { name: decodeURIComponent(name) }),
    ...(namespace !== undefined && { namespace: decodeURIComponent(namespace) }),
  };
}
