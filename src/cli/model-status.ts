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
    .description("print which declarations of the plugins' models are active, and which are not yet or were refused")
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
  const found = `${countOf(failing, 'object')} (${of})`;
  if (waitsFor.length === 0) return found;
  const waits = `waits for ${countOf(waitsFor.length, 'replica')}`;
  return failing > 0 ? `${waits}, ${found}` : waits;
}

/** `v1 (v2 at 2026-11-23T12:00:00.000Z)`, `v2 (also v1, 40 % rewritten)`. */
function storageText({ spec, status }: Known): string {
  const { storageVersion, storedVersions = [], contract, finalizesAt, migration, contentMigration } = status;
  const others = storedVersions.filter((version) => version !== storageVersion);
  const notes = others.length > 0 ? [`also ${others.join(', ')}`] : [];
  if (finalizesAt !== undefined) notes.push(`${contract.hub} at ${finalizesAt}`);
  else if (storageVersion !== contract.hub && spec.finalize === 'hold') notes.push('held');
  if (migration && migration.revision === undefined && storedVersions.length > 1) {
    notes.push(progressText(migration, 'rewritten'));
  }
  if (contentMigration && !(contentMigration.isOver && contentMigration.failing === 0))
    notes.push(progressText(contentMigration, 'migrated'));
  return notes.length > 0 ? `${storageVersion} (${notes.join(', ')})` : storageVersion;
}

/** `3`, `3 (1 with another contract)`. */
function replicasText(replicas: NonNullable<Known['status']['replicas']>, contractHash: string): string {
  const others = replicas.filter(({ supports }) => supports !== contractHash).length;
  return others > 0 ? `${replicas.length} (${others} with another contract)` : String(replicas.length);
}

/** What each replica supports, where that is not the same. */
function replicaRows({ replicas = [], contractHash, pending }: Known['status']): string[][] {
  if (replicas.every(({ supports }) => supports === contractHash)) return [];
  return replicas.map(({ name, supports, since }) => {
    const contract =
      supports === contractHash
        ? 'the active contract'
        : supports === pending?.hash
          ? 'the pending contract'
          : `contract ${supports.slice(0, 8)}`;
    return ['', name, contract, since === undefined ? '' : `since ${since}`];
  });
}

function progressText(
  { done, total, failing }: NonNullable<Known['status']['contentMigration']>,
  verb: string,
): string {
  const share = `${Math.floor((100 * done) / Math.max(total, 1))} % ${verb}`;
  return failing > 0 ? `${share}, ${countOf(failing, 'object')} left` : share;
}

function statusTable(states: readonly ModelState[]): string {
  const known = states.flatMap(({ spec, status }) => (status ? { spec, status } : []));
  const rows = known.map(({ spec, status }) => {
    const { model, generation, degraded, pending, replicas, contractHash } = status;
    return [
      `${model.plural}.${model.group}`,
      model.kind,
      String(generation),
      storageText({ spec, status }),
      replicas ? replicasText(replicas, contractHash) : '-',
      degraded ? countOf(degraded.failing, 'object') : '-',
      pending ? pendingText(pending) : '-',
    ];
  });
  const details = known.flatMap(({ status }) => {
    const { model, degraded, pending, migration, contentMigration } = status;
    const replicas = replicaRows(status);
    const samples = [pending ?? degraded, migration, contentMigration].flatMap((found) => found?.samples ?? []);
    if (samples.length + replicas.length === 0) return [];
    const found = samples.map(({ names, pointer, keyword, message }) => [
      '',
      names.join(', '),
      pointer,
      keyword,
      message,
    ]);
    return [`\n${model.kind}\n${lines(replicas, widthsOf(replicas))}${lines(found, widthsOf(found))}`];
  });
  return table(['NAME', 'KIND', 'GENERATION', 'STORAGE', 'REPLICAS', 'DEGRADED', 'PENDING'], rows) + details.join('');
}
