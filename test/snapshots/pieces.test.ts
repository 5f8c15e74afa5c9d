/** A copy in many pieces, with changes between any two of them, gives what the live index has. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ModelIndex } from '../../src/indexes/model-index.ts';
import { arrange } from '../../src/indexes/snapshot/arrange.ts';
import type { Piece } from '../../src/indexes/snapshot/piece.ts';
import { SchemeRegistry } from '../../src/model/registry.ts';
import { storedEntry } from '../../src/resource/entries.ts';
import { contentOf, Thing, thing } from './process.ts';

const scheme = new SchemeRegistry({ reservedDomain: 'platform.run', warn: () => {} }).register(
  Thing,
  undefined,
  'snap',
);
const objects = 400;

/** Pseudo-random numbers below a limit. */
function randomBy(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

for (const [portion, changes, seed] of [
  [7, 1, 1],
  [16, 3, 2],
  [50, 20, 3],
  [128, 60, 4],
] as const) {
  test(`pieces of ${portion} elements with ${changes} changes between two of them`, async () => {
    const random = randomBy(seed);
    const live = new ModelIndex(scheme.indexes);
    let revision = 0;
    const changed = new Map<string, () => void>();
    const restored = new ModelIndex(scheme.indexes);
    const change = (among: number): void => {
      const body = thing(random(among), random(9));
      const { name } = body.metadata;
      revision++;
      if (random(4) === 0) {
        live.remove(name);
        changed.set(name, () => restored.remove(name));
        return;
      }
      const stamp = { creationTimestamp: new Date(1_700_000_000_000 + random(1_000)).toISOString() };
      const object = {
        apiVersion: 'snap.example.com/v1',
        kind: 'Thing',
        ...body,
        metadata: { ...body.metadata, ...stamp },
      };
      const { entry } = storedEntry(scheme, object as never, name);
      const [id, at, length] = [live.find(name)?.id ?? revision, revision, random(500)];
      live.put(entry, id, at, length);
      changed.set(name, () => restored.put(entry, id, at, length));
    };
    for (let i = 0; i < objects * 3; i++) change(objects);
    changed.clear();
    const observed = live.observe();
    const pieces: Piece[] = [];
    for (const piece of live.pieces(portion)) {
      // As they go to another thread.
      pieces.push(structuredClone(piece));
      for (let i = 0; i < changes; i++) change(objects / 4);
    }
    observed.stop();
    assert(observed.touched.size > 0 && observed.touched.size < live.limit);
    const shapes = live.fields.map(({ shape }) => shape);
    const { sections, size } = arrange(pieces, shapes, observed.touched);
    assert(size > 0, 'every object was touched');
    await restored.restore(sections);
    for (const apply of changed.values()) apply();
    assert.deepEqual(contentOf(restored), contentOf(live));
  });
}
