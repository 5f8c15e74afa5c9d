import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../testing/fake-clock.ts';
import { notReady } from './failure.ts';
import { Leases } from './leases.ts';
import type { Lease, Store } from './store.ts';

/** Leases alone; each taking gives the next token. */
class LeaseStore {
  readonly shared = true;
  readonly held = new Map<string, Lease>();
  isAway = false;
  /** While it is there, nothing is answered. */
  stall: Promise<void> | undefined;
  #token: number;

  constructor(token: number) {
    this.#token = token;
  }

  async acquireLease(name: string, holder: string): Promise<Lease | undefined> {
    if (this.isAway) throw notReady('away');
    await this.stall;
    const before = this.held.get(name);
    if (before) return before.holder === holder ? before : undefined;
    const lease = { name, holder, token: ++this.#token };
    this.held.set(name, lease);
    return lease;
  }

  async releaseLease({ name, token }: Lease): Promise<void> {
    await this.stall;
    if (this.held.get(name)?.token === token) this.held.delete(name);
  }
}

function three() {
  const stores = [new LeaseStore(10), new LeaseStore(20), new LeaseStore(30)] as const;
  const clock = new FakeClock();
  return { stores, clock, leases: new Leases(stores as unknown as Store[], clock) };
}

const of = (store: LeaseStore) => store as unknown as Store;
const fenceOf = ({ name, token }: Lease) => ({ lease: name, token });

test('a lease is held in every store, and its token stands for those of the others', async () => {
  const { stores, leases } = three();
  const lease = (await leases.acquireLease('a', 'me', 1, 0))!;
  const tokens = stores.map((store) => leases.fenceIn(of(store), fenceOf(lease))?.token);
  assert.deepEqual(tokens, [11, 21, 31]);
  assert.equal(leases.fenceIn(of(stores[1]), { lease: 'a', token: 10 }), undefined);
  await leases.releaseLease(lease);
  assert.deepEqual(
    stores.map(({ held }) => held.size),
    [0, 0, 0],
  );
  assert.equal(leases.fenceIn(of(stores[1]), fenceOf(lease)), undefined);
});

test('a lease that another holds in one store is held in none', async () => {
  const { stores, leases } = three();
  await stores[2].acquireLease('a', 'other');
  assert.equal(await leases.acquireLease('a', 'me', 1, 0), undefined);
  assert.deepEqual(
    stores.map(({ held }) => held.get('a')?.holder),
    [undefined, undefined, 'other'],
  );
});

test('a store that is away is left out until a renewal finds it', async () => {
  const { stores, leases } = three();
  stores[1].isAway = true;
  const lease = (await leases.acquireLease('a', 'me', 1, 0))!;
  assert.equal(leases.fenceIn(of(stores[1]), fenceOf(lease)), undefined);
  assert.equal(leases.fenceIn(of(stores[2]), fenceOf(lease))?.token, 31);
  stores[1].isAway = false;
  await leases.acquireLease('a', 'me', 1, 0);
  assert.equal(leases.fenceIn(of(stores[1]), fenceOf(lease))?.token, 21);
});

test('a store that does not answer holds no renewal up, and counts again with its answer', async () => {
  const { stores, clock, leases } = three();
  const stall = Promise.withResolvers<void>();
  stores[1].stall = stall.promise;
  let lease: Lease | undefined;
  for (let i = 0; i < 3; i++) {
    lease = undefined;
    void leases.acquireLease('a', 'me', 1, 0).then((one) => {
      lease = one;
    });
    await clock.advance(2_000);
    assert.ok(lease);
    assert.equal(leases.fenceIn(of(stores[1]), fenceOf(lease)), undefined);
    assert.equal(leases.fenceIn(of(stores[2]), fenceOf(lease))?.token, 31);
  }
  stall.resolve();
  await clock.advance(0);
  assert.equal(leases.fenceIn(of(stores[1]), fenceOf(lease!))?.token, 21);
});

test('a lease is given back while a store does not answer, and there with its answer', async () => {
  const { stores, clock, leases } = three();
  const stall = Promise.withResolvers<void>();
  const heldBy = () => stores.map(({ held }) => held.get('a')?.holder);
  stores[1].stall = stall.promise;
  const acquired = leases.acquireLease('a', 'me', 1, 0);
  await clock.advance(2_000);
  await leases.releaseLease((await acquired)!);
  assert.deepEqual(heldBy(), [undefined, undefined, undefined]);
  stall.resolve();
  await clock.advance(0);
  assert.deepEqual(heldBy(), [undefined, undefined, undefined]);
  const again = (await leases.acquireLease('a', 'me', 1, 0))!;
  stores[1].stall = new Promise(() => {});
  const released = leases.releaseLease(again);
  await clock.advance(2_000);
  await released;
  assert.deepEqual(heldBy(), [undefined, 'me', undefined]);
});
