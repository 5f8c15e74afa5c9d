/**
 * The console in a browser over the 135,233 cities of the atlas: its sizes, how long a reader waits, and whether frames come on
 * time while the page changes. `npm run build && node bench/console.ts [--seconds 60] [--runs 5] [--write]`; exit code 1 when a figure
 * is above its limit. The service runs compiled in a process of its own; the browser has the same cores. Frames are compared with
 * those of an empty page in the same minutes, because a loaded machine misses some of these too.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { createService, defineModel, definePlugin, Type } from 'kindred';
import { createClient, modelOf } from 'kindred/client';
import type { Browser, CDPSession, Page } from 'playwright-core';
import { chromium } from 'playwright-core';
import { cities, cityCount } from '../examples/atlas/data.ts';
import type { ConsoleManifest } from '../scripts/build-console.ts';
import { budgets, sizeOf } from '../scripts/check-console.ts';
import { figure, shown } from './figures.ts';
import { answer, Remote } from './remote.ts';

const { values: options } = parseArgs({
  options: {
    role: { type: 'string' },
    folder: { type: 'string' },
    seconds: { type: 'string', default: '60' },
    runs: { type: 'string', default: '5' },
    browser: { type: 'string', default: '/usr/bin/chromium' },
    write: { type: 'boolean', default: false },
  },
});
const root = resolve(import.meta.dirname, '..');
const runs = Number(options.runs);
const changesPerSecond = 100;
const rowsOfLivePage = 100;
const formFields = 300;
const branches = 80;

const cityModel = modelOf({
  group: 'atlas.example.com',
  version: 'v1alpha1',
  kind: 'City',
  singular: 'city',
  plural: 'cities',
});
const list = '/console/objects/cities.atlas.example.com';
const rowSelector = '[role=grid] [role=row][data-name]';

interface Row {
  readonly what: string;
  readonly limit: string;
  readonly measured: string;
  readonly isKept: boolean;
}

async function serve(folder: string): Promise<void> {
  const Wide = defineModel({
    gvk: { group: 'bench.example.com', version: 'v1', kind: 'Wide', singular: 'wide', plural: 'wides' },
    spec: Type.Object({
      ...Object.fromEntries(
        Array.from({ length: formFields }, (_, at) => [`field${at}`, Type.String({ maxLength: 100 })]),
      ),
      choice: Type.Union(
        Array.from({ length: branches }, (_, at) =>
          Type.Object({ type: Type.Literal(`kind${at}`), value: Type.Integer({ minimum: at }) }),
        ),
      ),
    }),
    indexes: () => [],
  });
  const service = await createService({
    database: `sqlite:${join(folder, 'bench.db')}`,
    port: 0,
    auth: false,
    plugins: [
      join(root, 'examples', 'atlas'),
      { name: 'wide', plugin: definePlugin({ start: ({ schemeManager }) => void schemeManager.register(Wide) }) },
    ],
  });
  const { url } = await service.start();
  answer({ url: () => url }, () => service.stop());
}

async function measure(url: string, browser: Browser): Promise<Row[]> {
  return [
    ...sizes(),
    ...(await firstList(browser, url)),
    ...(await readersActions(browser, url)),
    ...(await scrolling(browser, url)),
    ...(await exporting(browser, url)),
    ...(await typing(browser, url)),
    ...(await liveFrames(browser, url)),
  ];
}

function sizes(): Row[] {
  const { loads } = JSON.parse(readFileSync(join(root, 'dist', 'console', 'manifest.json'), 'utf8')) as ConsoleManifest;
  return budgets.map((budget) => {
    const size = sizeOf(budget, loads);
    return {
      what: `${budget.name}, JavaScript and CSS after gzip`,
      limit: `≤ ${budget.limit} kB`,
      measured: `${size.toFixed(1)} kB`,
      isKept: size <= budget.limit,
    };
  });
}

interface Line {
  readonly name: string;
  /** Bits a second. */
  readonly rate: number;
  /** Milliseconds of each round trip. */
  readonly latency: number;
  readonly slowDown: number;
}

const loopback: Line = { name: 'processor 4× slower, 20 Mbit/s', rate: 20e6, latency: 0, slowDown: 4 };
/** As browsers' developer tools have it: 150 ms and 1.6 Mbit/s with what the connection adds. */
const fast3g: Line = { name: 'Fast 3G (1.44 Mbit/s, 563 ms)', rate: 1.44e6, latency: 562.5, slowDown: 1 };

/** From the start of the navigation to rows in the document, with nothing in the cache and with everything. */
async function firstList(browser: Browser, url: string): Promise<Row[]> {
  const rows: Row[] = [];
  for (const [line, limit, warmLimit] of [
    [loopback, 1_500, 500],
    [fast3g, 4_000, undefined],
  ] as const) {
    const cold: number[] = [];
    const warm: number[] = [];
    for (let run = 0; run < runs; run++) {
      const { page, session, close } = await tab(browser);
      await slowed(session, line);
      cold.push(await untilRows(page, url + list));
      warm.push(await untilRows(page, url + list));
      await close();
    }
    rows.push(atMost(`first list of ${cityCount.toLocaleString('en')} cities, ${line.name}, cold`, cold, limit));
    if (warmLimit) rows.push(atMost(`the same, warm`, warm, warmLimit));
  }
  return rows;
}

async function slowed(session: CDPSession, { rate, latency, slowDown }: Line): Promise<void> {
  const throughput = rate / 8;
  await session.send('Network.enable');
  await session.send('Network.emulateNetworkConditions', {
    offline: false,
    latency,
    downloadThroughput: throughput,
    uploadThroughput: throughput,
  });
  await session.send('Emulation.setCPUThrottlingRate', { rate: slowDown });
}

/** Milliseconds. */
async function untilRows(page: Page, address: string): Promise<number> {
  await page.goto(address, { waitUntil: 'commit' });
  return page.evaluate<number>(`new Promise((resolve) => {
    const look = () => {
      if (document.querySelector('${rowSelector}')) resolve(performance.now());
      else requestAnimationFrame(look);
    };
    look();
  })`);
}

/** Each from its event to the frame in which other rows are on the page. */
async function readersActions(browser: Browser, url: string): Promise<Row[]> {
  const { page, close } = await tab(browser);
  await page.goto(`${url}${list}?sort=metadata.name,asc`);
  await page.locator(rowSelector).first().waitFor();
  const click = (name: string, role = 'button') =>
    `[...document.querySelectorAll('${role}')].find((one) => (one.ariaLabel ?? one.textContent).trim() === '${name}').click()`;
  const apply = (selector: string) => `(() => {
    const field = [...document.querySelectorAll('input')].find((one) => one.labels?.[0]?.textContent.trim() === 'Field selector');
    field.value = '${selector}';
    field.dispatchEvent(new Event('input', { bubbles: true }));
    field.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true }));
    field.form?.requestSubmit();
  })()`;
  const header = (path: string) => `document.querySelector('[role=columnheader][aria-label="${path}"] button').click()`;
  const times: Record<'sort' | 'filter' | 'page', number[]> = { sort: [], filter: [], page: [] };
  const timed = async (kind: keyof typeof times, action: string) => times[kind].push(await toOtherRows(page, action));
  for (let run = 0; run < runs; run++) {
    await timed('sort', header('spec.population'));
    await timed('sort', header('spec.population'));
    await timed('page', click('Last page'));
    await timed('page', click('Previous page'));
    await timed('page', click('First page'));
    await timed('filter', apply('spec.country=FR'));
    await timed('filter', apply('spec.country=IS,spec.population>1000'));
    await timed('filter', apply(''));
    await timed('sort', header('spec.population'));
  }
  await close();
  return Object.entries(times).map(([kind, all]) =>
    atMost(`${kind} of ${cityCount.toLocaleString('en')} rows`, all, 150),
  );
}

/** Milliseconds. */
function toOtherRows(page: Page, action: string): Promise<number> {
  return page.evaluate<number>(`new Promise((resolve, reject) => {
    const names = () => [...document.querySelectorAll('${rowSelector}')].slice(0, 3).map((row) => row.dataset.name).join();
    const before = names();
    const begin = performance.now();
    const look = () => {
      if (names() !== before) resolve(performance.now() - begin);
      else if (performance.now() - begin > 5_000) reject(new Error('the rows stay as they are after ' + ${JSON.stringify(action)}));
      else requestAnimationFrame(look);
    };
    ${action};
    requestAnimationFrame(look);
  })`);
}

async function scrolling(browser: Browser, url: string): Promise<Row[]> {
  const { page, close } = await tab(browser);
  await page.goto(`${url}${list}?size=1000&sort=metadata.name,asc`);
  await page.locator(rowSelector).first().waitFor();
  const inDocument = await page.locator(rowSelector).count();
  const blank = await frames(browser, 3_000);
  const { deltas } = await gathered(page, async () => {
    await page.evaluate(`(async () => {
      const scroller = document.querySelector('${rowSelector}').closest('[role=grid]');
      const box = scroller.scrollHeight > scroller.clientHeight ? scroller : scroller.parentElement;
      for (let at = 0; at < box.scrollHeight; at += 240) {
        box.scrollTop = at;
        await new Promise(requestAnimationFrame);
      }
    })()`);
  });
  await close();
  return [
    {
      what: 'page of 1,000 rows: rows in the document',
      limit: '≤ 60',
      measured: String(inDocument),
      isKept: inDocument <= 60,
    },
    frameRow('page of 1,000 rows while it scrolls, frames p95', deltas, blank, 20),
  ];
}

/** All cities to a file, while the tab stays small. */
async function exporting(browser: Browser, url: string): Promise<Row[]> {
  const { page, session, close } = await tab(browser);
  await page.goto(`${url}${list}?size=1000`);
  await page.locator(rowSelector).first().waitFor();
  let most = 0;
  const looking = setInterval(() => {
    void session.send('Runtime.getHeapUsage').then(({ totalSize }) => {
      most = Math.max(most, totalSize);
    });
  }, 100);
  const begin = performance.now();
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Export' }).click();
  await page.getByRole('menuitem', { name: 'NDJSON' }).click();
  await (await download).path();
  const seconds = (performance.now() - begin) / 1_000;
  clearInterval(looking);
  await close();
  return [
    {
      what: `export of ${cityCount.toLocaleString('en')} cities beside a page of 1,000 rows: heap of the tab`,
      limit: '≤ 150 MB',
      measured: `${(most / 1e6).toFixed(0)} MB; ${seconds.toFixed(1)} s`,
      isKept: most <= 150e6,
    },
  ];
}

async function typing(browser: Browser, url: string): Promise<Row[]> {
  const { page, session, close } = await tab(browser);
  await page.goto(`${url}/console/create/wides.bench.example.com`);
  const field = page.getByRole('textbox', { name: 'field7', exact: true });
  await field.fill('a');
  // Processor time of the page, not the time that others take from it.
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  const taskTime = async () => {
    const { metrics } = await session.send('Performance.getMetrics');
    return metrics.find(({ name }) => name === 'TaskDuration')!.value * 1_000;
  };
  const times: number[] = [];
  for (let stroke = 0; stroke < 40; stroke++) {
    // What runs after the rest between strokes is not part of the next one.
    await page.waitForTimeout(250);
    const begin = await taskTime();
    // Not `field.press`: to find the field again by its name among 300 costs the page more than the key does.
    await page.keyboard.press('b');
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => setTimeout(done)))');
    times.push((await taskTime()) - begin);
  }
  await close();
  return [atMost(`form of ${formFields} fields and ${branches} branches: work of a key stroke`, times, 16)];
}

async function liveFrames(browser: Browser, url: string): Promise<Row[]> {
  const { page, session, close } = await tab(browser);
  const client = createClient({ url }).for(cityModel);
  const order = 'sort=spec.population,desc';
  await page.goto(`${url}${list}?size=${rowsOfLivePage}&${order}`);
  await page.getByRole('status', { name: 'Connection' }).getByText('Live').waitFor();
  const { items } = await client.list({ sort: ['spec.population,desc'], size: rowsOfLivePage });
  const populations = items.map(({ metadata, spec }) => ({
    name: metadata.name,
    population: (spec as { population: number }).population,
  }));
  const stop = new AbortController();
  const begin = performance.now();
  const written = writing(stop.signal, async (count) => {
    const { name, population } = populations[(count * 37) % populations.length]!;
    // Up to a twentieth more or less: rows change places with their neighbours.
    const changed = Math.round(population * (0.95 + ((count * 7) % 100) / 1_000));
    await client.patch(name, { spec: { population: changed } });
  });
  const seconds = Number(options.seconds);
  const before = await frames(browser, (seconds / 6) * 1_000);
  await heapOf(session);
  const heaps: number[] = [];
  const { deltas, longest } = await gathered(page, async () => {
    for (let part = 0; part < 6; part++) {
      await page.waitForTimeout((seconds / 6) * 1_000);
      heaps.push(await heapOf(session));
    }
  });
  const after = await frames(browser, (seconds / 6) * 1_000);
  stop.abort();
  const rate = (await written) / ((performance.now() - begin) / 1_000);
  await close();
  const half = heaps.slice(heaps.length / 2);
  const growth = figure(half).median - figure(heaps.slice(0, heaps.length / 2)).median;
  const what = `${Math.round(rate)} changes a second on a live page of ${rowsOfLivePage} rows for ${seconds} s`;
  return [
    frameRow(`${what}: frames p95`, deltas, [...before, ...after], 17),
    {
      what: 'the same: longest task',
      limit: '≤ 100 ms',
      measured: `${longest.toFixed(0)} ms`,
      isKept: longest <= 100,
    },
    {
      what: 'the same: heap after a collection, second half to first half',
      limit: '≤ +1 MB',
      measured: `${(growth / 1e6).toFixed(2)} MB of ${(figure(half).median / 1e6).toFixed(1)} MB`,
      isKept: growth <= 1e6,
    },
  ];
}

/** Calls at a steady rate, each at its time; resolves to their number. */
async function writing(signal: AbortSignal, write: (count: number) => Promise<unknown>): Promise<number> {
  const begin = performance.now();
  const pending = new Set<Promise<unknown>>();
  let count = 0;
  while (!signal.aborted) {
    const due = ((performance.now() - begin) / 1_000) * changesPerSecond;
    for (; count < due; count++) {
      const one = write(count).finally(() => pending.delete(one));
      pending.add(one);
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  await Promise.all(pending);
  return count;
}

async function heapOf(session: CDPSession): Promise<number> {
  await session.send('HeapProfiler.collectGarbage');
  return (await session.send('Runtime.getHeapUsage')).usedSize;
}

/** Milliseconds between the frames of an empty page. */
async function frames(browser: Browser, milliseconds: number): Promise<number[]> {
  const { page, close } = await tab(browser);
  const { deltas } = await gathered(page, () => page.waitForTimeout(milliseconds));
  await close();
  return deltas;
}

/** Milliseconds between frames, and the longest task, while something runs. */
async function gathered(page: Page, run: () => Promise<unknown>): Promise<{ deltas: number[]; longest: number }> {
  await page.evaluate(`{
    const seen = globalThis.benchFrames = { deltas: [], longest: 0, isOver: false };
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) seen.longest = Math.max(seen.longest, duration);
    }).observe({ type: 'longtask' });
    let last = performance.now();
    const frame = (now) => {
      if (seen.isOver) return;
      seen.deltas.push(now - last);
      last = now;
      requestAnimationFrame(frame);
    };
    requestAnimationFrame((now) => { last = now; requestAnimationFrame(frame); });
  }`);
  await run();
  return page.evaluate('(benchFrames.isOver = true, benchFrames)');
}

async function tab(browser: Browser): Promise<{ page: Page; session: CDPSession; close(): Promise<void> }> {
  const context = await browser.newContext({ locale: 'en-US', viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  return { page, session: await context.newCDPSession(page), close: () => context.close() };
}

function atMost(what: string, milliseconds: readonly number[], limit: number): Row {
  const found = figure(milliseconds);
  return { what, limit: `≤ ${limit} ms`, measured: `${shown(found, 0)} ms`, isKept: found.median <= limit };
}

/** Kept, too, when an empty page has no better frames at the same time. */
function frameRow(what: string, deltas: readonly number[], blank: readonly number[], limit: number): Row {
  const [found, without] = [quantile(deltas, 0.95), quantile(blank, 0.95)];
  return {
    what,
    limit: `≤ ${limit} ms`,
    measured: `${found.toFixed(1)} ms; empty page ${without.toFixed(1)} ms`,
    isKept: found <= Math.max(limit, without),
  };
}

function quantile(values: readonly number[], part: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) * part)]!;
}

function table(rows: readonly Row[]): string {
  const line = ({ what, limit, measured, isKept }: Row) =>
    `| ${what} | ${limit} | ${measured} | ${isKept ? 'yes' : '**no**'} |`;
  return ['| | Goal | Measured | |', '|---|---|---|---|', ...rows.map(line)].join('\n');
}

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'kindred-console-bench-'));
  const service = new Remote('console.ts', ['--role', 'service', '--folder', folder]);
  const browser = await chromium.launch({ executablePath: options.browser, args: ['--no-sandbox', '--disable-gpu'] });
  try {
    const url = await service.ask<string>('url');
    for await (const result of createClient({ url }).import(cityModel, cities())) if (!result.ok) throw result.error;
    const machine = `${cpus().length} cores (${cpus()[0]?.model}), load average ${loadavg()[0]!.toFixed(1)}, Chromium ${browser.version()}; median of ${runs} runs, lowest and highest in brackets.`;
    const rows = await measure(url, browser);
    const text = `${machine}\n\n${table(rows)}\n`;
    console.log(text);
    if (options.write) {
      const file = join(import.meta.dirname, 'README.md');
      const marked = /<!-- console -->\n[\s\S]*?<!-- \/console -->/;
      writeFileSync(
        file,
        readFileSync(file, 'utf8').replace(marked, () => `<!-- console -->\n${text}<!-- /console -->`),
      );
    }
    if (rows.some(({ isKept }) => !isKept)) process.exitCode = 1;
  } finally {
    await browser.close();
    await service.end();
    rmSync(folder, { recursive: true });
  }
}

if (options.role === 'service') await serve(options.folder!);
else await main();
