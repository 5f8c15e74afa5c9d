/** Writers at several replicas that all want the same unique value: exactly one of them may get it. */
import assert from 'node:assert/strict';
import type { Agent } from 'node:http';
import { request as send } from 'node:http';
import { itemsPath } from '../histories/item.ts';

export interface Race {
  /** Addresses of the replicas. */
  readonly urls: readonly string[];
  readonly writers: number;
  /** The value, used in no other round. */
  readonly value: string;
}

/** One round: half of the writers create, half rename what they have. Throws when not exactly one wins. */
export async function race(agent: Agent, { urls, writers, value }: Race, held: Set<number>): Promise<void> {
  const statuses = await Promise.all(
    Array.from({ length: writers }, async (_, i) => {
      const url = urls[i % urls.length]!;
      const name = `racer-${i}`;
      const spec = { history: 'race', value, slug: value };
      const path = held.has(i) ? `${itemsPath}/${name}` : itemsPath;
      const answer = await call(agent, url, held.has(i) ? 'PUT' : 'POST', path, { metadata: { name }, spec });
      return { i, ...answer };
    }),
  );
  const winners = statuses.filter(({ status }) => status === 200 || status === 201);
  const losers = statuses.filter(({ code }) => code === 'UniqueViolation');
  assert.equal(winners.length, 1, `${value}: ${winners.length} writers have it`);
  assert.equal(losers.length, writers - 1, `${value}: ${JSON.stringify(statuses.map((one) => one.code))}`);
  held.add(winners[0]!.i);
  // Every replica sees one holder, at once.
  const query = `fieldSelector=${encodeURIComponent(`spec.slug=${value}`)}`;
  const totals = await Promise.all(urls.map((url) => call(agent, url, 'GET', `${itemsPath}?${query}`)));
  assert.deepEqual(
    totals.map(({ total }) => total),
    urls.map(() => 1),
  );
  // So that rounds have writers of both kinds: who has an object gives it up from time to time.
  if (held.size > writers / 2) {
    const [first] = held;
    const { status } = await call(agent, urls[0]!, 'DELETE', `${itemsPath}/racer-${first}`);
    assert.equal(status, 200);
    held.delete(first!);
  }
}

interface Answer {
  readonly status: number;
  readonly code?: string;
  readonly total?: number;
}

function call(agent: Agent, url: string, method: string, path: string, body?: object): Promise<Answer> {
  const text = body && JSON.stringify(body);
  const headers = text ? { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) } : {};
  return new Promise((resolve, reject) => {
    const request = send(url + path, { agent, method, headers }, (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.once('error', reject);
      response.once('end', () => {
        const { code, total } = JSON.parse(Buffer.concat(parts).toString()) as Omit<Answer, 'status'>;
        resolve({ status: response.statusCode!, code, total });
      });
    });
    request.once('error', reject);
    request.end(text);
  });
}
