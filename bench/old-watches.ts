/**
 * Watches from long ago, many at once, and what another client notices of them: `npm run build && node bench/old-watches.ts
 * [--changes 100000] [--watches 10] [--database sqlite|postgres|mariadb]`. Exit code 1 when a watch is ended or misses an
 * object, or when a turn of the event loop takes more processor time than is allowed (`test/api/loop-guard.ts`).
 */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { Agent, get } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createService } from 'kindred';
import { LoopGuard, turnLimit } from '../test/api/loop-guard.ts';
import { databaseAdapters } from '../test/servers.ts';
import { slowness } from '../test/slowness.ts';
import { Article, article, collection, nameOf } from './articles.ts';
import { meter } from './meter.ts';
import { answer, Remote } from './remote.ts';

const { values: options } = parseArgs({
  options: {
    role: { type: 'string' },
    url: { type: 'string', default: '' },
    changes: { type: 'string', default: '100000' },
    watches: { type: 'string', default: '10' },
    database: { type: 'string', default: 'sqlite' },
  },
});
const changes = Number(options.changes);
const watches = Number(options.watches);

/** Paths of the watches, with the events that each of them gets. */
const kinds = [
  { name: 'all of the model', path: `${collection}?watch=true`, events: changes },
  {
    name: 'a selector that nothing matches',
    path: `${collection}?watch=true&fieldSelector=spec.category%3Dx`,
    events: 0,
  },
  { name: 'one name', path: `${collection}?watch=true&fieldSelector=metadata.name%3D${nameOf(0)}`, events: 1 },
  { name: 'a model without objects', path: '/api/v1alpha1/configmaps?watch=true', events: 0 },
];

interface Seen {
  readonly opened: number;
  /** Watches that came to a bookmark of what was newest. */
  readonly complete: number;
  readonly wrong: readonly string[];
}

if (options.role === 'service') await serve();
else if (options.role === 'watchers') follow();
else await run();

async function serve(): Promise<void> {
  const service = await createService({
    database: options.url,
    port: 0,
    auth: false,
    watch: { bookmarkInterval: 500 },
    changeLog: { maxCount: 2 * changes },
  });
  service.schemeManager.register(Article);
  const { url } = await service.start();
  const guard = new LoopGuard();
  const { usage } = meter();
  answer(
    {
      url: () => url,
      fill: async () => {
        for (let at = 0; at < changes; at += 1_000)
          await Promise.all(
            Array.from({ length: Math.min(1_000, changes - at) }, (_, i) =>
              service.client.create(Article, article(at + i)),
            ),
          );
      },
      /** Milliseconds of processor time: of the longest turn since the last call, and of the whole process. */
      measured: () => {
        const turn = guard.take();
        const allowed = turnLimit * slowness();
        guard.take();
        return { turn, cpu: usage().cpu / 1_000, allowed };
      },
    },
    () => {
      guard.stop();
      return service.stop();
    },
  );
}

function follow(): void {
  const agent = new Agent({ maxSockets: Number.POSITIVE_INFINITY });
  let opened = 0;
  let complete = 0;
  let wrong: string[] = [];
  let open: IncomingMessage[] = [];
  const one = (path: string, events: number, newest: number): void => {
    get(`${options.url}${path}`, { agent, headers: { accept: 'application/x-ndjson' } }, (response) => {
      opened++;
      open.push(response);
      let rest = '';
      let count = 0;
      let isOver = false;
      response.setEncoding('latin1').on('data', (chunk: string) => {
        const lines = (rest + chunk).split('\n');
        rest = lines.pop()!;
        for (const line of lines) {
          if (isOver) return;
          if (!line.startsWith('{"type":"BOOKMARK"')) count++;
          else if (Number(/"revision":(\d+)/.exec(line)![1]) >= newest) {
            isOver = true;
            complete++;
            if (count !== events) wrong.push(`${path}: ${count} events instead of ${events}`);
          }
        }
      });
      const ended = () => {
        if (!isOver) wrong.push(`${path} was ended after ${count} events`);
      };
      response.on('end', ended).on('error', ended);
    }).on('error', (error) => wrong.push(`${path}: ${error.message}`));
  };
  answer({
    begin: ({ path, events, since, newest }: { path: string; events: number; since: number; newest: number }) => {
      [opened, complete, wrong] = [0, 0, []];
      for (let i = 0; i < watches; i++) one(`${path}&since=${since}`, events, newest);
    },
    seen: (): Seen => ({ opened, complete, wrong }),
    end: () => {
      for (const response of open) response.destroy();
      open = [];
    },
  });
}

async function run(): Promise<void> {
  const adapter = databaseAdapters().find(({ kind }) => kind === options.database);
  if (!adapter) throw new Error(`${options.database} cannot run here`);
  const database = await adapter.create();
  const role = (name: string, url: string) =>
    new Remote('old-watches.ts', [...process.argv.slice(2), '--role', name, '--url', url], process.execArgv);
  const service = role('service', database.url);
  let watchers: Remote | undefined;
  try {
    const url = await service.ask<string>('url');
    const since = await newestRevision(url);
    await service.ask('fill');
    const newest = await newestRevision(url);
    watchers = role('watchers', url);
    await measure('without watches', url, service, () => pause(3_000));
    for (const { name, path, events } of kinds) {
      const title = `${watches} watches of ${name}`;
      const wrong = await measure(title, url, service, async () => {
        await watchers!.ask('begin', { path, events, since, newest });
        for (;;) {
          const seen = await watchers!.ask<Seen>('seen');
          if (seen.complete === watches || seen.wrong.length > 0) return seen.wrong;
          await pause(20);
        }
      });
      for (const one of wrong) console.log(`  ${one}`);
      if (wrong.length > 0) process.exitCode = 1;
      await watchers.ask('end');
    }
  } finally {
    await watchers?.end();
    await service.end();
    await database.drop();
  }
}

/** Asks at /livez all the time while something is done, and prints how long that took. */
async function measure<T>(title: string, url: string, service: Remote, what: () => Promise<T>): Promise<T> {
  const agent = new Agent({ keepAlive: true });
  const waits: number[] = [];
  let isOver = false;
  const before = await service.ask<{ cpu: number }>('measured');
  const begin = performance.now();
  const probing = (async () => {
    while (!isOver) {
      const asked = performance.now();
      const response = await request(`${url}/livez`, agent);
      if (response.statusCode === 200) waits.push(performance.now() - asked);
      await pause(5);
    }
  })();
  const result = await what();
  isOver = true;
  await probing;
  agent.destroy();
  const seconds = ((performance.now() - begin) / 1_000).toFixed(1);
  const { turn, cpu, allowed } = await service.ask<{ turn: number; cpu: number; allowed: number }>('measured');
  waits.sort((a, b) => a - b);
  const at = (share: number) => `${(waits[Math.floor((waits.length - 1) * share)] ?? Number.NaN).toFixed(1)} ms`;
  console.log(
    `${title}: ${seconds} s, ${((cpu - before.cpu) / 1_000).toFixed(1)} s of processor time, longest turn ${turn.toFixed(0)} ms of it; ` +
      `/livez by the clock: median ${at(0.5)}, p99 ${at(0.99)}, longest ${at(1)} of ${waits.length}`,
  );
  if (turn > allowed) process.exitCode = 1;
  return result;
}

async function newestRevision(url: string): Promise<number> {
  const response = await request(`${url}${collection}?size=1`);
  return Number(response.headers['kindred-revision']);
}

async function request(url: string, agent?: Agent): Promise<IncomingMessage> {
  const [response] = (await once(get(url, { ...(agent && { agent }) }), 'response')) as [IncomingMessage];
  response.resume();
  await once(response, 'end');
  return response;
}
