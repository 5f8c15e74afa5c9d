/**
 * The kinds of Kubernetes itself that the service has: what clients keep their own state in (ConfigMap, Secret, Lease, Event),
 * the Namespaces of all namespaced models, and Service, of which there is none, because clients ask for it.
 */
import { invalid, KindredError, violation } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import { defineModel } from '../model/define.ts';
import type { GVKAttributes } from '../model/gvk.ts';
import { isReservedGroup } from '../model/gvk.ts';
import type { Model } from '../model/model-type.ts';
import { namespaceProblem } from '../model/names.ts';
import type { ExtensionObject, Metadata } from '../model/object.ts';
import { Type } from '../model/type.ts';
import { withoutValues } from '../resource/hidden.ts';
import type { ModelHooks } from '../resource/hooks.ts';
import { isEqual } from '../schema/json-value.ts';
import { definitionGroup } from './crds/kind.ts';
import { eventKind } from './events.ts';
import { count, moment, text } from './fields.ts';

/** Where the kinds of the core group of Kubernetes are in the store, in roles and natively. */
export function coreGroup(reservedDomain: string): string {
  return `core.kube.${reservedDomain}`;
}

/** Of the kinds outside the core group. */
export const coordinationGroup = 'coordination.k8s.io';

/** Whether the models of a group are those of the service itself, and not of plugins or of the program around it. */
export function isServiceGroup(group: string, reservedDomain: string): boolean {
  return (
    group === '' || isReservedGroup(group, reservedDomain) || group === coordinationGroup || group === definitionGroup
  );
}

/** Keeps a Namespace until nothing is left in it. */
export function contentFinalizer(reservedDomain: string): string {
  return `kube.${reservedDomain}/content`;
}

/** Hold an owner that is deleted until its dependents let go of it, or are gone. */
export const orphanFinalizer = 'orphan';
export const foregroundFinalizer = 'foregroundDeletion';

interface NamespaceObject {
  apiVersion: string;
  kind: string;
  metadata: Metadata;
  spec?: { finalizers?: string[] };
  status?: { phase?: string };
}

/** The models by what they are for, in the order of their registration. */
export interface BuiltInKinds {
  readonly namespace: Model<NamespaceObject>;
  readonly configMap: Model<ExtensionObject>;
  readonly secret: Model<ExtensionObject>;
  readonly event: Model<ExtensionObject>;
  readonly lease: Model<ExtensionObject>;
  readonly service: Model<ExtensionObject>;
}

const texts = (description: string) => Type.Optional(Type.Record(Type.String(), Type.String(), { description }));
const bytes = (description: string) =>
  Type.Optional(Type.Record(Type.String(), Type.String({ format: 'byte' }), { description }));
const immutable = Type.Optional(Type.Boolean({ description: 'Its content cannot change any more.' }));

export function builtInKinds(reservedDomain: string): BuiltInKinds {
  const core = (kind: string, singular: string): GVKAttributes => ({
    group: coreGroup(reservedDomain),
    version: 'v1',
    kind,
    singular,
    plural: `${singular}s`,
  });
  const namespaced = { naming: 'kubernetes', scope: 'Namespaced' } as const;
  return {
    namespace: defineModel({
      gvk: core('Namespace', 'namespace'),
      naming: 'kubernetes',
      shortNames: ['ns'],
      subresources: { status: true },
      columns: [{ name: 'Status', type: 'string', path: '.status.phase', description: 'Active or Terminating' }],
      schema: Type.Object(
        {
          spec: Type.Optional(
            Type.Object(
              { finalizers: Type.Optional(Type.Array(Type.String())) },
              { description: 'Kept by the service' },
            ),
          ),
          status: Type.Optional(
            Type.Object(
              { phase: text('Active, or Terminating while its content is deleted') },
              { description: 'Its state' },
            ),
          ),
        },
        { description: 'A part of the names of namespaced objects.' },
      ),
    }) as unknown as Model<NamespaceObject>,
    configMap: defineModel({
      gvk: core('ConfigMap', 'configmap'),
      ...namespaced,
      shortNames: ['cm'],
      schema: Type.Object(
        { data: texts('Values as text.'), binaryData: bytes('Values in base64.'), immutable },
        { description: 'Values for programs.' },
      ),
    }) as unknown as Model<ExtensionObject>,
    secret: defineModel({
      gvk: core('Secret', 'secret'),
      ...namespaced,
      columns: [{ name: 'Type', type: 'string', path: '.type', description: 'What the values are for' }],
      schema: Type.Object(
        {
          data: bytes('Values in base64.'),
          stringData: texts('Values as text, merged into `data`; never read back.'),
          type: Type.Optional(Type.String({ default: 'Opaque', description: 'What the values are for.' })),
          immutable,
        },
        { description: 'Values for programs that not everybody may see.' },
      ),
      indexes: (index) => [index.single('type', String, (secret: { type?: string }) => secret.type)],
    }) as unknown as Model<ExtensionObject>,
    event: eventKind(core('Event', 'event')),
    lease: defineModel({
      gvk: { group: coordinationGroup, version: 'v1', kind: 'Lease', singular: 'lease', plural: 'leases' },
      ...namespaced,
      columns: [{ name: 'Holder', type: 'string', path: '.spec.holderIdentity', description: 'Who holds it' }],
      schema: Type.Object(
        {
          spec: Type.Optional(
            Type.Object(
              {
                holderIdentity: text('Who holds it'),
                leaseDurationSeconds: count('How long it holds without a renewal'),
                acquireTime: moment('When it was taken'),
                renewTime: moment('When it was renewed last'),
                leaseTransitions: count('How often another one took it'),
                strategy: text('How the holder is chosen'),
                preferredHolder: text('Who is to take it next'),
              },
              { description: 'Who holds it, and until when' },
            ),
          ),
        },
        { description: 'Says which of several processes does something.' },
      ),
    }) as unknown as Model<ExtensionObject>,
    service: defineModel({
      gvk: core('Service', 'service'),
      ...namespaced,
      shortNames: ['svc'],
      schema: Type.Object({}, { description: 'There is none: nothing runs here.' }),
    }) as unknown as Model<ExtensionObject>,
  };
}

const refusals = {
  immutable: localized('field is immutable when `immutable` is set'),
  type: localized('is immutable: the type of a Secret never changes'),
  namespace: localized('this namespace may not be deleted'),
  service: localized('There are no Services: nothing runs here'),
};

/** What the kinds do at a write and how they are shown, by `<kind>.<group>`. */
export function builtInKindHooks(reservedDomain: string): ReadonlyMap<string, ModelHooks> {
  const group = coreGroup(reservedDomain);
  const finalizer = contentFinalizer(reservedDomain);
  return new Map<string, ModelHooks>([
    [`Namespace.${group}`, namespaceHooks(finalizer)],
    [`ConfigMap.${group}`, { prepareWrite: keepImmutable }],
    [`Secret.${group}`, secretHooks],
    [
      `Service.${group}`,
      {
        prepareWrite() {
          throw new KindredError('MethodNotAllowed', refusals.service);
        },
      },
    ],
  ]);
}

export const defaultNamespace = 'default';
const nameLabel = 'kubernetes.io/metadata.name';

function namespaceHooks(finalizer: string): ModelHooks {
  return {
    prepareWrite(object, before, caller) {
      if (!before) checkNamespaceName(object.metadata.name);
      const { metadata, status, ...rest } = object as unknown as NamespaceObject;
      const isDeleting = metadata.deletionTimestamp !== undefined;
      const kept = caller.origin === 'host' && before !== undefined;
      const finalizers = metadata.finalizers ?? [];
      const next = {
        ...rest,
        metadata: {
          ...metadata,
          // Only the service itself, when nothing is left in the namespace, takes it away.
          finalizers: kept || finalizers.includes(finalizer) ? finalizers : [...finalizers, finalizer],
          labels: { ...metadata.labels, [nameLabel]: metadata.name },
        },
        spec: { ...rest.spec, finalizers: rest.spec?.finalizers ?? ['kubernetes'] },
        status: { ...status, phase: isDeleting ? 'Terminating' : 'Active' },
      };
      const { finalizers: none, ...bare } = next.metadata;
      const prepared = none.length > 0 ? next : { ...next, metadata: bare };
      return (isEqual(prepared, object) ? object : prepared) as unknown as ExtensionObject;
    },
    prepareDelete(object) {
      if (object.metadata.name === defaultNamespace) throw new KindredError('Forbidden', refusals.namespace);
      return { ...object, status: { ...(object.status as object), phase: 'Terminating' } };
    },
  };
}

/** It is the namespace of objects, which is more than the name of one. @throws KindredError Invalid */
function checkNamespaceName(value: string): void {
  const problem = namespaceProblem(value);
  if (!problem) return;
  const { keyword, text, limit } = problem;
  throw invalid([violation('/metadata/name', keyword, text, { value, limit, length: value.length })]);
}

type Texts = Readonly<Record<string, string>>;

const contents = ['data', 'binaryData', 'stringData', 'immutable'] as const;

/** @throws KindredError Invalid when an object that is immutable would change */
function keepImmutable(object: ExtensionObject, before: ExtensionObject | undefined): ExtensionObject {
  if (before?.immutable !== true) return object;
  const changed = contents.filter((member) => !isEqual(object[member], before[member]));
  if (changed.length > 0) throw invalid(changed.map((one) => violation(`/${one}`, 'forbidden', refusals.immutable)));
  return object;
}

const secretHooks: ModelHooks = {
  hidesValues: true,
  prepareWrite(object, before) {
    const { stringData, ...rest } = object as ExtensionObject & { stringData?: Texts };
    if (before && rest.type !== before.type) throw invalid([violation('/type', 'immutable', refusals.type)]);
    const encoded = Object.entries(stringData ?? {}).map(
      ([key, value]) => [key, Buffer.from(value).toString('base64')] as const,
    );
    const data = Object.fromEntries([...Object.entries((rest.data as Texts | undefined) ?? {}), ...encoded]);
    return keepImmutable(stringData === undefined ? object : { ...rest, data }, before);
  },
  show: (object, how) => (how === 'list' ? withoutValues(object) : object),
};
