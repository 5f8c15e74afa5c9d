/** Figures for Prometheus: one registry for each service (contract section 14, `/metrics`). */
import { createRequire } from 'node:module';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type * as prometheus from 'prom-client';

// By file: the package's index loads a client for push gateways too, with https and OpenTelemetry behind it.
const load = createRequire(import.meta.url);
const Counter: typeof prometheus.Counter = load('prom-client/lib/counter.js');
const Gauge: typeof prometheus.Gauge = load('prom-client/lib/gauge.js');
const Histogram: typeof prometheus.Histogram = load('prom-client/lib/histogram.js');
const Registry: typeof prometheus.Registry = load('prom-client/lib/registry.js');

/** One value of a gauge. */
export interface Sample {
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Upper bounds in seconds. */
const buckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

interface Series {
  readonly labels: { method: string; route: string; status: string };
  readonly counts: number[];
  sum: number;
  count: number;
}

/** Milliseconds between looks at the event loop. */
const resolution = 10;

const durationName = 'kindred_http_request_duration_seconds';

/**
 * The request durations by method, route template and status. prom-client's own Histogram hashes its labels at every
 * observation, which costs more than the rest of a cached GET; this one keeps a series at hand and is read at the scrape.
 */
class RequestDurations {
  readonly name = durationName;
  readonly help = 'Time from the head of a request to its answer, by route template';
  readonly type = 'histogram';
  readonly aggregator = 'sum';
  readonly #series = new Map<string, Map<string, Map<number, Series>>>();

  observe(method: string, route: string, status: number, seconds: number): void {
    const series = this.#series.get(route)?.get(method)?.get(status) ?? this.#add(method, route, status);
    let bucket = 0;
    while (bucket < buckets.length && seconds > buckets[bucket]!) bucket++;
    series.counts[bucket]!++;
    series.sum += seconds;
    series.count++;
  }

  #add(method: string, route: string, status: number): Series {
    const methods = this.#series.get(route) ?? new Map<string, Map<number, Series>>();
    const statuses = methods.get(method) ?? new Map<number, Series>();
    this.#series.set(route, methods);
    methods.set(method, statuses);
    const labels = { method, route, status: String(status) };
    const series = { labels, counts: new Array<number>(buckets.length + 1).fill(0), sum: 0, count: 0 };
    statuses.set(status, series);
    return series;
  }

  async get() {
    const values: { metricName: string; labels: object; value: number }[] = [];
    for (const methods of this.#series.values()) {
      for (const statuses of methods.values()) {
        for (const { labels, counts, sum, count } of statuses.values()) {
          let below = 0;
          for (const [index, le] of [...buckets, '+Inf'].entries()) {
            below += counts[index]!;
            values.push({ metricName: `${durationName}_bucket`, labels: { ...labels, le }, value: below });
          }
          values.push({ metricName: `${durationName}_sum`, labels, value: sum });
          values.push({ metricName: `${durationName}_count`, labels, value: count });
        }
      }
    }
    return { name: durationName, help: this.help, type: this.type, values, aggregator: this.aggregator };
  }

  reset(): void {
    this.#series.clear();
  }
}

export class Metrics {
  /** For counters and histograms of other parts: `new Counter({ …, registers: [metrics.registry] })`. */
  readonly registry = new Registry();
  readonly #durations = new RequestDurations();
  readonly #reconcileLatency = new Histogram({
    name: 'kindred_controller_latency_seconds',
    help: 'From the change of an object to the call of the controller',
    labelNames: ['controller'],
    buckets,
    registers: [this.registry],
  });
  readonly #reconcileDuration = new Histogram({
    name: 'kindred_controller_duration_seconds',
    help: 'Duration of the calls of a controller',
    labelNames: ['controller', 'outcome'],
    buckets,
    registers: [this.registry],
  });
  readonly #delay = monitorEventLoopDelay({ resolution });

  constructor() {
    this.registry.registerMetric(this.#durations as never);
    this.#delay.enable();
    this.gauge(
      'kindred_event_loop_delay_seconds',
      'Delay of the event loop since the last scrape',
      ['quantile'],
      () => {
        const samples = [0.5, 0.99, 0.999].map((quantile) => ({
          labels: { quantile: String(quantile) },
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
    this.#durations.observe(method, route, status, seconds);
  }

  /** Seconds from a change to the call of a controller, and of the call itself. */
  observeReconcile(controller: string, outcome: string, latency: number, duration: number): void {
    this.#reconcileLatency.observe({ controller }, latency);
    this.#reconcileDuration.observe({ controller, outcome }, duration);
  }

  /** A gauge whose values are asked for at every scrape. */
  gauge(
    name: string,
    help: string,
    labelNames: readonly string[],
    collect: () => Iterable<Sample> | Promise<Iterable<Sample>>,
  ): void {
    new Gauge({
      name,
      help,
      labelNames,
      registers: [this.registry],
      async collect() {
        const samples = await collect();
        this.reset();
        for (const { labels = {}, value } of samples) this.set(labels, value);
      },
    });
  }

  /** A counter that somebody else keeps, asked for at every scrape. */
  counter(name: string, help: string, labelNames: readonly string[], collect: () => Iterable<Sample>): void {
    new Counter({
      name,
      help,
      labelNames,
      registers: [this.registry],
      collect() {
        this.reset();
        for (const { labels = {}, value } of collect()) this.inc(labels, value);
      },
    });
  }

  get contentType(): string {
    return this.registry.contentType;
  }

  /** In the text format of Prometheus. */
  text(): Promise<string> {
    return this.registry.metrics();
  }

  close(): void {
    this.#delay.disable();
    this.registry.clear();
  }
}
