/**
 * Random changes of a service, and who follows them: native watches and those of Kubernetes clients must tell the same in
 * the same order, over restarts and at every replica.
 */
import assert from 'node:assert/strict';
import { until } from '../../src/testing/until.ts';
import type { Random } from '../query/random.ts';
import { allWidgets, Facade, gadgets } from './harness.ts';

export interface History {
  readonly changes: number;
  readonly random: Random;
}

/** Writes that are under way together. */
const atOnce = 24;
const merge = { 'content-type': 'application/merge-patch+json' };
const namespaces = ['default', 'team'];

/** One watch that begins again where it was. */
class Follower {
  readonly name: string;
  /** Type, object and revision of each event. */
  readonly events: string[] = [];
  /** What the stream told that a watch of this kind may not tell. */
  failure: string | undefined;
  readonly #facade: Facade;
  readonly #path: string;
  readonly #isKube: boolean;
  readonly #abort = new AbortController();
  readonly #over: Promise<void>;
  #since: string;

  constructor(facade: Facade, path: string, since: string) {
    this.name = path;
    this.#facade = facade;
    this.#path = path;
    this.#isKube = path.startsWith('/kube');
    this.#since = since;
    this.#over = this.#follow();
  }

  /** Objects that its events leave, with their revisions. */
  get state(): string[] {
    const objects = new Map<string, string>();
    for (const event of this.events) {
      const [type, name, revision] = event.split(' ');
      if (type === 'DELETED') objects.delete(name!);
      else objects.set(name!, revision!);
    }
    return [...objects].map((pair) => pair.join(' ')).sort();
  }

  async end(): Promise<void> {
    this.#abort.abort();
    await this.#over;
  }

  async #follow(): Promise<void> {
    const { signal } = this.#abort;
    while (!signal.aborted) {
      // The service may be away, or start.
      await this.#once(signal).catch(() => {});
      if (!signal.aborted) await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  async #once(signal: AbortSignal): Promise<void> {
    const place = this.#isKube ? `resourceVersion=${this.#since}` : `since=${this.#since}`;
    const separator = this.#path.includes('?') ? '&' : '?';
    const url = `${this.#facade.url}${this.#path}${separator}watch=true&${place}`;
    const response = await fetch(url, { signal });
    if (response.status !== 200) return;
    const decoder = new TextDecoder();
    let text = '';
    for await (const chunk of response.body!) {
      text += decoder.decode(chunk as Uint8Array, { stream: true });
      const lines = text.split('\n');
      text = lines.pop()!;
      for (const line of lines) if (line !== '') this.#take(JSON.parse(line));
    }
  }

  #take({ type, object, revision, error }: any): void {
    if (type === 'ERROR') {
      if (error?.code !== 'ShuttingDown') this.failure = `${this.name}: ${JSON.stringify(object ?? error)}`;
      return;
    }
    if (type === 'BOOKMARK') {
      this.#since = this.#isKube ? object.metadata.resourceVersion : String(revision);
      return;
    }
    const { namespace, name, resourceVersion, labels } = object.metadata;
    this.#since = this.#isKube ? resourceVersion : String(revision);
    const fullName = namespace === undefined ? name : `${namespace}/${name}`;
    this.events.push(`${type} ${fullName} ${this.#since} ${JSON.stringify(object.spec)} ${JSON.stringify(labels)}`);
  }
}

/** Each pair is to tell the same. */
const pairs = [
  gadgets,
  `${gadgets}?labelSelector=v`,
  `${gadgets}?fieldSelector=spec.color=red`,
  allWidgets,
  allWidgets.replace('/widgets', '/namespaces/team/widgets'),
];

const collections = [gadgets, ...namespaces.map((one) => allWidgets.replace('/widgets', `/namespaces/${one}/widgets`))];

/** One random write, natively or as clients of Kubernetes do. Resolves to whether something was changed. */
async function change(facade: Facade, random: Random): Promise<boolean> {
  const collection = random.pick(collections);
  const prefix = random.chance(0.5) ? '/kube' : '';
  const name = `n${random.below(80)}`;
  const path = `${prefix}${collection}/${name}`;
  const spec = { color: random.pick(['red', 'blue', undefined]) };
  const labels = { v: random.pick(['1', '2', undefined]) };
  const kind = random.below(10);
  const call =
    kind < 4
      ? facade.send(`${prefix}${collection}`, { body: { metadata: { name, labels }, spec } })
      : kind < 6
        ? facade.send(path, { method: 'PATCH', headers: merge, body: { spec: { color: spec.color ?? null } } })
        : kind < 8
          ? facade.send(path, {
              method: 'PATCH',
              headers: merge,
              body: { metadata: { labels: { v: labels.v ?? null } } },
            })
          : facade.send(path, { method: 'DELETE' });
  const { status, text } = await call;
  assert.ok([200, 201, 204, 404, 409].includes(status), `${status} ${text}`);
  return status < 300;
}

/** Writes until so many have changed something. */
async function write(facades: readonly Facade[], changes: number, random: Random): Promise<void> {
  let changed = 0;
  const worker = async (): Promise<void> => {
    while (changed < changes) if (await change(random.pick(facades), random)) changed++;
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, changes) }, worker));
}

const end = 'zz-end';

/** Objects that every follower sees, after everything else. */
async function mark(facade: Facade): Promise<void> {
  for (const collection of collections) {
    const body = { metadata: { name: end, labels: { v: 'end' } }, spec: { color: 'red' } };
    assert.equal((await facade.send(collection, { body })).status, 201);
  }
}

async function allSeen(followers: readonly Follower[]): Promise<void> {
  const isDone = ({ name, events }: Follower): boolean => {
    const ends = events.filter((one) => one.includes(`${end} `)).length;
    return ends === (name.replace('/kube', '') === allWidgets ? namespaces.length : 1);
  };
  await until(() => followers.every(isDone) || followers.some(({ failure }) => failure), { timeout: 120_000 });
  assert.deepEqual(
    followers.flatMap(({ failure }) => failure ?? []),
    [],
  );
}

async function prepare(facade: Facade): Promise<string> {
  const { status } = await facade.kube('/api/v1/namespaces', { body: { metadata: { name: 'team' } } });
  assert.equal(status, 201);
  return (await facade.kube(gadgets)).json.metadata.resourceVersion;
}

async function stateOf(facade: Facade, path: string): Promise<string[]> {
  const { items } = (await facade.kube(path)).json;
  return items
    .map(({ metadata: { namespace, name, resourceVersion } }: any) =>
      [...(namespace === undefined ? [name] : [`${namespace}/${name}`]), resourceVersion].join(' '),
    )
    .sort();
}

/**
 * Native watches and watches of Kubernetes clients, over restarts of one service. Resolves to the events that they told.
 * @throws AssertionError where they differ, or where what they tell is not what a list shows
 */
export async function watchHistory(
  database: string,
  { changes, restarts, random }: History & { readonly restarts: number },
): Promise<number> {
  const facade = new Facade({ database });
  await facade.start();
  const since = await prepare(facade);
  const followers = pairs.flatMap((path) => [
    new Follower(facade, path, since),
    new Follower(facade, `/kube${path}`, since),
  ]);
  try {
    for (let part = 0; part <= restarts; part++) {
      if (part > 0) {
        facade.options.port = Number(new URL(facade.url).port);
        await facade.stop();
        await facade.start();
      }
      await write([facade], Math.ceil(changes / (restarts + 1)), random);
    }
    await mark(facade);
    await allSeen(followers);
    for (let at = 0; at < followers.length; at += 2) {
      const [native, shown] = [followers[at]!, followers[at + 1]!];
      assert.deepEqual(shown.events, native.events, shown.name);
      assert.deepEqual(shown.state, await stateOf(facade, native.name), `the list of ${native.name}`);
    }
  } finally {
    await Promise.all(followers.map((one) => one.end()));
    await facade.stop();
  }
  return followers.reduce((sum, { events }) => sum + events.length, 0);
}

const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'lamps.two.example.com' },
  spec: {
    group: 'two.example.com',
    scope: 'Namespaced',
    names: { plural: 'lamps', kind: 'Lamp' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: { spec: { type: 'object', properties: { n: { type: 'integer', default: 7 } } } },
          },
        },
      },
    ],
  },
};
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const lamps = '/apis/two.example.com/v1/namespaces/default/lamps';

/**
 * Two replicas over one database: the same objects, byte for byte, the same events, and lists that either continues.
 * @throws AssertionError where they differ
 */
export async function replicasHistory(database: string, { changes, random }: History): Promise<void> {
  const replicas = [new Facade({ database }), new Facade({ database })];
  const followers: Follower[] = [];
  try {
    for (const one of replicas) await one.start();
    const [first, second] = replicas as [Facade, Facade];
    const since = await prepare(first);
    for (const path of pairs) for (const one of replicas) followers.push(new Follower(one, `/kube${path}`, since));
    assert.equal((await first.kube(definitions, { body: definition })).status, 201);
    for (const one of replicas) await until(async () => (await one.kube(lamps)).status === 200, { timeout: 20_000 });
    await write(replicas, changes, random);
    assert.equal((await second.kube(lamps, { body: { metadata: { name: 'l' }, spec: {} } })).status, 201);
    await mark(second);
    await allSeen(followers);
    for (let at = 0; at < followers.length; at += 2) {
      assert.deepEqual(followers[at + 1]!.events, followers[at]!.events, followers[at]!.name);
    }
    for (const path of [gadgets, allWidgets, definitions, lamps, '/api/v1/namespaces']) {
      const [one, other] = await Promise.all(replicas.map(async (replica) => (await replica.kube(path)).json.items));
      assert.ok(one.length > 0, path);
      assert.deepEqual(other, one, path);
    }
    await assertContinued(replicas, random);
  } finally {
    await Promise.all(followers.map((one) => one.end()));
    for (const one of replicas) await one.stop();
  }
}

/** A list whose pages come from both replicas, while objects are written, is the list of its first page's moment. */
async function assertContinued(replicas: readonly Facade[], random: Random): Promise<void> {
  const expected = await stateOf(replicas[0]!, gadgets);
  const found: string[] = [];
  let token = '';
  do {
    const query = token === '' ? 'limit=7' : `limit=7&continue=${encodeURIComponent(token)}`;
    const { status, json } = await random.pick(replicas).kube(`${gadgets}?${query}`);
    assert.equal(status, 200, JSON.stringify(json));
    found.push(...json.items.map(({ metadata }: any) => `${metadata.name} ${metadata.resourceVersion}`));
    token = json.metadata.continue ?? '';
    await write(replicas, 5, random);
  } while (token !== '');
  assert.deepEqual(found.toSorted(), expected);
}
