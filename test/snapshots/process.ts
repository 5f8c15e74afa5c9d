/** One process of a service with indexes of every kind, as far as snapshots need it: store, feed, model, snapshots. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Model } from 'kindred';
import { defineModel, Type } from 'kindred';
import type { ModelIndex } from '../../src/indexes/model-index.ts';
import { SchemeRegistry } from '../../src/model/registry.ts';
import { allowAll, system } from '../../src/resource/access.ts';
import { buildIndexes } from '../../src/resource/builder.ts';
import type { IndexSnapshotOptions } from '../../src/resource/index-snapshots.ts';
import { IndexSnapshots } from '../../src/resource/index-snapshots.ts';
import type { StartOfModel } from '../../src/resource/memory.ts';
import { ResourceRegistry } from '../../src/resource/registry.ts';
import type { ModelResource } from '../../src/resource/resource.ts';
import { SnapshotFolder } from '../../src/snapshots/folder.ts';
import { openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/store/store.ts';

/** A version such as v3 or v03, which are equal. */
const Version = {
  compare: (a: string, b: string) => Number(a.slice(1)) - Number(b.slice(1)),
  parse: (text: string) => text,
  format: (key: string) => `v${Number(key.slice(1))}`,
};

export const gvk = { group: 'snap.example.com', version: 'v1', kind: 'Thing', singular: 'thing', plural: 'things' };
export const file = `${gvk.kind}.${gvk.group}.index`;
export const anything = Type.Object({}, { additionalProperties: true });

export const Thing = defineModel({
  gvk,
  spec: anything,
  indexes: (index) => [
    index.single('spec.slug', String, (thing: any) => thing.spec.slug, { unique: true }),
    index.single('spec.text', String, (thing: any) => thing.spec.text ?? undefined),
    index.single('spec.size', Number, (thing: any) => thing.spec.size ?? undefined),
    index.single('spec.flag', Boolean, (thing: any) => thing.spec.flag ?? undefined),
    index.single('spec.big', BigInt, (thing: any) => (thing.spec.big ? BigInt(thing.spec.big) : undefined)),
    index.single('spec.date', Date, (thing: any) => thing.spec.date ?? undefined),
    index.single('spec.version', Version, (thing: any) => thing.spec.release ?? undefined),
    index.multi('spec.tags', String, (thing: any) => thing.spec.tags ?? []),
  ],
}) as unknown as Model<any>;

const texts = ['', 'a', 'ab', 'é', '\u{1f600}', '\ue000', 'x'.repeat(300), '\ud800', 'same', 'same', 'same'];

const owner = (number: number) => ({ apiVersion: 'v1', kind: 'Owner', name: `owner-${number}`, uid: `uid-${number}` });

/** What an object with this number holds; another one for another edition. */
export function thing(number: number, edition = 0) {
  const pick = <T>(list: readonly T[], salt: number): T => list[(number * 7 + edition * 13 + salt) % list.length]!;
  return {
    metadata: {
      name: `thing-${number}`,
      ...(number % 6 === 5 && { ownerReferences: [owner(number % 4), ...(edition > 0 ? [owner(edition + 4)] : [])] }),
      ...(number % 9 === 0 && { finalizers: ['snap.example.com/hold'] }),
      ...(number % 3 > 0 && {
        labels: { env: pick(['prod', 'test'], 1), ...(number % 5 === 0 && { team: `t${number % 7}` }) },
      }),
    },
    spec: {
      slug: `slug-${number}`,
      text: pick([...texts, null], 2),
      size: pick([null, 0, -1.5, 1e9, number], 3),
      flag: pick([true, false, null], 4),
      big: pick(['9007199254740993', '-5', ''], 5),
      date: pick([null, '2026-01-01T00:00:00Z', '1969-07-20T20:17:40.5Z'], 6),
      release: pick([null, 'v1', 'v01', `v${number % 30}`], 7),
      tags: pick([[], ['x'], ['x', 'y'], [`tag-${number % 40}`, 'z', 'x']], 8),
    },
  };
}

export interface ProcessOptions {
  readonly url: string;
  /** Folder of the snapshots. */
  readonly path: string;
  readonly model?: Model<any>;
  /** Undefined: what the functions are is not known. */
  readonly code?: string | undefined;
  /** Revision of the record that says where the objects are. Default: there is none. */
  readonly place?: number | undefined;
  readonly options?: Partial<IndexSnapshotOptions>;
  /** Changes that the log keeps at least. */
  readonly keptChanges?: number;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
  /** Before anything is read. */
  readonly onStore?: (store: Store) => void;
}

export interface Process {
  readonly store: Store;
  readonly resources: ResourceRegistry;
  readonly resource: ModelResource;
  readonly snapshots: IndexSnapshots;
  readonly start: StartOfModel;
  readonly log: { level: string; reason?: string; detail?: string; message: string }[];
  put(number: number, edition?: number): Promise<void>;
  remove(number: number): Promise<void>;
  /** As in a stop of the service: writes what is worth it. */
  save(): Promise<void>;
  /** As a kill: writes nothing. */
  end(): Promise<void>;
}

export async function openProcess({
  url,
  path,
  model = Thing,
  options = {},
  keptChanges = 100_000,
  now = Date.now,
  onStore,
  ...given
}: ProcessOptions): Promise<Process> {
  const code = 'code' in given ? given.code : 'code 1';
  const log: Process['log'] = [];
  const note = (level: string) => (details: any, message: string) => void log.push({ level, ...details, message });
  const logger = { info: note('info'), warn: note('warn'), error: note('error') };
  const store = await openStore(url);
  onStore?.(store);
  const registry = new SchemeRegistry({ reservedDomain: 'platform.run', warn: () => {} });
  const scheme = registry.register(model, undefined, 'snap');
  const snapshots = new IndexSnapshots({
    folder: SnapshotFolder.open(path),
    store,
    codeOf: () => code,
    placeOf: () => given.place,
    options: { interval: 60_000, minObjects: 1, minChanges: 1, idleAfter: 0, shared: false, ...options },
    keptChanges,
    replica: randomUUID(),
    mayRest: () => true,
    now,
    logger,
  });
  const resources = new ResourceRegistry({
    store,
    registry,
    authorizer: allowAll,
    now: Date.now,
    monotonicNow: () => performance.now(),
    limits: {
      queryTimeout: 5_000,
      objectBytes: 2 ** 20,
      patch: { operations: 100, growth: 2 ** 20, depth: 64, members: 1_000, containers: 1_000 },
      cacheBytes: 2 ** 20,
      writeTimeout: 5_000,
      bookmarkInterval: 15_000,
      livePages: { rows: 100, rowsPerIdentity: 100 },
    },
    reservedDomain: 'platform.run',
    snapshots,
    logger,
    hooks: new Map(),
  });
  await resources.feed.start();
  const resource = resources.model(scheme);
  await resource.ready;
  return {
    store,
    resources,
    resource,
    snapshots,
    start: resource.memory.state().start!,
    log,
    put: async (number, edition = 0) => {
      const body = thing(number, edition);
      const known = resource.memory.index.find(body.metadata.name);
      if (known)
        await resource.update(body.metadata.name, { ...body, metadata: { ...body.metadata } }, { caller: system });
      else await resource.create(body, { caller: system });
    },
    remove: async (number) => {
      await resource.delete(`thing-${number}`, { caller: system });
    },
    save: () => snapshots.stop(resources.feed, resources.all()),
    end: async () => {
      await resources.stop();
      await store.close();
    },
  };
}

/** Everything that an index says, whatever the slots are. */
export function contentOf(index: ModelIndex): unknown {
  const named = [...index.names.entries()];
  const rows = named.map(
    ([slot, name]) =>
      [
        name,
        index.ids[slot],
        index.revisions[slot],
        index.lengths[slot],
        index.dependents.ownersOf(name)?.join(' '),
      ] as const,
  );
  const fields = index.fields.map(({ field, order, column, slotOfItem, firstWithKey, withoutKey }) => {
    const runs: [key: string, names: string[]][] = [];
    for (let rank = firstWithKey; rank < order.size; rank++) {
      const item = order.at(rank);
      const name = index.names.get(slotOfItem ? slotOfItem[item]! : item)!;
      const key = field.codec.format(column.get(item));
      if (runs.at(-1)?.[0] === key) runs.at(-1)![1].push(name);
      else runs.push([key, [name]]);
    }
    for (const [, names] of runs) names.sort();
    return { field: field.name, runs, without: withoutKey.count };
  });
  const labels = ['env', 'env=prod', 'env=test', 'team', ...Array.from({ length: 7 }, (_, i) => `team=t${i}`)].map(
    (text) => {
      const [key, value] = text.split('=') as [string, string?];
      const slots = index.labels.having(key, value);
      return [text, named.flatMap(([slot, name]) => (slots?.has(slot) ? [name] : [])).sort()];
    },
  );
  return {
    size: index.size,
    rows: rows.toSorted((a, b) => (a[0] < b[0] ? -1 : 1)),
    fields,
    labels,
    found: rows.every(([name, id]) => index.find(name)?.id === id),
    deleting: index.deletingNames().toSorted(),
    duplicates: index.duplicates().map(({ index: of, names }) => [of, names]),
  };
}

/** The indexes of a process are what its store gives. */
export async function assertTrue({ store, resource, resources }: Process, about = ''): Promise<void> {
  await resources.feed.newest();
  const { index, problems } = await buildIndexes({
    store,
    number: resource.memory.number,
    newest: resources.feed.applied,
    model: resource.model,
    isOver: () => false,
    onProgress: () => {},
  });
  assert.deepEqual(contentOf(resource.memory.index), contentOf(index), about);
  assert.deepEqual([...resource.memory.problems].sort(), [...problems].sort(), about);
}
