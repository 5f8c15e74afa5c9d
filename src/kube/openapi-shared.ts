/** Definitions and parameters that the descriptions of all models have in common. */
import type { OpenApiSchema } from './openapi-schema.ts';

export const meta = 'io.k8s.apimachinery.pkg.apis.meta.v1';
export const scaleName = 'io.k8s.api.autoscaling.v1.Scale';

const text = (description: string): OpenApiSchema => ({ type: 'string', description });
const flag = (description: string): OpenApiSchema => ({ type: 'boolean', description });
const count = (description: string): OpenApiSchema => ({ type: 'integer', format: 'int64', description });
const texts = (description: string): OpenApiSchema => ({
  type: 'object',
  additionalProperties: { type: 'string' },
  description,
});
const list = (items: OpenApiSchema, description: string): OpenApiSchema => ({ type: 'array', items, description });
const time = (description: string): OpenApiSchema => ({ type: 'string', format: 'date-time', description });
const object = (description: string, properties: object, required: readonly string[] = []): OpenApiSchema => ({
  type: 'object',
  description,
  properties,
  ...(required.length > 0 && { required }),
});

/** @param refer makes the reference to a definition in the form of the document */
export function sharedDefinitions(refer: (name: string) => OpenApiSchema): Record<string, OpenApiSchema> {
  const base = {
    apiVersion: text('Group and version of the object'),
    kind: text('Kind of the object'),
  };
  return {
    [`${meta}.ObjectMeta`]: object('What every object has besides its own fields', {
      name: text('Name of the object; unique among those of its kind in its namespace, and never changed'),
      generateName: text('Used when name is absent: the service appends characters that make it unique'),
      namespace: text('Namespace of the object, for kinds that have one'),
      uid: text('Tells an object from an earlier one of the same name; set by the service'),
      resourceVersion: text('Revision of the last change; an update of another one is refused'),
      generation: count('Grows when anything besides metadata and status changes'),
      creationTimestamp: time('Set by the service'),
      deletionTimestamp: time('Set by the service while the object is being deleted'),
      deletionGracePeriodSeconds: count('Always 0'),
      labels: texts('For selection'),
      annotations: texts('Not indexed'),
      ownerReferences: {
        ...list(refer(`${meta}.OwnerReference`), 'Objects that this one depends on; it goes when none of them is left'),
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['uid'],
        // By these, clients make strategic merge patches.
        'x-kubernetes-patch-merge-key': 'uid',
        'x-kubernetes-patch-strategy': 'merge',
      },
      finalizers: {
        ...list({ type: 'string' }, 'A deleted object stays until this set is empty'),
        'x-kubernetes-list-type': 'set',
        'x-kubernetes-patch-strategy': 'merge',
      },
      managedFields: {
        ...list(refer(`${meta}.ManagedFieldsEntry`), 'Who set which fields; kept by the service'),
        'x-kubernetes-list-type': 'atomic',
      },
      selfLink: text('Not used'),
    }),
    [`${meta}.OwnerReference`]: object(
      'An object that another one depends on',
      {
        apiVersion: text('Group and version of the owner'),
        kind: text('Kind of the owner'),
        name: text('Name of the owner'),
        uid: text('The uid of the owner'),
        controller: flag('Whether the owner manages the object'),
        blockOwnerDeletion: flag('Whether a deletion of the owner in the foreground waits for the object'),
      },
      ['apiVersion', 'kind', 'name', 'uid'],
    ),
    [`${meta}.ManagedFieldsEntry`]: object('Fields that one manager set', {
      manager: text('Who set the fields'),
      operation: text('Apply or Update'),
      apiVersion: text('Group and version in which the fields were set'),
      time: time('When the set of fields last changed'),
      fieldsType: text('FieldsV1'),
      fieldsV1: { ...refer(`${meta}.FieldsV1`), description: 'The fields' },
      subresource: text('Sub-resource by which the fields were set'),
    }),
    [`${meta}.FieldsV1`]: { type: 'object', description: 'A set of fields as a tree' },
    [`${meta}.ListMeta`]: object('What every list has', {
      resourceVersion: text('Revision that the list shows'),
      continue: text('Asks for what follows'),
      remainingItemCount: count('How many objects follow'),
      selfLink: text('Not used'),
    }),
    [`${meta}.Preconditions`]: object('What must hold for a deletion', {
      uid: text('The uid of the object'),
      resourceVersion: text('The revision of its last change'),
    }),
    [`${meta}.DeleteOptions`]: object('How an object is deleted', {
      ...base,
      dryRun: list({ type: 'string' }, 'All: nothing is stored'),
      gracePeriodSeconds: count('Not used'),
      orphanDependents: flag('The older form of propagationPolicy'),
      preconditions: { ...refer(`${meta}.Preconditions`), description: 'What must hold' },
      propagationPolicy: text('Background, Foreground or Orphan: what becomes of dependents'),
    }),
    [`${meta}.Patch`]: { type: 'object', description: 'What changes, in the form that Content-Type names' },
    [`${meta}.Status`]: {
      ...object('The outcome of a request that answers with no object', {
        ...base,
        metadata: { ...refer(`${meta}.ListMeta`), description: 'Metadata of the answer' },
        status: text('Success or Failure'),
        message: text('For people'),
        reason: text('For programs'),
        details: { ...refer(`${meta}.StatusDetails`), description: 'More for programs' },
        code: { type: 'integer', format: 'int32', description: 'HTTP status' },
      }),
      'x-kubernetes-group-version-kind': [{ group: '', version: 'v1', kind: 'Status' }],
    },
    [`${meta}.StatusDetails`]: object('What a Status is about', {
      name: text('Name of the object'),
      group: text('Group of the object'),
      kind: text('Kind or resource of the object'),
      uid: text('The uid of the object'),
      causes: list(refer(`${meta}.StatusCause`), 'What is wrong, one by one'),
      retryAfterSeconds: { type: 'integer', format: 'int32', description: 'When to try again' },
    }),
    [`${meta}.StatusCause`]: object('One thing that is wrong', {
      field: text('Where'),
      message: text('For people'),
      reason: text('For programs'),
    }),
    [scaleName]: {
      ...object('How many replicas an object wants and has', {
        ...base,
        metadata: { ...refer(`${meta}.ObjectMeta`), description: 'Metadata of the object' },
        spec: object('What is wanted', { replicas: { type: 'integer', format: 'int32', description: 'Replicas' } }),
        status: object('What there is', {
          replicas: { type: 'integer', format: 'int32', description: 'Replicas' },
          selector: text('Label selector of the replicas'),
        }),
      }),
      'x-kubernetes-group-version-kind': [{ group: 'autoscaling', version: 'v1', kind: 'Scale' }],
    },
  };
}

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query';
  readonly type: 'string' | 'integer' | 'boolean';
  readonly description: string;
}

const query = (name: string, type: Parameter['type'], description: string): Parameter => ({
  name,
  in: 'query',
  type,
  description,
});

export const pathParameters = {
  name: { name: 'name', in: 'path', type: 'string', description: 'Name of the object' },
  namespace: { name: 'namespace', in: 'path', type: 'string', description: 'Namespace of the object' },
} as const satisfies Record<string, Parameter>;

const selection = [
  query('labelSelector', 'string', 'Objects with these labels alone'),
  query('fieldSelector', 'string', 'Objects with these fields alone'),
];

const writing = [
  query('dryRun', 'string', 'All: the answer as it would be, and nothing is stored'),
  query('fieldManager', 'string', 'Name of the caller in managedFields'),
  query('fieldValidation', 'string', 'Strict, Warn or Ignore: what becomes of unknown and duplicate fields'),
];

const deleting = [
  query('dryRun', 'string', 'All: nothing is stored'),
  query('gracePeriodSeconds', 'integer', 'Not used'),
  query('orphanDependents', 'boolean', 'The older form of propagationPolicy'),
  query('propagationPolicy', 'string', 'Background, Foreground or Orphan: what becomes of dependents'),
];

/** By `x-kubernetes-action`. */
export const queryParameters: Readonly<Record<string, readonly Parameter[]>> = {
  get: [],
  list: [
    ...selection,
    query('limit', 'integer', 'Objects of one answer'),
    query('continue', 'string', 'Goes on where an earlier answer ended'),
    query('resourceVersion', 'string', 'Revision that the answer shows, by resourceVersionMatch'),
    query('resourceVersionMatch', 'string', 'Exact or NotOlderThan'),
    query('watch', 'boolean', 'A stream of changes instead of a list'),
    query('allowWatchBookmarks', 'boolean', 'Whether a watch sends bookmarks'),
    query('sendInitialEvents', 'boolean', 'Whether a watch begins with the objects that there are'),
    query('timeoutSeconds', 'integer', 'When a watch ends'),
  ],
  post: writing,
  put: writing,
  patch: [...writing, query('force', 'boolean', 'With an apply patch: fields of other managers are taken')],
  delete: deleting,
  deletecollection: [...selection, ...deleting],
};
