import { appendFile, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Controller, ControllerBuilder, ExtensionClient, ReconcileRequest, Reconciler } from 'kindred';
import { Result } from 'kindred';
import type { Condition, LinkStatus } from './link.ts';
import { Link } from './link.ts';
import { request } from './request.ts';

export interface LinkCheckerConfig {
  /** Folder for a file of results for each link; undefined: none is written. */
  history?: string;
  /** Requests at once; default 4. */
  concurrency?: number;
  /** Milliseconds for one request; default 10,000. */
  timeout?: number;
  /** Default false. */
  allowPrivateAddresses?: boolean;
}

/** While it is there, a link's history file is too. */
export const finalizer = 'links.example.com/history';

export class LinkController implements Reconciler {
  readonly #client: ExtensionClient;
  readonly #config: LinkCheckerConfig;
  readonly #now: () => number;

  constructor(client: ExtensionClient, config: LinkCheckerConfig, now: () => number) {
    this.#client = client;
    this.#config = config;
    this.#now = now;
  }

  setupWith(builder: ControllerBuilder): Controller {
    return builder
      .extension(Link)
      .workerCount(this.#config.concurrency ?? 4)
      .maxDelay(60_000)
      .build();
  }

  async reconcile({ name, signal }: ReconcileRequest): Promise<Result | undefined> {
    const link = await this.#client.fetch(Link, name);
    if (!link) return undefined;
    const finalizers = link.metadata.finalizers ?? [];
    if (link.metadata.deletionTimestamp) {
      if (!finalizers.includes(finalizer)) return undefined;
      const file = this.#historyOf(name);
      if (file) await rm(file, { force: true });
      await this.#client.update(Link, {
        ...link,
        metadata: { ...link.metadata, finalizers: finalizers.filter((one) => one !== finalizer) },
      });
      return undefined;
    }
    if (!finalizers.includes(finalizer)) {
      // The change calls this function again.
      await this.#client.update(Link, {
        ...link,
        metadata: { ...link.metadata, finalizers: [...finalizers, finalizer] },
      });
      return undefined;
    }

    const { url, interval = 3_600 } = link.spec;
    const before = link.status?.url === url ? link.status : undefined;
    const due = before ? Math.min(Date.parse(before.nextCheck), Date.parse(before.lastCheck) + interval * 1_000) : 0;
    const now = this.#now();
    if (due > now) return Result.requeue(due - now);

    const { timeout = 10_000, allowPrivateAddresses = false } = this.#config;
    const outcome = await request(url, { timeout, allowPrivateAddresses, signal });
    const time = new Date(this.#now()).toISOString();
    const file = this.#historyOf(name);
    if (file) {
      await mkdir(this.#config.history!, { recursive: true });
      await appendFile(file, `${JSON.stringify({ time, url, ...outcome })}\n`);
    }
    const [known] = before?.conditions ?? [];
    const lastTransitionTime = known?.status === outcome.status ? known.lastTransitionTime : time;
    const condition: Condition = { type: 'Reachable', ...outcome, lastTransitionTime };
    const nextCheck = new Date(Date.parse(time) + interval * 1_000).toISOString();
    const status: LinkStatus = { conditions: [condition], url, lastCheck: time, nextCheck };
    await this.#client.updateStatus(Link, { ...link, status });
    return Result.requeue(interval * 1_000);
  }

  #historyOf(name: string): string | undefined {
    return this.#config.history === undefined ? undefined : join(this.#config.history, `${name}.ndjson`);
  }
}
