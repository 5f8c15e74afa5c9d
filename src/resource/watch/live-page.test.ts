import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { KindredError } from '../../errors.ts';
import { Queries } from '../../query/condition.ts';
import { until } from '../../testing/until.ts';
import { Background } from '../background.ts';
import type { AppliedChange } from '../change.ts';
import type { ListRequest, ModelResource, Page, Window } from '../resource.ts';
import type { Reader } from './events.ts';
import type { LivePageSink, WindowContent } from './live-page.ts';
import { LivePages } from './live-page.ts';
import type { Watches } from './watches.ts';

/** A model whose page is what the test says, read when the test says. */
class Model {
  rows: [name: string, revision: number][] = [];
  revision = 1;
  reads = 0;
  /** Places of the objects that were read, of each read. */
  readonly wanted: number[][] = [];
  readonly kept: WeakRef<Buffer>[] = [];
  /** While it is there, reads end with it. */
  failure: unknown;
  readers: Reader[] = [];
  #gate = Promise.resolve();
  #open = () => {};

  readonly resource = {
    scheme: { indexes: [] },
    assertBuilt: () => {},
    window: async (_: ListRequest, wanted: (outline: Window['outline']) => Iterable<number>): Promise<Window> => {
      this.reads++;
      const { rows, revision } = this;
      const outline = {
        total: rows.length,
        ids: Float64Array.from(rows, ([name]) => name.codePointAt(0)!),
        revisions: Float64Array.from(rows, ([, one]) => one),
        names: rows.map(([name]) => name),
      };
      const places = [...wanted(outline)];
      this.wanted.push(places);
      await this.#gate;
      if (this.failure) throw this.failure;
      const items = places.map((place) => [place, Buffer.from(rows[place]!.join(' '))] as const);
      for (const [, bytes] of items) this.kept.push(new WeakRef(bytes));
      // As from the store: not in the order of the page.
      return { revision, outline, items: new Map(items.reverse()) };
    },
  } as unknown as ModelResource;

  readonly watches = {
    join: (_: ModelResource, reader: Reader) => {
      this.readers.push(reader);
      return () => {
        this.readers = this.readers.filter((one) => one !== reader);
      };
    },
  } as unknown as Watches;

  hold(): void {
    this.#gate = new Promise((resolve) => {
      this.#open = resolve;
    });
  }

  release(): void {
    this.#open();
  }

  change(...rows: [name: string, revision: number][]): void {
    this.rows = rows;
    this.revision++;
    const change = { name: rows[0]?.[0] ?? 'gone', type: 'create', entry: () => undefined };
    for (const reader of this.readers) reader.change(change as unknown as AppliedChange);
  }
}

class Client implements LivePageSink {
  readonly events: string[] = [];
  readonly contents: WindowContent[] = [];
  isBehind = false;
  #taken: (() => void)[] = [];

  snapshot({ revision, items }: Page): void {
    this.events.push(`SNAPSHOT ${revision}: ${items.map(String).join(', ')}`);
  }

  window(revision: number, content: WindowContent): void {
    const { total, removed, inserted, updated } = content;
    this.contents.push(content);
    const parts = [
      ...removed.map((name) => `-${name}`),
      ...inserted.map(({ index, object }) => `+${index} ${object}`),
      ...updated.map((object) => `=${object}`),
    ];
    this.events.push(`WINDOW ${revision} of ${total}: ${parts.join(', ')}`);
  }

  bookmark(revision: number): void {
    this.events.push(`BOOKMARK ${revision}`);
  }

  end(error: unknown): void {
    this.events.push(`ERROR ${(error as KindredError).code}`);
  }

  drained(): Promise<void> {
    return new Promise((resolve) => this.#taken.push(resolve));
  }

  take(): void {
    this.isBehind = false;
    for (const resolve of this.#taken.splice(0)) resolve();
  }
}

const request: ListRequest = { where: Queries.all(), sort: [], page: 1, size: 10 };
const limits = { rows: 1_000, rowsPerIdentity: 100 };
const background = () => new Background({ width: 2, now: () => performance.now() });

function pagesOf(model: Model): LivePages {
  return new LivePages({ watches: model.watches, background: background(), limits });
}

async function openPage(
  pages: LivePages,
  model: Model,
  client: Client,
  of: Partial<ListRequest> = {},
  identity = 'ada',
) {
  const page = await pages.open(model.resource, { ...request, ...of }, identity, client);
  page.start();
  return page;
}

/** Everything that waits for nothing but its turn has had it. */
async function settled(): Promise<void> {
  for (let i = 0; i < 10; i++) await nextTurn();
}

it('watch: a snapshot in the order of the page, then what changes; only new objects are read again', async () => {
  const model = new Model();
  model.rows = [
    ['a', 1],
    ['b', 1],
  ];
  const client = new Client();
  await openPage(pagesOf(model), model, client);
  await settled();
  model.change(['b', 1], ['a', 1], ['c', 2]);
  await settled();
  assert.deepEqual(client.events, ['SNAPSHOT 1: a 1, b 1', 'WINDOW 2 of 3: -b, +0 b 1, +2 c 2']);
  assert.deepEqual(model.wanted, [[0, 1], [], [0, 2]]);
});

it('a change that comes while the page is read leads to one more event', async () => {
  const model = new Model();
  const client = new Client();
  await openPage(pagesOf(model), model, client);
  await settled();
  model.hold();
  model.change(['a', 2]);
  await settled();
  model.change(['a', 2], ['b', 3]);
  model.release();
  await settled();
  assert.deepEqual(client.events, ['SNAPSHOT 1: ', 'WINDOW 2 of 1: +0 a 2', 'WINDOW 3 of 2: +1 b 3']);
});

it('a change that comes between the snapshot and the first look at the page is not lost', async () => {
  const model = new Model();
  const client = new Client();
  const page = await pagesOf(model).open(model.resource, request, 'ada', client);
  model.change(['a', 2]);
  page.start();
  await settled();
  assert.deepEqual(client.events, ['SNAPSHOT 1: ', 'WINDOW 2 of 1: +0 a 2']);
});

it('equal requests share one page: it is read once, and all get the same events', async () => {
  const model = new Model();
  const pages = pagesOf(model);
  const clients = Array.from({ length: 5 }, () => new Client());
  const names = new Set(['b', 'a']);
  for (const client of clients) await openPage(pages, model, client, { names: new Set(names) });
  const other = new Client();
  await openPage(pages, model, other, { page: 2, names });
  const anyone = new Client();
  await openPage(pages, model, anyone);
  await settled();
  assert.equal(model.readers.length, 3);
  assert.deepEqual(
    model.readers.map(({ size }) => size),
    [5, 1, 1],
  );
  const reads = model.reads;
  model.change(['a', 2]);
  await settled();
  assert.equal(model.reads, reads + 3);
  for (const client of clients) assert.equal(client.contents[0], clients[0]!.contents[0]);
});

it('a slow client delays no other, and then gets all later changes in one event', async () => {
  const model = new Model();
  const pages = pagesOf(model);
  const [slow, quick] = [new Client(), new Client()];
  await openPage(pages, model, slow);
  await openPage(pages, model, quick);
  await settled();
  slow.isBehind = true;
  model.change(['a', 2]);
  await settled();
  model.change(['b', 3]);
  await settled();
  model.change(['b', 3], ['c', 4]);
  await settled();
  assert.deepEqual(quick.events.slice(1), [
    'WINDOW 2 of 1: +0 a 2',
    'WINDOW 3 of 1: -a, +0 b 3',
    'WINDOW 4 of 2: +1 c 4',
  ]);
  assert.deepEqual(slow.events.slice(1), ['WINDOW 2 of 1: +0 a 2']);
  slow.take();
  await settled();
  assert.deepEqual(slow.events.slice(2), ['WINDOW 4 of 2: -a, +0 b 3, +1 c 4']);
  assert.equal(quick.events.length, 4);
});

it('watch: a client that catches up while the page is read is told of what was read', async () => {
  const model = new Model();
  const pages = pagesOf(model);
  const [slow, quick] = [new Client(), new Client()];
  await openPage(pages, model, slow);
  await openPage(pages, model, quick);
  await settled();
  slow.isBehind = true;
  model.change(['a', 2]);
  await settled();
  model.hold();
  model.change(['a', 2], ['b', 3]);
  await settled();
  slow.take();
  await settled();
  model.release();
  await settled();
  assert.equal(quick.events.length, 3);
  assert.deepEqual(slow.events.slice(2), ['WINDOW 3 of 2: +1 b 3']);
});

it('a client is not told before it has taken its snapshot', async () => {
  const model = new Model();
  const client = new Client();
  client.isBehind = true;
  await openPage(pagesOf(model), model, client);
  model.change(['a', 2]);
  await settled();
  assert.deepEqual(client.events, ['SNAPSHOT 1: ']);
  client.take();
  await settled();
  assert.deepEqual(client.events, ['SNAPSHOT 1: ', 'WINDOW 2 of 1: +0 a 2']);
});

it('watch: a bookmark has the revision read so far, and comes while only invisible changes happen', async () => {
  const model = new Model();
  const client = new Client();
  await openPage(pagesOf(model), model, client);
  await settled();
  const [page] = model.readers;
  const bookmarks = () => client.events.filter((event) => event.startsWith('BOOKMARK'));
  page!.bookmark(7);
  assert.deepEqual(bookmarks(), [], 'the snapshot has just been sent');
  page!.bookmark(7);
  assert.deepEqual(bookmarks(), ['BOOKMARK 7']);
  model.hold();
  model.revision = 8;
  model.change();
  await settled();
  page!.bookmark(12);
  assert.deepEqual(bookmarks(), ['BOOKMARK 7', 'BOOKMARK 1'], 'not yet beyond what is being read');
  model.release();
  await settled();
  page!.bookmark(12);
  assert.deepEqual(bookmarks().at(-1), 'BOOKMARK 12');
  client.isBehind = true;
  model.change(['a', 13]);
  await settled();
  page!.bookmark(14);
  page!.bookmark(14);
  assert.deepEqual(client.events.at(-1), 'WINDOW 10 of 1: +0 a 13', 'it has not taken that yet');
});

it('a page waits for the database, and ends with any other failure', async () => {
  const model = new Model();
  const client = new Client();
  await openPage(pagesOf(model), model, client);
  await settled();
  model.failure = new KindredError('NotReady', { en: 'away', zh: 'away' });
  model.change(['a', 2]);
  await settled();
  model.failure = undefined;
  await until(() => client.events.length === 2);
  assert.equal(client.events[1], 'WINDOW 2 of 1: +0 a 2');
  model.failure = new KindredError('QueryLimit', { en: 'slow', zh: 'slow' });
  model.change(['a', 3]);
  await settled();
  assert.equal(client.events[2], 'ERROR QueryLimit');
  assert.equal(model.readers.length, 0);
  const again = new Client();
  model.failure = undefined;
  await openPage(pagesOf(model), model, again);
  assert.deepEqual(again.events, ['SNAPSHOT 3: a 3']);
});

it('a page on a model that is gone ends', async () => {
  const model = new Model();
  const client = new Client();
  const watches = {
    join: (_: ModelResource, reader: Reader) => {
      reader.end(new KindredError('NotFound', { en: 'gone', zh: 'gone' }));
      return () => {};
    },
  } as unknown as Watches;
  const pages = new LivePages({ watches, background: background(), limits });
  await openPage(pages, model, client);
  await settled();
  assert.deepEqual(client.events, ['SNAPSHOT 1: ', 'ERROR NotFound']);
});

it('rows are bounded, of all pages and of those of one identity, and given back when a page is closed or refused', async () => {
  const model = new Model();
  const pages = pagesOf(model);
  const open = (size: number, identity: string) => openPage(pages, model, new Client(), { size }, identity);
  const first = await open(60, 'ada');
  const second = await open(40, 'ada');
  const refused = { code: 'QueryLimit', status: 503 };
  await assert.rejects(open(1, 'ada'), refused);
  first.close();
  first.close();
  await assert.rejects(open(61, 'ada'), refused);
  await open(60, 'ada');
  for (let i = 0; i < 9; i++) await open(100, `user-${i}`);
  assert.equal(pages.rows, 1_000);
  await assert.rejects(open(1, 'bob'), refused);
  second.close();
  model.failure = new KindredError('InvalidSelector', { en: 'no', zh: 'no' });
  await assert.rejects(open(40, 'bob'), { code: 'InvalidSelector' });
  model.failure = undefined;
  await open(40, 'bob');
  assert.equal(pages.rows, 1_000);
});

it('a closed reader gets no more events, and the last reader closes the page', async () => {
  const model = new Model();
  const pages = pagesOf(model);
  const [one, two] = [new Client(), new Client()];
  const first = await openPage(pages, model, one);
  const second = await openPage(pages, model, two);
  await settled();
  first.close();
  model.change(['a', 2]);
  await settled();
  assert.deepEqual([one.events.length, two.events.length], [1, 2]);
  second.close();
  assert.equal(model.readers.length, 0);
  const closed = await pages.open(model.resource, request, 'ada', one);
  closed.close();
  closed.start();
  assert.deepEqual([one.events.length, model.readers.length], [1, 0]);
});

it('between two events the objects of the page are not kept', async () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const model = new Model();
  model.rows = [['a', 1]];
  const client = new Client();
  const page = await openPage(pagesOf(model), model, client);
  await settled();
  collectGarbage();
  assert.equal(client.events.length, 1);
  assert.equal(model.kept[0]!.deref(), undefined);
  page.close();
});
