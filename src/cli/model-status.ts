import { Command } from 'commander';
import type { ConnectionFlags } from './connection.ts';
import { connect, withConnection } from './connection.ts';
import { countOf } from './count.ts';
import type { Io } from './io.ts';
import type { ModelState } from './model-states.ts';
import { modelStates, namedModelStates } from './model-states.ts';
import type { Format } from './output.ts';
import { formatOption, print, valueFormats } from './output.ts';
import { wholePage } from './print-objects.ts';
import { lines, table, widthsOf } from './table.ts';

interface Known {
  readonly spec: ModelState['spec'];
  readonly status: NonNullable<ModelState['status']>;
}

export function modelStatusCommand(io: Io): Command {
  const command = new Command('status')
    .description("print which declarations of the plugins' models are active, and which were refused")
    .argument('[type]', 'only this model: a plural or plural.group')
    .addOption(formatOption(valueFormats, 'table'))
    .action(async (text: string | undefined, { output, ...flags }: ConnectionFlags & { output: Format }) => {
      const client = connect(flags, io);
      const chosen = await (text === undefined ? modelStates(client) : namedModelStates(client, text));
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

/** `v1 (v2 at 2026-11-23T12:00:00.000Z)`, `v2 (40 % rewritten)`. */
function storageText({ spec, status }: Known): string {
  const { storageVersion, storedVersions = [], contract, finalizesAt, migration } = status;
  const notes: string[] = [];
  if (finalizesAt !== undefined) notes.push(`${contract.hub} at ${finalizesAt}`);
  else if (storageVersion !== contract.hub && spec.finalize === 'hold') notes.push('held');
  if (migration && migration.revision === undefined && storedVersions.length > 1) {
    const { done, total, failing } = migration;
    notes.push(`${Math.floor((100 * done) / Math.max(total, 1))} % rewritten`);
    if (failing > 0) notes.push(`${countOf(failing, 'object')} left`);
  }
  return notes.length > 0 ? `${storageVersion} (${notes.join(', ')})` : storageVersion;
}

function statusTable(states: readonly ModelState[]): string {
  const known = states.flatMap(({ spec, status }) => (status ? { spec, status } : []));
  const rows = known.map(({ spec, status }) => {
    const { model, generation, degraded, pending } = status;
    return [
      `${model.plural}.${model.group}`,
      model.kind,
      String(generation),
      storageText({ spec, status }),
      degraded ? countOf(degraded.failing, 'object') : '-',
      pending ? pendingText(pending) : '-',
    ];
  });
  const details = known.flatMap(({ status: { model, degraded, pending, migration } }) => {
    const samples = [...((pending ?? degraded)?.samples ?? []), ...(migration?.samples ?? [])];
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
