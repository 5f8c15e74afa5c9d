/** Writes of one object, and what the answers mean for the draft. */

import type { ListResult } from 'kindred/client';
import { client } from '../../api/client.ts';
import type { Problem } from '../../api/errors.ts';
import type { ModelDetails } from '../../api/models.ts';
import { objectLink, objectPathOf, pathOf, typeOf } from '../../api/models.ts';
import { fullNameOf } from '../../api/object.ts';
import { changesBetween } from '../../diff/diff.ts';
import { isEqual, isObject, memberOf, valueAt } from '../../diff/pointer.ts';
import type { FieldProblem } from '../../form/errors.ts';
import { termOf } from '../../query/terms.ts';

export interface StoredObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly version: number;
    readonly creationTimestamp?: string;
    readonly deletionTimestamp?: string;
    readonly finalizers?: readonly string[];
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly [member: string]: unknown;
}

export function read(model: ModelDetails, name: string, signal?: AbortSignal): Promise<StoredObject> {
  return client.request<StoredObject>('GET', objectPathOf(model, name), { ...(signal && { signal }) });
}

/** The full name that is written in an object; undefined when there is none. */
export function namedBy(object: unknown): string | undefined {
  const [name, namespace] = ['name', 'namespace'].map((member) => valueAt(object, `/metadata/${member}`));
  if (typeof name !== 'string' || name === '') return undefined;
  return fullNameOf({ metadata: { name, ...(typeof namespace === 'string' && namespace !== '' && { namespace }) } });
}

/** The whole object with its version. */
export function replace(model: ModelDetails, object: unknown, place = ''): Promise<StoredObject> {
  return client.request<StoredObject>('PUT', `${objectPathOf(model, namedBy(object)!)}${place}`, { body: object });
}

/** Only what has changed, and only if the version is still that of the base. */
export function patch(model: ModelDetails, base: unknown, object: unknown): Promise<StoredObject> {
  const body = [
    { op: 'test', path: '/metadata/version', value: valueAt(base, '/metadata/version') },
    ...changesBetween(base, object)
      .filter(({ pointer }) => pointer !== '/metadata/version')
      .map(({ pointer, before, after }) => {
        if (after === undefined) return { op: 'remove', path: pointer };
        return { op: before === undefined ? 'add' : 'replace', path: pointer, value: after };
      }),
  ];
  return client.request<StoredObject>('PATCH', objectPathOf(model, namedBy(base)!), {
    body,
    headers: { 'content-type': 'application/json-patch+json' },
  });
}

export function create(model: ModelDetails, object: unknown): Promise<StoredObject> {
  const namespace = valueAt(object, '/metadata/namespace');
  const path = pathOf(model, typeof namespace === 'string' && namespace !== '' ? namespace : undefined);
  return client.request<StoredObject>('POST', path, { body: object });
}

/** True when a stored object has each change that was to be written; the service may have filled in defaults, and others may have changed other members since. */
export function hasBeenStored(stored: unknown, base: unknown, wanted: unknown): boolean {
  return changesBetween(base, wanted).every(({ pointer, after }) => covers(valueAt(stored, pointer), after));
}

function covers(stored: unknown, wanted: unknown): boolean {
  if (Array.isArray(stored) && Array.isArray(wanted)) {
    return stored.length === wanted.length && wanted.every((item, i) => covers(stored[i], item));
  }
  if (!isObject(stored) || !isObject(wanted)) return isEqual(stored, wanted);
  return Object.entries(wanted).every(([name, member]) => covers(memberOf(stored, name), member));
}

/** As a new object: without name, version, times, owner, deletion and status. */
export function copyOf(object: StoredObject): unknown {
  const { labels = {}, annotations } = object.metadata;
  const own = Object.entries(labels).filter(([key]) => !/^plugin\..*\/plugin-name$/.test(key));
  const { status: _, ...rest } = object;
  return {
    ...rest,
    metadata: {
      ...(object.metadata.namespace !== undefined && { namespace: object.metadata.namespace }),
      ...(own.length > 0 && { labels: Object.fromEntries(own) }),
      ...(annotations && { annotations }),
    },
  };
}

/** What the service found wrong, at the fields that it is about; with a link to the object that has the name or the value. */
export async function answeredProblems(
  model: ModelDetails,
  problem: Problem,
  object: unknown,
): Promise<FieldProblem[]> {
  const { errors = [], index, value, detail, code } = problem;
  const linkTo = (name: string) => ({ other: objectLink(typeOf(model), name) });
  if (code === 'UniqueViolation' && typeof index === 'string') {
    const pointer = `/${index.replaceAll('.', '/')}`;
    const other = await holderOf(model, index, value);
    return [{ pointer, field: index, message: detail, isCertain: true, ...(other !== undefined && linkTo(other)) }];
  }
  if (code === 'AlreadyExists') {
    const name = namedBy(object);
    const other = name !== undefined && linkTo(name);
    return [{ pointer: '/metadata/name', field: 'metadata.name', message: detail, isCertain: true, ...other }];
  }
  return errors.map(({ pointer, field, message }) => ({ pointer, field, message, isCertain: true }));
}

/** The name of the object that has a value of a unique index; undefined where the caller may not list it. */
async function holderOf(model: ModelDetails, index: string, value: unknown): Promise<string | undefined> {
  const query = { size: '1', fieldSelector: termOf(index, '=', [String(value)]) };
  const page = await client.request<ListResult<StoredObject>>('GET', pathOf(model), { query }).catch(() => undefined);
  return page?.items[0] && fullNameOf(page.items[0]);
}

/** The service's own model of secrets: its values are hidden until they are asked for. */
export function isSecret({ group, kind }: Pick<ModelDetails, 'group' | 'kind'>): boolean {
  return group === '' && kind === 'Secret';
}

/** Secrets are never kept outside of the page. */
export function holdsSecrets(model: ModelDetails): boolean {
  const { schema } = model;
  return isSecret(model) || /"format":"password"|"writeOnly":true/.test(JSON.stringify(schema));
}
