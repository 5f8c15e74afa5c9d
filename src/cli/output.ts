import { Option } from 'commander';
import { stringify } from 'yaml';
import type { ExtensionObject } from '../model/object.ts';
import type { Io } from './io.ts';
import { write } from './io.ts';

export type Format = 'json' | 'yaml' | 'table';

export function formatOption(preset?: Format): Option {
  const option = new Option('-o, --output <format>', 'how to print').choices(['json', 'yaml', 'table']);
  return preset ? option.default(preset) : option;
}

/** Prints a value for programs (`json`, `yaml`), or as the table that the caller makes. */
export function print(io: Io, format: Format, value: unknown, table: () => string): Promise<void> {
  if (format === 'json') return write(io.stdout, `${JSON.stringify(value, null, 2)}\n`);
  if (format === 'yaml') return write(io.stdout, stringify(value, { aliasDuplicateObjects: false, lineWidth: 0 }));
  return write(io.stdout, table());
}

/** Rows under their heads, columns as wide as they need. */
export function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = heads.map((head, i) => Math.max(widthOf(head), ...rows.map((row) => widthOf(row[i] ?? ''))));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, i) => cell + ' '.repeat(widths[i]! - widthOf(cell)))
      .join('   ')
      .trimEnd();
  return [heads, ...rows].map((cells) => `${line(cells)}\n`).join('');
}

const columnLimit = 6;
const cellLimit = 40;

/** Objects as a table: name, the simple members of `spec`, age and version. */
export function objectTable(objects: readonly ExtensionObject[], now: number): string {
  const columns: string[] = [];
  for (const { spec } of objects) {
    for (const [name, value] of Object.entries((spec as Record<string, unknown> | undefined) ?? {})) {
      if (columns.length < columnLimit && isSimple(value) && !columns.includes(name)) columns.push(name);
    }
  }
  const rows = objects.map(({ metadata, spec }) => [
    metadata.name,
    ...columns.map((name) => cell((spec as Record<string, unknown> | undefined)?.[name])),
    age(metadata.creationTimestamp, now) + (metadata.deletionTimestamp ? ' (deleting)' : ''),
    String(metadata.version ?? ''),
  ]);
  return table(['NAME', ...columns.map(headOf), 'AGE', 'VERSION'], rows);
}

/** A member of `spec` that has the name of a column every table has is told apart from it. */
function headOf(name: string): string {
  const head = name.toUpperCase();
  return ['NAME', 'AGE', 'VERSION'].includes(head) ? `SPEC.${head}` : head;
}

function isSimple(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}

function cell(value: unknown): string {
  if (!isSimple(value)) return value === undefined || value === null ? '-' : '…';
  const text = printable(String(value));
  return text.length > cellLimit ? `${text.slice(0, cellLimit - 1)}…` : text;
}

/** Without control characters: what is stored must not move the cursor of the terminal that shows it. */
function printable(text: string): string {
  return text.replace(/\p{Cc}/gu, '\u{fffd}');
}

/** `12s`, `5m`, `3h`, `40d`. */
function age(timestamp: string | undefined, now: number): string {
  if (timestamp === undefined) return '-';
  const seconds = Math.max(0, Math.floor((now - Date.parse(timestamp)) / 1000));
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)}m`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3600)}h` : `${Math.floor(seconds / 86_400)}d`;
}

/** Columns on a terminal: East Asian wide characters take two, combining ones none. */
function widthOf(text: string): number {
  let width = 0;
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    width += /^[\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}\p{Emoji_Presentation}]/u.test(
      segment,
    )
      ? 2
      : 1;
  }
  return width;
}
