/** What the service tells of itself at `/metrics`. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { TimeSlice } from '../../runtime/time-slice.ts';
import type { Figure, Sample } from './prometheus.ts';
import { contentType, Histogram, linesOf } from './prometheus.ts';

/** Milliseconds between looks at the event loop. */
const resolution = 10;
const linesOfPiece = 1_000;

export class Metrics {
  readonly contentType = contentType;
  readonly #reconcileLatency = new Histogram(
    'kindred_controller_latency_seconds',
    'From the change of an object to the call of the controller',
    ['controller'],
  );
  readonly #reconcileDuration = new Histogram(
    'kindred_controller_duration_seconds',
    'Duration of the calls of a controller',
    ['controller', 'outcome'],
  );
  readonly #durations = new Histogram(
    'kindred_http_request_duration_seconds',
    'Time from the head of a request to its answer, by route template',
    ['method', 'route', 'status'],
  );
  readonly #commits = new Histogram(
    'kindred_commit_duration_seconds',
    'Duration of the transactions that made writes durable, or did not',
    ['outcome'],
  );
  readonly #figures: Figure[] = [this.#reconcileLatency, this.#reconcileDuration, this.#durations, this.#commits];
  readonly #delay = monitorEventLoopDelay({ resolution });

  constructor() {
    this.#delay.enable();
    this.gauge('kindred_event_loop_delay_seconds', 'Delay of the event loop since the last scrape', () => {
      const samples = [0.5, 0.99, 0.999].map((quantile) => ({
        labels: { quantile },
        // Node measures the time from tick to tick, the resolution included.
        value: Math.max(0, this.#delay.percentile(quantile * 100) / 1e9 - resolution / 1e3),
      }));
      this.#delay.reset();
      return samples;
    });
    this.gauge('process_resident_memory_bytes', 'Resident memory', () => [{ value: process.memoryUsage.rss() }]);
    this.gauge('process_heap_bytes', 'Used heap of the JavaScript engine', () => [
      { value: process.memoryUsage().heapUsed },
    ]);
    this.gauge('process_cpu_seconds_total', 'User and system CPU time', () => {
      const { user, system } = process.cpuUsage();
      return [{ value: (user + system) / 1e6 }];
    });
    this.gauge('process_uptime_seconds', 'Time since the process began', () => [{ value: process.uptime() }]);
  }

  /** Seconds from the head of a request to its answer. */
  observe(method: string, route: string, status: number, seconds: number): void {
    this.#durations.observe(seconds, method, route, status);
  }

  observeCommit(seconds: number, writes: number): void {
    this.#commits.observe(seconds, writes > 0 ? 'stored' : 'none stored');
  }

  /** Seconds from a change to the call of a controller, and of the call itself. */
  observeReconcile(controller: string, outcome: string, latency: number, duration: number): void {
    this.#reconcileLatency.observe(latency, controller);
    this.#reconcileDuration.observe(duration, controller, outcome);
  }

  /** A gauge whose values are asked for at every scrape. */
  gauge(name: string, help: string, collect: Figure['collect']): void {
    this.#figures.push({ name, help, type: 'gauge', collect });
  }

  /** A counter that somebody else keeps, asked for at every scrape. */
  counter(name: string, help: string, collect: () => Iterable<Sample>): void {
    this.#figures.push({ name, help, type: 'counter', collect });
  }

  /** All figures, in pieces of a text: with many routes there are many lines. */
  async text(slice: TimeSlice): Promise<Buffer[]> {
    const pieces: Buffer[] = [];
    for (const figure of [...this.#figures]) {
      const lines = await linesOf(figure, slice);
      if (pieces.length > 0) lines.unshift('');
      for (let at = 0; at < lines.length; at += linesOfPiece) {
        pieces.push(Buffer.from(`${lines.slice(at, at + linesOfPiece).join('\n')}\n`));
        if (slice.isOver) await slice.renew();
      }
    }
    return pieces;
  }

  close(): void {
    this.#delay.disable();
    this.#figures.length = 0;
  }
}
