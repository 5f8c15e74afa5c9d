/** What the service tells of itself at `/metrics`. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Meter, ObservableResult } from '@opentelemetry/api';
import type { TimeSlice } from '../../runtime/time-slice.ts';
import type { Figure, Labels, Sample } from './prometheus.ts';
import { contentType, Histogram, linesOf } from './prometheus.ts';

/** Milliseconds between looks at the event loop. */
const resolution = 10;
const linesOfPiece = 1_000;
/** Upper bounds of the writes in a transaction. */
const batches = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_000];

/** What the semantic conventions of OpenTelemetry call otherwise. */
const conventional = new Map([
  [
    'kindred_http_request_duration_seconds',
    {
      name: 'http.server.request.duration',
      labels: { method: 'http.request.method', route: 'http.route', status: 'http.response.status_code' },
    },
  ],
]);

/** Samples with the labels of these names. */
type Collect<L extends string> = () => Iterable<LabelledSample<L>> | Promise<Iterable<LabelledSample<L>>>;

interface LabelledSample<L extends string> extends Sample {
  readonly labels?: Labels<L>;
}

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
  readonly #batches = new Histogram('kindred_commit_writes', 'Writes in one transaction', ['outcome'], batches);
  readonly #figures: Figure[] = [];
  readonly #delay = monitorEventLoopDelay({ resolution });
  readonly #meter: Meter | undefined;
  readonly #stopExporting: (() => void)[] = [];

  /** @param meter of OpenTelemetry, which gets everything too */
  constructor(meter?: Meter) {
    this.#meter = meter;
    for (const histogram of [
      this.#reconcileLatency,
      this.#reconcileDuration,
      this.#durations,
      this.#commits,
      this.#batches,
    ]) {
      this.#add(histogram);
      if (meter) record(histogram, meter);
    }
    this.#delay.enable();
    this.gauge(
      'kindred_event_loop_delay_seconds',
      'Delay of the event loop since the last scrape',
      ['quantile'],
      () => {
        const samples = [0.5, 0.99, 0.999].map((quantile) => ({
          labels: { quantile },
          // Node measures the time from tick to tick, the resolution included.
          value: Math.max(0, this.#delay.percentile(quantile * 100) / 1e9 - resolution / 1e3),
        }));
        this.#delay.reset();
        return samples;
      },
    );
    this.gauge('process_resident_memory_bytes', 'Resident memory', [], () => [{ value: process.memoryUsage.rss() }]);
    this.gauge('process_heap_bytes', 'Used heap of the JavaScript engine', [], () => [
      { value: process.memoryUsage().heapUsed },
    ]);
    this.gauge('process_cpu_seconds_total', 'User and system CPU time', [], () => {
      const { user, system } = process.cpuUsage();
      return [{ value: (user + system) / 1e6 }];
    });
    this.gauge('process_uptime_seconds', 'Time since the process began', [], () => [{ value: process.uptime() }]);
  }

  /** Seconds from the head of a request to its answer. */
  observe(method: string, route: string, status: number, seconds: number): void {
    this.#durations.observe(seconds, method, route, status);
  }

  /** @param stored of the writes in the transaction */
  observeCommit(seconds: number, stored: number, writes: number): void {
    const outcome = stored > 0 ? 'stored' : 'none stored';
    this.#commits.observe(seconds, outcome);
    this.#batches.observe(writes, outcome);
  }

  /** Seconds from a change to the call of a controller, and of the call itself. */
  observeReconcile(controller: string, outcome: string, latency: number, duration: number): void {
    this.#reconcileLatency.observe(latency, controller);
    this.#reconcileDuration.observe(duration, controller, outcome);
  }

  /**
   * A gauge whose values are asked for at every scrape.
   * @param labels their names, which `docs/reference/metrics.md` has
   */
  gauge<L extends string>(name: string, help: string, _labels: readonly L[], collect: Collect<L>): void {
    this.#add({ name, help, type: 'gauge', collect });
  }

  /** A counter that somebody else keeps, asked for at every scrape. */
  counter<L extends string>(name: string, help: string, _labels: readonly L[], collect: Collect<L>): void {
    this.#add({ name, help, type: 'counter', collect });
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

  #add(figure: Figure): void {
    this.#figures.push(figure);
    const { name, help: description, type, collect } = figure;
    if (!this.#meter || type === 'histogram') return;
    const options = { description, unit: unitOf(name) };
    const instrument =
      type === 'counter'
        ? this.#meter.createObservableCounter(name, options)
        : this.#meter.createObservableGauge(name, options);
    const callback = async (result: ObservableResult): Promise<void> => {
      for (const { labels, value } of await collect()) {
        if (typeof labels !== 'string') result.observe(value, labels);
      }
    };
    instrument.addCallback(callback);
    this.#stopExporting.push(() => instrument.removeCallback(callback));
  }

  close(): void {
    for (const stop of this.#stopExporting) stop();
    this.#delay.disable();
    this.#figures.length = 0;
  }
}

/** Every value goes to the meter too. */
function record(histogram: Histogram, meter: Meter): void {
  const { name, help: description, buckets } = histogram;
  const known = conventional.get(name);
  const instrument = meter.createHistogram(known?.name ?? name, {
    description,
    unit: unitOf(name),
    advice: { explicitBucketBoundaries: [...buckets] },
  });
  const labelNames: Readonly<Record<string, string>> = known?.labels ?? {};
  histogram.record = (value, labels) => {
    const named = Object.entries(labels).map(([label, one]) => [labelNames[label] ?? label, one]);
    instrument.record(value, Object.fromEntries(named));
  };
}

/** By the Unified Code for Units of Measure. */
function unitOf(name: string): string {
  return /_seconds(?:_total)?$/.test(name) ? 's' : name.endsWith('_bytes') ? 'By' : '1';
}
