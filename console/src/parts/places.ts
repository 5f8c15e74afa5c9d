/** Back and forward lead to where the reader was on that entry of the history: the same scroll position, the same focus. */
import type { Router } from 'vue-router';

interface Place {
  /** How far each of the areas is scrolled. */
  readonly tops: readonly number[];
  /** Selects what had the focus. */
  readonly focus: string | undefined;
}

/** How long a screen may take to show what was there. */
const patience = 3_000;
const places = new Map<number, Place>();
let entry = 0;
let isBack = false;
let waiting: AbortController | undefined;

const positionOf = (): number => (history.state as { position?: number } | null)?.position ?? 0;
/** The screen, and the rows of its grid. */
const areas = () => [...document.querySelectorAll<HTMLElement>('#main, #main :has(> [role=grid])')];

export function rememberPlaces(router: Router): void {
  router.options.history.listen(() => {
    isBack = true;
  });
  router.beforeEach(() => {
    places.set(entry, { tops: areas().map(({ scrollTop }) => scrollTop), focus: selectorOf(document.activeElement) });
  });
  router.afterEach((_to, _from, failure) => {
    waiting?.abort();
    if (!failure) entry = positionOf();
  });
}

/** True when the reader came back, and is being led to where they were. */
export function returnToPlace(): boolean {
  const place = isBack ? places.get(entry) : undefined;
  isBack = false;
  if (!place) return false;
  waiting = new AbortController();
  void lead(place, waiting.signal);
  return place.focus !== undefined;
}

/** Tries once a frame until what had the focus is there again, unless somebody acts first; else the heading gets it. */
async function lead({ tops, focus }: Place, signal: AbortSignal): Promise<void> {
  const until = performance.now() + patience;
  const acted = new AbortController();
  for (const type of ['keydown', 'pointerdown', 'wheel']) {
    addEventListener(type, () => acted.abort(), { once: true, signal: acted.signal });
  }
  while (!signal.aborted && !acted.signal.aborted && performance.now() < until) {
    await new Promise(requestAnimationFrame);
    const found = areas();
    for (const [at, area] of found.entries()) area.scrollTop = tops[at] ?? 0;
    const isThere = tops.every((top, at) => (found[at]?.scrollTop ?? 0) >= top - 1);
    const target = focus === undefined ? undefined : document.querySelector<HTMLElement>(focus);
    if (!isThere || (focus !== undefined && !target)) continue;
    target?.focus({ preventScroll: false });
    break;
  }
  if (document.activeElement === document.body) document.querySelector<HTMLElement>('main h1')?.focus();
  acted.abort();
}

/** Of a link: what stays the same when the screen is drawn again. */
function selectorOf(element: Element | null): string | undefined {
  const href = element?.closest('#main') && element.getAttribute('href');
  return href ? `#main a[href=${JSON.stringify(href)}]` : undefined;
}
