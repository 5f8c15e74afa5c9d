/** Rows under their heads, for people: what is stored must not break the table, nor move the cursor of the terminal that shows it. */

const gap = '   ';

/** Widths that the columns of these rows need, at least those given. */
export function widthsOf(rows: readonly (readonly string[])[], least: readonly number[] = []): number[] {
  const widths = [...least];
  for (const cells of rows) {
    for (const [i, cell] of cells.entries()) widths[i] = Math.max(widths[i] ?? 0, widthOf(cell));
  }
  return widths;
}

export function lines(rows: readonly (readonly string[])[], widths: readonly number[]): string {
  return rows
    .map((cells) => {
      const padded = cells.map(
        (cell, i) => printable(cell) + ' '.repeat(Math.max(0, (widths[i] ?? 0) - widthOf(cell))),
      );
      return `${padded.join(gap).trimEnd()}\n`;
    })
    .join('');
}

/** Columns as wide as they need. */
export function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [heads, ...rows];
  return lines(all, widthsOf(all));
}

/** Columns of a terminal that a line with cells of these widths takes. */
export function lineWidth(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width, 0) + gap.length * (widths.length - 1);
}

/** In one line, without control characters. */
export function printable(text: string): string {
  return text.replace(/\s*\n\s*/g, ' ').replace(/\p{Cc}/gu, '\u{fffd}');
}

const segmenter = new Intl.Segmenter();

/** Columns on a terminal: East Asian wide characters take two, combining ones none. */
function widthOf(text: string): number {
  const shown = printable(text);
  if (/^[ -~]*$/.test(shown)) return shown.length;
  let width = 0;
  for (const { segment } of segmenter.segment(shown)) {
    width += /^[\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}\p{Emoji_Presentation}]/u.test(
      segment,
    )
      ? 2
      : 1;
  }
  return width;
}
