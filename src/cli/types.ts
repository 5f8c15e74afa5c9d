/** TYPE on the command line, and the models that objects in files belong to, both resolved through the discovery routes. */
import type { KindredClient } from '../client/client.ts';
import { KindredError, modelOf } from '../client/client.ts';
import type { Model } from '../model/define.ts';
import { isVersion } from '../model/gvk.ts';
import type { ExtensionObject } from '../model/object.ts';
import { UsageError } from './io.ts';

/** A model as discovery shows it: enough for a client. */
export interface ResourceType {
  readonly model: Model<ExtensionObject>;
  /** `plural.group`, or the plural alone in the empty group. */
  readonly label: string;
  readonly verbs: readonly string[];
}

interface ResourceList {
  groupVersion: string;
  resources: { name: string; singularName: string; kind: string; verbs: string[] }[];
}

interface Group {
  name: string;
  versions: { groupVersion: string; version: string }[];
}

/** Version of the models of the empty group. */
const ownVersion = 'v1alpha1';
const usualDomain = 'platform.run';

/** The models of one service; each group and version is asked for once. */
export class Types {
  readonly #client: KindredClient;
  readonly #lists = new Map<string, Promise<ResourceType[]>>();

  constructor(client: KindredClient) {
    this.#client = client;
  }

  /** The model of a plural, `plural.group` or `plural.version.group`. */
  async resolve(text: string): Promise<ResourceType> {
    if (!/^[a-z][a-z0-9-]*(\.[a-z0-9-]+)*$/.test(text)) {
      throw new UsageError(`"${text}" is no TYPE: give a plural, plural.group or plural.version.group`);
    }
    const [plural = '', second, ...rest] = text.split('.');
    if (second === undefined)
      return this.#only(
        text,
        (await this.all()).filter((type) => nameOf(type) === plural),
      );
    if (isVersion(second)) {
      const found = (await this.#resources(rest.join('.'), second)).find((type) => nameOf(type) === plural);
      if (found) return found;
    }
    const group = [second, ...rest].join('.');
    return this.#only(
      text,
      (await this.#ofGroup(group)).filter((type) => nameOf(type) === plural),
    );
  }

  /** The model that an object says it is of. Throws Invalid without apiVersion or kind, NotFound for an unknown one. */
  async of(object: { apiVersion?: unknown; kind?: unknown }): Promise<ResourceType> {
    const { apiVersion, kind } = object;
    if (typeof apiVersion !== 'string' || typeof kind !== 'string') {
      const missing = [typeof apiVersion !== 'string' && 'apiVersion', typeof kind !== 'string' && 'kind'];
      throw new KindredError(
        'Invalid',
        { en: 'The object has no {missing}', zh: '对象缺少 {missing}' },
        { missing: missing.filter((one) => one !== false).join(' and no ') },
      );
    }
    const slash = apiVersion.indexOf('/');
    const group = slash < 0 ? '' : apiVersion.slice(0, slash);
    const found = (await this.#resources(group, apiVersion.slice(slash + 1))).find(
      ({ model }) => model.gvk.kind === kind,
    );
    if (found) return found;
    throw new KindredError(
      'NotFound',
      { en: 'The service has no model {kind} ({apiVersion})', zh: '服务中没有模型 {kind}（{apiVersion}）' },
      { kind, apiVersion },
    );
  }

  /** Every model that the caller may see, sorted by label. */
  async all(): Promise<ResourceType[]> {
    const { groups } = await this.#client.request<{ groups: Group[] }>('GET', '/apis');
    const versions = groups.flatMap((group) => group.versions.map(({ version }) => ({ group: group.name, version })));
    if (!versions.some(({ group }) => group === '')) versions.push({ group: '', version: ownVersion });
    const lists = await Promise.all(versions.map(({ group, version }) => this.#resources(group, version)));
    return lists.flat().sort((a, b) => (a.label < b.label ? -1 : 1));
  }

  /** The domain that the service keeps for itself: `platform.run`, unless its plugins are seen below another. */
  async reservedDomain(): Promise<string> {
    const groups = (await this.all())
      .filter(({ model }) => model.gvk.kind === 'Plugin' && model.gvk.group.startsWith('plugin.'))
      .map(({ model }) => model.gvk.group.slice('plugin.'.length));
    return groups.includes(usualDomain) ? usualDomain : (groups[0] ?? usualDomain);
  }

  async #ofGroup(group: string): Promise<ResourceType[]> {
    try {
      const { versions } = await this.#client.request<Group>('GET', `/apis/${group}`);
      return (await Promise.all(versions.map(({ version }) => this.#resources(group, version)))).flat();
    } catch (error) {
      if (isMissing(error)) return [];
      throw error;
    }
  }

  #resources(group: string, version: string): Promise<ResourceType[]> {
    const path = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
    let list = this.#lists.get(path);
    if (!list) {
      list = this.#client.request<ResourceList>('GET', path).then(
        ({ resources }) =>
          // Sub-resources stand beside their resource as `persons/status`.
          resources
            .filter(({ name }) => !name.includes('/'))
            .map(({ name, singularName, kind, verbs }) => ({
              model: modelOf({ group, version, kind, singular: singularName, plural: name }),
              label: group === '' ? name : `${name}.${group}`,
              verbs,
            })),
        (error: unknown) => {
          if (isMissing(error)) return [];
          // Whoever asks next may be luckier.
          this.#lists.delete(path);
          throw error;
        },
      );
      this.#lists.set(path, list);
    }
    return list;
  }

  async #only(text: string, found: readonly ResourceType[]): Promise<ResourceType> {
    if (found.length === 1) return found[0]!;
    if (found.length > 1) {
      throw new UsageError(`"${text}" is in several groups: ${found.map(({ label }) => label).join(', ')}`);
    }
    const known = (await this.all()).map(({ label }) => label);
    throw new KindredError(
      'NotFound',
      { en: 'The service has no type "{text}"; it has {known}', zh: '服务中没有类型 "{text}"；现有 {known}' },
      { text, known: known.length > 0 ? known.join(', ') : 'none' },
    );
  }
}

function nameOf(type: ResourceType): string {
  return type.model.gvk.plural;
}

function isMissing(error: unknown): boolean {
  return error instanceof KindredError && error.code === 'NotFound';
}
