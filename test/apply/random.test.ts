import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { apply, managedFields, update } from '../../src/apply/apply.ts';
import type { FieldSet } from '../../src/apply/field-set.ts';
import type { ManagedFieldsEntry } from '../../src/model/object.ts';
import type { Parts } from '../../src/runtime/parts.ts';
import { Random } from '../query/random.ts';
import { Oracle } from './oracle.ts';
import { Contents, places, schema } from './random.ts';

const step = '\u0001';
const apiVersion = 'demo.example.com/v1';

function done<T>(work: Parts<T>): T {
  for (;;) {
    const next = work.next();
    if (next.done) return next.value;
  }
}

/** The paths of a stored set, read without `src/apply/`. */
function pathsIn(set: FieldSet, path = ''): string[] {
  const edges = Object.keys(set);
  const own = path !== '' && (edges.length === 0 || edges.includes('.')) ? [path] : [];
  return [...own, ...edges.filter((edge) => edge !== '.').flatMap((edge) => pathsIn(set[edge]!, path + step + edge))];
}

function shown(entries: readonly ManagedFieldsEntry[]): string[] {
  return entries
    .map(
      ({ manager, operation, fieldsV1 }) =>
        `${manager} ${operation}\n${pathsIn(fieldsV1 as FieldSet)
          .sort()
          .join('\n')}`,
    )
    .sort();
}

/** What of the body an order can be seen in, against the result: the body's items come in the body's order. */
function assertOrder(body: unknown, result: unknown, message: string): void {
  if (Array.isArray(body) && Array.isArray(result)) {
    const texts = result.map((one) => JSON.stringify(one?.port ?? one?.uid ?? one) + (one?.protocol ?? 'TCP'));
    const at = body.map((one) =>
      texts.indexOf(JSON.stringify(one?.port ?? one?.uid ?? one) + (one?.protocol ?? 'TCP')),
    );
    assert.deepEqual(
      at,
      at.toSorted((a, b) => a - b),
      message,
    );
  } else if (typeof body === 'object' && body !== null && typeof result === 'object' && result !== null) {
    for (const [name, value] of Object.entries(body)) {
      assertOrder(value, (result as Record<string, unknown>)[name], message);
    }
  }
}

interface History {
  readonly conflicts: number;
  readonly yields: number;
}

function run(seed: number, steps: number): History {
  const random = new Random(seed);
  const contents = new Contents(random);
  const oracle = new Oracle(places);
  let content: Record<string, unknown> = {};
  let entries: readonly ManagedFieldsEntry[] = [];
  let [conflicts, yields] = [0, 0];
  if (random.chance(0.3)) {
    content = contents.content(0.5);
    oracle.content = content;
  }
  for (let at = 0; at < steps; at++) {
    const where = `seed ${seed}, step ${at}`;
    const before = structuredClone({ content, entries });
    if (entries.length > 0 && random.chance(0.3)) {
      const writer = { manager: `u${random.below(2)}`, operation: 'Update', apiVersion } as const;
      const next = changed(content, contents.content(0.6), random);
      const owners = done(update(content, next, entries, schema, writer));
      entries = done(managedFields(entries, owners, true, at * 1_000));
      oracle.update(writer.manager, structuredClone(next));
      content = next;
    } else {
      const manager = `m${random.below(3)}`;
      const rule = (['fail', 'fail', 'force', 'yield'] as const)[random.below(4)]!;
      const body = contents.content(0.35);
      const adopts = ([undefined, undefined, undefined, undefined, 'unapplied', 'all'] as const)[random.below(6)];
      const applied = done(apply(content, entries, body, schema, { manager, apiVersion, conflicts: rule, adopts }));
      if (entries.length === 0) oracle.claims = [];
      const expected = oracle.apply(manager, structuredClone(body), rule, adopts);
      if ('conflicts' in expected) {
        assert.ok('conflicts' in applied && applied.conflicts, where);
        const found = applied.conflicts.map(({ owner }) => `${owner.manager} ${owner.operation}`).sort();
        assert.deepEqual(
          found,
          expected.conflicts.map((one) => one.slice(0, one.indexOf(` ${step}`))),
          where,
        );
        conflicts++;
      } else {
        assert.ok('content' in applied, where);
        if (rule === 'yield') yields++;
        const isSame = applied.content === content;
        entries = done(managedFields(entries, applied.owners, !isSame, at * 1_000));
        content = applied.content;
        if (rule !== 'yield') assertOrder(body, content, where);
        const again = done(apply(content, entries, body, schema, { manager, apiVersion, conflicts: rule }));
        if (rule !== 'yield' && entries.length > 0) {
          assert.ok('content' in again && again.content === content, `${where}: applied twice`);
          assert.equal(done(managedFields(entries, again.owners, false, 1e9)), entries, `${where}: applied twice`);
        }
      }
    }
    Oracle.assertSame(content, oracle.content, places, where);
    assert.deepEqual(shown(entries), entries.length === 0 ? [] : oracle.shown(), where);
    assert.deepEqual({ content: structuredClone(before.content), entries: before.entries }, before, where);
  }
  return { conflicts, yields };
}

/** Some of the one, some of the other. */
function changed(a: Record<string, unknown>, b: Record<string, unknown>, random: Random): Record<string, unknown> {
  const names = [...new Set([...Object.keys(a), ...Object.keys(b)])];
  return Object.fromEntries(
    names.flatMap((name) => {
      const pick = random.below(4);
      if (pick === 0) return [];
      const [mine, other] = [a[name], b[name]];
      const isBoth = [mine, other].every((one) => typeof one === 'object' && one !== null && !Array.isArray(one));
      if (isBoth && pick < 3) return [[name, changed(mine as object as typeof a, other as object as typeof a, random)]];
      const value = pick === 1 ? (other ?? mine) : (mine ?? other);
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

describe('apply against an oracle', () => {
  it('apply: random histories of managers, values and lists give what the oracle gives', () => {
    let [conflicts, yields] = [0, 0];
    for (let seed = 1; seed <= 450; seed++) {
      const history = run(seed, 14);
      conflicts += history.conflicts;
      yields += history.yields;
    }
    // About half of what these histories have: 229 and 1,118.
    assert.ok(conflicts >= 115 && yields >= 560, `${conflicts} conflicts, ${yields} times yielded`);
  });
});
