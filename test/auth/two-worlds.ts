/**
 * Two services whose data differs only in what the caller may not read get the same requests; every answer must have the
 * same bytes. By hand: `node --import ./test/sources.ts test/auth/two-worlds.ts 100000 [seed]`.
 *
 * The worlds are stepped together, on a clock of their own, with as many hidden writes in both: revisions and timestamps
 * are the same, and whatever differs is a leak. Only request ids, tokens and the header Date are taken out.
 */
import { pathToFileURL } from 'node:url';
import type { ServiceOptions } from '../../src/options.ts';
import { systemTimers } from '../../src/runtime/timers.ts';
import type { Live, Send } from './live.ts';
import { bindingOf, expect, live, sender } from './live.ts';
import { Book, books, Shelf, shelves } from './models.ts';

interface World {
  readonly live: Live;
  readonly caller: Send;
  readonly url: string;
  readonly token: string;
  readonly side: 0 | 1;
}

interface Clock {
  time: number;
}

type Random = () => number;

/** Numerical Recipes' linear congruential generator: enough for choosing requests, and the same everywhere. */
function randomOf(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const pick = <T>(random: Random, values: readonly T[]): T => values[Math.floor(random() * values.length)]!;

const visible = ['v1', 'v2', 'v3', 'v4', 'v5', 'v6', 'v7'];
/** Names, titles, codes and tags that exist in one world or the other, or in none. */
const hiddenNames = Array.from({ length: 30 }, (_, i) => `h${i}`);
const titles = ['Alpha', 'Beta', 'Gamma', 'Hidden one', 'Hidden two', 'Omega'];
const tags = ['red', 'green', 'secret', 'other'];
const core = '/api/v1alpha1';

async function makeWorld(side: 0 | 1, clock: Clock): Promise<World> {
  const options: ServiceOptions = {
    timers: { ...systemTimers, now: () => clock.time },
    watch: { bookmarkInterval: 40 },
  };
  const world = await live(options, (service) => {
    service.schemeManager.register(Book);
    service.schemeManager.register(Shelf);
  });
  const rules = [
    {
      apiGroups: ['library.example'],
      resources: ['books'],
      resourceNames: [...visible, 'v-never'],
      verbs: ['get', 'list', 'watch', 'update', 'patch'],
    },
    {
      apiGroups: [''],
      resources: ['configmaps'],
      verbs: ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'],
    },
  ];
  await expect(201, world.admin('POST', `${core}/roles`, { metadata: { name: 'visitor' }, rules }));
  await expect(201, world.admin('POST', `${core}/users`, { metadata: { name: 'visitor' } }));
  await expect(
    201,
    world.admin('POST', `${core}/rolebindings`, { ...bindingOf('visitor', 'visitor'), metadata: { name: 'visitor' } }),
  );
  const made = await expect(
    201,
    world.admin('POST', `${core}/personalaccesstokens`, { metadata: { name: 't' }, spec: { user: 'visitor' } }),
  );
  const token: string = made.body.status.token;
  return { live: world, caller: sender(world.url, token), url: world.url, token, side };
}

/** The same number of writes in both worlds, of other content; the caller may read none of it. */
async function hiddenStep(world: World, random: Random): Promise<void> {
  const { admin } = world.live;
  const name = hiddenNames[Math.floor(random() * 15) + 15 * world.side]!;
  const spec = {
    title: world.side === 0 ? 'Hidden one' : 'Hidden two',
    code: `code-${name}`,
    tags: [tags[2 + world.side]],
  };
  const kind = Math.floor(random() * 4);
  const body = { metadata: { name, labels: { side: String(world.side) } }, spec };
  if (kind === 0) {
    const path = world.side === 0 ? books : shelves;
    const there = await admin('GET', `${path}/${name}`);
    if (there.status === 404) await expect(201, admin('POST', path, body));
    else await expect(200, admin('DELETE', `${path}/${name}`));
  } else if (kind === 1) {
    const path = `${core}/secrets`;
    const there = await admin('GET', `${path}/${name}`);
    if (there.status === 404) await expect(201, admin('POST', path, { metadata: { name }, stringData: { a: name } }));
    else await expect(200, admin('DELETE', `${path}/${name}`));
  } else if (kind === 2) {
    const path = `${core}/roles`;
    const there = await admin('GET', `${path}/${name}`);
    const rules = [
      { apiGroups: ['library.example'], resources: [world.side === 0 ? 'books' : 'shelves'], verbs: ['get'] },
    ];
    if (there.status === 404) await expect(201, admin('POST', path, { metadata: { name }, rules }));
    else await expect(200, admin('DELETE', `${path}/${name}`));
  } else {
    const path = `${core}/users`;
    const there = await admin('GET', `${path}/${name}`);
    if (there.status === 404) await expect(201, admin('POST', path, { metadata: { name } }));
    else await expect(200, admin('DELETE', `${path}/${name}`));
    // What is left of a deleted user is removed in the background; users here have nothing.
  }
}

interface Request {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
  /** For streams: the last line that belongs to the answer. */
  readonly until?: (line: string) => boolean;
}

const merge = { 'content-type': 'application/merge-patch+json' };

function selector(random: Random): string {
  const value = pick(random, [...titles, ...tags, ...hiddenNames.slice(0, 3), 'code-h1', 'code-h16', 'x']);
  const field = pick(random, ['spec.title', 'spec.code', 'spec.tags', 'name', 'metadata.name']);
  const term = pick(random, [
    `${field}=${value}`,
    `${field}!=${value}`,
    `${field}>${value}`,
    `${field}^=${value.slice(0, 2)}`,
    `${field}*=d`,
    field,
    `!${field}`,
    `${field} in (${value},Beta)`,
    `${field} notin (${value})`,
  ]);
  return `fieldSelector=${encodeURIComponent(term)}`;
}

function labels(random: Random): string {
  return `labelSelector=${encodeURIComponent(pick(random, ['side=0', 'side!=0', 'side', '!side', 'side in (0,1)', 'team=a', 'team!=a']))}`;
}

function listQuery(random: Random): string {
  const parts: string[] = [];
  if (random() < 0.5) parts.push(selector(random));
  if (random() < 0.3) parts.push(labels(random));
  if (random() < 0.4)
    parts.push(
      `sort=${pick(random, ['spec.title,desc', 'spec.title', 'spec.code,asc', 'spec.tags,desc', 'metadata.name', 'metadata.creationTimestamp,asc', 'no.such'])}`,
    );
  return parts.join('&');
}

function nextRequest(random: Random): Request {
  const name = pick(random, [
    ...visible,
    ...visible,
    'v-never',
    ...hiddenNames.slice(0, 2),
    ...hiddenNames.slice(15, 17),
    'nobody',
  ]);
  const chance = random();
  const query = listQuery(random);
  if (chance < 0.4) {
    const page = random() < 0.6 ? `&page=${pick(random, [1, 2, 3, 50])}&size=${pick(random, [1, 2, 3, 20, 1000])}` : '';
    return {
      method: pick(random, ['GET', 'GET', 'GET', 'HEAD']),
      path: `${books}?${`${query}${page}`.replace(/^&/, '')}`,
    };
  }
  if (chance < 0.5) return { method: 'GET', path: `${books}?${query}`, headers: { accept: 'application/x-ndjson' } };
  if (chance < 0.62) return { method: pick(random, ['GET', 'HEAD']), path: `${books}/${name}` };
  if (chance < 0.68) {
    const spec = { title: pick(random, titles), tags: [pick(random, tags)] };
    return {
      method: 'PATCH',
      path: `${books}/${name}`,
      body: { metadata: { labels: { team: pick(random, ['a', 'b']) } }, spec },
      headers: merge,
    };
  }
  if (chance < 0.72)
    return {
      method: 'PUT',
      path: `${books}/${name}`,
      body: { metadata: { name }, spec: { title: pick(random, titles), code: `own-${pick(random, visible)}` } },
    };
  if (chance < 0.76) return { method: pick(random, ['DELETE', 'POST']), path: `${books}/${name}`, body: {} };
  if (chance < 0.8)
    return { method: 'POST', path: books, body: { metadata: { name }, spec: { title: 'x', code: 'code-h1' } } };
  if (chance < 0.85)
    return {
      method: 'GET',
      path: `${pick(random, [shelves, `${core}/secrets`, `${core}/users`, `${core}/roles`])}${random() < 0.5 ? `/${name}` : ''}?${query}`,
    };
  if (chance < 0.9)
    return {
      method: 'GET',
      path: pick(random, [
        '/apis',
        '/apis/library.example',
        '/apis/library.example/v1alpha1',
        '/api/v1alpha1',
        '/v3/api-docs',
        '/v3/api-docs/apis_aggregated.api_v1alpha1',
        '/nowhere',
        '/metrics',
        '/readyz',
        `${books}?explain=true`,
      ]),
    };
  if (chance < 0.93)
    return {
      method: 'POST',
      path: '/v3/can-i',
      body: { verb: pick(random, ['get', 'delete']), type: pick(random, ['books', 'shelves', 'secrets']), name },
    };
  if (chance < 0.96) {
    const config = pick(random, ['c1', 'c2']);
    return pick<Request>(random, [
      {
        method: 'POST',
        path: `${core}/configmaps`,
        body: { metadata: { name: config }, data: { a: pick(random, titles) } },
      },
      { method: 'DELETE', path: `${core}/configmaps/${config}` },
      { method: 'GET', path: `${core}/configmaps` },
    ]);
  }
  if (chance < 0.98)
    return {
      method: 'GET',
      path: `${books}?watch=true&sendInitial=true&${query}`,
      until: (line) => line.includes('"BOOKMARK"'),
    };
  if (chance < 0.99)
    return {
      method: 'GET',
      path: `${books}?watch=true&since=${60 + Math.floor(random() * 20)}&${query}`,
      until: (line) => line.includes('"BOOKMARK"'),
    };
  return {
    method: 'GET',
    path: `${books}?watch=true&page=1&size=${pick(random, [1, 2, 20])}&${query}`,
    until: () => true,
  };
}

/** Names that differ by nature: request ids, the date of the answer, and what belongs to the connection. */
const unlike = new Set(['date', 'x-request-id', 'connection', 'keep-alive', 'transfer-encoding']);

async function bytesOf(world: World, request: Request): Promise<string> {
  const { method, path, body, headers, until } = request;
  const answer = until ? await stream(world, path, until) : await world.caller(method, path, body, headers);
  const shown = [...answer.headers].filter(([name]) => !unlike.has(name)).map(([name, value]) => `${name}: ${value}`);
  const text = answer.text.replace(/"requestId":"[^"]*"/, '"requestId":""').replaceAll(world.url, '');
  return [answer.status, ...shown.sort(), text].join('\n');
}

async function stream(
  world: World,
  path: string,
  until: (line: string) => boolean,
): Promise<{ status: number; headers: Headers; text: string }> {
  const abort = new AbortController();
  const response = await fetch(world.url + path, {
    headers: { authorization: `Bearer ${world.token}` },
    signal: abort.signal,
  });
  const lines: string[] = [];
  if (response.status !== 200)
    return { status: response.status, headers: response.headers, text: await response.text() };
  let rest = '';
  reading: for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    const parts = (rest + chunk).split('\n');
    rest = parts.pop()!;
    for (const line of parts) {
      lines.push(line);
      if (until(line)) break reading;
    }
  }
  abort.abort();
  return { status: response.status, headers: response.headers, text: lines.join('\n') };
}

export interface Comparison {
  readonly pairs: number;
  /** Answers by status. */
  readonly statuses: Readonly<Record<string, number>>;
  readonly differences: readonly { request: Request; answers: readonly [string, string] }[];
}

/** @param leak breaks one world on purpose, to see that the comparison notices */
export async function compareWorlds(
  pairs: number,
  seed: number,
  leak?: (world: World) => Promise<void>,
): Promise<Comparison> {
  const clock: Clock = { time: Date.UTC(2026, 0, 1) };
  const worlds = [await makeWorld(0, clock), await makeWorld(1, clock)] as const;
  const random = randomOf(seed);
  const statuses: Record<string, number> = {};
  const differences: Comparison['differences'][number][] = [];
  try {
    for (const [i, name] of visible.entries()) {
      clock.time += 1_000;
      const spec = { title: titles[i % 3], code: `own-${name}`, tags: [tags[i % 2]] };
      for (const world of worlds)
        await expect(201, world.live.admin('POST', books, { metadata: { name, labels: { team: 'a' } }, spec }));
      await hiddenSteps(worlds, random, clock);
    }
    if (leak) await leak(worlds[1]);
    for (let pair = 0; pair < pairs && differences.length < 10; pair++) {
      clock.time += 1_000;
      if (pair % 20 === 0) await hiddenSteps(worlds, random, clock);
      const request = nextRequest(random);
      const answers = await Promise.all([bytesOf(worlds[0], request), bytesOf(worlds[1], request)]);
      const status = answers[0].slice(0, 3);
      statuses[status] = (statuses[status] ?? 0) + 1;
      if (answers[0] !== answers[1]) differences.push({ request, answers: [answers[0], answers[1]] });
    }
  } finally {
    await Promise.all(worlds.map((world) => world.live.service.stop()));
  }
  return { pairs, statuses, differences };
}

async function hiddenSteps(worlds: readonly World[], random: Random, clock: Clock): Promise<void> {
  clock.time += 1_000;
  // The same choices in both worlds, so that both write the same number of times; what they write differs.
  const seed = Math.floor(random() * 2 ** 32);
  await Promise.all(worlds.map((world) => hiddenStep(world, randomOf(seed))));
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const pairs = Number(process.argv[2] ?? 100_000);
  const seed = Number(process.argv[3] ?? Date.now() % 1_000_000);
  const { statuses, differences } = await compareWorlds(pairs, seed);
  console.log(`${pairs} pairs, seed ${seed}, ${JSON.stringify(statuses)}: ${differences.length} differences`);
  for (const { request, answers } of differences)
    console.log(JSON.stringify(request), '\n', answers.join('\n---\n'), '\n');
  process.exitCode = differences.length === 0 ? 0 : 1;
}
