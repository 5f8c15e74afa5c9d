/**
 * The five screens of the design beside their pictures in `pictures/`, light and dark, wide and narrow. With `--take`
 * (`npm run console:baselines`) it makes the pictures. They are of one renderer: with another one the test is skipped.
 */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import pixelmatch from 'pixelmatch';
import type { Page } from 'playwright-core';
import { PNG } from 'pngjs';
import { browserFor, withConsole } from './browser.ts';
import type { Renderer } from './pictures/renderer.ts';
import { rendererOf } from './pictures/renderer.ts';
import { options, screens, signedIn } from './pictures/screens.ts';

const isTaking = process.argv.includes('--take');
const folder = join(import.meta.dirname, 'pictures');
const rendererFile = join(folder, 'renderer.json');
const hint = '"npm run console:baselines" takes new pictures; look at them before you commit them';

/** The share of the pixels that may differ, in every square of that many pixels: one word is more than that. */
const tolerance = 0.002;
const square = 160;
/** Milliseconds without a change, after which a screen is what it is. */
const patience = 2_000;

/** Pixels that differ where most do, and where, as an image; undefined when that is within the tolerance. */
function differenceOf(wanted: PNG, given: PNG): { readonly text: string; readonly image?: PNG } | undefined {
  const { width, height } = wanted;
  if (width !== given.width || height !== given.height)
    return { text: `${given.width} × ${given.height} px instead of ${width} × ${height}` };
  const image = new PNG({ width, height });
  // One renderer draws the same pixels each time: whatever differs was changed.
  const how = { threshold: 0, includeAA: true, windowSize: square };
  const most = pixelmatch(wanted.data, given.data, image.data, width, height, how);
  if (most <= tolerance * square * square) return undefined;
  return { text: `${most} pixels differ within a square of ${square} px`, image };
}

/** As soon as the picture is right, else once it no longer changes. */
async function settled(page: Page, isRight: (picture: PNG) => boolean): Promise<PNG> {
  let before: PNG | undefined;
  let since = 0;
  for (;;) {
    const picture = PNG.sync.read(await page.screenshot());
    if (isRight(picture)) return picture;
    if (!before?.data.equals(picture.data)) since = performance.now();
    else if (performance.now() - since > patience) return picture;
    before = picture;
  }
}

/** The window is as high as the screen is long. */
async function widen(page: Page, width: number): Promise<void> {
  await page.setViewportSize({ width, height: 800 });
  const height = await page.evaluate<number>("document.querySelector('main').scrollHeight + 48");
  await page.setViewportSize({ width, height: Math.max(800, height) });
}

function write(file: string, image: PNG): void {
  // Text has more colours than a palette holds.
  writeFileSync(file, PNG.sync.write(image, { colorType: 2, deflateLevel: 9, deflateStrategy: 0, filterType: 0 }));
}

test('console: five screens look as in their pictures, light and dark, 1280 and 360 px wide', async (context) => {
  const browser = await browserFor(context);
  if (!browser) return;
  const renderer = await rendererOf(browser);
  if (isTaking) writeFileSync(rendererFile, `${JSON.stringify(renderer, undefined, 2)}\n`);
  const known = JSON.parse(readFileSync(rendererFile, 'utf8')) as Renderer;
  if (renderer.probe !== known.probe) {
    context.skip(
      `OTHER RENDERER: the pictures are of Chromium ${known.chromium} with the fonts that it had; Chromium ${renderer.chromium} of this machine draws other pixels. The looks of the console were not tested. ${hint}`,
    );
    return;
  }
  await withConsole(
    context,
    async (at) => {
      const page = await signedIn(at);
      const problems: string[] = [];
      let results: string | undefined;

      const look = async (file: string): Promise<void> => {
        const kept = join(folder, file);
        if (isTaking) return write(kept, await settled(page, () => false));
        const wanted = existsSync(kept) ? PNG.sync.read(readFileSync(kept)) : new PNG();
        const picture = await settled(page, (one) => !differenceOf(wanted, one));
        const difference = differenceOf(wanted, picture);
        if (!difference) return;
        problems.push(`${file}: ${difference.text}`);
        results ??= mkdtempSync(join(tmpdir(), 'kindred-pictures-'));
        write(join(results, file), picture);
        if (difference.image) write(join(results, `difference-${file}`), difference.image);
      };

      for (const { name, open } of screens) {
        await page.setViewportSize({ width: 1280, height: 800 });
        await open(page, at);
        await page.mouse.move(0, 0);
        for (const width of [1280, 360]) {
          await widen(page, width);
          for (const theme of ['light', 'dark'] as const) {
            await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
            await look(`${name}-${theme}-${width}.png`);
          }
        }
      }
      assert.deepEqual(problems, [], `The screens and what differs are in ${results}. ${hint}`);
    },
    options,
  );
});
