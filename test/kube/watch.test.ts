import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import fc from 'fast-check';
import { until } from '../../src/testing/until.ts';
import type { Stream } from './harness.ts';
import { Facade, gadgets } from './harness.ts';

const facade = new Facade({ watch: { bookmarkInterval: 200 } });
before(() => facade.start());
after(() => facade.stop());

let color = '';
let number = 0;
beforeEach(() => {
  color = 'abcdefghijklmnopqrstuvwxyz'[number++]!;
});

const merge = { 'content-type': 'application/merge-patch+json' };
const put = async (name: string, labels: object = {}) => {
  const { json } = await facade.kube(gadgets, { body: { metadata: { name, labels }, spec: { color } } });
  return json;
};
const patch = (name: string, body: object) =>
  facade.kube(`${gadgets}/${name}`, { method: 'PATCH', headers: merge, body });
const remove = (name: string) => facade.kube(`${gadgets}/${name}`, { method: 'DELETE' });
/** Only the objects of the test. */
const own = () => `fieldSelector=spec.color=${color}`;

async function watching(query: string, run: (stream: Stream) => Promise<void>, headers = {}): Promise<void> {
  const stream = await facade.watch(`${gadgets}?watch=true&${own()}&${query}`, headers);
  try {
    await run(stream);
  } finally {
    stream.close();
  }
}

test('without a resource version: what is there, then what changes', async () => {
  await put('one');
  await watching('', async (stream) => {
    assert.equal(stream.status, 200);
    assert.equal(stream.type, 'application/json');
    await until(() => stream.events.length === 1);
    assert.deepEqual(stream.events[0], { type: 'ADDED', object: (await facade.kube(`${gadgets}/one`)).json });
    await put('two');
    await patch('one', { spec: { note: 'n' } });
    const { json } = await patch('two', { metadata: { finalizers: ['shop.example.com/x'] } });
    await remove('one');
    await until(() => stream.events.length === 5);
    assert.deepEqual(stream.told, ['ADDED one', 'ADDED two', 'MODIFIED one', 'MODIFIED two', 'DELETED one']);
    assert.deepEqual(stream.events[3].object, json);
    const newest = (await facade.kube(gadgets)).json.metadata.resourceVersion;
    assert.equal(stream.events[4].object.metadata.resourceVersion, newest);
  });
});

test('after a resource version: the changes since', async () => {
  const { metadata } = await put('since');
  await patch('since', { spec: { size: 1 } });
  await watching(`resourceVersion=${metadata.resourceVersion}`, async (stream) => {
    await until(() => stream.events.length === 1);
    assert.deepEqual(stream.told, ['MODIFIED since']);
  });
});

test('initial events end with their mark, exactly', async () => {
  await put('marked');
  const query = 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
  await watching(query, async (stream) => {
    await until(() => stream.events.length >= 2);
    assert.deepEqual(stream.told.slice(0, 2), ['ADDED marked', 'BOOKMARK']);
    const { resourceVersion } = stream.events[1].object.metadata;
    assert.match(resourceVersion, /^\d+$/);
    assert.deepEqual(stream.events[1], {
      type: 'BOOKMARK',
      object: {
        kind: 'Gadget',
        apiVersion: 'shop.example.com/v1',
        metadata: {
          resourceVersion,
          creationTimestamp: null,
          annotations: { 'k8s.io/initial-events-end': 'true' },
        },
      },
    });
    await put('marked-2');
    await until(() => stream.told.includes('ADDED marked-2'));
  });
});

test('without bookmarks there is no mark, and no bookmark', async () => {
  await put('quiet');
  await watching('sendInitialEvents=true&resourceVersionMatch=NotOlderThan', async (stream) => {
    await put('quiet-2');
    await until(() => stream.events.length === 2);
    await new Promise((resolve) => setTimeout(resolve, 500));
    assert.deepEqual(stream.told, ['ADDED quiet', 'ADDED quiet-2']);
  });
});

test('bookmarks on an idle stream, with the newest revision', async () => {
  const query = 'sendInitialEvents=false&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=1';
  await watching(query, async (stream) => {
    await until(() => stream.events.length >= 2);
    const { object } = stream.events.at(-1);
    assert.deepEqual(object, {
      kind: 'Gadget',
      apiVersion: 'shop.example.com/v1',
      metadata: {
        resourceVersion: (await facade.kube(gadgets)).json.metadata.resourceVersion,
        creationTimestamp: null,
      },
    });
  });
});

test('a silent stream says something now and then', { timeout: 20_000 }, async () => {
  await watching('resourceVersion=0', async (stream) => {
    await until(() => stream.blank > 0, { timeout: 15_000 });
    assert.deepEqual(stream.events, []);
  });
});

test('present objects of a state that is not there yet are the error of a stream', async () => {
  const query = 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
  await watching(`${query}&resourceVersion=999999999`, async (stream) => {
    assert.equal(stream.status, 200);
    await stream.ended;
    assert.deepEqual(
      stream.events.map(({ type, object }) => [type, object.reason, object.code]),
      [['ERROR', 'Expired', 410]],
    );
  });
});

test('a resource version that is not there is the error of a stream', async () => {
  await watching('resourceVersion=999999999', async (stream) => {
    assert.equal(stream.status, 200);
    await stream.ended;
    assert.equal(stream.events.length, 1);
    const { type, object } = stream.events[0];
    assert.equal(type, 'ERROR');
    assert.match(object.message, /^too old resource version: 999999999 \(\d+\)$/);
    assert.deepEqual(
      { ...object, message: '' },
      {
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Failure',
        message: '',
        reason: 'Expired',
        code: 410,
      },
    );
  });
});

test('parameters that contradict each other', async () => {
  const refused: [string, number][] = [
    ['sendInitialEvents=true', 422],
    ['resourceVersionMatch=NotOlderThan', 422],
    ['resourceVersion=new', 400],
    ['timeoutSeconds=soon', 400],
    ['allowWatchBookmarks=perhaps', 400],
    ['labelSelector=a%20in%20(', 400],
  ];
  for (const [query, status] of refused) {
    assert.equal((await facade.kube(`${gadgets}?watch=true&${query}`)).status, status, query);
  }
  assert.equal((await facade.kube(`${gadgets}?watch=perhaps`)).status, 400);
});

test('a boolean as the clients of other languages write it', async () => {
  const stream = await facade.watch(`${gadgets}?watch=True&${own()}&timeoutSeconds=1`);
  await stream.ended;
  assert.deepEqual(stream.events, []);
  assert.equal((await facade.kube(`${gadgets}?watch=F`)).json.kind, 'GadgetList');
});

test('an object that starts to match is added, one that stops is deleted', async () => {
  const stream = await facade.watch(`${gadgets}?watch=1&${own()}&labelSelector=in`);
  await put('mover');
  await patch('mover', { metadata: { labels: { in: 'y' } } });
  await patch('mover', { metadata: { labels: { in: 'z' } } });
  await patch('mover', { metadata: { labels: { in: null } } });
  await until(() => stream.events.length === 3);
  assert.deepEqual(stream.told, ['ADDED mover', 'MODIFIED mover', 'DELETED mover']);
  stream.close();
});

test('as a table: one row in each event, the columns in the first', async () => {
  const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';
  await put('row-1');
  await watching(
    'allowWatchBookmarks=true',
    async (stream) => {
      await put('row-2');
      await until(() => stream.events.some(({ type }) => type === 'BOOKMARK') && stream.events.length >= 3);
      const [first, second] = stream.events.filter(({ type }) => type === 'ADDED');
      assert.equal(first.object.kind, 'Table');
      assert.equal(first.object.columnDefinitions.length, 5);
      assert.equal(first.object.rows[0].cells[0], 'row-1');
      assert.equal(second.object.columnDefinitions, null);
      assert.equal(second.object.rows[0].object.metadata.name, 'row-2');
      const bookmark = stream.events.find(({ type }) => type === 'BOOKMARK');
      assert.equal(bookmark.object.kind, 'Table');
    },
    { accept },
  );
});

test('metadata alone', async () => {
  const accept = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io';
  await put('partial');
  await watching(
    '',
    async (stream) => {
      await until(() => stream.events.length === 1);
      assert.equal(stream.events[0].object.kind, 'PartialObjectMetadata');
      assert.equal(stream.events[0].object.spec, undefined);
    },
    { accept },
  );
});

test('the façade and the native watch show the same sequence', async () => {
  const action = fc.record({
    kind: fc.constantFrom('put', 'change', 'label', 'delete'),
    at: fc.integer({ min: 0, max: 5 }),
    value: fc.integer({ min: 0, max: 3 }),
  });
  const some = fc.array(action, { minLength: 1, maxLength: 30, size: 'max' });
  await fc.assert(
    fc.asyncProperty(some, fc.boolean(), async (actions, selects) => {
      const selector = selects ? '&labelSelector=v' : '';
      const abort = new AbortController();
      const native = await fetch(`${facade.url}${gadgets}?watch=true${selector}`, { signal: abort.signal });
      const since = native.headers.get('kindred-revision');
      const stream = await facade.watch(`${gadgets}?watch=true&resourceVersion=${since}${selector}`);
      for (const { kind, at, value } of actions) {
        if (kind === 'put') await put(`n${at}`, { v: `${value}` });
        else if (kind === 'delete') await remove(`n${at}`);
        else if (kind === 'change') await patch(`n${at}`, { spec: { size: value } });
        else await patch(`n${at}`, { metadata: { labels: { v: value === 0 ? null : `${value}` } } });
      }
      const last = await facade.kube(gadgets, {
        body: { metadata: { generateName: 'last-', labels: { v: 'end' } }, spec: {} },
      });
      const { name } = last.json.metadata;
      const events: string[] = [];
      let text = '';
      for await (const chunk of native.body!) {
        text += Buffer.from(chunk).toString();
        if (text.includes(`"${name}"`) && text.endsWith('\n')) break;
      }
      abort.abort();
      for (const line of text.trimEnd().split('\n')) {
        const { type, revision, object } = JSON.parse(line);
        if (type !== 'BOOKMARK')
          events.push(`${type} ${object.metadata.name} ${revision} ${JSON.stringify(object.spec)}`);
      }
      await until(() => stream.told.includes(`ADDED ${name}`));
      stream.close();
      const shown = stream.events.map(
        ({ type, object: { metadata, spec } }) =>
          `${type} ${metadata.name} ${metadata.resourceVersion} ${JSON.stringify(spec)}`,
      );
      assert.deepEqual(shown, events);
    }),
    { numRuns: 25 },
  );
});

test('a service that stops ends its streams without a word', async () => {
  const other = new Facade();
  await other.start();
  const stream = await other.watch(`${gadgets}?watch=true`);
  await other.stop();
  await stream.ended;
  assert.deepEqual(stream.events, []);
});
