/** A store whose answers a test holds back and lets go. */
import type { Store } from 'kindred';

type Method = 'revision' | 'changes' | 'get' | 'commit' | 'snapshot' | 'scan';

export interface Hold {
  /** How many wait. */
  readonly waiting: number;
  /** Lets the oldest go. */
  one(): void;
  /** Lets all go, and holds nothing back from now on. */
  release(): void;
}

export interface HoldOptions {
  /** The question waits instead, and is answered by what is true then. */
  readonly before?: boolean;
  /** Only calls with these parameters. */
  readonly only?: (...parameters: any[]) => boolean;
}

export interface HeldStore {
  readonly store: Store;
  /** How often each method was called. */
  readonly asked: Record<Method, number>;
  /** From now on answers of this method wait. They are what was true when the method was called. */
  hold(method: Method, options?: HoldOptions): Hold;
  /** From now on the method fails with this; undefined: no longer. */
  fail(method: Method, error: unknown): void;
  /** The connections that the store says it has had. */
  connections: number;
}

export function holdBack(real: Store): HeldStore {
  const holds = new Map<Method, HoldOptions & { readonly waiting: (() => void)[] }>();
  const failures = new Map<Method, unknown>();
  const asked = { revision: 0, changes: 0, get: 0, commit: 0, snapshot: 0, scan: 0 };

  async function held(method: Method, ask: () => unknown): Promise<unknown> {
    const hold = holds.get(method)!;
    const answer = hold.before ? undefined : ask();
    await new Promise<void>((resolve) => hold.waiting.push(resolve));
    return hold.before ? ask() : answer;
  }

  const methods = Object.keys(asked).map((name) => {
    const method = name as Method;
    const call = (...parameters: unknown[]) => {
      asked[method]++;
      const ask = () => {
        if (failures.has(method)) throw failures.get(method);
        return Reflect.apply(Reflect.get(real, method) as (...of: unknown[]) => unknown, real, parameters);
      };
      const hold = holds.get(method);
      return hold && (hold.only?.(...parameters) ?? true) ? held(method, ask) : ask();
    };
    return [method, call] as const;
  });
  const own = new Map<string | symbol, unknown>(methods);

  const result: HeldStore = {
    store: new Proxy(real, {
      get(target, name) {
        if (name === 'connections') return result.connections;
        const value = own.get(name) ?? Reflect.get(target, name);
        return typeof value === 'function' && !own.has(name) ? value.bind(target) : value;
      },
    }),
    asked,
    hold(method, options) {
      const hold = { ...options, waiting: [] as (() => void)[] };
      holds.set(method, hold);
      return {
        get waiting() {
          return hold.waiting.length;
        },
        one: () => hold.waiting.shift()?.(),
        release() {
          if (holds.get(method) === hold) holds.delete(method);
          for (const go of hold.waiting.splice(0)) go();
        },
      };
    },
    fail(method, error) {
      if (error === undefined) failures.delete(method);
      else failures.set(method, error);
    },
    connections: 1,
  };
  return result;
}
