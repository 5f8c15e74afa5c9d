import { rename, rm } from 'node:fs/promises';
import { finished } from 'node:stream/promises';
import { Command } from 'commander';
import type { KindredClient } from '../client/client.ts';
import { createPrivate } from '../runtime/private-file.ts';
import type { ConnectionFlags } from './connection.ts';
import { connect, withConnection } from './connection.ts';
import { countOf } from './count.ts';
import { onInterrupt } from './interrupt.ts';
import type { Io, Output } from './io.ts';
import { write } from './io.ts';
import type { NamespaceFlags } from './namespace.ts';
import { namespaceOf } from './namespace.ts';
import { startProgress } from './progress.ts';
import { repeatable } from './select.ts';
import type { ResourceType } from './types.ts';
import { Types } from './types.ts';

interface Flags extends ConnectionFlags, Pick<NamespaceFlags, 'namespace'> {
  type?: string[];
  output?: string;
}

export function exportCommand(io: Io): Command {
  const command = new Command('export')
    .description('write every object as one line of JSON (NDJSON), each type as it is at one moment')
    .addOption(repeatable('--type <type>', 'only this type; repeatable; without it every type of the plugins'))
    .option('-o, --output <file>', 'file to write; it appears when the export is complete (default: standard output)')
    .option('-n, --namespace <name>', 'of namespaced types the objects of this namespace alone')
    .action(async (flags: Flags) => {
      const interrupt = onInterrupt();
      try {
        await run(io, flags, connect(flags, io, { signal: interrupt.stop }));
      } finally {
        interrupt.release();
      }
    });
  return withConnection(command, io);
}

async function run(io: Io, flags: Flags, client: KindredClient): Promise<void> {
  const types = new Types(client);
  const chosen = flags.type
    ? await Promise.all(flags.type.map((text) => types.resolve(text)))
    : await typesOfPlugins(types);
  // Without a namespace all of them: what is left out would be missed at the import.
  const placeOf = (type: ResourceType) => namespaceOf(type, { ...flags, allNamespaces: flags.namespace === undefined });
  const counts = await Promise.all(chosen.map((type) => client.for(type.model).count(placeOf(type))));
  const total = counts.reduce((sum, count) => sum + count, 0);
  const title = `Exporting ${countOf(total, 'object')} of ${countOf(chosen.length, 'type')}`;
  const progress = startProgress(io, title, total);
  let done = 0;
  const writeTo = async (output: Output): Promise<void> => {
    let lines = '';
    for (const type of chosen) {
      const { model, label } = type;
      for await (const line of client.exportLines(model, { ...placeOf(type), sort: ['metadata.name,asc'] })) {
        lines += `${line}\n`;
        if (++done % 500 !== 0) continue;
        await write(output, lines);
        lines = '';
        progress.update(done, `${done} of ${total}, ${label}`);
      }
    }
    await write(output, lines);
  };
  try {
    await (flags.output === undefined ? writeTo(io.stdout) : intoFile(flags.output, writeTo));
  } catch (error) {
    progress.abort(`Stopped after ${done} of ${countOf(total, 'object')}`);
    throw error;
  }
  progress.stop(`Exported ${countOf(done, 'object')}`);
}

/** The service's own types stay with the service: what it makes by itself, and what it never shows in a list. */
async function typesOfPlugins(types: Types): Promise<ResourceType[]> {
  const domain = await types.reservedDomain();
  const all = (await types.all()).filter(({ model: { gvk }, verbs }) => {
    const isOwn = gvk.group === '' || gvk.group === domain || gvk.group.endsWith(`.${domain}`);
    return !isOwn && verbs.includes('list');
  });
  // Of the versions of a model the preferred one, which discovery has first.
  return all.filter(({ label }, i) => label !== all[i - 1]?.label);
}

/** A half-written file never has the name that was asked for. */
async function intoFile(file: string, fill: (output: Output) => Promise<void>): Promise<void> {
  const partial = `${file}.partial`;
  const output = createPrivate(partial);
  try {
    await fill(output);
    await finished(output.end());
    await rename(partial, file);
  } catch (error) {
    output.destroy();
    await rm(partial, { force: true });
    throw error;
  }
}
