/** A definition whose schema changes while its objects are watched and written. */
import assert from 'node:assert/strict';
import { until } from '../../../src/testing/until.ts';
import { Facade } from '../harness.ts';
import { definitionOf, definitions, pathOf } from './definitions.ts';

interface Load {
  readonly watchers: number;
  readonly writers: number;
  /** Writes of each writer between two changes. */
  readonly writes: number;
  readonly changes: number;
}

/** What one watcher was told. */
class Told {
  /** Revision of the last change, by name. */
  readonly last = new Map<string, string>();
  isEnded = false;
  #text = '';

  async follow(response: Response): Promise<void> {
    const decoder = new TextDecoder();
    for await (const chunk of response.body!) this.#read(decoder.decode(chunk as Uint8Array, { stream: true }));
    this.isEnded = true;
  }

  #read(text: string): void {
    const lines = (this.#text + text).split('\n');
    this.#text = lines.pop()!;
    for (const line of lines) {
      if (line === '') continue;
      const { type, object, revision = object.metadata.resourceVersion } = JSON.parse(line);
      assert.ok(['ADDED', 'MODIFIED', 'BOOKMARK'].includes(type), line);
      if (type !== 'BOOKMARK') this.last.set(object.metadata.name, String(revision));
    }
  }
}

/**
 * Half of the watchers use the façade, half the native API. Each change adds a member with a default.
 * @throws AssertionError when a reader is interrupted or refused, an acknowledged object is lost, a watcher misses a change, or a
 *   member of the new schema is missing
 */
export async function changesUnderLoad({ watchers, writers, writes, changes }: Load) {
  const facade = new Facade();
  await facade.start();
  const definition = definitionOf({ nodes: 400 });
  assert.equal((await facade.kube(definitions, { body: definition })).status, 201);
  const things = pathOf(definition);
  await until(async () => (await facade.kube(things)).status === 200);

  const abort = new AbortController();
  const told = Array.from({ length: watchers }, () => new Told());
  const streams = await Promise.all(
    told.map(async (one, i) => {
      const url = `${facade.url}${i % 2 ? things : `/kube${things}`}?watch=true`;
      const response = await fetch(url, { signal: abort.signal });
      assert.equal(response.status, 200);
      return { reading: one.follow(response) };
    }),
  );
  const acknowledged = new Map<string, string>();
  let isOver = false;
  let reads = 0;
  const reader = (async () => {
    for (; !isOver; reads++) {
      const path = reads % 2 ? `${things}?size=5` : `/kube${things}?limit=5`;
      const { status, text } = await facade.send(path);
      assert.equal(status, 200, text);
    }
  })();
  let slowest = 0;
  for (let change = 1; change <= changes; change++) {
    const started = performance.now();
    const changing = (async () => {
      const path = `${definitions}/${definition.metadata.name}`;
      const next = (await facade.kube(path)).json;
      const { properties } = next.spec.versions[0].schema.openAPIV3Schema.properties.spec;
      properties[`more${change}`] = { type: 'integer', default: change };
      assert.equal((await facade.kube(path, { method: 'PUT', body: next })).status, 200);
      const isServed = async () => {
        const { json } = await facade.kube(`${things}?dryRun=All`, { body: { metadata: { name: 'probe' }, spec: {} } });
        return json.spec?.[`more${change}`] === change;
      };
      await until(isServed, { timeout: 60_000 });
      slowest = Math.max(slowest, performance.now() - started);
    })();
    const writing = Array.from({ length: writers }, async (_, writer) => {
      for (let i = 0; i < writes; i++) {
        const name = `w${writer}-${change}-${i >> 1}`;
        const isNew = i % 2 === 0;
        const reply = isNew
          ? await facade.kube(things, { body: { metadata: { name }, spec: { part0: { m1: i } } } })
          : await facade.send(`${things}/${name}`, {
              method: 'PATCH',
              headers: { 'content-type': 'application/merge-patch+json' },
              body: { spec: { part0: { m1: i } } },
            });
        assert.equal(reply.status, isNew ? 201 : 200, reply.text);
        acknowledged.set(name, reply.headers.get('kindred-revision') ?? reply.json.metadata.resourceVersion);
      }
    });
    await Promise.all([changing, ...writing]);
  }
  isOver = true;
  await reader;
  const { items } = (await facade.kube(things)).json;
  assert.equal(items.length, acknowledged.size, 'objects that were lost or that nobody made');
  for (const { metadata, spec } of items) {
    assert.equal(metadata.resourceVersion, acknowledged.get(metadata.name), metadata.name);
    for (let change = 1; change <= changes; change++) assert.equal(spec[`more${change}`], change, metadata.name);
  }
  const hasAll = ({ last }: Told) => [...acknowledged].every(([name, revision]) => last.get(name) === revision);
  await until(() => told.every((one) => !one.isEnded && hasAll(one)), {
    timeout: 60_000,
    what: 'every watcher knows all',
  });
  abort.abort();
  await Promise.allSettled(streams.map(({ reading }) => reading));
  await facade.stop();
  return { watchers, writers, changes, objects: items.length, reads, slowestChange: Math.round(slowest) };
}
