import { Command } from 'commander';
import { stringify } from 'yaml';
import type { WatchEvent } from '../client/client.ts';
import type { ExtensionObject } from '../model/object.ts';
import type { ConnectionFlags } from './connection.ts';
import { connect, withConnection } from './connection.ts';
import type { Io } from './io.ts';
import { write } from './io.ts';
import type { Format } from './output.ts';
import { formatOption } from './output.ts';
import type { SelectFlags } from './select.ts';
import { selectOf, withSelectors } from './select.ts';
import { Types } from './types.ts';

interface Flags extends ConnectionFlags, SelectFlags {
  output: Format;
  since?: string;
  sendInitial?: boolean;
}

export function watchCommand(io: Io): Command {
  const command = new Command('watch')
    .description('print every change of the objects of a type as it happens, until interrupted')
    .argument('<type>', 'plural, plural.group or plural.version.group')
    .option('--since <revision>', 'changes after this revision; without it those from now on')
    .option('--send-initial', 'the objects there are first')
    .addOption(formatOption('table'))
    .action(async (text: string, flags: Flags) => {
      const interrupted = new AbortController();
      const interrupt = () => interrupted.abort();
      process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
      try {
        const client = connect(flags, io);
        const { model } = await new Types(client).resolve(text);
        const { since, sendInitial } = flags;
        const events = client.for(model).watch({
          select: selectOf(flags),
          ...(since !== undefined && { since }),
          ...(sendInitial && { sendInitial }),
          signal: interrupted.signal,
        });
        for await (const event of events) await write(io.stdout, eventText(event, flags.output));
      } finally {
        process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
      }
    });
  return withConnection(withSelectors(command, { sort: false }), io);
}

function eventText(event: WatchEvent<ExtensionObject>, format: Format): string {
  if (format === 'json') return `${JSON.stringify({ ...event, revision: Number(event.revision) })}\n`;
  if (format === 'yaml') return `---\n${stringify(event, { aliasDuplicateObjects: false, lineWidth: 0 })}`;
  if (event.type === 'BOOKMARK') return '';
  const { name, version } = event.object.metadata;
  return `${event.type.padEnd(8)}   ${name}   version ${version}   revision ${event.revision}\n`;
}
