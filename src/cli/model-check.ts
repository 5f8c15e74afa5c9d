import { readdirSync } from 'node:fs';
import { constants, getPriority, setPriority } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import { Command } from 'commander';
import type { KindredClient } from '../client/client.ts';
import { KindredError } from '../client/client.ts';
import type { ObjectReport } from '../maintenance.ts';
import { contractOf } from '../model/contract.ts';
import type { Scheme } from '../model/scheme.ts';
import type { ConnectionFlags } from './connection.ts';
import { connect, withConnection } from './connection.ts';
import { countOf } from './count.ts';
import type { PluginFlags } from './declared.ts';
import { declaredBy, withPlugins } from './declared.ts';
import { onInterrupt } from './interrupt.ts';
import type { Io } from './io.ts';
import { Exit } from './io.ts';
import type { ModelState } from './model-states.ts';
import { statesOf } from './model-states.ts';
import type { Format } from './output.ts';
import { formatOption, print, valueFormats } from './output.ts';
import { startProgress } from './progress.ts';
import { lines, widthsOf } from './table.ts';
import { Types } from './types.ts';

type Flags = ConnectionFlags & PluginFlags & { output: Format };

/** One model of a plugin beside the objects that the service has of it. */
export interface ModelReport extends ObjectReport {
  readonly group: string;
  readonly kind: string;
  /** False: the service does not serve the model. */
  readonly served: boolean;
  /** At which the objects were read; absent when the service does not serve the model. */
  readonly revision?: string;
}

export function modelCheckCommand(io: Io): Command {
  const command = new Command('check')
    .description('check every stored object of a running service against the models of plugins; changes nothing')
    .addOption(formatOption(valueFormats, 'table'))
    .addHelpText('after', '\nExit code 1 when stored objects would be invalid.')
    .action(async ({ output, ...flags }: Flags) => {
      const interrupt = onInterrupt();
      try {
        const client = connect(flags, io, { signal: interrupt.stop });
        const schemes = await declaredBy(flags);
        const states = await statesOf(client, schemes.map(contractOf)).catch((error) => {
          // The right to list the objects is enough.
          if (error instanceof KindredError && error.code === 'Forbidden') return [];
          throw error;
        });
        const reports = await checkModels(io, client, schemes, states);
        await print(io, output, { models: reports }, () => reports.map(reportText).join('\n'));
        if (reports.some(({ failing }) => failing > 0)) throw new Exit(1);
      } finally {
        interrupt.release();
      }
    });
  return withPlugins(withConnection(command, io));
}

/** For the rest of the process: a check takes a whole core, and a service on the same machine gets the processor before it. */
function takeLittle(): void {
  // By itself the heap grows to several times what lives in it, the longer the more objects come.
  setFlagsFromString('--heap-growing-percent=30');
  const { PRIORITY_BELOW_NORMAL: low } = constants.priority;
  // On Linux, each thread has a priority of its own, those that collect garbage too.
  const threads = process.platform === 'linux' ? readdirSync('/proc/self/task').map(Number) : [process.pid];
  // Only a privileged process may raise its priority.
  for (const thread of threads) if (getPriority(thread) < low) setPriority(thread, low);
}

/** Reads what the caller may list. @param states of the models, in the order of the schemes; undefined: there is none */
export async function checkModels(
  io: Io,
  client: KindredClient,
  schemes: readonly Scheme[],
  states: readonly (ModelState | undefined)[],
): Promise<ModelReport[]> {
  takeLittle();
  const { checkObjects } = await import('../maintenance.ts');
  const types = await new Types(client).all();
  const reports: ModelReport[] = [];
  for (const [i, scheme] of schemes.entries()) {
    const { group, kind } = scheme.groupVersionKind;
    const served = types.filter(({ model: { gvk } }) => gvk.group === group && gvk.kind === kind);
    // As they are stored, they say what a start will find.
    const stored = states[i]?.status?.storageVersion;
    const type = served.find(({ model }) => model.gvk.version === stored) ?? served[0];
    if (!type) {
      reports.push({ group, kind, served: false, objects: 0, failing: 0, incomplete: 0, migrated: 0, offences: [] });
      continue;
    }
    const total = await client.count(type.model);
    const progress = startProgress(io, `Checking ${countOf(total, 'object')} of ${kind}`, total);
    let revision: string | undefined;
    const read = () =>
      client.exportLines(type.model, { sort: ['metadata.name,asc'] }, (first) => {
        revision ??= first;
      });
    try {
      const report = await checkObjects(scheme, read, total, (done) => progress.update(done, `${done} of ${total}`));
      progress.stop(`Checked ${countOf(report.objects, 'object')} of ${kind}`);
      reports.push({ group, kind, served: true, ...(revision !== undefined && { revision }), ...report });
    } catch (error) {
      progress.abort('Stopped');
      throw error;
    }
  }
  return reports;
}

/** Offences that a table shows. */
const shownOffences = 100;

/** A paragraph for people. */
function reportText(report: ModelReport): string {
  const { kind, served, revision, objects, failing, incomplete, migrated, offences } = report;
  if (!served) return `${kind}: the service has no such model\n`;
  const defaults = incomplete > 0 ? `; ${grouped(incomplete)} get a default with their next write` : '';
  const changes = migrated > 0 ? `; ${grouped(migrated)} are changed by migrate` : '';
  const rows = offences
    .slice(0, shownOffences)
    .map(({ names, pointer, keyword, message }) => ['', names.join(', '), pointer || 'the object', keyword, message]);
  const more = offences.length > shownOffences ? '  and others\n' : '';
  const checked = `${grouped(objects)} ${objects === 1 ? 'object' : 'objects'} checked`;
  const counted = `${checked}${revision === undefined ? '' : ` at revision ${revision}`}, ${grouped(failing)} would fail`;
  return `${kind}: ${counted}${defaults}${changes}\n${lines(rows, widthsOf(rows))}${more}`;
}

function grouped(count: number): string {
  return count.toLocaleString('en');
}
