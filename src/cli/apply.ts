import { Command } from 'commander';
import type { KindredClient } from '../client/client.ts';
import { KindredError } from '../client/client.ts';
import type { ExtensionObject } from '../model/object.ts';
import type { ConnectionFlags } from './connection.ts';
import { connect, withConnection } from './connection.ts';
import { describe } from './describe.ts';
import type { Document } from './documents.ts';
import { documents, filesOf, open } from './documents.ts';
import type { Io } from './io.ts';
import { Exit, write } from './io.ts';
import type { Format } from './output.ts';
import { formatOption, print } from './output.ts';
import { Types } from './types.ts';

interface Flags extends ConnectionFlags {
  filename: string[];
  output: Format;
}

export function applyCommand(io: Io): Command {
  const command = new Command('apply')
    .description('create the objects of files, or replace those that are there already')
    .requiredOption(
      '-f, --filename <file...>',
      'file or folder of YAML or JSON documents, or - for standard input; repeatable',
    )
    .addOption(formatOption('table'))
    .action(async (flags: Flags) => {
      const client = connect(flags, io);
      const types = new Types(client);
      let refused = 0;
      for (const path of flags.filename) {
        for (const file of await filesOf(path)) {
          for await (const document of documents(open(file, io), file)) {
            try {
              await applyOne(io, client, types, document, flags.output);
            } catch (error) {
              if (!(error instanceof KindredError)) throw error;
              refused++;
              io.stderr.write(describe(error, document.place));
            }
          }
        }
      }
      if (refused > 0) throw new Exit(1);
    });
  return withConnection(command, io);
}

async function applyOne(
  io: Io,
  client: KindredClient,
  types: Types,
  document: Document,
  format: Format,
): Promise<void> {
  const object = document.value as ExtensionObject;
  const { model, label } = await types.of((object ?? {}) as object);
  const name = object.metadata?.name as string | undefined;
  const before = name ? await client.fetch(model, name) : undefined;
  const stored = before
    ? await client.update(model, object)
    : await client.create(model, object).catch((error: unknown) => {
        // Somebody else created it in between.
        if (name && error instanceof KindredError && error.code === 'AlreadyExists')
          return client.update(model, object);
        throw error;
      });
  const done = !before ? 'created' : stored.metadata.version === before.metadata.version ? 'unchanged' : 'updated';
  if (format === 'yaml') await write(io.stdout, '---\n');
  await print(io, format, stored, () => `${label}/${stored.metadata.name} ${done}\n`);
}
