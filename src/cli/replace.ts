import type { Command } from 'commander';
import type { Io } from './io.ts';
import { writeCommand } from './write-documents.ts';

export function replaceCommand(io: Io): Command {
  const description = 'create the objects of files, or put them whole in the place of those that are there already';
  return writeCommand(io, 'replace', description, (client, model, object, before) =>
    before ? client.update(model, object) : client.create(model, object),
  );
}
