import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Event, History, Operation, Stream } from './history.ts';
import { isWrite } from './history.ts';
import { inventHistory } from './invented.ts';
import { withoutLost } from './lost.ts';
import { replay } from './replay.ts';
import { isLinearizable } from './search.ts';

/** Numbers from 0 to 1 that a seed decides (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] extends readonly (infer E)[] ? E[] : T[K] };
/** Changes the history; false when it has nothing to change. */
type Mutation = (history: Mutable<History>, random: () => number) => boolean;

function pick<T>(list: readonly T[], random: () => number): T | undefined {
  return list[Math.floor(random() * list.length)];
}

function replace(history: Mutable<History>, old: Operation, change: Partial<Operation>): void {
  history.operations[history.operations.indexOf(old)] = { ...old, ...change };
}

type Done = Operation & { outcome: { kind: 'ok'; revision: number } };
const acknowledged = (history: History): Done[] =>
  history.operations.filter((one): one is Done => isWrite(one.request) && one.outcome.kind === 'ok');
const found = (history: History): Done[] =>
  history.operations.filter((one): one is Done => one.request.kind === 'get' && one.outcome.kind === 'ok');

const mutations: Record<string, Mutation> = {
  'swap: two acknowledged writes exchange their revisions': (history, random) => {
    const [a, b] = [pick(acknowledged(history), random), pick(acknowledged(history), random)];
    if (!a || !b || a === b) return false;
    replace(history, a, { outcome: { ...a.outcome, revision: b.outcome.revision } });
    replace(history, b, { outcome: { ...b.outcome, revision: a.outcome.revision } });
    return true;
  },
  'swap: two changes of the log exchange their places': (history, random) => {
    const i = Math.floor(random() * (history.log.length - 1));
    const [a, b] = [history.log[i], history.log[i + 1]];
    if (!a || !b) return false;
    history.log.splice(i, 2, { ...b, revision: a.revision }, { ...a, revision: b.revision });
    return true;
  },
  'drop: the log lacks a change': (history, random) => {
    const lost = Math.floor(random() * history.log.length);
    return history.log.splice(lost, 1).length > 0;
  },
  'drop: the log lacks an acknowledged write, and its numbers hide it': (history, random) => {
    const lost = pick(acknowledged(history), random);
    if (!lost) return false;
    history.log = history.log
      .filter((event) => event.revision !== lost.outcome.revision)
      .map((event, i) => ({ ...event, revision: history.base + 1 + i }));
    history.newest--;
    return true;
  },
  'drop: a watch lacks an event': (history, random) =>
    changeStream(history, random, (events, at) => events.splice(at, 1)),
  'drop: a list lacks an object': (history, random) => {
    const list = pick(
      history.operations.filter(({ outcome }) => outcome.kind === 'ok' && (outcome.items?.length ?? 0) > 0),
      random,
    );
    if (list?.outcome.kind !== 'ok') return false;
    replace(history, list, { outcome: { ...list.outcome, items: list.outcome.items!.slice(1) } });
    return true;
  },
  'duplicate: a write is acknowledged with the revision of another': (history, random) => {
    const [a, b] = [pick(acknowledged(history), random), pick(acknowledged(history), random)];
    if (!a || !b || a === b) return false;
    replace(history, a, { outcome: { ...a.outcome, revision: b.outcome.revision } });
    return true;
  },
  'duplicate: a write is applied twice': (history, random) => {
    const event = pick(history.log, random);
    if (!event) return false;
    history.newest++;
    history.log.push({ ...event, revision: history.newest });
    return true;
  },
  'duplicate: a watch is told an event twice': (history, random) =>
    changeStream(history, random, (events, at) => events.splice(at, 0, events[at]!)),
  'shift: a read reflects what was before a write that was acknowledged earlier': (history, random) => {
    const read = pick(
      history.operations.filter(
        ({ request, outcome, start }) =>
          !isWrite(request) &&
          outcome.kind === 'ok' &&
          acknowledged(history).some((write) => write.end < start && write.outcome.revision === outcome.revision),
      ),
      random,
    );
    if (read?.outcome.kind !== 'ok') return false;
    replace(history, read, { outcome: { ...read.outcome, revision: read.outcome.revision - 1 } });
    return true;
  },
  'shift: a get answers an older state': (history, random) => {
    const read = pick(
      found(history).filter(({ outcome }) => outcome.item!.version > 0),
      random,
    );
    if (!read) return false;
    const item = { ...read.outcome.item!, version: read.outcome.item!.version - 1 };
    replace(history, read, { outcome: { ...read.outcome, item } });
    return true;
  },
  'shift: a write moves behind one that came after it': (history, random) => {
    const write = pick(acknowledged(history), random);
    const later = write && acknowledged(history).find((other) => other.outcome.revision > write.outcome.revision);
    if (!write || !later) return false;
    replace(history, write, { start: later.end + 1, end: later.end + 2 });
    return true;
  },
  'shift: an event of a watch has the revision of its neighbour': (history, random) =>
    changeStream(history, random, (events, at) =>
      events.splice(at, 1, { ...events[at]!, revision: events[at]!.revision - 1 }),
    ),
  'a refusal without a reason': (history) => {
    const absent = history.operations.find(({ outcome }) => outcome.kind === 'refused' && outcome.code === 'NotFound');
    if (!absent) return false;
    replace(history, absent, { outcome: { kind: 'refused', code: 'AlreadyExists' } });
    return true;
  },
  'a write that was answered as not applied is there': (history) => {
    const write = acknowledged(history).find(({ request }) => request.kind !== 'delete');
    if (!write) return false;
    replace(history, write, { outcome: { kind: 'none' } });
    return true;
  },
};

function changeStream(
  history: Mutable<History>,
  random: () => number,
  change: (events: Stream['events'][number][], at: number) => void,
): boolean {
  const i = Math.floor(random() * history.streams.length);
  const stream = history.streams[i]!;
  const events = [...stream.events];
  const at = events.findIndex((event): event is Event => event.type !== 'BOOKMARK');
  if (at < 0) return false;
  change(events, at);
  history.streams[i] = { ...stream, events };
  return true;
}

function copyOf({ base, newest, operations, log, streams }: History): Mutable<History> {
  return { base, newest, operations: [...operations], log: [...log], streams: [...streams] };
}

describe('the revision replay', () => {
  it('accepts valid histories', () => {
    for (let seed = 1; seed <= 200; seed++) {
      assert.deepEqual(replay(inventHistory(randomFrom(seed), 150)), [], `seed ${seed}`);
    }
  });

  for (const [name, mutate] of Object.entries(mutations)) {
    it(`rejects ${name}`, () => {
      let mutated = 0;
      for (let seed = 1; seed <= 100; seed++) {
        const random = randomFrom(seed);
        const history = copyOf(inventHistory(random, 150));
        if (!mutate(history, random)) continue;
        mutated++;
        assert.notDeepEqual(replay(history), [], `seed ${seed}`);
      }
      assert.ok(mutated >= 50, `only ${mutated} histories could be changed`);
    });
  }
});

describe('a history without what was lost', () => {
  /** What two watches that then expired were told: the changes up to the middle of the log, and then one that another took the place of. */
  function withLost(history: History): { history: Mutable<History>; watches: Stream[] } {
    const fork = history.log[history.log.length >> 1]!.revision;
    const before = history.log.filter(({ revision }) => revision < fork);
    const lost: Event = { type: 'ADDED', revision: fork, item: { name: 'n0', version: 0, value: 'lost' } };
    const watches: Stream[] = [
      { since: history.base, events: [...before, lost], expired: true },
      // It asked for a slug that the lost change has not.
      {
        since: fork - 1,
        slug: history.log.find(({ revision }) => revision === fork)!.item.slug ?? 's1',
        events: [{ type: 'BOOKMARK', revision: fork }],
        expired: true,
      },
    ];
    return { history: { ...copyOf(history), streams: watches }, watches };
  }
  const all = { from: 0, to: Number.POSITIVE_INFINITY };

  it('has nothing that the lost part told', () => {
    for (let seed = 1; seed <= 100; seed++) {
      const { history } = withLost(inventHistory(randomFrom(seed), 150));
      assert.notDeepEqual(replay(history), [], `seed ${seed}`);
      assert.deepEqual(replay(withoutLost(history, all)), [], `seed ${seed}`);
    }
  });

  it('keeps what watches should have told before', () => {
    for (let seed = 1; seed <= 100; seed++) {
      const { history, watches } = withLost(inventHistory(randomFrom(seed), 150));
      history.streams = [{ ...watches[0]!, events: watches[0]!.events.slice(1) }];
      assert.notDeepEqual(replay(withoutLost(history, all)), [], `seed ${seed}`);
    }
  });

  it('keeps acknowledged writes', () => {
    for (let seed = 1; seed <= 100; seed++) {
      const { history } = withLost(inventHistory(randomFrom(seed), 150));
      assert.deepEqual(acknowledged(withoutLost(history, all)), acknowledged(history));
    }
  });
});

describe('the search for an order', () => {
  const ofName = (history: History, name: string): Operation[] =>
    history.operations.filter(({ request }) => 'name' in request && request.name === name);

  it('accepts valid histories', () => {
    for (let seed = 1; seed <= 100; seed++) {
      const history = inventHistory(randomFrom(seed), 150);
      for (let i = 0; i < 6; i++) assert.ok(isLinearizable(ofName(history, `n${i}`)), `seed ${seed}, n${i}`);
    }
  });

  const changes: Record<string, (operations: Operation[]) => boolean> = {
    'swap: two gets exchange their answers': (operations) => {
      const gets = operations.filter(({ request }) => request.kind === 'get');
      const a = gets.find(({ outcome }) => outcome.kind === 'ok');
      const b =
        a &&
        gets.find(
          ({ outcome }) =>
            outcome.kind === 'ok' && a.outcome.kind === 'ok' && outcome.item!.value !== a.outcome.item!.value,
        );
      if (!a || !b) return false;
      operations[operations.indexOf(a)] = { ...a, outcome: b.outcome };
      operations[operations.indexOf(b)] = { ...b, outcome: a.outcome };
      return true;
    },
    'drop: an acknowledged write whose value was read': (operations) => {
      const seen = operations.flatMap(({ request, outcome }) =>
        request.kind === 'get' && outcome.kind === 'ok' ? [outcome.item!.value] : [],
      );
      const at = operations.findIndex(
        ({ request, outcome }) => 'value' in request && outcome.kind === 'ok' && seen.includes(request.value),
      );
      return at >= 0 && operations.splice(at, 1).length > 0;
    },
    'duplicate: an acknowledged creation': (operations) => {
      const made = operations.findLast(({ request, outcome }) => request.kind === 'create' && outcome.kind === 'ok');
      // What is not known could have made room for it.
      if (!made || operations.some(({ outcome }) => outcome.kind === 'unknown')) return false;
      operations.push({ ...made, start: made.end + 0.1, end: made.end + 0.2 });
      return true;
    },
    'shift: a get after the next write that was acknowledged': (operations) => {
      for (const [i, get] of operations.entries()) {
        const { outcome } = get;
        if (get.request.kind !== 'get' || outcome.kind !== 'ok') continue;
        const write = operations.find(
          (one) => isWrite(one.request) && one.outcome.kind === 'ok' && one.start > get.end,
        );
        if (!write) continue;
        operations[i] = { ...get, start: write.end + 0.1, end: write.end + 0.2 };
        return true;
      }
      return false;
    },
  };
  for (const [name, change] of Object.entries(changes)) {
    it(`rejects ${name}`, () => {
      let changed = 0;
      for (let seed = 1; seed <= 60; seed++) {
        const operations = ofName(inventHistory(randomFrom(seed), 150), 'n1').toSorted((a, b) => a.start - b.start);
        if (!change(operations)) continue;
        changed++;
        assert.equal(isLinearizable(operations), false, `seed ${seed}`);
      }
      assert.ok(changed >= 15, `only ${changed} histories could be changed`);
    });
  }
});
