/** Figures of the last six hours, for the last hour one sample in five seconds, for `/v3/metrics`: what the console draws without a store of metrics. */
import { monitorEventLoopDelay } from 'node:perf_hooks';

/** What is asked for at each sample. */
export interface Figures {
  readonly revision: number;
  readonly watches: number;
  readonly cacheBytes: number;
  /** Since the start. */
  readonly cacheReads: CacheReads;
}

/** Objects that were found in memory, and those that were read from the store. */
interface CacheReads {
  readonly hits: number;
  readonly misses: number;
}

/** What happened since the sample before, and how things are. */
export interface ServiceSample extends Omit<Figures, 'cacheReads'> {
  /** RFC 3339. */
  readonly time: string;
  /** Objects that this process has written. */
  readonly writes: number;
  /** Answered requests by class of status. */
  readonly requests: Readonly<Record<StatusClass, number>>;
  /** Milliseconds; absent without a commit. */
  readonly commit?: Quantiles;
  /** Milliseconds. */
  readonly eventLoop: Quantiles;
  readonly cache: CacheReads;
  readonly heap: number;
  readonly rss: number;
}

interface Quantiles {
  readonly p50: number;
  readonly p99: number;
}

type StatusClass = '2xx' | '3xx' | '4xx' | '5xx';

/** Milliseconds between two samples. */
export const sampleInterval = 5_000;
/** Milliseconds for which samples are kept. */
export const keptFor = 3_600_000;
/** For longer, so many of them are kept as one. */
const joined = 6;
/** Of the samples, and of the joined ones. */
const most = keptFor / sampleInterval;
/** Commits between two samples whose duration counts; of more, the later ones. */
const mostDurations = 2_000;
/** Milliseconds between looks at the event loop. */
const resolution = 10;

export class Samples {
  readonly #figures: () => Figures;
  readonly #now: () => number;
  readonly #delay = monitorEventLoopDelay({ resolution });
  readonly #timer: NodeJS.Timeout;
  readonly #samples: ServiceSample[] = [];
  readonly #joined: ServiceSample[] = [];
  #taken = 0;
  #cacheReads: CacheReads = { hits: 0, misses: 0 };
  #writes = 0;
  #requests = noRequests();
  #commits = 0;
  readonly #durations = new Float64Array(mostDurations);

  /** @param now milliseconds since the epoch */
  constructor(figures: () => Figures, now: () => number) {
    this.#figures = figures;
    this.#now = now;
    this.#delay.enable();
    this.#timer = setInterval(() => this.take(), sampleInterval).unref();
  }

  answered(status: number): void {
    const digit = Math.floor(status / 100);
    if (digit >= 2 && digit <= 5) this.#requests[`${digit}xx` as StatusClass]++;
  }

  /** @param writes that the commit made durable */
  committed(milliseconds: number, writes: number): void {
    this.#durations[this.#commits++ % mostDurations] = milliseconds;
    this.#writes += writes;
  }

  take(): void {
    const { heapUsed, rss } = process.memoryUsage();
    const durations = this.#durations.slice(0, Math.min(this.#commits, mostDurations)).sort();
    const { cacheReads, ...figures } = this.#figures();
    this.#samples.push({
      time: new Date(this.#now()).toISOString(),
      ...figures,
      writes: this.#writes,
      requests: this.#requests,
      ...(durations.length > 0 && { commit: { p50: quantile(durations, 0.5), p99: quantile(durations, 0.99) } }),
      // Node measures the time from tick to tick, the resolution included.
      eventLoop: { p50: this.#delayAt(50), p99: this.#delayAt(99) },
      cache: {
        hits: cacheReads.hits - this.#cacheReads.hits,
        misses: cacheReads.misses - this.#cacheReads.misses,
      },
      heap: heapUsed,
      rss,
    });
    if (this.#samples.length > most) this.#samples.shift();
    if (++this.#taken % joined === 0) this.#joined.push(join(this.#samples.slice(-joined)));
    if (this.#joined.length > most) this.#joined.shift();
    this.#cacheReads = cacheReads;
    this.#delay.reset();
    this.#writes = 0;
    this.#commits = 0;
    this.#requests = noRequests();
  }

  /** Those of the last milliseconds, oldest first; of more than an hour, joined ones. */
  within(milliseconds: number): { readonly interval: number; readonly samples: readonly ServiceSample[] } {
    const isLong = milliseconds > keptFor;
    const interval = isLong ? sampleInterval * joined : sampleInterval;
    return { interval, samples: (isLong ? this.#joined : this.#samples).slice(-Math.ceil(milliseconds / interval)) };
  }

  close(): void {
    clearInterval(this.#timer);
    this.#delay.disable();
  }

  #delayAt(percentile: number): number {
    return Math.max(0, rounded(this.#delay.percentile(percentile) / 1e6 - resolution));
  }
}

/** One sample for several: how things are at its end, the sums of what happened, quantiles of the worst of them. */
function join(samples: readonly ServiceSample[]): ServiceSample {
  const sum = (of: (sample: ServiceSample) => number) => samples.reduce((total, sample) => total + of(sample), 0);
  const worst = (all: readonly Quantiles[]): Quantiles => ({
    p50: Math.max(...all.map(({ p50 }) => p50)),
    p99: Math.max(...all.map(({ p99 }) => p99)),
  });
  const commits = samples.flatMap(({ commit }) => commit ?? []);
  const { commit: _, ...last } = samples.at(-1)!;
  return {
    ...last,
    writes: sum(({ writes }) => writes),
    requests: {
      '2xx': sum(({ requests }) => requests['2xx']),
      '3xx': sum(({ requests }) => requests['3xx']),
      '4xx': sum(({ requests }) => requests['4xx']),
      '5xx': sum(({ requests }) => requests['5xx']),
    },
    ...(commits.length > 0 && { commit: worst(commits) }),
    eventLoop: worst(samples.map(({ eventLoop }) => eventLoop)),
    cache: { hits: sum(({ cache }) => cache.hits), misses: sum(({ cache }) => cache.misses) },
  };
}

function noRequests(): Record<StatusClass, number> {
  return { '2xx': 0, '3xx': 0, '4xx': 0, '5xx': 0 };
}

function quantile(sorted: Float64Array, part: number): number {
  return rounded(sorted[Math.ceil(sorted.length * part) - 1]!);
}

function rounded(milliseconds: number): number {
  return Math.round(milliseconds * 1_000) / 1_000;
}
