/**
 * What an answer of the façade costs beside the native one, and what the façade costs native requests: `npm run build &&
 * node bench/kube.ts [--rounds 20]`. Processor time of the service for one answer, in interleaved pairs: the median of
 * the ratios, lowest and highest in brackets.
 */
import { Agent, get } from 'node:http';
import { parseArgs } from 'node:util';
import { collection, nameOf } from './articles.ts';
import type { Usage } from './meter.ts';
import { Remote } from './remote.ts';

const { values: options } = parseArgs({ options: { rounds: { type: 'string', default: '20' } } });
const rounds = Number(options.rounds);
const objects = 500;
const agent = new Agent({ keepAlive: true, maxSockets: 16 });

interface Side {
  readonly service: Remote;
  readonly url: string;
  readonly path: (number: number) => string;
  readonly accept?: string;
}

async function started(options: object): Promise<{ service: Remote; url: string }> {
  const service = new Remote('process-service.ts', ['sqlite::memory:', JSON.stringify(options)]);
  const url = await service.ask<string>('ready');
  await service.ask('fill', { from: 0, to: objects });
  return { service, url };
}

function fetched(url: string, accept: string): Promise<void> {
  return new Promise((resolve, reject) => {
    get(url, { agent, headers: { accept } }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`${response.statusCode} ${url}`));
      response.resume().once('end', resolve).once('error', reject);
    }).once('error', reject);
  });
}

/** Microseconds of processor time for one answer. */
async function cost({ service, url, path, accept = 'application/json' }: Side, requests: number): Promise<number> {
  const before = await service.ask<Usage>('usage');
  for (let at = 0; at < requests; at += 16) {
    const some = Array.from({ length: Math.min(16, requests - at) }, (_, i) => path((at + i) % objects));
    await Promise.all(some.map((one) => fetched(`${url}${one}`, accept)));
  }
  return ((await service.ask<Usage>('usage')).cpu - before.cpu) / requests;
}

/** The cost of the first as a part of that of the second. */
async function compare(name: string, first: Side, second: Side, requests: number): Promise<void> {
  for (const side of [first, second]) await cost(side, requests);
  const ratios: number[] = [];
  let [firstSum, secondSum] = [0, 0];
  for (let round = 0; round < rounds; round++) {
    const isTurned = round % 2 === 1;
    const [one, other] = isTurned ? [second, first] : [first, second];
    const [a, b] = [await cost(one, requests), await cost(other, requests)];
    const [ofFirst, ofSecond] = isTurned ? [b, a] : [a, b];
    ratios.push(ofFirst / ofSecond);
    firstSum += ofFirst;
    secondSum += ofSecond;
  }
  ratios.sort((a, b) => a - b);
  const shown = (value: number) => value.toFixed(3);
  const median = shown(ratios[rounds >> 1]!);
  const means = `${(firstSum / rounds).toFixed(0)} and ${(secondSum / rounds).toFixed(0)} µs`;
  console.log(`${name}: ${median} (${shown(ratios[0]!)} to ${shown(ratios.at(-1)!)}); ${means}`);
}

const withFacade = await started({});
const without = await started({ kube: { enabled: false } });
const object = (number: number) => `${collection}/${nameOf(number)}`;
const ndjson = 'application/x-ndjson';
try {
  const native = { ...withFacade, path: object };
  const shown = { ...withFacade, path: (number: number) => `/kube${object(number)}` };
  const plain = { ...without, path: object };
  for (const side of [native, plain]) await cost(side, 20_000);
  await compare('GET native, with the façade / without (≤ 1.01)', native, plain, 3_000);
  await compare('GET native / façade (≥ 0.5)', native, shown, 3_000);
  const nativeList = { ...withFacade, path: () => collection, accept: ndjson };
  const list = { ...withFacade, path: () => `/kube${collection}` };
  await compare(`list of ${objects}, native NDJSON / façade (≥ 0.3)`, nativeList, list, 100);
} finally {
  agent.destroy();
  await Promise.all([withFacade.service.end(), without.service.end()]);
}
