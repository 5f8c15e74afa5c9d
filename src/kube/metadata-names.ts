/** Members of `metadata` in the form of Kubernetes. */

/** Those that a client decides about. */
export const ofClients: readonly string[] = [
  'name',
  'namespace',
  'generateName',
  'labels',
  'annotations',
  'ownerReferences',
  'finalizers',
];

/** Those of the service: what is sent has no effect. */
export const ofService: readonly string[] = [
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'managedFields',
  'selfLink',
];
