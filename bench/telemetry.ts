/**
 * What traces and metrics cost: `npm run build && node bench/telemetry.ts [--rounds 20] [--before DIR] [--only SIDE]...`.
 * Processor time of the service for one answer, in interleaved pairs with a service without telemetry: the median of the
 * ratios, its 95 % interval in brackets. `--before` is a built checkout of an earlier state, which is then compared too.
 * The interval is that of one pair of processes; two equal ones differ by some per cent, so run it several times.
 */
import { Agent, request } from 'node:http';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { article, collection, nameOf } from './articles.ts';
import { medianOf, shown } from './figures.ts';
import type { Usage } from './meter.ts';
import { Remote } from './remote.ts';

const { values: given } = parseArgs({
  options: {
    rounds: { type: 'string', default: '20' },
    before: { type: 'string' },
    only: { type: 'string', multiple: true, default: [''] },
  },
});
const rounds = Number(given.rounds);
const objects = 500;
const requests = { GET: 3_000, POST: 1_500 } as const;
type Method = keyof typeof requests;
const agent = new Agent({ keepAlive: true, maxSockets: 16 });

interface Side {
  readonly service: Remote;
  readonly url: string;
  made: number;
}

async function started(options: object, flags: readonly string[] = [], file = 'process-service.ts'): Promise<Side> {
  const service = new Remote(file, ['sqlite::memory:', JSON.stringify(options)], flags);
  const url = await service.ask<string>('ready');
  await service.ask('fill', { from: 0, to: objects });
  return { service, url, made: objects };
}

function sent(method: Method, url: string, body?: string): Promise<void> {
  return new Promise((done, reject) => {
    const headers = { 'content-type': 'application/json', traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` };
    request(url, { method, agent, headers }, (response) => {
      if (response.statusCode! >= 300) reject(new Error(`${response.statusCode} ${method} ${url}`));
      response.resume().once('end', done).once('error', reject);
    })
      .once('error', reject)
      .end(body);
  });
}

/** Microseconds of processor time for one answer. */
async function cost(side: Side, method: Method): Promise<number> {
  const count = requests[method];
  const bodies = method === 'POST' ? Array.from({ length: count }, () => JSON.stringify(article(side.made++))) : [];
  const before = await side.service.ask<Usage>('usage');
  for (let at = 0; at < count; at += 16) {
    const some = Array.from({ length: Math.min(16, count - at) }, (_, i) => at + i);
    await Promise.all(
      some.map((number) => {
        const path = method === 'GET' ? `${collection}/${nameOf(number % objects)}` : collection;
        return sent(method, `${side.url}${path}`, bodies[number]);
      }),
    );
  }
  return ((await side.service.ask<Usage>('usage')).cpu - before.cpu) / count;
}

const sdk = ['--import', pathToFileURL(join(import.meta.dirname, 'process-telemetry.ts')).href];
const others = new Map<string, () => Promise<Side>>([
  ['off, a second process', () => started({})],
  ['on, without an SDK', () => started({ telemetry: { traces: true, metrics: true } })],
  ['traces', () => started({ telemetry: { traces: true } }, sdk)],
  ['metrics', () => started({ telemetry: { metrics: true } }, sdk)],
]);
if (given.before !== undefined) {
  const file = pathToFileURL(resolve(given.before, 'bench/process-service.ts')).href;
  others.set('before', () => started({}, [], file));
}

const rows: object[] = [];
for (const [name, start] of others) {
  if (!given.only.some((part) => name.startsWith(part))) continue;
  // Each beside a process of its own, which has answered as many requests.
  const [off, side] = [await started({}), await start()];
  for (const method of ['GET', 'POST'] as const) {
    const ratios: number[] = [];
    const costs: number[] = [];
    // The first rounds are for the compiler.
    for (let round = -2; round < rounds; round++) {
      const isTurned = round % 2 === 0;
      const first = await cost(isTurned ? side : off, method);
      const second = await cost(isTurned ? off : side, method);
      const [own, bare] = isTurned ? [first, second] : [second, first];
      if (round < 0) continue;
      ratios.push(own / bare);
      costs.push(own - bare);
    }
    rows.push({ method, side: name, 'beside off': shown(medianOf(ratios), 3), 'µs more': shown(medianOf(costs), 1) });
  }
  await off.service.end();
  await side.service.end();
}
console.table(rows);
