/** Figures in the text format of Prometheus, version 0.0.4 (https://prometheus.io/docs/instrumenting/exposition_formats). */

import type { TimeSlice } from '../../runtime/time-slice.ts';

export const contentType = 'text/plain; version=0.0.4; charset=utf-8';

/** One value of a figure. */
export interface Sample {
  /** Follows the name of the figure: `_sum`, `_count` and `_bucket` of a histogram. */
  readonly suffix?: string;
  /** As a record, or as the text of them. */
  readonly labels?: Labels | string;
  readonly value: number;
}

export type Labels<L extends string = string> = Readonly<Record<L, string | number>>;

export interface Figure {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** Asked for at each scrape. */
  collect(): Iterable<Sample> | Promise<Iterable<Sample>>;
}

/** A figure with its samples. Of samples with the same labels the last one counts. */
export async function linesOf({ name, help, type, collect }: Figure, slice: TimeSlice): Promise<string[]> {
  const lines = [`# HELP ${name} ${escaped(help)}`, `# TYPE ${name} ${type}`];
  const places = new Map<string, number>();
  for (const { suffix = '', labels = '', value } of await collect()) {
    const text = typeof labels === 'string' ? labels : textOf(labels);
    const series = text === '' ? name + suffix : `${name}${suffix}{${text}}`;
    const place = places.get(series) ?? lines.length;
    places.set(series, place);
    lines[place] = `${series} ${value}`;
    if (slice.isOver) await slice.renew();
  }
  return lines;
}

function textOf(labels: Labels): string {
  const pairs = Object.entries(labels).map(([key, text]) => `${key}="${escaped(String(text)).replaceAll('"', '\\"')}"`);
  return pairs.join(',');
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}

/** Upper bounds of durations, seconds. */
const durations = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

interface Series {
  readonly counts: number[];
  sum: number;
}

type Tree = Map<string | number, Tree | Series>;

/** Told of each value, with the labels by name. */
type Recorder = (value: number, labels: Record<string, string | number>) => void;

/** Values by labels, counted in buckets. The series of known labels is found without making a key of them: that would cost more than the rest. */
export class Histogram implements Figure {
  readonly type = 'histogram';
  readonly name: string;
  readonly help: string;
  /** Upper bounds, ascending. */
  readonly buckets: readonly number[];
  readonly #labelNames: readonly string[];
  readonly #bounds: readonly string[];
  /** Besides the own series. */
  record: Recorder | undefined;
  readonly #tree: Tree = new Map();
  readonly #series: { readonly labels: string; readonly series: Series }[] = [];

  constructor(name: string, help: string, labelNames: readonly string[], buckets: readonly number[] = durations) {
    this.name = name;
    this.help = help;
    this.buckets = buckets;
    this.#labelNames = labelNames;
    this.#bounds = [...buckets, '+Inf'].map((le) => textOf({ le }));
  }

  /** @param labels their values, in the order of the names */
  observe(value: number, ...labels: readonly (string | number)[]): void {
    let found: Tree | Series | undefined = this.#tree;
    for (let i = 0; i < labels.length && found; i++) found = (found as Tree).get(labels[i]!);
    const series = (found as Series | undefined) ?? this.#add(labels);
    let bucket = 0;
    const { buckets } = this;
    while (bucket < buckets.length && value > buckets[bucket]!) bucket++;
    series.counts[bucket]!++;
    series.sum += value;
    this.record?.(value, this.#named(labels));
  }

  #add(values: readonly (string | number)[]): Series {
    let tree = this.#tree;
    for (const value of values.slice(0, -1)) {
      const next = (tree.get(value) as Tree | undefined) ?? new Map();
      tree.set(value, next);
      tree = next;
    }
    const series = { counts: new Array<number>(this.buckets.length + 1).fill(0), sum: 0 };
    tree.set(values.at(-1)!, series);
    const labels = textOf(this.#named(values));
    this.#series.push({ labels, series });
    return series;
  }

  #named(values: readonly (string | number)[]): Record<string, string | number> {
    return Object.fromEntries(this.#labelNames.map((name, i) => [name, values[i]!]));
  }

  readonly collect = () => this.#samples();

  *#samples(): Generator<Sample> {
    for (const { labels, series } of this.#series) {
      // Of one moment, however long the one who asks takes for its samples.
      const { sum, counts } = { sum: series.sum, counts: series.counts.slice() };
      let below = 0;
      for (const [i, bound] of this.#bounds.entries()) {
        below += counts[i]!;
        yield { suffix: '_bucket', labels: `${labels},${bound}`, value: below };
      }
      yield { suffix: '_sum', labels, value: sum };
      yield { suffix: '_count', labels, value: below };
    }
  }
}
