/**
 * What the façade for Kubernetes costs: a native request with the façade and without it, an answer beside the native one,
 * watchers, and definitions: `npm run build && node bench/kube.ts [--rounds 20] [--starts 8] [--pairs 30]
 * [--definitions 500] [--only native]...`. Ratios are of processor time of the service, in interleaved pairs: the median, and
 * between what it is with 95 %. Exit code 1 when a goal is missed. `control` compares equals, and so tells what `native` can
 * tell apart.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { Agent, get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { definitionOf, definitions, pathOf } from '../test/kube/crds/definitions.ts';
import { collection, nameOf } from './articles.ts';
import type { Usage } from './meter.ts';
import { Remote } from './remote.ts';

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '20' },
    starts: { type: 'string', default: '8' },
    pairs: { type: 'string', default: '30' },
    definitions: { type: 'string', default: '500' },
    only: { type: 'string', multiple: true },
  },
});
const rounds = Number(options.rounds);
const objects = 500;
const agent = new Agent({ keepAlive: true, maxSockets: 16 });
let missed = 0;

interface Side {
  readonly service: Remote;
  readonly url: string;
  readonly path: (number: number) => string;
  readonly accept?: string;
}

/** @param goal what the figure may be at most, or at least */
function tell(
  name: string,
  value: number,
  unit: string,
  goal: { readonly most?: number; readonly least?: number },
  more = '',
) {
  const { most = Number.POSITIVE_INFINITY, least = Number.NEGATIVE_INFINITY } = goal;
  const isMet = value <= most && value >= least;
  if (!isMet) missed++;
  const wanted = goal.most === undefined ? `≥ ${goal.least}` : `≤ ${goal.most}`;
  console.log(
    `${isMet ? ' ' : '✗'} ${name}: ${value.toFixed(unit === '' ? 3 : 0)}${unit && ` ${unit}`} (${wanted})${more}`,
  );
}

async function started(database: string, settings: object = {}): Promise<{ service: Remote; url: string }> {
  const service = new Remote('process-service.ts', [database, JSON.stringify(settings)]);
  return { service, url: await service.ask<string>('ready') };
}

function answerTo(url: string, accept = 'application/json'): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    get(url, { agent, headers: { accept } }, resolve).once('error', reject);
  });
}

async function fetched(url: string, accept?: string): Promise<void> {
  const response = await answerTo(url, accept);
  if (response.statusCode !== 200) throw new Error(`${response.statusCode} ${url}`);
  for await (const _ of response);
}

/** Microseconds of processor time. */
async function spent(service: Remote, work: () => Promise<unknown>): Promise<number> {
  const before = await service.ask<Usage>('usage');
  await work();
  return (await service.ask<Usage>('usage')).cpu - before.cpu;
}

/** Microseconds of processor time for one answer. */
async function cost({ service, url, path, accept }: Side, requests: number): Promise<number> {
  const all = await spent(service, async () => {
    for (let at = 0; at < requests; at += 16) {
      const some = Array.from({ length: Math.min(16, requests - at) }, (_, i) => path((at + i) % objects));
      await Promise.all(some.map((one) => fetched(`${url}${one}`, accept)));
    }
  });
  return all / requests;
}

interface Pairs {
  readonly ratios: number[];
  readonly means: [number, number];
}

/** The cost of the first as a part of that of the second. */
async function pairs(first: Side, second: Side, requests: number, count: number): Promise<Pairs> {
  for (const side of [first, second]) await cost(side, requests);
  const ratios: number[] = [];
  const means: [number, number] = [0, 0];
  for (let round = 0; round < count; round++) {
    const isTurned = round % 2 === 1;
    const [one, other] = isTurned ? [second, first] : [first, second];
    const [a, b] = [await cost(one, requests), await cost(other, requests)];
    const [ofFirst, ofSecond] = isTurned ? [b, a] : [a, b];
    ratios.push(ofFirst / ofSecond);
    means[0] += ofFirst / count;
    means[1] += ofSecond / count;
  }
  return { ratios, means };
}

/** The median, and between which of the sorted values the true one is with 95 %. */
function summary(ratios: readonly number[]): { median: number; text: string } {
  const sorted = ratios.toSorted((a, b) => a - b);
  const margin = Math.ceil(0.98 * Math.sqrt(sorted.length));
  const at = (i: number) => sorted[Math.min(Math.max(i, 0), sorted.length - 1)]!;
  const middle = sorted.length >> 1;
  const median = (at(middle) + at(sorted.length % 2 === 1 ? middle : middle - 1)) / 2;
  return { median, text: `${at(middle - margin).toFixed(3)} to ${at(middle + margin).toFixed(3)}` };
}

function compared(name: string, all: readonly Pairs[], goal: object): void {
  const { median, text } = summary(all.flatMap(({ ratios }) => ratios));
  const [a, b] = [0, 1].map((i) => all.reduce((sum, { means }) => sum + means[i]! / all.length, 0));
  tell(name, median, '', goal, `, ${text}; ${a!.toFixed(1)} and ${b!.toFixed(1)} µs`);
}

const object = (number: number) => `${collection}/${nameOf(number)}`;

/**
 * Requests of two services in one process. One of two equal services is cheaper by some percent as long as they live, so each
 * start is one value. The service that starts first is also warmed up and asked first; what that is worth cancels out with a start in
 * which the other one has the façade.
 */
async function beside(name: string, kind: 'facade' | 'control', goal: object): Promise<void> {
  const all: Pairs[] = [];
  for (let start = 0; start < Number(options.starts); start++) {
    const straight = await besideOnce('straight', kind);
    const turned = await besideOnce('turned', kind);
    const [a, b] = [straight, turned].map(({ ratios }) => summary(ratios).median) as [number, number];
    const means = [0, 1].map((i) => (straight.means[i]! + turned.means[1 - i]!) / 2) as [number, number];
    all.push({ ratios: [Math.sqrt(a / b)], means });
  }
  compared(name, all, goal);
}

async function besideOnce(order: string, kind: string): Promise<Pairs> {
  const service = new Remote('process-pair.ts', [order, kind]);
  try {
    const urls = await service.ask<[string, string]>('ready');
    await service.ask('fill', { objects });
    const [one, other] = urls.map((url) => ({ service, url, path: object })) as [Side, Side];
    for (const side of [one, other]) await cost(side, 10_000);
    return await pairs(one, other, 500, Number(options.pairs));
  } finally {
    await service.end();
  }
}

async function answers(): Promise<void> {
  const { service, url } = await started('sqlite::memory:');
  try {
    await service.ask('fill', { from: 0, to: objects });
    const native = { service, url, path: object };
    const shown = { service, url, path: (number: number) => `/kube${object(number)}` };
    for (const side of [native, shown]) await cost(side, 10_000);
    compared('GET native / façade', [await pairs(native, shown, 3_000, rounds)], { least: 0.5 });
    const nativeList = { service, url, path: () => collection, accept: 'application/x-ndjson' };
    const list = { service, url, path: () => `/kube${collection}` };
    const of500 = await pairs(nativeList, list, 100, rounds);
    compared(`list of ${objects}, native NDJSON / façade`, [of500], { least: 0.3 });
  } finally {
    await service.end();
  }
}

/** Changes that many watchers see. */
async function watched(watchers: number, changes: number): Promise<void> {
  const costs: number[] = [];
  for (const prefix of ['', '/kube']) {
    const { service, url } = await started('sqlite::memory:', { watch: { bookmarkInterval: 600_000 } });
    const sockets = new Agent({ maxSockets: Number.POSITIVE_INFINITY });
    let lines = 0;
    try {
      const open = () =>
        new Promise<void>((resolve, reject) => {
          const headers = { accept: 'application/x-ndjson, application/json' };
          get(`${url}${prefix}${collection}?watch=true`, { agent: sockets, headers }, (response) => {
            if (response.statusCode !== 200) return reject(new Error(`${response.statusCode} of a watch`));
            response.on('data', (chunk: Buffer) => {
              for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) if (at > 0) lines++;
            });
            resolve();
          }).once('error', () => {});
        });
      for (let at = 0; at < watchers; at += 50) await Promise.all(Array.from({ length: 50 }, open));
      await service.ask('fill', { from: 0, to: 20 });
      await arrived(() => lines >= watchers * 20);
      lines = 0;
      const all = await spent(service, async () => {
        for (let at = 0; at < changes; at += 10) {
          await service.ask('fill', { from: 20 + at, to: 30 + at });
          await arrived(() => lines >= watchers * (at + 10));
        }
      });
      costs.push(all / changes / watchers);
    } finally {
      sockets.destroy();
      await service.end();
    }
  }
  const [native, facade] = costs as [number, number];
  const more = `; ${native.toFixed(2)} and ${facade.toFixed(2)} µs for each watcher`;
  tell(`a change seen by ${watchers} watchers, native / façade`, native / facade, '', { least: 0.5 }, more);
}

async function arrived(is: () => boolean): Promise<void> {
  for (const end = performance.now() + 60_000; !is(); ) {
    if (performance.now() > end) throw new Error('watchers were not told of all changes');
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

async function declare(url: string, definition: object): Promise<void> {
  const body = JSON.stringify(definition);
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${url}/kube${definitions}`, { method: 'POST', headers, body });
  if (response.status !== 201) throw new Error(`${response.status} ${await response.text()}`);
}

async function served(url: string, definition: object): Promise<void> {
  const path = `${url}/kube${pathOf(definition)}`;
  while ((await fetch(path)).status !== 200) await new Promise((resolve) => setTimeout(resolve, 2));
}

async function declared(): Promise<void> {
  const { service, url } = await started('sqlite::memory:');
  const documents = ['openapi/v3', 'openapi/v2'].map((path) => `${url}/kube/${path}`);
  const protobuf = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';
  try {
    const small = (i: number) => definitionOf({ nodes: 60, group: `g${i}.example.com`, plural: `things${i}s` });
    const milliseconds: number[] = [];
    const described: number[] = [];
    for (let i = 0; i < 100; i++) {
      const began = performance.now();
      await declare(url, small(i));
      await served(url, small(i));
      milliseconds.push(performance.now() - began);
      if (i % 10 !== 0) continue;
      const again = async () => {
        await fetched(documents[0]!);
        await fetched(`${url}/kube/openapi/v3/apis/g${i}.example.com/v1`);
        await fetched(documents[1]!);
        await fetched(documents[1]!, protobuf);
      };
      described.push((await spent(service, again)) / 1_000);
    }
    tell('a definition is served after', Math.max(...milliseconds), 'ms', { most: 1_000 }, ', the slowest of 100');
    // The first one makes the documents of everything else.
    tell('all OpenAPI after one more model', Math.max(...described.slice(1)), 'ms', { most: 100 }, ', processor time');
    const large = definitionOf({ nodes: 10_505 });
    const began = performance.now();
    const processor = await spent(service, async () => {
      await declare(url, large);
      await served(url, large);
    });
    const more = `, ${(processor / 1_000).toFixed(0)} ms of processor time`;
    tell('a definition of 10,505 schemas is served after', performance.now() - began, 'ms', { most: 2_000 }, more);
  } finally {
    await service.end();
  }
}

async function manyAtStart(count: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'kindred-kube-'));
  const database = `sqlite:${join(folder, 'kindred.db')}`;
  const settings = { indexSnapshots: { enabled: false } };
  try {
    const first = await started(database, settings);
    const at = (i: number) => definitionOf({ nodes: 300, group: `g${i}.example.com`, plural: `things${i}s` });
    for (let i = 0; i < count; i++) await declare(first.url, at(i));
    for (let i = 0; i < count; i++) await served(first.url, at(i));
    await first.service.end();
    const began = performance.now();
    const again = await started(database, settings);
    const elapsed = performance.now() - began;
    for (let i = 0; i < count; i++) await fetched(`${again.url}/kube${pathOf(at(i))}?limit=1`);
    await again.service.end();
    tell(`a start with ${count} definitions`, elapsed, 'ms', { most: 10_000 });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const measures: Readonly<Record<string, () => Promise<void>>> = {
  native: () => beside('GET native, with the façade / without', 'facade', { most: 1.01 }),
  control: () => beside('GET native, with the façade / with it', 'control', { least: 0.99, most: 1.01 }),
  answers,
  watchers: () => watched(1_000, 100),
  definitions: declared,
  start: () => manyAtStart(Number(options.definitions)),
};
try {
  for (const name of options.only ?? Object.keys(measures)) await measures[name]!();
} finally {
  agent.destroy();
}
process.exitCode = missed > 0 ? 1 : 0;
