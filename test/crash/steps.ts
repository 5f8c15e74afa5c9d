/** Kills a service at each step by which the next version of a model takes the place of the one before, and starts it again. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { createService, Scheme } from 'kindred';
import pino from 'pino';
import type { ExtensionObject } from '../../src/model/object.ts';
import { claimOf, keepsClaims, uniqueKeysOf } from '../../src/resource/claims.ts';
import { lenientEntry } from '../../src/resource/entries.ts';
import { openStore } from '../../src/store/open.ts';
import type { TestAdapter } from '../servers.ts';
import { fromSources } from '../sources.ts';
import { First, pluginWith, Second } from './step-model.ts';

const objects = 40;
const kindOf = { group: 'steps.example.com', kind: 'Thing' } as const;

/** Objects of the first version. */
async function prepare(database: string): Promise<void> {
  const logger = pino({ level: 'silent' });
  const service = await createService({ database, port: 0, auth: false, logger, plugins: [pluginWith(First)] });
  await service.start();
  const text = (i: number) => (i % 2 === 0 ? `a${i}-b` : `a${i}`);
  await Promise.all(
    Array.from({ length: objects }, (_, i) =>
      service.client.create(First, { metadata: { name: `t${i}` }, spec: { text: text(i), code: `c${i}` } }),
    ),
  );
  await service.stop();
}

/** @param call 0: to the end. Gives the number of calls; undefined: it was killed. */
async function run(database: string, call: number, when: 'before' | 'after'): Promise<number | undefined> {
  const program = new URL('./step-service.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, [...fromSources, program, database, String(call), when], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise<NodeJS.Signals | number | null>((resolve) =>
    child.once('exit', (code, signal) => resolve(signal ?? code)),
  );
  const said = await text(child.stdout);
  const outcome = await ended;
  if (outcome === 'SIGKILL') return undefined;
  assert.equal(outcome, 0, 'the service ends well');
  return Number(said);
}

/** What is stored after all steps, whatever came in between: each object once rewritten, and half of them once changed. */
async function check(database: string): Promise<void> {
  const store = await openStore(database);
  try {
    const model = await store.modelNumber(kindOf.group, kindOf.kind);
    const rows = await store.scan(model, 0, objects + 1);
    assert.equal(rows.length, objects);
    const scheme = Scheme.buildFromType(Second);
    const claims = new Set<string>();
    for (const { name, bytes, id, revision } of rows) {
      const object = JSON.parse(Buffer.from(bytes).toString()) as ExtensionObject;
      const i = Number(name.slice(1));
      const isChanged = i % 2 === 0;
      assert.equal(object.apiVersion, 'steps.example.com/v2', name);
      const parts = isChanged ? { head: `a${i}`, tail: 'b' } : { head: `a${i}` };
      assert.deepEqual(object.spec, { code: `c${i}`, parts }, name);
      assert.equal(object.metadata.version, isChanged ? 1 : 0, name);
      assert.equal(revision > id, isChanged, name);
      for (const key of uniqueKeysOf(scheme.indexes, scheme.indexes, lenientEntry(scheme, object, name).entry))
        claims.add(`${Buffer.from(claimOf(key).hash).toString('hex')} ${id}`);
    }
    let changes = 0;
    for (let after = 0; ; ) {
      const page = await store.changes(after, 500);
      if (page.length === 0) break;
      changes += page.filter((change) => change.model === model).length;
      after = page.at(-1)!.revision;
    }
    assert.equal(changes, objects * 1.5, 'changes in the log');
    if (!keepsClaims(store)) return;
    const held = await store.claims(model, undefined, objects + 1);
    assert.deepEqual(new Set(held.map(({ hash, id }) => `${Buffer.from(hash).toString('hex')} ${id}`)), claims);
  } finally {
    await store.close();
  }
}

/**
 * Kills the service at these calls, each in a database of its own, and looks at what is stored once it has run to its end.
 * @param calls undefined: at each of them
 * @returns how often it was killed
 */
export async function killAtSteps(
  adapter: TestAdapter,
  calls: readonly number[] | undefined,
  onKill: (kills: number, call: number) => void = () => {},
): Promise<number> {
  let kills = 0;
  for (let i = 0; ; i++) {
    const call = calls ? calls[i] : i + 1;
    if (call === undefined) return kills;
    let isOver = false;
    for (const when of ['before', 'after'] as const) {
      const database = await adapter.create();
      await prepare(database.url);
      isOver = (await run(database.url, call, when)) !== undefined;
      if (!isOver) {
        kills++;
        assert.ok((await run(database.url, 0, when))! > 0);
        onKill(kills, call);
      }
      await check(database.url).catch((cause: unknown) => {
        throw new Error(`killed ${when} call ${call}`, { cause });
      });
      await database.drop();
    }
    if (isOver && !calls) return kills;
  }
}
