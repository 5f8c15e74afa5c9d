/**
 * What a picture of the console depends on beside the console: fonts, their settings, and how Chromium draws. A page that
 * has nothing of the console is drawn, and the hash of its pixels says which renderer it was.
 */
import { createHash } from 'node:crypto';
import type { Browser } from 'playwright-core';
import { PNG } from 'pngjs';
import { contextOf } from '../browser.ts';

export interface Renderer {
  /** For people: another version may draw the same. */
  readonly chromium: string;
  readonly probe: string;
}

const fonts = ['system-ui, sans-serif', 'ui-monospace, "Cascadia Mono", "SF Mono", Menlo, Consolas, monospace'];
const looks = ['400 12px/16px', '400 13px/20px', '400 14px/20px', '600 14px/20px', '600 20px/28px', '600 24px/32px'];
const text = 'Sphinx of black quartz, judge my vow · 0123456789 “ä é ß” − ≥ ✕ … ▸ {}[]@#';

const themed = (theme: string) => `<section style="color-scheme: ${theme}; background: Canvas; color: CanvasText">
  ${fonts.flatMap((font) => looks.map((look) => `<p style='font: ${look} ${font}'>${text}</p>`)).join('')}
  <input value="Text"><input type="date"><textarea>Text</textarea><select><option>Choice</option></select>
  <input type="checkbox" checked><input type="checkbox"><input type="radio" checked><button>Button</button>
  <del>old</del> <ins>new</ins> <a href="#">link</a> <progress value="0.4"></progress>
  <svg width="24" height="24" fill="none" stroke="currentColor" stroke-width="2"><path d="M4 12a8 8 0 1 0 8-8v8l6 3"/></svg>
  <div style="margin: 24px; padding: 8px; border: 1px solid; border-radius: 8px; box-shadow: 0 8px 24px #0006">box</div>
</section>`;

const drawing = `{
  const on = document.querySelector('canvas').getContext('2d');
  on.font = '11px system-ui';
  on.fillText(${JSON.stringify(text)}, 4, 20);
  on.lineWidth = 1.5;
  for (const dash of [[], [6, 3], [2, 2]]) {
    on.setLineDash(dash);
    on.translate(0, 12);
    on.beginPath();
    for (let x = 0; x < 400; x += 4) on.lineTo(x, 50 + 20 * Math.sin(x / 30));
    on.stroke();
  }
}`;

export async function rendererOf(browser: Browser): Promise<Renderer> {
  const context = await contextOf(browser, {});
  try {
    const page = await context.newPage();
    await page.setContent(
      `<!doctype html>${themed('light')}${themed('dark')}<canvas width="600" height="120"></canvas>`,
    );
    await page.evaluate(drawing);
    const { data } = PNG.sync.read(await page.screenshot({ fullPage: true }));
    return { chromium: browser.version(), probe: createHash('sha256').update(data).digest('hex') };
  } finally {
    await context.close();
  }
}
