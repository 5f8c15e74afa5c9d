/**
 * The process that is killed: clients create, update and delete through a store and its commit queue, and tell on
 * stdout what they try and what they are answered, one JSON line each. Ends when its stdin does.
 */
import { createHash } from 'node:crypto';
import { writeSync } from 'node:fs';
import { CommitQueue } from '../../src/store/commit-queue.ts';
import { openStore } from '../../src/store/open.ts';
import type { Claim, Row, Write } from '../../src/store/store.ts';

export interface Content {
  readonly op: string;
  readonly slug: string;
  readonly padding: string;
}

export type Line =
  | { readonly say: 'try'; readonly op: string }
  | { readonly say: 'ack'; readonly op: string; readonly id: number; readonly revision: number }
  /** Refused by the contract, or certainly not applied. */
  | { readonly say: 'not'; readonly op: string; readonly reason: string }
  | { readonly say: 'unknown'; readonly op: string };

export function slugClaim(slug: string): Claim {
  return { hash: createHash('sha256').update(`slug\0${slug}`).digest(), index: 'slug', key: slug };
}

const clients = 16;
const namesEach = 12;

/** Blocks, unlike process.stdout: what was told must be with the parent when this process is killed. */
function tell(line: Line): void {
  let rest = Buffer.from(`${JSON.stringify(line)}\n`);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(1, rest));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  }
}

async function main(url: string, round: string): Promise<void> {
  const store = await openStore(url);
  const model = await store.modelNumber('crash.example.com', 'Thing');
  const queue = new CommitQueue(store, { now: Date.now });
  const keepsClaims = store.claims !== undefined;
  let going = true;
  process.stdin.on('end', () => {
    going = false;
  });
  process.stdin.resume();

  async function stored(): Promise<Map<string, Row>> {
    const found = new Map<string, Row>();
    for (let after = 0; ; ) {
      const rows = await store.scan(model, after, 500);
      if (rows.length === 0) return found;
      for (const row of rows) found.set(row.name, row);
      after = rows.at(-1)!.id;
    }
  }

  const held = await stored();

  /** Learns what became of a write whose outcome was not told. */
  async function learn(name: string): Promise<void> {
    while (going) {
      try {
        const row = (await stored()).get(name);
        if (row) held.set(name, row);
        else held.delete(name);
        return;
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
  }

  async function client(number: number): Promise<void> {
    for (let count = 0; going; count++) {
      const name = `c${number}-${Math.floor(Math.random() * namesEach)}`;
      const op = `${round}.${number}.${count}`;
      const row = held.get(name);
      const type: Write['type'] = !row ? 'create' : Math.random() < 0.3 ? 'delete' : 'update';
      // Few slugs for many objects, so that some are refused.
      const content: Content = {
        op,
        slug: `s${Math.floor(Math.random() * 400)}`,
        padding: 'p'.repeat(Math.floor(Math.random() * 1500)),
      };
      const bytes = Buffer.from(JSON.stringify(content));
      const old = row && slugClaim((JSON.parse(Buffer.from(row.bytes).toString()) as Content).slug);
      tell({ say: 'try', op });
      try {
        const result = await queue.commit({
          type,
          model,
          name,
          ...(row && { expected: { id: row.id, revision: row.revision } }),
          bytes,
          ...(keepsClaims && {
            claim: type === 'delete' ? [] : [slugClaim(content.slug)],
            release: old ? [{ hash: old.hash }] : [],
          }),
        });
        if (!result.ok) {
          tell({ say: 'not', op, reason: result.reason });
          continue;
        }
        tell({ say: 'ack', op, id: result.id, revision: result.revision });
        if (type === 'delete') held.delete(name);
        else held.set(name, { ...result, name, bytes });
      } catch (error) {
        const { code } = error as { code?: string };
        if (code === 'UnknownOutcome') {
          tell({ say: 'unknown', op });
          await learn(name);
          continue;
        }
        if (code !== 'NotReady' && code !== 'StorageFull') throw error;
        tell({ say: 'not', op, reason: code });
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  }

  await Promise.all(Array.from({ length: clients }, (_, number) => client(number)));
  await queue.stop();
  await store.close();
}

if (process.argv[1] === import.meta.filename) await main(process.argv[2]!, process.argv[3]!);
