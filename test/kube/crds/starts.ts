/** Starts of a service that has definitions. */
import { join } from 'node:path';
import { until } from '../../../src/testing/until.ts';
import { LoopGuard } from '../../api/loop-guard.ts';
import { threadTime } from '../../slowness.ts';
import { Facade } from '../harness.ts';
import { definitionOf, definitions, definitionsIn, isEstablished, pathOf } from './definitions.ts';

export interface Start {
  readonly milliseconds: number;
  /** Milliseconds of processor time of the thread that has the event loop. */
  readonly processor: number;
  /** Milliseconds of processor time for which a turn of the event loop went on at most. */
  readonly longestTurn: number;
}

/**
 * Declares them, and starts anew.
 * @param folder of definitions, which are declared in several groups until they are enough; default: made-up ones
 * @throws AssertionError when one is not served after the start
 */
export async function starts({ database, count, folder }: { database: string; count: number; folder?: string }) {
  const own = folder && definitionsIn(join(folder, 'definitions'));
  const all = Array.from({ length: count }, (_, i) =>
    own
      ? inGroup(own[i % own.length], i)
      : definitionOf({ nodes: 300, group: `g${i}.example.com`, plural: `things${i}s` }),
  );
  const without = await started(database, []);
  const facade = new Facade({ database });
  await facade.start();
  for (let at = 0; at < count; at += 4) {
    await Promise.all(
      all.slice(at, at + 4).map(async (one) => {
        const { status, text } = await facade.kube(definitions, { body: one });
        if (status !== 201) throw new Error(`${one.metadata.name}: ${status} ${text}`);
      }),
    );
  }
  await until(async () => (await facade.kube(definitions)).json.items.every(isEstablished), { timeout: 60_000 });
  await facade.stop();
  return { without, with: await started(database, all.map(pathOf)) };
}

async function started(database: string, paths: readonly string[]): Promise<Start> {
  const facade = new Facade({ database });
  const guard = new LoopGuard();
  const [processor, at] = [threadTime(), performance.now()];
  await facade.start();
  const start = {
    milliseconds: performance.now() - at,
    processor: threadTime() - processor,
    longestTurn: guard.take(),
  };
  guard.stop();
  for (const path of paths) {
    const { status } = await facade.kube(`${path}?limit=1`);
    if (status !== 200) throw new Error(`${path}: ${status} after the start`);
  }
  await facade.stop();
  return start;
}

/** The same resource in another group. */
function inGroup(definition: any, i: number): any {
  const copy = structuredClone(definition);
  copy.spec.group = `g${i}.example.com`;
  copy.metadata = { name: `${copy.spec.names.plural}.${copy.spec.group}` };
  return copy;
}
