/**
 * A service whose plugin is the next version of a model: `step-service.ts DATABASE CALL before|after`. It kills itself
 * before or after that call of its store that changes something, and otherwise ends when everything is done that follows a start: the
 * contract is active, its unique values are claimed, the model is finalized, objects are rewritten and changed.
 * Prints how many calls there were.
 */
import { createService } from 'kindred';
import { until } from 'kindred/testing';
import pino from 'pino';
import { openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/store/store.ts';
import { quickTimers } from '../histories/evolving.ts';
import { pluginWith, Second, statePath } from './step-model.ts';

const [database, call, when] = process.argv.slice(2);
const last = Number(call);
const changing = ['commit', 'rewrite', 'mendClaims', 'announce', 'acquireLease', 'releaseLease'];
let calls = 0;

async function counted(run: () => unknown): Promise<unknown> {
  calls++;
  const isLast = calls === last;
  if (isLast && when === 'before') process.kill(process.pid, 'SIGKILL');
  const result = await run();
  if (isLast) process.kill(process.pid, 'SIGKILL');
  return result;
}

async function open(): Promise<Store> {
  const store = await openStore(database!);
  return new Proxy(store, {
    get(target, name: keyof Store) {
      const value = target[name] as unknown;
      if (typeof value !== 'function') return value;
      if (!changing.includes(name)) return value.bind(target);
      return (...given: unknown[]) => counted(() => value.apply(target, given));
    },
  });
}

const logger = pino({ level: 'silent' });
const plugins = [pluginWith(Second)];
const service = await createService({ database: open, port: 0, auth: false, timers: quickTimers, logger, plugins });
const { url } = await service.start();
await until(
  async () => {
    const { status } = (await (await fetch(url + statePath)).json()) as {
      status: {
        storageVersion: string;
        migration?: { revision?: number };
        contentMigration?: { isOver?: boolean };
        indexes: { state: string }[];
      };
    };
    const { storageVersion, migration, contentMigration, indexes } = status;
    const isRewritten = storageVersion === 'v2' && migration?.revision !== undefined;
    return isRewritten && contentMigration?.isOver && indexes.every(({ state }) => state === 'enforced');
  },
  { timeout: 60_000 },
);
console.log(calls);
await service.stop();
process.exit(0);
