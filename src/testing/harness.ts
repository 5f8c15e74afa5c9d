/** A whole service in the test's own process, on a database of its own, for tests of plugins. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ServiceOptions } from '../options.ts';
import type { ExtensionClient } from '../resource/extension-client.ts';
import type { Service } from '../service.ts';
import { createService } from '../service.ts';
import { FakeClock } from './fake-clock.ts';
import type { UntilOptions } from './until.ts';
import { until } from './until.ts';

export interface HarnessOptions extends Omit<ServiceOptions, 'host' | 'port' | 'timers'> {
  /** The database is a file in a temporary folder, so that `restart` finds what was stored. Default false: in memory. */
  persistent?: boolean;
  /** Time stands still until the test calls `clock.advance`. Default: the machine's time. */
  clock?: FakeClock | true;
}

/** As `fetch` takes it, and `json`, which is sent as the body. */
export type HarnessRequest = RequestInit & { json?: unknown };

export interface Harness {
  readonly url: string;
  /** Acts as the service itself: everything is allowed. */
  readonly client: ExtensionClient;
  /** Of a harness with a fake clock. */
  readonly clock: FakeClock;
  /** Printed by the service at its first start when authentication is on; requests of `fetch` carry it unless they carry another. */
  readonly token: string | undefined;
  /** A request over HTTP; the path begins with `/`. */
  fetch(path: string, request?: HarnessRequest): Promise<Response>;
  until<T>(condition: () => T | Promise<T>, options?: UntilOptions): Promise<NonNullable<T>>;
  /** Stops the service and starts it again on the same database, with these plugins instead when they are given. */
  restart(plugins?: ServiceOptions['plugins']): Promise<void>;
  /** Stops the service and removes its database. */
  stop(): Promise<void>;
}

/**
 * Starts a service on a free port, by default in memory and without authentication; resolves when every plugin is
 * started or failed.
 *
 * @example
 * ```ts
 * const harness = await startHarness({ plugins: [{ name: 'library', plugin: Library }] });
 * await harness.client.create(Book, { metadata: { name: 'emma' }, spec: { title: 'Emma' } });
 * await harness.until(async () => (await harness.client.get(Book, 'emma')).status);
 * await harness.stop();
 * ```
 */
export async function startHarness(options: HarnessOptions = {}): Promise<Harness> {
  const { persistent, clock: wanted, ...rest } = options;
  const clock = wanted === true ? new FakeClock() : wanted;
  const folder = persistent ? await mkdtemp(join(tmpdir(), 'kindred-harness-')) : undefined;
  const database = folder === undefined ? 'sqlite::memory:' : `sqlite:${join(folder, 'kindred.db')}`;
  const serviceOptions: ServiceOptions = { auth: false, database, ...rest, host: '127.0.0.1', port: 0, timers: clock };
  let service: Service;
  let url = '';
  let token: string | undefined;

  const start = async (plugins: ServiceOptions['plugins']) => {
    service = await createService({ ...serviceOptions, plugins });
    try {
      const started = await service.start();
      url = started.url;
      token = (started as { administratorToken?: string }).administratorToken ?? token;
    } catch (error) {
      await service.stop();
      throw error;
    }
  };
  try {
    await start(options.plugins);
  } catch (error) {
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
    throw error;
  }

  return {
    get url() {
      return url;
    },
    get client() {
      return service.client;
    },
    get clock() {
      if (!clock) throw new Error('this harness runs on the time of the machine: start it with { clock: true }');
      return clock;
    },
    get token() {
      return token;
    },
    fetch: (path, { json, ...request } = {}) => {
      const headers = new Headers(request.headers);
      if (token !== undefined && !headers.has('authorization')) headers.set('authorization', `Bearer ${token}`);
      if (json !== undefined && !headers.has('content-type')) headers.set('content-type', 'application/json');
      return fetch(url + path, { ...request, headers, body: json === undefined ? request.body : JSON.stringify(json) });
    },
    until,
    restart: async (plugins = options.plugins) => {
      if (!persistent && rest.database === undefined) {
        throw new Error('what is in memory does not outlive a restart: start the harness with { persistent: true }');
      }
      await service.stop();
      await start(plugins);
    },
    stop: async () => {
      await service.stop();
      if (folder !== undefined) await rm(folder, { recursive: true, force: true });
    },
  };
}
