/** Measurements of the service since the overview was opened first, one sample in five seconds, from `/metrics`. */
import { onScopeDispose, shallowRef } from 'vue';
import { send } from './client.ts';

/** Names of samples with their labels, as the format of Prometheus has them. */
type Measured = ReadonlyMap<string, number>;

export interface Sample {
  /** Milliseconds. */
  readonly time: number;
  readonly revision: number;
  readonly watches: number;
  readonly writesPerSecond: number;
  /** By class of status: `2xx`. */
  readonly requestsPerSecond: Readonly<Record<string, number>>;
  /** Milliseconds. */
  readonly eventLoop: number;
  readonly heap: number;
  readonly rss: number;
}

const every = 5_000;
/** An hour. */
const most = 720;

export const samples = shallowRef<readonly Sample[]>([]);
export const failingControllers = shallowRef<readonly string[]>([]);
/** False when the reader may not see them. */
export const mayMeasure = shallowRef(true);

let before: { readonly time: number; readonly measured: Measured } | undefined;

/** Measures as long as the component is there and the tab is in sight. */
export function useFigures(): void {
  const controller = new AbortController();
  const timer = setInterval(() => {
    if (!document.hidden) void measure(controller.signal);
  }, every);
  void measure(controller.signal);
  onScopeDispose(() => {
    clearInterval(timer);
    controller.abort();
  });
}

async function measure(signal: AbortSignal): Promise<void> {
  const response = await send('/metrics', { signal }).catch(() => undefined);
  mayMeasure.value = response?.status !== 403;
  if (!response?.ok) return;
  const measured = parse(await response.text().catch(() => ''));
  const now = { time: Date.now(), measured };
  failingControllers.value = labelled(measured, 'kindred_controller_last_error', 'controller');
  samples.value = [...samples.value, sampleOf(now, before ?? now)].slice(-most);
  before = now;
}

type Reading = NonNullable<typeof before>;

function sampleOf(now: Reading, last: Reading): Sample {
  const seconds = Math.max(1, (now.time - last.time) / 1_000);
  const value = (name: string) => now.measured.get(name) ?? 0;
  const rate = (of: (measured: Measured) => number) => Math.max(0, of(now.measured) - of(last.measured)) / seconds;
  const classes = ['2xx', '3xx', '4xx', '5xx'];
  return {
    time: now.time,
    revision: value('kindred_revision'),
    watches: value('kindred_watches'),
    writesPerSecond: rate((measured) => measured.get('kindred_revision') ?? 0),
    requestsPerSecond: Object.fromEntries(classes.map((one) => [one, rate((measured) => answered(measured, one[0]!))])),
    eventLoop: value('kindred_event_loop_delay_seconds{quantile="0.99"}') * 1_000,
    heap: value('process_heap_bytes'),
    rss: value('process_resident_memory_bytes'),
  };
}

function answered(measured: Measured, digit: string): number {
  let sum = 0;
  for (const [name, count] of measured) {
    const isCount = name.startsWith('kindred_http_request_duration_seconds_count{');
    if (isCount && name.includes(`status="${digit}`)) sum += count;
  }
  return sum;
}

/** The values of a label where the measurement is not zero. */
function labelled(measured: Measured, name: string, label: string): string[] {
  return [...measured]
    .filter(([one, value]) => one.startsWith(`${name}{`) && value > 0)
    .map(([one]) => new RegExp(`${label}="([^"]*)"`).exec(one)?.[1] ?? one);
}

function parse(text: string): Measured {
  const measured = new Map<string, number>();
  for (const line of text.split('\n')) {
    const end = line.lastIndexOf(' ');
    if (end > 0 && !line.startsWith('#') && !line.includes('_bucket{')) {
      measured.set(line.slice(0, end), Number(line.slice(end + 1)));
    }
  }
  return measured;
}
