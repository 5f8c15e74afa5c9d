/** Random histories of objects that a plugin ships: three updates of the plugin, and users in between, against the oracle of server-side apply. */
import assert from 'node:assert/strict';
import type { ExtensionObject, ManagedFieldsEntry } from 'kindred';
import type { Harness } from 'kindred/testing';
import type { Place } from '../apply/oracle.ts';
import { Oracle } from '../apply/oracle.ts';
import type { Random } from '../query/random.ts';
import { folderOf, harnessOf, pluginOf, writeFiles } from './kit.ts';

const step = '\u0001';
const path = '/apis/shop.example.com/v1/wares';
const apiVersion = 'shop.example.com/v1';

const source = `import { defineModel, definePlugin } from 'kindred';
const text = { type: 'string' };
const texts = { type: 'object', additionalProperties: text };
const spec = { type: 'object', properties: {
  text, count: { type: 'integer' }, inner: texts, whole: { ...texts, 'x-kubernetes-map-type': 'atomic' },
  values: { type: 'array', items: text }, tags: { type: 'array', items: text, 'x-kubernetes-list-type': 'set' },
  ports: { type: 'array', 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'],
    items: { type: 'object', required: ['name'], properties: { name: text, port: { type: 'integer' }, note: text } } },
} };
const gvk = { group: 'shop.example.com', version: 'v1', kind: 'Ware', singular: 'ware', plural: 'wares' };
export default definePlugin({ start: ({ schemeManager }) => void schemeManager.register(defineModel({ gvk, spec, status: texts })) });
`;

const places: Place = {
  members: {
    metadata: { members: { finalizers: { list: 'set' } } },
    spec: {
      members: {
        whole: { atomic: true },
        tags: { list: 'set' },
        ports: { list: 'map', keys: [{ name: 'name' }] },
      },
    },
  },
};

type Content = Record<string, unknown>;

export interface Run {
  readonly edits: number;
  readonly applies: number;
  readonly conflicts: number;
}

/** @throws AssertionError with the seed and the object that is not what the oracle says */
export async function shippedRun(objects: number, random: Random, where: string): Promise<Run> {
  const wares = Array.from({ length: objects }, (_, i) => new Ware(`ware-${i}`, random));
  const folder = folderOf({
    'package.json': { name: 'shop', version: '1.0.0', type: 'module', main: 'index.js' },
    'index.js': source,
  });
  const ship = () => {
    const documents = wares.map((one) => JSON.stringify(one.declare()));
    writeFiles(folder, { 'extensions/wares.yaml': documents.join('\n---\n') });
  };
  ship();
  const harness = await harnessOf({ persistent: true, plugins: [folder] });
  for (let update = 0; update <= 3; update++) {
    if (update > 0) {
      ship();
      await harness.restart();
    }
    const { status } = await pluginOf(harness, 'shop');
    assert.equal(status?.state, 'STARTED', `${where}: ${status?.message}`);
    for (const one of wares) one.shipped();
    for (const object of await all(harness)) {
      wares.find(({ name }) => name === object.metadata.name)!.check(object, `${where}, update ${update}`);
    }
    if (update < 3) for (const one of wares) await one.use(harness, where);
  }
  await harness.stop();
  const sum = (key: keyof Run) => wares.reduce((total, { run }) => total + run[key], 0);
  return { edits: sum('edits'), applies: sum('applies'), conflicts: sum('conflicts') };
}

async function all(harness: Harness): Promise<ExtensionObject[]> {
  const found: ExtensionObject[] = [];
  for (let page = 1; ; page++) {
    const response = await harness.fetch(`${path}?size=1000&page=${page}`);
    const { items, hasNext } = (await response.json()) as { items: ExtensionObject[]; hasNext: boolean };
    found.push(...items);
    if (!hasNext) return found;
  }
}

/** One object with its history. */
class Ware {
  readonly name: string;
  readonly run = { edits: 0, applies: 0, conflicts: 0 };
  readonly #random: Random;
  readonly #oracle = new Oracle(places);
  #declared: Content = {};
  #isThere = false;

  constructor(name: string, random: Random) {
    this.name = name;
    this.#random = random;
  }

  /** The document of the next version of the plugin. */
  declare(): Content {
    const { metadata = {}, ...rest } = this.#content(0.5) as { metadata?: Content };
    this.#declared = {
      ...rest,
      metadata: { ...metadata, labels: { ...(metadata.labels as Content), 'plugin.platform.run/plugin-name': 'shop' } },
    };
    return { apiVersion, kind: 'Ware', metadata: { name: this.name, ...metadata }, ...rest };
  }

  /** The plugin has started. */
  shipped(): void {
    const body = structuredClone(this.#declared);
    if (this.#isThere) this.#oracle.apply('plugin:shop', body, 'yield', 'unapplied');
    else this.#oracle.content = body;
    this.#isThere = true;
  }

  /** What users do until the next update. */
  async use(harness: Harness, where: string): Promise<void> {
    for (let left = this.#random.below(4); left > 0; left--) {
      if (this.#random.chance(0.5)) await this.#apply(harness);
      else await this.#edit(harness);
    }
    const response = await harness.fetch(`${path}/${this.name}`);
    this.check((await response.json()) as ExtensionObject, `${where}, after users`);
  }

  check(object: ExtensionObject, where: string): void {
    Oracle.assertSame(contentOf(object), this.#oracle.content, places, `${where}: ${this.name}`);
    assert.deepEqual(shown(object.metadata.managedFields ?? []), this.#oracle.shown(), `${where}: ${this.name}`);
  }

  async #apply(harness: Harness): Promise<void> {
    const manager = this.#random.pick(['ada', 'bob']);
    const isForced = this.#random.chance(0.5);
    const body = this.#content(0.3);
    const response = await harness.fetch(`${path}/${this.name}?fieldManager=${manager}&force=${isForced}`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/apply-patch+yaml' },
      json: { apiVersion, kind: 'Ware', ...body },
    });
    const expected = this.#oracle.apply(manager, structuredClone(body), isForced ? 'force' : 'fail');
    this.#keepLabel();
    assert.equal(response.status, 'conflicts' in expected ? 409 : 200, await response.text());
    this.run['conflicts' in expected ? 'conflicts' : 'applies']++;
  }

  /** The label of the plugin stays when it belongs to nobody and everything beside it goes. */
  #keepLabel(): void {
    const content = this.#oracle.content as { metadata?: { labels?: Content } };
    const labels = { 'plugin.platform.run/plugin-name': 'shop', ...content.metadata?.labels };
    this.#oracle.content = { ...content, metadata: { ...content.metadata, labels } };
  }

  /** As somebody does with an editor; natively, or by a client of Kubernetes, which names itself. */
  async #edit(harness: Harness): Promise<void> {
    const isKube = this.#random.chance(0.4);
    const url = isKube ? `/kube${path}/${this.name}?fieldManager=editor` : `${path}/${this.name}`;
    const object = (await (await harness.fetch(url)).json()) as ExtensionObject;
    const other = this.#content(0.5) as { metadata?: Content; spec?: Content };
    const finalizers = this.#subset(['shop.example.com/a', 'shop.example.com/b']);
    const labels = { ...object.metadata.labels, ...(other.metadata?.labels as Record<string, string>) };
    const next = {
      ...object,
      spec: this.#random.chance(0.5) ? { ...(object.spec as Content), ...other.spec } : (other.spec ?? {}),
      ...(this.#random.chance(0.5) && { status: this.#map() }),
      metadata: { ...object.metadata, labels, ...(this.#random.chance(0.3) && { finalizers }) },
    };
    const response = await harness.fetch(url, { method: 'PUT', json: next });
    const text = await response.text();
    assert.equal(response.status, 200, text);
    const stored = (await (await harness.fetch(`${path}/${this.name}`)).json()) as ExtensionObject;
    const content = contentOf(stored);
    if (isKube || this.#oracle.claims.some(({ paths }) => paths.size > 0)) {
      this.#oracle.update(isKube ? 'editor' : 'kindred', content);
    } else this.#oracle.content = content;
    this.run.edits++;
  }

  #content(density: number): Content {
    const text = () => this.#word();
    const metadata = this.#members(density, {
      labels: () => this.#members(1, { 'shop.example.com/l': text }),
      annotations: () => this.#members(1, { 'shop.example.com/n': text }),
    });
    const spec = this.#members(density, {
      text,
      count: () => this.#random.below(3),
      inner: () => this.#map(),
      whole: () => this.#map(),
      values: () => this.#subset(['x', 'y', 'z']),
      tags: () => this.#subset(['x', 'y', 'z']),
      ports: () =>
        this.#subset(['http', 'https']).map((name) => ({
          name,
          ...this.#members(density, { port: () => this.#random.below(3), note: text }),
        })),
    });
    return { ...(Object.keys(metadata).length > 0 && { metadata }), spec };
  }

  #map(): Content {
    return this.#members(0.6, { x: () => this.#word(), y: () => this.#word() });
  }

  #members(density: number, members: Readonly<Record<string, () => unknown>>): Content {
    const names = Object.keys(members).filter(() => this.#random.chance(density));
    return Object.fromEntries(names.map((name) => [name, members[name]!()]));
  }

  #subset(values: readonly string[]): string[] {
    return values.filter(() => this.#random.chance(0.5));
  }

  #word(): string {
    return this.#random.pick(['a', 'b', 'c']);
  }
}

/** What of an object are fields. */
function contentOf({ metadata, apiVersion: _version, kind: _kind, ...members }: ExtensionObject): Content {
  const { labels, annotations, finalizers } = metadata;
  const own = { ...(labels && { labels }), ...(annotations && { annotations }), ...(finalizers && { finalizers }) };
  return { ...members, metadata: own };
}

function shown(entries: readonly ManagedFieldsEntry[]): string[] {
  return entries
    .map(({ manager, operation, fieldsV1 }) => `${manager} ${operation}\n${pathsIn(fieldsV1!).sort().join('\n')}`)
    .sort();
}

function pathsIn(set: object, at = ''): string[] {
  const edges = Object.entries(set);
  const own = at !== '' && (edges.length === 0 || '.' in set) ? [at] : [];
  return [...own, ...edges.flatMap(([edge, below]) => (edge === '.' ? [] : pathsIn(below, at + step + edge)))];
}
