import { Command } from 'commander';
import type { ConnectionFlags } from './connection.ts';
import { connect, withConnection } from './connection.ts';
import { countOf } from './count.ts';
import type { Io } from './io.ts';
import { UsageError } from './io.ts';
import type { ModelState } from './model-states.ts';
import { modelStates } from './model-states.ts';
import type { Format } from './output.ts';
import { formatOption, print, valueFormats } from './output.ts';
import { wholePage } from './print-objects.ts';
import { lines, table, widthsOf } from './table.ts';
import { Types } from './types.ts';

export function modelStatusCommand(io: Io): Command {
  const command = new Command('status')
    .description("print which declarations of the plugins' models are active, and which were refused")
    .argument('[type]', 'only this model: a plural or plural.group')
    .addOption(formatOption(valueFormats, 'table'))
    .action(async (text: string | undefined, { output, ...flags }: ConnectionFlags & { output: Format }) => {
      const client = connect(flags, io);
      const all = await modelStates(client);
      const chosen = text === undefined ? all : all.filter(({ status }) => status && isNamed(status.model, text));
      // A model that a plugin could not start with is known here alone.
      if (text !== undefined && chosen.length === 0) await new Types(client).resolve(text);
      if (text !== undefined && chosen.length === 0) throw new UsageError(`"${text}" is a model of no plugin`);
      await print(io, output, { items: chosen, ...wholePage(chosen.length) }, () => statusTable(chosen));
    });
  return withConnection(command, io);
}

function pendingText({
  failing,
  class: of,
  waitsFor = [],
}: NonNullable<NonNullable<ModelState['status']>['pending']>): string {
  const waits = waitsFor.length > 0 ? `waits for ${countOf(waitsFor.length, 'replica')}, ` : '';
  return `${waits}${countOf(failing, 'object')} (${of})`;
}

function isNamed({ plural, group }: { plural: string; group: string }, text: string): boolean {
  return text === plural || text === `${plural}.${group}`;
}

function statusTable(states: readonly ModelState[]): string {
  const known = states.flatMap(({ status }) => status ?? []);
  const rows = known.map(({ model, generation, storageVersion, degraded, pending }) => [
    `${model.plural}.${model.group}`,
    model.kind,
    String(generation),
    storageVersion,
    degraded ? countOf(degraded.failing, 'object') : '-',
    pending ? pendingText(pending) : '-',
  ]);
  const details = known.flatMap(({ model, degraded, pending }) => {
    const samples = (pending ?? degraded)?.samples ?? [];
    if (samples.length === 0) return [];
    const found = samples.map(({ names, pointer, keyword, message }) => [
      '',
      names.join(', '),
      pointer,
      keyword,
      message,
    ]);
    return [`\n${model.kind}\n${lines(found, widthsOf(found))}`];
  });
  return table(['NAME', 'KIND', 'GENERATION', 'STORAGE', 'DEGRADED', 'REFUSED'], rows) + details.join('');
}
