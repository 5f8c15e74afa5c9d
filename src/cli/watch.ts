import { Command } from 'commander';
import type { KindredClient, WatchEvent } from '../client/client.ts';
import { partsOf } from '../model/full-name.ts';
import type { ExtensionObject } from '../model/object.ts';
import { columnsOf } from './columns.ts';
import type { ConnectionFlags } from './connection.ts';
import { connect, withConnection } from './connection.ts';
import { CustomColumns } from './custom-columns.ts';
import type { Io } from './io.ts';
import { UsageError, write } from './io.ts';
import { Template } from './jsonpath.ts';
import { namespaceOf } from './namespace.ts';
import type { Format, ObjectFormat } from './output.ts';
import { formatOption, valueFormats, yamlOf } from './output.ts';
import type { TargetFormat } from './print-objects.ts';
import type { SelectFlags } from './select.ts';
import { selectOf, withSelectors } from './select.ts';
import { lines, widthsOf } from './table.ts';
import type { Target } from './targets.ts';
import { targetHelp, targetsOf } from './targets.ts';
import { Types } from './types.ts';

interface WatchFlags extends SelectFlags, Partial<Pick<TargetFormat, 'labelColumns' | 'showLabels'>> {
  output: ObjectFormat;
  /** Of tables; default true. */
  headers?: boolean;
  /** A table has a row with the members of the object, instead of its version and revision. Default false. */
  rows?: boolean;
  since?: string;
  sendInitial?: boolean;
}

export function watchCommand(io: Io): Command {
  const command = new Command('watch')
    .description(
      'print every change as it happens, until interrupted: of all objects of a type, or of those of the names',
    )
    .argument('[what...]', targetHelp)
    .option('--since <revision>', 'begin with the changes after this revision; without it, with those from now on')
    .option('--send-initial', 'begin with the objects that are there already')
    .addOption(formatOption(valueFormats, 'table'))
    .action(async (what: string[], flags: ConnectionFlags & WatchFlags & { output: Format }) => {
      const client = connect(flags, io);
      await watchTargets(io, client, await targetsOf(new Types(client), what, flags), flags);
    });
  return withConnection(withSelectors(command), io);
}

/** Until the process is interrupted. */
export async function watchTargets(
  io: Io,
  client: KindredClient,
  targets: readonly Target[],
  options: WatchFlags,
): Promise<void> {
  const { since, sendInitial, ...flags } = options;
  const [target, ...more] = targets;
  if (target === undefined || more.length > 0) throw new UsageError('one type can be watched at a time');
  const { type, names } = target;
  const select = selectOf(flags);
  const plain = names.map((name) => partsOf(name).name);
  const named = plain.length > 0 ? [`metadata.name in (${plain.join(',')})`] : [];
  const interrupted = new AbortController();
  const interrupt = () => interrupted.abort();
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
  try {
    const events = client.for(type.model).watch({
      select: { ...namespaceOf(type, flags), ...select, fieldSelector: [select.fieldSelector ?? [], named].flat() },
      ...(since !== undefined && { since }),
      ...(sendInitial && { sendInitial }),
      signal: interrupted.signal,
    });
    const text = textOf(options, type.label);
    for await (const event of events) await write(io.stdout, text(event));
  } finally {
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
  }
}

type EventText = (event: WatchEvent<ExtensionObject>) => string;

function textOf(options: WatchFlags, label: string): EventText {
  const { output, headers = true, rows } = options;
  if (output instanceof CustomColumns) return columnsText(output, headers);
  if (rows && (output === 'table' || output === 'wide')) return rowsText(options);
  return eventText(output, label);
}

function eventText(format: Exclude<ObjectFormat, CustomColumns>, label: string): EventText {
  if (format === 'json') return (event) => `${JSON.stringify({ ...event, revision: Number(event.revision) })}\n`;
  if (format === 'yaml') return (event) => `---\n${yamlOf(event)}`;
  return (event) => {
    if (event.type === 'BOOKMARK') return '';
    if (format instanceof Template) return format.text(event.object).replace(/([^\n])$/, '$1\n');
    const { name, version } = event.object.metadata;
    if (format === 'name') return `${label}/${name}\n`;
    return `${event.type.padEnd(8)}   ${name}   version ${version}   revision ${event.revision}\n`;
  };
}

/** Objects by which the columns of a table are chosen. */
const sampleSize = 50;

/** A row for each event. The columns are chosen by the objects that are there at first, or by the first one that comes. */
function rowsText(options: WatchFlags): EventText {
  const { output, headers = true, allNamespaces = false, labelColumns, showLabels } = options;
  let sample: readonly ExtensionObject[] | undefined;
  let waiting: Exclude<WatchEvent<ExtensionObject>, { type: 'BOOKMARK' }>[] = [];
  let widths: readonly number[] = [];
  return (event) => {
    if (event.type !== 'BOOKMARK') {
      waiting.push(event);
      if (sample === undefined && event.initial && waiting.length < sampleSize) return '';
    }
    if (waiting.length === 0) return '';
    const isFirst = sample === undefined;
    sample ??= waiting.map(({ object }) => object);
    const chosen = { wide: output === 'wide', now: Date.now(), withNamespace: allNamespaces, labelColumns, showLabels };
    const columns = columnsOf(sample, chosen);
    const rows = waiting.map(({ type, object }) => [type, ...columns.map((column) => column.cell(object))]);
    waiting = [];
    if (isFirst && headers) rows.unshift(['EVENT', ...columns.map(({ head }) => head)]);
    widths = widthsOf(rows, widths);
    return lines(rows, widths);
  };
}

/** A row for each event, in columns that widen when they must. */
function columnsText({ columns }: CustomColumns, headers: boolean): EventText {
  const heads = columns.map(({ head }) => head);
  let widths: readonly number[] = [];
  let isFirst = headers;
  return (event) => {
    if (event.type === 'BOOKMARK') return '';
    const row = columns.map((column) => column.cell(event.object));
    const rows = isFirst ? [heads, row] : [row];
    isFirst = false;
    widths = widthsOf(rows, widths);
    return lines(rows, widths);
  };
}
