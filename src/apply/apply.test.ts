import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { slowness, threadTime } from '../../test/slowness.ts';
import type { ManagedFieldsEntry } from '../model/object.ts';
import type { Parts } from '../runtime/parts.ts';
import type { Applied, Applying, Fields } from './apply.ts';
import { apply, contentOf, managedFields, update } from './apply.ts';
import type { FieldSet } from './field-set.ts';
import type { Manager } from './managers.ts';
import { shownManager } from './managers.ts';

const apiVersion = 'bar.example.com/v1';
const schema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        replicas: { type: 'integer' },
        note: { type: 'string' },
        args: { type: 'array', items: { type: 'string' } },
        zones: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' },
        limits: { type: 'object', additionalProperties: {}, 'x-kubernetes-map-type': 'atomic' },
        ports: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name'],
          items: { type: 'object', properties: { name: { type: 'string' }, port: { type: 'integer' } } },
        },
      },
    },
  },
} as const;

function done<T>(work: Parts<T>): T {
  for (;;) {
    const next = work.next();
    if (next.done) return next.value;
  }
}

class Live {
  content: Fields;
  entries: readonly ManagedFieldsEntry[] = [];
  #now = Date.UTC(2026, 0, 2, 3, 4, 5, 678);

  constructor(content: Fields = {}) {
    this.content = content;
  }

  try(manager: string, body: Fields, options: Partial<Applying> = {}): Applied {
    return done(
      apply(this.content, this.entries, body, schema, { manager, apiVersion, conflicts: 'fail', ...options }),
    );
  }

  apply(manager: string, body: Fields, options: Partial<Applying> = {}): this {
    const applied = this.try(manager, body, options);
    if (!('content' in applied)) return assert.fail(JSON.stringify(applied));
    const isChanged = applied.content !== this.content;
    this.content = applied.content;
    this.entries = done(managedFields(this.entries, applied.owners, isChanged, this.#tick()));
    return this;
  }

  update(manager: string, content: Fields, version = apiVersion): this {
    const writer = { manager, operation: 'Update', apiVersion: version } as const;
    const owners = done(update(this.content, content, this.entries, schema, writer));
    this.content = content;
    this.entries = done(managedFields(this.entries, owners, true, this.#tick()));
    return this;
  }

  fields(manager: string): FieldSet | undefined {
    return this.entries.find((one) => one.manager === manager)?.fieldsV1 as FieldSet | undefined;
  }

  time(manager: string): string | undefined {
    return this.entries.find((one) => one.manager === manager)?.time;
  }

  conflicts(manager: string, body: Fields): string[] {
    const applied = this.try(manager, body);
    assert.ok('conflicts' in applied && applied.conflicts);
    return applied.conflicts.map(({ owner, field }) => `conflict with ${shownManager(owner)}: ${field}`);
  }

  #tick(): number {
    this.#now += 1_000;
    return this.#now;
  }
}

describe('server-side apply', () => {
  it('apply: field sets are trees of FieldsV1', () => {
    const live = new Live().apply('one', {
      metadata: { labels: { 'a/b': 'x' }, finalizers: ['f'], ownerReferences: [{ uid: 'u', name: 'n' }] },
      spec: {
        replicas: 1,
        args: ['x'],
        zones: ['z'],
        limits: { a: 1 },
        ports: [{ name: 'http', port: 80 }],
        note: null,
      },
    });
    assert.deepEqual(live.entries, [
      {
        manager: 'one',
        operation: 'Apply',
        apiVersion,
        time: '2026-01-02T03:04:06Z',
        fieldsType: 'FieldsV1',
        fieldsV1: {
          'f:metadata': {
            'f:labels': { 'f:a/b': {} },
            'f:finalizers': { 'v:"f"': {} },
            'f:ownerReferences': { 'k:{"uid":"u"}': {} },
          },
          'f:spec': {
            'f:replicas': {},
            'f:args': {},
            'f:zones': { 'v:"z"': {} },
            'f:limits': {},
            'f:ports': { 'k:{"name":"http"}': { '.': {}, 'f:name': {}, 'f:port': {} } },
            'f:note': {},
          },
        },
      },
    ]);
  });

  it("apply: identity and what the service sets are nobody's fields", () => {
    const metadata = { name: 'a', namespace: 'n', uid: 'u', resourceVersion: '1', generation: 2, version: 3 };
    assert.deepEqual(
      contentOf({ apiVersion, kind: 'W', metadata: { ...metadata, creationTimestamp: 't' }, spec: {} }),
      {
        spec: {},
      },
    );
    assert.deepEqual(contentOf({ metadata: { ...metadata, labels: { a: 'b' } } }), {
      metadata: { labels: { a: 'b' } },
    });
  });

  it('apply: what another manager owns with another value is a conflict, with the same value both own it', () => {
    const live = new Live().apply('one', { spec: { replicas: 1, ports: [{ name: 'http', port: 80 }] } });
    live.update('editor', { spec: { replicas: 1, note: 'x', ports: [{ name: 'http', port: 80 }] } });
    assert.deepEqual(live.conflicts('two', { spec: { replicas: 2, note: 'y', ports: [{ name: 'http', port: 81 }] } }), [
      'conflict with "one": .spec.replicas',
      'conflict with "one": .spec.ports[name="http"].port',
      'conflict with "editor" using bar.example.com/v1: .spec.note',
    ]);
    live.apply('two', { spec: { replicas: 1 } });
    assert.deepEqual(live.fields('two'), { 'f:spec': { 'f:replicas': {} } });
    assert.deepEqual(live.conflicts('one', { spec: { replicas: 3 } }), ['conflict with "two": .spec.replicas']);
  });

  it('apply: force takes fields from their owners, yield leaves them', () => {
    const body = { spec: { replicas: 2, note: 'mine' } };
    const begun = () => new Live().apply('one', { spec: { replicas: 1, args: [] } });
    const forced = begun().apply('two', body, { conflicts: 'force' });
    assert.deepEqual(forced.content, { spec: { replicas: 2, args: [], note: 'mine' } });
    assert.deepEqual(forced.fields('one'), { 'f:spec': { 'f:args': {} } });
    const yielded = begun().apply('two', body, { conflicts: 'yield' });
    assert.deepEqual(yielded.content, { spec: { replicas: 1, args: [], note: 'mine' } });
    assert.deepEqual(yielded.fields('two'), { 'f:spec': { 'f:note': {} } });
  });

  it('apply: what a manager names no more goes, unless another owns it', () => {
    const live = new Live().apply('one', { spec: { replicas: 1, note: 'x', zones: ['a', 'b'], limits: { a: 1 } } });
    live.apply('two', { spec: { note: 'x', zones: ['b'] } }).apply('one', { spec: { replicas: 1 } });
    assert.deepEqual(live.content, { spec: { replicas: 1, note: 'x', zones: ['b'] } });
    live.apply('two', {});
    assert.deepEqual(live.content, { spec: { replicas: 1 } });
    assert.equal(live.fields('two'), undefined);
  });

  it('apply: an item that nobody owns goes as a whole, with what others own in it', () => {
    const live = new Live().apply('one', { spec: { ports: [{ name: 'http' }, { name: 'dns' }] } });
    live.update('editor', {
      spec: {
        ports: [
          { name: 'http', port: 80 },
          { name: 'dns', port: 53 },
        ],
      },
    });
    live.apply('one', { spec: { ports: [{ name: 'dns' }] } });
    assert.deepEqual(live.content, { spec: { ports: [{ name: 'dns', port: 53 }] } });
    assert.deepEqual(live.fields('editor'), { 'f:spec': { 'f:ports': { 'k:{"name":"dns"}': { 'f:port': {} } } } });
  });

  it('apply: items come in the order of the body, others stay where they were', () => {
    const live = new Live().apply('one', { spec: { zones: ['a', 'b', 'c'] } });
    live.apply('two', { spec: { zones: ['d', 'c', 'a'] } });
    assert.deepEqual((live.content.spec as { zones: string[] }).zones, ['d', 'b', 'c', 'a']);
  });

  it('apply: the same again changes nothing, and keeps the time', () => {
    const body = { spec: { zones: ['a'], ports: [{ name: 'http' }] } };
    const live = new Live().apply('one', body).apply('two', { spec: { replicas: 1 } });
    const { content, entries } = live;
    live.apply('one', structuredClone(body));
    assert.equal(live.content, content);
    assert.equal(live.entries, entries);
    live.apply('one', { spec: { zones: ['a'] } });
    assert.deepEqual([live.time('one'), live.time('two')], ['2026-01-02T03:04:09Z', '2026-01-02T03:04:07Z']);
  });

  it('apply: an object without managers belongs to before-first-apply', () => {
    const content = { spec: { replicas: 1, note: 'x' } };
    assert.deepEqual(new Live(content).conflicts('one', { spec: { replicas: 2 } }), [
      'conflict with "before-first-apply" using bar.example.com/v1: .spec.replicas',
    ]);
    const live = new Live(content).apply('one', { spec: { replicas: 1 } });
    assert.deepEqual(
      live.entries.map(({ manager, operation }) => `${manager} ${operation}`),
      ['before-first-apply Update', 'one Apply'],
    );
  });

  it('apply: who adopts what nobody else applies removes it, and is recorded beside others alone', () => {
    const adopting = { conflicts: 'yield', adopts: 'unapplied' } as const;
    const content = { metadata: { finalizers: ['f'] }, spec: { replicas: 1, note: 'x' }, status: { ready: true } };
    const alone = new Live(content).apply('shop', { spec: { replicas: 2 } }, adopting);
    assert.deepEqual(alone.content, { ...content, spec: { replicas: 2 } });
    assert.deepEqual(alone.entries, []);
    const live = alone.apply('user', { spec: { zones: ['a'], note: 'mine' } });
    live.update('editor', { ...live.content, spec: { ...(live.content.spec as object), replicas: 7, size: 3 } });
    live.apply('shop', { spec: { replicas: 3, note: 'ours' } }, adopting);
    assert.deepEqual(live.content, { ...content, spec: { replicas: 3, zones: ['a'], note: 'mine' } });
    assert.deepEqual(live.fields('shop'), { 'f:spec': { 'f:replicas': {} } });
    assert.equal(
      live.entries.some(({ manager }) => manager === 'editor'),
      false,
    );
    live.apply('shop', { spec: { replicas: 4 } }, { conflicts: 'force', adopts: 'all' });
    assert.deepEqual(live.content, { ...content, spec: { replicas: 4 } });
  });

  it('apply: an update takes what it changes from all others, what it removes from everybody', () => {
    const live = new Live().apply('one', { spec: { replicas: 1, note: 'x', zones: ['a'] } });
    live.update('editor', { spec: { replicas: 2, zones: ['a'] } });
    assert.deepEqual(live.fields('one'), { 'f:spec': { 'f:zones': { 'v:"a"': {} } } });
    assert.deepEqual(live.fields('editor'), { 'f:spec': { 'f:replicas': {} } });
    live.update('editor', { spec: { replicas: 3 } }, 'bar.example.com/v2');
    assert.deepEqual(
      live.entries.map(({ manager, operation, apiVersion }) => `${manager} ${operation} ${apiVersion}`),
      ['editor Update bar.example.com/v2'],
    );
  });

  it('apply: the oldest of more than ten managers of updates become one', () => {
    const live = new Live();
    for (let i = 1; i <= 13; i++) {
      const labels = { ...(live.content.metadata as { labels: object } | undefined)?.labels, [`l${i}`]: 'x' };
      live.update(`u${i}`, { metadata: { labels } });
    }
    assert.equal(live.entries.length, 10);
    assert.deepEqual(live.fields('ancient-changes'), {
      'f:metadata': { 'f:labels': { 'f:l1': {}, 'f:l2': {}, 'f:l3': {}, 'f:l4': {} } },
    });
    assert.deepEqual(live.fields('u5'), { 'f:metadata': { 'f:labels': { 'f:l5': {} } } });
  });

  it('apply: a sub-resource is a manager of its own', () => {
    const live = new Live().apply('one', { spec: { note: 'x' } });
    live.apply('one', { status: { ready: true } }, { subresource: 'status' });
    assert.deepEqual(live.content, { spec: { note: 'x' }, status: { ready: true } });
    const [, status] = live.entries;
    assert.deepEqual([status?.subresource, status?.fieldsV1], ['status', { 'f:status': { 'f:ready': {} } }]);
    assert.equal(shownManager(status as Manager), '"one" with subresource "status"');
  });

  it('apply: members named __proto__ are members like others', () => {
    const body = JSON.parse('{"spec":{"__proto__":{"a":1},"limits":{}}}') as Fields;
    const live = new Live({ spec: { note: 'x' } }).apply('one', body);
    assert.equal(JSON.stringify(live.content), '{"spec":{"note":"x","__proto__":{"a":1},"limits":{}}}');
    live.apply('one', {}, { conflicts: 'force' });
    assert.equal(JSON.stringify(live.content), '{"spec":{"note":"x"}}');
  });

  it('apply: items of the body that cannot be told apart are named', () => {
    const live = new Live().apply('one', { spec: { zones: ['a'], ports: [{ name: 'http' }] } });
    assert.deepEqual(live.try('two', { spec: { zones: ['b', 'c', 'b'] } }), { ambiguous: '/spec/zones/2' });
    assert.deepEqual(live.try('two', { spec: { ports: [{ port: 1 }] } }), { ambiguous: '/spec/ports/0' });
  });

  it('apply: more field names than an object may have bytes are refused before the work is done', () => {
    const zones = Array.from({ length: 1_000 }, (_, i) => String(i));
    const refused = { code: 'PayloadTooLarge', message: 'The names of the fields take more than 10000 bytes' };
    assert.throws(() => new Live().apply('one', { spec: { zones } }, { limit: 10_000 }), refused);
  });

  it('apply: the largest objects take their time in parts of at most 50 ms', () => {
    const zones = Array.from({ length: 45_000 }, (_, i) => String(i));
    const ports = Array.from({ length: 8_000 }, (_, i) => ({ name: String(i), port: i }));
    let longest = 0;
    const timed = <T>(work: Parts<T>): T => {
      for (;;) {
        const before = threadTime();
        const next = work.next();
        longest = Math.max(longest, threadTime() - before);
        if (next.done) return next.value;
      }
    };
    const applying = { apiVersion, conflicts: 'fail' } as const;
    const body = { spec: { zones, ports } };
    const first = timed(apply({}, [], body, schema, { ...applying, manager: 'one' })) as Extract<
      Applied,
      { content: Fields }
    >;
    const entries = timed(managedFields([], first.owners, true, 0));
    timed(
      apply(first.content, entries, { spec: { zones: zones.toReversed() } }, schema, { ...applying, manager: 'two' }),
    );
    timed(apply(first.content, entries, {}, schema, { ...applying, manager: 'one' }));
    timed(update(first.content, { spec: {} }, entries, schema, { manager: 'u', operation: 'Update', apiVersion }));
    assert.ok(longest <= 50 * slowness(), `${longest} ms`);
  });
});
