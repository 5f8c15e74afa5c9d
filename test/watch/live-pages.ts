/**
 * Live pages against fresh lists: applied in order, the events of a live page must give the list of the same revision.
 * `node --import ./test/sources.ts test/watch/live-pages.ts --changes 100000 --seed 1 [--database URL]` runs many.
 */
import { parseArgs } from 'node:util';
import { createService, defineModel, Type } from 'kindred';
import { generator } from './sessions.ts';

const Score = defineModel({
  gvk: { group: 'watch.example.com', version: 'v1', kind: 'Score', singular: 'score', plural: 'scores' },
  spec: Type.Object({ points: Type.Optional(Type.Integer()), team: Type.String(), note: Type.Integer() }),
  indexes: (index) => [
    index.single('spec.points', Number, (score) => score.spec.points),
    index.single('spec.team', String, (score) => score.spec.team),
  ],
});

interface Envelope {
  total: number;
  items: { metadata: { name: string } }[];
}

export interface LivePagesOptions {
  changes: number;
  seed: number;
  database?: string;
}

const queries = [
  'page=1&size=5&sort=spec.points,desc',
  'page=2&size=4&sort=spec.points',
  'page=1&size=10&fieldSelector=spec.team%3Da&sort=spec.points,desc',
  'page=3&size=3&fieldSelector=spec.points%3E%3D3&sort=spec.team&sort=spec.points,desc',
  'size=7',
];

/** Throws when a window differs from the list of its revision. */
export async function runLivePages({
  changes,
  seed,
  database = 'sqlite::memory:',
}: LivePagesOptions): Promise<{ changes: number; events: number; compared: number }> {
  const random = generator(seed);
  const service = await createService({ database, port: 0, auth: false });
  service.schemeManager.register(Score);
  const { url } = await service.start();
  const base = `${url}/apis/watch.example.com/v1/scores`;
  const lists = queries.map(() => new Map<number, string>());
  const pages = await Promise.all(queries.map((query) => LivePage.open(`${base}?watch=true&${query}`)));
  let compared = 0;

  const state = ({ total, items }: Envelope): string => JSON.stringify({ total, items });
  const mutate = async (): Promise<void> => {
    const name = `s-${Math.floor(random() * 25)}`;
    const spec = {
      ...(random() < 0.85 && { points: Math.floor(random() * 8) }),
      team: random() < 0.5 ? 'a' : 'b',
      note: Math.floor(random() * 3),
    };
    const current = await service.client.fetch(Score, name);
    if (!current) await service.client.create(Score, { metadata: { name }, spec });
    else if (random() < 0.2) await service.client.delete(Score, name);
    else await service.client.patch(Score, name, [{ op: 'replace', path: '/spec', value: spec }]);
  };

  try {
    for (let done = 0; done < changes; done++) {
      await mutate();
      // Now and then several writes at once, so that a window skips revisions.
      if (random() < 0.1) await Promise.all([mutate().catch(ignoreRaces), mutate().catch(ignoreRaces)]);
      const at = done % queries.length;
      const answer = await fetch(`${base}?${queries[at]}`);
      const revision = Number(answer.headers.get('kindred-revision'));
      lists[at]!.set(revision, state((await answer.json()) as Envelope));
      compared += pages[at]!.check(lists[at]!, revision);
    }
    const newest = await fetch(`${base}?size=1`);
    const last = Number(newest.headers.get('kindred-revision'));
    for (const [at, page] of pages.entries()) {
      const answer = (await (await fetch(`${base}?${queries[at]}`)).json()) as Envelope;
      await page.reaches(last, state(answer));
    }
    return { changes, events: pages.reduce((sum, page) => sum + page.events, 0), compared };
  } finally {
    await Promise.all(pages.map((page) => page.close()));
    await service.stop();
  }
}

/** A reader of one live page, which keeps the window as a client would. */
class LivePage {
  events = 0;
  readonly #abort: AbortController;
  readonly #states: { revision: number; state: string }[] = [];
  #reading: Promise<void> | undefined;
  #window: Envelope = { total: 0, items: [] };
  #failure: unknown;

  private constructor(abort: AbortController) {
    this.#abort = abort;
  }

  static async open(url: string): Promise<LivePage> {
    const abort = new AbortController();
    const answer = await fetch(url, { signal: abort.signal });
    const page = new LivePage(abort);
    page.#reading = page.#read(answer.body!).catch((error: unknown) => {
      if (!abort.signal.aborted) page.#failure = error;
    });
    return page;
  }

  /** How many of the window's states could be held against a list. */
  check(lists: Map<number, string>, until: number): number {
    if (this.#failure) throw this.#failure;
    let compared = 0;
    for (const { revision, state } of this.#states.splice(0)) {
      const list = lists.get(revision);
      if (list === undefined) continue;
      compared++;
      if (list !== state) throw new Error(`revision ${revision}: the list is ${list}, the window ${state}`);
    }
    for (const revision of lists.keys()) if (revision < until - 1_000) lists.delete(revision);
    return compared;
  }

  async reaches(revision: number, state: string): Promise<void> {
    for (let turn = 0; JSON.stringify(this.#window) !== state; turn++) {
      if (this.#failure) throw this.#failure;
      if (turn > 10_000)
        throw new Error(`revision ${revision}: the list is ${state}, the window ${JSON.stringify(this.#window)}`);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  async close(): Promise<void> {
    this.#abort.abort();
    await this.#reading;
  }

  async #read(body: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    let rest = '';
    for await (const chunk of body) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
      rest = lines.pop()!;
      for (const line of lines) this.#take(JSON.parse(line));
    }
  }

  #take(event: { type: string; revision: number; object: any }): void {
    this.events++;
    const { type, revision, object } = event;
    if (type === 'BOOKMARK') return;
    if (type === 'ERROR') throw new Error(JSON.stringify(event));
    if (type === 'SNAPSHOT') this.#window = { total: object.total, items: object.items };
    else {
      const { items } = this.#window;
      for (const name of object.removed) {
        const place = items.findIndex(({ metadata }) => metadata.name === name);
        if (place < 0) throw new Error(`${name} is to be removed, and is not in the window`);
        items.splice(place, 1);
      }
      for (const inserted of object.inserted) items.splice(inserted.index, 0, inserted.object);
      for (const updated of object.updated) {
        const place = items.findIndex(({ metadata }) => metadata.name === updated.metadata.name);
        if (place < 0) throw new Error(`${updated.metadata.name} is updated, and is not in the window`);
        items[place] = updated;
      }
      this.#window.total = object.total;
    }
    this.#states.push({ revision, state: JSON.stringify(this.#window) });
  }
}

function ignoreRaces(error: unknown): void {
  const code = (error as { code?: string }).code;
  if (code !== 'AlreadyExists' && code !== 'NotFound') throw error;
}

if (process.argv[1] === import.meta.filename) {
  const { values } = parseArgs({
    options: {
      changes: { type: 'string', default: '100000' },
      seed: { type: 'string', default: String(Date.now() % 1e6) },
      database: { type: 'string' },
    },
  });
  console.log(`seed ${values.seed}`);
  const started = performance.now();
  const result = await runLivePages({
    changes: Number(values.changes),
    seed: Number(values.seed),
    database: values.database,
  });
  console.log({ ...result, seconds: Math.round((performance.now() - started) / 1000) });
}
