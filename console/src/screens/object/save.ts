/** Writes of one object, and what the answers mean for the draft. */

import { client } from '../../api/client.ts';
import type { Problem } from '../../api/errors.ts';
import type { ModelDetails } from '../../api/models.ts';
import { pathOf } from '../../api/models.ts';
import { changesBetween } from '../../diff/diff.ts';
import { isEqual, valueAt, withValue } from '../../diff/pointer.ts';
import type { FieldProblem } from '../../form/errors.ts';

export interface StoredObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly version: number;
    readonly creationTimestamp?: string;
    readonly deletionTimestamp?: string;
    readonly finalizers?: readonly string[];
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly [member: string]: unknown;
}

export function objectPath(model: ModelDetails, name: string): string {
  return `${pathOf(model)}/${encodeURIComponent(name)}`;
}

export function read(model: ModelDetails, name: string, signal?: AbortSignal): Promise<StoredObject> {
  return client.request<StoredObject>('GET', objectPath(model, name), { ...(signal && { signal }) });
}

/** The whole object with its version. */
export function replace(model: ModelDetails, object: unknown, place = ''): Promise<StoredObject> {
  const name = String(valueAt(object, '/metadata/name'));
  return client.request<StoredObject>('PUT', `${objectPath(model, name)}${place}`, { body: object });
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
  const name = String(valueAt(base, '/metadata/name'));
  return client.request<StoredObject>('PATCH', objectPath(model, name), {
    body,
    headers: { 'content-type': 'application/json-patch+json' },
  });
}

export function create(model: ModelDetails, object: unknown): Promise<StoredObject> {
  return client.request<StoredObject>('POST', pathOf(model), { body: object });
}

/** True when a stored object has what was to be written, but for what the service decides. */
export function hasBeenStored(stored: unknown, wanted: unknown): boolean {
  const without = (object: unknown) =>
    ['/metadata/version', '/metadata/creationTimestamp', '/metadata/deletionTimestamp', '/status'].reduce(
      (value, pointer) => withValue(value, pointer, undefined),
      object,
    );
  return isEqual(without(stored), without(wanted));
}

/** As a new object: without name, version, times, owner, deletion and status. */
export function copyOf(object: StoredObject): unknown {
  const { labels = {}, annotations } = object.metadata;
  const own = Object.entries(labels).filter(([key]) => !/^plugin\..*\/plugin-name$/.test(key));
  const { status: _, ...rest } = object;
  return {
    ...rest,
    metadata: {
      ...(own.length > 0 && { labels: Object.fromEntries(own) }),
      ...(annotations && { annotations }),
    },
  };
}

/** What the service found wrong, at the fields that it is about. */
export function answeredProblems(problem: Problem, taken: string): FieldProblem[] {
  const { errors = [], index, detail, code } = problem;
  if (code === 'UniqueViolation' && typeof index === 'string') {
    const pointer = `/${index.replaceAll('.', '/')}`;
    return [{ pointer, field: index, message: detail || taken, isCertain: true }];
  }
  if (code === 'AlreadyExists') {
    return [{ pointer: '/metadata/name', field: 'metadata.name', message: detail, isCertain: true }];
  }
  return errors.map(({ pointer, field, message }) => ({ pointer, field, message, isCertain: true }));
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
