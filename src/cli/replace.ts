import type { Command } from 'commander';
import type { Io } from './io.ts';
import { writeCommand } from './write-documents.ts';

export function replaceCommand(io: Io): Command {
  const description = 'create objects from files, or replace existing ones completely';
  return writeCommand(io, 'replace', description, (client, model, object, before) =>
    before ? client.update(model, object) : client.create(model, object),
  );
}
