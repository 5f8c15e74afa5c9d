/** TYPE on the command line, and the models that objects in files belong to, both resolved through the discovery routes. */

import type { KindredClient } from '../client/client.ts';
import { KindredError, modelOf } from '../client/client.ts';
import type { Text } from '../errors.ts';
import { isNotFound } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import { isVersion } from '../model/gvk.ts';
import type { Model } from '../model/model-type.ts';
import type { ExtensionObject } from '../model/object.ts';
import { UsageError } from './io.ts';
import { nearest } from './nearest.ts';

/** A model as discovery shows it: enough for a client. */
export interface ResourceType {
  readonly model: Model<ExtensionObject>;
  /** `plural.group`, or the plural alone in the empty group. */
  readonly label: string;
  readonly verbs: readonly string[];
}

interface ResourceList {
  groupVersion: string;
  resources: {
    name: string;
    singularName: string;
    kind: string;
    namespaced?: true;
    shortNames?: string[];
    verbs: string[];
  }[];
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

  /**
   * The model of TYPE: a plural, `plural.group` or `plural.version.group`; the singular or the kind may stand for the plural,
   * in capital letters or not, and a short name of the model.
   */
  async resolve(text: string): Promise<ResourceType> {
    if (!/^[a-z][a-z0-9-]*(\.[a-z0-9-]+)*$/i.test(text))
      throw new UsageError(`"${text}" is no TYPE: give a plural, plural.group or plural.version.group`);
    const [word = '', second, ...rest] = text.toLowerCase().split('.');
    if (second === undefined) return this.#only(text, named(word, await this.all()));
    if (isVersion(second)) {
      const found = named(word, await this.#resources(rest.join('.'), second));
      if (found.length > 0) return found[0]!;
    }
    return this.#only(text, named(word, await this.#ofGroup([second, ...rest].join('.'))));
  }

  /**
   * The model of TYPE, and the names after it: the group of `cities.atlas.example.com.spec` is known by the types there are.
   */
  async resolvePath(text: string): Promise<{ type: ResourceType; path: string[] }> {
    const parts = text.split('.');
    const known = new Set(
      (await this.all()).flatMap((type) => {
        const { group, version } = type.model.gvk;
        return wordsOf(type).flatMap((word) => [`${word}.${group}`, `${word}.${version}.${group}`]);
      }),
    );
    const isType = (count: number) => known.has(parts.slice(0, count).join('.').toLowerCase());
    const count = parts.findLastIndex((_, i) => i > 0 && isType(i + 1)) + 1 || 1;
    return { type: await this.resolve(parts.slice(0, count).join('.')), path: parts.slice(count) };
  }

  /** The model that an object says it is of. Throws Invalid without apiVersion or kind, NotFound for an unknown one. */
  async of(object: { apiVersion?: unknown; kind?: unknown }): Promise<ResourceType> {
    const { apiVersion, kind } = object;
    if (typeof apiVersion !== 'string' || typeof kind !== 'string') throw new KindredError('Invalid', unnamed(object));
    const slash = apiVersion.indexOf('/');
    const group = slash < 0 ? '' : apiVersion.slice(0, slash);
    const found = (await this.#resources(group, apiVersion.slice(slash + 1))).find(
      ({ model }) => model.gvk.kind === kind,
    );
    if (found) return found;
    throw new KindredError('NotFound', localized('The service has no model {kind} ({apiVersion})'), {
      params: {
        kind,
        apiVersion,
      },
    });
  }

  /** What is asked for afterwards is asked of the service again. */
  forget(): void {
    this.#lists.clear();
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
      if (isNotFound(error)) return [];
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
            .map(({ name, singularName, kind, verbs, namespaced, shortNames }) => ({
              model: modelOf({
                group,
                version,
                kind,
                singular: singularName,
                plural: name,
                ...(namespaced && { scope: 'Namespaced' as const }),
                ...(shortNames && { shortNames }),
              }),
              label: group === '' ? name : `${name}.${group}`,
              verbs,
            })),
        (error: unknown) => {
          if (isNotFound(error)) return [];
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
    const [first] = found;
    // Versions of one model: discovery names that of the model itself first.
    if (first && found.every(({ label }) => label === first.label)) return first;
    // The service's own types keep their short names, whatever plugins bring.
    const own = found.find(({ model }) => model.gvk.group === '');
    if (own) return own;
    if (first) {
      const labels = new Set(found.map(({ label }) => label));
      throw new UsageError(`"${text}" is in several groups: ${[...labels].join(', ')}`);
    }
    throw new KindredError('NotFound', unknownText, { params: { text, ...(await this.#others(text)) } });
  }

  /** What could have been meant, and what there is: discovery shows a caller what the caller may use. */
  async #others(text: string): Promise<{ meant: string; known: string }> {
    const all = await this.all();
    const words = new Map(all.flatMap((type) => [type.label, ...wordsOf(type)].map((word) => [word, type.label])));
    const close = nearest(text, words.keys());
    const labels = all.map(({ label }) => label);
    const more = labels.length - shownTypes;
    const shown =
      labels.slice(0, shownTypes).join(', ') + (more > 0 ? ` and ${more} more (kindred api-resources)` : '');
    return {
      meant: close === undefined ? '.' : `; did you mean ${words.get(close)}?`,
      known: labels.length === 0 ? 'none' : shown,
    };
  }
}

const shownTypes = 8;

const unknownText: Text = localized('The service has no type "{text}" that you may use{meant} You may use {known}');

function wordsOf({ model: { gvk } }: ResourceType): string[] {
  return [gvk.plural, gvk.singular, gvk.kind.toLowerCase(), ...(gvk.shortNames ?? [])];
}

/** The types of this plural; without any those of this singular, then those of this kind, then those of this short name. */
function named(word: string, types: readonly ResourceType[]): ResourceType[] {
  for (const i of [0, 1, 2]) {
    const found = types.filter((type) => wordsOf(type)[i] === word);
    if (found.length > 0) return found;
  }
  return types.filter(({ model: { gvk } }) => gvk.shortNames?.includes(word));
}

function unnamed({ apiVersion, kind }: { apiVersion?: unknown; kind?: unknown }): Text {
  const missing = [typeof apiVersion !== 'string' && 'apiVersion', typeof kind !== 'string' && 'kind'].filter(Boolean);
  return { en: `The object has no ${missing.join(' and no ')}`, zh: `对象缺少 ${missing.join(' 和 ')}` };
}
