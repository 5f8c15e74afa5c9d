import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { WriteState } from './decide.ts';
import { decide, guessBatch, planBatch, planClaimRepair, questionsOf } from './decide.ts';
import type { Write } from './store.ts';

const hash = (text: string): Uint8Array => Buffer.from(text);
const claim = (key: string) => ({ hash: hash(key), index: 'spec.slug', key });

/** Model 1 has the row "a" with the id 5 at revision 7, which holds the value x; model 2 has the row with the id 6. */
const state: WriteState = {
  row: (model, name) => (model === 1 && name === 'a' ? { id: 5, revision: 7 } : undefined),
  revisionOf: (model, id) => (model === 1 && id === 5 ? 7 : model === 2 && id === 6 ? 8 : undefined),
  holderOf: (model, value) => (model === 1 && Buffer.from(value).toString() === 'x' ? 5 : undefined),
  lease: (name) => (name === 'l' ? { token: 3, expires: 100 } : undefined),
  generation: (model) => (model === 1 ? 4 : 0),
  changedAt: (model) => (model === 1 ? 7 : 0),
};

function reasonOf(write: Partial<Write> & Pick<Write, 'type' | 'name'>, time = 99): string {
  const result = decide({ model: 1, bytes: hash(''), ...write }, time, 9, state);
  return result.ok ? `id ${result.id} revision ${result.revision}` : result.reason;
}

describe('the decision of a write', () => {
  it('a name is taken or it is there', () => {
    assert.equal(reasonOf({ type: 'create', name: 'a' }), 'exists');
    assert.equal(reasonOf({ type: 'create', name: 'b' }), 'id 9 revision 9');
    assert.equal(reasonOf({ type: 'update', name: 'b' }), 'missing');
    assert.equal(reasonOf({ type: 'delete', name: 'a' }), 'id 5 revision 9');
  });

  it('a row is another when its id or its revision is', () => {
    assert.equal(reasonOf({ type: 'update', name: 'a', expected: { id: 5, revision: 7 } }), 'id 5 revision 9');
    assert.equal(reasonOf({ type: 'update', name: 'a', expected: { id: 5, revision: 6 } }), 'changed');
    assert.equal(reasonOf({ type: 'update', name: 'a', expected: { id: 4, revision: 7 } }), 'changed');
  });

  it('a value belongs to one row, which may take it again', () => {
    assert.equal(reasonOf({ type: 'create', name: 'b', claim: [claim('y'), claim('x')] }), 'claimed');
    assert.equal(reasonOf({ type: 'update', name: 'a', claim: [claim('x')] }), 'id 5 revision 9');
  });

  it('a row that takes a value over must be as it was, and of the same model', () => {
    const release = (id: number, revision: number) => [{ hash: hash('x'), successor: { id, revision } }];
    assert.equal(reasonOf({ type: 'delete', name: 'a', release: release(5, 7) }), 'id 5 revision 9');
    assert.equal(reasonOf({ type: 'delete', name: 'a', release: release(5, 6) }), 'changed');
    assert.equal(reasonOf({ type: 'delete', name: 'a', release: release(6, 8) }), 'changed');
    const other = [{ hash: hash('y'), successor: { id: 6, revision: 1 } }];
    assert.equal(
      reasonOf({ type: 'delete', name: 'a', release: other }),
      'id 5 revision 9',
      'the value is not its own',
    );
  });

  it('a lease counts with its newest token, until it runs out', () => {
    const fenced = (token: number, time: number, lease = 'l') =>
      reasonOf({ type: 'create', name: 'b', fence: { lease, token } }, time);
    assert.equal(fenced(3, 99), 'id 9 revision 9');
    assert.equal(fenced(3, 100), 'fenced');
    assert.equal(fenced(2, 99), 'fenced');
    assert.equal(fenced(3, 99, 'm'), 'fenced');
  });

  it('a write of another generation of its model is outdated', () => {
    assert.equal(reasonOf({ type: 'create', name: 'b', generation: 4 }), 'id 9 revision 9');
    assert.equal(reasonOf({ type: 'create', name: 'b', generation: 3 }), 'outdated');
    assert.equal(reasonOf({ type: 'create', name: 'b', generation: 5 }), 'outdated');
  });

  it('a contract becomes active after the generation and the objects that were looked at', () => {
    const activate = (from: number, checked?: number) => {
      const activation = { model: 1, from, to: from + 1, contract: '{}', storageVersion: 'v1' };
      return reasonOf({
        type: 'create',
        model: 2,
        name: 'state',
        activate: { ...activation, ...(checked !== undefined && { checked }) },
      });
    };
    assert.equal(activate(4), 'id 9 revision 9');
    assert.equal(activate(3), 'outdated');
    assert.equal(activate(4, 7), 'id 9 revision 9');
    assert.equal(activate(4, 6), 'unchecked');
  });
});

describe('the plan of a batch', () => {
  it('a write sees those before it, and a row is changed once in a step', () => {
    const writes: Write[] = [
      { type: 'create', model: 1, name: 'a', bytes: hash('1'), claim: [claim('x')] },
      { type: 'create', model: 1, name: 'b', bytes: hash('2'), claim: [claim('x')] },
      { type: 'update', model: 1, name: 'a', bytes: hash('3'), release: [{ hash: hash('x') }] },
      { type: 'create', model: 1, name: 'b', bytes: hash('4'), claim: [claim('x')] },
    ];
    const { results, revision, steps, takenClaims, droppedClaims } = planBatch(writes, 1, {
      revision: 10,
      rows: [],
      claims: [],
      leases: [],
      takeovers: [],
      generations: [],
      changed: [],
    });
    assert.deepEqual(
      results.map((result) => (result.ok ? [result.id, result.revision] : result.reason)),
      [[11, 11], 'claimed', [11, 12], [13, 13]],
    );
    assert.equal(revision, 13);
    assert.deepEqual(
      steps.map((step) => step.map((change) => change.revision)),
      [[11], [12, 13]],
    );
    assert.deepEqual([takenClaims.map(({ id }) => id), droppedClaims], [[13], []]);
  });

  it('asks for each thing once', () => {
    const write: Write = { type: 'update', model: 1, name: 'a', bytes: hash(''), claim: [claim('x')] };
    const release = [{ hash: hash('x'), successor: { id: 4, revision: 1 } }];
    const questions = questionsOf([write, { ...write, release }, { ...write, model: 2 }]);
    assert.deepEqual(
      [questions.names.length, questions.hashes.length, questions.takeovers, questions.leases],
      [2, 2, [4], []],
    );
  });
});

describe('the guess of a batch', () => {
  const known = { revision: 10, questions: 0, generations: new Map([[1, 4]]) };
  const expected = { id: 5, revision: 7 };
  const creation: Write = { type: 'create', model: 1, name: 'b', bytes: hash(''), generation: 4 };
  const update: Write = { type: 'update', model: 1, name: 'a', bytes: hash(''), expected };

  it('takes names and values for free, and rows for the expected ones, which it names', () => {
    const { plan, rows } = guessBatch([{ ...creation, claim: [claim('x')] }, update], 1, known)!;
    assert.deepEqual(
      plan.results.map((result) => result.ok && [result.id, result.revision]),
      [
        [11, 11],
        [5, 12],
      ],
    );
    assert.deepEqual([plan.revision, plan.takenClaims.map(({ id }) => id)], [12, [11]]);
    assert.deepEqual(rows, [{ model: 1, name: 'a', id: 5, revision: 7 }]);
  });

  it('is not made when the outcome depends on more, or a write would fail', () => {
    const activate = { model: 1, from: 4, to: 5, contract: '{}', storageVersion: 'v1' };
    const { expected: _, ...unseen } = update;
    const others: Record<string, Write[]> = {
      'a lease': [{ ...creation, fence: { lease: 'l', token: 1 } }],
      'a contract': [{ ...creation, activate }],
      'a value that is given up': [{ ...update, release: [{ hash: hash('x') }] }],
      'a row that nobody has seen': [unseen],
      'another generation': [{ ...creation, generation: 3 }],
      'a generation that was never read': [{ ...creation, model: 2, generation: 0 }],
      'a name twice': [creation, creation],
      'a row that is changed twice': [update, update],
      nothing: [],
    };
    for (const [what, writes] of Object.entries(others)) assert.equal(guessBatch(writes, 1, known), undefined, what);
  });
});

describe('the repair of claims', () => {
  it('leaves rows that have changed, and lets the first of two rows take a value that both have', () => {
    const add = (key: string, id: number, revision: number) => ({ ...claim(key), id, revision });
    const { takenClaims, droppedClaims, left } = planClaimRepair(
      1,
      [add('x', 5, 7), add('y', 5, 7), add('y', 5, 7), add('z', 5, 6)],
      [{ hash: hash('x'), id: 5, revision: 7 }],
      state,
    );
    assert.deepEqual(
      takenClaims.map(({ key }) => key),
      ['x', 'y'],
    );
    assert.deepEqual([droppedClaims.length, left], [1, 1]);
  });

  it('takes no value from another row', () => {
    const { takenClaims } = planClaimRepair(2, [{ ...claim('x'), id: 6, revision: 8 }], [], {
      ...state,
      holderOf: () => 7,
    });
    assert.deepEqual(takenClaims, []);
  });
});
