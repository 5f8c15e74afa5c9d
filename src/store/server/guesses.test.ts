import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Write } from '../store.ts';
import { Guesses } from './guesses.ts';

const creation: Write = { type: 'create', model: 1, name: 'a', bytes: new Uint8Array(), generation: 0 };
const session = {};

/** What is read at a revision, and the plan of one write after it. */
function commit(guesses: Guesses, revision: number, of: object = session): void {
  const nothing = { rows: [], claims: [], leases: [], takeovers: [], changed: [] };
  const answers = { ...nothing, revision, questions: 0, generations: [{ model: 1, generation: 0 }] };
  const plan = { results: [], revision: revision + 1, steps: [], droppedClaims: [], takenClaims: [], activations: [] };
  guesses.learn(of, answers, plan);
}

const revisionOf = (guesses: Guesses, writes = [creation]): number | undefined =>
  guesses.of(session, writes, 1)?.plan.revision;

describe('guesses', () => {
  it('begin with what a commit on the same connection has shown', () => {
    const guesses = new Guesses();
    assert.equal(revisionOf(guesses), undefined);
    commit(guesses, 4);
    assert.equal(revisionOf(guesses), 6);
    guesses.succeeded(guesses.of(session, [creation], 1)!.plan);
    assert.equal(revisionOf(guesses), 7);
    assert.equal(guesses.of({}, [creation], 1), undefined);
  });

  it('know the generations of the models that were asked for since somebody else committed', () => {
    const guesses = new Guesses();
    commit(guesses, 4);
    const activations = [{ model: 1, from: 0, to: 1, contract: '{}', storageVersion: 'v1' }];
    const plan = { results: [], revision: 6, steps: [], droppedClaims: [], takenClaims: [], activations };
    const nothing = { rows: [], claims: [], leases: [], takeovers: [], generations: [], changed: [] };
    guesses.learn(session, { ...nothing, revision: 5, questions: 0 }, plan);
    assert.equal(revisionOf(guesses), undefined);
    assert.equal(revisionOf(guesses, [{ ...creation, generation: 1 }]), 7);
    guesses.learn(session, { ...nothing, revision: 7, questions: 0 }, { ...plan, revision: 8, activations: [] });
    assert.equal(
      revisionOf(guesses, [{ ...creation, generation: 1 }]),
      undefined,
      'another process may have changed it',
    );
  });

  it('end after two failures, until two commits came one after the other', () => {
    const guesses = new Guesses();
    for (const revision of [4, 8]) {
      commit(guesses, revision);
      assert.notEqual(revisionOf(guesses), undefined);
      guesses.failed();
    }
    commit(guesses, 10);
    assert.equal(revisionOf(guesses), undefined);
    commit(guesses, 12);
    assert.equal(revisionOf(guesses), undefined, 'another process has committed in between');
    commit(guesses, 13);
    assert.equal(revisionOf(guesses), 15);
  });
});
