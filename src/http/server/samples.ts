/** Figures of the last hour, one sample in five seconds, for `/v3/metrics`: what the console draws without a store of metrics. */
import { monitorEventLoopDelay } from 'node:perf_hooks';

/** What is asked for at each sample. */
export interface Figures {
  readonly revision: number;
  readonly watches: number;
  readonly cacheBytes: number;
}

/** What happened since the sample before, and how things are. */
export interface ServiceSample extends Figures {
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
    this.#samples.push({
      time: new Date(this.#now()).toISOString(),
      ...this.#figures(),
      writes: this.#writes,
      requests: this.#requests,
      ...(durations.length > 0 && { commit: { p50: quantile(durations, 0.5), p99: quantile(durations, 0.99) } }),
      // Node measures the time from tick to tick, the resolution included.
      eventLoop: { p50: this.#delayAt(50), p99: this.#delayAt(99) },
      heap: heapUsed,
      rss,
    });
    if (this.#samples.length > most) this.#samples.shift();
    this.#delay.reset();
    this.#writes = 0;
    this.#commits = 0;
    this.#requests = noRequests();
  }

  /** Those of the last milliseconds, oldest first. */
  within(milliseconds: number): readonly ServiceSample[] {
    return this.#samples.slice(-Math.ceil(milliseconds / sampleInterval));
  }

  close(): void {
    clearInterval(this.#timer);
    this.#delay.disable();
  }

  #delayAt(percentile: number): number {
    return Math.max(0, rounded(this.#delay.percentile(percentile) / 1e6 - resolution));
  }
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
