/** The versions of a model beside the one that its plugin speaks: their declaration, as it is given and as it is checked. */

import type { Text } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import { invalidModel, Mistakes } from '../schema/invalid-model.ts';
import type { Column, Scale } from './attributes.ts';
import { isRecord } from './object.ts';

/** What objects have beside `apiVersion`, `kind` and `metadata`. */
export interface Content {
  [member: string]: unknown;
}

/**
 * Makes the content of one version that of another: a pure, synchronous function, which does not change what it is given.
 * A function alone converts the `spec` (of a model declared with `schema`: all members), and leaves `status` as it is.
 */
type Conversion<From = any, To = any> =
  | ((content: From) => To)
  | {
      spec?: (spec: From) => To;
      status?: (status: any) => any;
    };

/** One more version of a model. The version in `gvk` is the *hub*, which index functions, controllers and conversions speak. */
export interface VersionDeclaration<Own = any, Hub = any> {
  /** As in the declaration of the model. */
  spec?: object;
  status?: object;
  schema?: object;
  /** Whether clients can use the version. Default true. */
  served?: boolean;
  /** What clients of this version are told with every answer. */
  deprecated?: string;
  /** Neither of both: the content is the same in both versions. */
  toHub?: Conversion<Own, Hub>;
  fromHub?: Conversion<Hub, Own>;
  /** Names that clients of this version use for indexes, with the names that these have in the model. */
  indexNames?: Readonly<Record<string, string>>;
  /** What clients print of each object in this version. Default none. */
  columns?: readonly Column[];
  /** Where objects have their number of replicas in this version. Default nowhere. */
  scale?: Scale;
}

/** By the name of the version. That of the hub may have `served` and `deprecated` alone. */
export type Versions = Readonly<Record<string, VersionDeclaration>>;

/** A version as it is checked, without its schemas. */
export interface CheckedVersion {
  readonly version: string;
  readonly served: boolean;
  readonly deprecated: string | undefined;
  readonly toHub: (content: Content) => Content;
  readonly fromHub: (content: Content) => Content;
  readonly indexNames: Readonly<Record<string, string>>;
  /** Texts of the conversions, which tell whether they changed. */
  readonly sources: readonly string[];
}

const texts = {
  versions: localized('"versions" must be an object with a member for each version, such as v1; got {value}'),
  name: localized('"versions" has the member "{version}": a version must be of the form v1, v1alpha1 or v2beta3'),
  member: localized('The version {version} knows no member "{name}"; it knows {members}'),
  hubMember: localized(
    'The version {version} is the one in "gvk": its schemas stand there, and "versions" may have {members} of it; got "{name}"',
  ),
  served: localized('"served" of the version {version} must be true or false; got {value}'),
  deprecated: localized(
    '"deprecated" of the version {version} must be a text of printable ASCII characters that clients are told; got {value}',
  ),
  both: localized('The version {version} has "{given}" and lacks "{missing}": a conversion goes in both directions'),
  conversion: localized(
    '"{name}" of the version {version} must be a function, or an object with the functions spec and status; got {value}',
  ),
  form: localized('The version {version} must have {wanted}, as the model has; got {value}'),
  indexNames: localized('"indexNames" of the version {version} must give names of indexes by name; got {value}'),
  noneServed: localized('At least one version must be served'),
} satisfies Record<string, Text>;

const hubMembers = ['served', 'deprecated'];
const members = [
  'spec',
  'status',
  'schema',
  ...hubMembers,
  'toHub',
  'fromHub',
  'indexNames',
  'columns',
  'scale',
] as const;

/** What is said of the hub, and each other version. Throws `InvalidModel` with every mistake. */
export function checkVersions(
  versions: unknown,
  { hub, isVersion, form }: { hub: string; isVersion: (text: string) => boolean; form: 'spec' | 'schema' },
): { readonly hub: Pick<CheckedVersion, 'served' | 'deprecated'>; readonly others: readonly CheckedVersion[] } {
  if (versions === undefined) return { hub: { served: true, deprecated: undefined }, others: [] };
  if (!isRecord(versions)) return invalidModel(texts.versions, { value: versions });
  const mistakes = new Mistakes();
  const checked: CheckedVersion[] = [];
  for (const [version, declared] of Object.entries(versions)) {
    if (!isVersion(version)) mistakes.in(() => invalidModel(texts.name, { version }));
    else if (!isRecord(declared)) mistakes.in(() => invalidModel(texts.versions, { value: declared }));
    else {
      const one = mistakes.in(() => checkVersion(version, declared, version === hub, form));
      if (one) checked.push(one);
    }
  }
  mistakes.throw();
  const own = checked.find(({ version }) => version === hub) ?? { served: true, deprecated: undefined };
  const others = checked.filter(({ version }) => version !== hub);
  if (!own.served && !others.some(({ served }) => served)) invalidModel(texts.noneServed);
  return { hub: { served: own.served, deprecated: own.deprecated }, others };
}

function checkVersion(
  version: string,
  declared: Record<string, unknown>,
  isHub: boolean,
  form: 'spec' | 'schema',
): CheckedVersion {
  const mistakes = new Mistakes();
  const known: readonly string[] = isHub ? hubMembers : members;
  for (const name of Object.keys(declared)) {
    if (known.includes(name)) continue;
    const params = { version, name, members: known.join(', ') };
    mistakes.in(() => invalidModel(isHub ? texts.hubMember : texts.member, params));
  }
  const { served = true, deprecated, indexNames = {} } = declared;
  if (typeof served !== 'boolean') mistakes.in(() => invalidModel(texts.served, { version, value: served }));
  if (deprecated !== undefined && !(typeof deprecated === 'string' && /^[\x20-\x7e]{1,500}$/.test(deprecated)))
    mistakes.in(() => invalidModel(texts.deprecated, { version, value: deprecated }));
  if (!isHub) {
    const other = form === 'spec' ? declared.schema : (declared.spec ?? declared.status);
    if (other !== undefined || (form === 'schema' && declared.schema === undefined)) {
      const wanted = form === 'spec' ? '"spec" and perhaps "status"' : '"schema"';
      mistakes.in(() => invalidModel(texts.form, { version, wanted, value: Object.keys(declared) }));
    }
  }
  const toHub = mistakes.in(() => checkConversion(version, 'toHub', declared, form));
  const fromHub = mistakes.in(() => checkConversion(version, 'fromHub', declared, form));
  if (!(isRecord(indexNames) && Object.values(indexNames).every((name) => typeof name === 'string')))
    mistakes.in(() => invalidModel(texts.indexNames, { version, value: indexNames }));
  mistakes.throw();
  return {
    version,
    served: served as boolean,
    deprecated: deprecated as string | undefined,
    toHub: toHub!,
    fromHub: fromHub!,
    indexNames: Object.freeze({ ...(indexNames as Record<string, string>) }),
    sources: [declared.toHub, declared.fromHub].flatMap(sourcesOf),
  };
}

function sourcesOf(conversion: unknown): string[] {
  if (typeof conversion === 'function') return [conversion.toString()];
  return isRecord(conversion) ? Object.values(conversion).map(String) : [];
}

const same = (content: Content): Content => content;

function checkConversion(
  version: string,
  name: 'toHub' | 'fromHub',
  declared: Record<string, unknown>,
  form: 'spec' | 'schema',
): (content: Content) => Content {
  const other = name === 'toHub' ? 'fromHub' : 'toHub';
  const value = declared[name];
  if (value === undefined) {
    if (declared[other] !== undefined) invalidModel(texts.both, { version, given: other, missing: name });
    return same;
  }
  if (typeof value === 'function') {
    const convert = value as (content: unknown) => unknown;
    if (form === 'schema') return (content) => convert(content) as Content;
    return (content) => converted(content, { spec: convert });
  }
  const holds =
    form === 'spec' &&
    isRecord(value) &&
    Object.entries(value).every(([part, one]) => (part === 'spec' || part === 'status') && typeof one === 'function');
  if (!holds) invalidModel(texts.conversion, { version, name, value });
  const parts = value as { readonly [part: string]: (content: unknown) => unknown };
  return (content) => converted(content, parts);
}

function converted(content: Content, parts: { readonly [part: string]: (content: unknown) => unknown }): Content {
  const result = { ...content };
  for (const [part, convert] of Object.entries(parts)) {
    if (content[part] !== undefined) result[part] = convert(content[part]);
  }
  return result;
}
