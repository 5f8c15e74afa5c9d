import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KindredError } from '../../errors.ts';
import type { Authorizer, Decision } from '../access.ts';
import type { ModelResource } from '../resource.ts';
import { followRights } from './rights.ts';

const resource = {
  scheme: { plural: 'books', groupVersionKind: { group: 'library.example', version: 'v1', kind: 'Book' } },
} as unknown as ModelResource;
const no: Decision = { allowed: false, reason: 'no role' };
const yes = (...names: string[]): Decision => ({
  allowed: true,
  reason: 'a role',
  ...(names.length > 0 && { names: new Set(names) }),
});

/** An authorizer whose answers the test changes; `change` tells those who listen. */
class Rights implements Authorizer {
  list: Decision;
  watch: Decision;
  readonly listeners = new Set<() => void>();

  constructor(list: Decision, watch: Decision) {
    this.list = list;
    this.watch = watch;
  }

  decide(_identity: unknown, access: { readonly verb: string }): Decision {
    return access.verb === 'list' ? this.list : this.watch;
  }

  onChange(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  change(verb: 'list' | 'watch', decision: Decision): void {
    this[verb] = decision;
    for (const listener of this.listeners) listener();
  }
}

function follow(rights: Rights, names?: readonly string[]): { ended: KindredError[]; stop: () => void } {
  const ended: KindredError[] = [];
  const identity = { name: 'ada', roles: [] };
  const watcher = { authorizer: rights, identity, resource, names: names && new Set(names) };
  const stop = followRights(watcher, (error) => ended.push(error));
  return { ended, stop };
}

for (const verb of ['list', 'watch'] as const) {
  test(`watch: a watch ends at once when the right to ${verb} was taken away before it could be followed`, () => {
    const rights = new Rights(yes(), yes());
    // Between the decision about the request and here: nobody listened yet.
    rights.change(verb, no);
    assert.deepEqual(
      follow(rights).ended.map(({ code }) => code),
      ['Forbidden'],
    );
  });

  test(`watch: a watch ends when the right to ${verb} is taken away, or comes to other objects`, () => {
    for (const [names, decision] of [
      [undefined, no],
      [undefined, yes('a')],
      [['a', 'b'], yes('a')],
      [['a', 'b'], yes('a', 'c')],
    ] as const) {
      const before = names ? yes(...names) : yes();
      const rights = new Rights(before, before);
      const { ended } = follow(rights, names);
      rights.change(verb === 'list' ? 'watch' : 'list', before);
      assert.equal(ended.length, 0);
      rights.change(verb, decision);
      assert.equal(ended[0]?.code, 'Forbidden');
    }
  });
}

test('watch: a watch that is over sends no more events', () => {
  const rights = new Rights(yes(), yes());
  const { ended, stop } = follow(rights);
  stop();
  rights.change('list', no);
  assert.deepEqual([ended, rights.listeners.size], [[], 0]);
});
