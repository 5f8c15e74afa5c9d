/** What a process under test says of itself: processor time, memory, delay of its event loop. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

export interface Usage {
  /** Microseconds of processor time of the whole process since it began, its threads included. */
  readonly cpu: number;
}

export interface Memory {
  readonly rss: number;
  /** Heap in use and what it holds outside. */
  readonly heap: number;
}

export interface Delay {
  /** Milliseconds that a turn came late. */
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
}

const resolution = 1;

export function meter() {
  const delay = monitorEventLoopDelay({ resolution });
  delay.enable();
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  return {
    usage(): Usage {
      const { user, system } = process.cpuUsage();
      return { cpu: user + system };
    },
    /** As it is, or with `collect` after everything unreachable is gone. */
    memory({ collect }: { collect: boolean }): Memory {
      if (collect) for (let i = 0; i < 2; i++) collectGarbage();
      const { rss, heapUsed, external } = process.memoryUsage();
      return { rss, heap: heapUsed + external };
    },
    /** Since the last call. */
    delay(): Delay {
      const at = (percent: number): number => Math.max(0, delay.percentile(percent) / 1e6 - resolution);
      const result = { p50: at(50), p99: at(99), p999: at(99.9), max: Math.max(0, delay.max / 1e6 - resolution) };
      delay.reset();
      return result;
    },
  };
}
