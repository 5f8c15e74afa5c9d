import { Command } from 'commander';
import type { KindredClient, WatchEvent } from '../client/client.ts';
import type { ExtensionObject } from '../model/object.ts';
import type { ConnectionFlags } from './connection.ts';
import { connect, withConnection } from './connection.ts';
import type { Io } from './io.ts';
import { UsageError, write } from './io.ts';
import type { Format, ObjectFormat } from './output.ts';
import { formatOption, valueFormats, yamlOf } from './output.ts';
import type { SelectFlags } from './select.ts';
import { selectOf, withSelectors } from './select.ts';
import type { Target } from './targets.ts';
import { targetHelp, targetsOf } from './targets.ts';
import { Types } from './types.ts';

interface WatchFlags extends SelectFlags {
  output: ObjectFormat;
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
      await watchTargets(io, client, await targetsOf(new Types(client), what), flags);
    });
  return withConnection(withSelectors(command), io);
}

/** Until the process is interrupted. */
export async function watchTargets(
  io: Io,
  client: KindredClient,
  targets: readonly Target[],
  { output, since, sendInitial, ...flags }: WatchFlags,
): Promise<void> {
  const [target, ...more] = targets;
  if (target === undefined || more.length > 0) throw new UsageError('one type can be watched at a time');
  const { type, names } = target;
  const select = selectOf(flags);
  const named = names.length > 0 ? [`metadata.name in (${names.join(',')})`] : [];
  const interrupted = new AbortController();
  const interrupt = () => interrupted.abort();
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
  try {
    const events = client.for(type.model).watch({
      select: { ...select, fieldSelector: [select.fieldSelector ?? [], named].flat() },
      ...(since !== undefined && { since }),
      ...(sendInitial && { sendInitial }),
      signal: interrupted.signal,
    });
    for await (const event of events) await write(io.stdout, eventText(event, output, type.label));
  } finally {
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
  }
}

function eventText(event: WatchEvent<ExtensionObject>, format: ObjectFormat, label: string): string {
  if (format === 'json') return `${JSON.stringify({ ...event, revision: Number(event.revision) })}\n`;
  if (format === 'yaml') return `---\n${yamlOf(event)}`;
  if (event.type === 'BOOKMARK') return '';
  const { name, version } = event.object.metadata;
  if (format === 'name') return `${label}/${name}\n`;
  return `${event.type.padEnd(8)}   ${name}   version ${version}   revision ${event.revision}\n`;
}
