/** Objects are printed as they arrive; what is kept is the portion that is written next. */
import { Option } from 'commander';
import type { ListResult } from '../client/client.ts';
import type { ExtensionObject } from '../model/object.ts';
import type { Column } from './columns.ts';
import { columnsOf } from './columns.ts';
import { CustomColumns } from './custom-columns.ts';
import type { Io } from './io.ts';
import { write } from './io.ts';
import { Template } from './jsonpath.ts';
import type { ObjectFormat } from './output.ts';
import { withoutManagedFields, yamlOf } from './output.ts';
import { lines, lineWidth, widthsOf } from './table.ts';
import type { Target } from './targets.ts';

/** What a list says beside its items. */
export type PageFacts = Omit<ListResult<unknown>, 'items'>;

/** How the objects of targets are printed. */
export interface TargetFormat {
  readonly output: ObjectFormat;
  /** Of tables. */
  readonly headers: boolean;
  /** JSON and YAML: who owns which field too. Default false. */
  readonly showManagedFields?: boolean;
  readonly labelColumns?: readonly string[];
  readonly showLabels?: boolean;
  /** Tables say of which namespace an object is. */
  allNamespaces?: boolean;
  /** JSON and YAML: the one object that is expected, without a list around it. Default false. */
  readonly isAlone?: boolean;
}

export function labelColumnsOption(): Option {
  return new Option(
    '-L, --label-columns <keys>',
    'a table with a column for each of these labels, with commas; repeatable',
  ).argParser((text: string, all: string[] | undefined) => [...(all ?? []), ...text.split(',').filter(Boolean)]);
}

/** What a list says of itself when it is not cut into pages. */
export function wholePage(total: number): PageFacts {
  const totalPages = total === 0 ? 0 : 1;
  return { page: 1, size: total, total, first: true, last: true, hasNext: false, hasPrevious: false, totalPages };
}

export function isTable(output: ObjectFormat): boolean {
  return output === 'table' || output === 'wide' || output instanceof CustomColumns;
}

/** What is to be said of the objects of a target: as a page, and in a line for people. */
interface Said {
  readonly page?: PageFacts;
  readonly line?: string;
}

/**
 * Prints the objects of each target: tables and names one type after the other, documents all together.
 * @param fill gives the objects of one target to the printer
 */
export async function printTargets(
  io: Io,
  targets: readonly Target[],
  format: TargetFormat,
  fill: (target: Target, printer: Pick<Printer, 'add'>) => Promise<Said>,
): Promise<void> {
  const { output } = format;
  const document = documentLayout(format);
  const printer = document && printerOf(io, document);
  let page: PageFacts | undefined;
  for (const [i, target] of targets.entries()) {
    if (i > 0 && isTable(output)) await write(io.stdout, '\n');
    const { label } = target.type;
    const own =
      printer ?? printerOf(io, output === 'name' ? nameLayout(label) : tableLayout(io, format, targets, label));
    const said = await fill(target, own);
    page = said.page;
    if (!printer) await own.end();
    if (said.line !== undefined) io.stderr.write(`${said.line}\n`);
  }
  await printer?.end(targets.length === 1 ? page : undefined);
}

interface Printer {
  add(object: ExtensionObject): Promise<void>;
  /** @param page by default the objects are all there are */
  end(page?: PageFacts): Promise<void>;
}

/** A form of output, which may know what it has shown before. */
interface Layout {
  show(objects: readonly ExtensionObject[]): string;
  close?(page: PageFacts): string;
}

/** Objects that are written at once, and those by which a table begins to be laid out. */
const portion = 500;

function printerOf(io: Io, layout: Layout): Printer {
  let waiting: ExtensionObject[] = [];
  let count = 0;
  return {
    async add(object) {
      count++;
      if (waiting.push(object) < portion) return;
      const full = waiting;
      waiting = [];
      await write(io.stdout, layout.show(full));
    },
    async end(page = wholePage(count)) {
      const rest = waiting.length > 0 ? layout.show(waiting) : '';
      await write(io.stdout, rest + (layout.close?.(page) ?? ''));
    },
  };
}

function nameLayout(label: string): Layout {
  return { show: (objects) => objects.map(({ metadata }) => `${label}/${metadata.name}\n`).join('') };
}

function tableLayout(io: Io, format: TargetFormat, targets: readonly Target[], label: string): Layout {
  const now = Date.now();
  const wide = format.output === 'wide';
  const { labelColumns = [], showLabels = false } = format;
  const asked = labelColumns.length + Number(showLabels);
  let columns: readonly Column[] | undefined;
  let widths: readonly number[] = [];
  const rowsOf = (chosen: readonly Column[], objects: readonly ExtensionObject[]): string[][] =>
    objects.map((object) => {
      // As kubectl does: where several types are printed, a name says of which it is.
      const isTold = targets.length > 1 && !(format.output instanceof CustomColumns);
      return chosen.map((column) => {
        const text = column.cell(object);
        return isTold && column.head === 'NAME' ? `${label}/${text}` : text;
      });
    });
  const choose = (objects: readonly ExtensionObject[]): readonly Column[] => {
    if (format.output instanceof CustomColumns) return format.output.columns;
    const withNamespace = format.allNamespaces === true && objects.some(({ metadata }) => metadata.namespace);
    const all = columnsOf(objects, { wide, now, withNamespace, labelColumns, showLabels });
    const room = wide || !io.stdout.isTTY ? undefined : io.stdout.columns;
    return room === undefined ? all : fitting(all, rowsOf(all, objects), room, asked);
  };
  return {
    show(objects) {
      const isFirst = columns === undefined;
      columns ??= choose(objects);
      const rows = rowsOf(columns, objects);
      if (isFirst && format.headers) rows.unshift(columns.map(({ head }) => head));
      widths = widthsOf(rows, widths);
      return lines(rows, widths);
    },
  };
}

/**
 * As many of the chosen columns as a line has room for; name, the name for people, age and version stay.
 * @param asked columns at the end that were asked for, which stay too
 */
function fitting(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  room: number,
  asked: number,
): readonly Column[] {
  const widths = widthsOf([columns.map(({ head }) => head), ...rows]);
  const kept = [...columns];
  while (kept.length > 4 + asked && lineWidth(widths) > room) {
    kept.splice(-3 - asked, 1);
    widths.splice(-3 - asked, 1);
  }
  return kept;
}

/** How a list is written, its items first: how many there are is known at the end. */
interface ListForm {
  readonly open: string;
  item(object: ExtensionObject): string;
  readonly between: string;
  readonly filled: string;
  readonly empty: string;
  close(page: PageFacts): string;
}

const listForms: Readonly<Record<'json' | 'yaml', ListForm>> = {
  json: {
    open: '{\n  "items": [',
    item: (object) => `\n${indented(JSON.stringify(object, null, 2))}`,
    between: ',',
    filled: '\n  ]',
    empty: ']',
    close: (page) => `,${JSON.stringify(page, null, 2).slice(1)}\n`,
  },
  yaml: {
    open: 'items:',
    // Without the last line break, which the next item or the end brings.
    item: (object) => `\n  - ${indented(yamlOf(object)).slice(4, -1)}`,
    between: '',
    filled: '',
    empty: ' []',
    close: (page) => `\n${yamlOf(page)}`,
  },
};

function indented(text: string): string {
  return text.replace(/^(?=.)/gm, '    ');
}

/** Of what is printed of all targets together; undefined for what is printed type by type. */
function documentLayout({ output, isAlone = false, showManagedFields }: TargetFormat): Layout | undefined {
  if (output instanceof Template) return templateLayout(output, isAlone);
  if (output !== 'json' && output !== 'yaml') return undefined;
  const shown = showManagedFields ? (object: ExtensionObject) => object : withoutManagedFields;
  if (isAlone) {
    const text = output === 'json' ? (one: unknown) => `${JSON.stringify(one, null, 2)}\n` : yamlOf;
    return { show: (objects) => objects.map((object) => text(shown(object))).join('') };
  }
  const { open, item, between, filled, empty, close } = listForms[output];
  let isEmpty = true;
  return {
    show(objects) {
      const before = isEmpty ? open : between;
      isEmpty = false;
      return before + objects.map((object) => item(shown(object))).join(between);
    },
    close: (page) => `${isEmpty ? open + empty : filled}${close(page)}`,
  };
}

/** A template is about the object that is alone, and otherwise about the list; what it says item by item is not kept. */
function templateLayout(template: Template, isAlone: boolean): Layout {
  if (isAlone) return { show: (objects) => objects.map((object) => template.text(object)).join('') };
  const texts = template.ofItems();
  if (!texts) {
    const items: ExtensionObject[] = [];
    return {
      show: (objects) => {
        items.push(...objects);
        return '';
      },
      close: (page) => template.text({ items, ...page }),
    };
  }
  let before: string | undefined = texts.before;
  const opened = (text: string) => {
    const whole = (before ?? '') + text;
    before = undefined;
    return whole;
  };
  return {
    show: (objects) => opened(objects.map((object) => texts.next(object)).join('')),
    close: () => opened(texts.after),
  };
}
