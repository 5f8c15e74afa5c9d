/** What a start shows of the indexes while it builds them. */
import { countOf } from './count.ts';
import type { Progress } from './progress.ts';
import { atIntervals } from './progress.ts';

type Shown = Pick<Progress, 'update' | 'stop'>;

/** Milliseconds. */
interface Times {
  readonly look: number;
  /** A build that is done sooner is not shown. */
  readonly patience: number;
}

/**
 * Shows the builds of all models together.
 * @param building objects whose index entries are made, and all there are
 * @param open begins to show progress
 * @returns ends it
 */
export function showBuilding(
  building: () => { readonly done: number; readonly objects: number },
  open: (title: string) => Shown,
  { look, patience }: Times = { look: 100, patience: 500 },
): () => void {
  let progress: Shown | undefined;
  let since: number | undefined;
  const timer = setInterval(() => {
    const { done, objects } = building();
    if (done === objects) return;
    since ??= performance.now();
    if (performance.now() - since < patience) return;
    const counted = countOf(objects, 'object');
    progress ??= open(`Building the indexes of ${counted}…`);
    const part = done / objects;
    progress.update(part, `${Math.floor(part * 100)} % of the indexes of ${counted}`);
  }, look);
  return () => {
    clearInterval(timer);
    progress?.stop(`The indexes of ${countOf(building().objects, 'object')} are built`);
  };
}

/** Progress for those who read the log: its beginning, a line every five seconds, its end. */
export function logged(log: (text: string) => void): (title: string) => Shown {
  return (title) => {
    const seldom = atIntervals(log);
    log(title);
    return { update: (_done, text) => seldom(text), stop: log };
  };
}
